//! The kernels over the picture: a plane (warp) walks down a tile.

use cubecl::prelude::*;

use super::super::Sums;
use crate::look_back::add;
use crate::scan::gpu::tiles::sums_before;
use relief_kernels::policy::Tuning;

/// Columns of a strip, unless planes are wider.
pub(super) const STRIP: u32 = 128;

/// Rows whose loads are asked for together.
const AHEAD: u32 = 8;

/// What is compiled into the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Plan {
    pub(super) sums: Sums,
    pub(super) units: u32,
    /// Groups of [`AHEAD`] rows of a band.
    groups: u32,
    pub(super) lanes: u32,
}

impl Plan {
    pub(super) fn new(sums: Sums, tuning: Tuning, lanes: u32) -> Self {
        Self {
            sums,
            units: tuning.units,
            groups: tuning.items,
            lanes,
        }
    }

    pub(super) const fn float(&self) -> bool {
        matches!(self.sums, Sums::Floats)
    }

    pub(super) const fn planes(&self) -> u32 {
        self.units / self.lanes
    }

    /// Vectors of four samples of a unit in a row of its tile.
    const fn pieces(&self) -> u32 {
        let pieces = STRIP / 4 / self.lanes;
        if pieces == 0 { 1 } else { pieces }
    }

    /// Columns of a strip.
    pub(super) const fn strip(&self) -> u32 {
        4 * self.lanes * self.pieces()
    }

    /// Rows of a band.
    pub(super) const fn rows(&self) -> u32 {
        self.groups * AHEAD
    }

    /// Words of four samples.
    pub(super) const fn words_in(&self) -> usize {
        if self.float() { 4 } else { 1 }
    }
}

