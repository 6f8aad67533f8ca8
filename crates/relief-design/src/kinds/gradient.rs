//! `gradient`: samples that change along a line, from a centre outwards or around it.

use std::sync::Arc;

use super::{Bounds, IntoKind, NodeKind, NodeSource, Seen, Sizing, words};
use crate::draft::Checker;
use crate::length::Ratio;
use crate::report::Problem;
use crate::seam::{Gap, Seam};
use crate::signature::{Count, DefaultValue, Parameter, Signature, ValueType, optional, parameter, required};
use crate::syntax::{Element, Span};
use crate::tree::Axis;
use crate::validate::Rules;

/// What stands for 1 in places along a gradient.
pub const GRADIENT_ONE: u32 = 1 << 24;

/// The most stops of a gradient.
pub const MAX_STOPS: usize = 256;

/// Coordinates in a pixel.
const PIXEL: i64 = 256;

/// The greatest coordinate: 2^40 pixels.
const FAR: i64 = PIXEL << 40;

/// The greatest radius: the diagonal of a raster of 2^41 pixels.
const MAX_REACH: i64 = FAR << 2;

/// What stands for a whole turn in start angles.
const TURN: f64 = 4_294_967_296.0;

/// Samples by the place of the middle of their pixel along a line, from a centre outwards or around it.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient {
    /// Where places lie.
    pub kind: GradientKind,
    /// What follows beyond both ends; [`Spread::Pad`] of conical ones, which have none.
    pub spread: Spread,
    /// 2 to [`MAX_STOPS`] stops, in ascending order.
    pub stops: Arc<[Stop]>,
}

/// Where the places of a [`Gradient`] lie. Coordinates are in 1/256 pixel from the top-left of the node, at most 2^40 pixels away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GradientKind {
    /// Along a line, the same across it.
    Linear {
        /// Where 0 is.
        from: (i64, i64),
        /// Where 1 is: another place.
        to: (i64, i64),
    },
    /// From a centre outwards.
    Radial {
        /// The centre.
        centre: (i64, i64),
        /// The radius at which 0 is, at least 0.
        inner: i64,
        /// The radius at which 1 is, greater than `inner` and no more than 2^42 pixels.
        radius: i64,
    },
    /// Around a centre, clockwise.
    Conical {
        /// The centre.
        centre: (i64, i64),
        /// Where 0 is: the angle from the right, clockwise, in 2^−32 of a turn.
        start: u32,
    },
}

/// A sample at a place of a [`Gradient`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stop {
    /// The place, 0 to [`GRADIENT_ONE`].
    pub at: u32,
    /// The sample.
    pub value: u16,
}

/// What follows beyond both ends of a [`Gradient`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Spread {
    /// The samples of its ends.
    #[default]
    Pad,
    /// The gradient again.
    Repeat,
    /// The gradient again, every second time from its end to its beginning.
    Mirror,
}

words!(Spread {
    Pad = "pad",
    Repeat = "repeat",
    Mirror = "mirror",
});

/// A gradient of which it is not known yet how large its node is. Coordinates along x and y are nothing where they follow from that.
#[derive(Debug)]
pub(crate) struct GivenGradient {
    places: Places,
    spread: Spread,
    stops: Arc<[Stop]>,
    /// Where a length of 0 is told.
    span: Span,
}

/// What is given of a [`GradientKind`].
#[derive(Debug)]
enum Places {
    Linear {
        from: [i64; 2],
        to: [Option<i64>; 2],
    },
    Radial {
        centre: [Option<i64>; 2],
        inner: i64,
        radius: Option<i64>,
    },
    Conical {
        centre: [Option<i64>; 2],
        start: u32,
    },
}

const MIDDLE: DefaultValue = DefaultValue::Absent("the middle of the node");

const fn place(name: &'static str, default: DefaultValue, meaning: &'static str) -> Parameter {
    optional(name, ValueType::Coordinate, default, meaning)
}

/// The properties that one kind takes, and which.
const OWN: [(&str, &[&str]); 10] = [
    ("from-x", &["linear"]),
    ("from-y", &["linear"]),
    ("to-x", &["linear"]),
    ("to-y", &["linear"]),
    ("centre-x", &["radial", "conical"]),
    ("centre-y", &["radial", "conical"]),
    ("radius", &["radial"]),
    ("inner", &["radial"]),
    ("angle", &["conical"]),
    ("spread", &["linear", "radial"]),
];

impl NodeKind for Gradient {
    type Draft = GivenGradient;

