//! The elements of all copies that may reach into a piece.

use super::grid::Piece;
use crate::coverage::Index;
use crate::coverage::index::{Chain, Lattice, Shapes};
use crate::coverage::lookup::Bounds;

/// An element of a copy.
#[derive(Clone, Copy)]
pub(super) struct Visit<'a> {
    pub(super) placement: u32,
    pub(super) copy: u64,
    pub(super) element: u32,
    /// What is added to the points of the copy, so that they count from the corner of the piece.
    pub(super) offset: (i64, i64),
    part: &'a Shapes,
    index: &'a Index,
    band: usize,
    entry: usize,
    bands: (usize, usize),
}

impl<'a> Visit<'a> {
    /// The chains of the element that may reach into the rows of the piece, each once, in their order.
    pub(super) fn chains(&self) -> impl Iterator<Item = &'a Chain> + use<'a> {
        let this = *self;
        let (part, index) = (this.part, this.index);
        (this.band..this.bands.1).flat_map(move |band| {
            let end = part.ends[band + 1] as usize;
            let start = if band == this.band {
                this.entry
            } else {
                start_of(index, part, band, this.element)
            };
            part.entries[start..end]
                .iter()
                .map(move |entry| &index.chains[*entry as usize])
                .take_while(move |chain| chain.element == this.element)
                // A chain of an earlier band came with that band.
                .filter(move |chain| {
                    band == this.band || {
                        let top = index.points[chain.first as usize].1;
                        part.lookup.bands.of(top, top).start >= band
                    }
                })
        })
    }
}

/// Where the entries of an element begin in a band, or would.
fn start_of(index: &Index, part: &Shapes, band: usize, element: u32) -> usize {
    let (first, end) = (part.ends[band] as usize, part.ends[band + 1] as usize);
    first + part.entries[first..end].partition_point(|entry| index.chains[*entry as usize].element < element)
}

/// Calls `each` for all elements that may reach into the piece, in no order, until it returns `false`; whether it never did.
pub(super) fn visit<'a>(index: &'a Index, piece: &Piece, mut each: impl FnMut(Visit<'a>) -> bool) -> bool {
    let unit = 256 * index.denominator;
    // Far from any point the piece may leave the numbers of the index.
    let at = |pixel: i64| i128::from(pixel) * i128::from(unit);
    let clamp = |n: i128| n.clamp(-(1 << 61), 1 << 61) as i64;
    let margin = i128::from(index.denominator);
    let window = Bounds {
        left: clamp(at(piece.x) - margin),
        top: clamp(at(piece.y) - margin),
        right: clamp(at(piece.x + piece.width as i64) + margin),
        bottom: clamp(at(piece.y + piece.height as i64) + margin),
    };
    if !index.bounds.meets(&window) {
        return true;
    }
    let corner = (clamp(at(piece.x)), clamp(at(piece.y)));
    let bands = index.lookup.bands.of(window.top, window.bottom);
    let first = bands.start as u32;
    for band in bands {
        for item in index.lookup.in_band(band, window.left, window.right) {
            // A placement of an earlier band came with that band.
            if band as u32 != item.entry.max(first) {
                continue;
            }
            let placed = &index.placed[item.id as usize];
            let part = &index.parts[placed.part as usize];
            let done = copies(&placed.lattice, &part.bounds, &window, |copy, offset| {
                elements(index, part, &window, offset, corner, |mut visit| {
                    visit.placement = item.id;
                    visit.copy = copy;
                    each(visit)
                })
            });
            if !done {
                return false;
            }
        }
    }
    true
}

/// Calls `each` for all copies of a box that meet the window.
fn copies(
    lattice: &Lattice,
    own: &Bounds,
    window: &Bounds,
    mut each: impl FnMut(u64, (i64, i64)) -> bool,
) -> bool {
    // How far copy (0, 0) may be moved and still meet the window.
    let across = (
        window.left - own.right - lattice.origin.0,
        window.right - own.left - lattice.origin.0,
    );
    let down = (
        window.top - own.bottom - lattice.origin.1,
        window.bottom - own.top - lattice.origin.1,
    );
    let (u, v) = (lattice.u, lattice.v);
    let mut rows = (0, i64::from(lattice.rows) - 1);
    if u.0 == 0 {
        rows = steps(v.0, 0, across, rows);
    }
    if u.1 == 0 {
        rows = steps(v.1, 0, down, rows);
    }
    for j in rows.0..=rows.1 {
        let columns = (0, i64::from(lattice.columns) - 1);
        let columns = steps(u.0, j * v.0, across, columns);
        let columns = steps(u.1, j * v.1, down, columns);
        for i in columns.0..=columns.1 {
            let offset = (
                lattice.origin.0 + i * u.0 + j * v.0,
                lattice.origin.1 + i * u.1 + j * v.1,
            );
            let copy = j as u64 * u64::from(lattice.columns) + i as u64;
            if !each(copy, offset) {
                return false;
            }
        }
    }
    true
}

/// The i of `range` for which i·`step` + `start` lies within `within`.
fn steps(step: i64, start: i64, within: (i64, i64), range: (i64, i64)) -> (i64, i64) {
    let (low, high) = (within.0 - start, within.1 - start);
    let (from, to) = match step {
        0 if low <= 0 && high >= 0 => return range,
        0 => return (1, 0),
        1.. => (-(-low).div_euclid(step), high.div_euclid(step)),
        _ => (-high.div_euclid(-step), (-low).div_euclid(-step)),
    };
    (range.0.max(from), range.1.min(to))
}

fn elements<'a>(
    index: &'a Index,
    part: &'a Shapes,
    window: &Bounds,
    offset: (i64, i64),
    corner: (i64, i64),
    mut each: impl FnMut(Visit<'a>) -> bool,
) -> bool {
    let own = Bounds {
        left: window.left - offset.0,
        top: window.top - offset.1,
        right: window.right - offset.0,
        bottom: window.bottom - offset.1,
    };
    let bands = part.lookup.bands.of(own.top, own.bottom);
    for band in bands.clone() {
        for item in part.lookup.in_band(band, own.left, own.right) {
            let element = &index.elements[item.id as usize];
            if element.bounds.top > own.bottom || element.bounds.bottom < own.top {
                continue;
            }
            let seen = (bands.start..band).any(|before| {
                let start = start_of(index, part, before, item.id);
                start < part.ends[before + 1] as usize
                    && index.chains[part.entries[start] as usize].element == item.id
            });
            let visit = Visit {
                placement: 0,
                copy: 0,
                element: item.id,
                offset: (offset.0 - corner.0, offset.1 - corner.1),
                part,
                index,
                band,
                entry: item.entry as usize,
                bands: (band, bands.end),
            };
            if !seen && !each(visit) {
                return false;
            }
        }
    }
    true
}
