//! `erode` and `dilate`: the least and the greatest of the samples around a pixel.

use relief_design::kinds;
use relief_kernels::extremes::{self, Extreme, Shape, cpu};
#[cfg(feature = "gpu")]
use relief_kernels::filter::Filter;
use relief_raster::{Sample, ViewMut};

use crate::node::Bounds;
use crate::node::stencil::{Framed, Stencil};

pub(crate) type Erode = Framed<Eroded>;
pub(crate) type Dilate = Framed<Dilated>;

/// The pixels that count.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Element {
    radius: u32,
    shape: Shape,
}

impl Element {
    fn new(radius: u32, shape: kinds::Shape) -> Option<Self> {
        let shape = match shape {
            kinds::Shape::Square => Shape::Square,
            kinds::Shape::Disc => Shape::Disc,
        };
        (radius as usize <= extremes::MAX_RADIUS).then_some(Self { radius, shape })
    }
}

/// A filter that takes one of the samples of an element.
macro_rules! extreme {
    ($name:ident, $kind:ident, $extreme:ident) => {
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub(crate) struct $name(Element);

        impl Stencil for $name {
            type Design = kinds::$kind;

            fn new(kind: &kinds::$kind) -> Option<(Self, kinds::Edge)> {
                Some((Self(Element::new(kind.radius, kind.shape)?), kind.edge))
            }

            fn radius(&self) -> u32 {
                self.0.radius
            }

            fn scratch_words(&self, columns: u64, bytes: u64) -> u64 {
                let columns = usize::try_from(columns).unwrap_or(usize::MAX);
                cpu::scratch_words(
                    self.0.shape,
                    self.0.radius as usize,
                    columns,
                    bytes as usize,
                ) as u64
            }

            fn bounds(&self, source: Bounds, _: u16) -> Bounds {
                // It is one of the samples.
                source
            }

            fn cost(&self) -> u64 {
                match self.0.shape {
                    Shape::Square => 8,
                    Shape::Disc => 8 + u64::from(self.0.radius),
                }
            }

            fn of_one<S: Sample>(&self, sample: S) -> S {
                sample
            }

            #[cfg(feature = "gpu")]
            fn on_device(&self) -> Option<Filter<'_>> {
                let Element { radius, shape } = self.0;
                Some(Filter::Extreme {
                    extreme: Extreme::$extreme,
                    shape,
                    radius,
                })
            }

            fn filter<S: Sample>(&self, block: ViewMut<'_, S>, out: ViewMut<'_, S>, scratch: &mut [u64]) {
                let Element { radius, shape } = self.0;
                cpu::filter(
                    block,
                    Extreme::$extreme,
                    shape,
                    radius as usize,
                    out,
                    scratch,
                );
            }
        }
    };
}

extreme!(Eroded, Erode, Least);
extreme!(Dilated, Dilate, Greatest);
