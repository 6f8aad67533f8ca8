//! All drawings: how much of every pixel their outlines cover.

use std::sync::Arc;

use relief_design::kinds::{Antialias, Drawn};
use relief_design::tree;
use relief_kernels::coverage::{Sampling, cpu};
use relief_raster::{Rect, Sample, ViewMut};

use super::hosted::{Held, Hosted};
use crate::Error;
use crate::node::{Periodic, Ready, Resources};

pub(crate) type Drawing = Held<Outlines>;

#[derive(Clone, Debug)]
pub(crate) struct Outlines {
    /// The number of the drawing: equal drawings have one.
    number: usize,
    antialias: Antialias,
    ready: Arc<Ready>,
}

impl Outlines {
    const fn sampling(&self) -> Sampling {
        match self.antialias {
            Antialias::Area => Sampling::Area,
            Antialias::None => Sampling::Centres,
        }
    }
}

impl Hosted for Outlines {
    type Design = Drawn;
    type Key = (usize, Antialias);

    const IS_TALL: bool = true;

    fn new(drawn: &Drawn, node: &tree::Node, resources: &mut dyn Resources) -> Result<Self, Error> {
        let (number, ready) = resources.drawing(&drawn.drawing, node.place)?;
        Ok(Self {
            number,
            antialias: drawn.antialias,
            ready,
        })
    }

    fn key(&self) -> Self::Key {
        (self.number, self.antialias)
    }

    fn cost(&self) -> u64 {
        8
    }

    fn within<S: Sample>(&self, rect: Rect) -> (u16, u16) {
        cpu::within::<S>(&self.ready.index, self.sampling(), rect)
    }

    fn period(&self, _: Rect) -> Option<Periodic> {
        self.ready.period
    }

    fn scratch_words<S: Sample>(&self, _: u64) -> u64 {
        cpu::scratch_words::<S>(&self.ready.index, self.sampling()) as u64
    }

    fn compute<S: Sample>(
        &self,
        at: (i64, i64),
        out: ViewMut<'_, S>,
        scratch: &mut [u64],
        stop: &dyn Fn() -> bool,
    ) -> Option<S> {
        cpu::compute_until(&self.ready.index, self.sampling(), at, out, scratch, stop)
    }
}
