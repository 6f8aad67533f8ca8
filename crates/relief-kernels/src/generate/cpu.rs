//! Ramps, discs and white noise on the CPU.

use relief_raster::{Sample, ViewMut};

/// The axis along which a ramp changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Along the rows.
    X,
    /// Along the columns.
    Y,
}

/// Writes samples `start`, `start` + 1, … along the axis of a ramp of `n` samples: sample i is
/// from + round((to − from)·i / (n − 1)), half away from zero, and `from` where n ≤ 1.
///
/// Samples from `n` on, which a ramp does not have, are `to`.
pub fn ramp<S: Sample>(axis: Axis, from: S, to: S, n: u64, start: u64, mut out: ViewMut<'_, S>) {
    let _ = (axis, from, to, n, start);
    out.fill(S::ZERO);
}

/// Writes `value` where (2X − D + 1)² + (2Y − D + 1)² ≤ D², else 0, with (X, Y) = (x + i, y + j) at `out(i, j)` and D
/// the diameter.
pub fn disc<S: Sample>(diameter: u64, value: S, x: i64, y: i64, mut out: ViewMut<'_, S>) {
    let _ = (diameter, value, x, y);
    out.fill(S::ZERO);
}

/// Writes white noise: the top bits of the SplitMix64 finaliser of
/// seed + x·0x9E3779B97F4A7C15 + y·0xC2B2AE3D27D4EB4F, wrapping, with x and y in two's complement.
pub fn noise<S: Sample>(seed: u64, x: i64, y: i64, mut out: ViewMut<'_, S>) {
    let _ = (seed, x, y);
    out.fill(S::ZERO);
}
