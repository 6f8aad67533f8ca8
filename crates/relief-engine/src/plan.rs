//! The plan: what will be computed how, and the most memory it takes, before a pixel is computed.

use relief_design::tree::{Design, Role};
use relief_kernels::device::DeviceId;
use relief_raster::{Depth, Rect};

use crate::Error;
use crate::cache::UNIFORM_BYTES;
use crate::error::{describe, shown};
use crate::keep;
use crate::nodes::Request;
use crate::program::{Keep, Merge, Picture, Program, Step};
use crate::sink::Raster;
use crate::source::{ImageSource, guarded};

/// The memory that a job may use if nothing else is said: 1 GiB.
pub const DEFAULT_MEMORY: u64 = 1 << 30;

/// The most threads that a job may use.
pub const MAX_THREADS: usize = 1_024;

/// Samples of a tile in a tree without a halo: a tile and the tiles its parents need stay in a core's cache.
const TILE_SAMPLES: u64 = 1 << 18;

/// Bytes of a band that one worker computes: two of them and what is read for them stay in a core's second cache.
const OWN_BAND_BYTES: u64 = 1 << 19;

/// The bytes of the longest row that one worker computes by itself.
const OWN_ROW_BYTES: u64 = 1 << 22;

/// Bytes of a band that make the hand-over from worker to sink cheap beside computing it.
const BAND_BYTES: u64 = 1 << 22;

/// The most samples of a tile.
const LARGEST_TILE: u128 = 1 << 30;

/// The least columns and rows of a cached tile.
const LEAST_CACHED: u64 = 32;

/// Rows of a tile in a tree without a halo.
const TILE_ROWS: u64 = 64;

/// What may be chosen for a job; none of it changes a byte of the result.
#[derive(Clone, Debug, Default)]
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
    /// What the sink holds ([`crate::Sink::memory`]); counted in the peak.
    pub sink: u64,
    /// What computes: GPUs, among which bands are dealt, or the CPU where there is none.
    pub devices: Vec<DeviceId>,
}

/// The parts of the peak, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// Bands that are computed or written at the same time.
    pub bands: u64,
    /// The tile cache.
    pub cache: u64,
    /// Scratch memory of all threads.
    pub scratch: u64,
    /// Pictures, as far as they are read.
    pub images: u64,
    /// The most that reading one picture holds beyond its samples; over before the first band.
    pub decoding: u64,
    /// The design, its tables included, and what the plan knows of its nodes.
    pub design: u64,
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
        let later = if streaming > self.decoding {
            streaming
        } else {
            self.decoding
        };
        later
            .saturating_add(self.scratch)
            .saturating_add(self.images)
            .saturating_add(self.design)
            .saturating_add(self.tables)
            .saturating_add(self.kept)
    }
}

/// How the raster is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// A design made ready to run.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) program: Program,
    pub(crate) region: Rect,
    pub(crate) shape: Shape,
    pub(crate) threads: usize,
    pub(crate) peak: Peak,
    /// Words of scratch of one thread.
    pub(crate) words: u64,
    pub(crate) device: Option<DevicePlan>,
}

/// What a job takes of its GPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// What the plan does with a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Nothing is kept: it is computed straight into the tile of its parent.
    Nothing,
    /// The part of a picture that is read.
    Picture,
    /// One cell of `columns` × `rows` samples of a node that repeats.
    Cell {
        /// Columns of the cell.
        columns: u64,
        /// Rows of the cell.
        rows: u64,
    },
    /// All of it that is read.
    Whole,
    /// Tiles, in the cache.
    Tiles {
        /// Columns of a cached tile.
        columns: u64,
        /// Rows of a cached tile.
        rows: u64,
    },
    /// It is never read.
    Unused,
}

/// A node of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedNode {
    /// Its kind, as the design says it.
    pub kind: &'static str,
    /// The line of the design where it stands.
    pub line: u32,
    /// Columns.
    pub width: u64,
    /// Rows.
    pub height: u64,
    /// The samples that are ever read, in its own coordinates.
    pub read: Rect,
    /// What is kept of it.
    pub kept: Kept,
    /// The bytes kept for the whole job. A picture that several nodes show counts once, as the first one's.
    pub bytes: u64,
    /// What it reads: role, number of the node, offset, halo.
    pub children: Vec<PlannedChild>,
}

