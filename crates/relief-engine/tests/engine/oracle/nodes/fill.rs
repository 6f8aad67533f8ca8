//! `fill`: one sample everywhere.

use proptest::prelude::*;

use super::{Node, Weighted};
use crate::oracle::evaluate::At;
use crate::oracle::model::Model;
use crate::oracle::strategy::samples;

#[derive(Clone, Debug)]
pub(crate) struct Fill(pub(crate) u16);

impl Node for Fill {
    const NAME: &'static str = "fill";

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        format!(" value={}", self.0)
    }

    fn sample(&self, _: &mut At<'_, '_>) -> u16 {
        self.0
    }

    fn leaves(max: u16) -> Option<Weighted<Self>> {
        Some((2, samples(max).prop_map(Self).boxed()))
    }
}
