//! `flip`: a source mirrored along an axis.

use relief_design::kinds;
use relief_design::tree::{self, Axis};
#[cfg(feature = "gpu")]
use relief_kernels::fused::{self, Expression};
use relief_raster::{Period, Rect, Sample, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::device::Lower;
use crate::node::{
    Bounds, Filled, Footprint, Inputs, Known, Link, Node, Periodic, Resources, Summary, Tile, read_padded,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Flip {
    pub(crate) axis: Axis,
    /// The side of the node along the axis.
    pub(crate) side: u64,
}

impl Flip {
    /// The pixels that are shown in `rect`, and those in which `rect` is shown.
    fn mirrored(&self, rect: Rect) -> Rect {
        let side = self.side.cast_signed();
        match self.axis {
            Axis::X => Rect::between(side - rect.right(), rect.y(), side - rect.x(), rect.bottom()),
            Axis::Y => Rect::between(rect.x(), side - rect.bottom(), rect.right(), side - rect.y()),
        }
    }
}

impl Node for Flip {
    fn footprint(&self, _: &Link, _: usize) -> Footprint {
        Footprint::Map { turned: false }
    }

    fn reads(&self, link: &Link, _: usize, rect: Rect) -> Rect {
        link.local(self.mirrored(rect))
    }

    fn period(&self, own: Rect, links: &[Link], children: &[Option<Periodic>]) -> Option<Periodic> {
        let (link, child) = (links.first()?, (*children.first()?)?);
        let (a, b, c) = (child.period.a(), child.period.b(), child.period.c());
        let vector = |x: u64, y: u64| Some((i64::try_from(x).ok()?, i64::try_from(y).ok()?));
        let ((a, _), (b, c)) = (vector(a, 0)?, vector(b, c)?);
        // Mirrored along either axis, a lattice is the same one.
        Some(Periodic {
            period: Period::spanned((a, 0), (-b, c))?,
            valid: self
                .mirrored(child.valid.translated(link.extent.x(), link.extent.y()))
                .intersection(&own),
        })
    }

    fn bounds(&self, known: &dyn Known, links: &[Link], rect: Rect) -> Bounds {
        known.child(&links[0], self.mirrored(rect))
    }

    fn summary(&self, known: &dyn Known, links: &[Link], rect: Rect) -> Option<Summary> {
        Some(known.child_summary(&links[0], self.mirrored(rect)))
    }

    fn cost(&self) -> u64 {
        2
    }

    #[cfg(feature = "gpu")]
    fn of_nothing(&self) -> Option<u16> {
        Some(0)
    }

    #[cfg(feature = "gpu")]
    fn expression(&self, lower: &dyn Lower, links: &[Link]) -> Result<Expression, Error> {
        Ok(Expression::Mirrored {
            axis: match self.axis {
                Axis::X => fused::Axis::X,
                Axis::Y => fused::Axis::Y,
            },
            side: self.side,
            source: Box::new(lower.read(&links[0])?),
        })
    }
}

impl Tile for Flip {
    type Design = kinds::Flip;

    fn new(kind: &kinds::Flip, node: &tree::Node, _: &mut dyn Resources) -> Result<Self, Error> {
        Ok(Self {
            axis: kind.axis,
            side: match kind.axis {
                Axis::X => node.width,
                Axis::Y => node.height,
            },
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
        let filled = read_padded(inputs, &links[0], self.mirrored(rect), out.reborrow(), scratch)?;
        if filled == Filled::Written {
            let rows = out.height();
            match self.axis {
                Axis::X => (0..rows).for_each(|y| out.row_mut(y).reverse()),
                Axis::Y => {
                    let (mut above, below) = out.split_rows(rows / 2);
                    let mut below = below;
                    let last = below.height() - 1;
                    for y in 0..rows / 2 {
                        above.row_mut(y).swap_with_slice(below.row_mut(last - y));
                    }
                }
            }
        }
        Ok(filled)
    }
}
