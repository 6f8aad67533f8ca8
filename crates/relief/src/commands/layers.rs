//! `relief render` with passes: a file for each of them.
//!
//! Files are written into a folder beside their place, PATTERN.partial, and get their names when all are complete. A run that
//! is interrupted leaves the folder: the same command goes on with the passes that are in it.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use relief_engine::{Cancel, Plan, Raster, TileSink};
use relief_io::{Format, Level, SinkError, TiledTiff, ZarrSink};
use relief_scan::{Layered, Layers, Scan, Screened, Tables};

use crate::arguments::{Export, Job, Render};
use crate::design::Opened;
use crate::failure::Failure;
use crate::quantity::counted;
use crate::{interrupt, job};

use super::export::{self, FilePlan};
use super::render::{self, Boxed, Output};
use super::stream;

/// The most passes that are written while the raster is computed once.
const AT_ONCE: usize = 16;

/// The file in the folder that says of which job it is, and that is locked.
const JOB: &str = ".job";

/// The file that says that all passes are complete and only miss their names.
const COMPLETE: &str = ".complete";

/// What is made of the samples before they are written: as the arguments say, and with --as-scanned the design.
pub(crate) fn asked(asked: &Export, opened: &Opened) -> Result<Layers, Failure> {
    let mut scan = Scan::default();
    let mut tables = Tables::default();
    if asked.as_scanned {
        let Some(node) = opened.design.scan() else {
            return Err(Failure::Usage(
                "--as-scanned takes the tables, passes and halftone of the `scan` of the design, which has none; leave it \
                 out, or give --passes or --halftone"
                    .to_owned(),
            ));
        };
        scan.passes = node.scan.passes.clone();
        scan.halftone = node.scan.halftone;
        scan.packing.bits = node.scan.packing.bits;
        tables = stream::tables(opened, node)?;
    }
    if let Some(passes) = &asked.passes {
        scan.passes = passes.clone();
    }
    if let Some(halftone) = &asked.halftone {
        scan.halftone = Some(halftone.on(opened.design.canvas().pixel)?);
    }
    Ok(Layers::new(&scan, &tables, opened.design.canvas().depth).map_err(relief_machine::Error::from)?)
}

/// Hands what a pass makes of a raster, or of its level, to `sink`.
pub(super) fn screened<T>(
    sink: T,
    (layers, pass): (&Layers, u32),
    level: Option<Level>,
    (opened, job): (&Opened, &Job),
) -> Result<Screened<T>, Failure> {
    let (x, y) = job::origin(&opened.design, job)?;
    let shift = level.map_or(0, |level| level.number());
    let screened = layers.pass(sink, pass, (x >> shift, y >> shift));
    Ok(screened.map_err(relief_machine::Error::from)?)
}

/// The settings of a scan that a raster in files does not follow.
pub(crate) fn ignored(scan: &Scan) -> Vec<&'static str> {
    let plain = Scan::default();
    let packing = &scan.packing;
    [
        ("mirror", scan.mirror != plain.mirror),
        ("rotate", scan.rotate != plain.rotate),
        ("axis", scan.axis != plain.axis),
        ("start", scan.start != plain.start),
        ("direction", scan.direction != plain.direction),
        ("return-offset", scan.return_offset != plain.return_offset),
        ("interleave", scan.interleave != plain.interleave),
        ("stripe", scan.stripe.is_some()),
        ("swath", scan.swath.is_some()),
        ("overscan", scan.overscan != plain.overscan),
        ("the axes of passes", scan.pass_axes != plain.pass_axes),
        ("encoding", scan.run_length),
        ("bit-order", packing.bit_order != plain.packing.bit_order),
        ("byte-order", packing.byte_order != plain.packing.byte_order),
        ("polarity", packing.polarity != plain.packing.polarity),
    ]
    .into_iter()
    .filter_map(|(name, differs)| differs.then_some(name))
    .collect()
}