/// The sums of the rows and of the columns of each tile.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(super) fn sum_tiles<N: Size, M: Size>(
    from: &Array<Vector<u32, N>>,
    down: &mut Array<Vector<u32, M>>,
    left: &mut Array<u32>,
    width: u32,
    height: u32,
    pitch: u32,
    strips: u32,
    bands: u32,
    #[comptime] plan: Plan,
) {
    let pieces = comptime!(plan.pieces());
    let lane = UNIT_POS % comptime!(plan.lanes);
    let across = (strips + comptime!(plan.planes() - 1)) / comptime!(plan.planes());
    let strip = (CUBE_POS as u32 % across) * comptime!(plan.planes()) + UNIT_POS / comptime!(plan.lanes);
    let band = CUBE_POS as u32 / across;
    if strip < strips && band < bands {
        let column = strip * comptime!(plan.strip() / 4) + lane;
        let mut sums = Array::<u32>::new(comptime!((4 * pieces) as usize));
        #[unroll]
        for k in 0..comptime!(4 * pieces) {
            sums[comptime!(k as usize)] = u32::new(0);
        }
        let mut held = Array::<Vector<u32, N>>::new(comptime!((AHEAD * pieces) as usize));
        for group in 0..comptime!(plan.groups) {
            let row = band * comptime!(plan.rows()) + group * AHEAD;
            load::<N>(from, &mut held, column, row, width, height, pitch, plan);
            let place = strip * bands * comptime!(plan.rows()) + row;
            if comptime!(plan.float()) {
                #[unroll]
                for r in 0..AHEAD {
                    let mut sum = u32::new(0);
                    #[unroll]
                    for p in 0..pieces {
                        let vector = held[comptime!((r * pieces + p) as usize)];
                        let low = add(vector[0usize], vector[1usize], true);
                        sum = add(
                            sum,
                            add(low, add(vector[2usize], vector[3usize], true), true),
                            true,
                        );
                    }
                    let all = u32::reinterpret(plane_sum(f32::reinterpret(sum)));
                    if lane == comptime!(r % plan.lanes) {
                        left[(place + r) as usize] = all;
                    }
                }
                #[unroll]
                for r in 0..AHEAD {
                    #[unroll]
                    for p in 0..pieces {
                        let vector = held[comptime!((r * pieces + p) as usize)];
                        #[unroll]
                        for k in 0..4u32 {
                            let at = comptime!((4 * p + k) as usize);
                            sums[at] = add(sums[at], vector[comptime!(k as usize)], true);
                        }
                    }
                }
            } else {
                // A strip's row sums up to less than 2^16, so two rows are summed as one.
                #[unroll]
                for r in 0..comptime!(AHEAD / 2) {
                    let mut pair = u32::new(0);
                    #[unroll]
                    for p in 0..pieces {
                        let upper = held[comptime!((2 * r * pieces + p) as usize)][0usize];
                        let lower = held[comptime!(((2 * r + 1) * pieces + p) as usize)][0usize];
                        pair += sum_bytes(upper) | (sum_bytes(lower) << 16u32);
                        // Pairs of 16 bits too: a band has at most 256 rows.
                        sums[comptime!((4 * p) as usize)] +=
                            (upper & 0x00ff_00ffu32) + (lower & 0x00ff_00ffu32);
                        sums[comptime!((4 * p + 1) as usize)] +=
                            ((upper >> 8u32) & 0x00ff_00ffu32) + ((lower >> 8u32) & 0x00ff_00ffu32);
                    }
                    let all = plane_sum(pair);
                    if lane == comptime!((2 * r) % plan.lanes) {
                        left[(place + comptime!(2 * r)) as usize] = all & 0xffffu32;
                    }
                    if lane == comptime!((2 * r + 1) % plan.lanes) {
                        left[(place + comptime!(2 * r + 1)) as usize] = all >> 16u32;
                    }
                }
            }
        }
        #[unroll]
        for p in 0..pieces {
            let at = comptime!((4 * p) as usize);
            let mut vector = Vector::<u32, M>::empty();
            if comptime!(plan.float()) {
                #[unroll]
                for k in 0..4usize {
                    vector[k] = sums[comptime!(at + k)];
                }
            } else {
                let (even, odd) = (sums[at], sums[comptime!(at + 1)]);
                vector[0usize] = even & 0xffffu32;
                vector[1usize] = odd & 0xffffu32;
                vector[2usize] = even >> 16u32;
                vector[3usize] = odd >> 16u32;
            }
            let place = band * strips * comptime!(plan.strip() / 4) + column + comptime!(p * plan.lanes);
            down[place as usize] = vector;
        }
    }
}

/// The sum of the four bytes of a word.
#[cube]
fn sum_bytes(word: u32) -> u32 {
    let pairs = (word & 0x00ff_00ffu32) + ((word >> 8u32) & 0x00ff_00ffu32);
    (pairs & 0xffffu32) + (pairs >> 16u32)
}

/// A unit's vectors of [`AHEAD`] rows from `row` on; 0 outside of the picture.
#[cube]
#[allow(clippy::too_many_arguments)]
fn load<N: Size>(
    from: &Array<Vector<u32, N>>,
    held: &mut Array<Vector<u32, N>>,
    column: u32,
    row: u32,
    width: u32,
    height: u32,
    pitch: u32,
    #[comptime] plan: Plan,
) {
    let pieces = comptime!(plan.pieces());
    let last = column + comptime!((pieces - 1) * plan.lanes);
    // Where all lanes are inside, which most tiles are, loads need no comparisons between them.
    if row + AHEAD <= height && 4 * last + 4 <= width {
        #[unroll]
        for r in 0..AHEAD {
            #[unroll]
            for p in 0..pieces {
                let at = (row + r) * pitch + column + comptime!(p * plan.lanes);
                held[comptime!((r * pieces + p) as usize)] = from[at as usize];
            }
        }
    } else {
        #[unroll]
        for r in 0..AHEAD {
            #[unroll]
            for p in 0..pieces {
                let x = 4 * (column + comptime!(p * plan.lanes));
                let mut vector = Vector::<u32, N>::new(0u32);
                if row + r < height {
                    if x < width {
                        vector = from[((row + r) * pitch + x / 4) as usize];
                        vector = within::<N>(vector, width - x, plan);
                    }
                }
                held[comptime!((r * pieces + p) as usize)] = vector;
            }
        }
    }
}

