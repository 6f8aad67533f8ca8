//! `repeat`: copies of a pattern along the axes.

use std::fmt::Write;

use proptest::prelude::*;

use super::{Node, Weighted, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Item, Model, NaturalSize};
use crate::oracle::strategy::Inner;

#[derive(Clone, Debug)]
pub(crate) struct Repeat {
    /// The steps are those of the pattern and so many pixels more; `None` leaves them out of the text.
    pub(crate) gaps: (Option<u64>, Option<u64>),
    /// Of a size that does not follow from its parent's where a definition may hold it.
    pub(crate) pattern: Box<Item>,
}

impl Node for Repeat {
    const NAME: &'static str = "repeat";

    one_child!(pattern);

    fn properties(&self, model: &Model, frame: Option<(u64, u64)>) -> String {
        let mut text = String::new();
        let pattern = model.size("pattern", &self.pattern, frame);
        for (name, gap, side) in [
            ("step-x", self.gaps.0, pattern.map(|size| size.0)),
            ("step-y", self.gaps.1, pattern.map(|size| size.1)),
        ] {
            if let Some(gap) = gap {
                let step = side.expect("a pattern has a size") + gap;
                let _ = write!(text, " {name}={step}");
            }
        }
        text
    }

    fn natural_size(&self, _: &Model) -> NaturalSize {
        (None, None)
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let ((width, height), (left, top)) = (at.child_size(0), at.child_offset(0));
        let step = (
            width + self.gaps.0.unwrap_or(0) as i64,
            height + self.gaps.1.unwrap_or(0) as i64,
        );
        let (x, y) = ((at.x - left).rem_euclid(step.0), (at.y - top).rem_euclid(step.1));
        at.within_child(0, x, y)
    }

    fn branches(_: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let gap = || proptest::option::of(0_u64..8);
        let any = (gap(), gap(), inner.pattern.clone()).prop_map(|(x, y, pattern)| Self {
            gaps: (x, y),
            pattern: Box::new(pattern),
        });
        Some((2, any.boxed()))
    }
}
