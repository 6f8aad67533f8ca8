//! The trees that one kernel can compute.

use relief_raster::{Depth, Rect, Sample};

use crate::device::Buffer;
use crate::fold::Fold;

use super::cell::Cell;
use super::shape::per_word;

/// An axis of the raster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// Along the rows.
    X,
    /// Along the columns.
    Y,
}

/// A rectangle of packed samples on a device: rows of whole words, the first sample in the lowest bits.
///
/// # Guarantees
/// It has at least one row and one column, its rows do not overlap, and all words of all rows lie in its buffer. Kernels
/// read none but these.
#[derive(Clone, Debug)]
pub struct Plane {
    buffer: Buffer,
    offset: u32,
    pitch: u32,
    width: u32,
    height: u32,
    depth: Depth,
}

impl Plane {
    /// `height` rows of `width` samples of this depth, `pitch` words apart from word `offset` of the buffer on. `None` where there are no
    /// samples, where rows overlap, and where the last row ends beyond the buffer or word 2^32.
    #[must_use]
    pub fn new(
        buffer: Buffer,
        offset: u32,
        pitch: u32,
        width: u32,
        height: u32,
        depth: Depth,
    ) -> Option<Self> {
        let row = width.div_ceil(per_word(depth.bits()));
        let above = u64::from(height.checked_sub(1)?).checked_mul(pitch.into())?;
        let end = above.checked_add(u64::from(offset) + u64::from(row))?;
        let fits = row > 0 && (row <= pitch || height == 1);
        (fits && end <= buffer.words() as u64 && end <= 1 << 32).then_some(Self {
            buffer,
            offset,
            pitch,
            width,
            height,
            depth,
        })
    }

    /// The words that hold it.
    #[must_use]
    pub const fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// The word of the first sample.
    #[must_use]
    pub const fn offset(&self) -> u32 {
        self.offset
    }

    /// Words from one row to the next.
    #[must_use]
    pub const fn pitch(&self) -> u32 {
        self.pitch
    }

    /// Columns, at least 1.
    #[must_use]
    pub const fn width(&self) -> u32 {
        self.width
    }

    /// Rows, at least 1.
    #[must_use]
    pub const fn height(&self) -> u32 {
        self.height
    }

    /// The bits of a sample.
    #[must_use]
    pub const fn depth(&self) -> Depth {
        self.depth
    }

    /// Words of a row, the last of which may be filled in part; at most the pitch where there are several rows.
    pub(crate) const fn row_words(&self) -> u32 {
        self.width.div_ceil(per_word(self.depth.bits()))
    }
}

/// A table of samples on a device: an entry for each sample, packed, the first in the lowest bits.
///
/// # Guarantees
/// Its buffer has M + 1 entries.
#[derive(Clone, Debug)]
pub struct Table {
    buffer: Buffer,
    depth: Depth,
}

impl Table {
    /// The table in the first words of a buffer. `None` where these are fewer than [`words`](Self::words).
    #[must_use]
    pub fn new(buffer: Buffer, depth: Depth) -> Option<Self> {
        (buffer.words() >= Self::words(depth)).then_some(Self { buffer, depth })
    }

    /// Words of a table of samples of this depth: 64 for 8 bits, 32 768 for 16.
    #[must_use]
    pub const fn words(depth: Depth) -> usize {
        (depth.max() as usize + 1) / per_word(depth.bits()) as usize
    }

    /// The words that hold it.
    #[must_use]
    pub const fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// The bits of a sample.
    #[must_use]
    pub const fn depth(&self) -> Depth {
        self.depth
    }
}