/// A child in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedChild {
    /// What it is for.
    pub role: Role,
    /// Its number in [`Plan::nodes`].
    pub node: usize,
    /// Its horizontal offset in the parent.
    pub x: i64,
    /// Its vertical offset in the parent.
    pub y: i64,
    /// How far beyond a tile it is read.
    pub halo: u32,
}

impl Plan {
    /// Plans a job on the CPU. Looks at the pictures the design names, but reads no sample and computes none.
    ///
    /// # Errors
    /// Where the design breaks a rule of [`Design::validate`], an option is out of range, a picture is not what the design
    /// was checked with, or no plan fits in the memory allowed: the error then says what would.
    pub fn new(design: &Design, images: &dyn ImageSource, options: &Options) -> Result<Self, Error> {
        design.validate()?;
        let canvas = design.canvas;
        let region = region(canvas.width, canvas.height, options.region)?;
        let threads = threads(options.threads)?;
        let limit = options.memory.unwrap_or(DEFAULT_MEMORY);
        check_tile(options.tile, region)?;
        let gpus: Vec<DeviceId> = options
            .devices
            .iter()
            .copied()
            .filter(|id| *id != DeviceId::Cpu)
            .collect();
        #[cfg(not(feature = "gpu"))]
        if let Some(id) = gpus.first() {
            let problem = format!("{id} cannot be used: this program was built for the CPU only");
            return Err(Error::Option {
                option: "device",
                problem,
            });
        }
        #[cfg(feature = "gpu")]
        let (gpus, program, apart) = if gpus.is_empty() {
            (None, Program::new(design, usize::MAX, Merge::Equal)?, None)
        } else {
            let target = crate::gpu::Target::new(&gpus)?;
            let program = |merge| {
                let mut program = Program::new(design, target.layers(), merge)?;
                program.buffers = target.buffers();
                Ok::<_, Error>(program)
            };
            let (merged, apart) = (program(Merge::Equal)?, program(Merge::Pictures)?);
            let apart = (apart.steps.len() > merged.steps.len()).then_some(apart);
            (Some(target), merged, apart)
        };
        #[cfg(not(feature = "gpu"))]
        let program = Program::new(design, usize::MAX, Merge::Equal)?;
        let decoding = decoding(&program, images)?;
        let draft = Draft {
            program,
            region,
            threads,
            limit,
            options,
            decoding,
            #[cfg(feature = "gpu")]
            apart,
            #[cfg(feature = "gpu")]
            gpus,
        };
        match draft.attempt() {
            Ok(plan) => Ok(plan),
            Err(Shortage::Device(error)) => Err(error),
            Err(Shortage::Host(needed)) => Err(draft.refusal(needed)),
        }
    }

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

    /// The part of the canvas that is computed.
    #[must_use]
    pub const fn region(&self) -> Rect {
        self.region
    }

