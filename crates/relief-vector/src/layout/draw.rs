//! A cell of a layout as a drawing.

use std::collections::HashMap;

use kurbo::{Affine, BezPath, PathEl, Point, Vec2};

use super::Error;
use super::library::{Library, Path, Reference, Shape, Step};
use crate::assembly::{Linear, product, turn};
use crate::drawing::{Cell, Drawing, Element, Lattice, Placement, spread};
use crate::flatten::{coarsened, cubic, fine, nearest, quadratic};
use crate::length::gcd;
use crate::limits::{Memory, Refused};
use crate::stroke::{Cap, Join, Stroke, closed, outline, turned};
use crate::{Pixel, Rule};

pub use crate::assembly::Origin;

/// How a layout is drawn.
#[derive(Clone, Debug)]
pub struct Options {
    /// The side of a pixel.
    pub pixel: Pixel,
    /// Where it lies; its box is that of the cell over all layers.
    pub origin: Origin,
    /// The name of the cell; none for the only one that no other places.
    pub cell: Option<String>,
    /// The gray of all elements, of 65 535.
    pub value: u16,
}

/// A drawn layout.
#[derive(Debug)]
pub struct Layout {
    /// The outlines.
    pub drawing: Drawing,
    /// The box of the cell over all layers, in database units with y up: (left, bottom, right, top). Rounded outwards where
    /// cells are turned by other than quarter turns. `None` where it is empty.
    pub extent: Option<(i64, i64, i64, i64)>,
    /// Columns and rows of the box of the cell over all layers.
    pub size: Option<(u64, u64)>,
    /// How many columns right of the origin of the file and rows above it the cell reaches over all layers.
    pub reach: Option<(u64, u64)>,
}

/// The numbers of the drawing: a database unit is `above` of 1/(256·Q) px, Q being `below`.
#[derive(Clone, Copy)]
struct Scale {
    above: i128,
    below: i128,
}

/// 1/(256·Q) px is at least this often finer than 1/256 px where points are not exact.
const FINER: i128 = 1_024;
const MAX_BELOW: i128 = 1 << 24;

/// What an entry of the cells that are known takes in their map.
const KNOWN: u64 = 2 * (size_of::<((u32, [u64; 4]), u32)>() as u64 + 1);

impl Library {
    /// Draws a cell.
    ///
    /// # Errors
    /// Where there is no such cell, cells contain themselves, the unit does not suit the pixel, or it is too large.
    pub fn draw(&self, options: &Options) -> Result<Layout, Error> {
        let root = self.root(options.cell.as_deref())?;
        let scale = self.scale(options, root)?;
        let mut drawer = Drawer {
            library: self,
            scale,
            value: options.value,
            known: HashMap::new(),
            boxes: Vec::new(),
            open: vec![false; self.structures.len()],
            items: 0,
            looked: 0,
            memory: self.memory.fork(),
            drawing: Drawing {
                denominator: scale.below as u32,
                points: Vec::new(),
                ends: Vec::new(),
                cells: Vec::new(),
            },
        };
        let number = drawer.cell(root, [1.0, 0.0, 0.0, -1.0], 0)?;
        let whole = drawer.boxes[number as usize];
        let unit = 256 * scale.below;
        let origin = match (options.origin, whole) {
            (Origin::Datum { height }, _) => (0, narrow(i128::from(height) * unit)?),
            (Origin::Box, Some(b)) => (-b.0, -b.1),
            (Origin::Box, None) => (0, 0),
        };
        let down = |n: i64| (i128::from(n)).div_euclid(scale.above) as i64;
        let up = |n: i64| -((-i128::from(n)).div_euclid(scale.above)) as i64;
        let extent = whole.map(|b| (down(b.0), -up(b.3), up(b.2), -down(b.1)));
        let pixels = |n: i64| {
            let n = i128::from(n);
            u64::try_from(n.div_euclid(unit) + i128::from(n.rem_euclid(unit) > 0)).unwrap_or(0)
        };
        let size = whole.map(|b| (pixels(b.2 - b.0), pixels(b.3 - b.1)));
        let reach = whole.map(|b| (pixels(b.2), pixels(-b.1)));
        let mut drawing = drawer.drawing;
        drawing.cells.push(Cell {
            placements: vec![Placement {
                cell: number,
                lattice: Lattice::single(origin),
            }],
            ..Cell::default()
        });
        Ok(Layout {
            drawing,
            extent,
            size,
            reach,
        })
    }

