//! `relief render`: a design becomes pixels.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use relief_engine::{Cancel, Plan, Progress, Raster, Sink, Workers};
use relief_io::{
    Cleanup, Compression, DigestSink, DziSink, FileSink, Format, Level, NullSink, OverviewSink, Target, Tee,
};
use relief_raster::Length;
use relief_scan::{Layers, Screened};

use crate::arguments::{Deny, Job, Render};
use crate::batch::Batch;
use crate::design::{Opened, Warnings};
use crate::failure::Failure;
use crate::show::pace;
use crate::{design, interrupt, job};

use super::export::{self, FilePlan};
use super::room::{self, Ledger, Space};
use super::{gcode, layers};

pub(crate) fn run(render: &Render) -> Result<(), Failure> {
    let (file, reading) = (&render.job.file, &render.job.reading());
    let tell = Warnings::unless(render.watch.is_silent());
    let Some(batch) = Batch::of(&render.each, file)? else {
        let output = Output::of(render)?;
        let opened = design::open(file, reading, tell)?;
        refuse(render, &output, &opened, true)?;
        room(render, &output, &opened, &mut Ledger::default())?;
        return one(render, &output, opened);
    };
    let template = render.output.as_deref().map(|path| {
        path.to_str().ok_or_else(|| {
            Failure::Usage(format!(
                "--output {}: a name for each row is UTF-8",
                path.display()
            ))
        })
    });
    let names = template.transpose()?.map(|template| {
        if render.export.has_passes() {
            batch.names("--output", &layers::protected(template))
        } else {
            batch.names("--output", template)
        }
    });
    let names = names.transpose()?;
    let job = |row: usize| {
        let mut render = render.clone();
        render.output = names.as_ref().map(|names| names[row].clone().into());
        let output = Output::of(&render)?;
        Ok::<_, Failure>((render, output))
    };
    let mut ledger = Ledger::default();
    for row in batch.jobs() {
        let (render, output) = job(row)?;
        let opened = batch.open(row, file, reading, tell)?;
        refuse(&render, &output, &opened, row == 0)
            .and_then(|()| room(&render, &output, &opened, &mut ledger))
            .map_err(|failure| failure.of(batch.place(row)))?;
    }
    for row in batch.jobs() {
        let (render, output) = job(row)?;
        let opened = batch.open(row, file, reading, Warnings::Silent)?;
        one(&render, &output, opened).map_err(|failure| failure.of(batch.place(row)))?;
    }
    Ok(())
}

/// Refuses what can be seen not to go before anything is computed, and tells what is doubtful where that is `told`.
fn refuse(render: &Render, output: &Output, opened: &Opened, told: bool) -> Result<(), Failure> {
    let render = &with_heights(render, output, opened);
    if output.format() == Format::Gcode {
        if let Some(path) = output.path() {
            opened.spare_inputs("--output", path)?;
        }
        return gcode::refuse(render, opened);
    }
    if render.from_line.is_some() {
        return Err(Failure::Usage(
            "--from-line is for G-code; name the file .gcode, or give --format gcode".to_owned(),
        ));
    }
    let layers = layers::asked(&render.export, opened)?;
    layers::refuse(render, &layers)?;
    export::check(render, output.format(), &layers)?;
    match output.files(render, &layers)? {
        Some(names) => names
            .iter()
            .try_for_each(|name| opened.spare_inputs("--output", name))?,
        None => output
            .path()
            .map_or(Ok(()), |path| opened.spare_inputs("--output", path))?,
    }
    let raster = job::raster(&opened.design, &render.job)?;
    let raster = render
        .level
        .of(&raster)?
        .map_or(raster, |level| level.raster(&raster));
    if !output.is_at_many_places(render) {
        output.format().check(&raster)?;
        let lines = output.format() == Format::Gcode;
        if let (Some(file), true, false) = (
            output.file(&with_heights(render, output, opened)),
            layers.change_nothing(),
            lines,
        ) {
            file.check(&raster)?;
        }
    } else if !matches!(output, Output::File(..)) {
        return Err(Failure::Usage(
            "such a file is written at many places at once, and the standard output takes bytes in order; name a file"
                .to_owned(),
        ));
    }
    let screen = render
        .export
        .halftone
        .and_then(|halftone| halftone.told(opened.design.canvas().pixel));
    if let Some(screen) = screen.filter(|_| told && !render.watch.is_silent()) {
        // A job goes on when nobody listens any more.
        let _ = writeln!(io::stderr(), "relief: the screen has {screen}");
    }
    let Some(node) = opened.design.scan() else {
        return Ok(());
    };
    let ignored = match (render.export.as_scanned, &layers::ignored(&node.scan)[..]) {
        (true, []) => return Ok(()),
        (true, settings) => format!(
            "W208: a file has the rows and columns of the canvas: of its `scan`, {} {} for 'relief stream' and G-code",
            settings.join(", "),
            if settings.len() == 1 { "is" } else { "are" }
        ),
        (false, _) => {
            "W208: the `scan` of the design is for 'relief stream' and G-code; the canvas is rendered as it is. \
                       --as-scanned takes its tables, passes and halftone"
                .to_owned()
        }
    };
    if render.job.reading.deny == Some(Deny::Warnings) {
        return Err(Failure::Doubtful(ignored));
    }
    if told && !render.watch.is_silent() {
        // A job goes on when nobody listens any more.
        let _ = writeln!(io::stderr(), "relief: {ignored}");
    }
    Ok(())
}

