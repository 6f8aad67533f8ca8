//! Rows of a picture as the right matrices of instructions: eight groups of neighbouring columns, each with what a window looks at left
//! and right of it.
//!
//! Lane 4 g + t has the words of group g that begin t vectors after its first; a vector of all lanes is a run of columns, and so
//! many runs are a group. Which word counts as which rows of a matrix is ours to choose, as long as both matrices agree.

use cubecl::prelude::barrier::{Barrier, copy_async};
use cubecl::prelude::*;

/// What is compiled into kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Groups {
    /// Columns from one group to the next: what a plane computes of each.
    pub(super) columns: u32,
    /// Columns that are read before the first.
    pub(super) left: u32,
    /// Words of a vector: 2 or 4.
    pub(super) vector: u32,
    /// Vectors of a lane.
    pub(super) runs: u32,
}

impl Groups {
    /// Groups of `columns`, and `beside` columns left and right of each.
    pub(super) fn new(columns: u32, beside: u32) -> Self {
        let of = |vector: u32| {
            // Groups begin with whole vectors.
            let left = beside.next_multiple_of(4 * vector);
            Self {
                columns,
                left,
                vector,
                runs: (left + columns + beside).div_ceil(16 * vector),
            }
        };
        // Fewer loads, unless that takes more instructions.
        let (two, four) = (of(2), of(4));
        if four.words() <= two.words() { four } else { two }
    }

    /// Words of a lane in a row: two for each instruction that multiplies it.
    pub(super) const fn words(&self) -> u32 {
        self.vector * self.runs
    }

    /// Columns from that of a lane's first word to that of word `word`.
    pub(super) const fn column(&self, word: u32) -> u32 {
        word / self.vector * 16 * self.vector + word % self.vector * 4
    }

    /// Columns that a plane computes.
    pub(super) const fn computed(&self) -> u32 {
        8 * self.columns
    }

    /// Columns that a plane reads.
    const fn read(&self) -> u32 {
        7 * self.columns + 16 * self.vector * self.runs
    }
}

/// Where a lane's first word of a row lies, and how the picture lies in memory.
#[derive(CubeType, Clone)]
pub(super) struct Place {
    /// Its column: a multiple of a vector's.
    column: i32,
    /// Whether all that the plane reads of a row is inside.
    inside: bool,
    width: u32,
    height: u32,
    /// Words from one row to the next.
    pitch: u32,
}

/// That of a plane whose first result is in column `first`.
#[cube]
pub(super) fn place(first: u32, width: u32, height: u32, pitch: u32, #[comptime] groups: Groups) -> Place {
    let (group, lane) = (UNIT_POS_PLANE / 4u32, UNIT_POS_PLANE % 4u32);
    let begin = first as i32 - comptime!(groups.left as i32);
    let of_lane = group * comptime!(groups.columns) + lane * comptime!(4 * groups.vector);
    let mut inside = begin >= 0i32;
    inside = inside && begin + comptime!(groups.read() as i32) <= width as i32;
    Place {
        column: begin + of_lane as i32,
        inside,
        width,
        height,
        pitch,
    }
}

/// The words of a lane in `count` rows from `first` on, to `words` from row `at` on; what lies outside is the nearest inside.
#[cube]
pub(super) fn load<N: Size>(
    source: &Array<Vector<u32, N>>,
    words: &mut Array<u32>,
    first: i32,
    place: &Place,
    #[comptime] at: u32,
    #[comptime] count: u32,
    #[comptime] groups: Groups,
) {
    let vector = comptime!(groups.vector);
    let of_row = place.pitch / vector;
    let last = place.height as i32 - 1i32;
    let mut far = max(first, 0i32) == min(first, last - comptime!(count as i32 - 1i32));
    far = far && place.inside;
    // 0 ≤ row < height; columns are inside, or kept there.
    if far {
        let from = first as u32 * of_row + place.column as u32 / comptime!(4 * vector);
        #[unroll]
        for k in 0..count {
            #[unroll]
            for run in 0..comptime!(groups.runs) {
                let loaded = source[(from + k * of_row + comptime!(4 * run)) as usize];
                #[unroll]
                for w in 0..vector {
                    let word = comptime!(((at + k) * groups.words() + run * vector + w) as usize);
                    words[word] = loaded[comptime!(w as usize)];
                }
            }
        }
    } else {
        #[unroll]
        for k in 0..count {
            let row = max(min(first + comptime!(k as i32), last), 0i32) as u32;
            #[unroll]
            for run in 0..comptime!(groups.runs) {
                let column = place.column + comptime!((16 * vector * run) as i32);
                let loaded = source[(row * of_row + nearest(column, place.width, vector)) as usize];
                let edge = edge::<N>(loaded, column, place.width, comptime!(groups.vector));
                #[unroll]
                for w in 0..vector {
                    let word = comptime!(((at + k) * groups.words() + run * vector + w) as usize);
                    let column = column + comptime!(4 * w as i32);
                    words[word] = mended(loaded[comptime!(w as usize)], edge, column, place.width);
                }
            }
        }
    }
}

