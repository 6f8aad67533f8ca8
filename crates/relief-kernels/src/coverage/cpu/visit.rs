//! The elements of all copies that may reach into a piece.

use super::Stop;
use super::grid::{Grid, Piece, rounded};
use super::steps::{NONE, Steps};
use crate::coverage::Index;
use crate::coverage::index::{Chain, Placed, Shapes};
use crate::coverage::lookup::{Bounds, Lookup};

/// Rows of an array that are looked at in the time of a copy.
const ROWS: u64 = 16;

/// Copies, and rows in their time, between two questions whether to go on.
const CHECKED: u64 = 1_024;

/// How much was looked at, and how much may be.
#[derive(Clone, Copy)]
pub(super) struct Work<'a> {
    /// Copies that were visited, whether or not an element was found in them.
    pub(super) copies: u64,
    rows: u64,
    limit: u64,
    stop: Stop<'a>,
    /// As much is looked at before `stop` is asked again, or there is too much.
    checked: u64,
}

impl<'a> Work<'a> {
    /// As much as there is, until `stop` says otherwise.
    pub(super) const fn until(stop: Stop<'a>) -> Self {
        Self {
            copies: 0,
            rows: 0,
            limit: u64::MAX,
            stop,
            // So that the first look sets it.
            checked: 0,
        }
    }

    /// At most so many copies, a row of an array that has none, or crosses no sub-scanline, being a part of one.
    pub(super) const fn up_to(limit: u64) -> Self {
        Self {
            limit,
            ..Self::until(&|| false)
        }
    }

    #[inline]
    fn allows(&mut self) -> bool {
        let looked = self.copies + self.rows / ROWS;
        looked < self.checked || self.goes_on(looked)
    }

    #[cold]
    fn goes_on(&mut self, looked: u64) -> bool {
        self.checked = (looked + CHECKED).min(self.limit.saturating_add(1));
        looked <= self.limit && !(self.stop)()
    }
}

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
    /// The first band of the part that reaches into the piece.
    from: usize,
}

impl<'a> Visit<'a> {
    /// Another element of the same copy; `None` where none of its chains reaches into the rows of the piece.
    pub(super) fn of(&self, element: u32) -> Option<Self> {
        find(self.index, self.part, (self.from, self.bands.1), element).map(|(band, entry)| Self {
            element,
            band,
            entry,
            bands: (band, self.bands.1),
            ..*self
        })
    }

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

/// The first of these bands in which an element has chains, and the entry of the first of them.
fn find(index: &Index, part: &Shapes, bands: (usize, usize), element: u32) -> Option<(usize, usize)> {
    (bands.0..bands.1).find_map(|band| {
        let start = start_of(index, part, band, element);
        let is_there = start < part.ends[band + 1] as usize
            && index.chains[part.entries[start] as usize].element == element;
        is_there.then_some((band, start))
    })
}

/// What may reach into a piece, in the units of the index.
struct Window {
    bounds: Bounds,
    corner: (i64, i64),
}

impl Window {
    /// `None` where nothing does.
    fn new(index: &Index, grid: &Grid, piece: &Piece) -> Option<Self> {
        let unit = 256 * index.denominator;
        // Far from any point the piece may leave the numbers of the index.
        let at = |pixel: i64| i128::from(pixel) * i128::from(unit);
        let clamp = |n: i128| n.clamp(-(1 << 61), 1 << 61) as i64;
        // What is rounded moves by half of this.
        let margin = i128::from(index.denominator);
        // Above the first sub-scanline and below the last one nothing is crossed: a piece reaches into one band of as many rows, not into its neighbours.
        let inset = i128::from(grid.height(0) - 1) * margin;
        let bounds = Bounds {
            left: clamp(at(piece.x) - margin),
            top: clamp(at(piece.y) + inset),
            right: clamp(at(piece.x + piece.width as i64) + margin),
            bottom: clamp(at(piece.y + piece.height as i64) - inset),
        };
        let corner = (clamp(at(piece.x)), clamp(at(piece.y)));
        index.bounds.meets(&bounds).then_some(Self { bounds, corner })
    }

    /// Whether what lies between these heights crosses a sub-scanline once it is moved.
    fn crosses(&self, index: &Index, grid: &Grid, own: &Bounds, down: i64) -> bool {
        let line = |y: i64| grid.line(rounded(y + down - self.corner.1, index.denominator));
        line(own.top) < line(own.bottom)
    }

    /// As the part sees it that is moved by `offset`.
    fn seen_from(&self, offset: (i64, i64)) -> Bounds {
        Bounds {
            left: self.bounds.left - offset.0,
            top: self.bounds.top - offset.1,
            right: self.bounds.right - offset.0,
            bottom: self.bounds.bottom - offset.1,
        }
    }
}

/// In which order copies and elements are visited.
enum Order<'a> {
    Any,
    /// Those in the middle of the piece first.
    Middle,
    /// From the topmost down; the lists hold numbers of placements and of elements.
    Down(&'a mut [u32], &'a mut [u32]),
}

