//! `threshold`: M where the child reaches a level, else 0.

#[cfg(feature = "gpu")]
use relief_kernels::fused::Expression;
use relief_kernels::table;
use relief_raster::{Rect, Sample, ViewMut};

use super::{Filled, Link, Node, Periodic, read_padded, through};
use crate::Error;
use crate::evaluate::Reader;
#[cfg(feature = "gpu")]
use crate::gpu::Builder;

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
    fn expression(&self, builder: &Builder<'_>, links: &[Link]) -> Result<Expression, Error> {
        Ok(Expression::Threshold {
            level: self.level,
            source: Box::new(builder.read(&links[0])?),
        })
    }

    fn tile<S: Sample>(
        &self,
        reader: &Reader<'_, S>,
        links: &[Link],
        rect: Rect,
        mut out: ViewMut<'_, S>,
        scratch: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        let level = S::from_u16(self.level);
        Ok(
            match read_padded(reader, &links[0], rect, out.reborrow(), scratch)? {
                Filled::Uniform(value) => Filled::Uniform(if value >= level { S::MAX } else { S::ZERO }),
                Filled::Written => {
                    table::cpu::threshold(level, out);
                    Filled::Written
                }
            },
        )
    }
}
