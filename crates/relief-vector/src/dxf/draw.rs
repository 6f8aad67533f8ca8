//! A document as a drawing.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use kurbo::{Affine, Arc, BezPath, PathEl, Point, Vec2};

use super::Error;
use super::document::{Block, Document, Entity, INHERITED, Insert, Shape};
use super::taper::Taper;
use crate::assembly::{Assembly, Bounds, Linear, Place, apply, finer, placed, product, turn, union};
use crate::drawing::{Cell, Drawing, Lattice, Placement, spread};
use crate::flatten::{MAX, nearest};
use crate::limits::{Limits, Memory, Refused};
use crate::shapes::{arc_tolerance, cubics, ellipse_within, flat_arc};
use crate::sketch::Sketch;
use crate::stroke::PART;
use crate::{Pixel, Rule, Stroke};

pub use crate::assembly::Origin;

/// How a document is drawn.
#[derive(Clone, Debug)]
pub struct Options {
    /// The side of a pixel.
    pub pixel: Pixel,
    /// The metres of the unit of the file; none for the one that it says.
    pub unit: Option<f64>,
    /// Where it lies; its box is that of all layers that are neither frozen nor off.
    pub origin: Origin,
    /// The names of the layers that are drawn, in any letters; none for all that are neither frozen nor off.
    pub layers: Option<Vec<String>>,
    /// The gray of all elements, of 65 535.
    pub value: u16,
    /// The look of lines along all curves, in pixels. Without one the inside of closed curves is drawn.
    pub stroke: Option<Stroke>,
    /// Which places closed curves cover together: with [`Rule::EvenOdd`] those of all blocks and their copies, which are written out, so
    /// that a block within a curve is a hole; else those of each block.
    pub rule: Rule,
}

/// Something that is not drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The line of the file, counted from 1.
    pub line: u64,
    /// What is not drawn.
    pub what: String,
    /// Why.
    pub why: NotDrawn,
}

/// Why something is not drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotDrawn {
    /// A curve is open, and there is no stroke.
    Open,
    /// It lies on an equal curve, which is drawn.
    Again,
    /// Entities of its kind are not drawn.
    Kind,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} is not drawn", self.line, self.what)
    }
}

/// A drawn document.
#[derive(Debug)]
pub struct Layout {
    /// The outlines.
    pub drawing: Drawing,
    /// Columns and rows of the box of [`Origin::Box`].
    pub size: Option<(u64, u64)>,
    /// How many columns right of the origin of the file and rows above it the drawing reaches.
    pub reach: Option<(u64, u64)>,
    /// What is not drawn, the first of it.
    pub warnings: Vec<Warning>,
    /// How many things more are not drawn.
    pub more: u64,
}

/// The most warnings that are kept.
const MAX_WARNINGS: usize = 64;

/// Ends of curves that lie so near, in pixels, are one.
const NEAR: f64 = 1.0 / 16.0;

/// Bulges up to this are computed without a centre, which would lie very far away: other programs write such for sides that are straight.
const FLAT: f64 = 1.0 / 1_024.0;

/// Ends that are looked at to find the nearest one.
const MAX_ENDS: usize = 64;

