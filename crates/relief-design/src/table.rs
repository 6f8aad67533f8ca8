//! Real functions as tables of samples, computed once in `f64` before any pixel.
//!
//! A value is rounded half away from zero and clamped to 0…M. A value that is not a number is an error.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use relief_raster::Depth;

use crate::expression::{Evaluator, Function, LANES};

/// Why there is no table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The function has no value: the first index in the table.
    NotANumber(u64),
    /// It takes more operations than allowed.
    Work,
    /// There is no memory for so many bytes.
    Memory(usize),
}

/// A function through points: linear between them, constant outside. There is at least one point, and their first
/// numbers ascend.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Points(pub(crate) Vec<(f64, f64)>);

impl Points {
    /// The bits of all their numbers.
    pub(crate) fn bits(&self) -> impl Iterator<Item = u64> {
        self.0.iter().flat_map(|(at, z)| [at.to_bits(), z.to_bits()])
    }
}

/// Half away from zero, within 0…M. Infinities are clamped, and what is not a number is 0.
pub(crate) fn sample(value: f64, depth: Depth) -> u16 {
    // Within 0…M, half away from zero is half up, and the whole part and the rest are exact.
    let value = value.clamp(0.0, f64::from(depth.max()));
    let whole = value as u16;
    whole + u16::from(value - f64::from(whole) >= 0.5)
}

/// f(√a) for every a in 0…radius², and the operations that slow arguments took, at most `allowed`.
pub(crate) fn profile_of(
    function: &Function,
    radius: u32,
    depth: Depth,
    allowed: u64,
) -> Result<(Arc<[u16]>, u64), Fault> {
    tabulated(function, length(radius), |a| (a as f64).sqrt(), depth, allowed)
}

/// f(v) for every v in 0…M, and the operations that slow arguments took, at most `allowed`.
pub(crate) fn map_of(function: &Function, depth: Depth, allowed: u64) -> Result<(Arc<[u16]>, u64), Fault> {
    tabulated(function, entries(depth), |v| v as f64, depth, allowed)
}

/// The entries of a profile.
pub(crate) fn length(radius: u32) -> usize {
    radius as usize * radius as usize + 1
}

/// The entries of a tone curve.
fn entries(depth: Depth) -> usize {
    usize::from(depth.max()) + 1
}

/// The values that are computed for a table of so many entries: expressions are evaluated in whole blocks.
pub(crate) fn evaluated(entries: usize) -> u64 {
    entries.next_multiple_of(LANES) as u64
}

/// Entries that one thread fills at a time.
const PART: usize = 1 << 13;

/// A table of so many entries. `fill` gets parts of it with the index at which each begins, on several threads where the
/// table is large; it gives the index of a fault in its part. The first fault of all is given back.
fn filled(
    length: usize,
    fill: impl Fn(usize, &mut [u16]) -> Option<usize> + Sync,
) -> Result<(Arc<[u16]>, Option<usize>), Fault> {
    let no_memory = |_| Fault::Memory(length * size_of::<u16>());
    let mut table: Vec<u16> = Vec::new();
    table.try_reserve_exact(length).map_err(no_memory)?;
    table.resize(length, 0);
    let first_fault = AtomicUsize::new(usize::MAX);
    let parts = Mutex::new(table.chunks_mut(PART).enumerate());
    let work = || {
        loop {
            let part = parts.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((i, part)) = part else { return };
            if let Some(at) = fill(i * PART, part) {
                first_fault.fetch_min(at, Ordering::Relaxed);
            }
        }
    };
    let wanted = length / (2 * PART);
    if wanted > 1 {
        // Asking the system takes longer than a small table.
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        std::thread::scope(|scope| {
            for _ in 1..threads.min(wanted) {
                // Without another thread this one does all.
                drop(std::thread::Builder::new().spawn_scoped(scope, work));
            }
            work();
        });
    } else {
        work();
    }
    // The table is copied into its shared form; where there is no room for that, this finds out.
    let mut room: Vec<u16> = Vec::new();
    room.try_reserve_exact(length + 64).map_err(no_memory)?;
    drop(room);
    let fault = first_fault.into_inner();
    Ok((table.into(), (fault != usize::MAX).then_some(fault)))
}

/// A table of a function that has a value everywhere.
fn of(length: usize, value: impl Fn(usize) -> u16 + Sync) -> Result<Arc<[u16]>, Fault> {
    let table = filled(length, |start, part| {
        for (i, entry) in part.iter_mut().enumerate() {
            *entry = value(start + i);
        }
        None
    });
    table.map(|(table, _)| table)
}

