//! `relief stream`: a design drives a machine.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use relief_design::tree::Kind;
use relief_engine::{Cancel, DeviceChoice, Renderer};
use relief_machine::message::Job as WireJob;
use relief_machine::{
    Address, Control, Cut, Error, Input, Manifest, NamedInput, Pin, Progress, Record, Region, Secret,
    SenderOptions, digest_file, send,
};
use relief_raster::{Depth, Rect};
use relief_scan::{
    Axis, BitOrder, Bits, ByteOrder, Corner, Direction, Halftone, Interleave, Mirror, Packing, Passes,
    Polarity, Program, Quarters, Scan, Stripe, Swath, Table, Tables,
};
use serde::de::DeserializeOwned;

use crate::arguments::{Job, Watch};
use crate::design::{self, Opened};
use crate::failure::Failure;
use crate::job;
use crate::quantity::{bytes, region, tile};

#[derive(Debug, Args)]
pub(crate) struct Stream {
    /// The design file
    #[arg(required_unless_present = "resume", conflicts_with = "resume")]
    file: Option<PathBuf>,
    /// The machine: tcp://HOST:PORT, tls://HOST:PORT or unix:PATH
    #[arg(required_unless_present = "resume")]
    address: Option<String>,
    /// Keep a manifest, with which the job can be taken up again
    #[arg(long, value_name = "JOB.json", conflicts_with = "resume")]
    manifest: Option<PathBuf>,
    /// Take up the job of a manifest from the first line that was not executed
    #[arg(long, value_name = "JOB.json", conflicts_with_all = ["region", "scan", "material", "machine"])]
    resume: Option<PathBuf>,
    /// Another machine than the manifest's, for --resume
    #[arg(long, value_name = "ADDRESS", requires = "resume")]
    to: Option<String>,
    /// Compute this part of the canvas only, in pixels
    #[arg(long, value_name = "X,Y,WxH", value_parser = region, allow_hyphen_values = true)]
    region: Option<Rect>,
    /// Worker threads [default: one for each processor]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// The most memory the job may take, such as 64MiB or 2GB [default: 1GiB]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    memory: Option<u64>,
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
    watch: Watch,
}

/// How the machine wants the raster.
#[derive(Debug, Args)]
#[command(next_help_heading = "Scan program")]
struct ScanArguments {
    /// All settings of the scan as JSON; other options of the scan change it
    #[arg(long, value_name = "SCAN.json")]
    scan: Option<PathBuf>,
    /// Mirror the raster: none, horizontal or vertical
    #[arg(long, value_parser = word::<Mirror>)]
    mirror: Option<Mirror>,
    /// Turn it clockwise, after the mirror: 0, 90, 180 or 270
    #[arg(long, value_parser = word::<Quarters>)]
    rotate: Option<Quarters>,
    /// A line is a row or a column
    #[arg(long, value_parser = word::<Axis>)]
    axis: Option<Axis>,
    /// Where the first line starts: top-left, top-right, bottom-left or bottom-right
    #[arg(long, value_parser = word::<Corner>)]
    start: Option<Corner>,
    /// Run every second line backwards
    #[arg(long)]
    serpentine: bool,
    /// Every N-th line first, then those after them
    #[arg(long, value_name = "N")]
    interleave: Option<u32>,
    /// Blank positions before and after each line
    #[arg(long, value_name = "BEFORE,AFTER", value_parser = pair::<u32>)]
    overscan: Option<(u32, u32)>,
    /// Cover the lines in stripes of so many pixels that share so many
    #[arg(long, value_name = "WIDTH,OVERLAP", value_parser = pair::<u64>)]
    stripe: Option<(u64, u64)>,
    /// Take several lines in one travel; travels share so many
    #[arg(long, value_name = "LINES,OVERLAP", value_parser = pair::<u32>)]
    swath: Option<(u32, u32)>,
    /// Passes: even:N, curve:N,EXPONENT, share:N, or thresholds T,T,…
    #[arg(long, value_parser = passes)]
    passes: Option<Passes>,
    /// Grays to on and off: threshold:LEVEL, bayer:N, blue-noise or floyd-steinberg
    #[arg(long, value_parser = halftone)]
    halftone: Option<Halftone>,
    /// Bits of a sample: 1, 8 or 16
    #[arg(long, value_parser = word::<Bits>)]
    bits: Option<Bits>,
    /// The first of eight samples of one bit: most-first or least-first
    #[arg(long, value_parser = word::<BitOrder>)]
    bit_order: Option<BitOrder>,
    /// The first byte of 16 bits: little or big
    #[arg(long, value_parser = word::<ByteOrder>)]
    byte_order: Option<ByteOrder>,
    /// Every value v becomes the greatest minus v
    #[arg(long)]
    invert: bool,
    /// Lines as runs: n samples of value v
    #[arg(long)]
    run_length: bool,
    /// The table of the material: a JSON file with name and points
    #[arg(long, value_name = "TABLE.json")]
    material: Option<PathBuf>,
    /// The table of the machine, after the passes: gray to power
    #[arg(long, value_name = "TABLE.json")]
    machine: Option<PathBuf>,
}

