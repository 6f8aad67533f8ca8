//! How the chunks of a TIFF are compressed.

use std::fmt;
use std::io;
use std::str::FromStr;

use weezl::BitOrder;

use super::group4;

/// How the tiles or strips of a TIFF are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// Deflate at level 6; samples of 8 and 16 bits as differences from the one before.
    Deflate,
    /// PackBits: runs of bytes.
    PackBits,
    /// LZW; samples of 8 and 16 bits as differences from the one before.
    Lzw,
    /// CCITT Group 4, for rasters of one bit.
    Group4,
}

impl Compression {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::None, Self::Deflate, Self::PackBits, Self::Lzw, Self::Group4];

    /// The name: `none`, `deflate`, `packbits`, `lzw` or `g4`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Deflate => "deflate",
            Self::PackBits => "packbits",
            Self::Lzw => "lzw",
            Self::Group4 => "g4",
        }
    }

    /// The value of the tag Compression.
    pub(super) const fn tag(self) -> u64 {
        match self {
            Self::None => 1,
            Self::Group4 => 4,
            Self::Lzw => 5,
            Self::Deflate => 8,
            Self::PackBits => 32_773,
        }
    }

    /// Whether samples of so many bits are stored as differences (Predictor 2).
    pub(super) const fn predicts(self, bits: u64) -> bool {
        matches!(self, Self::Deflate | Self::Lzw) && bits >= 8
    }

    /// The most bytes that so many bytes become, in rows of `row` bytes.
    pub(super) const fn most(self, bytes: u64, row: u64) -> u64 {
        match self {
            Self::None => bytes,
            // Stored blocks of 2^16 − 1 bytes with 5 bytes each, and the frame.
            Self::Deflate => bytes.saturating_add(bytes / 1_024).saturating_add(64),
            // A byte for every 128 of a row.
            Self::PackBits => bytes.saturating_add((row / 128 + 1).saturating_mul(bytes / row + 1)),
            // Codes of 12 bits for a byte each, and those that clear the table.
            Self::Lzw => bytes
                .saturating_add(bytes / 2)
                .saturating_add(bytes / 512)
                .saturating_add(64),
            // Runs of one pixel: a code of 3 bits and two of 3 and 6 bits for two pixels.
            Self::Group4 => bytes.saturating_mul(6).saturating_add(64),
        }
    }

    /// The fewest bytes that so many bytes can become, in rows of so many samples, whatever the samples are: what a disk without so much
    /// room cannot hold by any luck.
    #[must_use]
    pub const fn least(self, bytes: u128, columns: u64) -> u128 {
        let ratio = match self {
            Self::None => 1,
            // RFC 1951: 258 bytes by a length and a distance, a bit each.
            Self::Deflate => 1_032,
            // A count and a byte for 128.
            Self::PackBits => 64,
            // The n-th code after the table was cleared stands for n bytes at most. There are 3 837 before it is cleared again, of 9 to 12
            // bits: 5 406 bytes for 7 363 203.
            Self::Lzw => 1_363,
            // A bit for a row that is the one above.
            Self::Group4 => columns as u128 + 1,
        };
        bytes / ratio
    }

    /// What one thread holds while it compresses, beside input and output.
    pub(super) const fn working(self) -> u64 {
        match self {
            Self::None | Self::PackBits => 0,
            Self::Deflate => 512 * 1_024,
            Self::Lzw | Self::Group4 => 64 * 1_024,
        }
    }

    /// Appends `bytes`, rows of `columns` samples of so many bits, to `out`; `bytes` are turned into differences in
    /// place where the compression takes those.
    pub(super) fn encode(
        self,
        bytes: &mut [u8],
        columns: u64,
        bits: u64,
        out: &mut Vec<u8>,
        compressor: &mut Compressor,
    ) -> io::Result<()> {
        let row = (columns * bits).div_ceil(8).max(1) as usize;
        if self.predicts(bits) {
            bytes
                .chunks_exact_mut(row)
                .for_each(|row| differences(row, bits == 16));
        }
        match self {
            Self::None => {
                out.extend_from_slice(bytes);
                Ok(())
            }
            Self::Deflate => compressor.zlib(bytes, out),
            Self::PackBits => {
                bytes.chunks_exact(row).for_each(|row| pack_bits(row, out));
                Ok(())
            }
            Self::Lzw => compressor.lzw(bytes, out),
            Self::Group4 => {
                group4::encode(bytes, columns, out);
                Ok(())
            }
        }
    }
}

