//! All drawings: how much of every pixel their outlines cover.
//!
//! The outlines are sorted once into an index, which is shared by equal drawings and counted as a part of the design. A tile
//! without an edge is told and not written. Devices get the samples from the CPU, which sees to it that tiles without an edge cost
//! nothing; a device would sweep them all.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use relief_design::kinds::{Antialias, Drawn};
use relief_design::tree;
use relief_kernels::coverage::{Index, Sampling, cpu};
use relief_raster::{Depth, Rect, Sample, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::device::Lowering;
use crate::node::{Bounds, Filled, Inputs, Known, Link, Node, Periodic, Request, Resources, Summary, Tile};

/// A drawing that is ready to be computed.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) index: Index,
    /// Where it repeats.
    pub(crate) period: Option<Periodic>,
}

#[derive(Clone, Debug)]
pub(crate) struct Drawing {
    /// The number of the drawing: equal drawings have one.
    number: usize,
    antialias: Antialias,
    depth: Depth,
    ready: Arc<Ready>,
}

impl PartialEq for Drawing {
    fn eq(&self, other: &Self) -> bool {
        (self.number, self.antialias) == (other.number, other.antialias)
    }
}

impl Eq for Drawing {}

impl Hash for Drawing {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.number, self.antialias).hash(state);
    }
}

impl Drawing {
    const fn sampling(&self) -> Sampling {
        match self.antialias {
            Antialias::Area => Sampling::Area,
            Antialias::None => Sampling::Centres,
        }
    }

    fn within(&self, rect: Rect) -> Bounds {
        let (index, sampling) = (&self.ready.index, self.sampling());
        let (least, greatest) = match self.depth {
            Depth::Eight => cpu::within::<u8>(index, sampling, rect),
            Depth::Sixteen => cpu::within::<u16>(index, sampling, rect),
        };
        Bounds { least, greatest }
    }
}

impl Node for Drawing {
    fn bounds(&self, _: &dyn Known, _: &[Link], rect: Rect) -> Bounds {
        self.within(rect)
    }

    fn summary(&self, _: &dyn Known, _: &[Link], rect: Rect) -> Option<Summary> {
        let Bounds { least, greatest } = self.within(rect);
        (least == greatest).then(|| Summary::constant(least, rect.area()))
    }

    fn period(&self, own: Rect, _: &[Link], _: &[Option<Periodic>]) -> Option<Periodic> {
        let Periodic { period, valid } = self.ready.period?;
        let valid = valid.intersection(&own);
        (!valid.is_empty()).then_some(Periodic { period, valid })
    }

    fn scratch(&self, _: &[Link], _: &Request, bytes: u64) -> u64 {
        let (index, sampling) = (&self.ready.index, self.sampling());
        let words = match bytes {
            1 => cpu::scratch_words::<u8>(index, sampling),
            _ => cpu::scratch_words::<u16>(index, sampling),
        };
        words as u64
    }

    fn cost(&self) -> u64 {
        8
    }

    #[cfg(feature = "gpu")]
    fn lowering(&self) -> Lowering {
        Lowering::Host
    }
}

impl Tile for Drawing {
    type Design = Drawn;

    fn new(drawn: &Drawn, node: &tree::Node, resources: &mut dyn Resources) -> Result<Self, Error> {
        let depth = resources.depth();
        let (number, ready) = resources.drawing(&drawn.drawing, node.place)?;
        Ok(Self {
            number,
            antialias: drawn.antialias,
            depth,
            ready,
        })
    }

    fn tile<S: Sample>(
        &self,
        _: &dyn Inputs<S>,
        _: &[Link],
        rect: Rect,
        out: ViewMut<'_, S>,
        scratch: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        let at = (rect.x(), rect.y());
        let filled = cpu::compute(&self.ready.index, self.sampling(), at, out, scratch);
        Ok(filled.map_or(Filled::Written, Filled::Uniform))
    }
}
