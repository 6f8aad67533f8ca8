//! PNG: every colour type and depth. Row by row, but for interlaced ones, whose rows are complete only at the end.

use std::io::{ErrorKind, Read, Seek};

use png::{BitDepth, ColorType, DecodingError, Reader, Transformations};

use super::bits::{greatest, unpack};
use super::failure::Failure;
use super::files::{Decoder, Info, Input};
use super::gray::{Alpha, Colors, GrayRows, Pixels, Row, Scale};
use super::limits::Limits;
use super::pitch::{METRE, Pitch, of_density};
use super::tiff::exif_orientation;

/// What the decoder keeps beside rows: the window and tables of the decompressor and the bytes it is ahead.
const DECODER: u64 = 512 * 1024;

/// The longest eXIf chunk that is looked at.
const MAX_EXIF: u32 = 1 << 20;

pub(super) struct Png {
    reader: Reader<Input>,
    meaning: Meaning,
    info: Info,
    interlaced: bool,
    orientation: u16,
}

/// What the samples of the file mean.
struct Meaning {
    bits: u32,
    pixels: Pixels,
    /// Samples per pixel in the file.
    samples: usize,
    /// The colours of a palette, with α.
    palette: Option<Vec<[u32; 4]>>,
    /// The colour that is transparent.
    transparent: Option<Vec<u32>>,
}

