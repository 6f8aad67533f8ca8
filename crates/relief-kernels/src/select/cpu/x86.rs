//! Vectors whose wanted numbers are moved together in registers and stored whole.
#![allow(unsafe_code)]

use std::arch::is_x86_feature_detected as has;

use super::Marks;
use crate::element::{Element, Number};
use crate::isa::{Isa, Level};

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

/// Selects from all whole vectors; returns how many elements that were, and how many of them are kept: none where the machine has no such instructions.
///
/// # Safety
/// Results have room for as many elements as `from` has, and there are as many flags.
pub(super) unsafe fn select<T: Number>(isa: Isa, from: &[T], marks: Marks<'_>, to: *mut T) -> (usize, usize) {
    // SAFETY: an `Isa` of a level exists only where the machine has its instructions, and has been asked for others; room is as the caller says. After i
    // elements at most i are kept, so a whole vector stored after those lies inside wherever a whole one was read.
    unsafe {
        match (by(isa, T::ELEMENT.bits()), T::ELEMENT) {
            (None, _) => (0, 0),
            (Some(By::Avx2), _) => avx2::select(from, marks, to),
            (_, Element::U8) => avx512::bytes(bytemuck::cast_slice(from), marks, to.cast()),
            (_, Element::U16) => avx512::halves(bytemuck::cast_slice(from), marks, to.cast()),
            (_, Element::U32 | Element::I32) => {
                avx512::words::<false>(bytemuck::cast_slice(from), marks, to.cast())
            }
            (_, Element::F32) => avx512::words::<true>(bytemuck::cast_slice(from), marks, to.cast()),
        }
    }
}

/// The same of their places, counted from `first` on.
///
/// # Safety
/// As of [`select`].
pub(super) unsafe fn indices<T: Number>(
    isa: Isa,
    from: &[T],
    marks: Marks<'_>,
    first: u32,
    to: *mut u32,
) -> (usize, usize) {
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
///
/// # Safety
/// As of [`select`].
pub(super) unsafe fn partition<T: Number>(
    isa: Isa,
    from: &[T],
    marks: Marks<'_>,
    kept: *mut T,
    left: *mut T,
) -> (usize, usize) {
    // SAFETY: as in `select`.
    unsafe {
        match (by(isa, T::ELEMENT.bits()), T::ELEMENT) {
            (None, _) => (0, 0),
            (Some(By::Avx2), _) => avx2::partition(from, marks, kept, left),
            (_, Element::U8 | Element::U16) => avx512::partition_small(from, marks, kept, left),
            _ => avx512::partition_words(from, marks, kept, left),
        }
    }
}

/// The bytes other than those before, from the second on, whose place is `first`; returns how many bytes that were, and how many of them.
///
/// # Safety
/// As of [`select`]; `from` begins with the byte before.
pub(super) unsafe fn heads(
    isa: Isa,
    from: &[u8],
    first: u32,
    starts: *mut u32,
    values: *mut u8,
) -> (usize, usize) {
    // SAFETY: as in `select`.
    unsafe {
        match by(isa, 8) {
            None => (0, 0),
            Some(By::Avx2) => avx2::heads(from, first, starts, values),
            Some(By::Avx512) => avx512::heads(from, first, starts, values),
        }
    }
}
