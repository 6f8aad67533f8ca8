//! `median` and `rank`: the samples of a square, sorted; one of them by its place.

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::gauss::Edge;
use super::{Node, Weighted, around, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Item, Model};
use crate::oracle::strategy::Inner;

#[derive(Clone, Debug)]
pub(crate) struct Median {
    pub(crate) radius: i64,
    /// 1…(2R + 1)²; nothing for the middle.
    pub(crate) rank: Option<usize>,
    pub(crate) edge: Edge,
    pub(crate) source: Box<Item>,
}

impl Node for Median {
    const NAME: &'static str = "median";

    one_child!(source);

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        let rank = self.rank.map_or(String::new(), |rank| format!(" rank={rank}"));
        format!(" radius={}{rank} edge=\"{}\"", self.radius, self.edge.name())
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let around = around(at, self.edge, self.radius, self.radius);
        let mut square: Vec<u16> = around.iter().map(|(_, _, sample)| *sample as u16).collect();
        square.sort_unstable();
        // Of an odd number of samples, as many lie before the middle as after it.
        let place = self.rank.map_or(square.len() / 2, |rank| rank - 1);
        square[place]
    }

    fn branches(max: u16, inner: &Inner) -> Option<Weighted<Self>> {
        Some((2, Self::any(max, inner).boxed()))
    }
}

impl Median {
    fn any(max: u16, inner: &Inner) -> impl Strategy<Value = Self> + use<> {
        let small = select(&[1_i64, 2, 3][..]);
        let great = if max == 255 { 4_i64..=16 } else { 4..=8 };
        let radius = prop_oneof![8 => small, 1 => great];
        let rank = proptest::option::of(any::<Index>());
        (radius, rank, select(&Edge::ALL[..]), inner.item.clone()).prop_map(|(radius, rank, edge, source)| {
            Self {
                radius,
                rank: rank.map(|place| 1 + place.index((2 * radius as usize + 1).pow(2))),
                edge,
                source: Box::new(source),
            }
        })
    }
}

/// A median with a rank.
#[derive(Clone, Debug)]
pub(crate) struct Rank(Median);

impl Node for Rank {
    const NAME: &'static str = "rank";

    fn children(&self) -> Vec<(&'static str, &Item)> {
        self.0.children()
    }

    fn children_mut(&mut self) -> Vec<&mut Item> {
        self.0.children_mut()
    }

    fn properties(&self, model: &Model, frame: Option<(u64, u64)>) -> String {
        self.0.properties(model, frame)
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        self.0.sample(at)
    }

    fn branches(max: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let ranked = |median: Median| {
            let rank = median.rank.or(Some(1));
            Self(Median { rank, ..median })
        };
        Some((1, Median::any(max, inner).prop_map(ranked).boxed()))
    }
}
