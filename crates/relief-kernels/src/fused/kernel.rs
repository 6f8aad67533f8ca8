//! The kernels: a tree of [`Shape`]s expanded while the kernel is compiled.
//!
//! Every function evaluates the four words of one unit (thread), which lie `step` pixels apart: next to each
//! other where a unit stores one vector, a cube's width apart where it stores four words.

use cubecl::prelude::*;

use super::expression::Axis;
use super::packed::{at_least, coverage, fold, funnel, ones, quotient, remainder, reversed};
use super::shape::{Loads, Plan, Shape, per_word};
use crate::repeat::gpu::held;

/// One launch: rows of vectors, `pitch` vectors apart, from vector `offset` of `output` on.
#[cube(launch_unchecked)]
pub(super) fn rows_of_vectors<N: Size>(
    words: &Sequence<Array<u32>>,
    vectors: &Sequence<Array<Vector<u32, N>>>,
    spans: &Array<u32>,
    numbers: &Sequence<u32>,
    output: &mut Array<Vector<u32, N>>,
    pitch: u32,
    height: u32,
    rows: u32,
    offset: u32,
    #[comptime] plan: Plan,
) {
    let mut tables = SharedMemory::<u32>::new(comptime!(plan.shared_words()));
    fill_tables(words, &mut tables, comptime!(plan.clone()));
    let column = ABSOLUTE_POS_X;
    let mut y = CUBE_POS_Y * rows;
    let end = min(y + rows, height);
    if column < pitch {
        let x = column * comptime!(4 * per_word(plan.bits));
        while y < end {
            let mut results = Array::<Vector<u32, N>>::new(comptime!(plan.unroll as usize));
            #[unroll]
            for j in 0..comptime!(plan.unroll as usize) {
                let row = min(y + j as u32, height - 1u32);
                results[j] = evaluate::<N>(
                    words,
                    vectors,
                    spans,
                    numbers,
                    &tables,
                    x,
                    row,
                    comptime!(plan.clone()),
                    comptime!(plan.shape.clone()),
                );
            }
            #[unroll]
            for j in 0..comptime!(plan.unroll as usize) {
                if y + (j as u32) < end {
                    output[(offset + (y + j as u32) * pitch + column) as usize] = results[j];
                }
            }
            y += comptime!(plan.unroll);
        }
    }
}

/// As [`rows_of_vectors`] of a cell alone that is loaded by vectors: the place in the cell is computed once
/// and then goes from row to row. On software Vulkan most of the time otherwise goes to the high halves of
/// products that quotients take, and to numbers that are read for each row.
///
/// Numbers: those of a cell, see [`cell`].
#[cube(launch_unchecked)]
pub(super) fn rows_of_cell<N: Size>(
    bank: &Array<Vector<u32, N>>,
    numbers: &Sequence<u32>,
    output: &mut Array<Vector<u32, N>>,
    pitch: u32,
    height: u32,
    rows: u32,
    offset: u32,
    #[comptime] at: usize,
    #[comptime] bits: u32,
    #[comptime] unroll: u32,
) {
    let samples = comptime!(4 * per_word(bits));
    let column = ABSOLUTE_POS_X;
    let mut y = CUBE_POS_Y * rows;
    let end = min(y + rows, height);
    if column < pitch && y < end {
        let width = held(*numbers.index(at));
        let lines = held(*numbers.index(comptime!(at + 4)));
        let below = held(*numbers.index(comptime!(at + 7)));
        let copy = held(*numbers.index(comptime!(at + 8)));
        let shear = held(*numbers.index(comptime!(at + 9)));
        let next = held(pitch);
        let line = y + *numbers.index(comptime!(at + 6));
        let turns = line / lines;
        let mut row = line - turns * lines;
        let mut x =
            (column * samples + *numbers.index(comptime!(at + 2)) + width - turns * shear % width) % width;
        let mut from = x % samples * copy + row * below + x / samples;
        let mut to = offset + y * pitch + column;
        while y < end {
            #[unroll]
            for _ in 0..unroll {
                if y < end {
                    output[to as usize] = bank[from as usize];
                    y += 1u32;
                    to += next;
                    row += 1u32;
                    from += below;
                    if row == lines {
                        row = u32::new(0);
                        if x < shear {
                            x += width;
                        }
                        x -= shear;
                        from = x % samples * copy + x / samples;
                    }
                }
            }
        }
    }
}

