//! `normalise`: the samples of the whole source in order, and two of them by their places.

use proptest::prelude::*;

use super::{Node, Weighted, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Item, Model};
use crate::oracle::strategy::Inner;

#[derive(Clone, Debug)]
pub(crate) struct Normalise {
    /// Thousandths of a percentage, the first less than the second.
    pub(crate) percentiles: (i64, i64),
    pub(crate) source: Box<Item>,
}

/// All samples of the source within the extent of the node, in ascending order.
pub(super) fn ordered(at: &mut At<'_, '_>) -> Vec<i64> {
    let (width, height) = at.size();
    let mut samples = Vec::new();
    for y in 0..height {
        for x in 0..width {
            samples.push(i64::from(at.child(0, x, y)));
        }
    }
    samples.sort_unstable();
    samples
}

impl Node for Normalise {
    const NAME: &'static str = "normalise";

    one_child!(source);

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        let (low, high) = self.percentiles;
        format!(" low={} high={}", low as f64 / 1_000.0, high as f64 / 1_000.0)
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let sample = i64::from(at.child(0, at.x, at.y));
        let ends = at.whole(|at| {
            let samples = ordered(at);
            let count = samples.len() as i64;
            let (low, high) = self.percentiles;
            // The first of which more than the lower part, and at least the upper part, are before it or it.
            let from = low * count / 100_000;
            let to = (high * count + 99_999) / 100_000 - 1;
            vec![(samples[from as usize], samples[to as usize])]
        });
        let (least, greatest) = ends[0];
        if least == greatest {
            return at.child(0, at.x, at.y);
        }
        let max = i64::from(at.max());
        let span = greatest - least;
        let stretched = (max * (sample - least) + span / 2).div_euclid(span);
        u16::try_from(stretched.clamp(0, max)).unwrap()
    }

    fn branches(_: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let percentiles = prop_oneof![
            Just((0, 100_000)),
            (0_i64..50_000, 1_i64..=50_000).prop_map(|(low, more)| (low, low + more)),
        ];
        let any = (percentiles, inner.item.clone()).prop_map(|(percentiles, source)| Self {
            percentiles,
            source: Box::new(source),
        });
        Some((1, any.boxed()))
    }
}
