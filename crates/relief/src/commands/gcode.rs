//! `relief render` into G-code: the lines of the scan, as text.

use std::io::{self, Write};
use std::time::Instant;

use relief_engine::{Cancel, Plan, Progress, Renderer};
use relief_io::{ByteFile, Cleanup, Target};
use relief_machine::Motion;
use relief_scan::GcodeProgram;

use crate::arguments::{Job, Render, Watch};
use crate::design::Opened;
use crate::failure::Failure;
use crate::quantity::{counted, show_bytes};
use crate::show::Meter;
use crate::{interrupt, job};

use super::stream;

/// The most samples that are computed to tell how long the text is.
const COUNTED: u64 = 1 << 24;

/// Lines of each place that is looked at, where not all are.
const RUN: u64 = 16;

/// The most places that are looked at.
const PLACES: u64 = 16;

/// The G-code of a design.
pub(crate) fn program(opened: &Opened, job: &Job) -> Result<GcodeProgram, Failure> {
    let none = || {
        Failure::Usage(
            "G-code is made of the lines of a machine: give the design a scan { gcode feed=\"3000mm/min\" }"
                .to_owned(),
        )
    };
    let node = opened.design.scan().ok_or_else(none)?;
    let gcode = node.gcode.as_ref().ok_or_else(none)?;
    let canvas = opened.design.canvas();
    let program = GcodeProgram::new(
        gcode,
        &node.scan,
        &stream::tables(opened, node)?,
        &job::raster(&opened.design, job)?,
        (canvas.width, canvas.height),
        job::origin(&opened.design, job)?,
    );
    Ok(program.map_err(relief_machine::Error::from)?)
}

/// Refuses what does not go with G-code, before anything is computed.
pub(crate) fn refuse(render: &Render, opened: &Opened) -> Result<(), Failure> {
    let export = &render.export;
    let given = [
        ("--file-tile", export.file_tile.is_some()),
        ("--compress", export.compress.is_some()),
        ("--shard", export.shard.is_some()),
        ("--share", export.share),
        ("--levels", export.levels),
        ("--level", render.level.number.is_some()),
        ("--preview", render.level.preview.is_some()),
        ("--part", export.part.is_some()),
        ("--bits", export.bits.is_some()),
        ("--halftone", export.halftone.is_some()),
        ("--passes", export.passes.is_some()),
        ("--as-scanned", export.as_scanned),
        ("--amplitude", export.amplitude.is_some()),
        ("--base", export.base.is_some()),
        ("--digest", render.digest),
    ];
    if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
        return Err(Failure::Usage(format!(
            "{option} is for files of rasters, and G-code takes all of the `scan` of the design; leave it out"
        )));
    }
    let program = program(opened, &render.job)?;
    first_line(render, &program).map(|_| ())
}

/// The line that the file begins with.
fn first_line(render: &Render, program: &GcodeProgram) -> Result<u64, Failure> {
    let (first, lines) = (render.from_line.unwrap_or(0), program.program().lines());
    if first < lines {
        return Ok(first);
    }
    Err(Failure::Usage(format!(
        "--from-line {first}: the job has {}, of which the last is {}",
        counted(lines, "line"),
        lines - 1
    )))
}

/// How the lines would be computed.
pub(crate) fn plan(render: &Render, opened: &Opened) -> Result<Plan, Failure> {
    planned(render, opened, &program(opened, &render.job)?)
}

fn planned(render: &Render, opened: &Opened, program: &GcodeProgram) -> Result<Plan, Failure> {
    let memory = program.memory().saturating_add(ByteFile::MEMORY);
    job::plan(opened, &render.job, memory)
}