/// The names of the files of all passes; `None` where there is one file, of this very name.
///
/// `{pass}` stands for the number of a pass, counted from 0, and `{pass:03}` for the same in three digits. A folder takes
/// files of its own names.
pub(crate) fn names(
    path: &Path,
    format: Format,
    layers: &Layers,
    asked: bool,
) -> Result<Option<Vec<PathBuf>>, Failure> {
    let wrong = |why: String| Failure::Usage(format!("--output {}: {why}", path.display()));
    let count = layers.count();
    let Some(text) = path.to_str() else {
        return if count == 1 {
            Ok(None)
        } else {
            Err(wrong("a pattern for the files of passes is UTF-8".to_owned()))
        };
    };
    let is_folder = text.ends_with('/') || (path.is_dir() && format != Format::Zarr);
    if is_folder && (asked || count > 1) {
        let digits = (count - 1).to_string().len().max(3);
        let name = |pass| path.join(format!("layer-{pass:0digits$}.{}", extension(format)));
        return Ok(Some((0..count).map(name).collect()));
    }
    if asked && has_place(text) {
        let all: Result<Vec<PathBuf>, String> =
            (0..count).map(|pass| Ok(filled(text, pass)?.into())).collect();
        let all = all.map_err(wrong)?;
        let folder = all.first().and_then(|name| name.parent());
        if all.iter().any(|name| name.parent() != folder) {
            return Err(wrong(
                "{pass} stands in the name of a file, not of a folder: all passes appear in one folder"
                    .to_owned(),
            ));
        }
        return Ok(Some(all));
    }
    if count == 1 {
        return Ok(None);
    }
    let other = if text.contains('{') {
        "; no other word in braces stands for a pass"
    } else {
        ""
    };
    Err(wrong(format!(
        "there are {count} passes, and a file for each: name them by a pattern, such as -o layer-{{pass:03}}.{}, or name a \
         folder, such as -o layers/ --format {format}{other}",
        extension(format)
    )))
}

/// The usual extension of a format.
const fn extension(format: Format) -> &'static str {
    match format {
        Format::Tiff => "tif",
        other => other.name(),
    }
}

/// Whether a number of a pass has a place in the pattern.
fn has_place(pattern: &str) -> bool {
    pattern.contains("{pass}") || pattern.contains("{pass:")
}

/// Keeps the places of passes in a template for the rows of a file, in which braces stand for columns.
pub(crate) fn protected(template: &str) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some(at) = rest.find("{pass") {
        let Some(end) = rest[at..].find('}') else { break };
        text.push_str(&rest[..at]);
        text.push('{');
        text.push_str(&rest[at..=at + end]);
        text.push('}');
        rest = &rest[at + end + 1..];
    }
    text + rest
}

/// A pattern with the number of a pass in its places.
fn filled(pattern: &str, pass: u32) -> Result<String, String> {
    let mut name = String::new();
    let mut rest = pattern;
    while let Some(at) = rest.find(['{', '}']) {
        name.push_str(&rest[..at]);
        let (mark, after) = rest[at..].split_at(1);
        if let Some(after) = after.strip_prefix(mark) {
            name.push_str(mark);
            rest = after;
            continue;
        }
        let place = after.split_once('}').filter(|_| mark == "{");
        let (place, after) = place.ok_or("a brace stands alone; {{ and }} are braces themselves")?;
        let digits = match place.strip_prefix("pass") {
            Some("") => Some(0),
            Some(width) => width
                .strip_prefix(":0")
                .and_then(|width| width.parse::<usize>().ok())
                .filter(|width| (1..=20).contains(width)),
            None => None,
        };
        let digits = digits.ok_or_else(|| {
            format!("{{{place}}} is not a place for a pass; write {{pass}}, or {{pass:03}} for three digits")
        })?;
        name.push_str(&format!("{pass:0digits$}"));
        rest = after;
    }
    name.push_str(rest);
    Ok(name)
}