/// What a thread compresses with, tile after tile. What it takes of memory is taken once and set to its start again.
#[derive(Default)]
pub(super) struct Compressor {
    zlib: Option<flate2::Compress>,
    raw: Option<flate2::Compress>,
    lzw: Option<weezl::encode::Encoder>,
}

/// The level of Deflate.
pub(super) const LEVEL: u32 = 6;

impl Compressor {
    /// Appends a stream of zlib: RFC 1950.
    fn zlib(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let new = || flate2::Compress::new(flate2::Compression::new(LEVEL), true);
        deflate(self.zlib.get_or_insert_with(new), bytes, out)
    }

    /// Appends a member of gzip: RFC 1952. It has no time and no system, so that equal bytes become equal ones.
    pub(super) fn gzip(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
        let new = || flate2::Compress::new(flate2::Compression::new(LEVEL), false);
        out.extend_from_slice(&HEADER);
        deflate(self.raw.get_or_insert_with(new), bytes, out)?;
        let mut check = flate2::Crc::new();
        check.update(bytes);
        out.extend_from_slice(&check.sum().to_le_bytes());
        // The length modulo 2^32, as the format has it.
        out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        Ok(())
    }

    /// Appends codes of LZW: TIFF 6.0, §13.
    fn lzw(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let new = || weezl::encode::Encoder::with_tiff_size_switch(BitOrder::Msb, 8);
        let encoder = self.lzw.get_or_insert_with(new);
        encoder.reset();
        let encoded = encoder.into_vec(out).encode_all(bytes);
        encoded.status.map(|_| ()).map_err(io::Error::other)
    }
}

impl fmt::Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compressor").finish_non_exhaustive()
    }
}

/// Appends all bytes as one stream.
fn deflate(compress: &mut flate2::Compress, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    /// The encoder chooses matches anew where the room for its output ends, so that the room is the same for every tile.
    const PIECE: usize = 32 * 1024;
    let mut piece = [0; PIECE];
    compress.reset();
    loop {
        // No more than all of them, and than a piece.
        let (taken, given) = (compress.total_in() as usize, compress.total_out());
        let status = compress.compress(&bytes[taken..], &mut piece, flate2::FlushCompress::Finish);
        let status = status.map_err(io::Error::other)?;
        out.extend_from_slice(&piece[..(compress.total_out() - given) as usize]);
        if status == flate2::Status::StreamEnd {
            return Ok(());
        }
    }
}

/// Every sample of a row less the one before it: TIFF 6.0, §14. Samples of 16 bits are little-endian.
fn differences(row: &mut [u8], wide: bool) {
    if wide {
        let mut before = 0_u16;
        for sample in row.chunks_exact_mut(2) {
            let here = u16::from_le_bytes([sample[0], sample[1]]);
            sample.copy_from_slice(&here.wrapping_sub(before).to_le_bytes());
            before = here;
        }
    } else {
        let mut before = 0_u8;
        for sample in row {
            let here = *sample;
            *sample = here.wrapping_sub(before);
            before = here;
        }
    }
}