    const SIGNATURE: Signature = Signature {
        name: "gradient",
        meaning: "Samples that change from stop to stop: `linear` along a line and the same across it, `radial` from a centre outwards, `conical` around a \
                  centre, clockwise. The middle of each pixel counts. Without stops it is 0 at the beginning and M at the end.",
        details: include_str!("gradient.md"),
        arguments: &[required(
            "kind",
            ValueType::Word(&["linear", "radial", "conical"]),
            "along what samples change",
        )],
        properties: &[
            place(
                "from-x",
                DefaultValue::Number(0),
                "linear: where it begins, from the left side of the node; parts of a pixel count",
            ),
            place(
                "from-y",
                DefaultValue::Number(0),
                "linear: where it begins, from the upper side of the node",
            ),
            place(
                "to-x",
                DefaultValue::Absent("the right side of the node; with `to-y` the same as `from-x`"),
                "linear: where it ends",
            ),
            place(
                "to-y",
                DefaultValue::Absent("the same as `from-y`"),
                "linear: where it ends",
            ),
            place(
                "centre-x",
                MIDDLE,
                "radial, conical: where the centre lies, from the left side of the node; parts of a pixel count",
            ),
            place(
                "centre-y",
                MIDDLE,
                "radial, conical: where the centre lies, from the upper side of the node",
            ),
            optional(
                "radius",
                ValueType::Dimension,
                DefaultValue::Absent("to the farthest corner of the node"),
                "radial: how far from the centre it ends",
            ),
            optional(
                "inner",
                ValueType::Dimension,
                DefaultValue::Absent("none: it begins at the centre"),
                "radial: how far from the centre it begins, less than `radius`",
            ),
            optional(
                "angle",
                ValueType::Real,
                DefaultValue::Absent("0"),
                "conical: where it begins, in degrees clockwise from the right",
            ),
            optional(
                "spread",
                ValueType::Word(Spread::WORDS),
                DefaultValue::Word(Spread::Pad.word()),
                "linear, radial: what follows beyond both ends: their samples, the gradient again, or the gradient there and back",
            ),
        ],
        children: &[parameter("stop", Count::Any)],
        example: "gradient \"conical\" angle=-90 {\n    stop at=0 value=0\n    stop at=\"60%\" value=\"100%\"\n    stop at=1 value=0\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<GivenGradient> {
        let values = source.values;
        let stops = stops(source, checker);
        let kind = values.word("kind")?;
        let mut good = true;
        for (name, kinds) in OWN {
            if let Some(given) = values.span(name)
                && !kinds.contains(&kind)
            {
                let takes = format!("property `{name}`");
                let word = (Self::SIGNATURE.name, source.span);
                good &= checker.belongs(word, kind, ("", &takes), Some(given), false);
            }
        }
        let given = |name| values.ratio(name).map(units);
        let pair = |x, y| [given(x), given(y)];
        let places = match kind {
            "linear" => Places::Linear {
                from: [given("from-x")?, given("from-y")?],
                to: pair("to-x", "to-y"),
            },
            "radial" => Places::Radial {
                centre: pair("centre-x", "centre-y"),
                inner: given("inner").unwrap_or(0),
                radius: given("radius"),
            },
            _ => Places::Conical {
                centre: pair("centre-x", "centre-y"),
                start: turns(values.real("angle").map_or(0.0, |(degrees, _)| degrees)),
            },
        };
        let ends = ["to-x", "to-y", "radius", "inner", "from-x", "from-y"];
        good.then_some(GivenGradient {
            places,
            spread: values.word("spread").and_then(Spread::of_word)?,
            stops: stops?,
            span: ends
                .iter()
                .find_map(|name| values.span(name))
                .unwrap_or(source.span),
        })
    }

    fn bounds(&self, seen: &Seen<'_>) -> Bounds {
        let values = self.stops.iter().map(|stop| Bounds::only(stop.value));
        values.reduce(Bounds::or).unwrap_or_else(|| seen.any())
    }

