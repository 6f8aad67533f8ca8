//! Numbers of a file on the scale 0…M.

use std::cmp::Ordering;

/// The numbers that become 0 and M; those between become M·(v − low) / (high − low), rounded half up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    low: f64,
    high: f64,
}

impl Range {
    /// Two different numbers of magnitude up to 10^300.
    pub(super) fn new(low: f64, high: f64) -> Self {
        Self { low, high }
    }

    /// The sample of a number, exactly rounded; 0 for what is no number.
    pub(super) fn sample(self, v: f64, max: u16) -> u16 {
        let Self { low, high } = self;
        let up = low < high;
        if v.is_nan() || (up && v <= low) || (!up && v >= low) {
            return 0;
        }
        if (up && v >= high) || (!up && v <= high) {
            return max;
        }
        // The place is within 2^-34 of the truth.
        let share = (v - low) / (high - low);
        let place = share * f64::from(max);
        let below = place.floor();
        let half = place - below - 0.5;
        let near = 1.0 / f64::from(1 << 20);
        let rounds_up = if half.abs() > near || !half.is_finite() {
            half > 0.0
        } else {
            self.reaches(v, f64::from(max), below)
        };
        (below as u16).saturating_add(u16::from(rounds_up)).min(max)
    }

    /// Whether 2·max·(v − low) ≥ (2·below + 1)·(high − low), signs turned where high < low; computed exactly.
    fn reaches(self, v: f64, max: f64, below: f64) -> bool {
        let Self { low, high } = self;
        let odd = 2.0 * below + 1.0;
        let order = sign([(2.0 * max, v), (odd - 2.0 * max, low), (-odd, high)]);
        if low < high {
            order != Ordering::Less
        } else {
            order != Ordering::Greater
        }
    }
}

/// The sign of the sum of three products of a whole number below 2^18 and a number: each product is split into two
/// numbers without a rest, and these six are added without a rest (Shewchuk 1997, Grow-Expansion).
fn sign(products: [(f64, f64); 3]) -> Ordering {
    let mut expansion = [0.0; 6];
    let mut length = 0;
    for (factor, number) in products {
        let product = factor * number;
        for mut term in [factor.mul_add(number, -product), product] {
            for part in &mut expansion[..length] {
                let (sum, rest) = two_sum(term, *part);
                (*part, term) = (rest, sum);
            }
            expansion[length] = term;
            length += 1;
        }
    }
    let leading = expansion.iter().rev().find(|part| **part != 0.0);
    leading.map_or(Ordering::Equal, |part| part.total_cmp(&0.0))
}

/// a + b and what rounding took off it (Knuth).
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let other = sum - a;
    (sum, (a - (sum - other)) + (b - other))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number of the form n·2^-10, as n.
    fn exact(v: i64, low: i64, high: i64, max: u16) -> u16 {
        let (v, low, high, max) = (i128::from(v), i128::from(low), i128::from(high), i128::from(max));
        let (mut part, mut whole) = (v - low, high - low);
        if whole < 0 {
            (part, whole) = (-part, -whole);
        }
        let part = part.clamp(0, whole);
        ((2 * max * part + whole) / (2 * whole)) as u16
    }

    #[test]
    fn a_number_is_rounded_as_its_exact_quotient_is_also_at_halves() {
        let mut seed = 1_u64;
        let mut next = |bound: i64| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((seed >> 20) as i64).rem_euclid(bound)
        };
        for round in 0..200_000 {
            let bound = 1 << (2 + round % 40);
            let (low, high) = (next(bound) - bound / 2, next(bound) - bound / 2);
            if low == high {
                continue;
            }
            for max in [255, 65_535] {
                // The border between two samples, as near as a number of this grid comes, and its neighbours.
                let k = next(i64::from(max));
                let border = i128::from(low) * 2 * i128::from(max)
                    + i128::from(2 * k + 1) * (i128::from(high) - i128::from(low));
                let border = border.div_euclid(2 * i128::from(max)) as i64;
                for v in border - 1..=border + 2 {
                    let [a, b, c] = [v, low, high].map(|n| n as f64 / 1_024.0);
                    let sample = Range::new(b, c).sample(a, max);
                    assert_eq!(sample, exact(v, low, high, max), "{v} of {low}…{high} to {max}");
                }
            }
        }
    }

    #[test]
    fn numbers_beyond_the_range_and_no_numbers_are_clamped() {
        let range = Range::new(-1e300, 1e300);
        for (v, sample) in [
            (f64::NEG_INFINITY, 0),
            (f64::INFINITY, 255),
            (f64::NAN, 0),
            (0.0, 128),
            (-1e300, 0),
            (1e300, 255),
        ] {
            assert_eq!(range.sample(v, 255), sample, "{v}");
        }
        let turned = Range::new(1.0, 0.0);
        assert_eq!(
            [-1.0, 0.0, 0.5, 1.0, 2.0].map(|v| turned.sample(v, 255)),
            [255, 255, 128, 0, 0]
        );
        // Denormal numbers are numbers.
        let tiny = f64::from_bits(1);
        assert_eq!(Range::new(0.0, 2.0 * tiny).sample(tiny, 255), 128);
    }
}
