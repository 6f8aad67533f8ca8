//! `threshold`: M where the child reaches a level, else 0.

#[cfg(feature = "gpu")]
use relief_kernels::fused::Expression;
use relief_kernels::table;
use relief_raster::{Rect, Sample, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::device::Lower;
use crate::node::{Filled, Inputs, Link, Node, Periodic, Tile, read_padded, through};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Threshold {
    pub(crate) level: u16,
}

impl Node for Threshold {
    fn period(&self, own: Rect, links: &[Link], children: &[Option<Periodic>]) -> Option<Periodic> {
        through(own, links, children)
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
