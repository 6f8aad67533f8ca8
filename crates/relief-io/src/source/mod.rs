//! Where image samples come from: one file per format, and how colour becomes gray.

mod array;
mod bits;
mod bmp;
mod bounded;
mod checked;
mod digested;
mod failure;
mod files;
mod gray;
mod jpeg;
mod limits;
mod netpbm;
mod orientation;
pub mod pack;
mod part;
mod pitch;
mod png;
mod range;
mod raw;
mod tiff;
mod windows;
mod zarr;

pub use array::{ArrayPicture, ArraySamples};
pub(crate) use bounded::check_regular;
pub use bounded::read_bounded;
pub use digested::Digested;
pub use files::{Files, near_name};
pub use limits::Limits;
pub(crate) use tiff::{Directory as TiffDirectory, Stored as StoredTiff};