    /// The depth of the samples.
    #[must_use]
    pub const fn depth(&self) -> Depth {
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

    /// The number of bands.
    #[must_use]
    pub const fn bands(&self) -> u128 {
        let across = self.region.width().div_ceil(self.shape.band_width) as u128;
        across * self.region.height().div_ceil(self.shape.band_height) as u128
    }

    /// The pixels of band `index`, in coordinates of the streamed raster.
    pub(crate) fn band(&self, index: u128) -> Rect {
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

    /// All nodes, children before parents; the root stands last.
    #[must_use]
    pub fn nodes(&self) -> Vec<PlannedNode> {
        let bytes = self.depth().bytes();
        // A picture counts as the first node's that shows it.
        let mut counted = vec![false; self.program.pictures.len()];
        let mut held = |index: usize| {
            let step = &self.program.steps[index];
            match step.image {
                Some(_) if step.need.is_empty() => Rect::EMPTY,
                Some(shown) if std::mem::replace(&mut counted[shown.picture], true) => Rect::EMPTY,
                Some(shown) => shown.held,
                None => step.plane(),
            }
        };
        let describe = |index: usize| {
            let step = &self.program.steps[index];
            let tile = self.program.cached_tile(index);
            PlannedNode {
                kind: step.name,
                line: step.place.line,
                width: step.width,
                height: step.height,
                read: step.need,
                kept: match step.keep {
                    _ if step.need.is_empty() => Kept::Unused,
                    Keep::No => Kept::Nothing,
                    Keep::Image => Kept::Picture,
                    Keep::Cell { period, .. } => Kept::Cell {
                        columns: period.a(),
                        rows: period.c(),
                    },
                    Keep::Whole => Kept::Whole,
                    Keep::Cached => Kept::Tiles {
                        columns: tile.width,
                        rows: tile.height,
                    },
                },
                bytes: saturate(held(index).area()).saturating_mul(bytes),
                children: step
                    .links
                    .iter()
                    .enumerate()
                    .map(|(number, link)| PlannedChild {
                        role: link.role,
                        node: link.node,
                        x: link.extent.x(),
                        y: link.extent.y(),
                        halo: step.kind.halo(number),
                    })
                    .collect(),
            }
        };
        (0..self.program.steps.len()).map(describe).collect()
    }
}

/// Everything that is known before the raster is cut.
struct Draft<'a> {
    program: Program,
    region: Rect,
    threads: usize,
    limit: u64,
    options: &'a Options,
    decoding: u64,
    /// The program for devices with equal nodes apart, where there are any.
    #[cfg(feature = "gpu")]
    apart: Option<Program>,
    #[cfg(feature = "gpu")]
    gpus: Option<crate::gpu::Target>,
}

/// Why no plan fits.
enum Shortage {
    /// The host would need at least this many bytes.
    Host(u64),
    /// No way to cut the raster fits a device.
    #[cfg_attr(not(feature = "gpu"), allow(dead_code))]
    Device(Error),
}

/// The ways to cut the raster that take the least memory: the last so many.
const SMALLEST: usize = 4;

/// Nodes of a design that takes a while to size.
const MANY: usize = 1 << 12;

/// How often a figure is tried before it is told: what is kept follows the memory allowed, and so does what is needed.
const TRIES: usize = 8;

impl Draft<'_> {
    /// The plan, or the fewest bytes that one needs.
    fn attempt(&self) -> Result<Plan, Shortage> {
        let mut fewest = u64::MAX;
        let budget = self.options.kept.unwrap_or(self.limit / 4);
        for kept in [budget, budget / 16, 0] {
            match self.fit(kept) {
                Err(Shortage::Host(needed)) => fewest = fewest.min(needed),
                done => return done,
            }
            if self.options.kept.is_some() {
                break;
            }
        }
        Err(Shortage::Host(fewest))
    }

    /// Refuses a job for which at least `needed` bytes are missing, with what would do: each way is tried first.
    fn refusal(&self, needed: u64) -> Error {
        let alone = || self.threads > 1;
        let fewer = self.most_threads().map(|threads| (threads, None)).or_else(|| {
            // With one thread it may at least need much less.
            let needed = alone().then(|| self.with(self.limit, 1).enough(needed)).flatten();
            needed.map(|needed| (1, Some(needed)))
        });
        let needed = self.enough(needed).unwrap_or(needed);
        Error::Memory {
            needed,
            limit: self.limit,
            advice: advice(self.limit, needed, self.threads, fewer),
        }
    }