/// Refuses a job whose files do not fit where they go, after those that are written before it.
fn room(render: &Render, output: &Output, opened: &Opened, ledger: &mut Ledger) -> Result<(), Failure> {
    let Output::File(path, format) = output else {
        return Ok(());
    };
    if *format == Format::Gcode {
        // How long the text is depends on the samples.
        return Ok(());
    }
    let render = &with_heights(render, output, opened);
    let layers = &layers::asked(&render.export, opened)?;
    let raster = job::raster(&opened.design, &render.job)?;
    let level = render.level.of(&raster)?;
    let names = output.files(render, layers)?;
    let file = match &names {
        Some(names) => Some(layers::file(render, opened, (names, *format), (layers, level))?),
        None if output.is_at_many_places(render) => {
            export::file(render, opened, path, *format, (layers, level))?
        }
        None => {
            // A killed job may have left a part of it, which goes away when it is opened.
            relief_atomic::remove_leftovers(path);
            let raster = level.map_or(raster, |level| level.raster(&raster));
            Some(output.in_order(render, &raster))
        }
    };
    file.map_or(Ok(()), |file| {
        room::check(render, *format, names.as_deref(), &file, ledger)
    })
}

/// The arguments, in which a solid has the height that the design says, unless they say another.
fn with_heights(render: &Render, output: &Output, opened: &Opened) -> Render {
    let mut render = render.clone();
    if output.format() == Format::Stl {
        let amplitude = opened.design.canvas().amplitude.map(Length::nearest_picometres);
        render.export.amplitude = render.export.amplitude.or(amplitude);
    }
    render
}

