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
    vec![
        Variant::cpu("loop", "a branch for each element", |p: &Select, call| {
            by_kind(p, call, Branchy)
        })
        .source("7.4 ms structured, 55.1 ms random"),
        Variant::cpu(
            "branch-free",
            "every element is stored; the place moves on where it is kept",
            |p: &Select, call| by_kind(p, call, BranchFree),
        ),
        Variant::cpu(
            "vectors",
            "vectors compressed in registers",
            |p: &Select, call| by_kind(p, call, Vectors),
        ),
        Variant::cpu(
            "threads production",
            "one pass in blocks; turns say where to write",
            |p: &Select, call| by_kind(p, call, InTurns),
        )
        .production(),
    ]
}

/// A way to keep what is not zero; returns how many.
trait Keep {
    fn keep<T: Element>(&self, from: &[T], to: &mut [T]) -> usize;
}

fn by_kind(problem: &Select, call: OnCpu<'_>, way: impl Keep) -> Outcome {
    match problem.kind {
        Kind::U8 => whole::<u8>(call, way),
        _ => whole::<u32>(call, way),
    }
}

fn whole<T: Element>(call: OnCpu<'_>, way: impl Keep) -> Outcome {
    let (values, counts) = call.outputs.split_at_mut(1);
    let count = way.keep(call.inputs[0].slice::<T>(), values[0].slice_mut());
    tell(counts[0].slice_mut(), count);
    Ok(())
}

/// Writes a count as two words.
pub(super) fn tell(counts: &mut [u32], count: usize) {
    counts[0] = count as u32;
    counts[1] = ((count as u64) >> 32) as u32;
}

struct Branchy;

impl Keep for Branchy {
    fn keep<T: Element>(&self, from: &[T], to: &mut [T]) -> usize {
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
}

struct BranchFree;

impl Keep for BranchFree {
    fn keep<T: Element>(&self, from: &[T], to: &mut [T]) -> usize {
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
}

struct Vectors;

impl Keep for Vectors {
    fn keep<T: Element>(&self, from: &[T], to: &mut [T]) -> usize {
        select(from, Wanted::NonZero, to)
    }
}

struct InTurns;

impl Keep for InTurns {
    fn keep<T: Element>(&self, from: &[T], to: &mut [T]) -> usize {
        if size_of_val(from) <= SMALL {
            return select(from, Wanted::NonZero, to);
        }
        by_threads(&Shared::select(from, Wanted::NonZero, to))
    }
}

/// How many elements all threads together keep.
pub(super) fn by_threads<T: Number>(shared: &Shared<'_, T>) -> usize {
    // rung: select on cpu: threads production
    together(|| shared.work(&mut [0; SCRATCH_WORDS]));
    shared.kept()
    // end
}
