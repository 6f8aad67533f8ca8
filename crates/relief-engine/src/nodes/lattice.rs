//! `lattice`: copies of one pattern along two vectors, each at the nearest pixels, blended where they overlap.
//!
//! A lattice is periodic, and the plan keeps one cell of it where that fits. This file computes the samples of a
//! cell, or of tiles where a cell does not fit: the copies that meet the tile, one after the other. The kernel of devices
//! knows whole vectors alone; the host computes lattices of others for them.

use relief_design::kinds;
use relief_design::tree;
use relief_kernels::lattice::{self, Blend, cpu::Accumulator};
use relief_raster::{Period, Rect, Sample, View, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::device::{Failure, Launch, Lowering};
use crate::node::{
    Bounds, Filled, Footprint, Inputs, Known, Link, Node, Periodic, Request, Resources, Shows, Tile, scratch,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lattice {
    pub(crate) blend: tree::Blend,
    pub(crate) u: (i64, i64),
    pub(crate) v: (i64, i64),
    /// What the components of both vectors are divided by, along each axis.
    pub(crate) denominators: (u32, u32),
    pub(crate) period: Period,
}

impl Lattice {
    const fn blend(&self) -> Blend {
        match self.blend {
            tree::Blend::Mean => Blend::Mean,
            tree::Blend::Max => Blend::Max,
            tree::Blend::Min => Blend::Min,
            tree::Blend::Sum => Blend::Sum,
            tree::Blend::Last => Blend::Last,
        }
    }

    /// The most copies that cover one pixel. A checked design has no more than the accumulator takes, even where
    /// the kernels' own estimate is higher.
    fn overlap(&self, link: &Link) -> u128 {
        let size = (link.extent.width(), link.extent.height());
        lattice::fractional_overlap(size, self.u, self.v, self.denominators).min(lattice::cpu::MAX_OVERLAP)
    }

    /// The copies that meet `rect`, in the order in which they are blended.
    fn copies_in(&self, link: &Link, rect: Rect) -> lattice::Copies {
        let (extent, denominators) = (link.extent, self.denominators);
        let size = (extent.width(), extent.height());
        lattice::fractional_copies(rect, size, (extent.x(), extent.y()), self.u, self.v, denominators)
    }

    fn accumulator_words(&self, overlap: u128, width: u64, height: u64, bytes: u64) -> u64 {
        let (width, height) = (width as usize, height as usize);
        let words = if bytes == 1 {
            lattice::cpu::scratch_words::<u8>(self.blend(), overlap, width, height)
        } else {
            lattice::cpu::scratch_words::<u16>(self.blend(), overlap, width, height)
        };
        words as u64
    }
}

/// The most copies that are looked at to say what is read of a pattern; of more it is taken to be everything.
const MOST_COPIES: usize = 4_096;

/// The most copies that are told of one pixel.
const MOST_SHOWN: usize = 256;

impl Lattice {
    /// The part of the pattern, in its own coordinates, that each copy shows in `rect`.
    fn parts(&self, link: &Link, rect: Rect) -> impl Iterator<Item = Rect> {
        let pattern = link.extent.local();
        self.copies_in(link, rect)
            .map(move |copy| rect.translated(-copy.x, -copy.y).intersection(&pattern))
    }

    /// The samples of the pattern that computing `rect` takes where every copy is computed by itself, each grown by
    /// `halo`; `None` for very many copies.
    fn direct_samples(&self, link: &Link, rect: Rect, halo: u32) -> Option<u128> {
        let mut samples = 0_u128;
        for (number, part) in self.parts(link, rect).enumerate() {
            if number == MOST_COPIES {
                return None;
            }
            samples += part.grown(halo).area();
        }
        Some(samples)
    }
}

impl Node for Lattice {
    fn footprint(&self, _: &Link, _: usize) -> Footprint {
        Footprint::Anywhere
    }

    fn reads(&self, link: &Link, _: usize, rect: Rect) -> Rect {
        let whole = link.extent.local();
        let mut read = Rect::EMPTY;
        for (number, part) in self.parts(link, rect).enumerate() {
            if read == whole || number == MOST_COPIES {
                return whole;
            }
            read = read.union(&part);
        }
        read
    }

    fn shows(&self, link: &Link, _: usize, (x, y): (i64, i64)) -> Shows {
        let pixel = Rect::sized(1, 1).translated(x, y);
        let pixels: Vec<_> = self
            .copies_in(link, pixel)
            .filter(|copy| link.extent.local().contains(&pixel.translated(-copy.x, -copy.y)))
            .map(|copy| (x - copy.x, y - copy.y))
            .take(MOST_SHOWN)
            .collect();
        match pixels[..] {
            [] => Shows::Nothing,
            [(x, y)] => Shows::Pixel(x, y),
            _ => Shows::Copies {
                pixels,
                one: matches!(
                    self.blend,
                    tree::Blend::Max | tree::Blend::Min | tree::Blend::Last
                ),
            },
        }
    }

    fn period(&self, own: Rect, _: &[Link], _: &[Option<Periodic>]) -> Option<Periodic> {
        Some(Periodic {
            period: self.period,
            valid: own,
        })
    }

    fn scratch(&self, links: &[Link], request: &Request, bytes: u64) -> u64 {
        let part = self.asks(&links[0], 0, request);
        self.accumulator_words(self.overlap(&links[0]), request.width, request.height, bytes)
            .saturating_add(scratch::words(part.width.saturating_mul(part.height), bytes))
    }

    fn bounds(&self, known: &dyn Known, links: &[Link], rect: Rect) -> Bounds {
        let reads = self.reads(&links[0], 0, rect);
        if reads.is_empty() {
            return Bounds::ZERO;
        }
        let pattern = known.within(links[0].node, reads);
        let copies = match self.blend {
            tree::Blend::Sum => self.overlap(&links[0]),
            tree::Blend::Mean | tree::Blend::Max | tree::Blend::Min | tree::Blend::Last => 1,
        };
        // Sums stop at the greatest sample.
        let greatest = copies.saturating_mul(u128::from(pattern.greatest));
        Bounds::between(0, u16::try_from(greatest).unwrap_or(u16::MAX).min(known.max()))
    }

    fn cost(&self) -> u64 {
        10
    }

    fn copies(&self, link: &Link, asked: Rect, halo: u32) -> bool {
        let all = self.reads(link, 0, asked).grown(halo).area();
        self.direct_samples(link, asked, halo)
            .is_none_or(|direct| direct >= all)
    }

    #[cfg(feature = "gpu")]
    fn of_nothing(&self) -> Option<u16> {
        Some(0)
    }

    #[cfg(feature = "gpu")]
    fn lowering(&self) -> Lowering {
        if self.denominators == (1, 1) {
            Lowering::Kernel
        } else {
            Lowering::Host
        }
    }

    #[cfg(feature = "gpu")]
    fn launch(&self, launch: &Launch<'_>, links: &[Link]) -> Result<(), Failure> {
        let [Some((pattern, rect))] = &launch.children[..] else {
            return launch.fill(0);
        };
        let extent = links[0].extent;
        let lattice = lattice::gpu::Lattice {
            pattern: pattern.clone(),
            blend: self.blend(),
            offset: (extent.x() + rect.x(), extent.y() + rect.y()),
            u: self.u,
            v: self.v,
        };
        Ok(lattice::gpu::render(
            launch.gpu,
            &lattice,
            launch.need,
            launch.out,
            launch.pitch,
        )?)
    }

    #[cfg(feature = "gpu")]
    fn check_device(&self, pattern: (u64, u64)) -> Result<(), String> {
        lattice::gpu::check(pattern, self.blend(), self.u, self.v)
            .map(drop)
            .map_err(str::to_owned)
    }
}

impl Tile for Lattice {
    type Design = kinds::Lattice;

    fn new(kind: &kinds::Lattice, _: &tree::Node, _: &mut dyn Resources) -> Result<Self, Error> {
        Ok(Self {
            blend: kind.blend,
            u: kind.u,
            v: kind.v,
            denominators: kind.denominators,
            period: kind.period,
        })
    }

    fn tile<S: Sample>(
        &self,
        inputs: &dyn Inputs<S>,
        links: &[Link],
        rect: Rect,
        out: ViewMut<'_, S>,
        scratch: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        let link = &links[0];
        let overlap = self.overlap(link);
        let (width, height) = (out.width(), out.height());
        let words = self.accumulator_words(overlap, rect.width(), rect.height(), S::DEPTH.bytes());
        let (planes, rest) = scratch.split_at_mut(words as usize);
        let mut tile = Accumulator::<S>::new(self.blend(), overlap, width, height, planes);
        let kept = inputs.kept(link.node);
        for copy in self.copies_in(link, rect) {
            let (x, y) = (copy.x - rect.x(), copy.y - rect.y());
            if let Some(pattern) = kept {
                tile.add(x, y, pattern);
                continue;
            }
            inputs.check()?;
            let local = rect
                .translated(-copy.x, -copy.y)
                .intersection(&link.extent.local());
            let (columns, rows) = (local.width() as usize, local.height() as usize);
            let (samples, rest) = scratch::carve::<S>(rest, columns * rows);
            let mut part = ViewMut::packed(samples, columns, rows);
            match inputs.read(link.node, local, part.reborrow(), rest)? {
                Filled::Uniform(value) if value == S::ZERO => continue,
                filled => filled.write(part),
            }
            tile.add(x + local.x(), y + local.y(), View::packed(samples, columns, rows));
        }
        tile.finish(out);
        Ok(Filled::Written)
    }
}
