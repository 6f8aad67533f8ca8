//! `affine`: a source turned by any angle, scaled, sheared and moved.

use super::edge::SOURCE;
use super::{Bounds, Doubts, Edge, IntoKind, NodeKind, NodeSource, Resampling, Seen, Sizing, Taps};
use crate::draft::Checker;
use crate::length::Ratio;
use crate::report::Problem;
use crate::signature::{DefaultExtent, DefaultValue, Parameter, Signature, ValueType, optional};
use crate::syntax::Span;
use crate::validate::Rules;

/// The longest side of the source and of the node: positions are then exact to a fraction of a phase.
const MAX_SIDE: u64 = 1 << 24;

/// How far the source is moved at most, in pixels.
const MAX_SHIFT: i64 = 1 << 24;

/// The greatest coefficient: a step of one pixel is one of at most so many samples.
const MAX_COEFFICIENT: i64 = 64;

/// What stands for 1 in coefficients.
const ONE: i64 = 1 << 40;

/// What stands for a pixel in shifts.
const PIXEL: i64 = 1 << 16;

/// The words of the property `by`, in the order of their curves.
const WORDS: &[&str] = &["nearest", "linear", "cubic", "lanczos"];

/// The edge: most pictures that are turned have nothing around them.
const EDGE: Parameter = optional(
    "edge",
    ValueType::Word(Edge::WORDS),
    DefaultValue::Word(Edge::Zero.word()),
    "what is read beyond the source: 0, the nearest sample, those mirrored at it, or those of the other end",
);

/// The w × h samples of the one `Source` child from (0, 0) on, mapped by a matrix around the middles of both: sample (x, y) of W × H lies at
/// u = (A·(2x + 1 − W) + B·(2y + 1 − H) − ⌊(A·s + B·t) / 2^15⌋ + 2^40·(w − 1)) / 2^41 and v = (C·(2x + 1 − W) + D·(2y + 1 − H) −
/// ⌊(C·s + D·t) / 2^15⌋ + 2^40·(h − 1)) / 2^41 of the source.
#[derive(Clone, Debug, PartialEq)]
pub struct Affine {
    /// What samples are weighted by; [`Resampling::Box`] is the nearest one.
    pub by: Resampling,
    /// A, B and C, D: the matrix from the node to the source, in 2^−40; none above 64.
    pub inverse: [[i64; 2]; 2],
    /// s and t: how far the source is moved right and down, in 1/65536 of a pixel of the node.
    pub shift: [i64; 2],
    /// Columns and rows of the source, from (0, 0) to where its child ends, each at most 2^24.
    pub source: (u64, u64),
    /// What is read beyond them.
    pub edge: Edge,
}

/// What is known before the size of the source is.
#[derive(Debug)]
pub(crate) struct Mapped {
    by: Resampling,
    inverse: [[i64; 2]; 2],
    shift: [i64; 2],
    edge: Edge,
    span: Span,
}

impl NodeKind for Affine {
    type Draft = Mapped;

    const SIGNATURE: Signature = Signature {
        name: "affine",
        meaning: "The source scaled, then sheared, then turned clockwise, then moved, around the middle of this node, on which the middle of the source \
                  lies. The source is what lies between (0, 0) and its lower right corner. Beyond it `edge` says what is read.",
        details: "The matrix from this node to the source has A = (cos + shear·sin) / scale-x, B = (sin − shear·cos) / scale-x, C = −sin / scale-y, \
                  D = cos / scale-y, in binary64, each rounded to 2^−40, halves away from 0; quarters of a turn are exact. With W × H this node's size, w × h that of the source \
                  and s, t the shift in 1/65536 of a pixel, rounded, column u of the source for (x, y) is \
                  (A·(2x + 1 − W) + B·(2y + 1 − H) − ⌊(A·s + B·t) / 2^15⌋ + 2^40·(w − 1)) / 2^41, taken to 1/256 of a sample, halves up, and rows likewise. \
                  Samples are weighted as by `resize`, \"nearest\" being its \"box\", and never stretched: where a source shrinks, samples between are left out; put a `resize` \
                  into the `affine` to count them. The sum is exact and rounded once.\n\nBoth have at most 2^24 columns and rows.",
        properties: &[
            optional(
                "angle",
                ValueType::Real,
                DefaultValue::Absent("0"),
                "how far it is turned, in degrees, clockwise",
            ),
            optional(
                "scale",
                ValueType::PositiveReal,
                DefaultValue::Absent("1"),
                "how much larger it becomes, along both axes: 1/64 to 65536",
            ),
            optional(
                "scale-x",
                ValueType::Real,
                DefaultValue::Absent("`scale`"),
                "how much wider it becomes; below 0 it is mirrored",
            ),
            optional(
                "scale-y",
                ValueType::Real,
                DefaultValue::Absent("`scale`"),
                "how much higher it becomes; below 0 it is mirrored",
            ),
            optional(
                "shear",
                ValueType::Real,
                DefaultValue::Absent("0"),
                "how many pixels each row is moved right of the one above it",
            ),
            optional(
                "shift-x",
                ValueType::Coordinate,
                DefaultValue::Number(0),
                "how far it is moved right, at most 2^24 pixels; parts of a pixel count",
            ),
            optional(
                "shift-y",
                ValueType::Coordinate,
                DefaultValue::Number(0),
                "how far it is moved down",
            ),
            optional(
                "by",
                ValueType::Word(WORDS),
                DefaultValue::Word("cubic"),
                "how samples between samples follow: from the nearest, by straight lines, by cubics, or with the finest detail",
            ),
            EDGE,
        ],
        extent: DefaultExtent::Source,
        children: SOURCE,
        example: "affine angle=12.5 scale=1.2 {\n    (source)image \"photo.png\"\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Mapped> {
        let scale = scale(source, checker);
        let shift = [
            shift("shift-x", source, checker),
            shift("shift-y", source, checker),
        ];
        let by = match source.values.word("by")? {
            "nearest" => Resampling::Box,
            word => Resampling::of_word(word)?,
        };
        let real = |name| source.values.real(name).map_or(0.0, |(value, _)| value);
        let inverse = inverse(real("angle"), real("shear"), scale?);
        let Some(inverse) = inverse else {
            let span = source.values.span("shear").unwrap_or(source.span);
            let message = format!("one step here is more than {MAX_COEFFICIENT} samples of the source");
            checker.note(
                Problem::new("E402", message)
                    .label(span, "too much")
                    .help("shear and shrink less, or shrink the source by a `resize` first"),
            );
            return None;
        };
        Some(Mapped {
            by,
            inverse,
            shift: [shift[0]?, shift[1]?],
            edge: Edge::of(source)?,
            span: source.children.first().map(|child| child.node.span)?,
        })
    }

