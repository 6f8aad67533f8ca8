//! A board as a drawing.

use std::collections::HashMap;

use kurbo::{Affine, Arc, BezPath, Point, Vec2};

use super::Error;
use super::aperture::{Aperture, Pairs};
use super::board::{Board, Object, Segment, Shape};
pub use crate::assembly::Origin;
use crate::assembly::{Assembly, Bounds, Linear, Place, apply, finer, placed, product, union};
use crate::drawing::{Cell, Drawing, Lattice, Placement, spread};
use crate::limits::Refused;
use crate::shapes::polygon;
use crate::sketch::Sketch;
use crate::stroke::PART;
use crate::{Cap, Join, Pixel, Rule, Stroke};

/// How a board is drawn.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The side of a pixel.
    pub pixel: Pixel,
    /// Where it lies; its box is that of all that is drawn, dark and clear. [`Origin::Box`] if nothing else is said.
    pub origin: Origin,
    /// The gray of what is dark, of 65 535; 65 535 if nothing else is said.
    pub value: u16,
}

impl Options {
    /// In pixels of this side.
    #[must_use]
    pub const fn new(pixel: Pixel) -> Self {
        Self {
            pixel,
            origin: Origin::Box,
            value: 65_535,
        }
    }

    /// These options with changes.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

/// A drawn board.
#[derive(Debug)]
#[non_exhaustive]
pub struct Layout {
    /// The outlines.
    pub drawing: Drawing,
    /// Columns and rows of its box; `None` where nothing is drawn.
    pub size: Option<(u64, u64)>,
    /// How many columns right of the origin of the file and rows above it the drawing reaches.
    pub reach: Option<(u64, u64)>,
}

impl Board {
    /// Draws the board.
    ///
    /// # Errors
    /// Where blocks are nested too deeply, or it is too large.
    pub fn draw(&self, options: &Options) -> Result<Layout, Error> {
        let refused = Refused::Far(f64::INFINITY, f64::INFINITY);
        let (above, below) = options.pixel.pixels_in(self.unit.0, self.unit.1).ok_or(refused)?;
        let mut drawer = Drawer {
            board: self,
            value: options.value,
            scale: (above as f64, below as f64),
            // The pixels in the unit of the file.
            per_unit: above as f64 * self.per_unit / below as f64,
            assembly: Assembly::new(self.limits, self.memory.fork()),
            pairs: Pairs::new(&self.limits),
            apertures: HashMap::new(),
            blocks: HashMap::new(),
        };
        let root = self.blocks.len() as u32 - 1;
        let (cell, _) = drawer.block(root, [1.0, 0.0, 0.0, -1.0], false, 0)?;
        let place = Place::of(drawer.assembly.bounds(cell), options.origin)?;
        let mut drawing = drawer.assembly.finish();
        place.root(&mut drawing, cell);
        Ok(Layout {
            drawing,
            size: place.size,
            reach: place.reach,
        })
    }
}

/// What a block holds: where all of it is dark, or clear, its order does not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tone {
    Nothing,
    Dark,
    Clear,
    Both,
}

/// Objects of one tone, which may stand in any order.
struct Level {
    clear: bool,
    sketch: Sketch,
    placements: Vec<Placement>,
    bounds: Option<Bounds>,
}

/// What an aperture or a block takes in the map that knows it.
const KNOWN: u64 = 2 * (size_of::<(Key, (u32, Tone))>() as u64 + 1);

/// What is drawn with a matrix: its number, the matrix, and whether it is clear or, for a block, turned round.
type Key = (u32, [u64; 4], bool);

struct Drawer<'a> {
    board: &'a Board,
    value: u16,
    /// The pixels in a unit of a coordinate, as a fraction.
    scale: (f64, f64),
    per_unit: f64,
    assembly: Assembly,
    pairs: Pairs,
    apertures: HashMap<Key, u32>,
    blocks: HashMap<Key, (u32, Tone)>,
}

