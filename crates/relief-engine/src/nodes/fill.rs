//! `fill`: the same sample everywhere.

use relief_design::kinds;
use relief_design::tree;
#[cfg(feature = "gpu")]
use relief_kernels::fused::Expression;
use relief_raster::{Period, Rect, Sample, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::device::Lower;
use crate::node::{Bounds, Filled, Inputs, Known, Link, Node, Periodic, Resources, Tile};

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

    fn bounds(&self, _: &dyn Known, _: &[Link], _: Rect) -> Bounds {
        Bounds::one(self.value)
    }

    fn cost(&self) -> u64 {
        0
    }

    fn worth_a_cell(&self, _: bool) -> bool {
        false
    }

    #[cfg(feature = "gpu")]
    fn expression(&self, _: &dyn Lower, _: &[Link]) -> Result<Expression, Error> {
        Ok(Expression::Constant(self.value))
    }
}

impl Tile for Fill {
    type Design = kinds::Fill;

    fn new(kind: &kinds::Fill, _: &tree::Node, _: &mut dyn Resources) -> Result<Self, Error> {
        Ok(Self { value: kind.value })
    }

    fn tile<S: Sample>(
        &self,
        _: &dyn Inputs<S>,
        _: &[Link],
        _: Rect,
        _: ViewMut<'_, S>,
        _: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        Ok(Filled::Uniform(S::from_u16(self.value)))
    }
}
