//! Least and greatest of squares, and sums of f32, in one pass: cubes stream down strips of columns, a few rows at a step. Sums of
//! bytes have a way of their own (`sums`); of f32 nothing is taken away again, because what rounding left of it would stay.
//!
//! *Down.* A unit owns a column of words. With K rows a step and blocks of K rows from the first row of the first window on,
//! the window of row j of step s is the end of block s from row j on, the whole blocks between, and the beginning of block
//! s + m and what follows, m = 2r / K. Block s is read again (from a cache: it was read m steps ago), the totals of the blocks
//! between are in registers, and the last two blocks are too. So a pixel is read once from afar and once from nearby, and
//! folded three times, whatever the radius. Reads are a step ahead.
//!
//! *Across.* The K rows lie in shared memory; each unit takes a run of K words of one of them and does the same along it: the
//! end of the run that begins r pixels to its left, whole runs, the beginning of the run to its right. The totals of runs are
//! exchanged through shared memory. Each K words a word is left out, so that units read different banks.
//!
//! The least (or greatest) of bytes is that of whole words whose highest byte it is, whatever is below, so bytes are only shifted
//! up, not masked.

use cubecl::prelude::*;

use super::Samples;
use super::columns::{column, load_rows, store_run};

/// How samples of a window become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fold {
    Sum,
    Least,
    Greatest,
}

/// What is compiled into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Plan {
    pub(super) samples: Samples,
    pub(super) fold: Fold,
    pub(super) radius: u32,
    /// Units of a cube, and columns of words that it reads.
    pub(super) units: u32,
    /// K: rows of a step, and words of a run.
    pub(super) rows: u32,
    /// Whether shared memory holds the rows of two steps, so that one wait less is needed.
    pub(super) double: bool,
}

impl Plan {
    /// Columns of words to the left of those that are computed.
    pub(super) const fn left(&self) -> u32 {
        self.radius.div_ceil(self.samples.per_word())
    }

    /// Columns of words that a cube computes: whole runs; 0 where the cube is too narrow.
    pub(super) const fn columns(&self) -> u32 {
        let inside = self.units.saturating_sub(2 * self.left());
        inside / self.rows * self.rows
    }

    /// Values that a word of a column is taken apart into.
    const fn lanes(&self) -> u32 {
        self.samples.per_word()
    }

    /// Words from one row of shared memory to the next.
    const fn pitch(&self) -> u32 {
        self.units + self.units / self.rows
    }

    /// Words of a step's rows in shared memory.
    const fn step(&self) -> u32 {
        self.pitch() * self.rows
    }

    const fn steps(&self) -> u32 {
        if self.double { 2 } else { 1 }
    }

    /// Bytes of shared memory.
    pub(super) const fn shared_bytes(&self) -> u32 {
        4 * (self.step() + self.units) * self.steps()
    }

    /// Whole blocks down a window, and the rows that are left.
    const fn blocks(&self) -> (u32, u32) {
        (2 * self.radius / self.rows, 2 * self.radius % self.rows)
    }

    /// Pixels of a run.
    const fn run(&self) -> u32 {
        self.rows * self.samples.per_word()
    }

    /// Whole runs across a window, and the pixels that are left.
    const fn runs(&self) -> (u32, u32) {
        (2 * self.radius / self.run(), 2 * self.radius % self.run())
    }

    /// Where the window of the first pixel of a run begins: words from the run of the same number of those that are read, and
    /// pixels.
    const fn beginning(&self) -> (u32, u32) {
        let pixels = self.left() * self.samples.per_word() - self.radius;
        (pixels / self.samples.per_word(), pixels % self.samples.per_word())
    }

    /// Where in shared memory word `word` after the beginning of a run of those read lies, from its own.
    const fn place(&self, word: u32) -> u32 {
        word + word / self.rows
    }
}

