//! How a node reads a child.

use relief_raster::Rect;

/// What is read of a child for a rectangle of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Footprint {
    /// Each sample reads the child at the same place.
    Point,
    /// Each sample reads so many pixels of the child around it, on every side.
    Margins(u32),
    /// As [`Margins`](Self::Margins), and near a border of the node what lies near the opposite one.
    Around(u32),
    /// Each rectangle reads one of the child of the same area elsewhere; `turned` where columns become rows.
    Map {
        /// Whether columns become rows.
        turned: bool,
    },
    /// Any part of the child may be read, whatever is asked: copies of a pattern, or a rule of the whole.
    Anywhere,
}

impl Footprint {
    /// The pixels that are read around a sample, on every side.
    pub(crate) const fn halo(self) -> u32 {
        match self {
            Self::Margins(margin) | Self::Around(margin) => margin,
            Self::Point | Self::Map { .. } | Self::Anywhere => 0,
        }
    }
}

/// The pixels of a child that one pixel of a node is made of, in the child's own coordinates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shows {
    /// None: the child is not there and counts as 0.
    Nothing,
    /// This one.
    Pixel(i64, i64),
    /// One of each copy of a pattern, in the order in which they are blended, or the first of very many.
    Copies {
        /// The pixels.
        pixels: Vec<(i64, i64)>,
        /// Whether the sample is that of one of the copies, not made of all.
        one: bool,
    },
    /// All of these.
    Window(Rect),
}
