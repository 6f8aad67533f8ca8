//! Compares the samples of a file or a store on the disk with those that are computed again.
//!
//! Tiles are decoded by the code that reads pictures, not by that which wrote them; chunks of a store as Zarr's specification has it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use flate2::read::MultiGzDecoder;
use relief_engine::sink::{Raster, Samples};
use relief_engine::{Grid, Tile, TileSink};
use relief_raster::{Depth, Rect};
use serde_json::Value;

use super::{Inspection, Kind, MAX_TEXT};
use crate::sink::SinkError;
use crate::sink::compression::Compression;
use crate::sink::positioned::read_at;
use crate::sink::tiles::check;
use crate::sink::zarr::Encoder;
use crate::source::{StoredTiff, TiffDirectory, read_bounded};

/// Differences that are kept: those of the first tiles.
const KEPT: usize = 100;

/// The most bytes of a tile or shard that is read: as many as are written.
const MAX_BYTES: u128 = 1 << 31;

/// What decoding holds beside a tile and its coded bytes.
const DECODER: u64 = 1 << 20;

/// What differs in a tile.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// Samples that are others.
    #[non_exhaustive]
    Samples {
        /// The smallest rectangle of the raster that has all of them.
        rect: Rect,
        /// How many there are.
        count: u64,
        /// The column and row of the first of them, row by row.
        first: (i64, i64),
        /// The sample of the file there, on the scale of the raster.
        stored: u16,
        /// The sample that was computed.
        computed: u16,
    },
    /// A tile that cannot be read.
    #[non_exhaustive]
    Damaged {
        /// Its pixels.
        rect: Rect,
        /// What is wrong with it.
        problem: String,
    },
}

/// What a comparison has found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Compared {
    /// Samples that were compared.
    pub samples: u128,
    /// Samples that are others; those of damaged tiles are none of them.
    pub different: u128,
    /// Tiles that have such samples, or are damaged.
    pub tiles: u64,
    /// The differences of the first tiles, in the order of their numbers.
    pub differences: Vec<Difference>,
}

/// Takes the tiles of a raster that is computed again and compares them with those of a file or store.
///
/// Tiles that the file has not yet, and those outside of the rectangle asked for, are not computed.
#[derive(Debug)]
pub struct Comparison<'a> {
    found: &'a Inspection,
    stored: Stored,
    within: Option<Rect>,
    state: Mutex<State>,
    memory: Mutex<Vec<Memory>>,
}

#[derive(Debug, Default)]
struct State {
    compared: Compared,
    differences: BTreeMap<u128, Difference>,
}

/// How tiles are stored.
#[derive(Clone, Copy, Debug)]
enum Stored {
    Tiff {
        tiff: StoredTiff,
        /// The most bytes of a coded tile.
        most: u64,
        /// Whether the last tiles have only the rows of the raster.
        strips: bool,
    },
    Zarr {
        encoder: Encoder,
        big_endian: bool,
    },
}

/// Memory that is used again.
#[derive(Debug, Default)]
struct Memory {
    coded: Vec<u8>,
    /// The samples of a tile, of as many bits as they are stored with, big-endian.
    tile: Vec<u8>,
    chunk: Vec<u8>,
}

