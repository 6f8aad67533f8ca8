//! The sender: makes lines ahead, sends them as the machine has room, keeps them until they are executed.
//!
//! One thread makes lines into the look-ahead ([`make`]); one holds the connection ([`link`]), and makes a new one when
//! it is lost, or pours lines into a file ([`pour`]); one hears what the machine says ([`hear`]) while the one of the
//! connection talks ([`talk`]); the caller's writes the manifest and tells how it goes ([`watch`]). Lines stay in the
//! look-ahead until the machine has executed them, so that a new connection goes on wherever the machine says, without
//! computing anything again.

mod ahead;
mod file;
mod hear;
mod link;
mod make;
mod pour;
mod talk;
mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use relief_atomic::Cleanup;
use relief_engine::Cancel;
use relief_scan::{Lines, Program, Windows};

use crate::Error;
use crate::address::Address;
use crate::bands::Groups;
use crate::frame;
use crate::job_state::JobState;
use crate::message::{Activity, Job};
use crate::record::Record;
use crate::secret::Secret;
use crate::tls::Pin;
use ahead::{Shared, State};

/// Into so many blocks the look-ahead is cut.
const BLOCKS: u64 = 16;

/// Every so many blocks the state of error diffusion is kept with one.
const STATES: u64 = 4;

/// How to send.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SenderOptions {
    /// The machine, or a file.
    pub address: Address,
    /// Whether lines are written as they are, without frames: nothing is acknowledged, and what is written counts as
    /// executed.
    pub raw: bool,
    /// The fingerprint of the machine's certificate, for TLS.
    pub pin: Option<Pin>,
    /// The secret shared with the machine.
    pub secret: Option<Secret>,
    /// Bytes of lines that are made ahead of their execution.
    pub look_ahead: u64,
    /// Bytes that must be made before the first line is sent; at most the look-ahead.
    pub high_water: u64,
    /// How long nothing may be heard before a connection counts as lost; longer where the machine says so.
    pub idle_timeout: Duration,
    /// How long a lost connection is tried again.
    pub reconnect_timeout: Duration,
    /// The time between two writes of the manifest.
    pub record_every: Duration,
    /// Whether the job is gone on with where a machine has begun it, though this sender has not: by its record, or
    /// because it has none. Without that such a machine is refused ([`Error::Begun`]): what it has executed may be on
    /// another workpiece.
    pub go_on: bool,
}

impl SenderOptions {
    /// What suits most machines: 60 MB ahead.
    #[must_use]
    pub const fn new(address: Address) -> Self {
        Self {
            address,
            raw: false,
            pin: None,
            secret: None,
            look_ahead: 60_000_000,
            high_water: 45_000_000,
            idle_timeout: Duration::from_secs(10),
            reconnect_timeout: Duration::from_secs(60),
            record_every: Duration::from_secs(1),
            go_on: false,
        }
    }

    /// Changed in place.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// The most bytes that sending holds, for the plan: the look-ahead, what makes lines, and the states of error
    /// diffusion from which a job can be taken up.
    #[must_use]
    pub fn memory(&self, program: &Program) -> u64 {
        // Those in the look-ahead, one being made, those that wait to be written, and the bytes of one.
        let states = program.diffusion_bytes().saturating_mul(BLOCKS / STATES + 6);
        self.look_ahead
            .saturating_add(self.making(program))
            .saturating_add(states)
    }

    /// Lines that are made at once.
    fn step(&self, program: &Program) -> u64 {
        let line = ahead::held_by(1, program.encoding().most());
        (self.look_ahead / BLOCKS / line).clamp(1, program.lines())
    }

    /// Bytes for making them.
    fn making(&self, program: &Program) -> u64 {
        program.making_bytes(self.step(program))
    }
}

/// Pauses and stops a job from outside.
#[derive(Clone, Debug, Default)]
pub struct Control {
    paused: Arc<AtomicBool>,
    cancel: Cancel,
    cleanup: Cleanup,
}