/// A vector without the samples from `count` on.
#[cube]
fn within<N: Size>(vector: Vector<u32, N>, count: u32, #[comptime] plan: Plan) -> Vector<u32, N> {
    let mut kept = vector;
    if comptime!(plan.float()) {
        #[unroll]
        for k in 0..4u32 {
            if k >= count {
                kept[comptime!(k as usize)] = 0u32;
            }
        }
    } else {
        // A shift by 32 bits would be none.
        let bits = 8 * min(count, 4u32);
        kept[0usize] = (vector[0usize] << (32 - bits)) >> (32 - bits);
    }
    kept
}

/// Sample `k` of a vector.
#[cube]
fn sample<N: Size>(vector: Vector<u32, N>, #[comptime] k: u32, #[comptime] plan: Plan) -> u32 {
    if comptime!(plan.float()) {
        vector[comptime!(k as usize)]
    } else {
        (vector[0usize] >> comptime!(8 * k)) & 0xffu32
    }
}

/// The integral image of each tile, from what enters it.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(super) fn finish_tiles<N: Size, M: Size>(
    from: &Array<Vector<u32, N>>,
    above: &Array<Vector<u32, M>>,
    left: &Array<u32>,
    to: &mut Array<Vector<u32, M>>,
    width: u32,
    height: u32,
    pitch: u32,
    to_pitch: u32,
    strips: u32,
    bands: u32,
    #[comptime] plan: Plan,
) {
    let pieces = comptime!(plan.pieces());
    let long = comptime!(plan.sums == Sums::Long);
    let float = comptime!(plan.float());
    let lane = UNIT_POS % comptime!(plan.lanes);
    let across = (strips + comptime!(plan.planes() - 1)) / comptime!(plan.planes());
    let strip = (CUBE_POS as u32 % across) * comptime!(plan.planes()) + UNIT_POS / comptime!(plan.lanes);
    let band = CUBE_POS as u32 / across;
    if strip < strips && band < bands {
        let column = strip * comptime!(plan.strip() / 4) + lane;
        let of_band = strips * comptime!(plan.strip() / 4);
        // What the columns have so far.
        let mut sums = Array::<u32>::new(comptime!((4 * pieces) as usize));
        let mut upper = Array::<u32>::new(comptime!(if long { 4 * pieces as usize } else { 1 }));
        #[unroll]
        for p in 0..pieces {
            let place = band * of_band + column + comptime!(p * plan.lanes);
            let low = above[place as usize];
            #[unroll]
            for k in 0..4u32 {
                sums[comptime!((4 * p + k) as usize)] = low[comptime!(k as usize)];
            }
            if long {
                let high = above[(bands * of_band + place) as usize];
                #[unroll]
                for k in 0..4u32 {
                    upper[comptime!((4 * p + k) as usize)] = high[comptime!(k as usize)];
                }
            }
        }
        let mut held = Array::<Vector<u32, N>>::new(comptime!((AHEAD * pieces) as usize));
        let mut entering = Array::<u32>::new(comptime!(AHEAD as usize));
        for group in 0..comptime!(plan.groups) {
            let row = band * comptime!(plan.rows()) + group * AHEAD;
            load::<N>(from, &mut held, column, row, width, height, pitch, plan);
            let place = strip * bands * comptime!(plan.rows()) + row;
            #[unroll]
            for r in 0..AHEAD {
                entering[comptime!(r as usize)] = left[(place + r) as usize];
            }
            // Rows of bytes sum up to less than 2^16, so two are scanned as one.
            let together = comptime!(if float { 1u32 } else { 2u32 });
            #[unroll]
            for r in 0..comptime!(AHEAD / together) {
                let first = comptime!(r * together);
                let mut before = Array::<u32>::new(comptime!(together as usize));
                #[unroll]
                for e in 0..together {
                    before[comptime!(e as usize)] = entering[comptime!((first + e) as usize)];
                }
                #[unroll]
                for p in 0..pieces {
                    // Sums of the vectors up to each of their samples.
                    let mut up_to = Array::<u32>::new(comptime!((4 * together) as usize));
                    // rung: integral on gpu: carries first
                    #[unroll]
                    for e in 0..together {
                        let vector = held[comptime!(((first + e) * pieces + p) as usize)];
                        up_to[comptime!((4 * e) as usize)] = sample::<N>(vector, 0u32, plan);
                        #[unroll]
                        for k in 1..4u32 {
                            let at = comptime!((4 * e + k) as usize);
                            let sum = add(up_to[comptime!(at - 1)], sample::<N>(vector, k, plan), float);
                            up_to[at] = sum;
                        }
                    }
                    // end
                    let mut sum = up_to[3usize];
                    if comptime!(together == 2) {
                        sum |= up_to[7usize] << 16u32;
                    }
                    let (lanes_before, all) = sums_before(sum, comptime!(plan.lanes), float);
                    let x = column + comptime!(p * plan.lanes);
                    #[unroll]
                    for e in 0..together {
                        let own = of_row(lanes_before, e, comptime!(together == 1));
                        let base = add(before[comptime!(e as usize)], own, float);
                        let more = of_row(all, e, comptime!(together == 1));
                        before[comptime!(e as usize)] = add(before[comptime!(e as usize)], more, float);
                        #[unroll]
                        for k in 0..4u32 {
                            let value = add(base, up_to[comptime!((4 * e + k) as usize)], float);
                            take(&mut sums, &mut upper, comptime!(4 * p + k), value, plan);
                        }
                        let row = row + comptime!(first + e);
                        if row < height && 4 * x < width {
                            store::<M>(to, &sums, &upper, row * to_pitch, x, p, plan);
                        }
                    }
                }
            }
        }
    }
}

