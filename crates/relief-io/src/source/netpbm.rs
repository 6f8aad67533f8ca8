//! Portable bitmaps, graymaps and pixmaps: P1, P4 (bits, of which 1 is black), P2, P5 (gray) and P3, P6 (colour), of any maximum up to
//! 65 535.
//!
//! Our own reader, because the maximum has to be scaled exactly and rows have to stream: the crate `image` holds the
//! whole picture.
//! Format: <https://netpbm.sourceforge.net/doc/>.

use std::io::{BufRead, Read, Seek};

use relief_raster::Rect;

use super::bits::unpack;
use super::failure::Failure;
use super::files::{Decoder, Info, Input};
use super::gray::{Alpha, Colors, GrayRows, Pixels, Row, Scale};
use super::limits::Limits;
use super::windows::{Needs, Shared, Windows};

pub(super) struct Netpbm {
    input: Input,
    plain: bool,
    /// Whether its samples are bits, of which 1 is black.
    bitmap: bool,
    pixels: Pixels,
    max: u32,
    info: Info,
    /// The bytes of a row that is not plain.
    row_bytes: u64,
    /// The bytes of the file, and those of its header.
    bytes: u64,
    start: u64,
}

impl Netpbm {
    /// Reads the header of a file of `bytes` bytes.
    pub(super) fn open(mut input: Input, bytes: u64, limits: &Limits) -> Result<Self, Failure> {
        let mut magic = [0; 2];
        input.read_exact(&mut magic)?;
        let (plain, colors) = match magic[1] {
            b'1' => (true, Colors::Gray),
            b'4' => (false, Colors::Gray),
            b'2' => (true, Colors::Gray),
            b'3' => (true, Colors::Rgb),
            b'5' => (false, Colors::Gray),
            b'6' => (false, Colors::Rgb),
            kind => {
                let kind = char::from(kind);
                return Err(Failure::unsupported(format!(
                    "it is a P{kind}; P1 to P6 are read"
                )));
            }
        };
        let (width, _) = number(&mut input, "width")?;
        let bitmap = matches!(magic[1], b'1' | b'4');
        let (height, after) = number(&mut input, "height")?;
        let (max, last) = if bitmap {
            (1, after)
        } else {
            number(&mut input, "maximum")?
        };
        let max = u16::try_from(max).ok().filter(|&max| max > 0);
        let max = u32::from(max.ok_or_else(|| Failure::damaged("its maximum is not within 1…65535"))?);
        let bytes_each = if max <= 255 { 1 } else { 2 };
        let windowed = !plain;
        let pixels = Pixels {
            colors,
            alpha: Alpha::None,
            scale: Scale::Whole { max },
        };
        limits.check_sides(width, height)?;
        let row_bytes = if bitmap {
            width.div_ceil(8)
        } else {
            width.saturating_mul(pixels.count() as u64 * bytes_each)
        };
        let memory = row_bytes
            .saturating_add(pixels.row_memory(width))
            .saturating_add(64 * 1024);
        if windowed {
            limits.check_windowed(width, height, memory)?;
        } else {
            limits.check(width, height, memory)?;
        }
        // A plain sample takes a digit and, but for the last and for bits, a separator.
        let samples = (u128::from(width) * u128::from(height)).saturating_mul(pixels.count() as u128);
        let needed = match (plain, bitmap) {
            (true, true) => samples,
            (true, false) => samples.saturating_mul(2) - 1,
            (false, _) => u128::from(row_bytes) * u128::from(height),
        };
        let start = input.stream_position()?;
        let left = bytes.saturating_sub(start);
        if u128::from(left) < needed {
            return Err(Failure::damaged(format!(
                "{width} × {height} pixels need {needed} bytes after the header; there are {left}"
            )));
        }
        if !plain
            && last == b'\r'
            && u128::from(left) == needed + 1
            && input.fill_buf()?.first() == Some(&b'\n')
        {
            return Err(Failure::damaged(
                "its header ends in \\r\\n, of which the format takes one byte, and the file is one byte too long: it \
                 was written as text; write it as binary",
            ));
        }
        Ok(Self {
            input,
            plain,
            bitmap,
            pixels,
            max,
            row_bytes,
            bytes,
            start,
            info: Info {
                width,
                height,
                bits: 32 - max.leading_zeros(),
                memory,
            },
        })
    }

    /// The next row of a plain file, in its own scale.
    fn plain_row(&mut self, count: usize, samples: &mut Vec<u32>) -> Result<(), Failure> {
        samples.clear();
        for _ in 0..count {
            let value = if self.bitmap {
                bit(&mut self.input)?
            } else {
                number(&mut self.input, "sample")?.0
            };
            let sample = u32::try_from(value).map_err(|_| too_great(value, self.max))?;
            samples.push(sample);
        }
        Ok(())
    }
}

/// The bits of a stored sample.
fn sample_bits(bitmap: bool, max: u32) -> u32 {
    match max {
        _ if bitmap => 1,
        0..=255 => 8,
        _ => 16,
    }
}

/// Proves that samples are within the maximum. Of a bitmap they become gray: 1 is black.
fn check(samples: &mut [u32], bitmap: bool, max: u32) -> Result<(), Failure> {
    let greatest = samples.iter().copied().fold(0, u32::max);
    if greatest > max {
        return Err(too_great(greatest.into(), max));
    }
    if bitmap {
        samples.iter_mut().for_each(|sample| *sample = 1 - *sample);
    }
    Ok(())
}

