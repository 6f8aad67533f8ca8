//! Cells, elements and placements.

use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use crate::Rule;

/// Closed outlines under one fill rule, with a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Element {
    /// The gray, of 65 535.
    pub value: u16,
    /// Which places the outlines cover.
    pub rule: Rule,
    /// It is no element of its own: the element before covers only what this one covers as well.
    pub clip: bool,
    /// Its outlines, among [`Drawing::outline`].
    pub outlines: Range<u32>,
}

/// Copies: copy (i, j) is moved by `origin` + i·`u` + j·`v`, in 1/(256·Q) px, for 0 ≤ i < `columns` and 0 ≤ j < `rows`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lattice {
    /// The offset of copy (0, 0).
    pub origin: (i64, i64),
    /// The step from column to column.
    pub u: (i64, i64),
    /// The step from row to row.
    pub v: (i64, i64),
    /// The number of columns, at least 1.
    pub columns: u32,
    /// The number of rows, at least 1.
    pub rows: u32,
}

impl Lattice {
    /// One copy.
    #[must_use]
    pub const fn single(origin: (i64, i64)) -> Self {
        Self {
            origin,
            u: (0, 0),
            v: (0, 0),
            columns: 1,
            rows: 1,
        }
    }

    /// The number of copies.
    #[must_use]
    pub const fn copies(&self) -> u64 {
        self.columns as u64 * self.rows as u64
    }
}

/// Copies of a cell within another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Placement {
    /// The number of the cell.
    pub cell: u32,
    /// Where its copies lie.
    pub lattice: Lattice,
}

/// Elements, and other cells above them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cell {
    /// From the lowest to the topmost.
    pub elements: Vec<Element>,
    /// From the lowest to the topmost, all above the elements.
    pub placements: Vec<Placement>,
    /// What its file calls it.
    pub name: Option<Arc<str>>,
}

/// Outlines in cells.
///
/// # Guarantees
/// A cell places only cells of lesser numbers; the last one is the drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawing {
    pub(crate) denominator: u32,
    pub(crate) points: Vec<(i64, i64)>,
    /// Where each outline ends among the points.
    pub(crate) ends: Vec<u32>,
    pub(crate) cells: Vec<Cell>,
}

/// Points that tell drawings apart where they are looked up by what they hold.
const HASHED: usize = 64;

/// Of how much there is and of a few points: all of a large one takes longer to hash than equal ones take to be found out.
impl Hash for Drawing {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (
            self.denominator,
            self.points.len(),
            self.ends.len(),
            self.cells.len(),
        )
            .hash(state);
        let step = (self.points.len() / HASHED).max(1);
        for point in self.points.iter().step_by(step).chain(self.points.last()) {
            point.hash(state);
        }
        let placed = self.cells.iter().flat_map(|cell| &cell.placements);
        for placement in placed.take(HASHED) {
            placement.hash(state);
        }
        let elements = self.cells.iter().flat_map(|cell| &cell.elements);
        for element in elements.take(HASHED) {
            element.hash(state);
        }
    }
}

impl Drawing {
    /// Q: points are whole multiples of 1/(256·Q) px.
    #[must_use]
    pub const fn denominator(&self) -> u32 {
        self.denominator
    }

    /// All cells, the drawing last.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The points of an outline, which closes from the last to the first.
    ///
    /// # Panics
    /// Where there is no such outline.
    #[must_use]
    pub fn outline(&self, number: u32) -> &[(i64, i64)] {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.points[start as usize..self.ends[number] as usize]
    }

    /// The number of points, those of a cell counted once.
    #[must_use]
    pub fn points(&self) -> usize {
        self.points.len()
    }

    /// How many elements there are when all copies are counted.
    #[must_use]
    pub fn copies(&self) -> u128 {
        let mut counts: Vec<u128> = Vec::with_capacity(self.cells.len());
        for cell in &self.cells {
            let own = cell.elements.iter().filter(|element| !element.clip).count() as u128;
            let placed = cell
                .placements
                .iter()
                .map(|p| counts[p.cell as usize].saturating_mul(u128::from(p.lattice.copies())))
                .fold(0, u128::saturating_add);
            counts.push(own.saturating_add(placed));
        }
        counts.last().copied().unwrap_or(0)
    }

