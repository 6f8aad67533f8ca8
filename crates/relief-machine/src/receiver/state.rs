//! What the threads of a receiver share.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::message::{Activity, Ends, Job, Status};
use crate::transport::Closer;

use super::ReceiverOptions;

pub(super) struct Shared {
    pub(super) options: ReceiverOptions,
    state: Mutex<State>,
    pub(super) changed: Condvar,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) work: Option<Work>,
    pub(super) session: Option<Session>,
    /// Sessions so far.
    pub(super) sessions: u64,
    pub(super) connections: usize,
    /// Jobs refused so far.
    pub(super) refused: u32,
    /// The first failure of the machine.
    pub(super) fault: Option<String>,
    /// The receiver is over.
    pub(super) over: bool,
    pub(super) machine: Option<JoinHandle<()>>,
}

/// The sender that drives the machine.
pub(super) struct Session {
    pub(super) number: u64,
    pub(super) token: [u8; 16],
    pub(super) closer: Closer,
    /// Payload bytes of lines received on this connection.
    pub(super) bytes: u64,
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
    /// Lines and bytes that are being executed and can no longer be dropped.
    pub(super) underway: (u64, u64),
    /// Counts aborts: what was buffered before one is never executed.
    pub(super) generation: u64,
    /// Counts everything worth telling the sender.
    pub(super) changes: u64,
}

/// The payload of a frame of lines.
pub(super) struct Piece {
    pub(super) payload: Vec<u8>,
    /// Where the lines begin in it.
    pub(super) start: usize,
    pub(super) ends: Ends,
    /// The number of the first line.
    pub(super) first: u64,
    pub(super) generation: u64,
}

impl Shared {
    pub(super) fn new(options: ReceiverOptions) -> Self {
        Self {
            options,
            state: Mutex::default(),
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
    pub(super) fn fail(&self, fault: String) {
        self.lock().fault.get_or_insert(fault);
        self.changed.notify_all();
    }
}

impl State {
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
        }
    }

    /// What to tell the sender.
    pub(super) fn status(&self, buffer: u64) -> Option<Status> {
        let (work, session) = (self.work.as_ref()?, self.session.as_ref()?);
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
            underway: (0, 0),
            generation: 0,
            changes: 0,
        }
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

    /// Keeps the memory of a payload for another one.
    pub(super) fn give_back(&mut self, payload: Vec<u8>) {
        if self.spare.len() < 8 {
            self.spare.push(payload);
        }
    }
}
