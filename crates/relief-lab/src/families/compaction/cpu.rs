//! The variants on the CPU.

use rayon::prelude::*;
use relief_kernels::element::Number;
use relief_kernels::select::cpu::{BLOCK, Shared, Wanted, count, select};

use super::Compaction;
use crate::array::{self, Kind};
use crate::families::part;
use crate::family::{OnCpu, Outcome, Variant};

/// What is compacted, by the lab and by production.
trait Element: array::Element + Number {}

impl Element for u8 {}
impl Element for u32 {}

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
        Variant::cpu(
            "vectors",
            "vectors compressed in registers",
            |p: &Compaction, call| by_kind(p, call, Vectors),
        ),
        Variant::cpu(
            "threads two passes",
            "parts are counted, then moved: memory is read twice",
            |p: &Compaction, call| by_kind(p, call, TwoPasses),
        ),
        Variant::cpu(
            "threads production",
            "one pass in blocks; turns say where to write",
            |p: &Compaction, call| by_kind(p, call, InTurns),
        )
        .production(),
    ]
}

/// A way to keep what is not zero; returns how many.
trait Keep {
    fn keep<T: Element>(&self, from: &[T], to: &mut [T]) -> usize;
}

fn by_kind(problem: &Compaction, call: OnCpu<'_>, way: impl Keep) -> Outcome {
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
fn tell(counts: &mut [u32], count: usize) {
    counts[0] = count as u32;
    counts[1] = ((count as u64) >> 32) as u32;
}

struct Branchy;

impl Keep for Branchy {
    fn keep<T: Element>(&self, from: &[T], to: &mut [T]) -> usize {
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
    }
}

struct BranchFree;

impl Keep for BranchFree {
    fn keep<T: Element>(&self, from: &[T], to: &mut [T]) -> usize {
        let mut count = 0;
        for value in from {
            // `count` is below the number of elements read so far, plus one.
            to[count] = *value;
            count += usize::from(*value != <T as bytemuck::Zeroable>::zeroed());
        }
        count
    }
}

struct Vectors;

impl Keep for Vectors {
    fn keep<T: Element>(&self, from: &[T], to: &mut [T]) -> usize {
        select(from, Wanted::NonZero, to)
    }
}

struct TwoPasses;

impl Keep for TwoPasses {
    fn keep<T: Element>(&self, from: &[T], to: &mut [T]) -> usize {
        let parts: Vec<&[T]> = from.chunks(part(from.len())).collect();
        let counts: Vec<usize> = parts
            .par_iter()
            .map(|part| count(part, Wanted::NonZero) as usize)
            .collect();
        let mut pieces = Vec::new();
        let mut rest = &mut *to;
        for count in &counts {
            let (piece, after) = rest.split_at_mut(*count);
            pieces.push(piece);
            rest = after;
        }
        // A block at a time, because a piece has no room for what is not kept.
        parts.par_iter().zip(pieces).for_each(|(from, mut piece)| {
            let mut block = [T::zeroed(); BLOCK];
            for from in from.chunks(BLOCK) {
                let kept = select(from, Wanted::NonZero, &mut block);
                let (here, after) = std::mem::take(&mut piece).split_at_mut(kept);
                here.copy_from_slice(&block[..kept]);
                piece = after;
            }
        });
        counts.iter().sum()
    }
}

struct InTurns;

impl Keep for InTurns {
    fn keep<T: Element>(&self, from: &[T], to: &mut [T]) -> usize {
        let shared = Shared::new(from, Wanted::NonZero, to);
        rayon::broadcast(|_| shared.work(&mut [T::zeroed(); BLOCK]));
        shared.kept()
    }
}
