//! Apertures: what is flashed, and macros, by which files define their own.

use std::collections::HashMap;
use std::f64::consts::PI;

use kurbo::{Affine, BezPath, Rect, Shape as _};

use super::words::shown;
use crate::Rule;
use crate::assembly::{apply, turn};
use crate::limits::{Limits, Memory, Refused};
use crate::shapes::{self, arc_tolerance, ellipse_within, polygon, rounded_rectangle};
use crate::sketch::Sketch;
use crate::stroke::PART;

/// Lengths are in units of the file.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Aperture {
    Circle {
        diameter: f64,
        hole: Option<Hole>,
    },
    Rectangle {
        size: (f64, f64),
        hole: Option<Hole>,
    },
    /// Two halves of a disc, joined.
    Obround {
        size: (f64, f64),
        hole: Option<Hole>,
    },
    /// Regular, of so many corners on a circle, the first to the right before it is turned.
    Polygon {
        diameter: f64,
        corners: u32,
        angle: f64,
        hole: Option<Hole>,
    },
    Macro(Vec<Primitive>),
    /// The number of a block.
    Block(u32),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Hole {
    Round(f64),
    Rectangle(f64, f64),
}

/// A part of a macro.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Primitive {
    /// Whether it takes away from what the macro has drawn so far.
    pub(super) clear: bool,
    pub(super) form: Form,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Form {
    Circle {
        centre: (f64, f64),
        diameter: f64,
    },
    Ring {
        centre: (f64, f64),
        outer: f64,
        inner: f64,
    },
    Outline(Vec<(f64, f64)>),
    /// A ring that a cross cuts into four.
    Thermal {
        centre: (f64, f64),
        outer: f64,
        inner: f64,
        gap: f64,
        angle: f64,
    },
}

/// The statements of a macro.
#[derive(Clone, Debug)]
pub(super) struct Macro {
    pub(super) statements: Vec<String>,
}

/// What counts the pairs of dark and clear parts of macros that are looked at, as points.
#[derive(Debug)]
pub(super) struct Pairs {
    left: u64,
    limit: u64,
}

impl Pairs {
    pub(super) const fn new(limits: &Limits) -> Self {
        Self {
            left: limits.points,
            limit: limits.points,
        }
    }

    fn count(&mut self, pairs: usize) -> Result<(), Refused> {
        let left = self.left.checked_sub(pairs as u64);
        self.left = left.ok_or(Refused::Points(self.limit))?;
        Ok(())
    }
}

/// As many points count for a statement of a macro, beside one for each of its bytes.
const STATEMENT: u64 = 16;
/// The bytes that a point of a macro takes, with what holds it.
const POINT: u64 = 64;
/// What a variable takes in a map that grows.
const VARIABLE: u64 = 2 * (size_of::<(u32, f64)>() as u64 + 1);

/// Rings of a moiré.
const MAX_RINGS: u32 = 1_024;
/// Brackets in brackets.
const MAX_DEPTH: u32 = 64;
/// Corners of a regular polygon.
const MAX_CORNERS: f64 = 1_024.0;

impl Aperture {
    /// An aperture of one of the four standard forms.
    pub(super) fn standard(name: &str, numbers: &[f64]) -> Result<Self, String> {
        let least = match name {
            "C" => 1,
            "R" | "O" | "P" => 2,
            _ => 0,
        };
        let most = least + if name == "P" { 3 } else { 2 };
        if !(least..=most).contains(&numbers.len()) {
            return Err(format!(
                "the aperture {name} takes {least} to {most} numbers, but there are {}",
                numbers.len()
            ));
        }
        let lengths = if name == "P" {
            &numbers[..1]
        } else {
            &numbers[..least]
        };
        if let Some(length) = lengths.iter().find(|length| **length < 0.0) {
            return Err(format!(
                "a size of the aperture {name} is {length}; none is below 0"
            ));
        }
        let hole = |from: usize| match numbers.get(from..).unwrap_or_default() {
            [] => Ok(None),
            holes if holes.iter().any(|hole| *hole < 0.0) => {
                Err(format!("the hole of the aperture {name} is smaller than nothing"))
            }
            [diameter] => Ok((*diameter > 0.0).then_some(Hole::Round(*diameter))),
            [width, height, ..] => {
                Ok((*width > 0.0 && *height > 0.0).then_some(Hole::Rectangle(*width, *height)))
            }
        };
        Ok(match name {
            "C" => Self::Circle {
                diameter: numbers[0],
                hole: hole(1)?,
            },
            "R" => Self::Rectangle {
                size: (numbers[0], numbers[1]),
                hole: hole(2)?,
            },
            "O" => Self::Obround {
                size: (numbers[0], numbers[1]),
                hole: hole(2)?,
            },
            _ => Self::Polygon {
                diameter: numbers[0],
                corners: corners(numbers[1])?,
                angle: numbers.get(2).copied().unwrap_or(0.0),
                hole: hole(3)?,
            },
        })
    }