impl Document {
    /// Draws the document.
    ///
    /// # Errors
    /// Where it has no unit, a block is missing or contains itself, or it is too large.
    pub fn draw(&self, options: &Options) -> Result<Layout, Error> {
        let unit = options.unit.or(self.unit).ok_or(Error::NoUnit)?;
        let scale = unit * options.pixel.per_metre();
        let wanted = |number: u32| match &options.layers {
            Some(names) => {
                let layer = &self.layers[number as usize];
                names.iter().any(|name| name.to_uppercase() == *layer)
            }
            None => !self.is_hidden(number),
        };
        let mut drawer = Drawer {
            document: self,
            options,
            wanted: (0..self.layers.len() as u32).map(wanted).collect(),
            known: HashMap::new(),
            open: vec![false; self.blocks.len()],
            assembly: Assembly::new(self.limits, self.memory.fork()),
            warnings: Vec::new(),
            told: HashSet::new(),
            more: 0,
        };
        let root = self.blocks.len() as u32 - 1;
        let number = drawer.block(root, [scale, 0.0, 0.0, -scale], INHERITED, 0)?;
        let place = Place::of(drawer.assembly.bounds(number), options.origin)?;
        let memory = drawer.assembly.memory().clone();
        let mut drawing = drawer.assembly.finish();
        let mut number = number;
        if options.stroke.is_none() && options.rule == Rule::EvenOdd {
            drawing = flat(&drawing, number, &self.limits, &memory)?;
            number = 0;
        }
        place.root(&mut drawing, number);
        Ok(Layout {
            drawing,
            size: place.size,
            reach: place.reach,
            warnings: drawer.warnings,
            more: drawer.more,
        })
    }
}

/// The matrix by which what is seen from below lies above.
fn seen(mirrored: bool) -> Linear {
    [if mirrored { -1.0 } else { 1.0 }, 0.0, 0.0, 1.0]
}

/// A block, its matrix, and whether the layer of its insert is drawn, and hidden.
type Key = (u32, [u64; 4], (bool, bool));

/// What a block takes in the map that knows it.
const KNOWN: u64 = 2 * (size_of::<(Key, u32)>() as u64 + 1);

struct Drawer<'a> {
    document: &'a Document,
    options: &'a Options,
    /// Whether each layer is drawn.
    wanted: Vec<bool>,
    /// A cell of the drawing for each block, matrix and whether the layer of its insert is drawn, and hidden.
    known: HashMap<Key, u32>,
    /// Blocks that are being drawn.
    open: Vec<bool>,
    assembly: Assembly,
    warnings: Vec<Warning>,
    /// Lines of what is not drawn.
    told: HashSet<u64>,
    more: u64,
}

