//! `relief verify`: whether files hold what a manifest says was executed, and whether an export is complete and of a design.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use relief_engine::{Cancel, Grid, Renderer, SamplesMut, TileSink};
use relief_io::{Compared, Difference, Inspection, Level};
use relief_machine::{Manifest, verify};
use relief_raster::{Depth, Rect};
use relief_scan::{Layers, Passes};

use crate::arguments::{Export, Job, LevelArguments, Watch};
use crate::design::{self, Opened, Warnings};
use crate::failure::Failure;
use crate::quantity::counted;
use crate::{interrupt, job};

use super::halftone::HalftoneArgument;
use super::{export, layers};

#[derive(Debug, Args)]
pub(crate) struct Verify {
    #[command(flatten)]
    job: Job,
    /// What was executed, by the manifest of its job; several files are read one after the other. Or a Zarr store or a TIFF in
    /// tiles, by its design
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Take a job that is not complete, too: compare the lines whose digests the manifest has
    #[arg(long)]
    incomplete: bool,
    /// Name the parts of N that are missing of a file that several processes write
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    parts: Option<u64>,
    /// Compute the raster again and compare every sample of a Zarr store or a TIFF in tiles; with --region, of a file of the whole
    /// canvas those in the region
    #[arg(long)]
    samples: bool,
    /// The halftone that the file was written with
    #[arg(long, value_name = "METHOD", value_parser = super::halftone::halftone)]
    halftone: Option<HalftoneArgument>,
    /// The passes that the file was written with; it is one of them
    #[arg(long, value_name = "PASSES", value_parser = crate::commands::stream::passes)]
    passes: Option<Passes>,
    /// The file was written with the tables, the passes and the halftone of the design's `scan`
    #[arg(long)]
    as_scanned: bool,
    #[command(flatten)]
    level: LevelArguments,
}

/// The most runs of tiles and names that are listed.
const LISTED: usize = 100;

pub(crate) fn run(arguments: &Verify) -> Result<(), Failure> {
    if let [path] = arguments.files.as_slice()
        && is_export(path)
        // What a machine executed may be called like a file of an export.
        && Manifest::read(&arguments.job.file).is_err()
    {
        return exported(arguments, path);
    }
    let of_export = [
        (arguments.samples, "--samples"),
        (arguments.parts.is_some(), "--parts"),
        (arguments.halftone.is_some(), "--halftone"),
        (arguments.passes.is_some(), "--passes"),
        (arguments.as_scanned, "--as-scanned"),
        (arguments.level.is_given(), "--level"),
        (arguments.job.region.is_some(), "--region"),
    ];
    if let Some((_, option)) = of_export.iter().find(|(given, _)| *given) {
        return Err(Failure::Usage(format!(
            "{option} is for one Zarr store or TIFF, .zarr or .tif; other files are compared with a manifest"
        )));
    }
    executed(arguments)
}

/// Whether a path is that of a store or a TIFF, complete or not.
fn is_export(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let by_name = extension.is_some_and(|extension| {
        ["zarr", "tif", "tiff", "btf"].contains(&extension.to_ascii_lowercase().as_str())
    });
    path.is_dir() || by_name
}

fn executed(arguments: &Verify) -> Result<(), Failure> {
    let path = &arguments.job.file;
    let manifest = Manifest::read(path).map_err(|error| match path.extension().and_then(|name| name.to_str()) {
        Some("kdl" | "relief") => Failure::Usage(format!(
            "{} is a design, by which one Zarr store or TIFF in tiles is verified; what a machine executed is verified by the manifest of its job",
            path.display()
        )),
        _ => error.into(),
    })?;
    let program = super::stream::program_of(&manifest, path, &arguments.job.reading())?;
    let verified = verify(&manifest, &program, &arguments.files)?;
    let state = if manifest.complete {
        "complete"
    } else {
        "not complete"
    };
    writeln!(
        io::stdout(),
        "{} of {} {} in {}; {} in the files; the job is {state}",
        verified.compared,
        counted(manifest.lines, "line"),
        if manifest.lines == 1 { "agrees" } else { "agree" },
        counted(verified.bands, "band"),
        counted(verified.lines, "line")
    )?;
    // What was not compared may be anything.
    if verified.compared == manifest.lines || (arguments.incomplete && verified.compared > 0) {
        return Ok(());
    }
    let left = manifest.lines - verified.compared;
    let more = if arguments.incomplete {
        "the manifest has no digest yet"
    } else {
        "relief stream --resume takes the job to its end; --incomplete accepts what agrees so far"
    };
    Err(Failure::Unverified(format!(
        "{left} of {} lines could not be compared: the job is {state}; {more}",
        manifest.lines
    )))
}

