//! Any function, in one pass over tiles in shared memory.
//!
//! A unit (thread) computes four columns of some rows. Row by row of the samples that these see, four columns
//! at a time, it loads samples once and adds to them heights of as many rows of the function as it has rows
//! of results: a vector of samples and one of heights for each row, for 16 additions and maxima a row.
//! Heights are the same for all units, so that loading them is one access of shared memory for a plane
//! (warp).

use cubecl::prelude::*;

use super::Plan;
use super::samples::{Picture, load, store};

impl Plan {
    /// Columns and rows of a cube's results.
    pub(super) const fn tile(&self) -> (u32, u32) {
        (4 * self.units.0, self.rows * self.units.1)
    }

    /// Tiles of a picture.
    pub(super) const fn tiles(&self, size: super::Size) -> u64 {
        let (columns, rows) = self.tile();
        size.width.div_ceil(columns) as u64 * size.height.div_ceil(rows) as u64
    }

    /// Fours and rows of the samples that a cube sees.
    const fn seen(&self) -> (u32, u32) {
        (self.units.0 + self.fours(), self.tile().1 + 2 * self.radius)
    }

    /// Fours of all heights: of a row those of the samples that they are added to for a unit's first column.
    pub(super) const fn heights(&self) -> u32 {
        self.fours() * self.side()
    }

    /// Bytes of shared memory.
    pub(super) const fn shared_by_tile(&self) -> u32 {
        let (across, down) = self.seen();
        16 * (across * down + self.heights())
    }

    /// Whether all fours of heights may be taken as whole: few places of theirs are outside of the function.
    const fn is_whole(&self) -> bool {
        8 * (4 * self.fours()) <= 9 * self.side()
    }

    /// The places of four heights that are the function's.
    const fn places(&self, four: u32) -> (u32, u32) {
        let (first, end) = (self.offset(), self.offset() + self.side());
        let (start, stop) = (4 * four, 4 * four + 4);
        let start = if start < first { first } else { start };
        let stop = if stop > end { end } else { stop };
        (start - 4 * four, stop - 4 * four)
    }
}

/// Dilates a picture; CUBE_POS_X counts tiles across, CUBE_POS_Y down.
#[cube(launch_unchecked)]
pub(super) fn dilate_tiles<L: Numeric, V: Size, W: Size>(
    source: &Array<Vector<u32, W>>,
    heights: &Array<Vector<L, V>>,
    out: &mut Array<Vector<u32, W>>,
    width: u32,
    height: u32,
    pitch: u32,
    least: u32,
    #[comptime] plan: Plan,
) {
    let picture = Picture {
        width,
        height,
        pitch,
        least,
    };
    let (across, down) = comptime!(plan.seen());
    let units = comptime!(plan.units.0 * plan.units.1);
    let mut seen = SharedMemory::<Vector<L, V>>::new(comptime!((across * down) as usize));
    let mut weights = SharedMemory::<Vector<L, V>>::new(comptime!(plan.heights() as usize));
    let mut place = UNIT_POS;
    while place < comptime!(plan.heights()) {
        weights[place as usize] = heights[place as usize];
        place += units;
    }
    let left = (CUBE_POS_X * plan.units.0) as i32 - comptime!(plan.halo() as i32);
    let top = (CUBE_POS_Y * comptime!(plan.tile().1)) as i32 - comptime!(plan.radius as i32);
    let mut place = UNIT_POS;
    while place < comptime!(across * down) {
        let four = left + (place % across) as i32;
        let y = top + (place / across) as i32;
        seen[place as usize] = load::<L, V, W>(source, four, y, picture, comptime!(plan.samples));
        place += units;
    }
    sync_cube();

    let (x, y) = (UNIT_POS % plan.units.0, UNIT_POS / plan.units.0);
    let rows = comptime!(plan.rows);
    let reach = comptime!(2 * plan.radius);
    let mut most = Array::<L>::new(comptime!((4 * rows) as usize));
    #[unroll]
    for q in 0..comptime!(4 * rows) {
        most[comptime!(q as usize)] = L::reinterpret(least);
    }
    let start = y * rows * across + x;
    if comptime!(reach + 1 < rows) {
        #[unroll]
        for i in 0..comptime!(rows + reach) {
            let (from, to) = comptime!((i.saturating_sub(reach), rows.min(i + 1)));
            take_row::<L, V>(&seen, &weights, &mut most, start, i, from, to, plan);
        }
    } else {
        // Rows that not all results of a unit see yet, those that all see, and those that not all see any more.
        #[unroll]
        for i in 0..comptime!(rows - 1) {
            take_row::<L, V>(&seen, &weights, &mut most, start, i, 0u32, comptime!(i + 1), plan);
        }
        for i in comptime!(rows - 1)..comptime!(reach + 1) {
            take_row::<L, V>(&seen, &weights, &mut most, start, i, 0u32, rows, plan);
        }
        #[unroll]
        for i in 1..rows {
            take_row::<L, V>(&seen, &weights, &mut most, start, reach + i, i, rows, plan);
        }
    }
    #[unroll]
    for j in 0..rows {
        store::<L, W>(
            out,
            &most,
            comptime!(4 * j),
            CUBE_POS_X * plan.units.0 + x,
            CUBE_POS_Y * comptime!(plan.tile().1) + y * rows + j,
            picture,
            comptime!(plan.samples),
        );
    }
}

