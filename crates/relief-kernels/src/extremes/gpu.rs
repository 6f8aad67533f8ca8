//! Least and greatest samples on a device, on words of packed samples.
//!
//! **Square.** First down the columns, then along the rows. A unit computes up to 16 results that follow each other: what all their windows
//! share is folded once, and what lies before and behind it from there outwards, so that a window of n samples takes n / 16 + 3 folds whatever
//! the samples. Along a row windows are made of short ones, as long as a word: those that begin at a word are folded in the same way,
//! and one more ends with the window.
//!
//! **Disc.** Windows along the rows of 1, 2, 4 … samples, each twice as long made of two, lie in a block for each length. Every row of a disc is two
//! of these, so that a result reads them for 2R + 1 rows.

use cubecl::prelude::*;

use super::Extreme;
use crate::device::{Buffer, DeviceError, Gpu, Operand, cover, launch};
use crate::filter::{Block, Target};
use crate::fold::Fold;
use crate::fused::packed::{fold, funnel, samples_from};
use crate::fused::shape::per_word;

/// Units of a cube, along rows and along columns.
const CUBE: (u32, u32) = (64, 4);

/// Lengths of windows along rows that a disc is made of: 1, 2, 4 … up to 2R + 1.
pub(crate) const fn levels(radius: u32) -> u32 {
    (2 * radius + 1).ilog2() + 1
}

const fn law(extreme: Extreme) -> Fold {
    match extreme {
        Extreme::Least => Fold::Min,
        Extreme::Greatest => Fold::Max,
    }
}

/// How windows along a row are made of short ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Windows {
    /// Samples of a short one: a power of two, at most those of a word.
    short: u32,
    /// How many of them begin at words and lie within the window.
    count: u32,
    /// How many samples after the last of these the one begins that ends with the window: fewer than a word has.
    rest: u32,
    /// Words of results that a unit computes, at most `count`.
    run: u32,
}

impl Windows {
    const fn new(side: u32, bits: u32) -> Self {
        let lanes = per_word(bits);
        let (short, count) = if side < lanes {
            (1 << side.ilog2(), 1)
        } else {
            (lanes, side / lanes)
        };
        Self {
            short,
            count,
            rest: side - short - (count - 1) * lanes,
            run: run(count, 8),
        }
    }
}

/// The greatest power of two up to both.
const fn run(length: u32, most: u32) -> u32 {
    let run = 1 << length.ilog2();
    if run < most { run } else { most }
}

/// The extremes of the squares around the pixels of `target`, whose samples with a margin of R are in `block`; `between` has as many words as the
/// block's rows but for the margins.
///
/// # Errors
/// Where the device fails.
pub(crate) fn square(
    gpu: &Gpu,
    block: &Block,
    between: &Buffer,
    extreme: Extreme,
    radius: u32,
    target: &Target<'_>,
) -> Result<(), DeviceError> {
    let (bits, side) = (block.bits, 2 * radius + 1);
    let run = run(side, 16);
    // SAFETY: words are compared with those of a row, rows of the block limited to those it has, and rows of results compared with those that
    // there is memory for.
    launch!(
        gpu, "extremes: down", &(bits, extreme, run),
        &[block.operand(), Operand::write("extremes of columns", between)],
        cover((block.pitch, target.rows.div_ceil(run)), CUBE),
        unsafe down(
            block.samples.array(1), between.array(1), block.pitch, target.rows, side, run, law(extreme),
            block.bits))?;
    let windows = Windows::new(side, bits);
    let units = target.words.div_ceil(windows.run);
    // SAFETY: words and rows of the target are compared with those it has. The last of a unit's results reads `count` + 1 words from its own on,
    // and up to `run` − 1 more are computed that are not stored: rows of a block have as many words beyond the window of the last result.
    launch!(
        gpu, "extremes: across", &(bits, extreme, windows.short, windows.rest, windows.run),
        &[Operand::read("extremes of columns", between), target.operand()], cover((units, target.rows), CUBE),
        unsafe across(
            between.array(1), target.output.array(1), block.pitch, target.words, target.rows, target.offset,
            target.pitch, windows.count, windows.short, windows.rest, windows.run, law(extreme), block.bits))
}

