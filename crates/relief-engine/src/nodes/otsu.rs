//! `otsu`: M where a source exceeds the level that parts its samples best, else 0.

use relief_design::kinds;

use crate::node::histogram::{ByHistogram, Law};

pub(crate) type Otsu = ByHistogram<Parts>;

/// Two parts of all samples, as far from each other as can be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Parts;

/// Below so many samples N²·M, and all that is computed from counts, fits 128 bits.
const SAMPLES: u32 = 55;

impl Law for Parts {
    type Design = kinds::Otsu;

    fn new(_: &kinds::Otsu) -> Self {
        Self
    }

    fn table(&self, max: u16, counts: &[u128]) -> Vec<u16> {
        let level = parting(counts);
        (0..=max)
            .map(|sample| if sample > level { max } else { 0 })
            .collect()
    }
}

/// The least level with the greatest (N·S(t) − C(t)·S)² / (C(t)·(N − C(t))); the greatest sample where there is but one level.
fn parting(counts: &[u128]) -> u16 {
    let all: u128 = counts.iter().sum();
    let excess = (u128::BITS - all.leading_zeros()).saturating_sub(SAMPLES);
    let counted = || (0..=u16::MAX).zip(counts.iter().map(|count| count >> excess));
    let (all, total) = counted().fold((0, 0), |(all, total), (level, count)| {
        (all + count, total + count * u128::from(level))
    });
    // Of counts without their lowest bits none may be left; then the greatest level parts nothing.
    let last = counted()
        .filter(|(_, count)| *count > 0)
        .map(|(level, _)| level)
        .max()
        .unwrap_or(0);
    let (mut best, mut found) = (0.0, last);
    let (mut up_to, mut sum) = (0_u128, 0_u128);
    for (level, count) in counted().take(usize::from(last)) {
        up_to += count;
        sum += count * u128::from(level);
        let product = up_to * (all - up_to);
        if product == 0 {
            continue;
        }
        let apart = (all * sum).abs_diff(up_to * total) as f64;
        let variance = apart * apart / product as f64;
        if variance > best {
            (best, found) = (variance, level);
        }
    }
    found
}
