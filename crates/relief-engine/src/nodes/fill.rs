//! `fill`: the same sample everywhere.

#[cfg(feature = "gpu")]
use relief_kernels::fused::Expression;
use relief_raster::{Period, Rect, Sample, ViewMut};

use super::{Filled, Link, Node, Periodic};
use crate::Error;
use crate::evaluate::Reader;
#[cfg(feature = "gpu")]
use crate::gpu::Builder;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Fill {
    pub(crate) value: u16,
}

impl Node for Fill {
    fn period(&self, own: Rect, _: &[Link], _: &[Option<Periodic>]) -> Option<Periodic> {
        Some(Periodic {
            period: Period::ONE,
            valid: own,
        })
    }

    fn cost(&self) -> u64 {
        0
    }

    #[cfg(feature = "gpu")]
    fn expression(&self, _: &Builder<'_>, _: &[Link]) -> Result<Expression, Error> {
        Ok(Expression::Constant(self.value))
    }

    fn tile<S: Sample>(
        &self,
        _: &Reader<'_, S>,
        _: &[Link],
        _: Rect,
        _: ViewMut<'_, S>,
        _: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        Ok(Filled::Uniform(S::from_u16(self.value)))
    }
}
