//! Portable graymap, binary (P5): a line of text, then the samples, 16 bits big-endian.
//!
//! Format: <https://netpbm.sourceforge.net/doc/pgm.html>. It sets no limit to the sides.

use std::io::{self, Write};

use relief_engine::sink::{Raster, Samples};

use super::byte_order::{ByteOrder, SampleWriter};
use super::file::Encoding;
use super::output::Output;

#[derive(Debug)]
pub(super) struct Pgm(SampleWriter);

impl Pgm {
    pub(super) const fn new() -> Self {
        Self(SampleWriter::new(ByteOrder::Big))
    }
}

fn header(raster: &Raster) -> String {
    format!("P5\n{} {}\n{}\n", raster.width, raster.height, raster.depth.max())
}

impl Encoding for Pgm {
    fn memory(&self, _: &Raster) -> u64 {
        ByteOrder::Big.memory()
    }

    fn bytes(&self, raster: &Raster) -> Option<u128> {
        Some(header(raster).len() as u128 + raster.bytes())
    }

    fn header(&mut self, raster: &Raster, output: &mut Output) -> io::Result<()> {
        output.write_all(header(raster).as_bytes())
    }

    fn samples(&mut self, samples: Samples<'_>, output: &mut Output) -> io::Result<()> {
        self.0.write(samples, output)
    }

    fn trailer(&mut self, _: &mut Output) -> io::Result<()> {
        Ok(())
    }
}
