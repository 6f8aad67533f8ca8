//! How far the nearest white pixel of the same row is, and the least of that in every eight rows.

use cubecl::prelude::*;

use super::{BLOCK, Stored};
use crate::fold::Fold;
use crate::fused::packed::fold;
use crate::fused::shape::per_word;

/// g of four words of pixels, at most `none`; `words` is how many words of bits the margin has.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(super) fn rows_of_distances<N: Size>(
    bits: &Array<u32>,
    rows: &mut Array<Vector<u32, N>>,
    bit_pitch: u32,
    pitch: u32,
    height: u32,
    words: u32,
    radius: u32,
    none: u32,
    stride: u32,
    #[comptime] stored: Stored,
) {
    let lanes = comptime!(per_word(stored.bits));
    let place = ABSOLUTE_POS_X;
    let mut y = ABSOLUTE_POS_Y;
    if place < pitch {
        while y < height {
            let x = place * comptime!(4 * lanes);
            let at = y * bit_pitch + words + x / 32u32;
            let word = bits[at as usize];
            // From the word's first bit to the nearest white left of it, from its last to the nearest right of it.
            let mut left = u32::new(65_536);
            let mut right = u32::new(65_536);
            let mut k = u32::new(1);
            while k <= words {
                let bits_left = bits[(at - k) as usize];
                let bits_right = bits[(at + k) as usize];
                if left == 65_536u32 && bits_left != 0u32 {
                    left = 32u32 * (k - 1u32) + 1u32 + bits_left.leading_zeros();
                }
                if right == 65_536u32 && bits_right != 0u32 {
                    right = 32u32 * (k - 1u32) + 1u32 + bits_right.trailing_zeros();
                }
                k += 1u32;
                if left != 65_536u32 && right != 65_536u32 {
                    k = words + 1u32;
                }
            }
            let from = x % 32u32;
            let mut result = Vector::<u32, N>::empty();
            #[unroll]
            for j in 0..4usize {
                let mut packed = u32::new(0);
                #[unroll]
                for l in 0..lanes {
                    let b = from + comptime!(j as u32 * lanes + l);
                    let before = word << (31u32 - b);
                    let after = word >> b;
                    let g = min(
                        select(before == 0u32, left + b, before.leading_zeros()),
                        select(after == 0u32, right + 31u32 - b, after.trailing_zeros()),
                    );
                    let mut value = min(g, none);
                    if comptime!(stored.squared) {
                        value = select(g <= radius, g * g, none);
                    }
                    packed |= value << comptime!(l * stored.bits);
                }
                result[j] = packed;
            }
            rows[(y * pitch + place) as usize] = result;
            y += stride;
        }
    }
}

/// The least g of every eight rows.
#[cube(launch_unchecked)]
pub(super) fn minima_of_blocks(
    rows: &Array<u32>,
    minima: &mut Array<u32>,
    pitch: u32,
    height: u32,
    stride: u32,
    #[comptime] bits: u32,
) {
    let place = ABSOLUTE_POS_X;
    let mut block = ABSOLUTE_POS_Y;
    if place < pitch {
        while block * BLOCK < height {
            let mut least = u32::new(0xffff_ffffi64);
            #[unroll]
            for k in 0..BLOCK {
                let row = min(block * BLOCK + k, height - 1u32);
                least = fold(least, rows[(row * pitch + place) as usize], Fold::Min, bits);
            }
            minima[(block * pitch + place) as usize] = least;
            block += stride;
        }
    }
}
