//! Functions that are a sum of one of the column and one of the row, in one pass.
//!
//! A cube (block) goes down a strip of columns, some rows at a time. They come to shared memory, are dilated
//! along themselves by the function of the column, and take their place in a ring of rows there, from which
//! the function of the row makes results. So no row is dilated twice but at the ends of a strip, and nothing
//! but the picture and the result goes through memory. Both functions stay in the registers of every unit
//! (thread).

use cubecl::prelude::*;

use super::Plan;
use super::samples::{Picture, load, store};

impl Plan {
    /// Columns of a strip.
    pub(super) const fn columns(&self) -> u32 {
        4 * self.units.0
    }

    /// Rows of a step.
    pub(super) const fn step(&self) -> u32 {
        self.units.1 * self.rows
    }

    /// Steps whose rows are dilated along themselves before there are results.
    pub(super) const fn ahead(&self) -> u32 {
        (2 * self.radius).div_ceil(self.step())
    }

    /// Rows of the ring.
    const fn ring(&self) -> u32 {
        (self.ahead() + 1) * self.step()
    }

    /// Fours of a row of a strip, with those beside it that are seen.
    const fn across(&self) -> u32 {
        self.units.0 + self.fours()
    }

    /// Bytes of shared memory.
    pub(super) const fn shared_by_strip(&self) -> u32 {
        16 * (self.across() * self.step() + self.units.0 * self.ring())
    }
}

/// Dilates a picture by `heights`: those of the columns, then those of the rows; CUBE_POS_X counts strips across, CUBE_POS_Y down, each of
/// `steps` steps.
#[cube(launch_unchecked)]
pub(super) fn dilate_strips<L: Numeric, V: Size, W: Size>(
    source: &Array<Vector<u32, W>>,
    heights: &Array<L>,
    out: &mut Array<Vector<u32, W>>,
    width: u32,
    height: u32,
    pitch: u32,
    least: u32,
    steps: u32,
    #[comptime] plan: Plan,
) {
    let picture = Picture {
        width,
        height,
        pitch,
        least,
    };
    let (across, side) = comptime!((plan.across(), plan.side()));
    let (step, units) = comptime!((plan.step(), plan.units.0 * plan.units.1));
    let mut seen = SharedMemory::<Vector<L, V>>::new(comptime!((across * step) as usize));
    let mut ring = SharedMemory::<Vector<L, V>>::new(comptime!((plan.units.0 * plan.ring()) as usize));
    let mut columns = Array::<L>::new(comptime!(side as usize));
    let mut rows = Array::<L>::new(comptime!(side as usize));
    #[unroll]
    for k in 0..side {
        columns[comptime!(k as usize)] = heights[comptime!(k as usize)];
        rows[comptime!(k as usize)] = heights[comptime!((side + k) as usize)];
    }
    let left = (CUBE_POS_X * plan.units.0) as i32 - comptime!(plan.halo() as i32);
    let first = CUBE_POS_Y * steps * step;
    let (x, y) = (UNIT_POS % plan.units.0, UNIT_POS / plan.units.0);
    // Rows of the ring where those of this step go, and where those of the oldest lie.
    let mut newest = u32::new(0);
    let mut oldest = u32::new(0);
    for turn in 0..steps + comptime!(plan.ahead()) {
        let top = (first + turn * step) as i32 - comptime!(plan.radius as i32);
        let mut place = UNIT_POS;
        while place < comptime!(across * step) {
            let four = left + (place % across) as i32;
            let line = top + (place / across) as i32;
            seen[place as usize] = load::<L, V, W>(source, four, line, picture, comptime!(plan.samples));
            place += units;
        }
        // Units that still compute results of the step before read rows of the ring that are written from here on.
        sync_cube();
        #[unroll]
        for q in 0..comptime!(plan.rows) {
            let line = comptime!(q * plan.units.1) + y;
            let most = along::<L, V>(&seen, &columns, line * across + x, least, plan);
            ring[((newest + line) * plan.units.0 + x) as usize] = most;
        }
        newest = after(newest, plan);
        sync_cube();
        if turn >= comptime!(plan.ahead()) {
            let line = y * plan.rows;
            let most = down::<L, V>(&ring, &rows, oldest + line, x, least, plan);
            oldest = after(oldest, plan);
            #[unroll]
            for j in 0..comptime!(plan.rows) {
                store::<L, W>(
                    out,
                    &most,
                    comptime!(4 * j),
                    CUBE_POS_X * plan.units.0 + x,
                    first + (turn - comptime!(plan.ahead())) * step + line + j,
                    picture,
                    comptime!(plan.samples),
                );
            }
        }
    }
}

/// The row of the ring a step further.
#[cube]
fn after(row: u32, #[comptime] plan: Plan) -> u32 {
    let next = row + comptime!(plan.step());
    select(next == comptime!(plan.ring()), 0u32, next)
}

/// Four columns of a row, dilated by the function of the column.
#[cube]
fn along<L: Numeric, V: Size>(
    seen: &SharedMemory<Vector<L, V>>,
    heights: &Array<L>,
    place: u32,
    least: u32,
    #[comptime] plan: Plan,
) -> Vector<L, V> {
    let mut most = Array::<L>::new(4usize);
    #[unroll]
    for p in 0..4usize {
        most[p] = L::reinterpret(least);
    }
    let mut samples = seen[place as usize];
    #[unroll]
    for four in 0..comptime!(plan.fours()) {
        let next = seen[(place + four + 1u32) as usize];
        #[unroll]
        for e in 0..4u32 {
            let tap = comptime!((4 * four + e).wrapping_sub(plan.offset()));
            if comptime!(tap < plan.side()) {
                #[unroll]
                for p in 0..4u32 {
                    let column = comptime!((e + p) as usize);
                    let q = comptime!(p as usize);
                    if comptime!(column < 4) {
                        most[q] = max(samples[column] + heights[comptime!(tap as usize)], most[q]);
                    } else {
                        most[q] = max(
                            next[comptime!(column - 4)] + heights[comptime!(tap as usize)],
                            most[q],
                        );
                    }
                }
            }
        }
        samples = next;
    }
    let mut vector = Vector::<L, V>::empty();
    #[unroll]
    for p in 0..4usize {
        vector[p] = most[p];
    }
    vector
}

/// Four columns of a unit's rows, dilated by the function of the row, from a row of the ring on.
#[cube]
fn down<L: Numeric, V: Size>(
    ring: &SharedMemory<Vector<L, V>>,
    heights: &Array<L>,
    line: u32,
    x: u32,
    least: u32,
    #[comptime] plan: Plan,
) -> Array<L> {
    let count = comptime!(plan.rows);
    let mut most = Array::<L>::new(comptime!((4 * count) as usize));
    #[unroll]
    for q in 0..comptime!((4 * count) as usize) {
        most[q] = L::reinterpret(least);
    }
    #[unroll]
    for i in 0..comptime!(count + 2 * plan.radius) {
        // The ring has as many rows as all units see together, so that it ends at most once.
        let row = line + i;
        let within = select(row >= comptime!(plan.ring()), row - comptime!(plan.ring()), row);
        let samples = ring[(within * plan.units.0 + x) as usize];
        #[unroll]
        for j in 0..count {
            let tap = comptime!(i.wrapping_sub(j));
            if comptime!(tap < plan.side()) {
                #[unroll]
                for p in 0..4u32 {
                    let q = comptime!((4 * j + p) as usize);
                    most[q] = max(
                        samples[comptime!(p as usize)] + heights[comptime!(tap as usize)],
                        most[q],
                    );
                }
            }
        }
    }
    most
}