impl Control {
    /// A job that runs; `cancel` aborts it.
    #[must_use]
    pub fn new(cancel: &Cancel) -> Self {
        Self {
            paused: Arc::default(),
            cancel: cancel.clone(),
            cleanup: Cleanup::default(),
        }
    }

    /// Has the machine stop after the line it executes, or go on.
    pub fn pause(&self, paused: bool) {
        self.paused.store(paused, Ordering::Release);
    }

    /// Drops what has not been executed and ends the job; it can be taken up again. A machine that has the job is
    /// waited for as long as it is heard, because only it knows what it has executed; all else ends at once.
    pub fn abort(&self) {
        self.cancel.cancel();
    }

    /// Removes the file of a job without a manifest that is not done: for a process that ends without waiting for
    /// [`send`].
    pub fn abandon(&self) {
        self.cleanup.remove();
    }
}

/// What a sender does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The look-ahead fills.
    Filling,
    /// It has reached the high-water mark: the moment before the first line is sent, told once.
    Ready,
    /// Lines are sent.
    Running,
}

/// How a job goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// What it does.
    pub phase: Phase,
    /// Where it stands.
    pub state: JobState,
    /// Whether there is a connection.
    pub connected: bool,
    /// Connections so far.
    pub connections: u32,
    /// Lines executed: all before this one.
    pub executed: u64,
    /// Lines that were executed when the job began or was taken up.
    pub before: u64,
    /// Lines that the machine has.
    pub received: u64,
    /// All lines.
    pub lines: u64,
    /// Bytes of lines made and not executed.
    pub ahead: u64,
    /// Bytes of lines made.
    pub made: u64,
    /// Lines made.
    pub made_lines: u64,
    /// The time it took to make them.
    pub making: Duration,
    /// The part of that time in which the raster was computed; the rest went into tables, screens and packing.
    pub reading: Duration,
    /// Whether no lines are made now because the look-ahead is full or all are made.
    pub resting: bool,
    /// Bytes sent, those sent again counted again.
    pub sent: u64,
    /// How often the machine had nothing to execute.
    pub underruns: u32,
    /// What the machine does.
    pub activity: Activity,
    /// Since the job began or was taken up.
    pub elapsed: Duration,
}

impl Progress {
    /// Bytes a second at which lines are made; `None` before the first.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        let seconds = self.making.as_secs_f64();
        (self.made > 0 && seconds > 0.0).then(|| self.made as f64 / seconds)
    }

    /// Bytes of a line, on average over those made; `None` before the first.
    #[must_use]
    pub fn line_bytes(&self) -> Option<f64> {
        (self.made_lines > 0).then(|| self.made as f64 / self.made_lines as f64)
    }
}

/// What was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Lines executed: all.
    pub executed: u64,
    /// Lines that were executed when the job began or was taken up.
    pub before: u64,
    /// Bytes of lines that were sent or written, those sent again counted again.
    pub bytes: u64,
    /// How often the machine had nothing to execute.
    pub underruns: u32,
    /// Connections made.
    pub connections: u32,
}

