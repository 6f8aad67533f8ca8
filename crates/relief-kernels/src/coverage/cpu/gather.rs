//! The chains that reach into a piece, and the windings that come from its left.

use bytemuck::{Pod, Zeroable};

use super::Scratch;
use super::grid::{Grid, Piece, rounded};
use super::visit::{Visit, Work, visit};
use crate::coverage::index::Chain;
use crate::coverage::{Index, Rule};

/// A chain on its way down through the piece. Crossings lie at `x` + `rest` / `rise`, in 1/256 px from the corner.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Walk {
    x: i64,
    rest: i64,
    slope: i64,
    slope_rest: i64,
    rise: i64,
    /// 1 / `rise`, or 0 where crossings of several lines are not found at once.
    inverse: f64,
    offset: [i64; 2],
    /// The point at the lower end of the edge, and the last of the chain.
    next: u32,
    last: u32,
    /// The line at which the edge ends.
    edge_end: i32,
    pub(super) start: i32,
    pub(super) end: i32,
    pub(super) winding: i32,
    pub(super) local: u32,
    /// The line at which the edge was reached.
    edge_start: i32,
}

/// The greatest `rise` of which crossings are found at once.
const MAX_RISE: i64 = 1 << 40;
/// The greatest `x` and `slope` of these: what 64 lines come to fits 32 bits.
const MAX_X: i64 = 1 << 30;
const MAX_SLOPE: i64 = 1 << 23;
/// Fewer lines are walked one by one.
const FEW: usize = 4;

/// ⌊`above` · `inverse`⌋ for 0 ≤ `above` < 64·d, where `inverse` is 1 / d rounded and d at most [`MAX_RISE`].
///
/// The product is off by less than 2^-45, and a quotient that is no whole number lies at least 2^-40 from any. So half a unit less 2^-42
/// below the quotient the nearest whole number is its floor; adding 1.5·2^52 rounds to that, and leaves it in the low bits.
#[inline(always)]
fn floored(above: f64, inverse: f64) -> i32 {
    const DOWN: f64 = 0.5 - 1.0 / (1_u64 << 42) as f64;
    const ROUND: f64 = 1.5 * (1_u64 << 52) as f64;
    ((above * inverse - DOWN) + ROUND).to_bits() as i32
}

/// An element of a copy that reaches into the piece.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Local {
    pub(super) copy: u64,
    pub(super) placement: u32,
    pub(super) element: u32,
    pub(super) value: u32,
    /// The bits of the winding number that decide.
    pub(super) mask: i32,
    pub(super) winding: i32,
    pub(super) layer: u32,
    /// Where it lies among all, after they are sorted.
    rank: u32,
    /// The element that it and others must cover together.
    pub(super) group: u32,
}

/// From `line` on the winding left of the piece is another.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Event {
    pub(super) line: i32,
    pub(super) local: u32,
    pub(super) winding: i32,
}

/// Copies for each chain that there is room for; where more are met, the piece is cut as if there were no room.
const COPIES: u64 = 4;

/// Fills the lists of `scratch`; `false` where there is no room.
pub(super) fn gather(index: &Index, grid: &Grid, piece: &Piece, scratch: &mut Scratch<'_>) -> bool {
    scratch.walks.len = 0;
    scratch.locals.len = 0;
    scratch.events.len = 0;
    scratch.closed = true;
    scratch.lines = (piece.height * grid.lines()) as i32;
    let mut work = Work::up_to(COPIES * scratch.locals.items.len() as u64);
    let fits = visit(index, grid, piece, &mut work, |visit| {
        let element = &index.elements[visit.element as usize];
        let before = (scratch.walks.len, scratch.events.len);
        let local = Local {
            copy: visit.copy,
            placement: visit.placement,
            element: visit.element,
            value: u32::from(element.value),
            mask: match element.rule {
                Rule::NonZero => !0,
                Rule::EvenOdd => 1,
            },
            ..Local::zeroed()
        };
        visit
            .chains()
            .all(|chain| add(index, grid, piece, &visit, chain, scratch))
            && ((scratch.walks.len, scratch.events.len) == before || scratch.locals.push(local))
    });
    scratch.copies += work.copies;
    if !fits {
        return false;
    }
    if index.layered {
        sort_by_rank(scratch);
    }
    true
}

