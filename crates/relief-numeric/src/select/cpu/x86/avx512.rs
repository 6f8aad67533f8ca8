//! Vectors of 64 bytes, compressed in registers by instructions for that.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::Marks;
use crate::element::{Element, Number};

/// Elements of a vector.
const fn lanes<T>() -> usize {
    64 / size_of::<T>()
}

/// Which elements of a vector are not 0, a bit each.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn set<T: Number>(vector: __m512i) -> u64 {
    match T::ELEMENT {
        Element::U8 => _mm512_test_epi8_mask(vector, vector),
        Element::U16 => _mm512_test_epi16_mask(vector, vector).into(),
        Element::U32 | Element::I32 => _mm512_test_epi32_mask(vector, vector).into(),
        Element::F32 => _mm512_test_epi32_mask(vector, _mm512_set1_epi32(i32::MAX)).into(),
    }
}

/// Which elements of a vector are wanted, a bit each; those from `i` on are in it.
///
/// # Safety
/// There are flags for them.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
unsafe fn mask_of_vector<T: Number>(vector: __m512i, i: usize, marks: Marks<'_>) -> u64 {
    let Marks::Flags(flags) = marks else {
        return set::<T>(vector);
    };
    // SAFETY: as the caller says; there are as many flags as elements in a vector.
    unsafe {
        let at = flags.as_ptr().add(i);
        match lanes::<T>() {
            64 => {
                let flags = _mm512_loadu_si512(at.cast());
                _mm512_test_epi8_mask(flags, flags)
            }
            32 => {
                let flags = _mm256_loadu_si256(at.cast());
                _mm256_test_epi8_mask(flags, flags).into()
            }
            _ => {
                let flags = _mm_loadu_si128(at.cast());
                _mm_test_epi8_mask(flags, flags).into()
            }
        }
    }
}

/// Which of the 64 elements from `i` on are wanted, a bit each.
///
/// # Safety
/// There are as many, and as many flags.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
unsafe fn mask_of_64<T: Number>(from: &[T], i: usize, marks: Marks<'_>) -> u64 {
    // SAFETY: the caller has made sure of 64 elements and flags from `i` on; vectors of 64 bytes cover them without going past.
    unsafe {
        if let Marks::Flags(flags) = marks {
            let flags = _mm512_loadu_si512(flags.as_ptr().add(i).cast());
            return _mm512_test_epi8_mask(flags, flags);
        }
        let mut mask = 0;
        for first in (0..64).step_by(lanes::<T>()) {
            mask |= set::<T>(_mm512_loadu_si512(from.as_ptr().add(i + first).cast())) << first;
        }
        mask
    }
}

/// How many elements of a vector have bits that are set, of a mask that may go on after theirs.
#[inline(always)]
fn ones<T>(mask: u64) -> usize {
    let count = match lanes::<T>() {
        64 => mask.count_ones(),
        32 => (mask as u32).count_ones(),
        _ => (mask as u16).count_ones(),
    };
    count as usize
}

/// The elements of a vector whose bits are set, and then zeros, of a mask that may go on after theirs.
///
/// # Safety
/// The machine has AVX-512F, and VBMI2 for elements smaller than 32 bits.
#[inline(always)]
unsafe fn compress<T: Number>(mask: u64, vector: __m512i) -> __m512i {
    // SAFETY: as the caller says.
    unsafe {
        match lanes::<T>() {
            64 => _mm512_maskz_compress_epi8(mask, vector),
            32 => _mm512_maskz_compress_epi16(mask as u32, vector),
            _ => _mm512_maskz_compress_epi32(mask as u16, vector),
        }
    }
}

/// Stores `first` and the numbers after it whose bits are set from `to` on; returns how many.
///
/// # Safety
/// There is room for 16 numbers after as many as each quarter of the mask's lower bits has set.
#[target_feature(enable = "avx512f,popcnt")]
#[inline]
unsafe fn store_places(mask: u64, first: u32, to: *mut u32) -> usize {
    let lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    let mut count = 0;
    for quarter in 0..4 {
        let part = (mask >> (16 * quarter)) as u16;
        let base = first.wrapping_add(16 * quarter) as i32;
        let places = _mm512_add_epi32(lanes, _mm512_set1_epi32(base));
        let compressed = _mm512_maskz_compress_epi32(part, places);
        // SAFETY: as the caller has made sure.
        unsafe { _mm512_storeu_si512(to.add(count).cast(), compressed) };
        count += part.count_ones() as usize;
    }
    count
}

