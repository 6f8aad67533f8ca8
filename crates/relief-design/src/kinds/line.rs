//! `line`: straight lines of a width, from place to place.

use relief_vector::{Affine, shapes};

use super::drawing::{ANTIALIAS, CAP, Drawn, JOIN, ORIGIN, drawn, gray, shape, stroke, vertices};
use super::{NodeKind, NodeSource};
use crate::draft::Checker;
use crate::report::Problem;
use crate::signature::{Count, DefaultExtent, Signature, ValueType, parameter, required};

/// Lines of a width.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Their outline.
    pub drawn: Drawn,
}

impl NodeKind for Line {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "line",
        meaning: "Straight lines from `vertex` to `vertex`, half of the width `stroke` on either side of them. Pixels that they \
                  cover in part have a part of their sample. The others are 0.",
        details: "A node begins at (0, 0), so that half of a line along its upper side is cut off; origin=\"box\" shows all of it.",
        properties: &[
            required(
                "stroke",
                ValueType::Dimension,
                "the width of the line, not rounded",
            ),
            required("value", ValueType::Sample, "the sample of the line"),
            CAP,
            JOIN,
            ORIGIN,
            ANTIALIAS,
        ],
        extent: DefaultExtent::Natural,
        children: &[parameter("vertex", Count::Some)],
        example: "line stroke=\"0.2mm\" cap=\"round\" join=\"round\" value=255 {\n    vertex \"1mm\" \"1mm\"\n    \
                  vertex \"3.5mm\" \"1mm\"\n    vertex \"3.5mm\" \"2.2mm\"\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Self> {
        let values = source.values;
        let places = vertices(source.parameters, checker);
        let value = gray(values.sample("value")?, checker.depth());
        let (places, width) = (places?, values.ratio("stroke")?.real());
        if places.len() < 2 {
            let problem = Problem::new("E511", "a line has at least 2 places, found 1");
            checker.note(
                problem
                    .label(source.span, "this line")
                    .help("add the `vertex` that it leads to"),
            );
            return None;
        }
        let places: Vec<_> = places.iter().map(|(x, y)| (x.real(), y.real())).collect();
        let (path, look) = (shapes::line(&places), stroke(values, width));
        let draw = |sketch: &mut relief_vector::Sketch| sketch.stroke(&path, Affine::IDENTITY, value, &look);
        let drawn = shape(values, (source.span, Self::SIGNATURE.name), checker, draw)?;
        Some(Self { drawn })
    }

    drawn!();
}
