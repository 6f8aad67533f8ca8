//! `use`: a definition by its number; its size is its own.

use proptest::prelude::*;

use super::{Node, Weighted};
use crate::oracle::evaluate::At;
use crate::oracle::model::Model;
use crate::oracle::strategy::DEFINITIONS;

#[derive(Clone, Debug)]
pub(crate) struct Use(pub(crate) usize);

impl Node for Use {
    const NAME: &'static str = "use";

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        format!(" \"d{}\"", self.0)
    }

    fn sample(&self, _: &mut At<'_, '_>) -> u16 {
        unreachable!("a use stands for the node that it names")
    }

    fn leaves(_: u16) -> Option<Weighted<Self>> {
        Some((2, (0..DEFINITIONS).prop_map(Self).boxed()))
    }
}