/// Folds the squares of a strip of `steps` · K rows; CUBE_POS_X counts strips across, CUBE_POS_Y down. Sums become
/// sum · `inverse`.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(super) fn slide<W: Numeric, N: Size>(
    source: &Array<W>,
    out: &mut Array<Vector<W, N>>,
    width: u32,
    height: u32,
    pitch: u32,
    steps: u32,
    inverse: f32,
    #[comptime] plan: Plan,
) {
    let rows = comptime!(plan.rows);
    let mut shared = SharedMemory::<W>::new(comptime!((plan.step() * plan.steps()) as usize));
    let mut totals = SharedMemory::<W>::new(comptime!((plan.units * plan.steps()) as usize));
    let (blocks, rest) = comptime!(plan.blocks());
    let lanes = comptime!(plan.lanes());

    let left = CUBE_POS_X * comptime!(plan.columns());
    let column = column(
        left as i32 + UNIT_POS as i32 - comptime!(plan.left() as i32),
        width,
        comptime!(plan.samples),
    );
    let first = CUBE_POS_Y * steps * rows;
    // The first row of block 0.
    let top = first as i32 - comptime!(plan.radius as i32);

    // Blocks 1 … m − 1; block m and the rows that follow; block 0; and the blocks that a step reads for the next.
    let mut between = Array::<W>::new(comptime!((lanes * blocks.max(1)) as usize));
    let ahead = comptime!(if rest > 0 { 2 * rows } else { rows });
    let mut below = Array::<W>::new(comptime!((ahead + rows) as usize));
    let mut above = Array::<W>::new(comptime!(2 * rows as usize));
    // Where windows are lower than a block: the rows of a window but the last, then those of the step.
    let near = comptime!(blocks == 0);
    let kept = comptime!(if near { rest } else { 0 });
    if near {
        load_rows::<W>(
            source,
            &mut below,
            top,
            &column,
            height,
            pitch,
            0u32,
            comptime!(kept + rows),
            comptime!(plan.samples),
        );
    } else {
        let mut block = Array::<W>::new(comptime!(rows as usize));
        for b in 1..blocks {
            load_rows::<W>(
                source,
                &mut block,
                top + (b * rows) as i32,
                &column,
                height,
                pitch,
                0u32,
                rows,
                comptime!(plan.samples),
            );
            let mut total = Array::<W>::new(comptime!(lanes as usize));
            #[unroll]
            for k in 0..rows {
                fold_word::<W>(&mut total, block[comptime!(k as usize)], comptime!(k == 0), plan);
            }
            push::<W>(&mut between, &total, plan);
        }
        load_rows::<W>(
            source,
            &mut below,
            top + comptime!((blocks * rows) as i32),
            &column,
            height,
            pitch,
            0u32,
            ahead,
            comptime!(plan.samples),
        );
        load_rows::<W>(
            source,
            &mut above,
            top,
            &column,
            height,
            pitch,
            0u32,
            rows,
            comptime!(plan.samples),
        );
    }

    for s in 0..steps {
        let step = s % comptime!(plan.steps());
        let row = first + s * rows;
        let next = row as i32 - comptime!(plan.radius as i32) + comptime!(rows as i32);
        if near {
            down_near::<W>(&below, &mut shared, step, plan);
            #[unroll]
            for k in 0..kept {
                below[comptime!(k as usize)] = below[comptime!((k + rows) as usize)];
            }
            load_rows::<W>(
                source,
                &mut below,
                next + comptime!(kept as i32),
                &column,
                height,
                pitch,
                kept,
                rows,
                comptime!(plan.samples),
            );
        } else {
            load_rows::<W>(
                source,
                &mut below,
                next + comptime!(((blocks - 1) * rows + ahead) as i32),
                &column,
                height,
                pitch,
                ahead,
                rows,
                comptime!(plan.samples),
            );
            load_rows::<W>(
                source,
                &mut above,
                next,
                &column,
                height,
                pitch,
                rows,
                rows,
                comptime!(plan.samples),
            );
            down_far::<W>(&above, &mut between, &below, &mut shared, step, plan);
            #[unroll]
            for k in 0..ahead {
                below[comptime!(k as usize)] = below[comptime!((k + rows) as usize)];
            }
            #[unroll]
            for k in 0..rows {
                above[comptime!(k as usize)] = above[comptime!((k + rows) as usize)];
            }
        }
        sync_cube();
        across::<W, N>(
            &shared,
            &mut totals,
            out,
            step,
            row,
            left,
            width,
            height,
            pitch,
            inverse,
            plan,
        );
        // Of two steps' rows, the next step writes the others, and the one after only after the next one's wait.
        if comptime!(!plan.double) {
            sync_cube();
        }
    }
}

