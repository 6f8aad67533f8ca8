//! Two sinks as one.

use std::io;

use relief_engine::Workers;
use relief_engine::sink::{Band, Raster, Sink};

/// Hands every band to two sinks, one after the other: to write a raster and have its digest, for instance.
///
/// Put the one whose completion matters last, such as a file: it appears only when the other has finished well.
#[derive(Debug)]
pub struct Tee<A, B> {
    first: A,
    second: B,
}

impl<A: Sink, B: Sink> Tee<A, B> {
    /// Hands bands to `first`, then to `second`.
    pub const fn new(first: A, second: B) -> Self {
        Self { first, second }
    }

    /// The sink that takes each band first.
    pub const fn first(&self) -> &A {
        &self.first
    }

    /// The sink that takes each band after the other.
    pub const fn second(&self) -> &B {
        &self.second
    }
}

impl<A: Sink, B: Sink> Sink for Tee<A, B> {
    fn use_workers(&mut self, workers: &Workers) {
        self.first.use_workers(workers);
        self.second.use_workers(workers);
    }

    fn memory(&self, raster: &Raster) -> u64 {
        self.first
            .memory(raster)
            .saturating_add(self.second.memory(raster))
    }

    fn wants(&self, raster: &Raster) -> u64 {
        // Where both want some, the one that wants fewer holds rows back.
        self.first.wants(raster).max(self.second.wants(raster))
    }

    fn begin(&mut self, raster: &Raster) -> io::Result<()> {
        self.first.begin(raster)?;
        self.second.begin(raster)
    }

    fn write(&mut self, band: &Band<'_>) -> io::Result<()> {
        self.first.write(band)?;
        self.second.write(band)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.first.finish()?;
        self.second.finish()
    }
}
