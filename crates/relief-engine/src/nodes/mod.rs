//! The node kinds: one file each, one small trait.
//!
//! A node knows how it reads its children, how it repeats and how it computes a rectangle of its samples. It knows
//! nothing of tiles, threads, caches or devices: [`Reader`] answers what a child holds, from wherever the plan
//! keeps it.

pub(crate) mod compose;
mod disc;
pub(crate) mod distance;
mod fill;
mod image;
pub(crate) mod lattice;
mod map;
mod noise;
mod ramp;
pub(crate) mod repeat;
mod threshold;

use relief_design::tree::{self, Role};
#[cfg(feature = "gpu")]
use relief_kernels::fused::Expression;
use relief_raster::{Extent, Period, Rect, Sample, ViewMut};

use crate::Error;
use crate::evaluate::Reader;
#[cfg(feature = "gpu")]
use crate::gpu::Builder;

/// A child as its parent sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Link {
    /// The number of the child in the plan.
    pub(crate) node: usize,
    /// What the child is for.
    pub(crate) role: Role,
    /// Where it lies in the parent's coordinates.
    pub(crate) extent: Extent,
}

impl Link {
    /// The part of the child that lies in `rect` (parent's coordinates), in the child's own coordinates.
    pub(crate) fn local(&self, rect: Rect) -> Rect {
        rect.intersection(&self.extent.in_parent())
            .translated(-self.extent.x(), -self.extent.y())
    }
}

/// What computing a rectangle gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filled<S> {
    /// Every sample is this one; nothing was written.
    Uniform(S),
    /// Every sample was written.
    Written,
}

impl<S: Sample> Filled<S> {
    /// Writes the samples if they are not written yet.
    pub(crate) fn write(self, mut out: ViewMut<'_, S>) {
        if let Self::Uniform(value) = self {
            out.fill(value);
        }
    }
}

/// A raster that repeats inside `valid`, in the node's own coordinates: samples of two pixels of `valid` that
/// differ by a vector of `period` are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Periodic {
    pub(crate) period: Period,
    pub(crate) valid: Rect,
}

/// What a node needs to be sized: how it is asked for and what its children hold.
pub(crate) struct Request {
    /// The most columns asked for at once.
    pub(crate) width: u64,
    /// The most rows asked for at once.
    pub(crate) height: u64,
}

/// A node kind.
pub(crate) trait Node {
    /// How far beyond a rectangle the child is read.
    fn halo(&self, _link: usize) -> u32 {
        0
    }

    /// The part of the child that is read for `rect`, in the child's own coordinates.
    fn reads(&self, link: &Link, index: usize, rect: Rect) -> Rect {
        link.local(rect.grown(self.halo(index)))
    }

    /// How the node repeats within `own`, its rectangle in its own coordinates; `children` say how they do.
    fn period(&self, own: Rect, links: &[Link], children: &[Option<Periodic>]) -> Option<Periodic>;

    /// The greatest rectangle of the child that is asked for at once when `request` is asked of the node.
    fn asks(&self, link: &Link, index: usize, request: &Request) -> Request {
        let _ = index;
        Request {
            width: request.width.min(link.extent.width()),
            height: request.height.min(link.extent.height()),
        }
    }

    /// The words of scratch that the node itself needs for `request`, beside those of its children; `bytes` is
    /// the size of a sample.
    fn scratch(&self, links: &[Link], request: &Request, bytes: u64) -> u64 {
        let _ = (links, request, bytes);
        0
    }

    /// Roughly how many simple operations a sample takes, without the children: only used to decide what is
    /// worth keeping.
    fn cost(&self) -> u64;

    /// The node as a device kernel computes it, in its own coordinates. Meaningful inside its extent.
    #[cfg(feature = "gpu")]
    fn expression(&self, builder: &Builder<'_>, links: &[Link]) -> Result<Expression, Error>;

    /// Computes `rect`, in the node's own coordinates and inside its extent, into `out`, which has its size.
    fn tile<S: Sample>(
        &self,
        reader: &Reader<'_, S>,
        links: &[Link],
        rect: Rect,
        out: ViewMut<'_, S>,
        scratch: &mut [u64],
    ) -> Result<Filled<S>, Error>;
}

/// One row a kind: the variant, the file that implements it, and how it is made of a node of the design.
macro_rules! kinds {
    ($($variant:ident => $module:ident :: $type:ident),* $(,)?) => {
        /// Any node kind.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Kind {
            $($variant($module::$type)),*
        }

        impl Kind {
            pub(crate) fn halo(&self, link: usize) -> u32 {
                match self { $(Self::$variant(node) => node.halo(link)),* }
            }

            pub(crate) fn reads(&self, link: &Link, index: usize, rect: Rect) -> Rect {
                match self { $(Self::$variant(node) => node.reads(link, index, rect)),* }
            }

            pub(crate) fn period(&self, own: Rect, links: &[Link], children: &[Option<Periodic>]) -> Option<Periodic> {
                match self { $(Self::$variant(node) => node.period(own, links, children)),* }
            }

            pub(crate) fn asks(&self, link: &Link, index: usize, request: &Request) -> Request {
                match self { $(Self::$variant(node) => node.asks(link, index, request)),* }
            }

            pub(crate) fn scratch(&self, links: &[Link], request: &Request, bytes: u64) -> u64 {
                match self { $(Self::$variant(node) => node.scratch(links, request, bytes)),* }
            }

            pub(crate) fn cost(&self) -> u64 {
                match self { $(Self::$variant(node) => node.cost()),* }
            }

            #[cfg(feature = "gpu")]
            pub(crate) fn expression(&self, builder: &Builder<'_>, links: &[Link]) -> Result<Expression, Error> {
                match self { $(Self::$variant(node) => node.expression(builder, links)),* }
            }

            pub(crate) fn tile<S: Sample>(
                &self,
                reader: &Reader<'_, S>,
                links: &[Link],
                rect: Rect,
                out: ViewMut<'_, S>,
                scratch: &mut [u64],
            ) -> Result<Filled<S>, Error> {
                match self { $(Self::$variant(node) => node.tile(reader, links, rect, out, scratch)),* }
            }
        }
    };
}