fn tabulated(
    function: &Function,
    length: usize,
    argument: impl Fn(usize) -> f64 + Sync,
    depth: Depth,
    allowed: u64,
) -> Result<(Arc<[u16]>, u64), Fault> {
    // Every part is computed up to its first fault whatever the others find, so the sum depends on the function alone.
    let slow = AtomicU64::new(0);
    let (table, fault) = filled(length, |start, part| {
        let mut evaluator = Evaluator::new(function);
        for (block, entries) in part.chunks_mut(LANES).enumerate() {
            let first = start + block * LANES;
            let values = evaluator.values(&std::array::from_fn(|i| argument(first + i)));
            let more = evaluator.take_slow();
            if more > 0 && slow.fetch_add(more, Ordering::Relaxed) + more > allowed {
                return None;
            }
            for (i, (entry, value)) in entries.iter_mut().zip(values).enumerate() {
                if value.is_nan() {
                    return Some(first + i);
                }
                *entry = sample(value, depth);
            }
        }
        None
    })?;
    let slow = slow.into_inner();
    match fault {
        _ if slow > allowed => Err(Fault::Work),
        Some(at) => Err(Fault::NotANumber(at as u64)),
        None => Ok((table, slow)),
    }
}

impl Points {
    /// The function at `at`, where `next` is the number of points that lie at or before it.
    fn between(&self, next: usize, at: f64) -> f64 {
        let before = next.checked_sub(1).and_then(|i| self.0.get(i));
        match (before, self.0.get(next)) {
            (Some(&(d0, z0)), Some(&(d1, z1))) => z0 + (z1 - z0) * (at - d0) / (d1 - d0),
            (Some(&(_, z)), None) | (None, Some(&(_, z))) => z,
            (None, None) => 0.0,
        }
    }

    /// The function at every argument, which ascend with the index.
    fn table(
        &self,
        length: usize,
        argument: impl Fn(usize) -> f64 + Sync,
        depth: Depth,
    ) -> Result<Arc<[u16]>, Fault> {
        let table = filled(length, |start, part| {
            let mut next = self.0.partition_point(|&(d, _)| d <= argument(start));
            for (i, entry) in part.iter_mut().enumerate() {
                let at = argument(start + i);
                while next < self.0.len() && self.0[next].0 <= at {
                    next += 1;
                }
                *entry = sample(self.between(next, at), depth);
            }
            None
        });
        table.map(|(table, _)| table)
    }

    /// f(√a) for every a in 0…radius².
    pub(crate) fn profile(&self, radius: u32, depth: Depth) -> Result<Arc<[u16]>, Fault> {
        self.table(length(radius), |a| (a as f64).sqrt(), depth)
    }

    /// f(v) for every v in 0…M.
    pub(crate) fn map(&self, depth: Depth) -> Result<Arc<[u16]>, Fault> {
        self.table(entries(depth), |v| v as f64, depth)
    }
}

/// M·(v / M)^G.
pub(crate) fn gamma(exponent: f64, depth: Depth) -> Result<Arc<[u16]>, Fault> {
    let max = f64::from(depth.max());
    of(entries(depth), |v| {
        sample(max * libm::pow(v as f64 / max, exponent), depth)
    })
}

/// M − v.
pub(crate) fn invert(depth: Depth) -> Result<Arc<[u16]>, Fault> {
    // An index is at most M.
    of(entries(depth), |v| depth.max() - v as u16)
}

/// Linear from (in low, out low) to (in high, out high), constant outside; exact.
pub(crate) fn levels(
    [in_low, in_high, out_low, out_high]: [u16; 4],
    depth: Depth,
) -> Result<Arc<[u16]>, Fault> {
    let [a, b, low, high] = [in_low, in_high, out_low, out_high].map(i64::from);
    let span = (b - a).max(1);
    of(entries(depth), |v| {
        // No value is below zero, so half away from zero is half up.
        let doubled = 2 * (low * span + (high - low) * ((v as i64).clamp(a, b) - a)) + span;
        u16::try_from(doubled.div_euclid(2 * span)).unwrap_or(depth.max())
    })
}

/// A step of a tone curve: what one word of a `map` makes of a sample.
#[derive(Clone, Debug)]
pub(crate) enum Tone {
    /// Linear between points.
    Curve(Points),
    /// M·(v / M)^G.
    Gamma(f64),
    /// M − v.
    Invert,
    /// Linear from (in low, out low) to (in high, out high), constant outside.
    Levels([u16; 4]),
    /// v + M·B / 100.
    Brightness(f64),
    /// M / 2 + (v − M / 2)·(1 + C / 100).
    Contrast(f64),
    /// A function of v.
    Expression(Arc<Function>),
}

