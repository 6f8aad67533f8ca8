//! `noise`: white noise, a function of the seed and the place alone.

#[cfg(feature = "gpu")]
use relief_kernels::fused::Expression;
use relief_kernels::generate;
use relief_raster::{Rect, Sample, ViewMut};

use super::{Filled, Link, Node, Periodic};
use crate::Error;
use crate::evaluate::Reader;
#[cfg(feature = "gpu")]
use crate::gpu::Builder;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Noise {
    pub(crate) seed: u64,
}

impl Node for Noise {
    fn period(&self, _: Rect, _: &[Link], _: &[Option<Periodic>]) -> Option<Periodic> {
        None
    }

    fn cost(&self) -> u64 {
        10
    }

    #[cfg(feature = "gpu")]
    fn expression(&self, _: &Builder<'_>, _: &[Link]) -> Result<Expression, Error> {
        Ok(Expression::Noise { seed: self.seed })
    }

    fn tile<S: Sample>(
        &self,
        _: &Reader<'_, S>,
        _: &[Link],
        rect: Rect,
        out: ViewMut<'_, S>,
        _: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        generate::cpu::noise(self.seed, rect.x(), rect.y(), out);
        Ok(Filled::Written)
    }
}
