//! Table: every sample replaced by the entry of a table of M + 1 samples; and threshold, a table of one step.
//!
//! The bound is one load and one store per sample; for 8 bits the table fits into vector registers.
//!
//! ```
//! use relief_kernels::table::cpu;
//! use relief_raster::ViewMut;
//!
//! let inverted: Vec<u8> = (0..=255).rev().collect();
//! let mut samples = [0, 55, 255];
//! cpu::apply(&inverted, ViewMut::packed(&mut samples, 3, 1));
//! assert_eq!(samples, [255, 200, 0]);
//! ```

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

#[cfg(test)]
mod tests;
