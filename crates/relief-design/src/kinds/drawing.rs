//! What all drawings share: outlines in the coordinates of their node, and how their coverage becomes samples.

use std::sync::Arc;

use relief_raster::{Depth, MAX_SIDE};
use relief_vector::{Affine, BezPath, Drawing, Limits, Refused, Rule, Sketch, Stroke};

use super::visibility::{Measured, Visibility};
use super::{Bounds, Doubts, NaturalSize, words};
use crate::draft::{Checker, Values};
use crate::length::Ratio;
use crate::report::Problem;
use crate::seam::{Interval, Support};
use crate::signature::{DefaultValue, Parameter, ValueType, optional, required};
use crate::syntax::{Element, Span};
use crate::validate::Rules;

/// Outlines as a node has them: in 1/256 px, from the top-left of the node.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// The outlines, with grays of 65 535.
    pub drawing: Arc<Drawing>,
    /// How a pixel is sampled.
    pub antialias: Antialias,
}

/// How a pixel of a drawing is sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Antialias {
    /// By the part of its area that is covered.
    #[default]
    Area,
    /// By its centre alone.
    None,
}

words!(Antialias {
    Area = "area",
    None = "none",
});

/// Which places an outline covers that crosses itself or holds others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum FillRule {
    #[default]
    NonZero,
    EvenOdd,
}

words!(FillRule {
    NonZero = "nonzero",
    EvenOdd = "evenodd",
});

impl From<FillRule> for Rule {
    fn from(rule: FillRule) -> Self {
        match rule {
            FillRule::NonZero => Self::NonZero,
            FillRule::EvenOdd => Self::EvenOdd,
        }
    }
}

/// What lies at the top-left of the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ShapeOrigin {
    /// The place (0, 0).
    #[default]
    Datum,
    /// The top-left of the box around the outlines.
    Box,
}

words!(ShapeOrigin {
    Datum = "datum",
    Box = "box",
});

/// The ends of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cap {
    #[default]
    Butt,
    Round,
    Square,
}

words!(Cap {
    Butt = "butt",
    Round = "round",
    Square = "square",
});

/// The corners of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Join {
    #[default]
    Miter,
    Round,
    Bevel,
}

words!(Join {
    Miter = "miter",
    Round = "round",
    Bevel = "bevel",
});

/// How pixels are sampled.
pub(crate) const ANTIALIAS: Parameter = optional(
    "antialias",
    ValueType::Word(Antialias::WORDS),
    DefaultValue::Word(Antialias::Area.word()),
    "whether a pixel that is covered in part has a part of the sample, or all of it where its centre is covered",
);

/// Which places an outline covers.
pub(crate) const RULE: Parameter = optional(
    "rule",
    ValueType::Word(FillRule::WORDS),
    DefaultValue::Word(FillRule::NonZero.word()),
    "where outlines cross or lie in others, the inside is where the winding number is not 0, or where it is odd",
);

/// What lies at the top-left of the node.
pub(crate) const ORIGIN: Parameter = optional(
    "origin",
    ValueType::Word(ShapeOrigin::WORDS),
    DefaultValue::Word(ShapeOrigin::Datum.word()),
    "what the top-left of the node is: the place (0, 0), or the top-left of the box around what is drawn",
);

/// The ends of a line.
pub(crate) const CAP: Parameter = optional(
    "cap",
    ValueType::Word(Cap::WORDS),
    DefaultValue::Word(Cap::Butt.word()),
    "its ends: cut off, half a disc, or half a square beyond",
);

/// The corners of a line.
pub(crate) const JOIN: Parameter = optional(
    "join",
    ValueType::Word(Join::WORDS),
    DefaultValue::Word(Join::Miter.word()),
    "its corners: a point of up to 4 widths, a disc, or cut off",
);

/// The sides of a shape and where it begins.
pub(crate) const SIZE_X: Parameter = required("size-x", ValueType::Dimension, "its width, not rounded");
pub(crate) const SIZE_Y: Parameter = required("size-y", ValueType::Dimension, "its height, not rounded");
pub(crate) const SHIFT_X: Parameter = optional(
    "shift-x",
    ValueType::Coordinate,
    DefaultValue::Number(0),
    "where its left side lies in the node, not rounded",
);
pub(crate) const SHIFT_Y: Parameter = optional(
    "shift-y",
    ValueType::Coordinate,
    DefaultValue::Number(0),
    "where its upper side lies in the node, not rounded",
);
pub(crate) const VALUE: Parameter = required("value", ValueType::Sample, "the sample inside");