fn one(render: &Render, output: &Output, opened: Opened) -> Result<(), Failure> {
    let render = &with_heights(render, output, &opened);
    match output {
        Output::File(path, Format::Gcode) => {
            let name = path.display().to_string();
            return gcode::write(render, &opened, Target::Path(path.clone()), &name);
        }
        Output::Stdout(Format::Gcode) => return gcode::write(render, &opened, Target::Stdout, ""),
        _ => {}
    }
    let raster = job::raster(&opened.design, &render.job)?;
    let level = render.level.of(&raster)?;
    let layers = &layers::asked(&render.export, &opened)?;
    if let Some(names) = output.files(render, layers)? {
        return layers::write(render, opened, (&names, output.format()), (layers, level));
    }
    if let (Output::File(path, format), true) = (output, output.is_at_many_places(render)) {
        let overview = overview(render, output, &opened, &raster, (layers, level))?;
        return export::run(render, opened, path, *format, (layers, level), overview);
    }
    let (sink, cleanup) = output.open(render);
    let mut cleanups = Vec::from_iter(cleanup);
    let sink = match overview(render, output, &opened, &raster, (layers, level))? {
        Some((path, digest)) => {
            let cleanup = Cleanup::default();
            cleanups.push(cleanup.clone());
            let sink = OverviewSink::new(Boxed(sink), path, digest).with_cleanup(cleanup);
            Box::new(Told(sink))
        }
        None => sink,
    };
    let job = InOrder {
        render,
        opened: &opened,
        layers,
        level,
        cancel: Cancel::new(),
        cleanups,
    };
    if !render.digest {
        let mut sink = match job.screened(Boxed(sink))? {
            Ok(screened) => Box::new(screened),
            Err(Boxed(sink)) => sink,
        };
        let progress = job.run(sink.as_mut())?;
        let raster = level.map_or(raster, |level| level.raster(&raster));
        return announce(render, output, &opened.name, &raster, progress);
    }
    // The file last: it appears only when the digest is complete.
    let hash = match job.screened(Tee::new(DigestSink::new(), Boxed(sink)))? {
        Ok(mut screened) => {
            job.run(&mut screened)?;
            screened.inner().first().digest()
        }
        Err(mut both) => {
            job.run(&mut both)?;
            both.first().digest()
        }
    };
    if let Some(hash) = hash {
        writeln!(io::stdout(), "{hash}")?;
    }
    Ok(())
}

/// The rasters of which an overview is left behind have more pixels than this, where nothing is said.
const LARGE: u128 = 1_000_000_000;

/// Where the overview of a file goes.
fn overview_of(path: &Path) -> PathBuf {
    // The name of a folder may end in a slash.
    let mut name = path.components().as_path().as_os_str().to_owned();
    name.push(".overview");
    name.into()
}

/// Where the overview of a raster goes, and the name of the raster; `None` where none is to be written.
fn overview(
    render: &Render,
    output: &Output,
    opened: &Opened,
    raster: &Raster,
    (layers, level): (&Layers, Option<Level>),
) -> Result<Option<(PathBuf, [u8; 32])>, Failure> {
    let asked = render.overview.overview;
    let large = u128::from(raster.width) * u128::from(raster.height) > LARGE;
    let whole = render.job.region.is_none() && level.is_none() && layers.change_nothing();
    let file = output.path().filter(|path| !relief_atomic::is_stream(path));
    if let Some(path) = file {
        // A killed job may have left a part of one, of another raster.
        relief_atomic::remove_leftovers(&overview_of(path));
    }
    let reason = match (file, output) {
        _ if render.overview.no_overview || !(asked || large) => return Ok(None),
        (None, _) | (_, Output::Nowhere | Output::Stdout(_)) => "it lies beside a file",
        _ if render.export.levels || render.export.share || render.export.part.is_some() => {
            "it is written where all tiles are computed in one run, and --levels are in the file itself"
        }
        _ if !whole => "it is of a whole raster, not of a region, a level or a halftone",
        _ if !OverviewSink::<NullSink>::fits(raster) => "the raster is too large for one",
        (Some(path), Output::File(..)) => {
            let digest = job::digest(opened, &render.job)?;
            return Ok(Some((overview_of(path), *digest.as_bytes())));
        }
    };
    if asked {
        return Err(Failure::Usage(format!("--overview: {reason}")));
    }
    Ok(None)
}

/// Says at the end why there is no overview.
struct Told(OverviewSink<Boxed>);

impl Sink for Told {
    fn use_workers(&mut self, workers: &Workers) {
        self.0.use_workers(workers);
    }

    fn wants(&self, raster: &Raster) -> u64 {
        self.0.wants(raster)
    }

    fn memory(&self, raster: &Raster) -> u64 {
        self.0.memory(raster)
    }

    fn begin(&mut self, raster: &Raster) -> io::Result<()> {
        self.0.begin(raster)
    }

    fn write(&mut self, band: &relief_engine::Band<'_>) -> io::Result<()> {
        self.0.write(band)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.finish()?;
        if let Some(problem) = self.0.problem() {
            // The raster is whole, whoever listens.
            let text = format!("relief: there is no overview: {problem}");
            let _ = writeln!(io::stderr(), "{}", relief_design::visible(&text));
        }
        Ok(())
    }
}