    /// The same job with other memory and threads.
    fn with(&self, limit: u64, threads: usize) -> Draft<'_> {
        Draft {
            program: self.program.clone(),
            limit,
            threads,
            region: self.region,
            options: self.options,
            decoding: self.decoding,
            #[cfg(feature = "gpu")]
            apart: self.apart.clone(),
            #[cfg(feature = "gpu")]
            gpus: self.gpus.clone(),
        }
    }

    /// Bytes that do, tried; about as few as there are. `None` where none was found.
    fn enough(&self, needed: u64) -> Option<u64> {
        let mut draft = self.with(needed, self.threads);
        for _ in 0..TRIES {
            match draft.attempt() {
                Ok(_) => return Some(draft.limit),
                Err(Shortage::Host(more)) if more < u64::MAX => {
                    draft.limit = more.max(draft.limit.saturating_add(draft.limit / 8));
                }
                Err(_) => return None,
            }
        }
        None
    }

    /// The most threads, fewer than were asked for, with which the memory allowed does.
    fn most_threads(&self) -> Option<usize> {
        let fits = |threads: usize| self.with(self.limit, threads).attempt().is_ok();
        let (mut fewest, mut too_many) = (1, self.threads);
        if too_many <= fewest || !fits(fewest) {
            return None;
        }
        while too_many - fewest > 1 {
            let middle = fewest.midpoint(too_many);
            if fits(middle) {
                fewest = middle;
            } else {
                too_many = middle;
            }
        }
        Some(fewest)
    }

    /// The program with at most `kept` bytes of cells.
    fn program(&self, kept: u64) -> Program {
        let decided = |program: &Program| {
            let mut program = program.clone();
            keep::decide(&mut program, self.region, kept);
            program
        };
        let program = decided(&self.program);
        #[cfg(feature = "gpu")]
        if let Some(apart) = &self.apart {
            let apart = decided(apart);
            let width = self.region.width();
            if crate::gpu::plane_area(&apart, width) < crate::gpu::plane_area(&program, width) {
                return apart;
            }
        }
        program
    }

    /// The plan with at most `kept` bytes of cells, or the fewest bytes that one needs.
    fn fit(&self, kept: u64) -> Result<Plan, Shortage> {
        let mut program = self.program(kept);
        let halo = halo(&program);
        let fixed = self.fixed(&program);
        let mut fewest = u64::MAX;
        #[cfg(feature = "gpu")]
        if let Some(gpus) = &self.gpus {
            return self.fit_devices(gpus, program, halo, fixed);
        }
        let mut shapes = self.shapes(halo);
        if fixed.total() > self.limit && program.steps.len() > MANY {
            // None fits, and each takes a while to size: the figure is that of the smallest.
            shapes.drain(..shapes.len().saturating_sub(SMALLEST));
        }
        for shape in shapes {
            let bytes = self.program.canvas.depth.bytes();
            let samples = u128::from(shape.band_width) * u128::from(shape.band_height) * shape.bands as u128;
            let bands = saturate(samples).saturating_mul(bytes);
            let mut least = None;
            for cached in self.cached_tiles(shape) {
                program.cached = cached;
                let sizes = self.sizes(&program, shape);
                let peak = Peak {
                    bands,
                    cache: sizes.cache,
                    scratch: sizes.words.saturating_mul(8).saturating_mul(self.threads as u64),
                    ..fixed
                };
                let useful = Peak {
                    cache: self.useful(&program, shape, halo).max(sizes.cache),
                    ..peak
                };
                if useful.total() <= self.limit {
                    return Ok(self.plan(program, shape, useful, sizes.words, None));
                }
                fewest = fewest.min(peak.total());
                if peak.total() <= self.limit {
                    // Short of what is useful, every tile kept is one that need not be computed again.
                    let cache = peak.cache + (self.limit - peak.total());
                    least = Some((cached, Peak { cache, ..peak }, sizes.words));
                }
            }
            if let Some((cached, peak, words)) = least {
                program.cached = cached;
                return Ok(self.plan(program, shape, peak, words, None));
            }
        }
        Err(Shortage::Host(fewest))
    }

    fn plan(
        &self,
        program: Program,
        shape: Shape,
        peak: Peak,
        words: u64,
        device: Option<DevicePlan>,
    ) -> Plan {
        Plan {
            program,
            region: self.region,
            shape,
            threads: self.threads,
            peak,
            words,
            device,
        }
    }

    /// The plan for devices: the host only makes what is kept, and holds bands on their way to the sink.
    #[cfg(feature = "gpu")]
    fn fit_devices(
        &self,
        gpus: &crate::gpu::Target,
        mut program: Program,
        halo: u64,
        fixed: Peak,
    ) -> Result<Plan, Shortage> {
        program.cached = (64, 64);
        let (width, height) = (self.region.width(), self.region.height());
        let bytes = program.canvas.depth.bytes();
        let mut least_host = u64::MAX;
        let mut shortage = None;
        for (columns, rows) in gpus.bands(width, height, bytes, self.options.tile) {
            for (lanes, depth) in gpus.lanes() {
                let tile = tile(rows.clamp(1, 512), width, bytes, halo);
                let shape = Shape {
                    tile_width: tile.0,
                    tile_height: tile.1,
                    band_width: columns,
                    band_height: rows,
                    bands: gpus.count() * lanes * depth + 1,
                    alone: false,
                };
                let sizes = self.sizes(&program, shape);
                let scratch = sizes.words.saturating_mul(8).saturating_mul(self.threads as u64);
                // Rows on their way are padded to 16 bytes, and packed anew where that left gaps.
                let row = (columns * bytes).next_multiple_of(16);
                let copies = shape.bands as u64 + u64::from(row != columns * bytes);
                let bands = row.saturating_mul(rows).saturating_mul(copies);
                let peak = Peak {
                    bands,
                    scratch,
                    cache: sizes.cache,
                    ..fixed
                };
                let memory = self.options.device_memory;
                match gpus.fit(&program, shape, lanes, halo, memory) {
                    Err(error) => shortage = Some(error),
                    Ok(_) if peak.total() > self.limit => least_host = least_host.min(peak.total()),
                    Ok((strip, device_bytes)) => {
                        let device = DevicePlan {
                            ids: gpus.ids(),
                            lanes,
                            depth,
                            strip,
                            bytes: device_bytes,
                        };
                        return Ok(self.plan(program, shape, peak, sizes.words, Some(device)));
                    }
                }
            }
        }
        Err(match shortage {
            Some(error) if least_host == u64::MAX => Shortage::Device(error),
            _ => Shortage::Host(least_host),
        })
    }

    /// What does not depend on how the raster is cut.
    fn fixed(&self, program: &Program) -> Peak {
        let bytes = program.canvas.depth.bytes();
        let size = |rect: Rect| saturate(rect.area()).saturating_mul(bytes);
        let kept = |step: &&Step| step.image.is_none();
        let sum = |sizes: &mut dyn Iterator<Item = u64>| sizes.fold(0, u64::saturating_add);
        Peak {
            decoding: self.decoding,
            sink: self.options.sink,
            images: sum(&mut program.pictures.iter().map(|picture| size(picture.held))),
            kept: sum(&mut program.steps.iter().filter(kept).map(|step| size(step.plane()))),
            // Those of the samples' depth; the design's own are its own.
            tables: sum(&mut program.tables.iter().map(|table| table.len() as u64 * bytes)),
            // Planning holds the program twice, and so does a job on devices.
            design: program
                .design_bytes
                .saturating_add(program.bytes().saturating_mul(2)),
            ..Peak::default()
        }
    }

    /// Columns and rows of cached tiles, the most welcome first. Tiles of a few pixels would cost more to find than to
    /// compute: where tiles of the raster are that small, cached ones are several of them wide and high.
    fn cached_tiles(&self, shape: Shape) -> Vec<(u64, u64)> {
        if self.options.tile.is_some() {
            let several = |side: u64| LEAST_CACHED.div_ceil(side) * side;
            return vec![(several(shape.tile_width), several(shape.tile_height))];
        }
        let smallest = |side: u64| side.clamp(LEAST_CACHED, 64);
        vec![
            (256, 256),
            (128, 128),
            (64, 64),
            (smallest(shape.tile_width), smallest(shape.tile_height)),
        ]
    }

    /// The ways to cut the raster, the most welcome first.
    fn shapes(&self, halo: u64) -> Vec<Shape> {
        let (width, height) = (self.region.width(), self.region.height());
        let bytes = self.program.canvas.depth.bytes();
        let mut shapes = Vec::new();
        let rows_of_band = |least: u64| (BAND_BYTES / (width * bytes)).max(least).clamp(1, height);
        let mut rows = if let Some((_, rows)) = self.options.tile {
            rows_of_band(rows) / rows.min(height) * rows.min(height)
        } else if halo == 0 {
            rows_of_band(1)
        } else {
            rows_of_band((2 * halo).clamp(TILE_ROWS, 512))
        };
        let least = self.options.tile.map_or(1, |(_, rows)| rows.min(height));
        if halo == 0 && self.options.tile.is_none() && width * bytes <= OWN_ROW_BYTES {
            shapes.push(self.own_bands(width, height, bytes));
        }
        loop {
            let tile = self
                .options
                .tile
                .map_or_else(|| tile(rows, width, bytes, halo), |tile| (tile.0, tile.1));
            let (tile_width, tile_height) = (tile.0.min(width), tile.1.min(rows));
            let all = usize::try_from(height.div_ceil(rows)).unwrap_or(usize::MAX);
            for bands in [3, 2] {
                shapes.push(Shape {
                    tile_width,
                    tile_height,
                    band_width: width,
                    band_height: rows,
                    bands: all.min(bands),
                    alone: false,
                });
            }
            if rows <= least {
                break;
            }
            rows = (rows / 2 / least * least).max(least);
        }
        // Narrower tiles take less scratch; then fewer bands; then parts of a row.
        let last = self.options.tile.map_or(64, |tile| tile.0).min(width);
        let narrow = Shape {
            tile_width: last,
            tile_height: least,
            band_width: width,
            band_height: least,
            bands: 2,
            alone: false,
        };
        shapes.push(narrow);
        shapes.push(Shape { bands: 1, ..narrow });
        let mut columns = width;
        while columns > 4_096 {
            columns = columns.div_ceil(2);
            let tile_width = last.min(columns);
            shapes.push(Shape {
                tile_width,
                tile_height: 1,
                band_width: columns,
                band_height: 1,
                bands: 2,
                alone: false,
            });
        }
        shapes
    }

    /// Bands of which each is one worker's, two for every worker; low enough that a small raster has some for all.
    fn own_bands(&self, width: u64, height: u64, bytes: u64) -> Shape {
        let workers = self.threads as u64;
        let rows = (OWN_BAND_BYTES / (width * bytes)).clamp(1, height.div_ceil(4 * workers));
        // Rows as long as they can be: what begins and ends a row weighs little.
        let samples = TILE_SAMPLES / bytes;
        let tile_width = width.min(samples);
        let tile_height = rows.min(samples / tile_width);
        let all = usize::try_from(height.div_ceil(rows)).unwrap_or(usize::MAX);
        Shape {
            tile_width,
            tile_height,
            band_width: width,
            band_height: rows,
            bands: all.min(2 * self.threads),
            alone: true,
        }
    }

    /// Scratch of one thread and the least cache for tiles of this shape.
    fn sizes(&self, program: &Program, shape: Shape) -> Sizes {
        let bytes = program.canvas.depth.bytes();
        let count = program.steps.len();
        let (mut widths, mut heights) = (vec![0_u64; count], vec![0_u64; count]);
        let mut own = vec![0_u64; count];
        widths[program.root()] = shape.tile_width;
        heights[program.root()] = shape.tile_height;
        for index in (0..count).rev() {
            let step = &program.steps[index];
            if step.need.is_empty() {
                continue;
            }
            let plane = step.plane();
            let made = (
                shape.tile_width.min(plane.width()),
                shape.tile_height.min(plane.height()),
            );
            let (width, height) = match step.keep {
                Keep::Cell { .. } if step.has_border() => {
                    (widths[index].max(made.0), heights[index].max(made.1))
                }
                Keep::Cell { .. } | Keep::Whole => made,
                Keep::Cached => (
                    program.cached_tile(index).width,
                    program.cached_tile(index).height,
                ),
                Keep::No | Keep::Image => (widths[index], heights[index]),
            };
            let request = Request { width, height };
            own[index] = step.kind.scratch(&step.links, &request, bytes);
            for (number, link) in step.links.iter().enumerate() {
                let asked = step.kind.asks(link, number, &request);
                widths[link.node] = widths[link.node].max(asked.width);
                heights[link.node] = heights[link.node].max(asked.height);
            }
        }
        let mut words = vec![0_u64; count];
        let mut most_words = 0;
        for (index, step) in program.steps.iter().enumerate() {
            if step.need.is_empty() {
                continue;
            }
            let reached = step.links.iter().filter(|link| {
                let child = &program.steps[link.node];
                match child.keep {
                    Keep::Whole => false,
                    Keep::Cell { .. } => child.has_border(),
                    _ => true,
                }
            });
            let below = reached.map(|link| words[link.node]).max().unwrap_or(0);
            words[index] = own[index].saturating_add(below);
            most_words = most_words.max(words[index]);
        }
        Sizes {
            words: most_words,
            cache: least_cache(program, shape).saturating_mul(self.threads as u64),
        }
    }

    /// The cache that holds every tile two bands in a row read.
    fn useful(&self, program: &Program, shape: Shape, halo: u64) -> u64 {
        let mut total = 0_u64;
        for (index, step) in program.steps.iter().enumerate() {
            if step.keep != Keep::Cached || step.need.is_empty() {
                continue;
            }
            let tile = program.cached_tile(index);
            let columns = (shape.band_width + 2 * halo).min(step.width).div_ceil(tile.width) + 1;
            let rows = (2 * shape.band_height + 2 * halo)
                .min(step.height)
                .div_ceil(tile.height)
                + 1;
            total = total.saturating_add(columns.saturating_mul(rows).saturating_mul(cached_bytes(program)));
        }
        total
    }
}