/// Writes all passes, each to its file.
pub(crate) fn write(
    render: &Render,
    opened: Opened,
    (names, format): (&[PathBuf], Format),
    (layers, level): (&Layers, Option<Level>),
) -> Result<(), Failure> {
    let opened = Opened {
        files: opened.files.digesting(),
        ..opened
    };
    let cancel = Cancel::new();
    let job = job::digest(&opened, &render.job)?;
    let task = Task::new(render, &opened, (format, job), (layers, level), &cancel)?;
    let raster = task.raster;
    let mut staging = Staging::open(render, names, format, &task.digest(names))?;
    let guard = interrupt::watch(&cancel, None);
    let outcome = task.passes(&staging).and_then(|()| staging.publish());
    drop(guard);
    if let Err(failure) = outcome {
        if failure.comes_again() || !staging.is_worth_keeping() {
            staging.remove();
        } else if !render.watch.quiet {
            // A job ends as it does when nobody listens any more.
            let _ = writeln!(
                io::stderr(),
                "relief: the passes that were written are in {}; the same command goes on with them",
                relief_design::visible(&staging.folder.display().to_string())
            );
        }
        return Err(failure);
    }
    if !render.watch.quiet {
        let Raster {
            width, height, depth, ..
        } = raster;
        let depth = match render.export.bits {
            Some(1) => "1 bit".to_owned(),
            _ => depth.to_string(),
        };
        let (first, last) = (names.first(), names.last());
        let range = match first.zip(last).filter(|_| names.len() > 1) {
            Some((first, last)) => format!("{} to {}", first.display(), last.display()),
            None => first.map_or(String::new(), |first| first.display().to_string()),
        };
        let passes = match names.len() {
            1 => "1 pass".to_owned(),
            count => format!("{count} passes"),
        };
        let text = format!("{range}: {passes} of {width} × {height} pixels, {depth}");
        writeln!(io::stdout(), "{}", relief_design::visible(&text))?;
    }
    Ok(())
}

/// How passes would be computed, and what each of their files would be.
pub(super) fn plan(
    render: &Render,
    opened: &Opened,
    (names, format): (&[PathBuf], Format),
    (layers, level): (&Layers, Option<Level>),
) -> Result<(Plan, FilePlan), Failure> {
    let cancel = Cancel::new();
    // The digest decides no size.
    let job = blake3::Hash::from_bytes([0; 32]);
    let task = Task::new(render, opened, (format, job), (layers, level), &cancel)?;
    let all: Vec<u32> = (0..layers.count()).collect();
    let named = |pass: u32| names.get(pass as usize).cloned().unwrap_or_default();
    let mut at_once = AT_ONCE;
    let plan = loop {
        let group = all.get(..at_once).unwrap_or(&all);
        match task.planned(&task.sinks(&named, group)?) {
            Err(Failure::Engine(relief_engine::Error::Memory { .. })) if group.len() > 1 => {
                at_once = group.len() / 2;
            }
            planned => break planned?,
        }
    };
    Ok((plan, file(render, opened, (names, format), (layers, level))?))
}

/// What each of the files of passes would be.
pub(super) fn file(
    render: &Render,
    opened: &Opened,
    (names, format): (&[PathBuf], Format),
    (layers, level): (&Layers, Option<Level>),
) -> Result<FilePlan, Failure> {
    let raster = job::raster(&opened.design, &render.job)?;
    let raster = level.map_or(raster, |level| level.raster(&raster));
    // The digest decides no size.
    let job = blake3::Hash::from_bytes([0; 32]);
    let first = names.first().cloned().unwrap_or_default();
    let common = FilePlan::of_tiles(render, level);
    let output = Output::File(first.clone(), format);
    let each = match (output.is_at_many_places(render), format) {
        (true, Format::Zarr) => {
            let sink = export::zarr_sink(render, &first, job);
            FilePlan::of_zarr(&sink, &raster, common)?
        }
        (true, _) => {
            let sink = export::tiff_sink(render, &first, job);
            FilePlan::of_tiff(render, &sink, &raster, common)?
        }
        (false, _) => output.in_order(render, &raster),
    };
    Ok(FilePlan {
        // Those passes that are complete.
        resumable: true,
        parts: false,
        files: Some(layers.count()),
        ..each
    })
}

/// What all passes are made of.
struct Task<'a> {
    render: &'a Render,
    opened: &'a Opened,
    /// Of the level, where one is asked for.
    raster: Raster,
    format: Format,
    layers: &'a Layers,
    level: Option<Level>,
    job: blake3::Hash,
    cancel: &'a Cancel,
}

/// Where some passes go that are computed at once.
enum Sinks {
    Zarr(Layered<ZarrSink>),
    Tiff(Layered<TiledTiff>),
    InOrder(Layered<Boxed>),
}

