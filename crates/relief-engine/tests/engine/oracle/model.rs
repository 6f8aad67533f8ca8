//! Designs as the oracle knows them: what a person would write, nothing resolved.

use super::nodes::{Kind, Use};

/// A design: its canvas, pictures by number, definitions by number, and its root.
#[derive(Clone)]
pub(crate) struct Model {
    pub(crate) width: u64,
    pub(crate) height: u64,
    /// M, 255 or 65 535.
    pub(crate) max: u16,
    pub(crate) pictures: Vec<Picture>,
    /// A definition uses only those before it.
    pub(crate) definitions: Vec<Item>,
    pub(crate) root: Kind,
}

/// A picture in memory.
#[derive(Clone)]
pub(crate) struct Picture {
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) samples: Vec<u16>,
}

/// A node with its place in its parent.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) x: i64,
    pub(crate) y: i64,
    /// Not that of a `use`, whose size is that of its definition.
    pub(crate) width: Option<u64>,
    pub(crate) height: Option<u64>,
    pub(crate) kind: Kind,
}

impl Item {
    pub(crate) fn new(kind: impl Into<Kind>) -> Self {
        Self {
            x: 0,
            y: 0,
            width: None,
            height: None,
            kind: kind.into(),
        }
    }

    pub(crate) fn at(mut self, x: i64, y: i64) -> Self {
        (self.x, self.y) = (x, y);
        self
    }

    pub(crate) fn sized(mut self, width: u64, height: u64) -> Self {
        (self.width, self.height) = (Some(width), Some(height));
        self
    }
}

/// Columns and rows that a node has whatever its parent's, along each axis along which it has any.
pub(crate) type NaturalSize = (Option<u64>, Option<u64>);

impl Model {
    /// The size of a node in this role whose parent's frame has this size, where it can be told.
    pub(crate) fn size(&self, role: &str, item: &Item, frame: Option<(u64, u64)>) -> Option<(u64, u64)> {
        if let Kind::Use(Use(number)) = item.kind {
            return self.size(role, &self.definitions[number], frame);
        }
        // A pattern ends where there is nothing more of it, whatever its kind.
        let natural = if item.kind.has_own_size() || role == "pattern" {
            item.kind.natural_size(self)
        } else {
            (None, None)
        };
        let (width, height) = self.given(item);
        Some((
            width.or(natural.0).or(frame.map(|frame| frame.0))?,
            height.or(natural.1).or(frame.map(|frame| frame.1))?,
        ))
    }

    /// The size that a node has of itself: what is given, else what follows from its kind.
    pub(crate) fn natural_size(&self, item: &Item) -> NaturalSize {
        if let Kind::Use(Use(number)) = item.kind {
            return self.natural_size(&self.definitions[number]);
        }
        let (width, height) = item.kind.natural_size(self);
        let given = self.given(item);
        (given.0.or(width), given.1.or(height))
    }

    /// The sides that are given, or follow from the one that is.
    fn given(&self, item: &Item) -> NaturalSize {
        match (item.width, item.height) {
            (Some(side), None) => (Some(side), item.kind.other_side(self, 0, side)),
            (None, Some(side)) => (item.kind.other_side(self, 1, side), Some(side)),
            given => given,
        }
    }

    /// Where a node begins in its parent. One that is used has the offsets of its definition and of its use.
    pub(crate) fn offset(&self, item: &Item) -> (i64, i64) {
        let (x, y) = match item.kind {
            Kind::Use(Use(number)) => self.offset(&self.definitions[number]),
            _ => (0, 0),
        };
        (x + item.x, y + item.y)
    }

    /// The rectangle from (0, 0) to the furthest right and lower edges of those children that have a natural size.
    pub(crate) fn around(&self, children: &[(&'static str, &Item)]) -> NaturalSize {
        let mut furthest = (None, None);
        for (_, child) in children {
            let ((x, y), size) = (self.offset(child), self.natural_size(child));
            let reach = |begin: i64, side: Option<u64>| {
                side.map(|side| begin + side as i64)
                    .filter(|end| *end > 0)
                    .map(|end| end as u64)
            };
            furthest = (furthest.0.max(reach(x, size.0)), furthest.1.max(reach(y, size.1)));
        }
        furthest
    }
}
