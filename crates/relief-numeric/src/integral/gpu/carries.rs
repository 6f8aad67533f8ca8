//! What enters tiles: sums added along columns and along rows.

use cubecl::prelude::*;

use crate::look_back::add;
use crate::scan::gpu::tiles::{Plan as ScanPlan, all_sums, load, place, scan_items, share_sums};

/// Columns of a cube, and parts that rows are cut in.
pub(super) const COLUMNS: u32 = 32;
pub(super) const PARTS: u32 = 8;

/// Rows whose loads are asked for together.
const AHEAD: u32 = 8;

/// Makes of each word of a matrix the sum of those above it.
///
/// A unit owns a part of a column. It sums it, is told the sums of the parts above, and goes over its part again.
#[cube(launch_unchecked)]
pub(super) fn add_down(words: &mut Array<u32>, columns: u32, rows: u32, #[comptime] float: bool) {
    let mut sums = SharedMemory::<u32>::new(comptime!((COLUMNS * PARTS) as usize));
    let column = CUBE_POS as u32 * COLUMNS + UNIT_POS % COLUMNS;
    let part = UNIT_POS / COLUMNS;
    let each = (rows + comptime!(PARTS - 1)) / PARTS;
    let first = part * each;
    // Columns past the last have no rows.
    let end = select(column < columns, min(first + each, rows), 0u32);

    let mut sum = u32::new(0);
    let mut held = Array::<u32>::new(comptime!(AHEAD as usize));
    let mut row = first;
    while row < end {
        #[unroll]
        for k in 0..AHEAD {
            held[comptime!(k as usize)] = 0u32;
            if row + k < end {
                held[comptime!(k as usize)] = words[((row + k) * columns + column) as usize];
            }
        }
        #[unroll]
        for k in 0..AHEAD {
            sum = add(sum, held[comptime!(k as usize)], float);
        }
        row += AHEAD;
    }
    sums[UNIT_POS as usize] = sum;
    sync_cube();
    let mut before = u32::new(0);
    for k in 0..part {
        before = add(before, sums[(k * COLUMNS + UNIT_POS % COLUMNS) as usize], float);
    }
    let mut row = first;
    while row < end {
        #[unroll]
        for k in 0..AHEAD {
            held[comptime!(k as usize)] = 0u32;
            if row + k < end {
                held[comptime!(k as usize)] = words[((row + k) * columns + column) as usize];
            }
        }
        #[unroll]
        for k in 0..AHEAD {
            if row + k < end {
                words[((row + k) * columns + column) as usize] = before;
            }
            before = add(before, held[comptime!(k as usize)], float);
        }
        row += AHEAD;
    }
}

/// Makes of each word of row CUBE_POS the sum of all up to it; `long` ones in 64 bits, lower words first.
///
/// Sums of 64 bits are two scans of 16 bits within a tile, which cannot overflow.
#[cube(launch_unchecked)]
pub(super) fn add_across<N: Size>(
    from: &Array<Vector<u32, N>>,
    to: &mut Array<Vector<u32, N>>,
    vectors: u32,
    rows: u32,
    #[comptime] long: bool,
    #[comptime] plan: ScanPlan,
) {
    let items = comptime!(plan.items as usize);
    let float = comptime!(plan.float());
    let mut sums = SharedMemory::<u32>::new(comptime!(plan.planes() as usize));
    let mut high_sums = SharedMemory::<u32>::new(comptime!(if long { plan.planes() as usize } else { 1 }));
    let row = CUBE_POS as u32;
    let base = row * vectors;
    // Cubes past the last row have nothing to scan.
    let count = select(row < rows, vectors, 0u32);
    let mut first = u32::new(0);
    let mut first_high = u32::new(0);
    let mut tile = u32::new(0);
    while tile * comptime!(plan.vectors()) < count {
        let mut held = Array::<Vector<u32, N>>::new(items);
        load::<N>(from, &mut held, base, tile, count, plan);
        let mut high = Array::<Vector<u32, N>>::new(items);
        let mut high_before = Array::<u32>::new(items);
        let mut high_own = u32::new(0);
        let mut high_total = u32::new(0);
        if long {
            #[unroll]
            for j in 0..items {
                let mut upper = Vector::<u32, N>::empty();
                let mut lower = Vector::<u32, N>::empty();
                #[unroll]
                for k in 0..4usize {
                    upper[k] = held[j][k] >> 16u32;
                    lower[k] = held[j][k] & 0xffffu32;
                }
                high[j] = upper;
                held[j] = lower;
            }
            let sum = scan_items::<N>(&high, &mut high_before, plan);
            high_own = share_sums(&mut high_sums, sum, plan);
            high_total = all_sums(&high_sums, plan);
        }
        let mut before = Array::<u32>::new(items);
        let sum = scan_items::<N>(&held, &mut before, plan);
        let own = share_sums(&mut sums, sum, plan);
        let total = all_sums(&sums, plan);
        #[unroll]
        for j in 0..comptime!(plan.items) {
            let at = place(tile, j, plan);
            let j = comptime!(j as usize);
            let mut low_words = Vector::<u32, N>::empty();
            let mut high_words = Vector::<u32, N>::empty();
            if long {
                let mut low_sum = own + before[j];
                let mut high_sum = high_own + high_before[j];
                #[unroll]
                for k in 0..4usize {
                    low_sum += held[j][k];
                    high_sum += high[j][k];
                    let shifted = high_sum << 16u32;
                    let partial = first + low_sum;
                    let word = partial + shifted;
                    low_words[k] = word;
                    high_words[k] = first_high
                        + (high_sum >> 16u32)
                        + u32::cast_from(partial < low_sum)
                        + u32::cast_from(word < shifted);
                }
            } else {
                let mut sum = add(add(first, own, float), before[j], float);
                #[unroll]
                for k in 0..4usize {
                    sum = add(sum, held[j][k], float);
                    low_words[k] = sum;
                }
            }
            if at < count {
                to[(base + at) as usize] = low_words;
                if long {
                    to[(rows * vectors + base + at) as usize] = high_words;
                }
            }
        }
        if long {
            let shifted = high_total << 16u32;
            let partial = first + total;
            let word = partial + shifted;
            first_high = first_high
                + (high_total >> 16u32)
                + u32::cast_from(partial < total)
                + u32::cast_from(word < shifted);
            first = word;
        } else {
            first = add(first, total, float);
        }
        tile += 1u32;
        // What was shared has been read by all.
        sync_cube();
    }
}
