//! Uniform: whether all samples of a raster are the same.
//!
//! ```
//! use relief_kernels::uniform::cpu;
//! use relief_raster::View;
//!
//! assert_eq!(cpu::value(View::packed(&[7_u8; 6], 3, 2)), Some(7));
//! assert_eq!(cpu::value(View::packed(&[7_u8, 7, 8], 3, 1)), None);
//! ```

pub mod cpu;

#[cfg(test)]
mod tests;
