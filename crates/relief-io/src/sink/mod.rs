//! Where bands go: one file per format, and what they share.

mod bit_rows;
mod bmp;
mod byte_order;
mod compression;
mod digest;
mod dzi;
mod error;
mod file;
mod format;
mod group4;
mod null;
mod one_bit;
mod order;
mod output;
mod pgm;
mod png;
mod positioned;
mod raw;
mod stl;
mod target;
mod tee;
mod tiff;
mod tiles;
mod zarr;

pub use compression::{Compression, UnknownCompression};
pub use digest::DigestSink;
pub use dzi::DziSink;
pub use error::SinkError;
pub use file::FileSink;
pub use format::{Format, UnknownFormat};
pub use null::NullSink;
pub use stl::Heights;
pub use target::Target;
pub use tee::Tee;
pub use tiles::{Completion, FileCut, SharedTiff, Sharing, TileOptions, TiledTiff, partial_path};
pub use zarr::{ZarrOptions, ZarrSink};
