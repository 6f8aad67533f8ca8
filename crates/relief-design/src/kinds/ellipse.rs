//! `ellipse`: a filled ellipse of exact axes.

use relief_vector::{Rule, shapes};

use super::drawing::{
    ANTIALIAS, Drawn, SHIFT_X, SHIFT_Y, SIZE_X, SIZE_Y, VALUE, drawn, fill, frame, gray, shape,
};
use super::{NodeKind, NodeSource};
use crate::draft::Checker;
use crate::signature::{DefaultExtent, Signature};

/// An ellipse.
#[derive(Clone, Debug, PartialEq)]
pub struct Ellipse {
    /// Its outline.
    pub drawn: Drawn,
}

impl NodeKind for Ellipse {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "ellipse",
        meaning: "A filled ellipse within size-x × size-y; a circle where both are the same. Pixels that it covers in part \
                  have a part of its sample. The others are 0.",
        details: "Its outline is made of cubic curves within 2^-10 px of the ellipse, and of chords within 1/16 px of those. A `disc` is \
                  decided by the centres of pixels in exact integers instead.",
        properties: &[SIZE_X, SIZE_Y, VALUE, SHIFT_X, SHIFT_Y, ANTIALIAS],
        extent: DefaultExtent::Natural,
        example: "ellipse size-x=\"2mm\" size-y=\"1.2mm\" value=255",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Self> {
        let (from, size) = frame(source.values)?;
        let value = gray(source.values.sample("value")?, checker.depth());
        let (rx, ry) = (size.0.real() / 2.0, size.1.real() / 2.0);
        let centre = (from.0.real() + rx, from.1.real() + ry);
        let path = shapes::ellipse_within(centre, (rx, ry), 1.0 / 1_024.0);
        let draw = |sketch: &mut _| fill(sketch, &path, value, Rule::NonZero);
        let drawn = shape(source.values, (source.span, Self::SIGNATURE.name), checker, draw)?;
        Some(Self { drawn })
    }

    drawn!();
}
