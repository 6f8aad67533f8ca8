//! Eight elements at a time, moved together by an exchange that a table has for each eight bits.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::Marks;
use crate::ahead::{LINE, ask};
use crate::element::{Element, Number};

/// Elements whose marks are looked at at once.
const MANY: usize = 32;

/// How many bytes ahead of those that are looked at memory is asked for: selections of words take a fifth less than without it on two cores of an AMD EPYC
/// (Zen 3; 512 bytes a twelfth less, 8 KiB the same).
const AHEAD: usize = 2_048;

/// Which of eight bits are set, for each byte; then any.
static SET: [[u8; 8]; 256] = set_bits();

const fn set_bits() -> [[u8; 8]; 256] {
    let mut all = [[0; 8]; 256];
    let mut byte = 0;
    while byte < all.len() {
        let (mut bit, mut count) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                all[byte][count] = bit;
                count += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    all
}

/// The places of the bits that are set, as bytes.
#[target_feature(enable = "avx2")]
#[inline]
fn places(bits: u8) -> __m128i {
    // SAFETY: eight bytes.
    unsafe { _mm_loadl_epi64(SET[bits as usize].as_ptr().cast()) }
}

/// Which of [`MANY`] elements from `i` on are wanted, a bit each.
///
/// # Safety
/// There are as many, and as many flags.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn mask_of_32<T: Number>(from: &[T], i: usize, marks: Marks<'_>) -> u32 {
    let zero = _mm256_setzero_si256();
    for line in 0..size_of::<[T; MANY]>().div_ceil(LINE) {
        ask(from
            .as_ptr()
            .wrapping_add(i)
            .wrapping_byte_add(AHEAD + line * LINE));
    }
    let bytes = |vector| !_mm256_movemask_epi8(_mm256_cmpeq_epi8(vector, zero)).cast_unsigned();
    // SAFETY: the caller has made sure of 32 elements and flags from `i` on; vectors of 32 bytes cover them without going past.
    unsafe {
        let at = match marks {
            Marks::Flags(flags) => flags.as_ptr().add(i),
            Marks::NonZero => from.as_ptr().add(i).cast::<u8>(),
        };
        let vector = |k: usize| _mm256_loadu_si256(at.add(32 * k).cast());
        match (marks, T::ELEMENT) {
            (Marks::Flags(_), _) | (_, Element::U8) => bytes(vector(0)),
            (_, Element::U16) => {
                let [first, second] = [vector(0), vector(1)].map(|vector| _mm256_cmpeq_epi16(vector, zero));
                // Fours of bytes by turns of the first and of the second.
                let both = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(first, second));
                !_mm256_movemask_epi8(both).cast_unsigned()
            }
            (_, element) => {
                let significant = _mm256_set1_epi32(match element {
                    Element::F32 => i32::MAX,
                    _ => -1,
                });
                let eight = |k: usize| {
                    let zeros = _mm256_cmpeq_epi32(_mm256_and_si256(vector(k), significant), zero);
                    _mm256_movemask_ps(_mm256_castsi256_ps(zeros)).cast_unsigned() << (8 * k)
                };
                !(eight(0) | eight(1) | eight(2) | eight(3))
            }
        }
    }
}

/// Stores those of eight elements whose bits are set, and then any, eight in all.
///
/// # Safety
/// Eight elements lie at `from`, and there is room for as many at `to`.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn store_eight<T: Number>(from: *const T, bits: u8, to: *mut T) {
    let places = places(bits);
    // SAFETY: as the caller says.
    unsafe {
        match T::ELEMENT {
            Element::U8 => {
                let eight = _mm_shuffle_epi8(_mm_loadl_epi64(from.cast()), places);
                _mm_storel_epi64(to.cast(), eight);
            }
            Element::U16 => {
                // Bytes 2 k and 2 k + 1 of number k.
                let pairs = _mm_unpacklo_epi8(places, places);
                let pairs = _mm_add_epi8(_mm_add_epi8(pairs, pairs), _mm_set1_epi16(0x0100));
                let eight = _mm_shuffle_epi8(_mm_loadu_si128(from.cast()), pairs);
                _mm_storeu_si128(to.cast(), eight);
            }
            _ => {
                let places = _mm256_cvtepu8_epi32(places);
                let eight = _mm256_permutevar8x32_epi32(_mm256_loadu_si256(from.cast()), places);
                _mm256_storeu_si256(to.cast(), eight);
            }
        }
    }
}

