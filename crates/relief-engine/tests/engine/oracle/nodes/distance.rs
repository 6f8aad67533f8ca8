//! `distance`: a function of the distance to the nearest sample of a mask that is not 0.

use proptest::collection::vec;
use proptest::prelude::*;

use super::arithmetic::{points, through_points, to_sample};
use super::{Node, Weighted, one_child};
use crate::oracle::evaluate::{At, DENSE};
use crate::oracle::model::{Item, Model};
use crate::oracle::strategy::{Inner, samples};

#[derive(Clone, Debug)]
pub(crate) struct Distance {
    pub(crate) radius: u64,
    pub(crate) profile: Profile,
    pub(crate) beyond: Option<u16>,
    pub(crate) mask: Box<Item>,
}

/// Profiles that the oracle can compute without the expressions of the language. Divisors are powers of two, so
/// that the order of operations makes no difference where a value lies on a half.
#[derive(Clone, Debug)]
pub(crate) enum Profile {
    /// a + b·d
    Line { a: i32, b: i32 },
    /// a·(1 − (d / 2^k)²)
    Bowl { a: i32, k: u32 },
    /// |d − a|·b / 4
    Fold { a: u32, b: i32 },
    /// Points at d = first, first + 2^k, … with these heights, in quarters.
    Points { first: u32, k: u32, quarters: Vec<i32> },
}

impl Profile {
    pub(super) fn sample(&self, d: f64, max: u16) -> u16 {
        let value = match self {
            Self::Line { a, b } => f64::from(*a) + f64::from(*b) * d,
            Self::Bowl { a, k } => {
                let t = d / f64::from(1 << k);
                f64::from(*a) * (1.0 - t * t)
            }
            Self::Fold { a, b } => (d - f64::from(*a)).abs() * f64::from(*b) / 4.0,
            Self::Points { first, k, quarters } => through_points(f64::from(*first), *k, quarters, d),
        };
        to_sample(value, max)
    }
}

impl Profile {
    /// As a design says it.
    pub(super) fn text(&self, beyond: Option<u16>) -> String {
        let beyond = beyond.map_or(String::new(), |beyond| format!(" beyond={beyond}"));
        match self {
            Self::Line { a, b } => format!("profile \"{a} + {b} * d\"{beyond}"),
            Self::Bowl { a, k } => format!("profile \"{a} * (1 - (d / {}) ^ 2)\"{beyond}", 1 << k),
            Self::Fold { a, b } => format!("profile \"abs(d - {a}) * {b} / 4\"{beyond}"),
            Self::Points { first, k, quarters } => {
                let points = points(u64::from(*first), *k, quarters);
                format!("profile{beyond} {{ {points} }}")
            }
        }
    }
}

impl Distance {
    /// The least dx² + dy² ≤ radius² to a set pixel of the mask.
    fn nearest(&self, at: &mut At<'_, '_>) -> Option<i64> {
        let radius = self.radius as i64;
        let ((width, height), (left, top)) = (at.child_size(0), at.child_offset(0));
        let (x, y) = (at.x - left, at.y - top);
        let square = |(column, row): (i64, i64)| (column - x) * (column - x) + (row - y) * (row - y);
        let nearest = if (width as u64).saturating_mul(height as u64) <= DENSE {
            at.whole(set).iter().map(|place| square(*place)).min()
        } else {
            let rows = (y - radius).max(0)..(y + radius + 1).min(height);
            let columns = (x - radius).max(0)..(x + radius + 1).min(width);
            let window = rows.flat_map(|row| columns.clone().map(move |column| (column, row)));
            window
                .filter(|(column, row)| at.within_child(0, *column, *row) != 0)
                .map(square)
                .min()
        };
        nearest.filter(|square| *square <= radius * radius)
    }
}

/// All set pixels of a small mask.
fn set(at: &mut At<'_, '_>) -> Vec<(i64, i64)> {
    let (width, height) = at.child_size(0);
    let all = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    all.filter(|(x, y)| at.within_child(0, *x, *y) != 0).collect()
}

impl Node for Distance {
    const NAME: &'static str = "distance";

    one_child!(mask);

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        format!(" radius={}", self.radius)
    }

    fn parameters(&self) -> Vec<String> {
        vec![self.profile.text(self.beyond)]
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        match self.nearest(at) {
            Some(square) => self.profile.sample((square as f64).sqrt(), at.max()),
            None => self
                .beyond
                .unwrap_or_else(|| self.profile.sample(self.radius as f64, at.max())),
        }
    }

    fn branches(max: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let beyond = proptest::option::of(samples(max));
        let any = (radii(), profiles(max), beyond, inner.item.clone()).prop_map(
            |(radius, profile, beyond, mask)| Self {
                radius,
                profile,
                beyond,
                mask: Box::new(mask),
            },
        );
        Some((3, any.boxed()))
    }
}

fn radii() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 0_u64..8, 3 => 8_u64..40, 1 => 40_u64..300]
}

pub(super) fn profiles(max: u16) -> impl Strategy<Value = Profile> {
    let top = i32::from(max);
    prop_oneof![
        (0..=top, -top / 4..=top / 4).prop_map(|(a, b)| Profile::Line { a, b }),
        (0..=2 * top, 0_u32..6).prop_map(|(a, k)| Profile::Bowl { a, k }),
        (0_u32..12, -top / 4..=top).prop_map(|(a, b)| Profile::Fold { a, b }),
        (0_u32..6, 0_u32..4, vec(-top..=5 * top, 1..5)).prop_map(|(first, k, quarters)| Profile::Points {
            first,
            k,
            quarters
        }),
    ]
}
