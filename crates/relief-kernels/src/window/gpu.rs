//! Means of squares on a device: sums down the columns, then along the rows, each moved on by one sample in and one out.
//!
//! Both steps take four columns at once, as a vector. *Down*, a unit sums the first window of a run of rows and moves on row by row: units beside it
//! read the words beside. *Across*, it does so along 32 results of a row. All sums are whole and modulo 2^32; where that of a window exceeds it (16
//! bits and R ≥ 128), the upper bits and the lowest 8 of the sums of columns are summed apart, and what they come to is divided digit by digit.
//!
//! Of small windows (R ≤ [`NEAR`]) nothing is kept between: a unit sums four windows of a row from the few words they lie in, and moves on row by row
//! by summing the row that leaves again. That is some operations more for each sample, but sums of 32 bits are eight bytes for each on their way to
//! memory and back.

use cubecl::prelude::*;

use crate::device::{Buffer, DeviceError, Gpu, Operand, cover, launch};
use crate::filter::{Block, Target};
use crate::fused::packed::{funnel, ones, quotient, reciprocal};
use crate::fused::shape::per_word;

/// Units of a cube, along rows and along columns.
const CUBE: (u32, u32) = (64, 4);

/// Vectors of results along a row that a unit computes.
const RUN: u32 = 8;

/// What is added to offsets so that none is below 0.
const BIAS: u32 = 65_535;

/// The largest R of windows whose sums are not kept.
const NEAR: u32 = 16;

/// Rows of means that a unit computes where they are not.
const NEAR_ROWS: u32 = 32;

/// Whether [`near`] computes means of such squares, which needs no memory for sums.
pub(crate) const fn is_near(radius: u32) -> bool {
    radius <= NEAR
}

/// The fewest rows of sums that a unit computes.
const ROWS: u32 = 32;

/// The most of them: of more, fewer units compute than a device has.
const MOST_ROWS: u32 = 64;

/// The mean of the square around every pixel of `target`, whose samples with a margin of R are in `block`; with an offset, M where the sample and the
/// offset are at least the mean, else 0, of radii up to [`MAX_THRESHOLD_RADIUS`](super::MAX_THRESHOLD_RADIUS). `sums` has a word for every sample of the
/// block but for the rows of its margins.
///
/// # Errors
/// Where the device fails.
pub(crate) fn mean(
    gpu: &Gpu,
    block: &Block,
    sums: &Buffer,
    radius: u32,
    threshold: Option<i32>,
    target: &Target<'_>,
) -> Result<(), DeviceError> {
    let bits = block.bits;
    {
        let (vectors, side) = (vectors(block), 2 * radius + 1);
        let run = side.clamp(ROWS, MOST_ROWS);
        // SAFETY: vectors are compared with those of a row, and rows of results with those that there is memory for; the block has 2R rows
        // more.
        launch!(
            gpu, "mean: down", &bits, &[block.operand(), Operand::write("sums of columns", sums)],
            cover((vectors, target.rows.div_ceil(run)), CUBE),
            unsafe down(
                4, block.samples.array(1), sums.array(4), block.pitch, vectors, target.rows, side, run,
                block.bits))
    }?;
    let bits = block.bits;
    let quads = (target.words * per_word(bits)).div_ceil(4);
    let side = 2 * radius + 1;
    // SAFETY: vectors and rows of results are compared with those of the target, whose rows have whole vectors of four words; a row of sums
    // has more than two vectors beyond those that the windows of the last results need.
    launch!(
        gpu, "mean: across", &(bits, first_entering(radius), is_wide(radius, bits), threshold.is_some()),
        &[Operand::read("sums of columns", sums), block.operand(), target.operand()],
        cover((quads.div_ceil(RUN), target.rows), CUBE),
        unsafe across(
            4, sums.array(4), block.samples.array(1), target.output.array(1), vectors(block), block.pitch,
            radius,
            // An offset is at least −65 535.
            BIAS.wrapping_add_signed(threshold.unwrap_or(0)),
            quads, target.rows, target.offset, target.pitch, side / 4, side * side, reciprocal(side * side),
            first_entering(radius), is_wide(radius, bits), threshold.is_some(), bits))
}

