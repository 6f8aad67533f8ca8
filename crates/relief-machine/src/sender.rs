//! The sender: makes lines ahead, sends them as the machine has room, keeps them until they are executed.
//!
//! One thread makes lines into the look-ahead; one holds the connection, and makes a new one when it is lost; one
//! hears what the machine says; the caller's writes the manifest and tells how it goes. Lines stay in the look-ahead
//! until the machine has executed them, so that a new connection goes on wherever the machine says, without
//! computing anything again.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use relief_engine::Cancel;
use relief_scan::{Block, Encoding, Lines, Program, Windows};

use crate::Error;
use crate::address::Address;
use crate::bands::Groups;
use crate::frame::{self, Header, Kind};
use crate::message::{Accept, Activity, Hello, Job, Message, Refusal, Status, VERSION, Welcome};
use crate::receiver::{expect, send as send_message};
use crate::record::Record;
use crate::secret::{Secret, Side, random};
use crate::tls::Pin;
use crate::transport::{Closer, Connection, connect};

/// The most payload of a frame: large enough for its cost to vanish, small enough for a slow machine.
const FRAME: usize = 1 << 20;

/// The time between two looks at switches that others throw.
const TICK: Duration = Duration::from_millis(50);

/// How to send.
#[derive(Clone, Debug)]
pub struct SenderOptions {
    /// The machine.
    pub address: Address,
    /// The fingerprint of its certificate, for TLS.
    pub pin: Option<Pin>,
    /// The secret shared with it.
    pub secret: Option<Secret>,
    /// Bytes of lines that are made ahead of their execution.
    pub look_ahead: u64,
    /// Bytes that must be made before the first line is sent; at most the look-ahead.
    pub high_water: u64,
    /// Bytes for making lines.
    pub making: u64,
    /// The silence after which a connection counts as lost.
    pub silence: Duration,
    /// How long a lost connection is tried again.
    pub patience: Duration,
    /// The time between two writes of the manifest.
    pub record_every: Duration,
}

impl SenderOptions {
    /// What suits most machines: 60 MB ahead.
    #[must_use]
    pub const fn new(address: Address) -> Self {
        Self {
            address,
            pin: None,
            secret: None,
            look_ahead: 60_000_000,
            high_water: 45_000_000,
            making: 24 << 20,
            silence: Duration::from_secs(10),
            patience: Duration::from_secs(60),
            record_every: Duration::from_secs(1),
        }
    }

    /// The most bytes that sending holds, for the plan.
    #[must_use]
    pub const fn memory(&self) -> u64 {
        self.look_ahead.saturating_add(self.making)
    }
}

/// Pauses and stops a job from outside.
#[derive(Clone, Debug, Default)]
pub struct Control {
    paused: Arc<AtomicBool>,
    cancel: Cancel,
}

impl Control {
    /// A job that runs; `cancel` aborts it.
    #[must_use]
    pub fn new(cancel: &Cancel) -> Self {
        Self {
            paused: Arc::default(),
            cancel: cancel.clone(),
        }
    }

    /// Has the machine stop after the line it executes, or go on.
    pub fn pause(&self, paused: bool) {
        self.paused.store(paused, Ordering::Release);
    }

    /// Drops what has not been executed and ends the job; it can be taken up again.
    pub fn abort(&self) {
        self.cancel.cancel();
    }
}

/// How a job goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Whether lines are being sent; before, the look-ahead fills.
    pub started: bool,
    /// Whether there is a connection.
    pub connected: bool,
    /// Connections so far.
    pub connections: u32,
    /// Lines executed: all before this one.
    pub executed: u64,
    /// Lines that the machine has.
    pub received: u64,
    /// All lines.
    pub lines: u64,
    /// Bytes of lines made and not executed.
    pub ahead: u64,
    /// Bytes of lines made.
    pub made: u64,
    /// The time it took to make them.
    pub making: Duration,
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
}