/// Runs of equal bytes as a count and the byte, others as a count and the bytes: TIFF 6.0, §9.
fn pack_bits(row: &[u8], out: &mut Vec<u8>) {
    const MOST: usize = 128;
    let run = |from: usize| {
        let end = row.len().min(from + MOST);
        row[from..end]
            .iter()
            .take_while(|&&byte| byte == row[from])
            .count()
    };
    let mut at = 0;
    while at < row.len() {
        let equal = run(at);
        // Two equal bytes between others are shorter as they are.
        if equal >= 3 || (equal == 2 && at + 2 == row.len()) {
            // −(n − 1) as a signed byte.
            out.push((257 - equal) as u8);
            out.push(row[at]);
            at += equal;
            continue;
        }
        let start = at;
        while at < row.len() && at - start < MOST && run(at) < 3 {
            at += 1;
        }
        out.push((at - start - 1) as u8);
        out.extend_from_slice(&row[start..at]);
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that names no compression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no compression; there are none, deflate, packbits, lzw and g4")]
pub struct UnknownCompression(pub String);

impl FromStr for Compression {
    type Err = UnknownCompression;

    fn from_str(text: &str) -> Result<Self, UnknownCompression> {
        Self::ALL
            .into_iter()
            .find(|compression| compression.name() == text)
            .ok_or_else(|| UnknownCompression(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Rows of 250 samples of a grain: the mean of two layers of craters, each the distance to the nearest of points that are scattered, one in each square.
    fn craters(seed: u32, length: usize) -> Vec<u8> {
        let layer = |size: usize, at: usize| {
            let point = |column: usize, row: usize| {
                let hash = (seed + size as u32)
                    ^ (column as u32).wrapping_mul(0x9E37_79B9)
                    ^ (row as u32).wrapping_mul(0x85EB_CA6B);
                let hash = (hash ^ (hash >> 16)).wrapping_mul(0xC2B2_AE35);
                let hash = (hash ^ (hash >> 15)).wrapping_mul(0x27D4_EB2F);
                (
                    column * size + (hash >> 20) as usize % size,
                    row * size + (hash >> 8) as usize % size,
                )
            };
            let (x, y) = (at % 250 + size, at / 250 + size);
            let near = (0..9).map(|n| point(x / size + n % 3 - 1, y / size + n / 3 - 1));
            let squared = near.map(|(column, row)| column.abs_diff(x).pow(2) + row.abs_diff(y).pow(2));
            (squared.min().unwrap_or(0) * 255 * 255).isqrt() / size
        };
        (0..length)
            .map(|at| ((layer(35, at) + layer(20, at)).div_ceil(2)).min(255) as u8)
            .collect()
    }

    /// Files do not depend on how large a list was to which a tile is appended, and so not on which thread took which tile.
    #[test]
    fn the_room_for_a_tile_changes_no_byte() {
        let compressed = |bytes: &[u8], room: usize| {
            let mut out = Vec::with_capacity(room);
            let mut compressor = Compressor::default();
            compressor.gzip(bytes, &mut out).unwrap();
            compressor.zlib(bytes, &mut out).unwrap();
            out
        };
        for seed in 0..30 {
            let bytes = craters(seed, 62_500);
            let wide = compressed(&bytes, 1 << 20);
            for room in [0, 7_000, 19_268, 40_000] {
                assert!(compressed(&bytes, room) == wide, "{seed}, {room}");
            }
        }
    }

    /// What is compressed by the same memory again and again is what the encoders of the crates make anew.
    #[test]
    fn memory_that_is_used_again_changes_no_byte() {
        let mut compressor = Compressor::default();
        let mut state = 1_u32;
        for length in [0, 1, 7, 1_000, 40_000, 300_000, 65_535, 3] {
            // Runs and noise by turns.
            let bytes: Vec<u8> = (0..length)
                .map(|at| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    if at / 999 % 2 == 0 { 7 } else { (state >> 24) as u8 }
                })
                .collect();
            let mut out = b"before".to_vec();
            compressor.zlib(&bytes, &mut out).unwrap();
            let mut encoder =
                flate2::write::ZlibEncoder::new(b"before".to_vec(), flate2::Compression::new(LEVEL));
            encoder.write_all(&bytes).unwrap();
            assert!(out == encoder.finish().unwrap(), "zlib, {length}");

            let mut out = b"before".to_vec();
            compressor.gzip(&bytes, &mut out).unwrap();
            let mut encoder =
                flate2::write::GzEncoder::new(b"before".to_vec(), flate2::Compression::new(LEVEL));
            encoder.write_all(&bytes).unwrap();
            assert!(out == encoder.finish().unwrap(), "gzip, {length}");

            let mut out = Vec::new();
            compressor.lzw(&bytes, &mut out).unwrap();
            let new = weezl::encode::Encoder::with_tiff_size_switch(BitOrder::Msb, 8).encode(&bytes);
            assert!(out == new.unwrap(), "lzw, {length}");
        }
    }
}
