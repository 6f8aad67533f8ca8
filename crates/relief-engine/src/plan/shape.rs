//! How the raster may be cut: bands, tiles, cached tiles, the most welcome first.

use super::Shape;
use super::draft::Draft;

/// Samples of a tile in a tree without a halo: a tile and the tiles its parents need stay in a core's cache.
const TILE_SAMPLES: u64 = 1 << 18;

/// Bytes of a band that one worker computes: two of them and what is read for them stay in a core's second cache.
const OWN_BAND_BYTES: u64 = 1 << 19;

/// The bytes of the longest row that one worker computes by itself.
const OWN_ROW_BYTES: u64 = 1 << 22;

/// Bytes of a band that make the hand-over from worker to sink cheap beside computing it.
const BAND_BYTES: u64 = 1 << 22;

/// The least columns and rows of a cached tile.
const LEAST_CACHED: u64 = 32;

/// The least side of square tiles.
const SQUARE: u64 = 256;

/// Rows of a tile in a tree without a halo.
const TILE_ROWS: u64 = 64;

impl Draft<'_> {
    /// Columns and rows of cached tiles, the most welcome first. Tiles of a few pixels would cost more to find than to
    /// compute: where tiles of the raster are that small, cached ones are several of them wide and high.
    pub(super) fn cached_tiles(&self, shape: Shape) -> Vec<(u64, u64)> {
        if self.options.tile.is_some() {
            let several = |side: u64| LEAST_CACHED.div_ceil(side) * side;
            return vec![(several(shape.tile_width), several(shape.tile_height))];
        }
        let smallest = |side: u64| side.clamp(LEAST_CACHED, 64);
        vec![
            (256, 256),
            (128, 128),
            (64, 64),
            (smallest(shape.tile_width), smallest(shape.tile_height)),
        ]
    }

    /// The ways to cut the raster, the most welcome first; `turned` asks for square tiles, `tall` for tiles of many rows.
    pub(super) fn shapes(&self, halo: u64, turned: bool, tall: bool) -> Vec<Shape> {
        let (width, height) = (self.region.width(), self.region.height());
        let bytes = self.program.canvas.depth.bytes();
        let mut shapes = Vec::new();
        let rows_of_band = |least: u64| (BAND_BYTES / (width * bytes)).max(least).clamp(1, height);
        let mut rows = if let Some((_, rows)) = self.options.tile {
            rows_of_band(rows) / rows.min(height) * rows.min(height)
        } else if turned {
            rows_of_band(SQUARE)
        } else if halo == 0 {
            rows_of_band(if tall { TILE_ROWS } else { 1 })
        } else {
            rows_of_band((2 * halo).clamp(TILE_ROWS, 512))
        };
        let least = self.options.tile.map_or(1, |(_, rows)| rows.min(height));
        // Bands are a multiple of what the sink wants as long as they are at least as high.
        let wanted = self.wanted_rows(height).filter(|_| self.options.tile.is_none());
        let multiple = |rows: u64| match wanted {
            Some(wanted) if rows >= wanted => rows / wanted * wanted,
            _ => rows,
        };
        if let Some(wanted) = wanted {
            rows = multiple(rows.max(wanted));
        }
        let longest = if tall {
            OWN_ROW_BYTES / TILE_ROWS
        } else {
            OWN_ROW_BYTES
        };
        if halo == 0 && !turned && self.options.tile.is_none() && width * bytes <= longest {
            let own = self.own_bands(width, height, bytes, tall);
            if multiple(own.band_height) == own.band_height
                && wanted.is_none_or(|rows| own.band_height >= rows)
            {
                shapes.push(own);
            }
        }
        loop {
            let tile = self
                .options
                .tile
                .map_or_else(|| tile(rows, width, bytes, halo, turned), |tile| (tile.0, tile.1));
            let (tile_width, tile_height) = (tile.0.min(width), tile.1.min(rows));
            let all = usize::try_from(height.div_ceil(rows)).unwrap_or(usize::MAX);
            for bands in [3, 2] {
                shapes.push(Shape {
                    tile_width,
                    tile_height,
                    band_width: width,
                    band_height: rows,
                    bands: all.min(bands),
                    alone: false,
                });
            }
            if rows <= least {
                break;
            }
            rows = multiple((rows / 2 / least * least).max(least));
        }
        // Narrower tiles take less scratch; then fewer bands; then parts of a row.
        let last = self.options.tile.map_or(64, |tile| tile.0).min(width);
        let narrow = Shape {
            tile_width: last,
            tile_height: least,
            band_width: width,
            band_height: least,
            bands: 2,
            alone: false,
        };
        shapes.push(narrow);
        shapes.push(Shape { bands: 1, ..narrow });
        let mut columns = width;
        while columns > 4_096 {
            columns = columns.div_ceil(2);
            let tile_width = last.min(columns);
            shapes.push(Shape {
                tile_width,
                tile_height: 1,
                band_width: columns,
                band_height: 1,
                bands: 2,
                alone: false,
            });
        }
        shapes
    }

    /// The rows that bands should be a multiple of, of a raster of so many; `None` where any number does.
    pub(super) fn wanted_rows(&self, height: u64) -> Option<u64> {
        self.options
            .rows
            .filter(|rows| *rows > 1)
            .map(|rows| rows.min(height))
    }

    /// Bands of which each is one worker's, two for every worker; low enough that a small raster has some for all.
    fn own_bands(&self, width: u64, height: u64, bytes: u64, tall: bool) -> Shape {
        let workers = self.threads as u64;
        let rows = OWN_BAND_BYTES / (width * bytes);
        // What finds its edges anew in every tile gains more by rows than it loses by leaving the cache.
        let rows = if tall { rows.max(TILE_ROWS) } else { rows };
        let rows = rows.clamp(1, height.div_ceil(4 * workers));
        let rows = match self.wanted_rows(height) {
            Some(wanted) if rows >= wanted => rows / wanted * wanted,
            _ => rows,
        };
        // Rows as long as they can be: what begins and ends a row weighs little.
        let samples = TILE_SAMPLES / bytes;
        let tile_width = width.min(if tall { (samples / rows).max(1) } else { samples });
        let tile_height = rows.min(samples / tile_width);
        let all = usize::try_from(height.div_ceil(rows)).unwrap_or(usize::MAX);
        Shape {
            tile_width,
            tile_height,
            band_width: width,
            band_height: rows,
            bands: all.min(2 * self.threads),
            alone: true,
        }
    }
}

/// Columns and rows of a tile in bands of `rows` rows.
pub(super) fn tile(rows: u64, width: u64, bytes: u64, halo: u64, turned: bool) -> (u64, u64) {
    if turned {
        // What is read of a turned source is the box around the tile, which is large where the tile is long.
        let side = (4 * halo).clamp(SQUARE, 512);
        return (side.min(width), rows.min(side));
    }
    if halo == 0 {
        let height = rows.min(TILE_ROWS);
        return ((TILE_SAMPLES / bytes / height).clamp(1, width), height);
    }
    // A halo is read again by every neighbour: tiles several halos wide keep that share small.
    let height = rows.min((2 * halo).clamp(TILE_ROWS, 512));
    ((4 * halo).clamp(1_024, 4_096).min(width), height)
}