/// How the machine is reached and fed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Machine")]
struct Link {
    /// Bytes of lines made ahead
    #[arg(long, value_name = "SIZE", value_parser = bytes, default_value = "60MB")]
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
    /// Seconds of silence after which a connection counts as lost
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    silence: f64,
    /// Seconds that a lost connection is tried again
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    patience: f64,
    /// Read the words pause, continue and abort from the standard input
    #[arg(long)]
    control: bool,
}

/// A word as settings in JSON say it.
fn word<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(serde_json::Value::String(text.to_owned())).map_err(|error| error.to_string())
}

/// One or two numbers; the second is 0 where it is not given.
fn pair<T: std::str::FromStr + Default>(text: &str) -> Result<(T, T), String> {
    let number = |text: &str| text.trim().parse().map_err(|_| format!("'{text}' is no number"));
    match text.split_once(',') {
        Some((first, second)) => Ok((number(first)?, number(second)?)),
        None => Ok((number(text)?, T::default())),
    }
}

pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=1e6).contains(&seconds) => Ok(seconds),
        _ => Err("a number of seconds from 0 to 1000000 is expected".to_owned()),
    }
}

fn passes(text: &str) -> Result<Passes, String> {
    let number = |text: &str| {
        text.trim()
            .parse::<u32>()
            .map_err(|_| format!("'{text}' is no number of passes"))
    };
    match text.split_once(':') {
        Some(("even", count)) => Ok(Passes::Even {
            count: number(count)?,
        }),
        Some(("share", count)) => Ok(Passes::Share {
            count: number(count)?,
        }),
        Some(("curve", rest)) => {
            let (count, exponent) = rest.split_once(',').ok_or("curve:N,EXPONENT is expected")?;
            let exponent = exponent
                .trim()
                .parse()
                .map_err(|_| format!("'{exponent}' is no number"))?;
            Ok(Passes::Curve {
                count: number(count)?,
                exponent,
            })
        }
        Some((other, _)) => Err(format!(
            "'{other}' is no way to slice; even, curve or share is expected"
        )),
        None => {
            let level = |text: &str| {
                text.trim()
                    .parse()
                    .map_err(|_| format!("'{text}' is no threshold"))
            };
            Ok(Passes::Listed {
                thresholds: text.split(',').map(level).collect::<Result<_, _>>()?,
            })
        }
    }
}

fn halftone(text: &str) -> Result<Halftone, String> {
    let number = |text: &str| {
        text.trim()
            .parse::<u16>()
            .map_err(|_| format!("'{text}' is no number"))
    };
    match text.split_once(':') {
        Some(("threshold", level)) => Ok(Halftone::Threshold {
            level: number(level)?,
        }),
        Some(("bayer", size)) => Ok(Halftone::Bayer {
            size: number(size)?.into(),
        }),
        None if text == "blue-noise" => Ok(Halftone::BlueNoise),
        None if text == "floyd-steinberg" => Ok(Halftone::FloydSteinberg),
        _ => Err("threshold:LEVEL, bayer:N, blue-noise or floyd-steinberg is expected".to_owned()),
    }
}