impl Drawer<'_> {
    fn warn(&mut self, line: u64, what: &str, why: NotDrawn) {
        // A block is drawn once for each way it lies.
        if !self.told.insert(line) {
            return;
        }
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(Warning {
                line,
                what: what.to_owned(),
                why,
            });
        } else {
            self.more += 1;
        }
    }

    /// The layer of an entity in a block that is inserted on the layer `inherited`.
    const fn layer(entity: &Entity, inherited: u32) -> u32 {
        match entity.layer {
            INHERITED => inherited,
            layer => layer,
        }
    }

    /// Whether an entity is not drawn although its layer is neither frozen nor off.
    fn is_left_out(&self, entity: &Entity, inherited: u32) -> bool {
        let layer = Self::layer(entity, inherited);
        !self.wanted[layer as usize] && !self.document.is_hidden(layer)
    }

    /// The box of what all layers that are neither frozen nor off, or are chosen, draw of a block.
    fn whole(&self, block: &Block, inherited: u32, mut curves: Curves<'_>) -> Result<Option<Bounds>, Error> {
        for entity in &block.entities {
            if self.wanted[Self::layer(entity, inherited) as usize] {
                curves.add(entity)?;
            } else if self.is_left_out(entity, inherited) {
                match curves.add(entity) {
                    // What is too far out to be drawn hinders no other layer.
                    Err(Error::Refused(Refused::Far(..))) => {}
                    other => other?,
                }
            }
        }
        let drawing = curves.finish()?.drawing;
        Assembly::forget(self.assembly.memory(), &drawing);
        Ok(drawing.bounds())
    }

    /// The number of the cell that draws a block with a matrix.
    fn block(&mut self, number: u32, linear: Linear, inherited: u32, depth: u32) -> Result<u32, Error> {
        let document = self.document;
        let inherits = (self.wanted[inherited as usize], document.is_hidden(inherited));
        let key = (number, linear.map(f64::to_bits), inherits);
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let limits = document.limits;
        if depth >= limits.depth {
            return Err(Error::Depth(limits.depth));
        }
        self.open[number as usize] = true;
        let block = &document.blocks[number as usize];
        let memory = self.assembly.memory();
        let curves = || Curves::new(self.options, document, block.base, linear, limits, memory.clone());
        let (mut drawn, all) = (curves(), curves());
        let mut placements = Vec::new();
        let mut own = None;
        for entity in &block.entities {
            // Drawing it takes time wherever it is drawn again, whether anything of it shows or not.
            self.assembly.count()?;
            let (line, layer) = (entity.line, Self::layer(entity, inherited));
            if let Shape::Insert(insert) = &entity.shape {
                // What is frozen is not there, whatever lies in it.
                if self.options.layers.is_none() && document.frozen.contains(&layer) {
                    continue;
                }
                let placement = self.insert(insert, entity, block.base, linear, layer, depth)?;
                let Some(placement) = placement else { continue };
                if let Some(inner) = self.assembly.bounds(placement.cell) {
                    own = Some(union(own, spread(inner, &placement.lattice)));
                }
                self.assembly.memory().push(&mut placements, placement)?;
            } else if self.wanted[layer as usize] {
                if let Shape::Other(what) = entity.shape {
                    self.warn(line, what, NotDrawn::Kind);
                } else {
                    drawn.add(entity)?;
                }
            }
        }
        let Drawn { drawing, open, again } = drawn.finish()?;
        for line in open {
            self.warn(line, "an open curve without a stroke", NotDrawn::Open);
        }
        if self.options.stroke.is_none() {
            for line in again {
                self.warn(line, "a curve upon one that is equal", NotDrawn::Again);
            }
        }
        let mut entities = block.entities.iter();
        let bounds = if entities.any(|entity| self.is_left_out(entity, inherited)) {
            self.whole(block, inherited, all)?
        } else {
            drawing.bounds()
        };
        let elements = self.assembly.append(drawing)?;
        if let Some(bounds) = bounds {
            own = Some(union(own, finer(bounds)));
        }
        self.open[number as usize] = false;
        let cell = Cell {
            elements,
            placements,
            name: Some(std::sync::Arc::clone(&block.name)),
        };
        let place = self.assembly.cell(cell, own)?;
        self.assembly.memory().take(KNOWN)?;
        self.known.insert(key, place);
        Ok(place)
    }

    /// Copies of a block within another one; nothing where they have no size.
    fn insert(
        &mut self,
        insert: &Insert,
        entity: &Entity,
        base: (f64, f64),
        linear: Linear,
        layer: u32,
        depth: u32,
    ) -> Result<Option<Placement>, Error> {
        let document = self.document;
        let line = entity.line;
        let Some(&inner) = document.names.get(insert.name.as_str()) else {
            return Err(Error::NoBlock {
                line,
                name: insert.name.clone(),
            });
        };
        if self.open[inner as usize] {
            return Err(Error::Loop {
                line,
                name: insert.name.clone(),
            });
        }
        if insert.scale.0 == 0.0 || insert.scale.1 == 0.0 {
            return Ok(None);
        }
        let outer = product(linear, seen(entity.mirrored));
        let (sin, cos) = turn(insert.angle);
        let turned = product(outer, [cos, sin, -sin, cos]);
        let own = product(turned, [insert.scale.0, 0.0, 0.0, insert.scale.1]);
        let cell = self.block(inner, own, layer, depth + 1)?;
        self.assembly.count()?;
        // The base of the block it lies in is where that block is inserted.
        let (x, y) = apply(outer, insert.at);
        let (left, top) = apply(linear, base);
        let mut lattice = Lattice::single(placed((x - left, y - top))?);
        if insert.columns > 1 {
            lattice.columns = insert.columns;
            lattice.u = placed(apply(turned, (insert.spacing.0, 0.0)))?;
        }
        if insert.rows > 1 {
            lattice.rows = insert.rows;
            lattice.v = placed(apply(turned, (0.0, insert.spacing.1)))?;
        }
        // Copies upon each other are one.
        if lattice.u == (0, 0) {
            lattice.columns = 1;
        }
        if lattice.v == (0, 0) {
            lattice.rows = 1;
        }
        Ok(Some(Placement { cell, lattice }))
    }
}

