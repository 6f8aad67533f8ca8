//! Means weighted by a bell, exact in integers of 8 and of 16 bits.
//!
//! With weights w(k) of a [`Bell`], whole numbers that sum to 2^16, the sample at (x, y) becomes
//! ⌊(Σ w(i) · w(j) · v(x + i, y + j) + 2^31) / 2^32⌋ over −R ≤ i, j ≤ R: both sums are exact, and one rounding follows.
//! What counts beyond the border is the caller's choice ([`crate::edge`]): on the CPU the kernels read a block of samples that has
//! R more columns and rows on every side than the result, on a device they look up what counts.
//!
//! OpenCV's mean has weights of 8 bits and clamped borders; this one has weights of 16, so that 65 536 levels are told apart.
//!
//! ```
//! use relief_kernels::gauss::{Bell, cpu};
//! use relief_raster::{View, ViewMut};
//!
//! // A half and two quarters of 2^16.
//! let bell = Bell::new(&[1 << 15, 1 << 14]).unwrap();
//! let source = [0_u8, 0, 0, 0, 200, 0, 0, 0, 0];
//! let mut out = [0];
//! let mut scratch = vec![0; cpu::scratch_words(&bell)];
//! cpu::filter(View::packed(&source, 3, 3), &bell, ViewMut::packed(&mut out, 1, 1), &mut scratch);
//! assert_eq!(out, [50]);
//! ```

mod bytes;
pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod sharpen;

#[cfg(test)]
mod tests;

/// The greatest radius, in pixels: ⌈4σ⌉ for σ = 64.
pub const MAX_RADIUS: usize = 256;

/// The weights of one axis: whole numbers that fall off from the middle and sum to 2^16.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bell {
    half: Vec<u32>,
}

impl Bell {
    /// The sum of all weights.
    pub const TOTAL: u32 = 1 << 16;

    /// The weights by distance from the middle: w(0), w(1), … w(R), of which all but w(0) count twice. Nothing where R exceeds
    /// [`MAX_RADIUS`] or their sum is not 2^16.
    #[must_use]
    pub fn new(half: &[u32]) -> Option<Self> {
        let (middle, sides) = half.split_first()?;
        let sum: u64 = sides.iter().map(|weight| 2 * u64::from(*weight)).sum();
        let fits = sides.len() <= MAX_RADIUS && sum + u64::from(*middle) == u64::from(Self::TOTAL);
        fits.then(|| Self { half: half.to_vec() })
    }

    /// R: how far it looks, in pixels.
    #[must_use]
    pub fn radius(&self) -> usize {
        self.half.len() - 1
    }

    /// The weights by distance from the middle.
    #[must_use]
    pub fn half(&self) -> &[u32] {
        &self.half
    }
}
