//! `relief stream`: a design drives a machine.

mod changed;
mod estimate;
mod inputs;
mod report;
mod scan;
mod slow;

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use relief_engine::{Cancel, DeviceChoice, Prepared};
use relief_machine::{Address, Control, Error, Pin, Record, Secret, SenderOptions, Sent, send};
use relief_raster::Rect;
use relief_scan::{Encoding, Program, Tables};

use crate::arguments::{Each, Job, Reading, Watch};
use crate::batch::Batch;
use crate::design::Opened;
use crate::failure::Failure;
use crate::job;
use crate::quantity::{Region, buffer, bytes, counted, region, tile};

use super::room::Ledger;
pub(crate) use estimate::{MotionArguments, time};
use inputs::{Inputs, Parts};
pub(crate) use inputs::{program_of, tables};
use report::Report;
use scan::ScanArguments;
pub(crate) use scan::{number, passes};

const NO_MANIFEST_OF_STDIN: &str =
    "a design from the standard input cannot be read again, so its job has no manifest";

/// What stands for the first row of a stripe in the names of files.
const ROW: &str = "{row}";

#[derive(Clone, Debug, Args)]
pub(crate) struct Stream {
    /// The design file; '-' for the standard input
    #[arg(required_unless_present = "resume", conflicts_with = "resume")]
    file: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    each: Each,
    /// The machine: tcp://HOST:PORT, tls://HOST:PORT, unix:PATH, or file:PATH for a file of frames
    #[arg(required_unless_present = "resume")]
    address: Option<String>,
    /// Keep a manifest, with which the job can be taken up again
    #[arg(long, value_name = "JOB.json", conflicts_with = "resume")]
    manifest: Option<PathBuf>,
    /// Take up the job of a manifest from the first line that was not executed
    #[arg(long, value_name = "JOB.json", conflicts_with_all = ["region", "raw", "each", "settings", "ScanArguments"])]
    resume: Option<PathBuf>,
    /// Another machine than the manifest's, for --resume
    #[arg(long, value_name = "ADDRESS", requires = "resume")]
    to: Option<String>,
    /// Lines that were executed, where the manifest does not know the right number, for --resume
    #[arg(long, value_name = "LINES", requires = "resume")]
    executed: Option<u64>,
    /// Go on where the machine has begun this job, on the workpiece that is in it
    #[arg(long = "continue")]
    go_on: bool,
    /// Compute this part of the canvas only: in pixels, or in lengths such as 5mm,5mm,20mmx10mm
    #[arg(long, value_name = "X,Y,WxH", value_parser = region, allow_hyphen_values = true)]
    region: Option<Region>,
    /// Send only the rows in which the design can differ from this one, which was executed before: each stripe of them is a job of its own, with
    /// --region of its rows; {row} in the names of files is its first row
    #[arg(long, value_name = "DESIGN", conflicts_with_all = ["region", "each", "resume"])]
    only_changed: Option<PathBuf>,
    /// Worker threads [default: one for each processor]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// The most memory the job may take, such as 64MiB or 2GB [default: 1GiB]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    memory: Option<u64>,
    /// The most memory the job may take on every GPU [default: nine tenths of what it has]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    device_memory: Option<u64>,
    /// Columns and rows of a tile [default: chosen by the plan]
    #[arg(long, value_name = "WxH", value_parser = tile)]
    tile: Option<(u64, u64)>,
    /// What computes, as for render
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: DeviceChoice,
    #[command(flatten)]
    lines: ScanArguments,
    #[command(flatten)]
    link: Link,
    #[command(flatten)]
    motion: MotionArguments,
    #[command(flatten)]
    watch: Watch,
    /// Begin a file that does not fit on its file system
    #[arg(long)]
    force: bool,
    /// Whether what is doubtful in the design has been told.
    #[arg(skip)]
    told: bool,
}