/// Numbers of outlines, and where they lie.
type Outlines = Vec<(u32, (i64, i64))>;

/// All copies of all cells written out in one: what is even-odd is one element, so that a block within a curve is a hole.
fn flat(drawing: &Drawing, root: u32, limits: &Limits, memory: &Memory) -> Result<Drawing, Error> {
    // The points of each cell with all that it places.
    let mut counts: Vec<u128> = Vec::with_capacity(drawing.cells.len());
    for cell in &drawing.cells {
        let outlines = cell.elements.iter().flat_map(|element| element.outlines.clone());
        let own: u128 = outlines
            .map(|outline| drawing.outline(outline).len() as u128)
            .sum();
        let placed = cell.placements.iter().map(|placement| {
            counts[placement.cell as usize].saturating_mul(placement.lattice.copies().into())
        });
        counts.push(placed.fold(own, u128::saturating_add));
    }
    let limit = limits.points.min(1 << 31);
    if counts[root as usize] > u128::from(limit) {
        return Err(Refused::Points(limit).into());
    }
    // Points, and for at least three of them an end, an outline with its place twice as it grows, and a copy that waits.
    memory.take(counts[root as usize] as u64 * (16 + 40))?;
    // Outlines with where they lie, of what is even-odd and of every other element by itself.
    let mut whole = Outlines::new();
    let mut others: HashMap<(u32, usize), Outlines> = HashMap::new();
    let mut open = vec![(root, (0, 0))];
    while let Some((number, at)) = open.pop() {
        let cell = &drawing.cells[number as usize];
        for (place, element) in cell.elements.iter().enumerate() {
            let outlines = element.outlines.clone().map(|outline| (outline, at));
            match element.rule {
                Rule::EvenOdd => whole.extend(outlines),
                Rule::NonZero => others.entry((number, place)).or_default().extend(outlines),
            }
        }
        for Placement { cell, lattice } in &cell.placements {
            // Every copy has points, of which there are not too many.
            if counts[*cell as usize] == 0 {
                continue;
            }
            for row in 0..i64::from(lattice.rows) {
                for column in 0..i64::from(lattice.columns) {
                    let along = |at: i64, origin: i64, u: i64, v: i64| at + origin + column * u + row * v;
                    let x = along(at.0, lattice.origin.0, lattice.u.0, lattice.v.0);
                    let y = along(at.1, lattice.origin.1, lattice.u.1, lattice.v.1);
                    open.push((*cell, (x, y)));
                }
            }
        }
    }
    let mut out = Drawing {
        denominator: drawing.denominator,
        points: Vec::with_capacity(counts[root as usize] as usize),
        ends: Vec::new(),
        cells: Vec::new(),
    };
    let mut others: Vec<_> = others.into_iter().collect();
    others.sort_unstable_by_key(|(key, _)| *key);
    let value = drawing.greatest();
    let mut elements = Vec::new();
    let all = others.into_iter().map(|(_, outlines)| (Rule::NonZero, outlines));
    for (rule, outlines) in [(Rule::EvenOdd, whole)].into_iter().chain(all) {
        if outlines.is_empty() {
            continue;
        }
        let first = out.ends.len() as u32;
        for (outline, (x, y)) in outlines {
            let points = drawing.outline(outline).iter();
            out.points.extend(points.map(|point| (point.0 + x, point.1 + y)));
            out.ends.push(out.points.len() as u32);
        }
        elements.push(crate::Element {
            value,
            rule,
            clip: false,
            outlines: first..out.ends.len() as u32,
        });
    }
    out.cells.push(Cell {
        elements,
        ..Cell::default()
    });
    Ok(out)
}

