//! `repeat`: one pattern, over and over along the axes.
//!
//! Where the plan keeps the pattern in memory, rows are copied from it; else the copies that meet a tile are
//! computed one by one. (Where it keeps a cell of the repeat itself, this file is not asked.)

use relief_design::kinds;
use relief_design::tree;
#[cfg(feature = "gpu")]
use relief_kernels::lattice::{self, Blend};
use relief_kernels::repeat;
use relief_raster::{Period, Rect, Sample, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::device::{Failure, Launch, Lowering};
use crate::node::{
    Block, Bounds, Edges, Filled, Footprint, Grid, Inputs, Known, Link, Node, Periodic, Repeated, Resources,
    Summary, Tile, clear_around, of_plane, part,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Repeat {
    pub(crate) step_x: u64,
    pub(crate) step_y: u64,
}

/// The first pixel that is read of a side of the pattern and the one after the last, for `length` pixels of the repeat
/// from `start` on; equal where none is read.
fn read_of_side((start, length): (i64, u64), offset: i64, step: u64, side: u64) -> (i64, i64) {
    let (length, step, side) = (length.cast_signed(), step.cast_signed(), side.cast_signed());
    let first = (start - offset).rem_euclid(step);
    let last = first + length;
    match () {
        () if length >= step => (0, side),
        () if last <= step => (first.min(side), last.min(side)),
        // What is read ends in the next copy.
        () if first >= side => (0, (last - step).min(side)),
        () => (0, side),
    }
}

/// The places of a step that `length` pixels from `start` on show: where they begin, how many there are, and how often. Up to
/// three runs: the rest of a step, whole steps, the beginning of one.
fn runs((start, length): (i64, u64), offset: i64, step: u64) -> impl Iterator<Item = (i64, u64, u64)> {
    let first = (start - offset).rem_euclid(step.cast_signed());
    let rest = step - first.unsigned_abs();
    let begin = if rest == step { 0 } else { rest.min(length) };
    let (whole, end) = ((length - begin) / step, (length - begin) % step);
    [(first, begin, 1), (0, step, whole), (0, end, 1)]
        .into_iter()
        .filter(|(_, length, count)| *length > 0 && *count > 0)
}

/// A step and an offset with the same copies of `length` pixels between `from` and `to` along one axis. Where at most
/// one of them is there, the step is no longer than it has to be: that of the design may exceed 32 bits.
#[cfg(feature = "gpu")]
fn nearest(step: u64, offset: i64, length: u64, (from, to): (i64, i64)) -> (i64, i64) {
    let (step, length) = (step.cast_signed(), length.cast_signed());
    let enough = to - from + length;
    if step <= enough {
        return (step, offset);
    }
    let last = offset + (to - 1 - offset).div_euclid(step) * step;
    (enough, last.max(from - length))
}

impl Repeat {
    /// The samples of a rectangle, from what is known of parts of the pattern.
    fn summed(&self, known: &dyn Known, link: &Link, rect: Rect) -> Summary {
        let extent = link.extent;
        let mut all = Summary::EMPTY;
        if rect.is_empty() {
            return all;
        }
        for (y, rows, down) in runs((rect.y(), rect.height()), extent.y(), self.step_y) {
            for (x, columns, across) in runs((rect.x(), rect.width()), extent.x(), self.step_x) {
                let part = Rect::sized(columns, rows).translated(x, y);
                let shown = part.intersection(&extent.local());
                let gap = Summary::constant(0, part.area() - shown.area());
                let one = if shown.is_empty() {
                    gap
                } else {
                    known.summary_within(link.node, shown).and(gap)
                };
                all = all.and(one.times(u128::from(across) * u128::from(down)));
            }
        }
        all
    }
}

impl Node for Repeat {
    fn reads(&self, link: &Link, _: usize, rect: Rect) -> Rect {
        if rect.is_empty() {
            return Rect::EMPTY;
        }
        let extent = link.extent;
        let x = read_of_side((rect.x(), rect.width()), extent.x(), self.step_x, extent.width());
        let y = read_of_side(
            (rect.y(), rect.height()),
            extent.y(),
            self.step_y,
            extent.height(),
        );
        Rect::between(x.0, y.0, x.1, y.1)
    }

    fn period(&self, own: Rect, _: &[Link], _: &[Option<Periodic>]) -> Option<Periodic> {
        Some(Periodic {
            period: Period::grid(self.step_x, self.step_y)?,
            valid: own,
        })
    }

    fn repeats(&self) -> Option<(u64, u64)> {
        Some((self.step_x, self.step_y))
    }

    fn footprint(&self, _: &Link, _: usize) -> Footprint {
        Footprint::Anywhere
    }

    fn bounds(&self, known: &dyn Known, links: &[Link], rect: Rect) -> Bounds {
        let reads = self.reads(&links[0], 0, rect);
        if reads.is_empty() {
            return Bounds::ZERO;
        }
        let pattern = known.within(links[0].node, reads);
        let extent = links[0].extent;
        // Whether `length` pixels from `start` on lie within one copy, or copies leave no gap.
        let full = |start: i64, length: u64, offset: i64, step: u64, side: u64| {
            let first = (start - offset).rem_euclid(step.cast_signed());
            side >= step || first.unsigned_abs() + length <= side
        };
        if full(rect.x(), rect.width(), extent.x(), self.step_x, extent.width())
            && full(rect.y(), rect.height(), extent.y(), self.step_y, extent.height())
        {
            pattern
        } else {
            pattern.or(Bounds::ZERO)
        }
    }

    fn blocks(&self, known: &dyn Known, links: &[Link], grid: Grid<'_>, out: &mut [Block]) {
        let (link, extent) = (&links[0], links[0].extent);
        let across = Repeated::new(grid.xs, extent.x(), self.step_x, extent.width());
        let down = Repeated::new(grid.ys, extent.y(), self.step_y, extent.height());
        if let Some(corners) = known.corners(link.node, &across.places, &down.places) {
            let bounds = |rect| self.bounds(known, links, rect);
            of_plane(grid, (&across, &down), &corners, known.max(), bounds, out);
            return;
        }
        for (block, rect) in out.iter_mut().zip(grid.rects()) {
            *block = Block::of(self.summed(known, link, rect));
        }
    }

    /// Where a copy begins and ends, if the edges are few.
    fn edges(&self, known: &dyn Known, links: &[Link], hull: Rect, place: (i64, i64), edges: &mut Edges) {
        let (link, extent) = (&links[0], links[0].extent);
        let one = |from: i64, to: i64, offset: i64, step: u64| {
            (from - offset).div_euclid(step.cast_signed()) == (to - 1 - offset).div_euclid(step.cast_signed())
        };
        let alone = one(hull.x(), hull.right(), extent.x(), self.step_x)
            && one(hull.y(), hull.bottom(), extent.y(), self.step_y);
        if alone {
            let copy = |from: i64, offset: i64, step: u64| {
                (from - offset).div_euclid(step.cast_signed()) * step.cast_signed()
            };
            let (dx, dy) = (
                copy(hull.x(), extent.x(), self.step_x),
                copy(hull.y(), extent.y(), self.step_y),
            );
            let (hull, place) = (hull.translated(-dx, -dy), (place.0 + dx, place.1 + dy));
            edges.add_extent(&extent, hull, place);
            known.edges_within(link, hull, place, edges);
        }
    }

    fn cost(&self) -> u64 {
        1
    }

    fn copies(&self, _: &Link, asked: Rect, _: u32) -> bool {
        asked.area() > 2 * u128::from(self.step_x) * u128::from(self.step_y)
    }

    fn worth_a_cell(&self, picture: bool) -> bool {
        // A picture lies in memory as it is.
        !picture
    }

    #[cfg(feature = "gpu")]
    fn of_nothing(&self) -> Option<u16> {
        Some(0)
    }

    #[cfg(feature = "gpu")]
    fn lowering(&self) -> Lowering {
        Lowering::Kernel
    }

    /// Copies that do not overlap, of which each pixel has the greatest sample.
    #[cfg(feature = "gpu")]
    fn launch(&self, launch: &Launch<'_>, links: &[Link]) -> Result<(), Failure> {
        let [Some((pattern, rect))] = &launch.children[..] else {
            return launch.fill(0);
        };
        let (extent, need) = (links[0].extent, launch.need);
        let (width, height) = (u64::from(pattern.width()), u64::from(pattern.height()));
        let place = (extent.x() + rect.x(), extent.y() + rect.y());
        let (step_x, x) = nearest(self.step_x, place.0, width, (need.x(), need.right()));
        let (step_y, y) = nearest(self.step_y, place.1, height, (need.y(), need.bottom()));
        let lattice = lattice::gpu::Lattice {
            pattern: pattern.clone(),
            blend: Blend::Max,
            offset: (x, y),
            u: (step_x, 0),
            v: (0, step_y),
        };
        Ok(lattice::gpu::render(
            launch.gpu,
            &lattice,
            need,
            launch.out,
            launch.pitch,
        )?)
    }

    #[cfg(feature = "gpu")]
    fn device_cell(&self) -> Option<Period> {
        Period::grid(self.step_x, self.step_y)
    }
}

impl Tile for Repeat {
    type Design = kinds::Repeat;

    fn new(kind: &kinds::Repeat, _: &tree::Node, _: &mut dyn Resources) -> Result<Self, Error> {
        Ok(Self {
            step_x: kind.step_x,
            step_y: kind.step_y,
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
        let link = &links[0];
        let (px, py) = (link.extent.x(), link.extent.y());
        if let (Some(pattern), Some(period)) =
            (inputs.kept(link.node), Period::grid(self.step_x, self.step_y))
        {
            repeat::cpu::expand(pattern, period, rect.x() - px, rect.y() - py, out);
            return Ok(Filled::Written);
        }
        let (step_x, step_y) = (self.step_x.cast_signed(), self.step_y.cast_signed());
        let first = |start: i64, offset: i64, step: i64| (start - offset).div_euclid(step) * step + offset;
        let mut top = first(rect.y(), py, step_y);
        while top < rect.bottom() {
            let mut left = first(rect.x(), px, step_x);
            while left < rect.right() {
                let cell = Rect::between(left, top, left + step_x, top + step_y).intersection(&rect);
                let copy = link
                    .extent
                    .in_parent()
                    .translated(left - px, top - py)
                    .intersection(&rect);
                let mut out = part(&mut out, cell.translated(-rect.x(), -rect.y()));
                // A copy begins where its cell does, and the tile cuts both alike: it lies at the top-left.
                let inner = Rect::sized(copy.width(), copy.height());
                if !copy.is_empty() {
                    let local = copy.translated(-left, -top);
                    inputs
                        .read(link.node, local, part(&mut out, inner), scratch)?
                        .write(part(&mut out, inner));
                }
                clear_around(&mut out, inner);
                left += step_x;
            }
            top += step_y;
        }
        Ok(Filled::Written)
    }
}
