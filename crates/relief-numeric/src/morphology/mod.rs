//! Grey dilation and erosion by a structuring function: min-plus and max-plus convolution of a picture with a small one.
//!
//! | operator | result at x, over the places t where the function has a height b(t) |
//! |---|---|
//! | dilation | (f ⊕ b)(x) = max f(x − t) + b(t) |
//! | erosion | (f ⊖ b)(x) = min f(x + t) − b(t) |
//!
//! (Sternberg, "Grayscale morphology", 1986.) As [products](crate::min_plus) are to matrices, these are to pictures: an addition takes the
//! place of a multiplication, and a maximum or a minimum that of a sum.
//!
//! **What lies outside of the picture does not count**: as if it were −∞ for a dilation, +∞ for an erosion. So the two are adjoint, f ⊕ b ≤ g
//! just where f ≤ g ⊖ b, up to the borders. By a function that is flat on a square they are those of [`stencil`](crate::stencil),
//! which repeats the outermost pixels: these are in the square already. Where nothing counts, a dilation gives the least number that there
//! is and an erosion the greatest, infinities of f32.
//!
//! **Integers saturate**: samples of 8 and 16 bits are computed as whole numbers and the result is taken to the nearest sample.
//! Numbers of f32 are sums rounded once, twice where the function is [separable](StructuringFunction::separable); of 0 and −0 either may
//! come out, and nothing is promised for NaN. Results do not depend on an order.
//!
//! **How.** A function of k × k heights takes k² additions and maxima a pixel, whatever the way; one that is a sum of a function of the
//! column and one of the row, as a paraboloid is, 2 k: along the rows first, then along the columns. Each of them is for the operations a
//! bound that memory is far from, so that what counts is how often a sample is used once it is in a register.
//!
//! There is one operator in the kernels, the dilation: an erosion is that of the picture upside down, by the function about
//! its middle.
//!
//! ```
//! use relief_numeric::matrix::{Matrix, MatrixMut};
//! use relief_numeric::morphology::{Operator, StructuringFunction, cpu::Morphology};
//!
//! // The greatest of three by three.
//! let dilation = Morphology::<u8>::new(Operator::Dilation, &StructuringFunction::flat(1)?);
//! let (samples, mut out) = ([0_u8, 0, 9, 0, 0, 0], [0; 6]);
//! let mut scratch = vec![0; dilation.scratch_words(6)];
//! let result = MatrixMut::new(&mut out, 1, 6, 6)?;
//! dilation.apply(Matrix::new(&samples, 1, 6, 6)?, 0..1, result, &mut scratch)?;
//! assert_eq!(out, [0, 9, 9, 9, 0, 0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod cpu;
mod function;
#[cfg(feature = "gpu")]
pub mod gpu;
#[cfg(test)]
mod tests;

pub use function::{FunctionError, Height, StructuringFunction};

/// The greatest radius of a structuring function, in pixels: 31 × 31 heights.
pub const MAX_RADIUS: u32 = 15;

/// The greatest height of integers, and the depth of the lowest.
pub const MAX_HEIGHT: i32 = 65_535;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// The greatest of f(x − t) + b(t).
    Dilation,
    /// The least of f(x + t) − b(t).
    Erosion,
}
