//! Symmetric weights in one pass: cubes (blocks) stream down strips of columns, a few rows at a step.
//!
//! A unit (thread) owns a column of words and keeps the rows that a window needs in registers; rows weighted
//! down the columns lie in shared memory, from where each unit takes a run of words and weights it across.
//! Four bytes are two pairs of 16 bits, and a multiplication weights a pair: with weights in 256ths sums are
//! at most 65 280. Across, sums have 24 bits.

use cubecl::prelude::*;

use super::Samples;
use super::columns::{Raster, column, load_rows, raster, store_run, store_two_runs};
use super::strip::Strip;

/// What is compiled into the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Plan {
    pub(super) samples: Samples,
    /// By distance from the middle: bits of f32, or 256ths.
    pub(super) weights: Vec<u32>,
    /// A run has as many words as a step has rows.
    pub(super) strip: Strip,
}

impl Plan {
    const fn radius(&self) -> u32 {
        self.weights.len() as u32 - 1
    }

    /// Columns of words to the left of those that are computed.
    const fn left(&self) -> u32 {
        self.radius().div_ceil(self.samples.per_word())
    }

    /// Columns of words that a cube computes: whole runs; 0 where the cube is too narrow.
    pub(super) const fn columns(&self) -> u32 {
        self.strip.columns(self.left(), self.strip.rows)
    }

    /// Values that a word of a column is taken apart into, and words that it takes in shared memory.
    const fn lanes(&self) -> u32 {
        match self.samples {
            Samples::Floats => 1,
            Samples::Bytes => 2,
        }
    }

    /// Words from one row of shared memory to the next.
    const fn pitch(&self) -> u32 {
        self.strip.pitch(self.strip.rows)
    }

    /// Words of a step's rows in shared memory.
    const fn step(&self) -> u32 {
        self.pitch() * self.strip.rows * self.lanes()
    }

    /// Bytes of shared memory.
    pub(super) const fn shared_bytes(&self) -> u32 {
        4 * self.step() * self.strip.steps()
    }

    const fn run(&self) -> u32 {
        self.strip.rows * self.samples.per_word()
    }
}

/// Weights the squares of a strip of `steps` · rows; CUBE_POS_X counts strips across, CUBE_POS_Y down.
#[cube(launch_unchecked, address_type = "dynamic")]
#[allow(clippy::too_many_arguments)]
pub(super) fn weigh<W: Numeric, N: Size>(
    source: &Array<W>,
    out: &mut Array<Vector<W, N>>,
    width: u32,
    height: u32,
    pitch: u32,
    steps: u32,
    #[comptime] plan: Plan,
) {
    let (rows, lanes) = comptime!((plan.strip.rows, plan.lanes()));
    let samples = comptime!(plan.samples);
    let reach = comptime!(2 * plan.radius());
    let mut shared = SharedMemory::<W>::new(comptime!((plan.strip.steps() * plan.step()) as usize));
    let raster = raster(width, height, pitch);
    let left = CUBE_POS_X * comptime!(plan.columns());
    let column = column(
        left as i32 + UNIT_POS as i32 - comptime!(plan.left() as i32),
        &raster,
        samples,
    );
    let first = CUBE_POS_Y * steps * rows;
    let top = first as i32 - comptime!(plan.radius() as i32);

    // The rows of the window of a step's first row but the last, then those of the step; and those of the next step, as they are.
    let mut window = Array::<W>::new(comptime!(((reach + rows) * lanes) as usize));
    let mut next = Array::<W>::new(comptime!(reach.max(rows) as usize));
    load_rows::<W>(source, &mut next, top, &column, 0u32, reach, samples);
    take_apart::<W>(&next, &mut window, 0u32, reach, comptime!(plan.clone()));
    let after = top + comptime!(reach as i32);
    load_rows::<W>(source, &mut next, after, &column, 0u32, rows, samples);

    for s in 0..steps {
        let step = s % comptime!(plan.strip.steps());
        let row = first + s * rows;
        take_apart::<W>(&next, &mut window, reach, rows, comptime!(plan.clone()));
        let after = row as i32 + comptime!((rows + plan.radius()) as i32);
        load_rows::<W>(source, &mut next, after, &column, 0u32, rows, samples);
        down::<W>(&window, &mut shared, step, comptime!(plan.clone()));
        #[unroll]
        for k in 0..comptime!(reach * lanes) {
            window[comptime!(k as usize)] = window[comptime!((k + rows * lanes) as usize)];
        }
        sync_cube();
        across::<W, N>(&shared, out, step, row, left, &raster, comptime!(plan.clone()));
        // Of two steps' rows, the next step writes the others, and the one after only after the next one's wait.
        if comptime!(!plan.strip.double) {
            sync_cube();
        }
    }
}