/// How the machine is reached and fed.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Machine")]
struct Link {
    /// Write lines as they are, without frames: nothing is acknowledged
    #[arg(long)]
    raw: bool,
    /// Bytes of lines made ahead
    #[arg(long, value_name = "SIZE", value_parser = buffer, default_value = "60MB")]
    look_ahead: u64,
    /// Bytes made before the first line is sent [default: three quarters of the look-ahead]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    high_water: Option<u64>,
    /// Bytes a second that the machine takes: warns where lines are not made faster
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    rate: Option<u64>,
    /// The file that holds the secret shared with the machine
    #[arg(long, value_name = "PATH")]
    secret: Option<PathBuf>,
    /// The SHA-256 of the machine's certificate, for tls://
    #[arg(long, value_name = "HEX")]
    pin: Option<Pin>,
    /// Seconds without a byte after which a connection counts as lost
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    idle_timeout: f64,
    /// Seconds that a lost connection is tried again
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    reconnect_timeout: f64,
    /// Seconds between two writes of the manifest
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    record_every: f64,
    /// Read the words pause, continue and abort from the standard input
    #[arg(long)]
    control: bool,
}

pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=1e6).contains(&seconds) => Ok(seconds),
        _ => Err("a number of seconds from 0 to 1000000 is expected".to_owned()),
    }
}

pub(crate) fn secret(path: Option<&std::path::Path>) -> Result<Option<Secret>, Failure> {
    Ok(path.map(Secret::open).transpose()?)
}

/// The most bytes that streaming a design holds beside computing it, by its own scan.
pub(crate) fn memory(opened: &Opened, job: &Job, look_ahead: u64) -> Result<u64, Failure> {
    let scan = opened.design.scan().cloned().unwrap_or_default().scan;
    let program =
        Program::new(&scan, &Tables::default(), &job::raster(&opened.design, job)?).map_err(Error::from)?;
    let mut options = SenderOptions::new(Address::File(PathBuf::new()));
    options.look_ahead = look_ahead;
    Ok(options.memory(&program))
}

/// What the scan of a design comes to, where that is not what was written.
pub(crate) fn told(
    opened: &Opened,
    job: &Job,
    node: &relief_design::scan::ScanNode,
) -> Result<Vec<(&'static str, String)>, Failure> {
    let is_plain = node.asked_screen.is_none() && node.scan.return_offset == 0;
    if is_plain {
        return Ok(Vec::new());
    }
    let raster = job::raster(&opened.design, job)?;
    let program = Program::new(&node.scan, &inputs::tables(opened, node)?, &raster).map_err(Error::from)?;
    Ok(super::told::of(node, &opened.design.canvas(), &program))
}

/// The seconds that the motion of a machine takes for a design by its own scan, where a speed is given.
pub(crate) fn seconds_of_motion(
    opened: &Opened,
    job: &Job,
    motion: &MotionArguments,
) -> Result<Option<f64>, Failure> {
    if !motion.is_given() {
        return Ok(None);
    }
    let node = opened.design.scan().cloned().unwrap_or_default();
    let raster = job::raster(&opened.design, job)?;
    let program = Program::new(&node.scan, &inputs::tables(opened, &node)?, &raster).map_err(Error::from)?;
    let Some(motion) = motion.motion(&program)? else {
        return Ok(None);
    };
    let estimate = relief_machine::Estimate::new(&program, 0, Some(&motion), None, None, 0.0);
    Ok(estimate.motion)
}

pub(crate) fn run(stream: &Stream) -> Result<(), Failure> {
    if let Some(path) = &stream.resume {
        return resume(stream, path);
    }
    let file = stream.file.clone().unwrap_or_default();
    if let Some(before) = &stream.only_changed {
        return only_changed(stream, &file, before);
    }
    let Some(batch) = Batch::of(&stream.each, &file)? else {
        return begin(stream);
    };
    if stream.link.control {
        return Err(Failure::Usage(
            "--control takes its words from the standard input for one job; it does not go with --each"
                .to_owned(),
        ));
    }
    let address = stream.address.as_deref().unwrap_or_default();
    // One machine may take all jobs, one after the other; a file takes one.
    let addresses = if address.starts_with("file:") {
        batch.names("the output", address)?
    } else {
        let named = batch.jobs().map(|row| batch.name("the machine", address, row));
        named.collect::<Result<_, _>>()?
    };
    let manifests = stream.manifest.as_deref().map(|path| match path.to_str() {
        Some(template) => batch.names("--manifest", template),
        None => Err(Failure::Usage(format!(
            "--manifest {}: a name for each row is UTF-8",
            path.display()
        ))),
    });
    let manifests = manifests.transpose()?;
    let job = |row: usize| {
        let mut stream = stream.clone();
        stream.address = Some(addresses[row].clone());
        stream.manifest = manifests.as_ref().map(|manifests| manifests[row].clone().into());
        stream.reading = batch.reading(row, &stream.reading);
        stream
    };
    let mut ledger = Ledger::default();
    for row in batch.jobs() {
        check(&job(row), row > 0, &mut ledger).map_err(|failure| failure.of(batch.place(row)))?;
    }
    for row in batch.jobs() {
        let mut job = job(row);
        job.told = true;
        begin(&job).map_err(|failure| failure.of(batch.place(row)))?;
    }
    Ok(())
}

