//! Fused: a whole tree of rasters computed in one device kernel, from its leaves to packed samples.
//!
//! **What limits it.** An output sample is written once, so the ceiling is the write bandwidth. Whatever is read must
//! come from the caches, and every operation is done on a whole word of packed samples: four of 8 bits or two of 16
//! (`packed.rs`). A unit computes four words of a row at a time.
//!
//! **How.** An [`Expression`] is lowered for each band into a `Shape`, which is compiled into the kernel, and
//! a list of numbers, which is not: origins already reduced modulo their periods, clip rectangles, offsets. All bands
//! of a raster, and all rasters with the same tree and other numbers, so share one kernel. Remainders are products
//! with a reciprocal made on the host, one for each unit and plane and row; from word to word the column steps and
//! wraps.
//!
//! Coordinates of an expression are `i64`; inside a band they are 32 bits.

mod cell;
mod expression;
mod kernel;
mod lower;
pub(crate) mod packed;
mod render;
pub(crate) mod shape;

pub use cell::{Cell, CellLayout, PackedCell};
pub use expression::{Axis, Expression, Plane, Table};
pub(crate) use render::check_output;
pub use render::{OWN_BUFFERS, Policy, render, render_with};
