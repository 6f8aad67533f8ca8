//! The mask as blocks of 4 × 8 bits, and how far white is above and below each.

use cubecl::prelude::*;
use relief_raster::Rect;

use crate::fused::Plane;
use crate::fused::packed::{coverage, funnel};

/// The part of a mask that lies in the region of the blocks, in columns and rows of the region.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// The word of the buffer with the part's first sample.
    pub(super) offset: u32,
    /// Words from row to row, and words of a row that may be read.
    pub(super) pitch: u32,
    pub(super) words: u32,
    /// The columns and rows it covers; none where left = right.
    pub(super) left: u32,
    pub(super) right: u32,
    pub(super) top: u32,
    pub(super) bottom: u32,
    /// The column of the first sample of the first word; at most a word's samples left of the region.
    pub(super) column: i32,
}

impl Part {
    /// What of a mask at `place` lies `there`, inside the region `around`; `samples` of a word.
    pub(super) fn of(mask: &Plane, (x, y): (i64, i64), there: Rect, around: Rect, samples: u32) -> Self {
        if there.is_empty() {
            return Self {
                offset: 0,
                pitch: 0,
                words: 1,
                left: 0,
                right: 0,
                top: 0,
                bottom: 1,
                column: 0,
            };
        }
        // Both differences are less than the sides of the mask, which 32 bits hold.
        let skipped = (there.x() - x) as u32 / samples;
        let rows = (there.y() - y) as u32;
        let in_region = |v: i64, origin: i64| (v - origin) as u32;
        let column = x + i64::from(skipped * samples) - around.x();
        Self {
            offset: mask.offset + rows * mask.pitch + skipped,
            pitch: mask.pitch,
            words: mask.width.div_ceil(samples) - skipped,
            left: in_region(there.x(), around.x()),
            right: in_region(there.right(), around.x()),
            top: in_region(there.y(), around.y()),
            bottom: in_region(there.bottom(), around.y()),
            column: column as i32,
        }
    }

    /// Whether words of the mask begin where blocks begin.
    pub(super) const fn aligned(&self, samples: u32) -> bool {
        self.column.rem_euclid(samples as i32) == 0
    }
}

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
        let samples = comptime!(32 / depth);
        let x = place * 4u32;
        // A column left of the mask's first gives a negative word, which is clamped and then cut off.
        let ahead = i32::cast_from(x) - column;
        let word = ahead >> comptime!(if depth == 8 { 2i32 } else { 1i32 });
        let shift = (u32::cast_from(ahead) % samples) * depth;
        let last = i32::cast_from(words) - 1i32;
        let first = u32::cast_from(clamp(word, 0i32, last));
        let second = u32::cast_from(clamp(word + 1i32, 0i32, last));
        let third = u32::cast_from(clamp(word + 2i32, 0i32, last));
        let inside = coverage(x, left, right, depth);
        let mut bits = u32::new(0);
        if comptime!(depth == 8) {
            #[unroll]
            for r in 0..8u32 {
                let y = CUBE_POS_Y * 8u32 + r;
                let row = offset + (clamp(y, top, bottom - 1u32) - top) * pitch;
                let mut four = mask[(row + first) as usize];
                if comptime!(!aligned) {
                    four = funnel(masked(four, word >= 0i32), mask[(row + second) as usize], shift);
                }
                four = masked(four & inside, y >= top && y < bottom);
                let white = (((four & 0x7f7f_7f7fu32) + 0x7f7f_7f7fu32) | four) & 0x8080_8080u32;
                bits |= white >> comptime!(7 - r);
            }
        } else {
            let inside_right = coverage(x + 2u32, left, right, depth);
            #[unroll]
            for r in 0..8u32 {
                let y = CUBE_POS_Y * 8u32 + r;
                let row = offset + (clamp(y, top, bottom - 1u32) - top) * pitch;
                let mut low = mask[(row + first) as usize];
                let mut high = mask[(row + second) as usize];
                if comptime!(!aligned) {
                    low = funnel(low, high, shift);
                    high = funnel(high, mask[(row + third) as usize], shift);
                }
                let there = y >= top && y < bottom;
                let two = white_halves(masked(low & inside, there));
                let other = white_halves(masked(high & inside_right, there));
                bits |= (two | (other << 16u32)) << r;
            }
        }
        blocks[(CUBE_POS_Y * columns + place) as usize] = bits;
    }
}

#[cube]
fn masked(word: u32, keep: bool) -> u32 {
    select(keep, word, 0u32)
}

/// Bits 0 and 8: whether the low and the high sample of 16 bits is not 0.
#[cube]
fn white_halves(word: u32) -> u32 {
    let white = ((word & 0x7fff_7fffu32) + 0x7fff_7fffu32) | word;
    ((white >> 15u32) & 1u32) | ((white >> 23u32) & 0x100u32)
}

/// The lesser of each pair of bytes below 128.
#[cube]
pub(super) fn least_bytes(a: u32, b: u32) -> u32 {
    let flags = ((a | 0x8080_8080u32) - b) & 0x8080_8080u32;
    let a_at_least_b = (flags >> 7u32) * 255u32;
    (b & a_at_least_b) | (a & !a_at_least_b)
}

/// How many of the bits of each byte are set.
#[cube]
fn ones_of_bytes(word: u32) -> u32 {
    let pairs = word - ((word >> 1u32) & 0x5555_5555u32);
    let fours = (pairs & 0x3333_3333u32) + ((pairs >> 2u32) & 0x3333_3333u32);
    (fours + (fours >> 4u32)) & 0x0f0f_0f0fu32
}

/// For every block of a strip and each of its four columns, how far the nearest white pixel above (`down`) or below is
/// from the row next to the block, at most `most`, in bytes.
///
/// Blocks are visited in the direction of the sweep from `reach` blocks before the strip.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(super) fn carry(
    blocks: &Array<u32>,
    carries: &mut Array<u32>,
    columns: u32,
    rows: u32,
    reach: u32,
    most: u32,
    strip: u32,
    #[comptime] down: bool,
) {
    let place = ABSOLUTE_POS_X;
    if place < columns {
        let start = CUBE_POS_Y * strip;
        let end = min(start + strip, rows);
        let limit = most * 0x0101_0101u32;
        let mut far = limit;
        for k in 0..(end - start + reach) {
            // Row of the block in `blocks`, which begin `reach` above `carries`.
            let mut row = start + k;
            if comptime!(!down) {
                row = end + 2u32 * reach - 1u32 - k;
            }
            if k >= reach {
                let own = row - reach;
                carries[(own * columns + place) as usize] = far;
            }
            let bits = blocks[(row * columns + place) as usize];
            far = least_bytes(far + 0x0808_0808u32, limit);
            if bits != 0u32 {
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
                let mut touched = smeared;
                if comptime!(!down) {
                    touched = smeared >> 7u32;
                }
                let white = (touched & 0x0101_0101u32) * 255u32;
                far = (far & !white) | (ones_of_bytes(!smeared) & white);
            }
        }
    }
}
