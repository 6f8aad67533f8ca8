//! The first directory of a TIFF or BigTIFF: numbered tags with lists of values.
//!
//! Our own reader, because a file is read for its first picture alone: what follows it may be damaged or lead in a
//! circle. Formats: TIFF 6.0, pages 13 to 16; <https://www.awaresystems.be/imaging/tiff/bigtiff.html>.

use std::io::{Cursor, Read, Seek, SeekFrom};

use super::super::failure::Failure;
use super::super::pitch::{CENTIMETRE, INCH, Pitch, of_density};

/// Tags by their names in TIFF 6.0.
pub(super) mod tag {
    pub(crate) const IMAGE_WIDTH: u16 = 256;
    pub(crate) const IMAGE_LENGTH: u16 = 257;
    pub(crate) const BITS_PER_SAMPLE: u16 = 258;
    pub(crate) const COMPRESSION: u16 = 259;
    pub(crate) const PHOTOMETRIC: u16 = 262;
    pub(crate) const FILL_ORDER: u16 = 266;
    pub(crate) const STRIP_OFFSETS: u16 = 273;
    pub(crate) const ORIENTATION: u16 = 274;
    pub(crate) const SAMPLES_PER_PIXEL: u16 = 277;
    pub(crate) const ROWS_PER_STRIP: u16 = 278;
    pub(crate) const STRIP_BYTE_COUNTS: u16 = 279;
    pub(crate) const X_RESOLUTION: u16 = 282;
    pub(crate) const Y_RESOLUTION: u16 = 283;
    pub(crate) const PLANAR_CONFIGURATION: u16 = 284;
    pub(crate) const T4_OPTIONS: u16 = 292;
    pub(crate) const T6_OPTIONS: u16 = 293;
    pub(crate) const RESOLUTION_UNIT: u16 = 296;
    pub(crate) const PREDICTOR: u16 = 317;
    pub(crate) const COLOR_MAP: u16 = 320;
    pub(crate) const TILE_WIDTH: u16 = 322;
    pub(crate) const TILE_LENGTH: u16 = 323;
    pub(crate) const TILE_OFFSETS: u16 = 324;
    pub(crate) const TILE_BYTE_COUNTS: u16 = 325;
    pub(crate) const INK_SET: u16 = 332;
    pub(crate) const EXTRA_SAMPLES: u16 = 338;
    pub(crate) const SAMPLE_FORMAT: u16 = 339;
    pub(crate) const JPEG_TABLES: u16 = 347;
    pub(crate) const GDAL_NODATA: u16 = 42_113;
}

/// The most tags that are read; no writer has as many.
const MAX_TAGS: u64 = 65_535;

#[derive(Clone, Copy, Debug)]
struct Entry {
    tag: u16,
    /// The type of its values.
    kind: u16,
    count: u64,
    /// Where its values begin in the file.
    place: u64,
}

/// The first directory of a file, which is read from when a list is asked for.
pub(crate) struct Directory<R> {
    pub(super) input: R,
    /// The bytes of the file.
    pub(super) length: u64,
    pub(super) big_endian: bool,
    entries: Vec<Entry>,
}

impl<R: Read + Seek> Directory<R> {
    /// Reads the header and the first directory of a file of `length` bytes.
    pub(crate) fn open(input: R, length: u64) -> Result<Self, Failure> {
        let mut directory = Self {
            input,
            length,
            big_endian: false,
            entries: Vec::new(),
        };
        let [first, second, a, b] = directory.bytes_at(0)?;
        directory.big_endian = match [first, second] {
            [b'I', b'I'] => false,
            [b'M', b'M'] => true,
            _ => return Err(Failure::damaged("it does not begin as a TIFF does")),
        };
        let big = match directory.number(&[a, b]) {
            42 => false,
            43 => true,
            version => {
                return Err(Failure::unsupported(format!(
                    "its TIFF version is {version}; 42 and 43 are read"
                )));
            }
        };
        directory.read_entries(big)?;
        Ok(directory)
    }

    /// Whether numbers begin with their most significant byte.
    pub(crate) const fn is_big_endian(&self) -> bool {
        self.big_endian
    }

    fn read_entries(&mut self, big: bool) -> Result<(), Failure> {
        let start = if big {
            let [a, b, ..] = self.bytes_at::<4>(4)?;
            if self.number(&[a, b]) != 8 {
                return Err(Failure::damaged("its BigTIFF offsets are not of 8 bytes"));
            }
            let bytes = self.bytes_at::<8>(8)?;
            self.number(&bytes)
        } else {
            let bytes = self.bytes_at::<4>(4)?;
            self.number(&bytes)
        };
        let (count, mut place, step) = if big {
            let bytes = self.bytes_at::<8>(start)?;
            (self.number(&bytes), start.saturating_add(8), 20)
        } else {
            let bytes = self.bytes_at::<2>(start)?;
            (self.number(&bytes), start.saturating_add(2), 12)
        };
        if count == 0 || count > MAX_TAGS || place.saturating_add(count * step) > self.length {
            return Err(Failure::damaged(format!(
                "its directory of {count} tags at byte {start} does not fit its {} bytes",
                self.length
            )));
        }
        for _ in 0..count {
            let entry = if big {
                let bytes = self.bytes_at::<20>(place)?;
                self.entry(&bytes[..4], &bytes[4..12], &bytes[12..], place + 12)
            } else {
                let bytes = self.bytes_at::<12>(place)?;
                self.entry(&bytes[..4], &bytes[4..8], &bytes[8..], place + 8)
            };
            self.entries.push(entry);
            place += step;
        }
        Ok(())
    }