/// [`mean`] of a square for which [`is_near`] holds.
///
/// # Errors
/// Where the device fails.
pub(crate) fn near(gpu: &Gpu, block: &Block, radius: u32, target: &Target<'_>) -> Result<(), DeviceError> {
    let bits = block.bits;
    let quads = (target.words * per_word(bits)).div_ceil(4);
    let count = (2 * radius + 1).pow(2);
    // SAFETY: fours and rows of results are compared with those of the target, whose rows have whole vectors of four words; the block
    // has 2R rows more, and its rows more words beyond the last sample than four windows side by side need.
    launch!(
        gpu, "mean: near", &(bits, radius), &[block.operand(), target.operand()],
        cover((quads, target.rows.div_ceil(NEAR_ROWS)), CUBE),
        unsafe near_rows(
            block.samples.array(1), target.output.array(1), block.pitch, quads, target.rows, target.offset,
            target.pitch, count, reciprocal(count), radius, bits))
}

/// The place in its vector of the first sum that enters a window.
const fn first_entering(radius: u32) -> u32 {
    (2 * radius + 1) % 4
}

/// Whether the sum of a window may exceed 32 bits, with what is added to round it.
fn is_wide(radius: u32, bits: u32) -> bool {
    let samples = (2 * u64::from(radius) + 1).pow(2);
    samples * u64::from(ones(bits)) + samples / 2 >= 1 << 32
}

/// Vectors of a row of sums.
const fn vectors(block: &Block) -> u32 {
    block.pitch * per_word(block.bits) / 4
}

/// The means of four windows beside each other in each of some rows.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
fn near_rows(
    block: &Array<u32>,
    output: &mut Array<u32>,
    block_pitch: u32,
    quads: u32,
    rows: u32,
    offset: u32,
    pitch: u32,
    count: u32,
    reciprocal: u32,
    #[comptime] radius: u32,
    #[comptime] bits: u32,
) {
    let quad = ABSOLUTE_POS_X;
    let top = ABSOLUTE_POS_Y * NEAR_ROWS;
    if quad < quads && top < rows {
        let lanes = comptime!(per_word(bits));
        let first = quad * comptime!(4 / lanes);
        let mut totals = Array::<u32>::new(4usize);
        let mut enters = Array::<u32>::new(4usize);
        let mut leaves = Array::<u32>::new(4usize);
        #[unroll]
        for k in 0..4usize {
            totals[k] = 0u32;
        }
        #[unroll]
        for i in 0..comptime!(2 * radius) {
            windows(block, (top + i) * block_pitch + first, &mut enters, radius, bits);
            #[unroll]
            for k in 0..4usize {
                totals[k] += enters[k];
            }
        }
        let end = min(top + NEAR_ROWS, rows);
        let mut y = top;
        while y < end {
            let from = y * block_pitch + first;
            windows(
                block,
                from + comptime!(2 * radius) * block_pitch,
                &mut enters,
                radius,
                bits,
            );
            windows(block, from, &mut leaves, radius, bits);
            #[unroll]
            for j in 0..comptime!(4 / lanes) {
                let mut word = u32::new(0);
                #[unroll]
                for l in 0..lanes {
                    let k = comptime!((j * lanes + l) as usize);
                    let sum = totals[k] + enters[k];
                    word |= quotient(sum + (count >> 1u32), count, reciprocal) << comptime!(l * bits);
                    totals[k] = sum - leaves[k];
                }
                output[(offset + y * pitch + first + j) as usize] = word;
            }
            y += 1u32;
        }
    }
}

/// The sums of four windows of 2R + 1 samples of a row that begin at a word's four samples.
#[cube]
fn windows(
    block: &Array<u32>,
    at: u32,
    found: &mut Array<u32>,
    #[comptime] radius: u32,
    #[comptime] bits: u32,
) {
    let lanes = comptime!(per_word(bits));
    let side = comptime!(2 * radius + 1);
    let mut words = Array::<u32>::new(comptime!((side + 3).div_ceil(lanes) as usize));
    #[unroll]
    for j in 0..comptime!((side + 3).div_ceil(lanes)) {
        words[comptime!(j as usize)] = block[(at + j) as usize];
    }
    // Those of whole words two by two, of which each half has room: 8 · 255.
    let mut both = u32::new(0);
    #[unroll]
    for j in 0..comptime!(side / lanes) {
        let word = words[comptime!(j as usize)];
        if comptime!(bits == 8) {
            both += (word & 0x00ff_00ffu32) + ((word >> 8u32) & 0x00ff_00ffu32);
        } else {
            both += (word & 0xffffu32) + (word >> 16u32);
        }
    }
    let mut sum = if comptime!(bits == 8) {
        (both & 0xffffu32) + (both >> 16u32)
    } else {
        both
    };
    #[unroll]
    for i in comptime!(side / lanes * lanes)..side {
        sum += sample_of(&words, i, bits);
    }
    found[0] = sum;
    #[unroll]
    for k in 1..4u32 {
        sum = sum + sample_of(&words, comptime!(side + k - 1), bits)
            - sample_of(&words, comptime!(k - 1), bits);
        found[comptime!(k as usize)] = sum;
    }
}

