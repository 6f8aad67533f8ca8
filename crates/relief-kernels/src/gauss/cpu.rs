//! The weighted mean on the CPU: row by row, first along the columns, then across.
//!
//! Weights of a column sum to 2^16, so its sum fits in 32 bits. Across, the upper and the lower 16 bits of these sums are
//! weighted apart: each again fits in 32 bits, so that no product of 64 is needed, and what they make together is put
//! together and rounded once. Samples at equal distance are added before they are multiplied. A block of columns takes all
//! its weights before the next begins, so its totals stay in registers.

use relief_raster::{Sample, View, ViewMut};

use super::Bell;
use crate::isa::{Isa, versions};

/// Columns that are computed at once: their sums stay in the nearest cache.
const CHUNK: usize = 1_024;

/// Columns whose totals are in registers together, and how many of the rest.
const BLOCK: usize = 32;
const SMALL: usize = 8;

/// Words of scratch memory for [`filter`].
#[must_use]
pub fn scratch_words(bell: &Bell) -> usize {
    // The two halves, of 16 bits, of a chunk's sums.
    2 * (CHUNK + 2 * bell.radius()).div_ceil(4)
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
    let halves = bytemuck::cast_slice_mut::<u64, u16>(&mut scratch[..scratch_words(bell)]);
    let (high, low) = halves.split_at_mut(halves.len() / 2);
    for start in (0..width).step_by(CHUNK) {
        let columns = CHUNK.min(width - start);
        let span = columns + 2 * reach;
        let (high, low) = (&mut high[..span], &mut low[..span]);
        for y in 0..height {
            let rows = source.part(start, y, span, 2 * reach + 1);
            down(isa, rows, bell.half(), high, low);
            across(
                isa,
                high,
                low,
                bell.half(),
                &mut out.row_mut(y)[start..start + columns],
            );
        }
    }
}

versions! {
    /// The weighted sums of the columns of 2R + 1 rows, in halves.
    fn down<S: Sample>(rows: View<'_, S>, half: &[u32], high: &mut [u16], low: &mut [u16]) {
        let mut at = 0;
        while at + BLOCK <= high.len() {
            columns::<S, BLOCK>(rows, half, at, high, low);
            at += BLOCK;
        }
        while at + SMALL <= high.len() {
            columns::<S, SMALL>(rows, half, at, high, low);
            at += SMALL;
        }
        while at < high.len() {
            columns::<S, 1>(rows, half, at, high, low);
            at += 1;
        }
    }
}

/// `N` columns from column `at` on.
#[inline(always)]
fn columns<S: Sample, const N: usize>(
    rows: View<'_, S>,
    half: &[u32],
    at: usize,
    high: &mut [u16],
    low: &mut [u16],
) {
    let reach = half.len() - 1;
    let mut sums = [0_u32; N];
    for (sum, sample) in sums.iter_mut().zip(&rows.row(reach)[at..at + N]) {
        *sum = half[0] * wide(*sample);
    }
    for (k, weight) in half.iter().enumerate().skip(1) {
        let one = &rows.row(reach - k)[at..at + N];
        let other = &rows.row(reach + k)[at..at + N];
        add_pair(&mut sums, one, other, *weight);
    }
    for ((sum, high), low) in sums.iter().zip(&mut high[at..at + N]).zip(&mut low[at..at + N]) {
        *high = (*sum >> 16) as u16;
        *low = *sum as u16;
    }
}

versions! {
    /// The weighted sums across of what [`down`] made, rounded.
    fn across<S: Sample>(high: &[u16], low: &[u16], half: &[u32], out: &mut [S]) {
        let mut at = 0;
        while at + BLOCK <= out.len() {
            row::<S, BLOCK>(high, low, half, at, out);
            at += BLOCK;
        }
        while at + SMALL <= out.len() {
            row::<S, SMALL>(high, low, half, at, out);
            at += SMALL;
        }
        while at < out.len() {
            row::<S, 1>(high, low, half, at, out);
            at += 1;
        }
    }
}

/// `N` results from column `at` on.
///
/// The sum S is `above` · 2^16 + `below`; the result ⌊(S + 2^31) / 2^32⌋.
#[inline(always)]
fn row<S: Sample, const N: usize>(high: &[u16], low: &[u16], half: &[u32], at: usize, out: &mut [S]) {
    let above = totals::<N>(high, half, at);
    let below = totals::<N>(low, half, at);
    for ((above, below), out) in above.iter().zip(&below).zip(&mut out[at..at + N]) {
        // What the lower sum and the half carry into the upper one.
        let carry = (*below >> 16) + (1 << 15);
        let whole = (u64::from(*above) + u64::from(carry)) >> 16;
        *out = S::from_u16(whole as u16);
    }
}

#[inline(always)]
fn totals<const N: usize>(halves: &[u16], half: &[u32], at: usize) -> [u32; N] {
    let middle = at + half.len() - 1;
    let mut sums = [0_u32; N];
    for (sum, value) in sums.iter_mut().zip(&halves[middle..middle + N]) {
        *sum = half[0] * u32::from(*value);
    }
    for (k, weight) in half.iter().enumerate().skip(1) {
        let (one, other) = (&halves[middle - k..][..N], &halves[middle + k..][..N]);
        add_pair(&mut sums, one, other, *weight);
    }
    sums
}

/// Adds two rows of equal distance: at most 2 · 65 535 · 2^15, for a weight that counts twice is at most 2^15.
#[inline(always)]
fn add_pair<S: Sample, const N: usize>(sums: &mut [u32; N], one: &[S], other: &[S], weight: u32) {
    for ((sum, one), other) in sums.iter_mut().zip(one).zip(other) {
        *sum = sum.wrapping_add(weight * (wide(*one) + wide(*other)));
    }
}

#[inline(always)]
fn wide<S: Sample>(sample: S) -> u32 {
    u32::from(sample.to_u16())
}