/// Sorts the chains by where they begin, and the windings from the left: what only a sweep needs.
pub(super) fn sort_by_line(scratch: &mut Scratch<'_>) {
    scratch.starts.len = 0;
    let walks = scratch.walks.get();
    for number in 0..walks.len() {
        let _ = scratch.starts.push(number as u32);
    }
    scratch
        .starts
        .get_mut()
        .sort_unstable_by_key(|walk| walks[*walk as usize].start);
    scratch.events.get_mut().sort_unstable_by_key(|event| event.line);
}

/// Adds one chain; `false` where there is no room.
fn add(
    index: &Index,
    grid: &Grid,
    piece: &Piece,
    visit: &Visit<'_>,
    chain: &Chain,
    scratch: &mut Scratch<'_>,
) -> bool {
    let points = &index.points[chain.first as usize..][..chain.count as usize];
    let q = index.denominator;
    let line = |point: &(i64, i64)| grid.line(rounded(point.1 + visit.offset.1, q));
    let lines = (piece.height * grid.lines()) as i64;
    let (top, bottom) = (line(&points[0]), line(&points[points.len() - 1]));
    let (start, end) = (top.max(0), bottom.min(lines));
    if start >= end {
        return true;
    }
    let first = Walk::first(points, start, line);
    let (mut left, mut right) = (i64::MAX, i64::MIN);
    for (at, point) in points[first - 1..].iter().enumerate() {
        let x = point.0 + visit.offset.0;
        left = left.min(x);
        right = right.max(x);
        if at > 0 && line(point) >= lines {
            break;
        }
    }
    let local = scratch.locals.len as u32;
    if left >= piece.width as i64 * 256 * q {
        scratch.closed = false;
        return true;
    }
    if right <= 0 {
        scratch.closed = false;
        // Along the outline, so that where two chains meet left of the piece nothing remains.
        let (one, other) = if chain.winding > 0 {
            (start, end)
        } else {
            (end, start)
        };
        return change(scratch, one as i32, local, 1) && change(scratch, other as i32, local, -1);
    }
    scratch.walks.push(Walk {
        local,
        ..Walk::new(visit, chain, first, (start as i32, end as i32))
    })
}

fn change(scratch: &mut Scratch<'_>, line: i32, local: u32, winding: i32) -> bool {
    if let Some(last) = scratch.events.get().last()
        && last.line == line
        && last.local == local
        && last.winding == -winding
    {
        scratch.events.len -= 1;
        return true;
    }
    scratch.events.push(Event { line, local, winding })
}

/// Sorts the elements from the lowest to the topmost.
fn sort_by_rank(scratch: &mut Scratch<'_>) {
    let locals = scratch.locals.get_mut();
    for (number, local) in locals.iter_mut().enumerate() {
        local.rank = number as u32;
    }
    locals.sort_unstable_by_key(|local| (local.placement, local.copy, local.element));
    // `starts` is free here: where each element went.
    let places = &mut scratch.starts.items[..locals.len()];
    for (place, local) in locals.iter().enumerate() {
        places[local.rank as usize] = place as u32;
    }
    for walk in scratch.walks.get_mut() {
        walk.local = places[walk.local as usize];
    }
    for event in scratch.events.get_mut() {
        event.local = places[event.local as usize];
    }
}