impl Inspection {
    /// Compares samples: all, or those in a rectangle of the raster.
    ///
    /// # Errors
    /// Where the samples are stored otherwise than Relief stores them.
    pub fn compare(&self, within: Option<Rect>) -> Result<Comparison<'_>, SinkError> {
        let stored = match &self.kind {
            Kind::Tiff { file, bytes, .. } => self.stored_tiff(file, *bytes),
            Kind::Zarr { .. } => self.stored_zarr(),
        };
        Ok(Comparison {
            found: self,
            stored: stored.map_err(|problem| self.not_compared(problem))?,
            within,
            state: Mutex::default(),
            memory: Mutex::default(),
        })
    }

    fn not_compared(&self, problem: String) -> SinkError {
        SinkError::NotCompared {
            path: self.path.clone(),
            problem,
        }
    }

    fn stored_tiff(&self, file: &File, bytes: u64) -> Result<Stored, String> {
        let mut directory = TiffDirectory::open(file, bytes).map_err(|failure| failure.to_string())?;
        let big_endian = directory.is_big_endian();
        let mut one = |tag: u16, default: u64| {
            let value = directory.one(tag).map_err(|failure| failure.to_string())?;
            Ok::<_, String>(value.unwrap_or(default))
        };
        let (bits, tag, predictor) = (one(258, 1)?, one(259, 1)?, one(317, 1)?);
        let strips = one(322, 0)? == 0;
        let compression = Compression::ALL
            .into_iter()
            .find(|compression| compression.tag() == tag)
            .ok_or_else(|| format!("its compression is {tag}, which Relief does not write"))?;
        if !matches!(bits, 1 | 8 | 16) || !matches!(predictor, 1 | 2) {
            return Err(format!(
                "its samples have {bits} bits and the predictor {predictor}, which Relief does not write"
            ));
        }
        let (columns, rows) = self.grid.tile();
        let row = u128::from(columns) * u128::from(bits);
        let whole = row.div_ceil(8).saturating_mul(rows.into());
        if whole > MAX_BYTES {
            return Err(format!(
                "a tile of it has {whole} bytes, and at most {MAX_BYTES} are read"
            ));
        }
        Ok(Stored::Tiff {
            tiff: StoredTiff {
                compression: tag,
                predictor,
                bits: bits as u32,
                big_endian,
                columns,
            },
            most: compression.most(whole as u64, row.div_ceil(8).max(1) as u64),
            strips,
        })
    }

    fn stored_zarr(&self) -> Result<Stored, String> {
        let bytes =
            read_bounded(self.path.join("0/zarr.json"), MAX_TEXT).map_err(|error| error.to_string())?;
        let array: Value = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        let sample = match array["data_type"].as_str() {
            Some("uint8") => 1,
            Some("uint16") => 2,
            other => return Err(format!("its samples are {}", other.unwrap_or("of no type"))),
        };
        if array["fill_value"].as_u64() != Some(0) {
            return Err("its fill value is not 0".to_owned());
        }
        let outer = self.grid.tile();
        let mut codecs = &array["codecs"];
        let mut chunk = outer;
        let mut shard = None;
        if codecs[0]["name"] == "sharding_indexed" {
            let configuration = &codecs[0]["configuration"];
            let shape = &configuration["chunk_shape"];
            chunk = shape[1]
                .as_u64()
                .zip(shape[0].as_u64())
                .filter(|chunk| chunk.0 > 0 && chunk.1 > 0)
                .filter(|chunk| outer.0 % chunk.0 == 0 && outer.1 % chunk.1 == 0)
                .ok_or("its shards have no whole chunks")?;
            if configuration["index_location"].as_str().unwrap_or("end") != "end" {
                return Err("the index of its shards is not at their end".to_owned());
            }
            shard = Some(outer);
            codecs = &configuration["codecs"];
        }
        let names: Vec<&str> = codecs
            .as_array()
            .into_iter()
            .flatten()
            .map(|codec| codec["name"].as_str().unwrap_or_default())
            .collect();
        let gzip = match names[..] {
            ["bytes"] => false,
            ["bytes", "gzip"] => true,
            _ => return Err(format!("its codecs are {}", names.join(", "))),
        };
        let whole = u128::from(outer.0) * u128::from(outer.1) * sample;
        let chunks = u128::from(outer.0 / chunk.0) * u128::from(outer.1 / chunk.1);
        if whole > MAX_BYTES || chunks > 1 << 26 {
            return Err(format!(
                "a file of it has {chunks} chunks of {whole} bytes together, and at most {MAX_BYTES} bytes are read"
            ));
        }
        Ok(Stored::Zarr {
            encoder: Encoder {
                gzip,
                chunk,
                shard,
                share: false,
                sample: sample as u64,
            },
            big_endian: codecs[0]["configuration"]["endian"] == "big",
        })
    }
}

