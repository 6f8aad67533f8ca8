//! `box`: the mean of the square around a pixel.

use relief_design::kinds;
#[cfg(feature = "gpu")]
use relief_kernels::filter::Filter;
use relief_kernels::window::{self, cpu};
use relief_raster::{Sample, ViewMut};

use crate::node::Bounds;
use crate::node::stencil::{Framed, Stencil};

pub(crate) type BoxMean = Framed<Square>;

/// The radius of a square.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Square(u32);

impl Stencil for Square {
    type Design = kinds::BoxMean;

    fn new(kind: &kinds::BoxMean) -> Option<(Self, kinds::Edge)> {
        (kind.radius as usize <= window::MAX_RADIUS).then_some((Self(kind.radius), kind.edge))
    }

    fn radius(&self) -> u32 {
        self.0
    }

    fn scratch_words(&self, _: u64, _: u64) -> u64 {
        cpu::scratch_words(self.0 as usize) as u64
    }

    fn bounds(&self, source: Bounds, _: u16) -> Bounds {
        // A mean lies between its samples.
        source
    }

    fn cost(&self) -> u64 {
        12
    }

    fn of_one<S: Sample>(&self, sample: S) -> S {
        sample
    }

    #[cfg(feature = "gpu")]
    fn on_device(&self) -> Option<Filter<'_>> {
        Some(Filter::Mean { radius: self.0 })
    }

    fn filter<S: Sample>(&self, block: ViewMut<'_, S>, out: ViewMut<'_, S>, scratch: &mut [u64]) {
        cpu::mean(block.as_view(), self.0 as usize, out, scratch);
    }
}
