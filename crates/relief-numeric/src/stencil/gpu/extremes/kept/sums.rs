//! Sums of squares by the same cubes (blocks). *Down*, a row that enters is added and the one that has left
//! taken away, both in shared memory. Words outside of the picture are not left out but the nearest inside,
//! so a unit (thread) there goes down the column of words that has it.
//!
//! *Across*, a unit adds up its first windows as extremes fold theirs, from whole runs and what is left. From
//! there on each window is the one before, with the difference of two pixels added: of sums of columns, at
//! most 127 · 255, two differences are computed at once in the halves of a word, and made floats beside 2²³,
//! as in [`super::super::super::sums`].

use cubecl::prelude::*;

use super::super::super::sums::{BESIDE, rounded};
use super::super::of_two_rows;
use super::{
    Across, COLUMNS, Descent, GROUP, Kept, PAIRS, ROWS, Taken, WORDS, further, lane, mended, store_two_rows,
};

/// What makes a difference of two sums of columns positive in each half of a word.
const ABOVE: u32 = 0x8000_8000;

/// 2²³ and what was added.
const BASE: f32 = 8_388_608.0 + 32_768.0;

/// The word of row `row` after `at` in a column.
#[cube]
fn word_at(ring: &SharedMemory<u32>, at: u32, #[comptime] row: u32) -> u32 {
    ring[at as usize + comptime!(row as usize * GROUP)]
}

/// Replaces what lies outside of the picture in words of a column.
#[cube]
fn mend(words: &mut Array<u32>, descent: &Descent, #[comptime] count: usize, #[comptime] plan: Kept) {
    // Units that load their rows have mended them.
    if comptime!(plan.copied) {
        if descent.column.outside != 0u32 {
            #[unroll]
            for k in 0..count {
                words[k] = mended(words[k], &descent.column);
            }
        }
    }
}

/// Adds up the rows of steps `begin` to `end` of those that the first window reaches, but its last.
#[cube]
pub(super) fn enter(
    descent: &mut Descent,
    ring: &SharedMemory<u32>,
    #[comptime] begin: u32,
    #[comptime] end: u32,
    #[comptime] plan: Kept,
) {
    let (block, rest) = comptime!(plan.block());
    for step in begin..comptime!(if end < block { end } else { block }) {
        let at = descent.leaves + step * comptime!(plan.step());
        add(descent, ring, at, ROWS, plan);
    }
    // Once, unlike extremes, however many parts the steps come in.
    if comptime!(begin <= block && block < end && rest > 0) {
        let at = descent.enters;
        add(descent, ring, at, rest, plan);
    }
}

/// Adds up `count` rows from `at` on.
#[cube]
fn add(
    descent: &mut Descent,
    ring: &SharedMemory<u32>,
    at: u32,
    #[comptime] count: u32,
    #[comptime] plan: Kept,
) {
    let mut words = Array::<u32>::new(comptime!(count as usize));
    #[unroll]
    for k in 0..count {
        words[comptime!(k as usize)] = word_at(ring, at, k);
    }
    mend(&mut words, descent, comptime!(count as usize), plan);
    #[unroll]
    for l in 0..2usize {
        #[unroll]
        for k in 0..comptime!(count as usize) {
            descent.begun[l] += lane(words[k], l);
        }
    }
}

/// As [`super::descend`].
#[cube]
pub(super) fn descend<N: Size>(
    descent: &mut Descent,
    ring: &SharedMemory<u32>,
    exchange: &mut SharedMemory<Vector<u32, N>>,
    to: usize,
    #[comptime] plan: Kept,
) {
    let (_, rest) = comptime!(plan.block());
    let (leaves, enters) = (descent.leaves, descent.enters);
    let below = further(leaves, plan);
    let after = further(enters, plan);
    // All at once, because a compiler moves few of them.
    let mut entering = Array::<u32>::new(comptime!(ROWS as usize));
    let mut leaving = Array::<u32>::new(comptime!(ROWS as usize));
    #[unroll]
    for k in 0..ROWS {
        let row = comptime!(k + rest);
        if comptime!(row < ROWS) {
            entering[comptime!(k as usize)] = word_at(ring, enters, row);
        } else {
            entering[comptime!(k as usize)] = word_at(ring, after, comptime!(row - ROWS));
        }
        leaving[comptime!(k as usize)] = word_at(ring, leaves, k);
    }
    mend(&mut entering, descent, comptime!(ROWS as usize), plan);
    mend(&mut leaving, descent, comptime!(ROWS as usize), plan);
    let mut windows = Array::<u32>::new(comptime!(2 * ROWS as usize));
    #[unroll]
    for l in 0..2usize {
        let mut window = descent.begun[l];
        #[unroll]
        for k in 0..comptime!(ROWS as usize) {
            if comptime!(k > 0) {
                window -= lane(leaving[comptime!(k - 1)], l);
            }
            window += lane(entering[k], l);
            windows[comptime!(2 * k + l)] = window;
        }
        descent.begun[l] = window - lane(leaving[comptime!(ROWS as usize - 1)], l);
    }
    #[unroll]
    for p in 0..comptime!(PAIRS as usize) {
        exchange[to + comptime!(p * (WORDS * plan.apart()) as usize)] =
            of_two_rows::<N>(&windows, p, comptime!(plan.pairs));
    }
    descent.leaves = below;
    descent.enters = after;
}