    /// The layers of a cell, or of the only one that no other places, and of all that it places, ascending; those on which nothing lies are not among them.
    ///
    /// # Errors
    /// Where there is no such cell, or no memory to count.
    pub fn layers(&self, cell: Option<&str>) -> Result<Vec<super::Layer>, Error> {
        Ok(self.layers_of(self.root(cell)?)?)
    }

    fn root(&self, name: Option<&str>) -> Result<u32, Error> {
        if let Some(name) = name {
            return self.find(name);
        }
        let tops = self.tops();
        match tops[..] {
            [top] => self.find(top),
            [] => match self.cells().next() {
                Some(first) => Err(Error::Loop(first.to_owned())),
                None => Err(Error::Empty),
            },
            _ => Err(Error::ManyTops {
                count: tops.len(),
                names: some(tops.iter().copied()),
            }),
        }
    }

    fn find(&self, name: &str) -> Result<u32, Error> {
        let number = self.names.get(name).copied().ok_or_else(|| self.no_cell(name))?;
        self.there(number)
    }

    /// The number of a structure that the file holds.
    fn there(&self, number: u32) -> Result<u32, Error> {
        let structure = &self.structures[number as usize];
        match &structure.name {
            Some(name) if !structure.is_defined => Err(self.no_cell(name)),
            _ => Ok(number),
        }
    }

    fn no_cell(&self, name: &str) -> Error {
        Error::NoCell {
            name: name.to_owned(),
            known: some(self.cells()),
        }
    }

    /// The database unit as a fraction of the pixel, fine enough for all that `root` places.
    fn scale(&self, options: &Options, root: u32) -> Result<Scale, Error> {
        let refused = Error::Unit {
            unit: self.unit.metres,
        };
        let unit = self.unit.exact.or_else(|| decimal(self.unit.metres));
        let Some((above, below)) = unit.and_then(|(n, d)| options.pixel.pixels_in(n, d)) else {
            return Err(refused);
        };
        let common = gcd(256, below);
        let (above, below) = (above.checked_mul(256 / common), below / common);
        let (Some(above), true) = (above, below <= MAX_BELOW as u128) else {
            return Err(refused);
        };
        // What is reachable decides whether points stay whole.
        let (mut seen, mut open) = (vec![false; self.structures.len()], vec![root]);
        let (mut exact, mut divisor) = (true, 1_i128);
        while let Some(number) = open.pop() {
            if std::mem::replace(&mut seen[number as usize], true) {
                continue;
            }
            let structure = &self.structures[number as usize];
            exact &= structure.shapes.iter().all(|shape| shape.path.is_none());
            for reference in &structure.references {
                let linear = reference.linear();
                exact &= linear
                    .iter()
                    .all(|v| libm::floor(*v) == *v && v.abs() <= 1_048_576.0);
                for (_, step) in reference.steps() {
                    for v in [step.way.0, step.way.1] {
                        let parts = i128::from(step.parts);
                        let share = parts / gcd(parts as u128, i128::from(v).unsigned_abs()) as i128;
                        divisor = divisor / gcd(divisor as u128, share as u128) as i128 * share;
                        if divisor > MAX_BELOW {
                            return Err(refused);
                        }
                    }
                }
                let number = self.there(reference.cell)?;
                if !seen[number as usize] {
                    open.push(number);
                }
            }
        }
        let mut finer = divisor;
        if !exact {
            let mut more = FINER;
            while more > 2 && below as i128 * divisor * more > MAX_BELOW {
                more /= 2;
            }
            finer *= more;
        }
        let (above, below) = (above as i128 * finer, below as i128 * finer);
        if below > MAX_BELOW || above > 1 << 62 {
            return Err(refused);
        }
        Ok(Scale { above, below })
    }
}

