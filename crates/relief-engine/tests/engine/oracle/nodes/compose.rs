//! `compose`: its children folded in order, from 0.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::{Node, Weighted};
use crate::oracle::evaluate::At;
use crate::oracle::model::Item;
use crate::oracle::strategy::Inner;

#[derive(Clone, Debug)]
pub(crate) struct Compose(pub(crate) Vec<(Fold, Item)>);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fold {
    Base,
    Add,
    Subtract,
    Multiply,
    Mean,
    Max,
    Min,
    Over,
    Mask,
}

pub(super) const FOLDS: [(Fold, &str); 9] = [
    (Fold::Base, "base"),
    (Fold::Add, "add"),
    (Fold::Subtract, "subtract"),
    (Fold::Multiply, "multiply"),
    (Fold::Mean, "mean"),
    (Fold::Max, "max"),
    (Fold::Min, "min"),
    (Fold::Over, "over"),
    (Fold::Mask, "mask"),
];

impl Fold {
    pub(super) fn name(self) -> &'static str {
        FOLDS.iter().find(|(fold, _)| *fold == self).unwrap().1
    }

    pub(super) fn folded(self, acc: u16, v: u16, max: u16) -> u16 {
        let (a, b, m) = (u64::from(acc), u64::from(v), u64::from(max));
        let sample = match self {
            Self::Base => b,
            Self::Add => (a + b).min(m),
            Self::Subtract => a.saturating_sub(b),
            Self::Multiply => (a * b + m / 2) / m,
            Self::Mean => (a + b).div_ceil(2),
            Self::Max => a.max(b),
            Self::Min => a.min(b),
            Self::Over if b == 0 => a,
            Self::Over => b,
            Self::Mask if b == 0 => 0,
            Self::Mask => a,
        };
        u16::try_from(sample).unwrap()
    }
}

impl Node for Compose {
    const NAME: &'static str = "compose";

    fn children(&self) -> Vec<(&'static str, &Item)> {
        self.0.iter().map(|(fold, item)| (fold.name(), item)).collect()
    }

    fn children_mut(&mut self) -> Vec<&mut Item> {
        self.0.iter_mut().map(|(_, item)| item).collect()
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let mut sample = 0;
        for (index, (fold, _)) in self.0.iter().enumerate() {
            let v = at.child(index, at.x, at.y);
            sample = fold.folded(sample, v, at.max());
        }
        sample
    }

    fn branches(_: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let fold = select(&FOLDS[..]).prop_map(|(fold, _)| fold);
        Some((5, vec((fold, inner.item.clone()), 0..5).prop_map(Self).boxed()))
    }
}
