//! `ramp`: a linear slope along one axis.

use relief_design::kinds;
use relief_design::tree::{self, Axis};
#[cfg(feature = "gpu")]
use relief_kernels::fused::Expression;
use relief_kernels::generate;
use relief_raster::{Rect, Sample, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::device::Lower;
use crate::node::{Block, Bounds, Edges, Filled, Grid, Inputs, Known, Link, Node, Resources, Summary, Tile};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ramp {
    pub(crate) axis: Axis,
    pub(crate) from: u16,
    pub(crate) to: u16,
    /// The extent along the axis.
    pub(crate) length: u64,
}

impl Ramp {
    /// The sample at a place along the axis.
    fn at(&self, place: i64) -> u16 {
        let mut sample = [0_u16];
        let view = ViewMut::packed(&mut sample, 1, 1);
        let axis = generate::cpu::Axis::X;
        generate::cpu::ramp(axis, self.from, self.to, self.length, place.unsigned_abs(), view);
        sample[0]
    }

    /// All samples of a rectangle.
    fn summed(&self, known: &dyn Known, links: &[Link], rect: Rect) -> Summary {
        if rect.is_empty() {
            return Summary::EMPTY;
        }
        let (first, end, across) = match self.axis {
            Axis::X => (rect.x(), rect.right(), rect.height()),
            Axis::Y => (rect.y(), rect.bottom(), rect.width()),
        };
        let bounds = self.bounds(known, links, rect);
        let (first, end) = (first.unsigned_abs(), end.unsigned_abs());
        let sum = generate::ramp_sum(self.from, self.to, self.length, first, end) * u128::from(across);
        // How many are 0 is not asked for.
        let zeros = Summary::within(bounds, rect.area()).zeros;
        let exact = Summary::exact(rect.area(), sum, 0, bounds.least, bounds.greatest);
        Summary { zeros, ..exact }
    }
}

impl Node for Ramp {
    fn bounds(&self, _: &dyn Known, _: &[Link], rect: Rect) -> Bounds {
        let (first, last) = match self.axis {
            Axis::X => (rect.x(), rect.right() - 1),
            Axis::Y => (rect.y(), rect.bottom() - 1),
        };
        Bounds::between(self.at(first), self.at(last))
    }

    fn blocks(&self, known: &dyn Known, links: &[Link], grid: Grid<'_>, out: &mut [Block]) {
        let columns = grid.columns();
        // All blocks of a column, or of a row, are alike but for how far they go across.
        let along: Vec<Summary> = match self.axis {
            Axis::X => (grid.xs.windows(2))
                .map(|x| Rect::between(x[0], 0, x[1], 1))
                .map(|rect| self.summed(known, links, rect))
                .collect(),
            Axis::Y => (grid.ys.windows(2))
                .map(|y| Rect::between(0, y[0], 1, y[1]))
                .map(|rect| self.summed(known, links, rect))
                .collect(),
        };
        for (number, block) in out.iter_mut().enumerate() {
            let rect = grid.rect(number);
            let (one, count) = match self.axis {
                Axis::X => (along[number % columns], rect.height()),
                Axis::Y => (along[number / columns], rect.width()),
            };
            *block = Block::of(one.times(count.into()));
        }
    }

    /// Where it steps.
    fn edges(&self, _: &dyn Known, _: &[Link], hull: Rect, place: (i64, i64), edges: &mut Edges) {
        let (from, to) = match self.axis {
            Axis::X => (hull.x(), hull.right()),
            Axis::Y => (hull.y(), hull.bottom()),
        };
        let (first, last) = (self.at(from), self.at(to - 1));
        if usize::from(first.abs_diff(last)) > edges.most {
            return;
        }
        let mut at = from;
        while self.at(at) != last {
            // The first place with another sample: it steps one way.
            let (sample, mut low, mut high) = (self.at(at), at, to - 1);
            while high - low > 1 {
                let middle = low.midpoint(high);
                if self.at(middle) == sample {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            match self.axis {
                Axis::X => edges.add_x(high + place.0),
                Axis::Y => edges.add_y(high + place.1),
            }
            at = high;
        }
    }

    fn cost(&self) -> u64 {
        2
    }

    #[cfg(feature = "gpu")]
    fn expression(&self, _: &dyn Lower, _: &[Link]) -> Result<Expression, Error> {
        let axis = match self.axis {
            Axis::X => relief_kernels::fused::Axis::X,
            Axis::Y => relief_kernels::fused::Axis::Y,
        };
        Ok(Expression::Ramp {
            axis,
            from: self.from,
            to: self.to,
            length: self.length,
        })
    }
}

impl Tile for Ramp {
    type Design = kinds::Ramp;

    fn new(kind: &kinds::Ramp, node: &tree::Node, _: &mut dyn Resources) -> Result<Self, Error> {
        Ok(Self {
            axis: kind.axis,
            from: kind.from,
            to: kind.to,
            length: match kind.axis {
                Axis::X => node.width,
                Axis::Y => node.height,
            },
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
        let (axis, start) = match self.axis {
            Axis::X => (generate::cpu::Axis::X, rect.x()),
            Axis::Y => (generate::cpu::Axis::Y, rect.y()),
        };
        let (from, to) = (S::from_u16(self.from), S::from_u16(self.to));
        generate::cpu::ramp(axis, from, to, self.length, start.unsigned_abs(), out);
        Ok(Filled::Written)
    }
}
