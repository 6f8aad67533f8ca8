//! BMP: palettes of 1, 2, 4 and 8 bits, run lengths, colours of 16, 24 and 32 bits with fields of any width, and the
//! headers of Windows and OS/2. Row by row, in the order of the file, most often from the bottom.
//!
//! Our own reader: those of `image` and `zune-bmp` cut fields above 8 bits, take an α that is 0 everywhere at its word,
//! and hold the whole picture. Formats: Microsoft, *Bitmap Header Types*; OS/2 2.0 *Presentation Manager Programming
//! Reference*, BITMAPINFOHEADER2.

use std::io::{ErrorKind, Read, Seek, SeekFrom};

use relief_raster::Rect;

use super::bits::unpack;
use super::failure::Failure;
use super::files::{Decoder, Info, Input};
use super::gray::{Alpha, Colors, GrayRows, Pixels, Row, Scale};
use super::limits::Limits;
use super::pitch::{METRE, Pitch, of_density};
use super::windows::{Needs, Shared, Windows};

/// An index that stands for a pixel which a run skipped.
const SKIPPED: u32 = 1 << 16;

pub(super) struct Bmp {
    input: Input,
    /// Where the pixels begin.
    start: u64,
    width: u64,
    height: u64,
    top_down: bool,
    bits: u32,
    coding: Coding,
    info: Info,
    pitch: Option<Pitch>,
    /// The bytes of the file.
    bytes: u64,
}

enum Coding {
    /// Colours by their number.
    Palette(Vec<[u32; 3]>),
    /// The same, in runs.
    Runs(Vec<[u32; 3]>),
    /// Red, green, blue and α in the bits of a number.
    Fields([Field; 4]),
}

impl Coding {
    /// The samples of pixels with these numbers, so many of each, on the scale to `max`.
    fn samples(&self, numbers: &[u32], count: usize, max: u32, into: &mut Vec<u32>) {
        match self {
            Self::Palette(colors) | Self::Runs(colors) => {
                into.extend(numbers.iter().flat_map(|&at| color(colors, at)));
            }
            Self::Fields(fields) => {
                let fields = &fields[..count];
                into.extend(
                    numbers
                        .iter()
                        .flat_map(|&pixel| fields.iter().map(move |field| field.sample(pixel, max))),
                );
            }
        }
    }
}

/// The numbers of so many pixels of a row, from the first on.
fn numbers(bytes: &[u8], bits: u32, count: usize, into: &mut Vec<u32>) {
    into.clear();
    match bits {
        16 => into.extend(
            bytes
                .chunks_exact(2)
                .map(|v| u32::from(u16::from_le_bytes([v[0], v[1]]))),
        ),
        24 => into.extend(
            bytes
                .chunks_exact(3)
                .map(|v| u32::from_le_bytes([v[0], v[1], v[2], 0])),
        ),
        32 => into.extend(
            bytes
                .chunks_exact(4)
                .map(|v| u32::from_le_bytes([v[0], v[1], v[2], v[3]])),
        ),
        bits => unpack(bytes, bits, count, into),
    }
    into.truncate(count);
}

/// Which bits of a pixel's number are a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Field {
    shift: u32,
    bits: u32,
}

impl Field {
    fn new(mask: u32) -> Result<Self, Failure> {
        if mask == 0 {
            return Ok(Self::default());
        }
        let shift = mask.trailing_zeros();
        let bits = mask.count_ones();
        if mask >> shift != ((1_u64 << bits) - 1) as u32 {
            return Err(Failure::damaged(format!(
                "the bits of its mask {mask:#010x} are not side by side"
            )));
        }
        Ok(Self { shift, bits })
    }

    /// The sample, scaled from its bits to 0…`max`.
    fn sample(self, pixel: u32, max: u32) -> u32 {
        if self.bits == 0 {
            return 0;
        }
        let all = (1_u64 << self.bits) - 1;
        let value = u64::from(pixel >> self.shift) & all;
        ((2 * value * u64::from(max) + all) / (2 * all)) as u32
    }
}

