//! `polygon`: the inside of straight lines between exact places.

use relief_vector::shapes;

use super::drawing::{
    ANTIALIAS, Drawn, FillRule, ORIGIN, RULE, VALUE, drawn, fill, gray, placed, shape, vertices,
};
use super::{NodeKind, NodeSource};
use crate::draft::Checker;
use crate::report::Problem;
use crate::signature::{Count, DefaultExtent, Signature, parameter};

/// A polygon.
#[derive(Clone, Debug, PartialEq)]
pub struct Polygon {
    /// Its outline.
    pub drawn: Drawn,
}

impl NodeKind for Polygon {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "polygon",
        meaning: "The inside of straight lines from `vertex` to `vertex` and back to the first. Pixels that it covers in part \
                  have a part of its sample. The others are 0.",
        details: "Places are rounded once, to 1/256 px, halves up. It may cross itself; `rule` says what is inside.",
        properties: &[VALUE, RULE, ORIGIN, ANTIALIAS],
        extent: DefaultExtent::Natural,
        children: &[parameter("vertex", Count::Some)],
        example: "polygon value=255 {\n    vertex 0 0\n    vertex \"1.5mm\" 0\n    vertex 0 \"0.7mm\"\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Self> {
        let places = vertices(source.parameters, checker);
        let value = gray(source.values.sample("value")?, checker.depth());
        let places = places?;
        if places.len() < 3 {
            let message = format!("a polygon has at least 3 places, found {}", places.len());
            let problem = Problem::new("E511", message).label(source.span, "this polygon");
            checker.note(problem.help("add a `vertex`; a `line` has two or more"));
            return None;
        }
        let places: Vec<_> = places.into_iter().map(|(x, y)| (placed(x), placed(y))).collect();
        let path = shapes::polygon(&places);
        let rule = source.values.word("rule").and_then(FillRule::of_word);
        let draw = |sketch: &mut _| fill(sketch, &path, value, rule.unwrap_or_default().into());
        let drawn = shape(source.values, (source.span, Self::SIGNATURE.name), checker, draw)?;
        Some(Self { drawn })
    }

    drawn!();
}
