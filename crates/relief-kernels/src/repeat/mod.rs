//! Repeat: a raster expanded from one cell of its period.
//!
//! Every sample is one load and one store, so the bound is the speed at which memory is written.
//!
//! ```
//! use relief_kernels::repeat::cpu;
//! use relief_raster::{Period, View, ViewMut};
//!
//! // A cell of three samples in steps of four: between copies is 0.
//! let (cell, period) = ([1_u8, 2, 3], Period::grid(4, 1).unwrap());
//! let mut out = [9; 7];
//! cpu::expand(View::packed(&cell, 3, 1), period, -1, 0, ViewMut::packed(&mut out, 7, 1));
//! assert_eq!(out, [0, 1, 2, 3, 0, 1, 2]);
//! ```

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

#[cfg(test)]
mod tests;
