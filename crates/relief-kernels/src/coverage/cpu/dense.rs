//! Where more chains meet in a few pixels than there is room for: element by element, each place keeping the topmost.
//!
//! Slow and small. Elements come in any order, one at a time, so memory does not grow with their number.

use bytemuck::{Pod, Zeroable};
use relief_raster::{Sample, ViewMut};

use super::gather::scaled;
use super::grid::{Grid, Piece, rounded};
use super::visit::{Visit, visit};
use super::{Crossing, Scratch};
use crate::coverage::{Index, Rule};

/// The greatest width of such a piece, in pixels; it has one row.
pub(super) const WIDTH: usize = 4;
/// Places of 1/256 px in one sub-scanline.
pub(super) const CELLS: usize = WIDTH * 256;

/// The topmost element seen so far at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Cell {
    covered: u32,
    placement: u32,
    copy: u64,
    element: u32,
    value: u32,
}

pub(super) fn compute<S: Sample>(
    index: &Index,
    grid: &Grid,
    piece: &Piece,
    scratch: &mut Scratch<'_>,
    at: (usize, usize),
    out: &mut ViewMut<'_, S>,
) {
    let mut totals = [0_u64; WIDTH];
    for line in 0..grid.lines() as i64 {
        let cells = &mut scratch.cells.items[..piece.width * 256];
        cells.fill(Cell::zeroed());
        let (crossings, covers) = (&mut scratch.crossings, &mut scratch.covers.items[..cells.len()]);
        let _ = visit(index, piece, |visit| {
            // Clips come with their element.
            if !index.elements[visit.element as usize].clip {
                element(index, grid, line, &visit, crossings, covers, cells);
            }
            true
        });
        for (total, pixel) in totals.iter_mut().zip(cells.chunks(256)) {
            *total += pixel.iter().map(|cell| u64::from(cell.value)).sum::<u64>();
        }
    }
    let row = &mut out.row_mut(at.1)[at.0..at.0 + piece.width];
    for (sample, total) in row.iter_mut().zip(totals) {
        let half = 1 << (grid.log_total() - 1);
        *sample = S::from_u16(((total + half) >> grid.log_total()) as u16);
    }
}

/// Puts one element over the cells of one line that it and its clips cover.
fn element(
    index: &Index,
    grid: &Grid,
    line: i64,
    visit: &Visit<'_>,
    crossings: &mut super::Stack<'_, Crossing>,
    covers: &mut [u32],
    cells: &mut [Cell],
) {
    let members = index.group(visit.element);
    covers.fill(0);
    for member in members.clone() {
        cover(index, grid, line, member, visit.offset, crossings, covers);
    }
    let topmost = Cell {
        covered: 1,
        placement: visit.placement,
        copy: visit.copy,
        element: visit.element,
        value: u32::from(index.elements[visit.element as usize].value),
    };
    for (cell, covered) in cells.iter_mut().zip(covers) {
        if *covered as usize == members.len() {
            *cell = (*cell).max(topmost);
        }
    }
}

/// Counts one for all places of one line that an element covers, its clips apart.
fn cover(
    index: &Index,
    grid: &Grid,
    line: i64,
    element: u32,
    offset: (i64, i64),
    crossings: &mut super::Stack<'_, Crossing>,
    covers: &mut [u32],
) {
    let q = index.denominator;
    let at = |number: u32| {
        let (x, y) = index.points[number as usize];
        (rounded(x + offset.0, q), rounded(y + offset.1, q))
    };
    crossings.len = 0;
    for chain in index.chains_of(element) {
        let points = &index.points[chain.first as usize..][..chain.count as usize];
        // The first point below the line ends the edge that meets it.
        let end = points.partition_point(|point| grid.line(rounded(point.1 + offset.1, q)) <= line);
        if end == 0 || end == points.len() {
            continue;
        }
        let (from, to) = (at(chain.first + end as u32 - 1), at(chain.first + end as u32));
        let x = from.0 + scaled(grid.height(line) - from.1, to.0 - from.0, to.1 - from.1).0;
        let x = grid.snapped(x.clamp(0, covers.len() as i64) as i32);
        // An index has room for all chains of an element that share a row.
        let _ = crossings.push(Crossing {
            x,
            from: u32::from(chain.winding > 0),
        });
    }
    crossings.get_mut().sort_unstable_by_key(|crossing| crossing.x);
    let (mut winding, mut start) = (0_i32, 0);
    for crossing in crossings.get() {
        let inside = match index.elements[element as usize].rule {
            Rule::NonZero => winding != 0,
            Rule::EvenOdd => winding & 1 != 0,
        };
        if inside {
            for covered in &mut covers[start..crossing.x as usize] {
                *covered += 1;
            }
        }
        start = crossing.x as usize;
        winding += if crossing.from != 0 { 1 } else { -1 };
    }
}
