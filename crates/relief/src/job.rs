//! What all commands that compute share.

use std::path::{Path, PathBuf};

use relief_design::Design;
use relief_engine::{
    Cancel, Counts, DeviceChoice, MAX_THREADS, Options, Plan, Prepared, Progress, Raster, Renderer, Sink,
    TileSink, select_prepared,
};
use relief_io::{Level, LevelRenderer, Overview};
use relief_raster::Rect;

use crate::arguments::{Job, Watch};
use crate::design::Opened;
use crate::failure::Failure;
use crate::show::Meter;

/// The part of the canvas that a job asks for, in pixels.
pub(crate) fn region(design: &Design, job: &Job) -> Result<Option<Rect>, Failure> {
    let region = job.region.as_ref().map(|region| region.of(&design.canvas()));
    region.transpose()
}

/// The raster that a job will stream.
pub(crate) fn raster(design: &Design, job: &Job) -> Result<Raster, Failure> {
    let (canvas, region) = (design.canvas(), region(design, job)?);
    let width = region.map_or(canvas.width, |region| region.width());
    let height = region.map_or(canvas.height, |region| region.height());
    Ok(Raster::new(width, height, canvas.depth).with_pixel(canvas.pixel))
}

/// The pixel of the canvas that is the first of the raster.
pub(crate) fn origin(design: &Design, job: &Job) -> Result<(u64, u64), Failure> {
    Ok(region(design, job)?.map_or((0, 0), |region| {
        (region.x().unsigned_abs(), region.y().unsigned_abs())
    }))
}

/// The plan of a job into a sink.
pub(crate) fn plan_for(opened: &Opened, job: &Job, sink: &dyn Sink) -> Result<Plan, Failure> {
    let raster = raster(&opened.design, job)?;
    planned(opened, job, sink.memory(&raster), Some(sink.wants(&raster)), None)
}

/// The plan of a job that computes a level, into a sink that holds `sink` bytes; in tiles where their size is given.
pub(crate) fn plan_level(
    opened: &Opened,
    job: &Job,
    level: Level,
    sink: u64,
    tile: Option<(u64, u64)>,
) -> Result<Plan, Failure> {
    let raster = raster(&opened.design, job)?;
    let options = options(opened, job)?
        .sink(sink.saturating_add(level.memory(&raster, tile)))
        .levels();
    Ok(Plan::new(&opened.design, &opened.files, &options)?)
}

/// The plan of a job that computes tiles of this size, into a sink that holds `sink` bytes.
pub(crate) fn plan_tiles(opened: &Opened, job: &Job, sink: u64, tile: (u64, u64)) -> Result<Plan, Failure> {
    planned(opened, job, sink, None, Some(tile))
}

/// The plan of a job that counts the samples of a raster, on the CPU.
pub(crate) fn plan_counts(opened: &Opened, job: &Job) -> Result<Plan, Failure> {
    let depth = opened.design.canvas().depth;
    let options = options(opened, job)?
        .sink(Counts::memory(depth, threads(job)))
        .devices(Vec::new())
        .levels();
    Ok(Plan::new(&opened.design, &opened.files, &options)?)
}

/// The threads that a job will have; a number that cannot be is refused by its plan.
pub(crate) fn threads(job: &Job) -> usize {
    let all = || std::thread::available_parallelism().map_or(1, usize::from);
    job.threads.unwrap_or_else(all).clamp(1, MAX_THREADS)
}

/// What a design reads and what is computed of it, as one digest: an unfinished file is gone on with where it has the same.
/// [`unchanged`] says at the end whether the pictures still were those.
pub(crate) fn digest(opened: &Opened, job: &Job) -> Result<blake3::Hash, Failure> {
    let mut hasher = named(opened)?;
    if let Some(region) = region(&opened.design, job)? {
        for place in [region.x(), region.y(), region.right(), region.bottom()] {
            hasher.update(&place.to_le_bytes());
        }
    }
    Ok(hasher.finalize())
}

