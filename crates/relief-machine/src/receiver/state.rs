//! What the threads of a receiver share.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::Error;
use crate::journal::Place;
use crate::message::{Activity, Code, Job, Refusal, Status};
use crate::transport::Closer;

use super::ReceiverOptions;
use super::guests::Guests;
use super::piece::Piece;

pub(super) struct Shared {
    pub(super) options: ReceiverOptions,
    state: Mutex<State>,
    pub(super) changed: Condvar,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) work: Option<Work>,
    pub(super) session: Option<Session>,
    /// When the last session ended.
    pub(super) left: Option<Instant>,
    pub(super) guests: Guests,
    /// Where executed lines go; held, and so locked, for the life of the receiver.
    pub(super) place: Option<Place>,
    /// Jobs refused so far.
    pub(super) refused: u32,
    /// The first failure of the machine.
    pub(super) fault: Option<Fault>,
    /// The receiver is over.
    pub(super) over: bool,
    pub(super) machine: Option<JoinHandle<()>>,
}

/// Why the machine executes no more.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// What was executed cannot be recorded.
    Record(String),
    /// What drives the machine failed at a line.
    Line {
        /// Its number.
        line: u64,
        /// How.
        problem: String,
    },
    /// A thread ended with a panic: a defect.
    Thread,
}

impl Fault {
    /// What the sender is told.
    pub(super) fn refusal(&self) -> Refusal {
        let code = match self {
            Self::Record(_) => Code::Storage,
            Self::Line { .. } | Self::Thread => Code::Execution,
        };
        let text = self.error().to_string();
        Refusal { code, text }
    }

    /// What the owner of the receiver is told.
    pub(super) fn error(&self) -> Error {
        match self {
            Self::Record(problem) => Error::Machine {
                problem: problem.clone(),
            },
            Self::Line { line, problem } => Error::Execution {
                line: *line,
                problem: problem.clone(),
            },
            Self::Thread => Error::Thread("it ended with a panic".to_owned()),
        }
    }
}

/// The sender that drives the machine.
pub(super) struct Session {
    pub(super) number: u64,
    pub(super) token: [u8; 16],
    pub(super) closer: Closer,
    /// Payload bytes of lines received on this connection.
    pub(super) bytes: u64,
    /// Whether its sender has come back on another connection, so that this one was closed here.
    pub(super) replaced: bool,
}

/// The job.
pub(super) struct Work {
    pub(super) job: Job,
    /// Lines executed: all before this one.
    pub(super) executed: u64,
    /// Lines received: all before this one.
    pub(super) received: u64,
    /// Bytes of payload received and not executed.
    pub(super) buffered: u64,
    pub(super) queue: VecDeque<Piece>,
    /// Memory of payloads that were executed.
    pub(super) spare: Vec<Vec<u8>>,
    pub(super) underruns: u32,
    pub(super) activity: Activity,
    pub(super) paused: bool,
    pub(super) aborted: bool,
    /// Whether the machine has begun to execute since the job began or was aborted.
    pub(super) began: bool,
    /// Whether a sender has been told that all is done.
    pub(super) told: bool,
    /// Whether the sender closed its connection after that: it has heard it.
    pub(super) acknowledged: bool,
    /// Lines and bytes that are being executed and can no longer be dropped.
    pub(super) underway: (u64, u64),
    /// Counts aborts: what was buffered before one is never executed.
    pub(super) generation: u64,
    /// Counts everything worth telling the sender.
    pub(super) changes: u64,
}

impl Shared {
    pub(super) fn new(options: ReceiverOptions, place: Option<Place>) -> Self {
        Self {
            options,
            state: Mutex::new(State {
                place,
                ..State::default()
            }),
            changed: Condvar::new(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wait_for<'a>(&self, state: MutexGuard<'a, State>, time: Duration) -> MutexGuard<'a, State> {
        self.changed
            .wait_timeout(state, time)
            .unwrap_or_else(PoisonError::into_inner)
            .0
    }

    /// Ends the job with a fault of the machine.
    pub(super) fn fail(&self, fault: Fault) {
        self.lock().fault.get_or_insert(fault);
        self.changed.notify_all();
    }
}

impl State {
    /// Whether nothing more is executed.
    pub(super) const fn is_over(&self) -> bool {
        self.over || self.fault.is_some()
    }

    /// Whether the session of this number drives the machine.
    pub(super) fn is_driven_by(&self, number: u64) -> bool {
        self.session
            .as_ref()
            .is_some_and(|session| session.number == number)
    }

    /// Ends the session of this number.
    pub(super) fn leave(&mut self, number: u64) {
        if self.is_driven_by(number) {
            self.session = None;
            self.left = Some(Instant::now());
        }
    }

    /// What to tell the sender.
    pub(super) fn status(&self, buffer: u64) -> Option<Status> {
        let (work, session) = (self.work.as_ref()?, self.session.as_ref()?);
        Some(Status {
            executed: work.executed,
            received: work.received,
            credit: session.bytes.saturating_add(buffer.saturating_sub(work.buffered)),
            buffered: work.buffered,
            underruns: work.underruns,
            activity: work.activity(),
        })
    }
}

impl Work {
    /// A job of which all lines before `executed` are executed.
    pub(super) fn new(job: &Job, executed: u64) -> Self {
        Self {
            job: *job,
            executed,
            received: executed,
            buffered: 0,
            queue: VecDeque::new(),
            spare: Vec::new(),
            underruns: 0,
            activity: if executed == job.lines {
                Activity::Done
            } else {
                Activity::Waiting
            },
            paused: false,
            aborted: false,
            began: false,
            told: false,
            acknowledged: false,
            underway: (0, 0),
            generation: 0,
            changes: 0,
        }
    }

    /// What the sender is told that the machine does. It is told of a pause or an abort once no line is under way:
    /// until then `executed` is not where the machine stands still.
    fn activity(&self) -> Activity {
        let moving = self.underway != (0, 0) || self.executed == self.job.lines;
        match self.activity {
            Activity::Done => Activity::Done,
            _ if moving && (self.aborted || self.paused) => Activity::Running,
            _ if self.aborted => Activity::Aborted,
            _ if self.paused => Activity::Paused,
            activity => activity,
        }
    }

    /// Whether the machine may begin: so much is buffered as it waits for, or nothing more comes. A sender sends whole
    /// lines, so that a buffer is full where one more of the longest does not fit.
    pub(super) fn is_filled(&self, prefill: u64, buffer: u64) -> bool {
        let room = buffer.saturating_sub(self.buffered);
        self.began
            || self.buffered >= prefill
            || room < self.job.frame_bytes()
            || self.received == self.job.lines
    }

    /// Drops everything but what is being executed.
    pub(super) fn abort(&mut self) {
        self.aborted = true;
        self.began = false;
        self.queue.clear();
        self.generation += 1;
        self.buffered = self.underway.1;
        self.received = self.executed + self.underway.0;
    }

    /// Keeps the memory of a payload for another one, up to an eighth of the buffer.
    pub(super) fn give_back(&mut self, payload: Vec<u8>, buffer: u64) {
        let held: usize = self.spare.iter().map(Vec::capacity).sum();
        if self.spare.len() < 8 && (held + payload.capacity()) as u64 <= buffer / 8 {
            self.spare.push(payload);
        }
    }
}