impl Png {
    /// Reads the header of a file of `bytes` bytes.
    pub(super) fn open(mut input: Input, bytes: u64, limits: &Limits) -> Result<Self, Failure> {
        let orientation = walk(&mut input, bytes)?;
        input.rewind()?;
        let budget = png::Limits {
            bytes: limits.memory_bytes(),
        };
        let mut decoder = png::Decoder::new_with_limits(input, budget);
        decoder.set_ignore_text_chunk(true);
        decoder.set_ignore_iccp_chunk(true);
        decoder.set_transformations(Transformations::IDENTITY);
        let header = decoder.read_header_info()?;
        let (width, height) = (u64::from(header.width), u64::from(header.height));
        limits.check(width, height, 0)?;
        let reader = decoder.read_info()?;
        let meaning = Meaning::of(&reader)?;
        let row_bits = width * meaning.samples as u64 * u64::from(meaning.bits);
        let row_bytes = row_bits.div_ceil(8);
        let interlaced = reader.info().interlaced;
        let frame = if interlaced {
            row_bytes.saturating_mul(height)
        } else {
            0
        };
        // This row and the last, as read and as unfiltered, and its samples as they stand.
        let memory = frame
            .saturating_add(row_bytes * 5)
            .saturating_add(width * 4 * meaning.samples as u64)
            .saturating_add(meaning.pixels.row_memory(width))
            .saturating_add(DECODER);
        limits.check(width, height, memory)?;
        Ok(Self {
            reader,
            info: Info {
                width,
                height,
                bits: meaning.bits,
                memory,
            },
            meaning,
            interlaced,
            orientation,
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
        let mut buffers = Buffers::default();
        for (number, bytes) in (0..self.info.height).zip(frame.chunks_exact(line.max(1))) {
            let samples = self.meaning.row(bytes, self.info.width, &mut buffers);
            let samples = samples.map_err(|failure| failure.at_row(number))?;
            if rows.take(number, self.meaning.pixels, samples).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn read_rows(mut self, rows: &mut GrayRows<'_>) -> Result<(), Failure> {
        let mut buffers = Buffers::default();
        for number in 0..self.info.height {
            let row = self
                .reader
                .next_row()
                .map_err(|error| Failure::from(error).at_row(number))?;
            let row = row.ok_or_else(|| Failure::damaged("it ends too early").at_row(number))?;
            let samples = self.meaning.row(row.data(), self.info.width, &mut buffers);
            let samples = samples.map_err(|failure| failure.at_row(number))?;
            if rows.take(number, self.meaning.pixels, samples).is_break() {
                return Ok(());
            }
        }
        // What is left has check sums of its own.
        Ok(self.reader.finish()?)
    }
}

impl Decoder for Png {
    fn info(&self) -> Info {
        self.info
    }

    fn orientation(&self) -> u16 {
        self.orientation
    }

    fn pitch(&self) -> Option<Pitch> {
        let sides = self.reader.info().pixel_dims?;
        match sides.unit {
            png::Unit::Meter => of_density((sides.xppu.into(), 1), (sides.yppu.into(), 1), METRE),
            png::Unit::Unspecified => None,
        }
    }

    fn read(self: Box<Self>, rows: &mut GrayRows<'_>) -> Result<(), Failure> {
        if self.interlaced {
            self.read_frame(rows)
        } else {
            self.read_rows(rows)
        }
    }
}

#[derive(Default)]
struct Buffers {
    raw: Vec<u32>,
    samples: Vec<u32>,
}

impl Meaning {
    fn of(reader: &Reader<Input>) -> Result<Self, Failure> {
        let info = reader.info();
        let bits = match info.bit_depth {
            BitDepth::One => 1,
            BitDepth::Two => 2,
            BitDepth::Four => 4,
            BitDepth::Eight => 8,
            BitDepth::Sixteen => 16,
        };
        let keyed = info.trns.is_some();
        let (colors, samples, alpha) = match info.color_type {
            ColorType::Grayscale => (Colors::Gray, 1, keyed),
            ColorType::GrayscaleAlpha => (Colors::Gray, 2, true),
            ColorType::Rgb => (Colors::Rgb, 3, keyed),
            ColorType::Rgba => (Colors::Rgb, 4, true),
            ColorType::Indexed => (Colors::Rgb, 1, keyed),
        };
        let trns = info.trns.as_deref().unwrap_or_default();
        let indexed = info.color_type == ColorType::Indexed;
        let palette = if indexed {
            let colors = info
                .palette
                .as_deref()
                .ok_or_else(|| Failure::damaged("it has no palette"))?;
            let alpha = |i: usize| u32::from(trns.get(i).copied().unwrap_or(255));
            let color = |(i, c): (usize, &[u8])| [c[0].into(), c[1].into(), c[2].into(), alpha(i)];
            Some(colors.chunks_exact(3).enumerate().map(color).collect())
        } else {
            None
        };
        // A key is written in 16 bits, of which those above the depth do not count; the crate keeps 8 of them where they do.
        let key = trns.chunks_exact(if bits == 16 { 2 } else { 1 });
        let key = key.map(|v| v.iter().fold(0, |key, byte| key << 8 | u32::from(*byte)) & greatest(bits));
        Ok(Self {
            bits,
            pixels: Pixels {
                colors,
                alpha: if alpha { Alpha::Straight } else { Alpha::None },
                scale: Scale::Whole {
                    max: if indexed { 255 } else { greatest(bits) },
                },
            },
            samples,
            palette,
            transparent: (keyed && !indexed).then(|| key.collect()),
        })
    }

    /// The samples of a row of `width` pixels.
    fn row<'b>(&self, bytes: &[u8], width: u64, buffers: &'b mut Buffers) -> Result<Row<'b>, Failure> {
        let Buffers { raw, samples } = buffers;
        let count = width as usize * self.samples;
        raw.clear();
        unpack(bytes, self.bits, count, raw);
        samples.clear();
        if let Some(palette) = &self.palette {
            let kept = self.pixels.count();
            for &index in raw.iter() {
                let color = palette.get(index as usize).ok_or_else(|| {
                    let colors = palette.len();
                    Failure::damaged(format!("a pixel is colour {index} of a palette of {colors}"))
                })?;
                samples.extend_from_slice(&color[..kept]);
            }
            return Ok(Row::Whole(samples));
        }
        let Some(transparent) = &self.transparent else {
            return Ok(Row::Whole(raw));
        };
        let max = greatest(self.bits);
        for pixel in raw.chunks_exact(self.samples) {
            samples.extend_from_slice(pixel);
            samples.push(if pixel == transparent.as_slice() { 0 } else { max });
        }
        Ok(Row::Whole(samples))
    }
}

/// Passes over all chunks of a file of `bytes` bytes: a file that is cut short shows here. The orientation by its eXIf.
fn walk(input: &mut Input, bytes: u64) -> Result<u16, Failure> {
    let mut orientation = 1;
    let mut place = 8_u64;
    input.seek_relative(8)?;
    loop {
        let mut head = [0; 8];
        match input.read_exact(&mut head) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                return Err(Failure::damaged("it ends before its chunk IEND"));
            }
            other => other?,
        }
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
        let name = &head[4..];
        let end = place + 12 + u64::from(length);
        if end > bytes {
            return Err(Failure::damaged(format!(
                "its chunk {} of {length} bytes at byte {place} ends beyond the file",
                name.escape_ascii()
            )));
        }
        match name {
            b"IEND" => return Ok(orientation),
            b"eXIf" if length <= MAX_EXIF => {
                let mut block = vec![0; length as usize];
                input.read_exact(&mut block)?;
                orientation = exif_orientation(&block);
                input.seek_relative(4)?;
            }
            _ => input.seek_relative(i64::from(length) + 4)?,
        }
        place = end;
    }
}

impl From<DecodingError> for Failure {
    fn from(error: DecodingError) -> Self {
        match error {
            DecodingError::IoError(error) => error.into(),
            DecodingError::LimitsExceeded => {
                Self::TooLarge("decoding it would exceed the memory allowed".to_owned())
            }
            other => Self::damaged(plain(&other.to_string())),
        }
    }
}

/// The sentence of an error, with the names of chunks in place of what the crate says of them.
fn plain(sentence: &str) -> String {
    let (mut plain, mut rest) = (String::new(), sentence);
    while let Some((before, after)) = rest.split_once("ChunkType { type: ") {
        let (inside, following) = after.split_once('}').unwrap_or((after, ""));
        plain.push_str(before);
        plain.push_str(inside.split(',').next().unwrap_or_default());
        rest = following;
    }
    plain + rest.trim_end_matches('.')
}
