//! `local-threshold`: M where the source reaches what follows from the samples around, else 0.

use relief_design::kinds::{self, LocalLaw};
#[cfg(feature = "gpu")]
use relief_kernels::filter::Filter;
use relief_kernels::window::{self, Law, cpu};
use relief_raster::{Sample, ViewMut};

use crate::node::Bounds;
use crate::node::stencil::{Framed, Stencil};

pub(crate) type LocalThreshold = Framed<Threshold>;

/// A law with the square that it looks at.
#[derive(Clone, Debug)]
pub(crate) struct Threshold {
    radius: u32,
    law: Law,
}

impl Threshold {
    /// Radius and law in numbers: k by its bits.
    fn key(&self) -> (u32, bool, u64) {
        match self.law {
            Law::Mean { offset } => (self.radius, false, i64::from(offset).cast_unsigned()),
            Law::Sauvola { k } => (self.radius, true, k.to_bits()),
        }
    }

    /// Whether a pixel is set among samples that are all its own; its sample and M as numbers.
    fn is_set(&self, sample: f64, max: f64) -> bool {
        match self.law {
            Law::Mean { offset } => offset >= 0,
            // Nothing deviates.
            Law::Sauvola { k } => sample >= sample * (1.0 + k * (0.0 / (max / 2.0) - 1.0)),
        }
    }
}

impl PartialEq for Threshold {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Threshold {}

impl std::hash::Hash for Threshold {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl Stencil for Threshold {
    type Design = kinds::LocalThreshold;

    fn new(kind: &kinds::LocalThreshold) -> Option<(Self, kinds::Edge)> {
        let law = match kind.law {
            LocalLaw::Mean { offset } => Law::Mean { offset },
            LocalLaw::Sauvola { k } => Law::Sauvola { k },
        };
        let fits = kind.radius as usize <= window::MAX_THRESHOLD_RADIUS;
        fits.then_some((
            Self {
                radius: kind.radius,
                law,
            },
            kind.edge,
        ))
    }

    fn radius(&self) -> u32 {
        self.radius
    }

    fn scratch_words(&self, _: u64, _: u64) -> u64 {
        cpu::scratch_words(self.radius as usize) as u64
    }

    fn bounds(&self, source: Bounds, max: u16) -> Bounds {
        if source.least == source.greatest {
            let set = self.is_set(f64::from(source.least), f64::from(max));
            return Bounds::one(if set { max } else { 0 });
        }
        Bounds::between(0, max)
    }

    fn cost(&self) -> u64 {
        20
    }

    fn of_one<S: Sample>(&self, sample: S) -> S {
        let set = self.is_set(f64::from(sample.to_u16()), f64::from(S::MAX.to_u16()));
        if set { S::MAX } else { S::ZERO }
    }

    fn of_nothing(&self) -> Option<u16> {
        // M, which is another sample at either depth, or 0.
        (!self.is_set(0.0, 255.0)).then_some(0)
    }

    #[cfg(feature = "gpu")]
    fn on_device(&self) -> Option<Filter<'_>> {
        match self.law {
            Law::Mean { offset } => Some(Filter::LocalMean {
                radius: self.radius,
                offset,
            }),
            // Not all devices have numbers of binary64.
            Law::Sauvola { .. } => None,
        }
    }

    fn filter<S: Sample>(&self, block: ViewMut<'_, S>, out: ViewMut<'_, S>, scratch: &mut [u64]) {
        cpu::threshold(block.as_view(), self.radius as usize, self.law, out, scratch);
    }
}
