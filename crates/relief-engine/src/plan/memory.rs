//! The memory that a way to cut the raster takes.

use relief_raster::Rect;

use super::draft::{Draft, level_readers};
use super::{Peak, Shape, prepare, saturate};
use crate::cache::UNIFORM_BYTES;
use crate::levels::Levels;
use crate::node::Request;
use crate::program::{Keep, Picture, Program, Step};

impl Draft<'_> {
    /// What does not depend on how the raster is cut.
    pub(super) fn fixed(&self, program: &Program) -> Peak {
        let bytes = program.canvas.depth.bytes();
        let size = |rect: Rect| saturate(rect.area()).saturating_mul(bytes);
        let kept = |step: &&Step| step.image.is_none();
        let sum = |sizes: &mut dyn Iterator<Item = u64>| sizes.fold(0, u64::saturating_add);
        // All threads may read windows of one that stays open at the same time.
        let held = |picture: &Picture| {
            let windows = picture.memory.saturating_mul(self.threads as u64);
            let windows = if picture.open {
                windows.saturating_add(picture.resident)
            } else {
                0
            };
            size(picture.held).saturating_add(windows)
        };
        let read_once = program.pictures.iter().filter(|picture| !picture.open);
        Peak {
            decoding: read_once
                .map(|picture| picture.memory.saturating_add(picture.resident))
                .max()
                .unwrap_or(0),
            fonts: program.font_bytes,
            sink: self.options.sink,
            levels: if self.options.levels {
                Levels::bytes(program, self.threads as u64, level_readers(self.options) as u64)
            } else {
                0
            },
            images: sum(&mut program.pictures.iter().map(held)),
            kept: sum(&mut program.steps.iter().filter(kept).map(|step| size(step.plane()))),
            // Those of the samples' depth; the design's own are its own.
            tables: sum(&mut program.tables.iter().map(|table| table.len() as u64 * bytes))
                .saturating_add(prepare::tables(program).saturating_mul(bytes)),
            // Planning holds the program twice, and so does a job on devices.
            design: program
                .design_bytes
                .saturating_add(program.bytes().saturating_mul(2)),
            ..Peak::default()
        }
    }

    /// Scratch of one thread and the least cache for tiles of this shape.
    pub(super) fn sizes(&self, program: &Program, shape: Shape) -> Sizes {
        let bytes = program.canvas.depth.bytes();
        let count = program.steps.len();
        let (mut widths, mut heights) = (vec![0_u64; count], vec![0_u64; count]);
        let mut own = vec![0_u64; count];
        widths[program.root()] = shape.tile_width;
        heights[program.root()] = shape.tile_height;
        for index in (0..count).rev() {
            let step = &program.steps[index];
            if step.need.is_empty() {
                continue;
            }
            let plane = step.plane();
            let made = (
                shape.tile_width.min(plane.width()),
                shape.tile_height.min(plane.height()),
            );
            let (width, height) = match step.keep {
                Keep::Cell { .. } if step.has_border() => {
                    (widths[index].max(made.0), heights[index].max(made.1))
                }
                Keep::Cell { .. } | Keep::Whole => made,
                Keep::Cached | Keep::Windows => (
                    program.cached_tile(index).width,
                    program.cached_tile(index).height,
                ),
                Keep::No | Keep::Image => (widths[index], heights[index]),
            };
            let request = Request { width, height };
            #[cfg(feature = "gpu")]
            let request = if step.lowering() == crate::node::device::Lowering::Host {
                // The host computes it for a device as it does a raster.
                Request {
                    width: request.width.max(shape.tile_width.min(step.width)),
                    height: request.height.max(shape.tile_height.min(step.height)),
                }
            } else {
                request
            };
            own[index] = step.kind.scratch(&step.links, &request, bytes);
            if let (Some(_), Some(link)) = (step.kind.preparation(), step.links.first()) {
                let (width, height) = (&mut widths[link.node], &mut heights[link.node]);
                *width = (*width).max(shape.tile_width.min(link.extent.width()));
                *height = (*height).max(shape.tile_height.min(link.extent.height()));
            }
            for (number, link) in step.links.iter().enumerate() {
                let asked = step.kind.asks(link, number, &request);
                widths[link.node] = widths[link.node].max(asked.width);
                heights[link.node] = heights[link.node].max(asked.height);
            }
        }
        let mut words = vec![0_u64; count];
        let mut most_words = 0;
        for (index, step) in program.steps.iter().enumerate() {
            if step.need.is_empty() {
                continue;
            }
            let reached = step.links.iter().filter(|link| {
                let child = &program.steps[link.node];
                match child.keep {
                    Keep::Whole => false,
                    Keep::Cell { .. } => child.has_border(),
                    _ => true,
                }
            });
            let below = reached.map(|link| words[link.node]).max().unwrap_or(0);
            words[index] = own[index].saturating_add(below);
            most_words = most_words.max(words[index]);
        }
        Sizes {
            words: most_words,
            cache: least_cache(program, shape).saturating_mul(self.threads as u64),
        }
    }

    /// The cache that holds every tile two bands in a row read.
    pub(super) fn useful(&self, program: &Program, shape: Shape, halo: u64) -> u64 {
        let mut total = 0_u64;
        for (index, step) in program.steps.iter().enumerate() {
            if !step.keep.is_cached() || step.need.is_empty() {
                continue;
            }
            let tile = program.cached_tile(index);
            let columns = (shape.band_width + 2 * halo).min(step.width).div_ceil(tile.width) + 1;
            let rows = (2 * shape.band_height + 2 * halo)
                .min(step.height)
                .div_ceil(tile.height)
                + 1;
            total = total.saturating_add(columns.saturating_mul(rows).saturating_mul(cached_bytes(program)));
        }
        total
    }
}

