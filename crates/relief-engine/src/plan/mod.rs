//! The plan: what will be computed how, and the most memory it takes, before a pixel is computed.

mod describe;
#[cfg(feature = "gpu")]
pub(crate) mod devices;
mod draft;
mod keep;
mod memory;
#[cfg(feature = "gpu")]
pub(crate) mod planes;
pub(crate) mod prepare;
mod search;
mod shape;

use std::sync::Arc;

use relief_kernels::device::DeviceId;
use relief_raster::{Depth, Period, Rect};

use crate::Error;
use crate::error::describe as describe_rect;
use crate::program::Program;
use crate::sink::Raster;

pub use describe::{Kept, PlannedChild, PlannedNode};

/// The memory that a job may use if nothing else is said: 1 GiB.
pub const DEFAULT_MEMORY: u64 = 1 << 30;

/// The most threads that a job may use.
pub const MAX_THREADS: usize = 1_024;

/// What may be chosen for a job; none of it changes a byte of the result.
///
/// ```
/// use relief_engine::Options;
///
/// let options = Options::default().memory(256 << 20).threads(4);
/// // What is there or not is set in place.
/// let tile = None;
/// let options = options.with(|options| options.tile = tile);
/// assert_eq!(options.memory, Some(256 << 20));
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// The part of the canvas to compute; all of it where `None`.
    pub region: Option<Rect>,
    /// Worker threads, 1…1 024; one for each processor where `None`.
    pub threads: Option<usize>,
    /// The most bytes that the job may hold; [`DEFAULT_MEMORY`] where `None`.
    pub memory: Option<u64>,
    /// Columns and rows of a tile; chosen by the planner where `None`.
    pub tile: Option<(u64, u64)>,
    /// The most bytes for cells of repeating nodes and for patterns that are kept whole; a quarter of the memory
    /// where `None`. 0 computes every copy anew.
    pub kept: Option<u64>,
    /// The most bytes of buffers on every GPU; nine tenths of what it has where `None`.
    pub device_memory: Option<u64>,
    /// Columns and rows of the tiles that are handed on, where a job computes tiles for a [`TileSink`](crate::TileSink)
    /// instead of bands: every thread then holds one.
    pub tiles: Option<(u64, u64)>,
    /// The number of rows of which bands should be a multiple ([`crate::Sink::wants`]); any where `None`, and where memory
    /// does not allow so many.
    pub rows: Option<u64>,
    /// What the sink holds ([`crate::Sink::memory`]); counted in the peak.
    pub sink: u64,
    /// Jobs that stream at the same time from one [`Renderer`](crate::Renderer) and those made of it
    /// ([`Renderer::part`](crate::Renderer::part)); 1 where `None`. Each holds bands of its own. Windows that are read share what
    /// the plan counts however many there are.
    pub readers: Option<usize>,
    /// Whether figures of blocks are asked for ([`Renderer::read_level`](crate::Renderer::read_level),
    /// [`Renderer::summary`](crate::Renderer::summary)): sums of what is kept are then part of the plan.
    pub levels: bool,
    /// Windows of levels that are read at the same time: each holds what is known of its blocks, others wait. 1 where `None`.
    pub level_readers: Option<usize>,
    /// What computes: GPUs, among which bands are dealt, or the CPU where there is none.
    pub devices: Vec<DeviceId>,
    /// Whether the CPU computes instead of the devices where these would mostly wait for it, because it would make most of
    /// the planes that they read, and where no plan for them fits.
    pub or_cpu: bool,
    /// Whether samples of all nodes are asked for that are read for the region.
    pub(crate) probed: bool,
}

impl Options {
    /// With the part of the canvas to compute.
    #[must_use]
    pub const fn region(mut self, region: Rect) -> Self {
        self.region = Some(region);
        self
    }

    /// With so many worker threads.
    #[must_use]
    pub const fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// With so many bytes that the job may hold.
    #[must_use]
    pub const fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// With tiles of `size`, columns and rows, to compute in.
    #[must_use]
    pub const fn tile(mut self, size: (u64, u64)) -> Self {
        self.tile = Some(size);
        self
    }

    /// With so many bytes for what is kept.
    #[must_use]
    pub const fn kept(mut self, bytes: u64) -> Self {
        self.kept = Some(bytes);
        self
    }

    /// With so many bytes of buffers on every GPU.
    #[must_use]
    pub const fn device_memory(mut self, bytes: u64) -> Self {
        self.device_memory = Some(bytes);
        self
    }

    /// With tiles of `size`, columns and rows, that are handed on.
    #[must_use]
    pub const fn tiles(mut self, size: (u64, u64)) -> Self {
        self.tiles = Some(size);
        self
    }