    fn entry(&self, start: &[u8], count: &[u8], value: &[u8], here: u64) -> Entry {
        let kind = self.number(&start[2..]) as u16;
        let count = self.number(count);
        let bytes = count.saturating_mul(size(kind).unwrap_or(1));
        Entry {
            tag: self.number(&start[..2]) as u16,
            kind,
            count,
            place: if bytes <= value.len() as u64 {
                here
            } else {
                self.number(value)
            },
        }
    }

    /// A whole number in the byte order of the file.
    pub(super) fn number(&self, bytes: &[u8]) -> u64 {
        let join = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        if self.big_endian {
            bytes.iter().fold(0, join)
        } else {
            bytes.iter().rev().fold(0, join)
        }
    }

    fn bytes_at<const N: usize>(&mut self, place: u64) -> Result<[u8; N], Failure> {
        let mut bytes = [0; N];
        self.input.seek(SeekFrom::Start(place))?;
        self.input.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn find(&self, tag: u16) -> Option<Entry> {
        self.entries.iter().find(|entry| entry.tag == tag).copied()
    }

    /// Where the values of a tag begin in the file, how many there are, and the bytes of each.
    pub(crate) fn place(&self, tag: u16) -> Option<(u64, u64, u64)> {
        let entry = self.find(tag)?;
        Some((entry.place, entry.count, size(entry.kind)?))
    }

    /// The whole numbers of a tag, at most `most` of them; none where the tag is missing.
    pub(super) fn list(&mut self, tag: u16, most: u64) -> Result<Option<Vec<u64>>, Failure> {
        let Some(entry) = self.find(tag) else {
            return Ok(None);
        };
        let size = match entry.kind {
            1 | 3 | 4 | 13 | 16 | 18 => size(entry.kind).unwrap_or(1),
            kind => {
                return Err(Failure::damaged(format!(
                    "its tag {tag} is of type {kind}, where whole numbers are expected"
                )));
            }
        };
        // Lists that are longer than they need be are common.
        let bytes = self.values(entry, entry.count.min(most) * size)?;
        Ok(Some(
            bytes
                .chunks_exact(size as usize)
                .map(|value| self.number(value))
                .collect(),
        ))
    }

    /// The first whole number of a tag.
    pub(crate) fn one(&mut self, tag: u16) -> Result<Option<u64>, Failure> {
        Ok(self.list(tag, 1)?.and_then(|list| list.first().copied()))
    }

    /// The bytes of a tag, at most `most` of them.
    pub(crate) fn bytes(&mut self, tag: u16, most: u64) -> Result<Option<Vec<u8>>, Failure> {
        let Some(entry) = self.find(tag) else {
            return Ok(None);
        };
        if size(entry.kind) != Some(1) || entry.count > most {
            return Err(Failure::damaged(format!(
                "its tag {tag} has {} values of type {}, where at most {most} bytes are expected",
                entry.count, entry.kind
            )));
        }
        self.values(entry, entry.count).map(Some)
    }

    /// The first fraction of a tag; nothing where it has none that can be read.
    fn fraction(&mut self, tag: u16) -> Option<(u64, u64)> {
        let entry = self
            .find(tag)
            .filter(|entry| entry.kind == 5 && entry.count > 0)?;
        let bytes = self.values(entry, 8).ok()?;
        let (above, below) = bytes.split_at(4);
        Some((self.number(above), self.number(below)))
    }

    /// The sides of a pixel, where it says them. What is wrong with them is none of what is read of a picture.
    pub(super) fn pitch(&mut self) -> Option<Pitch> {
        let length = match self.one(tag::RESOLUTION_UNIT).ok()? {
            None | Some(2) => INCH,
            Some(3) => CENTIMETRE,
            Some(_) => return None,
        };
        let (across, down) = (
            self.fraction(tag::X_RESOLUTION)?,
            self.fraction(tag::Y_RESOLUTION)?,
        );
        of_density(across, down, length)
    }

    fn values(&mut self, entry: Entry, bytes: u64) -> Result<Vec<u8>, Failure> {
        if entry.place.saturating_add(bytes) > self.length {
            return Err(Failure::damaged(format!(
                "the values of its tag {} lie beyond the end of the file",
                entry.tag
            )));
        }
        let mut values = vec![0; usize::try_from(bytes).map_err(Failure::damaged)?];
        self.input.seek(SeekFrom::Start(entry.place))?;
        self.input.read_exact(&mut values)?;
        Ok(values)
    }
}

/// The bytes of a value of this type.
const fn size(kind: u16) -> Option<u64> {
    match kind {
        1 | 2 | 6 | 7 => Some(1),
        3 | 8 => Some(2),
        4 | 9 | 11 | 13 => Some(4),
        5 | 10 | 12 | 16 | 17 | 18 => Some(8),
        _ => None,
    }
}

/// The orientation in a block of EXIF, which is a TIFF without a picture; 1 where it says none or is damaged.
pub(in super::super) fn exif_orientation(block: &[u8]) -> u16 {
    let block = block.strip_prefix(b"Exif\0\0").unwrap_or(block);
    Directory::open(Cursor::new(block), block.len() as u64)
        .and_then(|mut directory| directory.one(tag::ORIENTATION))
        .ok()
        .flatten()
        .and_then(|value| u16::try_from(value).ok())
        .unwrap_or(1)
}

/// The sides of a pixel in a block of EXIF; nothing where it says none or is damaged.
pub(in super::super) fn exif_pitch(block: &[u8]) -> Option<Pitch> {
    let block = block.strip_prefix(b"Exif\0\0").unwrap_or(block);
    Directory::open(Cursor::new(block), block.len() as u64)
        .ok()?
        .pitch()
}
