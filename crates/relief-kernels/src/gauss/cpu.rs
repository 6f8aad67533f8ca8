//! The weighted mean on the CPU: row by row, first along the columns, then across.
//!
//! Weights of a column sum to 2^16, so its sum fits in 32 bits. Across, these sums are weighted as numbers of binary64: every product and
//! every sum of them is a whole number below 2^53, so nothing is rounded before the end, and vectors multiply twice as many of them as integers of
//! 64 bits. Samples at equal distance are added before they are multiplied. A block of columns takes all its weights before the next begins,
//! so its totals stay in registers. Samples of 8 bits have products of their own where the processor does (`bytes.rs`).

use relief_raster::{Sample, View, ViewMut};

use super::{Bell, bytes};
use crate::isa::{Isa, versions};

/// Columns that are computed at once: their sums stay in the nearest cache.
const CHUNK: usize = 1_024;

/// Columns whose totals are in registers together, and how many of the rest.
const BLOCK: usize = 32;
const SMALL: usize = 8;

/// Words of scratch memory for [`filter`].
#[must_use]
pub fn scratch_words(bell: &Bell) -> usize {
    CHUNK + 2 * bell.radius()
}

/// Filters a block of samples into `out`, which has R fewer columns and rows on every side.
///
/// # Panics
/// Where `source` has not 2R columns and rows more than `out`, or `scratch` is shorter than [`scratch_words`].
pub fn filter<S: Sample>(source: View<'_, S>, bell: &Bell, mut out: ViewMut<'_, S>, scratch: &mut [u64]) {
    let reach = bell.radius();
    let (width, height) = (out.width(), out.height());
    assert!(
        source.width() == width + 2 * reach && source.height() == height + 2 * reach,
        "a block of {} × {} samples for a result of {width} × {height} and a radius of {reach}",
        source.width(),
        source.height()
    );
    let isa = Isa::best();
    if bytes::filter(isa, source, bell, &mut out, scratch) {
        return;
    }
    let sums = bytemuck::cast_slice_mut::<u64, f64>(&mut scratch[..scratch_words(bell)]);
    for start in (0..width).step_by(CHUNK) {
        let columns = CHUNK.min(width - start);
        let span = columns + 2 * reach;
        let sums = &mut sums[..span];
        for y in 0..height {
            let rows = source.part(start, y, span, 2 * reach + 1);
            down(isa, rows, bell.half(), sums);
            across(
                isa,
                sums,
                bell.half(),
                &mut out.row_mut(y)[start..start + columns],
            );
        }
    }
}

versions! {
    /// The weighted sums of the columns of 2R + 1 rows.
    fn down<S: Sample>(rows: View<'_, S>, half: &[u32], sums: &mut [f64]) {
        let mut at = 0;
        while at + BLOCK <= sums.len() {
            columns::<S, BLOCK>(rows, half, at, sums);
            at += BLOCK;
        }
        while at + SMALL <= sums.len() {
            columns::<S, SMALL>(rows, half, at, sums);
            at += SMALL;
        }
        while at < sums.len() {
            columns::<S, 1>(rows, half, at, sums);
            at += 1;
        }
    }
}

/// `N` columns from column `at` on.
#[inline(always)]
fn columns<S: Sample, const N: usize>(rows: View<'_, S>, half: &[u32], at: usize, out: &mut [f64]) {
    let reach = half.len() - 1;
    let mut sums = [0_u32; N];
    for (sum, sample) in sums.iter_mut().zip(&rows.row(reach)[at..at + N]) {
        *sum = half[0] * wide(*sample);
    }
    for (k, weight) in half.iter().enumerate().skip(1) {
        add_pair(
            &mut sums,
            &rows.row(reach - k)[at..],
            &rows.row(reach + k)[at..],
            *weight,
        );
    }
    for (sum, out) in sums.iter().zip(&mut out[at..at + N]) {
        *out = f64::from(*sum);
    }
}

versions! {
    /// The weighted sums across of what [`down`] made, rounded.
    fn across<S: Sample>(sums: &[f64], half: &[u32], out: &mut [S]) {
        let mut at = 0;
        while at + BLOCK <= out.len() {
            row::<S, BLOCK>(sums, half, at, out);
            at += BLOCK;
        }
        while at + SMALL <= out.len() {
            row::<S, SMALL>(sums, half, at, out);
            at += SMALL;
        }
        while at < out.len() {
            row::<S, 1>(sums, half, at, out);
            at += 1;
        }
    }
}

/// `N` results from column `at` on: ⌊(S + 2^31) / 2^32⌋ of the sum S.
#[inline(always)]
fn row<S: Sample, const N: usize>(sums: &[f64], half: &[u32], at: usize, out: &mut [S]) {
    // S + 2^31 is below 2^49. From 2^52 on a number's last bit is worth 1, so that the lower bits are those of the integer: shifted, they are
    // the result, where a conversion would look at each number for what it cannot be.
    const RAISED: f64 = 4_503_599_627_370_496.0 + 2_147_483_648.0;
    let middle = at + half.len() - 1;
    let mut totals = [0_f64; N];
    add_weighted(&mut totals, &sums[middle..], None, half[0]);
    for (k, weight) in half.iter().enumerate().skip(1) {
        add_weighted(
            &mut totals,
            &sums[middle - k..],
            Some(&sums[middle + k..]),
            *weight,
        );
    }
    for (total, out) in totals.iter().zip(&mut out[at..at + N]) {
        *out = S::from_u16(((total + RAISED).to_bits() >> 32) as u16);
    }
}

/// Adds the first `N` numbers, or what they and those of another row are together, so many times.
#[inline(always)]
fn add_weighted<const N: usize>(totals: &mut [f64; N], one: &[f64], other: Option<&[f64]>, weight: u32) {
    let weight = f64::from(weight);
    // Of a length that is known, so that a vector of all registers is made of them.
    let (Some(one), other) = (
        one.first_chunk::<N>(),
        other.map(|other| other.first_chunk::<N>()),
    ) else {
        return;
    };
    match other.flatten() {
        Some(other) => {
            for i in 0..N {
                totals[i] += weight * (one[i] + other[i]);
            }
        }
        None => {
            for i in 0..N {
                totals[i] += weight * one[i];
            }
        }
    }
}

/// Adds two rows of equal distance: at most 2 · 65 535 · 2^15, for a weight that counts twice is at most 2^15.
#[inline(always)]
fn add_pair<S: Sample, const N: usize>(sums: &mut [u32; N], one: &[S], other: &[S], weight: u32) {
    if let (Some(one), Some(other)) = (one.first_chunk::<N>(), other.first_chunk::<N>()) {
        for i in 0..N {
            sums[i] = sums[i].wrapping_add(weight.wrapping_mul(wide(one[i]) + wide(other[i])));
        }
    }
}

#[inline(always)]
fn wide<S: Sample>(sample: S) -> u32 {
    u32::from(sample.to_u16())
}
