//! Sums of squares of bytes in one pass: cubes (blocks) stream down strips of columns, a few rows at a step.
//!
//! Whole numbers can be taken away again, so every window follows from the one before by what enters and what
//! leaves, which is half the work of `slide`.
//!
//! *Down.* A unit (thread) owns a column of words, and the sums of its windows: two pairs of 16 bits, even
//! and odd pixels apart, which are added and taken away as they are, because what is left is never negative.
//! The row that leaves is read again (from a cache: it was read 2r rows ago).
//!
//! *Across.* The rows of a step lie in shared memory; each unit takes a run of words of one of them. Its
//! first window is summed from whole runs, which units exchange, and what is left; two sums of 16 bits are
//! then added at once. From there on sums are f32: beside 2²³ a number of 16 bits is its own lowest bits, so
//! taking a pixel from a pair makes it a float, differences are exact, and a GPU adds f32 at twice the rate
//! of whole numbers. Each K words a word is left out, so that units read different banks.

use cubecl::prelude::*;

use super::Samples;
use super::columns::{Raster, column, load_rows, raster, store_run, store_two_runs};
use super::pairs::{evens, odds};
use super::ring::{Ring, exchange, keep};
use super::strip::Strip;

/// What is compiled into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Plan {
    pub(super) radius: u32,
    /// A run has as many words as a step has rows.
    pub(super) strip: Strip,
}

impl Plan {
    /// Columns of words to the left of those that are computed.
    const fn left(&self) -> u32 {
        self.radius.div_ceil(4)
    }

    /// Columns of words that a cube computes: whole runs; 0 where the cube is too narrow.
    pub(super) const fn columns(&self) -> u32 {
        self.strip.columns(self.left(), self.strip.rows)
    }

    /// Words from one row of shared memory to the next, of even or of odd pixels.
    const fn pitch(&self) -> u32 {
        self.strip.pitch(self.strip.rows)
    }

    /// Words of a step's rows in shared memory.
    const fn step(&self) -> u32 {
        2 * self.pitch() * self.strip.rows
    }

    /// Bytes of shared memory.
    pub(super) const fn shared_bytes(&self) -> u32 {
        4 * ((self.step() + self.strip.units) * self.strip.steps() + self.ring().words())
    }

    /// The rows of a window but the last, where shared memory keeps them: not those of one that is lower than a step.
    const fn ring(&self) -> Ring {
        let rows = if self.strip.kept && 2 * self.radius >= self.strip.rows {
            2 * self.radius
        } else {
            0
        };
        Ring {
            rows,
            units: self.strip.units,
        }
    }

    /// Pixels from the beginning of a run to that of its first window.
    const fn skip(&self) -> u32 {
        4 * self.left() - self.radius
    }

    /// Whole runs from the beginning of a run to the end of its first window, and the pixels that are left.
    const fn runs(&self) -> (u32, u32) {
        let (end, run) = (self.skip() + 2 * self.radius + 1, 4 * self.strip.rows);
        (end / run, end % run)
    }

    /// Where in shared memory word `word` after the beginning of a run of those read lies, from its own.
    const fn place(&self, word: u32) -> u32 {
        word + word / self.strip.rows
    }
}