impl Walk {
    /// The first point below the line `start`, of those of a chain that crosses it: the edge to it is the first that counts.
    ///
    /// Level edges at its top cross nothing, but reach to the other side of what is filled.
    #[inline(always)]
    fn first(points: &[(i64, i64)], start: i64, line: impl Fn(&(i64, i64)) -> i64) -> usize {
        if line(&points[0]) >= 0 {
            let level = points[1..points.len() - 1]
                .iter()
                .take_while(|point| line(point) <= start);
            1 + level.count()
        } else {
            points.partition_point(|point| line(point) <= 0)
        }
    }

    #[inline(always)]
    fn new(visit: &Visit<'_>, chain: &Chain, first: usize, (start, end): (i32, i32)) -> Self {
        Self {
            offset: [visit.offset.0, visit.offset.1],
            next: chain.first + first as u32 - 1,
            last: chain.first + chain.count - 1,
            edge_end: start,
            start,
            end,
            winding: chain.winding,
            ..Self::zeroed()
        }
    }

    /// A chain from the first of `lines` lines that it crosses on, wherever it lies across; `None` where it crosses none.
    pub(super) fn of(
        index: &Index,
        grid: &Grid,
        visit: &Visit<'_>,
        chain: &Chain,
        lines: i64,
    ) -> Option<Self> {
        let points = &index.points[chain.first as usize..][..chain.count as usize];
        let line = |point: &(i64, i64)| grid.line(rounded(point.1 + visit.offset.1, index.denominator));
        let start = line(&points[0]).max(0);
        let end = line(&points[points.len() - 1]).min(lines);
        if start >= end {
            return None;
        }
        let first = Self::first(points, start, line);
        Some(Self::new(visit, chain, first, (start as i32, end as i32)))
    }

    /// Writes the crossings of the lines from `line` on, at most `limit` and at least 0, and tells the least and the greatest.
    #[inline(always)]
    pub(super) fn crossings(
        &mut self,
        index: &Index,
        grid: &Grid,
        line: i32,
        limit: i32,
        out: &mut [i32],
    ) -> (i32, i32) {
        let mut at = 0;
        let (mut low, mut high) = (i32::MAX, i32::MIN);
        while at < out.len() {
            let line = line + at as i32;
            if line >= self.edge_end {
                self.edge(index, grid, line);
            }
            let count = (out.len() - at).min((self.edge_end - line) as usize);
            let part = &mut out[at..at + count];
            if self.slope == 0 && self.slope_rest == 0 {
                let x = grid.snapped(clamped(self.x, limit));
                part.fill(x);
                low = low.min(x);
                high = high.max(x);
            } else if count >= FEW && self.inverse > 0.0 && self.x.abs() < MAX_X {
                let (x, slope) = (self.x as i32, self.slope as i32);
                let (rest, step) = (self.rest as f64, self.slope_rest as f64);
                for (k, place) in part.iter_mut().enumerate() {
                    let k = k as i32;
                    let carried = floored(rest + step * f64::from(k), self.inverse);
                    *place = grid.snapped((x + slope * k + carried).clamp(0, limit));
                }
                let count = count as i64;
                let whole = self.rest + count * self.slope_rest;
                let carried = i64::from(floored(whole as f64, self.inverse));
                self.x += count * self.slope + carried;
                self.rest = whole - carried * self.rise;
                let (first, last) = (part[0], part[part.len() - 1]);
                low = low.min(first.min(last));
                high = high.max(first.max(last));
            } else {
                let (mut x, mut rest) = (self.x, self.rest);
                for place in part.iter_mut() {
                    *place = grid.snapped(clamped(x, limit));
                    let next = rest + self.slope_rest;
                    let carry = next >= self.rise;
                    rest = if carry { next - self.rise } else { next };
                    x += self.slope + i64::from(carry);
                }
                (self.x, self.rest) = (x, rest);
                let (first, last) = (part[0], part[count - 1]);
                low = low.min(first.min(last));
                high = high.max(first.max(last));
            }
            at += count;
        }
        (low, high)
    }