/// The first few of many names.
fn some<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names = names.take(9).map(|name| format!("{name:?}")).collect::<Vec<_>>();
    if names.len() == 9 {
        names[8] = "…".into();
    }
    if names.is_empty() {
        "none".into()
    } else {
        names.join(", ")
    }
}

/// A length to 15 digits as a fraction: files hold 10^-9 as the nearest number of base 16.
fn decimal(value: f64) -> Option<(u64, u64)> {
    let text = format!("{value:.14e}");
    let (digits, exponent) = text.split_once('e')?;
    let mut digits: u64 = digits.replace('.', "").parse().ok()?;
    let mut exponent = exponent.parse::<i32>().ok()? - 14;
    while exponent < 0 && digits % 10 == 0 {
        digits /= 10;
        exponent += 1;
    }
    let power = 10_u64.checked_pow(exponent.unsigned_abs())?;
    if exponent < 0 {
        Some((digits, power))
    } else {
        Some((digits.checked_mul(power)?, 1))
    }
}

fn narrow(n: i128) -> Result<i64, Error> {
    // Sums of a few stay in range.
    if n.abs() > 1 << 60 {
        return Err(Refused::Far(n as f64, 0.0).into());
    }
    Ok(n as i64)
}

impl Reference {
    /// Mirrored at the x axis, magnified, turned.
    fn linear(&self) -> Linear {
        let (sin, cos) = turn(self.angle);
        let (m, flip) = (self.magnification, if self.mirrored { -1.0 } else { 1.0 });
        [m * cos, m * sin, -m * sin * flip, m * cos * flip]
    }

    /// Of an array the count and the step along each direction.
    fn steps(&self) -> impl Iterator<Item = (u32, Step)> {
        self.array
            .iter()
            .flat_map(|array| [(array.columns, array.across), (array.rows, array.down)])
    }
}

struct Drawer<'a> {
    library: &'a Library,
    scale: Scale,
    value: u16,
    /// A cell of the drawing for each structure and matrix.
    known: HashMap<(u32, [u64; 4]), u32>,
    /// The box of each cell over all layers.
    boxes: Vec<Option<(i64, i64, i64, i64)>>,
    /// Structures that are being drawn.
    open: Vec<bool>,
    items: u64,
    /// Points of all shapes, drawn or not, once for each way in which their cell lies.
    looked: u64,
    memory: Memory,
    drawing: Drawing,
}

/// Shapes of layers that are not drawn make the box as well, and that takes time. Where each point that may be drawn comes with this many
/// that are not, a layout is refused.
const MAX_LOOKED: u64 = 8;

