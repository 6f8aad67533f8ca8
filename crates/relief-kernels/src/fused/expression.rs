//! The trees that one kernel can compute.

use relief_raster::{Rect, Sample};

use crate::device::Buffer;
use crate::fold::Fold;

use super::cell::Cell;

/// An axis of the raster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// Along the rows.
    X,
    /// Along the columns.
    Y,
}

/// A rectangle of packed samples on a device.
#[derive(Clone, Debug)]
pub struct Plane {
    /// The words that hold it.
    pub buffer: Buffer,
    /// The word of the first sample.
    pub offset: u32,
    /// Words from one row to the next.
    pub pitch: u32,
    /// Columns, at least 1.
    pub width: u32,
    /// Rows, at least 1.
    pub height: u32,
}

/// A raster, in coordinates of its own.
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
    /// for a length of 1. Meaningful for 0 ≤ i < length ≤ 2^40.
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
    /// A table of M + 1 packed samples.
    Table {
        /// The table.
        table: Buffer,
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
                let value = source.constant::<S>(inner.translated(-x, -y))?;
                // Beyond what is kept it is 0.
                (inner == rect || value == S::ZERO).then_some(value)
            }
            Self::Cell { .. }
            | Self::Ramp { .. }
            | Self::Disc { .. }
            | Self::Noise { .. }
            | Self::Table { .. } => None,
        }
    }
}