impl Bmp {
    /// Reads the headers of a file of `bytes` bytes.
    pub(super) fn open(mut input: Input, bytes: u64, limits: &Limits) -> Result<Self, Failure> {
        let header = Header::read(&mut input)?;
        let (width, height) = (header.width, header.height);
        limits.check_sides(width, height)?;
        let coding = header.coding(&mut input)?;
        let row_bytes = row_bytes(width, header.bits);
        let mut bmp = Self {
            input,
            start: header.start,
            width,
            height,
            top_down: header.top_down,
            bits: header.bits,
            coding,
            pitch: header.pitch(),
            bytes,
            info: Info {
                width,
                height,
                bits: 8,
                memory: 0,
            },
        };
        bmp.info.bits = 32 - bmp.max().leading_zeros();
        let runs = matches!(bmp.coding, Coding::Runs(_));
        // The padding of the last row may be missing.
        let needed = row_bytes
            .saturating_mul(height - 1)
            .saturating_add(width.saturating_mul(header.bits.into()).div_ceil(8));
        let left = bytes.saturating_sub(header.start);
        if !runs && left < needed {
            return Err(Failure::damaged(format!(
                "{width} × {height} pixels of {} bits need {needed} bytes after the header; there are {left}",
                header.bits
            )));
        }
        bmp.info.memory = row_bytes
            .saturating_add(width.saturating_mul(8))
            .saturating_add(bmp.pixels(true).row_memory(width))
            .saturating_add(64 * 1024);
        if bmp.windows().is_some() {
            limits.check_windowed(width, height, bmp.info.memory)?;
        } else {
            limits.check(width, height, bmp.info.memory)?;
        }
        Ok(bmp)
    }

    fn pixels(&self, alpha: bool) -> Pixels {
        let has_alpha = match &self.coding {
            Coding::Fields(fields) => fields[3].bits > 0,
            _ => false,
        };
        Pixels {
            colors: Colors::Rgb,
            alpha: if has_alpha && alpha {
                Alpha::Straight
            } else {
                Alpha::None
            },
            scale: Scale::Whole { max: self.max() },
        }
    }

    /// The scale of all samples: the next above the widest field.
    fn max(&self) -> u32 {
        match &self.coding {
            Coding::Fields(fields) if fields.iter().any(|field| field.bits > 8) => 65_535,
            _ => 255,
        }
    }

    /// The number of the row of the picture that stands at this place in the file.
    fn number(&self, place: u64) -> u64 {
        if self.top_down {
            place
        } else {
            self.height - 1 - place
        }
    }

    /// The numbers of the pixels of the next row.
    fn next_row(&mut self, bytes: &mut [u8], into: &mut Vec<u32>) -> Result<(), Failure> {
        // The padding of the last row may be missing.
        let needed = self.width.saturating_mul(self.bits.into()).div_ceil(8) as usize;
        self.input.read_exact(&mut bytes[..needed])?;
        let padding = (bytes.len() - needed) as i64;
        self.input.seek_relative(padding)?;
        numbers(bytes, self.bits, self.width as usize, into);
        Ok(())
    }