/// A sample of some words.
#[cube]
fn sample_of(words: &Array<u32>, #[comptime] i: u32, #[comptime] bits: u32) -> u32 {
    let lanes = comptime!(per_word(bits));
    (words[comptime!((i / lanes) as usize)] >> comptime!(i % lanes * bits)) & comptime!(ones(bits))
}

/// The sums of `side` rows from each of `run` rows on, for four columns.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
fn down<N: Size>(
    block: &Array<u32>,
    sums: &mut Array<Vector<u32, N>>,
    pitch: u32,
    vectors: u32,
    rows: u32,
    side: u32,
    run: u32,
    #[comptime] bits: u32,
) {
    let vector = ABSOLUTE_POS_X;
    let top = ABSOLUTE_POS_Y * run;
    if vector < vectors && top < rows {
        let words = comptime!(4 / per_word(bits));
        let first = vector * words;
        let mut totals = Array::<u32>::new(4usize);
        #[unroll]
        for k in 0..4usize {
            totals[k] = 0u32;
        }
        // Four rows are read before the first of them is used, so that a unit waits once for all. Rows past the block's count for nothing.
        let last = rows + side - 2u32;
        let mut enters = Array::<u32>::new(comptime!((4 * words) as usize));
        let mut leaves = Array::<u32>::new(comptime!((4 * words) as usize));
        let ready = top + side - 1u32;
        let mut row = top;
        while row < ready {
            rows_of_words(block, row, last, pitch, first, &mut enters, bits);
            #[unroll]
            for i in 0..4u32 {
                if row + i < ready {
                    take(&enters, i, &mut totals, true, bits);
                }
            }
            row += 4u32;
        }
        let end = min(top + run, rows);
        let mut y = top;
        while y < end {
            rows_of_words(block, y + side - 1u32, last, pitch, first, &mut enters, bits);
            rows_of_words(block, y, last, pitch, first, &mut leaves, bits);
            #[unroll]
            for i in 0..4u32 {
                take(&enters, i, &mut totals, true, bits);
                if y + i < end {
                    let mut result = Vector::<u32, N>::empty();
                    #[unroll]
                    for k in 0..4usize {
                        result[k] = totals[k];
                    }
                    sums[((y + i) * vectors + vector) as usize] = result;
                }
                take(&leaves, i, &mut totals, false, bits);
            }
            y += 4u32;
        }
    }
}

/// The words of four samples of each of four rows.
#[cube]
fn rows_of_words(
    block: &Array<u32>,
    row: u32,
    last: u32,
    pitch: u32,
    first: u32,
    found: &mut Array<u32>,
    #[comptime] bits: u32,
) {
    let words = comptime!(4 / per_word(bits));
    #[unroll]
    for i in 0..4u32 {
        #[unroll]
        for j in 0..words {
            found[comptime!((i * words + j) as usize)] =
                block[(min(row + i, last) * pitch + first + j) as usize];
        }
    }
}

/// Adds the four samples of row `i`, or takes them away.
#[cube]
fn take(
    rows: &Array<u32>,
    #[comptime] i: u32,
    totals: &mut Array<u32>,
    #[comptime] enters: bool,
    #[comptime] bits: u32,
) {
    let lanes = comptime!(per_word(bits));
    #[unroll]
    for k in 0..4u32 {
        let word = rows[comptime!((i * (4 / lanes) + k / lanes) as usize)];
        let sample = (word >> comptime!(k % lanes * bits)) & comptime!(ones(bits));
        if comptime!(enters) {
            totals[comptime!(k as usize)] += sample;
        } else {
            totals[comptime!(k as usize)] -= sample;
        }
    }
}

