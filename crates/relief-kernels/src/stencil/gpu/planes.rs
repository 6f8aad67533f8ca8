//! Squares of bytes by planes of units: each goes down a strip of its own, and nothing waits for other planes.
//!
//! A lane owns a vector of 16 columns, so a plane of 32 reads 512 and computes those whose windows lie within. What lanes tell
//! each other goes through shared memory that is the plane's alone, and through exchanges between lanes.
//!
//! The windows of a lane are those that *begin* in its columns, so what leaves them is its own. Their results lie a radius further right:
//! vectors of the result are pieced together from two neighbours' bytes.

use cubecl::prelude::*;

use super::columns::{Raster, store_vector};
use super::matrix::groups::{edge, mended, nearest};
use crate::stencil::gpu::Samples;

pub(super) mod sums;

/// Columns of a lane.
const COLUMNS: u32 = 16;

/// Vectors of which the first that a plane reads is a multiple, and those that it computes: whole sectors of memory.
const SECTOR: u32 = 2;

/// How planes take their strips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Planes {
    pub(super) radius: u32,
    /// K: rows of a step.
    pub(super) rows: u32,
    /// Units of a cube: whole planes.
    pub(super) units: u32,
    /// Units of a plane.
    pub(super) lanes: u32,
    /// Whether the units of a plane can wait for each other alone; else those of the cube do.
    pub(super) alone: bool,
    /// Whether rows are copied to shared memory, which keeps those of windows, by copies that take no registers. Else those that leave are
    /// read again.
    pub(super) kept: bool,
    /// Steps whose rows are on their way.
    pub(super) ahead: u32,
}

impl Planes {
    /// The first vector of those that a plane reads that it computes.
    const fn first(&self) -> u32 {
        self.radius.div_ceil(COLUMNS).next_multiple_of(SECTOR)
    }

    /// The first one after that it does not compute: windows of the result lie within what is read.
    const fn end(&self) -> u32 {
        let end = (COLUMNS * self.lanes).saturating_sub(self.radius) / COLUMNS;
        self.first() + end.saturating_sub(self.first()) / SECTOR * SECTOR
    }

    /// Columns of words that a plane computes; 0 where it is too narrow.
    pub(super) const fn columns(&self) -> u32 {
        (self.end() - self.first()) * (COLUMNS / 4)
    }

    /// Planes of a cube, side by side.
    pub(super) const fn planes(&self) -> u32 {
        self.units / self.lanes
    }

    /// Bytes of a result's vector that come from the lane before, where those are fewer than the others: that lane's last.
    const fn before(&self) -> u32 {
        self.radius % COLUMNS
    }
}

/// Lets the units of a plane see what the others wrote to shared memory.
#[cube]
fn wait(#[comptime] planes: Planes) {
    if comptime!(planes.alone) {
        sync_plane();
    } else {
        sync_cube();
    }
}

/// Where a lane's vectors lie, and how the picture lies in memory.
#[derive(CubeType, Clone)]
struct Place {
    /// The first column of the lane: a multiple of a vector's; it may lie outside.
    column: i32,
    /// The nearest vector of a row.
    nearest: u32,
    /// Whether all that the plane reads of a row is inside.
    inside: bool,
    /// The first of the words that the plane computes.
    word: u32,
    width: u32,
    height: u32,
    /// Words from one row to the next.
    pitch: u32,
}

/// That of this lane, in the plane that is `plane`th across.
#[cube]
fn place(plane: u32, width: u32, height: u32, pitch: u32, #[comptime] planes: Planes) -> Place {
    let word = plane * comptime!(planes.columns());
    let begin = word as i32 * 4i32 - comptime!((planes.first() * COLUMNS) as i32);
    let mut inside = begin >= 0i32;
    inside = inside && begin + comptime!((COLUMNS * planes.lanes) as i32) <= width as i32;
    let column = begin + (UNIT_POS_PLANE * COLUMNS) as i32;
    Place {
        column,
        nearest: nearest(column, width, 4u32),
        inside,
        word,
        width,
        height,
        pitch,
    }
}

/// The words of a lane in `count` rows from `first` on, to `words` from row `at` on; what lies outside is the nearest inside.
#[cube]
fn load<N: Size>(
    source: &Array<Vector<u32, N>>,
    words: &mut Array<u32>,
    first: i32,
    place: &Place,
    #[comptime] at: u32,
    #[comptime] count: u32,
) {
    let of_row = place.pitch / 4u32;
    let last = place.height as i32 - 1i32;
    let mut far = max(first, 0i32) == min(first, last - comptime!(count as i32 - 1i32));
    far = far && place.inside;
    // 0 ≤ row < height; columns are inside, or kept there.
    if far {
        let from = first as u32 * of_row + place.column as u32 / COLUMNS;
        #[unroll]
        for k in 0..count {
            let loaded = source[(from + k * of_row) as usize];
            #[unroll]
            for w in 0..4u32 {
                words[comptime!((4 * (at + k) + w) as usize)] = loaded[comptime!(w as usize)];
            }
        }
    } else {
        #[unroll]
        for k in 0..count {
            let row = max(min(first + comptime!(k as i32), last), 0i32) as u32;
            let loaded = source[(row * of_row + place.nearest) as usize];
            let edge = edge::<N>(loaded, place.column, place.width, 4u32);
            #[unroll]
            for w in 0..4u32 {
                let column = place.column + comptime!(4 * w as i32);
                words[comptime!((4 * (at + k) + w) as usize)] =
                    mended(loaded[comptime!(w as usize)], edge, column, place.width);
            }
        }
    }
}

/// Stores a vector of the result in row `row`, from the results of the windows that begin in this lane's columns, and a neighbour's.
#[cube]
fn store<N: Size>(
    out: &mut Array<Vector<u32, N>>,
    results: &Array<u32>,
    row: u32,
    place: &Place,
    raster: &Raster,
    #[comptime] planes: Planes,
) {
    // Eight words of two lanes, of which four words from byte `from` on are the vector.
    let before = comptime!(planes.before());
    let mut words = Array::<u32>::new(8usize);
    let mut vector = UNIT_POS_PLANE + comptime!(planes.radius / COLUMNS);
    if comptime!(before <= 8) {
        #[unroll]
        for w in 0..4usize {
            words[comptime!(w + 4)] = results[w];
            if comptime!(4 * (4 - w as u32) < before + 4) {
                words[w] = plane_shuffle_up(results[w], 1u32);
            }
        }
    } else {
        vector += 1u32;
        #[unroll]
        for w in 0..4usize {
            words[w] = results[w];
            if comptime!(4 * (w as u32) < COLUMNS - before) {
                words[comptime!(w + 4)] = plane_shuffle_down(results[w], 1u32);
            }
        }
    }
    let from = comptime!(COLUMNS - before);
    let mut pieced = Vector::<u32, N>::empty();
    #[unroll]
    for w in 0..4u32 {
        let (word, bits) = comptime!((((from + 4 * w) / 4) as usize, (from % 4) * 8));
        let mut piece = words[word];
        if comptime!(bits > 0) {
            piece = (piece >> bits) | (words[comptime!(word + 1)] << comptime!(32 - bits));
        }
        pieced[comptime!(w as usize)] = piece;
    }
    let (first, end) = comptime!((planes.first(), planes.end()));
    if vector >= first {
        if vector < end {
            let word = place.word + (vector - first) * comptime!(COLUMNS / 4);
            store_vector::<u32, N>(out, pieced, row, word, raster, comptime!(Samples::Bytes));
        }
    }
}