    fn bounds(&self, seen: &Seen<'_>) -> Bounds {
        // Its source lies in another frame.
        seen.any()
    }

    fn is_smooth(&self, children: bool) -> bool {
        children || self.by != Resampling::Box
    }

    fn doubt(_: &Mapped, doubts: &mut Doubts<'_>) {
        doubts.warn_of_frame(Self::SIGNATURE.name);
    }

    fn validate(&self, _: &Rules<'_>) -> Result<(), String> {
        let sides = 1..=MAX_SIDE;
        if !sides.contains(&self.source.0) || !sides.contains(&self.source.1) {
            let (width, height) = self.source;
            return Err(format!(
                "its source of {width} × {height} has no samples, or a side above 2^24 pixels"
            ));
        }
        let within = |number: i64, greatest: i64| number.unsigned_abs() <= greatest.unsigned_abs();
        if !self
            .inverse
            .as_flattened()
            .iter()
            .all(|number| within(*number, MAX_COEFFICIENT * ONE))
        {
            return Err(format!("its matrix has a coefficient beyond {MAX_COEFFICIENT}"));
        }
        if !self.shift.iter().all(|shift| within(*shift, MAX_SHIFT * PIXEL)) {
            return Err("it moves its source by more than 2^24 pixels".to_owned());
        }
        Ok(())
    }
}

impl Affine {
    /// The weights of the samples around a place.
    #[must_use]
    pub fn taps(&self) -> Taps {
        self.by.taps(1.0)
    }
}