    fn is_smooth(&self, _: bool) -> bool {
        true
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        let name = Self::SIGNATURE.name;
        let why = match self.kind {
            GradientKind::Linear { from, to } => {
                let (x, y) = vector(from, to);
                let along = match seam.axis {
                    Axis::X => x,
                    Axis::Y => y,
                };
                // A turn is so many times the whole gradient: this divided by that.
                let (moved, whole) = (seam.turn * i128::from(PIXEL) * along, x * x + y * y);
                let times = |whole| moved % whole == 0;
                let closes = match self.spread {
                    _ if along == 0 => true,
                    Spread::Pad => false,
                    Spread::Repeat => times(whole),
                    Spread::Mirror => times(2 * whole),
                };
                if closes {
                    return;
                }
                match self.spread {
                    Spread::Pad => format!(
                        "this `{name}` never repeats; a spread of \"repeat\" or \"mirror\" may close it"
                    ),
                    _ => format!("a turn is not a whole number of times this `{name}`"),
                }
            }
            GradientKind::Radial { .. } | GradientKind::Conical { .. } => {
                format!("this `{name}` lies around a centre")
            }
        };
        if seam.side() > 1 {
            seam.gap(Gap::Changes(why));
        }
    }

    fn validate(&self, rules: &Rules<'_>) -> Result<(), String> {
        let is_near = |(x, y): (i64, i64)| x.unsigned_abs() <= FAR as u64 && y.unsigned_abs() <= FAR as u64;
        let (near, long) = match self.kind {
            GradientKind::Linear { from, to } => (is_near(from) && is_near(to), from != to),
            GradientKind::Radial {
                centre,
                inner,
                radius,
            } => (
                is_near(centre) && inner >= 0 && radius <= MAX_REACH,
                inner < radius,
            ),
            GradientKind::Conical { centre, .. } => (is_near(centre), self.spread == Spread::Pad),
        };
        if !near {
            return Err("it reaches farther than 2^40 pixels".to_owned());
        }
        if !long {
            return Err("it has no length, or a spread where it has no ends".to_owned());
        }
        if !(2..=MAX_STOPS).contains(&self.stops.len()) {
            return Err(format!("it has {} stops, not 2 to {MAX_STOPS}", self.stops.len()));
        }
        if !self.stops.is_sorted_by_key(|stop| stop.at)
            || self.stops.iter().any(|stop| stop.at > GRADIENT_ONE)
        {
            return Err("its stops do not ascend from 0 to 2^24".to_owned());
        }
        self.stops.iter().try_for_each(|stop| rules.sample(stop.value))
    }
}

