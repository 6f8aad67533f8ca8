//! `gauss`: (S + 2^31) >> 32 of the exact sum S of samples times the weights of a bell along both axes.

use proptest::prelude::*;
use proptest::sample::select;

use super::{Node, Weighted, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Item, Model};
use crate::oracle::strategy::Inner;

#[derive(Clone, Debug)]
pub(crate) struct Gauss {
    /// Of which no weight comes near a half, where two libraries could round it apart.
    pub(crate) sigma: f64,
    pub(crate) edge: Edge,
    pub(crate) source: Box<Item>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Edge {
    Clamp,
    Mirror,
    Wrap,
    Zero,
}

impl Edge {
    pub(crate) const ALL: [Self; 4] = [Self::Clamp, Self::Mirror, Self::Wrap, Self::Zero];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Clamp => "clamp",
            Self::Mirror => "mirror",
            Self::Wrap => "wrap",
            Self::Zero => "zero",
        }
    }

    /// Which of the pixels 0…n − 1 counts for one; nothing where 0 does. Steps from pixel to pixel, as one who reads the
    /// rule aloud.
    pub(super) fn of(self, mut at: i64, n: i64) -> Option<i64> {
        loop {
            if (0..n).contains(&at) {
                return Some(at);
            }
            at = match self {
                Self::Clamp => at.clamp(0, n - 1),
                Self::Mirror if n == 1 => 0,
                Self::Mirror if at < 0 => -at,
                Self::Mirror => 2 * (n - 1) - at,
                Self::Wrap if at < 0 => at + n,
                Self::Wrap => at - n,
                Self::Zero => return None,
            };
        }
    }
}

/// The σ of random designs, and the greatest.
const SIGMAS: [f64; 12] = [0.05, 0.25, 0.3, 0.5, 0.75, 1.0, 1.3, 2.0, 2.5, 3.3, 4.7, 6.0];

/// w(−R), …, w(R).
pub(super) fn weights(sigma: f64) -> Vec<u64> {
    let radius = (4.0 * sigma).ceil() as i64;
    let bell: Vec<f64> = (-radius..=radius)
        .map(|k| (-((k * k) as f64) / (2.0 * sigma * sigma)).exp())
        .collect();
    let sum: f64 = bell.iter().sum();
    let mut weights: Vec<u64> = Vec::new();
    for value in bell {
        let exact = 65_536.0 * value / sum;
        let beyond_half = (exact - exact.floor() - 0.5).abs();
        assert!(
            beyond_half > 1e-9,
            "another σ than {sigma}: {exact} lies at a half"
        );
        weights.push(exact.round() as u64);
    }
    let middle = radius as usize;
    weights[middle] = 0;
    weights[middle] = 65_536 - weights.iter().sum::<u64>();
    weights
}

impl Node for Gauss {
    const NAME: &'static str = "gauss";

    one_child!(source);

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        format!(" sigma={} edge=\"{}\"", self.sigma, self.edge.name())
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let weights = weights(self.sigma);
        let radius = weights.len() as i64 / 2;
        let (width, height) = at.size();
        // What counts for each column and row around, with its weight.
        let around = |middle: i64, n: i64| -> Vec<(i64, u64)> {
            let places = (middle - radius..).zip(&weights);
            places
                .filter(|(_, weight)| **weight > 0)
                .filter_map(|(place, weight)| Some((self.edge.of(place, n)?, *weight)))
                .collect()
        };
        let (columns, rows) = (around(at.x, width), around(at.y, height));
        let mut sum = 0;
        for (row, down) in rows {
            for (column, across) in &columns {
                sum += across * down * u64::from(at.child(0, *column, row));
            }
        }
        u16::try_from((sum + (1 << 31)) >> 32).unwrap()
    }

    fn branches(_: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let any = (select(&SIGMAS[..]), select(&Edge::ALL[..]), inner.item.clone()).prop_map(
            |(sigma, edge, source)| Self {
                sigma,
                edge,
                source: Box::new(source),
            },
        );
        Some((2, any.boxed()))
    }
}
