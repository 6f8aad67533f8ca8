//! Filters that compute a sample from those around it, and read what counts beyond their extent: all but the filter itself.
//!
//! A device computes those that `relief_kernels::filter` has; the rest are computed by the processor for it as well.

use std::fmt::Debug;
use std::hash::Hash;

use relief_design::{kinds, tree};
#[cfg(feature = "gpu")]
use relief_kernels::device::{DeviceError, DeviceReport, Gpu};
use relief_kernels::edge::Edge;
#[cfg(feature = "gpu")]
use relief_kernels::filter;
#[cfg(feature = "gpu")]
use relief_raster::Depth;
use relief_raster::{Rect, Sample, ViewMut};

use super::{
    Bounds, Filled, Footprint, Inputs, Known, Link, Node, Periodic, Request, Resources, Tile, framed, scratch,
};
use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::SamplesOf;
#[cfg(feature = "gpu")]
use crate::node::device::{Failure, Launch, Lowering, Upload};

/// What a filter computes of a block of samples.
pub(crate) trait Stencil: Clone + Debug + PartialEq + Eq + Hash {
    /// The kind in the design.
    type Design;

    /// The filter and its edge. Nothing of a kind that does not keep its rules.
    fn new(kind: &Self::Design) -> Option<(Self, kinds::Edge)>;

    /// How far it looks, in pixels.
    fn radius(&self) -> u32;

    /// The words of memory that it takes for results of so many columns of samples of `bytes` bytes.
    fn scratch_words(&self, _columns: u64, _bytes: u64) -> u64 {
        0
    }

    /// Between which samples its results lie, of sources between these; M is `max`.
    fn bounds(&self, source: Bounds, max: u16) -> Bounds;

    /// As [`Node::cost`].
    fn cost(&self) -> u64;

    /// Its sample where the source is this one as far as it looks.
    fn of_one<S: Sample>(&self, sample: S) -> S;

    /// Its sample where the source is 0 as far as it looks, if that is the same at every depth.
    #[cfg_attr(not(feature = "gpu"), allow(dead_code))]
    fn of_nothing(&self) -> Option<u16> {
        Some(0)
    }

    /// The filter as devices know it, if they do.
    #[cfg(feature = "gpu")]
    fn on_device(&self) -> Option<filter::Filter<'_>> {
        None
    }

    /// Filters a block that has its radius more columns and rows on every side than `out`. What the block holds may be lost.
    fn filter<S: Sample>(&self, block: ViewMut<'_, S>, out: ViewMut<'_, S>, scratch: &mut [u64]);
}

/// A filter as a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Framed<F> {
    filter: F,
    edge: Edge,
    /// Columns of the node.
    width: u64,
    /// Rows of the node.
    height: u64,
}

impl<F: Stencil> Framed<F> {
    fn own(&self) -> Rect {
        Rect::sized(self.width, self.height)
    }
}

impl<F: Stencil> Node for Framed<F> {
    fn footprint(&self, _: &Link, _: usize) -> Footprint {
        framed::footprint(self.edge, self.filter.radius())
    }

    fn reads(&self, link: &Link, _: usize, rect: Rect) -> Rect {
        link.local(framed::reads(
            self.own(),
            self.edge,
            rect.grown(self.filter.radius()),
        ))
    }

    fn period(&self, own: Rect, links: &[Link], children: &[Option<Periodic>]) -> Option<Periodic> {
        framed::period(own, self.filter.radius(), links, children)
    }

    fn scratch(&self, _: &[Link], request: &Request, bytes: u64) -> u64 {
        framed::block_words(self.filter.radius(), request, bytes)
            .saturating_add(self.filter.scratch_words(request.width, bytes))
    }

    fn bounds(&self, known: &dyn Known, links: &[Link], rect: Rect) -> Bounds {
        let window = rect.grown(self.filter.radius());
        let source = framed::bounds(known, &links[0], self.own(), self.edge, window);
        self.filter.bounds(source, known.max())
    }

    fn cost(&self) -> u64 {
        self.filter.cost()
    }

    #[cfg(feature = "gpu")]
    fn of_nothing(&self) -> Option<u16> {
        self.filter.of_nothing()
    }

    #[cfg(feature = "gpu")]
    fn lowering(&self) -> Lowering {
        match self.filter.on_device() {
            Some(_) => Lowering::Kernel,
            None => Lowering::Host,
        }
    }

    #[cfg(feature = "gpu")]
    fn launch(&self, launch: &Launch<'_>, links: &[Link]) -> Result<(), Failure> {
        let Some(filter) = self.filter.on_device() else {
            return Err(Error::defect(launch.need, "a filter has no kernel").into());
        };
        let [Some((source, rect))] = &launch.children[..] else {
            return launch.fill(match launch.depth {
                Depth::Eight => self.filter.of_one(0_u8).into(),
                Depth::Sixteen => self.filter.of_one(0_u16),
            });
        };
        let extent = links[0].extent;
        Ok(filter::render(
            launch.gpu,
            launch.scratch,
            &filter,
            launch.upload::<filter::Kept>()?,
            source,
            (extent.x() + rect.x(), extent.y() + rect.y()),
            (self.width, self.height),
            self.edge,
            launch.need,
            launch.out,
            launch.pitch,
        )?)
    }

    #[cfg(feature = "gpu")]
    fn upload(&self, gpu: &Gpu, _: SamplesOf<'_>) -> Option<Result<Upload, DeviceError>> {
        let kept = self.filter.on_device()?.upload(gpu);
        Some(kept.map(|kept| Box::new(kept) as Upload))
    }

    #[cfg(feature = "gpu")]
    fn upload_words(&self, _: Depth) -> u64 {
        self.filter.on_device().map_or(0, |filter| filter.upload_words())
    }

    #[cfg(feature = "gpu")]
    fn device_scratch(&self, _: &DeviceReport, depth: Depth, width: u64, height: u64) -> u64 {
        self.filter.on_device().map_or(0, |filter| {
            filter::scratch_words(&filter, depth, width, height).unwrap_or(u64::MAX)
        })
    }
}

impl<F: Stencil> Tile for Framed<F> {
    type Design = F::Design;

    fn new(kind: &F::Design, node: &tree::Node, _: &mut dyn Resources) -> Result<Self, Error> {
        let (filter, edge) = F::new(kind).ok_or_else(|| {
            Error::defect(
                Rect::EMPTY,
                "the values of a filter are none that a design can have",
            )
        })?;
        Ok(Self {
            filter,
            edge: framed::edge(edge),
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
        let window = rect.grown(self.filter.radius());
        let (width, height) = (window.width() as usize, window.height() as usize);
        let (samples, rest) = scratch::carve::<S>(scratch, width * height);
        let mut block = ViewMut::packed(samples, width, height);
        match framed::read(
            inputs,
            &links[0],
            self.own(),
            self.edge,
            window,
            block.reborrow(),
            rest,
        )? {
            Filled::Uniform(value) => Ok(Filled::Uniform(self.filter.of_one(value))),
            Filled::Written => {
                self.filter.filter(block, out, rest);
                Ok(Filled::Written)
            }
        }
    }
}
