//! Natural sizes: those that nodes have of themselves, whatever their parents'.

use relief_raster::MAX_SIDE;

/// The size that a node has of itself, along each axis along which it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NaturalSize {
    pub(crate) width: Option<u64>,
    pub(crate) height: Option<u64>,
    /// Whether it is what the design means; not where something within is wrong.
    pub(crate) sure: bool,
}

/// A child, with its natural size, where it begins in its parent's coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NaturalChild {
    pub(crate) x: i64,
    pub(crate) y: i64,
    pub(crate) size: NaturalSize,
}

impl NaturalSize {
    /// No size along either axis.
    pub(crate) const NONE: Self = Self {
        width: None,
        height: None,
        sure: true,
    };

    /// This size.
    pub(crate) const fn of(width: u64, height: u64) -> Self {
        Self {
            width: Some(width),
            height: Some(height),
            sure: true,
        }
    }

    /// The rectangle from (0, 0) to the furthest right and lower edges of the children that have a natural size, of at
    /// most 2^40 pixels; no size along an axis where no child has one or none reaches beyond 0.
    pub(crate) fn around(children: &[NaturalChild]) -> Self {
        let reach = |begin: i64, side: Option<u64>| {
            let end = i128::from(begin) + i128::from(side?);
            u64::try_from(end).ok().filter(|&end| end > 0)
        };
        let furthest = |ends: &mut dyn Iterator<Item = Option<u64>>| ends.flatten().max();
        let cut = |side: Option<u64>| side.map(|side| side.min(MAX_SIDE));
        Self {
            width: cut(furthest(
                &mut children.iter().map(|child| reach(child.x, child.size.width)),
            )),
            height: cut(furthest(
                &mut children.iter().map(|child| reach(child.y, child.size.height)),
            )),
            sure: children.iter().all(|child| child.size.sure),
        }
    }
}
