//! `rectangle`: a filled rectangle of exact sides.

use relief_vector::{Rule, shapes};

use super::drawing::{
    ANTIALIAS, Drawn, SHIFT_X, SHIFT_Y, SIZE_X, SIZE_Y, VALUE, drawn, fill, frame, gray, placed, shape,
};
use super::{NodeKind, NodeSource};
use crate::draft::Checker;
use crate::signature::{DefaultExtent, DefaultValue, Signature, ValueType, optional};

/// A rectangle, its corners sharp or quarters of discs.
#[derive(Clone, Debug, PartialEq)]
pub struct Rectangle {
    /// Its outline.
    pub drawn: Drawn,
}

impl NodeKind for Rectangle {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "rectangle",
        meaning: "A filled rectangle whose sides need not lie between pixels: those that it covers in part have a part of \
                  its sample. The others are 0.",
        details: include_str!("rectangle.md"),
        properties: &[
            SIZE_X,
            SIZE_Y,
            VALUE,
            optional(
                "radius",
                ValueType::Dimension,
                DefaultValue::Absent("none: sharp corners"),
                "that of its corners, at most half its shorter side",
            ),
            SHIFT_X,
            SHIFT_Y,
            ANTIALIAS,
        ],
        extent: DefaultExtent::Natural,
        example: "rectangle size-x=\"12.3mm\" size-y=\"5mm\" radius=\"0.5mm\" value=200",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Self> {
        let (values, depth) = (source.values, checker.depth());
        let (from, size) = frame(values)?;
        let value = gray(values.sample("value")?, depth);
        let path = match values.ratio("radius") {
            // Every side is rounded once, so that what abuts in the design abuts in the raster.
            None => {
                let to = (from.0.plus(size.0)?, from.1.plus(size.1)?);
                let (left, top, right, bottom) = (placed(from.0), placed(from.1), placed(to.0), placed(to.1));
                shapes::polygon(&[(left, top), (right, top), (right, bottom), (left, bottom)])
            }
            Some(radius) => {
                let radius = radius.real();
                let (from, size) = ((from.0.real(), from.1.real()), (size.0.real(), size.1.real()));
                shapes::rounded_rectangle(from, size, (radius, radius), 1.0 / 1_024.0)
            }
        };
        let draw = |sketch: &mut _| fill(sketch, &path, value, Rule::NonZero);
        let drawn = shape(values, (source.span, Self::SIGNATURE.name), checker, draw)?;
        Some(Self { drawn })
    }

    drawn!();
}