/// Whether an export is complete, and that of a design.
fn exported(arguments: &Verify, path: &Path) -> Result<(), Failure> {
    let opened = design::open(&arguments.job.file, &arguments.job.reading(), Warnings::Counted)?;
    let found = Inspection::open(path)?;
    let name = found.path().display().to_string();
    let asked = Export {
        halftone: arguments.halftone,
        passes: arguments.passes.clone(),
        as_scanned: arguments.as_scanned,
        ..Export::default()
    };
    let layers = layers::asked(&asked, &opened)?;
    let Written { job, pass, within } = written(arguments, &opened, &found, &layers, &name)?;
    let job = &job;
    let raster = job::raster(&opened.design, job)?;
    let level = arguments.level.of(&raster)?;
    let mut report = Report::new(found.grid(), arguments.parts);
    found.missing(&mut |tiles| report.missing(tiles.start.into()..tiles.end.into(), "not written"))?;
    // A chunk without a file is compared as one of zeros.
    if level.is_none() && layers.change_nothing() && !arguments.samples {
        lost(&opened, job, &found, &mut report)?;
    }
    let compared = if arguments.samples {
        let level = level.map(|level| (level, arguments.level.cost));
        Some(compared(&opened, job, (&layers, pass), level, &found, within)?)
    } else {
        None
    };
    let foreign = found.foreign()?;
    let mut out = io::stdout().lock();
    for line in &report.lines {
        writeln!(out, "{line}")?;
    }
    for path in foreign.iter().take(LISTED) {
        let text = format!("foreign: {}", path.display());
        writeln!(out, "{}", relief_design::visible(&text))?;
    }
    if let Some(compared) = &compared {
        for difference in &compared.differences {
            let text = differing(difference);
            writeln!(out, "{}", relief_design::visible(&text))?;
        }
    }
    let count = found.grid().count();
    let differs = compared.as_ref().is_some_and(|compared| compared.tiles > 0);
    if report.count == 0 && foreign.is_empty() && found.is_complete() && !differs {
        let pass = if layers.count() > 1 {
            format!(", pass {pass}")
        } else {
            String::new()
        };
        let same = match &compared {
            Some(compared) if within.is_some() => {
                format!("; {} in the region are the same", samples(compared.samples))
            }
            Some(compared) => format!("; all {} are the same", samples(compared.samples)),
            None => String::new(),
        };
        let text = format!(
            "{name}: all {} are there, of this design{pass}{same}",
            counted(count, "tile")
        );
        writeln!(out, "{}", relief_design::visible(&text))?;
        return Ok(());
    }
    let mut wrong = Vec::new();
    if report.count > 0 {
        let tiles = counted(count, "tile");
        wrong.push(format!("misses {} of {tiles}{}", report.count, report.parts()));
    }
    if let Some(compared) = compared.filter(|_| differs) {
        let tiles = counted(u128::from(compared.tiles), "tile");
        wrong.push(format!(
            "differs in {} of {}, in {tiles}",
            compared.different,
            samples(compared.samples)
        ));
    }
    if !found.is_complete() {
        wrong.push("has not its name yet".to_owned());
    }
    if !foreign.is_empty() {
        let files = counted(foreign.len() as u64, "file");
        wrong.push(format!("has {files} that no tile is in"));
    }
    Err(Failure::Unverified(format!("{name} {}", wrong.join(", "))))
}

/// Of which job a file is.
struct Written {
    /// The job with the region that the file was written with.
    job: Job,
    pass: u32,
    /// The part that is asked for of a file of the whole canvas.
    within: Option<Rect>,
}

