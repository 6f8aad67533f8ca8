//! Building a drawing of one cell from paths.

use kurbo::{Affine, BezPath, PathEl};

use crate::drawing::{Cell, Drawing, Element};
use crate::flatten::{Fine, coarse, coarsened, cubic, fine, quadratic};
use crate::limits::{Limits, Memory, Refused};
use crate::{Rule, Stroke, stroke};

/// A drawing of one cell that is being made: paths become outlines of points in 1/256 px.
#[derive(Debug)]
pub struct Sketch {
    limits: Limits,
    memory: Memory,
    drawing: Drawing,
    cell: Cell,
}

impl Sketch {
    /// Nothing yet.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self::sharing(limits, Memory::new(&limits))
    }

    /// Nothing yet; what it takes is counted with what else is.
    pub(crate) const fn sharing(limits: Limits, memory: Memory) -> Self {
        Self {
            limits,
            memory,
            drawing: Drawing {
                denominator: 1,
                points: Vec::new(),
                ends: Vec::new(),
                cells: Vec::new(),
            },
            cell: Cell {
                elements: Vec::new(),
                placements: Vec::new(),
                name: None,
            },
        }
    }

    pub(crate) const fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Adds the inside of a path as an element above all before it; `value` is of 65 535. Open subpaths are closed.
    ///
    /// # Errors
    /// Where the limits are exceeded, or a point is no number or lies too far out.
    pub fn fill(&mut self, path: &BezPath, transform: Affine, value: u16, rule: Rule) -> Result<(), Refused> {
        self.element(path, transform, value, rule, false)
    }

    /// Adds a line along a path, as an element above all before it.
    ///
    /// # Errors
    /// As [`fill`](Self::fill), and where a length of the stroke is negative.
    pub fn stroke(
        &mut self,
        path: &BezPath,
        transform: Affine,
        value: u16,
        look: &Stroke,
    ) -> Result<(), Refused> {
        let outline = self.stroked(path, transform, look)?;
        self.element(&outline, transform, value, Rule::NonZero, false)
    }

    /// The outline of a line before `transform`, to be filled where the winding number is not 0. Where the path is moved, it is that moved.
    pub(crate) fn stroked(
        &self,
        path: &BezPath,
        transform: Affine,
        look: &Stroke,
    ) -> Result<BezPath, Refused> {
        self.memory.room(path.elements().len() as u64 * stroke::STROKED)?;
        stroke::outline(path, look, transform, self.limits.points)
    }

    /// Restricts the last element to the inside of a path; may be repeated.
    ///
    /// # Errors
    /// As [`fill`](Self::fill).
    ///
    /// # Panics
    /// Where there is no element.
    pub fn clip(&mut self, path: &BezPath, transform: Affine, rule: Rule) -> Result<(), Refused> {
        assert!(!self.cell.elements.is_empty(), "there is no element to clip");
        self.element(path, transform, 0, rule, true)
    }

    fn element(
        &mut self,
        path: &BezPath,
        transform: Affine,
        value: u16,
        rule: Rule,
        clip: bool,
    ) -> Result<(), Refused> {
        if self.cell.elements.len() as u64 >= self.limits.items {
            return Err(Refused::Items(self.limits.items));
        }
        let first = self.drawing.ends.len() as u32;
        self.outlines(path, transform)?;
        let outlines = first..self.drawing.ends.len() as u32;
        let element = Element {
            value,
            rule,
            clip,
            outlines,
        };
        self.memory.push(&mut self.cell.elements, element)
    }

    fn outlines(&mut self, path: &BezPath, transform: Affine) -> Result<(), Refused> {
        let mut at: Fine = (0, 0);
        let mut start = kurbo::Point::ZERO;
        for element in path.elements() {
            match *element {
                PathEl::MoveTo(p) => {
                    self.end()?;
                    start = transform * p;
                    at = fine(start)?;
                    self.point(coarse(start)?)?;
                }
                PathEl::LineTo(p) => {
                    self.resume(start)?;
                    let p = transform * p;
                    at = fine(p)?;
                    self.point(coarse(p)?)?;
                }
                PathEl::QuadTo(a, p) => {
                    self.resume(start)?;
                    let (a, end) = (fine(transform * a)?, transform * p);
                    let curve = [at, a, fine(end)?];
                    quadratic(curve, 0, &mut |p| self.point(coarsened(p)))?;
                    at = curve[2];
                    self.point(coarse(end)?)?;
                }
                PathEl::CurveTo(a, b, p) => {
                    self.resume(start)?;
                    let (a, b, end) = (fine(transform * a)?, fine(transform * b)?, transform * p);
                    let curve = [at, a, b, fine(end)?];
                    cubic(curve, 0, &mut |p| self.point(coarsened(p)))?;
                    at = curve[3];
                    self.point(coarse(end)?)?;
                }
                PathEl::ClosePath => {
                    self.end()?;
                    at = fine(start)?;
                }
            }
        }
        self.end()
    }

    /// After a subpath was closed the next goes on from its start.
    fn resume(&mut self, start: kurbo::Point) -> Result<(), Refused> {
        let begun = self.drawing.ends.last().copied().unwrap_or(0);
        if self.drawing.points.len() == begun as usize {
            self.point(coarse(start)?)?;
        }
        Ok(())
    }

    fn point(&mut self, point: (i64, i64)) -> Result<(), Refused> {
        let begun = self.drawing.ends.last().copied().unwrap_or(0) as usize;
        if self.drawing.points.len() > begun && self.drawing.points.last() == Some(&point) {
            return Ok(());
        }
        let limit = self.limits.points.min(1 << 31);
        if self.drawing.points.len() as u64 >= limit {
            return Err(Refused::Points(limit));
        }
        self.memory.push(&mut self.drawing.points, point)
    }

    /// Ends an outline; one of fewer than three points covers nothing.
    fn end(&mut self) -> Result<(), Refused> {
        let begun = self.drawing.ends.last().copied().unwrap_or(0) as usize;
        if self.drawing.points.len() - begun < 3 {
            self.drawing.points.truncate(begun);
            return Ok(());
        }
        let end = self.drawing.points.len() as u32;
        self.memory.push(&mut self.drawing.ends, end)
    }

    /// The drawing.
    #[must_use]
    pub fn finish(mut self) -> Drawing {
        self.drawing.cells.push(self.cell);
        self.drawing
    }
}
