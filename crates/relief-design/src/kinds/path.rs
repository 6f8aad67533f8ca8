//! `path`: lines and curves in the words of SVG.

use relief_vector::{Affine, Rule, Sketch, shapes};

use super::drawing::{ANTIALIAS, CAP, Drawn, JOIN, ORIGIN, drawn, gray, shape, stroke};
use super::{NodeKind, NodeSource, words};
use crate::draft::Checker;
use crate::report::Problem;
use crate::signature::{DefaultExtent, DefaultValue, Signature, ValueType, optional, required};
use crate::syntax::shortened;

/// The inside of a path, a line along it, or both.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The outlines.
    pub drawn: Drawn,
}

/// What of a path is filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fill {
    #[default]
    NonZero,
    EvenOdd,
    None,
}

words!(Fill {
    NonZero = "nonzero",
    EvenOdd = "evenodd",
    None = "none",
});

impl NodeKind for Path {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "path",
        meaning: "The inside of lines and curves written as the `d` of an SVG path, a line along them, or both.",
        details: include_str!("path.md"),
        arguments: &[required(
            "data",
            ValueType::Text,
            "commands and numbers: M, L, H, V, C, S, Q, T, A and Z; small letters count from the place before",
        )],
        properties: &[
            required("value", ValueType::Sample, "the sample inside, and of the line"),
            optional(
                "unit",
                ValueType::Dimension,
                DefaultValue::Number(1),
                "the length that 1 stands for in the data",
            ),
            optional(
                "fill",
                ValueType::Word(Fill::WORDS),
                DefaultValue::Word(Fill::NonZero.word()),
                "the inside: where the winding number is not 0, where it is odd, or nothing",
            ),
            optional(
                "stroke",
                ValueType::Dimension,
                DefaultValue::Absent("none: no line"),
                "the width of a line along it, above the inside",
            ),
            optional(
                "stroke-value",
                ValueType::Sample,
                DefaultValue::Absent("as `value`"),
                "the sample of that line",
            ),
            CAP,
            JOIN,
            ORIGIN,
            ANTIALIAS,
        ],
        extent: DefaultExtent::Natural,
        example: "path \"M1 4 A3 3 0 0 1 7 4 L4 9 Z\" unit=\"0.5mm\" value=255",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Self> {
        let (values, depth) = (source.values, checker.depth());
        let (data, at) = values.text("data")?;
        let unit = values.ratio("unit")?.real();
        let value = values.sample("value")?;
        let fill = values.word("fill").and_then(Fill::of_word).unwrap_or_default();
        let width = values.ratio("stroke");
        if values.broken {
            return None;
        }
        if fill == Fill::None && width.is_none() {
            let problem = Problem::new(
                "E511",
                "a path that is neither filled nor has a line shows nothing",
            );
            checker.note(
                problem
                    .label(source.span, "this path")
                    .help("give it a stroke=, or leave fill=\"none\" out"),
            );
            return None;
        }
        let scale = Affine::scale(unit);
        let (path, fault) = shapes::path(data, scale);
        if let Some(byte) = fault.or(path.elements().is_empty().then_some(0)) {
            let rest = data.get(byte..).unwrap_or_default();
            let message = match shortened(rest) {
                rest if rest.is_empty() => "the data of the path end too early".to_owned(),
                rest => format!("the data of the path cannot be read from {rest:?} on"),
            };
            let problem = Problem::new("E511", message).label(at, format!("its byte {byte}"));
            checker.note(problem.help("write commands as SVG has them, as in \"M0 0 L10 0 L5 8 Z\""));
            return None;
        }
        let line = values.sample("stroke-value").unwrap_or(value);
        let draw = |sketch: &mut Sketch| {
            let rule = match fill {
                Fill::NonZero => Some(Rule::NonZero),
                Fill::EvenOdd => Some(Rule::EvenOdd),
                Fill::None => None,
            };
            if let Some(rule) = rule {
                sketch.fill(&path, scale, gray(value, depth), rule)?;
            }
            if let Some(width) = width {
                // The stroke lies before the transform, the width after it.
                let look = stroke(values, width.real() / unit);
                sketch.stroke(&path, scale, gray(line, depth), &look)?;
            }
            Ok(())
        };
        let drawn = shape(values, (source.span, Self::SIGNATURE.name), checker, draw)?;
        Some(Self { drawn })
    }

    drawn!();
}