    /// The line at which an edge ends that is vertical since before `line`; 0 where it is not.
    pub(super) const fn vertical_until(&self, line: i32) -> i32 {
        if self.slope == 0 && self.slope_rest == 0 && self.edge_start <= line {
            self.edge_end
        } else {
            0
        }
    }

    /// The line at which the edge ends that meets `line`, where [`ahead`](Self::ahead) knows its crossings and it is the edge of the line before; 0 where it is not so.
    #[inline(always)]
    pub(super) const fn straight_until(&self) -> i32 {
        let vertical = self.slope == 0 && self.slope_rest == 0;
        if vertical || (self.inverse > 0.0 && self.x.abs() < MAX_X) {
            self.edge_end
        } else {
            0
        }
    }

    /// The crossing of the line that is so many lines on, of the same edge.
    #[inline(always)]
    pub(super) const fn ahead(&self, lines: i64) -> i64 {
        self.x + lines * self.slope + (self.rest + lines * self.slope_rest) / self.rise
    }

    /// Goes so many lines on, along the same edge.
    #[inline(always)]
    pub(super) const fn skip(&mut self, lines: i64) {
        let whole = self.rest + lines * self.slope_rest;
        self.x += lines * self.slope + whole / self.rise;
        self.rest = whole % self.rise;
    }

    #[inline(always)]
    pub(super) const fn is_vertical(&self) -> bool {
        self.slope == 0 && self.slope_rest == 0
    }

    /// Goes to the edge that meets `line`.
    fn edge(&mut self, index: &Index, grid: &Grid, line: i32) {
        let q = index.denominator;
        let point = |at: u32| {
            let (x, y) = index.points[at as usize];
            (rounded(x + self.offset[0], q), rounded(y + self.offset[1], q))
        };
        let mut from = point(self.next);
        let mut to = from;
        while self.next < self.last {
            self.next += 1;
            to = point(self.next);
            if grid.line(to.1) > i64::from(line) {
                break;
            }
            from = to;
        }
        self.edge_end = grid.line(to.1).min(i64::from(i32::MAX)) as i32;
        self.edge_start = line;
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let (x, rest) = scaled(grid.height(i64::from(line)) - from.1, dx, dy);
        self.x = from.0 + x;
        self.rest = rest;
        self.rise = dy;
        (self.slope, self.slope_rest) = if dx == 0 {
            (0, 0)
        } else {
            scaled(grid.step(), dx, dy)
        };
        self.inverse = if dy <= MAX_RISE && self.slope.abs() <= MAX_SLOPE {
            1.0 / dy as f64
        } else {
            0.0
        };
    }
}

#[inline(always)]
fn clamped(x: i64, limit: i32) -> i32 {
    x.clamp(0, i64::from(limit)) as i32
}

/// ⌊`height`·`dx` / `dy`⌋ and the remainder.
#[inline(always)]
pub(super) fn scaled(height: i64, dx: i64, dy: i64) -> (i64, i64) {
    if let Some(product) = height.checked_mul(dx) {
        return (product.div_euclid(dy), product.rem_euclid(dy));
    }
    let product = i128::from(height) * i128::from(dx);
    let dy = i128::from(dy);
    (product.div_euclid(dy) as i64, product.rem_euclid(dy) as i64)
}

#[cfg(test)]
mod tests {
    use super::{MAX_RISE, floored};

    #[test]
    fn quotients_of_several_lines_are_floors() {
        let mut below = vec![1, 2, 3, 7, 255, 256, MAX_RISE - 1, MAX_RISE];
        let mut state = 5_u64;
        below.extend((0..500).map(|round| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            1 + (state >> 20) as i64 % (MAX_RISE >> (round % 40))
        }));
        for d in below {
            for q in 0..=64_i64 {
                for off in [-1, 0, 1, d / 2, d - 1] {
                    let above = q * d + off;
                    if above >= 0 {
                        let found = floored(above as f64, 1.0 / d as f64);
                        assert_eq!(i64::from(found), above / d, "{above} / {d}");
                    }
                }
            }
        }
    }
}
