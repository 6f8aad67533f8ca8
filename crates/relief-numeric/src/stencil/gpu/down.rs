//! Windows down the columns of a strip, a few rows at a step: least, greatest, or sums that nothing is taken away from again.
//!
//! With K rows a step and blocks of K rows from the first row of the first window on, the window of row j of step s is the end of
//! block s from row j on, the whole blocks between, and the beginning of block s + m and what follows, m = 2r / K. Block s is
//! read again (from a cache: it was read m steps ago); of the blocks between, their totals are in registers; and of what follows,
//! the beginning that all windows of a step have in common. So a pixel is read once from afar and once from nearby, and folded
//! three times, whatever the radius.
//!
//! Rows are asked for as soon as those before are used, a step ahead, and take no registers twice.
//!
//! A word of bytes is two pairs of halves ([`super::pairs`]), its even pixels and its odd ones. A device folds three pairs in one
//! instruction, so beginnings and ends are kept of every other row alone: two instructions for a row instead of three.

use cubecl::prelude::*;

use super::Samples;
use super::columns::{Column, load_rows};
use super::pairs::{Pairs, evens, greatest, least, odds};
use super::ring::{Ring, exchange, keep};
use super::strip::Strip;

/// How samples of a window become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fold {
    Sum,
    Least,
    Greatest,
}

/// What is compiled into a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Down {
    pub(super) samples: Samples,
    pub(super) fold: Fold,
    pub(super) pairs: Pairs,
    pub(super) radius: u32,
    /// K is even.
    pub(super) strip: Strip,
}

impl Down {
    /// The rows of a window but the last, where shared memory keeps them.
    pub(super) const fn ring(&self) -> Ring {
        let rows = match (self.strip.kept, self.blocks().0) {
            (false, _) | (_, 0) => 0,
            _ => 2 * self.radius,
        };
        Ring {
            rows,
            units: self.strip.units,
        }
    }

    /// Values that a word is taken apart into.
    pub(super) const fn lanes(&self) -> u32 {
        match self.samples {
            Samples::Floats => 1,
            Samples::Bytes => 2,
        }
    }

    /// Whole blocks down a window, and the rows that are left.
    const fn blocks(&self) -> (u32, u32) {
        (
            2 * self.radius / self.strip.rows,
            2 * self.radius % self.strip.rows,
        )
    }

    /// Rows of a window but the last, where it is lower than a block; else 0.
    const fn low(&self) -> u32 {
        match self.blocks() {
            (0, rest) => rest,
            _ => 0,
        }
    }
}

/// A column of a strip on its way down.
#[derive(CubeType)]
pub(super) struct Descent<W: Numeric> {
    column: Column,
    /// The first row of the block above.
    top: i32,
    /// Where it is kept.
    slot: u32,
    /// The totals of blocks 1 … m − 1.
    between: Array<W>,
    /// The rows of block m that all windows of the step have.
    begun: Array<W>,
    /// The last rows of the step's windows; where they are lower than a block, after the rows before.
    below: Array<W>,
    /// Block 0.
    above: Array<W>,
}

/// At the step whose first window begins at row `top`.
#[cube]
pub(super) fn descent<W: Numeric>(
    source: &Array<W>,
    kept: &mut SharedMemory<W>,
    column: Column,
    top: i32,
    #[comptime] down: Down,
) -> Descent<W> {
    let (blocks, rest) = comptime!(down.blocks());
    let (rows, lanes, samples) = comptime!((down.strip.rows, down.lanes(), down.samples));
    let count = comptime!(down.low() + rows);
    let mut between = Array::<W>::new(comptime!((lanes * blocks.max(1)) as usize));
    let mut begun = Array::<W>::new(comptime!(lanes as usize));
    let mut below = Array::<W>::new(comptime!(count as usize));
    let mut above = Array::<W>::new(comptime!(rows as usize));
    let last = top + comptime!((2 * down.radius - down.low()) as i32);
    if comptime!(blocks > 0) {
        for b in 1..blocks {
            let row = b * rows;
            load_rows::<W>(source, &mut above, top + row as i32, &column, 0u32, rows, samples);
            keep::<W>(kept, &above, row, rows, comptime!(down.ring()));
            let mut total = Array::<W>::new(comptime!(lanes as usize));
            fold_rows::<W>(&mut total, &above, 0u32, rows, down);
            push::<W>(&mut between, &total, down);
        }
        if comptime!(rest > 0) {
            load_rows::<W>(
                source,
                &mut above,
                last - rest as i32,
                &column,
                0u32,
                rest,
                samples,
            );
            keep::<W>(kept, &above, blocks * rows, rest, comptime!(down.ring()));
            fold_rows::<W>(&mut begun, &above, 0u32, rest, down);
        }
        load_rows::<W>(source, &mut above, top, &column, 0u32, rows, samples);
        keep::<W>(kept, &above, 0u32, rows, comptime!(down.ring()));
    }
    load_rows::<W>(source, &mut below, last, &column, 0u32, count, samples);
    Descent::<W> {
        column,
        top,
        slot: 0u32,
        between,
        begun,
        below,
        above,
    }
}