/// The bytes of a tile in the cache.
fn cached_bytes(program: &Program) -> u64 {
    let samples = program.cached.0.saturating_mul(program.cached.1);
    samples
        .saturating_mul(program.canvas.depth.bytes())
        .saturating_add(UNIFORM_BYTES)
}

/// The least cache for one thread: of every cached node what lets a tile of the raster be computed without computing
/// a tile twice for the same reader.
///
/// A cached node that the tile itself reads needs a row of its tiles: chunks of the window that is read may end within
/// one. A node that is read by cached tiles needs all rows that one of them reads, across everything that the tile
/// of the raster reads: the next cached tile in the row, and then the next row of them, reads most of it again. With less,
/// every level of halos in halos would multiply the work.
fn least_cache(program: &Program, shape: Shape) -> u64 {
    let count = program.steps.len();
    // Columns that a tile of the raster reads in all; rows that one computation reads; whether that is a cached tile's.
    let mut reads = vec![(0_u64, 0_u64, false); count];
    reads[program.root()] = (shape.tile_width, shape.tile_height, false);
    let mut total = 0_u64;
    for index in (0..count).rev() {
        let step = &program.steps[index];
        if step.need.is_empty() {
            continue;
        }
        let (columns, rows, below) = reads[index];
        let (columns, rows, below) = match step.keep {
            Keep::Cached => {
                let tile = program.cached_tile(index);
                let all = |side: u64, tile: u64| side.div_ceil(tile) + 1;
                let across = all(columns, tile.width).min(step.width.div_ceil(tile.width));
                let down = if below { all(rows, tile.height) } else { 1 };
                let down = down.min(step.height.div_ceil(tile.height));
                total =
                    total.saturating_add(across.saturating_mul(down).saturating_mul(cached_bytes(program)));
                (across.saturating_mul(tile.width), tile.height, true)
            }
            // What is kept is made tile by tile, as the raster is.
            Keep::Cell { .. } | Keep::Whole => {
                (columns.max(shape.tile_width), rows.max(shape.tile_height), below)
            }
            Keep::No | Keep::Image => (columns, rows, below),
        };
        for (number, link) in step.links.iter().enumerate() {
            let request = Request {
                width: columns,
                height: rows,
            };
            let asked = step.kind.asks(link, number, &request);
            // A distance asks for rows in chunks, but reads all of its window.
            let window = rows.saturating_add(2 * u64::from(step.kind.halo(number)));
            let window = window.min(link.extent.height()).max(asked.height);
            let so_far = &mut reads[link.node];
            *so_far = (so_far.0.max(asked.width), so_far.1.max(window), so_far.2 | below);
        }
    }
    total
}

