//! `flip`: left and right, or top and bottom, change places.

use proptest::prelude::*;

use super::{Node, Weighted, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Item, Model};
use crate::oracle::strategy::Inner;

#[derive(Clone, Debug)]
pub(crate) struct Flip {
    /// Left and right change places.
    pub(crate) horizontal: bool,
    pub(crate) source: Box<Item>,
}

impl Node for Flip {
    const NAME: &'static str = "flip";

    const OWN_SIZE: bool = true;

    one_child!(source);

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        format!(" axis=\"{}\"", if self.horizontal { "x" } else { "y" })
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let (width, height) = at.size();
        if self.horizontal {
            at.child(0, width - 1 - at.x, at.y)
        } else {
            at.child(0, at.x, height - 1 - at.y)
        }
    }

    fn branches(_: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let any = (any::<bool>(), inner.item.clone()).prop_map(|(horizontal, source)| Self {
            horizontal,
            source: Box::new(source),
        });
        Some((1, any.boxed()))
    }
}
