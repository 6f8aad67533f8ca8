//! `resize`: a source of other sides, each sample a weighted sum of those near its place.

use relief_design::kinds::{self, Resampling, Taps};
use relief_design::tree;
use relief_kernels::edge::Edge;
use relief_kernels::resample::{Axis, cpu};
use relief_raster::{Rect, Sample, View, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::device::Lowering;
use crate::node::{
    Bounds, Filled, Footprint, Inputs, Known, Link, Node, Request, Resources, Tile, framed, scratch,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Resize {
    across: Axis,
    down: Axis,
    /// Whether no weight is below 0.
    is_mean: bool,
    edge: Edge,
}

impl Resize {
    /// The source, in the coordinates that its child lies in.
    fn source(&self) -> Rect {
        Rect::sized(self.across.source(), self.down.source())
    }

    /// What counts for the samples of `rect`, which is not empty; it may reach beyond the source.
    fn counts(&self, rect: Rect) -> Rect {
        let (x, y) = (
            self.across.reads(rect.x()..rect.right()),
            self.down.reads(rect.y()..rect.bottom()),
        );
        Rect::between(x.start, y.start, x.end, y.end)
    }

    /// [`counts`](Self::counts), with what is mirrored into it: beyond a border it reaches further than within.
    fn window(&self, rect: Rect) -> Rect {
        let counts = self.counts(rect);
        if self.edge != Edge::Mirror {
            return counts;
        }
        let mirrored = |from: i64, to: i64, side: u64| {
            let side = side.cast_signed();
            let end = if from < 0 { to.max(side.min(1 - from)) } else { to };
            let begin = if to > side {
                from.min((2 * side - 1 - to).max(0))
            } else {
                from
            };
            (begin, end)
        };
        let (left, right) = mirrored(counts.x(), counts.right(), self.across.source());
        let (top, bottom) = mirrored(counts.y(), counts.bottom(), self.down.source());
        Rect::between(left, top, right, bottom)
    }

    /// The most columns and rows that a request reads.
    fn span(&self, request: &Request) -> (u64, u64) {
        let side = |axis: &Axis, pixels: u64| {
            // As much again as lies beyond a border may be mirrored there.
            let mirrored = if self.edge == Edge::Mirror {
                axis.taps() as u64
            } else {
                0
            };
            axis.span(pixels).saturating_add(mirrored)
        };
        (
            side(&self.across, request.width),
            side(&self.down, request.height),
        )
    }
}

impl Node for Resize {
    fn footprint(&self, _: &Link, _: usize) -> Footprint {
        Footprint::Anywhere
    }

    fn reads(&self, link: &Link, _: usize, rect: Rect) -> Rect {
        if rect.is_empty() {
            return Rect::EMPTY;
        }
        link.local(framed::reads(self.source(), self.edge, self.window(rect)))
    }

    fn asks(&self, link: &Link, _: usize, request: &Request) -> Request {
        let (width, height) = self.span(request);
        Request {
            width: width.min(link.extent.width()),
            height: height.min(link.extent.height()),
        }
    }

    fn scratch(&self, _: &[Link], request: &Request, bytes: u64) -> u64 {
        let (width, height) = self.span(request);
        scratch::words(width.saturating_mul(height), bytes)
            .saturating_add(cpu::scratch_words(width, request.width))
    }

    fn bounds(&self, known: &dyn Known, links: &[Link], rect: Rect) -> Bounds {
        if rect.is_empty() {
            return Bounds::ZERO;
        }
        let source = framed::bounds(known, &links[0], self.source(), self.edge, self.window(rect));
        // Weights sum to one: a mean lies between its samples, and that of equal ones is what they are.
        if self.is_mean || source.least == source.greatest {
            source
        } else {
            known.anything()
        }
    }

    fn cost(&self) -> u64 {
        8 + (self.across.taps() + self.down.taps()) as u64
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

impl Tile for Resize {
    type Design = kinds::Resize;

    fn new(kind: &kinds::Resize, node: &tree::Node, _: &mut dyn Resources) -> Result<Self, Error> {
        let axis = |source, target| {
            let Taps { first, weights, .. } = kind.taps(source, target)?;
            Axis::new(source, target, first, weights)
        };
        let axes = axis(kind.source.0, node.width).zip(axis(kind.source.1, node.height));
        let (across, down) =
            axes.ok_or_else(|| Error::defect(Rect::EMPTY, "a source has no samples, or too many for one"))?;
        Ok(Self {
            across,
            down,
            is_mean: matches!(kind.by, Resampling::Box | Resampling::Linear),
            edge: framed::edge(kind.edge),
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
        let window = self.window(rect);
        let (width, height) = (window.width() as usize, window.height() as usize);
        let (samples, rest) = scratch::carve::<S>(scratch, width * height);
        let block = ViewMut::packed(samples, width, height);
        match framed::read(inputs, &links[0], self.source(), self.edge, window, block, rest)? {
            Filled::Uniform(value) => Ok(Filled::Uniform(value)),
            Filled::Written => {
                let counts = self.counts(rect).translated(-window.x(), -window.y());
                let block = View::packed(samples, width, height).part(
                    counts.x() as usize,
                    counts.y() as usize,
                    counts.width() as usize,
                    counts.height() as usize,
                );
                cpu::resample(block, (&self.across, &self.down), (rect.x(), rect.y()), out, rest);
                Ok(Filled::Written)
            }
        }
    }
}
