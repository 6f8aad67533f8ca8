//! Between which samples a node lies in a rectangle, without computing it.

use relief_kernels::fold::Fold;
use relief_raster::Rect;

use super::{Block, Corners, Edges, Grid, Link, Summary, Through};

/// The least and the greatest that a sample may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) least: u16,
    pub(crate) greatest: u16,
}

impl Bounds {
    /// Nothing but 0.
    pub(crate) const ZERO: Self = Self::one(0);

    /// Nothing but this sample.
    pub(crate) const fn one(sample: u16) -> Self {
        Self {
            least: sample,
            greatest: sample,
        }
    }

    /// Both samples and what lies between them.
    pub(crate) fn between(one: u16, other: u16) -> Self {
        Self {
            least: one.min(other),
            greatest: one.max(other),
        }
    }

    /// What lies in either.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            greatest: self.greatest.max(other.greatest),
        }
    }

    /// What lies in both, of the same samples.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            least: self.least.max(other.least),
            greatest: self.greatest.min(other.greatest),
        }
    }

    /// The entries of a table for samples that lie between these.
    pub(crate) fn through(self, table: &[u16]) -> Option<Self> {
        let entries = table.get(usize::from(self.least)..=usize::from(self.greatest))?;
        Some(Self {
            least: entries.iter().copied().min()?,
            greatest: entries.iter().copied().max()?,
        })
    }

    /// A sample folded into one of these, both of the depth with this greatest sample.
    pub(crate) fn fold(self, fold: Fold, other: Self, max: u16) -> Self {
        let apply = |into: u16, sample: u16| match u8::try_from(max) {
            // Both are samples of 8 bits.
            Ok(_) => u16::from(fold.apply(into as u8, sample as u8)),
            Err(_) => fold.apply(into, sample),
        };
        match fold {
            Fold::Base => other,
            Fold::Add | Fold::Multiply | Fold::Mean | Fold::Max | Fold::Min => Self {
                least: apply(self.least, other.least),
                greatest: apply(self.greatest, other.greatest),
            },
            Fold::Subtract => Self {
                least: apply(self.least, other.greatest),
                greatest: apply(self.greatest, other.least),
            },
            // 0 shows what is below, or hides it.
            Fold::Over if other == Self::ZERO => self,
            Fold::Over if other.least > 0 => other,
            Fold::Over => self.or(Self::between(1, other.greatest)),
            Fold::Mask if other == Self::ZERO => Self::ZERO,
            Fold::Mask if other.least > 0 => self,
            Fold::Mask => self.or(Self::ZERO),
        }
    }
}

/// What is known of what a node reads.
pub(crate) trait Known {
    /// The greatest sample of the depth.
    fn max(&self) -> u16;

    /// The samples of a child in `rect`, in its own coordinates and within it.
    fn within(&self, child: usize, rect: Rect) -> Bounds;

    /// All that is known of the samples of a child in `rect`, in its own coordinates and within it.
    fn summary_within(&self, child: usize, rect: Rect) -> Summary;

    /// What is known of every block of `grid` of a child, in its own coordinates and within it.
    fn blocks_within(&self, child: usize, grid: Grid<'_>, out: &mut [Block]);

    /// The number of the first of the last children that are planes which repeat with the same steps; see [`lay`](Self::lay).
    fn laid_from(&self, links: &[Link], hull: Rect) -> Option<usize>;

    /// Narrows what is known of the sums of blocks when these planes are folded over what is known of the blocks `below`.
    fn lay(&self, links: &[Link], grid: Grid<'_>, below: &mut [Block], out: &mut [Block]);

    /// Sums of the samples of a child above and to the left of places, from the first of them on, where all of it is held; places ascend.
    fn corners(&self, child: usize, xs: &[i64], ys: &[i64]) -> Option<Corners>;

    /// The same of a picture.
    fn picture_corners(&self, picture: usize, xs: &[i64], ys: &[i64]) -> Option<Corners>;

    /// What a table of the design makes of samples.
    fn through(&self, table: usize, samples: Summary) -> Summary;

    /// The number of a table followed by one more step; `None` where there are too many.
    fn pushed(&self, table: u32, step: Through) -> Option<u32>;

    /// Hints of a child: see [`Node::edges`](super::Node::edges); all in the coordinates of its parent.
    fn edges_within(&self, child: &Link, hull: Rect, place: (i64, i64), edges: &mut Edges);

    /// A table of the design.
    fn table(&self, number: usize) -> &[u16];

    /// Samples through the table that the preparation of this node gave.
    fn prepared(&self, samples: Bounds) -> Bounds;

    /// The samples of `rect` of a picture, which lies in it.
    fn picture(&self, picture: usize, rect: Rect) -> Bounds;

    /// Any sample.
    fn anything(&self) -> Bounds {
        Bounds::between(0, self.max())
    }

    /// All that is known of the samples of a child in `rect` of its parent's coordinates: 0 beyond its extent.
    fn child_summary(&self, link: &Link, rect: Rect) -> Summary {
        let local = link.local(rect);
        let beyond = Summary::constant(0, rect.area() - local.area());
        if local.is_empty() {
            return beyond;
        }
        self.summary_within(link.node, local).and(beyond)
    }

    /// The samples of a child in `rect` of its parent's coordinates: 0 beyond its extent.
    fn child(&self, link: &Link, rect: Rect) -> Bounds {
        let local = link.local(rect);
        if local.is_empty() {
            return Bounds::ZERO;
        }
        let inside = self.within(link.node, local);
        if local.area() < rect.area() {
            inside.or(Bounds::ZERO)
        } else {
            inside
        }
    }
}
