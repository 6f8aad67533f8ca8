//! Convolutions of bytes: a row of the mask is a band, so a result takes an instruction for each row of the
//! mask, whatever its weights.
//!
//! A plane (warp) has eight groups of 16 columns of one row. The left matrix is the band of a row of the
//! mask, 16 columns of the result × 32 columns read. Weights beyond 8 bits are split: upper bytes with their
//! sign first, then 256 times that and lower bytes. Rows are read once and kept while a window reaches them;
//! nothing is shared by planes.

use cubecl::prelude::barrier::Barrier;
use cubecl::prelude::*;

use super::groups::{Groups, ask, load, place, take};
use crate::stencil::gpu::Samples;
use crate::stencil::gpu::columns::within;

/// Columns of a group.
const COLUMNS: u32 = 16;

/// Parts of a step, each of K rows, that are on their way at once, to a stage of shared memory of its own: copies that take no registers.
pub(in crate::stencil::gpu) const STAGES: u32 = 2;

/// Rows of a step whose sums are added to in turn: a product that adds to the one before waits until that is done.
const BESIDE: u32 = 8;

/// Matrices of 16 × 32 and 32 × 8 bytes, with a sign on the left or without, whose products are added in 32 bits.
type Signed = cmma::MmaDefinition<i8, u8, i32>;
type Unsigned = cmma::MmaDefinition<u8, u8, i32>;

/// What a lane has of a matrix, side by side: four of those that are multiplied, two of those that are added.
type Upper = Vector<i8, Const<4>>;
type Bytes = Vector<u8, Const<4>>;
type Sums = Vector<i32, Const<2>>;

/// What is compiled into the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::stencil::gpu) struct Plan {
    /// Row after row; their side is odd.
    pub(in crate::stencil::gpu) weights: Vec<i16>,
    pub(in crate::stencil::gpu) radius: u32,
    pub(in crate::stencil::gpu) shift: u32,
    /// Units of a cube: planes of 32 side by side.
    pub(in crate::stencil::gpu) units: u32,
    /// K: rows of a part of a step.
    pub(in crate::stencil::gpu) rows: u32,
}

/// Places of a row of weights in shared memory, from 32 columns left of the result on.
const REACH: u32 = 32;

impl Plan {
    fn groups(&self) -> Groups {
        Groups::new(COLUMNS, self.radius)
    }

    /// Words of a vector that is loaded.
    pub(in crate::stencil::gpu) fn vector(&self) -> u32 {
        self.groups().vector
    }

    /// Columns of words that a cube computes.
    pub(in crate::stencil::gpu) const fn columns(&self) -> u32 {
        self.units / 32 * 8 * COLUMNS / 4
    }

    const fn side(&self) -> u32 {
        2 * self.radius + 1
    }

    /// Whether 8 bits with a sign hold all weights.
    fn is_short(&self) -> bool {
        self.weights.iter().all(|weight| i8::try_from(*weight).is_ok())
    }

    /// Half of what sums are divided by, which is added to them.
    const fn half(&self) -> i64 {
        (1 << self.shift) / 2
    }
}

