//! Drawings of cells that are sketched one by one, then placed in each other.

use crate::drawing::{Cell, Drawing, Element, Lattice, Placement};
use crate::flatten::nearest;
use crate::limits::{Limits, Memory, Refused};
use crate::sketch::Sketch;

/// Where a file lies in the raster. Its y points up, that of a raster down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The origin of the file is the bottom-left corner of a raster of this height in pixels.
    Datum {
        /// The height.
        height: u64,
    },
    /// The top-left of the box of what the file draws is that of the raster. What the box takes in is said where the file is drawn.
    Box,
}

/// A box as (left, top, right, bottom).
pub(crate) type Bounds = (i64, i64, i64, i64);

/// Q of these drawings: cells lie at whole multiples of 1/(256·Q) px.
pub(crate) const FINER: i64 = 1 << 16;

/// The farthest place of a cell, in pixels.
pub(crate) const MAX_PLACE: f64 = (1_u64 << 34) as f64;

/// Columns of a matrix: a point (x, y) goes to (a·x + c·y, b·x + d·y).
pub(crate) type Linear = [f64; 4];

/// The sine and the cosine of so many degrees; of quarter turns they are exact.
pub(crate) fn turn(angle: f64) -> (f64, f64) {
    match angle.rem_euclid(360.0) {
        0.0 => (0.0, 1.0),
        90.0 => (1.0, 0.0),
        180.0 => (0.0, -1.0),
        270.0 => (-1.0, 0.0),
        angle => libm::sincos(angle.to_radians()),
    }
}

pub(crate) fn product(outer: Linear, inner: Linear) -> Linear {
    let [a, b, c, d] = outer;
    let [e, f, g, h] = inner;
    // Adding 0 makes one of both zeros.
    [
        a * e + c * f + 0.0,
        b * e + d * f + 0.0,
        a * g + c * h + 0.0,
        b * g + d * h + 0.0,
    ]
}

pub(crate) fn apply(linear: Linear, (x, y): (f64, f64)) -> (f64, f64) {
    let [a, b, c, d] = linear;
    (a * x + c * y, b * x + d * y)
}

/// A place in pixels in 1/(256·Q) px.
pub(crate) fn placed((x, y): (f64, f64)) -> Result<(i64, i64), Refused> {
    let near = |v: f64| v.abs() <= MAX_PLACE;
    if !(near(x) && near(y)) {
        return Err(Refused::Far(x, y));
    }
    let unit = (256 * FINER) as f64;
    Ok((nearest(x * unit), nearest(y * unit)))
}

/// 1/256 px in 1/(256·Q) px.
pub(crate) fn finer((left, top, right, bottom): Bounds) -> Bounds {
    let [left, top, right, bottom] = [left, top, right, bottom].map(|v| v.saturating_mul(FINER));
    (left, top, right, bottom)
}

pub(crate) fn union(one: Option<Bounds>, other: Bounds) -> Bounds {
    let Some(one) = one else { return other };
    (
        one.0.min(other.0),
        one.1.min(other.1),
        one.2.max(other.2),
        one.3.max(other.3),
    )
}

/// A drawing that is being put together.
pub(crate) struct Assembly {
    limits: Limits,
    memory: Memory,
    items: u64,
    drawing: Drawing,
    /// The box of each cell.
    boxes: Vec<Option<Bounds>>,
}

impl Assembly {
    /// Nothing yet; what it takes is counted with what is held already.
    pub(crate) const fn new(limits: Limits, memory: Memory) -> Self {
        Self {
            limits,
            memory,
            items: 0,
            drawing: Drawing {
                denominator: FINER as u32,
                points: Vec::new(),
                ends: Vec::new(),
                cells: Vec::new(),
            },
            boxes: Vec::new(),
        }
    }

    pub(crate) const fn memory(&self) -> &Memory {
        &self.memory
    }

    /// A sketch whose outlines are counted with all others.
    pub(crate) fn sketch(&self) -> Sketch {
        Sketch::sharing(self.limits, self.memory.clone())
    }