impl ScanArguments {
    fn scan(&self) -> Result<Scan, Failure> {
        let mut scan = match &self.scan {
            None => Scan::default(),
            Some(path) => {
                let text = read(path)?;
                let wrong = |error| Failure::Usage(format!("{}: {error}", path.display()));
                serde_json::from_str(&text).map_err(wrong)?
            }
        };
        let packing = scan.packing;
        scan = Scan {
            mirror: self.mirror.unwrap_or(scan.mirror),
            rotate: self.rotate.unwrap_or(scan.rotate),
            axis: self.axis.unwrap_or(scan.axis),
            start: self.start.unwrap_or(scan.start),
            direction: if self.serpentine {
                Direction::Serpentine
            } else {
                scan.direction
            },
            interleave: self.interleave.map_or(scan.interleave, Interleave),
            stripe: self
                .stripe
                .map(|(width, overlap)| Stripe { width, overlap })
                .or(scan.stripe),
            swath: self
                .swath
                .map(|(lines, overlap)| Swath { lines, overlap })
                .or(scan.swath),
            overscan: self.overscan.unwrap_or(scan.overscan),
            passes: self.passes.clone().unwrap_or(scan.passes),
            halftone: self.halftone.or(scan.halftone),
            packing: Packing {
                bits: self.bits.unwrap_or(packing.bits),
                bit_order: self.bit_order.unwrap_or(packing.bit_order),
                byte_order: self.byte_order.unwrap_or(packing.byte_order),
                polarity: if self.invert {
                    Polarity::Inverted
                } else {
                    packing.polarity
                },
            },
            run_length: self.run_length || scan.run_length,
        };
        Ok(scan)
    }
}

pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|source| Failure::File {
        action: "cannot read",
        path: path.display().to_string(),
        source,
    })
}

/// What a job is made of, whether it begins or is taken up.
struct Parts {
    file: PathBuf,
    region: Option<Rect>,
    scan: Scan,
    material: Option<PathBuf>,
    machine: Option<PathBuf>,
}

impl Parts {
    fn of(stream: &Stream, manifest: Option<&Manifest>) -> Result<Self, Failure> {
        match manifest {
            None => Ok(Self {
                file: stream.file.clone().unwrap_or_default(),
                region: stream.region,
                scan: stream.lines.scan()?,
                material: stream.lines.material.clone(),
                machine: stream.lines.machine.clone(),
            }),
            Some(manifest) => Self::from_manifest(manifest),
        }
    }

    fn from_manifest(manifest: &Manifest) -> Result<Self, Failure> {
        let rect = |region: Region| {
            Rect::new(region.x, region.y, region.width, region.height)
                .ok_or_else(|| Failure::Usage("the region of the manifest leaves the coordinates".to_owned()))
        };
        let path = |input: &Option<NamedInput>| input.as_ref().map(|input| PathBuf::from(&input.path));
        Ok(Self {
            file: PathBuf::from(&manifest.design.path),
            region: manifest.region.map(rect).transpose()?,
            scan: manifest.scan.clone(),
            material: path(&manifest.material),
            machine: path(&manifest.machine),
        })
    }
}

/// Everything a job depends on, opened and digested.
struct Opening {
    opened: Opened,
    parts: Parts,
    tables: Tables,
    design: Input,
    images: Vec<Input>,
}