/// Sums of the squares of a strip of `steps` · K rows, each times `inverse` and rounded; CUBE_POS_X counts strips across, CUBE_POS_Y
/// down.
#[cube(launch_unchecked, address_type = "dynamic")]
#[allow(clippy::too_many_arguments)]
pub(super) fn sums<N: Size>(
    source: &Array<u32>,
    out: &mut Array<Vector<u32, N>>,
    width: u32,
    height: u32,
    pitch: u32,
    steps: u32,
    inverse: f32,
    #[comptime] plan: Plan,
) {
    let rows = comptime!(plan.strip.rows);
    let mut shared = SharedMemory::<u32>::new(comptime!((plan.step() * plan.strip.steps()) as usize));
    let mut totals = SharedMemory::<u32>::new(comptime!((plan.strip.units * plan.strip.steps()) as usize));
    let raster = raster(width, height, pitch);
    let left = CUBE_POS_X * comptime!(plan.columns());
    let column = column(
        left as i32 + UNIT_POS as i32 - comptime!(plan.left() as i32),
        &raster,
        comptime!(Samples::Bytes),
    );
    let first = CUBE_POS_Y * steps * rows;
    let top = first as i32 - comptime!(plan.radius as i32);

    let mut kept = SharedMemory::<u32>::new(comptime!(plan.ring().allocated()));
    let bytes = comptime!(Samples::Bytes);
    // The sums of the first window but its last row.
    let mut pairs = Array::<u32>::new(2usize);
    pairs[0usize] = u32::new(0);
    pairs[1usize] = u32::new(0);
    let mut above = Array::<u32>::new(comptime!(rows as usize));
    let rest = comptime!(2 * plan.radius % rows);
    for b in 0..comptime!(2 * plan.radius / rows) {
        let row = b * rows;
        load_rows::<u32>(source, &mut above, top + row as i32, &column, 0u32, rows, bytes);
        keep::<u32>(&mut kept, &above, row, rows, comptime!(plan.ring()));
        add_rows(&mut pairs, &above, rows);
    }
    if comptime!(rest > 0) {
        let row = comptime!(2 * plan.radius - rest);
        load_rows::<u32>(source, &mut above, top + row as i32, &column, 0u32, rest, bytes);
        keep::<u32>(&mut kept, &above, row, rest, comptime!(plan.ring()));
        add_rows(&mut pairs, &above, rest);
    }
    let (mut even, mut odd) = (pairs[0usize], pairs[1usize]);

    // What enters and what leaves in a step; asked for as soon as that of the step before is used.
    let mut below = Array::<u32>::new(comptime!(rows as usize));
    let reach = comptime!(2 * plan.radius as i32);
    load_rows::<u32>(source, &mut below, top + reach, &column, 0u32, rows, bytes);
    if comptime!(!plan.ring().is_used()) {
        load_rows::<u32>(source, &mut above, top, &column, 0u32, rows, bytes);
    }
    let mut slot = u32::new(0);
    let at = UNIT_POS + UNIT_POS / rows;
    for s in 0..steps {
        let step = s % comptime!(plan.strip.steps());
        let row = first + s * rows;
        let place = (step * comptime!(plan.step()) + at) as usize;
        if comptime!(plan.ring().is_used()) {
            slot = exchange::<u32>(&mut kept, &below, &mut above, slot, rows, comptime!(plan.ring()));
        }
        #[unroll]
        for k in 0..rows {
            even += evens(below[comptime!(k as usize)]);
            odd += odds(below[comptime!(k as usize)]);
            shared[place + comptime!((2 * k * plan.pitch()) as usize)] = even;
            shared[place + comptime!(((2 * k + 1) * plan.pitch()) as usize)] = odd;
            even -= evens(above[comptime!(k as usize)]);
            odd -= odds(above[comptime!(k as usize)]);
        }
        let next = row as i32 + comptime!(rows as i32 - plan.radius as i32);
        load_rows::<u32>(source, &mut below, next + reach, &column, 0u32, rows, bytes);
        if comptime!(!plan.ring().is_used()) {
            load_rows::<u32>(source, &mut above, next, &column, 0u32, rows, bytes);
        }
        sync_cube();
        across::<N>(&shared, &mut totals, out, step, row, left, &raster, inverse, plan);
        // Of two steps' rows, the next step writes the others, and the one after only after the next one's wait.
        if comptime!(!plan.strip.double) {
            sync_cube();
        }
    }
}

/// Adds `count` words to the sums of their even and of their odd pixels.
#[cube]
fn add_rows(pairs: &mut Array<u32>, words: &Array<u32>, #[comptime] count: u32) {
    #[unroll]
    for k in 0..count {
        pairs[0usize] += evens(words[comptime!(k as usize)]);
        pairs[1usize] += odds(words[comptime!(k as usize)]);
    }
}

/// The sum of `count` pixels of a row in shared memory from the beginning of word `word` after `place` on.
#[cube]
fn total(
    shared: &SharedMemory<u32>,
    place: usize,
    #[comptime] word: u32,
    #[comptime] count: u32,
    #[comptime] plan: Plan,
) -> u32 {
    let mut total = u32::new(0);
    #[unroll]
    for w in 0..comptime!(count / 4) {
        let at = place + comptime!(plan.place(word + w) as usize);
        // At most 2 · 127 · 255 in each half.
        let pair = shared[at] + shared[at + comptime!(plan.pitch() as usize)];
        total += (pair & 0xffffu32) + (pair >> 16u32);
    }
    #[unroll]
    for b in 0..comptime!(count % 4) {
        let pair = shared[place + comptime!((plan.place(word + count / 4) + b % 2 * plan.pitch()) as usize)];
        if comptime!(b >= 2) {
            total += pair >> 16u32;
        } else {
            total += pair & 0xffffu32;
        }
    }
    total
}