/// Asks for the vectors of a lane in `count` rows from `first` on, to those of `stage` in shared memory, whose units are `units`; what lies outside is
/// the nearest inside, but for pixels of a vector.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(super) fn ask<N: Size>(
    source: &Array<Vector<u32, N>>,
    staged: &mut SharedMemory<Vector<u32, N>>,
    barrier: &Shared<Barrier>,
    first: i32,
    place: &Place,
    #[comptime] stage: u32,
    #[comptime] count: u32,
    #[comptime] units: u32,
    #[comptime] groups: Groups,
) {
    let vector = comptime!(groups.vector);
    let of_row = place.pitch / vector;
    #[unroll]
    for k in 0..count {
        let last = place.height as i32 - 1i32;
        let row = max(min(first + comptime!(k as i32), last), 0i32) as u32;
        #[unroll]
        for run in 0..comptime!(groups.runs) {
            let column = place.column + comptime!((16 * vector * run) as i32);
            let from = (row * of_row + nearest(column, place.width, vector)) as usize;
            let at = comptime!(((stage * count + k) * groups.runs + run) * units);
            let to = (UNIT_POS + at) as usize;
            let mut target = staged.slice_mut(to, to + 1usize);
            copy_async(&source.slice(from, from + 1usize), &mut target, vector);
        }
    }
    barrier.commit_copy_async();
    barrier.arrive();
}

/// The words that were asked for, to `words` from row `at` on; pixels outside are the nearest inside.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(super) fn take<N: Size>(
    staged: &SharedMemory<Vector<u32, N>>,
    words: &mut Array<u32>,
    place: &Place,
    #[comptime] stage: u32,
    #[comptime] at: u32,
    #[comptime] count: u32,
    #[comptime] units: u32,
    #[comptime] groups: Groups,
) {
    let vector = comptime!(groups.vector);
    #[unroll]
    for k in 0..count {
        #[unroll]
        for run in 0..comptime!(groups.runs) {
            let from = comptime!(((stage * count + k) * groups.runs + run) * units);
            let loaded = staged[(UNIT_POS + from) as usize];
            #[unroll]
            for w in 0..vector {
                let word = comptime!(((at + k) * groups.words() + run * vector + w) as usize);
                words[word] = loaded[comptime!(w as usize)];
            }
        }
    }
    // The same for all units of a plane.
    if !place.inside {
        #[unroll]
        for k in 0..count {
            #[unroll]
            for run in 0..comptime!(groups.runs) {
                let from = comptime!(((stage * count + k) * groups.runs + run) * units);
                let loaded = staged[(UNIT_POS + from) as usize];
                let column = place.column + comptime!((16 * vector * run) as i32);
                let edge = edge::<N>(loaded, column, place.width, comptime!(groups.vector));
                #[unroll]
                for w in 0..vector {
                    let word = comptime!(((at + k) * groups.words() + run * vector + w) as usize);
                    let column = column + comptime!(4 * w as i32);
                    words[word] = mended(loaded[comptime!(w as usize)], edge, column, place.width);
                }
            }
        }
    }
}

/// The vector of a row that is nearest to the one that begins in column `column`.
#[cube]
pub(in crate::stencil::gpu) fn nearest(column: i32, width: u32, #[comptime] vector: u32) -> u32 {
    let end = (width - 1u32) / comptime!(4 * vector);
    max(min(column / comptime!(4 * vector as i32), end as i32), 0i32) as u32
}

/// The pixel that stands for those outside, four times: the first of the nearest vector where that lies right of `column`, else the
/// picture's last.
#[cube]
pub(in crate::stencil::gpu) fn edge<N: Size>(
    loaded: Vector<u32, N>,
    column: i32,
    width: u32,
    #[comptime] vector: u32,
) -> u32 {
    let last = select(column < 0i32, 0u32, (width - 1u32) % comptime!(4 * vector));
    let mut word = loaded[0usize];
    #[unroll]
    for w in 1..vector {
        word = select(last / 4u32 == w, loaded[comptime!(w as usize)], word);
    }
    ((word >> (last % 4u32 * 8u32)) & 255u32) * 0x0101_0101u32
}

/// A word whose first pixel is in column `column`, those outside replaced. Without branches: lanes that went different ways must not meet
/// at a matrix instruction.
#[cube]
pub(in crate::stencil::gpu) fn mended(word: u32, edge: u32, column: i32, width: u32) -> u32 {
    // Pixels inside: 0…4; left of the picture none, because it begins with a word.
    let inside = max(min(width as i32 - column, 4i32), 0i32) as u32;
    let inside = select(column < 0i32, 0u32, inside);
    let outside = select(inside == 4u32, 0u32, 0xffff_ffffu32 << (inside % 4u32 * 8u32));
    (word & !outside) | (edge & outside)
}
