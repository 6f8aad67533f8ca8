//! `array`: copies of one node, folded in order, row by row.

use proptest::prelude::*;
use proptest::sample::select;

use super::compose::{FOLDS, Fold};
use super::{Node, Weighted};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Item, Model};
use crate::oracle::strategy::Inner;

#[derive(Clone, Debug)]
pub(crate) struct Array {
    pub(crate) fold: Fold,
    pub(crate) columns: i64,
    pub(crate) steps: (i64, i64),
    /// The first copy and those after it, which stand where the first does and so many steps on.
    pub(crate) copies: Vec<Item>,
}

impl Array {
    pub(crate) fn new(fold: Fold, (columns, rows): (i64, i64), steps: (i64, i64), child: &Item) -> Self {
        let mut array = Self {
            fold,
            columns,
            steps,
            copies: vec![child.clone(); (columns * rows) as usize],
        };
        array.copy_the_first();
        array
    }

    /// Makes all copies anew.
    pub(crate) fn copy_the_first(&mut self) {
        let child = self.copies[0].clone();
        for (number, copy) in self.copies.iter_mut().enumerate() {
            let (i, j) = (number as i64 % self.columns, number as i64 / self.columns);
            *copy = child
                .clone()
                .at(child.x + i * self.steps.0, child.y + j * self.steps.1);
        }
    }
}

impl Node for Array {
    const NAME: &'static str = "array";

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        let rows = self.copies.len() as i64 / self.columns;
        format!(
            " columns={} rows={rows} step-x={} step-y={}",
            self.columns, self.steps.0, self.steps.1
        )
    }

    fn children(&self) -> Vec<(&'static str, &Item)> {
        self.copies.iter().map(|copy| (self.fold.name(), copy)).collect()
    }

    /// One node is written, whose copies the language makes.
    fn written(&self) -> Vec<(&'static str, &Item)> {
        self.children().into_iter().take(1).collect()
    }

    fn children_mut(&mut self) -> Vec<&mut Item> {
        self.copies.iter_mut().collect()
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let mut sample = 0;
        for index in 0..self.copies.len() {
            let v = at.child(index, at.x, at.y);
            sample = self.fold.folded(sample, v, at.max());
        }
        sample
    }

    fn branches(_: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let fold = select(&FOLDS[..]).prop_map(|(fold, _)| fold);
        let step = || -9_i64..14;
        let any = (fold, (1_i64..4, 1_i64..4), (step(), step()), inner.item.clone())
            .prop_map(|(fold, sides, steps, child)| Self::new(fold, sides, steps, &child));
        Some((2, any.boxed()))
    }
}