    /// Counts the outlines of a sketch no more.
    pub(crate) fn forget(memory: &Memory, one: &Drawing) {
        memory.give(one.points.capacity() as u64 * 16 + one.ends.capacity() as u64 * 4);
    }

    /// Counts an element, a cell or a placement.
    pub(crate) fn count(&mut self) -> Result<(), Refused> {
        self.items += 1;
        if self.items > self.limits.items {
            Err(Refused::Items(self.limits.items))
        } else {
            Ok(())
        }
    }

    /// Takes the outlines of a drawing of one cell, and gives its elements.
    pub(crate) fn append(&mut self, one: Drawing) -> Result<Vec<Element>, Refused> {
        if (self.drawing.points.len() + one.points.len()) as u64 > self.limits.points.min(1 << 31) {
            return Err(Refused::Points(self.limits.points));
        }
        let (points, ends) = (self.drawing.points.len() as u32, self.drawing.ends.len() as u32);
        self.memory.reserve(&mut self.drawing.points, one.points.len())?;
        self.memory.reserve(&mut self.drawing.ends, one.ends.len())?;
        Self::forget(&self.memory, &one);
        self.drawing.points.extend(
            one.points
                .iter()
                .map(|&(x, y)| (x.saturating_mul(FINER), y.saturating_mul(FINER))),
        );
        self.drawing.ends.extend(one.ends.iter().map(|end| end + points));
        let mut elements = one.cells.into_iter().next_back().unwrap_or_default().elements;
        for element in &mut elements {
            self.count()?;
            element.outlines = element.outlines.start + ends..element.outlines.end + ends;
        }
        Ok(elements)
    }

    /// Adds a cell of this box, and gives its number.
    pub(crate) fn cell(&mut self, cell: Cell, bounds: Option<Bounds>) -> Result<u32, Refused> {
        if let Some((left, top, right, bottom)) = bounds {
            let far = [left, top, right, bottom]
                .iter()
                .any(|v| v.unsigned_abs() > 1 << 60);
            if far {
                return Err(Refused::Far(left as f64, top as f64));
            }
        }
        let number = self.drawing.cells.len() as u32;
        self.memory.push(&mut self.drawing.cells, cell)?;
        self.memory.push(&mut self.boxes, bounds)?;
        self.count()?;
        Ok(number)
    }

    pub(crate) fn bounds(&self, cell: u32) -> Option<Bounds> {
        self.boxes[cell as usize]
    }

    pub(crate) fn finish(self) -> Drawing {
        self.drawing
    }
}

/// Where a drawing of this box lies, how large it is, and how far it reaches, in columns right of the origin of the file and rows above it.
pub(crate) struct Place {
    pub(crate) origin: (i64, i64),
    pub(crate) size: Option<(u64, u64)>,
    pub(crate) reach: Option<(u64, u64)>,
}

impl Place {
    pub(crate) fn of(whole: Option<Bounds>, origin: Origin) -> Result<Self, Refused> {
        let unit = 256 * FINER;
        let origin = match (origin, whole) {
            (Origin::Datum { height }, _) => {
                let down = i64::try_from(height).ok().and_then(|rows| rows.checked_mul(unit));
                let down = down.filter(|down| *down < 1 << 60);
                (0, down.ok_or(Refused::Far(0.0, height as f64))?)
            }
            (Origin::Box, Some(b)) => (-b.0, -b.1),
            (Origin::Box, None) => (0, 0),
        };
        let pixels =
            |n: i64| u64::try_from(n.div_euclid(unit) + i64::from(n.rem_euclid(unit) > 0)).unwrap_or(0);
        Ok(Self {
            origin,
            size: whole.map(|b| (pixels(b.2 - b.0), pixels(b.3 - b.1))),
            reach: whole.map(|b| (pixels(b.2), pixels(-b.1))),
        })
    }

    /// Places a cell as the whole drawing.
    pub(crate) fn root(&self, drawing: &mut Drawing, cell: u32) {
        drawing.cells.push(Cell {
            placements: vec![Placement {
                cell,
                lattice: Lattice::single(self.origin),
            }],
            ..Cell::default()
        });
    }
}
