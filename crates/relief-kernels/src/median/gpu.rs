//! Ranks on a device: the bits of a word of results at once, from the highest down, as on the CPU.
//!
//! Whether a sample is at least what is tried stays in one bit of its place in the word; these are added up, for 8 bits in the places of a word
//! along a row, then in places of 16 bits.

use cubecl::prelude::*;

use super::Rank;
use crate::device::{DeviceError, Gpu, cover, launch};
use crate::filter::{Block, Target};
use crate::fused::packed::{not_below, samples_from, spread, top};
use crate::fused::shape::per_word;

/// Units of a cube, along rows and along columns.
const CUBE: (u32, u32) = (64, 4);

/// The sample of a rank in the square around every pixel of `target`, whose samples with a margin of R are in `block`.
///
/// # Errors
/// Where the device fails.
pub(crate) fn filter(gpu: &Gpu, block: &Block, rank: Rank, target: &Target<'_>) -> Result<(), DeviceError> {
    // At most 33, and 33².
    let (side, rank) = (2 * rank.radius() as u32 + 1, rank.rank() as u32);
    // SAFETY: words and rows of the target are compared with those it has; the block has 2R more rows, and in each words beyond its samples.
    launch!(
        gpu, "median", &block.bits, &[block.operand(), target.operand()],
        cover((target.words, target.rows), CUBE),
        unsafe ranks(
            block.samples.array(1), target.output.array(1), block.pitch, target.words, target.rows,
            target.offset, target.pitch, side,
            // Fewer than k samples are less where at least so many are not.
            side * side + 1 - rank,
            block.bits))
}

#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments, clippy::assign_op_pattern)]
fn ranks(
    block: &Array<u32>,
    output: &mut Array<u32>,
    block_pitch: u32,
    words: u32,
    rows: u32,
    offset: u32,
    pitch: u32,
    side: u32,
    needed: u32,
    #[comptime] bits: u32,
) {
    let word = ABSOLUTE_POS_X;
    let y = ABSOLUTE_POS_Y;
    if word < words && y < rows {
        let lanes = comptime!(per_word(bits));
        // A count of 16 bits reaches the top bit with this where it is enough.
        let short = (0x8000u32 - needed) * 0x0001_0001u32;
        let mut found = u32::new(0);
        let mut bit = u32::new(comptime!(top(bits) as i64));
        let mut left = u32::new(comptime!(bits as i64));
        while left > 0u32 {
            let tried = found | bit;
            let mut even = u32::new(0);
            let mut odd = u32::new(0);
            let mut row = u32::new(0);
            while row < side {
                let mut at = (y + row) * block_pitch + word;
                let mut low = block[at as usize];
                let mut count = u32::new(0);
                let mut column = u32::new(0);
                while column < side {
                    let high = block[(at + 1u32) as usize];
                    #[unroll]
                    for l in 0..lanes {
                        if column + l < side {
                            let samples = samples_from(low, high, l, bits);
                            count += not_below(samples, tried, bits) >> comptime!(bits - 1);
                        }
                    }
                    low = high;
                    at += 1u32;
                    column += lanes;
                }
                if comptime!(bits == 8) {
                    // At most 33 of a row.
                    even += count & 0x00ff_00ffu32;
                    odd += (count >> 8u32) & 0x00ff_00ffu32;
                } else {
                    even += count;
                }
                row += 1u32;
            }
            let enough = (even + short) & 0x8000_8000u32;
            if comptime!(bits == 8) {
                let others = (odd + short) & 0x8000_8000u32;
                found |= bit & spread((enough >> 8u32) | others, bits);
            } else {
                found |= bit & spread(enough, bits);
            }
            bit = bit >> 1u32;
            left -= 1u32;
        }
        output[(offset + y * pitch + word) as usize] = found;
    }
}
