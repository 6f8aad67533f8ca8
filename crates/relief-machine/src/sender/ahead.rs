//! The look-ahead and all that the threads of a sender share.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use relief_atomic::Cleanup;
use relief_scan::{Block, DiffusionState, Program};

use crate::Error;
use crate::job_state::{Course, Event};
use crate::message::{Activity, Job};
use crate::record::Record;
use crate::transport::Closer;

use super::file::Output;
use super::{Phase, Progress, SenderOptions};

pub(super) struct Shared<'a> {
    pub(super) program: &'a Program,
    pub(super) options: &'a SenderOptions,
    pub(super) job: Job,
    /// Removes the file of a job without a manifest, until it has its name.
    pub(super) cleanup: Cleanup,
    state: Mutex<State>,
    pub(super) changed: Condvar,
}

/// Lines made together.
pub(super) struct Made {
    pub(super) block: Arc<Block>,
    /// Where error diffusion stood before them.
    pub(super) diffusion: Option<DiffusionState>,
}

pub(super) struct State {
    /// Lines made and not executed, in order without a gap.
    pub(super) blocks: VecDeque<Made>,
    /// Bytes of their lines, and the memory that they hold.
    pub(super) ahead: u64,
    pub(super) held: u64,
    /// A block whose memory is used again.
    pub(super) spare: Option<Block>,
    /// The line after the last one made.
    pub(super) made: u64,
    /// Where making begins, once the machine has said so.
    pub(super) begin: Option<u64>,
    /// Lines before this one are made for their digests alone.
    pub(super) keep: u64,
    /// Whether making has begun.
    pub(super) making_began: bool,
    pub(super) made_bytes: u64,
    pub(super) made_lines: u64,
    pub(super) making: Duration,
    pub(super) reading: Duration,
    /// Whether nothing is being made: the look-ahead takes no more, or all is made.
    pub(super) resting: bool,
    /// (One past the last line, digest) of groups that the record does not have yet.
    pub(super) groups: Vec<(u64, blake3::Hash)>,
    /// Lines that have a digest, where a record wants them: all before this one.
    pub(super) digested: u64,
    /// The newest state of error diffusion whose lines are executed, with the line that comes next.
    pub(super) diffusion: Option<(u64, DiffusionState)>,

    pub(super) started: bool,
    pub(super) connections: u32,
    pub(super) connected: bool,
    /// The next line to send, and bytes sent and allowed on this connection.
    pub(super) next: u64,
    pub(super) sent: u64,
    pub(super) credit: u64,
    pub(super) largest: usize,
    pub(super) sent_bytes: u64,
    /// How large frames of several lines are.
    pub(super) frames: Frames,
    /// What cuts a connection on which the machine cannot be asked to stop: one that is being made, or of plain lines.
    cut: Option<Closer>,

    pub(super) executed: u64,
    pub(super) before: u64,
    pub(super) received: u64,
    pub(super) underruns: u32,
    pub(super) activity: Activity,
    /// The file that lines are poured into, and its bytes up to the last line executed.
    pub(super) file: Option<(Arc<Output>, u64)>,
    /// The bytes of the file that the record knows.
    pub(super) recorded_bytes: Option<u64>,
    /// Whether there is a record, and whether by it the machine has taken the job before.
    pub(super) recorded: bool,
    pub(super) taken: bool,

    /// Counts what is worth observing.
    pub(super) news: u64,
    pub(super) paused: bool,
    /// Whether the machine is to drop what it has not executed.
    pub(super) abort: bool,
    pub(super) course: Course,
}

/// How large frames of several lines are: a frame of which a bit is damaged is lost as a whole, so frames get smaller
/// where connections are lost and larger again where what is sent arrives.
#[derive(Debug)]
pub(super) struct Frames {
    /// Bytes of payload.
    size: usize,
    /// Bytes that arrived since it changed.
    arrived: u64,
    /// The most bytes that the machine takes.
    largest: usize,
}

impl Frames {
    /// The most payload of a frame of several lines: large enough for its cost to vanish, small enough for a slow
    /// machine; and the least.
    const SIZES: (usize, usize) = (1 << 12, 1 << 20);

    /// So many frames must arrive before they get larger.
    const GROW: u64 = 16;

    const fn new() -> Self {
        Self {
            size: Self::SIZES.1,
            arrived: 0,
            largest: usize::MAX,
        }
    }

    /// A machine takes so many bytes; gives what is sent to it where a line has so many.
    pub(super) fn agreed(&mut self, largest: usize, line: usize) -> usize {
        self.largest = largest;
        largest.min(self.size.max(line))
    }

    /// A connection was lost on which lines were under way.
    pub(super) fn lost(&mut self) {
        self.size = (self.size / 2).max(Self::SIZES.0);
        self.arrived = 0;
    }

    /// So many bytes have arrived; gives what is sent where that changes.
    pub(super) fn arrived(&mut self, bytes: u64, line: usize) -> Option<usize> {
        if self.size >= Self::SIZES.1 {
            return None;
        }
        self.arrived = self.arrived.saturating_add(bytes);
        if self.arrived < Self::GROW * self.size as u64 {
            return None;
        }
        self.size *= 2;
        self.arrived = 0;
        Some(self.largest.min(self.size.max(line)))
    }
}

/// The memory of a block of so many lines of at most so many bytes each.
pub(super) const fn held_by(lines: u64, line_bytes: u64) -> u64 {
    lines.saturating_mul(line_bytes.saturating_add(size_of::<usize>() as u64))
}

