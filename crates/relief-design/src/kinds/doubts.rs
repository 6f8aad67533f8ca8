//! What samples a node can have, and what is right in a design and most likely not meant.

use std::cell::Cell;

use super::NaturalSize;
use crate::draft::{DraftNode, What};
use crate::report::Problem;
use crate::syntax::Span;
use crate::tree::{Canvas, Child};

/// No sample of a node, within its extent, is outside of these two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) least: u16,
    pub(crate) greatest: u16,
}

impl Bounds {
    pub(crate) const ZERO: Self = Self::only(0);

    pub(crate) const fn only(sample: u16) -> Self {
        Self {
            least: sample,
            greatest: sample,
        }
    }

    pub(crate) fn new(one: u16, other: u16) -> Self {
        Self {
            least: one.min(other),
            greatest: one.max(other),
        }
    }

    /// Those of samples that are of one or of the other.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            greatest: self.greatest.max(other.greatest),
        }
    }

    /// Those of a function that falls or rises with each of both.
    pub(crate) fn with(self, other: Self, f: impl Fn(u32, u32) -> u32) -> Self {
        let value = |a: u16, b: u16| u16::try_from(f(a.into(), b.into())).unwrap_or(u16::MAX);
        let corners = [
            value(self.least, other.least),
            value(self.least, other.greatest),
            value(self.greatest, other.least),
            value(self.greatest, other.greatest),
        ];
        corners
            .into_iter()
            .map(Self::only)
            .reduce(Self::or)
            .unwrap_or(Self::ZERO)
    }
}

/// What a node sees of its children.
pub(crate) struct Seen<'s> {
    /// M.
    pub(crate) max: u16,
    /// The bounds of each child within the node, with the 0 where it is not.
    pub(crate) bounds: &'s [Bounds],
    /// The children.
    pub(crate) children: &'s [Child],
    /// Entries of tables that may yet be looked at.
    pub(crate) budget: &'s Cell<usize>,
}

impl Seen<'_> {
    /// Any sample.
    pub(crate) fn any(&self) -> Bounds {
        Bounds::new(0, self.max)
    }

    /// Those of the first child.
    pub(crate) fn first(&self) -> Bounds {
        self.bounds.first().copied().unwrap_or_else(|| self.any())
    }

    /// Those of a part of a table; any sample where too many tables are asked for.
    pub(crate) fn table(&self, part: Option<&[u16]>) -> Bounds {
        let Some(part) = part else { return self.any() };
        let Some(left) = self.budget.get().checked_sub(part.len()) else {
            return self.any();
        };
        self.budget.set(left);
        let bounds = part.iter().min().zip(part.iter().max());
        bounds.map_or_else(|| self.any(), |(&least, &greatest)| Bounds { least, greatest })
    }
}

/// A node that may not be what is meant.
pub(crate) struct Doubts<'d> {
    pub(crate) node: &'d DraftNode,
    /// Columns and rows.
    pub(crate) size: (u64, u64),
    /// What it sees of its children; of a mask, which counts outside of the node as well, all.
    pub(crate) seen: Seen<'d>,
    /// Which of its children have samples between those of both sides of their edges.
    pub(crate) smooth: &'d [bool],
    pub(crate) canvas: Canvas,
    /// Whether it fills the canvas.
    pub(crate) is_root: bool,
    /// The natural size of its first child, where that is a filter of what has one.
    pub(crate) filtered: Option<NaturalSize>,
    pub(crate) warnings: Vec<Problem>,
}

impl Doubts<'_> {
    pub(crate) fn warn(&mut self, warning: Problem) {
        self.warnings.push(warning);
    }

    /// Warns of a source that has this node's size although it is a filter of what has a size of its own: what the node does goes by its source's
    /// size.
    pub(crate) fn warn_of_frame(&mut self, name: &str) {
        let (Some(natural), Some(child)) = (self.filtered, self.seen.children.first()) else {
            return;
        };
        let taken = (child.extent.width(), child.extent.height());
        let own = (
            natural.width.unwrap_or(taken.0),
            natural.height.unwrap_or(taken.1),
        );
        if own == taken {
            return;
        }
        let first = self.node.children.first().map(|child| &child.node.what);
        let (word, given) = match first {
            Some(What::Kind(kind)) => (kind.signature().name, "it"),
            _ => ("use", "the node of its definition"),
        };
        let message = format!(
            "this `{word}` has no size and takes the {} × {} pixels of its `{name}`, where its source has {} × {}",
            taken.0, taken.1, own.0, own.1
        );
        let warning = Problem::new("W212", message).label(self.child(0), "not as large as its source");
        self.warn(warning.help(format!(
            "give {given} the size of the source: width={} height={}",
            own.0, own.1
        )));
    }

    /// Where the word of a child stands.
    pub(crate) fn child(&self, index: usize) -> Span {
        self.node
            .children
            .get(index)
            .map_or(self.node.span, |child| child.node.span)
    }
}

/// Whether a child covers all of a node of this size.
pub(crate) fn covers(child: &Child, (width, height): (u64, u64)) -> bool {
    let (extent, i128_of) = (child.extent, |side: u64| i128::from(side));
    let along = |begin: i64, length: u64, side: u64| {
        begin <= 0 && i128::from(begin) + i128_of(length) >= i128_of(side)
    };
    along(extent.x(), extent.width(), width) && along(extent.y(), extent.height(), height)
}

/// Whether no pixel of a child is in a node of this size.
pub(crate) fn misses(child: &Child, (width, height): (u64, u64)) -> bool {
    let extent = child.extent;
    let along = |begin: i64, length: u64, side: u64| {
        i128::from(begin) >= i128::from(side) || i128::from(begin) + i128::from(length) <= 0
    };
    along(extent.x(), extent.width(), width) || along(extent.y(), extent.height(), height)
}
