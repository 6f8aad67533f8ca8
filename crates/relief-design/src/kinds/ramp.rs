//! `ramp`: a linear change along an axis.

use super::{Bounds, NodeKind, NodeSource, Seen};
use crate::draft::Checker;
use crate::seam::{Gap, Seam};
use crate::signature::{Signature, ValueType, required};
use crate::tree::Axis;
use crate::validate::Rules;

/// from + round((to − from)·i / (n − 1)), half away from zero, with i along the axis and n the extent along it; `from`
/// where n = 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Ramp {
    /// The axis along which it changes.
    pub axis: Axis,
    /// The first sample.
    pub from: u16,
    /// The last sample.
    pub to: u16,
}

impl NodeKind for Ramp {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "ramp",
        meaning: "from + round((to − from)·i / (n − 1)), rounded half away from zero, with i along the axis and n the \
                  extent along it; from where n = 1.",
        properties: &[
            required(
                "axis",
                ValueType::Word(Axis::WORDS),
                "the axis along which it changes",
            ),
            required("from", ValueType::Sample, "the first sample"),
            required("to", ValueType::Sample, "the last sample"),
        ],
        example: "ramp axis=\"x\" from=0 to=255",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, _: &mut Checker<'_>) -> Option<Self> {
        Some(Self {
            axis: Axis::of_word(source.values.word("axis")?)?,
            from: source.values.sample("from")?,
            to: source.values.sample("to")?,
        })
    }

    fn bounds(&self, _: &Seen<'_>) -> Bounds {
        Bounds::new(self.from, self.to)
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        if self.axis == seam.axis && self.from != self.to && seam.side() > 1 {
            seam.gap(Gap::Changes(format!(
                "this `ramp` begins with {} and ends with {}",
                self.from, self.to
            )));
        }
    }

    fn validate(&self, rules: &Rules<'_>) -> Result<(), String> {
        rules.sample(self.from)?;
        rules.sample(self.to)
    }
}