/// Writes the text.
pub(crate) fn write(render: &Render, opened: &Opened, target: Target, name: &str) -> Result<(), Failure> {
    let program = program(opened, &render.job)?;
    let lines = first_line(render, &program)?..program.program().lines();
    let (cancel, cleanup) = (Cancel::new(), Cleanup::default());
    let plan = planned(render, opened, &program)?;
    let guard = interrupt::watch(&cancel, Some(cleanup.clone()));
    let renderer = job::renderer(opened, plan, None, &render.watch, &cancel)?;
    let is_file = matches!(target, Target::Path(_));
    let mut file = ByteFile::open(target, &cleanup)?;
    let mut meter = Meter::new(&render.watch);
    let count = lines.end - lines.start;
    let outcome = text(&program, &renderer, opened, lines, &mut file, &mut meter, &cancel);
    meter.end(outcome.is_ok());
    let bytes = outcome?;
    file.complete().map_err(relief_engine::Error::Sink)?;
    drop(guard);
    if is_file && !render.watch.quiet {
        let text = format!(
            "{name}: {} of G-code, {}",
            show_bytes(bytes),
            counted(count, "line")
        );
        writeln!(io::stdout(), "{}", relief_design::visible(&text))?;
    }
    Ok(())
}

/// Writes header, lines and trailer, and says how many bytes they are.
fn text(
    program: &GcodeProgram,
    renderer: &Renderer,
    opened: &Opened,
    lines: std::ops::Range<u64>,
    file: &mut ByteFile,
    meter: &mut Meter,
    cancel: &Cancel,
) -> Result<u128, Failure> {
    let raster = program.program().raster();
    let digest = blake3::hash(&[*opened.digest.as_bytes(), *program.program().digest().as_bytes()].concat());
    let side = raster.pixel.map_or(String::new(), |pixel| {
        format!(" of {:.6} mm", pixel.to_metres() * 1_000.0)
    });
    let remarks = [
        format!("Relief {}, job {}", env!("CARGO_PKG_VERSION"), digest.to_hex()),
        format!("design {}", opened.name),
        format!("{} x {} pixels{side}", raster.width, raster.height),
    ];
    let header = program.header(&remarks, &lines);
    let mut bytes = header.len() as u128;
    file.write_all(&header).map_err(relief_engine::Error::Sink)?;
    let (begun, first) = (Instant::now(), lines.start);
    let (all, each) = (lines.end - lines.start, u128::from(program.program().samples()));
    let mut tell = |line: &relief_scan::GcodeLine| {
        bytes += u128::from(line.bytes);
        let done = u128::from(line.number + 1 - first) * each;
        meter.tell(Progress::new(done, u128::from(all) * each, begun.elapsed()));
    };
    program
        .write(renderer, lines, file, &mut tell, cancel)
        .map_err(failure)?;
    file.write_all(program.trailer())
        .map_err(relief_engine::Error::Sink)?;
    Ok(bytes + program.trailer().len() as u128)
}

/// The failure of the engine is its own.
fn failure(error: relief_scan::Error) -> Failure {
    match error {
        relief_scan::Error::Engine(error) => error.into(),
        error => relief_machine::Error::from(error).into(),
    }
}

/// What is known of a text before it is written.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Estimate {
    /// The lines of the job, and those that were computed to know the rest.
    lines: u64,
    computed_lines: u64,
    bytes: u128,
    seconds: f64,
    /// Bytes a second: on average, and of the line that needs most.
    bytes_per_second: f64,
    most_bytes_per_second: f64,
    /// What the serial link carries.
    link_bytes_per_second: f64,
}

impl Estimate {
    /// Computes lines of the job, all where they are few, and reckons the others by them. Millimetres a second, each second,
    /// are the acceleration; without it speed is there at once.
    pub(crate) fn new(
        opened: &Opened,
        job: &Job,
        acceleration: Option<f64>,
    ) -> Result<Option<Self>, Failure> {
        let has = opened
            .design
            .scan()
            .as_ref()
            .is_some_and(|node| node.gcode.is_some());
        if !has {
            return Ok(None);
        }
        let program = program(opened, job)?;
        let plan = job::plan(opened, job, program.memory())?;
        if plan.preparation() > u128::from(COUNTED) {
            // The whole source would be computed first.
            return Ok(None);
        }
        let silent = Watch {
            quiet: true,
            json_progress: false,
        };
        let cancel = Cancel::new();
        let renderer = job::renderer(opened, plan, None, &silent, &cancel)?;
        let lines = program.program().lines();
        let each = program.program().samples().max(1);
        let most = (COUNTED / each).max(1);
        let mut sum = Sum::new(acceleration);
        // Error diffusion comes to a line by all lines before it.
        if lines <= most || program.program().diffusion_bytes() > 0 {
            sum.add(&program, &renderer, 0..lines.min(most), &cancel)?;
        } else {
            let places = (most / RUN).clamp(1, PLACES);
            let run = RUN.min(most).min(lines);
            for place in 0..places {
                let first = u128::from(lines - run) * u128::from(place) / u128::from(places.max(2) - 1);
                let first = first as u64;
                sum.add(&program, &renderer, first..first + run, &cancel)?;
            }
        }
        Ok(Some(sum.estimate(&program)))
    }

