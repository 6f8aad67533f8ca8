//! The machine: executes what is buffered.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::Error;
use crate::error::chain;
use crate::journal::{Journal, Storer};
use crate::message::Activity;

use super::clock::Clock;
use super::piece::Piece;
use super::state::{Fault, Shared};
use super::{OnLine, Pace, spawn};

/// The time between two moments at which the system stores what was executed: a loss of power costs no more.
const STORE_EVERY: Duration = Duration::from_secs(1);

/// What executes lines.
pub(super) struct Executor {
    journal: Journal,
    clock: Clock,
    on_line: Option<OnLine>,
    shared: Arc<Shared>,
    _storing: Option<Storing>,
}

/// The machine failed, or the receiver is over.
struct Over;

impl Executor {
    /// The executor of a journal; it has the system store what is recorded now and then.
    pub(super) fn new(journal: Journal, shared: Arc<Shared>) -> Result<Self, Error> {
        let storing = match journal.storer()? {
            Some(storer) => Some(Storing::begin(storer, shared.clone())?),
            None => None,
        };
        Ok(Self {
            journal,
            clock: Clock::new(&shared.options.machine),
            on_line: shared.options.on_line.clone(),
            shared,
            _storing: storing,
        })
    }

    /// Executes until the receiver is over or the machine fails.
    pub(super) fn run(mut self) {
        let _watch = FailOnPanic(self.shared.clone());
        let buffer = self.shared.options.machine.buffer;
        while let Ok(piece) = self.next() {
            let done = if self.clock.is_free() && self.on_line.is_none() {
                self.at_once(&piece)
            } else {
                self.line_by_line(&piece)
            };
            if done.is_err() {
                return;
            }
            if let Some(work) = &mut self.shared.lock().work {
                work.give_back(piece.into_memory(), buffer);
            }
        }
    }

    /// Waits for the next piece of the buffer.
    fn next(&mut self) -> Result<Piece, Over> {
        let shared = self.shared.clone();
        let machine = &shared.options.machine;
        let mut state = shared.lock();
        let (mut waited, mut starved) = (false, false);
        loop {
            if state.is_over() {
                return Err(Over);
            }
            let Some(work) = &mut state.work else {
                state = shared.wait(state);
                continue;
            };
            if work.executed == work.job.lines && work.activity != Activity::Done {
                drop(state);
                self.complete()?;
                state = shared.lock();
                continue;
            }
            if !work.paused
                && work.is_filled(machine.prefill, machine.buffer)
                && let Some(piece) = work.queue.pop_front()
            {
                work.changes += u64::from(work.activity != Activity::Running);
                work.activity = Activity::Running;
                work.began = true;
                if waited {
                    self.clock.restart();
                }
                return Ok(piece);
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
            let dry = work.began && activity == Activity::Waiting && machine.pace != Pace::Free;
            if dry && !starved {
                starved = true;
                work.underruns = work.underruns.saturating_add(1);
                work.changes += 1;
                shared.changed.notify_all();
            }
            waited = true;
            state = shared.wait(state);
        }
    }

    /// All lines are executed: has the system store them before anyone is told.
    fn complete(&self) -> Result<(), Over> {
        if let Err(error) = self.journal.store() {
            return self.fail(Fault::Record(format!(
                "what was executed cannot be stored: {error}"
            )));
        }
        if let Some(work) = &mut self.shared.lock().work {
            work.activity = Activity::Done;
            work.changes += 1;
        }
        self.shared.changed.notify_all();
        Ok(())
    }

    /// Executes all lines of a piece in one step.
    fn at_once(&mut self, piece: &Piece) -> Result<(), Over> {
        let (lines, bytes) = (piece.lines(), piece.size());
        if !self.begin(piece, lines, bytes)? {
            return Ok(());
        }
        let done = self.journal.execute(lines, piece.bytes());
        self.account(done, lines, bytes)
    }

    fn line_by_line(&mut self, piece: &Piece) -> Result<(), Over> {
        for (number, line) in (piece.first()..).zip(piece.each()) {
            // What stands before the lines counts with the last of them.
            let is_last = number + 1 == piece.first() + piece.lines();
            let bytes = line.len() as u64 + if is_last { piece.table() } else { 0 };
            if !self.begin(piece, 1, bytes)? {
                return Ok(());
            }
            if !self.clock.line(line.len(), &self.shared) {
                return Err(Over);
            }
            self.drive(number, line)?;
            let done = self.journal.execute(1, line);
            self.account(done, 1, bytes)?;
        }
        Ok(())
    }

    /// Notes lines as under way, once no pause holds the machine: from now on they are executed, whatever the sender
    /// says. `false` where they were aborted before.
    fn begin(&mut self, piece: &Piece, lines: u64, bytes: u64) -> Result<bool, Over> {
        let shared = self.shared.clone();
        let mut state = shared.lock();
        let mut waited = false;
        loop {
            if state.is_over() {
                return Err(Over);
            }
            let Some(work) = &mut state.work else {
                return Err(Over);
            };
            if work.generation != piece.generation() {
                return Ok(false);
            }
            if !work.paused {
                work.underway = (lines, bytes);
                break;
            }
            waited = true;
            state = shared.wait(state);
        }
        if waited {
            self.clock.restart();
        }
        Ok(true)
    }

    /// Has a line executed by what drives the machine.
    fn drive(&self, line: u64, bytes: &[u8]) -> Result<(), Over> {
        let Some(on_line) = &self.on_line else {
            return Ok(());
        };
        let problem = match catch_unwind(AssertUnwindSafe(|| on_line(line, bytes))) {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(fault)) => chain(fault.as_ref()),
            Err(panic) => format!("what drives the machine panicked: {}", message(panic.as_ref())),
        };
        self.fail(Fault::Line { line, problem })
    }

