//! Where the mask lies in a region of bits, and its samples as bits.

use cubecl::prelude::*;
use relief_raster::Rect;

use crate::device::{DeviceError, Gpu};
use crate::fused::Plane;
use crate::fused::packed::{coverage, funnel};

/// Nothing where the samples of a mask have as many bits as those of the profile: kernels count words by these.
pub(super) fn check_depth(gpu: &Gpu, mask: &Plane, bits: u32) -> Result<(), DeviceError> {
    if mask.depth().bits() == bits {
        return Ok(());
    }
    Err(gpu.no_kind("a mask", format!("{bits} bits, as its profile"), mask.depth()))
}

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
            offset: mask.offset() + rows * mask.pitch() + skipped,
            pitch: mask.pitch(),
            words: mask.row_words() - skipped,
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

/// Bit 8k + r is whether the pixel of column `x` + k, row `y` + r is white: four columns of eight rows. `x` is a multiple
/// of 4; the other numbers are those of a [`Part`].
#[cube]
#[allow(clippy::too_many_arguments)]
pub(super) fn four_by_eight(
    mask: &Array<u32>,
    x: u32,
    y: u32,
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
) -> u32 {
    let samples = comptime!(32 / depth);
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
            let row = y + r;
            let start = offset + (clamp(row, top, bottom - 1u32) - top) * pitch;
            let mut four = mask[(start + first) as usize];
            if comptime!(!aligned) {
                four = funnel(masked(four, word >= 0i32), mask[(start + second) as usize], shift);
            }
            four = masked(four & inside, row >= top && row < bottom);
            let white = (((four & 0x7f7f_7f7fu32) + 0x7f7f_7f7fu32) | four) & 0x8080_8080u32;
            bits |= white >> comptime!(7 - r);
        }
    } else {
        let inside_right = coverage(x + 2u32, left, right, depth);
        #[unroll]
        for r in 0..8u32 {
            let row = y + r;
            let start = offset + (clamp(row, top, bottom - 1u32) - top) * pitch;
            let mut low = mask[(start + first) as usize];
            let mut high = mask[(start + second) as usize];
            if comptime!(!aligned) {
                low = funnel(low, high, shift);
                high = funnel(high, mask[(start + third) as usize], shift);
            }
            let there = row >= top && row < bottom;
            let two = white_halves(masked(low & inside, there));
            let other = white_halves(masked(high & inside_right, there));
            bits |= (two | (other << 16u32)) << r;
        }
    }
    bits
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
