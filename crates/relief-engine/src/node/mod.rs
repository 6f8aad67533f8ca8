//! What a node kind is to the engine: the words that the kinds in `nodes/` are written in, and by which the planner, the
//! CPU and devices ask them.
//!
//! A kind knows how it reads its children, how it repeats, what it costs, how it computes a rectangle of its samples on
//! the CPU and how a device does. It knows nothing of plans, tiles, threads, caches and devices: [`Inputs`] answers what
//! its children hold, from wherever the plan keeps it, and [`device::Lower`] what of them lies on a device.

mod blocks;
mod bounds;
#[cfg(feature = "gpu")]
pub(crate) mod device;
mod footprint;
pub(crate) mod framed;
pub(crate) mod histogram;
mod inputs;
mod prepare;
pub(crate) mod scratch;
pub(crate) mod stencil;
mod summary;
mod windows;

#[cfg(feature = "gpu")]
use relief_kernels::device::{DeviceError, DeviceReport, Gpu};
use relief_kernels::fold::Fold;
#[cfg(feature = "gpu")]
use relief_kernels::fused::Expression;
#[cfg(feature = "gpu")]
use relief_raster::Depth;
use relief_raster::{Extent, Period, Rect, Sample, ViewMut};

use relief_design::tree::{self, Role};

pub(crate) use blocks::{
    Block, Corners, Edges, Form, Grid, Repeated, Through, fold, of_child, of_plane, through as stepped,
    zero_is_identity,
};
pub(crate) use bounds::{Bounds, Known};
pub(crate) use footprint::{Footprint, Shows};
pub(crate) use inputs::{Inputs, Ready, Resources, SamplesOf};
pub(crate) use prepare::{Counters, Preparation};
pub use summary::{Runs, Summary};
pub(crate) use summary::{Straight, quotient};
pub(crate) use windows::{around, clear_around, part, read_padded, through};

use crate::Error;

/// A child as its parent sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Link {
    /// The number of the child in the program.
    pub(crate) node: usize,
    /// What the child is for.
    pub(crate) role: Role,
    /// Where it lies in the parent's coordinates.
    pub(crate) extent: Extent,
}

impl Link {
    /// The part of the child that lies in `rect` (parent's coordinates), in the child's own coordinates.
    pub(crate) fn local(&self, rect: Rect) -> Rect {
        rect.intersection(&self.extent.in_parent())
            .translated(-self.extent.x(), -self.extent.y())
    }
}

/// What computing a rectangle gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filled<S> {
    /// Every sample is this one; nothing was written.
    Uniform(S),
    /// Every sample was written.
    Written,
}

impl<S: Sample> Filled<S> {
    /// Writes the samples if they are not written yet.
    pub(crate) fn write(self, mut out: ViewMut<'_, S>) {
        if let Self::Uniform(value) = self {
            out.fill(value);
        }
    }
}

/// A raster that repeats inside `valid`, in the node's own coordinates: samples of two pixels of `valid` that
/// differ by a vector of `period` are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Periodic {
    pub(crate) period: Period,
    pub(crate) valid: Rect,
}

/// The greatest rectangle that is asked for at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// The most columns.
    pub(crate) width: u64,
    /// The most rows.
    pub(crate) height: u64,
}

/// A node kind, but for its samples ([`Tile`]).
pub(crate) trait Node {
    /// How the child is read for a rectangle.
    fn footprint(&self, _link: &Link, _index: usize) -> Footprint {
        Footprint::Point
    }

    /// The part of the child that is read for `rect`, in the child's own coordinates. A kind says it whose footprint is
    /// none of [`Point`](Footprint::Point) and [`Margins`](Footprint::Margins).
    fn reads(&self, link: &Link, index: usize, rect: Rect) -> Rect {
        match self.footprint(link, index) {
            Footprint::Anywhere => link.extent.local(),
            footprint => link.local(rect.grown(footprint.halo())),
        }
    }

    /// Between which samples the node lies in `rect`, in its own coordinates and within it: sound, and the narrower the better.
    fn bounds(&self, known: &dyn Known, _links: &[Link], _rect: Rect) -> Bounds {
        known.anything()
    }