/// a and b in one.
#[cube]
fn fold<W: Numeric>(a: W, b: W, #[comptime] which: Fold) -> W {
    match which {
        Fold::Sum => a + b,
        Fold::Least => min(a, b),
        Fold::Greatest => max(a, b),
    }
}

/// Value `lane` of a word.
#[cube]
fn lane<W: Numeric>(word: W, #[comptime] lane: u32, #[comptime] plan: Plan) -> W {
    match plan.samples {
        Samples::Floats => word,
        Samples::Bytes => {
            let bits = u32::cast_from(word);
            W::cast_from(bits << comptime!(24 - 8 * lane))
        }
    }
}

/// Folds a word onto values, or begins them with it.
#[cube]
fn fold_word<W: Numeric>(onto: &mut Array<W>, word: W, #[comptime] begin: bool, #[comptime] plan: Plan) {
    #[unroll]
    for l in 0..comptime!(plan.lanes()) {
        let value = lane::<W>(word, l, plan);
        if begin {
            onto[comptime!(l as usize)] = value;
        } else {
            onto[comptime!(l as usize)] = fold::<W>(onto[comptime!(l as usize)], value, comptime!(plan.fold));
        }
    }
}

/// Lets the oldest of the blocks between go, and keeps `total`.
#[cube]
fn push<W: Numeric>(between: &mut Array<W>, total: &Array<W>, #[comptime] plan: Plan) {
    let (blocks, _) = comptime!(plan.blocks());
    let lanes = comptime!(plan.lanes());
    if comptime!(blocks > 1) {
        #[unroll]
        for k in 0..comptime!((blocks - 2) * lanes) {
            between[comptime!(k as usize)] = between[comptime!((k + lanes) as usize)];
        }
        #[unroll]
        for l in 0..lanes {
            between[comptime!(((blocks - 2) * lanes + l) as usize)] = total[comptime!(l as usize)];
        }
    }
}

/// Row `k` of a step, to shared memory.
#[cube]
fn put<W: Numeric>(
    shared: &mut SharedMemory<W>,
    values: &Array<W>,
    step: u32,
    #[comptime] k: u32,
    #[comptime] plan: Plan,
) {
    let place = step * comptime!(plan.step())
        + comptime!(k * plan.pitch())
        + UNIT_POS
        + UNIT_POS / comptime!(plan.rows);
    if comptime!(plan.lanes() == 4) {
        let word = highest(
            u32::cast_from(values[0usize]),
            u32::cast_from(values[1usize]),
            u32::cast_from(values[2usize]),
            u32::cast_from(values[3usize]),
        );
        shared[place as usize] = W::cast_from(word);
    } else {
        shared[place as usize] = values[0usize];
    }
}

/// The windows of a step's rows where they are lower than a block.
#[cube]
fn down_near<W: Numeric>(below: &Array<W>, shared: &mut SharedMemory<W>, step: u32, #[comptime] plan: Plan) {
    #[unroll]
    for k in 0..comptime!(plan.rows) {
        let mut window = Array::<W>::new(comptime!(plan.lanes() as usize));
        #[unroll]
        for j in 0..comptime!(2 * plan.radius + 1) {
            fold_word::<W>(
                &mut window,
                below[comptime!((k + j) as usize)],
                comptime!(j == 0),
                plan,
            );
        }
        put::<W>(shared, &window, step, k, plan);
    }
}

