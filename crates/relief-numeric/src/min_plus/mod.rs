//! Min-plus products: c(i, j) = min over k of a(i, k) + b(k, j), the matrix product of shortest paths and of dilations.
//!
//! An addition and a minimum take the place of a multiplication and an addition, and nothing fuses them for floats, so that memory
//! does not bind but two instructions a step do, wherever operands are used often enough from registers.
//!
//! **What no path is.** [`Length::INFINITY`]: +∞ of floats, the greatest of integers. A sum with it is it.
//! - `f32`: any sign. A sum that is no number (of one that is none, or of −∞ and +∞) is passed over on the CPU and by CUDA;
//!   Vulkan's minimum does not say. Between 0 and −0 there is no order: either may come out.
//! - `i32`: lengths from −[`LIMIT`] to [`LIMIT`]; beyond that they saturate, above to `INFINITY`, below to −`LIMIT`, as operands and
//!   as results. So three of them never overflow, and no sum with `INFINITY` gets within the limit.
//! - `u16`: sums saturate at `INFINITY`, 65 535.
//!
//! Results do not depend on an order: a minimum of rounded sums is exact.
//!
//! ```
//! use relief_numeric::min_plus::paths::{scratch_len, shortest_paths};
//!
//! // From 0 to 1 in 5, from 1 to 2 in 1, from 0 to 2 in 9.
//! let far = f32::INFINITY;
//! let mut paths = [0.0, 5.0, 9.0, far, 0.0, 1.0, far, far, 0.0];
//! let mut scratch = vec![0.0; scratch_len::<f32>(3)];
//! shortest_paths(&mut paths, 3, 3, &mut scratch)?;
//! assert_eq!(paths[..3], [0.0, 5.0, 6.0]);
//! # Ok::<(), relief_numeric::min_plus::paths::PathsError>(())
//! ```

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod paths;
#[cfg(test)]
mod tests;

pub use cpu::Length;

/// The greatest length of integers of 32 bits, 2²⁸.
pub const LIMIT: i32 = 1 << 28;

/// What stands for no path in sums of integers of 32 bits: with the least length still more than the sum of the two greatest, and
/// twice it is no overflow.
const FAR: i32 = (1 << 30) - 1;
const _: () = assert!(FAR - LIMIT > 2 * LIMIT);
