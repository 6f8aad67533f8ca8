//! `otsu`: the level that parts all samples best, by trying all.

use proptest::prelude::*;

use super::normalise::ordered;
use super::{Node, Weighted, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::Item;
use crate::oracle::strategy::Inner;

#[derive(Clone, Debug)]
pub(crate) struct Otsu {
    pub(crate) source: Box<Item>,
}

/// The level, of samples in ascending order.
fn level(samples: &[i64]) -> i64 {
    let (count, total) = (samples.len() as i64, samples.iter().sum::<i64>());
    let mut best = (0.0, samples[samples.len() - 1]);
    let mut sum = 0;
    for (place, sample) in samples.iter().enumerate() {
        sum += sample;
        let below = place as i64 + 1;
        // Only behind the last of equal samples can they be parted.
        if samples.get(place + 1).is_none_or(|next| next == sample) {
            continue;
        }
        let apart = (count * sum - below * total) as f64;
        let variance = apart * apart / (below * (count - below)) as f64;
        if variance > best.0 {
            best = (variance, *sample);
        }
    }
    best.1
}

impl Node for Otsu {
    const NAME: &'static str = "otsu";

    one_child!(source);

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let level = at.whole(|at| vec![(level(&ordered(at)), 0)])[0].0;
        let above = i64::from(at.child(0, at.x, at.y)) > level;
        if above { at.max() } else { 0 }
    }

    fn branches(_: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let any = inner.item.clone().prop_map(|source| Self {
            source: Box::new(source),
        });
        Some((1, any.boxed()))
    }
}
