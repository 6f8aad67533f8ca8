//! `fill`: one sample.

use super::{Bounds, NodeKind, NodeSource, Seen};
use crate::draft::Checker;
use crate::seam::{Interval, Seam, Support};
use crate::signature::{Signature, ValueType, required};
use crate::tree::Role;
use crate::validate::Rules;

/// The same sample everywhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Fill {
    /// The sample.
    pub value: u16,
}

impl NodeKind for Fill {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "fill",
        meaning: "The same sample everywhere.",
        properties: &[required("value", ValueType::Sample, "the sample")],
        example: "fill value=128",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, _: &mut Checker<'_>) -> Option<Self> {
        Some(Self {
            value: source.values.sample("value")?,
        })
    }

    fn bounds(&self, _: &Seen<'_>) -> Bounds {
        Bounds::only(self.value)
    }

    fn support(&self, size: (u64, u64), _: &[(Role, Support)]) -> Support {
        if self.value == 0 {
            return [Interval::EMPTY; 2];
        }
        [Interval::side(size.0), Interval::side(size.1)]
    }

    /// The same everywhere.
    fn seam(&self, _: &mut Seam<'_, '_>) {}

    fn validate(&self, rules: &Rules<'_>) -> Result<(), String> {
        rules.sample(self.value)
    }
}
