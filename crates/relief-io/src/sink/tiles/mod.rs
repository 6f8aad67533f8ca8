//! TIFF in tiles: BigTIFF that is written by all threads, goes on where it was left, and may be written by several
//! processes at a time.
//!
//! Without compression the place of a tile follows from its number. With compression tiles lie behind one another in the order
//! of their numbers ([`sequence`]); the file is the same however many threads there are. [`share`] stores equal tiles once.

mod layout;
mod pack;
mod sequence;
mod share;
mod store;

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use relief_engine::sink::{Raster, Samples};
use relief_engine::{Grid, Tile, TileSink};
use relief_raster::Depth;

use super::SinkError;
use super::compression::{Compression, Compressor};
use super::journal::{Completion, Looked};
pub(super) use layout::{Head, Layout, default_tile};
pub(super) use pack::pack;
use sequence::{Item, Sequence};
pub use share::{SharedTiff, Sharing};
pub use store::partial_path;
pub(super) use store::{AT_ONCE, Store, Stored, list_into};

/// How a TIFF is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileCut {
    /// In strips of all columns, which the oldest readers know, where rows have at most 1 MiB and sides 32 bits; else in tiles.
    Strips,
    /// In tiles that are chosen by the size of the raster.
    #[default]
    Tiles,
    /// In tiles of so many columns and rows, multiples of 16.
    TilesOf(u64, u64),
}

/// How a TIFF is cut and what is in it.
#[derive(Clone, Debug)]
pub struct TileOptions {
    /// How the file is cut.
    pub cut: FileCut,
    /// How tiles are compressed.
    pub compression: Compression,
    /// One bit a pixel: the raster may have no sample but 0 and M.
    pub one_bit: bool,
    /// The digest of everything that decides the samples. It is written into the file: an unfinished file is gone on with
    /// only where it has the same.
    pub job: blake3::Hash,
    /// The threads that compute tiles, as far as known: compressed tiles that are early wait, a few for each.
    pub threads: usize,
}

impl TileOptions {
    /// The layout of a file in tiles of this size, and `how` it is laid out otherwise than files whose tiles lie one behind the other:
    /// neither is gone on with as the other.
    fn layout(&self, raster: &Raster, cut: ((u64, u64), bool), how: &str) -> Result<Layout, SinkError> {
        let Raster { width, height, .. } = *raster;
        if width == 0 || height == 0 {
            return Err(SinkError::Empty { width, height });
        }
        let description = format!("Relief raster, job {}{how}", self.job);
        Layout::new(raster, cut, (self.compression, self.one_bit), description)
    }
}

/// The layouts of a raster and its levels, in tiles of the same size.
pub(super) fn leveled(
    options: &TileOptions,
    raster: &Raster,
    levels: &[Raster],
    tile: (u64, u64),
) -> Result<Vec<Layout>, SinkError> {
    let whole = options.layout(raster, (tile, false), ", with levels")?;
    let levels = levels.iter().map(|raster| whole.level(raster));
    Ok(std::iter::once(whole.clone()).chain(levels).collect())
}

/// Tiles that may be early, for every thread.
const EARLY: u64 = 4;

/// What noting tiles holds.
const NOTING: u64 = (1 << 16) * 24 + 1_024 * 1_024;

/// What a thread holds to pack a tile and compress it, where none waits for its turn.
pub(super) fn tile_memory(layout: &Layout) -> u64 {
    layout
        .tile_bytes()
        .saturating_add(layout.most_stored())
        .saturating_add(layout.compression.working())
}

/// What writing tiles of a layout holds, beside the samples.
fn memory(layout: &Layout, threads: usize, in_order: bool) -> u64 {
    let threads = threads as u64;
    let (packed, stored) = (layout.tile_bytes(), layout.most_stored());
    // A thread packs one tile and compresses it; others wait for their turn.
    let waiting = if in_order {
        (EARLY + 2).saturating_mul(stored)
    } else {
        0
    };
    packed
        .saturating_add(layout.compression.working())
        .saturating_add(waiting)
        .saturating_mul(threads)
        .saturating_add(NOTING)
}

/// Writes a raster as a BigTIFF in tiles, whatever its size.
///
/// The file appears under its name when it is complete. Until then it is PATH.partial, which stays where the sink is dropped
/// early: the next sink with the same path, job and options goes on with it, and the file has the same bytes as if it had been
/// written at once.
///
/// Compressed tiles lie behind one another, so that such a file takes all tiles in one run: a run of a part would wait for the
/// tiles before it.
#[derive(Debug)]
pub struct TiledTiff {
    path: PathBuf,
    options: TileOptions,
    /// Whether other processes write other parts of the file.
    in_parts: bool,
    open: Option<Open>,
    /// Whether other processes have completed it: there is nothing to do.
    is_there: bool,
    completion: Option<Completion>,
    /// What threads pack and compress tiles in, where none does at the moment.
    spare: Mutex<Vec<Spare>>,
}