/// What was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Lines executed: all.
    pub executed: u64,
    /// How often the machine had nothing to execute.
    pub underruns: u32,
    /// Connections made.
    pub connections: u32,
}

struct Shared<'a> {
    program: &'a Program,
    options: &'a SenderOptions,
    job: Job,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Lines made and not executed, in order without a gap.
    blocks: VecDeque<Arc<Block>>,
    ahead: u64,
    spare: Vec<Block>,
    /// The line after the last one made.
    made: u64,
    /// Where making begins, once the machine has said so; then whenever the machine has gone back.
    begin: Option<u64>,
    /// Lines before this one need not be kept.
    keep: u64,
    /// Counts beginnings.
    epoch: u64,
    made_bytes: u64,
    making: Duration,
    /// Whether the look-ahead takes no more.
    full: bool,
    groups: Vec<(u64, blake3::Hash)>,
    /// Lines that have a digest, where a record wants them: all before this one.
    digested: u64,

    started: bool,
    connections: u32,
    connected: bool,
    /// The next line to send, and bytes sent and allowed on this connection.
    next: u64,
    sent: u64,
    credit: u64,
    largest: usize,
    sent_bytes: u64,

    executed: u64,
    received: u64,
    underruns: u32,
    activity: Activity,

    paused: bool,
    abort: bool,
    outcome: Option<Result<(), Error>>,
}

impl Shared<'_> {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'b>(&self, state: MutexGuard<'b, State>, time: Duration) -> MutexGuard<'b, State> {
        self.changed
            .wait_timeout(state, time)
            .unwrap_or_else(PoisonError::into_inner)
            .0
    }

    fn end(&self, outcome: Result<(), Error>) {
        let mut state = self.lock();
        state.outcome.get_or_insert(outcome);
        drop(state);
        self.changed.notify_all();
    }

    fn progress(&self, state: &State, start: Instant) -> Progress {
        Progress {
            started: state.started,
            connected: state.connected,
            connections: state.connections,
            executed: state.executed,
            received: state.received,
            lines: self.job.lines,
            ahead: state.ahead,
            made: state.made_bytes,
            making: state.making,
            sent: state.sent_bytes,
            underruns: state.underruns,
            activity: state.activity,
            elapsed: start.elapsed(),
        }
    }
}

/// Sends a job to its end. `observe` is told whenever something has changed, but not more often than every few
/// milliseconds; the first time with `started` false and lines made is the moment before the start.
///
/// # Errors
/// Where the machine refuses the job, the connection is lost for good, lines cannot be made, the record cannot be
/// written, or the job is aborted ([`Error::Stopped`]).
pub fn send(
    program: &Program,
    source: &dyn Windows,
    job: Job,
    options: &SenderOptions,
    record: Option<&mut Record>,
    control: &Control,
    observe: &mut dyn FnMut(&Progress),
) -> Result<Sent, Error> {
    if let Address::File(_) = options.address {
        let problem = "a file acknowledges nothing; stream to a receiver that writes it".to_owned();
        return Err(Error::Option {
            option: "address",
            problem,
        });
    }
    let line = program.encoding().most() + if job.run_length { 4 } else { 0 };
    let limit = FRAME.max(frame::MAX_LINES) as u64;
    if line > limit || line > options.look_ahead {
        return Err(Error::Line {
            bytes: line,
            limit: limit.min(options.look_ahead),
        });
    }
    let lines = Lines::new(program, source, options.making)?;
    let executed = record.as_ref().map_or(0, |record| record.executed());
    let digested = record.as_ref().map_or(job.lines, |record| record.digested());
    let groups = record
        .as_ref()
        .map(|record| Groups::new(record.cut(), job.lines, record.digested()));
    let shared = Shared {
        program,
        options,
        job,
        state: Mutex::new(State::new(executed, digested)),
        changed: Condvar::new(),
    };
    std::thread::scope(|scope| {
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let failed = |error: io::Error| Error::Thread(error.to_string());
        let inner = &shared;
        let maker = thread("relief-make")
            .spawn_scoped(scope, move || {
                if let Err(error) = make(inner, lines, groups, &control.cancel) {
                    inner.end(Err(error));
                }
            })
            .map_err(failed)?;
        let linked = thread("relief-link")
            .spawn_scoped(scope, move || link(inner))
            .map_err(failed);
        let outcome = match linked {
            Ok(linked) => {
                let outcome = watch(&shared, record, control, observe);
                let _ = linked.join();
                outcome
            }
            Err(error) => {
                shared.end(Ok(()));
                Err(error)
            }
        };
        maker
            .join()
            .map_err(|_| Error::Thread("making lines ended with a panic".to_owned()))?;
        outcome
    })
}

