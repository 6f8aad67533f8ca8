//! Products of a matrix and a vector: y = M·x, a sum over each row, and y = x·M, a sum over each column.
//!
//! Every number of the matrix is read once and multiplied once: the bound is how fast memory is read. The matrix lies in row
//! order, so the two differ in what a sum runs along: neighbours in memory, or numbers a row apart.
//!
//! **The order of a sum** is fixed, so that the bits are the same on every device and for every number of threads. Products
//! are added as they are computed, with one rounding for both (a fused multiply-add); a Vulkan driver may round twice, and the
//! software one does.
//! 1. A sum is cut in blocks: of [`BLOCK`] products for M·x, of [`ROWS`] for x·M. In a block, one of [`SUMS`] (for x·M
//!    [`ROW_SUMS`]) sums begins with 0 and takes every so-manieth product, from its own place on.
//! 2. Four neighbouring sums become (s₀ + s₁) + (s₂ + s₃).
//! 3. Of those that are left, the second half is added to the first, until one is left: that of the block.
//! 4. Where there are several blocks, their sums are a new vector (or rows of a new matrix), which is summed in the same way,
//!    until one is left.
//!
//! For M·x this is the order of [`reduce`](crate::reduce), for x·M that of the units of a cube that walks down the rows. With the
//! fastest of other orders it costs nothing, for memory binds.
//!
//! ```
//! use relief_numeric::matrix::Matrix;
//! use relief_numeric::matvec::cpu::matrix_vector;
//!
//! let mut y = [0.0; 2];
//! matrix_vector(Matrix::new(&[1.0, 2.0, 3.0, 4.0], 2, 2, 2)?, &[10.0, 1.0], &mut y)?;
//! assert_eq!(y, [12.0, 34.0]);
//! # Ok::<(), relief_numeric::matrix::ShapeError>(())
//! ```

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

#[cfg(test)]
mod tests;

/// Products of a block of M·x.
pub const BLOCK: usize = 16 * SUMS;

/// Sums that a block of M·x is taken into.
pub const SUMS: usize = 1_024;

/// Products of a block of x·M.
pub const ROWS: usize = 512;

/// Sums that a block of x·M is taken into.
pub const ROW_SUMS: usize = 64;
