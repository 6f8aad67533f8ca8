//! `disc`: the pixels whose centre lies within a circle.

use relief_design::kinds;
use relief_design::tree;
#[cfg(feature = "gpu")]
use relief_kernels::fused::Expression;
use relief_kernels::generate;
use relief_raster::{Rect, Sample, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::device::Lower;
use crate::node::{Bounds, Filled, Inputs, Known, Link, Node, Resources, Summary, Tile};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Disc {
    pub(crate) diameter: u64,
    pub(crate) value: u16,
}

/// The most rows of which the runs are summed for one answer.
const MOST_ROWS: u64 = 1 << 12;

impl Node for Disc {
    fn bounds(&self, _: &dyn Known, _: &[Link], rect: Rect) -> Bounds {
        if rect
            .intersection(&Rect::sized(self.diameter, self.diameter))
            .is_empty()
        {
            return Bounds::ZERO;
        }
        let inside = |x: i64, y: i64| {
            let mut sample = [0_u16];
            generate::cpu::disc(self.diameter, 1, x, y, ViewMut::packed(&mut sample, 1, 1));
            sample[0] > 0
        };
        let (right, bottom) = (rect.right() - 1, rect.bottom() - 1);
        // Convex: it holds what its corners span.
        let corners = [
            (rect.x(), rect.y()),
            (right, rect.y()),
            (rect.x(), bottom),
            (right, bottom),
        ];
        if corners.into_iter().all(|(x, y)| inside(x, y)) {
            Bounds::one(self.value)
        } else {
            Bounds::between(0, self.value)
        }
    }

    fn summary(&self, _: &dyn Known, _: &[Link], rect: Rect) -> Option<Summary> {
        // What lies above and below is 0.
        let rows = rect.intersection(&Rect::between(
            rect.x(),
            0,
            rect.right(),
            self.diameter.cast_signed(),
        ));
        if rows.height() > MOST_ROWS {
            return None;
        }
        let inside = (rows.y()..rows.bottom()).map(|y| {
            let (first, end) = generate::cpu::disc_run(self.diameter, y.into());
            let (left, right) = (i128::from(rect.x()), i128::from(rect.right()));
            (end.min(right) - first.max(left)).max(0).unsigned_abs()
        });
        let inside: u128 = inside.sum();
        let outside = rect.area() - inside;
        Some(Summary::constant(self.value, inside).and(Summary::constant(0, outside)))
    }

    fn cost(&self) -> u64 {
        1
    }

    #[cfg(feature = "gpu")]
    fn spans(&self) -> u64 {
        1
    }

    #[cfg(feature = "gpu")]
    fn expression(&self, _: &dyn Lower, _: &[Link]) -> Result<Expression, Error> {
        Ok(Expression::Disc {
            diameter: self.diameter,
            value: self.value,
        })
    }
}

impl Tile for Disc {
    type Design = kinds::Disc;

    fn new(kind: &kinds::Disc, _: &tree::Node, _: &mut dyn Resources) -> Result<Self, Error> {
        Ok(Self {
            diameter: kind.diameter,
            value: kind.value,
        })
    }

    fn tile<S: Sample>(
        &self,
        _: &dyn Inputs<S>,
        _: &[Link],
        rect: Rect,
        out: ViewMut<'_, S>,
        _: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        if rect
            .intersection(&Rect::sized(self.diameter, self.diameter))
            .is_empty()
        {
            return Ok(Filled::Uniform(S::ZERO));
        }
        generate::cpu::disc(self.diameter, S::from_u16(self.value), rect.x(), rect.y(), out);
        Ok(Filled::Written)
    }
}
