//! The mask as blocks of 4 × 8 bits, and how far white is from the ends of one.

use cubecl::prelude::*;

use super::super::mask::four_by_eight;

/// Word (`place`, CUBE_POS_Y) of the blocks: bit 8k + r is whether the pixel of column 4·place + k, row r is white.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(super) fn pack(
    mask: &Array<u32>,
    blocks: &mut Array<u32>,
    columns: u32,
    offset: u32,
    pitch: u32,
    words: u32,
    left: u32,
    right: u32,
    top: u32,
    bottom: u32,
    column: i32,
    #[comptime] depth: u32,
    #[comptime] aligned: bool,
) {
    let place = ABSOLUTE_POS_X;
    if place < columns {
        blocks[(CUBE_POS_Y * columns + place) as usize] = four_by_eight(
            mask,
            place * 4u32,
            CUBE_POS_Y * 8u32,
            offset,
            pitch,
            words,
            left,
            right,
            top,
            bottom,
            column,
            depth,
            aligned,
        );
    }
}

/// The lesser of each pair of bytes below 128.
#[cube]
pub(super) fn least_bytes(a: u32, b: u32) -> u32 {
    let flags = ((a | 0x8080_8080u32) - b) & 0x8080_8080u32;
    let a_at_least_b = (flags >> 7u32) * 255u32;
    (b & a_at_least_b) | (a & !a_at_least_b)
}

/// 255 for each byte that is not 0.
#[cube]
pub(super) fn whites(bits: u32) -> u32 {
    let top = (((bits & 0x7f7f_7f7fu32) + 0x7f7f_7f7fu32) | bits) & 0x8080_8080u32;
    (top >> 7u32) * 255u32
}

/// How many of the bits of each byte are set.
#[cube]
fn ones_of_bytes(word: u32) -> u32 {
    let pairs = word - ((word >> 1u32) & 0x5555_5555u32);
    let fours = (pairs & 0x3333_3333u32) + ((pairs >> 2u32) & 0x3333_3333u32);
    (fours + (fours >> 4u32)) & 0x0f0f_0f0fu32
}

/// Which of a block's four columns have white, 255 for each, and how many of their rows lie between the white that is next to the
/// block below (`down`) or above and that block.
#[cube]
pub(super) fn from_next_white(bits: u32, #[comptime] down: bool) -> (u32, u32) {
    // Bits from the last (or first) white on towards where the sweep comes from; the others count.
    let mut smeared = bits;
    if comptime!(down) {
        smeared |= (smeared >> 1u32) & 0x7f7f_7f7fu32;
        smeared |= (smeared >> 2u32) & 0x3f3f_3f3fu32;
        smeared |= (smeared >> 4u32) & 0x0f0f_0f0fu32;
    } else {
        smeared |= (smeared << 1u32) & 0xfefe_fefeu32;
        smeared |= (smeared << 2u32) & 0xfcfc_fcfcu32;
        smeared |= (smeared << 4u32) & 0xf0f0_f0f0u32;
    }
    let touched = (smeared >> comptime!(if down { 0u32 } else { 7u32 })) & 0x0101_0101u32;
    (touched * 255u32, ones_of_bytes(!smeared))
}
