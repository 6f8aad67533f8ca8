//! Where more chains meet in a few pixels than there is room for: element by element, from the topmost down.
//!
//! Each sub-scanline has a bit for every place. An element takes those that it covers and that no element above it took, so
//! that what lies on top is done once, and all is done where no place is left. Each element is looked at once for all
//! sub-scanlines of the row, and memory does not grow with the number of elements.

use relief_raster::{Sample, ViewMut};

use super::gather::Walk;
use super::grid::{Grid, Piece};
use super::visit::{Visit, Work, visit_down, visit_outwards};
use super::{Scratch, Stop};
use crate::coverage::{Index, Rule};

/// The greatest width of such a piece, in pixels; it has one row.
pub(super) const WIDTH: usize = 64;
/// Words of the bits of a pixel in one sub-scanline, a place of 1/256 px being a bit.
const PIXEL: usize = 256 / 64;
/// Words of the bits of one sub-scanline.
pub(super) const WORDS: usize = WIDTH * PIXEL;
/// Numbers that are sorted at once where the order of elements counts.
pub(super) const NUMBERS: usize = 4_096;
/// Elements between two questions whether to go on.
const CHECKED: u32 = 1_024;
/// Elements after which is looked again where no place is left.
const FILLED: u32 = 64;

/// Computes the row of a piece, or stops where it is told to, and then some samples are any.
pub(super) fn compute<S: Sample>(
    index: &Index,
    grid: &Grid,
    piece: &Piece,
    scratch: &mut Scratch<'_>,
    stop: Stop<'_>,
    at: (usize, usize),
    out: &mut ViewMut<'_, S>,
) {
    let lines = grid.lines();
    let places = piece.width * 256;
    let words = piece.width * PIXEL;
    let (covered, rest) = scratch.masks.items.split_at_mut(lines * WORDS);
    covered.fill(0);
    let mut row = Row {
        index,
        grid,
        lines,
        places: places as i32,
        covered,
        words,
        totals: [0; WIDTH],
        left: [0; MAX_LINES],
        open: lines,
        full: 0,
        taken: 0,
        own: rest,
        walks: &mut *scratch.walks.items,
        table: &mut *scratch.table.items,
        line: &mut *scratch.places.items,
    };
    row.left[..lines].fill(places as u32);
    let mut work = Work::until(stop);
    let mut count = 0_u32;
    let mut each = |visit: Visit<'_>| {
        count = count.wrapping_add(1);
        if count.is_multiple_of(CHECKED) && stop() {
            return false;
        }
        // Clips come with their element.
        if !index.elements[visit.element as usize].clip && row.has_room(&visit) {
            row.element(&visit);
            row.taken += 1;
            if row.taken.is_multiple_of(FILLED) {
                row.fill();
            }
        }
        row.open > 0
    };
    if index.layered {
        let _ = visit_down(index, grid, piece, &mut work, scratch.numbers.items, &mut each);
    } else {
        let _ = visit_outwards(index, grid, piece, &mut work, &mut each);
    }
    scratch.copies += work.copies;
    let half = 1 << (grid.log_total() - 1);
    let samples = &mut out.row_mut(at.1)[at.0..at.0 + piece.width];
    for (sample, total) in samples.iter_mut().zip(row.totals) {
        *sample = S::from_u16(((total + half) >> grid.log_total()) as u16);
    }
}

/// The most sub-scanlines of a row.
const MAX_LINES: usize = 64;

/// A row of pixels that is being covered.
struct Row<'a> {
    index: &'a Index,
    grid: &'a Grid,
    lines: usize,
    places: i32,
    /// The places that are taken, line by line.
    covered: &'a mut [u64],
    words: usize,
    /// Sums of values over the places of each pixel.
    totals: [u64; WIDTH],
    /// Places of each line that are not taken.
    left: [u32; MAX_LINES],
    /// Lines with such places.
    open: usize,
    /// A bit for each pixel of which no place is left, as far as was looked.
    full: u64,
    /// Elements that were not passed over.
    taken: u32,
    /// The places of one line that an element covers, and those that one of its clips covers.
    own: &'a mut [u64],
    walks: &'a mut [Walk],
    table: &'a mut [i32],
    line: &'a mut [i32],
}

