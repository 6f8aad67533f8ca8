//! Sixteen numbers at a time in one vector of 64 bytes: compilers do not make this of loops.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::Kind;
use super::GROUP;

/// The vector with its numbers `$by` places on, zeros first.
macro_rules! shifted {
    ($vector:expr, $by:literal) => {
        _mm512_alignr_epi32::<{ 16 - $by }>($vector, _mm512_setzero_si512())
    };
}

/// The sums of sixteen integers.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn scan_integers(values: __m512i) -> __m512i {
    let sums = _mm512_add_epi32(values, shifted!(values, 1));
    let sums = _mm512_add_epi32(sums, shifted!(sums, 2));
    let sums = _mm512_add_epi32(sums, shifted!(sums, 4));
    _mm512_add_epi32(sums, shifted!(sums, 8))
}

/// The sums of sixteen floats.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn scan_floats(values: __m512) -> __m512 {
    macro_rules! step {
        ($values:expr, $by:literal) => {{
            let values = $values;
            let others = _mm512_castsi512_ps(shifted!(_mm512_castps_si512(values), $by));
            _mm512_add_ps(values, others)
        }};
    }
    step!(step!(step!(step!(values, 1), 2), 4), 8)
}

/// The last number everywhere.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn last_integer(sums: __m512i) -> __m512i {
    _mm512_permutexvar_epi32(_mm512_set1_epi32(15), sums)
}

/// The last number everywhere.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn last_float(sums: __m512) -> __m512 {
    _mm512_permutexvar_ps(_mm512_set1_epi32(15), sums)
}

/// Sixteen numbers as vectors of 32 bits.
pub(crate) trait Load: Copy + Default {
    /// # Safety
    /// Sixteen numbers lie there, and the machine has AVX-512F.
    unsafe fn load(from: *const Self) -> __m512i;
}

macro_rules! load {
    ($($type:ty, $from:ident => $load:expr;)+) => {$(
        impl Load for $type {
            #[inline(always)]
            unsafe fn load($from: *const Self) -> __m512i {
                // SAFETY: as the caller says.
                unsafe { $load }
            }
        }
    )+};
}

load! {
    u8, from => _mm512_cvtepu8_epi32(_mm_loadu_si128(from.cast()));
    u16, from => _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.cast()));
    u32, from => _mm512_loadu_si512(from.cast());
    i32, from => _mm512_loadu_si512(from.cast());
}

/// Scans a block of integers from `before` on, and returns its sum. Sums are of 32 bits, with or without a sign.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn block<T: Load>(kind: Kind, values: &[T], before: u32, out: &mut [u32]) -> u32 {
    let mut run = _mm512_set1_epi32(before.cast_signed());
    let (groups, rest) = values.as_chunks::<GROUP>();
    let (targets, last) = out.as_chunks_mut::<GROUP>();
    let mut group = |values: &[T; GROUP], target: &mut [u32; GROUP]| {
        // SAFETY: both have sixteen numbers, and this function is called only where the machine has AVX-512F.
        unsafe {
            let sums = scan_integers(T::load(values.as_ptr()));
            let here = match kind {
                Kind::Inclusive => sums,
                Kind::Exclusive => shifted!(sums, 1),
            };
            _mm512_storeu_si512(target.as_mut_ptr().cast(), _mm512_add_epi32(run, here));
            run = _mm512_add_epi32(run, last_integer(sums));
        }
    };
    for (values, target) in groups.iter().zip(targets) {
        group(values, target);
    }
    if !rest.is_empty() {
        let mut values = [T::default(); GROUP];
        values[..rest.len()].copy_from_slice(rest);
        let mut target = [0; GROUP];
        group(&values, &mut target);
        last.copy_from_slice(&target[..last.len()]);
    }
    let sum = _mm512_castsi512_si128(run);
    _mm_cvtsi128_si32(sum).cast_unsigned().wrapping_sub(before)
}

/// Scans a block of floats from `before` on, and returns its sum.
#[target_feature(enable = "avx512f")]
pub(super) fn block_floats(kind: Kind, values: &[f32], before: f32, out: &mut [f32]) -> f32 {
    let before = _mm512_set1_ps(before);
    let mut run = _mm512_setzero_ps();
    let (groups, rest) = values.as_chunks::<GROUP>();
    let (targets, last) = out.as_chunks_mut::<GROUP>();
    let mut group = |values: &[f32; GROUP], target: &mut [f32; GROUP]| {
        // SAFETY: both have sixteen numbers.
        unsafe {
            let sums = scan_floats(_mm512_loadu_ps(values.as_ptr()));
            let here = match kind {
                Kind::Inclusive => sums,
                Kind::Exclusive => _mm512_castsi512_ps(shifted!(_mm512_castps_si512(sums), 1)),
            };
            let sum = _mm512_add_ps(before, _mm512_add_ps(run, here));
            _mm512_storeu_ps(target.as_mut_ptr(), sum);
            run = _mm512_add_ps(run, last_float(sums));
        }
    };
    for (values, target) in groups.iter().zip(targets) {
        group(values, target);
    }
    if !rest.is_empty() {
        let mut values = [0.0; GROUP];
        values[..rest.len()].copy_from_slice(rest);
        let mut target = [0.0; GROUP];
        group(&values, &mut target);
        last.copy_from_slice(&target[..last.len()]);
    }
    _mm512_cvtss_f32(run)
}

/// The sum of a block of floats, in the order of [`block_floats`].
#[target_feature(enable = "avx512f")]
pub(super) fn sum_floats(values: &[f32]) -> f32 {
    let mut run = _mm512_setzero_ps();
    let (groups, rest) = values.as_chunks::<GROUP>();
    let mut group = |values: &[f32; GROUP]| {
        // SAFETY: there are sixteen numbers.
        let sums = scan_floats(unsafe { _mm512_loadu_ps(values.as_ptr()) });
        run = _mm512_add_ps(run, last_float(sums));
    };
    groups.iter().for_each(&mut group);
    if !rest.is_empty() {
        let mut values = [0.0; GROUP];
        values[..rest.len()].copy_from_slice(rest);
        group(&values);
    }
    _mm512_cvtss_f32(run)
}