/// Calls `each` for all elements that may reach into the piece, in no order, until it returns `false` or there is too much work; whether
/// neither happened.
pub(super) fn visit<'a>(
    index: &'a Index,
    grid: &Grid,
    piece: &Piece,
    work: &mut Work<'_>,
    each: impl FnMut(Visit<'a>) -> bool,
) -> bool {
    visit_in(index, grid, piece, work, Order::Any, each)
}

/// As [`visit`]; of an array the copies come first that lie about the middle of the piece, which are likely to cover most of it.
pub(super) fn visit_outwards<'a>(
    index: &'a Index,
    grid: &Grid,
    piece: &Piece,
    work: &mut Work<'_>,
    each: impl FnMut(Visit<'a>) -> bool,
) -> bool {
    visit_in(index, grid, piece, work, Order::Middle, each)
}

/// As [`visit`], from the topmost element of all copies down. What `numbers` has room for is sorted at once.
pub(super) fn visit_down<'a>(
    index: &'a Index,
    grid: &Grid,
    piece: &Piece,
    work: &mut Work<'_>,
    numbers: &mut [u32],
    each: impl FnMut(Visit<'a>) -> bool,
) -> bool {
    let (placements, elements) = numbers.split_at_mut(numbers.len() / 2);
    visit_in(index, grid, piece, work, Order::Down(placements, elements), each)
}

fn visit_in<'a>(
    index: &'a Index,
    grid: &Grid,
    piece: &Piece,
    work: &mut Work<'_>,
    order: Order<'_>,
    mut each: impl FnMut(Visit<'a>) -> bool,
) -> bool {
    let Some(window) = Window::new(index, grid, piece) else {
        return true;
    };
    let bounds = &window.bounds;
    let bands = index.lookup.bands.of(bounds.top, bounds.bottom);
    match order {
        Order::Any | Order::Middle => {
            let outwards = matches!(order, Order::Middle);
            let first = bands.start as u32;
            for band in bands {
                for item in index.lookup.in_band(band, bounds.left, bounds.right) {
                    // A placement of an earlier band came with that band.
                    if band as u32 != item.entry.max(first) {
                        continue;
                    }
                    let go_on = if outwards {
                        copies::<false, true>(index, grid, &window, item.id, work, &mut [], &mut each)
                    } else {
                        copies::<false, false>(index, grid, &window, item.id, work, &mut [], &mut each)
                    };
                    if !go_on {
                        return false;
                    }
                }
            }
            true
        }
        Order::Down(placements, numbers) => {
            let all = 0..index.placed.len() as u32;
            let meets = |id: u32| index.placed[id as usize].bounds.meets(bounds);
            descending(
                &index.lookup,
                (bands.start, bands.end),
                bounds,
                all,
                placements,
                meets,
                |id| copies::<true, false>(index, grid, &window, id, work, numbers, &mut each),
            )
        }
    }
}

/// Calls `each` for all items of a lookup that meet the window, from the greatest number down.
///
/// As many as `numbers` has room for are sorted at once. Where that would be done more often than there are items, all numbers are
/// looked at in turn.
fn descending(
    lookup: &Lookup,
    bands: (usize, usize),
    window: &Bounds,
    all: std::ops::Range<u32>,
    numbers: &mut [u32],
    meets: impl Fn(u32) -> bool,
    mut each: impl FnMut(u32) -> bool,
) -> bool {
    let mut below = all.end;
    loop {
        // Those from `floor` on are the greatest met so far.
        let (mut len, mut met, mut floor) = (0, 0_u64, all.start);
        for band in bands.0..bands.1 {
            for item in lookup.in_band(band, window.left, window.right) {
                if item.id >= below || item.id < floor || !meets(item.id) {
                    continue;
                }
                met += 1;
                if len == numbers.len() {
                    // What lies in several bands is in the list several times.
                    numbers.sort_unstable_by(|a, b| b.cmp(a));
                    len = 1;
                    for at in 1..numbers.len() {
                        if numbers[at] != numbers[len - 1] {
                            numbers[len] = numbers[at];
                            len += 1;
                        }
                    }
                    if len > numbers.len() / 2 {
                        len = numbers.len() / 2;
                        floor = numbers[len - 1];
                    }
                    if item.id < floor {
                        continue;
                    }
                }
                numbers[len] = item.id;
                len += 1;
            }
        }
        let many = met / (numbers.len() as u64 / 2) * met > u64::from(below - all.start);
        if floor > all.start && many {
            return (all.start..below).rev().filter(|id| meets(*id)).all(each);
        }
        let found = &mut numbers[..len];
        found.sort_unstable_by(|a, b| b.cmp(a));
        let mut before = None;
        for id in found.iter().copied().take_while(|id| *id >= floor) {
            if before != Some(id) && !each(id) {
                return false;
            }
            before = Some(id);
        }
        let Some(last) = before.filter(|_| floor > all.start) else {
            return true;
        };
        below = last;
    }
}

