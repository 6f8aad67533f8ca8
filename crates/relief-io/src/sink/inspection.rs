//! What a file or store of tiles on the disk says of itself: of which job it is, and which of its tiles are there.

mod comparison;

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use relief_engine::Grid;
use relief_engine::sink::Raster;
use relief_raster::{Depth, Rect};
use serde_json::Value;

use super::SinkError;
use super::positioned::read_at;
use super::tiles::partial_path;
use crate::source::{TiffDirectory, read_bounded};

pub use comparison::{Compared, Comparison, Difference};

/// The longest file of metadata of a store, and text of a TIFF, that is read.
const MAX_TEXT: u64 = 1 << 20;

/// Entries of a list of tiles that are read at once.
const AT_ONCE: u64 = 1 << 13;

/// The most names of foreign files that are told.
const MAX_FOREIGN: usize = 1_000;

/// An export as it lies on the disk, complete or not.
#[derive(Debug)]
pub struct Inspection {
    /// Where it lies: under its name, or PATH.partial.
    path: PathBuf,
    is_complete: bool,
    job: String,
    grid: Grid,
    tiles: u64,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Tiff {
        file: File,
        /// Of the file.
        bytes: u64,
        offsets: List,
        lengths: List,
    },
    Zarr {
        /// Which chunks are done, where it is not complete.
        done: Option<File>,
        /// The arrays of levels, as the metadata names them.
        arrays: Vec<String>,
    },
}

/// A list of numbers in a file.
#[derive(Clone, Copy, Debug)]
struct List {
    start: u64,
    /// The bytes of a number.
    size: u64,
}

impl Inspection {
    /// Looks at the export at `path`, or at its unfinished file beside it.
    ///
    /// # Errors
    /// Where neither is there, or it is none of Relief's.
    pub fn open(path: &Path) -> Result<Self, SinkError> {
        let named: PathBuf = path.components().collect();
        let partial = partial_path(path);
        let (found, is_complete) = if named.exists() {
            (named, true)
        } else if partial.exists() {
            (partial, false)
        } else {
            return Err(SinkError::NotInspected {
                path: named,
                problem: format!(
                    "there is no such file, nor one of it that is being written, {}",
                    partial.display()
                ),
            });
        };
        let unknown = |problem: String| SinkError::NotInspected {
            path: found.clone(),
            problem,
        };
        let metadata = fs::metadata(&found).map_err(|error| unknown(error.to_string()))?;
        if metadata.is_dir() {
            Self::zarr(&found, is_complete).map_err(unknown)
        } else {
            Self::tiff(&found, metadata.len(), is_complete).map_err(unknown)
        }
    }

    fn tiff(path: &Path, bytes: u64, is_complete: bool) -> Result<Self, String> {
        let file = File::open(path).map_err(|error| error.to_string())?;
        let mut directory = TiffDirectory::open(&file, bytes).map_err(|failure| failure.to_string())?;
        let mut one = |tag: u16| {
            let value = directory.one(tag).map_err(|failure| failure.to_string())?;
            value.ok_or_else(|| format!("it has no tag {tag}"))
        };
        let (width, height) = (one(256)?, one(257)?);
        let tile = match (one(322), one(323)) {
            (Ok(width), Ok(height)) => (width, height),
            _ => (width, one(278)?),
        };
        let text = directory
            .bytes(270, MAX_TEXT)
            .map_err(|failure| failure.to_string())?
            .unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let job = text
            .strip_prefix("Relief raster, job ")
            .and_then(|rest| rest.get(..64))
            .ok_or("it does not say of which job of Relief it is; it was written in one pass, or by another program")?
            .to_owned();
        let list = |tags: [u16; 2]| {
            let found = tags.into_iter().find_map(|tag| directory.place(tag));
            let (start, count, size) = found.ok_or_else(|| format!("it has no tag {}", tags[0]))?;
            Ok::<_, String>((List { start, size }, count))
        };
        let ((offsets, count), (lengths, _)) = (list([324, 273])?, list([325, 279])?);
        let grid = grid(width, height, tile)?;
        if u128::from(count) != grid.count() {
            return Err(format!(
                "it lists {count} tiles, and its sides need {}",
                grid.count()
            ));
        }
        Ok(Self {
            path: path.to_owned(),
            is_complete,
            job,
            grid,
            tiles: count,
            kind: Kind::Tiff {
                file,
                bytes,
                offsets,
                lengths,
            },
        })
    }