struct Sizes {
    /// Words of scratch of one thread.
    words: u64,
    /// The bytes of all tiles that all threads may hold at once.
    cache: u64,
}

/// Columns and rows of a tile in bands of `rows` rows.
fn tile(rows: u64, width: u64, bytes: u64, halo: u64) -> (u64, u64) {
    if halo == 0 {
        let height = rows.min(TILE_ROWS);
        return ((TILE_SAMPLES / bytes / height).clamp(1, width), height);
    }
    // A halo is read again by every neighbour: tiles several halos wide keep that share small.
    let height = rows.min((2 * halo).clamp(TILE_ROWS, 512));
    ((4 * halo).clamp(1_024, 4_096).min(width), height)
}

/// The sum of the halos on the longest way from the root to a node that is computed anew for every tile.
fn halo(program: &Program) -> u64 {
    let mut halos = vec![0_u64; program.steps.len()];
    let mut most = 0;
    for index in (0..program.steps.len()).rev() {
        let step = &program.steps[index];
        if step.need.is_empty() || matches!(step.keep, Keep::Cell { .. } | Keep::Whole) && !step.has_border()
        {
            continue;
        }
        most = most.max(halos[index]);
        for (number, link) in step.links.iter().enumerate() {
            let through = halos[index] + u64::from(step.kind.halo(number));
            halos[link.node] = halos[link.node].max(through);
            most = most.max(through);
        }
    }
    most
}

