//! `map` with several words: each takes what the one before it gives, and only the last is rounded.

use proptest::collection::vec;
use proptest::prelude::*;

use super::arithmetic::to_sample;
use super::{Node, Weighted, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::Item;
use crate::oracle::strategy::Inner;

#[derive(Clone, Debug)]
pub(crate) struct Tones {
    pub(crate) words: Vec<Word>,
    pub(crate) source: Box<Item>,
}

/// Tones whose values are multiples of powers of two, so that no operation is rounded, in whatever order they are done.
#[derive(Clone, Debug)]
pub(crate) enum Word {
    Invert,
    /// Fifths of M, which are whole.
    Brightness(i32),
    /// Quarters above 1.
    Contrast(i32),
    /// v·a / 8 + b
    Line {
        a: i32,
        b: i32,
    },
}

impl Word {
    fn value(&self, v: f64, max: f64) -> f64 {
        let value = match self {
            Self::Invert => max - v,
            Self::Brightness(fifths) => v + max / 5.0 * f64::from(*fifths),
            Self::Contrast(quarters) => max / 2.0 + (v - max / 2.0) * (1.0 + f64::from(*quarters) / 4.0),
            Self::Line { a, b } => v * f64::from(*a) / 8.0 + f64::from(*b),
        };
        value.clamp(0.0, max)
    }
}

impl Node for Tones {
    const NAME: &'static str = "map";

    one_child!(source);

    fn parameters(&self) -> Vec<String> {
        let text = |word: &Word| match word {
            Word::Invert => "invert".to_owned(),
            Word::Brightness(fifths) => format!("brightness {}", 20 * fifths),
            Word::Contrast(quarters) => format!("contrast {}", 25 * quarters),
            Word::Line { a, b } => format!("expression \"v * {a} / 8 + {b}\""),
        };
        self.words.iter().map(text).collect()
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let v = f64::from(at.child(0, at.x, at.y));
        let max = f64::from(at.max());
        to_sample(self.words.iter().fold(v, |v, word| word.value(v, max)), at.max())
    }

    fn branches(max: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let top = i32::from(max);
        let word = prop_oneof![
            Just(Word::Invert),
            (-5_i32..=5).prop_map(Word::Brightness),
            (-4_i32..=6).prop_map(Word::Contrast),
            (-20_i32..20, -top..=top).prop_map(|(a, b)| Word::Line { a, b }),
        ];
        let any = (vec(word, 2..5), inner.item.clone()).prop_map(|(words, source)| Self {
            words,
            source: Box::new(source),
        });
        Some((1, any.boxed()))
    }
}
