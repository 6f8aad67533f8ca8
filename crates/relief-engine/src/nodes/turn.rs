//! `turn`: a source turned clockwise by quarters.

use relief_design::kinds;
use relief_design::tree;
#[cfg(feature = "gpu")]
use relief_kernels::fused::{self, Expression};
use relief_kernels::turn;
use relief_raster::{Period, Rect, Sample, View, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::device::{Failure, Launch, Lower, Lowering};
use crate::node::{
    Bounds, Filled, Footprint, Inputs, Known, Link, Node, Periodic, Request, Resources, Summary, Tile,
    read_padded, scratch,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Turn {
    /// 1, 2 or 3, clockwise.
    pub(crate) quarters: u8,
    /// Columns of the node.
    pub(crate) width: u64,
    /// Rows of the node.
    pub(crate) height: u64,
}

impl Turn {
    const fn swaps(&self) -> bool {
        self.quarters != 2
    }

    /// The pixels of the source, before it is turned, that are shown in `rect`.
    fn before(&self, rect: Rect) -> Rect {
        let (width, height) = (self.width.cast_signed(), self.height.cast_signed());
        let (x, y, right, bottom) = (rect.x(), rect.y(), rect.right(), rect.bottom());
        match self.quarters {
            // The left column shows the bottom row: (x, y) shows (y, width − 1 − x).
            1 => Rect::between(y, width - right, bottom, width - x),
            2 => Rect::between(width - right, height - bottom, width - x, height - y),
            _ => Rect::between(height - bottom, x, height - y, right),
        }
    }

    /// The pixels in which `rect` of the source is shown.
    fn after(&self, rect: Rect) -> Rect {
        let (width, height) = (self.width.cast_signed(), self.height.cast_signed());
        let (x, y, right, bottom) = (rect.x(), rect.y(), rect.right(), rect.bottom());
        match self.quarters {
            1 => Rect::between(width - bottom, x, width - y, right),
            2 => Rect::between(width - right, height - bottom, width - x, height - y),
            _ => Rect::between(y, height - right, bottom, height - x),
        }
    }
}

impl Node for Turn {
    fn footprint(&self, _: &Link, _: usize) -> Footprint {
        Footprint::Map { turned: self.swaps() }
    }

    fn is_turned(&self) -> bool {
        self.swaps()
    }

    fn reads(&self, link: &Link, _: usize, rect: Rect) -> Rect {
        link.local(self.before(rect))
    }

    fn period(&self, own: Rect, links: &[Link], children: &[Option<Periodic>]) -> Option<Periodic> {
        let (link, child) = (links.first()?, (*children.first()?)?);
        let signed = |side: u64| i64::try_from(side).ok();
        let (a, b, c) = (
            signed(child.period.a())?,
            signed(child.period.b())?,
            signed(child.period.c())?,
        );
        let period = if self.swaps() {
            Period::spanned((0, a), (-c, b))?
        } else {
            child.period
        };
        Some(Periodic {
            period,
            valid: self
                .after(child.valid.translated(link.extent.x(), link.extent.y()))
                .intersection(&own),
        })
    }

    fn asks(&self, link: &Link, _: usize, request: &Request) -> Request {
        let (width, height) = if self.swaps() {
            (request.height, request.width)
        } else {
            (request.width, request.height)
        };
        Request {
            width: width.min(link.extent.width()),
            height: height.min(link.extent.height()),
        }
    }

    fn scratch(&self, _: &[Link], request: &Request, bytes: u64) -> u64 {
        if self.swaps() {
            scratch::words(request.width.saturating_mul(request.height), bytes)
        } else {
            0
        }
    }

    fn bounds(&self, known: &dyn Known, links: &[Link], rect: Rect) -> Bounds {
        known.child(&links[0], self.before(rect))
    }

    fn summary(&self, known: &dyn Known, links: &[Link], rect: Rect) -> Option<Summary> {
        Some(known.child_summary(&links[0], self.before(rect)))
    }

    fn cost(&self) -> u64 {
        3
    }

    #[cfg(feature = "gpu")]
    fn of_nothing(&self) -> Option<u16> {
        Some(0)
    }

    #[cfg(feature = "gpu")]
    fn lowering(&self) -> Lowering {
        if self.swaps() {
            Lowering::Kernel
        } else {
            Lowering::Fused
        }
    }

    #[cfg(feature = "gpu")]
    fn expression(&self, lower: &dyn Lower, links: &[Link]) -> Result<Expression, Error> {
        // Half a turn: mirrored along both axes.
        let mirrored = |axis, side, source| Expression::Mirrored {
            axis,
            side,
            source: Box::new(source),
        };
        let rows = mirrored(fused::Axis::Y, self.height, lower.read(&links[0])?);
        Ok(mirrored(fused::Axis::X, self.width, rows))
    }

    #[cfg(feature = "gpu")]
    fn launch(&self, launch: &Launch<'_>, links: &[Link]) -> Result<(), Failure> {
        let [Some((source, rect))] = &launch.children[..] else {
            return launch.fill(0);
        };
        let (extent, need) = (links[0].extent, launch.need);
        let clockwise = self.quarters == 1;
        // The pixel of the source that the first one of `need` shows.
        let before = self.before(need);
        let first = if clockwise {
            (before.x(), before.bottom() - 1)
        } else {
            (before.right() - 1, before.y())
        };
        Ok(turn::gpu::quarter(
            launch.gpu,
            source,
            (first.0 - extent.x() - rect.x(), first.1 - extent.y() - rect.y()),
            clockwise,
            (need.width(), need.height()),
            launch.out,
            launch.pitch,
        )?)
    }
}

impl Tile for Turn {
    type Design = kinds::Turn;

    fn new(kind: &kinds::Turn, node: &tree::Node, _: &mut dyn Resources) -> Result<Self, Error> {
        Ok(Self {
            quarters: kind.quarters,
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
        let before = self.before(rect);
        if !self.swaps() {
            let filled = read_padded(inputs, &links[0], before, out.reborrow(), scratch)?;
            if filled == Filled::Written {
                let rows = out.height();
                let (mut above, mut below) = out.split_rows(rows / 2);
                let last = below.height() - 1;
                for y in 0..rows / 2 {
                    above.row_mut(y).swap_with_slice(below.row_mut(last - y));
                    above.row_mut(y).reverse();
                    below.row_mut(last - y).reverse();
                }
                if rows % 2 == 1 {
                    below.row_mut(0).reverse();
                }
            }
            return Ok(filled);
        }
        let (width, height) = (before.width() as usize, before.height() as usize);
        let (samples, rest) = scratch::carve::<S>(scratch, width * height);
        let source = ViewMut::packed(samples, width, height);
        match read_padded(inputs, &links[0], before, source, rest)? {
            Filled::Uniform(value) => return Ok(Filled::Uniform(value)),
            Filled::Written => {}
        }
        turn::cpu::quarter(View::packed(samples, width, height), self.quarters == 1, out);
        Ok(Filled::Written)
    }
}