    /// Notes what was executed.
    fn account(&self, done: std::io::Result<()>, lines: u64, bytes: u64) -> Result<(), Over> {
        if let Err(error) = done {
            return self.fail(Fault::Record(format!(
                "what was executed cannot be recorded: {error}"
            )));
        }
        if let Some(work) = &mut self.shared.lock().work {
            work.executed += lines;
            work.underway = (0, 0);
            work.buffered = work.buffered.saturating_sub(bytes);
            work.changes += 1;
        }
        self.shared.changed.notify_all();
        Ok(())
    }

    fn fail(&self, fault: Fault) -> Result<(), Over> {
        self.shared.fail(fault);
        Err(Over)
    }
}

/// The text of a panic, where it has one.
fn message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a text")
}

/// Ends the job where the machine's thread panics, so that nobody waits for it.
struct FailOnPanic(Arc<Shared>);

impl Drop for FailOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(Fault::Thread);
        }
    }
}

/// Has the system store what was executed, now and then, on a thread of its own: the machine does not wait for a disk.
struct Storing {
    /// The thread ends when this is dropped.
    end: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Storing {
    fn begin(storer: Storer, shared: Arc<Shared>) -> Result<Self, Error> {
        let (end, ended) = mpsc::channel();
        let thread = spawn("relief-store", move || {
            let mut stored = None;
            while ended.recv_timeout(STORE_EVERY) == Err(RecvTimeoutError::Timeout) {
                let executed = shared.lock().work.as_ref().map(|work| work.executed);
                if executed == stored {
                    continue;
                }
                stored = executed;
                if let Err(error) = storer.store() {
                    let problem = format!("what was executed cannot be stored: {error}");
                    return shared.fail(Fault::Record(problem));
                }
            }
        })?;
        Ok(Self {
            end: Some(end),
            thread: Some(thread),
        })
    }
}

impl Drop for Storing {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // Where it panicked, nothing is left to store.
            let _ = thread.join();
        }
    }
}