/// A place along an axis, rounded once to 1/256 px, halves up.
pub(crate) fn placed(place: Ratio) -> f64 {
    let units = place.times(Ratio::integer(256)).map(Ratio::rounded);
    // Within 2^53, so exact; what is not is refused where it is drawn.
    units.map_or(f64::INFINITY, |units| units as f64 / 256.0)
}

/// Top-left and size of a shape.
pub(crate) fn frame(values: &Values) -> Option<((Ratio, Ratio), (Ratio, Ratio))> {
    let length = |name: &str| values.ratio(name);
    Some((
        (length("shift-x")?, length("shift-y")?),
        (length("size-x")?, length("size-y")?),
    ))
}

/// A sample as a gray of 65 535.
pub(crate) fn gray(sample: u16, depth: Depth) -> u16 {
    match depth {
        Depth::Eight => sample.min(255) * 257,
        Depth::Sixteen => sample,
    }
}

/// How a line looks, of this width.
pub(crate) fn stroke(values: &Values, width: f64) -> Stroke {
    let mut stroke = Stroke::solid(width);
    stroke.cap = match values.word("cap").and_then(Cap::of_word).unwrap_or_default() {
        Cap::Butt => relief_vector::Cap::Butt,
        Cap::Round => relief_vector::Cap::Round,
        Cap::Square => relief_vector::Cap::Square,
    };
    stroke.join = match values.word("join").and_then(Join::of_word).unwrap_or_default() {
        Join::Miter => relief_vector::Join::Miter,
        Join::Round => relief_vector::Join::Round,
        Join::Bevel => relief_vector::Join::Bevel,
    };
    stroke
}

/// How pixels are sampled, of values that hold [`ANTIALIAS`].
pub(crate) fn antialias(values: &Values) -> Antialias {
    let word = values.word(ANTIALIAS.name);
    word.and_then(Antialias::of_word).unwrap_or_default()
}

