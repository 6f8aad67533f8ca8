//! `flip`: a source mirrored along an axis.

use super::{Bounds, NodeKind, NodeSource, Seen};
use crate::draft::Checker;
use crate::seam::{Interval, Seam, Support};
use crate::signature::{Count, DefaultExtent, Signature, ValueType, required, role};
use crate::tree::{Axis, Role};
use crate::validate::Rules;

/// Sample (x, y) is that of the one `Source` child at (w − 1 − x, y) along x, at (x, h − 1 − y) along y, with w × h the
/// node's own size.
#[derive(Clone, Debug, PartialEq)]
pub struct Flip {
    /// The axis along which it is mirrored.
    pub axis: Axis,
}

impl NodeKind for Flip {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "flip",
        meaning: "The source mirrored: along x, sample (x, y) is the source's at (w − 1 − x, y), along y at \
                  (x, h − 1 − y), with w × h this node's size.",
        properties: &[required(
            "axis",
            ValueType::Word(Axis::WORDS),
            "the axis along which left and right, or top and bottom, change places",
        )],
        extent: DefaultExtent::Source,
        children: &[role(Role::Source, Count::One)],
        example: "flip axis=\"x\" {\n    (source)image \"photo.png\"\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, _: &mut Checker<'_>) -> Option<Self> {
        Some(Self {
            axis: Axis::of_word(source.values.word("axis")?)?,
        })
    }

    fn bounds(&self, seen: &Seen<'_>) -> Bounds {
        seen.first()
    }

    fn is_smooth(&self, children: bool) -> bool {
        children
    }

    fn support(&self, size: (u64, u64), children: &[(Role, Support)]) -> Support {
        let [mut x, mut y] = children
            .first()
            .map_or([Interval::EMPTY; 2], |(_, support)| *support);
        match self.axis {
            Axis::X => x = x.mirrored(size.0.into()),
            Axis::Y => y = y.mirrored(size.1.into()),
        }
        [x, y]
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        let window = if self.axis == seam.axis {
            seam.window.mirrored(seam.side())
        } else {
            seam.window
        };
        seam.child(0, seam.axis, window);
    }

    fn validate(&self, _: &Rules<'_>) -> Result<(), String> {
        Ok(())
    }
}
