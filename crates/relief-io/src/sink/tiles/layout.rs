//! Where everything lies in a tiled BigTIFF: directory, texts, offsets of tiles, lengths of tiles, tiles.
//!
//! Offsets and lengths stand before the tiles, at places that follow from the size of the raster alone. So a tile is
//! noted where it belongs as soon as it is stored, in no memory, and a file that is left unfinished says itself which of its
//! tiles are there: those whose length is not 0.
//!
//! Format: <https://www.awaresystems.be/imaging/tiff/bigtiff.html>, and TIFF 6.0, §15 (Adobe, 1992).

use std::ops::Range;

use relief_engine::sink::Raster;

use crate::sink::SinkError;
use crate::sink::compression::Compression;
use crate::sink::tiff::resolution;

/// Sides of tiles are multiples of it: TIFF 6.0, §15.
pub(super) const STEP: u64 = 16;

/// The most bytes of a tile before it is compressed: readers count them with 31 bits.
const MAX_TILE_BYTES: u64 = i32::MAX as u64;

/// Tiles that nobody has chosen have this side, where there are not too many of them.
const DEFAULT_SIDE: u64 = 512;

/// Tiles that nobody has chosen are at most so wide and high.
pub(super) const MAX_DEFAULT_SIDE: u64 = 4_096;

/// More tiles than this are avoided: readers hold offsets and lengths of all of them.
const MANY_TILES: u128 = 1 << 20;

/// Header, and the number of entries.
const BEFORE_ENTRIES: u64 = 16 + 8;

/// One entry of the directory; its value lies at its end.
const ENTRY: u64 = 20;
const VALUE: u64 = 12;

/// The bytes of an offset and of a length of a tile.
pub(super) const OFFSET: u64 = 8;
pub(super) const LENGTH: u64 = 4;

/// A tiled file of a raster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) raster: Raster,
    /// Columns and rows of a tile.
    pub(super) tile: (u64, u64),
    pub(super) compression: Compression,
    pub(super) bits: u64,
    /// Tiles of the grid.
    pub(super) tiles: u64,
    /// The text of the tag ImageDescription.
    description: String,
}

/// The columns and rows of tiles that nobody has chosen.
pub(super) fn default_tile(raster: &Raster) -> (u64, u64) {
    let mut side = DEFAULT_SIDE;
    loop {
        let tile = clamped(raster, (side, side));
        let tiles = u128::from(raster.width.div_ceil(tile.0)) * u128::from(raster.height.div_ceil(tile.1));
        if tiles <= MANY_TILES || side >= MAX_DEFAULT_SIDE {
            return tile;
        }
        side *= 2;
    }
}

/// A tile that is no larger than the raster makes it.
pub(super) fn clamped(raster: &Raster, tile: (u64, u64)) -> (u64, u64) {
    let side = |side: u64, all: u64| side.min(all.max(1).next_multiple_of(STEP));
    (side(tile.0, raster.width), side(tile.1, raster.height))
}