/// The curves of a block, in pixels from where it is inserted.
struct Curves<'a> {
    options: &'a Options,
    document: &'a Document,
    base: (f64, f64),
    linear: Linear,
    limits: Limits,
    memory: Memory,
    /// Bytes that the curves take until they are drawn.
    taken: u64,
    sketch: Sketch,
    /// Parts of all curves that are gathered.
    elements: u64,
    /// What tells them from each other.
    known: HashSet<[u64; 2]>,
    /// The lines of those that are there already.
    again: Vec<u64>,
    /// All closed curves.
    closed: BezPath,
    /// Open ones, with the lines that they stand in.
    open: Vec<Piece>,
}

/// What a curve takes beside its parts: what tells it from others, and its ends among those of all.
const CURVE: u64 = 512;

/// What a block comes to.
struct Drawn {
    drawing: Drawing,
    /// The lines of curves that cover nothing.
    open: Vec<u64>,
    /// The lines of curves that are drawn already.
    again: Vec<u64>,
}

struct Piece {
    path: BezPath,
    from: Point,
    to: Point,
    line: u64,
}

impl<'a> Curves<'a> {
    fn new(
        options: &'a Options,
        document: &'a Document,
        base: (f64, f64),
        linear: Linear,
        limits: Limits,
        memory: Memory,
    ) -> Self {
        Self {
            options,
            document,
            base,
            linear,
            limits,
            sketch: Sketch::sharing(limits, memory.clone()),
            memory,
            taken: 0,
            elements: 0,
            known: HashSet::new(),
            again: Vec::new(),
            closed: BezPath::new(),
            open: Vec::new(),
        }
    }

    /// From the places of the block to pixels.
    fn transform(&self, mirrored: bool) -> Affine {
        let [a, b, c, d] = product(self.linear, seen(mirrored));
        let (left, top) = apply(self.linear, self.base);
        Affine::new([a, b, c, d, -left, -top])
    }

    /// The curve of an entity, in pixels, and whether it is closed.
    fn path(&self, entity: &Entity) -> (BezPath, bool) {
        let transform = self.transform(entity.mirrored);
        let tolerance = arc_tolerance(transform);
        match &entity.shape {
            Shape::Polyline { corners, closed, .. } | Shape::Tapered { corners, closed, .. } => {
                let path = polyline(&self.document.corners[corners.clone()], *closed, tolerance);
                (transform * path, *closed)
            }
            Shape::Solid(corners) => (
                transform * polyline(&self.document.corners[corners.clone()], true, tolerance),
                true,
            ),
            Shape::Circle { centre, radius } => (
                transform * ellipse_within(*centre, (*radius, *radius), tolerance),
                true,
            ),
            Shape::Arc {
                centre,
                radius,
                from,
                to,
            } => {
                // Against the clock, all around where both are one.
                let sweep = (to - from).rem_euclid(360.0);
                let sweep = if sweep == 0.0 { 360.0 } else { sweep };
                let radii = Vec2::new(*radius, *radius);
                let path = arc(
                    *centre,
                    radii,
                    0.0,
                    from.to_radians(),
                    sweep.to_radians(),
                    tolerance,
                );
                (transform * path, false)
            }
            Shape::Ellipse {
                centre,
                major,
                ratio,
                from,
                to,
            } => {
                // It has places of its own: seen from below, its angles go with the clock.
                let transform = self.transform(false);
                let whole = 2.0 * std::f64::consts::PI;
                let sweep = to - from;
                let around = sweep.abs() >= whole - 1e-9;
                let sweep = if around { whole } else { sweep.rem_euclid(whole) };
                let side = if entity.mirrored { -1.0 } else { 1.0 };
                let long = libm::hypot(major.0, major.1);
                let radii = Vec2::new(long, long * ratio.abs());
                let rotation = libm::atan2(major.1, major.0);
                let mut path = arc(*centre, radii, rotation, side * from, side * sweep, tolerance);
                if around {
                    path.close_path();
                }
                (transform * path, around)
            }
            Shape::Insert(_) | Shape::Other(_) => (BezPath::new(), false),
        }
    }

