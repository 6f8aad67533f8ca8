//! `median`: the middle of the samples around a pixel, or another of them by its rank.
//!
//! Within its own extent the filter reads 0 where its source is not; beyond it, what its edge says.

use relief_design::kinds;
use relief_design::tree;
use relief_kernels::edge::Edge;
use relief_kernels::median::{Rank, cpu};
use relief_raster::{Rect, Sample, View, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::device::Lowering;
use crate::node::{
    Bounds, Filled, Footprint, Inputs, Known, Link, Node, Periodic, Request, Resources, Tile, framed, scratch,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Median {
    pub(crate) rank: Rank,
    pub(crate) edge: Edge,
    /// Columns of the node.
    pub(crate) width: u64,
    /// Rows of the node.
    pub(crate) height: u64,
}

impl Median {
    fn own(&self) -> Rect {
        Rect::sized(self.width, self.height)
    }

    fn radius(&self) -> u32 {
        // At most 16.
        self.rank.radius() as u32
    }
}

impl Node for Median {
    fn footprint(&self, _: &Link, _: usize) -> Footprint {
        framed::footprint(self.edge, self.radius())
    }

    fn reads(&self, link: &Link, _: usize, rect: Rect) -> Rect {
        link.local(framed::reads(self.own(), self.edge, rect.grown(self.radius())))
    }

    fn period(&self, own: Rect, links: &[Link], children: &[Option<Periodic>]) -> Option<Periodic> {
        framed::period(own, self.radius(), links, children)
    }

    fn scratch(&self, _: &[Link], request: &Request, bytes: u64) -> u64 {
        framed::block_words(self.radius(), request, bytes)
    }

    fn bounds(&self, known: &dyn Known, links: &[Link], rect: Rect) -> Bounds {
        // Whatever its rank, it is one of the samples.
        framed::bounds(known, &links[0], self.own(), self.edge, rect.grown(self.radius()))
    }

    fn cost(&self) -> u64 {
        let side = 2 * u64::from(self.radius()) + 1;
        8 + side * side
    }

    #[cfg(feature = "gpu")]
    fn of_nothing(&self) -> Option<u16> {
        Some(0)
    }

    #[cfg(feature = "gpu")]
    fn lowering(&self) -> Lowering {
        Lowering::Host
    }
}

impl Tile for Median {
    type Design = kinds::Median;

    fn new(kind: &kinds::Median, node: &tree::Node, _: &mut dyn Resources) -> Result<Self, Error> {
        let rank = Rank::new(kind.radius as usize, kind.rank as usize);
        Ok(Self {
            rank: rank.ok_or_else(|| Error::defect(Rect::EMPTY, "a square has not so many samples"))?,
            edge: framed::edge(kind.edge),
            width: node.width,
            height: node.height,
        })
    }

    fn tile<S: Sample>(
        &self,
        inputs: &dyn Inputs<S>,
        links: &[Link],
        rect: Rect,
        out: ViewMut<'_, S>,
        scratch: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        let window = rect.grown(self.radius());
        let (width, height) = (window.width() as usize, window.height() as usize);
        let (samples, rest) = scratch::carve::<S>(scratch, width * height);
        let block = ViewMut::packed(samples, width, height);
        match framed::read(inputs, &links[0], self.own(), self.edge, window, block, rest)? {
            Filled::Uniform(value) => return Ok(Filled::Uniform(value)),
            Filled::Written => {}
        }
        cpu::filter(View::packed(samples, width, height), self.rank, out);
        Ok(Filled::Written)
    }
}
