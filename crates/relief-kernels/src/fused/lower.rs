//! From an [`Expression`] and a band to a [`Shape`], its numbers and its buffers.

use relief_raster::{Depth, MAX_SIDE, Rect};

use crate::device::{Buffer, DeviceError, Gpu};
use crate::fold::Fold;

use super::cell::{Cell, CellLayout};
use super::expression::{Axis, Expression, Plane, Table, mirrored};
use super::packed::{ones, reciprocal};
use super::shape::{Loads, Shape, per_word};

/// The farthest coordinate of a raster in another: far enough for all that are made, and such that no sum of two overflows.
const MAX_COORDINATE: u64 = 1 << 50;

/// What a launch takes besides its shape.
pub(super) struct Lowering<'a> {
    gpu: &'a Gpu,
    bits: u32,
    step: u32,
    vectors_allowed: bool,
    tables_shared: usize,
    /// What is rendered, in coordinates of the raster that is being lowered: those of a mirrored one run the other way.
    band: Rect,
    /// Samples of a row as they are launched, which is at least the band's.
    launched: u64,
    /// Whether some of it is mirrored along the columns: then all rows that are counted are those of the whole band.
    pub(super) upside_down: bool,
    pub(super) words: Vec<Buffer>,
    pub(super) vectors: Vec<Buffer>,
    pub(super) numbers: Vec<u32>,
    pub(super) spans: Vec<u32>,
    /// Slots of the tables in shared memory.
    pub(super) tables: Vec<usize>,
    /// The most rows for which 32 bits suffice.
    pub(super) rows: u64,
}

impl<'a> Lowering<'a> {
    pub(super) fn new(
        gpu: &'a Gpu,
        bits: u32,
        step: u32,
        vectors_allowed: bool,
        tables_shared: usize,
        band: Rect,
        launched: u64,
    ) -> Self {
        Self {
            gpu,
            bits,
            step,
            vectors_allowed,
            tables_shared,
            band,
            launched,
            upside_down: false,
            words: Vec::new(),
            vectors: Vec::new(),
            numbers: Vec::new(),
            spans: Vec::new(),
            tables: Vec::new(),
            rows: u64::MAX,
        }
    }

    /// Lowers `expression`, whose origin lies at (x, y) of the raster that has the band. `seen` holds all pixels of
    /// the raster that matter; the shape depends on it, but not on the band.
    pub(super) fn lower(
        &mut self,
        expression: &Expression,
        x: i64,
        y: i64,
        seen: Rect,
    ) -> Result<Shape, DeviceError> {
        if seen.is_empty() {
            return Ok(Shape::Zero);
        }
        Ok(match expression {
            Expression::Constant(0) => Shape::Zero,
            Expression::Constant(value) => Shape::Constant {
                at: self.number(&[self.broadcast(*value)]),
            },
            Expression::Plane {
                plane,
                x: left,
                y: top,
            } => {
                let (left, top) = (self.sum(x, *left)?, self.sum(y, *top)?);
                self.plane(plane, left, top, seen)?
            }
            Expression::Cell {
                cell,
                x: left,
                y: top,
            } => {
                let (left, top) = (self.sum(x, *left)?, self.sum(y, *top)?);
                self.cell(cell, left, top)?
            }
            Expression::Ramp {
                axis,
                from,
                to,
                length,
            } => {
                self.gpu.at_most("pixels of a ramp", MAX_SIDE, *length)?;
                self.ramp(*axis, *from, *to, *length, x, y)
            }
            Expression::Disc { diameter, value } => {
                self.gpu.at_most("pixels of a disc", MAX_SIDE, *diameter)?;
                self.disc(*diameter, *value, x, y)?
            }
            Expression::Noise { seed } => self.noise(*seed, x, y),
            Expression::Table { table, source } => {
                let source = Box::new(self.lower(source, x, y, seen)?);
                self.check_depth("a table", table.depth())?;
                self.table(table, source)
            }
            Expression::Threshold { level, source } => {
                let source = Box::new(self.lower(source, x, y, seen)?);
                let at = self.number(&[self.broadcast(*level)]);
                Shape::Threshold { at, source }
            }
            Expression::Fold(layers) => {
                let mut below = Shape::Zero;
                for (fold, layer) in layers {
                    let layer = self.lower(layer, x, y, seen)?;
                    below = folded(*fold, below, layer);
                }
                below
            }
            Expression::Placed {
                x: dx,
                y: dy,
                width,
                height,
                source,
            } => {
                let (x, y) = (self.sum(x, *dx)?, self.sum(y, *dy)?);
                let kept = Rect::sized(*width, *height).translated(x, y);
                let source = self.lower(source, x, y, seen.intersection(&kept))?;
                if kept.contains(&seen) || source == Shape::Zero {
                    source
                } else {
                    let clip = self.clip(kept);
                    Shape::Clip {
                        at: self.number(&clip),
                        source: Box::new(source),
                    }
                }
            }
            Expression::Mirrored { axis, side, source } => {
                self.gpu
                    .at_most("pixels of a side of a mirrored raster", MAX_SIDE, *side)?;
                self.mirrored(*axis, side.cast_signed(), source, x, y, seen)?
            }
        })
    }

