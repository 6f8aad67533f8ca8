//! The bilateral filter: a mean in which what lies far, or differs much, counts little, so that edges stay.
//!
//! With weights ws by place and wr by difference, whole numbers up to 2^12, the sample c at a pixel becomes ⌊(2·Σ w·v + W) / 2W⌋ over the square
//! around it, where w = ws(dx, dy) · wr(|v − c|) and W = Σ w (C. Tomasi, R. Manduchi, *Bilateral filtering for gray and color images*, 1998).
//! Sums are exact; one rounding follows. What an approximation by a grid of averages takes less time for
//! (`relief-numeric`'s `bilateral`) is not the same filter.
//!
//! ```
//! use relief_kernels::bilateral::{ONE, Weights, cpu};
//! use relief_raster::{Depth, View, ViewMut};
//!
//! // All places of the square count alike, and differences below 4: what lies beyond the edge does not count.
//! let weights = Weights::new(1, &[ONE; 9], &[ONE; 4]).unwrap();
//! let source = [10_u8, 13, 200, 10, 13, 200, 10, 13, 200];
//! let mut out = [0];
//! let mut scratch = vec![0; cpu::scratch_words(Depth::Eight)];
//! cpu::filter(View::packed(&source, 3, 3), &weights, ViewMut::packed(&mut out, 1, 1), &mut scratch);
//! assert_eq!(out, [12]);
//! ```

pub mod cpu;

#[cfg(test)]
mod tests;

/// The greatest radius, in pixels.
pub const MAX_RADIUS: usize = 16;

/// The weight of the pixel itself, and of the same sample.
pub const ONE: u16 = 1 << 12;

/// The weights of a bilateral filter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Weights {
    radius: usize,
    /// By place, row by row.
    space: Vec<u16>,
    /// By difference: for every sample one.
    range: Vec<u16>,
}

impl Weights {
    /// Weights by place in a square of radius R, row by row, and by difference, 0 beyond the last. Nothing where R exceeds [`MAX_RADIUS`], there are
    /// not (2R + 1)² places, one exceeds [`ONE`], or the first of either, that of the pixel itself, is another.
    #[must_use]
    pub fn new(radius: usize, space: &[u16], range: &[u16]) -> Option<Self> {
        let side = 2 * radius.min(MAX_RADIUS) + 1;
        let fits = radius <= MAX_RADIUS
            && space.len() == side * side
            && space[space.len() / 2] == ONE
            && range.first() == Some(&ONE)
            && range.len() <= 1 << 16
            && space.iter().chain(range).all(|weight| *weight <= ONE);
        fits.then(|| Self {
            radius,
            space: space.to_vec(),
            range: range.to_vec(),
        })
    }

    /// R: how far it looks, in pixels.
    #[must_use]
    pub fn radius(&self) -> usize {
        self.radius
    }
}
