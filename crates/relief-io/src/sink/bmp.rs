//! BMP: gray of 8 bits, or of 1 bit, uncompressed, rows from the bottom up as every reader knows them.
//!
//! Rows come from the top, so that each is written at its place: a file it has to be, no pipe.
//!
//! Format: BITMAPFILEHEADER and BITMAPINFOHEADER, <https://learn.microsoft.com/windows/win32/gdi/bitmap-storage>.

use std::io::{self, Write};

use relief_engine::sink::{Raster, Samples};
use relief_raster::{Depth, Length};

use super::bit_rows::{BitRows, PART, cut};
use super::file::Encoding;
use super::format::Format;
use super::output::Output;
use super::{SinkError, format};

#[derive(Debug)]
pub(super) struct Bmp {
    one_bit: bool,
    state: Option<State>,
}

#[derive(Debug)]
struct State {
    raster: Raster,
    bits: Option<BitRows>,
    /// Where the bottom row begins.
    start: u64,
    /// Bytes of a row, a multiple of 4.
    row_bytes: u64,
    /// Where the row that is written goes on, in bytes.
    at: (u64, u64),
    /// The pixel that comes next, of 8 bits.
    next: (u64, u64),
}

impl Bmp {
    pub(super) const fn new(one_bit: bool) -> Self {
        Self { one_bit, state: None }
    }
}

/// The bytes of both headers.
const HEADERS: u64 = 14 + 40;

/// The bytes of a row, a multiple of 4.
fn row_bytes(raster: &Raster, one_bit: bool) -> u64 {
    let bits = if one_bit { 1 } else { 8 };
    (raster.width * bits).div_ceil(8).next_multiple_of(4)
}

/// Whether a BMP holds a raster.
pub(super) fn check(raster: &Raster, one_bit: bool) -> Result<(), SinkError> {
    if raster.depth == Depth::Sixteen && !one_bit {
        return Err(SinkError::Depth {
            format: Format::Bmp,
            depth: raster.depth,
            others: vec![Format::Png, Format::Tiff, Format::Zarr],
        });
    }
    let bytes = u128::from(row_bytes(raster, one_bit)) * u128::from(raster.height) + 2_048;
    if bytes > u128::from(u32::MAX) {
        return Err(SinkError::TooLong {
            format: Format::Bmp,
            bytes,
            limit: u64::from(u32::MAX),
            others: format::holding(raster, &[Format::Png, Format::Tiff, Format::Raw]),
        });
    }
    Ok(())
}

/// Pixels a metre; 0, which says nothing, for pixels too small or too large to say.
fn per_metre(pixel: Option<Length>) -> u32 {
    let rounded = pixel.map(|pixel| {
        let (above, below) = pixel.terms();
        (2 * u128::from(below) + u128::from(above)) / (2 * u128::from(above))
    });
    rounded
        .and_then(|number| i32::try_from(number).ok())
        .map_or(0, i32::cast_unsigned)
}

impl Encoding for Bmp {
    fn memory(&self, _: &Raster) -> u64 {
        PART as u64
    }

    fn bytes(&self, raster: &Raster) -> Option<u128> {
        let colours = if self.one_bit { 2 } else { 256 };
        let rows = u128::from(row_bytes(raster, self.one_bit)) * u128::from(raster.height);
        Some(rows + u128::from(HEADERS + colours * 4))
    }

    fn header(&mut self, raster: &Raster, output: &mut Output) -> io::Result<()> {
        check(raster, self.one_bit)?;
        if !output.has_places() {
            return Err(SinkError::NeedsFile { format: Format::Bmp }.into());
        }
        let (colours, bits): (u32, u16) = if self.one_bit { (2, 1) } else { (256, 8) };
        let row_bytes = row_bytes(raster, self.one_bit);
        let start = HEADERS + u64::from(colours) * 4;
        let long = |value: u64| {
            u32::try_from(value)
                .map_err(io::Error::other)
                .map(u32::to_le_bytes)
        };
        let per_metre = per_metre(raster.pixel).to_le_bytes();
        let mut head = b"BM".to_vec();
        head.extend(long(start + row_bytes * raster.height)?); // bfSize
        head.extend([0; 4]);
        head.extend(long(start)?); // bfOffBits
        head.extend(40_u32.to_le_bytes()); // biSize
        head.extend(long(raster.width)?);
        head.extend(long(raster.height)?); // from the bottom up
        head.extend(1_u16.to_le_bytes()); // biPlanes
        head.extend(bits.to_le_bytes());
        head.extend([0; 4]); // not compressed
        head.extend(long(row_bytes * raster.height)?); // biSizeImage
        head.extend(per_metre);
        head.extend(per_metre);
        head.extend(colours.to_le_bytes());
        head.extend([0; 4]);
        for colour in 0..colours {
            let gray = (colour * 255 / (colours - 1)) as u8;
            head.extend([gray, gray, gray, 0]);
        }
        output.write_all(&head)?;
        // The last row is written first: the file has its length from the start.
        output.reserve(start + row_bytes * raster.height)?;
        self.state = Some(State {
            raster: *raster,
            bits: self.one_bit.then(|| BitRows::new(raster)),
            start,
            row_bytes,
            at: (0, 0),
            next: (0, 0),
        });
        Ok(())
    }

    fn samples(&mut self, samples: Samples<'_>, output: &mut Output) -> io::Result<()> {
        let Some(state) = &mut self.state else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let (raster, start, row_bytes) = (state.raster, state.start, state.row_bytes);
        let at = &mut state.at;
        let mut put = |row: u64, bytes: &[u8]| {
            if at.0 != row {
                *at = (row, 0);
            }
            let place = start + (raster.height - 1 - row) * row_bytes + at.1;
            at.1 += bytes.len() as u64;
            output.write_at(bytes, place)
        };
        if let Some(bits) = &mut state.bits {
            return bits.push(samples, &mut Vec::with_capacity(PART), &mut put);
        }
        let mut from = 0;
        while from < samples.len() {
            let left = usize::try_from(raster.width - state.next.0).unwrap_or(usize::MAX);
            let end = samples.len().min(from.saturating_add(left));
            put(state.next.1, cut(samples, from, end).native_bytes())?;
            state.next.0 += (end - from) as u64;
            if state.next.0 == raster.width {
                state.next = (0, state.next.1 + 1);
            }
            from = end;
        }
        Ok(())
    }

    fn trailer(&mut self, _: &mut Output) -> io::Result<()> {
        Ok(())
    }
}