/// The bytes of a tile in the cache.
fn cached_bytes(program: &Program) -> u64 {
    let samples = program.cached.0.saturating_mul(program.cached.1);
    samples
        .saturating_mul(program.canvas.depth.bytes())
        .saturating_add(UNIFORM_BYTES)
}

/// The least cache for one thread: of every cached node what lets a tile of the raster be computed without computing
/// a tile twice for the same reader.
///
/// A cached node that the tile itself reads needs a row of its tiles: chunks of the window that is read may end within
/// one. A node that is read by cached tiles needs all rows that one of them reads, across everything that the tile
/// of the raster reads: the next cached tile in the row, and then the next row of them, reads most of it again. With less,
/// every level of halos in halos would multiply the work.
fn least_cache(program: &Program, shape: Shape) -> u64 {
    let count = program.steps.len();
    // Columns that a tile of the raster reads in all; rows that one computation reads; whether that is a cached tile's.
    let mut reads = vec![(0_u64, 0_u64, false); count];
    reads[program.root()] = (shape.tile_width, shape.tile_height, false);
    let mut total = 0_u64;
    for index in (0..count).rev() {
        let step = &program.steps[index];
        if step.need.is_empty() {
            continue;
        }
        let (columns, rows, below) = reads[index];
        let (columns, rows, below) = match step.keep {
            Keep::Cached | Keep::Windows => {
                let tile = program.cached_tile(index);
                let all = |side: u64, tile: u64| side.div_ceil(tile) + 1;
                let across = all(columns, tile.width).min(step.width.div_ceil(tile.width));
                let down = if below { all(rows, tile.height) } else { 1 };
                let down = down.min(step.height.div_ceil(tile.height));
                total =
                    total.saturating_add(across.saturating_mul(down).saturating_mul(cached_bytes(program)));
                (across.saturating_mul(tile.width), tile.height, true)
            }
            // What is kept is made tile by tile, as the raster is.
            Keep::Cell { .. } | Keep::Whole => {
                (columns.max(shape.tile_width), rows.max(shape.tile_height), below)
            }
            Keep::No | Keep::Image => (columns, rows, below),
        };
        for (number, link) in step.links.iter().enumerate() {
            let request = Request {
                width: columns,
                height: rows,
            };
            let asked = step.kind.asks(link, number, &request);
            // A distance asks for rows in chunks, but reads all of its window.
            let window = rows.saturating_add(2 * u64::from(step.kind.footprint(link, number).halo()));
            let window = window.min(link.extent.height()).max(asked.height);
            let so_far = &mut reads[link.node];
            *so_far = (so_far.0.max(asked.width), so_far.1.max(window), so_far.2 | below);
        }
    }
    total
}

pub(super) struct Sizes {
    /// Words of scratch of one thread.
    pub(super) words: u64,
    /// The bytes of all tiles that all threads may hold at once.
    pub(super) cache: u64,
}

/// Whether nodes that are computed anew for every tile have rows that lie across those of what they read.
pub(super) fn is_turned(program: &Program) -> bool {
    anew(program).any(|step| step.kind.is_turned())
}

/// Whether nodes that are computed anew for every tile are cheaper in tiles of many rows.
pub(super) fn is_tall(program: &Program) -> bool {
    anew(program).any(|step| step.kind.is_tall())
}

/// Nodes that are computed anew for every tile.
fn anew(program: &Program) -> impl Iterator<Item = &Step> {
    program.steps.iter().filter(|step| {
        let kept = matches!(step.keep, Keep::Cell { .. } | Keep::Whole);
        !step.need.is_empty() && !kept
    })
}

/// The sum of the halos on the longest way from the root to a node that is computed anew for every tile.
pub(super) fn halo(program: &Program) -> u64 {
    let mut halos = vec![0_u64; program.steps.len()];
    let mut most = 0;
    for index in (0..program.steps.len()).rev() {
        let step = &program.steps[index];
        if step.need.is_empty() || matches!(step.keep, Keep::Cell { .. } | Keep::Whole) && !step.has_border()
        {
            continue;
        }
        most = most.max(halos[index]);
        for (number, link) in step.links.iter().enumerate() {
            let through = halos[index] + u64::from(step.kind.footprint(link, number).halo());
            halos[link.node] = halos[link.node].max(through);
            most = most.max(through);
        }
    }
    most
}
