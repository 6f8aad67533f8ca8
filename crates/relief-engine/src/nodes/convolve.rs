//! `convolve`: weighted sums of the samples around a pixel.

use relief_design::kinds;
use relief_kernels::convolution::{Mask, cpu};
#[cfg(feature = "gpu")]
use relief_kernels::filter::Filter;
use relief_raster::{Sample, ViewMut};

use crate::node::Bounds;
use crate::node::stencil::{Framed, Stencil};

pub(crate) type Convolve = Framed<Mask>;

impl Stencil for Mask {
    type Design = kinds::Convolve;

    fn new(kind: &kinds::Convolve) -> Option<(Self, kinds::Edge)> {
        let mask = Self::new(&kind.weights, kind.columns, kind.divisor, kind.offset)?;
        Some((mask, kind.edge))
    }

    fn radius(&self) -> u32 {
        // At most 7: the greater of both.
        self.reach().0.max(self.reach().1) as u32
    }

    fn bounds(&self, source: Bounds, max: u16) -> Bounds {
        let (least, greatest) = self.range(source.least, source.greatest, max);
        Bounds::between(least, greatest)
    }

    fn cost(&self) -> u64 {
        8 + self.weights() as u64
    }

    fn of_one<S: Sample>(&self, sample: S) -> S {
        let sample = sample.to_u16();
        S::from_u16(self.range(sample, sample, S::MAX.to_u16()).0)
    }

    fn of_nothing(&self) -> Option<u16> {
        // Above 0 it may be more than M.
        let (sample, _) = self.range(0, 0, u16::MAX);
        (sample == 0).then_some(0)
    }

    #[cfg(feature = "gpu")]
    fn on_device(&self) -> Option<Filter<'_>> {
        Filter::convolution(self)
    }

    fn filter<S: Sample>(&self, block: ViewMut<'_, S>, out: ViewMut<'_, S>, _: &mut [u64]) {
        // A kernel that is no square reaches less far along one axis.
        let (reach, (across, down)) = (self.radius() as usize, self.reach());
        let block = block.as_view();
        let (left, top) = (reach - across, reach - down);
        let part = block.part(left, top, block.width() - 2 * left, block.height() - 2 * top);
        cpu::filter(part, self, out);
    }
}
