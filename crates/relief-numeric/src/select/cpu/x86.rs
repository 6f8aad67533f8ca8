//! Vectors whose wanted numbers are moved together in registers and stored whole.
#![allow(unsafe_code)]

use std::arch::is_x86_feature_detected as has;

use super::Marks;
use crate::element::Number;
use relief_kernels::isa::{Isa, Level};

mod avx2;
mod avx512;

/// What takes elements of this size.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Avx2,
    Avx512,
}

/// Nothing where the machine has none of them.
fn by(isa: Isa, bits: u32) -> Option<By> {
    match isa.level() {
        Level::Portable => None,
        Level::Avx512 | Level::Avx512Vbmi if bits >= 32 => Some(By::Avx512),
        // Smaller ones take an extension that no level names.
        Level::Avx512Vbmi if has!("avx512vbmi2") => Some(By::Avx512),
        _ => Some(By::Avx2),
    }
}

/// Whether results have room for as many elements as there are, so that vectors need not look: after i elements at most i are kept, so a whole vector stored
/// after those lies inside wherever a whole one was read. There are also as many flags.
#[inline]
fn assert_room(elements: usize, marks: Marks<'_>, room: usize) {
    assert!(room >= elements, "all of the elements may be kept");
    if let Marks::Flags(flags) = marks {
        assert!(flags.len() >= elements, "a flag for each element");
    }
}

/// Selects from all whole vectors; returns how many elements that were, and how many of them are kept: none where the machine has no such instructions.
// Not inlined, as those below: then what calls them is, and loops over what they leave are compiled for each kind of marks.
#[inline(never)]
pub(super) fn select<T: Number>(isa: Isa, from: &[T], marks: Marks<'_>, to: &mut [T]) -> (usize, usize) {
    assert_room(from.len(), marks, to.len());
    let to = to.as_mut_ptr();
    // SAFETY: an `Isa` of a level exists only where the machine has its instructions, and has been asked for others; there is room.
    unsafe {
        match by(isa, T::ELEMENT.bits()) {
            None => (0, 0),
            Some(By::Avx2) => avx2::select(from, marks, to),
            Some(By::Avx512) if T::ELEMENT.bits() < 32 => avx512::select_small(from, marks, to),
            Some(By::Avx512) => avx512::select_words(from, marks, to),
        }
    }
}

/// The same of their places, counted from `first` on.
#[inline(never)]
pub(super) fn indices<T: Number>(
    isa: Isa,
    from: &[T],
    marks: Marks<'_>,
    first: u32,
    to: &mut [u32],
) -> (usize, usize) {
    assert_room(from.len(), marks, to.len());
    let to = to.as_mut_ptr();
    // SAFETY: as in `select`.
    unsafe {
        match by(isa, 32) {
            None => (0, 0),
            Some(By::Avx2) => avx2::indices(from, marks, first, to),
            Some(By::Avx512) => avx512::indices(from, marks, first, to),
        }
    }
}

/// The same with what is not kept as well.
#[inline(never)]
pub(super) fn partition<T: Number>(
    isa: Isa,
    from: &[T],
    marks: Marks<'_>,
    kept: &mut [T],
    left: &mut [T],
) -> (usize, usize) {
    assert_room(from.len(), marks, kept.len().min(left.len()));
    let (kept, left) = (kept.as_mut_ptr(), left.as_mut_ptr());
    // SAFETY: as in `select`.
    unsafe {
        match by(isa, T::ELEMENT.bits()) {
            None => (0, 0),
            Some(By::Avx2) => avx2::partition(from, marks, kept, left),
            Some(By::Avx512) if T::ELEMENT.bits() < 32 => avx512::partition_small(from, marks, kept, left),
            Some(By::Avx512) => avx512::partition_words(from, marks, kept, left),
        }
    }
}

/// The bytes other than those before, from the second on, whose place is `first`; returns how many bytes that were, and how many of them.
pub(super) fn heads(
    isa: Isa,
    from: &[u8],
    first: u32,
    starts: &mut [u32],
    values: &mut [u8],
) -> (usize, usize) {
    let Some(bytes) = from.len().checked_sub(1) else {
        return (0, 0);
    };
    let room = starts.len().min(values.len());
    assert!(room >= bytes, "every byte may be a run");
    let (starts, values) = (starts.as_mut_ptr(), values.as_mut_ptr());
    // SAFETY: as in `select`, for each byte after the first.
    unsafe {
        match by(isa, 8) {
            None => (0, 0),
            Some(By::Avx2) => avx2::heads(from, first, starts, values),
            Some(By::Avx512) => avx512::heads(from, first, starts, values),
        }
    }
}
