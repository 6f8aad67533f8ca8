//! A block of packed samples with margins, and how a plane becomes one.

use cubecl::prelude::*;

use crate::device::{Buffer, DeviceError, Gpu, Operand, cover, launch};
use crate::edge::Edge;
use crate::edge::gpu::{COLUMNS, LINES, PLANE, Places, numbers, place, sample_at, word_at};
use crate::fused::Plane;
use crate::fused::shape::per_word;

/// Words that kernels read beyond the last sample of a row, which count for no result.
const BEYOND: u64 = 12;

/// Units of a cube, along rows and along columns.
const CUBE: (u32, u32) = (64, 4);

/// The samples that count for a part of a result: R more columns and rows on every side than it. A row begins with the sample R to the left of
/// its first result.
pub(crate) struct Block {
    pub(crate) samples: Buffer,
    /// Words from one row to the next, a multiple of 4: at least 12 more than the samples take.
    pub(crate) pitch: u32,
    /// Rows, margins included.
    pub(crate) rows: u32,
    pub(crate) bits: u32,
}

impl Block {
    /// The words of a row of so many samples.
    pub(super) fn pitch(bits: u32, samples: u64) -> u64 {
        (samples.div_ceil(per_word(bits).into()) + BEYOND).next_multiple_of(4)
    }

    /// As a launch that reads it is told.
    pub(crate) fn operand(&self) -> Operand<'_> {
        Operand::read("a block of samples", &self.samples)
    }

    /// Brings what counts into the block.
    pub(super) fn gather(
        &self,
        gpu: &Gpu,
        source: &Plane,
        across: Places,
        down: Places,
        edge: Edge,
    ) -> Result<(), DeviceError> {
        // SAFETY: rows and words of the source are clamped to those of its plane, which `Plane` has checked to lie in its buffer; words and rows
        // of the block are compared with those it has.
        launch!(
            gpu, "filter: gather", &(self.bits, edge),
            &[
                Operand::read("the source", source.buffer()),
                Operand::write("a block of samples", &self.samples),
            ],
            cover((self.pitch, self.rows), CUBE),
            unsafe gather(
                source.buffer().array(1), numbers(source, across, down).into_iter().collect(),
                self.samples.array(1), self.pitch, self.rows, self.bits, edge))
    }
}

/// A word of a block.
#[cube(launch_unchecked)]
fn gather(
    source: &Array<u32>,
    numbers: &Sequence<u32>,
    block: &mut Array<u32>,
    pitch: u32,
    rows: u32,
    #[comptime] bits: u32,
    #[comptime] edge: Edge,
) {
    let word = ABSOLUTE_POS_X;
    let y = ABSOLUTE_POS_Y;
    if word < pitch && y < rows {
        let lanes = comptime!(per_word(bits));
        let at = word * lanes;
        let row = place(numbers, y, LINES, edge);
        let mut found = u32::new(0);
        if row < *numbers.index(comptime!(PLANE + 3)) {
            let start = *numbers.index(PLANE) + row * *numbers.index(comptime!(PLANE + 1));
            // Neighbours within the filter are neighbours in the plane.
            if at >= *numbers.index(comptime!(COLUMNS + 3))
                && at + lanes <= *numbers.index(comptime!(COLUMNS + 4))
            {
                found = word_at(source, numbers, start, *numbers.index(COLUMNS) + at, bits);
            } else {
                #[unroll]
                for k in 0..lanes {
                    let column = place(numbers, at + k, COLUMNS, edge);
                    found |= sample_at(source, numbers, start, column, bits) << comptime!(k * bits);
                }
            }
        }
        block[(y * pitch + word) as usize] = found;
    }
}