/// As [`rows_of_vectors`], but each unit stores four words a cube's width apart, so that neighbouring units read and
/// write neighbouring words.
#[cube(launch_unchecked)]
pub(super) fn rows_of_words<N: Size>(
    words: &Sequence<Array<u32>>,
    vectors: &Sequence<Array<Vector<u32, N>>>,
    spans: &Array<u32>,
    numbers: &Sequence<u32>,
    output: &mut Array<u32>,
    pitch: u32,
    height: u32,
    rows: u32,
    offset: u32,
    #[comptime] plan: Plan,
) {
    let mut tables = SharedMemory::<u32>::new(comptime!(plan.shared_words()));
    fill_tables(words, &mut tables, comptime!(plan.clone()));
    let column = CUBE_POS_X * comptime!(4 * plan.units) + UNIT_POS_X;
    let mut y = CUBE_POS_Y * rows;
    let end = min(y + rows, height);
    let x = column * comptime!(per_word(plan.bits));
    while y < end {
        let mut results = Array::<Vector<u32, N>>::new(comptime!(plan.unroll as usize));
        #[unroll]
        for j in 0..comptime!(plan.unroll as usize) {
            let row = min(y + j as u32, height - 1u32);
            results[j] = evaluate::<N>(
                words,
                vectors,
                spans,
                numbers,
                &tables,
                x,
                row,
                comptime!(plan.clone()),
                comptime!(plan.shape.clone()),
            );
        }
        #[unroll]
        for j in 0..comptime!(plan.unroll as usize) {
            let result = results[j];
            #[unroll]
            for k in 0..4usize {
                let place = column + comptime!(k as u32 * plan.units);
                if y + (j as u32) < end && place < pitch {
                    output[(offset + (y + j as u32) * pitch + place) as usize] = result[k];
                }
            }
        }
        y += comptime!(plan.unroll);
    }
}

/// Copies the tables of 8-bit samples to shared memory, one entry per word, `lanes` times.
#[cube]
fn fill_tables(words: &Sequence<Array<u32>>, tables: &mut SharedMemory<u32>, #[comptime] plan: Plan) {
    let lanes = comptime!(plan.lanes);
    #[unroll]
    for t in 0..comptime!(plan.tables.len()) {
        let table = words.index(comptime!(plan.tables[t]));
        let mut i = UNIT_POS;
        while i < comptime!(256 * lanes) {
            let entry = i / lanes;
            let word = table[(entry >> 2u32) as usize];
            tables[(comptime!(t as u32 * 256 * lanes) + i) as usize] =
                (word >> ((entry & 3u32) * 8u32)) & 255u32;
            i += comptime!(plan.units);
        }
    }
    if comptime!(!plan.tables.is_empty()) {
        sync_cube();
    }
}

