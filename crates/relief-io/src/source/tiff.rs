//! TIFF and BigTIFF: gray, with or without α, and RGB(A), of 1, 2, 4 (gray only), 8 or 16 bits, in strips or tiles,
//! uncompressed or by LZW, Deflate or PackBits.
//!
//! The crate `tiff` decodes strip by strip or tile by tile; one row of them is held at a time, so that a file of one
//! strip is held whole. Of extra samples, a first one that is unassociated α counts; colour with associated α has been
//! multiplied by it already and is taken as it is; the others are ignored.

use std::panic::AssertUnwindSafe;

use relief_engine::source::ImageInfo;
use relief_raster::Depth;
use tiff::decoder::Decoder;
use tiff::tags::{CompressionMethod, PlanarConfiguration, SampleFormat, Tag};
use tiff::{ColorType, TiffError, TiffResult};

use super::failure::Failure;
use super::files::{Input, Picture};
use super::gray::{Channels, GrayRows, Pixels, scaled};
use super::limits::Limits;

/// What the decoder keeps beside strips: their offsets and lengths, at most 1 MiB of each in the file, as 64 bits.
const DECODER: u64 = 4 << 20;

pub(super) struct Tiff {
    decoder: Decoder<Input>,
    pixels: Pixels,
    /// Bits per sample in the file.
    bits: u8,
    /// Samples per pixel in the file; the first ones are those of `pixels`.
    samples: usize,
    chunks: Chunks,
    info: ImageInfo,
}

/// How the picture is cut: a strip is a tile as wide as the picture.
#[derive(Clone, Copy, Debug)]
struct Chunks {
    /// Rows of one.
    height: u64,
    /// How many stand side by side.
    across: u64,
    /// The bytes of one row of the picture.
    row_bytes: u64,
    /// The bytes of one row of a chunk.
    chunk_row_bytes: u64,
}

impl Tiff {
    pub(super) fn open(input: Input, limits: &Limits) -> Result<Self, Failure> {
        let mut decoder = guarded(|| Decoder::new(input))?;
        let mut budget = tiff::decoder::Limits::default();
        budget.decoding_buffer_size = limits.memory_bytes();
        budget.intermediate_buffer_size = limits.memory_bytes();
        decoder = decoder.with_limits(budget);
        refuse_unread(&mut decoder)?;
        let (width, height) = decoder.dimensions()?;
        let (width, height) = (u64::from(width), u64::from(height));
        limits.check(width, height, 0)?;
        let color = decoder.colortype()?;
        let channels = channels(&mut decoder, color)?;
        let (bits, samples) = (color.bit_depth(), usize::from(color.num_samples()));
        let depth = if bits == 16 { Depth::Sixteen } else { Depth::Eight };
        let pixels = Pixels { channels, depth };
        let chunks = Chunks::new(
            guarded(|| Ok(decoder.chunk_dimensions()))?,
            (width, height),
            u64::from(bits) * samples as u64,
        )?;
        let memory = chunks
            .memory(height)
            .saturating_add(pixels.row_memory(width))
            .saturating_add(DECODER);
        limits.check(width, height, memory)?;
        Ok(Self {
            decoder,
            pixels,
            bits,
            samples,
            chunks,
            info: ImageInfo {
                width,
                height,
                memory,
            },
        })
    }

    /// Reads the chunks of one row of them into `band`, row after row of the picture.
    fn read_band(&mut self, number: u64, chunk: &mut Vec<u8>, band: &mut [u8]) -> Result<(), Failure> {
        let Chunks {
            across,
            row_bytes,
            chunk_row_bytes,
            ..
        } = self.chunks;
        for column in 0..across {
            let index = u32::try_from(number * across + column).map_err(Failure::damaged)?;
            let layout = guarded(|| self.decoder.image_chunk_buffer_layout(index))?;
            if layout.sample_format != SampleFormat::Uint {
                return Err(Failure::unsupported("its samples are not unsigned integers"));
            }
            if across == 1 {
                let bytes = band.len();
                let into = band
                    .get_mut(..layout.len)
                    .ok_or_else(|| disagreement(layout.len, bytes))?;
                guarded(|| self.decoder.read_chunk_bytes(index, into))?;
                continue;
            }
            chunk.resize(layout.len, 0);
            guarded(|| self.decoder.read_chunk_bytes(index, chunk))?;
            let stride = layout.row_stride.map_or(1, |stride| stride.get());
            let start = usize::try_from(column * chunk_row_bytes).map_err(Failure::damaged)?;
            let step = usize::try_from(row_bytes).map_err(Failure::damaged)?;
            for (row, part) in band.chunks_exact_mut(step).zip(chunk.chunks_exact(stride)) {
                let bytes = row.len();
                let into = row
                    .get_mut(start..start + stride)
                    .ok_or_else(|| disagreement(stride, bytes))?;
                into.copy_from_slice(part);
            }
        }
        Ok(())
    }

