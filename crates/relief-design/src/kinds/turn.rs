//! `turn`: a source turned by quarters.

use super::{Bounds, NaturalChild, NaturalSize, NodeKind, NodeSource, Seen};
use crate::draft::Checker;
use crate::seam::{Interval, Seam, Support};
use crate::signature::{Count, DefaultExtent, DefaultValue, Signature, ValueType, optional, role};
use crate::tree::{Axis, Role};
use crate::validate::Rules;

/// The one `Source` child turned clockwise. With w × h the node's own size, sample (x, y) is that of the source at
/// (y, w − 1 − x) after one quarter, at (w − 1 − x, h − 1 − y) after two, at (h − 1 − y, x) after three.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// Quarters of a full turn: 1, 2 or 3.
    pub quarters: u8,
}

impl Turn {
    /// Whether columns become rows.
    #[must_use]
    pub const fn swaps(&self) -> bool {
        self.quarters % 2 == 1
    }
}

impl NodeKind for Turn {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "turn",
        meaning: "The source turned clockwise. With w × h this node's size, sample (x, y) is the source's at \
                  (y, w − 1 − x) after one quarter, (w − 1 − x, h − 1 − y) after two, (h − 1 − y, x) after three. The \
                  source lies in a frame of h × w pixels after one and three.",
        properties: &[optional(
            "quarters",
            ValueType::Choice(&[1, 2, 3]),
            DefaultValue::Number(1),
            "quarters of a full turn, clockwise",
        )],
        extent: DefaultExtent::Source,
        children: &[role(Role::Source, Count::One)],
        example: "turn quarters=1 {\n    (source)image \"photo.png\"\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, _: &mut Checker<'_>) -> Option<Self> {
        let quarters = source.values.choice("quarters")?;
        Some(Self {
            quarters: u8::try_from(quarters).ok()?,
        })
    }

    fn natural_size(draft: &Self, children: &[NaturalChild]) -> NaturalSize {
        let size = NaturalSize::around(children);
        if draft.swaps() {
            NaturalSize {
                width: size.height,
                height: size.width,
                ..size
            }
        } else {
            size
        }
    }

    fn frame(draft: &Self, (width, height): (u64, u64)) -> (u64, u64) {
        if draft.swaps() {
            (height, width)
        } else {
            (width, height)
        }
    }

    fn bounds(&self, seen: &Seen<'_>) -> Bounds {
        if self.swaps() {
            // Its source lies in another frame.
            seen.any()
        } else {
            seen.first()
        }
    }

    fn is_smooth(&self, children: bool) -> bool {
        children
    }

    fn support(&self, size: (u64, u64), children: &[(Role, Support)]) -> Support {
        let [x, y] = children
            .first()
            .map_or([Interval::EMPTY; 2], |(_, support)| *support);
        let (width, height) = (size.0.into(), size.1.into());
        match self.quarters {
            // (x, y) is the source's (y, w − 1 − x).
            1 => [y.mirrored(width), x],
            2 => [x.mirrored(width), y.mirrored(height)],
            _ => [y, x.mirrored(height)],
        }
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        let mirrored = seam.window.mirrored(seam.side());
        let (axis, window) = match (self.quarters, seam.axis) {
            (1, Axis::X) => (Axis::Y, mirrored),
            (1, Axis::Y) => (Axis::X, seam.window),
            (2, axis) => (axis, mirrored),
            (_, Axis::X) => (Axis::Y, seam.window),
            (_, Axis::Y) => (Axis::X, mirrored),
        };
        seam.child(0, axis, window);
    }

    fn validate(&self, _: &Rules<'_>) -> Result<(), String> {
        if (1..=3).contains(&self.quarters) {
            return Ok(());
        }
        Err(format!("turns by {} quarters, not by 1, 2 or 3", self.quarters))
    }
}