/// What row `i` of the samples that a unit sees is for its rows `from`…`to` of results.
#[cube]
fn take_row<L: Numeric, V: Size>(
    seen: &SharedMemory<Vector<L, V>>,
    weights: &SharedMemory<Vector<L, V>>,
    most: &mut Array<L>,
    start: u32,
    i: u32,
    #[comptime] from: u32,
    #[comptime] to: u32,
    #[comptime] plan: Plan,
) {
    let fours = comptime!(plan.fours());
    let place = start + i * comptime!(plan.seen().0);
    let mut samples = seen[place as usize];
    if comptime!(plan.is_whole() && fours > 2) {
        for four in 0..fours {
            let next = seen[(place + four + 1u32) as usize];
            take_four::<L, V>(
                samples,
                next,
                weights,
                most,
                i,
                four,
                comptime!((0, 4)),
                from,
                to,
                plan,
            );
            samples = next;
        }
    } else {
        #[unroll]
        for four in 0..fours {
            let next = seen[(place + four + 1u32) as usize];
            take_four::<L, V>(
                samples,
                next,
                weights,
                most,
                i,
                four,
                comptime!(plan.places(four)),
                from,
                to,
                plan,
            );
            samples = next;
        }
    }
}

/// Four heights of each row, added to the samples of four columns and those right of them.
#[cube]
fn take_four<L: Numeric, V: Size>(
    samples: Vector<L, V>,
    next: Vector<L, V>,
    weights: &SharedMemory<Vector<L, V>>,
    most: &mut Array<L>,
    i: u32,
    four: u32,
    #[comptime] places: (u32, u32),
    #[comptime] from: u32,
    #[comptime] to: u32,
    #[comptime] plan: Plan,
) {
    #[unroll]
    for j in from..to {
        // rung: morphology on gpu: tuned
        let height = weights[((i - j) * comptime!(plan.fours()) + four) as usize];
        #[unroll]
        for e in comptime!(places.0)..comptime!(places.1) {
            #[unroll]
            for p in 0..4u32 {
                let place = comptime!((e + p) as usize);
                let q = comptime!((4 * j + p) as usize);
                if comptime!(place < 4) {
                    most[q] = max(samples[place] + height[comptime!(e as usize)], most[q]);
                } else {
                    most[q] = max(
                        next[comptime!(place - 4)] + height[comptime!(e as usize)],
                        most[q],
                    );
                }
            }
        }
        // end
    }
}