    fn zarr(path: &Path, is_complete: bool) -> Result<Self, String> {
        let read = |name: &str| -> Result<Value, String> {
            let bytes =
                read_bounded(path.join(name), MAX_TEXT).map_err(|error| format!("{name}: {error}"))?;
            serde_json::from_slice(&bytes).map_err(|error| format!("{name}: {error}"))
        };
        let group = read("zarr.json")?;
        let job = group["attributes"]["relief"]["job"]
            .as_str()
            .ok_or("it does not say of which job of Relief it is")?
            .to_owned();
        let datasets = group["attributes"]["ome"]["multiscales"][0]["datasets"].as_array();
        let arrays: Vec<String> = datasets
            .into_iter()
            .flatten()
            .filter_map(|dataset| dataset["path"].as_str())
            .map(str::to_owned)
            .collect();
        let array = read("0/zarr.json")?;
        let pair = |value: &Value| Some((value[1].as_u64()?, value[0].as_u64()?));
        let (size, chunk) = pair(&array["shape"])
            .zip(pair(&array["chunk_grid"]["configuration"]["chunk_shape"]))
            .ok_or("0/zarr.json: it has no shape of two sides")?;
        let grid = grid(size.0, size.1, chunk)?;
        let done = if is_complete {
            None
        } else {
            Some(File::open(path.join(super::zarr::DONE)).map_err(|error| error.to_string())?)
        };
        Ok(Self {
            path: path.to_owned(),
            is_complete,
            job,
            grid,
            tiles: u64::try_from(grid.count()).map_err(|error| error.to_string())?,
            kind: Kind::Zarr { done, arrays },
        })
    }

    /// Where it lies: under its name, or beside it as PATH.partial.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it has its name.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The digest of the job, in hexadecimal digits.
    #[must_use]
    pub fn job(&self) -> &str {
        &self.job
    }

    /// Its tiles, strips, chunks or shards: of the raster itself, not of its levels.
    #[must_use]
    pub const fn grid(&self) -> Grid {
        self.grid
    }

    fn failed(&self, error: &io::Error) -> SinkError {
        SinkError::NotInspected {
            path: self.path.clone(),
            problem: error.to_string(),
        }
    }

