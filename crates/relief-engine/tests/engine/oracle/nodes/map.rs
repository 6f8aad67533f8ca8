//! `map`: a source through a tone curve.

use proptest::collection::vec;
use proptest::prelude::*;

use super::arithmetic::{half_away, points, through_points, to_sample};
use super::{Node, Weighted, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::Item;
use crate::oracle::strategy::{Inner, samples};

#[derive(Clone, Debug)]
pub(crate) struct Map {
    pub(crate) tone: Tone,
    pub(crate) source: Box<Item>,
}

/// Tone curves that the oracle can compute exactly.
#[derive(Clone, Debug)]
pub(crate) enum Tone {
    Invert,
    /// M·(v / M)^(n / 2) for n = 1, 2, 4
    Gamma(u32),
    Levels {
        low: u16,
        high: u16,
        out_low: u16,
        out_high: u16,
    },
    /// Points at v = first, first + 2^k, … with these heights, in quarters.
    Curve {
        first: u16,
        k: u32,
        quarters: Vec<i32>,
    },
    /// v·a / 8 + b
    Line {
        a: i32,
        b: i32,
    },
}

impl Tone {
    fn sample(&self, v: u16, max: u16) -> u16 {
        let (m, wide) = (u128::from(max), u128::from(v));
        match self {
            Self::Invert => max - v,
            // v·v·… / M·…, never on a half.
            Self::Gamma(2) => v,
            Self::Gamma(4) => ((2 * wide * wide + m) / (2 * m)) as u16,
            Self::Gamma(_) => {
                // The k with (2k − 1)² ≤ 4·v·M < (2k + 1)².
                let root = (4 * wide * m).isqrt();
                root.div_ceil(2) as u16
            }
            Self::Levels {
                low,
                high,
                out_low,
                out_high,
            } => {
                let v = i128::from(v.clamp(*low, *high)) - i128::from(*low);
                let (span, rise) = (
                    i128::from(*high) - i128::from(*low),
                    i128::from(*out_high) - i128::from(*out_low),
                );
                let value = half_away(i128::from(*out_low) * span + v * rise, span);
                u16::try_from(value).unwrap()
            }
            Self::Curve { first, k, quarters } => {
                to_sample(through_points(f64::from(*first), *k, quarters, f64::from(v)), max)
            }
            Self::Line { a, b } => to_sample(f64::from(v) * f64::from(*a) / 8.0 + f64::from(*b), max),
        }
    }
}

impl Node for Map {
    const NAME: &'static str = "map";

    one_child!(source);

    fn parameters(&self) -> Vec<String> {
        vec![match &self.tone {
            Tone::Invert => "invert".to_owned(),
            Tone::Gamma(halves) => format!("gamma {}", f64::from(*halves) / 2.0),
            Tone::Levels {
                low,
                high,
                out_low,
                out_high,
            } => format!("levels {low} {high} {out_low} {out_high}"),
            Tone::Curve { first, k, quarters } => {
                format!("curve {{ {} }}", points(u64::from(*first), *k, quarters))
            }
            Tone::Line { a, b } => format!("expression \"v * {a} / 8 + {b}\""),
        }]
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let v = at.child(0, at.x, at.y);
        self.tone.sample(v, at.max())
    }

    fn branches(max: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let any = (tones(max), inner.item.clone()).prop_map(|(tone, source)| Self {
            tone,
            source: Box::new(source),
        });
        Some((1, any.boxed()))
    }
}

fn tones(max: u16) -> impl Strategy<Value = Tone> {
    let top = i32::from(max);
    prop_oneof![
        Just(Tone::Invert),
        prop_oneof![Just(1), Just(2), Just(4)].prop_map(Tone::Gamma),
        (0..max, 0..=max, samples(max), samples(max)).prop_map(move |(low, more, out_low, out_high)| {
            let high = low + 1 + more % (max - low);
            Tone::Levels {
                low,
                high,
                out_low,
                out_high,
            }
        }),
        (0_u16..100, 0_u32..6, vec(-top..=5 * top, 1..5)).prop_map(|(first, k, quarters)| Tone::Curve {
            first,
            k,
            quarters
        }),
        (-20_i32..20, -top..=top).prop_map(|(a, b)| Tone::Line { a, b }),
    ]
}