/// The windows of a step's rows, a row's lanes side by side; then on to the next step.
#[cube]
pub(super) fn descend<W: Numeric>(
    descent: &mut Descent<W>,
    windows: &mut Array<W>,
    source: &Array<W>,
    kept: &mut SharedMemory<W>,
    #[comptime] down: Down,
) {
    let (rows, samples) = comptime!((down.strip.rows, down.samples));
    let (blocks, rest) = comptime!(down.blocks());
    if comptime!(blocks == 0) {
        near::<W>(&descent.below, windows, down);
    } else {
        if comptime!(down.ring().is_used()) {
            descent.slot = exchange::<W>(
                kept,
                &descent.below,
                &mut descent.above,
                descent.slot,
                rows,
                comptime!(down.ring()),
            );
        }
        let mut total = Array::<W>::new(comptime!(down.lanes() as usize));
        if comptime!(down.lanes() == 1) {
            far::<W>(descent, windows, &mut total, down);
        } else {
            far_by_two::<W>(descent, windows, &mut total, down);
        }
        // The block below then is between.
        push::<W>(&mut descent.between, &total, down);
        if comptime!(rest > 0) {
            fold_rows::<W>(
                &mut descent.begun,
                &descent.below,
                comptime!(rows - rest),
                rest,
                down,
            );
        }
    }
    let used = comptime!(down.low());
    #[unroll]
    for k in 0..comptime!(used as usize) {
        descent.below[k] = descent.below[comptime!(k + rows as usize)];
    }
    descent.top += rows as i32;
    let next = descent.top + comptime!(2 * down.radius as i32);
    load_rows::<W>(
        source,
        &mut descent.below,
        next,
        &descent.column,
        used,
        rows,
        samples,
    );
    if comptime!(blocks > 0 && !down.ring().is_used()) {
        load_rows::<W>(
            source,
            &mut descent.above,
            descent.top,
            &descent.column,
            0u32,
            rows,
            samples,
        );
    }
}

/// a and b in one.
#[cube]
pub(super) fn fold<W: Numeric>(a: W, b: W, #[comptime] down: Down) -> W {
    match (down.samples, down.fold) {
        (Samples::Floats, Fold::Least) => min(a, b),
        (Samples::Floats, Fold::Greatest) => max(a, b),
        (Samples::Bytes, Fold::Least) => {
            W::cast_from(least(u32::cast_from(a), u32::cast_from(b), comptime!(down.pairs)))
        }
        (Samples::Bytes, Fold::Greatest) => W::cast_from(greatest(
            u32::cast_from(a),
            u32::cast_from(b),
            comptime!(down.pairs),
        )),
        (_, Fold::Sum) => a + b,
    }
}

/// Three in one; of pairs a single instruction.
#[cube]
pub(super) fn fold_three<W: Numeric>(a: W, b: W, c: W, #[comptime] down: Down) -> W {
    fold::<W>(fold::<W>(a, b, down), c, down)
}

/// Value `lane` of a word.
#[cube]
fn lane<W: Numeric>(word: W, #[comptime] lane: u32, #[comptime] down: Down) -> W {
    match (down.samples, lane) {
        (Samples::Floats, _) => word,
        (Samples::Bytes, 0) => W::cast_from(evens(u32::cast_from(word))),
        (Samples::Bytes, _) => W::cast_from(odds(u32::cast_from(word))),
    }
}

/// Folds `count` of the words, from `first` on.
#[cube]
fn fold_rows<W: Numeric>(
    total: &mut Array<W>,
    words: &Array<W>,
    #[comptime] first: u32,
    #[comptime] count: u32,
    #[comptime] down: Down,
) {
    #[unroll]
    for l in 0..comptime!(down.lanes()) {
        let mut value = lane::<W>(words[comptime!(first as usize)], l, down);
        #[unroll]
        for k in 1..count {
            let next = lane::<W>(words[comptime!((first + k) as usize)], l, down);
            value = fold::<W>(value, next, down);
        }
        total[comptime!(l as usize)] = value;
    }
}

/// Lets the oldest of the blocks between go, and keeps `total`.
#[cube]
fn push<W: Numeric>(between: &mut Array<W>, total: &Array<W>, #[comptime] down: Down) {
    let (blocks, _) = comptime!(down.blocks());
    let lanes = comptime!(down.lanes() as usize);
    if comptime!(blocks > 1) {
        let last = comptime!((blocks as usize - 2) * lanes);
        #[unroll]
        for k in 0..last {
            between[k] = between[comptime!(k + lanes)];
        }
        #[unroll]
        for l in 0..lanes {
            between[comptime!(last + l)] = total[l];
        }
    }
}

