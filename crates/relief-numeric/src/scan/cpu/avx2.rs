//! Sixteen numbers at a time in two vectors of 32 bytes. Of the loop that says the same a compiler makes shuffles that take longer than one
//! addition after the other.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::Kind;
use super::GROUP;
use super::stores::{Stores, each_group};

/// Sixteen floats: the first eight, and the others.
pub(crate) type Sixteen = [__m256; 2];

/// Sixteen floats of memory.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn load(from: &[f32; GROUP]) -> Sixteen {
    // SAFETY: there are sixteen.
    unsafe {
        [
            _mm256_loadu_ps(from.as_ptr()),
            _mm256_loadu_ps(from.as_ptr().add(8)),
        ]
    }
}

/// Sixteen floats to memory.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn store(numbers: Sixteen, to: &mut [f32; GROUP]) {
    // SAFETY: there are sixteen.
    unsafe {
        _mm256_storeu_ps(to.as_mut_ptr(), numbers[0]);
        _mm256_storeu_ps(to.as_mut_ptr().add(8), numbers[1]);
    }
}

/// The numbers so many places on, of 1 to 4, zeros first.
macro_rules! shifted {
    ($numbers:expr, $by:literal) => {{
        let [first, second] = $numbers.map(|numbers| _mm256_castps_si256(numbers));
        // The four before each four.
        let before = [
            _mm256_permute2x128_si256::<0x08>(first, first),
            _mm256_permute2x128_si256::<0x21>(first, second),
        ];
        [
            _mm256_castsi256_ps(_mm256_alignr_epi8::<{ 16 - 4 * $by }>(first, before[0])),
            _mm256_castsi256_ps(_mm256_alignr_epi8::<{ 16 - 4 * $by }>(second, before[1])),
        ]
    }};
}

#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn plus(a: Sixteen, b: Sixteen) -> Sixteen {
    [_mm256_add_ps(a[0], b[0]), _mm256_add_ps(a[1], b[1])]
}

/// The same number sixteen times.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn all(number: f32) -> Sixteen {
    [_mm256_set1_ps(number); 2]
}

/// The sums of sixteen floats.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn scan_floats(values: Sixteen) -> Sixteen {
    let sums = plus(values, shifted!(values, 1));
    let sums = plus(sums, shifted!(sums, 2));
    let sums = plus(sums, shifted!(sums, 4));
    [sums[0], _mm256_add_ps(sums[1], sums[0])]
}

/// The last number everywhere.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn last_float(sums: Sixteen) -> Sixteen {
    [_mm256_permutevar8x32_ps(sums[1], _mm256_set1_epi32(7)); 2]
}

/// The first number.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn first(numbers: Sixteen) -> f32 {
    _mm256_cvtss_f32(numbers[0])
}

/// Sixteen numbers as two vectors of integers of 32 bits.
pub(super) trait Load: Copy + Default {
    /// # Safety
    /// Sixteen numbers lie there, and the machine has AVX2.
    unsafe fn load(from: *const Self) -> [__m256i; 2];
}

macro_rules! load {
    ($($type:ty, $from:ident => $load:expr;)+) => {$(
        impl Load for $type {
            #[inline(always)]
            unsafe fn load(from: *const Self) -> [__m256i; 2] {
                let eight = |$from: *const Self| {
                    // SAFETY: as the caller says.
                    unsafe { $load }
                };
                [eight(from), eight(from.wrapping_add(8))]
            }
        }
    )+};
}

load! {
    u8, from => _mm256_cvtepu8_epi32(_mm_loadl_epi64(from.cast()));
    u16, from => _mm256_cvtepu16_epi32(_mm_loadu_si128(from.cast()));
    u32, from => _mm256_loadu_si256(from.cast());
    i32, from => _mm256_loadu_si256(from.cast());
}

/// The sums of each four of eight integers.
#[inline]
#[target_feature(enable = "avx2")]
fn scan_fours(values: __m256i) -> __m256i {
    let sums = _mm256_add_epi32(values, _mm256_slli_si256::<4>(values));
    _mm256_add_epi32(sums, _mm256_slli_si256::<8>(sums))
}

/// Scans a block of integers from `before` on, and returns its sum. Sums are of 32 bits, with or without a
/// sign.
///
/// # Safety
/// Where sums take non-temporal stores, they begin with a line of them.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn block<T: Load>(
    kind: Kind,
    values: &[T],
    before: u32,
    out: &mut [u32],
    stores: impl Stores<[__m256i; 2]>,
) -> u32 {
    let mut run = _mm256_set1_epi32(before.cast_signed());
    let (fourth, eighth) = (_mm256_set1_epi32(3), _mm256_set1_epi32(7));
    let group = |values: &[T; GROUP]| {
        // SAFETY: there are sixteen numbers.
        let values = unsafe { T::load(values.as_ptr()) };
        let mut found = values;
        // By a loop: what is given to another function is not always compiled for these vectors.
        for (found, values) in found.iter_mut().zip(values) {
            let fours = scan_fours(values);
            // What the first four come to, for the others.
            let first = _mm256_permutevar8x32_epi32(fours, fourth);
            let first = _mm256_blend_epi32::<0xf0>(_mm256_setzero_si256(), first);
            let sums = _mm256_add_epi32(fours, first);
            let here = match kind {
                Kind::Inclusive => sums,
                Kind::Exclusive => _mm256_sub_epi32(sums, values),
            };
            *found = _mm256_add_epi32(run, here);
            run = _mm256_add_epi32(run, _mm256_permutevar8x32_epi32(sums, eighth));
        }
        found
    };
    // SAFETY: as the caller says.
    unsafe { each_group(values, out, stores, group) };
    _mm256_cvtsi256_si32(run).cast_unsigned().wrapping_sub(before)
}

/// Scans a block of floats from `before` on, and returns its sum.
///
/// # Safety
/// As of [`block`].
#[target_feature(enable = "avx2")]
pub(super) unsafe fn block_floats(
    kind: Kind,
    values: &[f32],
    before: f32,
    out: &mut [f32],
    stores: impl Stores<[__m256i; 2]>,
) -> f32 {
    let (before, mut run) = (all(before), all(0.0));
    let group = |values: &[f32; GROUP]| {
        let sums = scan_floats(load(values));
        let here = match kind {
            Kind::Inclusive => sums,
            Kind::Exclusive => shifted!(sums, 1),
        };
        let [first, second] = plus(before, plus(run, here));
        run = plus(run, last_float(sums));
        [_mm256_castps_si256(first), _mm256_castps_si256(second)]
    };
    // SAFETY: as the caller says.
    unsafe { each_group(values, out, stores, group) };
    first(run)
}
