//! `sharpen`: a sample and quarters of what it differs from its mean by.

use proptest::prelude::*;
use proptest::sample::select;

use super::gauss::{Edge, weights};
use super::{Node, Weighted, around, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Item, Model};
use crate::oracle::strategy::Inner;

#[derive(Clone, Debug)]
pub(crate) struct Sharpen {
    pub(crate) sigma: f64,
    /// Four times the amount.
    pub(crate) quarters: i64,
    pub(crate) threshold: u16,
    pub(crate) edge: Edge,
    pub(crate) source: Box<Item>,
}

impl Node for Sharpen {
    const NAME: &'static str = "sharpen";

    one_child!(source);

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        format!(
            " sigma={} amount={} threshold={} edge=\"{}\"",
            self.sigma,
            self.quarters as f64 / 4.0,
            self.threshold,
            self.edge.name()
        )
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let weights = weights(self.sigma);
        let reach = weights.len() as i64 / 2;
        let weight = |d: i64| weights[(d + reach) as usize] as i64;
        let sum: i64 = around(at, self.edge, reach, reach)
            .iter()
            .map(|(dx, dy, sample)| weight(*dx) * weight(*dy) * sample)
            .sum();
        let mean = (sum + (1 << 31)) >> 32;
        let sample = i64::from(at.child(0, at.x, at.y));
        let apart = (sample - mean).abs();
        let more = if apart > i64::from(self.threshold) {
            (self.quarters * apart + 2) / 4
        } else {
            0
        };
        let sharpened = if sample < mean {
            sample - more
        } else {
            sample + more
        };
        u16::try_from(sharpened.clamp(0, i64::from(at.max()))).unwrap()
    }

    fn branches(max: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let sigma = select(&[0.25, 0.5, 0.75, 1.0, 1.3, 2.0][..]);
        let threshold = prop_oneof![2 => Just(0), 1 => 0..=max / 4];
        let any = (
            sigma,
            1_i64..=400,
            threshold,
            select(&Edge::ALL[..]),
            inner.item.clone(),
        )
            .prop_map(|(sigma, quarters, threshold, edge, source)| Self {
                sigma,
                quarters,
                threshold,
                edge,
                source: Box::new(source),
            });
        Some((1, any.boxed()))
    }
}
