//! Selection on the CPU.
//!
//! With AVX-512 a vector is compressed in a register and stored whole: the next store begins where what was kept ends, and
//! overwrites the rest. (To compress into memory at once takes many cycles on some processors.) Numbers of 32 bits have
//! that instruction since AVX-512F, smaller ones with VBMI2. With AVX2 a table has for each eight bits the exchange that
//! moves eight elements together. Without it, each element is stored alone, and the place moves on where it is kept, so
//! that no branch is mispredicted.
//!
//! For several threads there is [`Shared`]: one pass over memory, in blocks that stay in the nearest cache.
#![allow(unsafe_code)]

use std::ops::Range;

use bytemuck::cast_slice;

use crate::element::{Element, Keys, Number};
use relief_kernels::isa::{Isa, versions};

mod shared;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use shared::{BLOCK, SCRATCH_WORDS, SMALL, Shared};

/// Which elements are kept.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// Those that are not 0; of floating-point numbers, −0 is 0, and what is not a number is kept.
    NonZero,
    /// Those whose flag is not 0.
    Flagged(&'a [u8]),
    /// Those whose keys are some.
    Within(Keys),
}

impl<'a> Wanted<'a> {
    /// The same for the elements of a part of the input.
    fn part(self, range: Range<usize>) -> Wanted<'a> {
        match self {
            Self::NonZero | Self::Within(_) => self,
            Self::Flagged(flags) => Wanted::Flagged(&flags[range]),
        }
    }

    fn assert_fits(self, len: usize) {
        if let Self::Flagged(flags) = self {
            assert_eq!(flags.len(), len, "a flag for each element");
        }
    }

    /// Calls `each` with the elements and what vectors take for this, or block after block with the place of its first and flags for
    /// it: to compare keys is so little beside what vectors do with flags that they need no way of their own for it.
    fn each<T: Number>(self, from: &[T], mut each: impl FnMut(usize, &[T], Marks<'_>)) {
        match self {
            Self::NonZero => each(0, from, Marks::NonZero),
            Self::Flagged(flags) => each(0, from, Marks::Flags(flags)),
            Self::Within(keys) => {
                let mut flags = [0; FLAGS];
                for (k, block) in from.chunks(FLAGS).enumerate() {
                    let flags = &mut flags[..block.len()];
                    flag(Isa::best(), block, keys, flags);
                    each(k * FLAGS, block, Marks::Flags(flags));
                }
            }
        }
    }
}

/// Elements whose flags are made at once.
const FLAGS: usize = 4 << 10;

versions! {
    fn flag<T: Number>(from: &[T], keys: Keys, flags: &mut [u8]) {
        for (value, flag) in from.iter().zip(flags) {
            *flag = u8::from(keys.hold(value.key()));
        }
    }
}

/// [`Wanted`], as vectors take it.
#[derive(Clone, Copy, Debug)]
enum Marks<'a> {
    NonZero,
    Flags(&'a [u8]),
}

impl Marks<'_> {
    /// Whether element `i`, which is `value`, is kept.
    fn keeps<T: Number>(self, i: usize, value: T) -> bool {
        match self {
            Self::NonZero => is_set(value),
            Self::Flags(flags) => flags[i] != 0,
        }
    }
}

/// What vectors have not done, one element after the other: tells `put` the place of each, the element, and
/// how many are kept of those before, never more than its place. What it puts there is overwritten by the
/// next where it is not wanted. Returns how many are kept of all.
///
/// It writes without looking whether there is room: a check takes up to half as much time again where there
/// are no vectors.
#[inline(always)]
fn rest<T: Number>(
    from: &[T],
    marks: Marks<'_>,
    (read, mut kept): (usize, usize),
    mut put: impl FnMut(usize, T, usize),
) -> usize {
    for (i, value) in from.iter().enumerate().skip(read) {
        put(i, *value, kept);
        kept += usize::from(marks.keeps(i, *value));
    }
    kept
}

