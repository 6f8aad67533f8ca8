//! The samples alone, row by row; 16 bits little-endian. What a machine controller reads.

use std::io;

use relief_engine::sink::{Raster, Samples};

use super::byte_order::{ByteOrder, SampleWriter};
use super::file::Encoding;
use super::output::Output;

#[derive(Debug)]
pub(super) struct Raw(SampleWriter);

impl Raw {
    pub(super) const fn new() -> Self {
        Self(SampleWriter::new(ByteOrder::Little))
    }
}

impl Encoding for Raw {
    fn memory(&self, _: &Raster) -> u64 {
        ByteOrder::Little.memory()
    }

    fn bytes(&self, raster: &Raster) -> Option<u128> {
        Some(raster.bytes())
    }

    fn header(&mut self, _: &Raster, _: &mut Output) -> io::Result<()> {
        Ok(())
    }

    fn samples(&mut self, samples: Samples<'_>, output: &mut Output) -> io::Result<()> {
        self.0.write(samples, output)
    }

    fn trailer(&mut self, _: &mut Output) -> io::Result<()> {
        Ok(())
    }
}
