//! `box`: means of squares.

use super::edge::{EDGE, SOURCE, is_radius, radius};
use super::{Bounds, Edge, NodeKind, NodeSource, Seen};
use crate::draft::Checker;
use crate::seam::Seam;
use crate::signature::{Signature, ValueType, required};
use crate::validate::Rules;

/// The greatest radius of `box`, `erode` and `dilate`, in pixels.
pub(super) const MAX_RADIUS: u32 = 256;

/// ⌊(2Σ + n) / 2n⌋ of the sum Σ of the n = (2·`radius` + 1)² samples of the square around the pixel, of the one `Source` child.
#[derive(Clone, Debug, PartialEq)]
pub struct BoxMean {
    /// R: how far the square reaches from its middle, in pixels, 1…256.
    pub radius: u32,
    /// What is read beyond the node's extent.
    pub edge: Edge,
}

impl NodeKind for BoxMean {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "box",
        meaning: "The mean of the n = (2R + 1)² samples of the source in a square around the pixel, to the nearest: \
                  ⌊(2Σ + n) / 2n⌋ of their sum Σ. Zeros count as samples. Within this node's extent the source is 0 where \
                  it is not; beyond it, what `edge` says.",
        properties: &[
            required(
                "radius",
                ValueType::Length {
                    least: 1,
                    greatest: MAX_RADIUS as i64,
                },
                "R: how far the square reaches from its middle",
            ),
            EDGE,
        ],
        children: SOURCE,
        example: "box radius=5 {\n    (source)image \"photo.png\"\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, _: &mut Checker<'_>) -> Option<Self> {
        Some(Self {
            radius: radius(source)?,
            edge: Edge::of(source)?,
        })
    }

    fn bounds(&self, seen: &Seen<'_>) -> Bounds {
        self.edge.around(seen)
    }

    fn is_smooth(&self, _: bool) -> bool {
        true
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        seam.filter(self.radius, self.edge);
    }

    fn validate(&self, _: &Rules<'_>) -> Result<(), String> {
        is_radius(self.radius, MAX_RADIUS)
    }
}