/// Convolves a strip of `steps` · [`STAGES`] · K rows; CUBE_POS_X counts cubes across, CUBE_POS_Y strips down.
#[cube(launch_unchecked)]
pub(in crate::stencil::gpu) fn convolve_by_matrix<N: Size>(
    source: &Array<Vector<u32, N>>,
    out: &mut Array<u32>,
    width: u32,
    height: u32,
    pitch: u32,
    steps: u32,
    #[comptime] plan: Plan,
) {
    let groups = comptime!(plan.groups());
    let (rows, words, side) = comptime!((plan.rows, groups.words(), plan.side()));
    let column = (CUBE_POS_X * comptime!(plan.units / 32) + UNIT_POS / 32u32) * comptime!(groups.computed());
    let first = CUBE_POS_Y * steps * comptime!(STAGES * rows);
    let place = place(column, width, height, pitch, groups);
    let mut lower = Array::<u32>::new(comptime!((4 * side) as usize));
    let mut upper = Array::<u32>::new(comptime!((4 * side) as usize));
    bands(&mut lower, &mut upper, comptime!(plan.clone()));

    // The rows of the windows of a step.
    let kept = comptime!(side - 1);
    let mut window = Array::<u32>::new(comptime!(((kept + rows) * words) as usize));
    let units = comptime!(plan.units);
    let staged = comptime!(STAGES * rows * groups.runs * units);
    let mut staged = SharedMemory::<Vector<u32, N>>::new(comptime!(staged as usize));
    let mut barriers = Sequence::<Shared<Barrier>>::new();
    #[unroll]
    for _ in 0..STAGES {
        barriers.push(Barrier::shared(units, UNIT_POS == 0));
    }
    let top = first as i32 - comptime!(plan.radius as i32);
    #[unroll]
    for stage in 0..STAGES {
        let row = top + comptime!((kept + stage * rows) as i32);
        let barrier = barriers.index(comptime!(stage as usize));
        ask::<N>(
            source,
            &mut staged,
            barrier,
            row,
            &place,
            stage,
            rows,
            units,
            groups,
        );
    }
    load::<N>(source, &mut window, top, &place, 0u32, kept, groups);

    // An even group of lanes has a word of group 2 t, an odd one of 2 t + 1.
    let (group, lane) = (UNIT_POS_PLANE / 4u32, UNIT_POS_PLANE % 4u32);
    let odd = group % 2u32;
    let word = column / 4u32 + (lane * 2u32 + odd) * comptime!(COLUMNS / 4) + group / 2u32;
    for s in 0..steps {
        #[unroll]
        for stage in 0..STAGES {
            let row = first + s * comptime!(STAGES * rows) + comptime!(stage * rows);
            let barrier = barriers.index(comptime!(stage as usize));
            barrier.wait_parity(s % 2u32);
            take::<N>(&staged, &mut window, &place, stage, kept, rows, units, groups);
            // Behind the strip as well, where nobody takes them.
            let after = row as i32 + comptime!((STAGES * rows + plan.radius) as i32);
            ask::<N>(
                source,
                &mut staged,
                barrier,
                after,
                &place,
                stage,
                rows,
                units,
                groups,
            );
            let mut results = Array::<u32>::new(comptime!(rows as usize));
            #[unroll]
            for set in 0..comptime!(rows / BESIDE) {
                results_of(
                    &window,
                    &lower,
                    &upper,
                    &mut results,
                    comptime!(set * BESIDE),
                    comptime!(plan.clone()),
                );
            }
            #[unroll]
            for k in 0..rows {
                // Bytes of columns 2 g and 2 g + 1 of group 2 t, then of 2 t + 1.
                let own = results[comptime!(k as usize)];
                let got = plane_shuffle_xor(own, 4u32);
                let mut word = (own & 0xffffu32) | (got << 16u32);
                if odd == 1u32 {
                    word = (got >> 16u32) | (own & 0xffff_0000u32);
                }
                results[comptime!(k as usize)] = word;
            }
            // Rows and words past the picture are not its memory.
            if word < pitch {
                #[unroll]
                for k in 0..rows {
                    if row + k < height {
                        let mut result = results[comptime!(k as usize)];
                        if (word + 1u32) * 4u32 > width {
                            result = within::<u32>(result, word, width, comptime!(Samples::Bytes));
                        }
                        out[((row + k) * pitch + word) as usize] = result;
                    }
                }
            }
            #[unroll]
            for k in 0..comptime!((kept * words) as usize) {
                window[k] = window[comptime!(k + (rows * words) as usize)];
            }
        }
    }
    // Copies have to be there before this cube's memory is another's.
    #[unroll]
    for stage in 0..STAGES {
        barriers
            .index(comptime!(stage as usize))
            .wait_parity(steps % 2u32);
    }
}

/// Four results of each of [`BESIDE`] rows, side by side; the window of the first of these rows begins with row `k`.
#[cube]
fn results_of(
    window: &Array<u32>,
    lower: &Array<u32>,
    upper: &Array<u32>,
    results: &mut Array<u32>,
    #[comptime] k: u32,
    #[comptime] plan: Plan,
) {
    let short = comptime!(plan.is_short());
    let half = i32::new(comptime!(plan.half()));
    let mut sums = Sequence::<Array<Sums>>::new();
    #[unroll]
    for _ in 0..BESIDE {
        let mut sum = Array::<Sums>::new(2usize);
        #[unroll]
        for s in 0..2usize {
            sum[s] = Sums::new(half);
            if !short {
                sum[s] = Sums::new(0i32);
            }
        }
        sums.push(sum);
    }
    signed(window, upper, &mut sums, k, comptime!(plan.clone()));
    if !short {
        #[unroll]
        for row in 0..BESIDE {
            let sum = sums.index_mut(comptime!(row as usize));
            #[unroll]
            for s in 0..2usize {
                sum[s] = sum[s] * Sums::new(256i32) + Sums::new(half);
            }
        }
        unsigned(window, lower, &mut sums, k, comptime!(plan.clone()));
    }
    #[unroll]
    for row in 0..BESIDE {
        let sum = sums.index(comptime!(row as usize));
        let mut result = u32::new(0);
        #[unroll]
        for e in 0..2usize {
            #[unroll]
            for s in 0..2usize {
                let pair = sum[s];
                let byte = max(min(pair[e] >> comptime!(plan.shift as i32), 255i32), 0i32) as u32;
                result |= byte << comptime!(8 * (2 * e + s) as u32);
            }
        }
        results[comptime!((k + row) as usize)] = result;
    }
}

