//! The variants on the CPU.

use bytemuck::Pod;
use rayon::prelude::*;
use relief_numeric::element::Element;
use relief_numeric::scan::Kind;
use relief_numeric::scan::cpu::{self, BLOCK, SMALL, Scannable, Shared};

use super::Scan;
use crate::array::{Array, Layout};
use crate::families::together;
use crate::family::{OnCpu, Outcome, Variant};

pub(super) fn variants() -> Vec<Variant<Scan>> {
    let of = |name, idea, way| Variant::cpu(name, idea, move |p: &Scan, call| each(p, call, way));
    vec![
        of("serial", "one addition after the other", Way::Serial),
        of(
            "vectors",
            "sixteen at a time, by shifted additions; one thread",
            Way::Vectors,
        ),
        of(
            "threads, two passes",
            "parts are added up, then scanned: numbers are read twice",
            Way::TwoPasses,
        )
        .scratch(|p| vec![Layout::of::<u32>(p.len.div_ceil(BLOCK))]),
        of(
            "threads, one pass",
            "pieces for the second cache; turns tell the sum of all before",
            Way::InTurns,
        )
        .production(),
    ]
}

/// How numbers are scanned.
#[derive(Clone, Copy)]
enum Way {
    Serial,
    Vectors,
    TwoPasses,
    InTurns,
}

fn each(problem: &Scan, call: OnCpu<'_>, way: Way) -> Outcome {
    match problem.element {
        Element::U8 => run::<u8>(problem, call, way),
        Element::U16 => run::<u16>(problem, call, way),
        Element::U32 => run::<u32>(problem, call, way),
        Element::I32 => run::<i32>(problem, call, way),
        Element::F32 => run::<f32>(problem, call, way),
    }
    Ok(())
}

fn run<T: Scannable>(problem: &Scan, call: OnCpu<'_>, way: Way) {
    fn numbers<S: Pod>(array: &mut Array) -> &mut [S] {
        bytemuck::cast_slice_mut(array.bytes_mut())
    }
    let (kind, values) = (problem.kind, bytemuck::cast_slice(call.inputs[0].bytes()));
    let out = numbers(&mut call.outputs[0]);
    match way {
        Way::Serial => serial::<T>(kind, values, out),
        Way::Vectors => cpu::scan::<T>(kind, values, out),
        Way::TwoPasses => two_passes::<T>(kind, values, out, numbers(&mut call.scratch[0])),
        Way::InTurns => in_turns::<T>(kind, values, out),
    }
}

fn serial<T: Scannable>(kind: Kind, values: &[T], out: &mut [T::Sum]) {
    // rung: scan on cpu: serial
    let mut sum = T::Sum::default();
    for (value, out) in values.iter().zip(out) {
        let after = T::plus(sum, value.one());
        *out = if kind == Kind::Inclusive { after } else { sum };
        sum = after;
    }
    // end
}

fn two_passes<T: Scannable>(kind: Kind, values: &[T], out: &mut [T::Sum], sums: &mut [T::Sum]) {
    let part = values.len().div_ceil(rayon::current_num_threads());
    let part = part.next_multiple_of(BLOCK).max(BLOCK);
    // rung: scan on cpu: threads, two passes
    let parts = values.par_chunks(part);
    let targets = sums.par_chunks_mut(part / BLOCK);
    parts
        .clone()
        .zip(targets)
        .for_each(|(part, sums)| cpu::block_sums(part, sums));
    cpu::sums_before::<T>(T::Sum::default(), sums);
    let sums = sums.par_chunks(part / BLOCK);
    let parts = parts.zip(sums).zip(out.par_chunks_mut(part));
    parts.for_each(|((part, before), out)| cpu::scan_blocks(kind, part, before, out));
    // end
}

fn in_turns<T: Scannable>(kind: Kind, values: &[T], out: &mut [T::Sum]) {
    // rung: scan on cpu: threads, one pass
    if size_of_val(out) < SMALL {
        return cpu::scan(kind, values, out);
    }
    let shared = Shared::new(kind, values, out);
    together(|| shared.work());
    // end
}