    fn add(&mut self, entity: &Entity) -> Result<(), Error> {
        let (path, closed) = self.path(entity);
        // An open curve without a stroke is told, wherever it lies.
        if (closed || self.options.stroke.is_some())
            && let Some(point) = points(&path).find(|point| is_far(*point))
        {
            return Err(Refused::Far(point.x, point.y).into());
        }
        let value = self.options.value;
        match &entity.shape {
            Shape::Solid(_) => self.sketch.fill(&path, Affine::IDENTITY, value, Rule::NonZero)?,
            Shape::Polyline {
                width: Some(width), ..
            } if self.options.stroke.is_none() => {
                let width = width * crate::stroke::scale(self.transform(false));
                self.sketch
                    .stroke(&path, Affine::IDENTITY, value, &Stroke::solid(width))?;
            }
            Shape::Tapered {
                corners,
                closed,
                widths,
            } if self.options.stroke.is_none() => {
                let transform = self.transform(entity.mirrored);
                let outline = Taper {
                    corners: &self.document.corners[corners.clone()],
                    closed: *closed,
                    widths: &self.document.widths[widths.clone()],
                    tolerance: arc_tolerance(transform),
                    limit: self.limits.points,
                    memory: &self.memory,
                };
                self.sketch
                    .fill(&outline.outline()?, transform, value, Rule::NonZero)?;
            }
            _ => {
                self.elements += path.elements().len() as u64;
                // Each takes as much memory as four points.
                if self.elements > self.limits.points / 4 {
                    return Err(Refused::Points(self.limits.points).into());
                }
                // It is there once as it is, then joined to others, then with all that are closed.
                let bytes = path.elements().len() as u64 * 2 * PART + CURVE;
                self.memory.take(bytes)?;
                self.taken += bytes;
                self.curve(path, closed, entity.line);
            }
        }
        Ok(())
    }

    fn curve(&mut self, path: BezPath, closed: bool, line: u64) {
        if path.elements().len() < 2 {
            return;
        }
        // Twice the same would be a hole under the even-odd rule, and lines would close upon each other.
        if !self.known.insert(identity(&path)) {
            self.again.push(line);
            return;
        }
        if closed {
            self.closed.extend(path);
            return;
        }
        let ends = path.elements().first().and_then(PathEl::end_point);
        let ends = ends.zip(path.elements().last().and_then(PathEl::end_point));
        if let Some((from, to)) = ends {
            self.open.push(Piece { path, from, to, line });
        }
    }

    /// Joins open curves whose ends meet, then draws all.
    fn finish(mut self) -> Result<Drawn, Error> {
        let (joined, left) = join(std::mem::take(&mut self.open));
        self.closed.extend(joined);
        let value = self.options.value;
        let mut open = Vec::new();
        match &self.options.stroke {
            Some(look) => {
                let mut all = self.closed;
                for (path, _) in left {
                    all.extend(path);
                }
                if !all.elements().is_empty() {
                    self.sketch.stroke(&all, Affine::IDENTITY, value, look)?;
                }
            }
            None => {
                open.extend(left.into_iter().map(|(_, line)| line));
                if !self.closed.elements().is_empty() {
                    self.sketch
                        .fill(&self.closed, Affine::IDENTITY, value, self.options.rule)?;
                }
            }
        }
        self.memory.give(self.taken);
        Ok(Drawn {
            drawing: self.sketch.finish(),
            open,
            again: self.again,
        })
    }
}