    /// With bands of a multiple of so many rows.
    #[must_use]
    pub const fn rows(mut self, rows: u64) -> Self {
        self.rows = Some(rows);
        self
    }

    /// With a sink that holds so many bytes.
    #[must_use]
    pub const fn sink(mut self, bytes: u64) -> Self {
        self.sink = bytes;
        self
    }

    /// With so many jobs at the same time.
    #[must_use]
    pub const fn readers(mut self, jobs: usize) -> Self {
        self.readers = Some(jobs);
        self
    }

    /// With figures of blocks.
    #[must_use]
    pub const fn levels(mut self) -> Self {
        self.levels = true;
        self
    }

    /// Computed by these devices.
    #[must_use]
    pub fn devices(mut self, devices: Vec<DeviceId>) -> Self {
        self.devices = devices;
        self
    }

    /// Computed by the CPU where devices would not help.
    #[must_use]
    pub const fn or_cpu(mut self) -> Self {
        self.or_cpu = true;
        self
    }

    /// Changed in place.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

/// The parts of the peak, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peak {
    /// Bands, or tiles, that are computed or written at the same time.
    pub bands: u64,
    /// The tile cache.
    pub cache: u64,
    /// Scratch memory of all threads.
    pub scratch: u64,
    /// Pictures, as far as they are read.
    pub images: u64,
    /// The most that reading one picture holds beyond its samples; over before the first band.
    pub decoding: u64,
    /// The most that preparing one node holds; over before the first band.
    pub preparing: u64,
    /// The fonts of all texts, equal files once; over before the first band, as the design is read.
    pub fonts: u64,
    /// The design, its tables included, and what the plan knows of its nodes.
    pub design: u64,
    /// Sums of what is kept, where figures of blocks are asked for.
    pub levels: u64,
    /// Profiles and tone curves as they are looked up.
    pub tables: u64,
    /// Cells of repeating nodes and patterns kept whole.
    pub kept: u64,
    /// What the sink holds.
    pub sink: u64,
}

impl Peak {
    /// The most bytes the job holds at once.
    #[must_use]
    pub const fn total(&self) -> u64 {
        let streaming = self.bands.saturating_add(self.cache).saturating_add(self.sink);
        // These follow each other.
        let before = if self.preparing > self.decoding {
            self.preparing
        } else {
            self.decoding
        };
        let before = if self.fonts > before { self.fonts } else { before };
        let later = if streaming > before { streaming } else { before };
        later
            .saturating_add(self.scratch)
            .saturating_add(self.images)
            .saturating_add(self.design)
            .saturating_add(self.levels)
            .saturating_add(self.tables)
            .saturating_add(self.kept)
    }
}

/// How the raster is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shape {
    /// Columns of a tile.
    pub tile_width: u64,
    /// Rows of a tile.
    pub tile_height: u64,
    /// Columns of a band: those of the region, or fewer where a row does not fit.
    pub band_width: u64,
    /// Rows of a band.
    pub band_height: u64,
    /// Bands that are computed or written at the same time.
    pub bands: usize,
    /// Whether a worker computes a whole band by itself; else all workers share the tiles of a band.
    pub alone: bool,
}

impl Shape {
    /// The same way to cut a part of the raster: bands have as many samples at most, and where `higher` are a multiple of
    /// those of the whole as high, if there are still some for every worker.
    fn part(self, rect: Rect, higher: bool) -> Self {
        let (width, height) = (rect.width(), rect.height());
        let band_width = self.band_width.min(width);
        let rows = self.band_height.min(height);
        let fitting = self.band_width.saturating_mul(self.band_height) / band_width;
        let rows = if higher {
            let several = fitting.min(height / (2 * self.bands as u64).max(1)) / rows * rows;
            several.max(rows)
        } else {
            rows
        };
        Self {
            tile_width: self.tile_width.min(band_width),
            tile_height: self.tile_height.min(rows),
            band_width,
            band_height: rows,
            ..self
        }
    }
}

/// A design made ready to run.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) program: Arc<Program>,
    pub(crate) region: Rect,
    pub(crate) shape: Shape,
    pub(crate) threads: usize,
    /// Whether figures of blocks are asked for.
    pub(crate) levels: bool,
    /// Windows of levels that are read at the same time.
    pub(crate) level_readers: usize,
    /// Jobs that stream at the same time.
    #[cfg_attr(not(feature = "gpu"), allow(dead_code))]
    pub(crate) readers: usize,
    pub(crate) peak: Peak,
    /// Words of scratch of one thread.
    pub(crate) words: u64,
    pub(crate) device: Option<DevicePlan>,
}

