//! `rectangle`, `marks`, `line` and `path` of straight sides: their outlines in exact fractions, each point rounded once. What they cover is counted
//! as of any outlines. Round corners, caps and curves are chords that only the flattening of the engine knows, and are none of these.

use proptest::prelude::*;
use proptest::sample::select;

use super::outlines::{Law, Placed};
use super::polygon::rounded;
use super::{Node, Weighted};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Model, NaturalSize};
use crate::oracle::strategy::samples;

/// Left, top, right and bottom in parts of a pixel, which [`Shape::below`] says.
type Sides = [i64; 4];

/// What all of them have.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    value: u16,
    centres: bool,
    /// A pixel has so many parts.
    below: i64,
    /// Where it lies, in parts.
    shift: (i64, i64),
    /// Its sides, in parts.
    size: (i64, i64),
}

impl Shape {
    fn any(max: u16) -> impl Strategy<Value = Self> {
        let below = select(&[1_i64, 2, 3, 7, 64]);
        (samples(max), proptest::bool::weighted(0.2), below).prop_flat_map(|(value, centres, below)| {
            let side = move || 1..=14 * below;
            let shift = move || prop_oneof![1 => Just(0), 1 => -6 * below..9 * below];
            ((shift(), shift()), (side(), side())).prop_map(move |(shift, size)| Self {
                value,
                centres,
                below,
                // Some of it lies beyond the upper left of the node, so that it has a natural size.
                shift: (shift.0.max(1 - size.0), shift.1.max(1 - size.1)),
                size,
            })
        })
    }

    /// A length in parts, as text.
    fn length(&self, parts: i64) -> String {
        format!("\"{parts}/{}\"", self.below)
    }

    fn ending(&self) -> String {
        let antialias = if self.centres { " antialias=\"none\"" } else { "" };
        format!(" value={}{antialias}", self.value)
    }

    fn properties(&self) -> String {
        format!(
            " size-x={} size-y={} shift-x={} shift-y={}{}",
            self.length(self.size.0),
            self.length(self.size.1),
            self.length(self.shift.0),
            self.length(self.shift.1),
            self.ending()
        )
    }

    /// These rectangles in half parts, which lie on either side of places in whole parts, in 1/256 px.
    fn placed(&self, rectangles: &[Sides]) -> Placed {
        let place = |halves: i64| rounded((halves, 2 * self.below));
        let contour = |sides: &Sides| {
            let [left, top, right, bottom] = sides.map(place);
            (
                false,
                vec![(left, top), (right, top), (right, bottom), (left, bottom)],
            )
        };
        Placed {
            value: self.value,
            centres: self.centres,
            contours: rectangles.iter().map(contour).collect(),
        }
    }

    /// Left, top, right and bottom of the size at the shift, in half parts.
    fn frame(&self) -> Sides {
        let ((left, top), (width, height)) = (self.shift, self.size);
        [2 * left, 2 * top, 2 * (left + width), 2 * (top + height)]
    }
}

/// To the end of the pixels in which the outlines end.
pub(super) fn reach(placed: &Placed) -> NaturalSize {
    let points = || placed.contours.iter().flat_map(|(_, points)| points);
    let pixels = |end: Option<i64>| {
        let pixels = -(-end?).div_euclid(256);
        (pixels > 0).then_some(pixels as u64)
    };
    (
        pixels(points().map(|point| point.0).max()),
        pixels(points().map(|point| point.1).max()),
    )
}

#[derive(Clone, Debug)]
pub(crate) struct Rectangle(Shape);

impl Rectangle {
    fn placed(&self) -> Placed {
        self.0.placed(&[self.0.frame()])
    }
}

impl Node for Rectangle {
    const NAME: &'static str = "rectangle";

    const OWN_SIZE: bool = true;

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        self.0.properties()
    }

    fn natural_size(&self, _: &Model) -> NaturalSize {
        reach(&self.placed())
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        self.placed().sample(Law::Any, at)
    }

    fn leaves(max: u16) -> Option<Weighted<Self>> {
        Some((2, Shape::any(max).prop_map(Self).boxed()))
    }
}

/// A cross, or, with a length of the lines and their gap, the lines beyond the corners.
#[derive(Clone, Debug)]
pub(crate) struct Marks {
    shape: Shape,
    stroke: i64,
    crop: Option<(i64, i64)>,
}

impl Marks {
    fn placed(&self) -> Placed {
        let [left, top, right, bottom] = self.shape.frame();
        // Half of it, in half parts.
        let s = self.stroke;
        let Some((length, gap)) = self.crop else {
            let (x, y) = ((left + right) / 2, (top + bottom) / 2);
            return self
                .shape
                .placed(&[[left, y - s, right, y + s], [x - s, top, x + s, bottom]]);
        };
        // The node begins with the lines.
        let (length, gap) = (2 * length, 2 * gap);
        let all = length + gap;
        let [left, top, right, bottom] = [left + all, top + all, right + all, bottom + all];
        let mut lines = Vec::new();
        for y in [top, bottom] {
            lines.push([left - all, y - s, left - gap, y + s]);
            lines.push([right + gap, y - s, right + all, y + s]);
        }
        for x in [left, right] {
            lines.push([x - s, top - all, x + s, top - gap]);
            lines.push([x - s, bottom + gap, x + s, bottom + all]);
        }
        self.shape.placed(&lines)
    }
}

impl Node for Marks {
    const NAME: &'static str = "marks";