    fn read_rows(&mut self, rows: &mut GrayRows<'_>) -> Result<(), Failure> {
        let bytes = usize::try_from(row_bytes(self.width, self.bits)).map_err(Failure::damaged)?;
        let (mut bytes, mut numbers, mut samples) = (vec![0; bytes], Vec::new(), Vec::new());
        let mut alpha = false;
        if let Coding::Fields([.., field]) = self.coding
            && field.bits > 0
        {
            // Many writers leave an α of 0 in all pixels that they mean to be seen.
            self.input.seek(SeekFrom::Start(self.start))?;
            for _ in 0..self.height {
                self.next_row(&mut bytes, &mut numbers)?;
                if numbers
                    .iter()
                    .any(|&pixel| field.sample(pixel, 255) > 0 || field.sample(pixel, 65_535) > 0)
                {
                    alpha = true;
                    break;
                }
            }
        }
        self.input.seek(SeekFrom::Start(self.start))?;
        let (pixels, max) = (self.pixels(alpha), self.max());
        for place in 0..self.height {
            let number = self.number(place);
            self.next_row(&mut bytes, &mut numbers)
                .map_err(|failure| failure.at_row(number))?;
            samples.clear();
            self.coding.samples(&numbers, pixels.count(), max, &mut samples);
            if rows.take(number, pixels, Row::Whole(&samples)).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn read_runs(&mut self, rows: &mut GrayRows<'_>) -> Result<(), Failure> {
        self.input.seek(SeekFrom::Start(self.start))?;
        let (pixels, width) = (self.pixels(false), self.width as usize);
        let mut runs = Runs {
            line: vec![SKIPPED; width],
            x: 0,
            down: 0,
            ended: false,
        };
        let mut samples = Vec::new();
        for place in 0..self.height {
            let number = self.number(place);
            runs.next_row(&mut self.input, self.bits)
                .map_err(|failure| failure.at_row(number))?;
            let Coding::Runs(colors) = &self.coding else {
                break;
            };
            samples.clear();
            samples.extend(runs.line.iter().flat_map(|&at| color(colors, at)));
            runs.line.fill(SKIPPED);
            if rows.take(number, pixels, Row::Whole(&samples)).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// The colour of this number; black where the palette has none.
fn color(colors: &[[u32; 3]], at: u32) -> [u32; 3] {
    colors.get(at as usize).copied().unwrap_or_default()
}

/// The bytes of a row, which ends at a multiple of four.
fn row_bytes(width: u64, bits: u32) -> u64 {
    width.saturating_mul(bits.into()).div_ceil(32).saturating_mul(4)
}

impl Decoder for Bmp {
    fn info(&self) -> Info {
        self.info
    }

    fn pitch(&self) -> Option<Pitch> {
        self.pitch
    }

    fn windows(&self) -> Option<Needs> {
        // Runs have no places, and whether an α counts all pixels say.
        let placed = match &self.coding {
            Coding::Palette(_) => true,
            Coding::Runs(_) => false,
            Coding::Fields(fields) => fields[3].bits == 0,
        };
        placed.then_some(Needs {
            open: 0,
            reading: self.info.memory,
            parts: None,
        })
    }

    fn into_windows(self: Box<Self>) -> Result<Box<dyn Windows>, Failure> {
        Ok(Box::new(Rows {
            pixels: self.pixels(false),
            max: self.max(),
            row_bytes: row_bytes(self.width, self.bits),
            file: Shared::new(self.input, self.bytes),
            start: self.start,
            height: self.height,
            top_down: self.top_down,
            bits: self.bits,
            coding: self.coding,
        }))
    }

    fn read(mut self: Box<Self>, rows: &mut GrayRows<'_>) -> Result<(), Failure> {
        if matches!(self.coding, Coding::Runs(_)) {
            self.read_runs(rows)
        } else {
            self.read_rows(rows)
        }
    }
}

/// A file that stays open: a row of known length after the other.
struct Rows {
    file: Shared,
    start: u64,
    row_bytes: u64,
    height: u64,
    top_down: bool,
    bits: u32,
    coding: Coding,
    pixels: Pixels,
    max: u32,
}

impl Windows for Rows {
    fn read(&self, window: Rect, rows: &mut GrayRows<'_>) -> Result<(), Failure> {
        let (left, right) = (window.x().cast_unsigned(), window.right().cast_unsigned());
        // From a column that begins at a byte on.
        let first = left & !7;
        let of_columns = |columns: u64| columns * u64::from(self.bits);
        let (begin, before) = (of_columns(first) / 8, (left - first) as usize);
        let length = usize::try_from(of_columns(right - first).div_ceil(8)).map_err(Failure::damaged)?;
        let (mut bytes, mut pixels, mut samples) = (vec![0; length], Vec::new(), Vec::new());
        for y in window.y().cast_unsigned()..window.bottom().cast_unsigned() {
            let place = if self.top_down { y } else { self.height - 1 - y };
            self.file
                .read_exact_at(&mut bytes, self.start + place * self.row_bytes + begin)
                .map_err(|error| Failure::from(error).at_row(y))?;
            numbers(&bytes, self.bits, (right - first) as usize, &mut pixels);
            let shown = pixels.get(before..).unwrap_or_default();
            samples.clear();
            self.coding
                .samples(shown, self.pixels.count(), self.max, &mut samples);
            if rows.take(y, self.pixels, Row::Whole(&samples)).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// Rows of numbers from runs.
struct Runs {
    line: Vec<u32>,
    x: usize,
    /// Rows that a jump has yet to pass.
    down: u64,
    ended: bool,
}

impl Runs {
    /// Reads up to the end of the row in `line`.
    fn next_row(&mut self, input: &mut Input, bits: u32) -> Result<(), Failure> {
        if self.ended {
            return Ok(());
        }
        if self.down > 0 {
            self.down -= 1;
            if self.down > 0 {
                return Ok(());
            }
        }
        loop {
            let mut pair = [0; 2];
            match input.read_exact(&mut pair) {
                // Where nothing is left of the last row, its end may be missing.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof && self.x >= self.line.len() => {
                    self.x = 0;
                    return Ok(());
                }
                other => other?,
            }
            match pair {
                [0, 0] => {
                    self.x = 0;
                    return Ok(());
                }
                [0, 1] => {
                    self.ended = true;
                    return Ok(());
                }
                [0, 2] => {
                    input.read_exact(&mut pair)?;
                    self.x = (self.x + usize::from(pair[0])).min(self.line.len());
                    if pair[1] > 0 {
                        self.down = u64::from(pair[1]);
                        return Ok(());
                    }
                }
                [0, count] => {
                    // As they are, to the end of a word.
                    let mut bytes = [0; 256];
                    let length = (usize::from(count) * bits as usize)
                        .div_ceil(8)
                        .next_multiple_of(2);
                    input.read_exact(&mut bytes[..length])?;
                    let mut numbers = Vec::with_capacity(count.into());
                    unpack(&bytes[..length], bits, count.into(), &mut numbers);
                    numbers.into_iter().for_each(|number| self.put(number));
                }
                [count, value] => {
                    let value = u32::from(value);
                    for i in 0..count {
                        let number = match (bits, i % 2) {
                            (8, _) => value,
                            (_, 0) => value >> 4,
                            _ => value & 15,
                        };
                        self.put(number);
                    }
                }
            }
        }
    }

    fn put(&mut self, number: u32) {
        if let Some(place) = self.line.get_mut(self.x) {
            *place = number;
            self.x += 1;
        }
    }
}

/// What the two headers say.
struct Header {
    start: u64,
    width: u64,
    height: u64,
    top_down: bool,
    bits: u32,
    compression: u32,
    colors: u32,
    /// The bytes of the second header.
    bytes: Vec<u8>,
}

impl Header {
    fn read(input: &mut Input) -> Result<Self, Failure> {
        let mut file = [0; 18];
        input.read_exact(&mut file)?;
        let long = |bytes: &[u8], at: usize| {
            bytes
                .get(at..at + 4)
                .map_or(0, |v| u32::from_le_bytes([v[0], v[1], v[2], v[3]]))
        };
        let short = |bytes: &[u8], at: usize| {
            bytes
                .get(at..at + 2)
                .map_or(0, |v| u16::from_le_bytes([v[0], v[1]]))
        };
        let size = long(&file, 14);
        if !matches!(size, 12 | 16..=64 | 108 | 124) {
            return Err(Failure::unsupported(format!(
                "its header has {size} bytes; 12, 16 to 64, 108 and 124 are read"
            )));
        }
        let mut bytes = vec![0; size as usize];
        bytes[..4].copy_from_slice(&file[14..]);
        input.read_exact(&mut bytes[4..])?;
        let (width, height, bits) = if size == 12 {
            (
                short(&bytes, 4).into(),
                short(&bytes, 6).into(),
                short(&bytes, 10),
            )
        } else {
            (
                i64::from(long(&bytes, 4).cast_signed()),
                i64::from(long(&bytes, 8).cast_signed()),
                short(&bytes, 14),
            )
        };
        let compression = if size == 12 { 0 } else { long(&bytes, 16) };
        let os2 = size == 64;
        let name = match compression {
            0..=2 => None,
            3 if os2 => Some("Huffman coding"),
            4 if os2 => Some("run lengths of 24 bits"),
            3 | 6 => None,
            4 => Some("JPEG"),
            5 => Some("PNG"),
            11..=13 => Some("CMYK"),
            _ => Some("unknown"),
        };
        if let Some(name) = name {
            return Err(Failure::unsupported(format!(
                "its compression is {name} ({compression}); none, run lengths of 4 and 8 bits and bit fields are read"
            )));
        }
        Ok(Self {
            start: long(&file, 10).into(),
            width: u64::try_from(width)
                .map_err(|_| Failure::damaged(format!("it says it is {width} pixels wide")))?,
            height: height.unsigned_abs(),
            top_down: height < 0,
            bits: bits.into(),
            compression,
            colors: if size == 12 { 0 } else { long(&bytes, 32) },
            bytes,
        })
    }

    /// The sides of a pixel: the header has pixels a metre, 0 where they are not known.
    fn pitch(&self) -> Option<Pitch> {
        let density = |at: usize| {
            let bytes = self.bytes.get(at..)?.first_chunk()?;
            let count = u32::try_from(i32::from_le_bytes(*bytes)).ok()?;
            Some((u64::from(count), 1))
        };
        of_density(density(24)?, density(28)?, METRE)
    }

    fn coding(&self, input: &mut Input) -> Result<Coding, Failure> {
        let runs = matches!((self.compression, self.bits), (1, 8) | (2, 4));
        match (self.compression, self.bits) {
            (0, 1 | 2 | 4 | 8) | (1, 8) | (2, 4) => {
                let colors = self.palette(input)?;
                Ok(if runs {
                    Coding::Runs(colors)
                } else {
                    Coding::Palette(colors)
                })
            }
            (0, 16) => fields([0x7C00, 0x03E0, 0x001F, 0]),
            (0, 24 | 32) => fields([0xFF_0000, 0x00_FF00, 0x00_00FF, 0]),
            (3 | 6, 16 | 32) => fields(self.masks(input)?),
            _ => Err(Failure::damaged(format!(
                "it has {} bits per pixel with compression {}",
                self.bits, self.compression
            ))),
        }
    }

    fn palette(&self, input: &mut Input) -> Result<Vec<[u32; 3]>, Failure> {
        let all = 1_u64 << self.bits;
        let count = if self.colors == 0 {
            all
        } else {
            all.min(self.colors.into())
        };
        let entry = if self.bytes.len() == 12 { 3 } else { 4 };
        let room = self.start.saturating_sub(14 + self.bytes.len() as u64) / entry;
        let mut bytes = vec![0; (count.min(room) * entry) as usize];
        input.read_exact(&mut bytes)?;
        let color = |v: &[u8]| [v[2], v[1], v[0]].map(u32::from);
        Ok(bytes.chunks_exact(entry as usize).map(color).collect())
    }

    /// Red, green, blue and α, in the header or after it.
    fn masks(&self, input: &mut Input) -> Result<[u32; 4], Failure> {
        let mut bytes = self.bytes.get(40..).unwrap_or_default().to_vec();
        if bytes.is_empty() {
            bytes.resize(if self.compression == 6 { 16 } else { 12 }, 0);
            input.read_exact(&mut bytes)?;
        }
        bytes.resize(bytes.len().max(16), 0);
        let mask = |i: usize| u32::from_le_bytes([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]]);
        Ok([mask(0), mask(4), mask(8), mask(12)])
    }
}

fn fields(masks: [u32; 4]) -> Result<Coding, Failure> {
    let [r, g, b, a] = masks.map(Field::new);
    Ok(Coding::Fields([r?, g?, b?, a?]))
}