/// Finds the job of a file; fails where it is none of those asked for.
fn written(
    arguments: &Verify,
    opened: &Opened,
    found: &Inspection,
    layers: &Layers,
    name: &str,
) -> Result<Written, Failure> {
    let job = &arguments.job;
    let of = |job: &Job| -> Result<(Option<u32>, String), Failure> {
        let whole = job::digest(opened, job)?;
        let level = arguments.level.of(&job::raster(&opened.design, job)?)?;
        let digest = |pass| export::digest(whole, layers, pass, level).to_string();
        let pass = (0..layers.count()).find(|&pass| found.job() == digest(pass));
        Ok((pass, digest(0)))
    };
    let (pass, first) = of(job)?;
    if let Some(pass) = pass {
        return Ok(Written {
            job: job.clone(),
            pass,
            within: None,
        });
    }
    let region = job::region(&opened.design, job)?;
    // Rows of a level are not those of the region.
    if let Some(region) = region.filter(|_| arguments.samples && !arguments.level.is_given()) {
        let whole = Job {
            region: None,
            ..job.clone()
        };
        if let (Some(pass), _) = of(&whole)? {
            return Ok(Written {
                job: whole,
                pass,
                within: Some(region),
            });
        }
    }
    Err(Failure::Unverified(format!(
        "{name} is of another job, {}…: this design with these options is {}…{}; --region, --set, --halftone, --passes, \
         --as-scanned and --level are part of it",
        short(found.job()),
        short(&first),
        if layers.count() > 1 {
            " in its first pass"
        } else {
            ""
        }
    )))
}

/// Computes the raster again and compares what is there of the file.
fn compared(
    opened: &Opened,
    job: &Job,
    (layers, pass): (&Layers, u32),
    level: Option<(Level, u64)>,
    found: &Inspection,
    within: Option<Rect>,
) -> Result<Compared, Failure> {
    let mut comparison = found.compare(within)?;
    if layers.change_nothing() {
        run_into(opened, job, level, &mut comparison)?;
        return Ok(comparison.compared());
    }
    let part = (layers, pass);
    let mut screened = layers::screened(comparison, part, level.map(|(level, _)| level), (opened, job))?;
    run_into(opened, job, level, &mut screened)?;
    Ok(screened.into_inner().compared())
}

fn run_into(
    opened: &Opened,
    job: &Job,
    level: Option<(Level, u64)>,
    sink: &mut dyn TileSink,
) -> Result<(), Failure> {
    let watch = Watch {
        quiet: false,
        json_progress: false,
    };
    let cancel = Cancel::new();
    let raster = job::raster(&opened.design, job)?;
    let raster = level.map_or(raster, |(level, _)| level.raster(&raster));
    let plan = export::plan_of_tiles(opened, job, &raster, level.map(|(level, _)| level), sink)?;
    let renderer = job::renderer(opened, plan, None, &watch, &cancel)?;
    let guard = interrupt::watch(&cancel, None);
    let outcome = job::run_tiles(&renderer, sink, None, level, &watch, &cancel);
    drop(guard);
    outcome
}

/// So many samples, in words.
fn samples(count: u128) -> String {
    counted(count, "sample")
}

/// A difference, in words.
fn differing(difference: &Difference) -> String {
    match difference {
        Difference::Samples {
            rect,
            count,
            first: (x, y),
            stored,
            computed,
            ..
        } => format!(
            "different: {} in {}; the first, at ({x}, {y}), is {stored} and should be {computed}",
            samples(u128::from(*count)),
            place(rect)
        ),
        Difference::Damaged { rect, problem, .. } => {
            format!("damaged: the tile of {}: {problem}", place(rect))
        }
        _ => "different".to_owned(),
    }
}

/// A rectangle, as --region takes it.
fn place(rect: &Rect) -> String {
    format!("{},{},{}x{}", rect.x(), rect.y(), rect.width(), rect.height())
}

/// The first digits of a digest.
fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

/// Finds chunks without a file whose samples are not all the fill value.
fn lost(opened: &Opened, job: &Job, found: &Inspection, report: &mut Report) -> Result<(), Failure> {
    let mut empty: Option<Renderer> = None;
    let watch = Watch {
        quiet: true,
        json_progress: false,
    };
    let cancel = Cancel::new();
    let mut memory = (Vec::new(), Vec::new());
    let mut outcome = Ok(());
    found.empty(&mut |tile, rect| {
        let mut is_zero = || -> Result<bool, Failure> {
            let renderer = match &mut empty {
                Some(renderer) => renderer,
                none => {
                    let bytes = u64::try_from(rect.area()).unwrap_or(u64::MAX).saturating_mul(2);
                    let plan = job::plan(opened, job, bytes)?;
                    none.insert(job::renderer(opened, plan, None, &watch, &cancel)?)
                }
            };
            zero(renderer, rect, &mut memory, &cancel)
        };
        match is_zero() {
            Ok(true) => {}
            Ok(false) => report.missing(tile.into()..u128::from(tile) + 1, "its file is gone"),
            Err(error) => outcome = Err(error),
        }
        outcome.is_ok()
    })?;
    outcome
}

