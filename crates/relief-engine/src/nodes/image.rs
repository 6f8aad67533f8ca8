//! `image`: a picture, held in memory as far as the design reads it, once for all its nodes, or read window by window; 0
//! beyond it.

use relief_design::kinds;
use relief_design::tree;
use relief_raster::{Rect, Sample, ViewMut};

use crate::Error;
use crate::node::{Bounds, Filled, Inputs, Known, Link, Node, Resources, Summary, Tile, clear_around, part};

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

    fn summary(&self, known: &dyn Known, _: &[Link], rect: Rect) -> Option<Summary> {
        let covered = rect.intersection(&Rect::sized(self.width, self.height));
        let beyond = Summary::constant(0, rect.area() - covered.area());
        if covered.is_empty() {
            return Some(beyond);
        }
        Some(known.picture_summary(self.picture, covered)?.and(beyond))
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
            picture: resources.picture(&kind.path, kind.conversion, (kind.width, kind.height)),
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
        match inputs.picture_part(self.picture, covered) {
            Some(view) => part(&mut out, inner).copy_from(view),
            None => inputs.picture_window(self.picture, covered, part(&mut out, inner))?,
        }
        if inner.area() < rect.area() {
            clear_around(&mut out, inner);
        }
        Ok(Filled::Written)
    }
}
