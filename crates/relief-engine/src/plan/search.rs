//! The search for a plan that fits the memory allowed, and what would do where none does.

use std::sync::Arc;

use relief_design::tree::Design;
use relief_kernels::device::DeviceId;
use relief_raster::Rect;

use super::draft::{Draft, level_readers};
use super::memory::{halo, is_tall, is_turned};
#[cfg(feature = "gpu")]
use super::shape::tile;
use super::{DEFAULT_MEMORY, DevicePlan, MAX_THREADS, Options, Peak, Plan, Shape, keep, prepare, saturate};
use crate::Error;
use crate::drawings::Drawings;
use crate::error::{describe, shown};
use crate::program::{Merge, Program};
use crate::source::{ImageSource, guarded};

/// The most samples of a tile.
const LARGEST_TILE: u128 = 1 << 30;

impl Plan {
    /// Plans a job on the devices of its options, else on the CPU. Looks at the pictures the design names, but reads no sample and computes none.
    ///
    /// # Errors
    /// Where an option is out of range, a picture is not what the design
    /// was checked with, or no plan fits in the memory allowed: the error then says what would.
    pub fn new(design: &Design, images: &dyn ImageSource, options: &Options) -> Result<Self, Error> {
        let plan = Self::for_devices(design, images, options);
        #[cfg(feature = "gpu")]
        if options.or_cpu && options.devices.iter().any(|id| *id != DeviceId::Cpu) {
            let (on_host, all) = match &plan {
                Ok(plan) => super::planes::work(&plan.program),
                Err(_) => (1, 1),
            };
            if on_host.saturating_mul(2) >= all {
                tracing::debug!("{on_host} of {all} parts of the work are the CPU's: it does all of them");
                return Self::for_devices(design, images, &options.clone().devices(Vec::new()));
            }
        }
        plan
    }