/// Whether all samples of a rectangle are 0.
fn zero(
    renderer: &Renderer,
    rect: Rect,
    (eight, sixteen): &mut (Vec<u8>, Vec<u16>),
    cancel: &Cancel,
) -> Result<bool, Failure> {
    match renderer.bounds(rect)? {
        (_, 0) => return Ok(true),
        (1.., _) => return Ok(false),
        _ => {}
    }
    let count = usize::try_from(rect.area()).unwrap_or(usize::MAX);
    match renderer.plan().depth() {
        Depth::Eight => {
            eight.resize(count, 0);
            renderer.read(rect, SamplesMut::Eight(eight), cancel)?;
            Ok(eight.iter().all(|&sample| sample == 0))
        }
        Depth::Sixteen => {
            sixteen.resize(count, 0);
            renderer.read(rect, SamplesMut::Sixteen(sixteen), cancel)?;
            Ok(sixteen.iter().all(|&sample| sample == 0))
        }
    }
}

/// What is missing, as it is told.
struct Report {
    grid: Grid,
    lines: Vec<String>,
    count: u128,
    /// Which of so many parts miss something.
    parts: Option<(u64, std::collections::BTreeSet<u64>)>,
}

impl Report {
    const fn new(grid: Grid, parts: Option<u64>) -> Self {
        let parts = match parts {
            Some(parts) => Some((parts, std::collections::BTreeSet::new())),
            None => None,
        };
        Self {
            grid,
            lines: Vec::new(),
            count: 0,
            parts,
        }
    }

    fn missing(&mut self, tiles: std::ops::Range<u128>, why: &str) {
        self.count += tiles.end - tiles.start;
        if let Some((parts, missing)) = &mut self.parts {
            // Parts are runs of tiles one after the other.
            let of = |tile: u128| part_of(&self.grid, *parts, tile);
            let last = of(tiles.end - 1);
            let first = of(tiles.start);
            missing.extend((first..=last).take(LISTED));
        }
        if self.lines.len() == LISTED {
            self.lines.push("missing: and more".to_owned());
        }
        if self.lines.len() > LISTED {
            return;
        }
        let (first, last) = (self.grid.rect(tiles.start), self.grid.rect(tiles.end - 1));
        self.lines.push(if tiles.end - tiles.start == 1 {
            format!(
                "missing: tile {} at ({}, {}): {why}",
                tiles.start,
                first.x(),
                first.y()
            )
        } else {
            format!(
                "missing: tiles {} to {}, from ({}, {}) to ({}, {}): {why}",
                tiles.start,
                tiles.end - 1,
                first.x(),
                first.y(),
                last.x(),
                last.y()
            )
        });
    }

    /// The parts that miss something, in words.
    fn parts(&self) -> String {
        let Some((parts, missing)) = &self.parts else {
            return String::new();
        };
        let names: Vec<String> = missing
            .iter()
            .take(LISTED)
            .map(|part| format!("{part}/{parts}"))
            .collect();
        if names.is_empty() {
            String::new()
        } else {
            format!(", in parts {}", names.join(", "))
        }
    }
}

/// The part of so many that has this tile.
fn part_of(grid: &Grid, parts: u64, tile: u128) -> u64 {
    let (whole, rest) = (grid.count() / u128::from(parts), grid.count() % u128::from(parts));
    // The first parts have one tile more.
    let longer = rest * (whole + 1);
    let part = if tile < longer {
        tile / (whole + 1)
    } else {
        rest + (tile - longer) / whole.max(1)
    };
    u64::try_from(part).unwrap_or(parts)
}

#[cfg(test)]
mod tests {
    use relief_engine::Raster;

    use super::*;

    #[test]
    fn a_tile_is_of_the_part_that_writes_it() {
        for (width, parts) in [(160, 3), (160, 7), (16, 5), (48, 90), (1_600, 1)] {
            let raster = Raster::new(width, 32, Depth::Eight);
            let grid = Grid::new(&raster, 16, 16).expect("tiles");
            for part in 0..parts {
                for tile in grid.part(part, parts).expect("a part") {
                    assert_eq!(part_of(&grid, parts, tile), part, "{width}: {tile} of {parts}");
                }
            }
        }
    }
}