/// The windows of a step's rows: the ends of the block above, what is between, the beginnings below. The block below
/// then is between.
#[cube]
fn down_far<W: Numeric>(
    above: &Array<W>,
    between: &mut Array<W>,
    below: &Array<W>,
    shared: &mut SharedMemory<W>,
    step: u32,
    #[comptime] plan: Plan,
) {
    let (blocks, rest) = comptime!(plan.blocks());
    let (rows, lanes) = comptime!((plan.rows, plan.lanes()));
    let mut ends = Array::<W>::new(comptime!((rows * lanes) as usize));
    let mut end = Array::<W>::new(comptime!(lanes as usize));
    #[unroll]
    for b in 0..comptime!(blocks - 1) {
        #[unroll]
        for l in 0..lanes {
            let value = between[comptime!((b * lanes + l) as usize)];
            if comptime!(b == 0) {
                end[comptime!(l as usize)] = value;
            } else {
                end[comptime!(l as usize)] =
                    fold::<W>(end[comptime!(l as usize)], value, comptime!(plan.fold));
            }
        }
    }
    #[unroll]
    for j in 0..rows {
        let k = comptime!(rows - 1 - j);
        fold_word::<W>(
            &mut end,
            above[comptime!(k as usize)],
            comptime!(j == 0 && blocks == 1),
            plan,
        );
        #[unroll]
        for l in 0..lanes {
            ends[comptime!((k * lanes + l) as usize)] = end[comptime!(l as usize)];
        }
    }
    let mut begun = Array::<W>::new(comptime!(lanes as usize));
    #[unroll]
    for k in 0..comptime!(rows + rest) {
        fold_word::<W>(&mut begun, below[comptime!(k as usize)], comptime!(k == 0), plan);
        if comptime!(k + 1 == rows) {
            push::<W>(between, &begun, plan);
        }
        if comptime!(k >= rest) {
            let mut window = Array::<W>::new(comptime!(lanes as usize));
            #[unroll]
            for l in 0..lanes {
                window[comptime!(l as usize)] = fold::<W>(
                    ends[comptime!(((k - rest) * lanes + l) as usize)],
                    begun[comptime!(l as usize)],
                    comptime!(plan.fold),
                );
            }
            put::<W>(shared, &window, step, comptime!(k - rest), plan);
        }
    }
}

/// `count` pixels of a row in shared memory, from `word` words and `pixel` pixels after `place` on.
#[cube]
fn pixels<W: Numeric>(
    shared: &SharedMemory<W>,
    pixels: &mut Array<W>,
    place: u32,
    #[comptime] word: u32,
    #[comptime] pixel: u32,
    #[comptime] count: u32,
    #[comptime] plan: Plan,
) {
    let per_word = comptime!(plan.samples.per_word());
    let words = comptime!((pixel + count).div_ceil(per_word));
    #[unroll]
    for w in 0..words {
        let read = shared[(place + comptime!(plan.place(word + w))) as usize];
        #[unroll]
        for b in 0..per_word {
            // The pixel's number, beyond `count` where it is not asked for.
            let p = comptime!((w * per_word + b).wrapping_sub(pixel));
            if comptime!(p < count) {
                pixels[comptime!(p as usize)] = lane::<W>(read, b, plan);
            }
        }
    }
}

/// The windows across the rows of a step, to memory.
#[cube]
#[allow(clippy::too_many_arguments)]
fn across<W: Numeric, N: Size>(
    shared: &SharedMemory<W>,
    totals: &mut SharedMemory<W>,
    out: &mut Array<Vector<W, N>>,
    step: u32,
    row: u32,
    left: u32,
    width: u32,
    height: u32,
    pitch: u32,
    inverse: f32,
    #[comptime] plan: Plan,
) {
    let (runs, rest) = comptime!(plan.runs());
    let count = comptime!(plan.run());
    let (word, pixel) = comptime!(plan.beginning());
    let of_row = comptime!(plan.units / plan.rows);
    let computed = comptime!(plan.columns() / plan.rows);
    let (k, run) = (UNIT_POS / of_row, UNIT_POS % of_row);
    let place = step * comptime!(plan.step()) + k * comptime!(plan.pitch()) + run * comptime!(plan.rows + 1);
    let mut windows = Array::<W>::new(comptime!(count as usize));

    if comptime!(runs == 0) {
        if run < computed {
            // The window of the run's last pixel ends within the words that the cube has read.
            near::<W>(shared, &mut windows, place, plan);
        }
    } else {
        let mut ends = Array::<W>::new(comptime!(count as usize));
        let spot = step * comptime!(plan.units) + UNIT_POS;
        // Runs that lie between the ends of a window, or are one.
        if run < comptime!(computed + runs - 1) {
            pixels::<W>(shared, &mut ends, place, word, pixel, count, plan);
            #[unroll]
            for j in 1..count {
                let p = comptime!((count - 1 - j) as usize);
                ends[p] = fold::<W>(ends[p], ends[comptime!(p + 1)], comptime!(plan.fold));
            }
            if comptime!(runs > 1) {
                totals[spot as usize] = ends[0usize];
            }
        }
        if comptime!(runs > 1) {
            sync_cube();
        }
        if run < computed {
            let mut begins = Array::<W>::new(comptime!((count + rest) as usize));
            pixels::<W>(
                shared,
                &mut begins,
                place + comptime!(runs * (plan.rows + 1)),
                word,
                pixel,
                comptime!(count + rest),
                plan,
            );
            if comptime!(runs > 1) {
                let mut total = totals[(spot + 1u32) as usize];
                for b in 2..runs {
                    total = fold::<W>(total, totals[(spot + b) as usize], comptime!(plan.fold));
                }
                begins[0usize] = fold::<W>(total, begins[0usize], comptime!(plan.fold));
            }
            #[unroll]
            for p in 1..comptime!((count + rest) as usize) {
                begins[p] = fold::<W>(begins[comptime!(p - 1)], begins[p], comptime!(plan.fold));
            }
            #[unroll]
            for p in 0..comptime!(count as usize) {
                windows[p] = fold::<W>(
                    ends[p],
                    begins[comptime!(p + rest as usize)],
                    comptime!(plan.fold),
                );
            }
        }
    }
    if run < computed {
        let mut words = Array::<W>::new(comptime!(plan.rows as usize));
        #[unroll]
        for w in 0..comptime!(plan.rows) {
            words[comptime!(w as usize)] = finished::<W>(&windows, inverse, w, plan);
        }
        store_run::<W, N>(
            out,
            &words,
            row + k,
            left + run * comptime!(plan.rows),
            width,
            height,
            pitch,
            comptime!(plan.rows),
            comptime!(plan.samples),
        );
    }
}

