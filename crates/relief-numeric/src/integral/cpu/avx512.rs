//! Sixteen samples of a row at a time, added to what their columns have.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::each;
use crate::scan::cpu::GROUP;
use crate::scan::cpu::avx512::{Load, last_float, last_integer, scan_floats, scan_integers, zeros};

/// Sums of 32 bits.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn add_short(row: &[u8], before: u32, columns: &mut [u32]) -> u32 {
    let (zeros, mut run) = (zeros(), _mm512_set1_epi32(before.cast_signed()));
    let mut group = |samples: &[u8; GROUP], columns: &mut [u32; GROUP]| {
        // SAFETY: both have sixteen numbers, and this function is called only where the machine has AVX-512F.
        unsafe {
            let sums = scan_integers(u8::load(samples.as_ptr()), zeros);
            let columns: *mut u32 = columns.as_mut_ptr();
            let sum = _mm512_add_epi32(_mm512_loadu_si512(columns.cast()), _mm512_add_epi32(run, sums));
            _mm512_storeu_si512(columns.cast(), sum);
            run = _mm512_add_epi32(run, last_integer(sums));
        }
    };
    each(row, columns, &mut group);
    _mm_cvtsi128_si32(_mm512_castsi512_si128(run)).cast_unsigned()
}

/// Sums of 64 bits; those of a part of a row fit 32.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn add_long(row: &[u8], before: u64, columns: &mut [u64]) -> u64 {
    let start = _mm512_set1_epi64(before.cast_signed());
    let (zeros, mut run) = (zeros(), _mm512_setzero_si512());
    let mut group = |samples: &[u8; GROUP], columns: &mut [u64; GROUP]| {
        // SAFETY: as above; the columns are two vectors.
        unsafe {
            let sums = scan_integers(u8::load(samples.as_ptr()), zeros);
            let here = _mm512_add_epi32(run, sums);
            let halves = [_mm512_castsi512_si256(here), _mm512_extracti64x4_epi64::<1>(here)];
            for (k, half) in halves.into_iter().enumerate() {
                let columns: *mut u64 = columns.as_mut_ptr().add(8 * k);
                let sum = _mm512_add_epi64(start, _mm512_cvtepu32_epi64(half));
                let sum = _mm512_add_epi64(_mm512_loadu_si512(columns.cast()), sum);
                _mm512_storeu_si512(columns.cast(), sum);
            }
            run = _mm512_add_epi32(run, last_integer(sums));
        }
    };
    each(row, columns, &mut group);
    before + u64::from(_mm_cvtsi128_si32(_mm512_castsi512_si128(run)).cast_unsigned())
}

/// Sums of floats.
#[target_feature(enable = "avx512f")]
pub(super) fn add_floats(row: &[f32], before: f32, columns: &mut [f32]) -> f32 {
    let (zeros, mut run) = (zeros(), _mm512_set1_ps(before));
    let mut group = |samples: &[f32; GROUP], columns: &mut [f32; GROUP]| {
        // SAFETY: both have sixteen numbers.
        unsafe {
            let sums = scan_floats(_mm512_loadu_ps(samples.as_ptr()), zeros);
            let columns = columns.as_mut_ptr();
            let sum = _mm512_add_ps(_mm512_loadu_ps(columns), _mm512_add_ps(run, sums));
            _mm512_storeu_ps(columns, sum);
            run = _mm512_add_ps(run, last_float(sums));
        }
    };
    each(row, columns, &mut group);
    _mm512_cvtss_f32(run)
}