    /// The samples that count of one row.
    fn unpack(&self, row: &[u8], into: &mut Vec<u16>) {
        let (all, kept) = (self.samples, self.pixels.channels.count());
        into.clear();
        match self.bits {
            16 => {
                let each = row.chunks_exact(2 * all);
                // The decoder has brought them to the byte order of this machine.
                into.extend(each.flat_map(|pixel| {
                    pixel
                        .chunks_exact(2)
                        .take(kept)
                        .map(|pair| u16::from_ne_bytes([pair[0], pair[1]]))
                }));
            }
            8 => into.extend(
                row.chunks_exact(all)
                    .flat_map(|pixel| pixel.iter().take(kept).map(|&v| u16::from(v))),
            ),
            bits => {
                let (bits, max) = (u32::from(bits), (1_u16 << bits) - 1);
                let width = usize::try_from(self.info.width).unwrap_or(usize::MAX);
                let shifts = (0..8 / bits).map(|i| 8 - bits * (i + 1));
                let samples = row.iter().flat_map(|&byte| {
                    shifts
                        .clone()
                        .map(move |shift| scaled(u16::from(byte) >> shift & max, max, 255))
                });
                into.extend(samples.take(width));
            }
        }
    }
}

impl Picture for Tiff {
    fn info(&self) -> ImageInfo {
        self.info
    }

    fn read(mut self: Box<Self>, rows: &mut GrayRows<'_>) -> Result<(), Failure> {
        let Chunks {
            height: chunk_height,
            row_bytes,
            ..
        } = self.chunks;
        let step = usize::try_from(row_bytes).map_err(Failure::damaged)?;
        let bytes = usize::try_from(row_bytes.saturating_mul(chunk_height)).map_err(Failure::damaged)?;
        let (mut band, mut chunk, mut samples) = (Vec::new(), Vec::new(), Vec::new());
        let too_large = |_| Failure::TooLarge("its strips exceed the memory of this machine".to_owned());
        band.try_reserve_exact(bytes).map_err(too_large)?;
        band.resize(bytes, 0);
        let mut first = 0;
        while first < self.info.height {
            self.read_band(first / chunk_height, &mut chunk, &mut band)
                .map_err(|failure| failure.at_row(first))?;
            for (number, row) in (first..self.info.height).zip(band.chunks_exact(step)) {
                self.unpack(row, &mut samples);
                if rows.take(number, self.pixels, &samples).is_break() {
                    return Ok(());
                }
            }
            first += chunk_height;
        }
        Ok(())
    }
}

impl Chunks {
    /// The chunks of this size of a picture with so many bits per pixel.
    fn new(chunk: (u32, u32), (width, height): (u64, u64), pixel_bits: u64) -> Result<Self, Failure> {
        let (chunk_width, chunk_height) = (u64::from(chunk.0), u64::from(chunk.1).min(height));
        if chunk_width == 0 || chunk_height == 0 {
            return Err(Failure::damaged("its strips or tiles are empty"));
        }
        let across = width.div_ceil(chunk_width);
        if across > 1 && !(chunk_width * pixel_bits).is_multiple_of(8) {
            return Err(Failure::damaged(format!(
                "its tiles are {chunk_width} pixels wide, not a multiple of 16"
            )));
        }
        Ok(Self {
            height: chunk_height,
            across,
            row_bytes: (width * pixel_bits).div_ceil(8),
            chunk_row_bytes: (chunk_width * pixel_bits).div_ceil(8),
        })
    }

