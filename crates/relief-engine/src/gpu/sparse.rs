//! Planes that the host computes, on their way to a device: what is one sample over whole tiles is not carried.

use std::sync::atomic::{AtomicU32, Ordering};

use relief_kernels::device::{Buffer, DeviceError, Gpu};
use relief_kernels::tiles::gpu::{Grid, expand, packed, uniform};
use relief_raster::{Rect, Sample, ViewMut};

use super::store;
use crate::node::Filled;
use crate::plan::devices::{SPARSE, SPARSE_TILE};

/// The tiles of a plane and which of them are one sample.
pub(super) struct Sparse {
    grid: Grid,
    /// The entry of each tile that is; another word for those that were written.
    entries: Vec<AtomicU32>,
}

/// Of a tile that was written.
const WRITTEN: u32 = 0;

/// Words and rows of a tile: a line of the caches and as many rows.
const WORDS: u32 = 16;
const ROWS: u32 = (SPARSE_TILE / WORDS as u64) as u32;

impl Sparse {
    /// The tiles of a plane of rows of `pitch` words; `None` where it is too small, or the host computes less than a tile at once.
    pub(super) fn new<S: Sample>((width, height): (usize, usize), need: Rect, pitch: u32) -> Option<Self> {
        let grid = Grid {
            pitch,
            height: u32::try_from(need.height()).ok()?,
            words: WORDS,
            rows: ROWS,
        };
        let has_tile = width * size_of::<S>() >= 4 * WORDS as usize && height >= ROWS as usize;
        if !has_tile || pitch < WORDS || grid.height < ROWS {
            return None;
        }
        let entries = (0..grid.count()).map(|_| AtomicU32::new(WRITTEN)).collect();
        Some(Self { grid, entries })
    }

    /// Columns and rows of a tile.
    const fn tile<S: Sample>() -> (usize, usize) {
        (WORDS as usize * 4 / size_of::<S>(), ROWS as usize)
    }

    /// What the host computes at once, of so many columns and rows, in whole tiles.
    pub(super) const fn whole<S: Sample>((width, height): (usize, usize)) -> (usize, usize) {
        let (columns, rows) = Self::tile::<S>();
        (width / columns * columns, height / rows * rows)
    }

    /// Notes which tiles of a part are one sample, that lies at (x, y) in the plane and begins with a tile.
    pub(super) fn note<S: Sample>(&self, (x, y): (usize, usize), filled: Filled<S>, part: &ViewMut<'_, S>) {
        let (columns, rows) = Self::tile::<S>();
        let across = self.grid.across() as usize;
        for top in (0..part.height()).step_by(rows) {
            for left in (0..part.width()).step_by(columns) {
                let value = match filled {
                    Filled::Uniform(value) => Some(value),
                    Filled::Written => {
                        let size = (columns.min(part.width() - left), rows.min(part.height() - top));
                        one_sample(part, (left, top), size)
                    }
                };
                let Some(value) = value.map(Sample::to_u16) else {
                    continue;
                };
                let samples = if size_of::<S>() == 1 { value * 0x101 } else { value };
                let place = (y + top) / rows * across + (x + left) / columns;
                self.entries[place].store(uniform(samples), Ordering::Relaxed);
            }
        }
    }

    /// The plane on a device: from its tiles, where few of them were written, else whole. `tiles` is memory for them.
    pub(super) fn upload<S: Sample>(
        self,
        gpu: &Gpu,
        plane: &mut [u32],
        width: u64,
        tiles: &mut Vec<u32>,
    ) -> Result<Buffer, DeviceError> {
        let grid = self.grid;
        let mut entries: Vec<u32> = self.entries.into_iter().map(AtomicU32::into_inner).collect();
        // Words behind the last sample of a row are 0, so that a tile that reaches over them is one sample only where that is 0.
        let across = grid.across() as usize;
        if width as usize * size_of::<S>() < grid.pitch as usize * 4 {
            for number in (across - 1..entries.len()).step_by(across) {
                if ![WRITTEN, uniform(0)].contains(&entries[number]) {
                    fill(plane, grid, number, entries[number]);
                    entries[number] = WRITTEN;
                }
            }
            clear_ends::<S>(plane, grid.pitch, width);
        }
        let written = entries.iter().filter(|entry| **entry == WRITTEN).count() as u64;
        tracing::trace!(
            "{written} of {} tiles of a plane hold more than one sample",
            entries.len()
        );
        let packed_words = (written * grid.tile()) as usize;
        tiles.clear();
        let dense = written * grid.tile() * SPARSE > plane.len() as u64;
        if dense || tiles.try_reserve_exact(packed_words).is_err() {
            // What the plan counts for tiles is the way of the whole plane now.
            *tiles = Vec::new();
            for (number, entry) in entries.iter().enumerate().filter(|(_, entry)| **entry != WRITTEN) {
                fill(plane, grid, number, *entry);
            }
            store::to_device::<S>(plane);
            drop(entries);
            return gpu.upload(plane);
        }
        for (number, entry) in entries
            .iter_mut()
            .enumerate()
            .filter(|(_, entry)| **entry == WRITTEN)
        {
            *entry = packed((tiles.len() as u64 / grid.tile()) as u32);
            let end = tiles.len() + grid.tile() as usize;
            for row in rows(grid, number) {
                let next = tiles.len() + grid.words as usize;
                tiles.extend_from_slice(&plane[row]);
                tiles.resize(next, 0);
            }
            tiles.resize(end, 0);
        }
        store::to_device::<S>(tiles);
        let buffer = gpu.buffer(plane.len())?;
        expand(gpu, grid, &entries, tiles, &buffer)?;
        Ok(buffer)
    }
}

/// The words of each row of a tile, as far as it lies in its plane.
fn rows(grid: Grid, number: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let (pitch, words, across) = (grid.pitch as usize, grid.words as usize, grid.across() as usize);
    let (left, top) = (number % across * words, number / across * grid.rows as usize);
    let right = (left + words).min(pitch);
    let bottom = (top + grid.rows as usize).min(grid.height as usize);
    (top..bottom).map(move |y| y * pitch + left..y * pitch + right)
}

/// The sample that all of a tile are.
fn one_sample<S: Sample>(
    part: &ViewMut<'_, S>,
    (left, top): (usize, usize),
    (width, height): (usize, usize),
) -> Option<S> {
    let value = part.row(top)[left];
    // Without a branch within a row the compiler compares whole vectors.
    let same = |row: &[S]| row.iter().fold(true, |same, sample| same & (*sample == value));
    let mut rows = top..top + height;
    rows.all(|y| same(&part.row(y)[left..left + width]))
        .then_some(value)
}

/// Writes a tile of one sample.
fn fill(plane: &mut [u32], grid: Grid, number: usize, entry: u32) {
    for row in rows(grid, number) {
        plane[row].fill((entry & 0xFFFF) * 0x1_0001);
    }
}

/// Makes 0 what lies behind the last sample of each row.
pub(super) fn clear_ends<S: Sample>(plane: &mut [u32], pitch: u32, width: u64) {
    let samples: &mut [S] = bytemuck::cast_slice_mut(plane);
    for row in samples.chunks_exact_mut(pitch as usize * 4 / size_of::<S>()) {
        row[width as usize..].fill(S::ZERO);
    }
}
