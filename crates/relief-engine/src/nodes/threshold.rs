//! `threshold`: M where the child reaches a level, else 0.

use relief_design::kinds;
use relief_design::tree;
#[cfg(feature = "gpu")]
use relief_kernels::fused::Expression;
use relief_kernels::table;
use relief_raster::{Rect, Sample, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::device::Lower;
use crate::node::{
    Block, Bounds, Filled, Grid, Inputs, Known, Link, Node, Periodic, Resources, Through, Tile, of_child,
    read_padded, stepped, through,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Threshold {
    pub(crate) level: u16,
}

impl Node for Threshold {
    fn period(&self, own: Rect, links: &[Link], children: &[Option<Periodic>]) -> Option<Periodic> {
        through(own, links, children)
    }

    fn bounds(&self, known: &dyn Known, links: &[Link], rect: Rect) -> Bounds {
        let source = known.child(&links[0], rect);
        let sample = |value: u16| if value >= self.level { known.max() } else { 0 };
        Bounds::between(sample(source.least), sample(source.greatest))
    }

    fn blocks(&self, known: &dyn Known, links: &[Link], grid: Grid<'_>, out: &mut [Block]) {
        of_child(known, &links[0], grid, out);
        stepped(known, Through::Reaching(self.level), out, |samples| {
            samples.reaching(self.level, known.max())
        });
    }

    fn cost(&self) -> u64 {
        1
    }

    #[cfg(feature = "gpu")]
    fn expression(&self, lower: &dyn Lower, links: &[Link]) -> Result<Expression, Error> {
        Ok(Expression::Threshold {
            level: self.level,
            source: Box::new(lower.read(&links[0])?),
        })
    }
}

impl Tile for Threshold {
    type Design = kinds::Threshold;

    fn new(kind: &kinds::Threshold, _: &tree::Node, _: &mut dyn Resources) -> Result<Self, Error> {
        Ok(Self { level: kind.level })
    }

    fn tile<S: Sample>(
        &self,
        inputs: &dyn Inputs<S>,
        links: &[Link],
        rect: Rect,
        mut out: ViewMut<'_, S>,
        scratch: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        let level = S::from_u16(self.level);
        Ok(
            match read_padded(inputs, &links[0], rect, out.reborrow(), scratch)? {
                Filled::Uniform(value) => Filled::Uniform(if value >= level { S::MAX } else { S::ZERO }),
                Filled::Written => {
                    table::cpu::threshold(level, out);
                    Filled::Written
                }
            },
        )
    }
}
