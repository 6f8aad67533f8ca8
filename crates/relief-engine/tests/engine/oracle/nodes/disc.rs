//! `disc`: one sample where the middle of a pixel lies within half the diameter of that of the disc, else 0.

use proptest::prelude::*;

use super::{Node, Weighted};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Model, NaturalSize};
use crate::oracle::strategy::samples;

#[derive(Clone, Debug)]
pub(crate) struct Disc {
    pub(crate) diameter: u64,
    pub(crate) value: u16,
}

impl Node for Disc {
    const NAME: &'static str = "disc";

    const OWN_SIZE: bool = true;

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        format!(" diameter={} value={}", self.diameter, self.value)
    }

    fn natural_size(&self, _: &Model) -> NaturalSize {
        (Some(self.diameter), Some(self.diameter))
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let d = i128::from(self.diameter);
        let (x, y) = (i128::from(at.x), i128::from(at.y));
        let (i, j) = (2 * x - d + 1, 2 * y - d + 1);
        if x < d && y < d && i * i + j * j <= d * d {
            self.value
        } else {
            0
        }
    }

    fn leaves(max: u16) -> Option<Weighted<Self>> {
        let any = (1_u64..20, samples(max)).prop_map(|(diameter, value)| Self { diameter, value });
        Some((2, any.boxed()))
    }
}
