//! `ramp`: a linear slope along one axis.

use relief_design::kinds;
use relief_design::tree::{self, Axis};
#[cfg(feature = "gpu")]
use relief_kernels::fused::Expression;
use relief_kernels::generate;
use relief_raster::{Rect, Sample, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::device::Lower;
use crate::node::{Bounds, Filled, Inputs, Known, Link, Node, Resources, Summary, Tile};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ramp {
    pub(crate) axis: Axis,
    pub(crate) from: u16,
    pub(crate) to: u16,
    /// The extent along the axis.
    pub(crate) length: u64,
}

impl Node for Ramp {
    fn bounds(&self, _: &dyn Known, _: &[Link], rect: Rect) -> Bounds {
        let (first, last) = match self.axis {
            Axis::X => (rect.x(), rect.right() - 1),
            Axis::Y => (rect.y(), rect.bottom() - 1),
        };
        let at = |place: i64| {
            let mut sample = [0_u16];
            let view = ViewMut::packed(&mut sample, 1, 1);
            let axis = generate::cpu::Axis::X;
            generate::cpu::ramp(axis, self.from, self.to, self.length, place.unsigned_abs(), view);
            sample[0]
        };
        Bounds::between(at(first), at(last))
    }

    fn summary(&self, known: &dyn Known, links: &[Link], rect: Rect) -> Option<Summary> {
        let (first, end, across) = match self.axis {
            Axis::X => (rect.x(), rect.right(), rect.height()),
            Axis::Y => (rect.y(), rect.bottom(), rect.width()),
        };
        let bounds = self.bounds(known, links, rect);
        let sum = generate::ramp_sum(
            self.from,
            self.to,
            self.length,
            first.unsigned_abs(),
            end.unsigned_abs(),
        ) * u128::from(across);
        // How many are 0 is not asked for.
        let zeros = Summary::within(bounds, rect.area()).zeros;
        let exact = Summary::exact(rect.area(), sum, 0, bounds.least, bounds.greatest);
        Some(Summary { zeros, ..exact })
    }

    fn cost(&self) -> u64 {
        2
    }

    #[cfg(feature = "gpu")]
    fn expression(&self, _: &dyn Lower, _: &[Link]) -> Result<Expression, Error> {
        let axis = match self.axis {
            Axis::X => relief_kernels::fused::Axis::X,
            Axis::Y => relief_kernels::fused::Axis::Y,
        };
        Ok(Expression::Ramp {
            axis,
            from: self.from,
            to: self.to,
            length: self.length,
        })
    }
}

impl Tile for Ramp {
    type Design = kinds::Ramp;

    fn new(kind: &kinds::Ramp, node: &tree::Node, _: &mut dyn Resources) -> Result<Self, Error> {
        Ok(Self {
            axis: kind.axis,
            from: kind.from,
            to: kind.to,
            length: match kind.axis {
                Axis::X => node.width,
                Axis::Y => node.height,
            },
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
        let (axis, start) = match self.axis {
            Axis::X => (generate::cpu::Axis::X, rect.x()),
            Axis::Y => (generate::cpu::Axis::Y, rect.y()),
        };
        let (from, to) = (S::from_u16(self.from), S::from_u16(self.to));
        generate::cpu::ramp(axis, from, to, self.length, start.unsigned_abs(), out);
        Ok(Filled::Written)
    }
}
