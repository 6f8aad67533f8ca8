//! Eight elements at a time, moved together by an exchange that a table has for each eight bits.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::Marks;
use crate::element::{Element, Number};
use relief_kernels::ahead::{LINE, ask};

/// Elements whose marks are looked at at once.
const MANY: usize = 32;

/// How many bytes ahead of those that are looked at memory is prefetched: half a page, far enough for the
/// latency of memory.
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

/// Which of [`MANY`] elements from `i` on are not 0, a bit each.
///
/// # Safety
/// There are as many.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn mask_of_32<T: Number>(from: &[T], i: usize) -> u32 {
    let zero = _mm256_setzero_si256();
    // SAFETY: the caller has made sure of 32 elements from `i` on; vectors of 32 bytes cover them without going past.
    let vector = |k: usize| unsafe { _mm256_loadu_si256(from.as_ptr().add(i).cast::<__m256i>().add(k)) };
    match T::ELEMENT {
        Element::U8 => !_mm256_movemask_epi8(_mm256_cmpeq_epi8(vector(0), zero)).cast_unsigned(),
        Element::U16 => {
            let [first, second] = [vector(0), vector(1)].map(|vector| _mm256_cmpeq_epi16(vector, zero));
            // Fours of bytes by turns of the first and of the second.
            let both = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(first, second));
            !_mm256_movemask_epi8(both).cast_unsigned()
        }
        element => {
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

/// Asks for the memory [`AHEAD`] of [`MANY`] elements from `i` on.
#[inline(always)]
fn ask_ahead<T>(from: &[T], i: usize) {
    for line in 0..size_of::<[T; MANY]>().div_ceil(LINE) {
        ask(from
            .as_ptr()
            .wrapping_add(i)
            .wrapping_byte_add(AHEAD + line * LINE));
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

/// Calls `store` for each eight of all whole [`MANY`] elements, whose bits are `mask`: with the place of the first, the bits, and how many are set before. Returns
/// how many elements that were, and how many of their bits are set.
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn eights(
    len: usize,
    mask: impl Fn(usize) -> u32,
    mut store: impl FnMut(usize, u8, usize),
) -> (usize, usize) {
    let mut count = 0;
    let whole = len / MANY * MANY;
    for i in (0..whole).step_by(MANY) {
        for (k, bits) in mask(i).to_le_bytes().into_iter().enumerate() {
            store(i + 8 * k, bits, count);
            count += bits.count_ones() as usize;
        }
    }
    (whole, count)
}

/// [`eights`] of elements, with the bits of those that are wanted.
///
/// # Safety
/// There are as many flags.
#[target_feature(enable = "avx2,popcnt")]
#[inline]
unsafe fn eights_of<T: Number>(
    from: &[T],
    marks: Marks<'_>,
    store: impl FnMut(usize, u8, usize),
) -> (usize, usize) {
    // A loop for each: compilers do not always make two of one.
    match marks {
        Marks::Flags(flags) => {
            let mask = |i| {
                ask_ahead(from, i);
                // SAFETY: as many elements from `i` on lie inside, and have flags.
                unsafe { mask_of_32(flags, i) }
            };
            eights(from.len(), mask, store)
        }
        Marks::NonZero => {
            let mask = |i| {
                ask_ahead(from, i);
                // SAFETY: as above.
                unsafe { mask_of_32(from, i) }
            };
            eights(from.len(), mask, store)
        }
    }
}

/// # Safety
/// Results have room for as many elements as `from` has, and there are as many flags.
#[target_feature(enable = "avx2,popcnt")]
pub(super) unsafe fn select<T: Number>(from: &[T], marks: Marks<'_>, to: *mut T) -> (usize, usize) {
    // SAFETY: eight elements from `at` on lie inside, and have room after those that are kept.
    let store = |at, bits, kept| unsafe { store_eight(from.as_ptr().add(at), bits, to.add(kept)) };
    // SAFETY: as the caller says.
    unsafe { eights_of(from, marks, store) }
}

/// # Safety
/// As of [`select`].
#[target_feature(enable = "avx2,popcnt")]
pub(super) unsafe fn indices<T: Number>(
    from: &[T],
    marks: Marks<'_>,
    first: u32,
    to: *mut u32,
) -> (usize, usize) {
    // SAFETY: eight have room after those that are kept.
    let store = |at, bits, kept| unsafe { store_places(bits, first.wrapping_add(at as u32), to.add(kept)) };
    // SAFETY: as the caller says.
    unsafe { eights_of(from, marks, store) }
}

/// # Safety
/// As of [`select`], of both sides.
#[target_feature(enable = "avx2,popcnt")]
pub(super) unsafe fn partition<T: Number>(
    from: &[T],
    marks: Marks<'_>,
    kept: *mut T,
    left: *mut T,
) -> (usize, usize) {
    // SAFETY: as in `select`, of both.
    let store = |at, bits, count| unsafe {
        store_eight(from.as_ptr().add(at), bits, kept.add(count));
        store_eight(from.as_ptr().add(at), !bits, left.add(at - count));
    };
    // SAFETY: as the caller says.
    unsafe { eights_of(from, marks, store) }
}

/// # Safety
/// There is a byte, and room for a start and a value of each after it.
#[target_feature(enable = "avx2,popcnt")]
pub(super) unsafe fn heads(from: &[u8], first: u32, starts: *mut u32, values: *mut u8) -> (usize, usize) {
    let mask = |i| {
        // SAFETY: a byte more from `i` on lies inside.
        unsafe {
            let before = _mm256_loadu_si256(from.as_ptr().add(i).cast());
            let bytes = _mm256_loadu_si256(from.as_ptr().add(i + 1).cast());
            !_mm256_movemask_epi8(_mm256_cmpeq_epi8(before, bytes)).cast_unsigned()
        }
    };
    eights(from.len() - 1, mask, |at, bits, count| {
        // SAFETY: eight bytes after that at `at` lie inside, and have room after the heads before in both results.
        unsafe {
            store_eight(from.as_ptr().add(at + 1), bits, values.add(count));
            store_places(bits, first.wrapping_add(at as u32), starts.add(count));
        }
    })
}
