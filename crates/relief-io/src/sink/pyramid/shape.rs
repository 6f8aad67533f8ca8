//! How a raster and its levels are cut: tiles of one size in every level, and the tiles that one thread makes at a time.

use relief_engine::sink::Raster;
use relief_engine::{Grid, Statistic};
use relief_raster::Rect;

use crate::level::Level;
use crate::sink::SinkError;

/// The most pixels of a raster with levels: 64 bits hold the sum of so many samples.
const MAX_PIXELS: u128 = 1 << 48;

/// A unit has at most 2^3 tiles a side.
const MAX_UNIT: u32 = 3;

/// There are so many units, where there are so many tiles: all threads have some.
const UNITS: u64 = 64;

/// A raster and its levels in tiles, up to the level that is one tile.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// Columns and rows of a tile in each level, both even.
    pub(super) tile: (u64, u64),
    /// The raster itself, then its levels.
    pub(super) rasters: Vec<Raster>,
    /// Columns and rows of tiles of each, and the number of the first.
    grids: Vec<(u64, u64, u64)>,
    /// A unit is what a tile of this level stands for.
    pub(super) unit: u32,
}

impl Shape {
    pub(super) fn new(raster: &Raster, tile: (u64, u64)) -> Result<Self, SinkError> {
        let refused = |problem: String| Err(SinkError::Levels { problem });
        let (width, height) = tile;
        if width == 0 || height == 0 || width % 2 != 0 || height % 2 != 0 {
            let even = |side: u64| side.max(1).next_multiple_of(2);
            return refused(format!(
                "both sides of tiles must be even, and {width}x{height} was asked for: {}x{} would do",
                even(width),
                even(height)
            ));
        }
        if u128::from(raster.width) * u128::from(raster.height) > MAX_PIXELS {
            return refused(format!(
                "the raster has {} × {} pixels, and at most {MAX_PIXELS} are summed: write a part of it",
                raster.width, raster.height
            ));
        }
        let (mut rasters, mut grids, mut first) = (Vec::new(), Vec::new(), 0);
        for number in 0.. {
            let level = match Level::new(number, Statistic::Mean) {
                Ok(level) => level.raster(raster),
                Err(_) => break,
            };
            let (columns, rows) = (level.width.div_ceil(width), level.height.div_ceil(height));
            grids.push((columns, rows, first));
            rasters.push(level);
            // Fewer than 2^48, and a third more of all levels.
            first += columns * rows;
            if columns == 1 && rows == 1 {
                break;
            }
        }
        let units = |level: u32| {
            grids
                .get(level as usize)
                .map_or(0, |&(columns, rows, _)| columns * rows)
        };
        let top = grids.len() as u32 - 1;
        let unit = (0..=MAX_UNIT.min(top)).rev().find(|&level| units(level) >= UNITS);
        Ok(Self {
            tile,
            rasters,
            unit: unit.unwrap_or(0),
            grids,
        })
    }

    /// The coarsest level.
    pub(super) const fn top(&self) -> u32 {
        self.grids.len() as u32 - 1
    }

    /// Columns and rows of tiles of a level.
    pub(super) fn grid(&self, level: u32) -> (u64, u64) {
        let (columns, rows, _) = self.grids[level as usize];
        (columns, rows)
    }

    /// The number of a tile among those of all levels: those of the raster come first.
    pub(super) fn number(&self, level: u32, (column, row): (u64, u64)) -> u64 {
        let (columns, _, first) = self.grids[level as usize];
        first + row * columns + column
    }

    /// The number of the tiles of all levels.
    pub(super) fn tiles(&self) -> u64 {
        self.grids.iter().map(|(columns, rows, _)| columns * rows).sum()
    }

    /// The pixels of a tile, in its level.
    pub(super) fn rect(&self, level: u32, (column, row): (u64, u64)) -> Rect {
        let raster = &self.rasters[level as usize];
        Grid::new(raster, self.tile.0, self.tile.1).map_or(Rect::EMPTY, |grid| {
            grid.rect(u128::from(row) * u128::from(grid.columns()) + u128::from(column))
        })
    }

    /// The pixels of level 0 that sample (x, y) of a level stands for.
    pub(super) fn pixels(&self, level: u32, (x, y): (u64, u64)) -> u64 {
        let raster = &self.rasters[0];
        let side = 1_u64 << level;
        side.min(raster.width - x * side) * side.min(raster.height - y * side)
    }

    /// The columns and rows of sums that a unit hands to the level above it.
    pub(super) const fn sums(&self) -> (u64, u64) {
        (self.tile.0 / 2, self.tile.1 / 2)
    }
}