/// How a raster would be computed into an output, and what its file would be.
pub(super) fn plan(render: &Render, opened: &Opened) -> Result<(Plan, PlannedFile), Failure> {
    let output = Output::of(render)?;
    refuse(render, &output, opened, false)?;
    let render = &with_heights(render, &output, opened);
    let format = output.format();
    let planned = |names: Option<&[PathBuf]>, file: FilePlan| PlannedFile {
        path: render.output.clone(),
        format,
        space: Space::of(render, format, names, &file).filter(|_| matches!(output, Output::File(..))),
        file,
    };
    if format == Format::Gcode {
        // How long the text is depends on the samples: it is told with the time of the machine.
        return Ok((gcode::plan(render, opened)?, planned(None, FilePlan::default())));
    }
    let raster = job::raster(&opened.design, &render.job)?;
    let level = render.level.of(&raster)?;
    let layers = &layers::asked(&render.export, opened)?;
    if let Some(names) = output.files(render, layers)? {
        let (plan, file) = layers::plan(render, opened, (&names, format), (layers, level))?;
        return Ok((plan, planned(Some(&names), file)));
    }
    if let (Output::File(path, format), true) = (&output, output.is_at_many_places(render)) {
        let (plan, file) = export::plan(render, opened, path, *format, (layers, level))?;
        return Ok((plan, planned(None, file)));
    }
    let raster = level.map_or(raster, |level| level.raster(&raster));
    let file = output.in_order(render, &raster);
    let (sink, _) = output.open(render);
    let job = InOrder {
        render,
        opened,
        layers,
        level,
        cancel: Cancel::new(),
        cleanups: Vec::new(),
    };
    let plan = match job.screened(Boxed(sink))? {
        Ok(screened) => job.planned(&screened)?,
        Err(sink) => job.planned(&sink)?,
    };
    Ok((plan, planned(None, file)))
}

/// The file that a job would write.
#[derive(Debug)]
pub(super) struct PlannedFile {
    /// Where, if anywhere.
    pub(super) path: Option<PathBuf>,
    pub(super) format: Format,
    pub(super) file: FilePlan,
    /// What there is room for, where that is known.
    pub(super) space: Option<Space>,
}

/// A job into a sink that takes rows in order.
struct InOrder<'a> {
    render: &'a Render,
    opened: &'a Opened,
    layers: &'a Layers,
    level: Option<Level>,
    cancel: Cancel,
    cleanups: Vec<Cleanup>,
}

impl InOrder<'_> {
    /// The sink that is given halftones or a pass, where they are asked for; else the sink itself.
    fn screened<T>(&self, sink: T) -> Result<Result<Screened<T>, T>, Failure> {
        if self.layers.change_nothing() {
            return Ok(Err(sink));
        }
        let job = (self.opened, &self.render.job);
        layers::screened(sink, (self.layers, 0), self.level, job).map(Ok)
    }

    fn planned(&self, sink: &dyn Sink) -> Result<Plan, Failure> {
        planned(self.opened, &self.render.job, self.level, sink)
    }

    /// Computes the raster, or its level, into a sink.
    fn run(&self, sink: &mut dyn Sink) -> Result<Option<Progress>, Failure> {
        let Self { render, opened, .. } = self;
        let plan = self.planned(sink)?;
        let level = self.level.map(|level| (level, render.level.cost));
        let guard = interrupt::watch(&self.cancel, self.cleanups.clone());
        let progress = job::run(opened, plan, level, sink, &render.watch, &self.cancel)?;
        drop(guard);
        Ok(progress)
    }
}

/// How the raster, or its level, would be computed into a sink that takes rows in order.
pub(super) fn planned(
    opened: &Opened,
    job: &Job,
    level: Option<Level>,
    sink: &dyn Sink,
) -> Result<Plan, Failure> {
    let Some(level) = level else {
        return job::plan_for(opened, job, sink);
    };
    let raster = level.raster(&job::raster(&opened.design, job)?);
    job::plan_level(opened, job, level, sink.memory(&raster), None)
}

