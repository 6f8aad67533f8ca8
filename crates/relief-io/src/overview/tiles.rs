//! An overview of a raster that is written in tiles.

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use relief_atomic::{AtomicFile, Cleanup};
use relief_engine::sink::Raster;
use relief_engine::{Grid, Tile, TileSink};

use super::{Block, ENTRY, FIRST, Layout, SIDE, begun, entry, gather_rows, of_entry};
use crate::sink::positioned::{read_at, write_all_at};

/// Hands tiles to another sink and leaves an [`Overview`](super::Overview) of them behind, where every block of 256 × 256 pixels lies in one tile and all tiles are computed in one
/// run. It appears only when the other sink is complete. What goes wrong with the overview itself does not fail the job: see [`problem`](Self::problem).
#[derive(Debug)]
pub struct OverviewTiles<T> {
    inner: T,
    path: PathBuf,
    cleanup: Cleanup,
    digest: [u8; 32],
    writing: Option<(AtomicFile, Layout)>,
    problem: Mutex<Option<io::Error>>,
}

/// Whether no block lies in two tiles.
const fn is_aligned(grid: &Grid, raster: &Raster) -> bool {
    let (width, height) = grid.tile();
    (width % SIDE == 0 || width >= raster.width) && (height % SIDE == 0 || height >= raster.height)
}

/// The blocks that a tile meets along an axis.
const fn blocks(side: u64) -> u64 {
    side.div_ceil(SIDE)
}

impl<T: TileSink> OverviewTiles<T> {
    /// Writes the overview of a raster of this name to `path`.
    pub fn new(inner: T, path: PathBuf, digest: [u8; 32]) -> Self {
        Self {
            inner,
            path,
            cleanup: Cleanup::default(),
            digest,
            writing: None,
            problem: Mutex::new(None),
        }
    }

    /// Has its partial file removed by `cleanup`, from the handler of an interrupt.
    #[must_use]
    pub fn with_cleanup(mut self, cleanup: Cleanup) -> Self {
        self.cleanup = cleanup;
        self
    }

    /// The sink that takes the tiles.
    pub fn into_inner(self) -> T {
        self.inner
    }

    /// Why there is no overview although the raster is complete.
    pub fn problem(&self) -> Option<String> {
        let problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        problem.as_ref().map(ToString::to_string)
    }

    fn give_up(&self, error: io::Error) {
        let mut problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        problem.get_or_insert(error);
    }

    fn gave_up(&self) -> bool {
        let problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        problem.is_some()
    }

    fn take(&self, tile: &Tile<'_>, (file, layout): (&AtomicFile, &Layout)) -> io::Result<()> {
        let rect = tile.rect;
        let width = rect.width() as usize;
        let (left, top) = (rect.x().unsigned_abs() / SIDE, rect.y().unsigned_abs() / SIDE);
        let mut row = vec![Block::EMPTY; blocks(rect.width()) as usize];
        let mut bytes = Vec::with_capacity(row.len() * ENTRY);
        for block in 0..blocks(rect.height()) {
            row.fill(Block::EMPTY);
            let lines = block * SIDE..rect.height().min((block + 1) * SIDE);
            let part = lines.start as usize * width..lines.end as usize * width;
            gather_rows(&mut row, 0, &tile.samples, part, width);
            bytes.clear();
            row.iter().for_each(|block| bytes.extend(entry(*block)));
            let place = (top + block) * layout.size(FIRST).0 + left;
            write_all_at(file.file(), &bytes, layout.offset(FIRST) + place * ENTRY as u64)?;
        }
        Ok(())
    }
}

/// Sums the finest level to all others.
fn sum_up(file: &AtomicFile, layout: &Layout) -> io::Result<()> {
    for level in FIRST + 1..=layout.last {
        let (finer, (columns, rows)) = (layout.size(level - 1), layout.size(level));
        let mut read = vec![0; finer.0 as usize * ENTRY];
        let mut bytes = Vec::with_capacity(columns as usize * ENTRY);
        for y in 0..rows {
            let mut row = vec![Block::EMPTY; columns as usize];
            for line in 2 * y..finer.1.min(2 * y + 2) {
                let offset = layout.offset(level - 1) + line * finer.0 * ENTRY as u64;
                read_at(file.file(), &mut read, offset)?;
                for (pair, block) in read.chunks(2 * ENTRY).zip(&mut row) {
                    pair.chunks_exact(ENTRY).for_each(|one| block.add(of_entry(one)));
                }
            }
            bytes.clear();
            row.iter().for_each(|block| bytes.extend(entry(*block)));
            let offset = layout.offset(level) + y * columns * ENTRY as u64;
            write_all_at(file.file(), &bytes, offset)?;
        }
    }
    Ok(())
}

impl<T: TileSink> TileSink for OverviewTiles<T> {
    fn grid(&self, raster: &Raster) -> io::Result<Grid> {
        self.inner.grid(raster)
    }

    fn memory(&self, raster: &Raster, threads: usize) -> u64 {
        let own = self.inner.grid(raster).map_or(0, |grid| {
            let across = blocks(grid.tile().0.min(raster.width));
            // A row of blocks of each thread; at the end rows of two levels.
            let tiles = across.saturating_mul(threads as u64);
            tiles
                .max(2 * blocks(raster.width))
                .saturating_mul((size_of::<Block>() + ENTRY) as u64)
        });
        self.inner.memory(raster, threads).saturating_add(own)
    }

    fn begin(&mut self, raster: &Raster, grid: &Grid, tiles: &Range<u128>) -> io::Result<()> {
        self.inner.begin(raster, grid, tiles)?;
        let made = if *tiles != (0..grid.count()) {
            Err(io::Error::other("other parts are written by other runs"))
        } else if is_aligned(grid, raster) {
            begun(&self.path, &self.cleanup, &self.digest, raster)
        } else {
            Err(io::Error::other(
                "tiles are no multiples of 256 pixels; give --file-tile such as 512x512",
            ))
        };
        match made {
            Ok(made) => self.writing = Some(made),
            Err(error) => self.give_up(error),
        }
        Ok(())
    }

    fn has(&self, number: u128) -> io::Result<bool> {
        let has = self.inner.has(number)?;
        if has {
            self.give_up(io::Error::other("the file goes on where an earlier run ended"));
        }
        Ok(has)
    }

    fn write(&self, tile: &Tile<'_>) -> io::Result<()> {
        self.inner.write(tile)?;
        if let Some((file, layout)) = &self.writing
            && !self.gave_up()
            && let Err(error) = self.take(tile, (file, layout))
        {
            self.give_up(error);
        }
        Ok(())
    }

    fn stop(&self) {
        self.inner.stop();
    }

    fn finish(&mut self) -> io::Result<()> {
        self.inner.finish()?;
        if let Some((file, layout)) = self.writing.take()
            && !self.gave_up()
        {
            let done = sum_up(&file, &layout).and_then(|()| file.complete().map_err(io::Error::other));
            if let Err(error) = done {
                self.give_up(error);
            }
        }
        Ok(())
    }
}