fn region(width: u64, height: u64, asked: Option<Rect>) -> Result<Rect, Error> {
    let canvas = Rect::sized(width, height);
    match asked {
        None => Ok(canvas),
        Some(rect) if !rect.is_empty() && canvas.contains(&rect) => Ok(rect),
        Some(rect) => Err(Error::Region {
            region: describe(rect),
            width,
            height,
        }),
    }
}

fn check_tile(tile: Option<(u64, u64)>, region: Rect) -> Result<(), Error> {
    let Some((width, height)) = tile else {
        return Ok(());
    };
    let problem = if width == 0 || height == 0 {
        format!("a tile of {width}×{height} pixels is empty; both sides must be at least 1")
    } else if u128::from(width.min(region.width())) * u128::from(height.min(region.height())) > LARGEST_TILE {
        format!("a tile of {width}×{height} pixels has more than {LARGEST_TILE}; choose a smaller one")
    } else {
        return Ok(());
    };
    Err(Error::Option {
        option: "tile",
        problem,
    })
}

fn threads(asked: Option<usize>) -> Result<usize, Error> {
    match asked {
        None => Ok(std::thread::available_parallelism()
            .map_or(1, usize::from)
            .min(MAX_THREADS)),
        Some(count) if (1..=MAX_THREADS).contains(&count) => Ok(count),
        Some(count) => Err(Error::Option {
            option: "threads",
            problem: format!("{count} threads were asked for; 1 to {MAX_THREADS} are possible"),
        }),
    }
}