    /// The plan on the devices that the options name.
    fn for_devices(design: &Design, images: &dyn ImageSource, options: &Options) -> Result<Self, Error> {
        let canvas = design.canvas();
        let region = region(canvas.width, canvas.height, options.region)?;
        let threads = threads(options.threads)?;
        let readers = readers(options.readers)?;
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
        let mut drawings = Drawings::new(canvas.depth, limit);
        #[cfg(feature = "gpu")]
        let (gpus, mut program, mut apart) = if gpus.is_empty() {
            (
                None,
                Program::new(design, usize::MAX, Merge::Equal, &mut drawings)?,
                None,
            )
        } else {
            let target = super::devices::Target::new(&gpus)?;
            let mut program = |merge| {
                let mut program = Program::new(design, target.layers(), merge, &mut drawings)?;
                program.buffers = target.buffers();
                Ok::<_, Error>(program)
            };
            let (merged, apart) = (program(Merge::Equal)?, program(Merge::Pictures)?);
            let apart = (apart.steps.len() > merged.steps.len()).then_some(apart);
            (Some(target), merged, apart)
        };
        #[cfg(not(feature = "gpu"))]
        let mut program = Program::new(design, usize::MAX, Merge::Equal, &mut drawings)?;
        program.probed = options.probed;
        look(&mut program, images)?;
        #[cfg(feature = "gpu")]
        if let Some(apart) = &mut apart {
            // Both name the same pictures in the same order.
            apart.pictures.clone_from(&program.pictures);
        }
        let draft = Draft {
            program,
            region,
            threads,
            readers,
            limit,
            options,
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
            readers: self.readers,
            region: self.region,
            options: self.options,
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

    /// The bytes of the tiles that threads hold to hand them on; `None` where bands are handed on.
    fn handed_on(&self, bytes: u64) -> Option<u64> {
        let (width, height) = self.options.tiles?;
        let (width, height) = (width.min(self.region.width()), height.min(self.region.height()));
        let samples = u128::from(width) * u128::from(height) * self.threads as u128;
        Some(saturate(samples).saturating_mul(bytes))
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
            if super::devices::plane_area(&apart, width) < super::devices::plane_area(&program, width) {
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
        let mut shapes = self.shapes(halo, is_turned(&program), is_tall(&program));
        if fixed.total() > self.limit && program.steps.len() > MANY {
            // None fits, and each takes a while to size: the figure is that of the smallest.
            shapes.drain(..shapes.len().saturating_sub(SMALLEST));
        }
        for shape in shapes {
            let bytes = self.program.canvas.depth.bytes();
            let samples = u128::from(shape.band_width) * u128::from(shape.band_height) * shape.bands as u128;
            let bands = self
                .handed_on(bytes)
                .unwrap_or(saturate(samples).saturating_mul(bytes))
                .saturating_mul(self.readers);
            let mut least = None;
            for cached in self.cached_tiles(shape) {
                program.cached = cached;
                let sizes = self.sizes(&program, shape);
                let tile = (shape.tile_width, shape.tile_height);
                let peak = Peak {
                    bands,
                    preparing: prepare::memory(&program, tile, self.threads as u64),
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
            program: Arc::new(program),
            region: self.region,
            shape,
            threads: self.threads,
            readers: self.readers as usize,
            levels: self.options.levels,
            level_readers: level_readers(self.options),
            peak,
            words,
            device,
        }
    }

    /// The plan for devices. Nodes of which devices would have to hold too much, because they read elsewhere than where they lie, are left to
    /// the host.
    #[cfg(feature = "gpu")]
    fn fit_devices(
        &self,
        gpus: &super::devices::Target,
        mut program: Program,
        halo: u64,
        fixed: Peak,
    ) -> Result<Plan, Shortage> {
        let mut first = None;
        loop {
            match self.fit_as_lowered(gpus, program.clone(), halo, fixed) {
                Err(Shortage::Device(error)) => {
                    // What is said, if nothing helps, is what the device lacks without help.
                    let said = first.unwrap_or(error);
                    if !super::planes::leave_to_host(&mut program) {
                        return Err(Shortage::Device(said));
                    }
                    first = Some(said);
                }
                done => return done,
            }
        }
    }

    /// The plan for devices with the nodes computed where the program says: the host only makes what is kept and what is left to it, and
    /// holds bands on their way to the sink.
    #[cfg(feature = "gpu")]
    fn fit_as_lowered(
        &self,
        gpus: &super::devices::Target,
        mut program: Program,
        halo: u64,
        fixed: Peak,
    ) -> Result<Plan, Shortage> {
        // What devices read of kept cells is made once; what the host makes for every band wants its tiles at hand.
        let host_works = super::planes::host_works(&program);
        program.cached = (64, 64);
        let (width, height) = (self.region.width(), self.region.height());
        let bytes = program.canvas.depth.bytes();
        let mut least_host = u64::MAX;
        let mut shortage = None;
        for (columns, rows) in gpus.bands(width, height, bytes, self.options.tile, self.wanted_rows(height)) {
            // No more are under way than there are for each device.
            let count = width.div_ceil(columns).saturating_mul(height.div_ceil(rows));
            let count = usize::try_from(count.div_ceil(gpus.count() as u64)).unwrap_or(usize::MAX);
            for (lanes, depth) in gpus.lanes(&program) {
                let lanes = lanes.min(count);
                let depth = depth.min(count.div_ceil(lanes));
                let tile = tile(rows.clamp(1, 512), width, bytes, halo, is_turned(&program));
                let shape = Shape {
                    tile_width: tile.0,
                    tile_height: tile.1,
                    band_width: columns,
                    band_height: rows,
                    bands: gpus.count() * lanes * depth + 1,
                    alone: false,
                };
                // Rows on their way are padded to 16 bytes, and packed anew where that left gaps.
                let row = (columns * bytes).next_multiple_of(16);
                let copies = shape.bands as u64 + u64::from(row != columns * bytes);
                let bands = row.saturating_mul(rows).saturating_mul(copies);
                let bands = bands.saturating_add(self.handed_on(bytes).unwrap_or(0));
                let bands = bands.saturating_mul(self.readers);
                let memory = self.options.device_memory;
                let driven = lanes.saturating_mul(self.readers as usize);
                let (strip, device_bytes) = match gpus.fit(&program, shape, driven, halo, memory) {
                    Err(error) => {
                        shortage = Some(error);
                        continue;
                    }
                    Ok(fits) => fits,
                };
                let host = super::devices::host_bytes(&program, shape, strip, driven, gpus.count());
                let device = DevicePlan {
                    ids: gpus.ids(),
                    lanes,
                    depth,
                    strip,
                    bytes: device_bytes,
                };
                let cached = if host_works {
                    self.cached_tiles(shape)
                } else {
                    vec![(64, 64)]
                };
                let mut least = None;
                for cached in cached {
                    program.cached = cached;
                    let sizes = self.sizes(&program, shape);
                    let peak = Peak {
                        bands: bands.saturating_add(host),
                        preparing: prepare::memory(&program, tile, self.threads as u64),
                        scratch: sizes.words.saturating_mul(8).saturating_mul(self.threads as u64),
                        cache: sizes.cache,
                        ..fixed
                    };
                    let strip = Shape {
                        band_height: super::devices::strip_rows(shape, strip, gpus.count() as u64),
                        ..shape
                    };
                    let cache = if host_works {
                        self.useful(&program, strip, halo).max(sizes.cache)
                    } else {
                        sizes.cache
                    };
                    let useful = Peak { cache, ..peak };
                    if useful.total() <= self.limit {
                        return Ok(self.plan(program, shape, useful, sizes.words, Some(device)));
                    }
                    least_host = least_host.min(peak.total());
                    if peak.total() <= self.limit {
                        // Short of what is useful, every tile kept is one that need not be computed again.
                        let cache = peak.cache + (self.limit - peak.total());
                        least = Some((cached, Peak { cache, ..peak }, sizes.words));
                    }
                }
                if let Some((cached, peak, words)) = least {
                    program.cached = cached;
                    return Ok(self.plan(program, shape, peak, words, Some(device)));
                }
            }
        }
        Err(match shortage {
            Some(error) if least_host == u64::MAX => Shortage::Device(error),
            _ => Shortage::Host(least_host),
        })
    }
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

fn readers(asked: Option<usize>) -> Result<u64, Error> {
    match asked.unwrap_or(1) {
        count @ 1..=MAX_THREADS => Ok(count as u64),
        count => Err(Error::Option {
            option: "readers",
            problem: format!("{count} jobs at the same time were asked for; 1 to {MAX_THREADS} are possible"),
        }),
    }
}

/// Looks at the pictures, which have to be those that the design was checked with.
fn look(program: &mut Program, images: &dyn ImageSource) -> Result<(), Error> {
    for picture in &mut program.pictures {
        let path = &picture.path;
        let look = || {
            let opened = images.open(path, &picture.conversion)?;
            Ok((opened.size(), (opened.memory(), opened.held()), opened.windowed()))
        };
        let (size, memory, windowed) = guarded(look).map_err(|source| Error::Image {
            path: path.to_string(),
            source,
        })?;
        if size != (picture.width, picture.height) {
            return Err(Error::ImageChanged {
                path: path.to_string(),
                found: format!("{}×{} pixels", size.0, size.1),
                expected: format!("{}×{}", picture.width, picture.height),
            });
        }
        ((picture.memory, picture.resident), picture.windowed) = (memory, windowed);
    }
    Ok(())
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
