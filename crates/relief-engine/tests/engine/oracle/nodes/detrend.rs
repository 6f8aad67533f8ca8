//! `detrend`: a sample less the surface whose coefficients are sums over all samples, term by term.

use proptest::prelude::*;

use super::{Node, Weighted, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Item, Model};
use crate::oracle::strategy::Inner;

#[derive(Clone, Debug)]
pub(crate) struct Detrend {
    pub(crate) degree: u8,
    pub(crate) source: Box<Item>,
}

/// X, Y, XY, P and Q of a pixel.
fn terms((x, y): (i64, i64), (width, height): (i64, i64)) -> [i128; 5] {
    let middle = |at: i64, side: i64| i128::from(2 * at + 1 - side);
    let bulge = |at: i128, side: i64| 3 * at * at - i128::from(side * side - 1);
    let (x, y) = (middle(x, width), middle(y, height));
    [x, y, x * y, bulge(x, width), bulge(y, height)]
}

impl Node for Detrend {
    const NAME: &'static str = "detrend";

    one_child!(source);

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        format!(" degree={}", self.degree)
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let size = at.size();
        let coefficients = at.whole(|at| {
            let (mut sums, mut squares) = ([0_i128; 5], [0_i128; 5]);
            for (x, y) in (0..size.1).flat_map(|y| (0..size.0).map(move |x| (x, y))) {
                let sample = i128::from(at.child(0, x, y));
                for (i, term) in terms((x, y), size).into_iter().enumerate() {
                    sums[i] += sample * term;
                    squares[i] += term * term;
                }
            }
            let coefficient = |i: usize| match squares[i] {
                0 => 0,
                square => (sums[i] << 64).div_euclid(square),
            };
            // In two halves.
            (0..5)
                .map(coefficient)
                .map(|fixed| ((fixed >> 60) as i64, (fixed & ((1 << 60) - 1)) as i64))
                .collect()
        });
        let count = if self.degree == 1 { 2 } else { 5 };
        let surface: i128 = terms((at.x, at.y), size)
            .into_iter()
            .zip(coefficients.iter())
            .take(count)
            .map(|(term, (high, low))| term * ((i128::from(*high) << 60) + i128::from(*low)))
            .sum();
        let level = (i128::from(at.child(0, at.x, at.y)) << 64) - surface;
        let rounded = (level + (1 << 63)).div_euclid(1 << 64);
        u16::try_from(rounded.clamp(0, at.max().into())).unwrap()
    }

    fn branches(_: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let any = (1_u8..=2, inner.item.clone()).prop_map(|(degree, source)| Self {
            degree,
            source: Box::new(source),
        });
        Some((1, any.boxed()))
    }
}
