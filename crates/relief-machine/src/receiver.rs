//! The reference receiver: takes a job as a machine would, and emulates one.
//!
//! Three threads work on a job: the connection's takes frames off the wire into the buffer, the machine's executes
//! what is in the buffer, line by line if it has a pace, and a third tells the sender how far both are. The buffer
//! outlives a connection: lines that were received are executed whether the sender is there or not.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::Error;
use crate::address::Address;
use crate::frame::{self, FrameError, Header, Kind};
use crate::journal::{self, Journal};
use crate::message::{Accept, Activity, Code, Hello, Job, Message, Refusal, Status, VERSION, Welcome, lines};
use crate::secret::{Secret, Side, random};
use crate::tls::Acceptor;
use crate::transport::{Closer, Connection, Listener};

/// The most connections at once; more are cut.
const MOST_CONNECTIONS: usize = 16;

/// How fast a machine executes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Pace {
    /// As fast as lines come.
    #[default]
    Free,
    /// So many bytes a second.
    Bytes(f64),
    /// So many lines a second.
    Lines(f64),
}

/// The machine that is emulated.
#[derive(Clone, Debug)]
pub struct Machine {
    /// How fast it executes.
    pub pace: Pace,
    /// Up to so much is added to the time of each line, drawn evenly.
    pub jitter: Duration,
    /// Every so many lines it stands still for so long.
    pub stall: Option<(u64, Duration)>,
    /// Bytes of its buffer.
    pub buffer: u64,
    /// It begins to execute when so many bytes are buffered.
    pub prefill: u64,
    /// The most bytes of a frame of lines.
    pub largest: u32,
    /// It cuts the connection whenever it has received so many more lines.
    pub drop_after: Option<u64>,
    /// It refuses the first so many jobs with a fault.
    pub refuse: u32,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            pace: Pace::Free,
            jitter: Duration::ZERO,
            stall: None,
            buffer: 16 << 20,
            prefill: 0,
            largest: 1 << 20,
            drop_after: None,
            refuse: 0,
        }
    }
}

/// How to receive.
#[derive(Clone, Debug)]
pub struct ReceiverOptions {
    /// The machine.
    pub machine: Machine,
    /// Where executed lines go; nowhere where `None`.
    pub output: Option<PathBuf>,
    /// What senders must prove to know.
    pub secret: Option<Secret>,
    /// Certificate and key, for TLS.
    pub tls: Option<Acceptor>,
    /// The silence after which a connection counts as lost.
    pub silence: Duration,
}

impl Default for ReceiverOptions {
    fn default() -> Self {
        Self {
            machine: Machine::default(),
            output: None,
            secret: None,
            tls: None,
            silence: Duration::from_secs(10),
        }
    }
}

/// What a receiver has done when its job is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Lines executed: all before this one.
    pub executed: u64,
    /// How often the machine had nothing to execute.
    pub underruns: u32,
}

/// Waits for a sender and executes one job.
pub struct Receiver {
    listener: Arc<Listener>,
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Receiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Receiver")
            .field("address", self.listener.address())
            .finish_non_exhaustive()
    }
}

struct Shared {
    options: ReceiverOptions,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    work: Option<Work>,
    session: Option<Session>,
    sessions: u64,
    connections: usize,
    refused: u32,
    /// The first failure of the machine.
    fault: Option<String>,
    /// The receiver is over.
    over: bool,
}

/// The sender that drives the machine.
struct Session {
    number: u64,
    token: [u8; 16],
    closer: Closer,
    /// Payload bytes of lines received on this connection.
    bytes: u64,
}

/// The job.
struct Work {
    job: Job,
    executed: u64,
    received: u64,
    buffered: u64,
    queue: VecDeque<Piece>,
    spare: Vec<Vec<u8>>,
    underruns: u32,
    activity: Activity,
    paused: bool,
    aborted: bool,
    /// Whether a sender has been told that all is done.
    told: bool,
    /// Lines and bytes that are being executed and can no longer be dropped.
    underway: (u64, u64),
    /// Counts aborts: what was buffered before one is never executed.
    generation: u64,
    /// Counts everything worth telling the sender.
    changes: u64,
}