    /// The hole in its middle.
    pub(super) const fn hole(&self) -> Option<Hole> {
        match self {
            Self::Circle { hole, .. }
            | Self::Rectangle { hole, .. }
            | Self::Obround { hole, .. }
            | Self::Polygon { hole, .. } => *hole,
            Self::Macro(_) | Self::Block(_) => None,
        }
    }

    /// Adds it to a sketch, around its origin.
    pub(super) fn sketch(
        &self,
        sketch: &mut Sketch,
        transform: Affine,
        value: u16,
        pairs: &mut Pairs,
    ) -> Result<(), Refused> {
        let tolerance = arc_tolerance(transform);
        let middle = (0.0, 0.0);
        // The outline, and the diameter of a disc that it is sure to hold.
        let (mut path, holds) = match self {
            Self::Circle { diameter, .. } => (disc(middle, *diameter, tolerance), *diameter),
            Self::Rectangle { size, .. } => (centred(*size), size.0.min(size.1)),
            Self::Obround { size, .. } => {
                let short = size.0.min(size.1);
                let corner = (-size.0 / 2.0, -size.1 / 2.0);
                let round = (short / 2.0, short / 2.0);
                (rounded_rectangle(corner, *size, round, tolerance), short)
            }
            Self::Polygon {
                diameter,
                corners,
                angle,
                ..
            } => (
                polygon(&regular(middle, *diameter, *corners, *angle)),
                diameter * libm::cos(PI / f64::from(*corners)),
            ),
            Self::Macro(primitives) => {
                return macros(primitives, sketch, (transform, tolerance), value, pairs);
            }
            Self::Block(_) => return Ok(()),
        };
        let (hole, across) = match self.hole() {
            None => return sketch.fill(&path, transform, value, Rule::NonZero),
            Some(Hole::Round(diameter)) => (disc(middle, diameter, tolerance), diameter),
            Some(Hole::Rectangle(width, height)) => (centred((width, height)), libm::hypot(width, height)),
        };
        if across < holds {
            path.extend(hole);
            return sketch.fill(&path, transform, value, Rule::EvenOdd);
        }
        let without = complement(&hole, &path);
        sketch.fill(&path, transform, value, Rule::NonZero)?;
        sketch.clip(&without, transform, Rule::EvenOdd)
    }
}

impl Form {
    /// Its outline, and the places within it that it does not cover.
    fn paths(&self, tolerance: f64) -> (BezPath, Rule, Option<BezPath>) {
        match self {
            Self::Circle { centre, diameter } => (disc(*centre, *diameter, tolerance), Rule::NonZero, None),
            Self::Outline(points) => (polygon(points), Rule::NonZero, None),
            Self::Ring { centre, outer, inner } => {
                (ring(*centre, *outer, *inner, tolerance), Rule::EvenOdd, None)
            }
            Self::Thermal {
                centre,
                outer,
                inner,
                gap,
                angle,
            } => {
                let (long, half) = (*outer, gap / 2.0);
                let arms = [
                    (long, half),
                    (half, half),
                    (half, long),
                    (-half, long),
                    (-half, half),
                    (-long, half),
                    (-long, -half),
                    (-half, -half),
                    (-half, -long),
                    (half, -long),
                    (half, -half),
                    (long, -half),
                ];
                let turned = arms.map(|arm| {
                    let (x, y) = turned(arm, *angle);
                    (x + centre.0, y + centre.1)
                });
                let cross = (*gap > 0.0).then(|| polygon(&turned));
                (ring(*centre, *outer, *inner, tolerance), Rule::EvenOdd, cross)
            }
        }
    }

