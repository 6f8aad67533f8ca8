//! Sixteen numbers at a time in one vector of 64 bytes: compilers do not make this of loops.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::Kind;
use super::GROUP;
use super::stores::{Stores, each_group};

/// Zeros that the compiler does not know for zeros: of a shift with known ones it makes an expansion, which takes several times as long.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn zeros() -> __m512i {
    std::hint::black_box(_mm512_setzero_si512())
}

/// The vector with its numbers `$by` places on, [`zeros`] first.
macro_rules! shifted {
    ($vector:expr, $by:literal, $zeros:expr) => {
        _mm512_alignr_epi32::<{ 16 - $by }>($vector, $zeros)
    };
}

/// The sums of sixteen integers.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn scan_integers(values: __m512i, zeros: __m512i) -> __m512i {
    let sums = _mm512_add_epi32(values, shifted!(values, 1, zeros));
    let sums = _mm512_add_epi32(sums, shifted!(sums, 2, zeros));
    let sums = _mm512_add_epi32(sums, shifted!(sums, 4, zeros));
    _mm512_add_epi32(sums, shifted!(sums, 8, zeros))
}

/// The sums of sixteen floats.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn scan_floats(values: __m512, zeros: __m512i) -> __m512 {
    macro_rules! step {
        ($values:expr, $by:literal) => {{
            let values = $values;
            let others = _mm512_castsi512_ps(shifted!(_mm512_castps_si512(values), $by, zeros));
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

/// Scans a block of integers from `before` on, and returns its sum. Sums are of 32 bits, with or without a
/// sign.
///
/// # Safety
/// Where sums take non-temporal stores, they begin with a line of them.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) unsafe fn block<T: Load>(
    kind: Kind,
    values: &[T],
    before: u32,
    out: &mut [u32],
    stores: impl Stores<__m512i>,
) -> u32 {
    let (zeros, mut run) = (zeros(), _mm512_set1_epi32(before.cast_signed()));
    let group = |values: &[T; GROUP]| {
        // SAFETY: there are sixteen numbers.
        let sums = scan_integers(unsafe { T::load(values.as_ptr()) }, zeros);
        let here = match kind {
            Kind::Inclusive => sums,
            Kind::Exclusive => shifted!(sums, 1, zeros),
        };
        let found = _mm512_add_epi32(run, here);
        run = _mm512_add_epi32(run, last_integer(sums));
        found
    };
    // SAFETY: as the caller says.
    unsafe { each_group(values, out, stores, group) };
    let sum = _mm512_castsi512_si128(run);
    _mm_cvtsi128_si32(sum).cast_unsigned().wrapping_sub(before)
}

/// Scans a block of floats from `before` on, and returns its sum.
///
/// # Safety
/// As of [`block`].
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn block_floats(
    kind: Kind,
    values: &[f32],
    before: f32,
    out: &mut [f32],
    stores: impl Stores<__m512i>,
) -> f32 {
    let before = _mm512_set1_ps(before);
    let (zeros, mut run) = (zeros(), _mm512_setzero_ps());
    let group = |values: &[f32; GROUP]| {
        // SAFETY: there are sixteen numbers.
        let sums = scan_floats(unsafe { _mm512_loadu_ps(values.as_ptr()) }, zeros);
        let here = match kind {
            Kind::Inclusive => sums,
            Kind::Exclusive => _mm512_castsi512_ps(shifted!(_mm512_castps_si512(sums), 1, zeros)),
        };
        let found = _mm512_add_ps(before, _mm512_add_ps(run, here));
        run = _mm512_add_ps(run, last_float(sums));
        _mm512_castps_si512(found)
    };
    // SAFETY: as the caller says.
    unsafe { each_group(values, out, stores, group) };
    _mm512_cvtss_f32(run)
}
