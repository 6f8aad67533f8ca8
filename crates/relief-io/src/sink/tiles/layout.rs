//! Where everything lies in a TIFF in tiles or strips: directory, texts, offsets of tiles, lengths of tiles, tiles.
//!
//! Offsets and lengths stand before the tiles, at places that follow from the size of the raster alone. So a tile is
//! noted where it belongs as soon as it is stored, in no memory, and a file that is left unfinished says itself which of its
//! tiles are there: those whose length is not 0.
//!
//! A file in tiles is a BigTIFF; one in strips has offsets of 32 bits where it cannot become longer than those can say.
//!
//! Format: TIFF 6.0, §2 and §15 (Adobe, 1992), and <https://www.awaresystems.be/imaging/tiff/bigtiff.html>.

use std::ops::Range;

use relief_engine::sink::Raster;

use crate::sink::SinkError;
use crate::sink::compression::Compression;
use crate::sink::tiff::resolution;

/// Sides of tiles are multiples of it: TIFF 6.0, §15.
pub(in crate::sink) const STEP: u64 = 16;

/// The most bytes of a tile before it is compressed: readers count them with 31 bits.
const MAX_TILE_BYTES: u64 = i32::MAX as u64;

/// Tiles that nobody has chosen have this side, where there are not too many of them.
const DEFAULT_SIDE: u64 = 512;

/// Tiles that nobody has chosen are at most so wide and high.
pub(super) const MAX_DEFAULT_SIDE: u64 = 4_096;

/// More tiles than this are avoided: readers hold offsets and lengths of all of them.
const MANY_TILES: u128 = 1 << 20;

/// A strip has about so many bytes before it is compressed.
const STRIP_BYTES: u64 = 256 * 1_024;

/// Rasters whose rows have more bytes are cut in tiles where nobody has chosen.
const MAX_STRIP_ROW: u64 = 1 << 20;

/// More strips than this are avoided.
const MANY_STRIPS: u64 = 1 << 16;

/// The bytes of an offset and of a length of a tile in a BigTIFF.
pub(super) const OFFSET: u64 = 8;
pub(super) const LENGTH: u64 = 4;

/// A tiled file of a raster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::sink) struct Layout {
    pub(in crate::sink) raster: Raster,
    /// Columns and rows of a tile, or of a strip: that of all columns.
    pub(in crate::sink) tile: (u64, u64),
    /// Whether these are strips: of all columns, and not filled beyond the raster.
    pub(super) strips: bool,
    /// Whether offsets have 64 bits.
    big: bool,
    pub(in crate::sink) compression: Compression,
    pub(in crate::sink) bits: u64,
    /// Tiles of the grid.
    pub(in crate::sink) tiles: u64,
    /// The text of the tag ImageDescription.
    description: String,
    /// Whether it is a level of the raster of another directory.
    reduced: bool,
}

/// The columns and rows of a strip, where the rows of a raster are short enough for strips.
pub(super) fn strip(raster: &Raster, bits: u64) -> Option<(u64, u64)> {
    let row = (raster.width * bits).div_ceil(8).max(1);
    let rows = (STRIP_BYTES / row)
        .max(raster.height.div_ceil(MANY_STRIPS))
        .max(1);
    (row <= MAX_STRIP_ROW && raster.width <= u64::from(u32::MAX) && raster.height <= u64::from(u32::MAX))
        .then(|| (raster.width, rows.min(raster.height)))
}

