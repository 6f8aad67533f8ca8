//! Sums over the square around a pixel: its mean, and thresholds by its mean and its deviation.
//!
//! | what | sample at a pixel, n = (2R + 1)², Σ the sum of the square, Q the sum of its squares |
//! |---|---|
//! | mean | ⌊(2Σ + n) / 2n⌋; never half-way, for n is odd |
//! | [threshold by the mean](Law::Mean) | M where n·(v + offset) ≥ Σ, else 0 |
//! | [by Sauvola](Law::Sauvola) | M where v ≥ m·(1 + k·(s / (M/2) − 1)), else 0, with m = Σ/n and s = √(n·Q − Σ²) / n |
//!
//! The threshold of Sauvola and Pietikäinen (*Adaptive document image binarization*, 2000) is computed in binary64, each operation
//! rounded once, in the order written; n·Q − Σ² is a whole number before it becomes one of binary64.
//!
//! **How.** Sums of columns move down a row by one addition and one subtraction. Along a row they are summed once from the left, and a
//! window is the difference of two of these sums, modulo 2^32 where its own sum is less. So the time does not depend on the radius, and all
//! but the sums from the left is done for a vector of columns at once. A sum is divided by multiplying it with 1/n: in f32 where that cannot
//! reach the next sample (8 bits, R ≤ 63), else in f64; what is added to round puts the sample into the lowest bits.
//!
//! ```
//! use relief_kernels::window::cpu;
//! use relief_raster::{View, ViewMut};
//!
//! let source = [0_u8, 0, 0, 0, 90, 0, 0, 0, 0];
//! let mut out = [0];
//! let mut scratch = vec![0; cpu::scratch_words(1)];
//! cpu::mean(View::packed(&source, 3, 3), 1, ViewMut::packed(&mut out, 1, 1), &mut scratch);
//! assert_eq!(out, [10]);
//! ```

pub mod cpu;
#[cfg(feature = "gpu")]
pub(crate) mod gpu;

#[cfg(test)]
mod tests;

/// The greatest radius of a mean, in pixels.
pub const MAX_RADIUS: usize = 256;

/// The greatest radius of a threshold, in pixels: n·Q then fits 64 bits, whatever the samples.
pub const MAX_THRESHOLD_RADIUS: usize = 127;

/// Which pixels a threshold sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Those with n·(v + offset) ≥ Σ.
    Mean {
        /// How far a sample may lie below the mean, −65 535…65 535.
        offset: i32,
    },
    /// Those with v ≥ m·(1 + k·(s / (M/2) − 1)).
    Sauvola {
        /// How much the threshold falls where samples differ little.
        k: f64,
    },
}