/// The ends and the controls of a path.
fn points(path: &BezPath) -> impl Iterator<Item = Point> {
    path.elements().iter().flat_map(|element| {
        let [a, b, c] = match *element {
            PathEl::MoveTo(p) | PathEl::LineTo(p) => [Some(p), None, None],
            PathEl::QuadTo(a, p) => [Some(a), Some(p), None],
            PathEl::CurveTo(a, b, p) => [Some(a), Some(b), Some(p)],
            PathEl::ClosePath => [None; 3],
        };
        [a, b, c].into_iter().flatten()
    })
}

/// What tells a curve from others. Those of the same points have one, also from the other end.
fn identity(path: &BezPath) -> [u64; 2] {
    let of = |path: &BezPath| {
        [0_u8, 1].map(|seed| {
            let mut hasher = DefaultHasher::new();
            (seed, path.elements().len()).hash(&mut hasher);
            for point in points(path) {
                // Adding 0 makes one of both zeros.
                [point.x, point.y].map(|v| (v + 0.0).to_bits()).hash(&mut hasher);
            }
            hasher.finish()
        })
    };
    of(path).min(of(&path.reverse_subpaths()))
}

/// A polyline whose sides bulge: a bulge is the tangent of a quarter of the angle of its arc, above 0 against the clock.
fn polyline(corners: &[(f64, f64, f64)], closed: bool, tolerance: f64) -> BezPath {
    let mut path = BezPath::new();
    let Some(&(x, y, _)) = corners.first() else {
        return path;
    };
    path.move_to((x, y));
    let next = corners.iter().cycle().skip(1);
    let sides = corners.len() - usize::from(!closed);
    for (&(ax, ay, bulge), &(bx, by, _)) in corners.iter().zip(next).take(sides) {
        let (dx, dy) = (bx - ax, by - ay);
        if bulge == 0.0 || (dx, dy) == (0.0, 0.0) {
            path.line_to((bx, by));
            continue;
        }
        if bulge.abs() <= FLAT {
            let (a, b) = flat_arc(Point::new(ax, ay), Point::new(bx, by), bulge);
            path.curve_to(a, b, Point::new(bx, by));
            continue;
        }
        let shift = (1.0 - bulge * bulge) / (4.0 * bulge);
        let centre = ((ax + bx) / 2.0 - dy * shift, (ay + by) / 2.0 + dx * shift);
        let radius = libm::hypot(ax - centre.0, ay - centre.1);
        let start = libm::atan2(ay - centre.1, ax - centre.0);
        let round = Arc::new(
            centre,
            Vec2::new(radius, radius),
            start,
            4.0 * libm::atan(bulge),
            0.0,
        );
        let mut all = Vec::new();
        cubics(round, tolerance, |a, b, p| all.push((a, b, p)));
        // It ends where the file says, not a rounding away.
        match all.last_mut() {
            Some(last) => last.2 = Point::new(bx, by),
            None => path.line_to((bx, by)),
        }
        for (a, b, p) in all {
            path.curve_to(a, b, p);
        }
    }
    if closed {
        path.close_path();
    }
    path
}

/// A part of an ellipse. Angles in radians, in its own parameter.
fn arc(centre: (f64, f64), radii: Vec2, rotation: f64, from: f64, sweep: f64, tolerance: f64) -> BezPath {
    let mut path = BezPath::new();
    let at = |angle: f64| {
        let (sin, cos) = libm::sincos(angle);
        let (sine, cosine) = libm::sincos(rotation);
        let (x, y) = (radii.x * cos, radii.y * sin);
        Point::new(centre.0 + x * cosine - y * sine, centre.1 + x * sine + y * cosine)
    };
    path.move_to(at(from));
    let round = Arc::new(centre, radii, from, sweep, rotation);
    cubics(round, tolerance, |a, b, p| path.curve_to(a, b, p));
    path
}

/// Whether a place lies too far out to be one of a drawing.
fn is_far(point: Point) -> bool {
    // Not a number is not near either.
    !(point.x.abs() <= MAX && point.y.abs() <= MAX)
}

