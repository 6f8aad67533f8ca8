//! Portable graymaps and pixmaps: P2, P5 (gray) and P3, P6 (colour), of any maximum up to 65 535.
//!
//! Our own reader, because the maximum has to be scaled exactly and rows have to stream: the crate `image` holds the
//! whole picture.
//! Format: <https://netpbm.sourceforge.net/doc/>.

use std::io::{BufRead, Read, Seek};

use super::bits::unpack;
use super::failure::Failure;
use super::files::{Decoder, Info, Input};
use super::gray::{Alpha, Colors, GrayRows, Pixels, Row, Scale};
use super::limits::Limits;

pub(super) struct Netpbm {
    input: Input,
    plain: bool,
    pixels: Pixels,
    max: u32,
    info: Info,
}

impl Netpbm {
    /// Reads the header of a file of `bytes` bytes.
    pub(super) fn open(mut input: Input, bytes: u64, limits: &Limits) -> Result<Self, Failure> {
        let mut magic = [0; 2];
        input.read_exact(&mut magic)?;
        let (plain, colors) = match magic[1] {
            b'2' => (true, Colors::Gray),
            b'3' => (true, Colors::Rgb),
            b'5' => (false, Colors::Gray),
            b'6' => (false, Colors::Rgb),
            kind => {
                let kind = char::from(kind);
                return Err(Failure::unsupported(format!(
                    "it is a P{kind}; P2, P3, P5 and P6 are read"
                )));
            }
        };
        let (width, _) = number(&mut input, "width")?;
        let (height, _) = number(&mut input, "height")?;
        let (max, last) = number(&mut input, "maximum")?;
        let max = u16::try_from(max).ok().filter(|&max| max > 0);
        let max = u32::from(max.ok_or_else(|| Failure::damaged("its maximum is not within 1…65535"))?);
        let bytes_each = if max <= 255 { 1 } else { 2 };
        let pixels = Pixels {
            colors,
            alpha: Alpha::None,
            scale: Scale::Whole { max },
        };
        limits.check(width, height, 0)?;
        let row_bytes = width.saturating_mul(pixels.count() as u64 * bytes_each);
        let memory = row_bytes
            .saturating_add(pixels.row_memory(width))
            .saturating_add(64 * 1024);
        limits.check(width, height, memory)?;
        // A plain sample takes a digit and, but for the last, a separator.
        let samples = (u128::from(width) * u128::from(height)).saturating_mul(pixels.count() as u128);
        let needed = if plain {
            samples.saturating_mul(2) - 1
        } else {
            samples.saturating_mul(u128::from(bytes_each))
        };
        let left = bytes.saturating_sub(input.stream_position()?);
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
            pixels,
            max,
            info: Info {
                width,
                height,
                bits: 32 - max.leading_zeros(),
                memory,
            },
        })
    }

    /// The bytes of a sample.
    fn sample_bytes(&self) -> u32 {
        if self.max <= 255 { 1 } else { 2 }
    }

    /// The `count` samples of the next row, in their own scale.
    fn next_row(&mut self, count: usize, bytes: &mut [u8], samples: &mut Vec<u32>) -> Result<(), Failure> {
        samples.clear();
        if self.plain {
            for _ in 0..count {
                let (value, _) = number(&mut self.input, "sample")?;
                let sample = u32::try_from(value).map_err(|_| self.too_great(value))?;
                samples.push(sample);
            }
        } else {
            self.input.read_exact(bytes)?;
            unpack(bytes, 8 * self.sample_bytes(), count, samples);
        }
        match samples.iter().find(|&&sample| sample > self.max) {
            Some(&sample) => Err(self.too_great(sample.into())),
            None => Ok(()),
        }
    }

    fn too_great(&self, sample: u64) -> Failure {
        Failure::damaged(format!(
            "a sample is {sample}, more than the maximum {}",
            self.max
        ))
    }
}

impl Decoder for Netpbm {
    fn info(&self) -> Info {
        self.info
    }

    fn read(mut self: Box<Self>, rows: &mut GrayRows<'_>) -> Result<(), Failure> {
        let count = usize::try_from(self.info.width).map_err(Failure::damaged)? * self.pixels.count();
        let (mut bytes, mut samples) = (Vec::new(), Vec::new());
        if !self.plain {
            bytes.resize(count * self.sample_bytes() as usize, 0);
        }
        for number in 0..self.info.height {
            self.next_row(count, &mut bytes, &mut samples)
                .map_err(|failure| failure.at_row(number))?;
            if rows.take(number, self.pixels, Row::Whole(&samples)).is_break() {
                break;
            }
        }
        Ok(())
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