/// The columns and rows of tiles that nobody has chosen.
pub(in crate::sink) fn default_tile(raster: &Raster) -> (u64, u64) {
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

/// The bits of a pixel.
pub(super) fn bits(raster: &Raster, one_bit: bool) -> u64 {
    if one_bit {
        1
    } else {
        u64::from(raster.depth.bits())
    }
}

/// A tile that is no larger than the raster makes it.
pub(super) fn clamped(raster: &Raster, tile: (u64, u64)) -> (u64, u64) {
    let side = |side: u64, all: u64| side.min(all.max(1).next_multiple_of(STEP));
    (side(tile.0, raster.width), side(tile.1, raster.height))
}

impl Layout {
    /// The file of a raster in tiles of this size, or in strips.
    ///
    /// # Errors
    /// Where there can be no such tiles, or the file would be longer than a file can be.
    pub(super) fn new(
        raster: &Raster,
        (tile, strips): ((u64, u64), bool),
        (compression, one_bit): (Compression, bool),
        description: String,
    ) -> Result<Self, SinkError> {
        let (width, height) = tile;
        let bits = bits(raster, one_bit);
        let refused = |problem: String| {
            Err(SinkError::TileShape {
                width,
                height,
                problem,
            })
        };
        let off = |side: u64| side == 0 || side % STEP != 0;
        if !strips && (off(width) || off(height)) {
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
        let tile_bytes = (u128::from(width) * u128::from(bits)).div_ceil(8) * u128::from(height);
        if tile_bytes > u128::from(MAX_TILE_BYTES) {
            return refused(format!(
                "it has {tile_bytes} bytes, and readers take at most {MAX_TILE_BYTES}; choose a smaller one"
            ));
        }
        if compression == Compression::Group4 && !one_bit {
            return Err(SinkError::OneBitOnly { compression });
        }
        let tiles = u128::from(raster.width.div_ceil(width)) * u128::from(raster.height.div_ceil(height));
        let mut layout = Self {
            raster: *raster,
            tile,
            strips,
            big: true,
            compression,
            bits,
            tiles: u64::try_from(tiles).unwrap_or(u64::MAX),
            description,
            reduced: false,
        };
        // Compressed tiles may be longer; the directory has less than a page.
        let most = tiles * (u128::from(OFFSET + LENGTH) + u128::from(layout.most_stored())) + 4_096;
        if most > i64::MAX as u128 {
            return refused(format!(
                "the raster has {tiles} of them, more than a file can hold; choose larger ones or a part of the raster"
            ));
        }
        layout.big = !strips || most > u128::from(u32::MAX);
        Ok(layout)
    }

    /// The layout of a level of this raster, in tiles of the same size.
    pub(in crate::sink) fn level(&self, raster: &Raster) -> Self {
        let tiles = raster.width.div_ceil(self.tile.0) * raster.height.div_ceil(self.tile.1);
        Self {
            raster: *raster,
            tiles,
            reduced: true,
            ..self.clone()
        }
    }

    /// Bytes of one row of a tile.
    pub(in crate::sink) const fn row_bytes(&self) -> u64 {
        (self.tile.0 * self.bits).div_ceil(8)
    }

    /// Bytes of a tile before it is compressed; the last strip may have fewer.
    pub(in crate::sink) const fn tile_bytes(&self) -> u64 {
        self.row_bytes() * self.tile.1
    }

    /// Bytes of all tiles before they are compressed.
    pub(in crate::sink) const fn all_bytes(&self) -> u64 {
        if self.strips {
            self.row_bytes() * self.raster.height
        } else {
            self.tiles * self.tile_bytes()
        }
    }

    /// The most bytes of a tile as it is stored.
    pub(in crate::sink) const fn most_stored(&self) -> u64 {
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
            Entry::of(tag, kind, value)
        };
        let short = |tag, value| Entry::of(tag, Kind::Short, value);
        let text = |tag, text: &str| Entry {
            tag,
            kind: Kind::Ascii,
            count: text.len() as u64 + 1,
            value: Value::Bytes([text.as_bytes(), b"\0"].concat()),
        };
        let ((x, y), unit) = resolution(self.raster.pixel);
        let rational = |tag| Entry::of(tag, Kind::Rational, u64::from(x) | u64::from(y) << 32);
        let list = |tag, kind, value| Entry {
            tag,
            kind,
            count: self.tiles,
            value,
        };
        let offsets = |tag| {
            list(
                tag,
                if self.big { Kind::Long8 } else { Kind::Long },
                Value::Offsets,
            )
        };
        let lengths = |tag| list(tag, Kind::Long, Value::Lengths);
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
            short(339, 1),                      // SampleFormat: unsigned
        ];
        if self.reduced {
            entries.push(long(254, 1)); // NewSubfileType: of reduced resolution
        }
        if self.compression.predicts(self.bits) {
            entries.push(short(317, 2)); // Predictor: differences along rows
        }
        if self.strips {
            // StripOffsets, RowsPerStrip, StripByteCounts
            entries.extend([offsets(273), long(278, self.tile.1), lengths(279)]);
        } else {
            // TileWidth, TileLength, TileOffsets, TileByteCounts
            entries.extend([
                long(322, self.tile.0),
                long(323, self.tile.1),
                offsets(324),
                lengths(325),
            ]);
        }
        entries.sort_unstable_by_key(|entry| entry.tag);
        entries
    }

    /// What stands before offsets and lengths, and where those and the tiles lie.
    pub(in crate::sink) fn head(&self) -> Head {
        Head::of(std::slice::from_ref(self))
    }
}

/// What stands before the tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::sink) struct Head {
    /// The directories and their texts; where offsets or lengths of few tiles lie in them, they are 0.
    pub(in crate::sink) bytes: Vec<u8>,
    /// The bytes of an offset.
    pub(in crate::sink) offset_bytes: u64,
    /// The lists of every directory.
    pub(in crate::sink) lists: Vec<Lists>,
    /// The first tile.
    pub(in crate::sink) tiles: u64,
}

/// Where offsets and lengths of the tiles of a directory lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::sink) struct Lists {
    /// The numbers of its tiles among those of all directories.
    pub(in crate::sink) tiles: Range<u64>,
    pub(in crate::sink) offsets: Range<u64>,
    /// The lengths of the tiles as they are stored.
    pub(in crate::sink) lengths: Range<u64>,
}