/// The sums of `count` pixels of both rows.
#[cube]
fn totals(pixels: &Array<u32>, #[comptime] count: usize) -> (u32, u32) {
    // Two sums of columns fit into each half. What is left of all that was added without the upper halves are the lower ones.
    let mut all = u32::new(0);
    let mut upper = u32::new(0);
    #[unroll]
    for k in 0..comptime!(count / 2) {
        let two = pixels[comptime!(2 * k)] + pixels[comptime!(2 * k + 1)];
        all += two;
        upper += two >> 16u32;
    }
    if comptime!(count % 2 == 1) {
        let last = pixels[comptime!(count - 1)];
        all += last;
        upper += last >> 16u32;
    }
    (all - upper * 65_536u32, upper)
}

/// The totals of the runs of the units after this one, as [`super::between`], but each once.
#[cube]
fn between(total: u32, #[comptime] plan: Kept) -> u32 {
    let count = comptime!(plan.runs().0 - 1);
    // Of as many units from this one on as a power of two.
    let mut many = total;
    let mut between = u32::new(0);
    #[unroll]
    for k in 0..comptime!(count.ilog2() + 1) {
        if comptime!(k > 0) {
            many += plane_shuffle_down(many, comptime!(1u32 << (k - 1)).runtime());
        }
        if comptime!(count >> k & 1 == 1) {
            // Behind those of the lower powers.
            between += plane_shuffle_down(many, comptime!(1 + count % (1 << k)).runtime());
        }
    }
    between
}

/// As [`super::fold_across`]: the windows' sums times `inverse`, rounded. `beside` are the bits of 2²³.
#[cube]
pub(super) fn add_across<N: Size>(
    taken: &Taken,
    out: &mut Array<Vector<u32, N>>,
    across: &mut Across,
    inverse: f32,
    beside: u32,
    #[comptime] plan: Kept,
) {
    let (runs, rest) = comptime!((plan.runs().0, plan.runs().1 as usize));
    let (first, last) = (&taken.first, &taken.last);
    let (own_upper, own_lower) = totals(first, comptime!(COLUMNS as usize));
    let (more_upper, more_lower) = totals(last, comptime!(rest + 1));
    let mut upper_sum = own_upper + more_upper;
    let mut lower_sum = own_lower + more_lower;
    if comptime!(runs > 1) {
        upper_sum += between(own_upper, plan);
        lower_sum += between(own_lower, plan);
    }
    let mut upper_window = f32::cast_from(upper_sum);
    let mut lower_window = f32::cast_from(lower_sum);
    let mut words = Array::<u32>::new(comptime!(2 * WORDS as usize));
    #[unroll]
    for w in 0..comptime!(WORDS as usize) {
        let mut upper_bytes = u32::new(0);
        let mut lower_bytes = u32::new(0);
        #[unroll]
        for b in 0..4usize {
            let c = comptime!(4 * w + b);
            if comptime!(c > 0) {
                let both = last[comptime!(rest + c)] + ABOVE - first[comptime!(c - 1)];
                // Of two constants a compiler makes two instructions.
                upper_window += f32::reinterpret((both & 0xffffu32) | beside) - BASE;
                lower_window += f32::reinterpret((both >> 16u32) | BESIDE) - BASE;
            }
            upper_bytes += rounded(upper_window, inverse) << comptime!(8 * b as u32);
            lower_bytes += rounded(lower_window, inverse) << comptime!(8 * b as u32);
        }
        words[w] = upper_bytes - BESIDE;
        words[comptime!(w + WORDS as usize)] = lower_bytes - BESIDE;
    }
    store_two_rows::<N>(out, &words, across);
}
