//! Tiles of a raster, for sinks that take them from any thread and in any order.

use std::io;
use std::ops::Range;

use relief_raster::Rect;

use crate::sink::{Raster, Samples};

/// The grid of tiles of a raster: all of one size, but for those at the right and lower border.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    raster: (u64, u64),
    tile: (u64, u64),
}

impl Grid {
    /// The grid of tiles of `width` × `height` pixels; `None` where a side is 0.
    #[must_use]
    pub const fn new(raster: &Raster, width: u64, height: u64) -> Option<Self> {
        if width == 0 || height == 0 {
            return None;
        }
        Some(Self {
            raster: (raster.width, raster.height),
            tile: (width, height),
        })
    }

    /// Columns of tiles.
    #[must_use]
    pub const fn columns(&self) -> u64 {
        self.raster.0.div_ceil(self.tile.0)
    }

    /// Rows of tiles.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        self.raster.1.div_ceil(self.tile.1)
    }

    /// The number of tiles. They are numbered row by row, from 0.
    #[must_use]
    pub const fn count(&self) -> u128 {
        self.columns() as u128 * self.rows() as u128
    }

    /// Columns and rows of a tile that no border cuts.
    #[must_use]
    pub const fn tile(&self) -> (u64, u64) {
        self.tile
    }

    /// The pixels of a tile, in coordinates of the streamed raster; empty beyond the last.
    #[must_use]
    pub fn rect(&self, number: u128) -> Rect {
        if number >= self.count() {
            return Rect::EMPTY;
        }
        let columns = u128::from(self.columns());
        let (width, height) = (u128::from(self.tile.0), u128::from(self.tile.1));
        // Both lie in the raster, which has at most 2^40 pixels a side.
        let (x, y) = (
            (number % columns * width) as i64,
            (number / columns * height) as i64,
        );
        let end =
            |from: i64, side: u64, all: u64| all.min(from.unsigned_abs().saturating_add(side)).cast_signed();
        Rect::between(
            x,
            y,
            end(x, self.tile.0, self.raster.0),
            end(y, self.tile.1, self.raster.1),
        )
    }

    /// The pixels of some tiles.
    #[must_use]
    pub fn pixels(&self, tiles: &Range<u128>) -> u128 {
        let columns = u128::from(self.columns()).max(1);
        // Those of all tiles before this one.
        let before = |number: u128| {
            let number = number.min(self.count());
            let (rows, rest) = (number / columns, number % columns);
            let (width, height) = (u128::from(self.raster.0), u128::from(self.raster.1));
            let top = (rows * u128::from(self.tile.1)).min(height);
            let bottom = (top + u128::from(self.tile.1)).min(height);
            top * width + (rest * u128::from(self.tile.0)).min(width) * (bottom - top)
        };
        before(tiles.end).saturating_sub(before(tiles.start))
    }

    /// The tiles of one of `parts` parts, counted from 0; `None` where there is no such part. No part has more than one
    /// tile more than another.
    #[must_use]
    pub fn part(&self, part: u64, parts: u64) -> Option<Range<u128>> {
        let (whole, rest) = (
            self.count().checked_div(parts.into())?,
            self.count().checked_rem(parts.into())?,
        );
        let begin = |part: u128| whole * part + part.min(rest);
        (part < parts).then(|| begin(part.into())..begin(u128::from(part) + 1))
    }
}

/// A tile with its samples.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Tile<'a> {
    /// Its number in the grid.
    pub number: u128,
    /// Its pixels, in coordinates of the streamed raster.
    pub rect: Rect,
    /// Its samples: packed rows.
    pub samples: Samples<'a>,
}

impl<'a> Tile<'a> {
    /// The tile of this number and these pixels.
    #[must_use]
    pub const fn new(number: u128, rect: Rect, samples: Samples<'a>) -> Self {
        Self {
            number,
            rect,
            samples,
        }
    }
}

/// Takes the tiles of one raster, from any thread, in any order, each once.
///
/// Tiles that it has already, of an earlier run or by another process, are not computed. A sink that is dropped
/// before [`finish`](TileSink::finish) must leave nothing behind that could be taken for a complete raster.
pub trait TileSink: Sync {
    /// The grid of its tiles, for such a raster.
    ///
    /// # Errors
    /// Where the sink cannot take such a raster.
    fn grid(&self, raster: &Raster) -> io::Result<Grid>;

    /// The bytes that it holds while so many threads write, for the plan.
    fn memory(&self, raster: &Raster, threads: usize) -> u64;

    /// Called once, before the first tile. This run hands on `tiles` of the grid: all of them, or a part that other runs complete.
    ///
    /// # Errors
    /// Where nothing can be written, and where the sink takes all tiles in one run and `tiles` are a part of them.
    fn begin(&mut self, raster: &Raster, grid: &Grid, tiles: &Range<u128>) -> io::Result<()>;

    /// Whether it has this tile already.
    ///
    /// # Errors
    /// Where that cannot be told.
    fn has(&self, number: u128) -> io::Result<bool> {
        let _ = number;
        Ok(false)
    }

    /// Takes a tile.
    ///
    /// # Errors
    /// Where it could not be written: the run then ends.
    fn write(&self, tile: &Tile<'_>) -> io::Result<()>;

    /// Whether a tile that is known to be 0 everywhere is handed to [`write_zeros`](Self::write_zeros), so that its samples are not made.
    fn takes_zeros(&self) -> bool {
        false
    }

    /// Takes a tile all of whose samples are 0. Only called where [`takes_zeros`](Self::takes_zeros) says so; tiles of zeros may
    /// still come to [`write`](Self::write).
    ///
    /// # Errors
    /// Where it could not be written: the run then ends.
    fn write_zeros(&self, number: u128) -> io::Result<()> {
        let _ = number;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Called, from any thread, where the run ends before its last tile: whoever waits in [`write`](Self::write) for another
    /// tile waits in vain, and should return an error. Calls of [`write`](Self::write) may still come.
    fn stop(&self) {}

    /// Called once, after the last tile of this run. A sink whose raster other runs complete decides here whether that is so.
    ///
    /// # Errors
    /// Where it could not be completed.
    fn finish(&mut self) -> io::Result<()>;
}