    /// A mirrored raster whose origin lies at (x, y). In the raster whose pixel −1 − i is pixel i of this one, the source lies as it is; the
    /// band lies at its opposite there, and as many samples wide as are launched, so that what the last unit computes becomes the first.
    fn mirrored(
        &mut self,
        axis: Axis,
        side: i64,
        source: &Expression,
        x: i64,
        y: i64,
        seen: Rect,
    ) -> Result<Shape, DeviceError> {
        let band = self.band;
        let seen = mirrored(seen, axis, 0);
        let (number, there, (x, y)) = match axis {
            Axis::X => {
                let right = band.x().saturating_add(self.launched.cast_signed());
                let launched = Rect::between(band.x(), band.y(), right, band.bottom());
                let first = self
                    .launched
                    .saturating_sub(u64::from(per_word(self.bits) + 3 * self.step));
                (first, mirrored(launched, axis, 0), (-self.sum(x, side)?, y))
            }
            Axis::Y => {
                self.upside_down = true;
                let last = band.height().saturating_sub(1);
                (last, mirrored(band, axis, 0), (x, -self.sum(y, side)?))
            }
        };
        let right_size = match axis {
            Axis::X => there.width() == self.launched && there.height() == band.height(),
            Axis::Y => (there.width(), there.height()) == (band.width(), band.height()),
        };
        let (Ok(number), true) = (u32::try_from(number), right_size) else {
            return Err(DeviceError::Outside {
                device: self.gpu.id(),
                what: "a mirrored band that kernels count",
                at: (band.x(), band.y()),
                size: (band.width(), band.height()),
                whole: (self.launched, band.height()),
            });
        };
        self.band = there;
        let source = self.lower(source, x, y, seen);
        self.band = band;
        Ok(match source? {
            Shape::Zero => Shape::Zero,
            source => Shape::Mirror {
                at: self.number(&[number]),
                axis,
                source: Box::new(source),
            },
        })
    }

    /// The sum of two coordinates.
    fn sum(&self, a: i64, b: i64) -> Result<i64, DeviceError> {
        let sum = a.saturating_add(b);
        self.gpu
            .at_most("pixels from the origin", MAX_COORDINATE, sum.unsigned_abs())?;
        Ok(sum)
    }

    /// Kernels count samples of one depth: of another they would read beyond what there is.
    fn check_depth(&self, what: &'static str, depth: Depth) -> Result<(), DeviceError> {
        if depth.bits() != self.bits {
            return Err(self
                .gpu
                .no_kind(what, format!("{} bits, as the raster", self.bits), depth));
        }
        Ok(())
    }

    /// Appends numbers and returns the place of the first.
    fn number(&mut self, numbers: &[u32]) -> usize {
        let at = self.numbers.len();
        self.numbers.extend_from_slice(numbers);
        at
    }

    fn broadcast(&self, value: u16) -> u32 {
        (u32::from(value) & ones(self.bits)) * (u32::MAX / ones(self.bits))
    }

    fn slot(buffers: &mut Vec<Buffer>, buffer: &Buffer) -> usize {
        if let Some(slot) = buffers.iter().position(|b| b.same(buffer)) {
            return slot;
        }
        buffers.push(buffer.clone());
        buffers.len() - 1
    }

    /// Left, right, top and bottom of a rectangle inside the band.
    fn clip(&self, kept: Rect) -> [u32; 4] {
        let kept = kept.intersection(&self.band);
        if kept.is_empty() {
            return [0; 4];
        }
        // The band has fewer than 2^31 columns and rows.
        [
            (kept.x() - self.band.x()) as u32,
            (kept.right() - self.band.x()) as u32,
            (kept.y() - self.band.y()) as u32,
            (kept.bottom() - self.band.y()) as u32,
        ]
    }

    fn plane(&mut self, plane: &Plane, left: i64, top: i64, seen: Rect) -> Result<Shape, DeviceError> {
        self.check_depth("a plane", plane.depth())?;
        let rect = Rect::sized(plane.width().into(), plane.height().into()).translated(left, top);
        if rect.intersection(&seen).is_empty() {
            return Ok(Shape::Zero);
        }
        let [l, r, t, b] = self.clip(rect);
        let in_band = |edge: i64, origin: i64| if r > l { (edge - origin) as i32 as u32 } else { 0 };
        let numbers = [
            l,
            r,
            t,
            b,
            in_band(left, self.band.x()),
            in_band(top, self.band.y()),
            plane.height() - 1,
            plane.pitch(),
            plane.offset(),
            plane.row_words() - 1,
        ];
        Ok(Shape::Plane {
            at: self.number(&numbers),
            slot: Self::slot(&mut self.words, plane.buffer()),
        })
    }