#[cube]
fn evaluate<N: Size>(
    words: &Sequence<Array<u32>>,
    vectors: &Sequence<Array<Vector<u32, N>>>,
    spans: &Array<u32>,
    numbers: &Sequence<u32>,
    tables: &SharedMemory<u32>,
    x: u32,
    y: u32,
    #[comptime] plan: Plan,
    #[comptime] shape: Shape,
) -> Vector<u32, N> {
    match shape {
        Shape::Zero => Vector::<u32, N>::new(u32::new(0)),
        Shape::Constant { at } => Vector::<u32, N>::new(*numbers.index(at)),
        Shape::Plane { at, slot } => plane::<N>(words.index(slot), numbers, x, y, at, plan),
        Shape::Cell {
            at,
            slot,
            loads,
            sheared,
        } => cell::<N>(words, vectors, numbers, x, y, at, slot, loads, sheared, plan),
        Shape::Ramp { at, axis } => ramp::<N>(numbers, x, y, at, axis, plan),
        Shape::Disc { at } => disc::<N>(spans, numbers, x, y, at, plan),
        Shape::Noise { at } => noise::<N>(numbers, x, y, at, plan),
        Shape::Table { slot, shared, source } => {
            let source = evaluate::<N>(
                words,
                vectors,
                spans,
                numbers,
                tables,
                x,
                y,
                comptime!(plan.clone()),
                comptime!(*source),
            );
            table::<N>(words.index(slot), tables, source, shared, plan)
        }
        Shape::Threshold { at, source } => {
            let source = evaluate::<N>(
                words,
                vectors,
                spans,
                numbers,
                tables,
                x,
                y,
                comptime!(plan.clone()),
                comptime!(*source),
            );
            let level = *numbers.index(at);
            let mut result = Vector::<u32, N>::empty();
            #[unroll]
            for k in 0..4usize {
                result[k] = at_least(source[k], level, comptime!(plan.bits));
            }
            result
        }
        Shape::Fold {
            fold: how,
            below,
            layer,
        } => {
            let below = evaluate::<N>(
                words,
                vectors,
                spans,
                numbers,
                tables,
                x,
                y,
                comptime!(plan.clone()),
                comptime!(*below),
            );
            let layer = evaluate::<N>(
                words,
                vectors,
                spans,
                numbers,
                tables,
                x,
                y,
                comptime!(plan.clone()),
                comptime!(*layer),
            );
            let mut result = Vector::<u32, N>::empty();
            #[unroll]
            for k in 0..4usize {
                result[k] = fold(below[k], layer[k], how, comptime!(plan.bits));
            }
            result
        }
        Shape::Clip { at, source } => {
            let source = evaluate::<N>(
                words,
                vectors,
                spans,
                numbers,
                tables,
                x,
                y,
                comptime!(plan.clone()),
                comptime!(*source),
            );
            clip::<N>(numbers, source, x, y, at, plan)
        }
        Shape::Mirror { at, axis, source } => {
            // The number is the greatest place along the axis at which a unit begins, so that no difference is below 0.
            let last = *numbers.index(at);
            if comptime!(axis == Axis::X) {
                let source = evaluate::<N>(
                    words,
                    vectors,
                    spans,
                    numbers,
                    tables,
                    last - x,
                    y,
                    comptime!(plan.clone()),
                    comptime!(*source),
                );
                let mut result = Vector::<u32, N>::empty();
                #[unroll]
                for k in 0..4usize {
                    result[k] = reversed(source[comptime!(3 - k)], comptime!(plan.bits));
                }
                result
            } else {
                evaluate::<N>(
                    words,
                    vectors,
                    spans,
                    numbers,
                    tables,
                    x,
                    last - y,
                    comptime!(plan.clone()),
                    comptime!(*source),
                )
            }
        }
    }
}

/// Numbers: left, right, top, bottom of what is kept, in the band.
#[cube]
fn clip<N: Size>(
    numbers: &Sequence<u32>,
    source: Vector<u32, N>,
    x: u32,
    y: u32,
    #[comptime] at: usize,
    #[comptime] plan: Plan,
) -> Vector<u32, N> {
    let mut right = *numbers.index(comptime!(at + 1));
    if y < *numbers.index(comptime!(at + 2)) || y >= *numbers.index(comptime!(at + 3)) {
        right = 0u32;
    }
    let mut result = Vector::<u32, N>::empty();
    #[unroll]
    for k in 0..4usize {
        let place = x + comptime!(k as u32 * plan.step);
        result[k] = source[k] & coverage(place, *numbers.index(at), right, comptime!(plan.bits));
    }
    result
}

/// Numbers: a clip, then the column and row of the plane's top-left, its last row, its pitch, its first word, the last word of a row.
#[cube]
fn plane<N: Size>(
    bank: &Array<u32>,
    numbers: &Sequence<u32>,
    x: u32,
    y: u32,
    #[comptime] at: usize,
    #[comptime] plan: Plan,
) -> Vector<u32, N> {
    let lanes = comptime!(per_word(plan.bits));
    let left = *numbers.index(comptime!(at + 4));
    let row = min(
        y - *numbers.index(comptime!(at + 5)),
        *numbers.index(comptime!(at + 6)),
    );
    let pitch = *numbers.index(comptime!(at + 7));
    let start = *numbers.index(comptime!(at + 8)) + row * pitch;
    let last = *numbers.index(comptime!(at + 9));
    let mut read = Vector::<u32, N>::empty();
    #[unroll]
    for k in 0..4usize {
        // One word to the right, so that a word that the plane's edge cuts is not left of the row's start.
        let column = x + comptime!(k as u32 * plan.step + lanes) - left;
        let word = column / lanes;
        let low = bank[(start + min(max(word, 1u32) - 1u32, last)) as usize];
        let high = bank[(start + min(word, last)) as usize];
        read[k] = funnel(low, high, (column % lanes) * comptime!(plan.bits));
    }
    clip::<N>(numbers, read, x, y, at, plan)
}