/// How much wider and higher the source becomes. That it is out of range is noted.
fn scale(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<[f64; 2]> {
    let range = 1.0 / MAX_COEFFICIENT as f64..=65_536.0;
    let mut is_right = true;
    let all = source.values.real("scale").map_or(1.0, |(scale, _)| scale);
    for name in ["scale", "scale-x", "scale-y"] {
        if let Some((scale, span)) = source.values.real(name)
            && !range.contains(&scale.abs())
        {
            let message = format!("a scale of {scale}; it is 1/{MAX_COEFFICIENT} to 65536");
            checker.note(
                Problem::new("E402", message)
                    .label(span, "out of range")
                    .help("1 leaves the source as large as it is, 2 makes it twice as large"),
            );
            is_right = false;
        }
    }
    let along = |name| source.values.real(name).map_or(all, |(scale, _)| scale);
    is_right.then(|| [along("scale-x"), along("scale-y")])
}

/// A shift in 1/65536 of a pixel. That it is out of range is noted.
fn shift(name: &'static str, source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<i64> {
    let pixels = source.values.ratio(name)?;
    let shift = pixels
        .times(Ratio::integer(PIXEL.into()))
        .and_then(|shift| i64::try_from(shift.rounded()).ok());
    if let Some(shift) = shift
        && shift.unsigned_abs() <= (MAX_SHIFT * PIXEL).unsigned_abs()
    {
        return Some(shift);
    }
    let span = source.values.span(name).unwrap_or(source.span);
    let message = format!("`{name}` moves the source by more than 2^24 pixels");
    checker.note(
        Problem::new("E402", message)
            .label(span, "too far")
            .help("x and y place a node anywhere"),
    );
    None
}

/// Sine and cosine of an angle in degrees, exact at quarters of a turn.
fn sine_cosine(degrees: f64) -> (f64, f64) {
    // Both operations are exact.
    let turned = libm::fmod(degrees, 360.0);
    let turned = if turned < 0.0 { turned + 360.0 } else { turned };
    match turned {
        0.0 | 360.0 => (0.0, 1.0),
        90.0 => (1.0, 0.0),
        180.0 => (0.0, -1.0),
        270.0 => (-1.0, 0.0),
        _ => {
            let angle = turned * (std::f64::consts::PI / 180.0);
            (libm::sin(angle), libm::cos(angle))
        }
    }
}

/// The matrix from what is scaled, sheared and turned to what it is of, in 2^−40. Nothing where a coefficient is above 64.
fn inverse(degrees: f64, shear: f64, [across, down]: [f64; 2]) -> Option<[[i64; 2]; 2]> {
    let (sine, cosine) = sine_cosine(degrees);
    let fixed = |value: f64| {
        let scaled = libm::round(value * ONE as f64);
        (scaled.abs() <= (MAX_COEFFICIENT * ONE) as f64).then_some(scaled as i64)
    };
    Some([
        [
            fixed((cosine + shear * sine) / across)?,
            fixed((sine - shear * cosine) / across)?,
        ],
        [fixed(-sine / down)?, fixed(cosine / down)?],
    ])
}

impl IntoKind<Affine> for Mapped {
    fn sized(&self, sizing: &mut Sizing<'_>) -> Option<Affine> {
        let end = |begin: i64, side: u64| i128::from(begin) + i128::from(side);
        let extent = sizing.placed.first()?.extent;
        let (right, bottom) = (end(extent.x(), extent.width()), end(extent.y(), extent.height()));
        if right.min(bottom) < 1 {
            let problem = Problem::new(
                "E402",
                "no pixel of this source lies right of and below the corner of its `affine`",
            );
            sizing.note(
                problem
                    .label(self.span, "left of it, or above")
                    .help("leave x and y out: what is mapped begins at (0, 0)"),
            );
            return None;
        }
        let longest = i128::from(sizing.size.width.max(sizing.size.height))
            .max(right)
            .max(bottom);
        if longest > i128::from(MAX_SIDE) {
            let message = format!("a side of {longest} pixels; an `affine` and its source have at most 2^24");
            sizing.note(
                Problem::new("E402", message)
                    .label(self.span, "this source, or the node around it, is too large")
                    .help("map a pattern and repeat it, or turn by quarters with `turn`"),
            );
            return None;
        }
        Some(Affine {
            by: self.by,
            inverse: self.inverse,
            shift: self.shift,
            source: (u64::try_from(right).ok()?, u64::try_from(bottom).ok()?),
            edge: self.edge,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarters_of_a_turn_are_exact() {
        for (degrees, expected) in [
            (0.0, [[ONE, 0], [0, ONE]]),
            (90.0, [[0, ONE], [-ONE, 0]]),
            (-90.0, [[0, -ONE], [ONE, 0]]),
            (180.0, [[-ONE, 0], [0, -ONE]]),
            (720.0, [[ONE, 0], [0, ONE]]),
            (1e-300, [[ONE, 0], [0, ONE]]),
        ] {
            assert_eq!(inverse(degrees, 0.0, [1.0, 1.0]), Some(expected), "{degrees}");
        }
    }

    #[test]
    fn the_matrix_undoes_scale_shear_and_turn() {
        for (degrees, shear, scale) in [
            (30.0, 0.0, [2.0, 2.0]),
            (-77.5, 0.25, [0.5, -3.0]),
            (211.0, -1.5, [1.0, 0.1]),
        ] {
            let angle = f64::to_radians(degrees);
            let (sine, cosine) = angle.sin_cos();
            let inverse = inverse(degrees, shear, scale).unwrap();
            for (x, y) in [(1.0, 0.0), (0.0, 1.0), (3.0, -2.0)] {
                let (u, v): (f64, f64) = (x * scale[0], y * scale[1]);
                let u = u + shear * v;
                let turned = [u * cosine - v * sine, u * sine + v * cosine];
                let back =
                    inverse.map(|row| (row[0] as f64 * turned[0] + row[1] as f64 * turned[1]) / ONE as f64);
                assert!(
                    (back[0] - x).abs() < 1e-9 && (back[1] - y).abs() < 1e-9,
                    "{back:?}, not {x} {y}"
                );
            }
        }
    }

    #[test]
    fn a_matrix_beyond_its_range_is_none() {
        assert!(inverse(0.0, 65.0, [1.0, 1.0]).is_none());
        assert!(inverse(0.0, 1e300, [1.0, 1.0]).is_none());
        assert!(inverse(45.0, f64::MAX, [1.0 / 64.0, 1.0]).is_none());
        assert!(inverse(0.0, 0.0, [1.0 / 64.0, 65_536.0]).is_some());
    }
}
