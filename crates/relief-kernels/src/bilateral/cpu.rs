//! The bilateral filter on the CPU.

use relief_raster::{Sample, View, ViewMut};

use super::Weights;
use crate::block::{self, blocks};
use crate::isa::{Isa, versions};

/// Filters a block of samples into `out`, which has R fewer columns and rows on every side.
///
/// # Panics
/// Where it has not.
pub fn filter<S: Sample>(source: View<'_, S>, weights: &Weights, mut out: ViewMut<'_, S>) {
    let reach = weights.radius;
    block::check(&source, (out.width(), out.height()), reach, reach);
    let isa = Isa::best();
    for y in 0..out.height() {
        let rows = source.part(0, y, source.width(), 2 * reach + 1);
        row::<S>(isa, rows, weights, out.row_mut(y));
    }
}

versions! {
    fn row<S: Sample>(rows: View<'_, S>, weights: &Weights, out: &mut [S]) {
        blocks!(out.len(), at, N, columns::<S, N>(rows, weights, at, out));
    }
}

/// `N` results from column `at` on.
#[inline(always)]
fn columns<S: Sample, const N: usize>(rows: View<'_, S>, weights: &Weights, at: usize, out: &mut [S]) {
    let side = 2 * weights.radius + 1;
    let middle = &rows.row(weights.radius)[at + weights.radius..][..N];
    let last = weights.range.len() - 1;
    let (mut totals, mut sums) = ([0_u64; N], [0_u64; N]);
    for (y, places) in weights.space.chunks_exact(side).enumerate() {
        let row = rows.row(y);
        for (x, place) in places.iter().enumerate() {
            // Far corners of a wide bell.
            if *place == 0 {
                continue;
            }
            let samples = &row[at + x..][..N];
            for (((total, sum), sample), middle) in totals.iter_mut().zip(&mut sums).zip(samples).zip(middle)
            {
                let sample = u32::from(sample.to_u16());
                let apart = sample.abs_diff(u32::from(middle.to_u16())) as usize;
                let range = if apart <= last { weights.range[apart] } else { 0 };
                // At most 2^24; of the greatest square all sum up to less than 2^35, and to 2^51 times samples.
                let weight = u32::from(*place) * u32::from(range);
                *total += u64::from(weight);
                *sum += u64::from(weight) * u64::from(sample);
            }
        }
    }
    for ((out, total), sum) in out[at..at + N].iter_mut().zip(&totals).zip(&sums) {
        // The pixel itself has a weight.
        *out = S::from_u16(((2 * sum + total) / (2 * total)) as u16);
    }
}