/// Selects from all whole vectors; returns how many elements that were, and how many of them are kept. Compiled into functions that have the instructions.
///
/// # Safety
/// Results have room for as many elements as `from` has, and there are as many flags; the machine has AVX-512F, BW and VL, and VBMI2 for elements smaller than 32
/// bits.
#[inline(always)]
unsafe fn select<T: Number>(from: &[T], marks: Marks<'_>, to: *mut T) -> (usize, usize) {
    let mut kept = 0;
    let whole = from.len() / lanes::<T>() * lanes::<T>();
    for i in (0..whole).step_by(lanes::<T>()) {
        // SAFETY: a vector of elements from `i` on lies inside, and a vector after those that are kept; there are as many flags as elements.
        unsafe {
            let vector = _mm512_loadu_si512(from.as_ptr().add(i).cast());
            let mask = mask_of_vector::<T>(vector, i, marks);
            _mm512_storeu_si512(to.add(kept).cast(), compress::<T>(mask, vector));
            kept += mask.count_ones() as usize;
        }
    }
    (whole, kept)
}

/// [`select`] of elements of 32 bits.
///
/// # Safety
/// As of [`select`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
pub(super) unsafe fn select_words<T: Number>(from: &[T], marks: Marks<'_>, to: *mut T) -> (usize, usize) {
    // SAFETY: as the caller says.
    unsafe { select(from, marks, to) }
}

/// [`select`] of elements of 8 and 16 bits.
///
/// # Safety
/// As of [`select`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
pub(super) unsafe fn select_small<T: Number>(from: &[T], marks: Marks<'_>, to: *mut T) -> (usize, usize) {
    // SAFETY: as the caller says.
    unsafe { select(from, marks, to) }
}

/// As [`select`], with what is not kept as well.
///
/// # Safety
/// As of [`select`], of both.
#[inline(always)]
unsafe fn partition<T: Number>(from: &[T], marks: Marks<'_>, kept: *mut T, left: *mut T) -> (usize, usize) {
    let mut count = 0;
    let whole = from.len() / 64 * 64;
    for i in (0..whole).step_by(64) {
        // SAFETY: 64 elements from `i` on lie inside, and whole vectors after those that are kept and left.
        unsafe {
            let mask = mask_of_64(from, i, marks);
            for first in (0..64).step_by(lanes::<T>()) {
                let at = i + first;
                let part = mask >> first;
                let vector = _mm512_loadu_si512(from.as_ptr().add(at).cast());
                let (inside, outside) = (compress::<T>(part, vector), compress::<T>(!part, vector));
                _mm512_storeu_si512(kept.add(count).cast(), inside);
                _mm512_storeu_si512(left.add(at - count).cast(), outside);
                count += ones::<T>(part);
            }
        }
    }
    (whole, count)
}

/// [`partition`] of elements of 32 bits.
///
/// # Safety
/// As of [`partition`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
pub(super) unsafe fn partition_words<T: Number>(
    from: &[T],
    marks: Marks<'_>,
    kept: *mut T,
    left: *mut T,
) -> (usize, usize) {
    // SAFETY: as the caller says.
    unsafe { partition(from, marks, kept, left) }
}

/// [`partition`] of elements of 8 and 16 bits.
///
/// # Safety
/// As of [`partition`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
pub(super) unsafe fn partition_small<T: Number>(
    from: &[T],
    marks: Marks<'_>,
    kept: *mut T,
    left: *mut T,
) -> (usize, usize) {
    // SAFETY: as the caller says.
    unsafe { partition(from, marks, kept, left) }
}

/// As [`select`], of the places of elements of any size.
///
/// # Safety
/// As of [`select`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
pub(super) unsafe fn indices<T: Number>(
    from: &[T],
    marks: Marks<'_>,
    first: u32,
    to: *mut u32,
) -> (usize, usize) {
    let mut kept = 0;
    let whole = from.len() / 64 * 64;
    for i in (0..whole).step_by(64) {
        // SAFETY: 64 elements from `i` on lie inside, and 16 numbers after those that are kept wherever as many are looked at.
        unsafe {
            let mask = mask_of_64(from, i, marks);
            kept += store_places(mask, first.wrapping_add(i as u32), to.add(kept));
        }
    }
    (whole, kept)
}

/// The bytes of `from` other than those before, from its second on, whose place is `first`; returns how many bytes that were, and how
/// many of them.
///
/// # Safety
/// There is a byte, and room for a start and a value of each after it.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
pub(super) unsafe fn heads(from: &[u8], first: u32, starts: *mut u32, values: *mut u8) -> (usize, usize) {
    let mut count = 0;
    let whole = (from.len() - 1) / 64 * 64;
    for i in (0..whole).step_by(64) {
        // SAFETY: 65 bytes from `i` on lie inside, and a vector after the heads before in both results.
        unsafe {
            let before = _mm512_loadu_si512(from.as_ptr().add(i).cast());
            let vector = _mm512_loadu_si512(from.as_ptr().add(i + 1).cast());
            let mask = _mm512_cmpneq_epi8_mask(before, vector);
            let compressed = _mm512_maskz_compress_epi8(mask, vector);
            _mm512_storeu_si512(values.add(count).cast(), compressed);
            let place = first.wrapping_add(i as u32);
            count += store_places(mask, place, starts.add(count));
        }
    }
    (whole, count)
}