    /// What is known of the samples of `rect` together, in the node's own coordinates and within it, beyond their bounds.
    fn summary(&self, _known: &dyn Known, _links: &[Link], _rect: Rect) -> Option<Summary> {
        None
    }

    /// What is known of every block of `grid`, in the node's own coordinates and within it. A kind says it that can answer for many blocks in
    /// less time than for each by itself.
    fn blocks(&self, known: &dyn Known, links: &[Link], grid: Grid<'_>, out: &mut [Block]) {
        for (block, rect) in out.iter_mut().zip(grid.rects()) {
            *block = if rect.is_empty() {
                Block::EMPTY
            } else {
                let all = Summary::within(self.bounds(known, links, rect), rect.area());
                let more = || self.summary(known, links, rect);
                Block::of(if all.is_exact() {
                    all
                } else {
                    more().map_or(all, |more| more.both(all))
                })
            };
        }
    }

    /// Where within `hull`, in the node's own coordinates, what is known of it changes, as hints: blocks are cut there. `place` is where
    /// the node lies in the coordinates of the edges.
    fn edges(&self, known: &dyn Known, links: &[Link], hull: Rect, place: (i64, i64), edges: &mut Edges) {
        for (index, link) in links.iter().enumerate() {
            if self.footprint(link, index) == Footprint::Point && !edges.is_full() {
                edges.add_extent(&link.extent, hull, place);
                known.edges_within(link, hull, place, edges);
            }
        }
    }

    /// Which pixels of the child the pixel at (x, y) of the node is made of.
    fn shows(&self, link: &Link, index: usize, (x, y): (i64, i64)) -> Shows {
        let reads = self.reads(link, index, Rect::sized(1, 1).translated(x, y));
        let around = matches!(
            self.footprint(link, index),
            Footprint::Margins(_) | Footprint::Around(_)
        );
        match reads.area() {
            0 => Shows::Nothing,
            1 if !around => Shows::Pixel(reads.x(), reads.y()),
            _ => Shows::Window(reads),
        }
    }

    /// How a child in this role is folded into those before it, of a kind that folds its children in their order, from 0 on. A child is
    /// 0 beyond its extent.
    fn folds(&self, _role: Role) -> Option<Fold> {
        None
    }

    /// After how many columns and rows the first child is there again, of a kind that repeats it along the axes with nothing between copies.
    fn repeats(&self) -> Option<(u64, u64)> {
        None
    }

    /// How the node repeats within `own`, its rectangle in its own coordinates; `children` say how they do.
    fn period(&self, _own: Rect, _links: &[Link], _children: &[Option<Periodic>]) -> Option<Periodic> {
        None
    }

    /// The greatest rectangle of the child that is asked for at once when `request` is asked of the node.
    fn asks(&self, link: &Link, index: usize, request: &Request) -> Request {
        let halo = 2 * u64::from(self.footprint(link, index).halo());
        Request {
            width: request.width.saturating_add(halo).min(link.extent.width()),
            height: request.height.saturating_add(halo).min(link.extent.height()),
        }
    }

    /// The words of scratch that the node itself needs for `request`, beside those of its children; `bytes` is
    /// the size of a sample.
    fn scratch(&self, _links: &[Link], _request: &Request, _bytes: u64) -> u64 {
        0
    }

    /// Roughly how many simple operations a sample takes, without the children: only used to decide what is
    /// worth keeping.
    fn cost(&self) -> u64;

    /// Whether finding out what reaches into a tile takes so long that tiles of many rows are cheaper.
    fn is_tall(&self) -> bool {
        false
    }

    /// Whether rows of it lie across rows of its child, so that square tiles read least.
    fn is_turned(&self) -> bool {
        false
    }

    /// Whether computing `asked` reads more of the child than it holds, so that keeping it pays. `halo` is what is read
    /// around the child's samples to compute them.
    fn copies(&self, _link: &Link, _asked: Rect, _halo: u32) -> bool {
        false
    }