impl Head {
    /// The head of a file of a raster and its levels: all directories, then all lists.
    pub(in crate::sink) fn of(levels: &[Layout]) -> Self {
        let big = levels.iter().any(|layout| layout.big);
        // The directory begins behind the header: its number of entries, them, and the next directory.
        let (header, count_bytes, entry_bytes, value_bytes) =
            if big { (16, 8, 20, 8) } else { (8, 2, 12, 4) };
        let is_apart = |bytes: &[u8]| bytes.len() as u64 > value_bytes;
        let mut head = Vec::new();
        if big {
            head.extend_from_slice(b"II\x2B\0\x08\0\0\0\x10\0\0\0\0\0\0\0");
        } else {
            head.extend_from_slice(b"II\x2A\0\x08\0\0\0");
        }
        let all: Vec<Vec<Entry>> = levels.iter().map(Layout::entries).collect();
        let values = |entries: &[Entry], start: u64| {
            (start + count_bytes + entry_bytes * entries.len() as u64 + value_bytes).next_multiple_of(8)
        };
        let apart = |entries: &[Entry]| -> u64 {
            let texts = entries.iter().map(|entry| match &entry.value {
                Value::Bytes(bytes) if is_apart(bytes) => (bytes.len() as u64).next_multiple_of(8),
                _ => 0,
            });
            texts.sum()
        };
        let mut end = header;
        for entries in &all {
            end = values(entries, end) + apart(entries);
        }
        let (mut lists_end, mut lists, mut first) = (end, Vec::new(), 0);
        for (number, (layout, entries)) in levels.iter().zip(&all).enumerate() {
            let start = head.len() as u64;
            let values = values(entries, start);
            let next = if number + 1 < levels.len() {
                values + apart(entries)
            } else {
                0
            };
            head.extend_from_slice(&(entries.len() as u64).to_le_bytes()[..count_bytes as usize]);
            let mut texts = Vec::new();
            let (mut offsets, mut lengths) = (0..0, 0..0);
            for entry in entries {
                head.extend_from_slice(&entry.tag.to_le_bytes());
                head.extend_from_slice(&(entry.kind as u16).to_le_bytes());
                head.extend_from_slice(&entry.count.to_le_bytes()[..value_bytes as usize]);
                let here = head.len() as u64;
                // A list that fits in an entry stands there, and is 0 in the head.
                let mut list = |bytes: u64| {
                    if bytes <= value_bytes {
                        return (here..here + bytes, 0);
                    }
                    let at = lists_end;
                    lists_end += bytes.next_multiple_of(8);
                    (at..at + bytes, at)
                };
                let value = match &entry.value {
                    Value::Bytes(bytes) if is_apart(bytes) => {
                        let at = values + texts.len() as u64;
                        texts.extend_from_slice(bytes);
                        texts.resize(texts.len().next_multiple_of(8), 0);
                        at
                    }
                    Value::Bytes(bytes) => {
                        let mut value = [0; 8];
                        value[..bytes.len()].copy_from_slice(bytes);
                        u64::from_le_bytes(value)
                    }
                    Value::Offsets => {
                        let value;
                        (offsets, value) = list(layout.tiles * entry.kind.bytes());
                        value
                    }
                    Value::Lengths => {
                        let value;
                        (lengths, value) = list(layout.tiles * entry.kind.bytes());
                        value
                    }
                };
                head.extend_from_slice(&value.to_le_bytes()[..value_bytes as usize]);
            }
            head.extend_from_slice(&next.to_le_bytes()[..value_bytes as usize]);
            // Up to the values.
            head.resize(values as usize, 0);
            head.extend_from_slice(&texts);
            lists.push(Lists {
                tiles: first..first + layout.tiles,
                offsets,
                lengths,
            });
            first += layout.tiles;
        }
        Self {
            bytes: head,
            tiles: lists_end.next_multiple_of(STEP),
            offset_bytes: value_bytes,
            lists,
        }
    }

    /// Whether a file begins with this head, whatever its offsets and lengths are.
    pub(in crate::sink) fn begins(&self, found: &[u8]) -> bool {
        let mut found = found.to_vec();
        for lists in &self.lists {
            for list in [&lists.offsets, &lists.lengths] {
                if let Some(list) = found.get_mut(list.start as usize..list.end as usize) {
                    list.fill(0);
                }
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

impl Entry {
    /// One of a single number.
    fn of(tag: u16, kind: Kind, value: u64) -> Self {
        Self {
            tag,
            kind,
            count: 1,
            value: Value::Bytes(value.to_le_bytes()[..kind.bytes() as usize].to_vec()),
        }
    }
}

enum Value {
    /// The values themselves.
    Bytes(Vec<u8>),
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

impl Kind {
    /// The bytes of one value.
    const fn bytes(self) -> u64 {
        match self {
            Self::Ascii => 1,
            Self::Short => 2,
            Self::Long => 4,
            Self::Rational | Self::Long8 => 8,
        }
    }
}