impl Drawer<'_> {
    /// The number of the cell that draws a structure with a matrix.
    fn cell(&mut self, number: u32, linear: Linear, depth: u32) -> Result<u32, Error> {
        let key = (number, linear.map(f64::to_bits));
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let library = self.library;
        let structure = &library.structures[number as usize];
        if depth >= library.limits.depth {
            return Err(Error::Depth(library.limits.depth));
        }
        if std::mem::replace(&mut self.open[number as usize], true) {
            return Err(Error::Loop(library.name(number).to_owned()));
        }
        let mut cell = Cell {
            name: structure.name.clone(),
            ..Cell::default()
        };
        let mut own = None;
        for shape in &structure.shapes {
            self.shape(shape, linear, &mut cell, &mut own)?;
        }
        for reference in &structure.references {
            let inner = library.there(reference.cell)?;
            // A part of a cell is no depth that its file has.
            let deeper = u32::from(library.structures[inner as usize].name.is_some());
            let child = self.cell(inner, product(linear, reference.linear()), depth + deeper)?;
            self.count()?;
            let lattice = self.lattice(reference, linear)?;
            if let Some(inner) = self.boxes[child as usize] {
                let b = spread(inner, &lattice);
                for v in [b.0, b.1, b.2, b.3] {
                    narrow(i128::from(v))?;
                }
                include(&mut own, (b.0, b.1));
                include(&mut own, (b.2, b.3));
            }
            let placement = Placement { cell: child, lattice };
            self.memory.push(&mut cell.placements, placement)?;
        }
        self.open[number as usize] = false;
        let place = self.drawing.cells.len() as u32;
        self.memory.push(&mut self.drawing.cells, cell)?;
        self.memory.push(&mut self.boxes, own)?;
        self.count()?;
        self.memory.take(KNOWN)?;
        self.known.insert(key, place);
        Ok(place)
    }

    fn count(&mut self) -> Result<(), Error> {
        self.items += 1;
        let limit = self.library.limits.items;
        if self.items > limit {
            Err(Refused::Items(limit).into())
        } else {
            Ok(())
        }
    }

    /// The matrix in 1/(256·Q) px, where it is of whole numbers and no point that a file can hold leaves 2^60.
    fn whole(&self, linear: Linear) -> Option<[i64; 4]> {
        let above = i64::try_from(self.scale.above).ok()?;
        let mut whole = [0; 4];
        for (entry, v) in whole.iter_mut().zip(linear) {
            if libm::floor(v) != v || v.abs() > 1_048_576.0 {
                return None;
            }
            *entry = (v as i64).checked_mul(above)?;
            // Twice this times 2^31.
            if entry.unsigned_abs() > 1 << 28 {
                return None;
            }
        }
        Some(whole)
    }

    /// A vector of database units in 1/(256·Q) px, exactly where the matrix is of whole numbers.
    fn placed(&self, linear: Linear, (x, y): (i64, i64), divisor: i64) -> Result<(i64, i64), Error> {
        let whole = linear
            .iter()
            .all(|v| libm::floor(*v) == *v && v.abs() <= 1_048_576.0);
        let along = |a: f64, c: f64| {
            if whole {
                let sum = a as i128 * i128::from(x) + c as i128 * i128::from(y);
                return narrow((sum * self.scale.above).div_euclid(i128::from(divisor)));
            }
            let value = (a * x as f64 + c * y as f64) * (self.scale.above as f64) / divisor as f64;
            if value.abs() > 1e18 {
                Err(Refused::Far(value, 0.0).into())
            } else {
                narrow(nearest(value).into())
            }
        };
        Ok((along(linear[0], linear[2])?, along(linear[1], linear[3])?))
    }

    fn lattice(&self, reference: &Reference, linear: Linear) -> Result<Lattice, Error> {
        let mut lattice = Lattice::single(self.placed(linear, reference.at, 1)?);
        for (which, (count, step)) in reference.steps().enumerate() {
            let step = self.placed(linear, step.way, i64::from(step.parts))?;
            if which == 0 {
                (lattice.columns, lattice.u) = (count, step);
            } else {
                (lattice.rows, lattice.v) = (count, step);
            }
        }
        Ok(lattice)
    }

    fn shape(
        &mut self,
        shape: &Shape,
        linear: Linear,
        cell: &mut Cell,
        own: &mut Option<(i64, i64, i64, i64)>,
    ) -> Result<(), Error> {
        let library = self.library;
        let points = &library.points[shape.points.start as usize..shape.points.end as usize];
        let start = self.drawing.points.len();
        let first = self.drawing.ends.len() as u32;
        self.looked += points.len() as u64;
        if let Some(path) = &shape.path {
            self.path(path, points, linear)?;
        } else {
            if let Some([a, b, c, d]) = self.whole(linear) {
                for &(x, y) in points {
                    let (x, y) = (i64::from(x), i64::from(y));
                    self.point((a * x + c * y, b * x + d * y))?;
                }
            } else {
                for point in points {
                    let point = self.placed(linear, (point.0.into(), point.1.into()), 1)?;
                    self.point(point)?;
                }
            }
            self.end()?;
        }
        for point in &self.drawing.points[start..] {
            include(own, *point);
        }
        // The outline of a path has more points than its line.
        self.looked += (self.drawing.points.len() - start).saturating_sub(points.len()) as u64;
        if self.looked / MAX_LOOKED > library.limits.points {
            return Err(Refused::Points(library.limits.points).into());
        }
        if !shape.drawn {
            self.drawing.points.truncate(start);
            self.drawing.ends.truncate(first as usize);
        } else if self.drawing.ends.len() as u32 > first {
            self.count()?;
            let element = Element {
                value: self.value,
                rule: Rule::NonZero,
                clip: false,
                outlines: first..self.drawing.ends.len() as u32,
            };
            self.memory.push(&mut cell.elements, element)?;
        }
        Ok(())
    }

    fn point(&mut self, point: (i64, i64)) -> Result<(), Error> {
        let limit = self.library.limits.points.min(1 << 31);
        if self.drawing.points.len() as u64 >= limit {
            return Err(Refused::Points(limit).into());
        }
        self.memory.push(&mut self.drawing.points, point)?;
        Ok(())
    }

    fn end(&mut self) -> Result<(), Error> {
        let begun = self.drawing.ends.last().copied().unwrap_or(0) as usize;
        if self.drawing.points.len() - begun >= 3 {
            let end = self.drawing.points.len() as u32;
            self.memory.push(&mut self.drawing.ends, end)?;
        } else {
            self.drawing.points.truncate(begun);
        }
        Ok(())
    }

    /// The outline of a line: ends as its type says, corners pointed up to a right angle, else cut off half a width beyond. A line of no length lies
    /// level.
    fn path(&mut self, path: &Path, points: &[(i32, i32)], linear: Linear) -> Result<(), Error> {
        // A stroke takes this for a while.
        self.memory
            .room(points.len() as u64 * 2 * crate::stroke::STROKED)?;
        let [a, b, c, d] = linear;
        let transform = Affine::new([a, b, c, d, 0.0, 0.0]);
        let mut width = path.width as f64;
        if width < 0.0 {
            width = -width / libm::hypot(a, b);
        }
        let mut line: Vec<Point> = points
            .iter()
            .map(|(x, y)| Point::new(f64::from(*x), f64::from(*y)))
            .collect();
        line.dedup();
        if path.ends == 4 {
            let (before, after) = (path.before as f64, path.after as f64);
            if let [only] = line[..] {
                line = vec![
                    Point::new(only.x - before, only.y),
                    Point::new(only.x + after, only.y),
                ];
                line.dedup();
            } else {
                extend(&mut line, before, after);
            }
        }
        let mut look = Stroke::solid(width);
        look.cap = match path.ends {
            1 => Cap::Round,
            2 => Cap::Square,
            _ => Cap::Butt,
        };
        look.join = Join::Miter;
        // A right angle has a miter of √2 widths.
        look.miter_limit = 1.415;
        let mut track = BezPath::new();
        for (number, point) in line.iter().enumerate() {
            if number == 0 {
                track.move_to(*point)
            } else {
                track.line_to(*point)
            }
        }
        if line.len() == 1 {
            track.line_to(line[0]);
        }
        let unit = self.scale.above as f64 / (256.0 * self.scale.below as f64);
        let to_pixels = Affine::scale(unit) * transform;
        let limit = self.library.limits.points;
        let is_sharp = |part: &[Point]| (part[1] - part[0]).dot(part[2] - part[1]) < 0.0;
        if !line.windows(3).any(is_sharp) {
            let outlines = outline(&track, &look, to_pixels, limit)?;
            return self.outlines(&outlines, transform, unit);
        }
        // Ends that are round are lines of no length.
        let mut outlines = BezPath::new();
        if look.cap == Cap::Round {
            for end in [line[0], line[line.len() - 1]] {
                let mut dot = BezPath::new();
                dot.move_to(end);
                dot.line_to(end);
                turned(outline(&dot, &look, to_pixels, limit)?, &mut outlines);
            }
        }
        if look.cap == Cap::Square {
            extend(&mut line, width / 2.0, width / 2.0);
        }
        pieces(&line, width / 2.0, &mut outlines);
        self.outlines(&outlines, transform, unit)
    }

    /// Adds a path in database units: corners to 1/(256·Q) px, curves halved in 2^-16 px.
    fn outlines(&mut self, path: &BezPath, transform: Affine, unit: f64) -> Result<(), Error> {
        let above = self.scale.above as f64;
        let below = self.scale.below;
        let corner = |p: Point| -> Result<(i64, i64), Error> {
            let p = transform * p;
            fine(Point::new(p.x * unit, p.y * unit))?;
            Ok((nearest(p.x * above), nearest(p.y * above)))
        };
        let soft = |p: Point| {
            let p = transform * p;
            fine(Point::new(p.x * unit, p.y * unit))
        };
        let numbers = |p: (i64, i64)| {
            // Where Q is small 1/256 px is all there is.
            let p = if below < 256 {
                let p = coarsened(p);
                (p.0 << 8, p.1 << 8)
            } else {
                p
            };
            let wide = |v: i64| ((i128::from(v) * below * 2 + 256).div_euclid(512)) as i64;
            (wide(p.0), wide(p.1))
        };
        let mut at = Point::ZERO;
        for element in path.elements() {
            match *element {
                PathEl::MoveTo(p) => {
                    self.end()?;
                    at = p;
                    self.point(corner(p)?)?;
                }
                PathEl::LineTo(p) => {
                    at = p;
                    self.point(corner(p)?)?;
                }
                PathEl::QuadTo(a, p) => {
                    let curve = [soft(at)?, soft(a)?, soft(p)?];
                    quadratic(curve, 0, &mut |p| self.point(numbers(p)))?;
                    at = p;
                    self.point(corner(p)?)?;
                }
                PathEl::CurveTo(a, b, p) => {
                    let curve = [soft(at)?, soft(a)?, soft(b)?, soft(p)?];
                    cubic(curve, 0, &mut |p| self.point(numbers(p)))?;
                    at = p;
                    self.point(corner(p)?)?;
                }
                PathEl::ClosePath => self.end()?,
            }
        }
        self.end()?;
        Ok(())
    }
}