/// The stripes in which the design can differ from `before`, one job after the other.
fn only_changed(stream: &Stream, file: &std::path::Path, before: &std::path::Path) -> Result<(), Failure> {
    let reading = stream.reading.within(stream.memory);
    let stripes = changed::stripes(file, before, &reading, &stream.lines, stream.watch.is_silent())?;
    if stripes.is_empty() {
        writeln!(
            io::stdout(),
            "the design computes the same as {}: nothing is sent",
            relief_design::visible(&before.display().to_string())
        )?;
        return Ok(());
    }
    let several = stripes.len() > 1;
    if several && stream.link.control {
        return Err(Failure::Usage(format!(
            "--control takes its words from the standard input for one job, and the changes lie in {} stripes; \
             send them without it, or one span by --region",
            stripes.len()
        )));
    }
    let address = stream.address.as_deref().unwrap_or_default();
    let named = |option: &str, template: &str, row: i64| {
        if several && !template.contains(ROW) {
            return Err(Failure::Usage(format!(
                "{option} {template}: the changes lie in {} stripes, which would all be written to it; write {ROW} where the \
                 number of the first row of each is to stand",
                stripes.len()
            )));
        }
        Ok(template.replace(ROW, &row.to_string()))
    };
    let job = |rows: &Rect| {
        let mut stream = stream.clone();
        stream.region = Some(Region::Pixels(*rows));
        stream.told = true;
        if address.starts_with("file:") {
            stream.address = Some(named("the output", address, rows.y())?);
        }
        if let Some(manifest) = &stream.manifest {
            let template = manifest.to_str().ok_or_else(|| {
                Failure::Usage(format!(
                    "--manifest {}: its name is not UTF-8",
                    manifest.display()
                ))
            })?;
            stream.manifest = Some(named("--manifest", template, rows.y())?.into());
        }
        Ok(stream)
    };
    // All of them before the first: none fails when others are executed.
    let jobs = stripes.iter().map(job).collect::<Result<Vec<_>, Failure>>()?;
    let mut ledger = Ledger::default();
    for job in &jobs {
        check(job, true, &mut ledger)?;
        free(job)?;
    }
    for (job, rows) in jobs.iter().zip(&stripes) {
        let (top, bottom) = (rows.y(), rows.bottom() - 1);
        writeln!(
            io::stdout(),
            "rows {top} to {bottom} can differ: sent as the region 0,{top},{}x{}",
            rows.width(),
            rows.height()
        )?;
        begin(job)?;
    }
    Ok(())
}

/// Refuses a job whose manifest is there already, or whose file of lines has no folder to lie in.
fn free(stream: &Stream) -> Result<(), Failure> {
    let wrong = |action, path: &std::path::Path, kind: io::ErrorKind| {
        Err(Failure::File {
            action,
            path: path.display().to_string(),
            source: kind.into(),
        })
    };
    if let Some(path) = stream.manifest.as_deref().filter(|path| path.exists()) {
        return wrong("cannot create", path, io::ErrorKind::AlreadyExists);
    }
    if let Address::File(path) = stream.address.as_deref().unwrap_or_default().parse()? {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            return wrong("cannot write into", folder, io::ErrorKind::NotFound);
        }
    }
    Ok(())
}

