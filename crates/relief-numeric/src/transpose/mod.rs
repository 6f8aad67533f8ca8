//! Transpose: out(y, x) = in(x, y), of elements of 8, 16 or 32 bits.
//!
//! Every element is one load and one store, so the bound is the bandwidth of memory; what makes it an algorithm is that
//! a row of one side is a column of the other, and memory moves whole lines. Both ways here work on tiles whose rows are
//! whole lines on both sides.
//!
//! ```
//! use relief_numeric::transpose::cpu::{Matrix, transpose};
//!
//! let mut turned = [0; 6];
//! transpose(Matrix::new(&[1_u8, 2, 3, 4, 5, 6], 3, 2, 3), 0, &mut turned, 2);
//! assert_eq!(turned, [1, 4, 2, 5, 3, 6]);
//! ```

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

#[cfg(test)]
mod tests;