    fn cell(&mut self, cell: &Cell, left: i64, top: i64) -> Result<Shape, DeviceError> {
        self.check_depth("a cell", cell.depth)?;
        let (column, row) = cell.period.reduce(self.band.x() - left, self.band.y() - top);
        self.gpu
            .at_most("rows of a cell", (1_u64 << 30) - 1, cell.period.c())?;
        let rows = cell.period.c() as u32;
        let sheared = cell.period.b() != 0;
        if sheared {
            // The number of turns times the shift has to fit 32 bits.
            let turns = (u64::from(u32::MAX) / cell.period.b()).max(2) - 1;
            self.rows = self.rows.min(turns.saturating_mul(u64::from(rows)));
        }
        let loads = match cell.layout {
            CellLayout::Single => Loads::Funnel,
            CellLayout::Vectors if self.vectors_allowed => Loads::Vector,
            CellLayout::Words | CellLayout::Vectors => Loads::Word,
        };
        let (pitch, copy, slot) = if loads == Loads::Vector {
            (
                cell.pitch / 4,
                cell.copy / 4,
                Self::slot(&mut self.vectors, &cell.buffer),
            )
        } else {
            (cell.pitch, cell.copy, Self::slot(&mut self.words, &cell.buffer))
        };
        let numbers = [
            cell.width,
            reciprocal(cell.width),
            column as u32,
            self.step % cell.width,
            rows,
            reciprocal(rows),
            row as u32,
            pitch,
            copy,
            cell.period.b() as u32,
        ];
        Ok(Shape::Cell {
            at: self.number(&numbers),
            slot,
            loads,
            sheared,
        })
    }

    fn ramp(&mut self, axis: Axis, from: u16, to: u16, length: u64, x: i64, y: i64) -> Shape {
        let m = length.saturating_sub(1);
        if m == 0 || from == to {
            return Shape::Constant {
                at: self.number(&[self.broadcast(from)]),
            };
        }
        let slope = 2 * u32::from(from.abs_diff(to));
        let first = match axis {
            Axis::X => self.band.x() - x,
            Axis::Y => self.band.y() - y,
        };
        let base = u64::from(slope)
            .wrapping_mul(first.cast_unsigned())
            .wrapping_add(m);
        let numbers = [
            u32::from(from),
            slope,
            u32::from(to < from),
            base as u32,
            (base >> 32) as u32,
            (2 * m) as u32,
            ((2 * m) >> 32) as u32,
        ];
        Shape::Ramp {
            at: self.number(&numbers),
            axis,
        }
    }

    fn disc(&mut self, diameter: u64, value: u16, x: i64, y: i64) -> Result<Shape, DeviceError> {
        let place = self.spans.len() as u32;
        let spans = self.spans.len() as u64 + 2 * self.band.height();
        self.gpu.at_most(
            "ends of rows of discs in a band (lower bands have fewer)",
            1_u64 << 32,
            spans,
        )?;
        for row in 0..self.band.height() as i64 {
            let (left, right) = disc_row(diameter, self.band.y() - y + row);
            let clamp = |column: i64| {
                let inside = x.saturating_add(column).clamp(self.band.x(), self.band.right());
                (inside - self.band.x()) as u32
            };
            self.spans.extend([clamp(left), clamp(right)]);
        }
        Ok(Shape::Disc {
            at: self.number(&[self.broadcast(value), place]),
        })
    }

    fn noise(&mut self, seed: u64, x: i64, y: i64) -> Shape {
        let column = (self.band.x() - x)
            .cast_unsigned()
            .wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let row = (self.band.y() - y)
            .cast_unsigned()
            .wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
        let base = seed.wrapping_add(column).wrapping_add(row);
        Shape::Noise {
            at: self.number(&[base as u32, (base >> 32) as u32]),
        }
    }

    fn table(&mut self, table: &Table, source: Box<Shape>) -> Shape {
        let slot = Self::slot(&mut self.words, table.buffer());
        let known = self.tables.iter().position(|t| *t == slot);
        let shared = known.or_else(|| {
            // Tables of 16-bit samples do not fit shared memory.
            (per_word(self.bits) == 4 && self.tables.len() < self.tables_shared).then(|| {
                self.tables.push(slot);
                self.tables.len() - 1
            })
        });
        Shape::Table { slot, shared, source }
    }
}

/// What is left of a fold onto nothing.
fn folded(fold: Fold, below: Shape, layer: Shape) -> Shape {
    match (fold, &below) {
        (Fold::Base, _) | (Fold::Add | Fold::Max | Fold::Over, Shape::Zero) => layer,
        (Fold::Subtract | Fold::Multiply | Fold::Min | Fold::Mask, Shape::Zero) => Shape::Zero,
        _ => Shape::Fold {
            fold,
            below: Box::new(below),
            layer: Box::new(layer),
        },
    }
}

/// The columns (from, to) of row `row` of a disc; none for rows outside it.
fn disc_row(diameter: u64, row: i64) -> (i64, i64) {
    let d = i128::from(diameter);
    let v = 2 * i128::from(row) - d + 1;
    let Ok(room) = u128::try_from(d * d - v * v) else {
        return (0, 0);
    };
    // Coordinates are far below 2^62.
    let s = room.isqrt() as i128;
    let from = (d - 1 - s + 1).div_euclid(2);
    let to = (d - 1 + s).div_euclid(2) + 1;
    (from as i64, to.max(from) as i64)
}