    /// As people read it.
    pub(crate) fn text(&self) -> String {
        let known = if self.computed_lines == self.lines {
            format!("all {} computed", counted(self.lines, "line"))
        } else {
            format!(
                "by {} of {}",
                counted(self.computed_lines, "line"),
                counted(self.lines, "line")
            )
        };
        let verdict = if self.most_bytes_per_second <= self.link_bytes_per_second {
            "enough"
        } else if self.bytes_per_second <= self.link_bytes_per_second {
            "not enough for the line that needs most: the head waits there"
        } else {
            "not enough: the head waits; a slower feed, merged powers or sweep=\"segments\" need less"
        };
        format!(
            "g-code   {}, {}; {known}\nlink     {:.0} bytes a second are needed, {:.0} by the line that needs most, and {:.0} \
             carried: {verdict}\n",
            show_bytes(self.bytes),
            stream::time(self.seconds),
            self.bytes_per_second,
            self.most_bytes_per_second,
            self.link_bytes_per_second
        )
    }

    pub(crate) const fn seconds(&self) -> f64 {
        self.seconds
    }
}

/// What was computed of a text.
struct Sum {
    acceleration: f64,
    lines: u64,
    bytes: u128,
    seconds: f64,
    most: f64,
}

impl Sum {
    fn new(acceleration: Option<f64>) -> Self {
        Self {
            acceleration: acceleration.unwrap_or(f64::INFINITY),
            lines: 0,
            bytes: 0,
            seconds: 0.0,
            most: 0.0,
        }
    }

    fn add(
        &mut self,
        program: &GcodeProgram,
        renderer: &Renderer,
        lines: std::ops::Range<u64>,
        cancel: &Cancel,
    ) -> Result<(), Failure> {
        let acceleration = self.acceleration;
        let seconds = |millimetres: f64, speed: f64| {
            let motion = Motion {
                speed,
                acceleration,
                turn_around: 0.0,
            };
            motion.seconds(millimetres)
        };
        let feed = program.settings().feed.to_metres() * 1_000.0 / 60.0;
        let mut tell = |line: &relief_scan::GcodeLine| {
            let running: f64 = line.ways.iter().map(|&(way, speed)| seconds(way, speed)).sum();
            let jumping: f64 = line.rapids.iter().map(|&way| seconds(way, feed)).sum();
            self.lines += 1;
            self.bytes += u128::from(line.bytes);
            self.seconds += running + jumping;
            if running > 0.0 {
                self.most = self.most.max(line.bytes as f64 / running);
            }
        };
        program
            .write(renderer, lines, &mut io::sink(), &mut tell, cancel)
            .map_err(failure)
    }

    fn estimate(&self, program: &GcodeProgram) -> Estimate {
        let lines = program.program().lines();
        let share = lines as f64 / self.lines.max(1) as f64;
        let bytes = if lines == self.lines {
            self.bytes
        } else {
            self.bytes * u128::from(lines) / u128::from(self.lines.max(1))
        };
        let seconds = self.seconds * share;
        Estimate {
            lines,
            computed_lines: self.lines,
            bytes,
            seconds,
            bytes_per_second: if seconds > 0.0 {
                bytes as f64 / seconds
            } else {
                0.0
            },
            most_bytes_per_second: self.most,
            link_bytes_per_second: f64::from(program.settings().baud) / 10.0,
        }
    }
}
