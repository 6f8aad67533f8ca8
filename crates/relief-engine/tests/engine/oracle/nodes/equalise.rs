//! `equalise`: ⌊(M·(C(v) − C(v₀)) + ⌊D/2⌋) / D⌋ of each sample v of the source.

use proptest::prelude::*;

use super::{Node, Weighted, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Item, Model};
use crate::oracle::strategy::Inner;

#[derive(Clone, Debug)]
pub(crate) struct Equalise {
    /// Quarters of the mean count of a level, at least 4.
    pub(crate) limit: Option<u32>,
    pub(crate) source: Box<Item>,
}

/// All samples of the source within the extent of the node, in ascending order: what stands at `i` is the level of
/// sample `i`, and how many samples are at most that.
fn ranked(at: &mut At<'_, '_>, limit: Option<u32>) -> Vec<(i64, i64)> {
    let (width, height) = at.size();
    let mut samples = Vec::new();
    for y in 0..height {
        for x in 0..width {
            samples.push(at.child(0, x, y));
        }
    }
    samples.sort_unstable();
    let all = samples.len() as i64;
    let most = limit.map_or(all, |limit| {
        (i64::from(limit) * all / (4 * (i64::from(at.max()) + 1))).max(1)
    });
    // Of equal samples as many as count.
    let mut kept: Vec<u16> = Vec::new();
    for sample in samples {
        let same = kept.iter().rev().take_while(|other| **other == sample).count();
        if (same as i64) < most {
            kept.push(sample);
        }
    }
    kept.iter()
        .map(|v| {
            let up_to = kept.partition_point(|other| other <= v);
            (i64::from(*v), up_to as i64)
        })
        .collect()
}

impl Node for Equalise {
    const NAME: &'static str = "equalise";

    one_child!(source);

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        let limit = self
            .limit
            .map(|limit| format!(" limit={}", f64::from(limit) / 4.0));
        limit.unwrap_or_default()
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let v = at.child(0, at.x, at.y);
        let ranked = at.whole(|at| ranked(at, self.limit));
        let (_, least) = ranked[0];
        let above = ranked.len() as i64 - least;
        if above == 0 {
            return v;
        }
        let (_, up_to) = *ranked.iter().find(|(level, _)| *level == i64::from(v)).unwrap();
        let rank = (i64::from(at.max()) * (up_to - least) + above / 2) / above;
        u16::try_from(rank).unwrap()
    }

    fn branches(_: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let limit = proptest::option::of(prop_oneof![4_u32..40, Just(4_000)]);
        let any = (limit, inner.item.clone()).prop_map(|(limit, source)| Self {
            limit,
            source: Box::new(source),
        });
        Some((1, any.boxed()))
    }
}
