//! `sobel`: slopes.

use super::edge::{EDGE, SOURCE};
use super::{Edge, NodeKind, NodeSource, words};
use crate::draft::Checker;
use crate::seam::Seam;
use crate::signature::{DefaultValue, Signature, ValueType, optional};
use crate::validate::Rules;

/// What of a slope becomes the sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Component {
    /// min(M, √(gx² + gy²)), rounded.
    #[default]
    Magnitude,
    /// ⌊(gx + 4M + 4) / 8⌋.
    X,
    /// ⌊(gy + 4M + 4) / 8⌋.
    Y,
}

words!(Component {
    Magnitude = "magnitude",
    X = "x",
    Y = "y",
});

/// How much the samples of the one `Source` child change around the pixel, by the masks of Sobel.
#[derive(Clone, Debug, PartialEq)]
pub struct Sobel {
    /// What of the slope is shown.
    pub of: Component,
    /// What is read beyond the node's extent.
    pub edge: Edge,
}

impl NodeKind for Sobel {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "sobel",
        meaning: "How much the source changes around the pixel. gx is the column to the right less that to the left, each \
                  weighted 1, 2, 1; gy the row below less that above. The sample is min(M, √(gx² + gy²)), rounded; of \
                  x or y ⌊(g + 4M + 4) / 8⌋, which is the middle of all levels where nothing changes. Within this node's \
                  extent the source is 0 where it is not; beyond it, what `edge` says.",
        properties: &[
            optional(
                "of",
                ValueType::Word(Component::WORDS),
                DefaultValue::Word(Component::Magnitude.word()),
                "what is shown: how steep the slope is, or what of it lies along one axis",
            ),
            EDGE,
        ],
        children: SOURCE,
        example: "sobel {\n    (source)image \"photo.png\"\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, _: &mut Checker<'_>) -> Option<Self> {
        Some(Self {
            of: source.values.word("of").and_then(Component::of_word)?,
            edge: Edge::of(source)?,
        })
    }

    fn is_smooth(&self, _: bool) -> bool {
        true
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        seam.filter(1, self.edge);
    }

    fn validate(&self, _: &Rules<'_>) -> Result<(), String> {
        Ok(())
    }
}
