//! One tile: sweeps of the columns into shared memory, then rows.

use cubecl::prelude::*;

use super::blocks::{from_next_white, least_bytes, whites};
use super::rows::{looped, nearby};
use super::{CHUNK, Shape, Table, UNITS};

/// Blocks that a unit asks for at once when it looks for white beyond the tile.
const AHEAD: u32 = 8;

/// Renders the tile of the cube's position. `span` chunks lie in a row of blocks, `pitch` groups of eight samples in a
/// row of the output.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(super) fn render<B: Size, O: Size>(
    blocks: &Array<Vector<u32, B>>,
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
    let mut flags = SharedMemory::<u32>::new(comptime!(shape.all_flag_words() as usize));
    let mut table = SharedMemory::<u32>::new(comptime!(shape.table_words() as usize));
    if comptime!(shape.table != Table::Elsewhere) {
        let mut place = UNIT_POS;
        while place < comptime!(shape.table_words()) {
            if comptime!(shape.table == Table::Words) {
                table[place as usize] = entry_of(profile, place, comptime!(shape.depth));
            } else {
                table[place as usize] = profile[place as usize];
            }
            place += UNITS;
        }
    }

    let first_chunk = CUBE_POS_X * comptime!(shape.chunks);
    let first_block = CUBE_POS_Y * comptime!(shape.blocks);
    // What is carried into a block lies where its first and its last row will: only those who write these rows read it.
    let mut task = UNIT_POS;
    while task < comptime!(2 * shape.span()) {
        let chunk = task % comptime!(shape.span());
        let place = (first_block + comptime!(shape.reach)) * span + first_chunk + chunk;
        if task < comptime!(shape.span()) {
            carry::<B>(blocks, &mut near, place, span, chunk, true, shape);
        } else {
            carry::<B>(blocks, &mut near, place, span, chunk, false, shape);
        }
        task += UNITS;
    }
    sync_cube();

    let mut task = UNIT_POS;
    while task < comptime!(shape.blocks * shape.span()) {
        let block = task / comptime!(shape.span());
        let chunk = task % comptime!(shape.span());
        let place = (first_block + block + comptime!(shape.reach)) * span + first_chunk + chunk;
        let bits = blocks[place as usize];
        let first_row = block * comptime!(CHUNK * shape.span()) + chunk;
        let from_above = near[first_row as usize];
        let from_below = near[(first_row + comptime!((CHUNK - 1) * shape.span())) as usize];
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
    if comptime!(!shape.nearby) {
        if comptime!(shape.ballots) {
            let mut task = UNIT_POS / 32u32;
            while task < comptime!(shape.all_flag_words()) {
                let word = flags_together(&least, task, shape);
                if UNIT_POS % 32u32 == 0u32 {
                    flags[task as usize] = word;
                }
                task += comptime!(UNITS / 32);
            }
        } else {
            let mut task = UNIT_POS;
            while task < comptime!(shape.all_flag_words()) {
                flags[task as usize] = flags_of(&least, task, shape);
                task += UNITS;
            }
        }
        sync_cube();
    }

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
                let four = row / 4u32;
                let own_least = four * comptime!(shape.span()) + column;
                let there = within_reach(&flags, four, column, shape);
                let best = looped::<B>(&near, &least, own, own_least, row, there, shape);
                output[(y * pitch + x) as usize] = samples::<O>(&best, profile, &table, shape);
            }
        }
        task += UNITS;
    }
}

/// Word `task` of the flags: which of 32 chunks have a white pixel within the radius in any of four rows.
#[cube]
fn flags_of(least: &SharedMemory<u32>, task: u32, #[comptime] shape: Shape) -> u32 {
    let four = task / comptime!(shape.flag_words());
    let first = (task % comptime!(shape.flag_words())) * 32u32;
    let mut flags = u32::new(0);
    // Nothing where all chunks lie before.
    for k in 0..min(max(first, comptime!(shape.span())) - first, 32u32) {
        let word = least[(four * comptime!(shape.span()) + first + k) as usize];
        flags |= select(any_of_four(word, comptime!(shape.radius)), 1u32, 0u32) << k;
    }
    flags
}

/// The same by the units of a plane of 32.
#[cube]
fn flags_together(least: &SharedMemory<u32>, task: u32, #[comptime] shape: Shape) -> u32 {
    let four = task / comptime!(shape.flag_words());
    let chunk = (task % comptime!(shape.flag_words())) * 32u32 + UNIT_POS % 32u32;
    let there = chunk < comptime!(shape.span());
    let place = four * comptime!(shape.span()) + min(chunk, comptime!(shape.span() - 1));
    plane_ballot(there && any_of_four(least[place as usize], comptime!(shape.radius)))[0]
}

/// Whether any of four bytes, all below 128, is at most `radius`.
#[cube]
fn any_of_four(word: u32, #[comptime] radius: u32) -> bool {
    ((word + comptime!((127 - radius) * 0x0101_0101)) & 0x8080_8080u32) != 0x8080_8080u32
}

