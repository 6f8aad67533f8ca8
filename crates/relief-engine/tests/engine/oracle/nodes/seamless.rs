//! `seamless`: a mean of up to four samples, weighted by how far they lie within the overlap.

use proptest::prelude::*;

use super::{Node, Weighted, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Item, Model, NaturalSize};
use crate::oracle::strategy::Inner;

#[derive(Clone, Debug)]
pub(crate) struct Seamless {
    pub(crate) overlap: u64,
    pub(crate) source: Box<Item>,
}

impl Node for Seamless {
    const NAME: &'static str = "seamless";

    const OWN_SIZE: bool = true;

    one_child!(source);

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        format!(" overlap={}", self.overlap)
    }

    fn natural_size(&self, model: &Model) -> NaturalSize {
        let (width, height) = model.around(&self.children());
        let without = |side: u64| side.saturating_sub(self.overlap).max(1);
        (width.map(without), height.map(without))
    }

    fn frame(&self, size: (u64, u64)) -> (u64, u64) {
        (size.0 + self.overlap, size.1 + self.overlap)
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let ((width, height), overlap) = (at.size(), self.overlap as i64);
        // Places along an axis with their parts of twice the overlap.
        let places = |at: i64, side: i64| {
            let part = (2 * at + 1).min(2 * overlap);
            [(at, part), (at + side, 2 * overlap - part)]
        };
        let (columns, rows) = (places(at.x, width), places(at.y, height));
        let mut sum = 0;
        for (y, down) in rows {
            for (x, across) in columns {
                sum += down * across * i64::from(at.child(0, x, y));
            }
        }
        let total = 4 * overlap * overlap;
        u16::try_from((2 * sum + total) / (2 * total)).unwrap()
    }

    fn branches(_: u16, inner: &Inner) -> Option<Weighted<Self>> {
        // Of one pixel, so that any node is wide enough.
        let any = inner.item.clone().prop_map(|source| Self {
            overlap: 1,
            source: Box::new(source),
        });
        Some((1, any.boxed()))
    }
}