/// What a job takes of its GPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DevicePlan {
    /// The GPUs; bands are dealt to them in turn.
    pub ids: Vec<DeviceId>,
    /// Threads that drive one GPU, each with a queue of its own.
    pub lanes: usize,
    /// Bands on the way to the host in one lane.
    pub depth: usize,
    /// Neighbouring bands that share the planes which halos read: as high together as makes halos weigh little.
    pub strip: u64,
    /// Bytes of buffers on every GPU.
    pub bytes: u64,
}

impl Plan {
    /// The raster that the job streams.
    #[must_use]
    pub fn raster(&self) -> Raster {
        let canvas = self.program.canvas;
        Raster {
            width: self.region.width(),
            height: self.region.height(),
            depth: canvas.depth,
            pixel: canvas.pixel,
        }
    }

    /// How the streamed raster repeats, and where: two of its pixels that lie in the rectangle, in coordinates of the
    /// streamed raster, and differ by a vector of the period have the same sample. `None` where no period is known.
    #[must_use]
    pub fn period(&self) -> Option<(Period, Rect)> {
        let root = keep::periods(&self.program).pop()??;
        let valid = root.valid.intersection(&self.region);
        let valid = valid.translated(-self.region.x(), -self.region.y());
        (!valid.is_empty()).then_some((root.period, valid))
    }

    /// The part of the canvas that is computed.
    #[must_use]
    pub const fn region(&self) -> Rect {
        self.region
    }

    /// The depth of the samples.
    #[must_use]
    pub fn depth(&self) -> Depth {
        self.program.canvas.depth
    }

    /// How the raster is cut.
    #[must_use]
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// The number of worker threads.
    #[must_use]
    pub const fn threads(&self) -> usize {
        self.threads
    }

    /// Whether figures of blocks can be asked for ([`Options::levels`]).
    #[must_use]
    pub const fn levels(&self) -> bool {
        self.levels
    }

    /// The memory the job takes, part by part.
    #[must_use]
    pub const fn peak(&self) -> Peak {
        self.peak
    }

    /// What the job takes of its GPUs; `None` on the CPU.
    #[must_use]
    pub const fn device(&self) -> Option<&DevicePlan> {
        self.device.as_ref()
    }

    /// How deep nodes are nested.
    pub(crate) fn nesting(&self) -> usize {
        self.program.nesting
    }

    /// The same job for a part of its raster, `rect` in coordinates of the canvas: it reads what this one keeps, and holds no
    /// more. Takes no time to speak of, however large the design is.
    ///
    /// # Errors
    /// Where `rect` is empty or leaves the [region](Plan::region).
    pub fn part(&self, rect: Rect) -> Result<Self, Error> {
        if rect.is_empty() || !self.region.contains(&rect) {
            return Err(Error::Part {
                part: describe_rect(rect),
                region: describe_rect(self.region),
            });
        }
        Ok(Self {
            program: Arc::clone(&self.program),
            region: rect,
            shape: self.shape.part(rect, self.device.is_none()),
            device: self.device.clone(),
            ..*self
        })
    }

    /// The drawings whose outlines lie so close together that a tile may take more than a second, each once.
    #[must_use]
    pub fn slow_drawings(&self) -> &[crate::SlowDrawing] {
        &self.program.slow
    }

    /// The samples that are looked at before the first band, because nodes need to know the whole of their source.
    #[must_use]
    pub fn preparation(&self) -> u128 {
        (0..self.program.steps.len())
            .filter_map(|index| prepare::Work::of(&self.program, index))
            .map(|work| work.samples)
            .sum()
    }

    /// The number of bands.
    #[must_use]
    pub const fn bands(&self) -> u128 {
        let across = self.region.width().div_ceil(self.shape.band_width) as u128;
        across * self.region.height().div_ceil(self.shape.band_height) as u128
    }

    /// The pixels of band `index`, counted from 0, in coordinates of the streamed raster; empty beyond the last.
    #[must_use]
    pub fn band(&self, index: u128) -> Rect {
        if index >= self.bands() {
            return Rect::EMPTY;
        }
        let across = u128::from(self.region.width().div_ceil(self.shape.band_width));
        // Both are numbers of bands along a side of at most 2^40 pixels.
        let (row, column) = ((index / across) as i64, (index % across) as i64);
        let (width, height) = (
            self.shape.band_width.cast_signed(),
            self.shape.band_height.cast_signed(),
        );
        let (x, y) = (column * width, row * height);
        Rect::between(x, y, x + width, y + height)
            .intersection(&Rect::sized(self.region.width(), self.region.height()))
    }
}

pub(crate) fn saturate(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// The capacity in samples of a cached tile of this plan.
pub(crate) const fn cached_samples(program: &Program) -> u64 {
    program.cached.0.saturating_mul(program.cached.1)
}