/// A raster, in coordinates of its own. Its planes, cells and tables have the depth that it is rendered in, and its coordinates are sums of at
/// most 2^50.
#[derive(Clone, Debug)]
pub enum Expression {
    /// The same sample everywhere.
    Constant(u16),
    /// A plane with its top-left at (x, y); 0 outside.
    Plane {
        /// The samples.
        plane: Plane,
        /// The column of its left edge.
        x: i64,
        /// The row of its top edge.
        y: i64,
    },
    /// A periodic raster: the cell lies at (x, y) and everywhere its period carries it.
    Cell {
        /// One cell of samples.
        cell: Cell,
        /// The column of its left edge.
        x: i64,
        /// The row of its top edge.
        y: i64,
    },
    /// from + round((to − from)·i / (length − 1)), half away from zero, with i the coordinate along the axis; `from`
    /// for a length of 1. Meaningful for 0 ≤ i < length; length is at most 2^40.
    Ramp {
        /// The axis along which it changes.
        axis: Axis,
        /// The first sample.
        from: u16,
        /// The last sample.
        to: u16,
        /// The extent along the axis.
        length: u64,
    },
    /// `value` where (2x − D + 1)² + (2y − D + 1)² ≤ D², else 0.
    Disc {
        /// D, at most 2^40.
        diameter: u64,
        /// The sample inside.
        value: u16,
    },
    /// The top bits of the SplitMix64 finaliser of seed + x·0x9E3779B97F4A7C15 + y·0xC2B2AE3D27D4EB4F.
    Noise {
        /// The seed.
        seed: u64,
    },
    /// A raster looked up in a table.
    Table {
        /// The table.
        table: Table,
        /// What is looked up.
        source: Box<Self>,
    },
    /// M where the source is at least `level`, else 0.
    Threshold {
        /// The level.
        level: u16,
        /// What is compared.
        source: Box<Self>,
    },
    /// Layers folded in order, starting from 0.
    Fold(Vec<(Fold, Self)>),
    /// A raster moved to (x, y) and cut to `width` × `height`; 0 outside.
    Placed {
        /// Where its origin lies.
        x: i64,
        /// Where its origin lies.
        y: i64,
        /// Columns kept, from its origin.
        width: u64,
        /// Rows kept, from its origin.
        height: u64,
        /// What is moved.
        source: Box<Self>,
    },
    /// A raster mirrored along an axis: the pixel i along it is that of `side` − 1 − i.
    Mirrored {
        /// The axis along which pixels change places.
        axis: Axis,
        /// The side along the axis, at most 2^40: what lies in 0…`side` − 1 stays there.
        side: u64,
        /// What is mirrored.
        source: Box<Self>,
    },
}

/// The pixels that show those of `rect` where i along the axis shows `side` − 1 − i.
pub(super) fn mirrored(rect: Rect, axis: Axis, side: i64) -> Rect {
    let (x, y, right, bottom) = (rect.x(), rect.y(), rect.right(), rect.bottom());
    match axis {
        Axis::X => Rect::between(side.saturating_sub(right), y, side.saturating_sub(x), bottom),
        Axis::Y => Rect::between(x, side.saturating_sub(bottom), right, side.saturating_sub(y)),
    }
}

impl Expression {
    /// The sample that all of `rect` is, where that is seen without computing any: tables are not looked into, and what
    /// lies in planes is not either.
    #[must_use]
    pub fn constant<S: Sample>(&self, rect: Rect) -> Option<S> {
        if rect.is_empty() {
            return Some(S::ZERO);
        }
        match self {
            Self::Constant(value) => Some(S::from_u16(*value)),
            Self::Plane { plane, x, y } => {
                let there = Rect::sized(plane.width.into(), plane.height.into()).translated(*x, *y);
                rect.intersection(&there).is_empty().then_some(S::ZERO)
            }
            Self::Threshold { level, source } => {
                let source = source.constant::<S>(rect)?;
                Some(if source.to_u16() >= *level {
                    S::MAX
                } else {
                    S::ZERO
                })
            }
            Self::Fold(layers) => layers.iter().try_fold(S::ZERO, |below, (fold, layer)| {
                Some(fold.apply(below, layer.constant(rect)?))
            }),
            Self::Placed {
                x,
                y,
                width,
                height,
                source,
            } => {
                let kept = Rect::sized(*width, *height).translated(*x, *y);
                let inner = rect.intersection(&kept);
                let value = source.constant::<S>(inner.translated(x.saturating_neg(), y.saturating_neg()))?;
                // Beyond what is kept it is 0.
                (inner == rect || value == S::ZERO).then_some(value)
            }
            Self::Mirrored { axis, side, source } => {
                source.constant(mirrored(rect, *axis, i64::try_from(*side).unwrap_or(i64::MAX)))
            }
            Self::Cell { .. }
            | Self::Ramp { .. }
            | Self::Disc { .. }
            | Self::Noise { .. }
            | Self::Table { .. } => None,
        }
    }
}