/// How far chunks within reach of that in `column` are, left or right, that have a white pixel within the radius: bit d − 1
/// for those d away.
#[cube]
fn within_reach(flags: &SharedMemory<u32>, four: u32, column: u32, #[comptime] shape: Shape) -> u32 {
    let first = four * comptime!(shape.flag_words());
    let right = bits_from(flags, first, column + 1u32);
    let left = bits_from(flags, first, column - comptime!(shape.reach));
    let mirrored = left.reverse_bits() >> comptime!(32 - shape.reach);
    (right & comptime!((1u32 << shape.reach) - 1)) | mirrored
}

/// 32 bits of the words from `first` on, from bit `bit`.
#[cube]
fn bits_from(flags: &SharedMemory<u32>, first: u32, bit: u32) -> u32 {
    let word = first + bit / 32u32;
    let shift = bit % 32u32;
    (flags[word as usize] >> shift) | ((flags[(word + 1u32) as usize] << 1u32) << (31u32 - shift))
}

/// Puts how far white is from each block of a column of chunks, from above (`down`) into its first row and from below into its
/// last: in the rows next to the block, at most the radius and 1. The tile's first block lies at `place`, whole rows of blocks
/// are `span` apart.
#[cube]
fn carry<B: Size>(
    blocks: &Array<Vector<u32, B>>,
    near: &mut SharedMemory<Vector<u32, B>>,
    place: u32,
    span: u32,
    chunk: u32,
    #[comptime] down: bool,
    #[comptime] shape: Shape,
) {
    // Outwards from the tile until there is white in each column: of each column the bits of the first block that has any, and how
    // far the block is. Several blocks come at a time, because their memory is far.
    let limit = comptime!((shape.radius + 1) * 0x0101_0101);
    let mut far = Vector::<u32, B>::empty();
    let mut found = Vector::<u32, B>::empty();
    let mut black = Vector::<u32, B>::empty();
    #[unroll]
    for w in 0..2usize {
        far[w] = u32::new(comptime!(i64::from(limit)));
        found[w] = u32::new(0);
        black[w] = u32::new(0xffff_ffffi64);
    }
    let mut ahead = u32::new(0);
    while ahead < comptime!(shape.reach) {
        let mut several = Array::<Vector<u32, B>>::new(comptime!(AHEAD as usize));
        #[unroll]
        for k in 0..comptime!(AHEAD as usize) {
            // Beyond the reach the last of it comes again, where nothing is left to find.
            let steps = min(ahead + comptime!(k as u32), comptime!(shape.reach.max(1) - 1)) + 1u32;
            let mut at = place - steps * span;
            if comptime!(!down) {
                at = place + (steps + comptime!(shape.blocks - 1)) * span;
            }
            several[k] = blocks[at as usize];
        }
        #[unroll]
        for k in 0..comptime!(AHEAD as usize) {
            let bits = several[k];
            if ((bits[0] & black[0]) | (bits[1] & black[1])) != 0u32 {
                #[unroll]
                for w in 0..2usize {
                    let white = whites(bits[w]);
                    let fresh = white & black[w];
                    let rows = (ahead + comptime!(k as u32)) * 0x0808_0808u32;
                    found[w] = found[w] | (bits[w] & fresh);
                    far[w] = (far[w] & !fresh) | (rows & fresh);
                    black[w] = black[w] & !white;
                }
            }
        }
        ahead += comptime!(AHEAD);
        if (black[0] | black[1]) == 0u32 {
            ahead = u32::new(comptime!(i64::from(shape.reach)));
        }
    }
    #[unroll]
    for w in 0..2usize {
        let (white, rows) = from_next_white(found[w], down);
        far[w] = least_bytes(far[w] + (rows & white), limit);
    }
    #[unroll]
    for k in 0..comptime!(shape.blocks) {
        let block = comptime!(if down { k } else { shape.blocks - 1 - k });
        let row = comptime!(block * CHUNK + if down { 0 } else { CHUNK - 1 });
        near[(chunk + comptime!(row * shape.span())) as usize] = far;
        if comptime!(k + 1 < shape.blocks) {
            let bits = blocks[(place + block * span) as usize];
            #[unroll]
            for w in 0..2usize {
                let (white, rows) = from_next_white(bits[w], down);
                let farther = least_bytes(far[w] + 0x0808_0808u32, limit);
                far[w] = (farther & !white) | (rows & white);
            }
        }
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

/// The same of a table in shared memory.
#[cube]
fn packed_entry(table: &SharedMemory<u32>, a: u32, #[comptime] depth: u32) -> u32 {
    let lanes = comptime!(32 / depth);
    (table[(a / lanes) as usize] >> ((a % lanes) * depth)) & comptime!((1u32 << depth) - 1)
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
            let sample = match shape.table {
                Table::Words => table[a as usize],
                Table::Packed => packed_entry(table, a, comptime!(shape.depth)),
                Table::Elsewhere => entry_of(profile, a, comptime!(shape.depth)),
            };
            word |= sample << comptime!(l as u32 * shape.depth);
        }
        words[j] = word;
    }
    words
}
