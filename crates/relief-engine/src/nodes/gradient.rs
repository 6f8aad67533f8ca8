//! `gradient`: a function of the place alone.

use relief_design::{kinds, tree};
use relief_kernels::gradient::{self, cpu};
use relief_raster::{Rect, Sample, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::device::Lowering;
use crate::node::{Bounds, Filled, Inputs, Known, Link, Node, Periodic, Resources, Tile};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Gradient {
    gradient: gradient::Gradient,
    /// Roughly the operations of a sample.
    cost: u64,
}

impl Gradient {
    /// Between which samples it lies in a rectangle that has pixels.
    fn range(&self, rect: Rect) -> (u16, u16) {
        let last = (rect.right() - 1, rect.bottom() - 1);
        self.gradient.range((rect.x(), rect.y()), last)
    }
}

impl Node for Gradient {
    fn bounds(&self, known: &dyn Known, _: &[Link], rect: Rect) -> Bounds {
        if rect.is_empty() {
            return known.anything();
        }
        let (least, greatest) = self.range(rect);
        Bounds::between(least, greatest)
    }

    fn period(&self, own: Rect, _: &[Link], _: &[Option<Periodic>]) -> Option<Periodic> {
        Some(Periodic {
            period: self.gradient.period()?,
            valid: own,
        })
    }

    fn cost(&self) -> u64 {
        self.cost
    }

    #[cfg(feature = "gpu")]
    fn lowering(&self) -> Lowering {
        Lowering::Host
    }
}

impl Tile for Gradient {
    type Design = kinds::Gradient;

    fn new(kind: &kinds::Gradient, _: &tree::Node, _: &mut dyn Resources) -> Result<Self, Error> {
        let (of, cost) = match kind.kind {
            kinds::GradientKind::Linear { from, to } => (gradient::Kind::Linear { from, to }, 4),
            kinds::GradientKind::Radial {
                centre,
                inner,
                radius,
            } => (
                gradient::Kind::Radial {
                    centre,
                    inner,
                    radius,
                },
                8,
            ),
            kinds::GradientKind::Conical { centre, start } => (gradient::Kind::Conical { centre, start }, 10),
        };
        let spread = match kind.spread {
            kinds::Spread::Pad => gradient::Spread::Pad,
            kinds::Spread::Repeat => gradient::Spread::Repeat,
            kinds::Spread::Mirror => gradient::Spread::Mirror,
        };
        let stops = kind.stops.iter().map(|stop| gradient::Stop {
            at: stop.at,
            value: stop.value,
        });
        let stops: Vec<gradient::Stop> = stops.collect();
        let gradient = gradient::Gradient::new(of, spread, &stops);
        let gradient = gradient.ok_or_else(|| Error::defect(Rect::EMPTY, "a gradient without a length"))?;
        Ok(Self { gradient, cost })
    }

    fn tile<S: Sample>(
        &self,
        _: &dyn Inputs<S>,
        _: &[Link],
        rect: Rect,
        out: ViewMut<'_, S>,
        _: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        if rect.is_empty() {
            return Ok(Filled::Written);
        }
        match self.range(rect) {
            (least, greatest) if least == greatest => Ok(Filled::Uniform(S::from_u16(least))),
            _ => {
                cpu::gradient(&self.gradient, (rect.x(), rect.y()), out);
                Ok(Filled::Written)
            }
        }
    }
}