/// The places of the `vertex` children; nothing where one is wrong, which has been noted.
pub(crate) fn vertices(
    parameters: &[&Element<'_>],
    checker: &mut Checker<'_>,
) -> Option<Vec<(Ratio, Ratio)>> {
    let mut places = Some(Vec::with_capacity(parameters.len()));
    for element in parameters {
        let values = checker.parameter_values(element);
        let place = values.and_then(|values| Some((values.ratio("x")?, values.ratio("y")?)));
        places = places.zip(place).map(|(mut places, place)| {
            places.push(place);
            places
        });
    }
    places
}

/// The outlines that `sketch` makes of shapes, moved so that `origin` is the top-left of the node. What is wrong with them is
/// noted.
pub(crate) fn shape(
    values: &Values,
    (span, name): (Span, &str),
    checker: &mut Checker<'_>,
    draw: impl FnOnce(&mut Sketch) -> Result<(), Refused>,
) -> Option<Drawn> {
    let mut sketch = Sketch::new(Limits {
        points: checker.shape_points(),
        ..Limits::default()
    });
    if let Err(refused) = draw(&mut sketch) {
        checker.note(no_shape(span, name, refused));
        return None;
    }
    let drawing = sketch.finish();
    checker.take_shape_points(drawing.points() as u64);
    Some(Drawn {
        drawing: Arc::new(at_origin(values, drawing)),
        antialias: antialias(values),
    })
}

/// The drawing moved so that what `origin` says is the top-left of the node.
pub(crate) fn at_origin(values: &Values, drawing: Drawing) -> Drawing {
    let origin = values.word(ORIGIN.name).and_then(ShapeOrigin::of_word);
    match (origin, drawing.bounds()) {
        (Some(ShapeOrigin::Box), Some((left, top, ..))) => drawing.moved((-left, -top)),
        _ => drawing,
    }
}

fn no_shape(span: Span, name: &str, refused: Refused) -> Problem {
    let (message, help) = match refused {
        Refused::Far(..) => (
            format!("the `{name}` reaches farther than 2^40 pixels from the top-left of its node"),
            "write smaller lengths, or place the node by x and y",
        ),
        Refused::Points(_) | Refused::Items(_) => (
            "the shapes of the design have more points than the 2^22 allowed".to_owned(),
            "a curve has a point for every few pixels: draw smaller ones, or the shape once in a `define`, a `repeat` or a \
             `lattice`",
        ),
        Refused::Memory(_) => (refused.to_string(), "draw fewer shapes"),
        Refused::Negative(what, value) => (format!("{what} is {value}"), "write a length above 0"),
    };
    let problem = Problem::new("E511", message).label(span, format!("this `{name}`"));
    problem.help(help).short_of_memory(refused.is_memory())
}

/// Adds the inside of a path.
pub(crate) fn fill(sketch: &mut Sketch, path: &BezPath, value: u16, rule: Rule) -> Result<(), Refused> {
    sketch.fill(path, Affine::IDENTITY, value, rule)
}

impl Drawn {
    /// The rectangle from (0, 0) to the right and lower ends of what is drawn; no size along an axis along which nothing
    /// reaches beyond 0.
    pub(crate) fn natural_size(&self) -> NaturalSize {
        let side = |end: i64| u64::try_from(end).ok().filter(|&end| end > 0);
        let cut = |end: i64| side(end).map(|side| side.min(MAX_SIDE));
        match self.drawing.pixels() {
            Some((_, _, right, bottom)) => NaturalSize {
                width: cut(right),
                height: cut(bottom),
                sure: true,
            },
            None => NaturalSize::NONE,
        }
    }

    /// 0, and samples up to its greatest.
    pub(crate) fn bounds(&self, max: u16) -> Bounds {
        let greatest = self.drawing.greatest();
        Bounds::new(
            0,
            if max == 255 {
                greatest.div_ceil(257)
            } else {
                greatest
            },
        )
    }

    /// The columns and rows that are drawn in.
    pub(crate) fn support(&self) -> Support {
        let side = |from: i64, to: i64| Interval {
            from: from.into(),
            to: to.into(),
        };
        match self.drawing.pixels() {
            Some((left, top, right, bottom)) => [side(left, right), side(top, bottom)],
            None => [Interval::EMPTY; 2],
        }
    }

    /// Whether a pixel may be covered in part.
    pub(crate) fn is_smooth(&self) -> bool {
        self.antialias == Antialias::Area && !self.drawing.is_of_whole_pixels()
    }

    /// Notes where it cannot be seen, or has a size that cannot be meant.
    pub(crate) fn doubt(&self, doubts: &mut Doubts<'_>) {
        let visibility = Visibility {
            noun: "drawing",
            pixels: self.drawing.pixels(),
            sides: sides(&self.drawing),
            measured: Measured::Design,
            empty: "give it a width, a height or places that do not lie on one line",
        };
        visibility.doubt(doubts);
    }

    /// Whether a drawing that was built by hand keeps what the language promises.
    pub(crate) fn validate(&self, _: &Rules<'_>) -> Result<(), String> {
        let far = MAX_SIDE.cast_signed();
        match self.drawing.pixels() {
            Some((left, top, right, bottom)) if left < -far || top < -far || right > far || bottom > far => {
                Err("its drawing reaches farther than 2^40 pixels".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// The width and the height of the box around all points, in pixels.
pub(crate) fn sides(drawing: &Drawing) -> Option<(f64, f64)> {
    let unit = 256.0 * f64::from(drawing.denominator());
    let (left, top, right, bottom) = drawing.bounds()?;
    let side = |from: i64, to: i64| to.saturating_sub(from) as f64 / unit;
    Some((side(left, right), side(top, bottom)))
}

/// The methods of a kind whose struct holds a [`Drawn`] alone.
macro_rules! drawn {
    () => {
        fn natural_size(draft: &Self, _: &[super::NaturalChild]) -> super::NaturalSize {
            draft.drawn.natural_size()
        }

        fn bounds(&self, seen: &super::Seen<'_>) -> super::Bounds {
            self.drawn.bounds(seen.max)
        }

        fn is_smooth(&self, _: bool) -> bool {
            self.drawn.is_smooth()
        }

        fn support(
            &self,
            _: (u64, u64),
            _: &[(crate::tree::Role, crate::seam::Support)],
        ) -> crate::seam::Support {
            self.drawn.support()
        }

        fn seam(&self, seam: &mut crate::seam::Seam<'_, '_>) {
            let support = self.drawn.support()[seam.axis as usize];
            seam.reaching(
                support,
                "a drawing goes all around, and whether its ends meet is not looked at",
            );
        }

        fn doubt(draft: &Self, doubts: &mut super::Doubts<'_>) {
            draft.drawn.doubt(doubts);
        }

        fn validate(&self, rules: &crate::validate::Rules<'_>) -> Result<(), String> {
            self.drawn.validate(rules)
        }
    };
}
pub(crate) use drawn;