/// Sends a job to its end. `observe` is told whenever something has changed, and 20 times a second.
///
/// # Errors
/// Where the machine refuses the job, the connection is lost for good, lines cannot be made, the record cannot be
/// written, or the job is aborted ([`Error::Stopped`], or [`Error::Unheard`] where the machine could not be asked what
/// it has executed). [`Error::Begun`] where the machine has begun the job and nothing says that it is the same workpiece.
///
/// # Panics
/// Where `observe` does; the machine is not asked then.
pub fn send(
    program: &Program,
    source: &dyn Windows,
    job: Job,
    options: &SenderOptions,
    record: Option<&mut Record>,
    control: &Control,
    observe: &mut dyn FnMut(&Progress),
) -> Result<Sent, Error> {
    check(program, &job, options, record.as_deref())?;
    let mut record = record;
    if let Some(sent) = published(program, options, record.as_deref_mut())? {
        return Ok(sent);
    }
    let mut lines = Lines::new(program, source, options.making(program))?;
    if let Some(state) = record.as_ref().and_then(|record| record.diffusion(program)) {
        lines.take_up(&state)?;
    }
    let groups = record
        .as_ref()
        .map(|record| Groups::new(record.cut(), job.lines, record.digested()));
    let shared = Shared::new(
        program,
        options,
        job,
        State::new(job.lines, record.as_deref()),
        control.cleanup.clone(),
    );
    std::thread::scope(|scope| {
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let inner = &shared;
        let maker = thread("relief-make").spawn_scoped(scope, move || {
            let _watch = EndOnPanic(inner);
            if let Err(error) = make::make(inner, lines, groups, &control.cancel) {
                inner.fail(error);
            }
        });
        let linked = thread("relief-link").spawn_scoped(scope, move || {
            let _watch = EndOnPanic(inner);
            if options.raw || matches!(options.address, Address::File(_)) {
                pour::pour(inner);
            } else {
                link::link(inner);
            }
        });
        for failed in [maker.as_ref().err(), linked.as_ref().err()]
            .into_iter()
            .flatten()
        {
            shared.fail(Error::Thread(failed.to_string()));
        }
        // A panic of the caller's must not leave the others waiting.
        let _watch = EndOnPanic(&shared);
        let outcome = watch::watch(&shared, record, control, observe);
        for thread in [maker, linked].into_iter().flatten() {
            // A panic has ended the job before.
            let _ = thread.join();
        }
        outcome
    })
}

/// Ends the job where its thread panics, so that the others do not wait for it.
struct EndOnPanic<'a, 'b>(&'a Shared<'b>);

impl Drop for EndOnPanic<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(Error::Thread("it ended with a panic".to_owned()));
        }
    }
}

/// What was sent of a job whose file has its name, though its record does not say so: the sender was ended between the
/// two. The file is compared with the record before it is believed.
fn published(
    program: &Program,
    options: &SenderOptions,
    record: Option<&mut Record>,
) -> Result<Option<Sent>, Error> {
    let (Some(record), Address::File(path)) = (record, &options.address) else {
        return Ok(None);
    };
    let manifest = record.manifest();
    let lines = manifest.lines;
    let whole = manifest.file_bytes.filter(|_| record.executed() == lines);
    if !whole.is_some_and(|bytes| file::is_published(path, bytes, options.raw)) {
        return Ok(None);
    }
    let verified = crate::verify(manifest, program, std::slice::from_ref(path))?;
    if verified.compared < lines {
        return Ok(None);
    }
    record.complete()?;
    Ok(Some(Sent {
        executed: lines,
        before: lines,
        bytes: 0,
        underruns: 0,
        connections: 0,
    }))
}

/// Whether such lines can be sent in such a way.
fn check(
    program: &Program,
    job: &Job,
    options: &SenderOptions,
    record: Option<&Record>,
) -> Result<(), Error> {
    let line = program.encoding().most();
    let frame = if options.raw {
        u64::MAX
    } else {
        frame::MAX_LINES as u64
    };
    let table = if job.run_length && !options.raw { 4 } else { 0 };
    if line + table > frame {
        return Err(Error::Line {
            bytes: line,
            limit: frame,
            place: "a frame",
        });
    }
    if ahead::held_by(1, line) > options.look_ahead {
        return Err(Error::Line {
            bytes: line,
            limit: options.look_ahead,
            place: "the look-ahead",
        });
    }
    let file = matches!(options.address, Address::File(_));
    if options.go_on && (options.raw || file) {
        return Err(Error::Option {
            option: "continue",
            problem: "nobody answers who could have begun the job".to_owned(),
        });
    }
    if options.raw && record.is_some() && !file {
        return Err(Error::Option {
            option: "raw",
            problem: "nobody says what was executed of plain lines, so a job of them has no manifest; \
                      a file can have one"
                .to_owned(),
        });
    }
    Ok(())
}