    /// Tells the tiles that are missing, as runs of their numbers in order: those that nobody has written yet, and of a complete TIFF
    /// those that lie beyond its end.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn missing(&self, each: &mut dyn FnMut(Range<u64>)) -> Result<(), SinkError> {
        let mut run: Option<Range<u64>> = None;
        let mut tell = |tile: u64, is_there: bool| match &mut run {
            Some(run) if !is_there => run.end = tile + 1,
            None if !is_there => run = Some(tile..tile + 1),
            _ => {
                if let Some(run) = run.take() {
                    each(run);
                }
            }
        };
        let mut first = 0;
        while first < self.tiles {
            let count = (self.tiles - first).min(AT_ONCE);
            match &self.kind {
                Kind::Tiff {
                    file,
                    bytes,
                    offsets,
                    lengths,
                } => {
                    let offsets = self.numbers(file, *offsets, first, count)?;
                    let lengths = self.numbers(file, *lengths, first, count)?;
                    for (tile, (offset, length)) in (first..).zip(offsets.into_iter().zip(lengths)) {
                        let end = offset.saturating_add(length);
                        tell(tile, length > 0 && end <= *bytes);
                    }
                }
                Kind::Zarr { done: Some(done), .. } => {
                    let mut noted = vec![0; count as usize];
                    read_at(done, &mut noted, first).map_err(|error| self.failed(&error))?;
                    for (tile, noted) in (first..).zip(noted) {
                        tell(tile, noted != 0);
                    }
                }
                // Chunks without a file are told apart from those that are lost by their samples.
                Kind::Zarr { done: None, .. } => return Ok(()),
            }
            first += count;
        }
        tell(self.tiles, true);
        Ok(())
    }

    fn numbers(&self, file: &File, list: List, first: u64, count: u64) -> Result<Vec<u64>, SinkError> {
        let mut bytes = vec![0; (count * list.size) as usize];
        read_at(file, &mut bytes, list.start + first * list.size).map_err(|error| self.failed(&error))?;
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |n, &byte| n << 8 | u64::from(byte));
        Ok(bytes.chunks_exact(list.size as usize).map(number).collect())
    }

    /// Tells the chunks of a store that are done and have no file, with their pixels: all their samples must be 0. `each` says
    /// whether to go on.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn empty(&self, each: &mut dyn FnMut(u64, Rect) -> bool) -> Result<(), SinkError> {
        let Kind::Zarr { done, .. } = &self.kind else {
            return Ok(());
        };
        let columns = self.grid.columns();
        for row in 0..self.grid.rows() {
            let folder = self.path.join("0/c").join(row.to_string());
            let is_there = folder.is_dir();
            let mut noted = Vec::new();
            for column in 0..columns {
                let tile = row * columns + column;
                if let Some(done) = done {
                    if column % AT_ONCE == 0 {
                        noted.resize((columns - column).min(AT_ONCE) as usize, 0);
                        read_at(done, &mut noted, tile).map_err(|error| self.failed(&error))?;
                    }
                    if noted[(column % AT_ONCE) as usize] == 0 {
                        continue;
                    }
                }
                let has_file = is_there && folder.join(column.to_string()).is_file();
                if !has_file && !each(tile, self.grid.rect(tile.into())) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The files of a store that belong to none of its chunks, at most a thousand of them.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn foreign(&self) -> Result<Vec<PathBuf>, SinkError> {
        let Kind::Zarr { arrays, .. } = &self.kind else {
            return Ok(Vec::new());
        };
        let mut foreign = Vec::new();
        let failed = |error: io::Error| self.failed(&error);
        let names = |folder: &Path, each: &mut dyn FnMut(String, PathBuf)| -> io::Result<()> {
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                each(entry.file_name().to_string_lossy().into_owned(), entry.path());
            }
            Ok(())
        };
        names(&self.path, &mut |name, path| {
            let own = name == "zarr.json" || name.starts_with(".relief-") || arrays.contains(&name);
            if !own {
                foreign.push(path);
            }
        })
        .map_err(failed)?;
        let chunks = self.path.join("0/c");
        names(&self.path.join("0"), &mut |name, path| {
            if name != "zarr.json" && name != "c" {
                foreign.push(path);
            }
        })
        .map_err(failed)?;
        if !chunks.is_dir() {
            return Ok(foreign);
        }
        // A number as it is written by us, below the most.
        let is_one = |name: &str, most: u64| {
            let number = name.parse::<u64>().ok().filter(|&number| number < most);
            number.is_some_and(|number| number.to_string() == name)
        };
        let mut rows = Vec::new();
        names(&chunks, &mut |name, path| {
            if is_one(&name, self.grid.rows()) {
                rows.push(path);
            } else {
                foreign.push(path);
            }
        })
        .map_err(failed)?;
        for row in rows {
            names(&row, &mut |name, path| {
                // A process that writes a chunk, or was killed, has a partial file of it.
                let partial = name
                    .strip_prefix('.')
                    .and_then(|name| name.strip_suffix(".partial"));
                let own = match partial {
                    Some(name) => !self.is_complete && is_one(name, self.grid.columns()),
                    None => is_one(&name, self.grid.columns()),
                };
                if !own && foreign.len() < MAX_FOREIGN {
                    foreign.push(path);
                }
            })
            .map_err(failed)?;
        }
        foreign.truncate(MAX_FOREIGN);
        foreign.sort();
        Ok(foreign)
    }
}

fn grid(width: u64, height: u64, tile: (u64, u64)) -> Result<Grid, String> {
    let most = 1 << 40;
    if width == 0 || height == 0 || width > most || height > most {
        return Err(format!("its sides are {width} × {height}"));
    }
    Grid::new(&Raster::new(width, height, Depth::Eight), tile.0, tile.1)
        .filter(|grid| grid.count() <= 1 << 60)
        .ok_or_else(|| format!("its tiles are {} × {}", tile.0, tile.1))
}
