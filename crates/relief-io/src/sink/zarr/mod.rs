//! Zarr version 3: a folder of chunks, each a file that any thread or process writes.
//!
//! The store is a group with one array, `0`: OME-Zarr, so that viewers know the size of a pixel. [`Pyramid`](super::Pyramid) adds
//! arrays of levels.

mod chunk;
mod folder;
mod metadata;

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use relief_engine::sink::Raster;
use relief_engine::{Grid, Tile, TileSink};

use super::SinkError;
use super::journal::Completion;
use super::tiles::{check, default_tile};
pub(super) use chunk::{Encoder, Memory};
pub(super) use folder::{DONE, Folder, Metadata};

/// The most bytes of a chunk or shard: readers hold one at a time.
const MAX_BYTES: u128 = 1 << 31;

/// What noting chunks and naming their files holds, and what a thread compresses by gzip with.
const NOTING: u64 = 2 * 1024 * 1024;
const GZIP: u64 = 512 * 1024;

/// How a store is cut in chunks and what is in them.
#[derive(Clone, Debug)]
pub struct ZarrOptions {
    /// Columns and rows of a chunk; chosen by the size of the raster where `None`.
    pub chunk: Option<(u64, u64)>,
    /// Columns and rows of a shard, multiples of those of a chunk: a file of many chunks, which readers read one by one.
    pub shard: Option<(u64, u64)>,
    /// Chunks are compressed by gzip.
    pub gzip: bool,
    /// Equal chunks of a shard are stored once.
    pub share: bool,
    /// The digest of everything that decides the samples. It is written into the store: an unfinished store is gone on with
    /// only where it has the same.
    pub job: blake3::Hash,
}

/// Writes a raster as a Zarr store, version 3.
///
/// It appears under its name when it is complete. Until then it is PATH.partial, which stays where the sink is dropped
/// early: the next sink with the same path, job and options goes on with it. Several processes may write it, each a part
/// ([`relief_engine::Grid::part`]); the last one gives it its name.
#[derive(Debug)]
pub struct ZarrSink {
    path: PathBuf,
    options: ZarrOptions,
    in_parts: bool,
    open: Option<Open>,
    /// Whether other processes have completed it: there is nothing to do.
    is_there: bool,
    completion: Option<Completion>,
    memory: Mutex<Vec<Memory>>,
}

#[derive(Debug)]
struct Open {
    raster: Raster,
    encoder: Encoder,
    folder: Folder,
    columns: u64,
}

impl ZarrSink {
    /// A sink that writes to a folder.
    #[must_use]
    pub fn new(path: PathBuf, options: ZarrOptions) -> Self {
        Self {
            path,
            options,
            in_parts: false,
            open: None,
            is_there: false,
            completion: None,
            memory: Mutex::default(),
        }
    }

    /// Has several processes write parts of the store.
    #[must_use]
    pub fn in_parts(mut self) -> Self {
        self.in_parts = true;
        self
    }

    fn encoder(&self, raster: &Raster) -> Result<Encoder, SinkError> {
        self.options.encoder(raster)
    }

    fn metadata(&self, raster: &Raster, encoder: &Encoder) -> Metadata {
        self.options.metadata(raster, &[], encoder)
    }
}

impl ZarrOptions {
    /// How chunks are encoded.
    pub(super) fn encoder(&self, raster: &Raster) -> Result<Encoder, SinkError> {
        let Raster { width, height, .. } = *raster;
        if width == 0 || height == 0 {
            return Err(SinkError::Empty { width, height });
        }
        let chunk = self.chunk.unwrap_or_else(|| default_tile(raster));
        let (width, height) = self.shard.unwrap_or(chunk);
        let refused = |problem| {
            Err(SinkError::TileShape {
                width,
                height,
                problem,
            })
        };
        if chunk.0 == 0 || chunk.1 == 0 || width == 0 || height == 0 {
            return refused("both sides must be at least 1".to_owned());
        }
        if width % chunk.0 != 0 || height % chunk.1 != 0 {
            return refused(format!(
                "the sides of a shard are multiples of those of its chunks, {} and {}: {}x{} would do",
                chunk.0,
                chunk.1,
                width.div_ceil(chunk.0).saturating_mul(chunk.0),
                height.div_ceil(chunk.1).saturating_mul(chunk.1)
            ));
        }
        let sample = raster.depth.bytes();
        let bytes = u128::from(width) * u128::from(height) * u128::from(sample);
        if bytes > MAX_BYTES {
            return refused(format!(
                "it has {bytes} bytes, and at most {MAX_BYTES} are written at once"
            ));
        }
        let files = u128::from(raster.width.div_ceil(width)) * u128::from(raster.height.div_ceil(height));
        if files > 1 << 40 {
            return refused(format!(
                "the raster has {files} of them, each a file; choose larger ones, or shards of many chunks"
            ));
        }
        Ok(Encoder {
            gzip: self.gzip,
            chunk,
            shard: self.shard,
            share: self.share,
            sample,
        })
    }

    /// What a store of a raster and its levels says of itself.
    pub(super) fn metadata(&self, raster: &Raster, levels: &[Raster], encoder: &Encoder) -> Metadata {
        let shard = encoder.shard.unwrap_or(encoder.chunk);
        let array = |raster| metadata::array(raster, self, encoder.chunk, shard);
        Metadata {
            group: metadata::group(raster, levels.len(), &self.job),
            arrays: std::iter::once(raster).chain(levels).map(array).collect(),
        }
    }
}

