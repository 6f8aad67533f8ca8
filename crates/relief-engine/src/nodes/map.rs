//! `map`: one child through a table.

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
pub(crate) struct Map {
    /// The number of the table.
    pub(crate) table: usize,
}

impl Node for Map {
    fn period(&self, own: Rect, links: &[Link], children: &[Option<Periodic>]) -> Option<Periodic> {
        through(own, links, children)
    }

    fn bounds(&self, known: &dyn Known, links: &[Link], rect: Rect) -> Bounds {
        let source = known.child(&links[0], rect);
        let through = source.through(known.table(self.table));
        through.unwrap_or_else(|| known.anything())
    }

    fn blocks(&self, known: &dyn Known, links: &[Link], grid: Grid<'_>, out: &mut [Block]) {
        of_child(known, &links[0], grid, out);
        stepped(known, Through::Table(self.table), out, |samples| {
            known.through(self.table, samples)
        });
    }

    fn cost(&self) -> u64 {
        2
    }

    #[cfg(feature = "gpu")]
    fn table(&self) -> Option<usize> {
        Some(self.table)
    }

    #[cfg(feature = "gpu")]
    fn expression(&self, lower: &dyn Lower, links: &[Link]) -> Result<Expression, Error> {
        let source = Box::new(lower.read(&links[0])?);
        Ok(Expression::Table {
            table: lower.table(self.table)?,
            source,
        })
    }
}

impl Tile for Map {
    type Design = kinds::Map;

    fn new(kind: &kinds::Map, _: &tree::Node, resources: &mut dyn Resources) -> Result<Self, Error> {
        Ok(Self {
            table: resources.table(&kind.table),
        })
    }

    fn tile<S: Sample>(
        &self,
        inputs: &dyn Inputs<S>,
        links: &[Link],
        rect: Rect,
        mut out: ViewMut<'_, S>,
        scratch: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        let table = inputs.table(self.table);
        Ok(
            match read_padded(inputs, &links[0], rect, out.reborrow(), scratch)? {
                Filled::Uniform(value) => Filled::Uniform(table[usize::from(value.to_u16())]),
                Filled::Written => {
                    table::cpu::apply(table, out);
                    Filled::Written
                }
            },
        )
    }
}