impl Row<'_> {
    /// Whether a place may be left in the columns that an element reaches over. Where thousands overlap, most come after all are taken.
    #[inline]
    fn has_room(&self, visit: &Visit<'_>) -> bool {
        if self.full == 0 {
            return true;
        }
        let (bounds, denominator) = (
            &self.index.elements[visit.element as usize].bounds,
            self.index.denominator,
        );
        // Rounding moves a point by less than a unit.
        let column = |x: i64, by: i64| (x + visit.offset.0 + by).div_euclid(256 * denominator);
        let (first, last) = (
            column(bounds.left, -denominator),
            column(bounds.right, denominator),
        );
        let (first, last) = (first.max(0), last.min(WIDTH as i64 - 1));
        if first > last {
            return false;
        }
        let columns = (!0_u64 >> (63 - (last - first))) << first;
        columns & !self.full != 0
    }

    /// Looks of which pixels no place is left.
    fn fill(&mut self) {
        for pixel in 0..self.words / PIXEL {
            let is_full = (0..self.lines).all(|line| {
                let words = &self.covered[line * WORDS + pixel * PIXEL..][..PIXEL];
                words.iter().all(|word| *word == !0)
            });
            self.full |= u64::from(is_full) << pixel;
        }
    }

    /// Takes the places that an element and its clips cover.
    fn element(&mut self, visit: &Visit<'_>) {
        let value = u64::from(self.index.elements[visit.element as usize].value);
        let members = if self.index.clipped {
            self.index.group(visit.element)
        } else {
            visit.element..visit.element + 1
        };
        if members.len() == 1 {
            let chains = self.cross(visit);
            self.spans(visit.element, chains, |row, line, from, to| {
                row.take(line, from, to, value);
            });
            return;
        }
        // Bits of all members, line by line.
        let (words, lines) = (self.words, self.lines);
        for member in members.clone() {
            let first = member == members.start;
            let Some(visit) = (if first { Some(*visit) } else { visit.of(member) }) else {
                return;
            };
            let chains = self.cross(&visit);
            let (both, one) = self.own.split_at_mut(lines * WORDS);
            one.fill(0);
            if first {
                both.fill(0);
            }
            let target = if first { 0 } else { lines * WORDS };
            self.spans(member, chains, |row, line, from, to| {
                let bits = &mut row.own[target + line * WORDS..][..words];
                each_word(from, to, |word, mask| bits[word] |= mask);
            });
            if !first {
                let (both, one) = self.own.split_at_mut(lines * WORDS);
                for (both, one) in both.iter_mut().zip(one) {
                    *both &= *one;
                }
            }
        }
        for line in 0..lines {
            for word in 0..words {
                self.take_word(line, word, self.own[line * WORDS + word], value);
            }
        }
    }

    /// Finds the crossings of all chains of an element with the lines of the row; how many chains there are.
    fn cross(&mut self, visit: &Visit<'_>) -> usize {
        let mut count = 0;
        for chain in visit.chains() {
            let Some(walk) = Walk::of(self.index, self.grid, visit, chain, self.lines as i64) else {
                continue;
            };
            // An index has room for all chains of an element that share a row.
            let Some(place) = self.walks.get_mut(count) else {
                break;
            };
            *place = walk;
            let (start, end) = (walk.start, walk.end);
            let out = &mut self.table[count * self.lines..][start as usize..end as usize];
            place.crossings(self.index, self.grid, start, self.places, out);
            count += 1;
        }
        count
    }

    /// Calls `each` with the line and the two ends of every span that an element covers.
    fn spans(&mut self, element: u32, chains: usize, mut each: impl FnMut(&mut Self, usize, i32, i32)) {
        let even_odd = self.index.elements[element as usize].rule == Rule::EvenOdd;
        for line in 0..self.lines {
            if self.left[line] == 0 {
                continue;
            }
            let mut count = 0;
            for (number, walk) in self.walks[..chains].iter().enumerate() {
                if walk.start <= line as i32 && (line as i32) < walk.end {
                    let x = self.table[number * self.lines + line];
                    self.line[count] = 2 * x + i32::from(walk.winding > 0);
                    count += 1;
                }
            }
            self.line[..count].sort_unstable();
            let (mut winding, mut from) = (0_i32, 0);
            for at in 0..count {
                let (x, up) = (self.line[at] >> 1, self.line[at] & 1);
                let inside = if even_odd { winding & 1 != 0 } else { winding != 0 };
                if inside && from < x {
                    each(self, line, from, x);
                }
                from = x;
                winding += 2 * up - 1;
            }
        }
    }

    fn take(&mut self, line: usize, from: i32, to: i32, value: u64) {
        each_word(from, to, |word, mask| self.take_word(line, word, mask, value));
    }

    #[inline(always)]
    fn take_word(&mut self, line: usize, word: usize, mask: u64, value: u64) {
        let covered = &mut self.covered[line * WORDS + word];
        let new = mask & !*covered;
        if new == 0 {
            return;
        }
        *covered |= new;
        self.totals[word / PIXEL] += value * u64::from(new.count_ones());
        self.left[line] -= new.count_ones();
        self.open -= usize::from(self.left[line] == 0);
    }
}

/// Calls `each` with the words of the bits `from..to`, which are some, and which bits of each are meant.
#[inline(always)]
fn each_word(from: i32, to: i32, mut each: impl FnMut(usize, u64)) {
    let (first, last) = (from as usize / 64, (to as usize - 1) / 64);
    for word in first..=last {
        let mut mask = !0_u64;
        if word == first {
            mask &= !0 << (from % 64);
        }
        if word == last {
            mask &= !0 >> (63 - (to - 1) % 64);
        }
        each(word, mask);
    }
}