kinds! {
    Compose => compose::Compose,
    Disc => disc::Disc,
    Distance => distance::Distance,
    Fill => fill::Fill,
    Image => image::Image,
    Lattice => lattice::Lattice,
    Map => map::Map,
    Noise => noise::Noise,
    Ramp => ramp::Ramp,
    Repeat => repeat::Repeat,
    Threshold => threshold::Threshold,
}

impl Kind {
    /// The kind of a node of the design. `table` and `picture` are the numbers of its table and its picture; they are
    /// only used by kinds that have one.
    pub(crate) fn new(node: &tree::Node, table: usize, picture: usize) -> Self {
        match &node.kind {
            tree::Kind::Compose => Self::Compose(compose::Compose),
            tree::Kind::Disc { diameter, value } => Self::Disc(disc::Disc {
                diameter: *diameter,
                value: *value,
            }),
            tree::Kind::Distance {
                radius,
                profile,
                beyond,
            } => Self::Distance(distance::Distance {
                radius: *radius,
                at_zero: profile.first().copied().unwrap_or(*beyond),
                beyond: *beyond,
                table,
            }),
            tree::Kind::Fill { value } => Self::Fill(fill::Fill { value: *value }),
            tree::Kind::Image { width, height, .. } => Self::Image(image::Image {
                picture,
                width: *width,
                height: *height,
            }),
            tree::Kind::Lattice { blend, u, v, period } => Self::Lattice(lattice::Lattice {
                blend: *blend,
                u: *u,
                v: *v,
                period: *period,
            }),
            tree::Kind::Map { .. } => Self::Map(map::Map { table }),
            tree::Kind::Noise { seed } => Self::Noise(noise::Noise { seed: *seed }),
            tree::Kind::Ramp { axis, from, to } => Self::Ramp(ramp::Ramp {
                axis: *axis,
                from: *from,
                to: *to,
                length: match axis {
                    tree::Axis::X => node.width,
                    tree::Axis::Y => node.height,
                },
            }),
            tree::Kind::Repeat { step_x, step_y } => Self::Repeat(repeat::Repeat {
                step_x: *step_x,
                step_y: *step_y,
            }),
            tree::Kind::Threshold { level } => Self::Threshold(threshold::Threshold { level: *level }),
        }
    }
}

/// Writes 0 to the parts of `out` that lie outside `inner`, which is given in the coordinates of `out`.
pub(crate) fn clear_around<S: Sample>(out: &mut ViewMut<'_, S>, inner: Rect) {
    around(
        Rect::sized(out.width() as u64, out.height() as u64),
        inner,
        |border| part(out, border).fill(S::ZERO),
    );
}

/// Calls `each` with the up to four rectangles that make up `outer` without `inner`, which lies inside it.
pub(crate) fn around(outer: Rect, inner: Rect, mut each: impl FnMut(Rect)) {
    if inner.is_empty() {
        if !outer.is_empty() {
            each(outer);
        }
        return;
    }
    for border in [
        Rect::between(outer.x(), outer.y(), outer.right(), inner.y()),
        Rect::between(outer.x(), inner.y(), inner.x(), inner.bottom()),
        Rect::between(inner.right(), inner.y(), outer.right(), inner.bottom()),
        Rect::between(outer.x(), inner.bottom(), outer.right(), outer.bottom()),
    ] {
        if !border.is_empty() {
            each(border);
        }
    }
}

/// The part of `out` that holds `inner`, which is given in the coordinates of `out`.
pub(crate) fn part<'a, S>(out: &'a mut ViewMut<'_, S>, inner: Rect) -> ViewMut<'a, S> {
    out.part(
        inner.x() as usize,
        inner.y() as usize,
        inner.width() as usize,
        inner.height() as usize,
    )
}

/// Reads the only child of a node into `out`, 0 where the child is not.
pub(crate) fn read_padded<S: Sample>(
    reader: &Reader<'_, S>,
    link: &Link,
    rect: Rect,
    mut out: ViewMut<'_, S>,
    scratch: &mut [u64],
) -> Result<Filled<S>, Error> {
    let covered = rect.intersection(&link.extent.in_parent());
    if covered.is_empty() {
        return Ok(Filled::Uniform(S::ZERO));
    }
    let local = link.local(rect);
    if covered == rect {
        return reader.read(link.node, local, out, scratch);
    }
    let inner = covered.translated(-rect.x(), -rect.y());
    let filled = reader.read(link.node, local, part(&mut out, inner), scratch)?;
    if filled == Filled::Uniform(S::ZERO) {
        return Ok(filled);
    }
    filled.write(part(&mut out, inner));
    clear_around(&mut out, inner);
    Ok(Filled::Written)
}

/// How a node repeats that computes every sample from the sample of its only child at the same place.
pub(crate) fn through(own: Rect, links: &[Link], children: &[Option<Periodic>]) -> Option<Periodic> {
    let (link, child) = (links.first()?, (*children.first()?)?);
    let valid = child
        .valid
        .translated(link.extent.x(), link.extent.y())
        .intersection(&own);
    Some(Periodic {
        period: child.period,
        valid,
    })
}
