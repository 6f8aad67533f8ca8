//! The bilateral filter on the CPU.

use relief_raster::{Depth, Sample, View, ViewMut};

use super::Weights;
use crate::block::{self, blocks};
use crate::isa::{Isa, versions};

/// The words that a filter of samples of this depth takes: weights by all differences, as numbers of 32 bits, which vectors look up.
#[must_use]
pub const fn scratch_words(depth: Depth) -> usize {
    match depth {
        Depth::Eight => 1 << 7,
        Depth::Sixteen => 1 << 15,
    }
}

/// Filters a block of samples into `out`, which has R fewer columns and rows on every side. `scratch` has at least [`scratch_words`].
///
/// # Panics
/// Where either is not so.
pub fn filter<S: Sample>(
    source: View<'_, S>,
    weights: &Weights,
    mut out: ViewMut<'_, S>,
    scratch: &mut [u64],
) {
    let reach = weights.radius;
    block::check(&source, (out.width(), out.height()), reach, reach);
    let table: &mut [u32] = bytemuck::cast_slice_mut(&mut scratch[..scratch_words(S::DEPTH)]);
    table.fill(0);
    for (entry, weight) in table.iter_mut().zip(&weights.range) {
        *entry = u32::from(*weight);
    }
    let isa = Isa::best();
    for y in 0..out.height() {
        let rows = source.part(0, y, source.width(), 2 * reach + 1);
        match S::DEPTH {
            Depth::Eight => row::<S, Levels<256>>(isa, rows, weights, table, out.row_mut(y)),
            Depth::Sixteen => row::<S, Levels<65_536>>(isa, rows, weights, table, out.row_mut(y)),
        }
    }
}

/// Weights by differences, of which there are a power of two: known where loops are compiled, so that vectors look them up unchecked.
trait Table {
    type Weights;

    fn of(table: &[u32]) -> Option<&Self::Weights>;
    fn weight(weights: &Self::Weights, apart: u32) -> u32;
}

/// So many.
struct Levels<const L: usize>;

impl<const L: usize> Table for Levels<L> {
    type Weights = [u32; L];

    #[inline(always)]
    fn of(table: &[u32]) -> Option<&[u32; L]> {
        table.first_chunk()
    }

    #[inline(always)]
    fn weight(weights: &[u32; L], apart: u32) -> u32 {
        weights[apart as usize & (L - 1)]
    }
}

versions! {
    fn row<S: Sample, T: Table>(rows: View<'_, S>, weights: &Weights, table: &[u32], out: &mut [S]) {
        if let Some(table) = T::of(table) {
            blocks!(out.len(), at, N, columns::<S, T, N>(rows, weights, table, at, out));
        }
    }
}

/// Places whose weights are summed in 32 bits: eight times 2^12 times a sample.
const SUMMED: usize = 8;

/// `N` results from column `at` on.
#[inline(always)]
fn columns<S: Sample, T: Table, const N: usize>(
    rows: View<'_, S>,
    weights: &Weights,
    table: &T::Weights,
    at: usize,
    out: &mut [S],
) {
    let side = 2 * weights.radius + 1;
    let mut middle = [0_u32; N];
    for (middle, sample) in middle
        .iter_mut()
        .zip(&rows.row(weights.radius)[at + weights.radius..][..N])
    {
        *middle = u32::from(sample.to_u16());
    }
    let (mut totals, mut sums) = ([0_u64; N], [0_u64; N]);
    for (y, places) in weights.space.chunks_exact(side).enumerate() {
        let row = rows.row(y);
        for (part, places) in places.chunks(SUMMED).enumerate() {
            let (mut total, mut low, mut high) = ([0_u32; N], [0_u32; N], [0_u32; N]);
            for (x, place) in places.iter().enumerate() {
                // Far corners of a wide bell.
                if *place == 0 {
                    continue;
                }
                let (place, samples) = (u32::from(*place), &row[at + part * SUMMED + x..][..N]);
                for i in 0..N {
                    let sample = u32::from(samples[i].to_u16());
                    // At most 2^24, whose halves are multiplied apart.
                    let weight = place * T::weight(table, sample.abs_diff(middle[i]));
                    total[i] += weight;
                    low[i] += (weight & 0xFFF) * sample;
                    high[i] += (weight >> 12) * sample;
                }
            }
            for i in 0..N {
                totals[i] += u64::from(total[i]);
                sums[i] += u64::from(low[i]) + (u64::from(high[i]) << 12);
            }
        }
    }
    for ((out, total), sum) in out[at..at + N].iter_mut().zip(&totals).zip(&sums) {
        // The pixel itself has a weight. Of the greatest square weights sum up to less than 2^35, and to 2^51 times samples.
        *out = S::from_u16(((2 * sum + total) / (2 * total)) as u16);
    }
}
