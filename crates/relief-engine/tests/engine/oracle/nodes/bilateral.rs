//! `bilateral`: a mean weighted by two bells, of the place and of the difference of samples.

use proptest::prelude::*;
use proptest::sample::select;

use super::gauss::Edge;
use super::{Node, Weighted, around, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Item, Model};
use crate::oracle::strategy::Inner;

#[derive(Clone, Debug)]
pub(crate) struct Bilateral {
    pub(crate) sigma: f64,
    pub(crate) range: f64,
    pub(crate) edge: Edge,
    pub(crate) source: Box<Item>,
}

/// 4 096·e^(−squared / 2·deviation²), to the nearest.
fn weight(squared: i64, deviation: f64) -> i64 {
    let exact = 4_096.0 * (-(squared as f64) / (2.0 * deviation * deviation)).exp();
    let beyond_half = (exact - exact.floor() - 0.5).abs();
    assert!(
        beyond_half > 1e-9,
        "another deviation than {deviation}: {exact} lies at a half"
    );
    exact.round() as i64
}

impl Node for Bilateral {
    const NAME: &'static str = "bilateral";

    one_child!(source);

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        format!(
            " sigma={} range={} edge=\"{}\"",
            self.sigma,
            self.range,
            self.edge.name()
        )
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let reach = (2.0 * self.sigma).ceil() as i64;
        let middle = i64::from(at.child(0, at.x, at.y));
        let (mut total, mut sum) = (0, 0);
        for (dx, dy, sample) in around(at, self.edge, reach, reach) {
            let apart = sample - middle;
            let weight = weight(dx * dx + dy * dy, self.sigma) * weight(apart * apart, self.range);
            total += weight;
            sum += weight * sample;
        }
        u16::try_from((2 * sum + total) / (2 * total)).unwrap()
    }

    fn branches(max: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let sigma = prop_oneof![8 => select(&[0.3, 0.5, 0.75, 1.0, 1.5][..]), 1 => select(&[2.5, 5.0][..])];
        let range = select(&[0.4, 3.3, 20.0, 70.7, 300.0][..]);
        let scale = if max == 255 { 1.0 } else { 257.0 };
        let any = (sigma, range, select(&Edge::ALL[..]), inner.item.clone()).prop_map(
            move |(sigma, range, edge, source)| Self {
                sigma,
                range: range * scale,
                edge,
                source: Box::new(source),
            },
        );
        Some((1, any.boxed()))
    }
}
