//! One tile: sweeps of the columns into shared memory, then rows.

use cubecl::prelude::*;

use super::blocks::least_bytes;
use super::rows::{looped, nearby};
use super::{CHUNK, Shape, UNITS};

/// Renders the tile of the cube's position. `span` chunks lie in a row of blocks, `pitch` groups of eight samples in a
/// row of the output.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(super) fn render<B: Size, O: Size>(
    blocks: &Array<Vector<u32, B>>,
    above: &Array<Vector<u32, B>>,
    below: &Array<Vector<u32, B>>,
    profile: &Array<u32>,
    output: &mut Array<Vector<u32, O>>,
    span: u32,
    pitch: u32,
    width: u32,
    height: u32,
    #[comptime] shape: Shape,
) {
    let mut near = SharedMemory::<Vector<u32, B>>::new(comptime!((shape.rows() * shape.span()) as usize));
    let mut least = SharedMemory::<u32>::new(comptime!(shape.least_words() as usize));
    let mut table = SharedMemory::<u32>::new(comptime!(shape.table_words() as usize));
    if comptime!(shape.table_shared()) {
        let mut entry = UNIT_POS;
        while entry < comptime!(shape.table_words()) {
            table[entry as usize] = entry_of(profile, entry, comptime!(shape.depth));
            entry += UNITS;
        }
    }

    let first_chunk = CUBE_POS_X * comptime!(shape.chunks);
    let first_block = CUBE_POS_Y * comptime!(shape.blocks);
    let mut task = UNIT_POS;
    while task < comptime!(shape.blocks * shape.span()) {
        let block = task / comptime!(shape.span());
        let chunk = task % comptime!(shape.span());
        let carried = (first_block + block) * span + first_chunk + chunk;
        let bits = blocks[(carried + comptime!(shape.reach) * span) as usize];
        let from_above = above[carried as usize];
        let from_below = below[carried as usize];
        let four = sweep(bits[0], from_above[0], from_below[0]);
        let more = sweep(bits[1], from_above[1], from_below[1]);
        #[unroll]
        for r in 0..8usize {
            let mut eight = Vector::<u32, B>::empty();
            eight[0] = four[r];
            eight[1] = more[r];
            near[((block * CHUNK + comptime!(r as u32)) * comptime!(shape.span()) + chunk) as usize] = eight;
        }
        if comptime!(!shape.nearby) {
            #[unroll]
            for half in 0..2usize {
                let mut word = u32::new(0);
                #[unroll]
                for r in 0..4usize {
                    let row = comptime!(half * 4 + r);
                    let columns = least_bytes(four[row], more[row]);
                    let pairs = least_bytes(columns, columns >> 16u32);
                    let one = least_bytes(pairs, pairs >> 8u32) & 255u32;
                    word |= one << comptime!(r as u32 * 8);
                }
                least[((block * 2u32 + comptime!(half as u32)) * comptime!(shape.span()) + chunk) as usize] =
                    word;
            }
        }
        task += UNITS;
    }
    sync_cube();

    let mut task = UNIT_POS;
    while task < comptime!(shape.rows() * shape.chunks) {
        let row = task / comptime!(shape.chunks);
        let chunk = task % comptime!(shape.chunks);
        let x = first_chunk + chunk;
        let y = first_block * CHUNK + row;
        if x * CHUNK < width && y < height {
            let column = chunk + comptime!(shape.reach);
            let own = row * comptime!(shape.span()) + column;
            if comptime!(shape.nearby) {
                let best = nearby::<B>(&near, own, shape);
                output[(y * pitch + x) as usize] = samples::<O>(&best, profile, &table, shape);
            } else {
                let own_least = (row / 4u32) * comptime!(shape.span()) + column;
                let best = looped::<B>(&near, &least, own, own_least, row, shape);
                output[(y * pitch + x) as usize] = samples::<O>(&best, profile, &table, shape);
            }
        }
        task += UNITS;
    }
}

/// g of four columns in the eight rows of a block, from its bits and from how far white is next to it.
#[cube]
fn sweep(bits: u32, above: u32, below: u32) -> Array<u32> {
    let mut white = Array::<u32>::new(8usize);
    let mut near = Array::<u32>::new(8usize);
    let mut far = above;
    #[unroll]
    for r in 0..8usize {
        white[r] = ((bits >> comptime!(r as u32)) & 0x0101_0101u32) * 255u32;
        far = (far + 0x0101_0101u32) & !white[r];
        near[r] = far;
    }
    far = below;
    #[unroll]
    for k in 0..8usize {
        let r = comptime!(7 - k);
        far = (far + 0x0101_0101u32) & !white[r];
        near[r] = least_bytes(near[r], far);
    }
    near
}

/// Entry `a` of a packed table.
#[cube]
fn entry_of(profile: &Array<u32>, a: u32, #[comptime] depth: u32) -> u32 {
    let lanes = comptime!(32 / depth);
    (profile[(a / lanes) as usize] >> ((a % lanes) * depth)) & comptime!((1u32 << depth) - 1)
}

/// The eight samples of eight sums.
#[cube]
fn samples<O: Size>(
    best: &Array<i32>,
    profile: &Array<u32>,
    table: &SharedMemory<u32>,
    #[comptime] shape: Shape,
) -> Vector<u32, O> {
    let lanes = comptime!(32 / shape.depth as usize);
    let mut words = Vector::<u32, O>::empty();
    #[unroll]
    for j in 0..comptime!(8 / lanes) {
        let mut word = u32::new(0);
        #[unroll]
        for l in 0..lanes {
            let a = u32::cast_from(best[comptime!(j * lanes + l)]);
            if comptime!(shape.table_shared()) {
                word |= table[a as usize] << comptime!(l as u32 * shape.depth);
            } else {
                word |= entry_of(profile, a, comptime!(shape.depth)) << comptime!(l as u32 * shape.depth);
            }
        }
        words[j] = word;
    }
    words
}
