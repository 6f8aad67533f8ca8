//! `noise`: white noise, a function of the seed and the place alone.

use relief_design::kinds;
use relief_design::tree;
#[cfg(feature = "gpu")]
use relief_kernels::fused::Expression;
use relief_kernels::generate;
use relief_raster::{Rect, Sample, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::device::Lower;
use crate::node::{Filled, Inputs, Link, Node, Resources, Tile};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Noise {
    pub(crate) seed: u64,
}

impl Node for Noise {
    /// Less than reading it back: it is computed in vectors, many times as fast as a filter.
    fn cost(&self) -> u64 {
        5
    }

    #[cfg(feature = "gpu")]
    fn expression(&self, _: &dyn Lower, _: &[Link]) -> Result<Expression, Error> {
        Ok(Expression::Noise { seed: self.seed })
    }
}

impl Tile for Noise {
    type Design = kinds::Noise;

    fn new(kind: &kinds::Noise, _: &tree::Node, _: &mut dyn Resources) -> Result<Self, Error> {
        Ok(Self { seed: kind.seed })
    }

    fn tile<S: Sample>(
        &self,
        _: &dyn Inputs<S>,
        _: &[Link],
        rect: Rect,
        out: ViewMut<'_, S>,
        _: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        generate::cpu::noise(self.seed, rect.x(), rect.y(), out);
        Ok(Filled::Written)
    }
}
