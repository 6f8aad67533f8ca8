//! The machine: executes what is buffered.

use std::sync::Arc;

use crate::journal::Journal;
use crate::message::Activity;

use super::clock::Clock;
use super::state::{Piece, Shared};
use super::{OnLine, Pace};

/// What executes lines.
pub(super) struct Executor {
    journal: Journal,
    clock: Clock,
    on_line: Option<OnLine>,
    shared: Arc<Shared>,
}

/// The machine failed, or the receiver is over.
struct Over;

impl Executor {
    pub(super) fn new(journal: Journal, shared: Arc<Shared>) -> Self {
        Self {
            journal,
            clock: Clock::new(&shared.options.machine),
            on_line: shared.options.on_line.clone(),
            shared,
        }
    }

    /// Executes until the receiver is over or the machine fails.
    pub(super) fn run(mut self) {
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
                work.give_back(piece.payload);
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
            if state.over || state.fault.is_some() {
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
            let filled = work.began || work.buffered >= machine.prefill || work.received == work.job.lines;
            if !work.paused
                && filled
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
            self.shared
                .fail(format!("what was executed cannot be stored: {error}"));
            return Err(Over);
        }
        if let Some(work) = &mut self.shared.lock().work {
            work.activity = Activity::Done;
            work.changes += 1;
        }
        self.shared.changed.notify_all();
        Ok(())
    }

    /// Executes all lines of a piece in one step. They are under way from the moment at which they can no longer be
    /// aborted.
    fn at_once(&mut self, piece: &Piece) -> Result<(), Over> {
        let (lines, bytes) = (piece.ends.count(), piece.payload.len() as u64);
        if let Some(work) = &mut self.shared.lock().work {
            if work.generation != piece.generation {
                return Ok(());
            }
            work.underway = (lines, bytes);
        }
        let done = self.journal.execute(lines, &piece.payload[piece.start..]);
        self.account(done, lines, bytes)
    }

    fn line_by_line(&mut self, piece: &Piece) -> Result<(), Over> {
        let bytes = &piece.payload[piece.start..];
        let mut start = 0;
        let lines = piece.ends.count();
        for index in 0..lines {
            let end = piece.ends.end(index);
            let line = &bytes[start..end];
            if !self.clock.line(line.len(), &self.shared) {
                return Err(Over);
            }
            // What stands before the lines counts with the last of them.
            let table = if index + 1 == lines { piece.start } else { 0 };
            let taken = (line.len() + table) as u64;
            if let Some(work) = &mut self.shared.lock().work {
                if work.generation != piece.generation {
                    return Ok(());
                }
                work.underway = (1, taken);
            }
            if let Some(on_line) = &self.on_line {
                on_line(piece.first + index, line);
            }
            let done = self.journal.execute(1, line);
            self.account(done, 1, taken)?;
            start = end;
        }
        Ok(())
    }

    /// Notes what was executed.
    fn account(&self, done: std::io::Result<()>, lines: u64, bytes: u64) -> Result<(), Over> {
        if let Err(error) = done {
            self.shared
                .fail(format!("what was executed cannot be recorded: {error}"));
            return Err(Over);
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
}