/// The payload of a frame.
struct Piece {
    payload: Vec<u8>,
    /// Where the lines begin in it.
    start: usize,
    ends: Vec<usize>,
    generation: u64,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for<'a>(&self, state: MutexGuard<'a, State>, time: Duration) -> MutexGuard<'a, State> {
        self.changed
            .wait_timeout(state, time)
            .unwrap_or_else(PoisonError::into_inner)
            .0
    }
}

impl Receiver {
    /// Listens.
    ///
    /// # Errors
    /// Where the address cannot be had.
    pub fn bind(address: &Address, options: ReceiverOptions) -> Result<Self, Error> {
        if options.machine.buffer == 0 || options.machine.largest == 0 {
            return Err(Error::Option {
                option: "buffer",
                problem: "a machine without a buffer takes no line".to_owned(),
            });
        }
        let listener = Listener::bind(address, options.tls.clone(), options.silence)?;
        let shared = Shared {
            options,
            state: Mutex::default(),
            changed: Condvar::new(),
        };
        Ok(Self {
            listener: Arc::new(listener),
            shared: Arc::new(shared),
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> &Address {
        self.listener.address()
    }

    /// Ends [`run`](Self::run), from any thread; what is executed stays recorded.
    pub fn stop(&self) {
        self.shared.lock().over = true;
        self.shared.changed.notify_all();
    }

    /// Takes connections until one job is executed to its end and its sender has gone.
    ///
    /// # Errors
    /// Where what was executed cannot be recorded, or [`Error::Stopped`].
    pub fn run(&self) -> Result<Received, Error> {
        let (listener, shared) = (self.listener.clone(), self.shared.clone());
        let acceptor = spawn("relief-accept", move || accept(&listener, &shared))?;
        let mut state = self.shared.lock();
        let outcome = loop {
            if state.over {
                let executed = state.work.as_ref().map_or(0, |work| work.executed);
                break Err(Error::Stopped { executed });
            }
            if let Some(fault) = &state.fault {
                break Err(Error::Machine {
                    problem: fault.clone(),
                });
            }
            if let Some(work) = &state.work
                && work.told
                && state.session.is_none()
            {
                break Ok(Received {
                    executed: work.executed,
                    underruns: work.underruns,
                });
            }
            state = self.shared.wait(state);
        };
        // A sender that is told of a fault closes the connection; it gets a moment for that.
        let patience = Instant::now() + self.shared.options.silence.min(Duration::from_secs(1));
        while outcome.is_err() && !state.over && state.session.is_some() && Instant::now() < patience {
            state = self
                .shared
                .wait_for(state, patience.saturating_duration_since(Instant::now()));
        }
        state.over = true;
        if let Some(session) = &state.session {
            session.closer.close();
        }
        drop(state);
        self.shared.changed.notify_all();
        self.listener.wake();
        let _ = acceptor.join();
        outcome
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<std::thread::JoinHandle<()>, Error> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map_err(|error| Error::Thread(error.to_string()))
}

fn accept(listener: &Arc<Listener>, shared: &Arc<Shared>) {
    loop {
        let socket = listener.accept();
        let mut state = shared.lock();
        if state.over {
            return;
        }
        let Ok(socket) = socket else { continue };
        if state.connections >= MOST_CONNECTIONS {
            continue;
        }
        state.connections += 1;
        drop(state);
        let (listener, inner) = (listener.clone(), shared.clone());
        let served = spawn("relief-connection", move || {
            if let Ok(connection) = listener.secure(socket) {
                let closer = connection.closer.clone();
                if let Err(error) = serve(connection, &inner) {
                    tracing::info!("a connection ended: {error}");
                }
                closer.close();
            }
            inner.lock().connections -= 1;
            inner.changed.notify_all();
        });
        if served.is_err() {
            shared.lock().connections -= 1;
        }
    }
}

/// Sends a message.
pub(crate) fn send<M: Message>(writer: &mut dyn Write, message: &M) -> io::Result<()> {
    let payload = message.encode();
    frame::write(writer, &Header::new(M::KIND, 0, 0, &payload), &[&payload])
}

/// Reads the message that must come next; an error of the other side is returned as one.
pub(crate) fn expect<M: Message>(reader: &mut dyn Read) -> io::Result<Result<M, Refusal>> {
    let mut payload = Vec::new();
    let header = frame::read(&mut { reader }, &mut payload)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    if header.kind == Kind::Error
        && let Some(refusal) = Refusal::decode(&payload)
    {
        return Ok(Err(refusal));
    }
    let message = if header.kind == M::KIND {
        M::decode(&payload)
    } else {
        None
    };
    let wrong = || {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{:?} came where {:?} was expected", header.kind, M::KIND),
        )
    };
    message.map(Ok).ok_or_else(wrong)
}

fn refuse(writer: &mut dyn Write, code: Code, text: impl Into<String>) -> io::Result<()> {
    let text = text.into();
    send(
        writer,
        &Refusal {
            code,
            text: text.clone(),
        },
    )?;
    Err(io::Error::new(io::ErrorKind::ConnectionAborted, text))
}

fn refuse_error(writer: &mut dyn Write, error: &io::Error) -> io::Result<()> {
    let frame = error
        .get_ref()
        .and_then(|cause| cause.downcast_ref::<FrameError>());
    let code = match (frame, error.kind()) {
        (Some(FrameError::Header { .. } | FrameError::Payload { .. }), _) => Code::Checksum,
        (_, io::ErrorKind::InvalidData) => Code::Malformed,
        (_, io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => Code::Silence,
        _ => return Ok(()),
    };
    send(
        writer,
        &Refusal {
            code,
            text: error.to_string(),
        },
    )
}

/// One connection, from its greeting to its end.
fn serve(connection: Connection, shared: &Arc<Shared>) -> io::Result<()> {
    let Connection {
        mut reader,
        mut writer,
        closer,
    } = connection;
    let greeted = greet(reader.as_mut(), writer.as_mut(), &shared.options);
    let job = match greeted {
        Ok(Ok(job)) => job,
        Ok(Err(refusal)) => return Err(io::Error::other(refusal.text)),
        Err(error) => {
            refuse_error(writer.as_mut(), &error)?;
            return Err(error);
        }
    };
    let number = match admit(&job, closer, shared) {
        Ok(number) => number,
        Err((code, text)) => return refuse(writer.as_mut(), code, text),
    };
    let outcome = drive(reader.as_mut(), writer, number, shared);
    let mut state = shared.lock();
    if state
        .session
        .as_ref()
        .is_some_and(|session| session.number == number)
    {
        state.session = None;
    }
    drop(state);
    shared.changed.notify_all();
    outcome
}

/// Hello, welcome, proof, job.
fn greet(
    reader: &mut dyn Read,
    writer: &mut dyn Write,
    options: &ReceiverOptions,
) -> io::Result<Result<Job, Refusal>> {
    let hello: Hello = match expect(reader)? {
        Ok(hello) => hello,
        Err(refusal) => return Ok(Err(refusal)),
    };
    if hello.version != VERSION {
        let text = format!(
            "this machine speaks version {VERSION}, the sender {}",
            hello.version
        );
        refuse(writer, Code::Version, text)?;
    }
    let nonce = random::<32>().map_err(io::Error::other)?;
    let proof = options.secret.as_ref().map_or([0; 32], |secret| {
        secret.proof(Side::Receiver, &hello.nonce, &nonce)
    });
    send(
        writer,
        &Welcome {
            version: VERSION,
            secret: options.secret.is_some(),
            nonce,
            proof,
        },
    )?;
    if let Some(secret) = &options.secret {
        let mut payload = Vec::new();
        let header = frame::read(&mut { &mut *reader }, &mut payload)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let proof: Option<&[u8; 32]> = payload.first_chunk();
        let known = header.kind == Kind::Proof
            && proof.is_some_and(|proof| secret.knows(Side::Sender, &hello.nonce, &nonce, proof));
        if !known {
            refuse(writer, Code::Unauthorised, "the secret is wrong")?;
        }
    }
    expect(reader)
}

/// Whether the machine takes the job from this connection; the number of the session.
fn admit(job: &Job, closer: Closer, shared: &Arc<Shared>) -> Result<u64, (Code, String)> {
    let mut state = shared.lock();
    let machine = &shared.options.machine;
    if state.refused < machine.refuse {
        state.refused += 1;
        return Err((Code::Fault, "the machine is not ready".to_owned()));
    }
    if let Some(fault) = &state.fault {
        return Err((Code::Storage, fault.clone()));
    }
    // The same sender on a new connection knows that the old one is dead before we do.
    let patience = Instant::now() + shared.options.silence;
    while let Some(session) = &state.session {
        if session.token != job.token {
            return Err((Code::Busy, "another sender drives the machine".to_owned()));
        }
        session.closer.close();
        if Instant::now() >= patience {
            return Err((Code::Busy, "the connection before does not end".to_owned()));
        }
        state = shared.wait_for(state, Duration::from_millis(50));
    }
    if let Some(work) = &state.work {
        if work.job.id != job.id {
            return Err((Code::OtherJob, "the machine has begun another job".to_owned()));
        }
        if work.job.lines != job.lines || work.job.line_bytes != job.line_bytes {
            return Err((Code::Malformed, "the job has other lines than before".to_owned()));
        }
    } else {
        state.work = Some(begin(job, shared)?);
    }
    state.sessions += 1;
    let number = state.sessions;
    state.session = Some(Session {
        number,
        token: job.token,
        closer,
        bytes: 0,
    });
    if let Some(work) = &mut state.work {
        work.aborted = false;
        work.paused = false;
    }
    Ok(number)
}

fn begin(job: &Job, shared: &Arc<Shared>) -> Result<Work, (Code, String)> {
    let machine = &shared.options.machine;
    let frame = u64::from(job.line_bytes) + if job.run_length { 4 } else { 0 };
    let most = machine.buffer.min(u64::from(machine.largest));
    if frame > most {
        return Err((
            Code::TooLarge,
            format!("a line of {frame} bytes; the machine takes {most}"),
        ));
    }
    let output = shared.options.output.as_deref();
    let storage = |error: Error| (Code::Storage, error.to_string());
    if let Some(path) = output
        && journal::holds(path)
            .map_err(storage)?
            .is_some_and(|id| id != job.id)
    {
        return Err((Code::OtherJob, format!("{} holds another job", path.display())));
    }
    let journal = Journal::open(output, &job.id, job.from).map_err(storage)?;
    let executed = journal.lines();
    let inner = shared.clone();
    spawn("relief-machine", move || execute(journal, &inner)).map_err(storage)?;
    let done = executed == job.lines;
    Ok(Work {
        job: *job,
        executed,
        received: executed,
        buffered: 0,
        queue: VecDeque::new(),
        spare: Vec::new(),
        underruns: 0,
        activity: if done { Activity::Done } else { Activity::Waiting },
        paused: false,
        aborted: false,
        told: false,
        underway: (0, 0),
        generation: 0,
        changes: 0,
    })
}

/// What to tell the sender.
fn status(state: &State, buffer: u64) -> Option<Status> {
    let (work, session) = (state.work.as_ref()?, state.session.as_ref()?);
    Some(Status {
        executed: work.executed,
        received: work.received,
        credit: session.bytes + buffer.saturating_sub(work.buffered),
        buffered: work.buffered,
        underruns: work.underruns,
        activity: match work.activity {
            _ if work.aborted => Activity::Aborted,
            Activity::Done => Activity::Done,
            _ if work.paused => Activity::Paused,
            activity => activity,
        },
    })
}

/// Takes frames until the connection ends.
fn drive(
    reader: &mut dyn Read,
    mut writer: Box<dyn Write + Send>,
    number: u64,
    shared: &Arc<Shared>,
) -> io::Result<()> {
    let machine = &shared.options.machine;
    let state = shared.lock();
    let Some(status) = status(&state, machine.buffer) else {
        return Ok(());
    };
    drop(state);
    let accept = Accept {
        executed: status.executed,
        next: status.received,
        credit: status.credit,
        largest: machine.largest.min(frame::MAX_LINES as u32),
        silence: u32::try_from(shared.options.silence.as_millis()).unwrap_or(u32::MAX),
    };
    send(writer.as_mut(), &accept)?;
    std::thread::scope(|scope| {
        let teller = std::thread::Builder::new()
            .name("relief-status".to_owned())
            .spawn_scoped(scope, || tell(writer, number, shared))?;
        let taken = take(reader, number, shared);
        // The teller says why before the connection goes.
        let mut state = shared.lock();
        if let Some(session) = &mut state.session
            && session.number == number
        {
            state.session = None;
        }
        drop(state);
        shared.changed.notify_all();
        let writer = teller
            .join()
            .map_err(|_| io::Error::other("the thread that tells the status failed"))?;
        if let (Err(Ended::Refuse(code, text)), Some(mut writer)) = (&taken, writer) {
            send(
                writer.as_mut(),
                &Refusal {
                    code: *code,
                    text: text.clone(),
                },
            )?;
        }
        match taken {
            Ok(()) => Ok(()),
            Err(Ended::Refuse(_, text)) => Err(io::Error::other(text)),
            Err(Ended::Io(error)) => Err(error),
        }
    })
}

enum Ended {
    Io(io::Error),
    Refuse(Code, String),
}

fn take(reader: &mut dyn Read, number: u64, shared: &Arc<Shared>) -> Result<(), Ended> {
    let mut payload = Vec::new();
    let mut since_cut = 0;
    loop {
        let header = match frame::read(&mut { &mut *reader }, &mut payload) {
            Ok(Some(header)) => header,
            Ok(None) => return Ok(()),
            Err(error) => {
                let frame = error
                    .get_ref()
                    .and_then(|cause| cause.downcast_ref::<FrameError>());
                return Err(match (frame, error.kind()) {
                    (Some(FrameError::Header { .. } | FrameError::Payload { .. }), _) => {
                        Ended::Refuse(Code::Checksum, error.to_string())
                    }
                    (Some(_), _) => Ended::Refuse(Code::Malformed, error.to_string()),
                    (_, io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                        Ended::Refuse(Code::Silence, "nothing was heard for too long".to_owned())
                    }
                    _ => Ended::Io(error),
                });
            }
        };
        let mut state = shared.lock();
        let machine = &shared.options.machine;
        let State {
            work: Some(work),
            session: Some(session),
            ..
        } = &mut *state
        else {
            return Ok(());
        };
        if session.number != number {
            return Ok(());
        }
        match header.kind {
            Kind::Lines => {
                payload = enqueue(&header, payload, work, session, machine.buffer)?;
                since_cut += u64::from(header.count);
                if machine.drop_after.is_some_and(|lines| since_cut >= lines) {
                    session.closer.close();
                    return Err(Ended::Io(io::ErrorKind::ConnectionAborted.into()));
                }
            }
            Kind::End if header.sequence == work.job.lines && work.received == work.job.lines => {}
            Kind::End => {
                let text = format!("the end came after {} of {} lines", work.received, work.job.lines);
                return Err(Ended::Refuse(Code::Sequence, text));
            }
            Kind::Pause => work.paused = true,
            Kind::Continue => work.paused = false,
            Kind::Abort => {
                work.aborted = true;
                work.queue.clear();
                work.generation += 1;
                work.buffered = work.underway.1;
                work.received = work.executed + work.underway.0;
            }
            Kind::Ping => {}
            Kind::Error => return Ok(()),
            _ => {
                return Err(Ended::Refuse(
                    Code::Malformed,
                    format!("{:?} is not for a machine", header.kind),
                ));
            }
        }
        work.changes += 1;
        drop(state);
        shared.changed.notify_all();
    }
}

/// Puts lines into the buffer; gives back memory for the next payload.
fn enqueue(
    header: &Header,
    payload: Vec<u8>,
    work: &mut Work,
    session: &mut Session,
    buffer: u64,
) -> Result<Vec<u8>, Ended> {
    if work.aborted {
        return Ok(payload);
    }
    if header.sequence != work.received {
        let text = format!("line {} came where {} was next", header.sequence, work.received);
        return Err(Ended::Refuse(Code::Sequence, text));
    }
    if work.buffered + payload.len() as u64 > buffer {
        return Err(Ended::Refuse(
            Code::Credit,
            "more came than the credit allows".to_owned(),
        ));
    }
    let fits = u64::from(header.count) <= work.job.lines - work.received;
    let Some((bytes, ends)) = lines(&work.job, header.count, &payload).filter(|_| fits) else {
        return Err(Ended::Refuse(
            Code::Malformed,
            "the lines of a frame do not fit the job".to_owned(),
        ));
    };
    let start = payload.len() - bytes.len();
    work.received += u64::from(header.count);
    work.buffered += payload.len() as u64;
    session.bytes += payload.len() as u64;
    work.queue.push_back(Piece {
        payload,
        start,
        ends,
        generation: work.generation,
    });
    Ok(work.spare.pop().unwrap_or_default())
}

/// Tells the sender how far the machine is until the connection ends; gives the writer back where it still works.
fn tell(
    mut writer: Box<dyn Write + Send>,
    number: u64,
    shared: &Arc<Shared>,
) -> Option<Box<dyn Write + Send>> {
    let pace = shared.options.silence / 4;
    let mut told = u64::MAX;
    loop {
        let mut state = shared.lock();
        let due = Instant::now() + pace;
        let (status, fault) = loop {
            if state
                .session
                .as_ref()
                .is_none_or(|session| session.number != number)
            {
                return Some(writer);
            }
            let changes = state.work.as_ref().map_or(0, |work| work.changes);
            if let Some(fault) = &state.fault {
                break (None, Some(fault.clone()));
            }
            if changes != told || Instant::now() >= due {
                told = changes;
                break (status(&state, shared.options.machine.buffer), None);
            }
            state = shared.wait_for(state, due.saturating_duration_since(Instant::now()));
        };
        drop(state);
        let sent = match (status, fault) {
            (_, Some(text)) => {
                let _ = send(
                    writer.as_mut(),
                    &Refusal {
                        code: Code::Storage,
                        text,
                    },
                );
                None
            }
            (Some(status), None) => send(writer.as_mut(), &status).ok(),
            (None, None) => None,
        };
        let mut state = shared.lock();
        if let (Some(()), Some(work)) = (sent, &mut state.work) {
            work.told |= status.is_some_and(|status| status.activity == Activity::Done);
        }
        if sent.is_none() {
            if let Some(session) = &state.session
                && session.number == number
            {
                session.closer.close();
                state.session = None;
            }
            drop(state);
            shared.changed.notify_all();
            return None;
        }
        // Several changes make one frame.
        state = shared.wait_for(state, Duration::from_millis(1));
        drop(state);
    }
}

/// The machine: executes what is buffered.
fn execute(mut journal: Journal, shared: &Arc<Shared>) {
    let machine = shared.options.machine.clone();
    let mut clock = Clock::new(&machine);
    let mut began = false;
    loop {
        let mut state = shared.lock();
        let mut empty = false;
        let piece = loop {
            if state.over || state.fault.is_some() {
                return;
            }
            let Some(work) = &mut state.work else {
                state = shared.wait(state);
                continue;
            };
            if work.executed == work.job.lines && work.activity != Activity::Done {
                let stored = journal.store();
                work.activity = Activity::Done;
                work.changes += 1;
                if let Err(error) = stored {
                    state.fault = Some(format!("what was executed cannot be stored: {error}"));
                }
                shared.changed.notify_all();
                continue;
            }
            let filled = began || work.buffered >= machine.prefill || work.received == work.job.lines;
            if !work.paused
                && filled
                && let Some(piece) = work.queue.pop_front()
            {
                let activity = Activity::Running;
                work.changes += u64::from(work.activity != activity);
                work.activity = activity;
                break piece;
            }
            let activity = match work.activity {
                Activity::Done => Activity::Done,
                _ if work.paused => Activity::Paused,
                _ => Activity::Waiting,
            };
            if activity != work.activity {
                work.activity = activity;
                work.changes += 1;
                shared.changed.notify_all();
            }
            let starved =
                began && activity == Activity::Waiting && !work.aborted && work.executed < work.job.lines;
            if starved && !empty && machine.pace != Pace::Free {
                work.underruns += 1;
                work.changes += 1;
            }
            empty |= starved;
            state = shared.wait(state);
        };
        drop(state);
        began = true;
        if empty {
            clock.restart();
        }
        if run(&piece, &mut journal, &mut clock, shared).is_none() {
            return;
        }
        let mut state = shared.lock();
        if let Some(work) = &mut state.work
            && work.spare.len() < 8
        {
            work.spare.push(piece.payload);
        }
    }
}

/// Executes the lines of a piece; `None` where the machine has failed.
fn run(piece: &Piece, journal: &mut Journal, clock: &mut Clock, shared: &Arc<Shared>) -> Option<()> {
    let bytes = &piece.payload[piece.start..];
    let whole = clock.is_free();
    let (mut start, mut line) = (0, 0);
    while line < piece.ends.len() {
        // Without a pace all lines of a frame are one step.
        let to = if whole { piece.ends.len() } else { line + 1 };
        let end = piece.ends[to - 1];
        if !whole && !clock.line(end - start, shared) {
            return None;
        }
        let count = (to - line) as u64;
        let mut state = shared.lock();
        let State {
            work: Some(work),
            fault,
            ..
        } = &mut *state
        else {
            return None;
        };
        if work.generation != piece.generation {
            return Some(());
        }
        // With the state locked, so that an abort or a new sender sees the line either before or after.
        if whole {
            work.underway = (count, piece.payload.len() as u64);
            drop(state);
            let done = journal.execute(count, &bytes[start..end]);
            return finish(done, count, piece.payload.len(), shared);
        }
        if let Err(error) = journal.execute(count, &bytes[start..end]) {
            *fault = Some(format!("what was executed cannot be recorded: {error}"));
            drop(state);
            shared.changed.notify_all();
            return None;
        }
        work.executed += count;
        let extra = if to == piece.ends.len() { piece.start } else { 0 };
        work.buffered = work.buffered.saturating_sub((end - start + extra) as u64);
        work.changes += 1;
        drop(state);
        shared.changed.notify_all();
        (start, line) = (end, to);
    }
    Some(())
}

fn finish(done: io::Result<()>, count: u64, bytes: usize, shared: &Arc<Shared>) -> Option<()> {
    let mut state = shared.lock();
    let State {
        work: Some(work),
        fault,
        ..
    } = &mut *state
    else {
        return None;
    };
    let outcome = match done {
        Ok(()) => {
            work.executed += count;
            work.underway = (0, 0);
            work.buffered = work.buffered.saturating_sub(bytes as u64);
            work.changes += 1;
            Some(())
        }
        Err(error) => {
            *fault = Some(format!("what was executed cannot be recorded: {error}"));
            None
        }
    };
    drop(state);
    shared.changed.notify_all();
    outcome
}

/// When the next line is due.
struct Clock {
    machine: Machine,
    due: Instant,
    lines: u64,
    state: u64,
}

impl Clock {
    fn new(machine: &Machine) -> Self {
        Self {
            machine: machine.clone(),
            due: Instant::now(),
            lines: 0,
            state: 0x9E37_79B9_7F4A_7C15,
        }
    }

    /// Whether nothing has to be waited for.
    fn is_free(&self) -> bool {
        self.machine.pace == Pace::Free && self.machine.stall.is_none() && self.machine.jitter.is_zero()
    }

    /// Time that was lost is not made up for.
    fn restart(&mut self) {
        self.due = self.due.max(Instant::now());
    }

    /// Waits as long as a line takes; `false` where the receiver is over.
    fn line(&mut self, bytes: usize, shared: &Arc<Shared>) -> bool {
        let seconds = match self.machine.pace {
            Pace::Free => 0.0,
            Pace::Bytes(rate) => bytes as f64 / rate.max(1e-3),
            Pace::Lines(rate) => 1.0 / rate.max(1e-3),
        };
        let mut time = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        time += self
            .machine
            .jitter
            .mul_f64((self.state >> 11) as f64 / (1_u64 << 53) as f64);
        self.lines += 1;
        if let Some((every, stall)) = self.machine.stall
            && self.lines.is_multiple_of(every.max(1))
        {
            time += stall;
        }
        self.due = self.due.checked_add(time).unwrap_or(self.due);
        let mut state = shared.lock();
        while !state.over {
            let left = self.due.saturating_duration_since(Instant::now());
            let paused = state
                .work
                .as_ref()
                .is_some_and(|work| work.paused && !work.aborted);
            if paused {
                state = shared.wait(state);
                self.due = self.due.max(Instant::now());
            } else if left.is_zero() {
                return true;
            } else {
                state = shared.wait_for(state, left);
            }
        }
        false
    }
}