/// The most that reading one picture holds, and whether the pictures are those the design was checked with.
fn decoding(program: &Program, images: &dyn ImageSource) -> Result<u64, Error> {
    let mut most = 0;
    for Picture {
        path,
        conversion,
        width,
        height,
        ..
    } in &program.pictures
    {
        let info = guarded(|| images.info(path, conversion)).map_err(|source| Error::Image {
            path: path.to_string(),
            source,
        })?;
        if (info.width, info.height) != (*width, *height) {
            return Err(Error::ImageChanged {
                path: path.to_string(),
                found: format!("{}×{} pixels", info.width, info.height),
                expected: format!("{width}×{height}"),
            });
        }
        most = most.max(info.memory);
    }
    Ok(most)
}

/// What would do: more memory, and, where that is so, fewer threads; `fewer` says how many, and the bytes that they need
/// where those are not allowed either.
fn advice(limit: u64, needed: u64, threads: usize, fewer: Option<(usize, Option<u64>)>) -> String {
    let enough = shown(needed, limit, true);
    let threads = |count: usize| match count {
        1 => format!("1 thread instead of {threads}"),
        _ => format!("{count} threads instead of {threads}"),
    };
    match fewer {
        Some((count, None)) => format!("{enough} would do, or {}", threads(count)),
        Some((count, Some(less))) if shown(less, limit, true) != enough && less < needed => {
            format!(
                "{enough} would do, or {} with {}",
                shown(less, limit, true),
                threads(count)
            )
        }
        _ => format!("{enough} would do"),
    }
}

fn saturate(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// The capacity in samples of a cached tile of this plan.
pub(crate) const fn cached_samples(program: &Program) -> u64 {
    program.cached.0.saturating_mul(program.cached.1)
}