impl<'a> Task<'a> {
    fn new(
        render: &'a Render,
        opened: &'a Opened,
        (format, job): (Format, blake3::Hash),
        (layers, level): (&'a Layers, Option<Level>),
        cancel: &'a Cancel,
    ) -> Result<Self, Failure> {
        let raster = job::raster(&opened.design, &render.job)?;
        Ok(Self {
            render,
            opened,
            raster: level.map_or(raster, |level| level.raster(&raster)),
            format,
            layers,
            level,
            job,
            cancel,
        })
    }

    /// The digest of everything that decides the files of these names.
    fn digest(&self, names: &[PathBuf]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.pass(0).as_bytes());
        hasher.update(format!("{:?} {names:?}", self.render.export).as_bytes());
        hasher.finalize()
    }

    /// The digest of everything that decides the samples of a pass.
    fn pass(&self, pass: u32) -> blake3::Hash {
        export::digest(self.job, self.layers, pass, self.level)
    }

    /// Computes the passes that are not there yet, some at once.
    fn passes(&self, staging: &Staging) -> Result<(), Failure> {
        if staging.complete {
            return Ok(());
        }
        let missing: Vec<u32> = (0..self.layers.count())
            .filter(|&pass| !staging.has(pass, self.format))
            .collect();
        let mut at_once = AT_ONCE;
        let mut next = 0;
        while next < missing.len() {
            let group = &missing[next..(next + at_once).min(missing.len())];
            match self.group(staging, group) {
                // Fewer sinks hold less memory; the job is refused where one holds too much.
                Err(Failure::Engine(relief_engine::Error::Memory { .. })) if group.len() > 1 => {
                    at_once = group.len() / 2;
                }
                Err(failure) => return Err(failure),
                Ok(()) => next += group.len(),
            }
        }
        job::unchanged(self.opened)
    }

    /// Computes the raster once, into the files of these passes.
    fn group(&self, staging: &Staging, passes: &[u32]) -> Result<(), Failure> {
        let (watch, cancel) = (&self.render.watch, self.cancel);
        let level = self.level.map(|level| (level, self.render.level.cost));
        let mut sinks = self.sinks(&|pass| staging.file(pass), passes)?;
        let plan = self.planned(&sinks)?;
        let tiles: &mut dyn TileSink = match &mut sinks {
            Sinks::Zarr(sinks) => sinks,
            Sinks::Tiff(sinks) => sinks,
            Sinks::InOrder(sinks) => {
                job::run(self.opened, plan, level, sinks, watch, cancel)?;
                return Ok(());
            }
        };
        let renderer = job::renderer(self.opened, plan, None, watch, cancel)?;
        job::run_tiles(&renderer, tiles, None, level, watch, cancel)
    }

    /// The sinks of these passes; they have opened nothing yet.
    fn sinks(&self, file: &dyn Fn(u32) -> PathBuf, passes: &[u32]) -> Result<Sinks, Failure> {
        let render = self.render;
        let passes = passes.iter().copied();
        let is_tiled = Output::File(file(0), self.format).is_at_many_places(render);
        Ok(if is_tiled && self.format == Format::Zarr {
            let sink = |pass| self.layer(export::zarr_sink(render, &file(pass), self.pass(pass)), pass);
            Sinks::Zarr(Layered::new(passes.map(sink).collect::<Result<_, _>>()?))
        } else if is_tiled {
            let sink = |pass| self.layer(export::tiff_sink(render, &file(pass), self.pass(pass)), pass);
            Sinks::Tiff(Layered::new(passes.map(sink).collect::<Result<_, _>>()?))
        } else {
            let sink = |pass| {
                let (sink, _) = Output::File(file(pass), self.format).open(render);
                self.layer(Boxed(sink), pass)
            };
            Sinks::InOrder(Layered::new(passes.map(sink).collect::<Result<_, _>>()?))
        })
    }

    fn layer<T>(&self, sink: T, pass: u32) -> Result<Screened<T>, Failure> {
        let job = (self.opened, &self.render.job);
        screened(sink, (self.layers, pass), self.level, job)
    }

    /// How the passes of these sinks would be computed.
    fn planned(&self, sinks: &Sinks) -> Result<Plan, Failure> {
        let (opened, job, level) = (self.opened, &self.render.job, self.level);
        let tiles: &dyn TileSink = match sinks {
            Sinks::Zarr(sinks) => sinks,
            Sinks::Tiff(sinks) => sinks,
            Sinks::InOrder(sinks) => return render::planned(opened, job, level, sinks),
        };
        export::plan_of_tiles(opened, job, &self.raster, level, tiles)
    }
}

