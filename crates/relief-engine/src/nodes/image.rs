//! `image`: a picture, held in memory as far as the design reads it, once for all its nodes; 0 beyond it. What is read window by
//! window is found among the cached tiles.

use relief_design::kinds;
use relief_design::tree;
use relief_raster::{Rect, Sample, ViewMut};

use crate::Error;
use crate::node::{
    Block, Bounds, Filled, Grid, Inputs, Known, Link, Node, Repeated, Resources, Tile, clear_around,
    of_plane, part,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Image {
    /// The number of the picture.
    pub(crate) picture: usize,
    pub(crate) width: u64,
    pub(crate) height: u64,
}

impl Node for Image {
    fn bounds(&self, known: &dyn Known, _: &[Link], rect: Rect) -> Bounds {
        let covered = rect.intersection(&Rect::sized(self.width, self.height));
        match covered.area() {
            0 => Bounds::ZERO,
            all if all == rect.area() => known.picture(self.picture, covered),
            _ => known.picture(self.picture, covered).or(Bounds::ZERO),
        }
    }

    fn blocks(&self, known: &dyn Known, links: &[Link], grid: Grid<'_>, out: &mut [Block]) {
        let across = Repeated::once(grid.xs, 0, self.width);
        let down = Repeated::once(grid.ys, 0, self.height);
        let bounds = |rect| self.bounds(known, links, rect);
        match known.picture_corners(self.picture, &across.places, &down.places) {
            Some(corners) => of_plane(grid, (&across, &down), &corners, known.max(), bounds, out),
            None => {
                for (block, rect) in out.iter_mut().zip(grid.rects()) {
                    *block = Block::within(rect, bounds);
                }
            }
        }
    }

    fn cost(&self) -> u64 {
        1
    }

    fn picture(&self) -> Option<usize> {
        Some(self.picture)
    }
}

impl Tile for Image {
    type Design = kinds::Image;

    fn new(kind: &kinds::Image, _: &tree::Node, resources: &mut dyn Resources) -> Result<Self, Error> {
        Ok(Self {
            picture: resources.picture(&kind.path, kind.conversion.clone(), (kind.width, kind.height)),
            width: kind.width,
            height: kind.height,
        })
    }

    fn tile<S: Sample>(
        &self,
        inputs: &dyn Inputs<S>,
        _: &[Link],
        rect: Rect,
        mut out: ViewMut<'_, S>,
        _: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        let covered = rect.intersection(&Rect::sized(self.width, self.height));
        if covered.is_empty() {
            return Ok(Filled::Uniform(S::ZERO));
        }
        let inner = covered.translated(-rect.x(), -rect.y());
        let view = inputs.picture_part(self.picture, covered).ok_or_else(|| {
            Error::defect(covered, "a part of an image is read that the plan does not keep")
        })?;
        part(&mut out, inner).copy_from(view);
        if inner.area() < rect.area() {
            clear_around(&mut out, inner);
        }
        Ok(Filled::Written)
    }
}