    const OWN_SIZE: bool = true;

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        let kind = match self.crop {
            // A gap that is given is above 0.
            Some((length, gap)) => {
                let gap = (gap > 0).then(|| format!(" gap={}", self.shape.length(gap)));
                let length = self.shape.length(length);
                format!(" \"crop\" length={length}{}", gap.unwrap_or_default())
            }
            None => " \"cross\"".to_owned(),
        };
        let stroke = self.shape.length(self.stroke);
        format!("{kind} stroke={stroke}{}", self.shape.properties())
    }

    fn natural_size(&self, _: &Model) -> NaturalSize {
        reach(&self.placed())
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        self.placed().sample(Law::Any, at)
    }

    fn leaves(max: u16) -> Option<Weighted<Self>> {
        let parts = || (1_i64..400, proptest::option::of((1_i64..400, 0_i64..200)));
        let any = (Shape::any(max), parts()).prop_map(|(shape, (stroke, crop))| {
            let below = shape.below;
            // No wider than the mark.
            let stroke = stroke % shape.size.0.min(shape.size.1) + 1;
            let crop = crop.map(|(length, gap)| (length % (6 * below) + 1, gap % (4 * below)));
            Self { shape, stroke, crop }
        });
        Some((1, any.boxed()))
    }
}

/// One line along an axis, through the middle of its shape.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    shape: Shape,
    down: bool,
    /// It ends half its width beyond its vertices.
    square: bool,
}

impl Line {
    /// Along it and across it, in parts: where it begins and ends, where it lies, and its width.
    fn parts(&self) -> (i64, i64, i64, i64) {
        let ((x, y), (width, height)) = (self.shape.shift, self.shape.size);
        if self.down {
            (y, y + height, x, width)
        } else {
            (x, x + width, y, height)
        }
    }

    fn placed(&self) -> Placed {
        let (from, to, middle, stroke) = self.parts();
        let beyond = if self.square { stroke } else { 0 };
        let along = (2 * from - beyond, 2 * to + beyond);
        let across = (2 * middle - stroke, 2 * middle + stroke);
        let (x, y) = if self.down {
            (across, along)
        } else {
            (along, across)
        };
        self.shape.placed(&[[x.0, y.0, x.1, y.1]])
    }
}

impl Node for Line {
    const NAME: &'static str = "line";

    const OWN_SIZE: bool = true;

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        let cap = if self.square { " cap=\"square\"" } else { "" };
        let stroke = self.shape.length(self.parts().3);
        format!(" stroke={stroke}{cap}{}", self.shape.ending())
    }

    fn parameters(&self) -> Vec<String> {
        let (from, to, middle, _) = self.parts();
        let vertex = |along: i64| {
            let (x, y) = if self.down {
                (middle, along)
            } else {
                (along, middle)
            };
            format!("vertex {} {}", self.shape.length(x), self.shape.length(y))
        };
        vec![vertex(from), vertex(to)]
    }

    fn natural_size(&self, _: &Model) -> NaturalSize {
        reach(&self.placed())
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        self.placed().sample(Law::Any, at)
    }

    fn leaves(max: u16) -> Option<Weighted<Self>> {
        let any = (Shape::any(max), any::<bool>(), any::<bool>()).prop_map(|(shape, down, square)| Self {
            shape,
            down,
            square,
        });
        Some((1, any.boxed()))
    }
}

/// Closed outlines of straight sides, in quarters of a pixel.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    value: u16,
    centres: bool,
    even_odd: bool,
    contours: Vec<Vec<(i64, i64)>>,
}

impl Path {
    fn placed(&self) -> Placed {
        let contour = |points: &Vec<(i64, i64)>| {
            let points = points.iter().map(|(x, y)| (64 * x, 64 * y));
            (false, points.collect())
        };
        Placed {
            value: self.value,
            centres: self.centres,
            contours: self.contours.iter().map(contour).collect(),
        }
    }
}

impl Node for Path {
    const NAME: &'static str = "path";

    const OWN_SIZE: bool = true;

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        let mut data = String::new();
        for points in &self.contours {
            for (number, (x, y)) in points.iter().enumerate() {
                let command = if number == 0 { "M" } else { "L" };
                data += &format!("{command}{} {}", *x as f64 / 4.0, *y as f64 / 4.0);
            }
            data += "Z";
        }
        let fill = if self.even_odd { " fill=\"evenodd\"" } else { "" };
        let antialias = if self.centres { " antialias=\"none\"" } else { "" };
        format!(" \"{data}\" value={}{fill}{antialias}", self.value)
    }

    fn natural_size(&self, _: &Model) -> NaturalSize {
        reach(&self.placed())
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let law = if self.even_odd { Law::Odd } else { Law::Winding };
        self.placed().sample(law, at)
    }

    fn leaves(max: u16) -> Option<Weighted<Self>> {
        let point = || (-12_i64..60, -12_i64..60);
        let contour = proptest::collection::vec(point(), 3..6);
        let any = (
            samples(max),
            proptest::bool::weighted(0.2),
            any::<bool>(),
            proptest::collection::vec(contour, 1..4),
        )
            .prop_map(|(value, centres, even_odd, mut contours)| {
                let (x, y) = contours[0][0];
                contours[0][0] = (x.abs() + 1, y.abs() + 1);
                Self {
                    value,
                    centres,
                    even_odd,
                    contours,
                }
            });
        Some((2, any.boxed()))
    }
}
