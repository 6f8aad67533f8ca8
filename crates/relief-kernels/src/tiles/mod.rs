//! Tiles: a plane on a device from those of its tiles that hold more than one sample.
//!
//! What the host computes for a device is often empty for the most part: a drawing with a few marks, a mesh in a large raster. The
//! tiles of one sample come as a word each, the others packed one after the other, so that the bus carries what there is and the
//! memory of the device does the rest.
//!
//! ```
//! # fn main() -> Result<(), relief_kernels::device::DeviceError> {
//! use relief_kernels::device::{Gpu, devices};
//! use relief_kernels::tiles::gpu::{Grid, expand, packed, uniform};
//!
//! let Some(device) = devices().devices.into_iter().next() else { return Ok(()) };
//! let gpu = Gpu::open(device.id)?;
//! // A plane of two tiles, each of a row of four words: the first has samples of its own, the other is 9 everywhere.
//! let grid = Grid { words: 4, rows: 1, pitch: 8, height: 1 };
//! let output = gpu.buffer(8)?;
//! expand(&gpu, grid, &[packed(0), uniform(0x0909)], &[1, 2, 3, 4], &output)?;
//! let bytes = gpu.read(&output, 8).wait()?;
//! assert_eq!(bytes[..8], [1, 0, 0, 0, 2, 0, 0, 0]);
//! assert_eq!(bytes[16..], [9; 16]);
//! # Ok(())
//! # }
//! ```

pub mod gpu;
