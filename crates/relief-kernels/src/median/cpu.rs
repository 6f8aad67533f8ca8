//! Ranks on the CPU: bit by bit, many columns together.

use relief_raster::{Depth, Sample, View, ViewMut};

use super::{Rank, network};
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
    let median = rank.rank() == (reach + 1).pow(2).div_ceil(2);
    if median && rank.radius() == 2 {
        return match S::DEPTH {
            Depth::Eight => network::of_twenty_five::<S, u8>(isa, source, &mut out),
            Depth::Sixteen => network::of_twenty_five::<S, u16>(isa, source, &mut out),
        };
    }
    for y in 0..height {
        let rows = source.part(0, y, width + reach, reach + 1);
        let out = out.row_mut(y);
        match S::DEPTH {
            Depth::Eight => any::<S, u8>(isa, rows, rank, median, bytemuck::cast_slice_mut(out)),
            Depth::Sixteen => any::<S, u16>(isa, rows, rank, median, bytemuck::cast_slice_mut(out)),
        }
    }
}

/// One row of results, by the way that is fastest for it.
fn any<S: Sample, L: Lane>(isa: Isa, rows: View<'_, S>, rank: Rank, median: bool, out: &mut [L]) {
    match (median, rank.radius()) {
        (true, 1) => network::of_nine::<S, L>(isa, rows, out),
        _ => row::<S, L>(isa, rows, rank, out),
    }
}

/// A sample, and a number of samples, of one width.
pub(super) trait Lane: Sample + Ord {
    /// The greatest number that it counts to.
    const MOST: usize;

    /// The sample with these bits as well.
    fn or(self, bits: Self) -> Self;
    /// One more where `is`.
    fn count(self, is: bool) -> Self;
    /// `bits` where `is`, else 0.
    fn only_where(bits: Self, is: bool) -> Self;
}

macro_rules! lanes {
    ($($type:ident),*) => {
        $(impl Lane for $type {
            const MOST: usize = $type::MAX as usize;

            #[inline(always)]
            fn or(self, bits: Self) -> Self {
                self | bits
            }

            #[inline(always)]
            fn count(self, is: bool) -> Self {
                self.wrapping_add(Self::from(is))
            }

            #[inline(always)]
            fn only_where(bits: Self, is: bool) -> Self {
                bits & Self::from(is).wrapping_neg()
            }
        })*
    };
}
lanes!(u8, u16);

versions! {
    /// One row of results from the 2R + 1 rows around it. `L` is `S`.
    fn row<S: Sample, L: Lane>(rows: View<'_, S>, rank: Rank, out: &mut [L]) {
        let width = out.len();
        // The last block reaches back over the one before it, which then is computed again in part.
        if width >= BLOCK {
            for at in (0..width).step_by(BLOCK) {
                columns::<S, L, BLOCK>(rows, rank, at.min(width - BLOCK), out);
            }
        } else if width >= SMALL {
            for at in (0..width).step_by(SMALL) {
                columns::<S, L, SMALL>(rows, rank, at.min(width - SMALL), out);
            }
        } else {
            for at in 0..width {
                columns::<S, L, 1>(rows, rank, at, out);
            }
        }
    }
}

/// `N` results from column `at` on.
#[inline(always)]
fn columns<S: Sample, L: Lane, const N: usize>(rows: View<'_, S>, rank: Rank, at: usize, out: &mut [L]) {
    let side = 2 * rank.radius() + 1;
    let mut found = [L::ZERO; N];
    for place in (0..S::DEPTH.bits()).rev() {
        let bit = L::from_u16(1 << place);
        let mut trial = found;
        for trial in &mut trial {
            *trial = trial.or(bit);
        }
        // The k-th smallest is the greatest number below which there are fewer than k.
        if side * side <= L::MOST {
            let below = counted::<S, L, N>(rows, 0..side, at, side, &trial);
            let rank = L::from_u16(rank.rank);
            for (found, below) in found.iter_mut().zip(&below) {
                *found = found.or(L::only_where(bit, *below < rank));
            }
        } else {
            let mut below = [0_u16; N];
            let together = L::MOST / side;
            for first in (0..side).step_by(together) {
                let counts = counted::<S, L, N>(rows, first..side.min(first + together), at, side, &trial);
                for (below, count) in below.iter_mut().zip(&counts) {
                    *below += count.to_u16();
                }
            }
            for (found, below) in found.iter_mut().zip(&below) {
                *found = found.or(L::only_where(bit, *below < rank.rank));
            }
        }
    }
    out[at..at + N].copy_from_slice(&found);
}

/// How many samples of the rows in `span` lie below each of `trial`, among the `side` from its column on.
#[inline(always)]
fn counted<S: Sample, L: Lane, const N: usize>(
    rows: View<'_, S>,
    span: std::ops::Range<usize>,
    at: usize,
    side: usize,
    trial: &[L; N],
) -> [L; N] {
    let mut counts = [L::ZERO; N];
    for y in span {
        let samples: &[L] = bytemuck::cast_slice(&rows.row(y)[at..at + side + N - 1]);
        for window in samples.windows(N) {
            for ((count, sample), trial) in counts.iter_mut().zip(window).zip(trial) {
                *count = count.count(sample < trial);
            }
        }
    }
    counts
}
