//! Sub-scanlines and pieces.

use relief_raster::{Depth, Sample};

use crate::coverage::Sampling;

/// Where the sub-scanlines of a row lie: line s at `step`·s + `step` / 2, in 1/256 px.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    log_step: u32,
    /// Crossings are moved to the next pixel whose centre they do not pass.
    pub(super) centres: bool,
}

impl Grid {
    pub(super) const fn new<S: Sample>(sampling: Sampling) -> Self {
        let log_step = match (sampling, S::DEPTH) {
            (Sampling::Area, Depth::Eight) => 4,
            (Sampling::Area, Depth::Sixteen) => 2,
            (Sampling::Centres, _) => 8,
        };
        Self {
            log_step,
            centres: matches!(sampling, Sampling::Centres),
        }
    }

    /// N: the sub-scanlines of a row of pixels.
    pub(super) const fn lines(&self) -> usize {
        256 >> self.log_step
    }

    /// The binary logarithm of T = 256·N.
    pub(super) const fn log_total(&self) -> u32 {
        16 - self.log_step
    }

    /// The distance of sub-scanlines in 1/256 px.
    pub(super) const fn step(&self) -> i64 {
        1 << self.log_step
    }

    /// The height of line `s`, in 1/256 px.
    pub(super) const fn height(&self, s: i64) -> i64 {
        (s << self.log_step) + (1 << (self.log_step - 1))
    }

    /// The first line that does not lie above `y`, in 1/256 px.
    pub(super) const fn line(&self, y: i64) -> i64 {
        let half = 1 << (self.log_step - 1);
        (y + half - 1) >> self.log_step
    }

    /// The crossing that counts: with [`centres`](Self::centres), pixel p is covered from the crossing 256·p on where its centre
    /// 256·p + 128 is.
    #[inline(always)]
    pub(super) const fn snapped(&self, x: i32) -> i32 {
        if self.centres { ((x + 127) >> 8) << 8 } else { x }
    }
}

/// A rectangle of pixels that is computed at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) x: i64,
    pub(super) y: i64,
    pub(super) width: usize,
    pub(super) height: usize,
}

/// `n` units to 1/256 px, halves up.
#[inline(always)]
pub(super) const fn rounded(n: i64, denominator: i64) -> i64 {
    if denominator == 1 {
        n
    } else {
        (2 * n + denominator).div_euclid(2 * denominator)
    }
}
