//! Portable graymaps and pixmaps: P2, P5 (gray) and P3, P6 (colour), of any maximum up to 65 535.
//!
//! Our own reader, because the maximum has to be scaled exactly and rows have to stream: the crate `image` holds the
//! whole picture. A maximum up to 255 counts as 8 bits, a greater one as 16; sample v of maximum m becomes
//! v·M / m rounded half up, before colour becomes gray. Format: <https://netpbm.sourceforge.net/doc/>.

use std::io::{BufRead, Read, Seek};

use relief_engine::source::ImageInfo;
use relief_raster::Depth;

use super::failure::Failure;
use super::files::{Input, Picture};
use super::gray::{Channels, GrayRows, Pixels, scaled, widened};
use super::limits::Limits;

pub(super) struct Netpbm {
    input: Input,
    plain: bool,
    pixels: Pixels,
    max: u16,
    info: ImageInfo,
}

impl Netpbm {
    /// Reads the header of a file of `bytes` bytes.
    pub(super) fn open(mut input: Input, bytes: u64, limits: &Limits) -> Result<Self, Failure> {
        let mut magic = [0; 2];
        input.read_exact(&mut magic)?;
        let (plain, channels) = match magic[1] {
            b'2' => (true, Channels::Gray),
            b'3' => (true, Channels::Rgb),
            b'5' => (false, Channels::Gray),
            b'6' => (false, Channels::Rgb),
            kind => {
                let kind = char::from(kind);
                return Err(Failure::unsupported(format!(
                    "it is a P{kind}; P2, P3, P5 and P6 are read"
                )));
            }
        };
        let (width, height) = (number(&mut input, "width")?, number(&mut input, "height")?);
        let max = number(&mut input, "maximum")?;
        let max = u16::try_from(max).ok().filter(|&max| max > 0);
        let max = max.ok_or_else(|| Failure::damaged("its maximum is not within 1…65535"))?;
        let depth = if max <= 255 { Depth::Eight } else { Depth::Sixteen };
        let pixels = Pixels { channels, depth };
        limits.check(width, height, 0)?;
        let row_bytes = width * channels.count() as u64 * depth.bytes();
        let memory = row_bytes + pixels.row_memory(width) + 64 * 1024;
        limits.check(width, height, memory)?;
        // A plain sample takes a digit and, but for the last, a separator.
        let samples = u128::from(width) * u128::from(height) * channels.count() as u128;
        let needed = if plain {
            2 * samples - 1
        } else {
            samples * u128::from(depth.bytes())
        };
        let left = bytes.saturating_sub(input.stream_position()?);
        if u128::from(left) < needed {
            return Err(Failure::damaged(format!(
                "{width} × {height} pixels need {needed} bytes after the header; there are {left}"
            )));
        }
        Ok(Self {
            input,
            plain,
            pixels,
            max,
            info: ImageInfo {
                width,
                height,
                memory,
            },
        })
    }

    /// The samples of the next row, in their own scale.
    fn next_row(&mut self, bytes: &mut [u8], samples: &mut Vec<u16>) -> Result<(), Failure> {
        if self.plain {
            let count = bytes.len() as u64 / self.pixels.depth.bytes();
            samples.clear();
            for _ in 0..count {
                let value = number(&mut self.input, "sample")?;
                samples.push(u16::try_from(value).unwrap_or(u16::MAX));
                if value > u64::from(u16::MAX) {
                    return Err(self.too_great(value));
                }
            }
        } else {
            self.input.read_exact(bytes)?;
            match self.pixels.depth {
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

impl Picture for Netpbm {
    fn info(&self) -> ImageInfo {
        self.info
    }

    fn read(mut self: Box<Self>, rows: &mut GrayRows<'_>) -> Result<(), Failure> {
        let row_bytes = self.info.width * self.pixels.channels.count() as u64 * self.pixels.depth.bytes();
        let row_bytes = usize::try_from(row_bytes).map_err(Failure::damaged)?;
        let (mut bytes, mut samples) = (vec![0; row_bytes], Vec::new());
        let to = self.pixels.depth.max();
        for number in 0..self.info.height {
            self.next_row(&mut bytes, &mut samples)
                .map_err(|failure| failure.at_row(number))?;
            if self.max != to {
                samples
                    .iter_mut()
                    .for_each(|sample| *sample = scaled(*sample, self.max, to));
            }
            if rows.take(number, self.pixels, &samples).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// The next number: blanks and comments, from `#` to the end of the line, then digits. Takes the one byte that
/// follows them, which separates the header from binary samples.
fn number(input: &mut impl BufRead, what: &str) -> Result<u64, Failure> {
    let mut value: Option<u64> = None;
    let mut comment = false;
    loop {
        let Some(byte) = next_byte(input)? else {
            return value.ok_or_else(|| Failure::damaged(format!("it ends before its {what}")));
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
                    return Ok(value);
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
