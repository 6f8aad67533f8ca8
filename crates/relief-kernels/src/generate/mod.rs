//! Generate: rasters that are functions of their coordinates alone.
//!
//! Ramps and discs write runs, so that memory is the bound; noise costs two 64-bit products per sample.
//!
//! ```
//! use relief_kernels::generate::cpu::{Axis, ramp};
//! use relief_raster::ViewMut;
//!
//! let mut out = [0_u8; 5];
//! ramp(Axis::X, 0, 100, 5, 0, ViewMut::packed(&mut out, 5, 1));
//! assert_eq!(out, [0, 25, 50, 75, 100]);
//! ```

pub mod cpu;

#[cfg(test)]
mod tests;

use relief_raster::floor_sum;

/// The sum of samples `start`, `start` + 1, … before `end` of a ramp of `n` samples, as [`cpu::ramp`] defines them.
#[must_use]
pub fn ramp_sum(from: u16, to: u16, n: u64, start: u64, end: u64) -> u128 {
    let count = u128::from(end.saturating_sub(start));
    let base = count * u128::from(from);
    let last = n.saturating_sub(1);
    if last == 0 || count == 0 || from == to {
        return base;
    }
    let rise = i128::from(from.abs_diff(to));
    let (divisor, above) = (2 * i128::from(last), i128::from(last));
    // Those up to the last one; what follows are copies of it.
    let (begin, stop) = (start.min(n), end.min(n));
    let of = i128::from(stop - begin);
    // ⌊(2·D·i + n − 1) / (2·(n − 1))⌋ for i = begin + k.
    let mut steps = floor_sum(of, divisor, 2 * rise, 2 * rise * i128::from(begin) + above);
    steps += (i128::from(end.max(n)) - i128::from(start.max(n))).max(0) * rise;
    let steps = steps.unsigned_abs();
    if to > from { base + steps } else { base - steps }
}
