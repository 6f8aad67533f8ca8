//! `bilateral`: means in which what lies far, or differs much, counts little.

use relief_design::kinds;
use relief_kernels::bilateral::{Weights, cpu};
use relief_raster::{Depth, Sample, ViewMut};

use crate::node::Bounds;
use crate::node::stencil::{Framed, Stencil};

pub(crate) type Bilateral = Framed<Weights>;

impl Stencil for Weights {
    type Design = kinds::Bilateral;

    fn new(kind: &kinds::Bilateral) -> Option<(Self, kinds::Edge)> {
        let weights = Self::new(kind.radius as usize, &kind.space, &kind.range)?;
        Some((weights, kind.edge))
    }

    fn radius(&self) -> u32 {
        // At most 16.
        self.radius() as u32
    }

    fn bounds(&self, source: Bounds, _: u16) -> Bounds {
        // A mean lies between its samples.
        source
    }

    fn cost(&self) -> u64 {
        let side = 2 * self.radius() as u64 + 1;
        16 + 2 * side * side
    }

    fn of_one<S: Sample>(&self, sample: S) -> S {
        sample
    }

    fn scratch_words(&self, _: u64, bytes: u64) -> u64 {
        let depth = if bytes == 1 { Depth::Eight } else { Depth::Sixteen };
        cpu::scratch_words(depth) as u64
    }

    fn filter<S: Sample>(&self, block: ViewMut<'_, S>, out: ViewMut<'_, S>, scratch: &mut [u64]) {
        cpu::filter(block.as_view(), self, out, scratch);
    }
}