impl Drawer<'_> {
    /// A place of the file in pixels, y up.
    fn pixels(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (x * self.scale.0 / self.scale.1, y * self.scale.0 / self.scale.1)
    }

    fn place(&self, at: (i64, i64)) -> (f64, f64) {
        self.pixels((at.0 as f64, at.1 as f64))
    }

    /// The number of the cell that draws a block, and what it holds.
    fn block(&mut self, number: u32, linear: Linear, turned: bool, depth: u32) -> Result<(u32, Tone), Error> {
        let key = (number, linear.map(f64::to_bits), turned);
        if let Some(known) = self.blocks.get(&key) {
            return Ok(*known);
        }
        let board = self.board;
        if depth >= board.limits.depth {
            return Err(Error::Depth(board.limits.depth));
        }
        let mut levels = Levels {
            done: Vec::new(),
            open: None,
            mixed: false,
        };
        for Object { clear, shape } in &board.blocks[number as usize] {
            let clear = clear ^ turned;
            match shape {
                Shape::Line {
                    from,
                    segments,
                    aperture,
                    look,
                } => {
                    let segments = &board.segments[segments.start as usize..segments.end as usize];
                    let value = if clear { 0 } else { self.value };
                    let look = board.looks[*look as usize];
                    let aperture = &board.apertures[*aperture as usize];
                    let path = self.path(*from, segments)?;
                    let level = self.level(&mut levels, clear)?;
                    self.line(&mut level.sketch, &path, aperture, (linear, look), value)?;
                }
                Shape::Contour { from, segments } => {
                    let segments = &board.segments[segments.start as usize..segments.end as usize];
                    let value = if clear { 0 } else { self.value };
                    let path = self.path(*from, segments)?.curve_for(0.0);
                    let [a, b, c, d] = linear;
                    let level = self.level(&mut levels, clear)?;
                    let transform = Affine::new([a, b, c, d, 0.0, 0.0]);
                    level.sketch.fill(&path, transform, value, Rule::NonZero)?;
                }
                Shape::Flash { at, aperture, look } => {
                    let own = product(linear, board.looks[*look as usize]);
                    let origin = placed(apply(linear, self.place(*at)))?;
                    let (cell, tone) = match board.apertures[*aperture as usize] {
                        Aperture::Block(block) => self.block(block, own, clear, depth + 1)?,
                        _ => self.aperture(*aperture, own, clear)?,
                    };
                    self.put(&mut levels, cell, tone, Lattice::single(origin))?;
                }
                Shape::Repeat {
                    block,
                    columns,
                    rows,
                    step,
                } => {
                    let (cell, tone) = self.block(*block, linear, clear, depth + 1)?;
                    let along =
                        |x: f64, y: f64| placed(apply(linear, (x * self.per_unit, y * self.per_unit)));
                    let (u, v) = (along(step.0, 0.0)?, along(0.0, step.1)?);
                    let lattice = Lattice {
                        origin: (0, 0),
                        u,
                        v,
                        // Copies upon each other are one.
                        columns: if u == (0, 0) { 1 } else { *columns },
                        rows: if v == (0, 0) { 1 } else { *rows },
                    };
                    self.copies(&mut levels, cell, tone, lattice)?;
                }
            }
        }
        let drawn = self.finish(levels)?;
        self.assembly.memory().take(KNOWN)?;
        self.blocks.insert(key, drawn);
        Ok(drawn)
    }

    /// The level that takes what is dark, or clear, above all before.
    fn level<'l>(&mut self, levels: &'l mut Levels, clear: bool) -> Result<&'l mut Level, Error> {
        if levels.open.as_ref().is_some_and(|level| level.clear != clear) {
            self.close(levels)?;
        }
        Ok(levels.open.get_or_insert_with(|| Level {
            clear,
            sketch: self.assembly.sketch(),
            placements: Vec::new(),
            bounds: None,
        }))
    }

    /// Makes a cell of the open level.
    fn close(&mut self, levels: &mut Levels) -> Result<(), Error> {
        let Some(level) = levels.open.take() else {
            return Ok(());
        };
        let drawing = level.sketch.finish();
        let own = drawing.bounds().map(finer);
        let bounds = own.map_or(level.bounds, |own| Some(union(level.bounds, own)));
        let elements = self.assembly.append(drawing)?;
        let placements = level.placements;
        let cell = Cell {
            elements,
            placements,
            name: None,
        };
        let cell = self.assembly.cell(cell, bounds)?;
        levels.mixed |= !levels.done.is_empty();
        levels.done.push((
            Placement {
                cell,
                lattice: Lattice::single((0, 0)),
            },
            if level.clear { Tone::Clear } else { Tone::Dark },
        ));
        Ok(())
    }

    /// Adds copies of a cell whose order does not matter, or that do not meet.
    fn put(&mut self, levels: &mut Levels, cell: u32, tone: Tone, lattice: Lattice) -> Result<(), Error> {
        let Some(inner) = self.assembly.bounds(cell) else {
            return Ok(());
        };
        self.assembly.count()?;
        let placement = Placement { cell, lattice };
        let memory = self.assembly.memory().clone();
        match tone {
            Tone::Nothing => {}
            Tone::Both => {
                self.close(levels)?;
                levels.mixed = true;
                self.assembly.memory().push(&mut levels.done, (placement, tone))?;
            }
            Tone::Dark | Tone::Clear => {
                let level = self.level(levels, tone == Tone::Clear)?;
                level.bounds = Some(union(level.bounds, spread(inner, &lattice)));
                memory.push(&mut level.placements, placement)?;
            }
        }
        Ok(())
    }

    /// Adds copies of a block, in the order of the format where it matters: up, then to the right.
    fn copies(&mut self, levels: &mut Levels, cell: u32, tone: Tone, lattice: Lattice) -> Result<(), Error> {
        let Some((left, top, right, bottom)) = self.assembly.bounds(cell) else {
            return Ok(());
        };
        let apart = |step: (i64, i64), count: u32| {
            let beside = step.1 == 0 && step.0.saturating_abs() >= right.saturating_sub(left);
            let above = step.0 == 0 && step.1.saturating_abs() >= bottom.saturating_sub(top);
            count == 1 || beside || above
        };
        let upright = (lattice.u.1 == 0 && lattice.v.0 == 0) || (lattice.u.0 == 0 && lattice.v.1 == 0);
        let free = upright && apart(lattice.u, lattice.columns) && apart(lattice.v, lattice.rows);
        if tone != Tone::Both || free {
            return self.put(levels, cell, tone, lattice);
        }
        if lattice.copies() > self.board.limits.items {
            return Err(Refused::Items(self.board.limits.items).into());
        }
        for i in 0..i64::from(lattice.columns) {
            for j in 0..i64::from(lattice.rows) {
                let far = || Refused::Far(f64::INFINITY, f64::INFINITY);
                let along = |u: i64, v: i64| {
                    let moved = i.checked_mul(u)?.checked_add(j.checked_mul(v)?)?;
                    (moved.unsigned_abs() < 1 << 60).then_some(moved)
                };
                let x = along(lattice.u.0, lattice.v.0).ok_or_else(far)?;
                let y = along(lattice.u.1, lattice.v.1).ok_or_else(far)?;
                self.put(levels, cell, tone, Lattice::single((x, y)))?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, mut levels: Levels) -> Result<(u32, Tone), Error> {
        self.close(&mut levels)?;
        match levels.done[..] {
            [] => Ok((self.assembly.cell(Cell::default(), None)?, Tone::Nothing)),
            [(Placement { cell, .. }, tone)] if !levels.mixed => Ok((cell, tone)),
            _ => {
                let mut bounds = None;
                for (placement, _) in &levels.done {
                    self.assembly.count()?;
                    if let Some(inner) = self.assembly.bounds(placement.cell) {
                        bounds = Some(union(bounds, spread(inner, &placement.lattice)));
                    }
                }
                let placements = levels.done.into_iter().map(|(placement, _)| placement).collect();
                let cell = Cell {
                    placements,
                    ..Cell::default()
                };
                Ok((self.assembly.cell(cell, bounds)?, Tone::Both))
            }
        }
    }

    /// The number of the cell of an aperture that is no block.
    fn aperture(&mut self, number: u32, linear: Linear, clear: bool) -> Result<(u32, Tone), Error> {
        let tone = if clear { Tone::Clear } else { Tone::Dark };
        let key = (number, linear.map(f64::to_bits), clear);
        if let Some(known) = self.apertures.get(&key) {
            return Ok((*known, tone));
        }
        let mut sketch = self.assembly.sketch();
        let [a, b, c, d] = linear.map(|v| v * self.per_unit);
        let value = if clear { 0 } else { self.value };
        let aperture = &self.board.apertures[number as usize];
        aperture.sketch(
            &mut sketch,
            Affine::new([a, b, c, d, 0.0, 0.0]),
            value,
            &mut self.pairs,
        )?;
        let drawing = sketch.finish();
        let bounds = drawing.bounds().map(finer);
        let elements = self.assembly.append(drawing)?;
        let cell = Cell {
            elements,
            ..Cell::default()
        };
        let cell = self.assembly.cell(cell, bounds)?;
        self.assembly.memory().take(KNOWN)?;
        self.apertures.insert(key, cell);
        Ok((cell, tone))
    }

    /// Segments in pixels, y up.
    fn path(&self, from: (i64, i64), segments: &[Segment]) -> Result<Vec<Step>, Refused> {
        let memory = self.assembly.memory();
        memory.room(segments.len() as u64 * (size_of::<Step>() as u64 + 2 * PART))?;
        let mut steps = vec![Step {
            to: self.place(from),
            arc: None,
        }];
        steps.extend(segments.iter().map(|segment| {
            Step {
                to: self.place(segment.to),
                arc: self
                    .board
                    .arcs
                    .get(segment.arc as usize)
                    .map(|arc| (self.pixels(arc.centre), arc.sweep)),
            }
        }));
        Ok(steps)
    }

    /// A line along a path that is drawn by an aperture.
    fn line(
        &self,
        sketch: &mut Sketch,
        path: &[Step],
        aperture: &Aperture,
        (linear, look): (Linear, Linear),
        value: u16,
    ) -> Result<(), Refused> {
        let [a, b, c, d] = linear;
        let transform = Affine::new([a, b, c, d, 0.0, 0.0]);
        match aperture {
            Aperture::Circle { diameter, .. } => {
                // All matrices are of turns, mirrors and one scale.
                let scaled = libm::hypot(look[0], look[1]);
                let width = diameter * self.per_unit * scaled;
                let mut stroke = Stroke::solid(width);
                (stroke.cap, stroke.join) = (Cap::Round, Join::Round);
                sketch.stroke(&path.curve_for(width / 2.0), transform, value, &stroke)
            }
            Aperture::Rectangle { size, .. } => {
                let own = product(linear, look);
                let (x, y) = (size.0 / 2.0 * self.per_unit, size.1 / 2.0 * self.per_unit);
                let corners = [(-x, -y), (x, -y), (x, y), (-x, y)].map(|corner| apply(own, corner));
                for pair in path.windows(2) {
                    let ends = [pair[0].to, pair[1].to].map(|end| apply(linear, end));
                    let all = ends
                        .iter()
                        .flat_map(|end| corners.map(|(x, y)| (end.0 + x, end.1 + y)));
                    let swept = polygon(&hull(all.collect()));
                    sketch.fill(&swept, Affine::IDENTITY, value, Rule::NonZero)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Levels of a block, from the lowest.
struct Levels {
    done: Vec<(Placement, Tone)>,
    open: Option<Level>,
    /// Whether they are of more than one tone.
    mixed: bool,
}

/// A place that a path goes to, straight or along an arc around a middle.
struct Step {
    to: (f64, f64),
    arc: Option<((f64, f64), f64)>,
}

/// How far chords may lie from an arc that is narrower than the line along it, in pixels.
const NARROW: f64 = 1.0 / 64.0;

trait Curve {
    /// The path for a line of which one side lies so far from it: arcs around which that side would turn over are chords.
    fn curve_for(&self, half: f64) -> BezPath;
}

impl Curve for [Step] {
    fn curve_for(&self, half: f64) -> BezPath {
        let mut path = BezPath::new();
        let mut at = Point::ZERO;
        for (number, step) in self.iter().enumerate() {
            let to = Point::from(step.to);
            match step.arc {
                _ if number == 0 => path.move_to(to),
                None => path.line_to(to),
                Some((centre, sweep)) => {
                    let (x, y) = (at.x - centre.0, at.y - centre.1);
                    let radius = libm::hypot(x, y);
                    let start = libm::atan2(y, x);
                    if radius <= 1.01 * half {
                        // As many chords as keep within the tolerance, at least 8 around.
                        let share = libm::acos((1.0 - NARROW / radius.max(NARROW)).max(0.0)).min(0.7);
                        let chords = libm::ceil(sweep.abs() / (2.0 * share)).clamp(1.0, 4_096.0) as u32;
                        for chord in 1..chords {
                            let angle = start + sweep * f64::from(chord) / f64::from(chords);
                            let (sin, cos) = libm::sincos(angle);
                            path.line_to((centre.0 + radius * cos, centre.1 + radius * sin));
                        }
                        path.line_to(to);
                    } else {
                        let arc = Arc::new(centre, Vec2::new(radius, radius), start, sweep, 0.0);
                        let mut cubics = Vec::new();
                        arc.to_cubic_beziers(1.0 / 1_024.0, |a, b, p| cubics.push((a, b, p)));
                        // It ends where the file says, not a rounding away.
                        match cubics.last_mut() {
                            Some(last) => last.2 = to,
                            None => path.line_to(to),
                        }
                        for (a, b, p) in cubics {
                            path.curve_to(a, b, p);
                        }
                    }
                }
            }
            at = to;
        }
        path
    }
}

/// The convex hull of points, by Andrew's monotone chain.
fn hull(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    points.dedup();
    let turn =
        |a: (f64, f64), b: (f64, f64), c: (f64, f64)| (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0);
    let side = |points: &mut dyn Iterator<Item = (f64, f64)>| {
        let mut side: Vec<(f64, f64)> = Vec::new();
        for point in points {
            while side.len() >= 2 && turn(side[side.len() - 2], side[side.len() - 1], point) <= 0.0 {
                side.pop();
            }
            side.push(point);
        }
        side.pop();
        side
    };
    let mut whole = side(&mut points.iter().copied());
    whole.extend(side(&mut points.iter().rev().copied()));
    whole
}
