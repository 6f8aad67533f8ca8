//! The distance along each column to the nearest white pixel.

use relief_raster::{Sample, View};

use super::{Carver, Layout};
use crate::isa::{Isa, versions};

/// A distance along a column; the greatest number stands for all from it on and for none.
pub(super) trait Gap: bytemuck::Pod + Ord + Into<usize> {
    const ZERO: Self;
    const NONE: Self;

    fn plus(self, rows: Self) -> Self;

    fn of(rows: usize) -> Self;
}

impl Gap for u8 {
    const ZERO: Self = 0;
    const NONE: Self = Self::MAX;

    #[inline(always)]
    fn plus(self, rows: Self) -> Self {
        self.saturating_add(rows)
    }

    fn of(rows: usize) -> Self {
        Self::try_from(rows).unwrap_or(Self::NONE)
    }
}

impl Gap for u16 {
    const ZERO: Self = 0;
    const NONE: Self = Self::MAX;

    #[inline(always)]
    fn plus(self, rows: Self) -> Self {
        self.saturating_add(rows)
    }

    fn of(rows: usize) -> Self {
        Self::try_from(rows).unwrap_or(Self::NONE)
    }
}

/// The columns of a mask, while its rows come from the top.
#[derive(Debug)]
pub(super) struct Columns<'s, G> {
    isa: Isa,
    layout: Layout,
    /// Rows of the mask seen.
    seen: usize,
    /// For the last row above the tile: rows up to the nearest white pixel.
    above: &'s mut [G],
    /// The same for each row of the tile.
    plane: &'s mut [G],
    /// For the first row below the tile: rows down to the nearest white pixel.
    below: &'s mut [G],
}

impl<'s, G: Gap> Columns<'s, G> {
    pub(super) fn new(isa: Isa, layout: Layout, carver: &mut Carver<'s>) -> Self {
        let above = carver.take::<G>(layout.columns);
        let below = carver.take::<G>(layout.columns);
        let plane = carver.take::<G>(layout.columns * layout.height);
        above.fill(G::NONE);
        below.fill(G::NONE);
        Self {
            isa,
            layout,
            seen: 0,
            above,
            plane,
            below,
        }
    }

    /// Rows of the mask from column `left` on; other columns are black.
    pub(super) fn push<S: Sample>(&mut self, rows: View<'_, S>, left: usize) {
        let right = left
            .checked_add(rows.width())
            .filter(|right| *right <= self.layout.columns);
        let Some(right) = right else {
            let (width, columns) = (rows.width(), self.layout.columns);
            panic!("{width} columns from column {left} on of a mask of {columns} columns");
        };
        self.check(rows.height());
        let isa = self.isa;
        let one = G::of(1);
        for mask in rows.rows() {
            match self.place() {
                Place::Above => {
                    descend_in_place(isa, mask, &mut self.above[left..right]);
                    recede_in_place(isa, one, &mut self.above[..left]);
                    recede_in_place(isa, one, &mut self.above[right..]);
                }
                Place::Inside(y) => {
                    let (before, row) = self.inside(y);
                    descend(isa, mask, &before[left..right], &mut row[left..right]);
                    recede(isa, &before[..left], &mut row[..left]);
                    recede(isa, &before[right..], &mut row[right..]);
                }
                Place::Below(rows) => ascend_to_white(isa, mask, G::of(rows), &mut self.below[left..right]),
            }
            self.seen += 1;
        }
    }

    pub(super) fn push_black(&mut self, count: usize) {
        self.check(count);
        let isa = self.isa;
        let end = self.seen + count;
        while self.seen < end {
            let rows = match self.place() {
                Place::Above => {
                    let rows = (end - self.seen).min(self.layout.radius - self.seen);
                    recede_in_place(isa, G::of(rows), self.above);
                    rows
                }
                Place::Inside(y) => {
                    let (before, row) = self.inside(y);
                    recede(isa, before, row);
                    1
                }
                Place::Below(_) => end - self.seen,
            };
            self.seen += rows;
        }
    }

    /// Takes the rows still missing as black and gives `row` each row of the tile, from the last to the first: y, the
    /// distances and the least of them.
    pub(super) fn finish(mut self, mut row: impl FnMut(usize, &[G], G)) {
        self.push_black(self.layout.height + 2 * self.layout.radius - self.seen);
        let columns = self.layout.columns;
        for y in (0..self.layout.height).rev() {
            let nearest = ascend(self.isa, &self.plane[y * columns..(y + 1) * columns], self.below);
            row(y, self.below, nearest);
        }
    }

    fn check(&self, count: usize) {
        let missing = self.layout.height + 2 * self.layout.radius - self.seen;
        assert!(
            count <= missing,
            "{count} rows of a mask of which {missing} are missing"
        );
    }

    fn place(&self) -> Place {
        let Layout { height, radius, .. } = self.layout;
        match self.seen.checked_sub(radius) {
            None => Place::Above,
            Some(y) if y < height => Place::Inside(y),
            Some(y) => Place::Below(y - height),
        }
    }

    /// The distances of the row before `y`, and those of row `y`.
    fn inside(&mut self, y: usize) -> (&[G], &mut [G]) {
        let columns = self.layout.columns;
        let (before, rest) = self.plane.split_at_mut(y * columns);
        let before = if y == 0 {
            &*self.above
        } else {
            &before[(y - 1) * columns..]
        };
        (before, &mut rest[..columns])
    }
}

/// Where a row of the mask lies.
enum Place {
    Above,
    /// Row of the tile.
    Inside(usize),
    /// Rows from the first one below the tile.
    Below(usize),
}

#[inline(always)]
fn below_one<S: Sample, G: Gap>(mask: S, before: G) -> G {
    if mask == S::ZERO {
        before.plus(G::of(1))
    } else {
        G::ZERO
    }
}

versions! {
    fn descend<S: Sample, G: Gap>(mask: &[S], before: &[G], row: &mut [G]) {
        for ((row, before), mask) in row.iter_mut().zip(before).zip(mask) {
            *row = below_one(*mask, *before);
        }
    }
}

versions! {
    fn descend_in_place<S: Sample, G: Gap>(mask: &[S], row: &mut [G]) {
        for (row, mask) in row.iter_mut().zip(mask) {
            *row = below_one(*mask, *row);
        }
    }
}

versions! {
    fn recede<G: Gap>(before: &[G], row: &mut [G]) {
        for (row, before) in row.iter_mut().zip(before) {
            *row = before.plus(G::of(1));
        }
    }
}

versions! {
    fn recede_in_place<G: Gap>(rows: G, row: &mut [G]) {
        for row in row {
            *row = row.plus(rows);
        }
    }
}

versions! {
    fn ascend_to_white<S: Sample, G: Gap>(mask: &[S], rows: G, below: &mut [G]) {
        for (below, mask) in below.iter_mut().zip(mask) {
            *below = (*below).min(if *mask == S::ZERO { G::NONE } else { rows });
        }
    }
}

versions! {
    /// Goes one row up: from the distances of the row below and those to white pixels above, the distances of a row.
    fn ascend<G: Gap>(above: &[G], below: &mut [G]) -> G {
        let mut nearest = G::NONE;
        for (below, above) in below.iter_mut().zip(above) {
            *below = below.plus(G::of(1)).min(*above);
            nearest = nearest.min(*below);
        }
        nearest
    }
}
