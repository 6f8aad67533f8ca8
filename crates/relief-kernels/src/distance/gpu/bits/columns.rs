//! The mask as vertical words: bit r of a word is row r of 32.

use cubecl::prelude::*;

use super::super::mask::four_by_eight;

/// Vector (`place`, CUBE_POS_Y) of `columns` vectors in a row: the words of the columns 4·place to 4·place + 3.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(super) fn pack<N: Size>(
    mask: &Array<u32>,
    bits: &mut Array<Vector<u32, N>>,
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
        // Byte c of word q is column c of the rows 8q to 8q + 7; the vector wants them the other way round.
        let mut rows = Array::<u32>::new(4usize);
        #[unroll]
        for q in 0..4usize {
            rows[q] = four_by_eight(
                mask,
                place * 4u32,
                CUBE_POS_Y * 32u32 + comptime!(8 * q as u32),
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
        let even_above = (rows[0] & 0x00ff_00ffu32) | ((rows[1] & 0x00ff_00ffu32) << 8u32);
        let odd_above = ((rows[0] >> 8u32) & 0x00ff_00ffu32) | (rows[1] & 0xff00_ff00u32);
        let even_below = (rows[2] & 0x00ff_00ffu32) | ((rows[3] & 0x00ff_00ffu32) << 8u32);
        let odd_below = ((rows[2] >> 8u32) & 0x00ff_00ffu32) | (rows[3] & 0xff00_ff00u32);
        let mut four = Vector::<u32, N>::empty();
        four[0] = (even_above & 0xffffu32) | (even_below << 16u32);
        four[1] = (odd_above & 0xffffu32) | (odd_below << 16u32);
        four[2] = (even_above >> 16u32) | (even_below & 0xffff_0000u32);
        four[3] = (odd_above >> 16u32) | (odd_below & 0xffff_0000u32);
        bits[(CUBE_POS_Y * columns + place) as usize] = four;
    }
}
