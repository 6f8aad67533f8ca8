//! Sixteen floats at a time in two vectors of 32 bytes. Of the loop that says the same a compiler makes shuffles that take longer than one
//! addition after the other.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::Kind;
use super::GROUP;

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

/// Scans a block of floats from `before` on, and returns its sum.
#[target_feature(enable = "avx2")]
pub(super) fn block_floats(kind: Kind, values: &[f32], before: f32, out: &mut [f32]) -> f32 {
    let (before, mut run) = (all(before), all(0.0));
    let (groups, rest) = values.as_chunks::<GROUP>();
    let (targets, last) = out.as_chunks_mut::<GROUP>();
    let mut group = |values: &[f32; GROUP], target: &mut [f32; GROUP]| {
        let sums = scan_floats(load(values));
        let here = match kind {
            Kind::Inclusive => sums,
            Kind::Exclusive => shifted!(sums, 1),
        };
        store(plus(before, plus(run, here)), target);
        run = plus(run, last_float(sums));
    };
    for (values, target) in groups.iter().zip(targets) {
        group(values, target);
    }
    if !rest.is_empty() {
        let (mut values, mut target) = ([0.0; GROUP], [0.0; GROUP]);
        values[..rest.len()].copy_from_slice(rest);
        group(&values, &mut target);
        last.copy_from_slice(&target[..last.len()]);
    }
    first(run)
}
