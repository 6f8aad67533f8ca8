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
//!
//! ```
//! # fn main() -> Result<(), relief_kernels::device::DeviceError> {
//! use relief_kernels::device::{Gpu, devices};
//! use relief_kernels::fold::Fold;
//! use relief_kernels::fused::{Expression, render};
//! use relief_raster::{Depth, Rect};
//!
//! let Some(device) = devices().devices.into_iter().next() else { return Ok(()) };
//! let gpu = Gpu::open(device.id)?;
//! let parts = vec![(Fold::Base, Expression::Constant(3)), (Fold::Add, Expression::Constant(4))];
//! let expression = Expression::Fold(parts);
//! // Two rows of 16 samples of 8 bits, four in each word.
//! let output = gpu.buffer(8)?;
//! let band = Rect::new(0, 0, 16, 2).unwrap();
//! render(&gpu, &expression, Depth::Eight, band, band, &output, 4)?;
//! assert_eq!(gpu.read(&output, 8).wait()?[..], [7; 32]);
//! # Ok(())
//! # }
//! ```

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