    fn points(&self) -> u64 {
        match self {
            Self::Outline(points) => points.len() as u64,
            _ => 16,
        }
    }
}

/// A part that takes away.
struct Clear {
    number: usize,
    path: BezPath,
    bounds: Rect,
    /// The greatest right side of this part and of all that begin farther left.
    reach: f64,
}

/// Adds what a macro draws. A part that is clear takes away from those before it.
fn macros(
    primitives: &[Primitive],
    sketch: &mut Sketch,
    (transform, tolerance): (Affine, f64),
    value: u16,
    pairs: &mut Pairs,
) -> Result<(), Refused> {
    let memory = sketch.memory().clone();
    let mut taken = 0;
    let mut all: Vec<Clear> = Vec::new();
    for (number, primitive) in primitives.iter().enumerate().filter(|(_, part)| part.clear) {
        let (path, ..) = primitive.form.paths(tolerance);
        let bytes = path.elements().len() as u64 * PART;
        memory.take(bytes)?;
        taken += bytes;
        let bounds = path.bounding_box();
        let reach = bounds.x1;
        let clear = Clear {
            number,
            path,
            bounds,
            reach,
        };
        memory.push(&mut all, clear)?;
    }
    all.sort_by(|a, b| a.bounds.x0.total_cmp(&b.bounds.x0));
    for at in 1..all.len() {
        all[at].reach = all[at].reach.max(all[at - 1].reach);
    }
    // Those that a dark part meets, in the order of the file.
    let mut met: Vec<usize> = Vec::new();
    for (number, primitive) in primitives.iter().enumerate().filter(|(_, part)| !part.clear) {
        let (path, rule, cross) = primitive.form.paths(tolerance);
        sketch.fill(&path, transform, value, rule)?;
        let own = path.bounding_box();
        if let Some(cross) = cross {
            sketch.clip(&complement(&cross, &path), transform, Rule::EvenOdd)?;
        }
        let begin = all.partition_point(|clear| clear.reach < own.x0);
        let end = all.partition_point(|clear| clear.bounds.x0 <= own.x1);
        let near = begin..end.max(begin);
        pairs.count(near.len())?;
        met.clear();
        for at in near {
            let clear = &all[at];
            if clear.number > number && own.overlaps(clear.bounds) {
                memory.push(&mut met, at)?;
            }
        }
        met.sort_unstable_by_key(|at| all[*at].number);
        for at in &met {
            sketch.clip(&complement(&all[*at].path, &path), transform, Rule::EvenOdd)?;
        }
    }
    let lists = all.capacity() * size_of::<Clear>() + met.capacity() * size_of::<usize>();
    memory.give(taken + lists as u64);
    Ok(())
}

/// All around two paths, but for the inside of `hole`, under the even-odd rule.
fn complement(hole: &BezPath, path: &BezPath) -> BezPath {
    let both = hole.bounding_box().union(path.bounding_box());
    let margin = both.width().max(both.height());
    let around = both.inflate(margin, margin);
    let mut without = shapes::rectangle((around.x0, around.y0), (around.width(), around.height()));
    without.extend(hole.elements().iter().copied());
    without
}

fn disc(centre: (f64, f64), diameter: f64, tolerance: f64) -> BezPath {
    ellipse_within(centre, (diameter / 2.0, diameter / 2.0), tolerance)
}

fn ring(centre: (f64, f64), outer: f64, inner: f64, tolerance: f64) -> BezPath {
    let mut path = disc(centre, outer, tolerance);
    if inner > 0.0 {
        path.extend(disc(centre, inner, tolerance));
    }
    path
}

fn centred((width, height): (f64, f64)) -> BezPath {
    shapes::rectangle((-width / 2.0, -height / 2.0), (width, height))
}

fn regular(centre: (f64, f64), diameter: f64, corners: u32, angle: f64) -> Vec<(f64, f64)> {
    let corner = |number: u32| {
        let (sin, cos) = turn(angle + 360.0 * f64::from(number) / f64::from(corners));
        (centre.0 + diameter / 2.0 * cos, centre.1 + diameter / 2.0 * sin)
    };
    (0..corners).map(corner).collect()
}