/// The stops between the braces; 0 and M where there are none.
fn stops(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Arc<[Stop]>> {
    let elements = source.parameters;
    match elements {
        [] => {
            let end = |at, value| Stop { at, value };
            return Some([end(0, 0), end(GRADIENT_ONE, checker.depth().max())].into());
        }
        [only] => {
            let problem = Problem::new("E513", "a gradient has at least 2 stops, found 1");
            checker.note(
                problem.label(only.name.span, "only this").help(
                    "add the stop at which it ends, or none for 0 to M; `fill` is one sample everywhere",
                ),
            );
        }
        _ if elements.len() > MAX_STOPS => {
            let message = format!("{} stops are more than the {MAX_STOPS} allowed", elements.len());
            let problem = Problem::new("E105", message).label(elements[MAX_STOPS].name.span, "one too many");
            checker.note(problem.help("put a gradient of two stops into a `map` with a `curve`"));
            return None;
        }
        _ => {}
    }
    let mut stops = Some(Vec::with_capacity(elements.len()));
    let mut last: Option<(Ratio, Span)> = None;
    for element in elements {
        let stop = stop(element, checker, &mut last);
        stops = stops.zip(stop).map(|(mut stops, stop)| {
            stops.push(stop);
            stops
        });
    }
    stops.filter(|stops| stops.len() > 1).map(Into::into)
}

/// A stop, which stands after the `last` one.
fn stop(element: &Element<'_>, checker: &mut Checker<'_>, last: &mut Option<(Ratio, Span)>) -> Option<Stop> {
    let values = checker.parameter_values(element)?;
    let (at, span) = values.fraction("at")?;
    let value = values.sample("value")?;
    let before = last.replace((at, span));
    if let Some((before, earlier)) = before
        && at.minus(before)?.is_negative()
    {
        let message = format!(
            "the stop at {} stands after the one at {}: stops ascend",
            at.told(),
            before.told()
        );
        let problem = Problem::new("E703", message)
            .label(span, "less")
            .label(earlier, "than this");
        checker.note(problem.help("put the stops in ascending order; two at one place are a step"));
        return None;
    }
    let at = at.times(Ratio::integer(GRADIENT_ONE.into()))?.rounded();
    Some(Stop {
        at: u32::try_from(at).ok()?,
        value,
    })
}

/// A length in 1/256 pixel, rounded once, halves up.
fn units(length: Ratio) -> i64 {
    let units = length.times(Ratio::integer(PIXEL.into())).map(Ratio::rounded);
    // Lengths are bounded; one with very many digits is whole in binary64.
    let units = units.unwrap_or_else(|| libm::round(length.real() * PIXEL as f64) as i128);
    i64::try_from(units).unwrap_or(FAR).clamp(-FAR, FAR)
}

/// An angle in 2^−32 of a turn, modulo a turn.
fn turns(degrees: f64) -> u32 {
    // Exact, as is the product.
    let part = libm::fmod(degrees, 360.0) / 360.0;
    let turns = libm::round(part * TURN) as i64;
    turns.rem_euclid(TURN as i64) as u32
}

fn vector(from: (i64, i64), to: (i64, i64)) -> (i128, i128) {
    let along = |from: i64, to: i64| i128::from(to) - i128::from(from);
    (along(from.0, to.0), along(from.1, to.1))
}

/// The distance from a centre to the farthest corner of a node, in 1/256 pixel, rounded up.
fn farthest(centre: (i64, i64), size: (i64, i64)) -> i64 {
    let along =
        |centre: i64, side: i64| u128::from(centre.unsigned_abs().max((side - centre).unsigned_abs()));
    let (x, y) = (along(centre.0, size.0), along(centre.1, size.1));
    let square = x * x + y * y;
    let root = square.isqrt();
    let up = u128::from(root * root < square);
    i64::try_from(root + up).unwrap_or(MAX_REACH)
}

impl IntoKind<Gradient> for GivenGradient {
    fn sized(&self, sizing: &mut Sizing<'_>) -> Option<Gradient> {
        let side = |pixels: u64| i64::try_from(pixels).map_or(FAR, |pixels| pixels.saturating_mul(PIXEL));
        let (width, height) = (side(sizing.size.width), side(sizing.size.height));
        let around = |centre: [Option<i64>; 2]| {
            let [x, y] = centre;
            (x.unwrap_or(width / 2), y.unwrap_or(height / 2))
        };
        let (kind, nothing) = match self.places {
            Places::Linear { from: [x, y], to } => {
                let end = match to {
                    [None, None] => (width, y),
                    [to_x, to_y] => (to_x.unwrap_or(x), to_y.unwrap_or(y)),
                };
                let kind = GradientKind::Linear {
                    from: (x, y),
                    to: end,
                };
                let why = "this gradient begins and ends at the same place";
                (kind, (end == (x, y)).then_some(why))
            }
            Places::Radial {
                centre,
                inner,
                radius,
            } => {
                let centre = around(centre);
                let radius = radius.unwrap_or_else(|| farthest(centre, (width, height)));
                let kind = GradientKind::Radial {
                    centre,
                    inner,
                    radius,
                };
                let why =
                    "this gradient ends at a radius that is not greater than the one at which it begins";
                (kind, (inner >= radius).then_some(why))
            }
            Places::Conical { centre, start } => {
                let centre = around(centre);
                (GradientKind::Conical { centre, start }, None)
            }
        };
        if let Some(why) = nothing {
            let problem = Problem::new("E513", why).label(self.span, "it has no length");
            sizing.note(problem.help(match kind {
                GradientKind::Linear { .. } => {
                    "write a `to-x` or a `to-y` that is another place than `from-x` and `from-y`, by 1/256 px at least"
                }
                _ => "write a greater `radius` or a smaller `inner`: they differ by 1/256 px at least",
            }));
            return None;
        }
        Some(Gradient {
            kind,
            spread: self.spread,
            stops: self.stops.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_are_taken_modulo_a_turn() {
        for (degrees, expected) in [
            (0.0, 0),
            (90.0, 1 << 30),
            (-90.0, 3 << 30),
            (360.0, 0),
            (-3_600.0, 0),
            (1e-300, 0),
            (-1e-300, 0),
            (450.0, 1 << 30),
        ] {
            assert_eq!(turns(degrees), expected, "{degrees}");
        }
        // Any number is some angle.
        let _ = (turns(f64::MAX), turns(f64::MIN));
    }

    #[test]
    fn the_farthest_corner_is_reached() {
        assert_eq!(farthest((0, 0), (3 * 256, 4 * 256)), 5 * 256);
        assert_eq!(farthest((3 * 256, 4 * 256), (256, 256)), 5 * 256);
        assert_eq!(farthest((0, 0), (256, 256)), 363);
        let far = farthest((-FAR, -FAR), (FAR, FAR));
        assert!(far > 2 * FAR && far < MAX_REACH);
    }
}