/// Words as values, to those of row `at` of the window and the rows that follow.
#[cube]
fn take_apart<W: Numeric>(
    words: &Array<W>,
    window: &mut Array<W>,
    #[comptime] at: u32,
    #[comptime] count: u32,
    #[comptime] plan: Plan,
) {
    #[unroll]
    for k in 0..count {
        let word = words[comptime!(k as usize)];
        if comptime!(plan.lanes() == 1) {
            window[comptime!((at + k) as usize)] = word;
        } else {
            let bits = u32::cast_from(word);
            window[comptime!((2 * (at + k)) as usize)] = W::cast_from(bits & 0x00ff_00ffu32);
            window[comptime!((2 * (at + k) + 1) as usize)] = W::cast_from((bits >> 8u32) & 0x00ff_00ffu32);
        }
    }
}

/// Weight `k`.
#[cube]
fn weight<W: Numeric>(#[comptime] k: u32, #[comptime] plan: Plan) -> W {
    match plan.samples {
        Samples::Floats => W::cast_from(f32::new(comptime!(f32::from_bits(plan.weights[k as usize])))),
        Samples::Bytes => W::cast_from(u32::new(comptime!(plan.weights[k as usize] as i64))),
    }
}

/// The weighted rows of a step, to shared memory.
#[cube]
fn down<W: Numeric>(window: &Array<W>, shared: &mut SharedMemory<W>, step: u32, #[comptime] plan: Plan) {
    let radius = comptime!(plan.radius());
    let lanes = comptime!(plan.lanes());
    let place = (step * comptime!(plan.step()) + UNIT_POS + UNIT_POS / comptime!(plan.strip.rows)) as usize;
    #[unroll]
    for k in 0..comptime!(plan.strip.rows) {
        #[unroll]
        for l in 0..lanes {
            let middle = comptime!(k + radius);
            let mut sum =
                window[comptime!((middle * lanes + l) as usize)] * weight::<W>(0u32, comptime!(plan.clone()));
            #[unroll]
            for j in 1..comptime!(radius + 1) {
                let pair = window[comptime!(((middle - j) * lanes + l) as usize)]
                    + window[comptime!(((middle + j) * lanes + l) as usize)];
                sum += pair * weight::<W>(j, comptime!(plan.clone()));
            }
            shared[place + comptime!(((k * lanes + l) * plan.pitch()) as usize)] = sum;
        }
    }
}