/// Turned around the origin, against the clock.
fn turned(point: (f64, f64), angle: f64) -> (f64, f64) {
    let (sin, cos) = turn(angle);
    apply([cos, sin, -sin, cos], point)
}

fn corners(number: f64) -> Result<u32, String> {
    if libm::floor(number) == number && (3.0..=MAX_CORNERS).contains(&number) {
        Ok(number as u32)
    } else {
        Err(format!(
            "a polygon of {number} corners; there are 3 to {MAX_CORNERS}"
        ))
    }
}

impl Macro {
    /// What it draws with these values of `$1`, `$2`, …; `spent` counts points and statements.
    pub(super) fn primitives(
        &self,
        values: &[f64],
        limits: &Limits,
        memory: &Memory,
        spent: &mut u64,
    ) -> Result<Vec<Primitive>, String> {
        let told = |refused: Refused| refused.to_string();
        let most = values.len().saturating_add(self.statements.len()) as u64;
        memory.room(most * VARIABLE).map_err(told)?;
        let mut variables: HashMap<u32, f64> = (1..).zip(values.iter().copied()).collect();
        let mut primitives = Vec::new();
        for statement in &self.statements {
            // To evaluate one takes time, whether it draws anything or not.
            *spent += STATEMENT + statement.len() as u64;
            if *spent > limits.points {
                return Err(format!(
                    "macros come to more than {} points; for each aperture that has a macro every statement of it counts as {STATEMENT} and its \
                     bytes. Define fewer apertures by it, leave out statements that draw nothing, or raise the limit",
                    limits.points
                ));
            }
            let statement = statement.trim();
            if statement.is_empty()
                || statement == "0"
                || statement.starts_with("0 ")
                || statement.starts_with("0,")
            {
                continue;
            }
            let inside = |what: String| format!("{what}, in {:?}", shown(statement));
            if let Some((name, value)) = statement.strip_prefix('$').and_then(|rest| rest.split_once('=')) {
                let number = name.trim().parse::<u32>();
                let number = number.map_err(|_| inside("no number of a variable".to_owned()))?;
                let value = evaluate(value, &variables).map_err(inside)?;
                variables.insert(number, value);
                continue;
            }
            let numbers: Vec<f64> = statement
                .split(',')
                .map(|number| evaluate(number, &variables))
                .collect::<Result<_, _>>()
                .map_err(inside)?;
            let before = primitives.len();
            primitive(&numbers, &mut primitives).map_err(inside)?;
            let points: u64 = primitives[before..]
                .iter()
                .map(|part: &Primitive| part.form.points())
                .sum();
            memory.take(points * POINT).map_err(told)?;
            *spent += points;
            if *spent > limits.points {
                return Err(Refused::Points(limits.points).to_string());
            }
        }
        Ok(primitives)
    }
}

