//! Vectors of 64 bytes, compressed in registers by instructions for that.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::Marks;
use crate::element::{Element, Number};

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
        let at = from.as_ptr().add(i).cast::<u8>();
        let vector = |k: usize| _mm512_loadu_si512(at.add(64 * k).cast());
        match T::ELEMENT {
            Element::U8 => _mm512_test_epi8_mask(vector(0), vector(0)),
            Element::U16 => {
                let half = |k| u64::from(_mm512_test_epi16_mask(vector(k), vector(k)));
                half(0) | half(1) << 32
            }
            element => {
                let significant = _mm512_set1_epi32(match element {
                    Element::F32 => i32::MAX,
                    _ => -1,
                });
                let quarter = |k| u64::from(_mm512_test_epi32_mask(vector(k), significant));
                quarter(0) | quarter(1) << 16 | quarter(2) << 32 | quarter(3) << 48
            }
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

/// As [`words`], for places of elements of any size.
///
/// # Safety
/// As of [`super::select`].
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

/// As [`words`], with what is not kept as well.
///
/// # Safety
/// As of [`super::select`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
pub(super) unsafe fn partition_words<T: Number>(
    from: &[T],
    marks: Marks<'_>,
    kept: *mut T,
    left: *mut T,
) -> (usize, usize) {
    let mut count = 0;
    let whole = from.len() / 64 * 64;
    for i in (0..whole).step_by(64) {
        // SAFETY: 64 elements of 32 bits from `i` on lie inside, and whole vectors after those that are kept and left.
        unsafe {
            let mask = mask_of_64(from, i, marks);
            for quarter in 0..4 {
                let at = i + 16 * quarter;
                let part = (mask >> (16 * quarter)) as u16;
                let vector = _mm512_loadu_si512(from.as_ptr().add(at).cast());
                let inside = _mm512_maskz_compress_epi32(part, vector);
                let outside = _mm512_maskz_compress_epi32(!part, vector);
                _mm512_storeu_si512(kept.add(count).cast(), inside);
                _mm512_storeu_si512(left.add(at - count).cast(), outside);
                count += part.count_ones() as usize;
            }
        }
    }
    (whole, count)
}

/// As [`partition_words`], for elements of 8 and 16 bits.
///
/// # Safety
/// As of [`super::select`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
pub(super) unsafe fn partition_small<T: Number>(
    from: &[T],
    marks: Marks<'_>,
    kept: *mut T,
    left: *mut T,
) -> (usize, usize) {
    let mut count = 0;
    let whole = from.len() / 64 * 64;
    for i in (0..whole).step_by(64) {
        // SAFETY: as in `partition_words`.
        unsafe {
            let mask = mask_of_64(from, i, marks);
            if T::ELEMENT == Element::U8 {
                let vector = _mm512_loadu_si512(from.as_ptr().add(i).cast());
                let inside = _mm512_maskz_compress_epi8(mask, vector);
                let outside = _mm512_maskz_compress_epi8(!mask, vector);
                _mm512_storeu_si512(kept.add(count).cast(), inside);
                _mm512_storeu_si512(left.add(i - count).cast(), outside);
                count += mask.count_ones() as usize;
            } else {
                for half in 0..2 {
                    let at = i + 32 * half;
                    let part = (mask >> (32 * half)) as u32;
                    let vector = _mm512_loadu_si512(from.as_ptr().add(at).cast());
                    let inside = _mm512_maskz_compress_epi16(part, vector);
                    let outside = _mm512_maskz_compress_epi16(!part, vector);
                    _mm512_storeu_si512(kept.add(count).cast(), inside);
                    _mm512_storeu_si512(left.add(at - count).cast(), outside);
                    count += part.count_ones() as usize;
                }
            }
        }
    }
    (whole, count)
}

/// The bytes of `from` other than those before, from its second on, whose place is `first`; returns how many bytes that were, and how
/// many of them.
///
/// # Safety
/// As of [`super::select`].
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

/// Selects from all whole vectors; returns how many elements that were, and how many of them are kept.
///
/// # Safety
/// As of [`super::select`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
pub(super) unsafe fn words<const FLOAT: bool>(
    from: &[u32],
    marks: Marks<'_>,
    to: *mut u32,
) -> (usize, usize) {
    let significant = _mm512_set1_epi32(if FLOAT { i32::MAX } else { -1 });
    let mut kept = 0;
    let whole = from.len() / 16 * 16;
    for i in (0..whole).step_by(16) {
        // SAFETY: 16 elements from `i` on lie inside, and a vector after those that are kept; there are as many flags as elements.
        unsafe {
            let vector = _mm512_loadu_si512(from.as_ptr().add(i).cast());
            let mask = match marks {
                Marks::NonZero => _mm512_test_epi32_mask(vector, significant),
                Marks::Flags(flags) => {
                    let flags = _mm_loadu_si128(flags.as_ptr().add(i).cast());
                    _mm_test_epi8_mask(flags, flags)
                }
            };
            let compressed = _mm512_maskz_compress_epi32(mask, vector);
            _mm512_storeu_si512(to.add(kept).cast(), compressed);
            kept += mask.count_ones() as usize;
        }
    }
    (whole, kept)
}

/// As [`words`].
///
/// # Safety
/// As of [`super::select`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
pub(super) unsafe fn halves(from: &[u16], marks: Marks<'_>, to: *mut u16) -> (usize, usize) {
    let mut kept = 0;
    let whole = from.len() / 32 * 32;
    for i in (0..whole).step_by(32) {
        // SAFETY: 32 elements from `i` on lie inside, and a vector after those that are kept; there are as many flags as elements.
        unsafe {
            let vector = _mm512_loadu_si512(from.as_ptr().add(i).cast());
            let mask = match marks {
                Marks::NonZero => _mm512_test_epi16_mask(vector, vector),
                Marks::Flags(flags) => {
                    let flags = _mm256_loadu_si256(flags.as_ptr().add(i).cast());
                    _mm256_test_epi8_mask(flags, flags)
                }
            };
            let compressed = _mm512_maskz_compress_epi16(mask, vector);
            _mm512_storeu_si512(to.add(kept).cast(), compressed);
            kept += mask.count_ones() as usize;
        }
    }
    (whole, kept)
}

/// As [`words`].
///
/// # Safety
/// As of [`super::select`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
pub(super) unsafe fn bytes(from: &[u8], marks: Marks<'_>, to: *mut u8) -> (usize, usize) {
    let mut kept = 0;
    let whole = from.len() / 64 * 64;
    for i in (0..whole).step_by(64) {
        // SAFETY: 64 elements from `i` on lie inside, and a vector after those that are kept; there are as many flags as elements.
        unsafe {
            let vector = _mm512_loadu_si512(from.as_ptr().add(i).cast());
            let bytes = match marks {
                Marks::NonZero => vector,
                Marks::Flags(flags) => _mm512_loadu_si512(flags.as_ptr().add(i).cast()),
            };
            let mask = _mm512_test_epi8_mask(bytes, bytes);
            let compressed = _mm512_maskz_compress_epi8(mask, vector);
            _mm512_storeu_si512(to.add(kept).cast(), compressed);
            kept += mask.count_ones() as usize;
        }
    }
    (whole, kept)
}