/// The weighted runs of the rows of a step, to memory.
#[cube]
#[allow(clippy::too_many_arguments)]
fn across<W: Numeric, N: Size>(
    shared: &SharedMemory<W>,
    out: &mut Array<Vector<W, N>>,
    step: u32,
    row: u32,
    left: u32,
    raster: &Raster,
    #[comptime] plan: Plan,
) {
    let radius = comptime!(plan.radius());
    let per_word = comptime!(plan.samples.per_word());
    let of_row = comptime!(plan.strip.units / plan.strip.rows);
    let (k, run) = (UNIT_POS / of_row, UNIT_POS % of_row);
    let computed = comptime!(plan.columns() / plan.strip.rows);
    let mut words = Array::<W>::new(comptime!(plan.strip.rows as usize));
    // The window of the last pixel of the last run ends within the words that the cube has read.
    if run < computed {
        let place = (step * comptime!(plan.step())
            + k * comptime!(plan.lanes() * plan.pitch())
            + run * comptime!(plan.strip.rows + 1)) as usize;
        let skip = comptime!(plan.left() * per_word - radius);
        let count = comptime!(plan.run() + 2 * radius);
        let mut pixels = Array::<W>::new(comptime!(count as usize));
        #[unroll]
        for w in 0..comptime!((skip + count).div_ceil(per_word)) {
            #[unroll]
            for b in 0..per_word {
                let p = comptime!((w * per_word + b).wrapping_sub(skip));
                if comptime!(p < count) {
                    let at = comptime!((w + w / plan.strip.rows + b % 2 * plan.pitch()) as usize);
                    let word = shared[place + at];
                    if comptime!(plan.lanes() == 1) {
                        pixels[comptime!(p as usize)] = word;
                    } else {
                        let pair = u32::cast_from(word);
                        if comptime!(b >= 2) {
                            pixels[comptime!(p as usize)] = W::cast_from(pair >> 16u32);
                        } else {
                            pixels[comptime!(p as usize)] = W::cast_from(pair & 0xffffu32);
                        }
                    }
                }
            }
        }
        #[unroll]
        for w in 0..comptime!(plan.strip.rows) {
            words[comptime!(w as usize)] = weighted::<W>(&pixels, w, comptime!(plan.clone()));
        }
    }
    let (count, samples) = comptime!((plan.strip.rows, plan.samples));
    if comptime!(plan.strip.exchange && count == 8) {
        store_two_runs::<W, N>(out, &words, row + k, left, run, raster, computed, samples);
    } else if run < computed {
        store_run::<W, N>(out, &words, row + k, left + run * count, raster, count, samples);
    }
}

/// Word `word` of the result of a run.
#[cube]
fn weighted<W: Numeric>(pixels: &Array<W>, #[comptime] word: u32, #[comptime] plan: Plan) -> W {
    match plan.samples {
        Samples::Floats => sum::<W>(pixels, word, 0u32, comptime!(plan.clone())),
        Samples::Bytes => {
            // Rounded sums of 24 bits, of which the highest 8 are the result.
            let a = rounded::<W>(pixels, comptime!(4 * word), comptime!(plan.clone()));
            let b = rounded::<W>(pixels, comptime!(4 * word + 1), comptime!(plan.clone()));
            let c = rounded::<W>(pixels, comptime!(4 * word + 2), comptime!(plan.clone()));
            let d = rounded::<W>(pixels, comptime!(4 * word + 3), comptime!(plan.clone()));
            let low = (a >> 16u32) | ((b >> 8u32) & 0xff00u32);
            W::cast_from(low | (c & 0x00ff_0000u32) | ((d << 8u32) & 0xff00_0000u32))
        }
    }
}

#[cube]
fn rounded<W: Numeric>(pixels: &Array<W>, #[comptime] pixel: u32, #[comptime] plan: Plan) -> u32 {
    u32::cast_from(sum::<W>(pixels, pixel, 32_768u32, plan))
}

/// The weighted sum around pixel `pixel` of a run, and `more`.
#[cube]
fn sum<W: Numeric>(
    pixels: &Array<W>,
    #[comptime] pixel: u32,
    #[comptime] more: u32,
    #[comptime] plan: Plan,
) -> W {
    let middle = comptime!(pixel + plan.radius());
    let mut sum = pixels[comptime!(middle as usize)] * weight::<W>(0u32, comptime!(plan.clone()));
    if comptime!(more > 0) {
        sum += W::from_int(comptime!(more as i64));
    }
    #[unroll]
    for j in 1..comptime!(plan.radius() + 1) {
        let pair = pixels[comptime!((middle - j) as usize)] + pixels[comptime!((middle + j) as usize)];
        sum += pair * weight::<W>(j, comptime!(plan.clone()));
    }
    sum
}
