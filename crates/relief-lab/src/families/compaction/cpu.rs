//! The variants on the CPU.

use super::Compaction;
use crate::array::{Element, Kind};
use crate::family::{OnCpu, Outcome, Variant};

pub(super) fn variants() -> Vec<Variant<Compaction>> {
    vec![
        Variant::cpu("loop", "a branch for each element", |p: &Compaction, call| {
            by_kind(p, call, Branchy)
        })
        .source("7.4 ms structured, 55.1 ms random"),
        Variant::cpu(
            "branch-free",
            "every element is stored; the place moves on where it is kept",
            |p: &Compaction, call| by_kind(p, call, BranchFree),
        ),
    ]
}

/// A way to keep what is not zero; returns how many.
trait Keep {
    fn keep<T: Element + PartialEq>(&self, from: &[T], to: &mut [T]) -> usize;
}

fn by_kind(problem: &Compaction, call: OnCpu<'_>, way: impl Keep) -> Outcome {
    match problem.kind {
        Kind::U8 => whole::<u8>(call, way),
        _ => whole::<u32>(call, way),
    }
}

fn whole<T: Element + PartialEq>(call: OnCpu<'_>, way: impl Keep) -> Outcome {
    let (values, counts) = call.outputs.split_at_mut(1);
    let count = way.keep(call.inputs[0].slice::<T>(), values[0].slice_mut());
    tell(counts[0].slice_mut(), count);
    Ok(())
}

/// Writes a count as two words.
fn tell(counts: &mut [u32], count: usize) {
    counts[0] = count as u32;
    counts[1] = ((count as u64) >> 32) as u32;
}

struct Branchy;

impl Keep for Branchy {
    fn keep<T: Element + PartialEq>(&self, from: &[T], to: &mut [T]) -> usize {
        let mut count = 0;
        for value in from {
            if *value != T::zeroed() {
                // What a compiler cannot take apart stays a branch.
                std::hint::black_box(());
                to[count] = *value;
                count += 1;
            }
        }
        count
    }
}

struct BranchFree;

impl Keep for BranchFree {
    fn keep<T: Element + PartialEq>(&self, from: &[T], to: &mut [T]) -> usize {
        let mut count = 0;
        for value in from {
            // `count` is below the number of elements read so far, plus one.
            to[count] = *value;
            count += usize::from(*value != T::zeroed());
        }
        count
    }
}
