//! Medians, and any other rank, of the samples in a square.
//!
//! The sample at (x, y) becomes the k-th smallest of the (2R + 1)² samples of the square around it; k = 1
//! gives the least (an erosion), the middle k the median. What counts beyond the border is the caller's
//! choice ([`crate::edge`]): the kernel reads a block of samples that has R more columns and rows on every
//! side than the result.
//!
//! The k-th smallest is the greatest v below which there are fewer than k samples. Its bits are found from
//! the highest down: one more bit is tried, and stays where fewer than k samples lie below. That compares
//! each sample as often as it has bits, but with no branch, no table and no memory, so that as many pixels go
//! together as a vector has lanes, and no picture takes longer than another.
//!
//! The alternative is a histogram that slides along the rows (T. S. Huang, G. J. Yang, G. Y. Tang, *A fast
//! two-dimensional median filtering algorithm*, 1979), of two levels. It changes 4R + 2 counts for a pixel,
//! one after the other. With AVX2 it is slower for all squares of 8 bits up to R = 16, and of 16 bits up to R
//! = 6; at R = 8 it gains a quarter, not enough for 130 kB of counts for every thread.
//!
//! Medians of 3 × 3 and 5 × 5 samples, which are asked for most, take a network of comparisons.
//!
//! ```
//! use relief_kernels::median::{Rank, cpu};
//! use relief_raster::{View, ViewMut};
//!
//! // The fifth of nine.
//! let median = Rank::new(1, 5).unwrap();
//! let source = [9_u8, 1, 8, 2, 255, 3, 7, 4, 6];
//! let mut out = [0];
//! cpu::filter(View::packed(&source, 3, 3), median, ViewMut::packed(&mut out, 1, 1));
//! assert_eq!(out, [6]);
//! ```

pub mod cpu;
#[cfg(feature = "gpu")]
pub(crate) mod gpu;
mod network;

#[cfg(test)]
mod tests;

/// The greatest radius, in pixels.
pub const MAX_RADIUS: usize = 16;

/// A square around a pixel, and which of its samples is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rank {
    radius: u16,
    rank: u16,
}

impl Rank {
    /// The `rank`-th smallest of the (2·`radius` + 1)² samples. Nothing where the radius exceeds [`MAX_RADIUS`] or the
    /// square has no such sample.
    #[must_use]
    pub fn new(radius: usize, rank: usize) -> Option<Self> {
        let side = 2 * radius.min(MAX_RADIUS) + 1;
        let fits = radius <= MAX_RADIUS && (1..=side * side).contains(&rank);
        // At most 16 and 33².
        fits.then_some(Self {
            radius: radius as u16,
            rank: rank as u16,
        })
    }

    /// R: how far the square reaches from its middle, in pixels.
    #[must_use]
    pub fn radius(&self) -> usize {
        usize::from(self.radius)
    }

    /// Which of the samples, in rising order: 1 is the least.
    #[must_use]
    pub fn rank(&self) -> usize {
        usize::from(self.rank)
    }
}