/// Says where the raster is, or how fast it was computed, unless the standard output is where.
fn announce(
    render: &Render,
    output: &Output,
    design: &str,
    raster: &Raster,
    progress: Option<Progress>,
) -> Result<(), Failure> {
    let Raster {
        width, height, depth, ..
    } = raster;
    let (name, more) = match output {
        _ if render.watch.quiet => return Ok(()),
        Output::Stdout(_) => return Ok(()),
        Output::File(path, _) => (path.display().to_string(), String::new()),
        Output::Nowhere if render.watch.json_progress => return Ok(()),
        Output::Nowhere => {
            let pace = progress.as_ref().map(pace);
            (
                design.to_owned(),
                pace.map_or(String::new(), |pace| format!(", {pace}")),
            )
        }
    };
    let depth = match (output, render.export.bits) {
        (Output::File(..), Some(1)) => "1 bit".to_owned(),
        _ => depth.to_string(),
    };
    let text = format!("{name}: {width} × {height} pixels, {depth}{more}");
    // A row of a batch names a part of the file.
    writeln!(io::stdout(), "{}", relief_design::visible(&text))?;
    Ok(())
}

/// Whether a path is that of a folder, which need not be there yet.
fn is_folder(path: &Path) -> bool {
    let ends = path.as_os_str().as_encoded_bytes().last();
    path.is_dir() || ends.is_some_and(|&byte| std::path::is_separator(char::from(byte)))
}

/// Refuses a folder in the place of a file.
fn folder(render: &Render, path: &Path) -> Failure {
    let stem = render
        .job
        .file
        .file_stem()
        .filter(|_| render.job.file != Path::new("-"));
    let mut file = path.join(stem.unwrap_or("raster".as_ref())).into_os_string();
    file.push(".tif");
    let file = PathBuf::from(file);
    Failure::Usage(format!(
        "--output {}: it is a folder; name a file in it, such as {}",
        path.display(),
        file.display()
    ))
}

/// Where the raster goes.
pub(super) enum Output {
    /// It is computed and thrown away.
    Nowhere,
    /// The standard output.
    Stdout(Format),
    /// A file, a device or a FIFO.
    File(PathBuf, Format),
}

impl Output {
    /// What the arguments ask for.
    fn of(render: &Render) -> Result<Self, Failure> {
        let usage = |problem: &str| Err(Failure::Usage(problem.to_owned()));
        let path = match (&render.output, render.format) {
            (None, Some(Format::Null)) => return Ok(Self::Nowhere),
            (Some(_), Some(Format::Null)) => {
                return usage(
                    "--format null writes nothing, so that --output has no file to name; leave one of them out",
                );
            }
            (None, _) => return usage("--output says where to write; '-' is the standard output"),
            (Some(path), _) => path,
        };
        let stdout = path == Path::new("-") || relief_atomic::is_standard_output(path);
        let format = match render.format {
            Some(format) => format,
            None if path == Path::new("-") => Format::Raw,
            None => Format::from_extension(path).ok_or_else(|| {
                let problem = match (is_folder(path), render.export.has_passes()) {
                    (true, false) => return folder(render, path),
                    (true, true) => {
                        "it is a folder, which takes the files of all passes; say of which format by --format, such as --format tiff"
                    }
                    (false, _) => {
                        "no format has this extension; name the file .raw, .pgm, .png, .tiff, .bmp, .stl, .dzi, .zarr or .gcode, or give --format"
                    }
                };
                Failure::Usage(format!("--output {}: {problem}", path.display()))
            })?,
        };
        if !stdout {
            return Ok(Self::File(path.clone(), format));
        }
        if render.digest {
            return usage(
                "--digest prints to the standard output, which takes the raster already; write to a file",
            );
        }
        if io::stdout().is_terminal() && !render.force {
            return usage(
                "the standard output is a terminal, which cannot show samples; name a file, redirect it, or give --force",
            );
        }
        Ok(Self::Stdout(format))
    }

    const fn format(&self) -> Format {
        match self {
            Self::Nowhere => Format::Null,
            Self::Stdout(format) | Self::File(_, format) => *format,
        }
    }

