//! Real functions as tables of samples, computed once in `f64` before any pixel.
//!
//! A value is rounded half away from zero and clamped to 0…M. A value that is not a number is an error.

use std::num::NonZeroUsize;
use std::sync::Arc;

use relief_raster::Depth;

use crate::expression::{Block, Function, LANES};

/// Where a function has no value: the index in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotANumber(pub(crate) u64);

/// A function through points: linear between them, constant outside. There is at least one point, and their first
/// numbers ascend.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Points(pub(crate) Vec<(f64, f64)>);

/// Half away from zero, within 0…M. Infinities are clamped.
fn sample(value: f64, depth: Depth) -> u16 {
    // The clamped value is a whole number in the range of `u16`.
    value.round().clamp(0.0, f64::from(depth.max())) as u16
}

/// f(√a) for every a in 0…radius².
pub(crate) fn profile_of(function: &Function, radius: u32, depth: Depth) -> Result<Arc<[u16]>, NotANumber> {
    tabulated(function, length(radius), |a| (a as f64).sqrt(), depth)
}

/// f(v) for every v in 0…M.
pub(crate) fn map_of(function: &Function, depth: Depth) -> Result<Arc<[u16]>, NotANumber> {
    tabulated(function, usize::from(depth.max()) + 1, |v| v as f64, depth)
}

/// The entries of a profile.
pub(crate) fn length(radius: u32) -> usize {
    radius as usize * radius as usize + 1
}

/// Parts of a table that one thread fills without looking at the others.
const PART: usize = 1 << 16;

fn tabulated(
    function: &Function,
    length: usize,
    argument: impl Fn(usize) -> f64 + Sync,
    depth: Depth,
) -> Result<Arc<[u16]>, NotANumber> {
    let mut table = vec![0_u16; length];
    let threads = if length <= PART {
        1
    } else {
        std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
    };
    let share = length.div_ceil(threads).next_multiple_of(LANES);
    let argument = &argument;
    let faults: Vec<Option<usize>> = std::thread::scope(|scope| {
        let mut parts = table.chunks_mut(share).enumerate();
        let first = parts.next();
        let others: Vec<_> = parts
            .map(|(i, part)| scope.spawn(move || fill(function, part, i * share, argument, depth)))
            .collect();
        let mut faults = vec![first.and_then(|(_, part)| fill(function, part, 0, argument, depth))];
        // A thread that fails has filled nothing: its part counts as a fault at its start.
        faults.extend(
            others
                .into_iter()
                .enumerate()
                .map(|(i, t)| t.join().unwrap_or(Some((i + 1) * share))),
        );
        faults
    });
    match faults.into_iter().flatten().next() {
        Some(at) => Err(NotANumber(at as u64)),
        None => Ok(table.into()),
    }
}

/// Fills the part of a table that begins at `start`; the first index without a value.
fn fill(
    function: &Function,
    part: &mut [u16],
    start: usize,
    argument: impl Fn(usize) -> f64,
    depth: Depth,
) -> Option<usize> {
    let mut first = start;
    for entries in part.chunks_mut(LANES) {
        let values = function
            .values(Block(std::array::from_fn(|i| argument(first + i))))
            .0;
        for (i, (entry, value)) in entries.iter_mut().zip(values).enumerate() {
            if value.is_nan() {
                return Some(first + i);
            }
            *entry = sample(value, depth);
        }
        first += LANES;
    }
    None
}

impl Points {
    /// The function at every argument in turn; the arguments ascend.
    fn walk(&self, arguments: impl Iterator<Item = f64>, depth: Depth) -> Arc<[u16]> {
        let mut next = 0;
        arguments
            .map(|at| {
                while next < self.0.len() && self.0[next].0 <= at {
                    next += 1;
                }
                sample(self.between(next, at), depth)
            })
            .collect()
    }

    /// The function at `at`, where `next` is the number of points that lie at or before it.
    fn between(&self, next: usize, at: f64) -> f64 {
        let before = next.checked_sub(1).and_then(|i| self.0.get(i));
        match (before, self.0.get(next)) {
            (Some(&(d0, z0)), Some(&(d1, z1))) => z0 + (z1 - z0) * (at - d0) / (d1 - d0),
            (Some(&(_, z)), None) | (None, Some(&(_, z))) => z,
            (None, None) => 0.0,
        }
    }

    /// f(√a) for every a in 0…radius².
    pub(crate) fn profile(&self, radius: u32, depth: Depth) -> Arc<[u16]> {
        self.walk((0..length(radius)).map(|a| (a as f64).sqrt()), depth)
    }

