//! `sharpen`: what `gauss` takes away, put on top.

use relief_design::kinds;
#[cfg(feature = "gpu")]
use relief_kernels::filter::Filter;
use relief_kernels::gauss::{Bell, cpu, sharpen::sharpen};
use relief_raster::{Sample, ViewMut};

use crate::node::Bounds;
use crate::node::stencil::{Framed, Stencil};

pub(crate) type Sharpen = Framed<Mask>;

/// What is put on top.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Mask {
    bell: Bell,
    /// The bits of a number of binary64, above 0 and finite: equal amounts have equal bits.
    amount: u64,
    threshold: u16,
}

impl Mask {
    fn amount(&self) -> f64 {
        f64::from_bits(self.amount)
    }
}

impl Stencil for Mask {
    type Design = kinds::Sharpen;

    fn new(kind: &kinds::Sharpen) -> Option<(Self, kinds::Edge)> {
        let mask = Self {
            bell: Bell::new(&kind.weights)?,
            amount: kind.amount.to_bits(),
            threshold: kind.threshold,
        };
        Some((mask, kind.edge))
    }

    fn radius(&self) -> u32 {
        // At most 256.
        self.bell.radius() as u32
    }

    fn scratch_words(&self, _: u64, _: u64) -> u64 {
        cpu::scratch_words(&self.bell) as u64
    }

    fn bounds(&self, source: Bounds, max: u16) -> Bounds {
        // Means lie between the samples, so that none is further away than they are from each other.
        let apart = source.greatest - source.least;
        if apart <= self.threshold {
            return source;
        }
        // A conversion stays within its range, and no product is negative.
        let more = (self.amount() * f64::from(apart) + 0.5) as u16;
        Bounds::between(
            source.least.saturating_sub(more),
            source.greatest.saturating_add(more).min(max),
        )
    }

    fn cost(&self) -> u64 {
        16 + self.bell.radius() as u64
    }

    fn of_one<S: Sample>(&self, sample: S) -> S {
        sample
    }

    #[cfg(feature = "gpu")]
    fn on_device(&self) -> Option<Filter<'_>> {
        Some(Filter::Sharpen {
            bell: &self.bell,
            amount: self.amount(),
            threshold: self.threshold,
        })
    }

    fn filter<S: Sample>(&self, block: ViewMut<'_, S>, mut out: ViewMut<'_, S>, scratch: &mut [u64]) {
        let (block, reach) = (block.as_view(), self.bell.radius());
        cpu::filter(block, &self.bell, out.reborrow(), scratch);
        let middle = block.part(reach, reach, out.width(), out.height());
        sharpen(middle, self.amount(), self.threshold, out);
    }
}