/// Numbers: columns and their reciprocal, first column, step from word to word; rows and their reciprocal, first row;
/// pitch, words of a copy, shift to the right every so many rows.
#[cube]
fn cell<N: Size>(
    words: &Sequence<Array<u32>>,
    vectors: &Sequence<Array<Vector<u32, N>>>,
    numbers: &Sequence<u32>,
    x: u32,
    y: u32,
    #[comptime] at: usize,
    #[comptime] slot: usize,
    #[comptime] loads: Loads,
    #[comptime] sheared: bool,
    #[comptime] plan: Plan,
) -> Vector<u32, N> {
    let width = *numbers.index(at);
    let per_width = *numbers.index(comptime!(at + 1));
    let step = *numbers.index(comptime!(at + 3));
    let rows = *numbers.index(comptime!(at + 4));
    let pitch = *numbers.index(comptime!(at + 7));
    let copy = *numbers.index(comptime!(at + 8));
    let line = y + *numbers.index(comptime!(at + 6));
    let turns = quotient(line, rows, *numbers.index(comptime!(at + 5)));
    let row = line - turns * rows;
    let mut column = x + *numbers.index(comptime!(at + 2));
    if comptime!(sheared) {
        column += width - remainder(turns * *numbers.index(comptime!(at + 9)), width, per_width);
    }
    column = remainder(column, width, per_width);
    let lanes = comptime!(per_word(plan.bits));
    if comptime!(loads == Loads::Vector) {
        let bank = vectors.index(slot);
        let place = (column % comptime!(4 * lanes)) * copy + row * pitch + column / comptime!(4 * lanes);
        bank[place as usize]
    } else {
        let bank = words.index(slot);
        let mut result = Vector::<u32, N>::empty();
        let start = row * pitch;
        #[unroll]
        for k in 0..4usize {
            if comptime!(loads == Loads::Word) {
                result[k] = bank[((column % lanes) * copy + start + column / lanes) as usize];
            } else {
                let place = start + column / lanes;
                let low = bank[place as usize];
                let high = bank[(place + 1u32) as usize];
                result[k] = funnel(low, high, (column % lanes) * comptime!(plan.bits));
            }
            column += step;
            column = min(column, column - width);
        }
        result
    }
}

/// from ± t / 2m with t = 2·|to − from|·i + m and m = length − 1, all 64 bits wide: an estimate in f32, which is off by 1
/// at most because the quotient has 16 bits, then mended exactly.
///
/// Numbers: from, 2·|to − from|, whether it falls; t at column or row 0 of the band and 2m, low words first.
#[cube]
fn ramp<N: Size>(
    numbers: &Sequence<u32>,
    x: u32,
    y: u32,
    #[comptime] at: usize,
    #[comptime] axis: Axis,
    #[comptime] plan: Plan,
) -> Vector<u32, N> {
    let mut result = Vector::<u32, N>::empty();
    if comptime!(axis == Axis::Y) {
        let value = ramp_at(numbers, y, at, comptime!(plan.bits));
        let word = value * comptime!(u32::MAX / ones(plan.bits));
        #[unroll]
        for k in 0..4usize {
            result[k] = word;
        }
    } else {
        #[unroll]
        for k in 0..4usize {
            let mut word = u32::new(0);
            #[unroll]
            for b in 0..comptime!(per_word(plan.bits)) {
                let place = x + comptime!(k as u32 * plan.step + b);
                let value = ramp_at(numbers, place, at, comptime!(plan.bits));
                word |= value << comptime!(b * plan.bits);
            }
            result[k] = word;
        }
    }
    result
}

#[cube]
fn ramp_at(numbers: &Sequence<u32>, i: u32, #[comptime] at: usize, #[comptime] bits: u32) -> u32 {
    let slope = *numbers.index(comptime!(at + 1));
    let base = *numbers.index(comptime!(at + 3));
    let divisor = *numbers.index(comptime!(at + 5));
    let divisor_high = *numbers.index(comptime!(at + 6));
    let low = base + slope * i;
    let carry = u32::cast_from(low < base);
    let high = *numbers.index(comptime!(at + 4)) + slope.mul_hi(i) + carry;
    let estimate = wide_float(low, high) / wide_float(divisor, divisor_high);
    // Columns left of the ramp wrap to huge values; they are cut off later, but must not overflow here.
    let mut q = u32::cast_from(min(estimate, 131_071.0f32));
    let product = q * divisor;
    let product_high = q.mul_hi(divisor) + q * divisor_high;
    let rest = low - product;
    let rest_high = high - product_high - u32::cast_from(low < product);
    if rest_high >= 0x8000_0000u32 {
        q -= 1u32;
    } else if rest_high > divisor_high || (rest_high == divisor_high && rest >= divisor) {
        q += 1u32;
    }
    let from = *numbers.index(at);
    // Nor may they reach into the sample after them, which may be the ramp's first.
    select(*numbers.index(comptime!(at + 2)) == 0u32, from + q, from - q) & comptime!(ones(bits))
}

