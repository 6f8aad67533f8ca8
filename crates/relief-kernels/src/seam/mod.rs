//! Seams: a raster whose first columns and rows are faded into what lies behind its last ones, so that copies of it fit each other.
//!
//! Of an overlap of o, column x < o weighs (2x + 1) parts of 2o, and what is faded into it the rest; rows likewise. The sum over both is exact,
//! and rounded once, halves up.
//!
//! ```
//! use relief_kernels::seam::cpu::{Fade, fade};
//! use relief_raster::{View, ViewMut};
//!
//! // The first two columns are faded into what lies behind the last one; rows are beyond the overlap.
//! let columns = Fade { overlap: 2, x: 0, y: 2 };
//! let mut out = [100_u8, 100, 100];
//! let (behind, nothing) = ([20, 20, 20], [0; 3]);
//! let part = |samples| View::packed(samples, 3, 1);
//! fade(columns, part(&behind), part(&nothing), part(&nothing), ViewMut::packed(&mut out, 3, 1));
//! assert_eq!(out, [40, 80, 100]);
//! ```

pub mod cpu;

#[cfg(test)]
mod tests;