/// A step with the stack of its expression.
enum Stage<'t> {
    Expression(Evaluator<'t>),
    Other(&'t Tone),
}

impl Tone {
    /// What it makes of values that may lie between samples, but for expressions, which take many at once.
    fn value(&self, v: f64, max: f64) -> f64 {
        match self {
            Self::Curve(points) => points.between(points.0.partition_point(|&(at, _)| at <= v), v),
            Self::Gamma(exponent) => max * libm::pow(v / max, *exponent),
            Self::Invert => max - v,
            Self::Levels(levels) => {
                let [a, b, low, high] = levels.map(f64::from);
                low + (high - low) * (v.clamp(a, b) - a) / (b - a)
            }
            Self::Brightness(brightness) => v + max * brightness / 100.0,
            Self::Contrast(contrast) => max / 2.0 + (v - max / 2.0) * (1.0 + contrast / 100.0),
            Self::Expression(_) => v,
        }
    }
}

/// The steps one after the other, each clamped to 0…M and the last rounded half away from zero, for every v in 0…M; and
/// the operations that slow arguments took, at most `allowed`.
pub(crate) fn tones_of(tones: &[Tone], depth: Depth, allowed: u64) -> Result<(Arc<[u16]>, u64), Fault> {
    let max = f64::from(depth.max());
    let slow = AtomicU64::new(0);
    let (table, fault) = filled(entries(depth), |start, part| {
        let mut stages: Vec<Stage<'_>> = tones
            .iter()
            .map(|tone| match tone {
                Tone::Expression(function) => Stage::Expression(Evaluator::new(function)),
                other => Stage::Other(other),
            })
            .collect();
        for (block, entries) in part.chunks_mut(LANES).enumerate() {
            let first = start + block * LANES;
            let mut values: [f64; LANES] = std::array::from_fn(|i| ((first + i) as f64).min(max));
            for stage in &mut stages {
                match stage {
                    Stage::Expression(evaluator) => {
                        values = evaluator.values(&values);
                        let more = evaluator.take_slow();
                        if more > 0 && slow.fetch_add(more, Ordering::Relaxed) + more > allowed {
                            return None;
                        }
                    }
                    Stage::Other(tone) => values = values.map(|v| tone.value(v, max)),
                }
                if let Some(at) = values.iter().take(entries.len()).position(|value| value.is_nan()) {
                    return Some(first + at);
                }
                values = values.map(|value| value.clamp(0.0, max));
            }
            for (entry, value) in entries.iter_mut().zip(values) {
                *entry = sample(value, depth);
            }
        }
        None
    })?;
    let slow = slow.into_inner();
    match fault {
        _ if slow > allowed => Err(Fault::Work),
        Some(at) => Err(Fault::NotANumber(at as u64)),
        None => Ok((table, slow)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(text: &str, depth: Depth) -> Result<Arc<[u16]>, Fault> {
        let function = Function::parse(text, "v").unwrap();
        map_of(&function, depth, 0).map(|(table, _)| table)
    }

    fn profile(text: &str, radius: u32, allowed: u64) -> Result<(Arc<[u16]>, u64), Fault> {
        let function = Function::parse(text, "d").unwrap();
        profile_of(&function, radius, Depth::Eight, allowed)
    }

    #[test]
    fn a_profile_has_an_entry_for_every_square() {
        let (profile, slow) = profile("255 * (1 - (d / 40) ^ 2)", 40, 0).unwrap();
        assert_eq!(slow, 0);
        assert_eq!(profile.len(), 1_601);
        for (a, &z) in profile.iter().enumerate() {
            // d² is a but for rounding, and 255·(1 − a/1600) is never close to a half.
            let exact = 255.0 * (1.0 - a as f64 / 1_600.0);
            assert!((f64::from(z) - exact).abs() <= 0.5 + 1e-9, "{a}");
        }
    }

    #[test]
    fn values_are_rounded_half_away_from_zero_and_clamped() {
        assert_eq!(map("v + 0.5", Depth::Eight).unwrap()[..3], [1, 2, 3]);
        assert_eq!(map("100 - 2 * v", Depth::Eight).unwrap()[60], 0);
        assert_eq!(map("1 / v", Depth::Eight).unwrap()[..2], [255, 1]);
        assert_eq!(map("-1 / v", Depth::Sixteen).unwrap()[0], 0);
        assert_eq!(map("v * 2", Depth::Sixteen).unwrap()[40_000], 65_535);
    }

    #[test]
    fn the_first_argument_without_a_value_is_named() {
        assert_eq!(map("sqrt(100 - v)", Depth::Eight), Err(Fault::NotANumber(101)));
        // Whichever thread meets one first, the least is reported.
        assert_eq!(profile("sqrt(300 - d)", 1_000, 0), Err(Fault::NotANumber(90_001)));
        assert_eq!(profile("d / d", 5, 0), Err(Fault::NotANumber(0)));
    }

    #[test]
    fn slow_arguments_are_counted_the_same_on_any_number_of_threads_and_bounded() {
        let (_, slow) = profile("tan(1e300*d)", 200, u64::MAX).unwrap();
        // d = 0 is quick, and its block is not.
        let blocks = length(200).div_ceil(LANES) as u64;
        assert_eq!(slow % blocks, 0);
        assert!(profile("tan(1e300*d)", 200, slow).is_ok());
        assert_eq!(profile("tan(1e300*d)", 200, slow - 1), Err(Fault::Work));
    }

    #[test]
    fn samples_are_rounded_as_numbers_are() {
        for depth in [Depth::Eight, Depth::Sixteen] {
            for i in -4..=4 * i32::from(depth.max()) + 4 {
                let at = f64::from(i) / 4.0;
                for value in [at, at.next_up(), at.next_down()] {
                    let expected = value.round().clamp(0.0, f64::from(depth.max()));
                    assert_eq!(f64::from(sample(value, depth)), expected, "{value}");
                }
            }
        }
    }

    #[test]
    fn points_are_joined_by_lines() {
        let points = Points(vec![(2.0, 10.0), (4.0, 20.0), (5.0, 0.0)]);
        assert_eq!(
            points.map(Depth::Eight).unwrap()[..8],
            [10, 10, 10, 15, 20, 0, 0, 0]
        );
        assert_eq!(points.profile(5, Depth::Eight).unwrap()[16], 20);
        assert_eq!(points.profile(0, Depth::Eight).unwrap()[..], [10]);
    }

    #[test]
    fn one_tone_is_the_table_of_its_word() {
        for depth in [Depth::Eight, Depth::Sixteen] {
            let one = |tone: Tone| tones_of(&[tone], depth, 0).unwrap().0;
            let points = Points(vec![(2.0, 10.0), (40.5, 20.0), (99.0, 0.0)]);
            assert_eq!(one(Tone::Curve(points.clone())), points.map(depth).unwrap());
            assert_eq!(one(Tone::Gamma(2.2)), gamma(2.2, depth).unwrap());
            assert_eq!(one(Tone::Invert), invert(depth).unwrap());
            // A power of two between the levels leaves no rounding in the quotient.
            let numbers = [20, 148, 200, 10];
            assert_eq!(one(Tone::Levels(numbers)), levels(numbers, depth).unwrap());
            let function = Arc::new(Function::parse("255 * sin(v / 99)", "v").unwrap());
            let table = map_of(&function, depth, 0).unwrap().0;
            assert_eq!(one(Tone::Expression(function)), table);
        }
    }

    #[test]
    fn tones_follow_each_other_without_rounding_between() {
        let of = |tones: &[Tone]| tones_of(tones, Depth::Eight, 0).unwrap().0;
        // A quarter and back loses nothing; each step is clamped.
        let quarter = Tone::Levels([0, 255, 0, 1]);
        let back = Tone::Levels([0, 1, 0, 255]);
        let identity: Vec<u16> = (0..=255).collect();
        assert_eq!(of(&[quarter, back]).to_vec(), identity);
        let up_and_down = of(&[Tone::Brightness(50.0), Tone::Brightness(-50.0)]);
        assert_eq!(
            (
                up_and_down[100],
                up_and_down[127],
                up_and_down[128],
                up_and_down[255]
            ),
            (100, 127, 128, 128)
        );
        let down_and_up = of(&[Tone::Brightness(-50.0), Tone::Brightness(50.0)]);
        assert_eq!(
            (down_and_up[0], down_and_up[127], down_and_up[200]),
            (128, 128, 200)
        );
        let contrast = of(&[Tone::Contrast(100.0)]);
        // 127.5 + 2·(v − 127.5).
        assert_eq!(
            (
                contrast[63],
                contrast[64],
                contrast[127],
                contrast[128],
                contrast[192]
            ),
            (0, 1, 127, 129, 255)
        );
        assert_eq!(of(&[Tone::Contrast(-100.0)])[..], [128; 256]);
        let root = Arc::new(Function::parse("sqrt(v - 100)", "v").unwrap());
        let tones = [Tone::Brightness(20.0), Tone::Expression(root)];
        assert_eq!(tones_of(&tones, Depth::Eight, 0), Err(Fault::NotANumber(0)));
    }

    #[test]
    fn tone_curves_have_their_formulas() {
        assert_eq!(
            gamma(1.0, Depth::Eight).unwrap().to_vec(),
            (0..=255).collect::<Vec<u16>>()
        );
        assert_eq!(gamma(2.0, Depth::Sixteen).unwrap()[32_768], 16_384);
        assert_eq!(
            (
                invert(Depth::Eight).unwrap()[0],
                invert(Depth::Sixteen).unwrap()[65_535]
            ),
            (255, 0)
        );
        let levels = levels([50, 150, 255, 0], Depth::Eight).unwrap();
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
