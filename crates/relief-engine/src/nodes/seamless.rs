//! `seamless`: a source whose first columns and rows are faded into those behind its last ones.

use relief_design::kinds;
use relief_design::tree;
use relief_kernels::seam::cpu::{self, Fade};
use relief_raster::{Rect, Sample, View, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::device::Lowering;
use crate::node::{
    Bounds, Filled, Footprint, Inputs, Known, Link, Node, Request, Resources, Tile, read_padded, scratch,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Seamless {
    overlap: u32,
    /// Columns of the node.
    width: u64,
    /// Rows of the node.
    height: u64,
}

impl Seamless {
    /// The four parts of the source that are faded in `rect`, each of its size: at the same place, behind the last column, behind the
    /// last row, and behind both.
    fn parts(&self, rect: Rect) -> [Rect; 4] {
        let (right, down) = (self.width.cast_signed(), self.height.cast_signed());
        [(0, 0), (right, 0), (0, down), (right, down)].map(|(x, y)| rect.translated(x, y))
    }

    /// Whether any sample of it is faded along x, and along y.
    fn fades(&self, rect: Rect) -> (bool, bool) {
        let overlap = i64::from(self.overlap);
        (rect.x() < overlap, rect.y() < overlap)
    }

    /// Which of the four parts count in `rect`.
    fn counts(&self, rect: Rect) -> [bool; 4] {
        let (x, y) = self.fades(rect);
        [true, x, y, x && y]
    }
}

impl Node for Seamless {
    fn footprint(&self, _: &Link, _: usize) -> Footprint {
        Footprint::Anywhere
    }

    fn reads(&self, link: &Link, _: usize, rect: Rect) -> Rect {
        let parts = self.parts(rect).into_iter().zip(self.counts(rect));
        parts
            .filter(|(part, counts)| *counts && !part.is_empty())
            .map(|(part, _)| link.local(part))
            .filter(|read| !read.is_empty())
            .reduce(|all, read| all.union(&read))
            .unwrap_or(Rect::EMPTY)
    }

    fn scratch(&self, _: &[Link], request: &Request, bytes: u64) -> u64 {
        let block = scratch::words(request.width.saturating_mul(request.height), bytes);
        block.saturating_mul(3)
    }

    fn bounds(&self, known: &dyn Known, links: &[Link], rect: Rect) -> Bounds {
        let parts = self.parts(rect).into_iter().zip(self.counts(rect));
        // Weighted means lie between the samples.
        parts
            .filter(|(_, counts)| *counts)
            .map(|(part, _)| known.child(&links[0], part))
            .reduce(Bounds::or)
            .unwrap_or(Bounds::ZERO)
    }

    fn cost(&self) -> u64 {
        4
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

impl Tile for Seamless {
    type Design = kinds::Seamless;

    fn new(kind: &kinds::Seamless, node: &tree::Node, _: &mut dyn Resources) -> Result<Self, Error> {
        Ok(Self {
            overlap: kind.overlap,
            width: node.width,
            height: node.height,
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
        let [here, right, below, both] = self.parts(rect);
        let (fades_x, fades_y) = self.fades(rect);
        if !fades_x && !fades_y {
            return read_padded(inputs, &links[0], here, out, scratch);
        }
        let (width, height) = (rect.width() as usize, rect.height() as usize);
        let area = width * height;
        let (first, rest) = scratch::carve::<S>(scratch, area);
        let (second, rest) = scratch::carve::<S>(rest, area);
        let (third, rest) = scratch::carve::<S>(rest, area);
        let read = |part: Rect, counts: bool, into: ViewMut<'_, S>, rest: &mut [u64]| {
            if !counts {
                return Ok(None);
            }
            let mut into = into;
            read_padded(inputs, &links[0], part, into.reborrow(), rest).map(|filled| {
                filled.write(into);
                Some(filled)
            })
        };
        let filled = [
            read(here, true, out.reborrow(), rest)?,
            read(right, fades_x, ViewMut::packed(first, width, height), rest)?,
            read(below, fades_y, ViewMut::packed(second, width, height), rest)?,
            read(
                both,
                fades_x && fades_y,
                ViewMut::packed(third, width, height),
                rest,
            )?,
        ];
        let mut all = filled.into_iter().flatten();
        if let Some(Filled::Uniform(value)) = all.next()
            && all.all(|other| other == Filled::Uniform(value))
        {
            return Ok(Filled::Uniform(value));
        }
        let view = |samples| View::packed(samples, width, height);
        let fade = Fade {
            overlap: self.overlap,
            // Columns and rows of nodes are at most 2^40.
            x: rect.x().cast_unsigned(),
            y: rect.y().cast_unsigned(),
        };
        cpu::fade(fade, view(first), view(second), view(third), out);
        Ok(Filled::Written)
    }
}
