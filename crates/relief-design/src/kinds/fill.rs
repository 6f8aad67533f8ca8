//! `fill`: one sample.

use super::{Bounds, NodeKind, NodeSource, Seen};
use crate::draft::Checker;
use crate::signature::{Signature, ValueType, required};
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

    fn validate(&self, rules: &Rules<'_>) -> Result<(), String> {
        rules.sample(self.value)
    }
}
