//! `dither`: grays as dots of 0 and M, by a matrix of levels.

use relief_design::halftone::Matrix;
use relief_design::kinds;
use relief_design::tree;
use relief_kernels::dither;
use relief_raster::{Period, Rect, Sample, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::device::Lowering;
use crate::node::{
    Bounds, Filled, Inputs, Known, Link, Node, Periodic, Resources, Tile, read_padded, through,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Dither {
    /// The number of the table of levels.
    table: usize,
    width: u64,
    height: u64,
    /// How far the levels of each next height of rows lie to the right.
    shift: u64,
    spot: u64,
    /// The least and the greatest level.
    least: u16,
    greatest: u16,
}

impl Dither {
    /// The sample of all pixels where the source is this one, if it is one.
    fn of_one<S: Sample>(&self, sample: S) -> Option<S> {
        if sample.to_u16() >= self.greatest {
            Some(S::MAX)
        } else {
            (sample.to_u16() < self.least).then_some(S::ZERO)
        }
    }
}

impl Node for Dither {
    fn period(&self, own: Rect, links: &[Link], children: &[Option<Periodic>]) -> Option<Periodic> {
        let source = through(own, links, children)?;
        let signed = |places: u64| i64::try_from(places * self.spot).ok();
        let (width, height, shift) = (signed(self.width)?, signed(self.height)?, signed(self.shift)?);
        let matrix = Period::spanned((width, 0), (shift, height))?;
        Some(Periodic {
            period: source.period.intersection(&matrix)?,
            ..source
        })
    }

    fn bounds(&self, known: &dyn Known, links: &[Link], rect: Rect) -> Bounds {
        let source = known.child(&links[0], rect);
        Bounds {
            least: if source.least >= self.greatest {
                known.max()
            } else {
                0
            },
            greatest: if source.greatest >= self.least {
                known.max()
            } else {
                0
            },
        }
    }

    fn cost(&self) -> u64 {
        2
    }

    #[cfg(feature = "gpu")]
    fn of_nothing(&self) -> Option<u16> {
        (self.least > 0).then_some(0)
    }

    #[cfg(feature = "gpu")]
    fn lowering(&self) -> Lowering {
        Lowering::Host
    }
}

impl Tile for Dither {
    type Design = kinds::Dither;

    fn new(kind: &kinds::Dither, _: &tree::Node, resources: &mut dyn Resources) -> Result<Self, Error> {
        let matrix = Matrix::new(kind.halftone, resources.depth()).ok().flatten();
        let Some(matrix) = matrix else {
            return Err(Error::defect(Rect::EMPTY, "a halftone that no node can have"));
        };
        let (width, height) = (matrix.width as u64, matrix.height() as u64);
        let least = matrix.levels.iter().copied().min().unwrap_or(0);
        let greatest = matrix.levels.iter().copied().max().unwrap_or(0);
        Ok(Self {
            width,
            height,
            shift: matrix.shift,
            spot: matrix.spot,
            least,
            greatest,
            table: resources.made_table(matrix.levels),
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
        let filled = read_padded(inputs, &links[0], rect, out.reborrow(), scratch)?;
        if let Filled::Uniform(sample) = filled {
            if let Some(one) = self.of_one(sample) {
                return Ok(Filled::Uniform(one));
            }
            filled.write(out.reborrow());
        }
        let levels = inputs.table(self.table);
        // A node begins at (0, 0) of its own coordinates.
        let (x, y) = (rect.x().unsigned_abs(), rect.y().unsigned_abs());
        for row in 0..out.height() {
            let down = (y + row as u64) / self.spot;
            let (above, line) = (down / self.height, down % self.height);
            let levels = &levels[(line * self.width) as usize..][..self.width as usize];
            // What lies further to the right begins further to the left.
            let moved = (self.width - above % self.width * self.shift % self.width) % self.width;
            dither::cpu::row(out.row_mut(row), levels, self.spot, x + moved * self.spot);
        }
        Ok(Filled::Written)
    }
}