/// Visits all copies of a placement that meet the window: from the topmost down, from the middle outwards, or in any order.
#[allow(clippy::too_many_arguments)]
#[inline]
fn copies<'a, const DOWN: bool, const OUTWARDS: bool>(
    index: &'a Index,
    grid: &Grid,
    window: &Window,
    number: u32,
    work: &mut Work<'_>,
    numbers: &mut [u32],
    each: &mut impl FnMut(Visit<'a>) -> bool,
) -> bool {
    let Placed { lattice, part, .. } = &index.placed[number as usize];
    let part = &index.parts[*part as usize];
    let steps = Steps::new(lattice, &part.bounds, &window.bounds);
    let level = lattice.u.1 == 0;
    let rows = if OUTWARDS { steps.all_rows() } else { None };
    let mut from_the_middle = rows.map(outwards);
    let mut in_turn = steps.rows::<DOWN>();
    loop {
        let next = match &mut from_the_middle {
            Some(rows) => rows.next(),
            None => in_turn.next(),
        };
        let Some(j) = next else { break };
        let down = lattice.origin.1 + j * lattice.v.1;
        let columns = if level && !window.crosses(index, grid, &part.bounds, down) {
            NONE
        } else {
            steps.columns(j)
        };
        if columns.0 > columns.1 {
            work.rows += steps.effort();
            if !work.allows() {
                return false;
            }
            continue;
        }
        for n in 0..=columns.1 - columns.0 {
            let i = if OUTWARDS {
                middle_out(columns, n)
            } else if DOWN {
                columns.1 - n
            } else {
                columns.0 + n
            };
            let offset = (
                lattice.origin.0 + i * lattice.u.0 + j * lattice.v.0,
                down + i * lattice.u.1,
            );
            if !level && !window.crosses(index, grid, &part.bounds, offset.1) {
                work.rows += 1;
                if !work.allows() {
                    return false;
                }
                continue;
            }
            work.copies += 1;
            let copy = j as u64 * u64::from(lattice.columns) + i as u64;
            let of = |mut visit: Visit<'a>| {
                visit.placement = number;
                visit.copy = copy;
                each(visit)
            };
            let done = if DOWN {
                elements_down(index, part, window, offset, numbers, of)
            } else {
                elements(index, part, window, offset, of)
            };
            if !done || !work.allows() {
                return false;
            }
        }
    }
    true
}

/// The number `n` of those from the first to the last, from the one in the middle on to both sides in turn.
#[inline]
const fn middle_out((first, last): (i64, i64), n: i64) -> i64 {
    let middle = first + (last - first) / 2;
    // Of an even count there is one more above the middle, which comes first.
    if n % 2 == 1 {
        middle + n / 2 + 1
    } else {
        middle - n / 2
    }
}

fn outwards((first, last): (i64, i64)) -> impl Iterator<Item = i64> {
    (0..=last - first).map(move |n| middle_out((first, last), n))
}

#[inline]
fn elements<'a>(
    index: &'a Index,
    part: &'a Shapes,
    window: &Window,
    offset: (i64, i64),
    mut each: impl FnMut(Visit<'a>) -> bool,
) -> bool {
    let own = window.seen_from(offset);
    let bands = part.lookup.bands.of(own.top, own.bottom);
    for band in bands.clone() {
        for item in part.lookup.in_band(band, own.left, own.right) {
            let element = &index.elements[item.id as usize];
            if element.bounds.top > own.bottom || element.bounds.bottom < own.top {
                continue;
            }
            let is_first = band == bands.start;
            if !is_first && find(index, part, (bands.start, band), item.id).is_some() {
                continue;
            }
            let visit = Visit {
                placement: 0,
                copy: 0,
                element: item.id,
                offset: (offset.0 - window.corner.0, offset.1 - window.corner.1),
                part,
                index,
                band,
                entry: item.entry as usize,
                bands: (band, bands.end),
                from: bands.start,
            };
            if !each(visit) {
                return false;
            }
        }
    }
    true
}

fn elements_down<'a>(
    index: &'a Index,
    part: &'a Shapes,
    window: &Window,
    offset: (i64, i64),
    numbers: &mut [u32],
    mut each: impl FnMut(Visit<'a>) -> bool,
) -> bool {
    let own = window.seen_from(offset);
    let bands = part.lookup.bands.of(own.top, own.bottom);
    let bands = (bands.start, bands.end);
    let meets = |id: u32| index.elements[id as usize].bounds.meets(&own);
    let all = part.elements.0..part.elements.1;
    descending(&part.lookup, bands, &own, all, numbers, meets, |element| {
        let Some((band, entry)) = find(index, part, bands, element) else {
            return true;
        };
        each(Visit {
            placement: 0,
            copy: 0,
            element,
            offset: (offset.0 - window.corner.0, offset.1 - window.corner.1),
            part,
            index,
            band,
            entry,
            bands: (band, bands.1),
            from: bands.0,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_from_the_middle_on_each_once() {
        assert_eq!(outwards((3, 7)).collect::<Vec<_>>(), [5, 6, 4, 7, 3]);
        assert_eq!(outwards((-2, 1)).collect::<Vec<_>>(), [-1, 0, -2, 1]);
        assert_eq!(outwards((4, 4)).collect::<Vec<_>>(), [4]);
        assert_eq!(outwards(NONE).count(), 0);
    }
}