/// Pixel `pixel` after the beginning of the run at `place`, beside 2²³.
#[cube]
fn beside(shared: &SharedMemory<u32>, place: usize, #[comptime] pixel: u32, #[comptime] plan: Plan) -> f32 {
    // Both pixels of a pair read it: the compiler keeps it.
    let pair = shared[place + comptime!((plan.place(pixel / 4) + pixel % 2 * plan.pitch()) as usize)];
    let mut bits = pair & 0xffffu32;
    if comptime!(pixel % 4 >= 2) {
        bits = pair >> 16u32;
    }
    f32::reinterpret(bits | BESIDE)
}

/// The bits of 2²³.
pub(super) const BESIDE: u32 = 0x4b00_0000;

/// The mean of a window, beside 2²³, where nothing below 1 has room: it is rounded to the nearest, which then are the lowest bits of the
/// number. It is never half-way, and off by less than what it lies from there: see `stencil::mean`. Of four that are shifted to their bytes and added,
/// [`BESIDE`] is left of the first alone.
#[cube]
pub(super) fn rounded(window: f32, inverse: f32) -> u32 {
    u32::reinterpret(window * inverse + f32::new(8_388_608.0))
}

/// The windows across the rows of a step, to memory.
#[cube]
#[allow(clippy::too_many_arguments)]
fn across<N: Size>(
    shared: &SharedMemory<u32>,
    totals: &mut SharedMemory<u32>,
    out: &mut Array<Vector<u32, N>>,
    step: u32,
    row: u32,
    left: u32,
    raster: &Raster,
    inverse: f32,
    #[comptime] plan: Plan,
) {
    let rows = comptime!(plan.strip.rows);
    let (runs, rest) = comptime!(plan.runs());
    let of_row = comptime!(plan.strip.units / rows);
    let computed = comptime!(plan.columns() / rows);
    let (k, run) = (UNIT_POS / of_row, UNIT_POS % of_row);
    let place = (step * comptime!(plan.step()) + k * comptime!(2 * plan.pitch()) + run * comptime!(rows + 1))
        as usize;
    let spot = (step * comptime!(plan.strip.units) + UNIT_POS) as usize;

    let mut sum = u32::new(0);
    if comptime!(runs > 0) {
        // Runs that lie within a first window.
        if run < comptime!(computed + runs - 1) {
            sum = total(shared, place, 0u32, comptime!(4 * rows), plan);
            if comptime!(runs > 1) {
                totals[spot] = sum;
            }
        }
        if comptime!(runs > 1) {
            sync_cube();
        }
    }
    let mut words = Array::<u32>::new(comptime!(rows as usize));
    if run < computed {
        if comptime!(runs > 1) {
            for b in 1..runs {
                sum += totals[spot + b as usize];
            }
        }
        sum += total(shared, place, comptime!(runs * rows), rest, plan);
        sum -= total(shared, place, 0u32, comptime!(plan.skip()), plan);
        let mut window = f32::cast_from(sum);
        #[unroll]
        for w in 0..rows {
            let mut bytes = u32::new(0);
            #[unroll]
            for b in 0..4u32 {
                let pixel = comptime!(4 * w + b);
                if comptime!(pixel > 0) {
                    let leaves = beside(shared, place, comptime!(plan.skip() + pixel - 1), plan);
                    let enters = beside(
                        shared,
                        place,
                        comptime!(plan.skip() + 2 * plan.radius + pixel),
                        plan,
                    );
                    window += enters - leaves;
                }
                bytes += rounded(window, inverse) << comptime!(8 * b);
            }
            words[comptime!(w as usize)] = bytes - BESIDE;
        }
    }
    let samples = comptime!(Samples::Bytes);
    if comptime!(plan.strip.exchange && rows == 8) {
        store_two_runs::<u32, N>(out, &words, row + k, left, run, raster, computed, samples);
    } else if run < computed {
        let first = left + run * rows;
        store_run::<u32, N>(out, &words, row + k, first, raster, rows, samples);
    }
}