/// The ends of pieces, by squares of 1/16 px.
struct Ends {
    /// Numbers of pieces, and whether it is their end.
    squares: HashMap<(i64, i64), Vec<(u32, bool)>>,
}

impl Ends {
    fn square(point: Point) -> (i64, i64) {
        (nearest(point.x / NEAR), nearest(point.y / NEAR))
    }

    fn remove(&mut self, piece: (u32, bool), point: Point) {
        if let Some(list) = self.squares.get_mut(&Self::square(point)) {
            list.retain(|other| *other != piece);
        }
    }

    /// The nearest end to a point, but for those that were taken.
    fn near(&self, point: Point, pieces: &[Piece]) -> Option<(u32, bool)> {
        if is_far(point) {
            return None;
        }
        let (x, y) = Self::square(point);
        let mut best: Option<(f64, (u32, bool))> = None;
        for square in [-1, 0, 1]
            .iter()
            .flat_map(|dy| [-1, 0, 1].map(|dx| (x + dx, y + dy)))
        {
            for &(number, is_end) in self.squares.get(&square).into_iter().flatten().take(MAX_ENDS) {
                let piece = &pieces[number as usize];
                let end = if is_end { piece.to } else { piece.from };
                let distance = libm::hypot(end.x - point.x, end.y - point.y);
                if distance <= NEAR && best.is_none_or(|(least, _)| distance < least) {
                    best = Some((distance, (number, is_end)));
                }
            }
        }
        best.map(|(_, end)| end)
    }
}

/// Pieces whose ends meet, one after the other: those that close, and the rest with the line of the first.
fn join(pieces: Vec<Piece>) -> (BezPath, Vec<(BezPath, u64)>) {
    let mut ends = Ends {
        squares: HashMap::new(),
    };
    for (number, piece) in pieces.iter().enumerate() {
        // What lies too far out is told where it is drawn.
        if is_far(piece.from) || is_far(piece.to) {
            continue;
        }
        for (point, is_end) in [(piece.from, false), (piece.to, true)] {
            let list = ends.squares.entry(Ends::square(point)).or_default();
            // Ends without number at one place join nothing.
            if list.len() < MAX_ENDS {
                list.push((number as u32, is_end));
            }
        }
    }
    let mut used = vec![false; pieces.len()];
    let (mut closed, mut open) = (BezPath::new(), Vec::new());
    for first in 0..pieces.len() {
        if std::mem::replace(&mut used[first], true) {
            continue;
        }
        let piece = &pieces[first];
        ends.remove((first as u32, false), piece.from);
        ends.remove((first as u32, true), piece.to);
        // On from its end, then on from its begin, turned round.
        let mut whole = piece.path.clone();
        let (mut from, mut to) = (piece.from, piece.to);
        let meets = |a: Point, b: Point| libm::hypot(a.x - b.x, a.y - b.y) <= NEAR;
        // Ends that never were apart do not close a curve: many short lines may be one.
        let leaves = |path: &BezPath, from: Point| points(path).any(|point| !meets(point, from));
        let mut has_left = leaves(&whole, from);
        for turned in [false, true] {
            while !(has_left && meets(from, to)) {
                let Some((number, is_end)) = ends.near(to, &pieces) else {
                    break;
                };
                let next = &pieces[number as usize];
                used[number as usize] = true;
                ends.remove((number, false), next.from);
                ends.remove((number, true), next.to);
                let path = if is_end {
                    next.path.reverse_subpaths()
                } else {
                    next.path.clone()
                };
                has_left |= leaves(&path, from);
                whole.extend(path.elements().iter().skip(1).copied());
                to = if is_end { next.from } else { next.to };
            }
            let closes = has_left && meets(from, to);
            if !(turned || closes) {
                whole = whole.reverse_subpaths();
                std::mem::swap(&mut from, &mut to);
            }
        }
        if meets(from, to) {
            whole.close_path();
            closed.extend(whole);
        } else {
            open.push((whole, piece.line));
        }
    }
    (closed, open)
}