    /// Whether keeping a cell of the node may pay; `picture` says whether its first child shows one.
    fn worth_a_cell(&self, _picture: bool) -> bool {
        true
    }

    /// Whether the node over its first children, in the first role, may be the first child of a node like it over the
    /// others.
    fn divides(&self) -> bool {
        false
    }

    /// The number of the table that it looks samples up in.
    #[cfg_attr(not(feature = "gpu"), allow(dead_code))]
    fn table(&self) -> Option<usize> {
        None
    }

    /// The number of the picture that it shows.
    fn picture(&self) -> Option<usize> {
        None
    }

    /// What it must know of a whole child before its first sample is computed.
    fn preparation(&self) -> Option<&dyn Preparation> {
        None
    }

    /// The sample that the node is wherever all that it reads is 0, if it is one.
    #[cfg_attr(not(feature = "gpu"), allow(dead_code))]
    fn of_nothing(&self) -> Option<u16> {
        None
    }

    /// How a device computes it.
    #[cfg(feature = "gpu")]
    fn lowering(&self) -> device::Lowering {
        device::Lowering::Fused
    }

    /// The node as part of a device kernel, in its own coordinates; meaningful inside its extent. For kinds that are
    /// [`Fused`](device::Lowering::Fused).
    #[cfg(feature = "gpu")]
    fn expression(&self, _lower: &dyn device::Lower, _links: &[Link]) -> Result<Expression, Error> {
        let text = "a node was not computed into a plane";
        Err(Error::defect(Rect::EMPTY, text))
    }

    /// How often the node's expression takes the spans of a curve for every row.
    #[cfg(feature = "gpu")]
    fn spans(&self) -> u64 {
        0
    }

    /// Computes a rectangle of the node on a device. For kinds that are a [`Kernel`](device::Lowering::Kernel).
    #[cfg(feature = "gpu")]
    fn launch(&self, launch: &device::Launch<'_>, _links: &[Link]) -> Result<(), device::Failure> {
        let text = "a node has no kernel of its own";
        Err(Error::defect(launch.need, text).into())
    }

    /// The words of scratch that [`Node::launch`] takes for so many columns and rows.
    #[cfg(feature = "gpu")]
    fn device_scratch(&self, _report: &DeviceReport, _depth: Depth, _width: u64, _height: u64) -> u64 {
        0
    }

    /// What [`Node::launch`] reads beside planes; made once. `table` is that of [`Node::table`].
    #[cfg(feature = "gpu")]
    fn upload(&self, _gpu: &Gpu, _table: SamplesOf<'_>) -> Option<Result<device::Upload, DeviceError>> {
        None
    }

    /// The words of [`Node::upload`].
    #[cfg(feature = "gpu")]
    fn upload_words(&self, _depth: Depth) -> u64 {
        0
    }

    /// The period of a cell that a device can copy the node from and that is made of its first child, in the child's
    /// coordinates, with 0 beyond it.
    #[cfg(feature = "gpu")]
    fn device_cell(&self) -> Option<Period> {
        None
    }

    /// Refuses what exceeds the numbers of a device; `pattern` are columns and rows of the first child's samples that
    /// may differ from 0.
    #[cfg(feature = "gpu")]
    fn check_device(&self, _pattern: (u64, u64)) -> Result<(), String> {
        Ok(())
    }
}

/// A node kind as the program has it: how it is made of one of the design, and its samples on the CPU.
pub(crate) trait Tile: Node + Sized {
    /// The kind in the design.
    type Design;

    /// The kind of `node`.
    ///
    /// # Errors
    /// Where the design was not validated.
    fn new(kind: &Self::Design, node: &tree::Node, resources: &mut dyn Resources) -> Result<Self, Error>;

    /// Computes `rect`, in the node's own coordinates and inside its extent, into `out`, which has its size.
    fn tile<S: Sample>(
        &self,
        inputs: &dyn Inputs<S>,
        links: &[Link],
        rect: Rect,
        out: ViewMut<'_, S>,
        scratch: &mut [u64],
    ) -> Result<Filled<S>, Error>;
}