    /// The bytes held while one row of chunks is read.
    fn memory(&self, height: u64) -> u64 {
        let chunk = if self.across == 1 {
            0
        } else {
            self.chunk_row_bytes.saturating_mul(self.height)
        };
        self.row_bytes
            .saturating_mul(self.height.min(height))
            .saturating_add(chunk)
    }
}

/// Refuses what the crate would read, but not as it is meant, or with an error that says less.
fn refuse_unread(decoder: &mut Decoder<Input>) -> Result<(), Failure> {
    let mut tag = |tag| decoder.find_tag_unsigned::<u16>(tag);
    let planar = tag(Tag::PlanarConfiguration)?.unwrap_or(1);
    let samples = tag(Tag::SamplesPerPixel)?.unwrap_or(1);
    if planar != PlanarConfiguration::Chunky.to_u16() && samples > 1 {
        return Err(Failure::unsupported(
            "its colours lie in planes of their own; save it with interleaved colours",
        ));
    }
    let orientation = tag(Tag::Orientation)?.unwrap_or(1);
    if orientation != 1 {
        return Err(Failure::unsupported(format!(
            "its orientation is {orientation}; only 1, rows from the top and columns from the left, is read"
        )));
    }
    let compression = tag(Tag::Compression)?.unwrap_or(1);
    match CompressionMethod::from_u16_exhaustive(compression) {
        CompressionMethod::None
        | CompressionMethod::LZW
        | CompressionMethod::Deflate
        | CompressionMethod::OldDeflate
        | CompressionMethod::PackBits => Ok(()),
        other => Err(Failure::unsupported(format!(
            "its compression is {other:?} ({compression}); none, LZW, Deflate and PackBits are read"
        ))),
    }
}

/// Which of the samples of a pixel count.
fn channels(decoder: &mut Decoder<Input>, color: ColorType) -> Result<Channels, Failure> {
    /// Value of ExtraSamples: the colour has not been multiplied by it.
    const UNASSOCIATED: u16 = 2;
    let extra = decoder
        .find_tag_unsigned_vec::<u16>(Tag::ExtraSamples)?
        .unwrap_or_default();
    let alpha = extra.first() == Some(&UNASSOCIATED);
    match color {
        ColorType::Gray(1 | 2 | 4 | 8 | 16) => Ok(Channels::Gray),
        ColorType::GrayA(8 | 16)
        | ColorType::Multiband {
            bit_depth: 8 | 16,
            num_samples: 2..,
        } => Ok(if alpha {
            Channels::GrayAlpha
        } else {
            Channels::Gray
        }),
        ColorType::RGB(8 | 16) => Ok(Channels::Rgb),
        ColorType::RGBA(8 | 16) => Ok(if alpha { Channels::RgbAlpha } else { Channels::Rgb }),
        other => Err(Failure::unsupported(format!(
            "its pixels are {other:?}; gray of 1, 2, 4, 8 or 16 bits and RGB of 8 or 16 bits are read"
        ))),
    }
}

fn disagreement(needed: usize, bytes: usize) -> Failure {
    Failure::damaged(format!(
        "a strip or tile has {needed} bytes where {bytes} have room"
    ))
}

/// What the decoder makes of the file. Some of its checks are assertions, on numbers that stand in the file: where one
/// of them panics, the file is damaged. The decoder is not used any more after that.
fn guarded<T>(work: impl FnOnce() -> TiffResult<T>) -> Result<T, Failure> {
    match std::panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(Failure::from),
        Err(_) => Err(Failure::damaged("its numbers contradict one another")),
    }
}

impl From<TiffError> for Failure {
    fn from(error: TiffError) -> Self {
        match error {
            TiffError::IoError(error) => error.into(),
            TiffError::LimitsExceeded => {
                Self::TooLarge("decoding it would exceed the memory allowed".to_owned())
            }
            TiffError::UnsupportedError(error) => Self::unsupported(error),
            other => Self::damaged(other),
        }
    }
}
