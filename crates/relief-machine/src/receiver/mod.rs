//! The reference receiver: takes a job as a machine would, and emulates one.
//!
//! Three threads work on a job: the connection's takes frames off the wire into the buffer ([`session`]), the
//! machine's executes what is in the buffer, line by line if it has a pace ([`machine`]), and a third tells the sender
//! how far both are. The buffer outlives a connection: lines that were received are executed whether the sender is
//! there or not.

mod clock;
mod machine;
mod session;
mod state;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Error;
use crate::address::Address;
use crate::secret::Secret;
use crate::tls::Acceptor;
use crate::transport::Listener;
use state::Shared;

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

/// Called with the number and the bytes of each line before it is executed; the line is executed when it returns.
pub type OnLine = Arc<dyn Fn(u64, &[u8]) + Send + Sync>;

/// How to receive.
#[derive(Clone)]
pub struct ReceiverOptions {
    /// The machine.
    pub machine: Machine,
    /// What drives a machine that is more than emulated; nothing where `None`.
    pub on_line: Option<OnLine>,
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
            on_line: None,
            output: None,
            secret: None,
            tls: None,
            silence: Duration::from_secs(10),
        }
    }
}

impl std::fmt::Debug for ReceiverOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReceiverOptions")
            .field("machine", &self.machine)
            .field("output", &self.output)
            .field("secret", &self.secret)
            .field("tls", &self.tls)
            .field("silence", &self.silence)
            .finish_non_exhaustive()
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
        Ok(Self {
            listener: Arc::new(listener),
            shared: Arc::new(Shared::new(options)),
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
        let outcome = self.wait();
        let machine = self.finish(outcome.is_err());
        self.listener.wake();
        let _ = acceptor.join();
        if let Some(machine) = machine {
            let _ = machine.join();
        }
        outcome
    }

    /// Waits for the end of the job.
    fn wait(&self) -> Result<Received, Error> {
        let mut state = self.shared.lock();
        loop {
            if state.over {
                let executed = state.work.as_ref().map_or(0, |work| work.executed);
                return Err(Error::Stopped { executed });
            }
            if let Some(fault) = &state.fault {
                let problem = fault.clone();
                return Err(Error::Machine { problem });
            }
            if let Some(work) = &state.work
                && work.told
                && state.session.is_none()
            {
                return Ok(Received {
                    executed: work.executed,
                    underruns: work.underruns,
                });
            }
            state = self.shared.wait(state);
        }
    }

    /// Ends all threads; gives the machine's.
    fn finish(&self, failed: bool) -> Option<std::thread::JoinHandle<()>> {
        let mut state = self.shared.lock();
        // A sender that is told of a fault closes the connection; it gets a moment for that.
        let patience = Instant::now() + self.shared.options.silence.min(Duration::from_secs(1));
        while failed && !state.over && state.session.is_some() && Instant::now() < patience {
            let left = patience.saturating_duration_since(Instant::now());
            state = self.shared.wait_for(state, left);
        }
        state.over = true;
        if let Some(session) = &state.session {
            session.closer.close();
        }
        let machine = state.machine.take();
        drop(state);
        self.shared.changed.notify_all();
        machine
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
        let socket = match socket {
            Ok(socket) if state.connections < MOST_CONNECTIONS => socket,
            Ok(_) => continue,
            Err(error) => {
                // Such as too many open files: what is refused now may be granted later.
                tracing::warn!("a connection could not be taken: {error}");
                drop(shared.wait_for(state, Duration::from_millis(50)));
                continue;
            }
        };
        state.connections += 1;
        drop(state);
        let (listener, inner) = (listener.clone(), shared.clone());
        let served = spawn("relief-connection", move || {
            if let Ok(connection) = listener.secure(socket) {
                let closer = connection.closer.clone();
                if let Err(error) = session::serve(connection, &inner) {
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
