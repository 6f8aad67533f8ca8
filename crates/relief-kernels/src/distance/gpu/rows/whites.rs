//! The mask as one bit per pixel, 32 of a row in a word.

use cubecl::prelude::*;

use crate::fused::packed::{coverage, funnel, non_zero};
use crate::fused::shape::per_word;

/// Numbers: left, right, top, bottom of the mask in the region; column and row of its top-left; its last row, its pitch,
/// its first word, the last word of a row.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(super) fn whites(
    mask: &Array<u32>,
    numbers: &Sequence<u32>,
    bits: &mut Array<u32>,
    pitch: u32,
    rows: u32,
    stride: u32,
    #[comptime] depth: u32,
) {
    let lanes = comptime!(per_word(depth));
    let place = ABSOLUTE_POS_X;
    let mut y = ABSOLUTE_POS_Y;
    if place < pitch {
        while y < rows {
            let mut word = u32::new(0);
            if y >= *numbers.index(2usize) && y < *numbers.index(3usize) {
                let row = min(y - *numbers.index(5usize), *numbers.index(6usize));
                let pitch = *numbers.index(7usize);
                let start = *numbers.index(8usize) + row * pitch;
                let last = *numbers.index(9usize);
                let x = place * 32u32;
                // One word to the right, so that nothing that counts is left of the row's start.
                let column = x + lanes - *numbers.index(4usize);
                let first = column / lanes;
                // Divided anew for every word, because a column left of the row's start wraps at 2³² and its word
                // would not.
                let shift = (column % lanes) * depth;
                let mut low = mask[(start + min(max(first, 1u32) - 1u32, last)) as usize];
                #[unroll]
                for k in 0..comptime!(32 / lanes) {
                    // A word left of the row's start wraps and is cut off by the coverage.
                    let next = (column + comptime!(k * lanes)) / lanes;
                    let high = mask[(start + min(next, last)) as usize];
                    let at = x + comptime!(k * lanes);
                    let inside = coverage(at, *numbers.index(0usize), *numbers.index(1usize), depth);
                    let white = non_zero(funnel(low, high, shift) & inside, depth);
                    if comptime!(depth == 8) {
                        word |=
                            (((white & 0x0101_0101u32) * 0x1020_4080u32) >> 28u32) << comptime!(k * lanes);
                    } else {
                        word |= ((white & 1u32) | ((white >> 30u32) & 2u32)) << comptime!(k * lanes);
                    }
                    low = high;
                }
            }
            bits[(y * pitch + place) as usize] = word;
            y += stride;
        }
    }
}