/// What row `e` of two that are scanned as one has of a sum; one alone has all.
#[cube]
fn of_row(sum: u32, #[comptime] e: u32, #[comptime] alone: bool) -> u32 {
    match (alone, e) {
        (true, _) => sum,
        (_, 0) => sum & 0xffffu32,
        _ => sum >> 16u32,
    }
}

/// Adds the sum of a row up to a column to what the column has.
#[cube]
fn take(
    sums: &mut Array<u32>,
    upper: &mut Array<u32>,
    #[comptime] at: u32,
    value: u32,
    #[comptime] plan: Plan,
) {
    let at = comptime!(at as usize);
    let sum = add(sums[at], value, comptime!(plan.float()));
    if comptime!(plan.sums == Sums::Long) {
        upper[at] += u32::cast_from(sum < value);
    }
    sums[at] = sum;
}

/// Stores piece `p` of a row.
#[cube]
fn store<M: Size>(
    to: &mut Array<Vector<u32, M>>,
    sums: &Array<u32>,
    upper: &Array<u32>,
    base: u32,
    x: u32,
    #[comptime] p: u32,
    #[comptime] plan: Plan,
) {
    if comptime!(plan.sums == Sums::Long) {
        #[unroll]
        for half in 0..2u32 {
            let mut vector = Vector::<u32, M>::empty();
            #[unroll]
            for k in 0..2u32 {
                let at = comptime!((4 * p + 2 * half + k) as usize);
                vector[comptime!((2 * k) as usize)] = sums[at];
                vector[comptime!((2 * k + 1) as usize)] = upper[at];
            }
            to[(base + 2 * x + half) as usize] = vector;
        }
    } else {
        let mut vector = Vector::<u32, M>::empty();
        #[unroll]
        for k in 0..4u32 {
            vector[comptime!(k as usize)] = sums[comptime!((4 * p + k) as usize)];
        }
        to[(base + x) as usize] = vector;
    }
}
