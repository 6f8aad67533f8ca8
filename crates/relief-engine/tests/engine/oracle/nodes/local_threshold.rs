//! `local-threshold`: a sample against the mean and the deviation of those around.

use proptest::prelude::*;
use proptest::sample::select;

use super::gauss::Edge;
use super::{Node, Weighted, around, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Item, Model};
use crate::oracle::strategy::Inner;

/// Which pixels are set.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Law {
    Mean(i64),
    Sauvola(f64),
}

#[derive(Clone, Debug)]
pub(crate) struct LocalThreshold {
    pub(crate) radius: i64,
    pub(crate) law: Law,
    pub(crate) edge: Edge,
    pub(crate) source: Box<Item>,
}

impl Node for LocalThreshold {
    const NAME: &'static str = "local-threshold";

    one_child!(source);

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        let law = match self.law {
            Law::Mean(offset) => format!("offset={offset}"),
            Law::Sauvola(k) => format!("method=\"sauvola\" k={k}"),
        };
        format!(" radius={} {law} edge=\"{}\"", self.radius, self.edge.name())
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let sample = i64::from(at.child(0, at.x, at.y));
        let square = around(at, self.edge, self.radius, self.radius);
        let count = square.len() as i64;
        let sum: i64 = square.iter().map(|(_, _, sample)| sample).sum();
        let set = match self.law {
            Law::Mean(offset) => count * (sample + offset) >= sum,
            Law::Sauvola(k) => {
                let squares: i64 = square.iter().map(|(_, _, sample)| sample * sample).sum();
                let mean = sum as f64 / count as f64;
                let deviation = ((count * squares - sum * sum) as f64).sqrt() / count as f64;
                let greatest = f64::from(at.max()) / 2.0;
                sample as f64 >= mean * (1.0 + k * (deviation / greatest - 1.0))
            }
        };
        if set { at.max() } else { 0 }
    }

    fn branches(max: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let radius = prop_oneof![8 => 1_i64..=3, 1 => 4_i64..=15];
        let most = i64::from(max) / 4;
        let law = prop_oneof![
            prop_oneof![Just(0), -most..=most].prop_map(Law::Mean),
            select(&[0.2, 0.5, 0.34, -0.25, 1.0, 0.0][..]).prop_map(Law::Sauvola),
        ];
        let any = (radius, law, select(&Edge::ALL[..]), inner.item.clone()).prop_map(
            |(radius, law, edge, source)| Self {
                radius,
                law,
                edge,
                source: Box::new(source),
            },
        );
        Some((1, any.boxed()))
    }
}
