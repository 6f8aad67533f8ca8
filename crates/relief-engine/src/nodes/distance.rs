//! `distance`: a profile of the distance to the nearest white pixel of a mask.
//!
//! The mask is read `radius` pixels beyond the tile on every side, in chunks of rows that are handed to the
//! transform as they come, so that a radius larger than the tile does not need a mask as large as itself.

use relief_design::kinds;
use relief_design::tree;
#[cfg(feature = "gpu")]
use relief_kernels::device::{DeviceError, DeviceReport, Gpu};
use relief_kernels::distance::cpu::{Transform, scratch_words};
#[cfg(feature = "gpu")]
use relief_kernels::distance::{self, gpu::Profile};
use relief_kernels::uniform;
#[cfg(feature = "gpu")]
use relief_raster::Depth;
use relief_raster::{Rect, Sample, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::SamplesOf;
#[cfg(feature = "gpu")]
use crate::node::device::{Failure, Launch, Lowering, Upload};
use crate::node::{
    Bounds, Filled, Footprint, Inputs, Known, Link, Node, Periodic, Request, Resources, Tile, scratch,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Distance {
    pub(crate) radius: u32,
    /// The sample on a white pixel.
    pub(crate) at_zero: u16,
    pub(crate) beyond: u16,
    /// The number of the table that holds the profile.
    pub(crate) table: usize,
}

/// The samples of the mask that are read at once for a tile of [`USUAL_WIDTH`] columns.
const CHUNK: u64 = 1 << 17;

/// The columns of a tile for which a chunk is sized.
const USUAL_WIDTH: u64 = 1_024;

impl Distance {
    /// The rows of the mask that are read at once for a tile of this height. They do not depend on its width: a
    /// narrower tile must not ask for more rows than the plan has given the children scratch for.
    fn chunk_rows(&self, height: u64) -> u64 {
        let radius = 2 * u64::from(self.radius);
        (CHUNK / (USUAL_WIDTH + radius)).clamp(1, height + radius)
    }
}

impl Node for Distance {
    fn footprint(&self, _: &Link, _: usize) -> Footprint {
        Footprint::Margins(self.radius)
    }

    fn period(&self, own: Rect, links: &[Link], children: &[Option<Periodic>]) -> Option<Periodic> {
        let (link, mask) = (links.first()?, (*children.first()?)?);
        let valid = mask.valid.translated(link.extent.x(), link.extent.y());
        // Nearer than the radius to where the mask ends or stops repeating, distances differ.
        Some(Periodic {
            period: mask.period,
            valid: valid.shrunk(self.radius).intersection(&own),
        })
    }

    fn asks(&self, link: &Link, _: usize, request: &Request) -> Request {
        let radius = 2 * u64::from(self.radius);
        Request {
            width: (request.width + radius).min(link.extent.width()),
            height: self.chunk_rows(request.height).min(link.extent.height()),
        }
    }

    fn scratch(&self, _: &[Link], request: &Request, bytes: u64) -> u64 {
        let radius = 2 * u64::from(self.radius);
        let chunk = self
            .chunk_rows(request.height)
            .saturating_mul(request.width + radius);
        let transform = scratch_words(request.width as usize, request.height as usize, self.radius);
        (transform as u64).saturating_add(scratch::words(chunk, bytes))
    }

    fn bounds(&self, known: &dyn Known, links: &[Link], rect: Rect) -> Bounds {
        if known.child(&links[0], rect).least > 0 {
            return Bounds::one(self.at_zero);
        }
        if known.child(&links[0], rect.grown(self.radius)) == Bounds::ZERO {
            return Bounds::one(self.beyond);
        }
        let ends = Bounds::between(self.at_zero, self.beyond);
        let profile = known.table(self.table);
        let all = (profile.iter().copied().min()).zip(profile.iter().copied().max());
        all.map_or(ends, |(least, greatest)| ends.or(Bounds { least, greatest }))
    }

    fn cost(&self) -> u64 {
        20
    }

    #[cfg(feature = "gpu")]
    fn table(&self) -> Option<usize> {
        Some(self.table)
    }

    #[cfg(feature = "gpu")]
    fn of_nothing(&self) -> Option<u16> {
        Some(self.beyond)
    }

    #[cfg(feature = "gpu")]
    fn lowering(&self) -> Lowering {
        Lowering::Kernel
    }

    #[cfg(feature = "gpu")]
    fn launch(&self, launch: &Launch<'_>, links: &[Link]) -> Result<(), Failure> {
        let [Some((mask, rect))] = &launch.children[..] else {
            return launch.fill(self.beyond);
        };
        let extent = links[0].extent;
        let place = (extent.x() + rect.x(), extent.y() + rect.y());
        let (scratch, profile) = (launch.scratch, launch.upload::<Profile>()?);
        Ok(distance::gpu::render(
            launch.gpu,
            scratch,
            mask,
            place,
            profile,
            launch.need,
            launch.out,
            launch.pitch,
        )?)
    }

    #[cfg(feature = "gpu")]
    fn device_scratch(&self, report: &DeviceReport, _: Depth, width: u64, height: u64) -> u64 {
        let sides = u32::try_from(width).ok().zip(u32::try_from(height).ok());
        let bytes = |(width, height)| distance::gpu::scratch_bytes(report, width, height, self.radius);
        sides.and_then(bytes).map_or(u64::MAX, |bytes| bytes.div_ceil(4))
    }

    #[cfg(feature = "gpu")]
    fn upload(&self, gpu: &Gpu, table: SamplesOf<'_>) -> Option<Result<Upload, DeviceError>> {
        let profile = match table {
            SamplesOf::Eight(table) => Profile::upload(gpu, self.radius, table, u8::from_u16(self.beyond)),
            SamplesOf::Sixteen(table) => Profile::upload(gpu, self.radius, table, self.beyond),
        };
        Some(profile.map(|profile| Box::new(profile) as Upload))
    }

    #[cfg(feature = "gpu")]
    fn upload_words(&self, depth: Depth) -> u64 {
        Profile::words(self.radius, depth)
    }
}

impl Tile for Distance {
    type Design = kinds::Distance;

    fn new(kind: &kinds::Distance, _: &tree::Node, resources: &mut dyn Resources) -> Result<Self, Error> {
        Ok(Self {
            radius: kind.radius,
            at_zero: kind.profile.first().copied().unwrap_or(kind.beyond),
            beyond: kind.beyond,
            table: resources.table(&kind.profile),
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
        let beyond = Filled::Uniform(S::from_u16(self.beyond));
        let window = rect.grown(self.radius);
        let covered = window.intersection(&link.extent.in_parent());
        if covered.is_empty() {
            return Ok(beyond);
        }
        let columns = window.width() as usize;
        let words = scratch_words(out.width(), out.height(), self.radius);
        let (planes, rest) = scratch.split_at_mut(words);
        let rows = self.chunk_rows(rect.height());
        let (samples, rest) = scratch::carve::<S>(rest, rows as usize * columns);

        let mut transform = Transform::new(out.width(), out.height(), self.radius, planes);
        transform.push_black((covered.y() - window.y()) as usize);
        // Black and white rows are counted, so that tiles far from every border cost no transform.
        let (mut black, mut white) = (true, covered == window);
        let mut top = covered.y();
        while top < covered.bottom() {
            inputs.check()?;
            let bottom = covered.bottom().min(top + rows.cast_signed());
            let chunk = Rect::between(covered.x(), top, covered.right(), bottom);
            let (across, height) = (chunk.width() as usize, chunk.height() as usize);
            let mut view = ViewMut::packed(&mut samples[..across * height], across, height);
            let filled = match inputs.read(link.node, link.local(chunk), view.reborrow(), rest)? {
                Filled::Written => match uniform::cpu::value(view.as_view()) {
                    Some(value) => Filled::Uniform(value),
                    None => Filled::Written,
                },
                filled => filled,
            };
            match filled {
                Filled::Uniform(value) if value == S::ZERO => {
                    transform.push_black(height);
                    white = false;
                }
                filled => {
                    match filled {
                        Filled::Uniform(value) => view.fill(value),
                        Filled::Written => white = false,
                    }
                    black = false;
                    transform.push_part(view.as_view(), (covered.x() - window.x()) as usize);
                }
            }
            top = bottom;
        }
        if black {
            return Ok(beyond);
        }
        if white {
            return Ok(Filled::Uniform(S::from_u16(self.at_zero)));
        }
        let table = inputs.table(self.table);
        transform.finish(table, S::from_u16(self.beyond), out);
        Ok(Filled::Written)
    }
}
