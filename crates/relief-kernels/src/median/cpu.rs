//! Ranks on the CPU: bit by bit, many columns together.

use relief_raster::{Depth, Sample, View, ViewMut};

use super::Rank;
use crate::isa::{Isa, versions};

/// Columns that are computed together: what is known of them stays in registers, and comparing them takes most of the time.
const BLOCK: usize = 64;

/// Columns together where the result is narrower than a block.
const SMALL: usize = 8;

/// Filters a block of samples into `out`, which has R fewer columns and rows on every side.
///
/// # Panics
/// Where `source` has not 2R columns and rows more than `out`.
pub fn filter<S: Sample>(source: View<'_, S>, rank: Rank, mut out: ViewMut<'_, S>) {
    let reach = 2 * rank.radius();
    let (width, height) = (out.width(), out.height());
    assert!(
        source.width() == width + reach && source.height() == height + reach,
        "a block of {} × {} samples for a result of {width} × {height} and a radius of {}",
        source.width(),
        source.height(),
        rank.radius()
    );
    let isa = Isa::best();
    for y in 0..height {
        let (rows, out) = (source.part(0, y, width + reach, reach + 1), out.row_mut(y));
        match S::DEPTH {
            Depth::Eight => row::<S, u8>(isa, rows, rank, bytemuck::cast_slice_mut(out)),
            Depth::Sixteen => row::<S, u16>(isa, rows, rank, bytemuck::cast_slice_mut(out)),
        }
    }
}

/// A sample, and a number of samples, of one width.
trait Lane: Sample {
    /// Its highest bit.
    const HIGHEST: Self;
    /// The greatest number that it counts to.
    const MOST: usize;

    fn or(self, bit: Self) -> Self;
    fn half(self) -> Self;
    /// One more where `is`.
    fn count(self, is: bool) -> Self;
}

impl Lane for u8 {
    const HIGHEST: Self = 1 << 7;
    const MOST: usize = 255;

    #[inline(always)]
    fn or(self, bit: Self) -> Self {
        self | bit
    }

    #[inline(always)]
    fn half(self) -> Self {
        self >> 1
    }

    #[inline(always)]
    fn count(self, is: bool) -> Self {
        self.wrapping_add(Self::from(is))
    }
}

impl Lane for u16 {
    const HIGHEST: Self = 1 << 15;
    const MOST: usize = 65_535;

    #[inline(always)]
    fn or(self, bit: Self) -> Self {
        self | bit
    }

    #[inline(always)]
    fn half(self) -> Self {
        self >> 1
    }

    #[inline(always)]
    fn count(self, is: bool) -> Self {
        self.wrapping_add(Self::from(is))
    }
}

versions! {
    /// One row of results from the 2R + 1 rows around it. `L` is `S`.
    fn row<S: Sample, L: Lane>(rows: View<'_, S>, rank: Rank, out: &mut [L]) {
        let width = out.len();
        let blocks = if width >= BLOCK { BLOCK } else { SMALL };
        let mut at = 0;
        while at < width {
            if blocks <= width {
                // The last block reaches back over the one before it, which then is computed again.
                let from = at.min(width - blocks);
                if blocks == BLOCK {
                    columns::<S, L, BLOCK>(rows, rank, from, out);
                } else {
                    columns::<S, L, SMALL>(rows, rank, from, out);
                }
                at += blocks;
            } else {
                columns::<S, L, 1>(rows, rank, at, out);
                at += 1;
            }
        }
    }
}

/// `N` results from column `at` on.
#[inline(always)]
fn columns<S: Sample, L: Lane, const N: usize>(rows: View<'_, S>, rank: Rank, at: usize, out: &mut [L]) {
    let side = 2 * rank.radius() + 1;
    // So many rows are counted before a count of this width could overflow: all of them at 16 bits.
    let together = (L::MOST / side).min(side);
    let mut found = [L::ZERO; N];
    let mut bit = L::HIGHEST;
    while bit > L::ZERO {
        let mut trial = found;
        for trial in &mut trial {
            *trial = trial.or(bit);
        }
        let mut below = [0_u16; N];
        let mut first = 0;
        while first < side {
            let last = side.min(first + together);
            let mut counts = [L::ZERO; N];
            for y in first..last {
                let samples: &[L] = bytemuck::cast_slice(rows.row(y));
                for x in at..at + side {
                    add_below(&mut counts, &samples[x..x + N], &trial);
                }
            }
            for (below, count) in below.iter_mut().zip(&counts) {
                *below += count.to_u16();
            }
            first = last;
        }
        for ((found, trial), below) in found.iter_mut().zip(&trial).zip(&below) {
            // The k-th smallest is the greatest number below which there are fewer than k.
            *found = if *below < rank.rank { *trial } else { *found };
        }
        bit = bit.half();
    }
    out[at..at + N].copy_from_slice(&found);
}

/// Counts where a sample lies below what is tried.
#[inline(always)]
fn add_below<L: Lane, const N: usize>(counts: &mut [L; N], samples: &[L], trial: &[L; N]) {
    for ((count, sample), trial) in counts.iter_mut().zip(samples).zip(trial) {
        *count = count.count(sample < trial);
    }
}
