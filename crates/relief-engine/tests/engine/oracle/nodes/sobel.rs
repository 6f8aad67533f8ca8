//! `sobel`: slopes by the eight samples around a pixel.

use proptest::prelude::*;
use proptest::sample::select;

use super::gauss::Edge;
use super::{Node, Weighted, around, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Item, Model};
use crate::oracle::strategy::Inner;

#[derive(Clone, Debug)]
pub(crate) struct Sobel {
    /// "magnitude", "x" or "y".
    pub(crate) of: &'static str,
    pub(crate) edge: Edge,
    pub(crate) source: Box<Item>,
}

impl Node for Sobel {
    const NAME: &'static str = "sobel";

    one_child!(source);

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        format!(" of={} edge=\"{}\"", self.of, self.edge.name())
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let max = i64::from(at.max());
        let (mut right, mut down) = (0, 0);
        for (dx, dy, sample) in around(at, self.edge, 1, 1) {
            // 1, 2, 1 across the direction of the difference.
            right += dx * (2 - dy.abs()) * sample;
            down += dy * (2 - dx.abs()) * sample;
        }
        let sample = match self.of {
            "x" => (right + 4 * max + 4).div_euclid(8),
            "y" => (down + 4 * max + 4).div_euclid(8),
            // The greatest r with (2r − 1)² ≤ 4q, found by halving.
            _ => {
                let squared = right * right + down * down;
                let (mut low, mut high) = (0, max + 1);
                while high - low > 1 {
                    let middle = i64::midpoint(low, high);
                    let fits = (2 * middle - 1) * (2 * middle - 1) <= 4 * squared;
                    (low, high) = if fits { (middle, high) } else { (low, middle) };
                }
                low
            }
        };
        u16::try_from(sample).unwrap()
    }

    fn branches(_: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let of = select(&["magnitude", "magnitude", "x", "y"][..]);
        let any = (of, select(&Edge::ALL[..]), inner.item.clone()).prop_map(|(of, edge, source)| Self {
            of,
            edge,
            source: Box::new(source),
        });
        Some((1, any.boxed()))
    }
}