/// Memory of a thread: a packed tile, and what compresses it.
#[derive(Debug, Default)]
struct Spare {
    packed: Vec<u8>,
    compressor: Compressor,
}

/// A file that is being written.
#[derive(Debug)]
struct Open {
    layout: Layout,
    store: Store,
    /// Tiles of different lengths, in their order.
    sequence: Option<Sequence>,
    /// Tiles that were there, where they are in order.
    found: u64,
    /// Which tiles are there, as far as was looked.
    looked: Looked<Stored>,
}

impl TiledTiff {
    /// A sink that writes to a file.
    #[must_use]
    pub fn new(path: PathBuf, options: TileOptions) -> Self {
        Self {
            path,
            options,
            in_parts: false,
            open: None,
            is_there: false,
            completion: None,
            spare: Mutex::default(),
        }
    }

    /// Has several processes write parts of the file ([`relief_engine::Grid::part`]); the last one gives it its name.
    ///
    /// # Errors
    /// [`SinkError::PartsInOrder`] where tiles are compressed.
    pub fn in_parts(mut self) -> Result<Self, SinkError> {
        if self.options.compression != Compression::None {
            return Err(SinkError::PartsInOrder {
                compression: self.options.compression,
            });
        }
        self.in_parts = true;
        Ok(self)
    }

    fn layout(&self, raster: &Raster) -> Result<Layout, SinkError> {
        let Raster { width, height, .. } = *raster;
        if width == 0 || height == 0 {
            return Err(SinkError::Empty { width, height });
        }
        let bits = layout::bits(raster, self.options.one_bit);
        let cut = match self.options.cut {
            FileCut::Strips => layout::strip(raster, bits).map(|strip| (strip, true)),
            FileCut::Tiles => None,
            FileCut::TilesOf(width, height) => Some(((width, height), false)),
        };
        let cut = cut.unwrap_or_else(|| (layout::default_tile(raster), false));
        self.options.layout(raster, cut, "")
    }

    /// The bytes of the file of a raster, before its tiles are compressed.
    ///
    /// # Errors
    /// Where the raster cannot be written so.
    pub fn bytes(&self, raster: &Raster) -> Result<u64, SinkError> {
        let layout = self.layout(raster)?;
        Ok(layout.head().tiles + layout.all_bytes())
    }

    /// Whether the file is there already, complete, with all of this raster.
    ///
    /// # Errors
    /// Where the raster cannot be written so.
    pub fn is_complete(&self, raster: &Raster) -> Result<bool, SinkError> {
        Ok(Store::is_complete(&self.path, &self.layout(raster)?))
    }

    /// What has become of the file; `None` before the end.
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

    fn take(&self, tile: &Tile<'_>) -> Result<(), SinkError> {
        let open = self.opened("write")?;
        check(tile, &open.layout.raster)?;
        // Fewer than 2^63, by the layout.
        let number = tile.number as u64;
        let place = (tile.rect.x().unsigned_abs(), tile.rect.y().unsigned_abs());
        let columns = tile.rect.width() as usize;
        let mut spare = self.spare().pop().unwrap_or_default();
        let Spare { packed, compressor } = &mut spare;
        if let Some(sequence) = &open.sequence {
            pack(&open.layout, tile.samples, columns, place, packed)
                .map_err(|error| open.store.of_tile(error))?;
            let mut bytes = sequence.memory();
            let Layout {
                compression, bits, ..
            } = open.layout;
            compression
                .encode(packed, open.layout.tile.0, bits, &mut bytes, compressor)
                .map_err(|error| open.store.failed(error))?;
            self.spare().push(spare);
            let item = Item { tile: number, bytes };
            return sequence.put(&open.store, number, item, &|_, _| ());
        }
        let offset = open.store.head().tiles + number * open.layout.tile_bytes();
        let native = tile.samples.native_bytes();
        let whole = native.len() as u64 == open.layout.tile_bytes();
        let as_they_lie = open.layout.raster.depth == Depth::Eight || cfg!(target_endian = "little");
        let bytes = if whole && as_they_lie && open.layout.bits > 1 {
            native
        } else {
            pack(&open.layout, tile.samples, columns, place, packed)
                .map_err(|error| open.store.of_tile(error))?;
            &*packed
        };
        open.store.write(bytes, offset)?;
        let length = bytes.len() as u32; // at most 2^31 − 1, by the layout
        self.spare().push(spare);
        open.store.note(number, Stored { offset, length })
    }

