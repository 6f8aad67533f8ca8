//! One tile of 32 rows: vertical dilations in shared memory, codes of 32 pixels at once, samples.
//!
//! Units are numbered by `UNIT_POS_X`, whose bound compilers know, and not by `UNIT_POS`, which might wrap for all they
//! know: only so do the constants of a place become part of a load. It saves two operations for each word read.

use cubecl::prelude::*;

use super::levels;
use super::shape::{HALO, Shape};

/// Renders the tile of the cube's position. `bit_pitch` vertical words lie in a row of `bits`, which begins 32 rows and
/// [`HALO`] columns before the output; `pitch` groups of eight samples lie in a row of the output.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(super) fn render<O: Size>(
    bits: &Array<u32>,
    samples_of_codes: &Array<u32>,
    output: &mut Array<Vector<u32, O>>,
    bit_pitch: u32,
    pitch: u32,
    width: u32,
    height: u32,
    #[comptime] shape: Shape,
) {
    let mut dilated = SharedMemory::<u32>::new(comptime!(shape.dilated_words() as usize));
    let mut white = SharedMemory::<u32>::new(comptime!(shape.white_words() as usize));
    let mut codes = SharedMemory::<u32>::new(comptime!(shape.code_words() as usize));
    let mut table = SharedMemory::<u32>::new(comptime!(shape.table_words() as usize));
    let mut entry = UNIT_POS_X;
    while entry < comptime!(shape.table_words()) {
        table[entry as usize] = samples_of_codes[entry as usize];
        entry += comptime!(shape.units);
    }
    dilate(bits, &mut dilated, bit_pitch, shape);
    if comptime!(shape.exits) {
        gather(bits, &mut white, bit_pitch, shape);
    }
    sync_cube();
    classify(&dilated, &white, &mut codes, shape);
    sync_cube();
    store::<O>(&codes, &table, output, pitch, width, height, shape);
}

/// Word k·span + u of `dilated`: the rows that have white exactly k rows above or below, in the column that lies at
/// place u of the span.
#[cube]
fn dilate(bits: &Array<u32>, dilated: &mut SharedMemory<u32>, bit_pitch: u32, #[comptime] shape: Shape) {
    let span = comptime!(shape.span());
    let across = comptime!(shape.across());
    let first = CUBE_POS_X * comptime!(shape.width()) + comptime!(HALO - shape.margin());
    let mut place = UNIT_POS_X;
    while place < span {
        // Neighbouring units take neighbouring groups of columns, so that their words lie in different banks.
        let column = first + (place % across) * comptime!(shape.columns) + place / across;
        let at = CUBE_POS_Y * bit_pitch + min(column, bit_pitch - 1u32);
        // rung: distance on gpu: bits
        let above = bits[at as usize];
        let own = bits[(at + bit_pitch) as usize];
        let below = bits[(at + 2u32 * bit_pitch) as usize];
        dilated[place as usize] = own;
        #[unroll]
        for k in 1..comptime!(shape.radius + 1) {
            let from_above = (own << k) | (above >> comptime!(32 - k));
            let from_below = (own >> k) | (below << comptime!(32 - k));
            dilated[(place + comptime!(k * span)) as usize] = from_above | from_below;
        }
        // end
        place += comptime!(shape.units);
    }
}

/// Word g of `white`: not 0 where anything is white within the radius above or below in the four columns from 4g on,
/// counted from the margin of whole groups of four columns.
#[cube]
fn gather(bits: &Array<u32>, white: &mut SharedMemory<u32>, bit_pitch: u32, #[comptime] shape: Shape) {
    let (last_rows, first_rows) = comptime!(shape.rows_within());
    let first = CUBE_POS_X * comptime!(shape.width()) + comptime!(HALO - shape.margin_of_fours());
    let mut group = UNIT_POS_X;
    while group < comptime!(shape.white_words()) {
        let mut any = u32::new(0);
        #[unroll]
        for i in 0..4u32 {
            let column = first + group * 4u32 + i;
            let at = CUBE_POS_Y * bit_pitch + min(column, bit_pitch - 1u32);
            any |= bits[(at + bit_pitch) as usize];
            any |= bits[at as usize] & last_rows;
            any |= bits[(at + 2u32 * bit_pitch) as usize] & first_rows;
        }
        white[group as usize] = any;
        group += comptime!(shape.units);
    }
}

/// Whether anything is white around the columns of this unit.
#[cube]
fn any_white(white: &SharedMemory<u32>, #[comptime] shape: Shape) -> bool {
    let ahead = comptime!(shape.margin_of_fours() - shape.radius);
    let first = (UNIT_POS_X * comptime!(shape.columns) + ahead) / 4u32;
    let mut any = u32::new(0);
    #[unroll]
    for g in 0..comptime!(shape.whites_of_unit()) {
        any |= white[(first + g) as usize];
    }
    any != 0u32
}

/// Codes of the columns of this unit.
#[cube]
fn classify(
    dilated: &SharedMemory<u32>,
    white: &SharedMemory<u32>,
    codes: &mut SharedMemory<u32>,
    #[comptime] shape: Shape,
) {
    let columns = comptime!(shape.columns as usize);
    // For each column the pixels that no level has reached so far.
    let mut black = Array::<u32>::new(columns);
    let mut planes = Array::<u32>::new(comptime!(columns * 8));
    #[unroll]
    for i in 0..columns {
        black[i] = u32::new(0xffff_ffffi64);
        #[unroll]
        for b in 0..8usize {
            planes[comptime!(i * 8 + b)] = u32::new(0);
        }
    }
    if comptime!(shape.exits) {
        if any_white(white, shape) {
            count(dilated, &mut black, &mut planes, 0usize, shape);
        } else {
            #[unroll]
            for p in 0..comptime!(columns * 8) {
                planes[p] = u32::new(comptime!(levels::plane_of_beyond(shape.radius, p as u32 % 8)));
            }
        }
    } else {
        count(dilated, &mut black, &mut planes, 0usize, shape);
    }
    #[unroll]
    for i in 0..columns {
        transpose(&mut planes, i);
        let x = UNIT_POS_X * comptime!(shape.columns) + comptime!(i as u32);
        let place = x + x / 8u32;
        #[unroll]
        for j in 0..8usize {
            codes[(place + comptime!(j as u32 * shape.code_pitch())) as usize] = planes[comptime!(i * 8 + j)];
        }
    }
}

