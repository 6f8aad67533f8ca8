//! What a file holds, before it is drawn.

use super::Warning;
use super::aperture::Aperture;
use crate::assembly::Linear;
use crate::limits::{Limits, Memory};

/// A layer of a board, read.
#[derive(Debug)]
pub struct Board {
    /// The metres of the unit of a coordinate, as a fraction.
    pub(super) unit: (u64, u64),
    /// Units of a coordinate in the unit of the file, of which sizes of apertures are.
    pub(super) per_unit: f64,
    pub(super) apertures: Vec<Aperture>,
    /// Ways in which apertures are mirrored, turned and scaled.
    pub(super) looks: Vec<Linear>,
    /// Blocks; the last one is the whole.
    pub(super) blocks: Vec<Vec<Object>>,
    /// The segments of all lines and contours.
    pub(super) segments: Vec<Segment>,
    pub(super) arcs: Vec<Arc>,
    pub(super) limits: Limits,
    pub(super) memory: Memory,
    pub(super) warnings: Vec<Warning>,
    pub(super) more: u64,
}

impl Board {
    /// What was read though the format does not have it so, the first of it, and how many more there are.
    #[must_use]
    pub fn warnings(&self) -> (&[Warning], u64) {
        (&self.warnings, self.more)
    }
}

/// A part of a line, from where the one before it ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) to: (i64, i64),
    /// The number of the arc that it is, or [`STRAIGHT`].
    pub(super) arc: u32,
}

/// A segment that is no arc.
pub(super) const STRAIGHT: u32 = u32::MAX;

/// The middle of an arc, and the angle that it turns by, in radians against the clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    pub(super) centre: (f64, f64),
    pub(super) sweep: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Object {
    /// Whether it erases.
    pub(super) clear: bool,
    pub(super) shape: Shape,
}

#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// A line that an aperture draws.
    Line {
        from: (i64, i64),
        segments: std::ops::Range<u32>,
        aperture: u32,
        look: u32,
    },
    /// The inside of a contour.
    Contour {
        from: (i64, i64),
        segments: std::ops::Range<u32>,
    },
    Flash {
        at: (i64, i64),
        aperture: u32,
        look: u32,
    },
    /// Copies of a block, with steps in the unit of the file.
    Repeat {
        block: u32,
        columns: u32,
        rows: u32,
        step: (f64, f64),
    },
}
