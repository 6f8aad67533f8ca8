//! Writes to the machine: lines as it has room, and what the control says.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use relief_scan::{Block, Encoding};

use crate::frame::{self, Header, Kind};

use super::ahead::{Shared, State};
use super::link::Ended;

/// What to write next.
enum Next {
    Lines(Arc<Block>, usize, usize),
    Control(Kind, u64),
}

/// What has been said on this connection.
#[derive(Default)]
struct Said {
    end: bool,
    paused: bool,
    aborted: bool,
}

/// Writes until the job or the connection is over.
pub(super) fn talk(
    shared: &Shared<'_>,
    mut writer: Box<dyn Write + Send>,
    idle_timeout: Duration,
    lost: &Mutex<Option<Ended>>,
) -> Ended {
    let pace = idle_timeout / 4;
    let mut due = Instant::now() + pace;
    let mut said = Said::default();
    loop {
        let mut state = shared.lock();
        let next = loop {
            if lost.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
                return Ended::Lost(io::ErrorKind::ConnectionAborted.into());
            }
            if is_over(&state, &said) {
                return Ended::Over;
            }
            if let Some(next) = next(shared, &mut state, &mut said) {
                break next;
            }
            let now = Instant::now();
            if now >= due {
                break Next::Control(Kind::Ping, 0);
            }
            state = shared.wait_for(state, due.saturating_duration_since(now));
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

/// Whether there is nothing more to say. After an abort the machine is waited for as long as it is heard: only it knows
/// what it has executed.
fn is_over(state: &State, said: &Said) -> bool {
    state.course.is_over() && (said.aborted || !state.abort)
}

fn next(shared: &Shared<'_>, state: &mut State, said: &mut Said) -> Option<Next> {
    if state.abort {
        let first = !said.aborted;
        said.aborted = true;
        return first.then_some(Next::Control(Kind::Abort, 0));
    }
    if said.paused != state.paused {
        said.paused = state.paused;
        let kind = if state.paused { Kind::Pause } else { Kind::Continue };
        return Some(Next::Control(kind, 0));
    }
    if state.next == shared.job.lines && !said.end {
        said.end = true;
        return Some(Next::Control(Kind::End, shared.job.lines));
    }
    lines(shared, state)
}

/// The lines that may be sent now, counted as sent.
fn lines(shared: &Shared<'_>, state: &mut State) -> Option<Next> {
    if !state.started || state.next >= state.made {
        return None;
    }
    let room = usize::try_from(state.credit.saturating_sub(state.sent)).unwrap_or(usize::MAX);
    let room = room.min(state.largest);
    let (block, from) = state.find(state.next)?;
    let table = if shared.job.run_length { 4 } else { 0 };
    let start = block.start(from);
    let to = match shared.program.encoding() {
        Encoding::Fixed(bytes) => (from + room / (bytes as usize).max(1)).min(block.ends.len()),
        Encoding::Runs(_) => {
            let lines = block.ends[from..].iter().zip(1..);
            from + lines
                .take_while(|(end, count)| *end - start + count * table <= room)
                .count()
        }
    };
    if to == from {
        return None;
    }
    let bytes = (block.start(to) - start + (to - from) * table) as u64;
    let block = block.clone();
    state.next += (to - from) as u64;
    state.sent += bytes;
    state.sent_bytes += bytes;
    Some(Next::Lines(block, from, to))
}

/// Writes lines of a block as one frame.
pub(super) fn write_lines(
    writer: &mut (impl Write + ?Sized),
    run_length: bool,
    block: &Block,
    from: usize,
    to: usize,
) -> io::Result<()> {
    let bytes = &block.bytes[block.start(from)..block.start(to)];
    let mut table = Vec::new();
    if run_length {
        let lengths = (from..to).map(|line| (block.start(line + 1) - block.start(line)) as u32);
        table.extend(lengths.flat_map(u32::to_le_bytes));
    }
    let header = Header::sized(
        Kind::Lines,
        block.first + from as u64,
        (to - from) as u32,
        table.len() + bytes.len(),
        crc32c::crc32c_append(crc32c::crc32c(&table), bytes),
    );
    frame::write(writer, &header, &[&table, bytes])
}