/// Counts the levels of the stages from `stage` on into the planes, as long as any pixel is black.
#[cube]
fn count(
    dilated: &SharedMemory<u32>,
    black: &mut Array<u32>,
    planes: &mut Array<u32>,
    #[comptime] stage: usize,
    #[comptime] shape: Shape,
) {
    let stages = comptime!(shape.stages());
    let (first, last) = comptime!(stages[stage]);
    #[unroll]
    for number in first..last {
        count_level(dilated, black, planes, number, shape);
    }
    if comptime!(stage + 1 < stages.len()) {
        let mut any = u32::new(0);
        #[unroll]
        for i in 0..comptime!(shape.columns as usize) {
            any |= black[i];
        }
        if any != 0u32 {
            count(dilated, black, planes, comptime!(stage + 1), shape);
        }
    }
}

/// Takes what the level of index `number` reaches from the black pixels and counts those that are left.
#[cube]
#[allow(
    clippy::needless_range_loop,
    reason = "the offsets are known while the kernel is compiled"
)]
fn count_level(
    dilated: &SharedMemory<u32>,
    black: &mut Array<u32>,
    planes: &mut Array<u32>,
    #[comptime] number: usize,
    #[comptime] shape: Shape,
) {
    let offsets = comptime!(levels::offsets(levels::squares(shape.radius)[number]));
    let plane = comptime!((number + 1).trailing_zeros() as usize);
    #[unroll]
    for i in 0..comptime!(shape.columns as usize) {
        #[unroll]
        for o in 0..comptime!(offsets.len()) {
            let (d, k) = comptime!(offsets[o]);
            let right = dilated[(UNIT_POS_X + comptime!(shape.place(i as i32 + d as i32, k))) as usize];
            if comptime!(d == 0) {
                black[i] = black[i] & !right;
            } else {
                let left = dilated[(UNIT_POS_X + comptime!(shape.place(i as i32 - d as i32, k))) as usize];
                black[i] = black[i] & !(left | right);
            }
        }
        planes[comptime!(i * 8 + plane)] = planes[comptime!(i * 8 + plane)] ^ black[i];
    }
}

/// Makes the eight planes of column `i`, bit 8q + j of plane b, words: byte q of word j, whose bit b it becomes.
///
/// Three rounds of exchanges; H. S. Warren, *Hacker's Delight*, §7-3.
#[cube]
fn transpose(planes: &mut Array<u32>, #[comptime] i: usize) {
    #[unroll]
    for round in 0..3u32 {
        let distance = comptime!(4usize >> round);
        let low = comptime!([0x0f0f_0f0fu32, 0x3333_3333, 0x5555_5555][round as usize]);
        let shift = comptime!(distance as u32);
        #[unroll]
        for p in 0..4usize {
            let first = comptime!(i * 8 + p / distance * 2 * distance + p % distance);
            let second = comptime!(first + distance);
            let a = planes[first];
            let b = planes[second];
            planes[first] = (a & low) | ((b << shift) & comptime!(!low));
            planes[second] = ((a >> shift) & low) | (b & comptime!(!low));
        }
    }
}

/// Looks the codes up, eight columns and four rows at a time.
#[cube]
fn store<O: Size>(
    codes: &SharedMemory<u32>,
    table: &SharedMemory<u32>,
    output: &mut Array<Vector<u32, O>>,
    pitch: u32,
    width: u32,
    height: u32,
    #[comptime] shape: Shape,
) {
    let groups = comptime!(shape.width() / 8);
    let lanes = comptime!(32 / shape.depth as usize);
    let mut task = UNIT_POS_X;
    while task < comptime!(8 * groups) {
        let group = task % groups;
        // No more than 7 anyway: said again, so that a compiler knows that places below do not wrap.
        let j = (task / groups) % 8u32;
        let across = CUBE_POS_X * groups + group;
        let place = j * comptime!(shape.code_pitch()) + group * 9u32;
        let mut four = Array::<u32>::new(8usize);
        #[unroll]
        for m in 0..8usize {
            four[m] = codes[(place + comptime!(m as u32)) as usize];
        }
        #[unroll]
        for q in 0..4u32 {
            let mut words = Vector::<u32, O>::empty();
            #[unroll]
            for w in 0..comptime!(8 / lanes) {
                // Sums of products run beside the operations on bits.
                let mut word = u32::new(0);
                #[unroll]
                for l in 0..lanes {
                    let column = comptime!(w * lanes + lanes - 1 - l);
                    let code = (four[column] >> comptime!(8 * q)) & 255u32;
                    word = word * comptime!(1u32 << shape.depth) + table[code as usize];
                }
                words[w] = word;
            }
            let y = CUBE_POS_Y * 32u32 + comptime!(8 * q) + j;
            if across * 8u32 < width && y < height {
                output[(y * pitch + across) as usize] = words;
            }
        }
        task += comptime!(shape.units);
    }
}