impl State {
    const fn new(executed: u64, digested: u64) -> Self {
        Self {
            blocks: VecDeque::new(),
            ahead: 0,
            spare: Vec::new(),
            made: 0,
            begin: None,
            keep: 0,
            epoch: 0,
            made_bytes: 0,
            making: Duration::ZERO,
            full: false,
            groups: Vec::new(),
            digested,
            started: false,
            connections: 0,
            connected: false,
            next: 0,
            sent: 0,
            credit: 0,
            largest: 0,
            sent_bytes: 0,
            executed,
            received: executed,
            underruns: 0,
            activity: Activity::Waiting,
            paused: false,
            abort: false,
            outcome: None,
        }
    }

    /// Whether all lines are executed, and have the digests that a record wants.
    fn is_complete(&self, lines: u64) -> bool {
        self.activity == Activity::Done && self.executed == lines && self.digested == lines
    }

    /// Lets go of lines that are executed.
    fn release(&mut self) {
        while let Some(block) = self.blocks.front() {
            if block.first + block.lines() > self.executed {
                return;
            }
            self.ahead -= block.bytes.len() as u64;
            if let Some(block) = self
                .blocks
                .pop_front()
                .and_then(|block| Arc::try_unwrap(block).ok())
                && self.spare.len() < 4
            {
                self.spare.push(block);
            }
        }
    }
}

/// The caller's thread: starts, records, tells.
fn watch(
    shared: &Shared<'_>,
    mut record: Option<&mut Record>,
    control: &Control,
    observe: &mut dyn FnMut(&Progress),
) -> Result<Sent, Error> {
    let start = Instant::now();
    let mut recorded = Instant::now();
    let mut last = None;
    let outcome = loop {
        let mut state = shared.lock();
        let progress = shared.progress(&state, start);
        if let Some(outcome) = state.outcome.take() {
            // The others see that it is over.
            state.outcome = Some(Ok(()));
            break outcome;
        }
        let ready = state.begin.is_none()
            && state.epoch > 0
            && (state.ahead >= shared.options.high_water || state.full || state.made == shared.job.lines);
        let starting = !state.started && ready;
        let (executed, groups) = (state.executed, std::mem::take(&mut state.groups));
        let paused = control.paused.load(Ordering::Acquire);
        let stop = control.cancel.is_cancelled() && !state.abort;
        if paused != state.paused || stop {
            state.paused = paused;
            state.abort |= stop;
            shared.changed.notify_all();
        }
        drop(state);
        if let Some(record) = record.as_deref_mut() {
            record.groups(&groups);
            if recorded.elapsed() >= shared.options.record_every {
                recorded = Instant::now();
                if let Err(error) = record.write(executed) {
                    // A job that cannot be recorded is stopped, so that it can be taken up where it stood.
                    shared.lock().abort = true;
                    shared.end(Err(error));
                    continue;
                }
            }
        }
        if last != Some(progress) {
            observe(&progress);
            last = Some(progress);
        }
        let mut state = shared.lock();
        if starting {
            state.started = true;
            shared.changed.notify_all();
        }
        if state.outcome.is_none() {
            drop(shared.wait(state, TICK));
        }
    };
    shared.changed.notify_all();
    let mut state = shared.lock();
    let (executed, groups) = (state.executed, std::mem::take(&mut state.groups));
    let progress = shared.progress(&state, start);
    drop(state);
    if let Some(record) = record {
        record.groups(&groups);
        record.write(executed)?;
    }
    outcome?;
    observe(&progress);
    Ok(Sent {
        executed,
        underruns: progress.underruns,
        connections: progress.connections,
    })
}

