//! Turn: a raster turned clockwise by one or three quarters, so that its columns become rows.
//!
//! Every sample is read once and written once, but neighbours of one side lie a row apart on the other: what limits it is how much of each
//! line of memory that is fetched is used before it is gone. So blocks are turned whose samples fill whole words or lines on both sides.
//! (Half a turn keeps rows and needs no kernel: on devices `fused` reads mirrored rasters where they lie.)
//!
//! ```
//! use relief_kernels::turn::cpu;
//! use relief_raster::{View, ViewMut};
//!
//! let source = [1_u8, 2, 3, 4, 5, 6];
//! let mut out = [0; 6];
//! cpu::quarter(View::packed(&source, 3, 2), true, ViewMut::packed(&mut out, 2, 3));
//! assert_eq!(out, [4, 1, 5, 2, 6, 3]);
//! ```

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

#[cfg(test)]
mod tests;