/// The folder in which all passes appear.
fn folder_of(names: &[PathBuf]) -> &Path {
    names
        .first()
        .and_then(|name| name.parent())
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Where the files of passes are until all of them are complete.
pub(super) fn staging(render: &Render, names: &[PathBuf]) -> PathBuf {
    let pattern = render.output.as_deref().unwrap_or(Path::new(""));
    let pattern = if pattern.to_str().is_some_and(|text| text.ends_with('/')) || pattern.is_dir() {
        Path::new("layers")
    } else {
        pattern
    };
    let mut name = pattern.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    folder_of(names).join(name)
}

/// The folder of files that do not have their names yet.
struct Staging<'a> {
    folder: PathBuf,
    names: &'a [PathBuf],
    /// Whether all files are complete, and some may have their names.
    complete: bool,
    /// Whether the folder of the files was made for them.
    made: Option<PathBuf>,
    _lock: File,
}

impl<'a> Staging<'a> {
    /// Opens the folder that an earlier run left, or makes one.
    fn open(
        render: &Render,
        names: &'a [PathBuf],
        format: Format,
        job: &blake3::Hash,
    ) -> Result<Self, Failure> {
        let parent = folder_of(names);
        let failed = |action: &'static str, path: &Path| {
            let path = path.display().to_string();
            move |source| Failure::File { action, path, source }
        };
        let folder = staging(render, names);
        let made = if parent.exists() {
            None
        } else {
            fs::create_dir(parent).map_err(failed("cannot create the folder", parent))?;
            Some(parent.to_owned())
        };
        relief_atomic::open_partial_folder(&folder, &mut |new| {
            fs::write(new.join(JOB), job.to_hex().as_str())
        })
        .map_err(failed("cannot create the folder", &folder))?;
        let path = folder.join(JOB);
        let mut lock = File::options()
            .read(true)
            .write(true)
            .open(&path)
            .map_err(failed("cannot open", &path))?;
        if let Err(fs::TryLockError::WouldBlock) = lock.try_lock() {
            return Err(Failure::Usage(format!(
                "{}: another process writes these passes",
                folder.display()
            )));
        }
        lock.rewind().map_err(failed("cannot read", &path))?;
        let mut found = String::new();
        (&lock)
            .take(80)
            .read_to_string(&mut found)
            .map_err(failed("cannot read", &path))?;
        if found != job.to_hex().as_str() {
            return Err(Failure::Usage(
                SinkError::OtherJob { partial: folder }.to_string(),
            ));
        }
        let complete = folder.join(COMPLETE).exists();
        let staging = Self {
            folder,
            names,
            complete,
            made,
            _lock: lock,
        };
        if let Err(failure) = staging.check(format) {
            if !staging.is_worth_keeping() {
                staging.remove();
            }
            return Err(failure);
        }
        Ok(staging)
    }

    /// Whether the files can have their names.
    fn check(&self, format: Format) -> Result<(), Failure> {
        for (name, pass) in self.names.iter().zip(0..) {
            let taken = |path: &Path| {
                Err(Failure::Usage(format!(
                    "{} is there already, and a folder is not replaced: remove it",
                    path.display()
                )))
            };
            match format {
                Format::Zarr if self.file(pass).exists() || !self.complete => {
                    if fs::symlink_metadata(name).is_ok() {
                        return taken(name);
                    }
                    continue;
                }
                Format::Zarr => continue,
                Format::Dzi if self.tiles_of(&self.file(pass)).exists() || !self.complete => {
                    let tiles = self.tiles_of(name);
                    if fs::symlink_metadata(&tiles).is_ok() {
                        return taken(&tiles);
                    }
                }
                _ => {}
            }
            relief_atomic::destination(name).map_err(|error| destination(name, error))?;
        }
        Ok(())
    }

    /// Where the file of a pass is until it gets its name.
    fn file(&self, pass: u32) -> PathBuf {
        let name = self.names.get(pass as usize).and_then(|name| name.file_name());
        self.folder.join(name.unwrap_or_default())
    }

    /// The folder of tiles beside a Deep Zoom image.
    fn tiles_of(&self, file: &Path) -> PathBuf {
        let mut name = file.file_stem().unwrap_or_default().to_owned();
        name.push("_files");
        file.with_file_name(name)
    }

    /// Whether a pass is complete.
    fn has(&self, pass: u32, format: Format) -> bool {
        let file = self.file(pass);
        file.exists() && (format != Format::Dzi || self.tiles_of(&file).exists())
    }

    /// Gives all files their names.
    fn publish(&mut self) -> Result<(), Failure> {
        fs::write(self.folder.join(COMPLETE), "").map_err(|source| Failure::File {
            action: "cannot write in",
            path: self.folder.display().to_string(),
            source,
        })?;
        self.complete = true;
        for (name, pass) in self.names.iter().zip(0..) {
            let file = self.file(pass);
            let failed = |source| Failure::File {
                action: "the finished pass could not be given its name:",
                path: name.display().to_string(),
                source,
            };
            let tiles = self.tiles_of(&file);
            if tiles.exists() {
                fs::rename(&tiles, self.tiles_of(name)).map_err(failed)?;
            }
            if file.is_dir() {
                fs::rename(&file, name).map_err(failed)?;
            } else if file.exists() {
                let open = File::open(&file).map_err(failed)?;
                let place = relief_atomic::destination(name).map_err(|error| destination(name, error))?;
                relief_atomic::rename(&open, &file, &place).map_err(|error| destination(name, error))?;
            }
        }
        self.made = None;
        self.remove();
        Ok(())
    }

    /// Whether anything is in it that the next run goes on with.
    fn is_worth_keeping(&self) -> bool {
        let own = |name: &std::ffi::OsStr| name == JOB || name == COMPLETE;
        fs::read_dir(&self.folder).is_ok_and(|entries| {
            entries
                .flatten()
                .any(|entry| !own(&entry.file_name()) && !is_hidden(&entry.file_name()))
        })
    }

    /// Removes it; what cannot be removed harms nobody.
    fn remove(&self) {
        let _ = fs::remove_dir_all(&self.folder);
        if let Some(made) = &self.made {
            let _ = fs::remove_dir(made);
        }
    }
}

