//! `equalise`: a source with its samples spread evenly over all levels, by its histogram.

use relief_design::kinds;

use crate::node::histogram::{ByHistogram, Law};

pub(crate) type Equalise = ByHistogram<Ranks>;

/// Each level by its rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ranks {
    limit: Option<u64>,
}

impl Law for Ranks {
    type Design = kinds::Equalise;

    fn new(kind: &kinds::Equalise) -> Self {
        Self { limit: kind.limit }
    }

    /// ⌊(M·(C(v) − C(v₀)) + ⌊D/2⌋) / D⌋ with C the samples up to v, v₀ the least sample and D all samples above it.
    fn table(&self, max: u16, counts: &[u128]) -> Vec<u16> {
        let all: u128 = counts.iter().sum();
        // At most 2^32 times 2^80.
        let most = self.limit.map_or(u128::MAX, |limit| {
            (u128::from(limit) * all / (1 << 16) / counts.len() as u128).max(1)
        });
        let counted = || counts.iter().map(|count| *count.min(&most));
        let max = u128::from(max);
        let least = counted().find(|count| *count > 0).unwrap_or(0);
        let above = counted().sum::<u128>() - least;
        let mut up_to = 0;
        let entry = |(level, count): (usize, u128)| {
            up_to += count;
            // Levels below the least are not there; all that is one level stays as it is.
            let ranked = (max * up_to.saturating_sub(least) + above / 2).checked_div(above);
            ranked.map_or(level as u16, |sample| sample as u16)
        };
        counted().enumerate().map(entry).collect()
    }
}
