//! Pours lines into a file, as frames or as they are, or as they are into a connection.
//!
//! Nobody answers: a line counts as executed when it is written. The manifest of a file says how many bytes of it hold
//! executed lines; what lies beyond them, after a crash, is cut off before the job goes on.

use std::io::{self, Write};
use std::sync::Arc;

use relief_scan::Block;

use crate::Error;
use crate::address::Address;
use crate::frame::{self, HEADER, Header, Kind};
use crate::job_state::Event;
use crate::message::{Activity, Job, Message};
use crate::transport::connect;

use super::ahead::Shared;
use super::file::{Output, Writer};
use super::talk::write_lines;

/// The most payload of a frame of several lines.
const FRAME: usize = 1 << 20;

/// Pours until the job is over.
pub(super) fn pour(shared: &Shared<'_>) {
    let outcome = open(shared).and_then(|(writer, bytes)| {
        Pour {
            shared,
            writer,
            bytes,
        }
        .run()
    });
    let mut state = shared.lock();
    match outcome {
        Ok(()) => state.course.step(Event::Done),
        // What ended the writing was that it was asked to.
        Err(_) if !state.course.goes_on() => state.course.step(Event::Halted),
        Err(error) => state.course.fail(error),
    }
    drop(state);
    shared.changed.notify_all();
}

/// What is poured into, and the bytes that it holds.
fn open<'a>(shared: &'a Shared<'_>) -> Result<(Box<dyn Write + Send + 'a>, u64), Error> {
    let options = shared.options;
    if let Address::File(path) = &options.address {
        let state = shared.lock();
        let (bytes, recorded) = (state.recorded_bytes, state.recorded);
        drop(state);
        let output = Output::open(shared, path, bytes, recorded).map_err(|source| failed(shared, source))?;
        let output = Arc::new(output);
        let bytes = bytes.unwrap_or(0);
        shared.lock().file = Some((output.clone(), bytes));
        return Ok((Box::new(Writer { output, shared }), bytes));
    }
    let connection = connect(
        &options.address,
        options.pin.as_ref(),
        options.idle_timeout,
        &|| !shared.lock().course.goes_on(),
        &|closer| shared.hold(closer),
    )?;
    Ok((connection.writer, 0))
}

fn failed(shared: &Shared<'_>, source: io::Error) -> Error {
    match &shared.options.address {
        Address::File(path) => Error::File {
            action: "cannot write",
            path: path.clone(),
            source,
        },
        address => Error::Lost {
            address: address.to_string(),
            source,
        },
    }
}

struct Pour<'a, 'b> {
    shared: &'a Shared<'b>,
    writer: Box<dyn Write + Send + 'a>,
    bytes: u64,
}

impl Pour<'_, '_> {
    fn run(mut self) -> Result<(), Error> {
        self.begin()?;
        let shared = self.shared;
        while let Some((block, from)) = self.next()? {
            self.write(&block, from)?;
            let mut state = shared.lock();
            state.next = block.end();
            (state.executed, state.received) = (block.end(), block.end());
            state.sent_bytes += (block.bytes.len() - block.start(from)) as u64;
            state.activity = Activity::Running;
            if let Some((_, bytes)) = &mut state.file {
                *bytes = self.bytes;
            }
            state.news += 1;
            drop(block);
            state.release();
            drop(state);
            shared.changed.notify_all();
        }
        Ok(())
    }

    /// Waits for the start, before which a manifest knows of the file, and writes the header.
    fn begin(&mut self) -> Result<(), Error> {
        let shared = self.shared;
        let mut state = shared.lock();
        let first = state.executed;
        state.next = first;
        state.begin(first);
        (state.connected, state.connections) = (true, 1);
        state.course.step(Event::Taken);
        shared.changed.notify_all();
        while !state.started && state.course.goes_on() {
            state = shared.wait(state);
        }
        let stopped = !state.course.goes_on();
        drop(state);
        if stopped {
            return Err(Error::Stopped { executed: first });
        }
        if self.bytes == 0 && !shared.options.raw {
            let job = Job {
                from: first,
                ..shared.job
            };
            let job = job.encode();
            self.frame(&Header::new(Kind::Job, 0, 0, &job), &[&job])?;
        }
        Ok(())
    }

    /// Waits for the next lines; `None` where all are written.
    fn next(&mut self) -> Result<Option<(Arc<Block>, usize)>, Error> {
        let shared = self.shared;
        let mut state = shared.lock();
        loop {
            if !state.course.goes_on() {
                let executed = state.executed;
                return Err(Error::Stopped { executed });
            }
            if state.next == shared.job.lines {
                break;
            }
            if !state.paused
                && state.next < state.made
                && let Some((block, from)) = state.find(state.next)
            {
                return Ok(Some((block.clone(), from)));
            }
            state = shared.wait(state);
        }
        drop(state);
        if !shared.options.raw {
            self.frame(&Header::new(Kind::End, shared.job.lines, 0, &[]), &[])?;
        }
        self.writer.flush().map_err(|source| failed(shared, source))?;
        let mut state = shared.lock();
        state.activity = Activity::Done;
        // The digests of the last lines may still be on their way.
        while !state.is_complete(shared.job.lines) {
            if !state.course.goes_on() {
                let executed = state.executed;
                return Err(Error::Stopped { executed });
            }
            state = shared.wait(state);
        }
        Ok(None)
    }

    fn write(&mut self, block: &Block, from: usize) -> Result<(), Error> {
        let shared = self.shared;
        if shared.options.raw {
            let bytes = &block.bytes[block.start(from)..];
            self.writer
                .write_all(bytes)
                .map_err(|source| failed(shared, source))?;
            self.bytes += bytes.len() as u64;
            return Ok(());
        }
        let table = if shared.job.run_length { 4 } else { 0 };
        let mut from = from;
        while from < block.ends.len() {
            let start = block.start(from);
            let lines = block.ends[from..].iter().zip(1..);
            let fits = lines
                .take_while(|(end, count)| *end - start + count * table <= FRAME)
                .count();
            let to = from + fits.max(1);
            write_lines(self.writer.as_mut(), shared.job.run_length, block, from, to)
                .map_err(|source| failed(shared, source))?;
            self.bytes += (HEADER + block.start(to) - start + (to - from) * table) as u64;
            from = to;
        }
        Ok(())
    }

    fn frame(&mut self, header: &Header, parts: &[&[u8]]) -> Result<(), Error> {
        let failed = |source| failed(self.shared, source);
        frame::write(self.writer.as_mut(), header, parts).map_err(failed)?;
        self.bytes += HEADER as u64 + u64::from(header.length);
        Ok(())
    }
}
