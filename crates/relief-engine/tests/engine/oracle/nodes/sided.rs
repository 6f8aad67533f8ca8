//! `distance` on a side and from a level.

use proptest::prelude::*;
use proptest::sample::select;

use super::distance::{Profile, profiles};
use super::{Node, Weighted, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Item, Model};
use crate::oracle::strategy::{Inner, samples};

#[derive(Clone, Debug)]
pub(crate) struct SidedDistance {
    pub(crate) radius: u64,
    pub(crate) side: &'static str,
    pub(crate) level: u16,
    pub(crate) profile: Profile,
    pub(crate) beyond: u16,
    pub(crate) mask: Box<Item>,
}

impl Node for SidedDistance {
    const NAME: &'static str = "distance";

    one_child!(mask);

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        format!(
            " radius={} side=\"{}\" level={}",
            self.radius, self.side, self.level
        )
    }

    fn parameters(&self) -> Vec<String> {
        vec![self.profile.text(Some(self.beyond))]
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let (x, y, radius) = (at.x, at.y, self.radius as i64);
        let is_set = |at: &mut At<'_, '_>, x, y| at.child(0, x, y) >= self.level;
        let here = is_set(at, x, y);
        let told = match self.side {
            "outside" => !here,
            "inside" => here,
            _ => true,
        };
        if !told {
            return self.profile.sample(0.0, at.max());
        }
        let around = (-radius..=radius).flat_map(|dy| (-radius..=radius).map(move |dx| (dx, dy)));
        let nearest = around
            .filter(|(dx, dy)| dx * dx + dy * dy <= radius * radius)
            .filter(|(dx, dy)| is_set(at, x + dx, y + dy) != here)
            .map(|(dx, dy)| dx * dx + dy * dy)
            .min();
        nearest.map_or(self.beyond, |square| {
            self.profile.sample((square as f64).sqrt(), at.max())
        })
    }

    fn branches(max: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let sides = select(&["outside", "inside", "both"][..]);
        let any = (
            0_u64..6,
            sides,
            1..=max,
            profiles(max),
            samples(max),
            inner.item.clone(),
        )
            .prop_map(|(radius, side, level, profile, beyond, mask)| Self {
                radius,
                side,
                level,
                profile,
                beyond,
                mask: Box::new(mask),
            });
        Some((1, any.boxed()))
    }
}