/// Whether a job can be made of its design, its scan and its tables.
fn check(stream: &Stream, silent: bool, ledger: &mut Ledger) -> Result<(), Failure> {
    let file = stream.file.clone().unwrap_or_default();
    let address: Address = stream.address.as_deref().unwrap_or_default().parse()?;
    let inputs = Inputs::begin(
        file,
        &stream.reading.within(stream.memory),
        silent || stream.watch.is_silent(),
        stream.region.as_ref(),
        &stream.lines,
    )?;
    room(stream, &address, &inputs.program()?, ledger)
}

/// Refuses a file of lines that does not fit where it goes. How long lines of runs are nobody knows before.
fn room(stream: &Stream, address: &Address, program: &Program, ledger: &mut Ledger) -> Result<(), Failure> {
    match (address, program.encoding()) {
        (Address::File(path), Encoding::Fixed(_)) if !stream.force => {
            ledger.count_lines(path, program.bytes())
        }
        _ => Ok(()),
    }
}

/// A new job.
fn begin(stream: &Stream) -> Result<(), Failure> {
    let file = stream.file.clone().unwrap_or_default();
    let address: Address = stream.address.as_deref().unwrap_or_default().parse()?;
    if stream.manifest.is_some() && file.as_os_str() == "-" {
        return Err(Failure::Usage(NO_MANIFEST_OF_STDIN.to_owned()));
    }
    let inputs = Inputs::begin(
        file,
        &stream.reading.within(stream.memory),
        stream.told || stream.watch.is_silent(),
        stream.region.as_ref(),
        &stream.lines,
    )?;
    let program = inputs.program()?;
    // The files of a batch were counted together.
    if stream.each.each.is_none() {
        room(stream, &address, &program, &mut Ledger::default())?;
    }
    let options = options(stream, address, stream.link.pin, stream.link.raw)?;
    let job = inputs.wire(&program, relief_machine::token()?);
    let record = || {
        let manifest = stream.manifest.as_ref()?;
        let begun = inputs.manifest(manifest, &program, &job, &options);
        Some(begun.and_then(|begun| Ok(Record::begin(manifest, begun)?)))
    };
    let sent = drive(stream, &inputs, &program, job, &options, None, record)?;
    tell(&sent, &options)
}

/// The job of a manifest.
fn resume(stream: &Stream, path: &std::path::Path) -> Result<(), Failure> {
    let mut record = Record::resume(path)?;
    let manifest = record.manifest();
    let inputs = Inputs::take_up(Parts::of(manifest, path)?, &stream.reading.within(stream.memory))?;
    let program = inputs.program()?;
    inputs.check(manifest, &program)?;
    if manifest.complete {
        writeln!(io::stdout(), "all {} lines were executed before", manifest.lines)?;
        return Ok(());
    }
    let prepared = manifest.prepared();
    let address: Address = stream.to.as_ref().unwrap_or(&manifest.address).parse()?;
    let pin = match (stream.link.pin, manifest.pin.as_deref()) {
        (Some(pin), _) => Some(pin),
        (None, Some(text)) => Some(text.parse()?),
        (None, None) => None,
    };
    let options = options(stream, address, pin, manifest.raw)?;
    let job = inputs.wire(&program, inputs::token(manifest)?);
    let address = options.address.to_string();
    if record.manifest().address != address {
        record.move_to(address);
    }
    if let Some(executed) = stream.executed {
        record.claim(executed)?;
    }
    let sent = drive(stream, &inputs, &program, job, &options, Some(&prepared), || {
        Some(Ok(record))
    })?;
    tell(&sent, &options)
}

