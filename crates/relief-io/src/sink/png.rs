//! PNG: gray, 1, 8 or 16 bits, compressed row by row as the rows come.
//!
//! The crate `png` streams it, at the lowest level that stores what does not shrink: its faster coder has one table of
//! codes for all pictures and makes noise a third longer. Whoever wants the smallest file runs an optimiser over it.
//! Format: <https://www.w3.org/TR/png-3/>.

use std::io::{self, Write};

use png::{
    BitDepth, ColorType, Compression, DeflateCompression, EncodingError, PixelDimensions, StreamWriter, Unit,
};
use relief_engine::sink::{Raster, Samples};
use relief_raster::{Depth, Length};

use super::bit_rows::{BitRows, PART};
use super::byte_order::{ByteOrder, SampleWriter};
use super::file::Encoding;
use super::output::Output;

/// The bytes of one IDAT chunk.
const CHUNK: usize = 256 * 1024;

pub(super) struct Png {
    one_bit: bool,
    bits: Option<BitRows>,
    packed: Vec<u8>,
    samples: SampleWriter,
    stream: Option<StreamWriter<'static, Output>>,
}

impl Png {
    pub(super) const fn new(one_bit: bool) -> Self {
        Self {
            one_bit,
            bits: None,
            packed: Vec::new(),
            samples: SampleWriter::new(ByteOrder::Big),
            stream: None,
        }
    }
}

impl Encoding for Png {
    fn memory(&self, raster: &Raster) -> u64 {
        // The encoder keeps the last row, this row and its filtered bytes, and tries filters in a fourth.
        let rows = raster
            .width
            .saturating_mul(raster.depth.bytes())
            .saturating_mul(4);
        rows.saturating_add(ByteOrder::Big.memory() + (CHUNK + PART) as u64 + (1 << 20))
    }

    fn header(&mut self, raster: &Raster, output: &mut Output) -> io::Result<()> {
        let side = |side: u64| u32::try_from(side).map_err(io::Error::other);
        let mut encoder = png::Encoder::new(output.clone(), side(raster.width)?, side(raster.height)?);
        encoder.set_color(ColorType::Grayscale);
        self.bits = self.one_bit.then(|| BitRows::new(raster));
        encoder.set_depth(match raster.depth {
            _ if self.one_bit => BitDepth::One,
            Depth::Eight => BitDepth::Eight,
            Depth::Sixteen => BitDepth::Sixteen,
        });
        encoder.set_compression(Compression::Fast);
        encoder.set_deflate_compression(DeflateCompression::Level(1));
        encoder.set_pixel_dims(raster.pixel.and_then(pixel_dimensions));
        let writer = encoder.write_header().map_err(unwrapped)?;
        self.stream = Some(writer.into_stream_writer_with_size(CHUNK).map_err(unwrapped)?);
        Ok(())
    }

    fn samples(&mut self, samples: Samples<'_>, _: &mut Output) -> io::Result<()> {
        let Some(stream) = &mut self.stream else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        match &mut self.bits {
            Some(bits) => bits.push(samples, &mut self.packed, &mut |_, bytes| stream.write_all(bytes)),
            None => self.samples.write(samples, stream),
        }
    }

    fn trailer(&mut self, _: &mut Output) -> io::Result<()> {
        // The end of the file is written as the encoder is dropped; the output keeps the error if that fails.
        self.stream
            .take()
            .map_or(Ok(()), |stream| stream.finish().map_err(unwrapped))
    }
}

fn unwrapped(error: EncodingError) -> io::Error {
    match error {
        EncodingError::IoError(error) => error,
        error => io::Error::other(error),
    }
}

/// Pixels per metre, which PNG keeps as whole numbers; nothing for pixels too small or too large to say.
fn pixel_dimensions(pixel: Length) -> Option<PixelDimensions> {
    let (above, below) = pixel.terms();
    let (above, below) = (u128::from(above), u128::from(below));
    let per_metre = (2 * below + above) / (2 * above);
    let per_metre = u32::try_from(per_metre).ok().filter(|&n| n > 0)?;
    Some(PixelDimensions {
        xppu: per_metre,
        yppu: per_metre,
        unit: Unit::Meter,
    })
}