/// Stores `first` and the numbers after it whose bits are set, and then any, eight in all.
///
/// # Safety
/// There is room for eight.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn store_places(bits: u8, first: u32, to: *mut u32) {
    let places = _mm256_cvtepu8_epi32(places(bits));
    let places = _mm256_add_epi32(places, _mm256_set1_epi32(first.cast_signed()));
    // SAFETY: as the caller says.
    unsafe { _mm256_storeu_si256(to.cast(), places) };
}

/// # Safety
/// As of [`super::select`].
#[target_feature(enable = "avx2,popcnt")]
pub(super) unsafe fn select<T: Number>(from: &[T], marks: Marks<'_>, to: *mut T) -> (usize, usize) {
    let mut kept = 0;
    let whole = from.len() / MANY * MANY;
    for i in (0..whole).step_by(MANY) {
        // SAFETY: as many elements from `i` on lie inside, and eight after those that are kept wherever eight are looked at.
        unsafe {
            let mask = mask_of_32(from, i, marks);
            for (k, bits) in mask.to_le_bytes().into_iter().enumerate() {
                store_eight(from.as_ptr().add(i + 8 * k), bits, to.add(kept));
                kept += bits.count_ones() as usize;
            }
        }
    }
    (whole, kept)
}

/// # Safety
/// As of [`super::select`].
#[target_feature(enable = "avx2,popcnt")]
pub(super) unsafe fn indices<T: Number>(
    from: &[T],
    marks: Marks<'_>,
    first: u32,
    to: *mut u32,
) -> (usize, usize) {
    let mut kept = 0;
    let whole = from.len() / MANY * MANY;
    for i in (0..whole).step_by(MANY) {
        // SAFETY: as in `select`.
        unsafe {
            let mask = mask_of_32(from, i, marks);
            for (k, bits) in mask.to_le_bytes().into_iter().enumerate() {
                store_places(bits, first.wrapping_add((i + 8 * k) as u32), to.add(kept));
                kept += bits.count_ones() as usize;
            }
        }
    }
    (whole, kept)
}

/// # Safety
/// As of [`super::select`].
#[target_feature(enable = "avx2,popcnt")]
pub(super) unsafe fn partition<T: Number>(
    from: &[T],
    marks: Marks<'_>,
    kept: *mut T,
    left: *mut T,
) -> (usize, usize) {
    let mut count = 0;
    let whole = from.len() / MANY * MANY;
    for i in (0..whole).step_by(MANY) {
        // SAFETY: as in `select`, of both.
        unsafe {
            let mask = mask_of_32(from, i, marks);
            for (k, bits) in mask.to_le_bytes().into_iter().enumerate() {
                let at = i + 8 * k;
                store_eight(from.as_ptr().add(at), bits, kept.add(count));
                store_eight(from.as_ptr().add(at), !bits, left.add(at - count));
                count += bits.count_ones() as usize;
            }
        }
    }
    (whole, count)
}

/// # Safety
/// As of [`super::heads`].
#[target_feature(enable = "avx2,popcnt")]
pub(super) unsafe fn heads(from: &[u8], first: u32, starts: *mut u32, values: *mut u8) -> (usize, usize) {
    let mut count = 0;
    let whole = (from.len() - 1) / MANY * MANY;
    for i in (0..whole).step_by(MANY) {
        // SAFETY: a byte more from `i` on lies inside, and eight after the heads before in both results.
        unsafe {
            let before = _mm256_loadu_si256(from.as_ptr().add(i).cast());
            let bytes = _mm256_loadu_si256(from.as_ptr().add(i + 1).cast());
            let mask = !_mm256_movemask_epi8(_mm256_cmpeq_epi8(before, bytes)).cast_unsigned();
            for (k, bits) in mask.to_le_bytes().into_iter().enumerate() {
                let at = i + 8 * k;
                store_eight(from.as_ptr().add(at + 1), bits, values.add(count));
                store_places(bits, first.wrapping_add(at as u32), starts.add(count));
                count += bits.count_ones() as usize;
            }
        }
    }
    (whole, count)
}
