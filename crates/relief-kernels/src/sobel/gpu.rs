//! Slopes on a device: a word of results from two words of each of three rows.
//!
//! All numbers are whole and without a sign: what could be negative has 4M + 4 added, or is a difference of the greater and the lesser. The root
//! is that of f32, which no device need round as the definition does, put right by its square.

use cubecl::prelude::*;

use super::Component;
use crate::device::{DeviceError, Gpu, cover, launch};
use crate::filter::{Block, Target};
use crate::fused::packed::ones;
use crate::fused::shape::per_word;

/// Units of a cube, along rows and along columns.
const CUBE: (u32, u32) = (64, 4);

/// The slope at every pixel of `target`, whose samples with a margin of 1 are in `block`.
///
/// # Errors
/// Where the device fails.
pub(crate) fn filter(
    gpu: &Gpu,
    block: &Block,
    component: Component,
    target: &Target<'_>,
) -> Result<(), DeviceError> {
    // SAFETY: words and rows of the target are compared with those it has, and a row of the block has words beyond those.
    launch!(
        gpu, "sobel", &(block.bits, component), &[block.operand(), target.operand()],
        cover((target.words, target.rows), CUBE),
        unsafe slopes(
            block.samples.array(1), target.output.array(1), block.pitch, target.words, target.rows,
            target.offset, target.pitch, component, block.bits))
}

#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
fn slopes(
    block: &Array<u32>,
    output: &mut Array<u32>,
    block_pitch: u32,
    words: u32,
    rows: u32,
    offset: u32,
    pitch: u32,
    #[comptime] component: Component,
    #[comptime] bits: u32,
) {
    let word = ABSOLUTE_POS_X;
    let y = ABSOLUTE_POS_Y;
    if word < words && y < rows {
        let lanes = comptime!(per_word(bits));
        let at = y * block_pitch + word;
        // Of each column that counts: the samples above and below, and all three weighted 1, 2, 1.
        let mut above = Array::<u32>::new(comptime!((lanes + 2) as usize));
        let mut below = Array::<u32>::new(comptime!((lanes + 2) as usize));
        let mut down = Array::<u32>::new(comptime!((lanes + 2) as usize));
        let (above_one, above_two) = (block[at as usize], block[(at + 1u32) as usize]);
        let middle = at + block_pitch;
        let (here_one, here_two) = (block[middle as usize], block[(middle + 1u32) as usize]);
        let last = middle + block_pitch;
        let (below_one, below_two) = (block[last as usize], block[(last + 1u32) as usize]);
        #[unroll]
        for i in 0..comptime!(lanes + 2) {
            let a = sample(above_one, above_two, i, bits);
            let b = sample(below_one, below_two, i, bits);
            let k = comptime!(i as usize);
            above[k] = a;
            below[k] = b;
            down[k] = a + 2u32 * sample(here_one, here_two, i, bits) + b;
        }
        let bias = comptime!(4 * ones(bits) + 4);
        let mut result = u32::new(0);
        #[unroll]
        for l in 0..lanes {
            let (left, here, right) = comptime!((l as usize, l as usize + 1, l as usize + 2));
            let found = match component {
                Component::X => (down[right] + bias - down[left]) >> 3u32,
                Component::Y => {
                    let top = above[left] + 2u32 * above[here] + above[right];
                    let bottom = below[left] + 2u32 * below[here] + below[right];
                    (bottom + bias - top) >> 3u32
                }
                Component::Magnitude => {
                    let top = above[left] + 2u32 * above[here] + above[right];
                    let bottom = below[left] + 2u32 * below[here] + below[right];
                    magnitude(
                        max(down[left], down[right]) - min(down[left], down[right]),
                        max(top, bottom) - min(top, bottom),
                        bits,
                    )
                }
            };
            result |= found << comptime!(l * bits);
        }
        output[(offset + y * pitch + word) as usize] = result;
    }
}

/// Sample `i` of two words.
#[cube]
fn sample(one: u32, two: u32, #[comptime] i: u32, #[comptime] bits: u32) -> u32 {
    let lanes = comptime!(per_word(bits));
    let word = if comptime!(i < lanes) { one } else { two };
    (word >> comptime!((i % lanes) * bits)) & comptime!(ones(bits))
}

/// min(M, √(x² + y²)), rounded.
#[cube]
fn magnitude(x: u32, y: u32, #[comptime] bits: u32) -> u32 {
    let most = u32::new(comptime!(ones(bits) as i64));
    // A slope of M or more is one of M: squares then fit 32 bits, and so does their sum unless the result is M.
    let (x, y) = (min(x, most), min(y, most));
    let (one, other) = (x * x, y * y);
    let sum = one + other;
    // At most 1 away from the rounded root, which is 65 536 at most.
    let root = u32::cast_from(f32::sqrt(f32::cast_from(max(sum, 1u32))) + 0.5f32);
    // Right where −root < off ≤ root, for no sum is the square of a half; modulo 2^32 it is what it is.
    let off = i32::cast_from(sum - root * root);
    let side = i32::cast_from(root);
    let root = root + u32::cast_from(off > side) - u32::cast_from(off + side <= 0i32);
    select(sum < one, most, min(root, most))
}