fn open(parts: Parts) -> Result<Opening, Failure> {
    let opened = design::open(&parts.file)?;
    let digest = |shown: String, path: &Path| {
        digest_file(path).map(|hash| Input {
            path: shown,
            digest: hash.to_string(),
        })
    };
    let design = digest(parts.file.display().to_string(), &parts.file)?;
    let base = parts.file.parent().unwrap_or(Path::new("."));
    let mut names: Vec<&str> = opened
        .design
        .nodes
        .iter()
        .filter_map(|node| {
            if let Kind::Image { path, .. } = &node.kind {
                Some(&**path)
            } else {
                None
            }
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    let images = names
        .iter()
        .map(|name| digest((*name).to_owned(), &base.join(name)))
        .collect::<Result<_, _>>()?;
    let depth = opened.design.canvas.depth;
    let tables = Tables {
        material: table(&parts.material, depth)?,
        machine: table(&parts.machine, depth)?,
    };
    Ok(Opening {
        opened,
        parts,
        tables,
        design,
        images,
    })
}

fn table(path: &Option<PathBuf>, depth: Depth) -> Result<Option<Table>, Failure> {
    path.as_ref()
        .map(|path| Ok(Table::parse(&read(path)?, depth).map_err(Error::from)?))
        .transpose()
}

impl Opening {
    fn named(table: &Option<Table>, path: &Option<PathBuf>) -> Option<NamedInput> {
        let (table, path) = (table.as_ref()?, path.as_ref()?);
        Some(NamedInput {
            name: table.name().to_owned(),
            path: path.display().to_string(),
            digest: table.digest().to_string(),
        })
    }

    /// Whether everything is what the job began with.
    fn check(&self, manifest: &Manifest, program: &Program) -> Result<(), Error> {
        let same = |what: String, found: &str, expected: &str| {
            if found == expected {
                return Ok(());
            }
            Err(Error::Changed {
                what,
                found: found.to_owned(),
                expected: expected.to_owned(),
            })
        };
        let none = "none".to_owned();
        for image in &self.images {
            let expected = manifest.images.iter().find(|known| known.path == image.path);
            let expected = expected.map_or(&none, |known| &known.digest);
            same(format!("the picture {}", image.path), &image.digest, expected)?;
        }
        same(
            format!("the design {}", self.design.path),
            &self.design.digest,
            &manifest.design.digest,
        )?;
        let pairs = [
            (
                "material",
                Self::named(&self.tables.material, &self.parts.material),
                &manifest.material,
            ),
            (
                "machine",
                Self::named(&self.tables.machine, &self.parts.machine),
                &manifest.machine,
            ),
        ];
        for (name, found, expected) in pairs {
            let digest =
                |input: Option<&NamedInput>| input.map_or(none.clone(), |input| input.digest.clone());
            same(
                format!("the {name} table"),
                &digest(found.as_ref()),
                &digest(expected.as_ref()),
            )?;
        }
        same(
            "the scan program".to_owned(),
            &program.digest().to_string(),
            &manifest.program,
        )
    }

    fn wire(&self, program: &Program, token: [u8; 16]) -> WireJob {
        let pictures: String = self.images.iter().map(|image| image.digest.as_str()).collect();
        let design = blake3::Hash::from_hex(&self.design.digest).map_or([0; 32], |hash| *hash.as_bytes());
        WireJob::new(
            program,
            design,
            *blake3::hash(pictures.as_bytes()).as_bytes(),
            token,
        )
    }

    fn manifest(&self, program: &Program, job: &WireJob, address: &Address, pin: Option<Pin>) -> Manifest {
        let region = |rect: Rect| Region {
            x: rect.x(),
            y: rect.y(),
            width: rect.width(),
            height: rect.height(),
        };
        Manifest {
            version: Manifest::VERSION,
            address: address.to_string(),
            pin: pin.map(|pin| pin.to_string()),
            raw: false,
            job: hex(&job.id),
            token: hex(&job.token),
            design: self.design.clone(),
            images: self.images.clone(),
            material: Self::named(&self.tables.material, &self.parts.material),
            machine: Self::named(&self.tables.machine, &self.parts.machine),
            region: self.parts.region.map(region),
            scan: self.parts.scan.clone(),
            program: program.digest().to_string(),
            lines: program.lines(),
            line_bytes: program.encoding().most(),
            executed: 0,
            file_bytes: None,
            complete: false,
            cut: Cut::new(program.lines(), program.encoding().most()),
            bands: Vec::new(),
            open: Vec::new(),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(bytes)
}

/// The program of a manifest, without looking at the pictures: to read what was executed.
pub(crate) fn program_of(manifest: &Manifest) -> Result<Program, Failure> {
    let opening = open(Parts::from_manifest(manifest)?)?;
    let raster = raster(&opening, &opening.parts);
    let program = Program::new(&opening.parts.scan, &opening.tables, &raster).map_err(Error::from)?;
    opening.check(manifest, &program)?;
    Ok(program)
}

fn raster(opening: &Opening, parts: &Parts) -> relief_engine::Raster {
    let canvas = opening.opened.design.canvas;
    relief_engine::Raster {
        width: parts.region.map_or(canvas.width, |region| region.width()),
        height: parts.region.map_or(canvas.height, |region| region.height()),
        depth: canvas.depth,
        pixel: canvas.pixel,
    }
}

pub(crate) fn secret(path: Option<&Path>) -> Result<Option<Secret>, Failure> {
    path.map(|path| Ok(Secret::new(read(path)?.trim().as_bytes())?))
        .transpose()
}

pub(crate) fn run(stream: &Stream) -> Result<(), Failure> {
    let mut record = stream.resume.as_deref().map(Record::resume).transpose()?;
    let known = record.as_ref().map(Record::manifest);
    let opening = open(Parts::of(stream, known)?)?;
    let program = Program::new(
        &opening.parts.scan,
        &opening.tables,
        &raster(&opening, &opening.parts),
    )
    .map_err(Error::from)?;
    let address = match (stream.to.as_ref().or(stream.address.as_ref()), known) {
        (Some(address), _) => address.parse::<Address>()?,
        (None, Some(manifest)) => manifest.address.parse()?,
        (None, None) => return Err(Failure::Usage("the address of the machine is missing".to_owned())),
    };
    let pin = match (
        stream.link.pin,
        known.and_then(|manifest| manifest.pin.as_deref()),
    ) {
        (Some(pin), _) => Some(pin),
        (None, Some(text)) => Some(text.parse()?),
        (None, None) => None,
    };
    let job = match known {
        Some(manifest) => {
            opening.check(manifest, &program)?;
            if manifest.complete {
                writeln!(io::stdout(), "all {} lines were executed before", manifest.lines)?;
                return Ok(());
            }
            opening.wire(&program, unhex(&manifest.token).unwrap_or_default())
        }
        None => opening.wire(&program, relief_machine::token()?),
    };
    if let Some(path) = &stream.manifest {
        record = Some(Record::begin(
            path,
            opening.manifest(&program, &job, &address, pin),
        )?);
    }
    let options = options(stream, address, pin)?;
    let cancel = Cancel::new();
    let control = Control::new(&cancel);
    watch(stream, &control);
    let job_arguments = Job {
        file: opening.parts.file.clone(),
        region: opening.parts.region,
        threads: stream.threads,
        memory: stream.memory,
        device_memory: None,
        tile: stream.tile,
        device: stream.device.clone(),
    };
    let plan = job::plan(&opening.opened, &job_arguments, options.memory(&program))?;
    let renderer = Renderer::new(plan, &opening.opened.files, &cancel)?;
    let mut show = Show::new(&stream.watch, stream.link.rate, program.encoding().most());
    let sent = send(
        &program,
        &renderer,
        job,
        &options,
        record.as_mut(),
        &control,
        &mut |progress| show.tell(progress),
    );
    show.end();
    let sent = sent?;
    writeln!(
        io::stdout(),
        "executed {} lines, {} underruns, {} connections",
        sent.executed,
        sent.underruns,
        sent.connections
    )?;
    Ok(())
}

fn options(stream: &Stream, address: Address, pin: Option<Pin>) -> Result<SenderOptions, Failure> {
    let link = &stream.link;
    let mut options = SenderOptions::new(address);
    options.pin = pin;
    options.secret = secret(link.secret.as_deref())?;
    options.look_ahead = link.look_ahead.max(1);
    options.high_water = link
        .high_water
        .unwrap_or(options.look_ahead / 4 * 3)
        .min(options.look_ahead);
    options.silence = Duration::from_secs_f64(link.silence.max(0.05));
    options.patience = Duration::from_secs_f64(link.patience);
    Ok(options)
}

/// Signals and words that pause or end the job.
fn watch(stream: &Stream, control: &Control) {
    let stop = control.clone();
    if let Err(error) = ctrlc::set_handler(move || stop.abort()) {
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

/// Tells how the job goes.
struct Show {
    json: bool,
    line: bool,
    quiet: bool,
    rate: Option<u64>,
    line_bytes: u64,
    warned: bool,
    underruns: u32,
    last: Option<Instant>,
    began: Option<(Instant, u64)>,
}

impl Show {
    fn new(watch: &Watch, rate: Option<u64>, line_bytes: u64) -> Self {
        Self {
            json: watch.json_progress,
            line: !watch.quiet && !watch.json_progress && io::stderr().is_terminal(),
            quiet: watch.quiet,
            rate,
            line_bytes,
            warned: false,
            underruns: 0,
            last: None,
            began: None,
        }
    }

    fn tell(&mut self, progress: &Progress) {
        if let (false, Some(rate), Some(made)) = (self.warned, self.rate, progress.rate())
            && ((progress.phase == relief_machine::Phase::Running) || progress.made >= progress.ahead && progress.ahead > 0)
        {
            self.warned = true;
            if made <= rate as f64 && !self.quiet {
                let text = format!(
                    "warning: lines are made at {:.1} MB/s, the machine takes {:.1} MB/s: it will run dry",
                    made / 1e6,
                    rate as f64 / 1e6
                );
                let _ = writeln!(io::stderr(), "{text}");
            }
        }
        if progress.underruns > self.underruns && !self.quiet && !self.json {
            let cause = if progress.ahead == 0 {
                "lines were not made in time"
            } else {
                "lines did not arrive in time"
            };
            let _ = writeln!(
                io::stderr(),
                "underrun {} at line {}: {cause}",
                progress.underruns,
                progress.executed
            );
        }
        self.underruns = progress.underruns;
        if (progress.phase == relief_machine::Phase::Running) && self.began.is_none() {
            self.began = Some((Instant::now(), progress.executed));
        }
        let pace = Duration::from_millis(200);
        if progress.executed < progress.lines && self.last.is_some_and(|last| last.elapsed() < pace) {
            return;
        }
        self.last = Some(Instant::now());
        let lines_per_second = self.began.map_or(0.0, |(since, executed)| {
            (progress.executed - executed) as f64 / since.elapsed().as_secs_f64().max(1e-9)
        });
        let taken = self
            .rate
            .map_or(lines_per_second * self.line_bytes as f64, |rate| rate as f64);
        let margin = progress.rate().filter(|_| taken > 0.0).map(|made| made / taken);
        let left =
            (lines_per_second > 0.0).then(|| (progress.lines - progress.executed) as f64 / lines_per_second);
        if self.json {
            let line = serde_json::json!({
                "executed": progress.executed,
                "lines": progress.lines,
                "received": progress.received,
                "lines_per_second": lines_per_second,
                "made_bytes_per_second": progress.rate(),
                "margin": margin,
                "ahead_bytes": progress.ahead,
                "underruns": progress.underruns,
                "connected": progress.connected,
                "left_seconds": left,
            });
            let _ = writeln!(io::stderr(), "{line}");
        } else if self.line {
            let text = format!(
                "\r{} of {} lines  {:.1} MB/s  margin {}  {:.0} MB ahead  {} left\x1b[K",
                progress.executed,
                progress.lines,
                lines_per_second * self.line_bytes as f64 / 1e6,
                margin.map_or("-".to_owned(), |margin| format!("{margin:.1}×")),
                progress.ahead as f64 / 1e6,
                left.map_or("-".to_owned(), |left| format!("{left:.0} s")),
            );
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }

    fn end(&self) {
        if self.line {
            let _ = writeln!(io::stderr());
        }
    }
}