/// The windows of a step's rows where they are lower than a block.
#[cube]
fn near<W: Numeric>(below: &Array<W>, windows: &mut Array<W>, #[comptime] down: Down) {
    let lanes = comptime!(down.lanes());
    #[unroll]
    for k in 0..comptime!(down.strip.rows) {
        let mut window = Array::<W>::new(comptime!(lanes as usize));
        fold_rows::<W>(&mut window, below, k, comptime!(2 * down.radius + 1), down);
        #[unroll]
        for l in 0..lanes {
            windows[comptime!((k * lanes + l) as usize)] = window[comptime!(l as usize)];
        }
    }
}

/// The windows of a step's rows: the ends of the block above, what is between, the beginnings below. And the total of block m.
#[cube]
fn far<W: Numeric>(
    descent: &Descent<W>,
    windows: &mut Array<W>,
    total: &mut Array<W>,
    #[comptime] down: Down,
) {
    let (blocks, rest) = comptime!(down.blocks());
    let rows = comptime!(down.strip.rows as usize);
    let mut ends = Array::<W>::new(rows);
    let mut end = descent.above[comptime!(rows - 1)];
    #[unroll]
    for b in 0..comptime!(blocks as usize - 1) {
        end = fold::<W>(end, descent.between[b], down);
    }
    ends[comptime!(rows - 1)] = end;
    #[unroll]
    for j in 1..rows {
        let k = comptime!(rows - 1 - j);
        ends[k] = fold::<W>(ends[comptime!(k + 1)], descent.above[k], down);
    }
    let mut begun = descent.below[0usize];
    if comptime!(rest > 0) {
        begun = fold::<W>(begun, descent.begun[0usize], down);
    }
    #[unroll]
    for k in 0..rows {
        if comptime!(k > 0) {
            begun = fold::<W>(begun, descent.below[k], down);
        }
        if comptime!(k + rest as usize + 1 == rows) {
            total[0usize] = begun;
        }
        windows[k] = fold::<W>(ends[k], begun, down);
    }
}

/// The same of pairs, three folded at once.
#[cube]
fn far_by_two<W: Numeric>(
    descent: &Descent<W>,
    windows: &mut Array<W>,
    totals: &mut Array<W>,
    #[comptime] down: Down,
) {
    let (blocks, rest) = comptime!(down.blocks());
    let (rows, lanes) = comptime!((down.strip.rows as usize, down.lanes() as usize));
    #[unroll]
    for l in 0..lanes {
        let mut above = Array::<W>::new(rows);
        let mut below = Array::<W>::new(rows);
        #[unroll]
        for k in 0..rows {
            above[k] = lane::<W>(descent.above[k], comptime!(l as u32), down);
            below[k] = lane::<W>(descent.below[k], comptime!(l as u32), down);
        }
        // Of row 2 k the end from there on, of row 2 k + 1 the beginning up to there.
        let mut ends = Array::<W>::new(comptime!(rows / 2 + 1));
        if comptime!(blocks > 1) {
            let mut total = descent.between[l];
            #[unroll]
            for b in 1..comptime!(blocks as usize - 1) {
                total = fold::<W>(total, descent.between[comptime!(b * lanes + l)], down);
            }
            ends[comptime!(rows / 2)] = total;
        }
        #[unroll]
        for j in 0..comptime!(rows / 2) {
            let k = comptime!(rows / 2 - 1 - j);
            let (even, odd) = (above[comptime!(2 * k)], above[comptime!(2 * k + 1)]);
            if comptime!(j == 0 && blocks == 1) {
                ends[k] = fold::<W>(odd, even, down);
            } else {
                ends[k] = fold_three::<W>(ends[comptime!(k + 1)], odd, even, down);
            }
        }
        let mut begun = descent.begun[l];
        #[unroll]
        for k in 0..comptime!(rows / 2) {
            let (even, odd) = (below[comptime!(2 * k)], below[comptime!(2 * k + 1)]);
            let at = comptime!(2 * k * lanes + l);
            if comptime!(k == 0 && rest == 0) {
                windows[at] = fold::<W>(ends[k], even, down);
                begun = fold::<W>(even, odd, down);
            } else {
                windows[at] = fold_three::<W>(ends[k], begun, even, down);
                begun = fold_three::<W>(begun, even, odd, down);
            }
            let end = above[comptime!(2 * k + 1)];
            if comptime!(2 * k + 2 == rows && blocks == 1) {
                windows[comptime!(at + lanes)] = fold::<W>(end, begun, down);
            } else {
                windows[comptime!(at + lanes)] = fold_three::<W>(ends[comptime!(k + 1)], end, begun, down);
            }
            if comptime!(2 * k + 2 + rest as usize == rows) {
                totals[l] = begun;
            }
        }
    }
}
