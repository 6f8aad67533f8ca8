//! Vectors compressed in registers.
//!
//! After i elements at most i are kept, and `to` is as long as `from`: a whole vector stored after those lies inside wherever a
//! whole one was read.
#![allow(unsafe_code)]

use std::arch::is_x86_feature_detected as has;
use std::arch::x86_64::*;

use super::{Wanted, portable};
use crate::isa::{Isa, Level};

/// Nothing where the machine cannot.
pub(super) fn words<const FLOAT: bool>(
    isa: Isa,
    from: &[u32],
    wanted: Wanted<'_>,
    to: &mut [u32],
) -> Option<usize> {
    if isa.level() < Level::Avx512 {
        return None;
    }
    // SAFETY: an `Isa` of this level exists only where the machine has its instructions.
    let (read, kept) = unsafe { words_avx512::<FLOAT>(from, wanted, to) };
    let rest = portable(
        &from[read..],
        wanted.part(read..from.len()),
        &mut to[kept..],
        |v| {
            if FLOAT { v << 1 != 0 } else { v != 0 }
        },
    );
    Some(kept + rest)
}

/// Nothing where the machine cannot.
pub(super) fn halves(isa: Isa, from: &[u16], wanted: Wanted<'_>, to: &mut [u16]) -> Option<usize> {
    if isa.level() < Level::Avx512Vbmi || !has!("avx512vbmi2") {
        return None;
    }
    // SAFETY: the machine was just asked for the instructions.
    let (read, kept) = unsafe { halves_vbmi2(from, wanted, to) };
    let rest = &from[read..];
    Some(kept + portable(rest, wanted.part(read..from.len()), &mut to[kept..], |v| v != 0))
}

/// Nothing where the machine cannot.
pub(super) fn bytes(isa: Isa, from: &[u8], wanted: Wanted<'_>, to: &mut [u8]) -> Option<usize> {
    if isa.level() < Level::Avx512Vbmi || !has!("avx512vbmi2") {
        return None;
    }
    // SAFETY: the machine was just asked for the instructions.
    let (read, kept) = unsafe { bytes_vbmi2(from, wanted, to) };
    let rest = &from[read..];
    Some(kept + portable(rest, wanted.part(read..from.len()), &mut to[kept..], |v| v != 0))
}

/// Selects from all whole vectors; returns how many elements that were, and how many of them are kept.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
fn words_avx512<const FLOAT: bool>(from: &[u32], wanted: Wanted<'_>, to: &mut [u32]) -> (usize, usize) {
    let significant = _mm512_set1_epi32(if FLOAT { i32::MAX } else { -1 });
    let mut kept = 0;
    let whole = from.len() / 16 * 16;
    for i in (0..whole).step_by(16) {
        // SAFETY: 16 elements from `i` on lie inside; see above for the store; there are as many flags as elements.
        unsafe {
            let vector = _mm512_loadu_si512(from.as_ptr().add(i).cast());
            let mask = match wanted {
                Wanted::NonZero => _mm512_test_epi32_mask(vector, significant),
                Wanted::Flagged(flags) => {
                    let flags = _mm_loadu_si128(flags.as_ptr().add(i).cast());
                    _mm_test_epi8_mask(flags, flags)
                }
            };
            let compressed = _mm512_maskz_compress_epi32(mask, vector);
            _mm512_storeu_si512(to.as_mut_ptr().add(kept).cast(), compressed);
            kept += mask.count_ones() as usize;
        }
    }
    (whole, kept)
}

/// As [`words_avx512`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
fn halves_vbmi2(from: &[u16], wanted: Wanted<'_>, to: &mut [u16]) -> (usize, usize) {
    let mut kept = 0;
    let whole = from.len() / 32 * 32;
    for i in (0..whole).step_by(32) {
        // SAFETY: 32 elements from `i` on lie inside; see above for the store; there are as many flags as elements.
        unsafe {
            let vector = _mm512_loadu_si512(from.as_ptr().add(i).cast());
            let mask = match wanted {
                Wanted::NonZero => _mm512_test_epi16_mask(vector, vector),
                Wanted::Flagged(flags) => {
                    let flags = _mm256_loadu_si256(flags.as_ptr().add(i).cast());
                    _mm256_test_epi8_mask(flags, flags)
                }
            };
            let compressed = _mm512_maskz_compress_epi16(mask, vector);
            _mm512_storeu_si512(to.as_mut_ptr().add(kept).cast(), compressed);
            kept += mask.count_ones() as usize;
        }
    }
    (whole, kept)
}

/// As [`words_avx512`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
fn bytes_vbmi2(from: &[u8], wanted: Wanted<'_>, to: &mut [u8]) -> (usize, usize) {
    let mut kept = 0;
    let whole = from.len() / 64 * 64;
    for i in (0..whole).step_by(64) {
        // SAFETY: 64 elements from `i` on lie inside; see above for the store; there are as many flags as elements.
        unsafe {
            let vector = _mm512_loadu_si512(from.as_ptr().add(i).cast());
            let marks = match wanted {
                Wanted::NonZero => vector,
                Wanted::Flagged(flags) => _mm512_loadu_si512(flags.as_ptr().add(i).cast()),
            };
            let mask = _mm512_test_epi8_mask(marks, marks);
            let compressed = _mm512_maskz_compress_epi8(mask, vector);
            _mm512_storeu_si512(to.as_mut_ptr().add(kept).cast(), compressed);
            kept += mask.count_ones() as usize;
        }
    }
    (whole, kept)
}
