//! `gauss`: means weighted by a bell.
//!
//! Within its own extent the filter reads 0 where its source is not; beyond it, what its edge says.

use relief_design::kinds;
use relief_design::tree;
#[cfg(feature = "gpu")]
use relief_kernels::device::{DeviceError, DeviceReport, Gpu};
use relief_kernels::edge::Edge;
#[cfg(feature = "gpu")]
use relief_kernels::gauss::gpu::{self, Weights};
use relief_kernels::gauss::{Bell, cpu};
#[cfg(feature = "gpu")]
use relief_raster::Depth;
use relief_raster::{Rect, Sample, View, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::SamplesOf;
#[cfg(feature = "gpu")]
use crate::node::device::{Failure, Launch, Lowering, Upload};
use crate::node::{
    Bounds, Filled, Footprint, Inputs, Known, Link, Node, Periodic, Request, Resources, Tile, framed, scratch,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Gauss {
    pub(crate) bell: Bell,
    pub(crate) edge: Edge,
    /// Columns of the node.
    pub(crate) width: u64,
    /// Rows of the node.
    pub(crate) height: u64,
}

impl Gauss {
    fn own(&self) -> Rect {
        Rect::sized(self.width, self.height)
    }

    fn radius(&self) -> u32 {
        // At most 256.
        self.bell.radius() as u32
    }
}

impl Node for Gauss {
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
            .saturating_add(cpu::scratch_words(&self.bell) as u64)
    }

    fn bounds(&self, known: &dyn Known, links: &[Link], rect: Rect) -> Bounds {
        // Weights sum to one: a mean lies between its samples.
        framed::bounds(known, &links[0], self.own(), self.edge, rect.grown(self.radius()))
    }

    fn cost(&self) -> u64 {
        8 + u64::from(self.radius())
    }

    #[cfg(feature = "gpu")]
    fn of_nothing(&self) -> Option<u16> {
        Some(0)
    }

    #[cfg(feature = "gpu")]
    fn lowering(&self) -> Lowering {
        Lowering::Kernel
    }

    #[cfg(feature = "gpu")]
    fn launch(&self, launch: &Launch<'_>, links: &[Link]) -> Result<(), Failure> {
        let [Some((source, rect))] = &launch.children[..] else {
            return launch.fill(0);
        };
        let extent = links[0].extent;
        Ok(gpu::render(
            launch.gpu,
            launch.scratch,
            source,
            (extent.x() + rect.x(), extent.y() + rect.y()),
            (self.width, self.height),
            self.edge,
            launch.upload::<Weights>()?,
            launch.need,
            launch.out,
            launch.pitch,
        )?)
    }

    #[cfg(feature = "gpu")]
    fn device_scratch(&self, _: &DeviceReport, _: Depth, width: u64, height: u64) -> u64 {
        gpu::scratch_words(width, height, self.radius()).unwrap_or(u64::MAX)
    }

    #[cfg(feature = "gpu")]
    fn upload(&self, gpu: &Gpu, _: SamplesOf<'_>) -> Option<Result<Upload, DeviceError>> {
        let weights = Weights::upload(gpu, &self.bell);
        Some(weights.map(|weights| Box::new(weights) as Upload))
    }

    #[cfg(feature = "gpu")]
    fn upload_words(&self, _: Depth) -> u64 {
        Weights::words(self.radius())
    }
}

impl Tile for Gauss {
    type Design = kinds::Gauss;

    fn new(kind: &kinds::Gauss, node: &tree::Node, _: &mut dyn Resources) -> Result<Self, Error> {
        let bell = Bell::new(&kind.weights);
        Ok(Self {
            bell: bell
                .ok_or_else(|| Error::defect(Rect::EMPTY, "the weights of a bell do not sum to one"))?,
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
            // The weights sum to one.
            Filled::Uniform(value) => return Ok(Filled::Uniform(value)),
            Filled::Written => {}
        }
        cpu::filter(View::packed(samples, width, height), &self.bell, out, rest);
        Ok(Filled::Written)
    }
}