    /// f(v) for every v in 0…M.
    pub(crate) fn map(&self, depth: Depth) -> Arc<[u16]> {
        self.walk((0..=depth.max()).map(f64::from), depth)
    }
}

/// M·(v / M)^G.
pub(crate) fn gamma(exponent: f64, depth: Depth) -> Arc<[u16]> {
    let max = f64::from(depth.max());
    (0..=depth.max())
        .map(|v| sample(max * libm::pow(f64::from(v) / max, exponent), depth))
        .collect()
}

/// M − v.
pub(crate) fn invert(depth: Depth) -> Arc<[u16]> {
    (0..=depth.max()).rev().collect()
}

/// Linear from (in low, out low) to (in high, out high), constant outside; exact.
pub(crate) fn levels([in_low, in_high, out_low, out_high]: [u16; 4], depth: Depth) -> Arc<[u16]> {
    let [a, b, low, high] = [in_low, in_high, out_low, out_high].map(i64::from);
    let span = (b - a).max(1);
    (0..=i64::from(depth.max()))
        .map(|v| {
            // No value is below zero, so half away from zero is half up.
            let doubled = 2 * (low * span + (high - low) * (v.clamp(a, b) - a)) + span;
            u16::try_from(doubled.div_euclid(2 * span)).unwrap_or(depth.max())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(text: &str, variable: &str) -> Function {
        Function::parse(text, variable).unwrap()
    }

    #[test]
    fn a_profile_has_an_entry_for_every_square() {
        let profile = profile_of(&function("255 * (1 - (d / 40) ^ 2)", "d"), 40, Depth::Eight).unwrap();
        assert_eq!(profile.len(), 1_601);
        for (a, &z) in profile.iter().enumerate() {
            // d² is a but for rounding, and 255·(1 − a/1600) is never close to a half.
            let exact = 255.0 * (1.0 - a as f64 / 1_600.0);
            assert!((f64::from(z) - exact).abs() <= 0.5 + 1e-9, "{a}");
        }
    }

    #[test]
    fn values_are_rounded_half_away_from_zero_and_clamped() {
        assert_eq!(
            map_of(&function("v + 0.5", "v"), Depth::Eight).unwrap()[..3],
            [1, 2, 3]
        );
        assert_eq!(
            map_of(&function("100 - 2 * v", "v"), Depth::Eight).unwrap()[60],
            0
        );
        assert_eq!(
            map_of(&function("1 / v", "v"), Depth::Eight).unwrap()[..2],
            [255, 1]
        );
        assert_eq!(map_of(&function("-1 / v", "v"), Depth::Sixteen).unwrap()[0], 0);
        assert_eq!(
            map_of(&function("v * 2", "v"), Depth::Sixteen).unwrap()[40_000],
            65_535
        );
    }

    #[test]
    fn the_first_argument_without_a_value_is_named() {
        assert_eq!(
            map_of(&function("sqrt(100 - v)", "v"), Depth::Eight),
            Err(NotANumber(101))
        );
        // Whichever thread meets one first, the least is reported.
        assert_eq!(
            profile_of(&function("sqrt(300 - d)", "d"), 1_000, Depth::Eight),
            Err(NotANumber(90_001))
        );
        assert_eq!(
            profile_of(&function("d / d", "d"), 5, Depth::Eight),
            Err(NotANumber(0))
        );
    }

    #[test]
    fn points_are_joined_by_lines() {
        let points = Points(vec![(2.0, 10.0), (4.0, 20.0), (5.0, 0.0)]);
        assert_eq!(points.map(Depth::Eight)[..8], [10, 10, 10, 15, 20, 0, 0, 0]);
        assert_eq!(points.profile(5, Depth::Eight)[16], 20);
        assert_eq!(points.profile(0, Depth::Eight)[..], [10]);
    }

    #[test]
    fn tone_curves_have_their_formulas() {
        assert_eq!(gamma(1.0, Depth::Eight).to_vec(), (0..=255).collect::<Vec<u16>>());
        assert_eq!(gamma(2.0, Depth::Sixteen)[32_768], 16_384);
        assert_eq!(
            (invert(Depth::Eight)[0], invert(Depth::Sixteen)[65_535]),
            (255, 0)
        );
        let levels = levels([50, 150, 255, 0], Depth::Eight);
        assert_eq!(
            (
                levels[0],
                levels[50],
                levels[100],
                levels[101],
                levels[150],
                levels[255]
            ),
            (255, 255, 128, 125, 0, 0)
        );
    }
}
