//! What is known of samples without computing them, from the tree and from what the plan keeps.

use std::cell::Cell;

use relief_raster::{Rect, Sample};

use super::reader::Store;
use crate::levels::Levels;
use crate::node::{Bounds, Known, Summary};
use crate::program::{Keep, Program};

/// The most nodes that are asked for one answer: a design may use one node along very many ways.
const MOST: u32 = 1 << 14;

/// What is known to one node.
pub(crate) struct Asked<'a, S> {
    program: &'a Program,
    /// What the plan keeps, where that is there.
    store: Option<&'a Store<S>>,
    /// Sums of it, where the plan has levels.
    levels: Option<&'a Levels>,
    node: usize,
    /// Nodes that may still be asked.
    left: &'a Cell<u32>,
}

impl<'a, S: Sample> Asked<'a, S> {
    /// Asks the root of a program.
    pub(crate) fn root<T>(
        program: &'a Program,
        store: Option<&'a Store<S>>,
        levels: Option<&'a Levels>,
        ask: impl FnOnce(&Asked<'_, S>) -> T,
    ) -> T {
        let left = Cell::new(MOST);
        ask(&Asked {
            program,
            store,
            levels,
            node: program.root(),
            left: &left,
        })
    }

    /// The samples of `rect`, in the node's own coordinates and within it.
    pub(crate) fn bounds(&self, rect: Rect) -> Bounds {
        let Some(left) = self.left.get().checked_sub(1) else {
            return self.anything();
        };
        self.left.set(left);
        let plane = self.store.and_then(|store| store.planes[self.node].get());
        let step = &self.program.steps[self.node];
        match plane.and_then(|plane| plane.uniform) {
            Some(value) if step.holds(rect) => Bounds::one(value.to_u16()),
            _ => step.kind.bounds(self, &step.links, rect),
        }
    }

    /// All that is known of the samples of `rect`, in the node's own coordinates and within it.
    pub(crate) fn summary(&self, rect: Rect) -> Summary {
        let step = &self.program.steps[self.node];
        let all = Summary::within(self.bounds(rect), rect.area());
        if all.is_exact() || self.left.get() == 0 {
            return all;
        }
        let held = self.held(rect);
        let known = held.or_else(|| step.kind.summary(self, &step.links, rect));
        known.map_or(all, |known| known.both(all))
    }

    /// The samples of `rect` where what is kept of the node tells them.
    fn held(&self, rect: Rect) -> Option<Summary> {
        let step = &self.program.steps[self.node];
        let (levels, store) = (self.levels?, self.store?);
        let plane = store.planes[self.node].get().filter(|_| step.holds(rect))?;
        match step.keep {
            Keep::Cell { period, valid } => {
                let sums = levels.cell(self.node, period, plane.view());
                sums.summary(plane.view(), rect.translated(-valid.x(), -valid.y()))
            }
            Keep::Whole => {
                let local = rect.translated(-plane.rect.x(), -plane.rect.y());
                let view = plane.view();
                Some(levels.whole(self.node, view).summary(view, local))
            }
            Keep::No | Keep::Image | Keep::Windows | Keep::Cached => None,
        }
    }

    fn of(&self, child: usize) -> Self {
        Self { node: child, ..*self }
    }
}

impl<S: Sample> Known for Asked<'_, S> {
    fn max(&self) -> u16 {
        S::MAX.to_u16()
    }

    fn within(&self, child: usize, rect: Rect) -> Bounds {
        self.of(child).bounds(rect)
    }

    fn summary_within(&self, child: usize, rect: Rect) -> Summary {
        self.of(child).summary(rect)
    }

    fn table(&self, number: usize) -> &[u16] {
        &self.program.tables[number]
    }

    fn prepared(&self, samples: Bounds) -> Bounds {
        let table = self.store.and_then(|store| store.prepared[self.node].get());
        let entries = usize::from(samples.least)..=usize::from(samples.greatest);
        let entries = table.and_then(|table| table.get(entries)).unwrap_or_default();
        let entries = || entries.iter().map(|entry| entry.to_u16());
        match (entries().min(), entries().max()) {
            (Some(least), Some(greatest)) => Bounds { least, greatest },
            _ => self.anything(),
        }
    }

    fn picture(&self, picture: usize, _: Rect) -> Bounds {
        let plane = self.store.and_then(|store| store.pictures[picture].get());
        match plane.and_then(|plane| plane.uniform) {
            Some(value) => Bounds::one(value.to_u16()),
            None => self.anything(),
        }
    }

    fn picture_summary(&self, picture: usize, rect: Rect) -> Option<Summary> {
        let (levels, plane) = (self.levels?, self.store?.pictures[picture].get()?);
        let view = plane.view();
        let local = rect.translated(-plane.rect.x(), -plane.rect.y());
        plane
            .rect
            .contains(&rect)
            .then(|| levels.picture(picture, view).summary(view, local))
    }
}