/// Adds a primitive of a macro by its code and the numbers after it.
fn primitive(numbers: &[f64], out: &mut Vec<Primitive>) -> Result<(), String> {
    let (code, numbers) = (numbers[0], &numbers[1..]);
    // How many numbers there are without an angle, which may be left out.
    let count = match code {
        1.0 => 4,
        2.0 | 20.0 => 6,
        21.0 | 22.0 => 5,
        4.0 => {
            let sides = numbers.get(1).copied().unwrap_or(0.0);
            if !(libm::floor(sides) == sides && (1.0..=1e6).contains(&sides)) {
                return Err(format!("an outline of {sides} sides"));
            }
            2 + 2 * (sides as usize + 1)
        }
        5.0 => 5,
        6.0 => 8,
        7.0 => 5,
        _ => {
            return Err(format!(
                "there is no primitive {code}; there are 1, 2, 4, 5, 6, 7, 20, 21 and 22"
            ));
        }
    };
    if numbers.len() < count || numbers.len() > count + 1 {
        return Err(format!(
            "the primitive {code} takes {count} numbers and an angle, but there are {}",
            numbers.len()
        ));
    }
    let angle = numbers.get(count).copied().unwrap_or(0.0);
    let length = |at: usize| match numbers[at] {
        length if length >= 0.0 => Ok(length),
        length => Err(format!(
            "a size of the primitive {code} is {length}; none is below 0"
        )),
    };
    let place = |at: usize| turned((numbers[at], numbers[at + 1]), angle);
    let four = |corners: [(f64, f64); 4]| Form::Outline(corners.map(|corner| turned(corner, angle)).to_vec());
    let box_of = |(x, y): (f64, f64), (width, height): (f64, f64)| {
        four([(x, y), (x + width, y), (x + width, y + height), (x, y + height)])
    };
    let clear = match code {
        6.0 | 7.0 => false,
        _ => match numbers[0] {
            0.0 => true,
            1.0 => false,
            other => return Err(format!("an exposure of {other}; it is 0 or 1")),
        },
    };
    let form = match code {
        1.0 => Form::Circle {
            centre: place(2),
            diameter: length(1)?,
        },
        2.0 | 20.0 => {
            let (from, to) = ((numbers[2], numbers[3]), (numbers[4], numbers[5]));
            let (dx, dy) = (to.0 - from.0, to.1 - from.1);
            let far = libm::hypot(dx, dy);
            if far == 0.0 {
                return Ok(());
            }
            let half = length(1)? / 2.0 / far;
            let (x, y) = (-dy * half, dx * half);
            four([
                (from.0 + x, from.1 + y),
                (from.0 - x, from.1 - y),
                (to.0 - x, to.1 - y),
                (to.0 + x, to.1 + y),
            ])
        }
        21.0 => {
            let (width, height) = (length(1)?, length(2)?);
            box_of(
                (numbers[3] - width / 2.0, numbers[4] - height / 2.0),
                (width, height),
            )
        }
        22.0 => box_of((numbers[3], numbers[4]), (length(1)?, length(2)?)),
        5.0 => {
            let corners = corners(numbers[1])?;
            let points = regular((numbers[2], numbers[3]), length(4)?, corners, 0.0);
            Form::Outline(points.into_iter().map(|point| turned(point, angle)).collect())
        }
        7.0 => {
            let (outer, inner, gap) = (length(2)?, length(3)?, length(4)?);
            if inner >= outer {
                return Err(format!(
                    "a thermal whose hole of {inner} is as large as its ring of {outer}"
                ));
            }
            Form::Thermal {
                centre: place(0),
                outer,
                inner,
                gap,
                angle,
            }
        }
        6.0 => {
            moire(numbers, angle, out)?;
            return Ok(());
        }
        _ => Form::Outline(
            (0..(numbers[1] as usize + 1))
                .map(|corner| place(2 + 2 * corner))
                .collect(),
        ),
    };
    out.push(Primitive { clear, form });
    Ok(())
}

/// Rings in each other, and a cross.
fn moire(numbers: &[f64], angle: f64, out: &mut Vec<Primitive>) -> Result<(), String> {
    let sizes = [2, 3, 4, 5, 6, 7].map(|at| numbers[at]);
    if let Some(size) = sizes.iter().find(|size| **size < 0.0) {
        return Err(format!("a size of the primitive 6 is {size}; none is below 0"));
    }
    let [mut outer, thick, gap, rings, width, length] = sizes;
    if !(libm::floor(rings) == rings && rings <= f64::from(MAX_RINGS)) {
        return Err(format!("a moiré of {rings} rings; there are at most {MAX_RINGS}"));
    }
    let centre = turned((numbers[0], numbers[1]), angle);
    let mut add = |form: Form| out.push(Primitive { clear: false, form });
    for _ in 0..rings as u32 {
        if outer <= 0.0 {
            break;
        }
        add(Form::Ring {
            centre,
            outer,
            inner: outer - 2.0 * thick,
        });
        outer -= 2.0 * (thick + gap);
    }
    for (across, down) in [(length, width), (width, length)] {
        let (x, y) = (numbers[0], numbers[1]);
        let (half, high) = (across / 2.0, down / 2.0);
        let corners = [
            (x - half, y - high),
            (x + half, y - high),
            (x + half, y + high),
            (x - half, y + high),
        ];
        add(Form::Outline(
            corners.map(|corner| turned(corner, angle)).to_vec(),
        ));
    }
    Ok(())
}