impl ZarrSink {
    /// The bytes of all chunks of a raster, before they are compressed and where none is left out.
    ///
    /// # Errors
    /// Where the raster cannot be written so.
    pub fn bytes(&self, raster: &Raster) -> Result<u128, SinkError> {
        let encoder = self.encoder(raster)?;
        let (width, height) = encoder.shard.unwrap_or(encoder.chunk);
        let files = u128::from(raster.width.div_ceil(width)) * u128::from(raster.height.div_ceil(height));
        let raw = Encoder {
            gzip: false,
            ..encoder
        };
        let file = if raw.shard.is_some() {
            raw.most()
        } else {
            raw.chunk_bytes()
        };
        Ok(files * u128::from(file))
    }

    /// Whether the store is there already, complete, with all of this raster.
    ///
    /// # Errors
    /// Where the raster cannot be written so.
    pub fn is_complete(&self, raster: &Raster) -> Result<bool, SinkError> {
        let encoder = self.encoder(raster)?;
        Ok(folder::is_complete(&self.path, &self.metadata(raster, &encoder)))
    }

    /// What has become of the store; `None` before the end.
    #[must_use]
    pub const fn completion(&self) -> Option<Completion> {
        self.completion
    }

    fn opened(&self, call: &'static str) -> Result<&Open, SinkError> {
        self.open.as_ref().ok_or(SinkError::State {
            call,
            state: "has not begun",
        })
    }

    fn spare(&self) -> std::sync::MutexGuard<'_, Vec<Memory>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, tile: &Tile<'_>) -> Result<(), SinkError> {
        let open = self.opened("write")?;
        check(tile, &open.raster)?;
        // At most 2^40 by the encoder.
        let number = tile.number as u64;
        let mut memory = self.spare().pop().unwrap_or_default();
        let is_there = open
            .encoder
            .encode(tile.samples, tile.rect.width() as usize, &mut memory)
            .map_err(|error| open.folder.failed(error))?;
        let place = (number % open.columns, number / open.columns);
        open.folder
            .write(number, 0, place, is_there.then_some(&memory.out))?;
        self.spare().push(memory);
        Ok(())
    }
}

impl TileSink for ZarrSink {
    fn grid(&self, raster: &Raster) -> io::Result<Grid> {
        let encoder = self.encoder(raster)?;
        let (width, height) = encoder.shard.unwrap_or(encoder.chunk);
        Grid::new(raster, width, height).ok_or_else(|| {
            let problem = "it has no pixel".to_owned();
            SinkError::TileShape {
                width,
                height,
                problem,
            }
            .into()
        })
    }

    fn memory(&self, raster: &Raster, threads: usize) -> u64 {
        // What cannot be encoded is refused by `grid`.
        self.encoder(raster).map_or(0, |encoder| {
            encoder
                .memory()
                .saturating_mul(threads as u64)
                .saturating_add(NOTING)
        })
    }

    fn begin(&mut self, raster: &Raster, grid: &Grid, _: &Range<u128>) -> io::Result<()> {
        let encoder = self.encoder(raster)?;
        if grid.tile() != encoder.shard.unwrap_or(encoder.chunk) {
            return Err(SinkError::State {
                call: "begin",
                state: "has another grid",
            }
            .into());
        }
        self.completion = None;
        // One that is open still is closed first: its lock is given up.
        self.open = None;
        let metadata = self.metadata(raster, &encoder);
        let chunks = u64::try_from(grid.count()).unwrap_or(u64::MAX);
        let opened = Folder::open(&self.path, &metadata, chunks, self.in_parts);
        // Others may complete it at any time, where this part has nothing to add.
        self.is_there = self.in_parts
            && folder::is_complete(&self.path, &metadata)
            && opened.as_ref().map_or(true, Folder::discard_new);
        if self.is_there {
            return Ok(());
        }
        self.open = Some(Open {
            raster: *raster,
            encoder,
            folder: opened?,
            columns: grid.columns(),
        });
        Ok(())
    }

    fn has(&self, number: u128) -> io::Result<bool> {
        if self.is_there {
            return Ok(true);
        }
        let number = u64::try_from(number).unwrap_or(u64::MAX);
        Ok(self.opened("has")?.folder.has(number)?)
    }

    fn write(&self, tile: &Tile<'_>) -> io::Result<()> {
        Ok(self.take(tile)?)
    }

    // They are the fill value, and have no file.
    fn takes_zeros(&self) -> bool {
        true
    }

    fn write_zeros(&self, number: u128) -> io::Result<()> {
        let open = self.opened("write_zeros")?;
        // At most 2^40 by the encoder.
        let number = number as u64;
        let place = (number % open.columns, number / open.columns);
        Ok(open.folder.write(number, 0, place, None)?)
    }

    fn finish(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_there) {
            self.completion = Some(Completion::Complete);
            return Ok(());
        }
        let open = self.open.take().ok_or(SinkError::State {
            call: "finish",
            state: "has not begun",
        })?;
        self.completion = Some(open.folder.complete()?);
        Ok(())
    }
}

impl Drop for ZarrSink {
    /// Notes what is written, for who goes on.
    fn drop(&mut self) {
        if let Some(open) = &self.open {
            let _ = open.folder.flush();
        }
    }
}
