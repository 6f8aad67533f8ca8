//! `normalise`: a source stretched over all levels, from its least sample or a percentile to its greatest or another.

use relief_design::kinds;

use crate::node::histogram::{ByHistogram, Law};

pub(crate) type Normalise = ByHistogram<Percentiles>;

/// Thousandths of a hundredth of all samples.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Percentiles {
    low: u32,
    high: u32,
}

/// All samples.
const ALL: u128 = 100_000;

impl Law for Percentiles {
    type Design = kinds::Normalise;

    fn new(kind: &kinds::Normalise) -> Self {
        Self {
            low: kind.low,
            high: kind.high,
        }
    }

    /// ⌊(M·(v − a) + ⌊(b − a)/2⌋) / (b − a)⌋ of the levels from a to b.
    fn table(&self, max: u16, counts: &[u128]) -> Vec<u16> {
        let all: u128 = counts.iter().sum();
        let (low, high) = (u128::from(self.low) * all, u128::from(self.high) * all);
        let mut up_to = 0;
        let sums = counts.iter().map(|count| {
            up_to += count;
            up_to * ALL
        });
        // Sums rise, so that fewer levels lie below the lower percentile than below the upper one.
        let (mut from, mut to) = (0_u64, 0_u64);
        for sum in sums {
            from += u64::from(sum <= low);
            to += u64::from(sum < high);
        }
        let Some(span) = to.checked_sub(from).filter(|span| *span > 0) else {
            return (0..=max).collect();
        };
        let entry = |level: u16| {
            let above = u64::from(level).saturating_sub(from);
            ((u64::from(max) * above + span / 2) / span).min(u64::from(max)) as u16
        };
        (0..=max).map(entry).collect()
    }
}