    /// The bytes it holds.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let cells: usize = self
            .cells
            .iter()
            .map(|cell| {
                size_of::<Cell>()
                    + cell.elements.capacity() * size_of::<Element>()
                    + cell.placements.capacity() * size_of::<Placement>()
            })
            .sum();
        (self.points.capacity() * size_of::<(i64, i64)>() + self.ends.capacity() * 4 + cells) as u64
    }

    /// The box of all points, as (left, top, right, bottom) in 1/(256·Q) px; `None` where there are none.
    #[must_use]
    pub fn bounds(&self) -> Option<(i64, i64, i64, i64)> {
        self.boxes().pop().flatten()
    }

    /// The pixels that its points reach over once they are rounded, as (left, top, right, bottom): columns `left..right` and rows
    /// `top..bottom` hold all of it. `None` where there are no points.
    #[must_use]
    pub fn pixels(&self) -> Option<(i64, i64, i64, i64)> {
        let unit = 256 * i64::from(self.denominator);
        // Halves of 1/256 px go up: what ends less than that beyond a pixel does not reach over its edge.
        let half = i64::from(self.denominator) / 2;
        let low = |n: i64| n.saturating_add(half).div_euclid(unit);
        let high = |n: i64| {
            let rounded = n.saturating_add(half).div_euclid(i64::from(self.denominator));
            rounded.saturating_add(255).div_euclid(256)
        };
        let (left, top, right, bottom) = self.bounds()?;
        Some((low(left), low(top), high(right), high(bottom)))
    }

    /// The greatest gray of its elements, of 65 535; 0 where there are none.
    #[must_use]
    pub fn greatest(&self) -> u16 {
        let elements = self.cells.iter().flat_map(|cell| &cell.elements);
        elements
            .filter(|element| !element.clip)
            .map(|element| element.value)
            .max()
            .unwrap_or(0)
    }

    /// Whether every edge lies along the edges of pixels, so that no pixel is covered in part.
    #[must_use]
    pub fn is_of_whole_pixels(&self) -> bool {
        let unit = 256 * i64::from(self.denominator);
        let whole = |(x, y): (i64, i64)| x % unit == 0 && y % unit == 0;
        let upright = |outline: &[(i64, i64)]| {
            let next = outline.iter().cycle().skip(1);
            outline
                .iter()
                .zip(next)
                .all(|(a, b)| whole(*a) && (a.0 == b.0 || a.1 == b.1))
        };
        let placed = |placement: &Placement| {
            let lattice = &placement.lattice;
            [lattice.origin, lattice.u, lattice.v].into_iter().all(whole)
        };
        (0..self.ends.len() as u32).all(|number| upright(self.outline(number)))
            && self.cells.iter().all(|cell| cell.placements.iter().all(placed))
    }

    /// All of it moved by (`x`, `y`), in 1/(256·Q) px.
    #[must_use]
    pub fn moved(mut self, (x, y): (i64, i64)) -> Self {
        if (x, y) != (0, 0) && !self.cells.is_empty() {
            let cell = self.cells.len() as u32 - 1;
            self.cells.push(Cell {
                placements: vec![Placement {
                    cell,
                    lattice: Lattice::single((x, y)),
                }],
                ..Cell::default()
            });
        }
        self
    }

    /// The box of each cell.
    pub(crate) fn boxes(&self) -> Vec<Option<(i64, i64, i64, i64)>> {
        let mut boxes: Vec<Option<(i64, i64, i64, i64)>> = Vec::with_capacity(self.cells.len());
        for cell in &self.cells {
            let mut own = None;
            for element in cell.elements.iter().filter(|element| !element.clip) {
                for outline in element.outlines.clone() {
                    for &(x, y) in self.outline(outline) {
                        own = Some(union(own, (x, y, x, y)));
                    }
                }
            }
            for placement in &cell.placements {
                if let Some(inner) = boxes[placement.cell as usize] {
                    own = Some(union(own, spread(inner, &placement.lattice)));
                }
            }
            boxes.push(own);
        }
        boxes
    }
}

fn union(one: Option<(i64, i64, i64, i64)>, other: (i64, i64, i64, i64)) -> (i64, i64, i64, i64) {
    let Some(one) = one else { return other };
    (
        one.0.min(other.0),
        one.1.min(other.1),
        one.2.max(other.2),
        one.3.max(other.3),
    )
}

/// The box of all copies of a box.
pub(crate) fn spread(inner: (i64, i64, i64, i64), lattice: &Lattice) -> (i64, i64, i64, i64) {
    let far = |count: u32, step: i64| i64::from(count - 1).saturating_mul(step);
    let (ux, uy) = (
        far(lattice.columns, lattice.u.0),
        far(lattice.columns, lattice.u.1),
    );
    let (vx, vy) = (far(lattice.rows, lattice.v.0), far(lattice.rows, lattice.v.1));
    let low = |u: i64, v: i64| u.min(0).saturating_add(v.min(0));
    let high = |u: i64, v: i64| u.max(0).saturating_add(v.max(0));
    let (x, y) = lattice.origin;
    (
        inner.0.saturating_add(x).saturating_add(low(ux, vx)),
        inner.1.saturating_add(y).saturating_add(low(uy, vy)),
        inner.2.saturating_add(x).saturating_add(high(ux, vx)),
        inner.3.saturating_add(y).saturating_add(high(uy, vy)),
    )
}

#[cfg(test)]
mod tests {
    use crate::{Affine, Drawing, Limits, Rule, Sketch, shapes};

    fn rectangle(at: (f64, f64), size: (f64, f64)) -> Drawing {
        let mut sketch = Sketch::new(Limits::default());
        let path = shapes::rectangle(at, size);
        sketch.fill(&path, Affine::IDENTITY, 300, Rule::NonZero).unwrap();
        sketch.finish()
    }

    #[test]
    fn the_pixels_of_a_drawing_are_those_that_it_touches() {
        assert_eq!(rectangle((2.0, 3.0), (4.0, 5.0)).pixels(), Some((2, 3, 6, 8)));
        assert_eq!(rectangle((-0.5, 0.25), (1.0, 1.0)).pixels(), Some((-1, 0, 1, 2)));
        // 1/1000 px more than a pixel is nothing in 1/256 px.
        assert_eq!(rectangle((0.0, 0.0), (1.001, 1.003)).pixels(), Some((0, 0, 1, 2)));
        assert_eq!(Sketch::new(Limits::default()).finish().pixels(), None);
    }

    #[test]
    fn only_drawings_along_the_edges_of_pixels_are_of_whole_pixels() {
        assert!(rectangle((2.0, -3.0), (4.0, 5.0)).is_of_whole_pixels());
        assert!(!rectangle((2.5, 3.0), (4.0, 5.0)).is_of_whole_pixels());
        assert!(rectangle((2.5, 3.0), (4.0, 5.0)).moved((128, 0)).pixels() == Some((3, 3, 7, 8)));
        assert!(
            !rectangle((2.0, 3.0), (4.0, 5.0))
                .moved((1, 0))
                .is_of_whole_pixels()
        );
        assert_eq!(rectangle((2.0, 3.0), (4.0, 5.0)).greatest(), 300);
    }
}