/// Computes and sends. The record is begun last: nothing that is refused before leaves one behind.
fn drive(
    stream: &Stream,
    inputs: &Inputs,
    program: &Program,
    job: relief_machine::message::Job,
    options: &SenderOptions,
    prepared: Option<&Prepared>,
    record: impl FnOnce() -> Option<Result<Record, Failure>>,
) -> Result<Sent, Failure> {
    if let Address::File(path) = &options.address {
        inputs.opened.spare_inputs("the output", path)?;
    }
    let cancel = Cancel::new();
    let control = Control::new(&cancel);
    listen(stream, &control);
    let arguments = Job {
        file: inputs.parts.file.clone(),
        reading: stream.reading.within(stream.memory),
        region: inputs.parts.region.map(Region::Pixels),
        threads: stream.threads,
        memory: stream.memory,
        device_memory: stream.device_memory,
        tile: stream.tile,
        device: stream.device.clone(),
    };
    let motion = stream.motion.motion(program)?;
    let plan = job::plan(&inputs.opened, &arguments, options.memory(program))?;
    let renderer = job::renderer(&inputs.opened, plan, prepared, &stream.watch, &cancel)?;
    inputs.check_pictures()?;
    let mut record = record().transpose()?;
    if let Some(record) = &mut record {
        // A job that is taken up again need not look at whole sources once more.
        record.manifest_mut().set_prepared(&renderer.prepared());
    }
    let asked = !is_poured(options);
    let mut report = Report::new(&stream.watch, stream.link.rate, motion, program, &renderer, asked);
    let sent = send(
        program,
        &renderer,
        job,
        options,
        record.as_mut(),
        &control,
        &mut |progress| report.tell(progress),
    );
    report.end();
    Ok(sent?)
}

/// Whether lines are written to someone who does not answer.
fn is_poured(options: &SenderOptions) -> bool {
    options.raw || matches!(options.address, Address::File(_))
}

/// Says what was done.
fn tell(sent: &Sent, options: &SenderOptions) -> Result<(), Failure> {
    let mut out = io::stdout();
    if is_poured(options) {
        let lines = counted(sent.executed.saturating_sub(sent.before), "line");
        let before = match sent.before {
            0 => String::new(),
            before => format!(" after the {before} that were there"),
        };
        let there = options.address.to_string();
        let there = relief_design::visible(&there);
        writeln!(
            out,
            "wrote {lines} in {} to {there}{before}",
            counted(sent.bytes, "byte")
        )?;
        return Ok(());
    }
    let before = match sent.before {
        0 => String::new(),
        lines => format!("; the machine had executed {lines} of them before"),
    };
    writeln!(
        out,
        "executed {}, {}, {}{before}",
        counted(sent.executed, "line"),
        counted(u64::from(sent.underruns), "underrun"),
        counted(u64::from(sent.connections), "connection"),
    )?;
    Ok(())
}

fn options(stream: &Stream, address: Address, pin: Option<Pin>, raw: bool) -> Result<SenderOptions, Failure> {
    let link = &stream.link;
    let mut options = SenderOptions::new(address);
    options.raw = raw;
    options.pin = pin;
    options.secret = secret(link.secret.as_deref())?;
    options.look_ahead = link.look_ahead.max(1);
    options.high_water = link
        .high_water
        .unwrap_or(options.look_ahead / 4 * 3)
        .min(options.look_ahead);
    options.idle_timeout = Duration::from_secs_f64(link.idle_timeout.max(0.05));
    options.record_every = Duration::from_secs_f64(link.record_every);
    options.reconnect_timeout = Duration::from_secs_f64(link.reconnect_timeout);
    options.go_on = stream.go_on;
    if options.secret.is_some() && is_poured(&options) {
        let problem = "nobody answers who could know it".to_owned();
        return Err(Error::Option {
            option: "secret",
            problem,
        }
        .into());
    }
    if stream.link.pin.is_some() && matches!(options.address, Address::File(_)) {
        let problem = "a file has no certificate; give it with tls://".to_owned();
        return Err(Error::Option {
            option: "pin",
            problem,
        }
        .into());
    }
    Ok(options)
}

/// Signals and words that pause or end the job.
fn listen(stream: &Stream, control: &Control) {
    let stop = control.clone();
    let asked = AtomicBool::new(false);
    // The first signal stops the job, which waits for a machine that is heard; a second one waits for nothing.
    if let Err(error) = ctrlc::set_handler(move || {
        stop.abort();
        if asked.swap(true, Ordering::Relaxed) {
            stop.abandon();
            std::process::exit(130);
        }
    }) {
        tracing::warn!("signals are not handled: {error}");
    }
    if !stream.link.control {
        return;
    }
    let control = control.clone();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            match line.trim() {
                "pause" => control.pause(true),
                "continue" => control.pause(false),
                "abort" => control.abort(),
                other => tracing::warn!("'{other}' is none of pause, continue and abort"),
            }
        }
    });
}