/// The means of the windows that begin at each of 32 samples of a row.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
fn across<N: Size>(
    sums: &Array<Vector<u32, N>>,
    block: &Array<u32>,
    output: &mut Array<u32>,
    vectors: u32,
    block_pitch: u32,
    radius: u32,
    raised: u32,
    quads: u32,
    rows: u32,
    offset: u32,
    pitch: u32,
    whole: u32,
    count: u32,
    reciprocal: u32,
    #[comptime] rest: u32,
    #[comptime] wide: bool,
    #[comptime] threshold: bool,
    #[comptime] bits: u32,
) {
    let first = ABSOLUTE_POS_X * RUN;
    let y = ABSOLUTE_POS_Y;
    if first < quads && y < rows {
        let row = y * vectors;
        // The sum of the first window; its lowest 8 bits apart where it is wide.
        let mut above = u32::new(0);
        let mut below = u32::new(0);
        let mut at = row + first;
        let end = at + whole;
        while at < end {
            let four = sums[at as usize];
            #[unroll]
            for k in 0..4usize {
                above += upper(four[k], wide);
                below += lower(four[k], wide);
            }
            at += 1u32;
        }
        let mut entering = sums[end as usize];
        #[unroll]
        for k in 0..comptime!(rest as usize) {
            above += upper(entering[k], wide);
            below += lower(entering[k], wide);
        }
        let last = min(first + RUN, quads);
        let mut quad = first;
        while quad < last {
            let leaving = sums[(row + quad) as usize];
            let next = sums[(row + quad + whole + 1u32) as usize];
            let lanes = comptime!(per_word(bits));
            let place = offset + y * pitch + quad * comptime!(4 / lanes);
            #[unroll]
            for j in 0..comptime!(4 / lanes) {
                let mut word = u32::new(0);
                let mut own = u32::new(0);
                if comptime!(threshold) {
                    let column = quad * 4u32 + comptime!(j * lanes) + radius;
                    let at = (y + radius) * block_pitch + column / lanes;
                    let (low, high) = (block[at as usize], block[(at + 1u32) as usize]);
                    own = funnel(low, high, (column % lanes) * bits);
                }
                #[unroll]
                for l in 0..lanes {
                    let k = comptime!((j * lanes + l) as usize);
                    let found = if comptime!(threshold) {
                        let sample = (own >> comptime!(l * bits)) & comptime!(ones(bits));
                        set(sample, above, count, raised, bits)
                    } else {
                        mean_of(above, below, count, reciprocal, wide)
                    };
                    word |= found << comptime!(l * bits);
                    let enters = if comptime!(k + (rest as usize) < 4) {
                        entering[comptime!((k + rest as usize) % 4)]
                    } else {
                        next[comptime!((k + rest as usize) % 4)]
                    };
                    above += upper(enters, wide) - upper(leaving[k], wide);
                    below += lower(enters, wide) - lower(leaving[k], wide);
                }
                output[(place + j) as usize] = word;
            }
            entering = next;
            quad += 1u32;
        }
    }
}

/// M where count · (sample + offset) ≥ `sum`, else 0; `raised` is the offset and 65 535.
#[cube]
fn set(sample: u32, sum: u32, count: u32, raised: u32, #[comptime] bits: u32) -> u32 {
    let bias = u32::new(comptime!(BIAS as i64));
    let most = u32::new(comptime!(ones(bits) as i64));
    let moved = sample + raised;
    // M or more is at least any mean.
    let value = min(max(moved, bias) - bias, most);
    select(moved >= bias && count * value >= sum, most, 0u32)
}

/// A sum without its lowest 8 bits where these are summed apart.
#[cube]
fn upper(sum: u32, #[comptime] wide: bool) -> u32 {
    if comptime!(wide) { sum >> 8u32 } else { sum }
}

/// The bits that are summed apart.
#[cube]
fn lower(sum: u32, #[comptime] wide: bool) -> u32 {
    if comptime!(wide) {
        sum & 0xffu32
    } else {
        u32::new(0)
    }
}

/// ⌊(2Σ + n) / 2n⌋ = ⌊(Σ + (n − 1) / 2) / n⌋ of the n = `count` samples of a window, of which there are an odd number.
#[cube]
fn mean_of(above: u32, below: u32, count: u32, reciprocal: u32, #[comptime] wide: bool) -> u32 {
    let half = count >> 1u32;
    if comptime!(wide) {
        // Σ = 256 · above + below: what is left of the first digit is less than n, so that the second fits 32 bits.
        let digit = quotient(above, count, reciprocal);
        let left = above - digit * count;
        (digit << 8u32) + quotient((left << 8u32) + below + half, count, reciprocal)
    } else {
        quotient(above + half, count, reciprocal)
    }
}
