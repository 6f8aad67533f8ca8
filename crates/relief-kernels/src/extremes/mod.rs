//! Erosion and dilation by a flat square or disc: the least and the greatest of the samples around a pixel.
//!
//! The square of radius R has (2R + 1)² samples, the disc those at (dx, dy) with dx² + dy² ≤ R².
//!
//! **How.** Least and greatest of a window that is twice as long are that of two windows: along a row, windows of 2, 4, 8 … samples are made
//! of each other, and any other length of two that overlap. That takes ⌈log₂(2R + 1)⌉ steps, each for a vector of columns at once, where the
//! three steps of van Herk (1992) and Gil and Werman (1993) go from sample to sample. Down the columns these three steps are taken: they are
//! the same for all columns of a row, whatever the radius. A disc is a chord for each row (Urbach and Wilkinson, *Efficient 2-D grayscale
//! morphological transformations with arbitrary flat structuring elements*, 2008): every row of the source is folded into the 2R + 1 rows of
//! the result that it lies in, by the windows of its powers of two.
//!
//! ```
//! use relief_kernels::extremes::{Extreme, Shape, cpu};
//! use relief_raster::ViewMut;
//!
//! let mut block = [0_u8, 1, 2, 3, 4, 5, 6, 7, 8];
//! let mut out = [0];
//! let mut scratch = vec![0; cpu::scratch_words(Shape::Square, 1, 1, 1)];
//! let (source, target) = (ViewMut::packed(&mut block, 3, 3), ViewMut::packed(&mut out, 1, 1));
//! cpu::filter(source, Extreme::Greatest, Shape::Square, 1, target, &mut scratch);
//! assert_eq!(out, [8]);
//! ```

pub mod cpu;
#[cfg(feature = "gpu")]
pub(crate) mod gpu;

#[cfg(test)]
mod tests;

/// The greatest radius, in pixels.
pub const MAX_RADIUS: usize = 256;

/// Which sample is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extreme {
    /// The least: an erosion.
    Least,
    /// The greatest: a dilation.
    Greatest,
}

/// The samples around a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// −R ≤ dx, dy ≤ R.
    Square,
    /// dx² + dy² ≤ R².
    Disc,
}
