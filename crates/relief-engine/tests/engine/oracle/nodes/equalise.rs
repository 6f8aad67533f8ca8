//! `equalise`: ⌊(M·(C(v) − C(v₀)) + ⌊D/2⌋) / D⌋ of each sample v of the source.

use proptest::prelude::*;

use super::{Node, Weighted, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::Item;
use crate::oracle::strategy::Inner;

#[derive(Clone, Debug)]
pub(crate) struct Equalise {
    pub(crate) source: Box<Item>,
}

/// All samples of the source within the extent of the node, in ascending order: what stands at `i` is the level of
/// sample `i`, and how many samples are at most that.
fn ranked(at: &mut At<'_, '_>) -> Vec<(i64, i64)> {
    let (width, height) = at.size();
    let mut samples = Vec::new();
    for y in 0..height {
        for x in 0..width {
            samples.push(at.child(0, x, y));
        }
    }
    samples.sort_unstable();
    samples
        .iter()
        .map(|v| {
            let up_to = samples.partition_point(|other| other <= v);
            (i64::from(*v), up_to as i64)
        })
        .collect()
}

impl Node for Equalise {
    const NAME: &'static str = "equalise";

    one_child!(source);

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let v = at.child(0, at.x, at.y);
        let ranked = at.whole(ranked);
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
        let any = inner.item.clone().prop_map(|source| Self {
            source: Box::new(source),
        });
        Some((1, any.boxed()))
    }
}
