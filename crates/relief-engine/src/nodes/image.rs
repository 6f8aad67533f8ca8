//! `image`: a picture, held in memory as far as the design reads it, once for all its nodes; 0 beyond it.

#[cfg(feature = "gpu")]
use relief_kernels::fused::Expression;
use relief_raster::{Rect, Sample, ViewMut};

use super::{Filled, Link, Node, Periodic, clear_around, part};
use crate::Error;
use crate::evaluate::Reader;
#[cfg(feature = "gpu")]
use crate::gpu::Builder;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Image {
    /// The number of the picture.
    pub(crate) picture: usize,
    pub(crate) width: u64,
    pub(crate) height: u64,
}

impl Node for Image {
    fn period(&self, _: Rect, _: &[Link], _: &[Option<Periodic>]) -> Option<Periodic> {
        None
    }

    fn cost(&self) -> u64 {
        1
    }

    #[cfg(feature = "gpu")]
    fn expression(&self, _: &Builder<'_>, _: &[Link]) -> Result<Expression, Error> {
        Err(Error::defect(Rect::EMPTY, "an image is not on the device"))
    }

    fn tile<S: Sample>(
        &self,
        reader: &Reader<'_, S>,
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
        let Some(view) = reader.picture_part(self.picture, covered) else {
            return Err(Error::defect(
                rect,
                "a part of an image is read that the plan does not keep",
            ));
        };
        part(&mut out, inner).copy_from(view);
        if inner.area() < rect.area() {
            clear_around(&mut out, inner);
        }
        Ok(Filled::Written)
    }
}
