//! The reference receiver: takes a job as a machine would, and emulates one.
//!
//! Three threads work on a job: the connection's takes frames off the wire into the buffer ([`session`]), the
//! machine's executes what is in the buffer, line by line if it has a pace ([`machine`]), and a third tells the sender
//! how far both are. The buffer outlives a connection: lines that were received are executed whether the sender is
//! there or not.

mod clock;
mod guests;
mod machine;
mod piece;
mod session;
mod state;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Error;
use crate::address::Address;
use crate::journal::Place;
use crate::secret::Secret;
use crate::tls::Acceptor;
use crate::transport::{Closer, Listener, Socket};
use state::{Shared, State};

/// How fast a machine executes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Pace {
    /// As fast as lines come.
    #[default]
    Free,
    /// So many bytes a second, above 0.
    Bytes(f64),
    /// So many lines a second, above 0.
    Lines(f64),
}

/// The machine that is emulated.
#[derive(Clone, Debug)]
pub struct Machine {
    /// How fast it executes.
    pub pace: Pace,
    /// Up to so much is added to the time of each line, drawn evenly.
    pub jitter: Duration,
    /// Every so many lines, at least 1, it stands still for so long.
    pub stall: Option<(u64, Duration)>,
    /// Bytes of its buffer, at least 1.
    pub buffer: u64,
    /// It begins to execute when so many bytes are buffered, at most `buffer`, or when no further line fits.
    pub prefill: u64,
    /// The most bytes of a frame of lines, at least 1.
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

impl Machine {
    /// Whether such a machine can execute anything.
    fn check(&self) -> Result<(), Error> {
        let refuse = |option, problem: String| Err(Error::Option { option, problem });
        if self.buffer == 0 || self.largest == 0 {
            return refuse("buffer", "a machine without a buffer takes no line".to_owned());
        }
        if self.prefill > self.buffer {
            let problem = format!(
                "the machine would begin at {} buffered bytes, and its buffer has {}: it would never begin; \
                 choose a prefill of at most the buffer",
                self.prefill, self.buffer
            );
            return refuse("prefill", problem);
        }
        if let Pace::Bytes(rate) | Pace::Lines(rate) = self.pace
            && !(rate > 0.0 && rate.is_finite())
        {
            let problem = format!("a machine that executes {rate} a second never ends; choose more than 0");
            return refuse("rate", problem);
        }
        if self.stall.is_some_and(|(lines, _)| lines == 0) {
            return refuse(
                "stall",
                "a machine stands still every 1 or more lines, not 0".to_owned(),
            );
        }
        Ok(())
    }
}

/// Why a line could not be executed; text and errors become one by `into` and `?`.
pub type LineFault = Box<dyn std::error::Error + Send + Sync>;

/// Called with the number and the bytes of each line; the line is executed when it returns `Ok`.
///
/// A fault or a panic ends the job: the line does not count as executed, the sender is told its number and the reason,
/// and [`Receiver::run`] returns [`Error::Execution`].
pub type OnLine = Arc<dyn Fn(u64, &[u8]) -> Result<(), LineFault> + Send + Sync>;

/// How to receive.
#[derive(Clone)]
#[non_exhaustive]
pub struct ReceiverOptions {
    /// The machine.
    pub machine: Machine,
    /// What drives a machine that is more than emulated; nothing where `None`.
    pub on_line: Option<OnLine>,
    /// Where executed lines go: a file, beside which `FILE.journal` records how many there are. Both are locked while
    /// the receiver lives. Nowhere where `None`, or where it is `/dev/null`.
    pub output: Option<PathBuf>,
    /// What senders must prove to know.
    pub secret: Option<Secret>,
    /// Certificate and key, for TLS.
    pub tls: Option<Acceptor>,
    /// How long nothing may be heard before a connection counts as lost.
    pub idle_timeout: Duration,
}

impl Default for ReceiverOptions {
    fn default() -> Self {
        Self {
            machine: Machine::default(),
            on_line: None,
            output: None,
            secret: None,
            tls: None,
            idle_timeout: Duration::from_secs(10),
        }
    }
}

impl ReceiverOptions {
    /// Changed in place.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl std::fmt::Debug for ReceiverOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReceiverOptions")
            .field("machine", &self.machine)
            .field("output", &self.output)
            .field("secret", &self.secret)
            .field("tls", &self.tls)
            .field("idle_timeout", &self.idle_timeout)
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
    /// Whether the sender closed the connection after it was told that all lines are executed. Where it did not, the
    /// connection was lost at that moment and the sender did not come back: it may not know.
    pub acknowledged: bool,
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
    /// Takes hold of the output, and listens.
    ///
    /// # Errors
    /// Where an option cannot be used, the output is not to be had or another receiver has it, or the address cannot
    /// be had.
    pub fn bind(address: &Address, options: ReceiverOptions) -> Result<Self, Error> {
        options.machine.check()?;
        let place = options.output.as_deref().map(Place::claim).transpose()?;
        let listener = Listener::bind(address, options.tls.clone(), options.idle_timeout)?;
        Ok(Self {
            listener: Arc::new(listener),
            shared: Arc::new(Shared::new(options, place.flatten())),
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

    /// Takes connections until one job is executed to its end and its sender has gone. Where the connection is lost as
    /// the sender is told of the end, it may come back within [`ReceiverOptions::idle_timeout`].
    ///
    /// # Errors
    /// Where a line cannot be executed ([`Error::Execution`]), what was executed cannot be recorded, or
    /// [`Error::Stopped`].
    pub fn run(&self) -> Result<Received, Error> {
        let (listener, shared) = (self.listener.clone(), self.shared.clone());
        let acceptor = spawn("relief-accept", move || accept(&listener, &shared))?;
        let outcome = self.wait();
        let machine = self.finish(outcome.is_err());
        if self.listener.wake() {
            let _ = acceptor.join();
        }
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
                return Err(fault.error());
            }
            match self.parting(&state) {
                Parting::None => state = self.shared.wait(state),
                Parting::Within(left) => state = self.shared.wait_for(state, left),
                Parting::Over(received) => return Ok(received),
            }
        }
    }

    /// Whether the sender of an executed job has gone for good.
    fn parting(&self, state: &State) -> Parting {
        let Some(work) = state
            .work
            .as_ref()
            .filter(|work| work.told && state.session.is_none())
        else {
            return Parting::None;
        };
        let since = state.left.map_or(Duration::ZERO, |left| left.elapsed());
        let left = self.shared.options.idle_timeout.saturating_sub(since);
        if !work.acknowledged && !left.is_zero() {
            return Parting::Within(left);
        }
        Parting::Over(Received {
            executed: work.executed,
            underruns: work.underruns,
            acknowledged: work.acknowledged,
        })
    }

    /// Ends all threads; gives the machine's.
    fn finish(&self, failed: bool) -> Option<std::thread::JoinHandle<()>> {
        let mut state = self.shared.lock();
        // A sender that is told of a fault closes the connection; it gets a moment for that.
        let deadline = Instant::now() + self.shared.options.idle_timeout.min(Duration::from_secs(1));
        while failed && !state.over && state.session.is_some() && Instant::now() < deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            state = self.shared.wait_for(state, left);
        }
        state.over = true;
        state.guests.close();
        let machine = state.machine.take();
        drop(state);
        self.shared.changed.notify_all();
        machine
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        // Threads of connections may live a moment longer; the output is free from now on.
        self.shared.lock().place = None;
    }
}

/// How the sender of an executed job goes.
enum Parting {
    /// It is here, or there is none.
    None,
    /// It may come back within this time.
    Within(Duration),
    Over(Received),
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<std::thread::JoinHandle<()>, Error> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map_err(|error| Error::Thread(error.to_string()))
}

/// Takes connections until the receiver is over.
fn accept(listener: &Arc<Listener>, shared: &Arc<Shared>) {
    loop {
        let socket = listener.accept();
        let mut state = shared.lock();
        if state.over {
            return;
        }
        let socket = match socket {
            Ok(socket) => socket,
            Err(error) => {
                // Such as too many open files: what is refused now may be granted later.
                tracing::warn!("a connection could not be taken: {error}");
                drop(shared.wait_for(state, Duration::from_millis(50)));
                continue;
            }
        };
        while !state.over && !state.guests.have_room() && state.guests.make_room() {
            state = shared.wait(state);
        }
        if state.over {
            return;
        }
        if !state.guests.have_room() {
            tracing::warn!("a connection was refused: all places are taken by senders");
            continue;
        }
        let number = state.guests.enter(Closer::new(socket.clone()));
        drop(state);
        let guest = Guest {
            number,
            shared: shared.clone(),
        };
        let listener = listener.clone();
        if let Err(error) = spawn("relief-connection", move || guest.serve(&listener, socket)) {
            tracing::warn!("a connection could not be served: {error}");
        }
    }
}

/// A connection with its thread. However the thread ends, its place and the machine are free again.
struct Guest {
    number: u64,
    shared: Arc<Shared>,
}

impl Guest {
    fn serve(&self, listener: &Listener, socket: Arc<Socket>) {
        let closer = Closer::new(socket.clone());
        let served = listener
            .secure(socket)
            .and_then(|connection| session::serve(connection, self.number, &self.shared));
        if let Err(error) = served {
            tracing::info!("a connection ended: {error}");
        }
        closer.drain();
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.leave(self.number);
        state.guests.leave(self.number);
        drop(state);
        self.shared.changed.notify_all();
    }
}
