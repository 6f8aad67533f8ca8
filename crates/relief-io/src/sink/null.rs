//! Throws the raster away: for measuring, and for checking that a job runs through.

use std::io;

use relief_engine::sink::{Band, Raster, Samples, Sink};

use super::SinkError;
use super::file::Encoding;
use super::order::Order;
use super::output::Output;

/// Checks the bands of a raster, counts them and throws them away.
#[derive(Debug, Default)]
pub struct NullSink {
    order: Option<Order>,
    bands: u64,
    samples: u64,
}

impl NullSink {
    /// A sink that has taken nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of bands taken.
    #[must_use]
    pub const fn bands(&self) -> u64 {
        self.bands
    }

    /// The number of samples taken.
    #[must_use]
    pub const fn samples(&self) -> u64 {
        self.samples
    }
}

impl Sink for NullSink {
    fn memory(&self, _: &Raster) -> u64 {
        0
    }

    fn begin(&mut self, raster: &Raster) -> io::Result<()> {
        self.order = Some(Order::new(raster)?);
        Ok(())
    }

    fn write(&mut self, band: &Band<'_>) -> io::Result<()> {
        let order = self.order.as_mut().ok_or(SinkError::State {
            call: "write",
            state: "has not begun",
        })?;
        order.accept(band)?;
        self.bands += 1;
        self.samples = self.samples.saturating_add(band.samples.len() as u64);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        let order = self.order.take().ok_or(SinkError::State {
            call: "finish",
            state: "has not begun",
        })?;
        Ok(order.complete()?)
    }
}

/// The format that writes nothing.
#[derive(Debug)]
pub(super) struct Null;

impl Encoding for Null {
    fn memory(&self, _: &Raster) -> u64 {
        0
    }

    fn bytes(&self, _: &Raster) -> Option<u128> {
        Some(0)
    }

    fn header(&mut self, _: &Raster, _: &mut Output) -> io::Result<()> {
        Ok(())
    }

    fn samples(&mut self, _: Samples<'_>, _: &mut Output) -> io::Result<()> {
        Ok(())
    }

    fn trailer(&mut self, _: &mut Output) -> io::Result<()> {
        Ok(())
    }
}
