//! Weighted sums on a device: a word of results, weight by weight, in whole numbers of 32 bits without a sign.
//!
//! What weights above 0 and those below come to is summed apart, and divided where it is known which is greater. Masks whose sums might exceed 32
//! bits stay on the CPU.

use cubecl::prelude::*;

use super::{MAX_DIVISOR, Mask};
use crate::device::{Buffer, DeviceError, Gpu, Operand, cover, launch};
use crate::filter::{Block, Target};
use crate::fused::packed::{funnel, ones};
use crate::fused::shape::per_word;

/// Units of a cube, along rows and along columns.
const CUBE: (u32, u32) = (64, 4);

/// What is added to offsets so that none is below 0.
const BIAS: u32 = 65_535;

impl Mask {
    /// Whether sums of 16 bits fit 32 bits without a sign, with half a divisor.
    pub(crate) fn fits_devices(&self) -> bool {
        self.sums.0.max(self.sums.1) * u64::from(u16::MAX) + u64::from(MAX_DIVISOR / 2) <= u32::MAX.into()
    }

    /// The words of device memory that [`Taps`] take.
    pub(crate) fn words(&self) -> u64 {
        2 * self.taps.len().max(1) as u64
    }
}

/// The weights of a [`Mask`] on a device: their places, from the upper left of a block with the same margins along both axes, and their sizes; those above
/// 0 first.
#[derive(Clone, Debug)]
pub(crate) struct Taps {
    words: Buffer,
    /// How many are above 0, and how many there are.
    above: u32,
    all: u32,
    divisor: u32,
    offset: i32,
}

impl Taps {
    pub(crate) fn upload(gpu: &Gpu, mask: &Mask) -> Result<Self, DeviceError> {
        let (across, down) = mask.reach();
        let reach = across.max(down);
        let mut words = Vec::with_capacity(2 * mask.taps.len());
        let mut above = 0;
        for sign in [1, -1] {
            for tap in mask.taps.iter().filter(|tap| tap.weight.signum() == sign) {
                // Both at most 14.
                let (column, row) = (tap.column + reach - across, tap.row + reach - down);
                words.extend([(row << 16 | column) as u32, tap.weight.unsigned_abs()]);
            }
            if sign == 1 {
                above = words.len() as u32 / 2;
            }
        }
        let all = words.len() as u32 / 2;
        words.resize(words.len().max(2), 0);
        Ok(Self {
            words: gpu.upload(&words)?,
            above,
            all,
            divisor: mask.divisor,
            offset: mask.offset,
        })
    }
}

/// The weighted sum around every pixel of `target`, whose samples are in `block` with a margin that is the greater of the mask's reaches.
///
/// # Errors
/// Where the device fails.
pub(crate) fn filter(gpu: &Gpu, block: &Block, taps: &Taps, target: &Target<'_>) -> Result<(), DeviceError> {
    // SAFETY: words and rows of the target are compared with those it has; weights lie within the margins of the block, whose rows have a word
    // more; there are as many weights as are said.
    launch!(
        gpu, "convolution", &block.bits,
        &[block.operand(), Operand::read("weights", &taps.words), target.operand()],
        cover((target.words, target.rows), CUBE),
        unsafe sums(
            block.samples.array(1), taps.words.array(1), target.output.array(1), block.pitch, target.words,
            target.rows, target.offset, target.pitch, taps.above, taps.all, taps.divisor,
            // An offset is at least −65 535.
            BIAS.wrapping_add_signed(taps.offset),
            block.bits))
}

#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
fn sums(
    block: &Array<u32>,
    taps: &Array<u32>,
    output: &mut Array<u32>,
    block_pitch: u32,
    words: u32,
    rows: u32,
    offset: u32,
    pitch: u32,
    above: u32,
    all: u32,
    divisor: u32,
    raised: u32,
    #[comptime] bits: u32,
) {
    let word = ABSOLUTE_POS_X;
    let y = ABSOLUTE_POS_Y;
    if word < words && y < rows {
        let lanes = comptime!(per_word(bits));
        let mut up = Array::<u32>::new(comptime!(lanes as usize));
        let mut down = Array::<u32>::new(comptime!(lanes as usize));
        #[unroll]
        for l in 0..lanes {
            up[comptime!(l as usize)] = divisor >> 1u32;
            down[comptime!(l as usize)] = 0u32;
        }
        let mut tap = u32::new(0);
        while tap < above {
            add(block, taps, tap, y, word, block_pitch, &mut up, bits);
            tap += 1u32;
        }
        while tap < all {
            add(block, taps, tap, y, word, block_pitch, &mut down, bits);
            tap += 1u32;
        }
        let mut result = u32::new(0);
        #[unroll]
        for l in 0..lanes {
            let found = sample(
                up[comptime!(l as usize)],
                down[comptime!(l as usize)],
                divisor,
                raised,
                bits,
            );
            result |= found << comptime!(l * bits);
        }
        output[(offset + y * pitch + word) as usize] = result;
    }
}

/// Adds the samples of a weight, times it.
#[cube]
#[allow(clippy::too_many_arguments)]
fn add(
    block: &Array<u32>,
    taps: &Array<u32>,
    tap: u32,
    y: u32,
    word: u32,
    pitch: u32,
    sums: &mut Array<u32>,
    #[comptime] bits: u32,
) {
    let lanes = comptime!(per_word(bits));
    let place = taps[(2u32 * tap) as usize];
    let weight = taps[(2u32 * tap + 1u32) as usize];
    let column = place & 0xffffu32;
    let at = (y + (place >> 16u32)) * pitch + word + column / lanes;
    let samples = funnel(
        block[at as usize],
        block[(at + 1u32) as usize],
        (column % lanes) * bits,
    );
    #[unroll]
    for l in 0..lanes {
        let sample = (samples >> comptime!(l * bits)) & comptime!(ones(bits));
        sums[comptime!(l as usize)] += weight * sample;
    }
}

/// ⌊(up − down) / divisor⌋ + offset, taken to 0…M; `up` has half a divisor more than its sum, `raised` is the offset and 65 535.
#[cube]
fn sample(up: u32, down: u32, divisor: u32, raised: u32, #[comptime] bits: u32) -> u32 {
    let bias = u32::new(comptime!(BIAS as i64));
    let most = u32::new(comptime!(ones(bits) as i64));
    let more = (up - down) / divisor + raised;
    // Rounded away from 0.
    let less = (down - up - 1u32) / divisor + 1u32;
    let found = select(up >= down, more, max(raised, less) - less);
    min(max(found, bias) - bias, most)
}
