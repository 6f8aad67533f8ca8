//! What is said of a set of times: median, p10–p90, and how sure the median is.
//!
//! Times of a machine are skewed: now and then something else runs, and nothing ever runs faster than it can. So no
//! means and no deviations; order statistics only.

use serde::{Deserialize, Serialize};

/// A summary of times, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Half of the times are longer.
    pub median: f64,
    /// A tenth of the times are shorter.
    pub p10: f64,
    /// A tenth of the times are longer.
    pub p90: f64,
}

impl Summary {
    /// Of some times; nothing of none.
    #[must_use]
    pub fn of(times: &[f64]) -> Option<Self> {
        let sorted = sorted(times);
        Some(Self {
            median: quantile(&sorted, 0.5)?,
            p10: quantile(&sorted, 0.1)?,
            p90: quantile(&sorted, 0.9)?,
        })
    }

    /// The width of p10–p90 as a part of the median.
    #[must_use]
    pub fn noise(&self) -> f64 {
        (self.p90 - self.p10) / self.median
    }
}

/// Half the width of the interval that holds the true median with a probability of 95 %, as a part of the median, by
/// order statistics: the ranks n/2 ± 0.98·√n. Infinite where there are too few times to tell.
#[must_use]
pub fn uncertainty(times: &[f64]) -> f64 {
    let sorted = sorted(times);
    let n = sorted.len() as f64;
    let reach = 0.98 * n.sqrt();
    let (low, high) = ((n / 2.0 - reach).floor(), (n / 2.0 + reach).ceil());
    if low < 1.0 || high > n {
        return f64::INFINITY;
    }
    let at = |rank: f64| sorted[rank as usize - 1];
    quantile(&sorted, 0.5).map_or(f64::INFINITY, |median| (at(high) - at(low)) / 2.0 / median)
}

fn sorted(times: &[f64]) -> Vec<f64> {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The value below which a part `q` of sorted values lies, interpolated between neighbours (Hyndman and Fan, type 7).
fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let place = q * sorted.len().checked_sub(1)? as f64;
    let (low, part) = (place.floor() as usize, place.fract());
    let high = (low + 1).min(sorted.len() - 1);
    Some(sorted[low] + (sorted[high] - sorted[low]) * part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_known_times() {
        let times = [5.0, 1.0, 4.0, 2.0, 3.0, 11.0, 10.0, 9.0, 8.0, 7.0, 6.0];
        let summary = Summary::of(&times).unwrap();
        assert_eq!((summary.p10, summary.median, summary.p90), (2.0, 6.0, 10.0));
        assert!((summary.noise() - 8.0 / 6.0).abs() < 1e-12);
        let even = Summary::of(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!(even.median, 2.5);
        assert!((even.p10 - 1.3).abs() < 1e-12 && (even.p90 - 3.7).abs() < 1e-12);
        let one = Summary::of(&[7.0]).unwrap();
        assert_eq!((one.p10, one.median, one.p90), (7.0, 7.0, 7.0));
        assert_eq!(Summary::of(&[]), None);
    }

    #[test]
    fn one_outlier_moves_no_median() {
        let mut times = vec![2.0; 20];
        times.push(2_000.0);
        assert_eq!(Summary::of(&times).unwrap().median, 2.0);
        assert_eq!(uncertainty(&times), 0.0);
    }

    #[test]
    fn a_median_of_few_times_is_not_sure() {
        assert_eq!(uncertainty(&[1.0, 1.0, 1.0]), f64::INFINITY);
        // Ranks 8 − 3.92 → 4 and 8 + 3.92 → 12 of 1…16, median 8.5.
        let times: Vec<f64> = (1..=16).map(f64::from).collect();
        assert!((uncertainty(&times) - 4.0 / 8.5).abs() < 1e-12);
    }
}
