//! Building a drawing of one cell from paths.

use kurbo::{Affine, BezPath, PathEl};

use crate::drawing::{Cell, Drawing, Element};
use crate::flatten::{coarse, coarsened, cubic, fine, quadratic};
use crate::limits::{Limits, Memory, Refused};
use crate::{Rule, Stroke, shapes, stroke};

/// Where a path that is being drawn is.
struct Pen {
    transform: Affine,
    /// In pixels, as is where the subpath began.
    at: kurbo::Point,
    start: kurbo::Point,
}

impl Pen {
    const fn new(transform: Affine) -> Self {
        Self {
            transform,
            at: kurbo::Point::ZERO,
            start: kurbo::Point::ZERO,
        }
    }
}

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

    /// Adds the inside of the path that the data of an SVG path describe up to their first fault, and tells where that is, as [`shapes::path`] and
    /// [`fill`](Self::fill) would, without a path in between.
    ///
    /// # Errors
    /// As [`fill`](Self::fill).
    pub(crate) fn fill_data(
        &mut self,
        data: &str,
        transform: Affine,
        value: u16,
        rule: Rule,
    ) -> Result<Option<usize>, Refused> {
        self.add(value, rule, false, |sketch| {
            let mut pen = Pen::new(transform);
            let fault = shapes::parts(data, transform, |part| sketch.draw(&mut pen, part))?;
            sketch.end()?;
            Ok(fault)
        })
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
        self.add(value, rule, clip, |sketch| {
            let mut pen = Pen::new(transform);
            for part in path.elements() {
                sketch.draw(&mut pen, *part)?;
            }
            sketch.end()
        })
    }

    /// Adds an element of the outlines that `draw` adds.
    fn add<T>(
        &mut self,
        value: u16,
        rule: Rule,
        clip: bool,
        draw: impl FnOnce(&mut Self) -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        if self.cell.elements.len() as u64 >= self.limits.items {
            return Err(Refused::Items(self.limits.items));
        }
        let first = self.drawing.ends.len() as u32;
        let drawn = draw(self)?;
        let outlines = first..self.drawing.ends.len() as u32;
        let element = Element {
            value,
            rule,
            clip,
            outlines,
        };
        self.memory.push(&mut self.cell.elements, element)?;
        Ok(drawn)
    }

    /// Adds the points of a part of a path.
    #[inline]
    fn draw(&mut self, pen: &mut Pen, part: PathEl) -> Result<(), Refused> {
        // Most parts are lines.
        if let PathEl::LineTo(p) = part {
            self.resume(pen.start)?;
            pen.at = pen.transform * p;
            return self.point(coarse(pen.at)?);
        }
        self.draw_other(pen, part)
    }

    fn draw_other(&mut self, pen: &mut Pen, part: PathEl) -> Result<(), Refused> {
        let transform = pen.transform;
        match part {
            PathEl::MoveTo(p) => {
                self.end()?;
                pen.start = transform * p;
                pen.at = pen.start;
                self.point(coarse(pen.start)?)?;
            }
            PathEl::LineTo(_) => self.draw(pen, part)?,
            PathEl::QuadTo(a, p) => {
                self.resume(pen.start)?;
                let (a, end) = (fine(transform * a)?, transform * p);
                let curve = [fine(pen.at)?, a, fine(end)?];
                quadratic(curve, 0, &mut |p| self.point(coarsened(p)))?;
                pen.at = end;
                self.point(coarse(end)?)?;
            }
            PathEl::CurveTo(a, b, p) => {
                self.resume(pen.start)?;
                let (a, b, end) = (fine(transform * a)?, fine(transform * b)?, transform * p);
                let curve = [fine(pen.at)?, a, b, fine(end)?];
                cubic(curve, 0, &mut |p| self.point(coarsened(p)))?;
                pen.at = end;
                self.point(coarse(end)?)?;
            }
            PathEl::ClosePath => {
                self.end()?;
                pen.at = pen.start;
            }
        }
        Ok(())
    }

    /// After a subpath was closed the next goes on from its start.
    #[inline]
    fn resume(&mut self, start: kurbo::Point) -> Result<(), Refused> {
        let begun = self.drawing.ends.last().copied().unwrap_or(0);
        if self.drawing.points.len() == begun as usize {
            self.point(coarse(start)?)?;
        }
        Ok(())
    }

    #[inline]
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