/// Writes those of `from` that are wanted, in their order, to the start of `to`, and returns how many they are. What `to` holds
/// after them, up to the length of `from`, is undefined.
///
/// # Panics
/// Where `to` is shorter than `from`, or there are other flags than elements.
pub fn select<T: Number>(from: &[T], wanted: Wanted<'_>, to: &mut [T]) -> usize {
    assert!(to.len() >= from.len(), "all of the elements may be kept");
    wanted.assert_fits(from.len());
    // rung: select on cpu: vectors
    let mut all = 0;
    wanted.each(from, |_, from, marks| {
        let to = &mut to[all..];
        let done = vectors::select(Isa::best(), from, marks, to);
        all += rest(from, marks, done, |_, value, kept| {
            // SAFETY: there is room for all elements, and those before of which some are kept are fewer.
            unsafe { *to.get_unchecked_mut(kept) = value };
        });
    });
    // end
    all
}

/// Writes where those of `from` lie that are wanted to the start of `to`, and returns how many they are. What `to` holds after
/// them, up to the length of `from`, is undefined.
///
/// # Panics
/// As [`select`], and where there are more than 2^32 elements.
pub fn indices<T: Number>(from: &[T], wanted: Wanted<'_>, to: &mut [u32]) -> usize {
    assert!(from.len() as u64 <= 1 << 32, "indices are numbers of 32 bits");
    wanted.assert_fits(from.len());
    places(from, wanted, 0, to)
}

/// [`indices`] counted from `first` on.
fn places<T: Number>(from: &[T], wanted: Wanted<'_>, first: u32, to: &mut [u32]) -> usize {
    assert!(to.len() >= from.len(), "all of the elements may be kept");
    let mut all = 0;
    wanted.each(from, |at, from, marks| {
        let (first, to) = (first.wrapping_add(at as u32), &mut to[all..]);
        let done = vectors::indices(Isa::best(), from, marks, first, to);
        all += rest(from, marks, done, |i, _, kept| {
            // SAFETY: as in `select`.
            unsafe { *to.get_unchecked_mut(kept) = first.wrapping_add(i as u32) };
        });
    });
    all
}

/// Writes those of `from` that are wanted to the start of `kept` and the others to the start of `left`, both in their order, and
/// returns how many are kept. What both hold after that, up to the length of `from`, is undefined.
///
/// # Panics
/// As [`select`].
pub fn partition<T: Number>(from: &[T], wanted: Wanted<'_>, kept: &mut [T], left: &mut [T]) -> usize {
    assert!(
        kept.len().min(left.len()) >= from.len(),
        "all of the elements may be on either side"
    );
    wanted.assert_fits(from.len());
    let mut all = 0;
    wanted.each(from, |at, from, marks| {
        let (inside, outside) = (&mut kept[all..], &mut left[at - all..]);
        let done = vectors::partition(Isa::best(), from, marks, inside, outside);
        all += rest(from, marks, done, |i, value, kept| {
            // SAFETY: as in `select`, on both sides: what is not kept is as few.
            unsafe {
                *inside.get_unchecked_mut(kept) = value;
                *outside.get_unchecked_mut(i - kept) = value;
            }
        });
    });
    all
}

/// How many elements are wanted.
///
/// # Panics
/// Where there are other flags than elements.
#[must_use]
pub fn count<T: Number>(from: &[T], wanted: Wanted<'_>) -> u64 {
    wanted.assert_fits(from.len());
    let (isa, mut count) = (Isa::best(), 0);
    wanted.each(from, |_, from, marks| {
        count += match (marks, T::ELEMENT) {
            (Marks::Flags(flags), _) => count_bytes(isa, flags),
            (Marks::NonZero, Element::U8) => count_bytes(isa, cast_slice(from)),
            (Marks::NonZero, Element::U16) => count_halves(isa, cast_slice(from)),
            (Marks::NonZero, Element::U32 | Element::I32) => count_words(isa, cast_slice(from), 0),
            (Marks::NonZero, Element::F32) => count_words(isa, cast_slice(from), 1),
        };
    });
    count
}

/// Splits bytes into runs of equal ones: writes where each begins and what it holds, and returns how many there are. A run
/// ends where the next begins, the last with the bytes. What is held after that, up to the length of `from`, is undefined.
///
/// # Panics
/// Where `starts` or `values` is shorter than `from`, and where there are more than 2^32 bytes.
pub fn runs(from: &[u8], starts: &mut [u32], values: &mut [u8]) -> usize {
    runs_of_rows(from, from.len().max(1), starts, values)
}