/// Adds the rows of windows times bands of weights with a sign.
#[cube]
fn signed(
    window: &Array<u32>,
    bands: &Array<u32>,
    sums: &mut Sequence<Array<Sums>>,
    #[comptime] k: u32,
    #[comptime] plan: Plan,
) {
    let definition = Signed::new(16usize, 8usize, 32usize);
    #[unroll]
    for y in 0..comptime!(plan.side()) {
        let mut weights = Array::<Upper>::new(4usize);
        #[unroll]
        for r in 0..4usize {
            weights[r] = Upper::reinterpret(bands[comptime!(4 * y as usize + r)]);
        }
        #[unroll]
        for row in 0..BESIDE {
            let pixels = row_of(window, comptime!(k + row + y));
            definition.execute_inplace::<Const<4>, Const<4>, Const<2>>(
                &weights,
                &pixels,
                sums.index_mut(comptime!(row as usize)),
            );
        }
    }
}

/// The same of weights without one.
#[cube]
fn unsigned(
    window: &Array<u32>,
    bands: &Array<u32>,
    sums: &mut Sequence<Array<Sums>>,
    #[comptime] k: u32,
    #[comptime] plan: Plan,
) {
    let definition = Unsigned::new(16usize, 8usize, 32usize);
    #[unroll]
    for y in 0..comptime!(plan.side()) {
        let mut weights = Array::<Bytes>::new(4usize);
        #[unroll]
        for r in 0..4usize {
            weights[r] = Bytes::reinterpret(bands[comptime!(4 * y as usize + r)]);
        }
        #[unroll]
        for row in 0..BESIDE {
            let pixels = row_of(window, comptime!(k + row + y));
            definition.execute_inplace::<Const<4>, Const<4>, Const<2>>(
                &weights,
                &pixels,
                sums.index_mut(comptime!(row as usize)),
            );
        }
    }
}

/// Row `row` of those kept, as a right matrix.
#[cube]
fn row_of(window: &Array<u32>, #[comptime] row: u32) -> Array<Bytes> {
    let mut pixels = Array::<Bytes>::new(2usize);
    pixels[0usize] = Bytes::reinterpret(window[comptime!(2 * row as usize)]);
    pixels[1usize] = Bytes::reinterpret(window[comptime!(2 * row as usize + 1)]);
    pixels
}

/// What this lane has of the bands of the mask's rows: columns 2 g and 2 g + 1 by two words each, lower and upper bytes of weights. Weights of 8
/// bits are upper ones.
#[cube]
fn bands(lower: &mut Array<u32>, upper: &mut Array<u32>, #[comptime] plan: Plan) {
    let groups = comptime!(plan.groups());
    let side = comptime!(plan.side());
    let of_row = comptime!(2 * REACH);
    // From shared memory, or a compiler finds the bands again in each step.
    let mut weights = SharedMemory::<u32>::new(comptime!((of_row * side) as usize));
    for at in range_stepped(UNIT_POS, comptime!(of_row * side), comptime!(plan.units)) {
        weights[at as usize] = 0u32;
    }
    sync_cube();
    if UNIT_POS == 0 {
        #[unroll]
        for y in 0..side {
            #[unroll]
            for x in 0..side {
                let at = comptime!((of_row * y + REACH + x - plan.radius) as usize);
                let weight = comptime!(i64::from(plan.weights[(y * side + x) as usize] as u16));
                weights[at] = u32::new(weight);
            }
        }
    }
    sync_cube();
    let (group, lane) = (UNIT_POS_PLANE / 4u32, UNIT_POS_PLANE % 4u32);
    let short = comptime!(plan.is_short());
    #[unroll]
    for y in 0..side {
        #[unroll]
        for r in 0..4u32 {
            let read = lane * comptime!(4 * groups.vector) + comptime!(groups.column(r / 2));
            let made = group * 2u32 + comptime!(r % 2 + groups.left);
            let first = read + comptime!(of_row * y + REACH) - made;
            let mut low = u32::new(0);
            let mut high = u32::new(0);
            #[unroll]
            for b in 0..4u32 {
                let weight = weights[(first + b) as usize];
                low |= (weight & 255u32) << comptime!(8 * b);
                high |= (weight >> 8u32) << comptime!(8 * b);
            }
            let at = comptime!((4 * y + r) as usize);
            lower[at] = low;
            upper[at] = high;
            if short {
                upper[at] = low;
            }
        }
    }
}