    /// The files of all passes, where there is one for each.
    fn files(&self, render: &Render, layers: &Layers) -> Result<Option<Vec<PathBuf>>, Failure> {
        match self {
            Self::File(path, format) => layers::names(path, *format, layers, render.export.has_passes()),
            _ if layers.count() == 1 => Ok(None),
            _ => Err(Failure::Usage(format!(
                "there are {} passes, and a file for each: name them by a pattern, such as -o layer-{{pass:03}}.tif",
                layers.count()
            ))),
        }
    }

    /// Whether the file is written by all threads, each where its tiles are.
    pub(super) fn is_at_many_places(&self, render: &Render) -> bool {
        let bits = render.export.bits == Some(1);
        match self.format() {
            Format::Zarr => true,
            Format::Tiff => render.export.is_tiled() || bits,
            _ => render.export.is_tiled(),
        }
    }

    /// The file that is written.
    fn path(&self) -> Option<&Path> {
        match self {
            Self::Nowhere => None,
            Self::Stdout(_) => Some(Path::new("/dev/stdout")),
            Self::File(path, _) => Some(path),
        }
    }

    /// The sink, and how to remove its partial file.
    pub(super) fn open(&self, render: &Render) -> (Box<dyn Sink>, Option<Cleanup>) {
        match (self, self.file(render)) {
            (_, Some(sink)) => {
                let cleanup = sink.cleanup();
                (Box::new(sink), Some(cleanup))
            }
            (Self::File(path, Format::Dzi), None) => (Box::new(DziSink::new(path.clone())), None),
            (_, None) => (Box::new(NullSink::new()), None),
        }
    }

    /// What a file of this raster would be whose rows come in order.
    pub(super) fn in_order(&self, render: &Render, raster: &Raster) -> FilePlan {
        let known = self.file(render).and_then(|file| file.bytes(raster));
        let row = match render.export.bits {
            Some(_) => raster.width.div_ceil(8),
            None => raster.width.saturating_mul(raster.depth.bytes()),
        };
        let rows = u128::from(row) * u128::from(raster.height);
        let (bytes, least) = match (known, self.format()) {
            (Some(bytes), _) => (bytes, bytes),
            (None, Format::Png) => (rows, Compression::Deflate.least(rows, raster.width)),
            // All levels have a third of the pixels of the raster, and a tile some of its neighbours.
            (None, Format::Dzi) => (rows + rows / 2, Compression::Deflate.least(rows, raster.width)),
            (None, _) => (rows, 0),
        };
        FilePlan {
            exact: known.is_some(),
            compressed: known.is_none(),
            bytes: Some(bytes),
            least,
            parallel: self.format() == Format::Dzi,
            ..FilePlan::default()
        }
    }

    /// The sink of a file or stream of one format that takes rows in order, where it is one.
    fn file(&self, render: &Render) -> Option<FileSink> {
        let (target, format) = match self {
            Self::Nowhere | Self::File(_, Format::Dzi) => return None,
            Self::Stdout(format) => (Target::Stdout, *format),
            Self::File(path, format) => (Target::Path(path.clone()), *format),
        };
        Some(match (format, render.export.heights()) {
            (Format::Stl, Some(heights)) => FileSink::solid(target, heights),
            _ => FileSink::with_bits(target, format, render.export.bits == Some(1)),
        })
    }
}

/// A boxed sink as a sink, for [`Tee`] and passes.
pub(super) struct Boxed(pub(super) Box<dyn Sink>);

impl Sink for Boxed {
    fn use_workers(&mut self, workers: &Workers) {
        self.0.use_workers(workers);
    }

    fn wants(&self, raster: &Raster) -> u64 {
        self.0.wants(raster)
    }

    fn memory(&self, raster: &Raster) -> u64 {
        self.0.memory(raster)
    }

    fn begin(&mut self, raster: &Raster) -> io::Result<()> {
        self.0.begin(raster)
    }

    fn write(&mut self, band: &relief_engine::Band<'_>) -> io::Result<()> {
        self.0.write(band)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.finish()
    }
}
