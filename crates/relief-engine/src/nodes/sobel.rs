//! `sobel`: slopes.

use relief_design::kinds;
#[cfg(feature = "gpu")]
use relief_kernels::filter::Filter;
use relief_kernels::sobel::{Component, cpu};
use relief_raster::{Sample, ViewMut};

use crate::node::Bounds;
use crate::node::stencil::{Framed, Stencil};

pub(crate) type Sobel = Framed<Component>;

impl Stencil for Component {
    type Design = kinds::Sobel;

    fn new(kind: &kinds::Sobel) -> Option<(Self, kinds::Edge)> {
        let component = match kind.of {
            kinds::Component::Magnitude => Self::Magnitude,
            kinds::Component::X => Self::X,
            kinds::Component::Y => Self::Y,
        };
        Some((component, kind.edge))
    }

    fn radius(&self) -> u32 {
        1
    }

    fn bounds(&self, source: Bounds, max: u16) -> Bounds {
        // Weights of either sign sum to 4.
        let (steepest, max) = (4 * i64::from(source.greatest - source.least), i64::from(max));
        let component = |slope: i64| ((slope + 4 * max + 4) / 8) as u16;
        match self {
            // √2 is less than 3/2.
            Self::Magnitude => Bounds::between(0, (steepest * 3 / 2).min(max) as u16),
            Self::X | Self::Y => Bounds::between(component(-steepest), component(steepest)),
        }
    }

    fn cost(&self) -> u64 {
        8
    }

    fn of_one<S: Sample>(&self, _: S) -> S {
        match self {
            Self::Magnitude => S::ZERO,
            // Half of M + 1.
            Self::X | Self::Y => S::from_u16(S::MAX.to_u16() / 2 + 1),
        }
    }

    fn of_nothing(&self) -> Option<u16> {
        (*self == Self::Magnitude).then_some(0)
    }

    #[cfg(feature = "gpu")]
    fn on_device(&self) -> Option<Filter<'_>> {
        Some(Filter::Sobel(*self))
    }

    fn filter<S: Sample>(&self, block: ViewMut<'_, S>, out: ViewMut<'_, S>, _: &mut [u64]) {
        cpu::filter(block.as_view(), *self, out);
    }
}
