//! Slopes by Sobel's masks: along x, along y, and their magnitude.
//!
//! gx is the column to the right less that to the left, weighted 1, 2, 1 down the rows; gy the row below less that above, weighted 1, 2, 1
//! along the columns (I. Sobel, *An isotropic 3 × 3 image gradient operator*, 1968). Both lie between −4M and 4M.
//!
//! | component | sample |
//! |---|---|
//! | magnitude | min(M, √(gx² + gy²)), rounded |
//! | x, y | ⌊(g + 4M + 4) / 8⌋: (M + 1) / 2 where nothing changes |
//!
//! The root is exact: the numbers under it are whole and below 2^24 in f32, below 2^53 in f64, where a root is rounded once, and no root of a
//! whole number lies so near to half a sample that this could round it across.
//!
//! ```
//! use relief_kernels::sobel::{Component, cpu};
//! use relief_raster::{View, ViewMut};
//!
//! // It rises by 10 from column to column, and not down the rows.
//! let slope = [0_u8, 10, 20, 0, 10, 20, 0, 10, 20];
//! let mut out = [0];
//! cpu::filter(View::packed(&slope, 3, 3), Component::Magnitude, ViewMut::packed(&mut out, 1, 1));
//! assert_eq!(out, [80]);
//! ```

pub mod cpu;
#[cfg(feature = "gpu")]
pub(crate) mod gpu;

#[cfg(test)]
mod tests;

/// What of a slope becomes the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Component {
    /// How steep it is.
    Magnitude,
    /// Along x.
    X,
    /// Along y.
    Y,
}