/// Makes lines into the look-ahead.
fn make(
    shared: &Shared<'_>,
    mut lines: Lines<'_>,
    mut groups: Option<Groups>,
    cancel: &Cancel,
) -> Result<(), Error> {
    let total = shared.job.lines;
    let line_bytes = shared.program.encoding().most().max(1);
    let step = (shared.options.look_ahead / 4 / line_bytes).clamp(1, lines.most());
    let estimate = step.saturating_mul(line_bytes);
    let (mut line, mut epoch) = (total, 0);
    let mut done = Vec::new();
    loop {
        let mut state = shared.lock();
        let mut block = loop {
            if state.outcome.is_some() {
                return Ok(());
            }
            if let Some(begin) = state.begin.take() {
                state.blocks.clear();
                state.ahead = 0;
                state.epoch += 1;
                state.made = state.keep;
                (line, epoch) = (begin, state.epoch);
                shared.changed.notify_all();
            }
            if line < total {
                if state.blocks.is_empty() || state.ahead + estimate <= shared.options.look_ahead {
                    state.full = false;
                    break state.spare.pop().unwrap_or_default();
                }
                if !state.full {
                    state.full = true;
                    shared.changed.notify_all();
                }
            }
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        drop(state);
        let count = step.min(total - line);
        let start = Instant::now();
        match lines.read(line, count, &mut block, cancel) {
            Ok(()) => {}
            // Whoever threw the switch ends the job.
            Err(_) if cancel.is_cancelled() => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        let took = start.elapsed();
        if let Some(groups) = &mut groups {
            groups.take(line, &block.ends, &block.bytes, &mut done);
        }
        line += count;
        let mut state = shared.lock();
        state.making += took;
        state.made_bytes += block.bytes.len() as u64;
        state.groups.append(&mut done);
        if let Some(groups) = &groups {
            state.digested = groups.next();
        }
        if state.is_complete(total) {
            state.outcome.get_or_insert(Ok(()));
        }
        if state.epoch == epoch && state.begin.is_none() && line > state.keep {
            state.ahead += block.bytes.len() as u64;
            state.made = line;
            state.blocks.push_back(Arc::new(block));
            state.release();
        }
        drop(state);
        shared.changed.notify_all();
    }
}

/// Why a connection is over.
enum Ended {
    /// The job is over, one way or the other.
    Over,
    /// It was lost; a new one may do.
    Lost(io::Error),
    /// No connection will do.
    Fatal(Error),
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        Self::Lost(error)
    }
}

/// Holds a connection, again and again.
fn link(shared: &Shared<'_>) {
    let address = shared.options.address.to_string();
    let mut since = Instant::now();
    let mut pause = Duration::from_millis(20);
    loop {
        let before = shared.lock().connections;
        let ended = session(shared);
        let mut state = shared.lock();
        state.connected = false;
        let source = match ended {
            Ended::Over => return,
            Ended::Fatal(error) => {
                drop(state);
                return shared.end(Err(error));
            }
            Ended::Lost(source) => source,
        };
        tracing::info!("the connection to {address} was lost: {source}");
        if state.connections > before {
            since = Instant::now();
            pause = Duration::from_millis(20);
        }
        if state.abort {
            let executed = state.executed;
            drop(state);
            return shared.end(Err(Error::Stopped { executed }));
        }
        if since.elapsed() >= shared.options.patience {
            let error = if state.connections == 0 {
                Error::Connect { address, source }
            } else {
                Error::Lost { address, source }
            };
            drop(state);
            return shared.end(Err(error));
        }
        let until = Instant::now() + pause;
        pause = (pause * 2).min(Duration::from_secs(1));
        while state.outcome.is_none() && !state.abort && Instant::now() < until {
            state = shared.wait(state, until.saturating_duration_since(Instant::now()));
        }
        if state.outcome.is_some() {
            return;
        }
    }
}

/// One connection.
fn session(shared: &Shared<'_>) -> Ended {
    let connected = connect(
        &shared.options.address,
        shared.options.pin.as_ref(),
        shared.options.silence,
    );
    let mut connection = match connected {
        Ok(connection) => connection,
        Err(Error::Connect { source, .. }) if source.kind() != io::ErrorKind::InvalidData => {
            return Ended::Lost(source);
        }
        Err(error) => return Ended::Fatal(error),
    };
    let silence = match introduce(shared, &mut connection) {
        Ok(accept) => match take_up(shared, &accept) {
            Ok(()) => Duration::from_millis(u64::from(accept.silence.max(4))).min(shared.options.silence),
            Err(ended) => return ended,
        },
        Err(ended) => return ended,
    };
    let Connection {
        reader,
        writer,
        closer,
    } = connection;
    let heard = Mutex::new(None);
    let lost = &heard;
    let written = std::thread::scope(|scope| {
        let hearer = std::thread::Builder::new()
            .name("relief-hear".to_owned())
            .spawn_scoped(scope, move || {
                let ended = hear(shared, reader);
                *lost.lock().unwrap_or_else(PoisonError::into_inner) = Some(ended);
                shared.changed.notify_all();
            });
        let hearer = match hearer {
            Ok(hearer) => hearer,
            Err(error) => return Ended::Fatal(Error::Thread(error.to_string())),
        };
        let written = talk(shared, writer, silence, lost);
        hang_up(shared, &closer, &written);
        let _ = hearer.join();
        written
    });
    match heard.into_inner().unwrap_or_else(PoisonError::into_inner) {
        // The machine's own words explain more than a broken pipe.
        Some(Ended::Fatal(error)) => Ended::Fatal(error),
        Some(heard @ Ended::Lost(_)) if matches!(written, Ended::Lost(_)) => heard,
        _ => written,
    }
}

/// Gives the machine a moment to say why it closes the connection before it is cut.
fn hang_up(shared: &Shared<'_>, closer: &Closer, written: &Ended) {
    if matches!(written, Ended::Lost(_)) && shared.lock().outcome.is_none() {
        let state = shared.lock();
        drop(shared.wait(state, Duration::from_millis(20)));
    }
    closer.close();
}

fn refused(shared: &Shared<'_>, refusal: Refusal) -> Ended {
    if refusal.code.is_passing() {
        return Ended::Lost(io::Error::other(refusal.text));
    }
    let address = shared.options.address.to_string();
    Ended::Fatal(Error::Refused {
        address,
        code: refusal.code,
        text: refusal.text,
    })
}

/// Hello, welcome, proof, job, accept.
fn introduce(shared: &Shared<'_>, connection: &mut Connection) -> Result<Accept, Ended> {
    let (reader, writer): (&mut dyn Read, &mut dyn Write) =
        (connection.reader.as_mut(), connection.writer.as_mut());
    let nonce = random::<32>().map_err(Ended::Fatal)?;
    send_message(
        writer,
        &Hello {
            version: VERSION,
            nonce,
        },
    )?;
    let welcome: Welcome = expect(reader)?.map_err(|refusal| refused(shared, refusal))?;
    let problem = match (&shared.options.secret, welcome.secret) {
        (None, false) => None,
        (Some(secret), true) if secret.knows(Side::Receiver, &nonce, &welcome.nonce, &welcome.proof) => {
            let proof = secret.proof(Side::Sender, &nonce, &welcome.nonce);
            frame::write(writer, &Header::new(Kind::Proof, 0, 0, &proof), &[&proof])?;
            None
        }
        (Some(_), true) => Some("the machine does not know the secret"),
        (Some(_), false) => Some("the machine asks for no secret, though one was given for it"),
        (None, true) => Some("the machine asks for a secret; --secret names a file that holds it"),
    };
    if let Some(problem) = problem {
        return Err(Ended::Fatal(Error::Option {
            option: "secret",
            problem: problem.to_owned(),
        }));
    }
    let from = shared.lock().executed;
    send_message(writer, &Job { from, ..shared.job })?;
    expect(reader)?.map_err(|refusal| refused(shared, refusal))
}

/// Goes on where the machine says.
fn take_up(shared: &Shared<'_>, accept: &Accept) -> Result<(), Ended> {
    let mut state = shared.lock();
    let (next, total) = (accept.next, shared.job.lines);
    let backwards = next < state.executed || accept.executed < state.executed;
    let unsent = state.connections > 0 && next > state.made;
    if backwards || unsent || next > total {
        return Err(Ended::Fatal(Error::Backwards {
            next,
            executed: state.executed,
        }));
    }
    state.executed = accept.executed;
    state.received = next;
    (state.next, state.sent, state.credit) = (next, 0, accept.credit);
    state.largest = (accept.largest as usize).min(FRAME.max(shared.job.line_bytes as usize + 4));
    // Lines from the first one not executed stay at hand: should the machine die with what it has received, they are
    // sent again.
    let kept = state.connections > 0
        && state
            .blocks
            .front()
            .map_or(next == state.made, |block| block.first <= next);
    if !kept {
        state.keep = next;
        // Lines that have no digest yet are made again for it, the last lines of one group at most.
        state.begin = Some(next.min(state.digested));
        state.made = next;
    }
    state.release();
    state.connections += 1;
    state.connected = true;
    drop(state);
    shared.changed.notify_all();
    Ok(())
}

/// Hears what the machine says until it says no more.
fn hear(shared: &Shared<'_>, mut reader: Box<dyn Read + Send>) -> Ended {
    let mut payload = Vec::new();
    loop {
        let header = match frame::read(&mut reader, &mut payload) {
            Ok(Some(header)) => header,
            Ok(None) => {
                return Ended::Lost(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the machine closed the connection",
                ));
            }
            Err(error) => return Ended::Lost(error),
        };
        let malformed = || {
            Ended::Lost(io::Error::new(
                io::ErrorKind::InvalidData,
                "the machine's words make no sense",
            ))
        };
        match header.kind {
            Kind::Error => {
                let Some(refusal) = Refusal::decode(&payload) else {
                    return malformed();
                };
                return refused(shared, refusal);
            }
            Kind::Status => {
                let Some(status) = Status::decode(&payload) else {
                    return malformed();
                };
                let mut state = shared.lock();
                if status.received > state.next.max(state.received) || status.executed < state.executed {
                    let (next, executed) = (status.executed, state.executed);
                    return Ended::Fatal(Error::Backwards { next, executed });
                }
                state.executed = status.executed;
                state.received = status.received;
                state.credit = status.credit;
                state.underruns = status.underruns;
                state.activity = status.activity;
                state.release();
                let over = match status.activity {
                    Activity::Done if state.is_complete(shared.job.lines) => Some(Ok(())),
                    Activity::Aborted if state.abort => Some(Err(Error::Stopped {
                        executed: status.executed,
                    })),
                    _ => None,
                };
                drop(state);
                match over {
                    Some(outcome) => shared.end(outcome),
                    None => shared.changed.notify_all(),
                }
            }
            _ => return malformed(),
        }
    }
}

