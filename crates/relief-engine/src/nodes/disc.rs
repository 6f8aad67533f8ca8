//! `disc`: the pixels whose centre lies within a circle.

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
pub(crate) struct Disc {
    pub(crate) diameter: u64,
    pub(crate) value: u16,
}

impl Node for Disc {
    fn period(&self, _: Rect, _: &[Link], _: &[Option<Periodic>]) -> Option<Periodic> {
        None
    }

    fn cost(&self) -> u64 {
        1
    }

    #[cfg(feature = "gpu")]
    fn expression(&self, _: &Builder<'_>, _: &[Link]) -> Result<Expression, Error> {
        Ok(Expression::Disc {
            diameter: self.diameter,
            value: self.value,
        })
    }

    fn tile<S: Sample>(
        &self,
        _: &Reader<'_, S>,
        _: &[Link],
        rect: Rect,
        out: ViewMut<'_, S>,
        _: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        if rect
            .intersection(&Rect::sized(self.diameter, self.diameter))
            .is_empty()
        {
            return Ok(Filled::Uniform(S::ZERO));
        }
        generate::cpu::disc(self.diameter, S::from_u16(self.value), rect.x(), rect.y(), out);
        Ok(Filled::Written)
    }
}
