//! The variants on the CPU.

use relief_numeric::element::Number;
use relief_numeric::select::cpu::{SCRATCH_WORDS, SMALL, Shared, Wanted, select};

use super::Select;
use crate::array::{self, Kind};
use crate::families::together;
use crate::family::{OnCpu, Outcome, Variant};

/// What is compacted, by the lab and by production.
trait Element: array::Element + Number {}

impl Element for u8 {}
impl Element for u32 {}

pub(super) fn variants() -> Vec<Variant<Select>> {
    let of = |name, idea, words: Keep<u32>, bytes: Keep<u8>| {
        Variant::cpu(name, idea, move |p: &Select, call| match p.kind {
            Kind::U8 => whole(call, bytes),
            _ => whole(call, words),
        })
    };
    vec![
        of("loop", "a branch for each element", branchy, branchy).source("7.4 ms structured, 55.1 ms random"),
        of(
            "branch-free",
            "every element is stored; the place moves on where it is kept",
            branch_free,
            branch_free,
        ),
        of("vectors", "vectors compressed in registers", vectors, vectors),
        of(
            "threads production",
            "one pass in blocks; turns say where to write",
            in_turns,
            in_turns,
        )
        .production(),
    ]
}

/// A way to keep what is not zero; returns how many.
type Keep<T> = fn(&[T], &mut [T]) -> usize;

fn whole<T: Element>(call: OnCpu<'_>, keep: Keep<T>) -> Outcome {
    let (values, counts) = call.outputs.split_at_mut(1);
    let count = keep(call.inputs[0].slice(), values[0].slice_mut());
    tell(counts[0].slice_mut(), count);
    Ok(())
}

/// Writes a count as two words.
pub(super) fn tell(counts: &mut [u32], count: usize) {
    counts[0] = count as u32;
    counts[1] = ((count as u64) >> 32) as u32;
}

fn branchy<T: Element>(from: &[T], to: &mut [T]) -> usize {
    // rung: select on cpu: loop
    let mut count = 0;
    for value in from {
        if *value != <T as bytemuck::Zeroable>::zeroed() {
            // What a compiler cannot take apart stays a branch.
            std::hint::black_box(());
            to[count] = *value;
            count += 1;
        }
    }
    count
    // end
}

fn branch_free<T: Element>(from: &[T], to: &mut [T]) -> usize {
    // rung: select on cpu: branch-free
    let mut count = 0;
    for value in from {
        // `count` is below the number of elements read so far, plus one.
        to[count] = *value;
        count += usize::from(*value != <T as bytemuck::Zeroable>::zeroed());
    }
    count
    // end
}

fn vectors<T: Element>(from: &[T], to: &mut [T]) -> usize {
    select(from, Wanted::NonZero, to)
}

fn in_turns<T: Element>(from: &[T], to: &mut [T]) -> usize {
    if size_of_val(from) <= SMALL {
        return select(from, Wanted::NonZero, to);
    }
    by_threads(&Shared::select(from, Wanted::NonZero, to))
}

/// How many elements all threads together keep.
pub(super) fn by_threads<T: Number>(shared: &Shared<'_, T>) -> usize {
    // rung: select on cpu: threads production
    together(|| shared.work(&mut [0; SCRATCH_WORDS]));
    shared.kept()
    // end
}
