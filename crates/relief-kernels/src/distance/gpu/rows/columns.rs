//! The least g² + dy² of a column, outwards from the pixel's own row.

use cubecl::prelude::*;

use super::{BLOCK, Stored};
use crate::fused::packed::ones;
use crate::fused::shape::per_word;

/// The four values of g at `place`, counted in four pixels: their squares.
#[cube]
fn squares(rows: &Array<u32>, place: u32, #[comptime] stored: Stored) -> Array<u32> {
    let mut squares = Array::<u32>::new(4usize);
    #[unroll]
    for k in 0..4u32 {
        let per = comptime!(per_word(stored.bits));
        let word = rows[(place * comptime!(4 / per) + comptime!(k / per)) as usize];
        let g = (word >> comptime!((k % per) * stored.bits)) & comptime!(ones(stored.bits));
        if comptime!(stored.squared) {
            squares[k as usize] = g;
        } else {
            squares[k as usize] = g * g;
        }
    }
    squares
}

/// Takes the row `dy` rows away, whose values are at `place`, into the least sums so far.
#[cube]
fn visit(rows: &Array<u32>, place: u32, square: u32, best: &mut Array<u32>, #[comptime] stored: Stored) {
    let found = squares(rows, place, stored);
    #[unroll]
    for k in 0..4usize {
        best[k] = min(best[k], found[k] + square);
    }
}

#[cube]
fn greatest(best: &Array<u32>) -> u32 {
    max(max(best[0], best[1]), max(best[2], best[3]))
}

/// Looks the four sums up and stores the samples.
#[cube]
fn store(
    profile: &Array<u32>,
    output: &mut Array<u32>,
    start: u32,
    place: u32,
    best: &Array<u32>,
    radius: u32,
    #[comptime] depth: u32,
) {
    let lanes = comptime!(per_word(depth));
    let beyond = radius * radius + 1u32;
    #[unroll]
    for j in 0..comptime!(4 / lanes) {
        let mut word = u32::new(0);
        #[unroll]
        for l in 0..lanes {
            let a = min(best[comptime!((j * lanes + l) as usize)], beyond);
            let entry = profile[(a / lanes) as usize] >> ((a % lanes) * depth);
            word |= (entry & comptime!(ones(depth))) << comptime!(l * depth);
        }
        output[(start + place * comptime!(4 / lanes) + j) as usize] = word;
    }
}

/// The samples of four pixels of every `stride`-th row.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(super) fn columns(
    rows: &Array<u32>,
    minima: &Array<u32>,
    profile: &Array<u32>,
    output: &mut Array<u32>,
    row_pitch: u32,
    pitch: u32,
    width: u32,
    height: u32,
    radius: u32,
    stride: u32,
    #[comptime] stored: Stored,
    #[comptime] depth: u32,
    #[comptime] far: bool,
) {
    let place = ABSOLUTE_POS_X;
    let mut y = ABSOLUTE_POS_Y;
    // Four pixels at a time.
    let step = row_pitch / comptime!(stored.bits / 8);
    if place * 4u32 < width {
        while y < height {
            let own = (y + radius) * step + place;
            let mut best = squares(rows, own, stored);
            if comptime!(far) {
                let rows_there = height + 2u32 * radius;
                by_blocks(
                    rows,
                    minima,
                    step,
                    place,
                    y + radius,
                    rows_there,
                    radius,
                    &mut best,
                    stored,
                );
            } else {
                one_by_one(rows, step, own, radius, &mut best, stored);
            }
            store(profile, output, y * pitch, place, &best, radius, depth);
            y += stride;
        }
    }
}

/// The least sums of the rows within the radius, outwards until no row can win.
#[cube]
fn one_by_one(
    rows: &Array<u32>,
    step: u32,
    own: u32,
    radius: u32,
    best: &mut Array<u32>,
    #[comptime] stored: Stored,
) {
    // rung: distance on gpu: rows
    let mut dy = u32::new(1);
    while dy <= radius {
        let square = dy * dy;
        if greatest(best) <= square {
            dy = radius + 1u32;
        } else {
            visit(rows, own - dy * step, square, best, stored);
            visit(rows, own + dy * step, square, best, stored);
            dy += 1u32;
        }
    }
    // end
}

/// As [`one_by_one`] for the row `middle` of the `rows_there`, but whole blocks whose least g cannot win are skipped.
#[cube]
#[allow(clippy::collapsible_if, clippy::too_many_arguments)]
fn by_blocks(
    rows: &Array<u32>,
    minima: &Array<u32>,
    step: u32,
    place: u32,
    middle: u32,
    rows_there: u32,
    radius: u32,
    best: &mut Array<u32>,
    #[comptime] stored: Stored,
) {
    let block = middle / BLOCK;
    visit_block(rows, step, place, block, middle, rows_there, best, stored);
    let mut k = u32::new(1);
    let mut going = true;
    while going {
        // The nearest rows of the k-th blocks above and below.
        let above = middle - (block - k) * BLOCK - comptime!(BLOCK - 1);
        let below = (block + k) * BLOCK - middle;
        let limit = greatest(best);
        let up = k <= block && above <= radius && above * above < limit;
        let down = (block + k) * BLOCK < rows_there && below <= radius && below * below < limit;
        // Nested, because `&&` computes both sides on a device, and a block that is not there must not be read.
        if up {
            if promising(minima, (block - k) * step + place, above * above, best, stored) {
                visit_block(rows, step, place, block - k, middle, rows_there, best, stored);
            }
        }
        if down {
            if promising(minima, (block + k) * step + place, below * below, best, stored) {
                visit_block(rows, step, place, block + k, middle, rows_there, best, stored);
            }
        }
        going = up || down;
        k += 1u32;
    }
}

/// Whether a row at least `square` away (squared) with the least g at `place` would win for any of the four pixels.
#[cube]
fn promising(
    minima: &Array<u32>,
    place: u32,
    square: u32,
    best: &Array<u32>,
    #[comptime] stored: Stored,
) -> bool {
    let least = squares(minima, place, stored);
    least[0] + square < best[0]
        || least[1] + square < best[1]
        || least[2] + square < best[2]
        || least[3] + square < best[3]
}

/// Visits all rows of a block. Rows beyond the radius are visited too: they cannot win against what lies beyond.
#[cube]
#[allow(clippy::too_many_arguments)]
fn visit_block(
    rows: &Array<u32>,
    step: u32,
    place: u32,
    block: u32,
    middle: u32,
    rows_there: u32,
    best: &mut Array<u32>,
    #[comptime] stored: Stored,
) {
    // Not written out: compilers do so, and take longer to read the longer text than to unroll the shorter.
    for k in 0..BLOCK {
        let row = min(block * BLOCK + k, rows_there - 1u32);
        let dy = row - middle;
        visit(rows, row * step + place, dy * dy, best, stored);
    }
}
