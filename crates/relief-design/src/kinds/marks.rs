//! `marks`: marks by which a sheet is cut, and by which what is made in several steps is brought in line.

use relief_vector::{BezPath, Rule, shapes};

use super::drawing::{
    ANTIALIAS, Drawn, SHIFT_X, SHIFT_Y, SIZE_X, SIZE_Y, VALUE, drawn, fill, frame, gray, placed, shape,
};
use super::{NodeKind, NodeSource, words};
use crate::draft::{Checker, Values};
use crate::length::Ratio;
use crate::report::Problem;
use crate::signature::{DefaultExtent, DefaultValue, Signature, ValueType, optional, required};

/// Marks of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Marks {
    /// Their outlines.
    pub drawn: Drawn,
}

/// What marks look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// Two lines beyond each corner.
    Crop,
    /// A cross and a ring.
    Register,
    /// Two lines that cross in the middle.
    Cross,
}

words!(Mark {
    Crop = "crop",
    Register = "register",
    Cross = "cross",
});

/// A rectangle between exact places, each rounded once.
struct Bar {
    left: Ratio,
    top: Ratio,
    right: Ratio,
    bottom: Ratio,
}

impl Bar {
    fn path(&self) -> BezPath {
        let (left, top) = (placed(self.left), placed(self.top));
        let (right, bottom) = (placed(self.right), placed(self.bottom));
        shapes::polygon(&[(left, top), (right, top), (right, bottom), (left, bottom)])
    }
}

/// A line of a width along an axis: from `from` to `to`, `half` of the width on either side of `middle`.
fn bar(horizontal: bool, (from, to): (Ratio, Ratio), middle: Ratio, half: Ratio) -> Option<Bar> {
    let (before, after) = (middle.minus(half)?, middle.plus(half)?);
    Some(if horizontal {
        Bar {
            left: from,
            right: to,
            top: before,
            bottom: after,
        }
    } else {
        Bar {
            left: before,
            right: after,
            top: from,
            bottom: to,
        }
    })
}

/// Two lines that cross in the middle of a rectangle.
fn cross((x, y): (Ratio, Ratio), (width, height): (Ratio, Ratio), half: Ratio) -> Option<Vec<Bar>> {
    let two = Ratio::integer(2);
    let (centre_x, centre_y) = (x.plus(width.over(two)?)?, y.plus(height.over(two)?)?);
    Some(vec![
        bar(true, (x, x.plus(width)?), centre_y, half)?,
        bar(false, (y, y.plus(height)?), centre_x, half)?,
    ])
}

/// Two lines beyond each corner of a rectangle, along its sides. It lies within the marks, so that the node begins with them.
fn crop(
    (x, y): (Ratio, Ratio),
    (width, height): (Ratio, Ratio),
    (length, gap): (Ratio, Ratio),
    half: Ratio,
) -> Option<Vec<Bar>> {
    let margin = length.plus(gap)?;
    let mut bars = Vec::with_capacity(8);
    for (horizontal, (along, side), (across, other)) in
        [(true, (x, width), (y, height)), (false, (y, height), (x, width))]
    {
        let far = along.plus(margin)?.plus(side)?.plus(gap)?;
        let near = across.plus(margin)?;
        for middle in [near, near.plus(other)?] {
            bars.push(bar(horizontal, (along, along.plus(length)?), middle, half)?);
            bars.push(bar(horizontal, (far, far.plus(length)?), middle, half)?);
        }
    }
    Some(bars)
}

/// A ring of a width around the middle of a rectangle, half as large as its shorter side.
fn ring((x, y): (Ratio, Ratio), (width, height): (Ratio, Ratio), half: Ratio) -> BezPath {
    let (width, height, half) = (width.real(), height.real(), half.real());
    let centre = (x.real() + width / 2.0, y.real() + height / 2.0);
    let radius = width.min(height) / 4.0;
    let disc = |radius| shapes::ellipse_within(centre, (radius, radius), 1.0 / 1_024.0);
    let mut path = disc(radius + half);
    if radius > half {
        // The other way round, so that nothing is inside but the ring.
        path.extend(disc(radius - half).reverse_subpaths());
    }
    path
}

impl NodeKind for Marks {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "marks",
        meaning: "Marks to cut along or to line up by: lines beyond the corners of a rectangle, a cross with a ring, or a cross \
                  alone. Pixels that they cover in part have a part of their sample. The others are 0.",
        details: include_str!("marks.md"),
        arguments: &[required(
            "kind",
            ValueType::Word(Mark::WORDS),
            "lines beyond the four corners, a cross with a ring around its middle, or a cross",
        )],
        properties: &[
            SIZE_X,
            SIZE_Y,
            required(
                "stroke",
                ValueType::Dimension,
                "the width of the lines, not rounded",
            ),
            VALUE,
            optional(
                "length",
                ValueType::Dimension,
                DefaultValue::Absent("none: \"crop\" needs it, the others have none"),
                "that of the lines beyond a corner, not rounded",
            ),
            optional(
                "gap",
                ValueType::Dimension,
                DefaultValue::Absent("0"),
                "from a corner to the lines beyond it, not rounded",
            ),
            SHIFT_X,
            SHIFT_Y,
            ANTIALIAS,
        ],
        extent: DefaultExtent::Natural,
        example: "marks \"register\" size-x=\"4mm\" size-y=\"4mm\" stroke=\"0.1mm\" value=255",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Self> {
        let values = source.values;
        let mark = values.word("kind").and_then(Mark::of_word)?;
        let (from, size) = frame(values)?;
        let value = gray(values.sample("value")?, checker.depth());
        let half = values.ratio("stroke")?.over(Ratio::integer(2))?;
        let lines = lengths(mark, source, values, checker)?;
        let bars = match mark {
            Mark::Crop => crop(from, size, lines, half)?,
            Mark::Register | Mark::Cross => cross(from, size, half)?,
        };
        let mut path = BezPath::new();
        for bar in &bars {
            path.extend(bar.path());
        }
        if mark == Mark::Register {
            path.extend(ring(from, size, half));
        }
        let draw = |sketch: &mut _| fill(sketch, &path, value, Rule::NonZero);
        let drawn = shape(values, (source.span, Self::SIGNATURE.name), checker, draw)?;
        Some(Self { drawn })
    }

    drawn!();
}

/// How long the lines beyond a corner are, and how far from it; both are for "crop" alone.
fn lengths(
    mark: Mark,
    source: &NodeSource<'_, '_>,
    values: &Values,
    checker: &mut Checker<'_>,
) -> Option<(Ratio, Ratio)> {
    let (length, gap) = (values.ratio("length"), values.ratio("gap"));
    let problem = match (mark, length, gap) {
        (Mark::Crop, Some(length), gap) => return Some((length, gap.unwrap_or(Ratio::integer(0)))),
        (_, None, None) if mark != Mark::Crop => return Some((Ratio::integer(0), Ratio::integer(0))),
        (Mark::Crop, None, _) => Problem::new("E511", "marks to cut along need the property `length`")
            .label(source.span, "these marks")
            .help("add length=…: how long the lines beyond the corners are"),
        _ => {
            let name = if length.is_some() { "length" } else { "gap" };
            let span = values.span(name).unwrap_or(source.span);
            Problem::new(
                "E511",
                format!("only marks \"{}\" have a `{name}`", Mark::Crop.word()),
            )
            .label(span, "here")
            .help(format!("remove `{name}`, or write marks \"crop\""))
        }
    };
    checker.note(problem);
    None
}