impl Layout {
    /// The file of a raster in tiles of this size.
    ///
    /// # Errors
    /// Where there can be no such tiles, or the file would be longer than a file can be.
    pub(super) fn new(
        raster: &Raster,
        tile: (u64, u64),
        (compression, one_bit): (Compression, bool),
        description: String,
    ) -> Result<Self, SinkError> {
        let (width, height) = tile;
        let bits = if one_bit {
            1
        } else {
            u64::from(raster.depth.bits())
        };
        let refused = |problem: String| {
            Err(SinkError::TileShape {
                width,
                height,
                problem,
            })
        };
        if width == 0 || height == 0 || width % STEP != 0 || height % STEP != 0 {
            let near = |side: u64| {
                side.max(1)
                    .checked_next_multiple_of(STEP)
                    .unwrap_or(MAX_DEFAULT_SIDE)
            };
            return refused(format!(
                "both sides must be multiples of {STEP}: {}x{} would do",
                near(width),
                near(height)
            ));
        }
        let tile_bytes = u128::from(width) * u128::from(height) * u128::from(bits) / 8;
        if tile_bytes > u128::from(MAX_TILE_BYTES) {
            return refused(format!(
                "it has {tile_bytes} bytes, and readers take at most {MAX_TILE_BYTES}; choose a smaller one"
            ));
        }
        if compression == Compression::Group4 && !one_bit {
            return Err(SinkError::OneBitOnly { compression });
        }
        let tiles = u128::from(raster.width.div_ceil(width)) * u128::from(raster.height.div_ceil(height));
        // Deflate and LZW may make tiles longer, by no more than half.
        let most = tiles * (u128::from(OFFSET + LENGTH) + tile_bytes * 2) + 4_096;
        match u64::try_from(tiles) {
            Ok(tiles) if most <= i64::MAX as u128 => Ok(Self {
                raster: *raster,
                tile,
                compression,
                bits,
                tiles,
                description,
            }),
            _ => refused(format!(
                "the raster has {tiles} of them, more than a file can hold; choose larger ones or a part of the raster"
            )),
        }
    }

    /// Bytes of one row of a tile.
    pub(super) const fn row_bytes(&self) -> u64 {
        self.tile.0 * self.bits / 8
    }

    /// Bytes of a tile before it is compressed.
    pub(super) const fn tile_bytes(&self) -> u64 {
        self.row_bytes() * self.tile.1
    }

    /// The most bytes of a tile as it is stored.
    pub(super) const fn most_stored(&self) -> u64 {
        self.compression.most(self.tile_bytes(), self.row_bytes())
    }

    fn entries(&self) -> Vec<Entry> {
        let long = |tag, value: u64| {
            // Sides beyond 32 bits are no TIFF that libtiff reads, but a number as good as any other to who does.
            let kind = if value > u64::from(u32::MAX) {
                Kind::Long8
            } else {
                Kind::Long
            };
            Entry {
                tag,
                kind,
                count: 1,
                value: Value::Here(value),
            }
        };
        let short = |tag, value| Entry {
            tag,
            kind: Kind::Short,
            count: 1,
            value: Value::Here(value),
        };
        let text = |tag, text: &str| Entry {
            tag,
            kind: Kind::Ascii,
            count: text.len() as u64 + 1,
            value: Value::Text(text.to_owned()),
        };
        let ((x, y), unit) = resolution(self.raster.pixel);
        let rational = |tag| Entry {
            tag,
            kind: Kind::Rational,
            count: 1,
            value: Value::Here(u64::from(x) | u64::from(y) << 32),
        };
        let mut entries = vec![
            long(256, self.raster.width),       // ImageWidth
            long(257, self.raster.height),      // ImageLength
            short(258, self.bits),              // BitsPerSample
            short(259, self.compression.tag()), // Compression
            short(262, 1),                      // PhotometricInterpretation: black is zero
            text(270, &self.description),       // ImageDescription
            short(277, 1),                      // SamplesPerPixel
            rational(282),                      // XResolution
            rational(283),                      // YResolution
            short(296, unit),                   // ResolutionUnit
            text(305, "Relief"),                // Software
        ];
        if self.compression.predicts(self.bits) {
            entries.push(short(317, 2)); // Predictor: differences along rows
        }
        entries.extend([
            long(322, self.tile.0), // TileWidth
            long(323, self.tile.1), // TileLength
            Entry {
                tag: 324, // TileOffsets
                kind: Kind::Long8,
                count: self.tiles,
                value: Value::Offsets,
            },
            Entry {
                tag: 325, // TileByteCounts
                kind: Kind::Long,
                count: self.tiles,
                value: Value::Lengths,
            },
            short(339, 1), // SampleFormat: unsigned
        ]);
        entries
    }

