//! `disc`: the pixels whose centre lies within a circle.

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
pub(crate) struct Disc {
    pub(crate) diameter: u64,
    pub(crate) value: u16,
}

impl Node for Disc {
    fn cost(&self) -> u64 {
        1
    }

    #[cfg(feature = "gpu")]
    fn spans(&self) -> u64 {
        1
    }

    #[cfg(feature = "gpu")]
    fn expression(&self, _: &dyn Lower, _: &[Link]) -> Result<Expression, Error> {
        Ok(Expression::Disc {
            diameter: self.diameter,
            value: self.value,
        })
    }
}

impl Tile for Disc {
    type Design = kinds::Disc;

    fn new(kind: &kinds::Disc, _: &tree::Node, _: &mut dyn Resources) -> Result<Self, Error> {
        Ok(Self {
            diameter: kind.diameter,
            value: kind.value,
        })
    }

    fn tile<S: Sample>(
        &self,
        _: &dyn Inputs<S>,
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