impl Comparison<'_> {
    /// What has been found so far.
    #[must_use]
    pub fn compared(&self) -> Compared {
        let state = self.state();
        let mut compared = state.compared.clone();
        compared.differences = state.differences.values().cloned().collect();
        compared
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spare(&self) -> std::sync::MutexGuard<'_, Vec<Memory>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bits of a stored sample.
    const fn bits(&self) -> u32 {
        match &self.stored {
            Stored::Tiff { tiff, .. } => tiff.bits,
            Stored::Zarr { encoder, .. } => encoder.sample as u32 * 8,
        }
    }

    /// The bytes of a row of a tile as it is decoded.
    fn row_bytes(&self) -> usize {
        let (columns, _) = self.found.grid.tile();
        // At most 2^31 for a whole tile.
        (columns * u64::from(self.bits())).div_ceil(8) as usize
    }

    /// The place of a tile of a TIFF: its offset and its length, 0 where it is missing.
    fn place(&self, number: u64) -> Result<(u64, u64), SinkError> {
        let Kind::Tiff {
            file,
            offsets,
            lengths,
            ..
        } = &self.found.kind
        else {
            return Ok((0, 0));
        };
        let one = |list| -> Result<u64, SinkError> {
            Ok(self
                .found
                .numbers(file, list, number, 1)?
                .first()
                .copied()
                .unwrap_or(0))
        };
        Ok((one(*offsets)?, one(*lengths)?))
    }

    /// Decodes a tile; what is wrong with it is a text.
    fn decode(&self, tile: &Tile<'_>, memory: &mut Memory) -> Result<(), String> {
        // The grid has at most 2^60.
        let number = tile.number as u64;
        let row = self.row_bytes();
        match (&self.found.kind, &self.stored) {
            (Kind::Tiff { file, bytes, .. }, Stored::Tiff { tiff, most, strips }) => {
                let rows = if *strips {
                    tile.rect.height()
                } else {
                    self.found.grid.tile().1
                };
                let (offset, length) = self.place(number).map_err(|error| error.to_string())?;
                if length > *most || offset.saturating_add(length) > *bytes {
                    return Err(format!("it is said to have {length} bytes from byte {offset} on"));
                }
                memory.coded.resize(length as usize, 0);
                read_at(file, &mut memory.coded, offset).map_err(|error| error.to_string())?;
                memory.tile.clear();
                memory.tile.resize(row * rows as usize, 0);
                let decoded = tiff.decode(&memory.coded, &mut memory.tile);
                decoded.map_err(|failure| failure.to_string())
            }
            (Kind::Zarr { .. }, Stored::Zarr { encoder, big_endian }) => {
                memory.tile.clear();
                memory.tile.resize(row * self.found.grid.tile().1 as usize, 0);
                self.chunks(number, encoder, memory)?;
                if encoder.sample == 2 && !big_endian {
                    memory.tile.chunks_exact_mut(2).for_each(<[u8]>::reverse);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Decodes the chunks of a file of a store into the tile; where it has no file, they are 0.
    fn chunks(&self, number: u64, encoder: &Encoder, memory: &mut Memory) -> Result<(), String> {
        let columns = self.found.grid.columns();
        let name = format!("0/c/{}/{}", number / columns, number % columns);
        let file = match File::open(self.found.path.join(name)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        let Memory { coded, tile, chunk } = memory;
        coded.clear();
        // One byte more tells that it is too long.
        let mut limited = file.take(encoder.most() + 1);
        limited.read_to_end(coded).map_err(|error| error.to_string())?;
        if coded.len() as u64 > encoder.most() {
            return Err(format!("its file has more than {} bytes", encoder.most()));
        }
        let inner = encoder.chunk_bytes() as usize;
        let Some(shard) = encoder.shard else {
            return decoded(coded, encoder.gzip, inner, tile);
        };
        let (across, down) = (shard.0 / encoder.chunk.0, shard.1 / encoder.chunk.1);
        let (count, length) = ((across * down) as usize, coded.len());
        let start = length
            .checked_sub(count * 16 + 4)
            .ok_or("its file is too short for an index")?;
        let (index, sum) = coded[start..].split_at(count * 16);
        if crc32c::crc32c(index).to_le_bytes() != sum {
            return Err("the check sum of its index is wrong".to_owned());
        }
        let row = (shard.0 * encoder.sample) as usize;
        let part = (encoder.chunk.0 * encoder.sample) as usize;
        let word = |bytes: &[u8]| {
            bytes
                .iter()
                .rev()
                .fold(0, |n: u64, &byte| n << 8 | u64::from(byte))
        };
        for (number, entry) in index.chunks_exact(16).enumerate() {
            let (offset, length) = (word(&entry[..8]), word(&entry[8..]));
            if offset == u64::MAX && length == u64::MAX {
                continue;
            }
            let end = offset.checked_add(length).filter(|&end| end <= start as u64);
            let end = end.ok_or_else(|| format!("its chunk {number} lies beyond its file"))?;
            chunk.clear();
            chunk.resize(inner, 0);
            decoded(&coded[offset as usize..end as usize], encoder.gzip, inner, chunk)?;
            let top = number / across as usize * encoder.chunk.1 as usize;
            let left = number % across as usize * part;
            for (line, from) in chunk.chunks_exact(part).enumerate() {
                let at = (top + line) * row + left;
                tile[at..at + part].copy_from_slice(from);
            }
        }
        Ok(())
    }

    fn take(&self, tile: &Tile<'_>) -> Result<(), SinkError> {
        let mut memory = self.spare().pop().unwrap_or_default();
        let outcome = self.decode(tile, &mut memory);
        let seen = match self.within {
            Some(within) => tile.rect.intersection(&within),
            None => tile.rect,
        };
        let difference = match outcome {
            Err(problem) => Some(Difference::Damaged {
                rect: tile.rect,
                problem,
            }),
            Ok(()) => self.difference(tile, seen, &memory.tile),
        };
        self.spare().push(memory);
        let mut state = self.state();
        let State {
            compared,
            differences,
        } = &mut *state;
        if !matches!(difference, Some(Difference::Damaged { .. })) {
            compared.samples += seen.area();
        }
        if let Some(difference) = difference {
            if let Difference::Samples { count, .. } = &difference {
                compared.different += u128::from(*count);
            }
            compared.tiles += 1;
            differences.insert(tile.number, difference);
            if differences.len() > KEPT {
                differences.pop_last();
            }
        }
        Ok(())
    }

    /// The samples of a tile, within `seen`, that are not those of the file.
    fn difference(&self, tile: &Tile<'_>, seen: Rect, stored: &[u8]) -> Option<Difference> {
        let row_bytes = self.row_bytes();
        let columns = tile.rect.width() as usize;
        let (left, right) = (
            (seen.x() - tile.rect.x()) as usize,
            (seen.right() - tile.rect.x()) as usize,
        );
        let mut found: Option<Difference> = None;
        for y in seen.y()..seen.bottom() {
            let line = (y - tile.rect.y()) as usize;
            let row = &stored[line * row_bytes..(line + 1) * row_bytes];
            let samples = line * columns + left..line * columns + right;
            if let (Samples::Eight(computed), 8) = (tile.samples, self.bits())
                && computed[samples.clone()] == row[left..right]
            {
                continue;
            }
            for (at, column) in samples.zip(left..right) {
                let (computed, most) = match tile.samples {
                    Samples::Eight(samples) => (u16::from(samples[at]), 255),
                    Samples::Sixteen(samples) => (samples[at], u16::MAX),
                };
                let stored = match self.bits() {
                    1 => (u16::from(row[column / 8]) >> (7 - column % 8) & 1) * most,
                    8 => u16::from(row[column]),
                    _ => u16::from_be_bytes([row[2 * column], row[2 * column + 1]]),
                };
                if stored == computed {
                    continue;
                }
                let x = tile.rect.x() + column as i64;
                let here = Rect::new(x, y, 1, 1).unwrap_or(Rect::EMPTY);
                match &mut found {
                    Some(Difference::Samples { rect, count, .. }) => {
                        *rect = rect.union(&here);
                        *count += 1;
                    }
                    _ => {
                        found = Some(Difference::Samples {
                            rect: here,
                            count: 1,
                            first: (x, y),
                            stored,
                            computed,
                        });
                    }
                }
            }
        }
        found
    }
}

/// Fills the start of `out` with the bytes of a chunk, which has exactly so many.
fn decoded(coded: &[u8], gzip: bool, bytes: usize, out: &mut [u8]) -> Result<(), String> {
    let out = &mut out[..bytes];
    if !gzip {
        if coded.len() != bytes {
            return Err(format!("a chunk of it has {} bytes of {bytes}", coded.len()));
        }
        out.copy_from_slice(coded);
        return Ok(());
    }
    let mut decoder = MultiGzDecoder::new(coded);
    decoder
        .read_exact(out)
        .map_err(|error| format!("a chunk of it is not gzip of {bytes} bytes: {error}"))?;
    match decoder.read(&mut [0]) {
        Ok(0) => Ok(()),
        Ok(_) => Err(format!("a chunk of it has more than {bytes} bytes")),
        Err(error) => Err(format!("a chunk of it is not gzip: {error}")),
    }
}

impl TileSink for Comparison<'_> {
    fn grid(&self, raster: &Raster) -> io::Result<Grid> {
        let found = self.found;
        let wrong = |problem: String| Err(found.not_compared(problem).into());
        let (columns, rows) = found.grid.tile();
        let Some(grid) = Grid::new(raster, columns, rows).filter(|grid| *grid == found.grid) else {
            return wrong(format!(
                "its sides are not {} × {}, which are those of the design",
                raster.width, raster.height
            ));
        };
        let bits = self.bits();
        if bits != 1 && bits != raster.depth.bits() {
            return wrong(format!(
                "its samples have {bits} bits, and those of the design {}",
                raster.depth.bits()
            ));
        }
        Ok(grid)
    }

    fn memory(&self, _: &Raster, threads: usize) -> u64 {
        let tile = (self.row_bytes() as u64).saturating_mul(self.found.grid.tile().1);
        let coded = match &self.stored {
            Stored::Tiff { most, .. } => *most,
            // A list that grows has room for twice as much.
            Stored::Zarr { encoder, .. } => encoder.most().saturating_mul(2) + encoder.chunk_bytes(),
        };
        tile.saturating_add(coded)
            .saturating_add(DECODER)
            .saturating_mul(threads as u64)
    }

    fn begin(&mut self, _: &Raster, _: &Grid, _: &Range<u128>) -> io::Result<()> {
        *self.state() = State::default();
        Ok(())
    }

    /// Tiles that the file has not yet, and those that nobody asks for, are not computed.
    fn has(&self, number: u128) -> io::Result<bool> {
        if let Some(within) = self.within
            && self.found.grid.rect(number).intersection(&within).is_empty()
        {
            return Ok(true);
        }
        let number = number as u64;
        match &self.found.kind {
            Kind::Tiff { .. } => Ok(self.place(number)?.1 == 0),
            Kind::Zarr { done: Some(done), .. } => {
                let mut noted = [0];
                read_at(done, &mut noted, number)?;
                Ok(noted[0] == 0)
            }
            Kind::Zarr { done: None, .. } => Ok(false),
        }
    }

    fn write(&self, tile: &Tile<'_>) -> io::Result<()> {
        check(
            tile,
            &Raster::new(
                tile.rect.width(),
                tile.rect.height(),
                match tile.samples {
                    Samples::Eight(_) => Depth::Eight,
                    Samples::Sixteen(_) => Depth::Sixteen,
                },
            ),
        )?;
        Ok(self.take(tile)?)
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}
