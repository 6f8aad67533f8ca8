//! The rows of a strip that a window will leave, kept in shared memory: a ring in which the row that enters
//! takes the place of the one that leaves, 2r rows before it.
//!
//! The row that leaves could be read again from memory, or from a cache that still has it. But that is as
//! many bytes again between cache and multiprocessor, and the windows of all strips together are more than a
//! cache holds. A unit (thread) keeps words of its own column alone, so nothing waits for the others.
//!
//! It pays where windows are wide. With narrower ones the ring of one cube (block) takes the room of another
//! cube. Bytes gain nothing: caches hold four times as many of their rows.

use cubecl::prelude::*;

/// What is compiled into a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ring {
    /// Rows that are kept; 0 where none are.
    pub(super) rows: u32,
    /// Units of a cube.
    pub(super) units: u32,
}

impl Ring {
    pub(super) const fn is_used(&self) -> bool {
        self.rows > 0
    }

    /// Words of shared memory.
    pub(super) const fn words(&self) -> u32 {
        self.rows * self.units
    }

    /// Words to allocate: some, or there is no memory to pass on.
    pub(super) const fn allocated(&self) -> usize {
        if self.rows > 0 { self.words() as usize } else { 1 }
    }
}

/// Keeps `count` words of a column, whose rows are the `first`th of the strip's and those that follow.
#[cube]
pub(super) fn keep<W: Numeric>(
    kept: &mut SharedMemory<W>,
    words: &Array<W>,
    first: u32,
    #[comptime] count: u32,
    #[comptime] ring: Ring,
) {
    if comptime!(ring.is_used()) {
        let place = (UNIT_POS + first * comptime!(ring.units)) as usize;
        #[unroll]
        for k in 0..count {
            kept[place + comptime!((k * ring.units) as usize)] = words[comptime!(k as usize)];
        }
    }
}

/// Takes the `count` words of a column that leave, from row `slot` of the ring on, and keeps those that enter in their places. The
/// slot of the next.
#[cube]
pub(super) fn exchange<W: Numeric>(
    kept: &mut SharedMemory<W>,
    enters: &Array<W>,
    leaves: &mut Array<W>,
    slot: u32,
    #[comptime] count: u32,
    #[comptime] ring: Ring,
) -> u32 {
    // count ≤ rows, so no place comes twice; slot < rows.
    if comptime!(ring.rows % count == 0) || slot <= comptime!(ring.rows - count) {
        let place = (UNIT_POS + slot * comptime!(ring.units)) as usize;
        #[unroll]
        for k in 0..count {
            let at = place + comptime!((k * ring.units) as usize);
            leaves[comptime!(k as usize)] = kept[at];
            kept[at] = enters[comptime!(k as usize)];
        }
    } else {
        #[unroll]
        for k in 0..count {
            let mut row = slot + k;
            if row >= comptime!(ring.rows) {
                row -= comptime!(ring.rows);
            }
            let at = UNIT_POS + row * comptime!(ring.units);
            leaves[comptime!(k as usize)] = kept[at as usize];
            kept[at as usize] = enters[comptime!(k as usize)];
        }
    }
    let mut next = slot + count;
    if next >= comptime!(ring.rows) {
        next -= comptime!(ring.rows);
    }
    next
}