/// Splits each row of `width` bytes into runs: writes where each begins, counted from the first row on, and what it holds, and returns
/// how many there are. A run ends where the next begins; none goes on into the next row. The last row may be shorter.
///
/// # Panics
/// As [`runs`], and where rows have no bytes.
pub fn runs_of_rows(from: &[u8], width: usize, starts: &mut [u32], values: &mut [u8]) -> usize {
    assert_holds_runs(from, width, starts.len(), values);
    assert_narrow(from);
    runs_of_part(from, width, 0..from.len(), starts, values)
}

fn assert_holds_runs(from: &[u8], width: usize, starts: usize, values: &[u8]) {
    assert!(starts.min(values.len()) >= from.len(), "every byte may be a run");
    assert!(width > 0, "rows of no bytes");
}

fn assert_narrow(from: &[u8]) {
    assert!(from.len() as u64 <= 1 << 32, "places are numbers of 32 bits");
}

/// The runs of rows of `width` bytes that begin in a part of them, of which `starts` and `values` have room for each byte.
fn runs_of_part(
    from: &[u8],
    width: usize,
    part: Range<usize>,
    starts: &mut [u32],
    values: &mut [u8],
) -> usize {
    let (mut at, mut count) = (part.start, 0);
    while at < part.end {
        let end = part.end.min((at / width + 1).saturating_mul(width));
        if at.is_multiple_of(width) {
            (starts[count], values[count]) = (at as u32, from[at]);
            (at, count) = (at + 1, count + 1);
        }
        let row = &from[at - 1..end];
        count += changes(row, at as u32, &mut starts[count..], &mut values[count..]);
        at = end;
    }
    count
}

/// The bytes other than those before, from the second on, whose place is `first`.
fn changes(from: &[u8], first: u32, starts: &mut [u32], values: &mut [u8]) -> usize {
    let (read, mut count) = vectors::heads(Isa::best(), from, first, starts, values);
    for (i, pair) in from.windows(2).enumerate().skip(read) {
        // What begins no run is overwritten by the next.
        (starts[count], values[count]) = (first.wrapping_add(i as u32), pair[1]);
        count += usize::from(pair[0] != pair[1]);
    }
    count
}

#[cfg(target_arch = "x86_64")]
use x86 as vectors;

/// What vectors do: nothing.
#[cfg(not(target_arch = "x86_64"))]
mod vectors {
    use super::{Isa, Marks};

    pub(super) fn select<T>(_: Isa, _: &[T], _: Marks<'_>, _: &mut [T]) -> (usize, usize) {
        (0, 0)
    }

    pub(super) fn indices<T>(_: Isa, _: &[T], _: Marks<'_>, _: u32, _: &mut [u32]) -> (usize, usize) {
        (0, 0)
    }

    pub(super) fn partition<T>(_: Isa, _: &[T], _: Marks<'_>, _: &mut [T], _: &mut [T]) -> (usize, usize) {
        (0, 0)
    }

    pub(super) fn heads(_: Isa, _: &[u8], _: u32, _: &mut [u32], _: &mut [u8]) -> (usize, usize) {
        (0, 0)
    }
}

/// Whether a number is not 0.
fn is_set<T: Number>(value: T) -> bool {
    match T::ELEMENT {
        Element::F32 => cast_slice::<T, u32>(&[value])[0] << 1 != 0,
        _ => bytemuck::bytes_of(&value).iter().any(|byte| *byte != 0),
    }
}

versions! {
    fn count_bytes(from: &[u8]) -> u64 {
        // Short enough for sums of bytes.
        let sums = from.chunks(128).map(|chunk| chunk.iter().map(|v| u8::from(*v != 0)).sum::<u8>());
        sums.map(u64::from).sum()
    }
}

versions! {
    fn count_halves(from: &[u16]) -> u64 {
        let sums = from.chunks(1 << 14).map(|chunk| chunk.iter().map(|v| u16::from(*v != 0)).sum::<u16>());
        sums.map(u64::from).sum()
    }
}

versions! {
    /// The uppermost `shift` bits do not count.
    fn count_words(from: &[u32], shift: u32) -> u64 {
        let sums = from.chunks(1 << 16).map(|chunk| chunk.iter().map(|v| u32::from(*v << shift != 0)).sum::<u32>());
        sums.map(u64::from).sum()
    }
}
