//! `map`: one child through a table.

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
pub(crate) struct Map {
    /// The number of the table.
    pub(crate) table: usize,
}

impl Node for Map {
    fn period(&self, own: Rect, links: &[Link], children: &[Option<Periodic>]) -> Option<Periodic> {
        through(own, links, children)
    }

    fn cost(&self) -> u64 {
        2
    }

    #[cfg(feature = "gpu")]
    fn expression(&self, builder: &Builder<'_>, links: &[Link]) -> Result<Expression, Error> {
        let source = Box::new(builder.read(&links[0])?);
        Ok(Expression::Table {
            table: builder.table(self.table)?,
            source,
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
        let table = reader.table(self.table);
        Ok(
            match read_padded(reader, &links[0], rect, out.reborrow(), scratch)? {
                Filled::Uniform(value) => Filled::Uniform(table[usize::from(value.to_u16())]),
                Filled::Written => {
                    table::cpu::apply(table, out);
                    Filled::Written
                }
            },
        )
    }
}