fn too_great(sample: u64, max: u32) -> Failure {
    Failure::damaged(format!("a sample is {sample}, more than the maximum {max}"))
}

impl Decoder for Netpbm {
    fn info(&self) -> Info {
        self.info
    }

    fn windows(&self) -> Option<Needs> {
        (!self.plain).then_some(Needs {
            parts: None,
            open: 0,
            reading: self.info.memory,
        })
    }

    fn into_windows(self: Box<Self>) -> Result<Box<dyn Windows>, Failure> {
        Ok(Box::new(Rows {
            file: Shared::new(self.input, self.bytes),
            start: self.start,
            row_bytes: self.row_bytes,
            bitmap: self.bitmap,
            max: self.max,
            pixels: self.pixels,
        }))
    }

    fn read(mut self: Box<Self>, rows: &mut GrayRows<'_>) -> Result<(), Failure> {
        if !self.plain {
            let whole = Rect::sized(self.info.width, self.info.height);
            return self.into_windows()?.read(whole, rows);
        }
        let count = usize::try_from(self.info.width).map_err(Failure::damaged)? * self.pixels.count();
        let mut samples = Vec::new();
        for number in 0..self.info.height {
            self.plain_row(count, &mut samples)
                .and_then(|()| check(&mut samples, self.bitmap, self.max))
                .map_err(|failure| failure.at_row(number))?;
            if rows.take(number, self.pixels, Row::Whole(&samples)).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// A binary file that stays open: a row of known length after the other.
struct Rows {
    file: Shared,
    start: u64,
    row_bytes: u64,
    bitmap: bool,
    max: u32,
    pixels: Pixels,
}

impl Windows for Rows {
    fn read(&self, window: Rect, rows: &mut GrayRows<'_>) -> Result<(), Failure> {
        let (left, right) = (window.x().cast_unsigned(), window.right().cast_unsigned());
        // From a column that begins at a byte on.
        let first = left & !7;
        let bits = sample_bits(self.bitmap, self.max);
        let of_columns = |columns: u64| columns * self.pixels.count() as u64 * u64::from(bits);
        let (begin, before) = (of_columns(first) / 8, (left - first) as usize);
        let length = usize::try_from(of_columns(right - first).div_ceil(8)).map_err(Failure::damaged)?;
        let count = (right - first) as usize * self.pixels.count();
        let (mut bytes, mut samples) = (vec![0; length], Vec::new());
        for y in window.y().cast_unsigned()..window.bottom().cast_unsigned() {
            let place = self.start + y * self.row_bytes + begin;
            samples.clear();
            self.file
                .read_exact_at(&mut bytes, place)
                .map_err(|error| Failure::from(error).at_row(y))?;
            unpack(&bytes, bits, count, &mut samples);
            let shown = samples
                .get_mut(before * self.pixels.count()..)
                .unwrap_or_default();
            check(shown, self.bitmap, self.max).map_err(|failure| failure.at_row(y))?;
            if rows.take(y, self.pixels, Row::Whole(shown)).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// The next bit of a plain bitmap, whose digits need not be apart.
fn bit(input: &mut impl BufRead) -> Result<u64, Failure> {
    let mut comment = false;
    loop {
        let byte = next_byte(input)?.ok_or_else(|| Failure::damaged("it ends before its sample"))?;
        match byte {
            _ if comment => comment = byte != b'\n' && byte != b'\r',
            b'0' | b'1' => return Ok(u64::from(byte - b'0')),
            b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C => {}
            b'#' => comment = true,
            _ => {
                let byte = byte.escape_ascii();
                return Err(Failure::damaged(format!(
                    "there is \"{byte}\" where a bit should be"
                )));
            }
        }
    }
}

/// The next number: blanks and comments, from `#` to the end of the line, then digits. Takes the one byte that
/// follows them, which separates the header from binary samples, and gives it as well.
fn number(input: &mut impl BufRead, what: &str) -> Result<(u64, u8), Failure> {
    let mut value: Option<u64> = None;
    let mut comment = false;
    loop {
        let Some(byte) = next_byte(input)? else {
            let value = value.ok_or_else(|| Failure::damaged(format!("it ends before its {what}")))?;
            return Ok((value, 0));
        };
        match byte {
            _ if comment => comment = byte != b'\n' && byte != b'\r',
            b'0'..=b'9' => {
                let digit = u64::from(byte - b'0');
                let next = value
                    .unwrap_or(0)
                    .checked_mul(10)
                    .and_then(|value| value.checked_add(digit));
                value =
                    Some(next.ok_or_else(|| Failure::damaged(format!("its {what} has too many digits")))?);
            }
            b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C => {
                if let Some(value) = value {
                    return Ok((value, byte));
                }
            }
            b'#' if value.is_none() => comment = true,
            _ => {
                let byte = byte.escape_ascii();
                return Err(Failure::damaged(format!(
                    "there is \"{byte}\" where its {what} should be"
                )));
            }
        }
    }
}

fn next_byte(input: &mut impl BufRead) -> Result<Option<u8>, Failure> {
    let byte = input.fill_buf()?.first().copied();
    if byte.is_some() {
        input.consume(1);
    }
    Ok(byte)
}