impl<'a> Shared<'a> {
    pub(super) fn new(
        program: &'a Program,
        options: &'a SenderOptions,
        job: Job,
        state: State,
        cleanup: Cleanup,
    ) -> Self {
        Self {
            program,
            options,
            job,
            cleanup,
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wait<'b>(&self, state: MutexGuard<'b, State>) -> MutexGuard<'b, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wait_for<'b>(&self, state: MutexGuard<'b, State>, time: Duration) -> MutexGuard<'b, State> {
        self.changed
            .wait_timeout(state, time)
            .unwrap_or_else(PoisonError::into_inner)
            .0
    }

    /// Ends a job that cannot go on; the first failure counts.
    pub(super) fn fail(&self, error: Error) {
        let mut state = self.lock();
        state.course.fail(error);
        state.cut();
        drop(state);
        self.changed.notify_all();
    }

    /// Notes what cuts the connection that is being made; cuts it where the job does not go on.
    pub(super) fn hold(&self, closer: Closer) {
        let mut state = self.lock();
        state.cut = Some(closer);
        if !state.course.goes_on() {
            state.cut();
        }
    }

    /// The most bytes that a line takes in a frame.
    pub(super) fn line_bytes(&self) -> usize {
        self.job.line_bytes as usize + if self.job.run_length { 4 } else { 0 }
    }

    pub(super) fn progress(&self, state: &State, phase: Phase, start: Instant) -> Progress {
        Progress {
            phase,
            state: state.course.state(),
            connected: state.connected,
            connections: state.connections,
            executed: state.executed,
            before: state.before,
            received: state.received,
            lines: self.job.lines,
            ahead: state.ahead,
            made: state.made_bytes,
            made_lines: state.made_lines,
            making: state.making,
            reading: state.reading,
            resting: state.resting,
            sent: state.sent_bytes,
            underruns: state.underruns,
            activity: state.activity,
            elapsed: start.elapsed(),
        }
    }
}

impl State {
    pub(super) fn new(lines: u64, record: Option<&Record>) -> Self {
        let executed = record.map_or(0, Record::executed);
        Self {
            blocks: VecDeque::new(),
            ahead: 0,
            held: 0,
            spare: None,
            made: 0,
            begin: None,
            keep: 0,
            making_began: false,
            made_bytes: 0,
            made_lines: 0,
            making: Duration::ZERO,
            reading: Duration::ZERO,
            resting: false,
            groups: Vec::new(),
            digested: record.map_or(lines, Record::digested),
            diffusion: None,
            started: false,
            connections: 0,
            connected: false,
            next: 0,
            sent: 0,
            credit: 0,
            largest: 0,
            sent_bytes: 0,
            frames: Frames::new(),
            cut: None,
            executed,
            before: executed,
            received: executed,
            underruns: 0,
            activity: Activity::Waiting,
            file: None,
            recorded_bytes: record.and_then(|record| record.manifest().file_bytes),
            recorded: record.is_some(),
            taken: record.is_some_and(Record::is_taken),
            news: 0,
            paused: false,
            abort: false,
            course: Course::new(),
        }
    }

    /// Cuts a connection on which the machine cannot be asked to stop, where there is one.
    pub(super) fn cut(&mut self) {
        if let Some(closer) = self.cut.take() {
            closer.close();
        }
    }

    /// The machine has taken the job: from now on it is asked to stop.
    pub(super) fn agreed(&mut self) {
        self.cut = None;
        self.course.step(Event::Taken);
    }

    /// Has making begin: lines from `next` on are to be sent. Lines that have no digest yet are made again for it, the
    /// last lines of one group at most.
    pub(super) fn begin(&mut self, next: u64) {
        self.keep = next;
        self.made = next;
        self.begin = Some(next.min(self.digested));
        self.blocks.clear();
        (self.ahead, self.held) = (0, 0);
        self.resting = false;
    }

    /// Whether all lines are executed, and have the digests that a record wants.
    pub(super) fn is_complete(&self, lines: u64) -> bool {
        self.activity == Activity::Done && self.executed == lines && self.digested == lines
    }

    /// Puts lines at the end of the look-ahead.
    pub(super) fn push(&mut self, block: Block, diffusion: Option<DiffusionState>) {
        self.ahead += block.bytes.len() as u64;
        self.held += block.held();
        self.made = block.end();
        self.news += 1;
        let block = Arc::new(block);
        self.blocks.push_back(Made { block, diffusion });
    }

    /// Lets go of lines that are executed.
    pub(super) fn release(&mut self) {
        while let Some(made) = self.blocks.pop_front_if(|made| made.block.end() <= self.executed) {
            self.ahead -= made.block.bytes.len() as u64;
            self.held -= made.block.held();
            self.resting = false;
            if let Some(diffusion) = made.diffusion {
                self.diffusion = Some((made.block.first, diffusion));
            }
            self.spare = self.spare.take().or(Arc::try_unwrap(made.block).ok());
        }
    }

    /// The block that holds a line, with the line's place in it.
    pub(super) fn find(&self, line: u64) -> Option<(&Arc<Block>, usize)> {
        let index = self.blocks.partition_point(|made| made.block.end() <= line);
        let block = &self.blocks.get(index)?.block;
        let place = usize::try_from(line.checked_sub(block.first)?).ok()?;
        Some((block, place))
    }
}
