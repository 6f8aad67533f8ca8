//! Distance: a function of the squared Euclidean distance to the nearest white pixel of a mask, up to a radius.
//!
//! The squared distance is separable: with g(x, y) the distance to the nearest white pixel of the column x, it is
//! the least dx² + g(x + dx, y)² (T. Saito, J.-I. Toriwaki, *New algorithms for Euclidean distance transformation*,
//! 1994). Each pixel of the mask is read once and each sample written once; in between lie a few operations for g and,
//! for each dx that can still win, two for the minimum.
//!
//! ```
//! use relief_kernels::distance::cpu;
//! use relief_raster::{View, ViewMut};
//!
//! // One white pixel in the middle of a mask that is as much larger than the result as the radius reaches.
//! let mut mask = [0_u8; 25];
//! mask[12] = 255;
//! // What becomes of the squared distances 0 to 4, if white is as near as that.
//! let profile = [100_u8, 90, 80, 70, 60];
//! let mut out = [0; 1];
//! let mut scratch = vec![0; cpu::scratch_words(1, 1, 2)];
//! cpu::bounded(View::packed(&mask, 5, 5), 2, &profile, 9, ViewMut::packed(&mut out, 1, 1), &mut scratch);
//! assert_eq!(out, [100]);
//! ```

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

#[cfg(test)]
mod tests;
