//! Files read and written: one program, because linking the engine takes longer than compiling the tests.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by a panic")]

mod bits;
mod builders;
mod damaged_pictures;
mod dzi;
mod examples;
mod failures;
mod jobs;
mod levels;
mod overviews;
mod packs;
mod pictures;
mod pyramids;
mod raster;
mod reference_pictures;
mod sinks;
mod solids;
mod sources;
#[cfg(unix)]
mod sparse;
mod statistics;
mod tiles;
mod windows;
mod zarr;