/// What to write next.
enum Next {
    Lines(Arc<Block>, usize, usize),
    Control(Kind, u64),
}

/// Writes until the job or the connection is over.
fn talk(
    shared: &Shared<'_>,
    mut writer: Box<dyn Write + Send>,
    silence: Duration,
    lost: &Mutex<Option<Ended>>,
) -> Ended {
    let pace = silence / 4;
    let mut due = Instant::now() + pace;
    let (mut ended, mut paused, mut aborted) = (false, false, None::<Instant>);
    loop {
        let mut state = shared.lock();
        let next = loop {
            if lost.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
                return Ended::Lost(io::ErrorKind::ConnectionAborted.into());
            }
            if state.outcome.is_some() && !state.abort {
                return Ended::Over;
            }
            if state.abort {
                match aborted {
                    None => {
                        aborted = Some(Instant::now());
                        break Next::Control(Kind::Abort, 0);
                    }
                    Some(since) if since.elapsed() > Duration::from_secs(1) || state.outcome.is_some() => {
                        let executed = state.executed;
                        state.outcome.get_or_insert(Err(Error::Stopped { executed }));
                        drop(state);
                        shared.changed.notify_all();
                        return Ended::Over;
                    }
                    Some(_) => {}
                }
            } else if paused != state.paused {
                paused = state.paused;
                break Next::Control(if paused { Kind::Pause } else { Kind::Continue }, 0);
            } else if let Some(next) = ready(shared, &mut state) {
                break next;
            } else if state.next == shared.job.lines && !ended {
                ended = true;
                break Next::Control(Kind::End, shared.job.lines);
            }
            let now = Instant::now();
            if now >= due {
                break Next::Control(Kind::Ping, 0);
            }
            state = shared.wait(state, (due - now).min(TICK * 4));
        };
        drop(state);
        due = Instant::now() + pace;
        let written = match next {
            Next::Control(kind, sequence) => {
                frame::write(writer.as_mut(), &Header::new(kind, sequence, 0, &[]), &[])
            }
            Next::Lines(block, from, to) => {
                write_lines(writer.as_mut(), shared.job.run_length, &block, from, to)
            }
        };
        if let Err(error) = written {
            return Ended::Lost(error);
        }
    }
}

