//! Products of matrices in row order: C = A·B, into floats of 32 bits.
//!
//! m × n sums of k products each: 2·m·n·k operations on (m + n)·k numbers, so that arithmetic is the bound as soon as
//! numbers are used often enough where they are at hand: in registers first, then in the nearest memory.
//!
//! **What results are.** A sum begins with 0 and takes the products in the order of k, each product and its addition rounded once
//! (a fused multiply-add). So the bits are the same for every layout and number of threads, on the CPU and on devices, but for
//! Vulkan drivers that round twice. Inputs of 16 bits ([`struct@f16`], [`bf16`]) are widened, which is exact; on a device the tensor
//! cores multiply them, in an order and with roundings of their own ([`gpu`]).
//!
//! ```
//! use relief_numeric::matmul::cpu::{multiply, scratch_len};
//! use relief_numeric::matrix::{Matrix, MatrixMut};
//!
//! let (left, right) = ([1.0_f32, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
//! let mut product = [0.0; 4];
//! let mut scratch = vec![0.0; scratch_len(2, 2)];
//! let result = MatrixMut::new(&mut product, 2, 2, 2)?;
//! multiply(Matrix::new(&left, 2, 2, 2)?, Matrix::new(&right, 2, 2, 2)?, result, &mut scratch)?;
//! assert_eq!(product, [19.0, 22.0, 43.0, 50.0]);
//! # Ok::<(), relief_numeric::matrix::ShapeError>(())
//! ```

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

#[cfg(test)]
mod tests;

pub use half::{bf16, f16};