    /// What stands before offsets and lengths, and where those and the tiles lie.
    pub(super) fn head(&self) -> Head {
        let entries = self.entries();
        let directory = BEFORE_ENTRIES + ENTRY * entries.len() as u64 + 8;
        let mut texts = Vec::new();
        let mut head = Vec::new();
        head.extend_from_slice(b"II\x2B\0\x08\0\0\0\x10\0\0\0\0\0\0\0");
        head.extend_from_slice(&(entries.len() as u64).to_le_bytes());
        let text_bytes: u64 = entries
            .iter()
            .filter(|entry| matches!(entry.value, Value::Text(_)) && entry.count > 8)
            .map(|entry| entry.count.next_multiple_of(8))
            .sum();
        let mut lists = directory.next_multiple_of(8) + text_bytes;
        let (mut offsets, mut lengths) = (0..0, 0..0);
        for (number, entry) in entries.iter().enumerate() {
            let here = BEFORE_ENTRIES + ENTRY * number as u64 + VALUE;
            // A list that fits in 8 bytes stands in its entry.
            let mut list = |bytes: u64| {
                if bytes <= 8 {
                    return here..here + bytes;
                }
                let at = lists;
                lists += bytes.next_multiple_of(8);
                at..at + bytes
            };
            let value = match &entry.value {
                Value::Here(value) => *value,
                Value::Text(text) if text.len() < 8 => {
                    let mut value = [0; 8];
                    value[..text.len()].copy_from_slice(text.as_bytes());
                    u64::from_le_bytes(value)
                }
                Value::Text(text) => {
                    let at = directory.next_multiple_of(8) + texts.len() as u64;
                    texts.extend_from_slice(text.as_bytes());
                    texts.resize((texts.len() + 1).next_multiple_of(8), 0);
                    at
                }
                Value::Offsets => {
                    offsets = list(self.tiles * OFFSET);
                    if offsets.start == here { 0 } else { offsets.start }
                }
                Value::Lengths => {
                    lengths = list(self.tiles * LENGTH);
                    if lengths.start == here { 0 } else { lengths.start }
                }
            };
            head.extend_from_slice(&entry.tag.to_le_bytes());
            head.extend_from_slice(&(entry.kind as u16).to_le_bytes());
            head.extend_from_slice(&entry.count.to_le_bytes());
            head.extend_from_slice(&value.to_le_bytes());
        }
        head.extend_from_slice(&[0; 8]); // no other directory
        head.resize(directory.next_multiple_of(8) as usize, 0);
        head.extend_from_slice(&texts);
        Head {
            bytes: head,
            tiles: lists.next_multiple_of(STEP),
            offsets,
            lengths,
        }
    }
}

/// What stands before the tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// The directory and its texts; where offsets or lengths of few tiles lie in it, they are 0.
    pub(super) bytes: Vec<u8>,
    /// The offsets of the tiles.
    pub(super) offsets: Range<u64>,
    /// The lengths of the tiles as they are stored.
    pub(super) lengths: Range<u64>,
    /// The first tile.
    pub(super) tiles: u64,
}

impl Head {
    /// Whether a file begins with this head, whatever its offsets and lengths are.
    pub(super) fn begins(&self, found: &[u8]) -> bool {
        let mut found = found.to_vec();
        for list in [&self.offsets, &self.lengths] {
            if let Some(list) = found.get_mut(list.start as usize..list.end as usize) {
                list.fill(0);
            }
        }
        found == self.bytes
    }
}

/// One entry of the directory.
struct Entry {
    tag: u16,
    kind: Kind,
    count: u64,
    value: Value,
}

enum Value {
    Here(u64),
    Text(String),
    Offsets,
    Lengths,
}

/// The types of values in a directory, by their number.
#[derive(Clone, Copy)]
enum Kind {
    Ascii = 2,
    Short = 3,
    Long = 4,
    Rational = 5,
    Long8 = 16,
}
