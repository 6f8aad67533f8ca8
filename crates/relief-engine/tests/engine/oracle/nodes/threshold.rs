//! `threshold`: M where the source is at least the level, else 0.

use proptest::prelude::*;

use super::{Node, Weighted, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Item, Model};
use crate::oracle::strategy::{Inner, samples};

#[derive(Clone, Debug)]
pub(crate) struct Threshold {
    pub(crate) level: u16,
    pub(crate) source: Box<Item>,
}

impl Node for Threshold {
    const NAME: &'static str = "threshold";

    one_child!(source);

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        format!(" level={}", self.level)
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        if at.child(0, at.x, at.y) >= self.level {
            at.max()
        } else {
            0
        }
    }

    fn branches(max: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let any = (samples(max), inner.item.clone()).prop_map(|(level, source)| Self {
            level,
            source: Box::new(source),
        });
        Some((1, any.boxed()))
    }
}