/// The extremes of the discs around the pixels of `target`. `levels` are buffers of the size of the block's, one for each of [`levels`], of which
/// the first is the block's own, and `all` is all of them.
///
/// # Errors
/// Where the device fails.
pub(crate) fn disc(
    gpu: &Gpu,
    block: &Block,
    levels: &[Buffer],
    all: &Buffer,
    extreme: Extreme,
    radius: u32,
    target: &Target<'_>,
) -> Result<(), DeviceError> {
    for (level, (from, to)) in (0_u32..).zip(levels.iter().zip(levels.iter().skip(1))) {
        let (words, samples) = (
            (1 << level) / per_word(block.bits),
            (1 << level) % per_word(block.bits),
        );
        // SAFETY: words and rows are compared with those of the block, whose size both have; what is read further on is limited to the row.
        launch!(
            gpu, "extremes: twice", &(block.bits, extreme, samples),
            &[Operand::read("windows", from), Operand::write("longer windows", to)],
            cover((block.pitch, block.rows), CUBE),
            unsafe twice(
                from.array(1), to.array(1), block.pitch, block.rows, words, samples, law(extreme),
                block.bits))?;
    }
    let size = levels.first().map_or(0, Buffer::words) as u32;
    // SAFETY: words and rows of the target are compared with those it has. A row of the disc reads a row of the block up to R further than a
    // result, and there is a level for every length up to 2R + 1.
    launch!(
        gpu, "extremes: disc", &(block.bits, extreme), &[Operand::read("windows", all), target.operand()],
        cover((target.words, target.rows), CUBE),
        unsafe chords(
            all.array(1), target.output.array(1), size, block.pitch, target.words, target.rows, target.offset,
            target.pitch, radius, law(extreme), block.bits))
}

/// The extremes of `side` rows from each of `run` rows on, for a word of columns.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
fn down(
    block: &Array<u32>,
    between: &mut Array<u32>,
    pitch: u32,
    rows: u32,
    side: u32,
    #[comptime] run: u32,
    #[comptime] law: Fold,
    #[comptime] bits: u32,
) {
    let word = ABSOLUTE_POS_X;
    let top = ABSOLUTE_POS_Y * run;
    if word < pitch && top < rows {
        // Rows past the block's count for no result.
        let last = rows + side - 2u32;
        // From each row to the last that all windows have: first from the last of the run.
        let mut before = Array::<u32>::new(comptime!(run as usize));
        let mut shared = block[(min(top + comptime!(run - 1), last) * pitch + word) as usize];
        let mut k = u32::new(comptime!(run as i64));
        while k < side {
            shared = fold(
                shared,
                block[(min(top + k, last) * pitch + word) as usize],
                law,
                bits,
            );
            k += 1u32;
        }
        before[comptime!((run - 1) as usize)] = shared;
        #[unroll]
        for i in 1..run {
            let row = comptime!(run - 1 - i);
            let sample = block[(min(top + row, last) * pitch + word) as usize];
            shared = fold(shared, sample, law, bits);
            before[comptime!(row as usize)] = shared;
        }
        let mut after = u32::new(0);
        #[unroll]
        for i in 0..run {
            let mut found = before[comptime!(i as usize)];
            if comptime!(i > 0) {
                let next = block[(min(top + side + comptime!(i - 1), last) * pitch + word) as usize];
                if comptime!(i == 1) {
                    after = next;
                } else {
                    after = fold(after, next, law, bits);
                }
                found = fold(found, after, law, bits);
            }
            if top + i < rows {
                between[((top + i) * pitch + word) as usize] = found;
            }
        }
    }
}

/// The extremes of the windows that begin at each sample of `run` words of a row.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
fn across(
    between: &Array<u32>,
    output: &mut Array<u32>,
    between_pitch: u32,
    words: u32,
    rows: u32,
    offset: u32,
    pitch: u32,
    count: u32,
    #[comptime] length: u32,
    #[comptime] rest: u32,
    #[comptime] run: u32,
    #[comptime] law: Fold,
    #[comptime] bits: u32,
) {
    let first = ABSOLUTE_POS_X * run;
    let y = ABSOLUTE_POS_Y;
    if first < words && y < rows {
        let from = y * between_pitch + first;
        let mut before = Array::<u32>::new(comptime!(run as usize));
        let mut shared = short(between, from + comptime!(run - 1), length, law, bits);
        let mut ends = shared;
        let mut k = u32::new(comptime!(run as i64));
        while k < count {
            ends = short(between, from + k, length, law, bits);
            shared = fold(shared, ends, law, bits);
            k += 1u32;
        }
        before[comptime!((run - 1) as usize)] = shared;
        #[unroll]
        for i in 1..run {
            let word = comptime!(run - 1 - i);
            shared = fold(shared, short(between, from + word, length, law, bits), law, bits);
            before[comptime!(word as usize)] = shared;
        }
        // The short window at the last word that all have, then at those after it.
        let mut after = u32::new(0);
        #[unroll]
        for i in 0..run {
            let next = short(between, from + count + i, length, law, bits);
            let ending = samples_from(ends, next, rest, bits);
            let mut found = fold(before[comptime!(i as usize)], ending, law, bits);
            if comptime!(i > 0) {
                found = fold(found, after, law, bits);
            }
            if comptime!(i == 0) {
                after = next;
            } else {
                after = fold(after, next, law, bits);
            }
            ends = next;
            if first + i < words {
                output[(offset + y * pitch + first + i) as usize] = found;
            }
        }
    }
}

