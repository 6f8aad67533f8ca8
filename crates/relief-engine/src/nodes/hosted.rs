//! What the host computes from its place alone, and devices get from there: outlines and triangles, of which it keeps an index, sorted once for all
//! equal ones, that the plan counts with the design; and textures.
//!
//! Tiles that an index knows to be one sample cost nothing; a device would compute them all.

use std::fmt::Debug;
use std::hash::{Hash, Hasher};

use relief_design::tree;
use relief_raster::{Depth, Rect, Sample, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::device::Lowering;
use crate::node::{Bounds, Filled, Inputs, Known, Link, Node, Periodic, Request, Resources, Summary, Tile};

/// What is computed, and how.
pub(crate) trait Hosted: Clone + Debug + Sized {
    /// What the design has of it.
    type Design;
    /// What equal ones have in common: they compute the same samples.
    type Key: Eq + Hash;

    /// As [`Node::is_tall`].
    const IS_TALL: bool;

    /// Looks an index up, or sorts it.
    ///
    /// # Errors
    /// Where it is too large.
    fn new(design: &Self::Design, node: &tree::Node, resources: &mut dyn Resources) -> Result<Self, Error>;

    fn key(&self) -> Self::Key;

    /// The time of a sample that is not one of a uniform tile, in units of [`Node::cost`].
    fn cost(&self) -> u64;

    /// The least and the greatest sample of a rectangle that it tells in a moment.
    fn within<S: Sample>(&self, _rect: Rect) -> (u16, u16) {
        (0, S::MAX.to_u16())
    }

    /// Where it repeats; the node is `own`.
    fn period(&self, _own: Rect) -> Option<Periodic> {
        None
    }

    /// The words that [`compute`](Self::compute) takes for rows of so many samples.
    fn scratch_words<S: Sample>(&self, _width: u64) -> u64 {
        0
    }

    /// Computes the samples from (x, y) on, until `stop` says so. Where all are one, that is returned and nothing is written.
    fn compute<S: Sample>(
        &self,
        at: (i64, i64),
        out: ViewMut<'_, S>,
        scratch: &mut [u64],
        stop: &dyn Fn() -> bool,
    ) -> Option<S>;
}

/// Its node.
#[derive(Clone, Debug)]
pub(crate) struct Held<I> {
    of: I,
    depth: Depth,
}

impl<I: Hosted> PartialEq for Held<I> {
    fn eq(&self, other: &Self) -> bool {
        self.of.key() == other.of.key()
    }
}

impl<I: Hosted> Eq for Held<I> {}

impl<I: Hosted> Hash for Held<I> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.of.key().hash(state);
    }
}

impl<I: Hosted> Held<I> {
    fn within(&self, rect: Rect) -> Bounds {
        let (least, greatest) = match self.depth {
            Depth::Eight => self.of.within::<u8>(rect),
            Depth::Sixteen => self.of.within::<u16>(rect),
        };
        Bounds { least, greatest }
    }
}

impl<I: Hosted> Node for Held<I> {
    fn bounds(&self, _: &dyn Known, _: &[Link], rect: Rect) -> Bounds {
        self.within(rect)
    }

    fn summary(&self, _: &dyn Known, _: &[Link], rect: Rect) -> Option<Summary> {
        let Bounds { least, greatest } = self.within(rect);
        (least == greatest).then(|| Summary::constant(least, rect.area()))
    }

    fn period(&self, own: Rect, _: &[Link], _: &[Option<Periodic>]) -> Option<Periodic> {
        let Periodic { period, valid } = self.of.period(own)?;
        let valid = valid.intersection(&own);
        (!valid.is_empty()).then_some(Periodic { period, valid })
    }

    fn scratch(&self, _: &[Link], request: &Request, bytes: u64) -> u64 {
        match bytes {
            1 => self.of.scratch_words::<u8>(request.width),
            _ => self.of.scratch_words::<u16>(request.width),
        }
    }

    fn cost(&self) -> u64 {
        self.of.cost()
    }

    fn is_tall(&self) -> bool {
        I::IS_TALL
    }

    #[cfg(feature = "gpu")]
    fn lowering(&self) -> Lowering {
        Lowering::Host
    }
}

impl<I: Hosted> Tile for Held<I> {
    type Design = I::Design;

    fn new(design: &I::Design, node: &tree::Node, resources: &mut dyn Resources) -> Result<Self, Error> {
        let depth = resources.depth();
        Ok(Self {
            of: I::new(design, node, resources)?,
            depth,
        })
    }

    fn tile<S: Sample>(
        &self,
        inputs: &dyn Inputs<S>,
        _: &[Link],
        rect: Rect,
        out: ViewMut<'_, S>,
        scratch: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        let at = (rect.x(), rect.y());
        let filled = self.of.compute(at, out, scratch, &|| inputs.check().is_err());
        // What was stopped computed nothing of use.
        inputs.check()?;
        Ok(filled.map_or(Filled::Written, Filled::Uniform))
    }
}
