//! What filters read beyond their own extent, and how they say how far they reach.

use super::{Bounds, NodeSource, Seen, words};
use crate::signature::{ChildRule, Count, DefaultValue, Parameter, ValueType, optional, role};
use crate::tree::Role;

/// What a filter reads beyond its own extent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Edge {
    /// The nearest sample inside.
    #[default]
    Clamp,
    /// Those mirrored at the outermost sample, which is not repeated: −1 reads 1.
    Mirror,
    /// Those of the other end.
    Wrap,
    /// 0.
    Zero,
}

words!(Edge {
    Clamp = "clamp",
    Mirror = "mirror",
    Wrap = "wrap",
    Zero = "zero",
});

/// The property `edge` of a filter.
pub(super) const EDGE: Parameter = optional(
    "edge",
    ValueType::Word(Edge::WORDS),
    DefaultValue::Word(Edge::Clamp.word()),
    "what is read beyond this node's extent: the nearest sample, those mirrored at it, those of the other end, or 0",
);

/// What a filter reads.
pub(super) const SOURCE: &[ChildRule] = &[role(Role::Source, Count::One)];

impl Edge {
    /// That of a node.
    pub(super) fn of(source: &NodeSource<'_, '_>) -> Option<Self> {
        source.values.word("edge").and_then(Self::of_word)
    }

    /// What samples a filter with this edge reads of its first child.
    pub(super) fn around(self, seen: &Seen<'_>) -> Bounds {
        match self {
            Self::Clamp | Self::Mirror | Self::Wrap => seen.first(),
            Self::Zero => seen.first().or(Bounds::ZERO),
        }
    }
}

/// The length `radius` of a filter, in pixels. Its range has been checked.
pub(super) fn radius(source: &NodeSource<'_, '_>) -> Option<u32> {
    u32::try_from(source.values.pixels("radius")?).ok()
}

/// Whether a radius is in range.
pub(super) fn is_radius(radius: u32, greatest: u32) -> Result<(), String> {
    if (1..=greatest).contains(&radius) {
        return Ok(());
    }
    Err(format!("its radius, {radius}, is not 1 to {greatest}"))
}