/// The value of an expression: numbers, variables, `+`, `-`, `x`, `/` and brackets.
fn evaluate(text: &str, variables: &HashMap<u32, f64>) -> Result<f64, String> {
    let mut reader = Expression {
        text: text.as_bytes(),
        at: 0,
        depth: 0,
        variables,
    };
    let value = reader.sum()?;
    reader.skip();
    if reader.at < reader.text.len() {
        return Err(format!("{:?} is no expression", shown(text.trim())));
    }
    if value.is_finite() {
        Ok(value)
    } else {
        Err(format!("{:?} is no number", shown(text.trim())))
    }
}

struct Expression<'a> {
    text: &'a [u8],
    at: usize,
    depth: u32,
    variables: &'a HashMap<u32, f64>,
}

impl Expression<'_> {
    fn skip(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn take(&mut self, any: &[u8]) -> Option<u8> {
        self.skip();
        let byte = *self.text.get(self.at)?;
        if any.contains(&byte) {
            self.at += 1;
            return Some(byte);
        }
        None
    }

    fn sum(&mut self) -> Result<f64, String> {
        let mut value = self.product()?;
        while let Some(sign) = self.take(b"+-") {
            let next = self.product()?;
            value = if sign == b'+' { value + next } else { value - next };
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut value = self.signed()?;
        while let Some(sign) = self.take(b"xX/") {
            let next = self.signed()?;
            if sign == b'/' && next == 0.0 {
                return Err("a division by 0".to_owned());
            }
            value = if sign == b'/' { value / next } else { value * next };
        }
        Ok(value)
    }

    fn signed(&mut self) -> Result<f64, String> {
        let mut minus = false;
        while let Some(sign) = self.take(b"+-") {
            minus ^= sign == b'-';
        }
        let value = self.value()?;
        Ok(if minus { -value } else { value })
    }

    fn value(&mut self) -> Result<f64, String> {
        if self.take(b"(").is_some() {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(format!("brackets are nested more than {MAX_DEPTH} deep"));
            }
            let value = self.sum()?;
            self.depth -= 1;
            return match self.take(b")") {
                Some(_) => Ok(value),
                None => Err("a bracket that is not closed".to_owned()),
            };
        }
        let variable = self.take(b"$").is_some();
        let start = self.at;
        while self
            .text
            .get(self.at)
            .is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.')
        {
            self.at += 1;
        }
        let digits = std::str::from_utf8(&self.text[start..self.at]).unwrap_or_default();
        let wrong = || {
            format!(
                "{:?} is no expression",
                shown(&String::from_utf8_lossy(self.text))
            )
        };
        if variable {
            let number = digits.parse::<u32>().map_err(|_| wrong())?;
            // What was given no value is 0.
            return Ok(self.variables.get(&number).copied().unwrap_or(0.0));
        }
        digits.parse::<f64>().map_err(|_| wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_keep_the_order_of_arithmetic() {
        let variables = HashMap::from([(1, 3.0), (2, 0.5)]);
        let value = |text: &str| evaluate(text, &variables);
        assert_eq!(value("1+2x3"), Ok(7.0));
        assert_eq!(value("(1+2)X$1"), Ok(9.0));
        assert_eq!(value("8/2/2"), Ok(2.0));
        assert_eq!(value("-$1-(-$2)"), Ok(-2.5));
        assert_eq!(value(" .5 x $1 "), Ok(1.5));
        assert_eq!(value("$7"), Ok(0.0));
        for wrong in [
            "", "1+", "(1", "1)", "1/0", "1/$9", "2**3", "$", "1e3", "1..2", "a",
        ] {
            assert!(value(wrong).is_err(), "{wrong:?}");
        }
        let deep = "(".repeat(100_000);
        assert!(value(&deep).is_err());
    }

    #[test]
    fn a_variable_takes_its_value_where_it_stands() {
        let law = Macro {
            statements: [
                "0 two discs",
                "$3=$1/2",
                "1,1,$3,$2,0",
                "$3=$3x4",
                "1,1,$3,-$2,0,90",
            ]
            .map(str::to_owned)
            .to_vec(),
        };
        let limits = Limits::default();
        let memory = Memory::new(&limits);
        let parts = law.primitives(&[2.0, 5.0], &limits, &memory, &mut 0).unwrap();
        let disc = |centre, diameter| Primitive {
            clear: false,
            form: Form::Circle { centre, diameter },
        };
        assert_eq!(parts, [disc((5.0, 0.0), 1.0), disc((0.0, -5.0), 4.0)]);
    }
}
