//! Files read and written: one program, because linking the engine takes longer than compiling the tests.

mod builders;
mod damaged_pictures;
mod examples;
mod failures;
mod pictures;
mod raster;
mod sinks;
mod sources;
