//! `ramp`: linear along an axis, from the first pixel to the last.

use proptest::prelude::*;

use super::arithmetic::half_away;
use super::{Node, Weighted};
use crate::oracle::evaluate::At;
use crate::oracle::model::Model;
use crate::oracle::strategy::samples;

#[derive(Clone, Debug)]
pub(crate) struct Ramp {
    pub(crate) horizontal: bool,
    pub(crate) from: u16,
    pub(crate) to: u16,
}

impl Node for Ramp {
    const NAME: &'static str = "ramp";

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        let axis = if self.horizontal { "x" } else { "y" };
        format!(" axis=\"{axis}\" from={} to={}", self.from, self.to)
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let (width, height) = at.size();
        let (i, n) = if self.horizontal {
            (at.x, width)
        } else {
            (at.y, height)
        };
        if n == 1 {
            return self.from;
        }
        let product = (i128::from(self.to) - i128::from(self.from)) * i128::from(i);
        let rounded = half_away(product, i128::from(n) - 1);
        u16::try_from(i128::from(self.from) + rounded).unwrap()
    }

    fn leaves(max: u16) -> Option<Weighted<Self>> {
        let any = (any::<bool>(), samples(max), samples(max)).prop_map(|(horizontal, from, to)| Self {
            horizontal,
            from,
            to,
        });
        Some((2, any.boxed()))
    }
}
