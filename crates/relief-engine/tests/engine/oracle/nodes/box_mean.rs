//! `box`: the mean of the samples of a square, to the nearest.

use proptest::prelude::*;
use proptest::sample::select;

use super::gauss::Edge;
use super::{Node, Weighted, around, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Item, Model};
use crate::oracle::strategy::Inner;

#[derive(Clone, Debug)]
pub(crate) struct BoxMean {
    pub(crate) radius: i64,
    pub(crate) edge: Edge,
    pub(crate) source: Box<Item>,
}

impl Node for BoxMean {
    const NAME: &'static str = "box";

    one_child!(source);

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        format!(" radius={} edge=\"{}\"", self.radius, self.edge.name())
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let square = around(at, self.edge, self.radius, self.radius);
        let sum: u64 = square.iter().map(|(_, _, sample)| *sample as u64).sum();
        let count = square.len() as u64;
        // An odd number of samples has no mean half-way between two.
        let (mean, rest) = (sum / count, sum % count);
        u16::try_from(mean + u64::from(rest > count / 2)).unwrap()
    }

    fn branches(_: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let radius = prop_oneof![8 => 1_i64..=3, 1 => 4_i64..=20];
        let any =
            (radius, select(&Edge::ALL[..]), inner.item.clone()).prop_map(|(radius, edge, source)| Self {
                radius,
                edge,
                source: Box::new(source),
            });
        Some((1, any.boxed()))
    }
}
