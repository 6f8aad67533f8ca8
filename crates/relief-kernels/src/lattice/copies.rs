//! Which copies of a pattern meet a tile.

use relief_raster::Rect;

/// A copy of the pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// How many times `u` was added.
    pub i: i128,
    /// How many times `v` was added.
    pub j: i128,
    /// The column of its left edge.
    pub x: i64,
    /// The row of its top edge.
    pub y: i64,
}

/// Copies in ascending order of (j, i); see [`copies`].
#[derive(Clone, Debug)]
pub struct Copies {
    next: u64,
}

/// All copies of a pattern of `width` × `height` pixels that meet `tile`, in ascending lexicographic order of (j, i),
/// where copy (i, j) has its top-left at `offset` + i·`u` + j·`v`.
///
/// Nothing for vectors whose determinant is 0.
#[must_use]
pub fn copies(tile: Rect, size: (u64, u64), offset: (i64, i64), u: (i64, i64), v: (i64, i64)) -> Copies {
    let _ = (tile, size, offset, u, v);
    Copies { next: 0 }
}

impl Iterator for Copies {
    type Item = Placement;

    fn next(&mut self) -> Option<Placement> {
        self.next += 1;
        None
    }
}

/// The greatest number of copies of a pattern of `size` that cover one pixel, or more.
#[must_use]
pub fn overlap(size: (u64, u64), u: (i64, i64), v: (i64, i64)) -> u128 {
    let _ = (size, u, v);
    0
}
