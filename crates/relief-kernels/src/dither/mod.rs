//! Ordered dithering: samples become M where they reach the level of their place in a matrix, else 0.
//!
//! ```
//! use relief_kernels::dither::cpu;
//!
//! // A row of the matrix 64, 192 again and again, from its beginning on, a pixel a spot.
//! let mut samples = [100_u8, 100, 200, 200, 10];
//! cpu::row(&mut samples, &[64, 192], 1, 0);
//! assert_eq!(samples, [255, 0, 255, 255, 0]);
//! ```

pub mod cpu;

#[cfg(test)]
mod tests;