#[cube]
fn wide_float(low: u32, high: u32) -> f32 {
    f32::cast_from(high) * 4_294_967_296.0f32 + f32::cast_from(low)
}

/// Numbers: the packed value, the place of the first row's columns among the spans.
#[cube]
fn disc<N: Size>(
    spans: &Array<u32>,
    numbers: &Sequence<u32>,
    x: u32,
    y: u32,
    #[comptime] at: usize,
    #[comptime] plan: Plan,
) -> Vector<u32, N> {
    let place = *numbers.index(comptime!(at + 1)) + 2u32 * y;
    let left = spans[place as usize];
    let right = spans[(place + 1u32) as usize];
    let mut result = Vector::<u32, N>::empty();
    #[unroll]
    for k in 0..4usize {
        let column = x + comptime!(k as u32 * plan.step);
        result[k] = *numbers.index(at) & coverage(column, left, right, comptime!(plan.bits));
    }
    result
}

/// Numbers: the sum at column and row 0 of the band, low word first. Integers of 64 bits are pairs of words, because
/// not every Vulkan device has them. The last xor of the finaliser does not reach the top bits and is left out.
#[cube]
fn noise<N: Size>(
    numbers: &Sequence<u32>,
    x: u32,
    y: u32,
    #[comptime] at: usize,
    #[comptime] plan: Plan,
) -> Vector<u32, N> {
    let base = *numbers.index(at);
    let row = y * 0x27D4_EB4Fu32;
    let low = base + row;
    let high = *numbers.index(comptime!(at + 1))
        + y.mul_hi(0x27D4_EB4Fu32)
        + y * 0xC2B2_AE3Du32
        + u32::cast_from(low < base);
    let mut result = Vector::<u32, N>::empty();
    #[unroll]
    for k in 0..4usize {
        let mut word = u32::new(0);
        #[unroll]
        for b in 0..comptime!(per_word(plan.bits)) {
            let i = x + comptime!(k as u32 * plan.step + b);
            let z = low + i * 0x7F4A_7C15u32;
            let z_high = high + i.mul_hi(0x7F4A_7C15u32) + i * 0x9E37_79B9u32 + u32::cast_from(z < low);
            word |= (mix(z, z_high) >> comptime!(32 - plan.bits)) << comptime!(b * plan.bits);
        }
        result[k] = word;
    }
    result
}

/// The high word of the SplitMix64 finaliser (S. Vigna, 2015) before its last xor.
#[cube]
fn mix(low: u32, high: u32) -> u32 {
    let l = low ^ ((low >> 30u32) | (high << 2u32));
    let h = high ^ (high >> 30u32);
    let m = l * 0x1CE4_E5B9u32;
    let n = l.mul_hi(0x1CE4_E5B9u32) + l * 0xBF58_476Du32 + h * 0x1CE4_E5B9u32;
    let p = m ^ ((m >> 27u32) | (n << 5u32));
    let q = n ^ (n >> 27u32);
    p.mul_hi(0x1331_11EBu32) + p * 0x94D0_49BBu32 + q * 0x1331_11EBu32
}

#[cube]
fn table<N: Size>(
    bank: &Array<u32>,
    tables: &SharedMemory<u32>,
    source: Vector<u32, N>,
    #[comptime] shared: Option<usize>,
    #[comptime] plan: Plan,
) -> Vector<u32, N> {
    let lanes = comptime!(plan.lanes);
    let mut result = Vector::<u32, N>::empty();
    let lane = UNIT_POS_X % lanes;
    #[unroll]
    for k in 0..4usize {
        let word = source[k];
        let mut looked_up = u32::new(0);
        #[unroll]
        for b in 0..comptime!(per_word(plan.bits)) {
            let shift = comptime!(b * plan.bits);
            let v = (word >> shift) & comptime!(ones(plan.bits));
            if comptime!(shared.is_some()) {
                let place = v * lanes + lane + comptime!(shared.unwrap_or(0) as u32 * 256 * lanes);
                looked_up |= tables[place as usize] << shift;
            } else {
                let per = comptime!(per_word(plan.bits));
                let entry = bank[(v / per) as usize] >> ((v % per) * comptime!(plan.bits));
                looked_up |= (entry & comptime!(ones(plan.bits))) << shift;
            }
        }
        result[k] = looked_up;
    }
    result
}
