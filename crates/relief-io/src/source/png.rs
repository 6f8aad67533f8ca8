//! PNG: every colour type and depth. Row by row, but for interlaced ones, whose rows are complete only at the end.

use png::{BitDepth, ColorType, DecodingError, Reader, Transformations};
use relief_engine::source::ImageInfo;
use relief_raster::Depth;

use super::failure::Failure;
use super::files::{Input, Picture};
use super::gray::{Channels, GrayRows, Pixels, widened};
use super::limits::Limits;

/// What the decoder keeps beside rows: the window and tables of the decompressor and the bytes it is ahead.
const DECODER: u64 = 512 * 1024;

pub(super) struct Png {
    reader: Reader<Input>,
    pixels: Pixels,
    info: ImageInfo,
    interlaced: bool,
}

impl Png {
    pub(super) fn open(input: Input, limits: &Limits) -> Result<Self, Failure> {
        let budget = png::Limits {
            bytes: limits.memory_bytes(),
        };
        let mut decoder = png::Decoder::new_with_limits(input, budget);
        decoder.set_ignore_text_chunk(true);
        decoder.set_ignore_iccp_chunk(true);
        // Palettes become colours, transparency of any kind α, fewer than 8 bits 8.
        decoder.set_transformations(Transformations::EXPAND);
        let header = decoder.read_header_info()?;
        let (width, height) = (u64::from(header.width), u64::from(header.height));
        limits.check(width, height, 0)?;
        let reader = decoder.read_info()?;
        let pixels = pixels(reader.output_color_type())?;
        let row_bytes = width * pixels.channels.count() as u64 * pixels.depth.bytes();
        let interlaced = reader.info().interlaced;
        let frame = if interlaced {
            row_bytes.saturating_mul(height)
        } else {
            0
        };
        // This row and the last, as read and as unfiltered, and with transformations applied.
        let memory = frame + row_bytes.saturating_mul(5) + pixels.row_memory(width) + DECODER;
        limits.check(width, height, memory)?;
        Ok(Self {
            reader,
            pixels,
            info: ImageInfo {
                width,
                height,
                memory,
            },
            interlaced,
        })
    }

    fn read_frame(mut self, rows: &mut GrayRows<'_>) -> Result<(), Failure> {
        let too_large = || Failure::TooLarge("its pixels exceed the memory of this machine".to_owned());
        let bytes = self.reader.output_buffer_size().ok_or_else(too_large)?;
        let mut frame = Vec::new();
        frame.try_reserve_exact(bytes).map_err(|_| too_large())?;
        frame.resize(bytes, 0);
        let line = self.reader.next_frame(&mut frame)?.line_size;
        self.reader.finish()?;
        let mut samples = Vec::new();
        for (number, bytes) in (0..self.info.height).zip(frame.chunks_exact(line.max(1))) {
            unpack(bytes, self.pixels.depth, &mut samples);
            if rows.take(number, self.pixels, &samples).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn read_rows(mut self, rows: &mut GrayRows<'_>) -> Result<(), Failure> {
        let mut samples = Vec::new();
        for number in 0..self.info.height {
            let row = self
                .reader
                .next_row()
                .map_err(|error| Failure::from(error).at_row(number))?;
            let row = row.ok_or_else(|| Failure::damaged("it ends too early").at_row(number))?;
            unpack(row.data(), self.pixels.depth, &mut samples);
            if rows.take(number, self.pixels, &samples).is_break() {
                return Ok(());
            }
        }
        // What is left has check sums of its own.
        Ok(self.reader.finish()?)
    }
}

impl Picture for Png {
    fn info(&self) -> ImageInfo {
        self.info
    }

    fn read(self: Box<Self>, rows: &mut GrayRows<'_>) -> Result<(), Failure> {
        if self.interlaced {
            self.read_frame(rows)
        } else {
            self.read_rows(rows)
        }
    }
}

fn pixels((color, depth): (ColorType, BitDepth)) -> Result<Pixels, Failure> {
    let channels = match color {
        ColorType::Grayscale => Channels::Gray,
        ColorType::GrayscaleAlpha => Channels::GrayAlpha,
        ColorType::Rgb => Channels::Rgb,
        ColorType::Rgba => Channels::RgbAlpha,
        ColorType::Indexed => return Err(Failure::damaged("it has no palette")),
    };
    let depth = match depth {
        BitDepth::Eight => Depth::Eight,
        BitDepth::Sixteen => Depth::Sixteen,
        other => {
            return Err(Failure::unsupported(format!(
                "it has {} bits per sample",
                other as u8
            )));
        }
    };
    Ok(Pixels { channels, depth })
}

/// Samples from bytes, 16 bits big-endian.
fn unpack(bytes: &[u8], depth: Depth, samples: &mut Vec<u16>) {
    match depth {
        Depth::Eight => widened(bytes, samples),
        Depth::Sixteen => {
            samples.clear();
            samples.extend(
                bytes
                    .chunks_exact(2)
                    .map(|pair| u16::from_be_bytes([pair[0], pair[1]])),
            );
        }
    }
}

impl From<DecodingError> for Failure {
    fn from(error: DecodingError) -> Self {
        match error {
            DecodingError::IoError(error) => error.into(),
            DecodingError::LimitsExceeded => {
                Self::TooLarge("decoding it would exceed the memory allowed".to_owned())
            }
            other => Self::damaged(other),
        }
    }
}
