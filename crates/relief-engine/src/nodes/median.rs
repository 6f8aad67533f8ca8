//! `median`: the middle of the samples around a pixel, or another of them by its rank.

use relief_design::kinds;
#[cfg(feature = "gpu")]
use relief_kernels::filter::Filter;
use relief_kernels::median::{Rank, cpu};
use relief_raster::{Sample, ViewMut};

use crate::node::Bounds;
use crate::node::stencil::{Framed, Stencil};

pub(crate) type Median = Framed<Rank>;

impl Stencil for Rank {
    type Design = kinds::Median;

    fn new(kind: &kinds::Median) -> Option<(Self, kinds::Edge)> {
        Some((Self::new(kind.radius as usize, kind.rank as usize)?, kind.edge))
    }

    fn radius(&self) -> u32 {
        // At most 16.
        self.radius() as u32
    }

    fn bounds(&self, source: Bounds, _: u16) -> Bounds {
        // Whatever its rank, it is one of the samples.
        source
    }

    fn cost(&self) -> u64 {
        let side = 2 * self.radius() as u64 + 1;
        8 + side * side
    }

    fn of_one<S: Sample>(&self, sample: S) -> S {
        sample
    }

    #[cfg(feature = "gpu")]
    fn on_device(&self) -> Option<Filter<'_>> {
        Some(Filter::Rank(*self))
    }

    fn filter<S: Sample>(&self, block: ViewMut<'_, S>, out: ViewMut<'_, S>, _: &mut [u64]) {
        cpu::filter(block.as_view(), *self, out);
    }
}
