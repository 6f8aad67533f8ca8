//! Files without a header: samples row by row, of which the design says the size and the type. Windows are read.

use relief_design::{Raw, RawSample};
use relief_raster::Rect;

use super::bits::{greatest, unpack};
use super::failure::Failure;
use super::files::{Decoder, Info, Input};
use super::gray::{Alpha, Colors, GrayRows, Pixels, Row, Scale};
use super::limits::Limits;
use super::tiff::Number;
use super::windows::{Needs, Shared, Windows};

pub(super) struct Headerless {
    input: Input,
    /// The bytes of the file.
    bytes: u64,
    raw: Raw,
    number: Number,
    info: Info,
}

/// The bits of a sample and what they mean.
const fn meaning(sample: RawSample) -> (u32, Number) {
    match sample {
        RawSample::Uint8 => (8, Number::Whole),
        RawSample::Uint16 => (16, Number::Whole),
        RawSample::Uint32 => (32, Number::Whole),
        RawSample::Int8 => (8, Number::Signed),
        RawSample::Int16 => (16, Number::Signed),
        RawSample::Int32 => (32, Number::Signed),
        RawSample::Float16 => (16, Number::Float),
        RawSample::Float32 => (32, Number::Float),
        RawSample::Float64 => (64, Number::Float),
    }
}

fn pixels(bits: u32, number: Number) -> Pixels {
    Pixels {
        colors: Colors::Gray,
        alpha: Alpha::None,
        scale: match number {
            Number::Whole => Scale::Whole { max: greatest(bits) },
            Number::Signed | Number::Float => Scale::Numbers,
        },
    }
}

impl Headerless {
    /// A file of `bytes` bytes.
    pub(super) fn open(input: Input, bytes: u64, raw: Raw, limits: &Limits) -> Result<Self, Failure> {
        let (width, height) = (raw.width, raw.height);
        let (bits, number) = meaning(raw.sample);
        limits.check_sides(width, height)?;
        let row_bytes = width.saturating_mul(u64::from(bits) / 8);
        let memory = row_bytes
            .saturating_add(pixels(bits, number).row_memory(width))
            .saturating_add(64 * 1024);
        limits.check_windowed(width, height, memory)?;
        let needed = u128::from(row_bytes) * u128::from(height);
        let left = bytes.saturating_sub(raw.offset);
        if u128::from(left) < needed {
            return Err(Failure::damaged(format!(
                "{width} × {height} samples of {bits} bits need {needed} bytes after the first {}; there are {left}",
                raw.offset
            )));
        }
        Ok(Self {
            input,
            bytes,
            raw,
            number,
            info: Info {
                width,
                height,
                bits,
                memory,
            },
        })
    }
}

impl Decoder for Headerless {
    fn info(&self) -> Info {
        self.info
    }

    fn numbers(&self) -> Option<String> {
        match self.number {
            Number::Whole => None,
            Number::Signed => Some(format!("signed integers of {} bits", self.info.bits)),
            Number::Float => Some(format!("floating point numbers of {} bits", self.info.bits)),
        }
    }

    fn windows(&self) -> Option<Needs> {
        Some(Needs {
            open: 0,
            reading: self.info.memory,
            parts: None,
        })
    }

    fn into_windows(self: Box<Self>) -> Result<Box<dyn Windows>, Failure> {
        Ok(Box::new(Rows {
            file: Shared::new(self.input, self.bytes),
            raw: self.raw,
            bits: self.info.bits,
            number: self.number,
        }))
    }

    fn read(self: Box<Self>, rows: &mut GrayRows<'_>) -> Result<(), Failure> {
        let whole = Rect::sized(self.info.width, self.info.height);
        self.into_windows()?.read(whole, rows)
    }
}

/// A file that stays open.
struct Rows {
    file: Shared,
    raw: Raw,
    bits: u32,
    number: Number,
}

impl Windows for Rows {
    fn read(&self, window: Rect, rows: &mut GrayRows<'_>) -> Result<(), Failure> {
        let sample = u64::from(self.bits / 8);
        let count = usize::try_from(window.width()).map_err(Failure::damaged)?;
        let mut bytes = vec![0; usize::try_from(window.width() * sample).map_err(Failure::damaged)?];
        let (mut whole, mut numbers) = (Vec::new(), Vec::new());
        let pixels = pixels(self.bits, self.number);
        for y in window.y().cast_unsigned()..window.bottom().cast_unsigned() {
            let first = y * self.raw.width + window.x().cast_unsigned();
            self.file
                .read_exact_at(&mut bytes, self.raw.offset + first * sample)
                .map_err(|error| Failure::from(error).at_row(y))?;
            if !self.raw.big_endian && sample > 1 {
                bytes.chunks_exact_mut(sample as usize).for_each(<[u8]>::reverse);
            }
            let row = if self.number == Number::Whole {
                whole.clear();
                unpack(&bytes, self.bits, count, &mut whole);
                Row::Whole(&whole)
            } else {
                numbers.clear();
                self.number.read(&bytes, self.bits, count, &mut numbers);
                Row::Numbers(&numbers)
            };
            if rows.take(y, pixels, row).is_break() {
                break;
            }
        }
        Ok(())
    }
}
