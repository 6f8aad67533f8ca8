//! The typed tree: what a checked design means.
//!
//! A [`Design`] holds its nodes in one list in which every child stands before its parents; a node used more than
//! once (`define`, `use`) stands once. Everything in it has been checked: sizes and offsets are in range, units are
//! gone, real functions are tables of samples. [`Design::new`] checks one that is built by hand.

use relief_raster::{Depth, Extent, Length};

use crate::kinds::words;
pub use crate::kinds::{Blend, Conversion, Gray, Kind, Raw, RawSample};
use crate::scan::ScanNode;

/// A checked design.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    pub(crate) canvas: Canvas,
    pub(crate) nodes: Vec<Node>,
    pub(crate) scan: Option<ScanNode>,
    pub(crate) rounding: Option<Rounding>,
    pub(crate) font_bytes: u64,
}

/// How far a length or a place of a design lies from the whole pixels that it became.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounding {
    /// Pixels, at most one half.
    pub pixels: f64,
    /// Where it is written.
    pub place: Place,
}

impl Design {
    /// The raster that the root fills.
    #[must_use]
    pub fn canvas(&self) -> Canvas {
        self.canvas
    }

    /// All nodes, at least one; the children of each stand before it, the root stands last.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// How a machine wants the raster, where the design says it.
    #[must_use]
    pub fn scan(&self) -> Option<&ScanNode> {
        self.scan.as_ref()
    }

    /// The largest rounding of a length or a place to whole pixels; nothing where all are exact, and nothing in a design
    /// that [`Design::new`] built.
    #[must_use]
    pub fn rounding(&self) -> Option<Rounding> {
        self.rounding
    }

    /// The bytes of the fonts by which its texts are drawn, those of equal files once. They were held while the design was read, and are no more; 0 in a
    /// design that [`Design::new`] built.
    #[must_use]
    pub fn font_bytes(&self) -> u64 {
        self.font_bytes
    }

    /// The node that fills the canvas.
    #[must_use]
    pub fn root(&self) -> NodeId {
        NodeId(self.nodes.len() - 1)
    }

    /// The paths of the files that its nodes show, as it says them, in the order of the nodes.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().filter_map(|node| node.kind.file())
    }

    /// The node of this number.
    ///
    /// # Panics
    /// Where the number is not one of this design.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0]
    }
}

/// The raster of a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Canvas {
    /// Columns, at least 1.
    pub width: u64,
    /// Rows, at least 1.
    pub height: u64,
    /// The side of a pixel, where the design says it.
    pub pixel: Option<Length>,
    /// The height that M stands for, where the design says it.
    pub amplitude: Option<Length>,
    /// The depth of every sample of the design.
    pub depth: Depth,
}

/// The number of a node in its design.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub usize);

/// One node: what it computes, how large it is, what it reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it computes.
    pub kind: Kind,
    /// Columns, 1…2^40.
    pub width: u64,
    /// Rows, 1…2^40.
    pub height: u64,
    /// What it reads, in the order written.
    pub children: Vec<Child>,
    /// Where it stands in the design file.
    pub place: Place,
}

/// A node in its role. A node used in several places has an extent in each: the same size, other offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Child {
    /// What the child is for.
    pub role: Role,
    /// Which node.
    pub node: NodeId,
    /// Where the child lies in its parent's coordinates, and its size, which is that of the node.
    pub extent: Extent,
}

/// The nodes that a node stands for with all in it, where `of` tells that of its children: each use of a node counts, but
/// copies of one node side by side count once, since no pixel is of two of them.
pub(crate) fn nodes_within(children: &[Child], of: impl Fn(NodeId) -> u64) -> u64 {
    let (mut nodes, mut along_x) = (1_u64, None);
    for (i, child) in children.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|i| children.get(i));
        let beside = before.filter(|before| before.node == child.node).map(|before| {
            (
                child.extent.x() >= before.extent.x() + before.extent.width().cast_signed(),
                child.extent.y() >= before.extent.y() + before.extent.height().cast_signed(),
            )
        });
        // A row of copies goes on in the direction in which it began.
        let (beside, direction) = match (beside, along_x) {
            (Some((true, _)), None | Some(true)) => (true, Some(true)),
            (Some((_, true)), None | Some(false)) => (true, Some(false)),
            _ => (false, None),
        };
        along_x = direction;
        nodes = nodes.saturating_add(if beside { 1 } else { of(child.node) });
    }
    nodes
}

/// A place in the design file, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Line.
    pub line: u32,
    /// Column in characters.
    pub column: u32,
}

/// What a child is to its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// What `repeat` and `lattice` copy.
    Pattern,
    /// The white pixels of `distance`; in `compose`, keeps what lies under it and clears the rest.
    Mask,
    /// What `map` and `threshold` read.
    Source,
    /// In `compose`: replaces.
    Base,
    /// In `compose`: adds, at most M.
    Add,
    /// In `compose`: subtracts, at least 0.
    Subtract,
    /// In `compose`: (acc·v + ⌊M/2⌋) / M.
    Multiply,
    /// In `compose`: (acc + v + 1) / 2.
    Mean,
    /// In `compose`: the greater.
    Max,
    /// In `compose`: the lesser.
    Min,
    /// In `compose`: replaces where not 0.
    Over,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 11] = [
        Self::Pattern,
        Self::Mask,
        Self::Source,
        Self::Base,
        Self::Add,
        Self::Subtract,
        Self::Multiply,
        Self::Mean,
        Self::Max,
        Self::Min,
        Self::Over,
    ];

    /// The word for it in a design file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pattern => "pattern",
            Self::Mask => "mask",
            Self::Source => "source",
            Self::Base => "base",
            Self::Add => "add",
            Self::Subtract => "subtract",
            Self::Multiply => "multiply",
            Self::Mean => "mean",
            Self::Max => "max",
            Self::Min => "min",
            Self::Over => "over",
        }
    }
}

/// An axis of the raster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// Along the rows.
    X,
    /// Along the columns.
    Y,
}

words!(Axis { X = "x", Y = "y" });