/// The windows of a run that are narrower than it: the same from blocks as wide as a window.
#[cube]
fn near<W: Numeric>(shared: &SharedMemory<W>, windows: &mut Array<W>, place: u32, #[comptime] plan: Plan) {
    let count = comptime!(plan.run() as usize);
    let reach = comptime!(2 * plan.radius as usize);
    let (word, pixel) = comptime!(plan.beginning());
    let mut ends = Array::<W>::new(comptime!(count + reach));
    let mut begins = Array::<W>::new(comptime!(count + reach));
    pixels::<W>(
        shared,
        &mut ends,
        place,
        word,
        pixel,
        comptime!((count + reach) as u32),
        plan,
    );
    #[unroll]
    for p in 0..comptime!(count + reach) {
        if comptime!(p % (reach + 1) == 0) {
            begins[p] = ends[p];
        } else {
            begins[p] = fold::<W>(begins[comptime!(p - 1)], ends[p], comptime!(plan.fold));
        }
    }
    #[unroll]
    for j in 1..comptime!(count + reach) {
        let p = comptime!(count + reach - 1 - j);
        if comptime!((p + 1) % (reach + 1) != 0) {
            ends[p] = fold::<W>(ends[p], ends[comptime!(p + 1)], comptime!(plan.fold));
        }
    }
    #[unroll]
    for p in 0..count {
        if comptime!(p % (reach + 1) == 0) {
            windows[p] = ends[p];
        } else {
            windows[p] = fold::<W>(ends[p], begins[comptime!(p + reach)], comptime!(plan.fold));
        }
    }
}

/// Word `word` of the result of a run.
#[cube]
fn finished<W: Numeric>(
    windows: &Array<W>,
    inverse: f32,
    #[comptime] word: u32,
    #[comptime] plan: Plan,
) -> W {
    match (plan.samples, plan.fold) {
        (Samples::Floats, Fold::Sum) => {
            W::cast_from(f32::cast_from(windows[comptime!(word as usize)]) * inverse)
        }
        (Samples::Floats, _) => windows[comptime!(word as usize)],
        (Samples::Bytes, _) => {
            let a = u32::cast_from(windows[comptime!((4 * word) as usize)]);
            let b = u32::cast_from(windows[comptime!((4 * word + 1) as usize)]);
            let c = u32::cast_from(windows[comptime!((4 * word + 2) as usize)]);
            let d = u32::cast_from(windows[comptime!((4 * word + 3) as usize)]);
            W::cast_from(highest(a, b, c, d))
        }
    }
}

/// The highest byte of each, as a word.
#[cube]
fn highest(a: u32, b: u32, c: u32, d: u32) -> u32 {
    let low = (a >> 24u32) | ((b >> 16u32) & 0x0000_ff00u32);
    low | ((c >> 8u32) & 0x00ff_0000u32) | (d & 0xff00_0000u32)
}