/// An overview that was written when the whole raster of this design was computed.
pub(crate) fn overview(opened: &Opened, path: &Path) -> Result<Overview, Failure> {
    let found = Overview::open(path).map_err(|source| Failure::File {
        action: "cannot read the overview",
        path: path.display().to_string(),
        source,
    })?;
    if found.digest() != name(opened)?.as_bytes() {
        return Err(Failure::Usage(format!(
            "the overview {} is of another design, or of other pictures; render it again",
            path.display()
        )));
    }
    Ok(found)
}

/// The most files of a folder that are looked at for an overview.
const LOOKED_AT: usize = 4_096;

/// The overview of this design, if one lies in the folder of the design or in the working folder, and its path.
///
/// Only those of rasters of this size are compared: what a design reads is digested for nothing else.
pub(crate) fn nearby_overview(opened: &Opened, design: &Path) -> Option<(PathBuf, Overview)> {
    let beside = design.parent().filter(|folder| !folder.as_os_str().is_empty());
    let here = Path::new(".");
    let canvas = opened.design.canvas();
    let mut digest = None;
    for folder in [beside, Some(here).filter(|_| beside != Some(here))]
        .into_iter()
        .flatten()
    {
        let Ok(files) = std::fs::read_dir(folder) else {
            continue;
        };
        let mut paths: Vec<PathBuf> = files
            .take(LOOKED_AT)
            .filter_map(|file| Some(file.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "overview"))
            .collect();
        paths.sort();
        for path in paths {
            let Ok(found) = Overview::open(&path) else {
                continue;
            };
            if found.size() != (canvas.width, canvas.height) || found.depth() != canvas.depth {
                continue;
            }
            let named = *digest.get_or_insert_with(|| name(opened).ok());
            if named.is_some_and(|name| name.as_bytes() == found.digest()) {
                return Some((path, found));
            }
        }
    }
    None
}

/// The name of a design with its values and pictures.
pub(crate) fn name(opened: &Opened) -> Result<blake3::Hash, Failure> {
    Ok(named(opened)?.finalize())
}

/// What a design reads, told to a hasher.
fn named(opened: &Opened) -> Result<blake3::Hasher, Failure> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&relief_design::MEANING.to_le_bytes());
    hasher.update(opened.digest.as_bytes());
    for (_, digest) in pictures(opened)? {
        hasher.update(digest.as_bytes());
    }
    Ok(hasher)
}

/// The longest picture that is digested to tell whether it is another one; of a longer one the sizes and the times of its files tell.
#[cfg(feature = "view")]
const DIGESTED: u64 = 256 << 20;

/// A name for the samples of a design: another one whenever they may be others; and one for each of its pictures, by their names.
#[cfg(feature = "view")]
pub(crate) fn key(opened: &Opened) -> Result<(blake3::Hash, Vec<(String, String)>), Failure> {
    let mut pictures = Vec::new();
    let mut hasher = blake3::Hasher::new();
    hasher.update(&relief_design::MEANING.to_le_bytes());
    hasher.update(opened.digest.as_bytes());
    let mut names: Vec<&str> = opened.design.files().collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let failed = |source| Failure::File {
            action: "cannot read",
            path: name.to_owned(),
            source,
        };
        // What a packed job holds does not change while it is open.
        let large = if opened.packed {
            None
        } else {
            let (bytes, stamps) = opened.files.stamps(name).map_err(failed)?;
            (bytes > DIGESTED).then_some(stamps)
        };
        let of_it = match large {
            Some(stamps) => blake3::hash(stamps.as_bytes()),
            None => opened.files.digest(name).map_err(failed)?,
        };
        hasher.update(of_it.as_bytes());
        pictures.push((name.to_owned(), of_it.to_hex().to_string()));
    }
    Ok((hasher.finalize(), pictures))
}

/// The pictures of a design, by name, with the digests of their files.
fn pictures(opened: &Opened) -> Result<Vec<(String, blake3::Hash)>, Failure> {
    let mut names: Vec<&str> = opened.design.files().collect();
    names.sort_unstable();
    names.dedup();
    let digest = |name: &str| {
        let digest = opened.files.digest(name).map_err(|source| Failure::File {
            action: "cannot read",
            path: name.to_owned(),
            source,
        })?;
        Ok((name.to_owned(), digest))
    };
    names.into_iter().map(digest).collect()
}