    fn spare(&self) -> std::sync::MutexGuard<'_, Vec<Spare>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a tile has the samples of its pixels.
pub(super) fn check(tile: &Tile<'_>, raster: &Raster) -> Result<(), SinkError> {
    let found = match tile.samples {
        Samples::Eight(_) => Depth::Eight,
        Samples::Sixteen(_) => Depth::Sixteen,
    };
    if found == raster.depth && tile.samples.len() as u128 == tile.rect.area() {
        return Ok(());
    }
    Err(SinkError::Samples {
        pixels: tile.rect.area(),
        depth: raster.depth,
        samples: tile.samples.len(),
        found,
    })
}

/// The tiles at the start of a file that are there, in order, and where they end.
fn found_in_order(store: &Store) -> Result<(u64, u64), SinkError> {
    let (mut count, mut end) = (0, store.head().tiles);
    if !store.is_new {
        store.each_listed(&mut |_, tile| {
            let next = tile.length > 0 && tile.offset == end;
            if next {
                count += 1;
                end += u64::from(tile.length);
            }
            next
        })?;
    }
    Ok((count, end))
}

impl TileSink for TiledTiff {
    fn grid(&self, raster: &Raster) -> io::Result<Grid> {
        let (width, height) = self.layout(raster)?.tile;
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
        // What has no layout is refused by `grid`.
        let in_order = self.options.compression != Compression::None;
        self.layout(raster).map_or(0, |layout| {
            memory(&layout, threads.max(self.options.threads), in_order)
        })
    }

    fn begin(&mut self, raster: &Raster, grid: &Grid, tiles: &Range<u128>) -> io::Result<()> {
        let layout = self.layout(raster)?;
        if grid.tile() != layout.tile || grid.count() != u128::from(layout.tiles) {
            return Err(SinkError::State {
                call: "begin",
                state: "has another grid",
            }
            .into());
        }
        if layout.compression != Compression::None && *tiles != (0..grid.count()) {
            return Err(SinkError::PartsInOrder {
                compression: layout.compression,
            }
            .into());
        }
        self.completion = None;
        // A file that is open still, because the last run was stopped, is taken up again: its lock is given up first.
        self.open = None;
        let store = Store::open(&self.path, &layout, self.in_parts)?;
        // Others may complete it at any time, where this part has nothing to add.
        self.is_there = self.in_parts && Store::is_complete(&self.path, &layout) && store.discard_new();
        if self.is_there {
            return Ok(());
        }
        let (mut found, mut sequence) = (0, None);
        if layout.compression != Compression::None {
            let end;
            (found, end) = found_in_order(&store)?;
            let room = EARLY.saturating_mul(self.options.threads as u64).max(1);
            sequence = Some(Sequence::new(found, end, room, None));
        }
        self.open = Some(Open {
            layout,
            store,
            sequence,
            found,
            looked: Looked::default(),
        });
        Ok(())
    }

    fn has(&self, number: u128) -> io::Result<bool> {
        if self.is_there {
            return Ok(true);
        }
        let open = self.opened("has")?;
        let number = u64::try_from(number).unwrap_or(u64::MAX);
        if open.store.is_new || open.sequence.is_some() {
            return Ok(number < open.found);
        }
        let stored = open.looked.at(number, || {
            let count = open.layout.tiles.saturating_sub(number).min(AT_ONCE as u64);
            let mut tiles = vec![Stored { offset: 0, length: 0 }; count as usize];
            open.store.listed(number, &mut tiles)?;
            Ok(tiles)
        })?;
        Ok(stored.is_some_and(|tile| tile.length > 0))
    }

    fn write(&self, tile: &Tile<'_>) -> io::Result<()> {
        Ok(self.take(tile)?)
    }

    fn stop(&self) {
        if let Some(sequence) = self.open.as_ref().and_then(|open| open.sequence.as_ref()) {
            sequence.stop();
        }
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
        let end = match &open.sequence {
            Some(sequence) => sequence.reached().1,
            None => open.store.head().tiles + open.layout.all_bytes(),
        };
        self.completion = Some(open.store.complete(end)?);
        Ok(())
    }
}

impl Drop for TiledTiff {
    /// Notes what is written, for who goes on.
    fn drop(&mut self) {
        if let Some(open) = &self.open {
            let _ = open.store.flush();
        }
    }
}
