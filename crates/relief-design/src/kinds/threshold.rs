//! `threshold`: two samples.

use super::{Bounds, NodeKind, NodeSource, Seen};
use crate::draft::Checker;
use crate::seam::{Interval, Seam, Support};
use crate::signature::{Count, Signature, ValueType, required, role};
use crate::tree::Role;
use crate::validate::Rules;

/// M where the one `Source` child is at least `level`, else 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// The level.
    pub level: u16,
}

impl NodeKind for Threshold {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "threshold",
        meaning: "M where the source is at least the level, else 0.",
        properties: &[required("level", ValueType::Sample, "the level")],
        children: &[role(Role::Source, Count::One)],
        example: "threshold level=128 {\n    (source)image \"photo.png\"\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, _: &mut Checker<'_>) -> Option<Self> {
        Some(Self {
            level: source.values.sample("level")?,
        })
    }

    fn bounds(&self, seen: &Seen<'_>) -> Bounds {
        let of = |v: u16| if v >= self.level { seen.max } else { 0 };
        Bounds::new(of(seen.first().least), of(seen.first().greatest))
    }

    fn support(&self, size: (u64, u64), children: &[(Role, Support)]) -> Support {
        match children {
            [(_, support)] if self.level > 0 => *support,
            _ => [Interval::side(size.0), Interval::side(size.1)],
        }
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        seam.same_place();
    }

    fn validate(&self, rules: &Rules<'_>) -> Result<(), String> {
        rules.sample(self.level)
    }
}