/// Refuses to complete a file whose pictures changed while they were read. Their reader must
/// [note](relief_io::Files::digesting) what it reads.
pub(crate) fn unchanged(opened: &Opened) -> Result<(), Failure> {
    for (name, digest) in pictures(opened)? {
        if opened.files.digests(&name).iter().any(|read| *read != digest) {
            return Err(Failure::Usage(format!(
                "the picture {name} changed while the job read it; begin anew"
            )));
        }
    }
    Ok(())
}

/// The plan of a job whose sink holds `sink` bytes.
pub(crate) fn plan(opened: &Opened, job: &Job, sink: u64) -> Result<Plan, Failure> {
    planned(opened, job, sink, None, None)
}

fn planned(
    opened: &Opened,
    job: &Job,
    sink: u64,
    rows: Option<u64>,
    tiles: Option<(u64, u64)>,
) -> Result<Plan, Failure> {
    let options = options(opened, job)?
        .with(|with| with.rows = rows)
        .with(|with| with.tiles = tiles)
        .sink(sink);
    Ok(Plan::new(&opened.design, &opened.files, &options)?)
}

/// What the arguments of a job ask its plan for.
fn options(opened: &Opened, job: &Job) -> Result<Options, Failure> {
    let region = region(&opened.design, job)?;
    Ok(Options::default()
        .with(|with| with.region = region)
        .with(|with| with.threads = job.threads)
        .with(|with| with.memory = job.memory)
        .with(|with| with.device_memory = job.device_memory)
        .with(|with| with.tile = job.tile)
        .with(|with| with.or_cpu = job.device == DeviceChoice::Auto)
        .devices(select_prepared(&job.device)?))
}

/// Makes a plan ready to run, and shows how far what comes before the first band is. What is prepared is that of the job, else that of the design.
pub(crate) fn renderer(
    opened: &Opened,
    plan: Plan,
    prepared: Option<&Prepared>,
    watch: &Watch,
    cancel: &Cancel,
) -> Result<Renderer, Failure> {
    let mut meter = (plan.preparation() > 0).then(|| Meter::preparing(watch));
    let mut tell = |progress| {
        if let Some(meter) = &mut meter {
            meter.tell(progress);
        }
    };
    let prepared = prepared.or(opened.prepared.as_ref());
    let renderer = Renderer::prepare(plan, &opened.files, prepared, &mut tell, cancel);
    if let Some(meter) = &mut meter {
        meter.end(renderer.is_ok());
    }
    Ok(renderer?)
}

/// Computes everything, or a level at a cost of so many samples, into `sink`, and says how long that took.
pub(crate) fn run(
    opened: &Opened,
    plan: Plan,
    level: Option<(Level, u64)>,
    sink: &mut dyn Sink,
    watch: &Watch,
    cancel: &Cancel,
) -> Result<Option<Progress>, Failure> {
    let renderer = renderer(opened, plan, None, watch, cancel)?;
    let mut meter = Meter::new(watch);
    let mut tell = |progress| meter.tell(progress);
    let outcome = match level {
        Some((level, cost)) => LevelRenderer::new(&renderer, level).render(sink, cost, &mut tell, cancel),
        None => renderer.render(sink, &mut tell, cancel),
    };
    let progress = meter.end(outcome.is_ok());
    outcome?;
    Ok(progress)
}

/// Computes the tiles of a part, or all, into `sink`, and says how long that took.
pub(crate) fn run_tiles(
    renderer: &Renderer,
    sink: &mut dyn TileSink,
    part: Option<(u64, u64)>,
    level: Option<(Level, u64)>,
    watch: &Watch,
    cancel: &Cancel,
) -> Result<(), Failure> {
    let mut meter = Meter::new(watch);
    let mut tell = |progress| meter.tell(progress);
    let outcome = match level {
        Some((level, cost)) => {
            LevelRenderer::new(renderer, level).render_tiles(sink, part, cost, &mut tell, cancel)
        }
        None => renderer.render_tiles(sink, part, &mut tell, cancel),
    };
    meter.end(outcome.is_ok());
    Ok(outcome?)
}
