//! Samples by centres, painted element by element.
//!
//! One sub-scanline is a row, and of one value it does not matter which element covers a place. So every element writes the
//! spans that it covers, whatever others cover, and nothing is sorted but the few crossings of one element in one row.

use relief_raster::{Sample, ViewMut};

use super::gather::{Event, Walk};
use super::grid::{Grid, Piece};
use super::{HEIGHT, Scratch};
use crate::coverage::Index;
use crate::isa::versions;

/// The most chains of an element that is painted.
const MOST: usize = 16;

/// Whether the elements that were gathered are painted.
pub(super) fn paints(index: &Index, grid: &Grid, scratch: &Scratch<'_>) -> bool {
    if !grid.centres || index.layered {
        return false;
    }
    let walks = scratch.walks.get();
    walks
        .chunk_by(|a, b| a.local == b.local)
        .all(|own| own.len() <= MOST)
}

/// Takes the first things of a list that belong to an element.
#[inline(always)]
fn take<'a, T>(list: &mut &'a mut [T], is_own: impl Fn(&T) -> bool) -> &'a mut [T] {
    let count = list.iter().take_while(|thing| is_own(thing)).count();
    let (own, rest) = std::mem::take(list).split_at_mut(count);
    *list = rest;
    own
}

versions! {
    /// Computes the samples of a piece whose chains were gathered, into the part of `out` at `at`.
    pub(super) fn paint<S: Sample>(
        index: &Index, grid: &Grid, piece: &Piece, scratch: &mut Scratch<'_>,
        at: (usize, usize), out: &mut ViewMut<'_, S>,
    ) {
        let mut out = Rows { out, at, width: piece.width };
        for y in 0..piece.height {
            out.fill(y, 0..piece.width, S::ZERO);
        }
        let limit = (piece.width * 256) as i32;
        let mut table = [[0_i32; HEIGHT]; MOST];
        let mut walks = &mut scratch.walks.items[..scratch.walks.len];
        let mut events = &mut scratch.events.items[..scratch.events.len];
        // Both lists have the elements in their order.
        for (number, local) in scratch.locals.get().iter().enumerate() {
            let own = take(&mut walks, |walk| walk.local == number as u32);
            let left = take(&mut events, |event| event.local == number as u32);
            for (walk, places) in own.iter_mut().zip(&mut table) {
                let (start, end) = (walk.start, walk.end);
                walk.crossings(index, grid, start, limit, &mut places[start as usize..end as usize]);
            }
            let value = S::from_u16(local.value as u16);
            if let ([one, other], []) = (&*own, &*left)
                && (one.start, one.end, one.winding) == (other.start, other.end, -other.winding)
            {
                let rows = one.start as usize..one.end as usize;
                let places = table[0][rows.clone()].iter().zip(&table[1][rows.clone()]);
                for (y, (a, b)) in rows.zip(places) {
                    let (a, b) = (a >> 8, b >> 8);
                    out.fill(y, a.min(b) as usize..a.max(b) as usize, value);
                }
            } else {
                spans(own, left, &table, local.mask, value, piece.height, &mut out);
            }
        }
    }
}

/// The rows of a piece.
struct Rows<'a, 'b, S> {
    out: &'a mut ViewMut<'b, S>,
    at: (usize, usize),
    width: usize,
}

impl<S: Sample> Rows<'_, '_, S> {
    #[inline(always)]
    fn fill(&mut self, y: usize, columns: std::ops::Range<usize>, value: S) {
        let row = &mut self.out.row_mut(self.at.1 + y)[self.at.0..];
        row[columns].fill(value);
    }
}

/// Writes the spans of an element of any number of chains, of which some lie left of the piece.
#[inline(always)]
fn spans<S: Sample>(
    walks: &[Walk],
    left: &[Event],
    table: &[[i32; HEIGHT]; MOST],
    mask: i32,
    value: S,
    height: usize,
    out: &mut Rows<'_, '_, S>,
) {
    let (mut first, mut end) = (0, height as i32);
    if left.is_empty() {
        first = walks.iter().map(|walk| walk.start).min().unwrap_or(0);
        end = walks.iter().map(|walk| walk.end).max().unwrap_or(0);
    }
    let mut crossings = [(0_i32, 0_i32); MOST];
    for line in first..end {
        let mut count = 0;
        for (walk, places) in walks.iter().zip(table) {
            if line < walk.start || line >= walk.end {
                continue;
            }
            let place = places[line as usize];
            let mut to = count;
            while to > 0 && crossings[to - 1].0 > place {
                crossings[to] = crossings[to - 1];
                to -= 1;
            }
            crossings[to] = (place, walk.winding);
            count += 1;
        }
        let changes = left.iter().filter(|event| event.line <= line);
        let mut winding: i32 = changes.map(|event| event.winding).sum();
        let mut from = 0;
        for (place, change) in &crossings[..count] {
            let pixel = (place >> 8) as usize;
            if winding & mask == 0 {
                from = pixel;
            }
            winding += change;
            if winding & mask == 0 {
                out.fill(line as usize, from..pixel, value);
            }
        }
        if winding & mask != 0 {
            out.fill(line as usize, from..out.width, value);
        }
    }
}
