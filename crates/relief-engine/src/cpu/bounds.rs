//! What is known of samples without computing them, from the tree and from what the plan keeps.

use std::cell::Cell;

use relief_raster::{Rect, Sample};

use super::reader::Store;
use crate::node::{Bounds, Known};
use crate::program::Program;

/// The most nodes that are asked for one answer: a design may use one node along very many ways.
const MOST: u32 = 1 << 14;

/// The samples of `rect` of a node, in its own coordinates and within it. `store` is what the plan keeps, where that is there.
pub(crate) fn bounds<S: Sample>(
    program: &Program,
    store: Option<&Store<S>>,
    node: usize,
    rect: Rect,
) -> Bounds {
    let left = Cell::new(MOST);
    Asked {
        program,
        store,
        node,
        left: &left,
    }
    .of(rect)
}

/// What is known to one node.
struct Asked<'a, S> {
    program: &'a Program,
    store: Option<&'a Store<S>>,
    node: usize,
    /// Nodes that may still be asked.
    left: &'a Cell<u32>,
}

impl<S: Sample> Asked<'_, S> {
    fn of(&self, rect: Rect) -> Bounds {
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
}

impl<S: Sample> Known for Asked<'_, S> {
    fn max(&self) -> u16 {
        S::MAX.to_u16()
    }

    fn within(&self, child: usize, rect: Rect) -> Bounds {
        Asked { node: child, ..*self }.of(rect)
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
}
