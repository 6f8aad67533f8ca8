//! The typed tree: what a checked design means.
//!
//! A [`Design`] holds its nodes in one list in which every child stands before its parents; a node used more than
//! once (`define`, `use`) stands once. Everything in it has been checked: sizes and offsets are in range, units are
//! gone, real functions are tables of samples. What builds one by hand has it checked by [`Design::validate`].

use std::sync::Arc;

use relief_raster::{Depth, Extent, Period};

use crate::scan::ScanNode;

/// A checked design.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// The raster that the root fills.
    pub canvas: Canvas,
    /// All nodes; the children of each stand before it, the root stands last.
    pub nodes: Vec<Node>,
    /// How a machine wants the raster, where the design says it.
    pub scan: Option<ScanNode>,
}

impl Design {
    /// The node that fills the canvas.
    #[must_use]
    pub fn root(&self) -> NodeId {
        NodeId(self.nodes.len().saturating_sub(1))
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
    /// The side of a pixel in picometres, where the design says it.
    pub pixel: Option<u64>,
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

/// How `lattice` folds the copies that cover a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blend {
    /// (2·sum + n) / (2·n) of the n samples other than 0; 0 for none.
    Mean,
    /// The greatest.
    Max,
    /// The least of those other than 0; 0 for none.
    Min,
    /// The sum, at most M.
    Sum,
    /// The sample other than 0 of the copy with the greatest (j, i); 0 for none.
    Last,
}

/// Which gray the colour of a picture becomes. r, g and b are the colour in 0…1; gray g is r = g = b.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Gray {
    /// 0.2126 r + 0.7152 g + 0.0722 b.
    #[default]
    Luma,
    /// (r + g + b) / 3.
    Average,
    /// r.
    Red,
    /// g.
    Green,
    /// b.
    Blue,
    /// The cyan ink of a CMYK file; else 1 − r.
    Cyan,
    /// The magenta ink of a CMYK file; else 1 − g.
    Magenta,
    /// The yellow ink of a CMYK file; else 1 − b.
    Yellow,
    /// The black ink of a CMYK file; else 1 − max(r, g, b).
    Black,
}

/// How the pixels of a picture's file become samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Conversion {
    /// Which gray the colour becomes.
    pub gray: Gray,
    /// The numbers of the file that become 0 and M, two different finite ones; numbers between become
    /// M·(v − low) / (high − low), rounded half up, numbers beyond are clamped. Where it is missing, 0 becomes 0 and the
    /// greatest sample that the file can hold becomes M.
    pub range: Option<(f64, f64)>,
}

/// What a node computes. Samples are never above M of the design's depth.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// The same sample everywhere.
    Fill {
        /// The sample.
        value: u16,
    },
    /// A picture from a file, of `width` × `height` pixels; cropped or padded with 0 to the extent.
    Image {
        /// The path as the design says it.
        path: Arc<str>,
        /// How its pixels become samples.
        conversion: Conversion,
        /// Columns of the picture.
        width: u64,
        /// Rows of the picture.
        height: u64,
    },
    /// from + round((to − from)·i / (n − 1)), half away from zero, with i along the axis and n the extent along it.
    Ramp {
        /// The axis along which it changes.
        axis: Axis,
        /// The first sample.
        from: u16,
        /// The last sample.
        to: u16,
    },
    /// (2i − D + 1)² + (2j − D + 1)² ≤ D² in the D×D square; cropped or padded with 0 to the extent.
    Disc {
        /// D, in pixels.
        diameter: u64,
        /// The sample inside.
        value: u16,
    },
    /// White noise: a function of (seed, x, y).
    Noise {
        /// The seed.
        seed: u64,
    },
    /// One `Pattern` child, repeated along the axes: sample (x, y) is P((x − px) mod step_x, (y − py) mod step_y)
    /// with (px, py) the child's offset.
    Repeat {
        /// The horizontal step; at least the pattern's width.
        step_x: u64,
        /// The vertical step; at least the pattern's height.
        step_y: u64,
    },
    /// Copies of one `Pattern` child with their top-left at its offset + i·u + j·v for all integers i, j.
    Lattice {
        /// How copies that overlap are folded.
        blend: Blend,
        /// The first vector.
        u: (i64, i64),
        /// The second vector.
        v: (i64, i64),
        /// The period that `u` and `v` span.
        period: Period,
    },
    /// A function of the distance to the nearest white pixel of one `Mask` child.
    Distance {
        /// The greatest distance that is told apart, in pixels, 0…4 096.
        radius: u32,
        /// `profile[a]` for a = dx² + dy², 0 ≤ a ≤ radius².
        profile: Arc<[u16]>,
        /// The sample where no white pixel lies within the radius.
        beyond: u16,
    },
    /// One `Source` child through a table of M + 1 samples.
    Map {
        /// The table.
        table: Arc<[u16]>,
    },
    /// M where the one `Source` child is at least `level`, else 0.
    Threshold {
        /// The level.
        level: u16,
    },
    /// Any number of children folded in the order written, starting from 0.
    Compose,
}

impl Kind {
    /// The name of the node kind in a design file.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Fill { .. } => "fill",
            Self::Image { .. } => "image",
            Self::Ramp { .. } => "ramp",
            Self::Disc { .. } => "disc",
            Self::Noise { .. } => "noise",
            Self::Repeat { .. } => "repeat",
            Self::Lattice { .. } => "lattice",
            Self::Distance { .. } => "distance",
            Self::Map { .. } => "map",
            Self::Threshold { .. } => "threshold",
            Self::Compose => "compose",
        }
    }
}
