//! Image sources and band sinks.
//!
//! [`Files`] reads the pictures that a design names: PNG, TIFF, JPEG, PBM, PGM, PPM, BMP and Zarr. [`FileSink`] writes the raster
//! that the engine streams as raw samples, PGM, PNG, TIFF or BMP, to a file, the standard output or any writer;
//! [`DigestSink`] hashes it, [`NullSink`] only checks and counts it, [`StatisticsSink`] counts its samples and runs, and [`Tee`] hands it to two sinks at once.
//!
//! [`TiledTiff`] and [`ZarrSink`] take tiles from any thread, go on where an earlier run was left, and write parts of one file
//! from several processes; [`SharedTiff`] stores equal tiles of a raster that repeats once. [`DziSink`] writes a Deep Zoom image.
//!
//! Every sink checks that the bands are those of its raster, complete and in order. A file appears under its name
//! only when it is complete: until then it is a temporary file in the same folder, which goes away with the sink or
//! by its [`Cleanup`].

mod level;
mod overview;
mod sink;
mod source;

pub use level::{Level, LevelRenderer};
pub use overview::{Overview, OverviewSink, OverviewTiles};
pub use relief_atomic::Cleanup;
pub use sink::{
    ByteFile, Compared, Comparison, Completion, Compression, Difference, DigestSink, DziSink, FileCut,
    FileSink, Format, Heights, Inspection, NullSink, Pyramid, SharedTiff, Sharing, SinkError, StatisticsSink,
    Target, Tee, TileOptions, TiledTiff, UnknownCompression, UnknownFormat, ZarrOptions, ZarrSink,
    partial_path,
};
pub use source::{ArrayPicture, ArraySamples, Digested, Files, Limits, near_name, pack, read_bounded};

/// The page of the package, whose examples are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