/// The lines that may be sent now, counted as sent.
fn ready(shared: &Shared<'_>, state: &mut State) -> Option<Next> {
    if !state.started || state.next >= state.made {
        return None;
    }
    let next = state.next;
    let index = state
        .blocks
        .partition_point(|block| block.first + block.lines() <= next);
    let block = state.blocks.get(index)?.clone();
    let room = usize::try_from(state.credit.saturating_sub(state.sent))
        .unwrap_or(usize::MAX)
        .min(state.largest);
    let from = usize::try_from(next.checked_sub(block.first)?).ok()?;
    let start = if from == 0 { 0 } else { block.ends[from - 1] };
    let table = if shared.job.run_length { 4 } else { 0 };
    let to = match shared.program.encoding() {
        Encoding::Fixed(bytes) => (from + room / (bytes as usize).max(1)).min(block.ends.len()),
        Encoding::Runs(_) => {
            let fits = block.ends[from..]
                .iter()
                .enumerate()
                .take_while(|(n, end)| **end - start + (n + 1) * table <= room);
            from + fits.count()
        }
    };
    if to == from {
        return None;
    }
    let bytes = (block.ends[to - 1] - start + (to - from) * table) as u64;
    state.next = block.first + to as u64;
    state.sent += bytes;
    state.sent_bytes += bytes;
    Some(Next::Lines(block, from, to))
}

/// Writes lines of a block as one frame.
pub(crate) fn write_lines(
    writer: &mut (impl Write + ?Sized),
    run_length: bool,
    block: &Block,
    from: usize,
    to: usize,
) -> io::Result<()> {
    let start = if from == 0 { 0 } else { block.ends[from - 1] };
    let bytes = &block.bytes[start..block.ends[to - 1]];
    let mut table = Vec::new();
    if run_length {
        let mut before = start;
        for &end in &block.ends[from..to] {
            table.extend_from_slice(&((end - before) as u32).to_le_bytes());
            before = end;
        }
    }
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&table), bytes);
    let length = table.len() + bytes.len();
    let header = Header::sized(
        Kind::Lines,
        block.first + from as u64,
        (to - from) as u32,
        length,
        checksum,
    );
    frame::write(writer, &header, &[&table, bytes])
}
