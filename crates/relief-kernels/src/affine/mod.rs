//! Affine maps: a raster turned by any angle, scaled, sheared and moved.
//!
//! Sample (x, y) of the result lies in the source at (a·x + b·y + c) / 2^41 along each axis, to 1/256 of a sample, halves up. The weights of the
//! samples around depend on the 256th alone and sum to 2^16; the result is ⌊(S + 2^31) / 2^32⌋, taken to 0…M, of the exact sum S over columns
//! and rows. What counts beyond the border is the caller's choice: it says for every column and row near the source which one of its
//! block is meant.
//!
//! **How.** A tile reads the rectangle around its four corners in the source. Places are counted from the first pixel of a piece of a row, so that
//! they fit 64 bits.
//!
//! ```
//! use relief_kernels::affine::{Line, cpu};
//! use relief_kernels::resample::Axis;
//! use relief_raster::{View, ViewMut};
//!
//! // A quarter turn of two rows of three samples: column x of the result is row 1 − x of the source, row y its column y.
//! let one = 1 << 41;
//! let (across, down) = (Line::new(0, one, 0).unwrap(), Line::new(-one, 0, i128::from(one)).unwrap());
//! // The sample at or before a place and the one after it, weighted by how near they are.
//! let linear = (0..256).flat_map(|part| [(256 - part) * 256, part * 256]).collect();
//! let taps = Axis::new(3, 3, 0, linear).unwrap();
//! let samples = [1_u8, 2, 3, 4, 5, 6];
//! let (columns, rows) = ([0, 1, 2, 2], [0, 1, 1]);
//! let block = cpu::Block {
//!     samples: View::packed(&samples, 3, 2),
//!     at: (0, 0),
//!     columns: &columns,
//!     rows: &rows,
//! };
//! let mut out = [0; 6];
//! cpu::transform(block, (&across, &down), &taps, (0, 0), ViewMut::packed(&mut out, 2, 3));
//! assert_eq!(out, [4, 1, 5, 2, 6, 3]);
//! ```

pub mod cpu;

#[cfg(test)]
mod tests;

use std::ops::Range;

use relief_raster::Rect;

use crate::resample::Axis;

/// Bits behind the point of places.
const BITS: u32 = 41;

/// The greatest step, in samples of the source, along either axis.
const MAX_STEP: i64 = 64;

/// Where samples of the result lie along one axis of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Line {
    right: i64,
    down: i64,
    origin: i128,
}

impl Line {
    /// A place that moves by `right` for each column and by `down` for each row of the result, from `origin` at (0, 0), in 2^−41 of a
    /// sample. Nothing of steps of more than 64 samples, and of an origin more than 2^40 away.
    #[must_use]
    pub fn new(right: i64, down: i64, origin: i128) -> Option<Self> {
        let is_step = |step: i64| step.unsigned_abs() <= MAX_STEP.unsigned_abs() << BITS;
        let fits = is_step(right) && is_step(down) && origin.unsigned_abs() <= 1 << (BITS + 40);
        fits.then_some(Self { right, down, origin })
    }

    /// Whether all pixels of a row lie at the same place.
    #[must_use]
    pub const fn is_level(&self) -> bool {
        self.right == 0
    }

    /// The place of a pixel, in 2^−41.
    fn at(&self, x: i64, y: i64) -> i128 {
        i128::from(self.right) * i128::from(x) + i128::from(self.down) * i128::from(y) + self.origin
    }

    /// The samples of the source that count for the pixels of `rect`, which is not empty and lies within 2^24 pixels of (0, 0). They may lie beyond the source.
    #[must_use]
    pub fn reads(&self, rect: Rect, taps: &Axis) -> Range<i64> {
        // Places grow or fall along each axis all the way, so that the corners hold the first and the last.
        let (right, bottom) = (rect.right() - 1, rect.bottom() - 1);
        let corners = [
            self.at(rect.x(), rect.y()),
            self.at(right, rect.y()),
            self.at(rect.x(), bottom),
            self.at(right, bottom),
        ];
        let first = corners.into_iter().fold(corners[0], i128::min);
        let last = corners.into_iter().fold(corners[0], i128::max);
        let sample = |place: i128| (phases(place) >> 8) as i64 + taps.first();
        sample(first)..sample(last) + taps.taps() as i64
    }

    /// The most samples of the source that count for so many columns and rows of the result.
    #[must_use]
    pub fn span(&self, columns: u64, rows: u64, taps: &Axis) -> u64 {
        let way =
            |step: i64, count: u64| u128::from(step.unsigned_abs()) * u128::from(count.saturating_sub(1));
        let way = way(self.right, columns).saturating_add(way(self.down, rows)) >> BITS;
        u64::try_from(way)
            .unwrap_or(u64::MAX)
            .saturating_add(taps.taps() as u64 + 2)
    }
}

/// A place in 1/256 of a sample, halves up.
fn phases(place: i128) -> i128 {
    (place + (1 << (BITS - 9))) >> (BITS - 8)
}
