//! Resampling: a raster of other sides, each sample a weighted sum of those near its place in the source.
//!
//! Of w source samples and w′ of the result, sample i lies at ((2i + 1)·w/w′ − 1)/2 of the source, to 1/256, halves up. The weights of the
//! samples around depend on the 256th alone and sum to 2^16; the result is ⌊(S + 2^31) / 2^32⌋, taken to 0…M, of the exact sum S over columns
//! and rows. What counts beyond the border is the caller's choice ([`crate::edge`]).
//!
//! **How.** Rows first: the sums of all columns that a row of the result reads, each for a vector of columns at once; then along the row.
//!
//! ```
//! use relief_kernels::resample::{Axis, cpu};
//! use relief_raster::{View, ViewMut};
//!
//! // Each sample becomes two, by the nearest one: the first weight of a place counts in its first half, the second in its other.
//! let nearest = (0..256).flat_map(|part| if part < 128 { [1 << 16, 0] } else { [0, 1 << 16] }).collect();
//! let across = Axis::new(2, 4, 0, nearest).unwrap();
//! let down = Axis::new(1, 1, 0, vec![1 << 16; 256]).unwrap();
//! let reads = across.reads(0..4);
//! assert_eq!(reads, -1..3);
//! // What counts for the columns −1 to 2 of a source of two.
//! let block = [10_u8, 10, 20, 20];
//! let mut out = [0; 4];
//! let mut scratch = vec![0; cpu::scratch_words(4, 4) as usize];
//! let target = ViewMut::packed(&mut out, 4, 1);
//! cpu::resample(View::packed(&block, 4, 1), (&across, &down), (0, 0), target, &mut scratch);
//! assert_eq!(out, [10, 10, 20, 20]);
//! ```

pub mod cpu;

#[cfg(test)]
mod tests;

use std::ops::Range;

/// Places between two samples that are told apart.
pub const PHASES: usize = 256;

/// The sum of the weights of a place.
pub const TOTAL: i32 = 1 << 16;

/// The most weights of a place.
pub const MAX_TAPS: usize = 512;

/// How the samples along one axis follow from those of the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Axis {
    source: u64,
    target: u64,
    first: i64,
    taps: usize,
    weights: Vec<i32>,
}

impl Axis {
    /// An axis of `source` samples that become `target`. `weights` are those of [`PHASES`] places, of each as many: the first for the sample
    /// `first` away from the one at or before the place. Nothing where there are no samples, more than 2^40, more than [`MAX_TAPS`] weights of a
    /// place, or the weights of a place do not sum to 2^16 or their sizes to more than 2^18.
    #[must_use]
    pub fn new(source: u64, target: u64, first: i64, weights: Vec<i32>) -> Option<Self> {
        let taps = weights.len() / PHASES;
        let sides = 1..=1_u64 << 40;
        let is_place = |place: &[i32]| {
            let sum: i64 = place.iter().copied().map(i64::from).sum();
            let sizes: i64 = place.iter().map(|weight| i64::from(*weight).abs()).sum();
            sum == i64::from(TOTAL) && sizes <= 4 * i64::from(TOTAL)
        };
        let fits = sides.contains(&source)
            && sides.contains(&target)
            && (1..=MAX_TAPS).contains(&taps)
            && taps * PHASES == weights.len()
            && first.unsigned_abs() <= MAX_TAPS as u64
            && weights.chunks_exact(taps).all(is_place);
        fits.then_some(Self {
            source,
            target,
            first,
            taps,
            weights,
        })
    }

    /// Samples of the source.
    #[must_use]
    pub fn source(&self) -> u64 {
        self.source
    }

    /// Weights of a place.
    #[must_use]
    pub fn taps(&self) -> usize {
        self.taps
    }

    /// The first sample that counts for sample `i` of the result, and its phase.
    fn place(&self, i: i64) -> (i64, usize) {
        let (source, target) = (i128::from(self.source), i128::from(self.target));
        let numerator = 256 * ((2 * i128::from(i) + 1) * source - target) + target;
        let place = numerator.div_euclid(2 * target);
        ((place >> 8) as i64 + self.first, (place & 0xFF) as usize)
    }

    /// The first sample that counts for a place, from the one at or before it.
    #[must_use]
    pub fn first(&self) -> i64 {
        self.first
    }

    /// The weights of a phase.
    pub(crate) fn weights(&self, phase: usize) -> &[i32] {
        &self.weights[phase * self.taps..(phase + 1) * self.taps]
    }

    /// The samples of the source that count for those of the result in `range`, which is not empty; they may lie beyond the source.
    #[must_use]
    pub fn reads(&self, range: Range<i64>) -> Range<i64> {
        let (first, _) = self.place(range.start);
        let (last, _) = self.place(range.end - 1);
        first..last + self.taps as i64
    }

    /// The most samples of the source that count for so many of the result.
    #[must_use]
    pub fn span(&self, count: u64) -> u64 {
        let stretched = u128::from(count) * u128::from(self.source) / u128::from(self.target);
        u64::try_from(stretched)
            .unwrap_or(u64::MAX)
            .saturating_add(self.taps as u64 + 2)
    }
}
