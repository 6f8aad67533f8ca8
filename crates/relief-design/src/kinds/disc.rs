//! `disc`: a filled circle.

use super::{Bounds, NaturalChild, NaturalSize, NodeKind, NodeSource, Seen};
use crate::draft::Checker;
use crate::seam::{Interval, Seam, Support};
use crate::signature::{DefaultExtent, SIZE, Signature, ValueType, required};
use crate::tree::Role;
use crate::validate::Rules;

/// (2i − D + 1)² + (2j − D + 1)² ≤ D² in the D×D square; cropped or padded with 0 to the extent.
#[derive(Clone, Debug, PartialEq)]
pub struct Disc {
    /// D, in pixels.
    pub diameter: u64,
    /// The sample inside.
    pub value: u16,
}

impl NodeKind for Disc {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "disc",
        meaning: "The pixels whose centre is within D/2 of the centre of the D×D square: \
                  (2i − D + 1)² + (2j − D + 1)² ≤ D². The others are 0.",
        properties: &[
            required("diameter", SIZE, "D"),
            required("value", ValueType::Sample, "the sample inside"),
        ],
        extent: DefaultExtent::Natural,
        example: "disc diameter=\"0.2mm\" value=255",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, _: &mut Checker<'_>) -> Option<Self> {
        Some(Self {
            diameter: source.values.pixels("diameter")?.unsigned_abs(),
            value: source.values.sample("value")?,
        })
    }

    fn natural_size(draft: &Self, _: &[NaturalChild]) -> NaturalSize {
        NaturalSize::of(draft.diameter, draft.diameter)
    }

    fn bounds(&self, _: &Seen<'_>) -> Bounds {
        Bounds::new(0, self.value)
    }

    fn support(&self, _: (u64, u64), _: &[(Role, Support)]) -> Support {
        [Interval::side(self.diameter), Interval::side(self.diameter)]
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        // It touches both ends in the middle row at most, and is round there.
        if i128::from(self.diameter) != seam.turn || seam.window.from != 0 || seam.window.len() != seam.turn {
            seam.shape("this `disc` is larger than a turn");
        }
    }

    fn validate(&self, rules: &Rules<'_>) -> Result<(), String> {
        rules.side(self.diameter, "diameter")?;
        rules.sample(self.value)
    }
}
