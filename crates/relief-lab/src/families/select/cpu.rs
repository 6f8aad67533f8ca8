//! The variants on the CPU.

use rayon::prelude::*;
use relief_numeric::element::Number;
use relief_numeric::select::cpu::{BLOCK, SCRATCH_WORDS, SMALL, Shared, Wanted, count, select};

use super::{Compaction, PROVEN, Phases, SPOILT, expect};
use crate::array::{self, Kind, Layout};
use crate::families::{part, together};
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
        two_passes_whole(),
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

/// How many parts there may be.
const PARTS: usize = 4_096;

/// How many elements each part keeps, and those before it.
fn counts_and_places(_: &Compaction) -> Vec<Layout> {
    vec![Layout::of::<u32>(2 * PARTS); 2]
}

/// Elements of a part.
fn each(len: usize) -> usize {
    part(len).max(len.div_ceil(PARTS))
}

/// Spoils what a phase leaves, and calls it alone.
fn leaves_what_is_right(call: OnCpu<'_>, phase: Phase) -> Outcome {
    let words = call.inputs[0].slice::<u32>();
    if words.len() > PROVEN {
        return Ok(());
    }
    let each = each(words.len());
    let right = Phases::of(words, each, words.len().div_ceil(each));
    let spoilt = match phase {
        Phase::Count => &mut call.scratch[0],
        Phase::Prefix => &mut call.scratch[1],
        Phase::Move => &mut call.outputs[0],
    };
    spoilt.bytes_mut().fill(SPOILT);
    let again = OnCpu {
        inputs: call.inputs,
        outputs: &mut *call.outputs,
        scratch: &mut *call.scratch,
    };
    two_passes::<u32>(again, Some(phase))?;
    let long = |array: &array::Array| -> Vec<u32> {
        let numbers = bytemuck::cast_slice::<u8, u64>(array.bytes());
        numbers.iter().map(|number| *number as u32).collect()
    };
    match phase {
        Phase::Count => expect("the count of part", &long(&call.scratch[0]), &right.counts),
        Phase::Prefix => expect("the place of part", &long(&call.scratch[1]), &right.places),
        Phase::Move => expect("element", call.outputs[0].slice(), &right.kept),
    }
}

/// Which of the phases of [`two_passes`] to run; nothing for all of them.
fn two_passes<T: Element>(call: OnCpu<'_>, phase: Option<Phase>) -> Outcome {
    let from = call.inputs[0].slice::<T>();
    let each = each(from.len());
    let parts = || from.par_chunks(each);
    let (counts, places) = call.scratch.split_at_mut(1);
    let counts: &mut [u64] = &mut bytemuck::cast_slice_mut(counts[0].bytes_mut())[..parts().len()];
    let places: &mut [u64] = &mut bytemuck::cast_slice_mut(places[0].bytes_mut())[..parts().len()];
    let wanted = |which| phase.is_none_or(|phase| phase == which);
    if wanted(Phase::Count) {
        let counted = parts().zip(counts.par_iter_mut());
        counted.for_each(|(part, kept)| *kept = count(part, Wanted::NonZero));
    }
    if wanted(Phase::Prefix) {
        let mut sum = 0;
        for (place, count) in places.iter_mut().zip(&*counts) {
            *place = sum;
            sum += count;
        }
    }
    if wanted(Phase::Move) {
        let (values, told) = call.outputs.split_at_mut(1);
        let mut pieces = Vec::new();
        let mut rest = values[0].slice_mut::<T>();
        for count in &*counts {
            let (piece, after) = rest.split_at_mut(*count as usize);
            pieces.push(piece);
            rest = after;
        }
        parts()
            .zip(pieces)
            .for_each(|(from, piece)| keep_in_blocks(from, piece));
        let last = places.last().zip(counts.last());
        tell(
            told[0].slice_mut(),
            last.map_or(0, |(place, count)| place + count) as usize,
        );
    }
    Ok(())
}

/// A block at a time, because a piece has no room for what is not kept.
fn keep_in_blocks<T: Element>(from: &[T], mut piece: &mut [T]) {
    let mut block = [T::zeroed(); BLOCK];
    for from in from.chunks(BLOCK) {
        let kept = select(from, Wanted::NonZero, &mut block);
        let (here, after) = std::mem::take(&mut piece).split_at_mut(kept);
        here.copy_from_slice(&block[..kept]);
        piece = after;
    }
}

/// What a part of the work does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Count,
    Prefix,
    Move,
}

/// What has phases, followed by them.
pub(super) fn phases() -> Vec<Variant<Compaction>> {
    let phases = [
        (
            "threads two passes: count",
            "how many each part keeps",
            Phase::Count,
        ),
        (
            "threads two passes: prefix",
            "how many those before it keep",
            Phase::Prefix,
        ),
        ("threads two passes: move", "to its place", Phase::Move),
    ];
    let part = |(name, idea, phase)| {
        Variant::cpu(name, idea, move |_: &Compaction, call| {
            two_passes::<u32>(call, Some(phase))
        })
        .part_of(two_passes_whole())
        .proven_on_cpu(move |_, call| leaves_what_is_right(call, phase))
    };
    std::iter::once(two_passes_whole())
        .chain(phases.map(part))
        .collect()
}

fn two_passes_whole() -> Variant<Compaction> {
    Variant::cpu(
        "threads two passes",
        "parts are counted, then moved: memory is read twice",
        |p: &Compaction, call| match p.kind {
            Kind::U8 => two_passes::<u8>(call, None),
            _ => two_passes::<u32>(call, None),
        },
    )
    .scratch(counts_and_places)
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
    together(|| shared.work(&mut [0; SCRATCH_WORDS]));
    shared.kept()
}
