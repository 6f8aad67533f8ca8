//! The variants on devices.
#![allow(unsafe_code)]

use cubecl::prelude::*;
use relief_kernels::device::{Operand, launch, line};
use relief_numeric::element::Element;
use relief_numeric::integral::Sums;
use relief_numeric::integral::gpu as production;
use relief_numeric::scan::Kind;
use relief_numeric::scan::gpu::scan_each_row;
use relief_numeric::transpose::gpu::{Matrix, transpose};

use super::Integral;
use crate::array::Layout;
use crate::family::{Failure, OnGpu, Outcome, Problem as _, Variant};

pub(super) fn variants(sums: Sums) -> Vec<Variant<Integral>> {
    let mut variants = Vec::new();
    if sums != Sums::Long {
        variants.extend([
            Variant::gpu(
                "two scans, transposes",
                "rows are scanned, transposed, scanned, transposed back",
                |p: &Integral, call| by_transposes(p, &call),
            )
            .scratch(|p| {
                let turned = p.height.next_multiple_of(4) * p.pitch_out();
                vec![Layout::of::<u32>(turned), Layout::of::<u32>(turned)]
            }),
            Variant::gpu(
                "two scans",
                "rows are scanned, then columns, a unit for four of them",
                |p: &Integral, call| by_columns(p, &call),
            )
            .scratch(|p| vec![Layout::of::<u32>(p.pitch_out() * p.height)]),
        ]);
    }
    if sums == Sums::Short {
        variants.push(super::look_back::variant());
    }
    variants.push(
        Variant::gpu(
            "carries first",
            "what enters each tile first, then everything in one pass",
            |p: &Integral, call: OnGpu<'_>| {
                let (from, to) = operands(p, &call)?;
                let size = (p.width as u32, p.height as u32);
                production::integral_with(call.gpu, call.tuning, p.sums, size, from, to, &call.scratch[0])?;
                Ok(())
            },
        )
        .tuned(production::name(sums), production::SPACE, production::DEFAULT)
        .scratch(|p| {
            let words = production::scratch_words(p.sums, p.width as u32, p.height as u32);
            vec![Layout::of::<u32>(words)]
        })
        .production(),
    );
    variants
}

/// The picture and its integral image.
fn operands<'a>(problem: &Integral, call: &'a OnGpu<'_>) -> Outcome<(Matrix<'a>, Matrix<'a>)> {
    let pitch = |words: usize| u32::try_from(words).map_err(|_| Failure::Unsupported("its width".to_owned()));
    let from = Matrix {
        buffer: &call.inputs[0],
        pitch: pitch(problem.pitch_in() * problem.sums.bits() as usize / 32)?,
    };
    let to = Matrix {
        buffer: &call.outputs[0],
        pitch: pitch(problem.pitch_out() * problem.sums.words() as usize)?,
    };
    Ok((from, to))
}

const fn elements(problem: &Integral) -> (Element, Element) {
    match problem.sums {
        Sums::Floats => (Element::F32, Element::F32),
        _ => (Element::U8, Element::U32),
    }
}

fn by_transposes(problem: &Integral, call: &OnGpu<'_>) -> Outcome {
    let (from, to) = operands(problem, call)?;
    let (element, sum) = elements(problem);
    // Columns after the last are scanned too, and stay sums of what is there.
    let (width, height) = (problem.width as u32, problem.height as u32);
    let pitch = height.next_multiple_of(4);
    let turned = |buffer| Matrix { buffer, pitch };
    let (first, second) = (turned(&call.scratch[0]), turned(&call.scratch[1]));
    let all = to.pitch;
    // rung: integral on gpu: two scans, transposes
    scan_each_row(call.gpu, Kind::Inclusive, element, (width, height), from, to)?;
    if height == 0 || width == 0 {
        return Ok(());
    }
    transpose(call.gpu, 32, (all, height), to, first)?;
    scan_each_row(call.gpu, Kind::Inclusive, sum, (height, all), first, second)?;
    transpose(call.gpu, 32, (height, all), second, to)?;
    // end
    Ok(())
}

fn by_columns(problem: &Integral, call: &OnGpu<'_>) -> Outcome {
    let (from, to) = operands(problem, call)?;
    let (element, _) = elements(problem);
    let (width, height) = (problem.width as u32, problem.height as u32);
    let rows = Matrix {
        buffer: &call.scratch[0],
        pitch: to.pitch,
    };
    scan_each_row(call.gpu, Kind::Inclusive, element, (width, height), from, rows)?;
    if problem.elements() == 0 {
        return Ok(());
    }
    let float = problem.sums == Sums::Floats;
    let vectors = to.pitch / 4;
    // SAFETY: columns are compared with the pitch, of which both buffers hold `height` rows.
    launch!(
        call.gpu, "integral columns", &float, &[Operand::write("the output", to.buffer)],
        line(call.gpu, vectors, UNITS),
        unsafe add_columns(4, rows.buffer.array(4), to.buffer.array(4), vectors, height, float))?;
    Ok(())
}

const UNITS: u32 = 64;

/// The sums down four columns.
#[cube(launch_unchecked)]
fn add_columns<N: Size>(
    from: &Array<Vector<u32, N>>,
    to: &mut Array<Vector<u32, N>>,
    vectors: u32,
    height: u32,
    #[comptime] float: bool,
) {
    let column = CUBE_POS as u32 * UNITS + UNIT_POS;
    if column < vectors {
        // rung: integral on gpu: two scans
        let mut sums = Vector::<u32, N>::new(0u32);
        for y in 0..height {
            let at = (y * vectors + column) as usize;
            let more = from[at];
            if float {
                #[unroll]
                for k in 0..4usize {
                    sums[k] = u32::reinterpret(f32::reinterpret(sums[k]) + f32::reinterpret(more[k]));
                }
            } else {
                sums += more;
            }
            to[at] = sums;
        }
        // end
    }
}