/// The extremes of the windows of 1, 2 or 4 samples that begin at each sample of a word.
#[cube]
fn short(
    row: &Array<u32>,
    at: u32,
    #[comptime] length: u32,
    #[comptime] law: Fold,
    #[comptime] bits: u32,
) -> u32 {
    let word = row[at as usize];
    let mut found = word;
    if comptime!(length > 1) {
        let next = row[(at + 1u32) as usize];
        found = fold(word, samples_from(word, next, 1u32, bits), law, bits);
        if comptime!(length > 2) {
            // The first two of four are enough of the next word's.
            let after = fold(next, next >> bits, law, bits);
            found = fold(found, samples_from(found, after, 2u32, bits), law, bits);
        }
    }
    found
}

/// Windows twice as long: the other half lies `words` words and `samples` samples further on. (On CUDA a kernel is a function of C++, where `double` is no name.)
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
fn twice(
    from: &Array<u32>,
    to: &mut Array<u32>,
    pitch: u32,
    rows: u32,
    words: u32,
    #[comptime] samples: u32,
    #[comptime] law: Fold,
    #[comptime] bits: u32,
) {
    let word = ABSOLUTE_POS_X;
    let y = ABSOLUTE_POS_Y;
    if word < pitch && y < rows {
        let row = y * pitch;
        let further = word + words;
        let low = from[(row + min(further, pitch - 1u32)) as usize];
        let high = from[(row + min(further + 1u32, pitch - 1u32)) as usize];
        let half = from[(row + word) as usize];
        to[(row + word) as usize] = fold(half, samples_from(low, high, samples, bits), law, bits);
    }
}

/// A word of extremes of discs, from windows of all lengths.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
fn chords(
    levels: &Array<u32>,
    output: &mut Array<u32>,
    size: u32,
    block_pitch: u32,
    words: u32,
    rows: u32,
    offset: u32,
    pitch: u32,
    radius: u32,
    #[comptime] law: Fold,
    #[comptime] bits: u32,
) {
    let word = ABSOLUTE_POS_X;
    let y = ABSOLUTE_POS_Y;
    if word < words && y < rows {
        let lanes = comptime!(per_word(bits));
        let middle = word * lanes + radius;
        // The pixel itself is in every disc.
        let row = (y + radius) * block_pitch;
        let mut found = window(levels, row, middle, bits);
        // Rows from the farthest to the middle: half their length grows.
        let mut half = u32::new(0);
        let mut level = u32::new(0);
        let mut k = u32::new(0);
        while k <= radius {
            let far = radius - k;
            let room = radius * radius - far * far;
            while (half + 1u32) * (half + 1u32) <= room {
                half += 1u32;
            }
            while (2u32 << level) <= 2u32 * half + 1u32 {
                level += 1u32;
            }
            let start = level * size;
            let left = middle - half;
            let right = middle + half + 1u32 - (1u32 << level);
            let above = start + (y + k) * block_pitch;
            let below = start + (y + radius + far) * block_pitch;
            found = fold(found, window(levels, above, left, bits), law, bits);
            found = fold(found, window(levels, above, right, bits), law, bits);
            found = fold(found, window(levels, below, left, bits), law, bits);
            found = fold(found, window(levels, below, right, bits), law, bits);
            k += 1u32;
        }
        output[(offset + y * pitch + word) as usize] = found;
    }
}

/// The samples from column `at` on of the row that begins at word `row`.
#[cube]
fn window(levels: &Array<u32>, row: u32, at: u32, #[comptime] bits: u32) -> u32 {
    let lanes = comptime!(per_word(bits));
    let word = row + at / lanes;
    funnel(
        levels[word as usize],
        levels[(word + 1u32) as usize],
        (at % lanes) * bits,
    )
}
