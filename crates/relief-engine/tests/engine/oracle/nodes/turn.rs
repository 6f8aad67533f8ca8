//! `turn`: a source turned clockwise by quarters.

use proptest::prelude::*;

use super::{Node, Weighted, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Item, Model, NaturalSize};
use crate::oracle::strategy::Inner;

#[derive(Clone, Debug)]
pub(crate) struct Turn {
    /// 1, 2 or 3.
    pub(crate) quarters: u8,
    pub(crate) source: Box<Item>,
}

impl Turn {
    /// Columns and rows change places after one quarter and after three.
    fn turned<T>(&self, (width, height): (T, T)) -> (T, T) {
        if self.quarters == 2 {
            (width, height)
        } else {
            (height, width)
        }
    }
}

impl Node for Turn {
    const NAME: &'static str = "turn";

    const OWN_SIZE: bool = true;

    one_child!(source);

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        format!(" quarters={}", self.quarters)
    }

    fn natural_size(&self, model: &Model) -> NaturalSize {
        self.turned(model.around(&self.children()))
    }

    fn frame(&self, size: (u64, u64)) -> (u64, u64) {
        self.turned(size)
    }

    /// Each quarter shows at (x, y) of a frame w columns wide what stood at (y, w − 1 − x) before.
    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let (mut x, mut y, mut size) = (at.x, at.y, at.size());
        for _ in 0..self.quarters {
            (x, y) = (y, size.0 - 1 - x);
            size = (size.1, size.0);
        }
        at.child(0, x, y)
    }

    fn branches(_: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let any = (1_u8..=3, inner.item.clone()).prop_map(|(quarters, source)| Self {
            quarters,
            source: Box::new(source),
        });
        Some((2, any.boxed()))
    }
}