/// Whether a file is one of those that go away with their writer.
fn is_hidden(name: &std::ffi::OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with('.'))
}

fn destination(path: &Path, error: relief_atomic::Error) -> Failure {
    let (reason, source) = error.into_parts();
    relief_io::SinkError::Destination {
        path: path.to_owned(),
        reason,
        source,
    }
    .into()
}

/// Refuses what does not go with several files.
pub(crate) fn refuse(render: &Render, layers: &Layers) -> Result<(), Failure> {
    let export = &render.export;
    let usage = |problem: String| Err(Failure::Usage(problem));
    let passes = counted(layers.count(), "file");
    if export.share && !layers.change_nothing() && export.halftone.is_none() {
        return usage(
            "--share stores the tiles of the design as it is; leave it out, or --passes and --as-scanned"
                .to_owned(),
        );
    }
    if layers.count() == 1 {
        return Ok(());
    }
    if export.part.is_some() {
        return usage(format!(
            "--part writes a part of one file, and the passes are {passes}; leave it out, or write one pass a job by \
             --passes listed:LEVEL"
        ));
    }
    if render.digest {
        return usage(format!(
            "--digest is that of one raster, and the passes are {passes}; write one pass a job by --passes listed:LEVEL"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_has_its_place_in_a_pattern() {
        assert_eq!(filled("a-{pass}.tif", 7).unwrap(), "a-7.tif");
        assert_eq!(filled("a{{-{pass:03}-}}.tif", 7).unwrap(), "a{-007-}.tif");
        assert_eq!(filled("a-{pass:02}.tif", 1234).unwrap(), "a-1234.tif");
        for wrong in [
            "a-{pass",
            "a-}.tif",
            "{passes}",
            "{pass:3}",
            "{pass:0}",
            "{pass:0x}",
            "{pass:099}",
        ] {
            assert!(filled(wrong, 0).is_err(), "{wrong}");
        }
        assert_eq!(protected("{serial}-{pass:03}.tif"), "{serial}-{{pass:03}}.tif");
        assert_eq!(protected("{pass"), "{pass");
    }
}