/// Adds a line of flat ends in pieces that are united: a rectangle for each side, and what lies beyond the rectangles at each corner. Up to a right
/// angle that is a point. At a sharper corner both sides go on by half a width, and what joins their ends cuts the corner off; where the line
/// turns back, that is half a square.
fn pieces(line: &[Point], half: f64, out: &mut BezPath) {
    if half == 0.0 {
        return;
    }
    let along = |from: Point, to: Point| (to - from) / libm::hypot(to.x - from.x, to.y - from.y);
    let left = |way: Vec2| Vec2::new(-way.y, way.x) * half;
    for side in line.windows(2) {
        let [from, to] = [side[0], side[1]];
        if from == to {
            continue;
        }
        let across = left(along(from, to));
        turned(
            closed(&[from - across, to - across, to + across, from + across]),
            out,
        );
    }
    for corner in line.windows(3) {
        let [from, at, to] = [corner[0], corner[1], corner[2]];
        if from == at || at == to {
            continue;
        }
        let (one, two) = (along(from, at), along(at, to));
        let sign = if one.cross(two) > 0.0 { -1.0 } else { 1.0 };
        let (before, after) = (at + left(one) * sign, at + left(two) * sign);
        if one.dot(two) < 0.0 {
            turned(
                closed(&[at, before, before + one * half, after - two * half, after]),
                out,
            );
        } else {
            // The tangent of half the angle by which it turns.
            let beyond = one.cross(two).abs() / (1.0 + one.dot(two));
            turned(closed(&[at, before, before + one * (half * beyond), after]), out);
        }
    }
}

/// Moves the ends of a line outwards.
fn extend(line: &mut [Point], before: f64, after: f64) {
    let count = line.len();
    if count < 2 {
        return;
    }
    let out = |from: Point, to: Point, by: f64| {
        let length = libm::hypot(to.x - from.x, to.y - from.y);
        Point::new(
            to.x + (to.x - from.x) / length * by,
            to.y + (to.y - from.y) / length * by,
        )
    };
    let (first, last) = (
        out(line[1], line[0], before),
        out(line[count - 2], line[count - 1], after),
    );
    line[0] = first;
    line[count - 1] = last;
}

fn include(own: &mut Option<(i64, i64, i64, i64)>, (x, y): (i64, i64)) {
    let b = own.unwrap_or((x, y, x, y));
    *own = Some((b.0.min(x), b.1.min(y), b.2.max(x), b.3.max(y)));
}
