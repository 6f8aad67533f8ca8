//! Pours lines into a file, as frames or as they are, or as they are into a connection.
//!
//! Nobody answers: a line counts as executed when it is written. The manifest of a file says how many bytes of it hold
//! executed lines; what lies beyond them, after a crash, is cut off before the job goes on.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use relief_scan::Block;

use crate::Error;
use crate::address::Address;
use crate::frame::{self, HEADER, Header, Kind};
use crate::message::{Activity, Job, Message};
use crate::transport::connect;

use super::ahead::Shared;
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
    shared.end(outcome);
}

/// What is poured into, and the bytes that it holds.
fn open(shared: &Shared<'_>) -> Result<(Box<dyn Write + Send>, u64), Error> {
    let options = shared.options;
    if let Address::File(path) = &options.address {
        let mut state = shared.lock();
        let bytes = state.recorded_bytes.filter(|_| state.resumed).unwrap_or(0);
        let file = open_file(path, bytes).map_err(|source| failed(shared, source))?;
        let file = Arc::new(file);
        state.file = Some((file.clone(), bytes));
        return Ok((Box::new(file), bytes));
    }
    let connection = connect(&options.address, options.pin.as_ref(), options.silence)?;
    Ok((connection.writer, 0))
}

/// A new file, or one that holds so many bytes to go on after.
fn open_file(path: &Path, bytes: u64) -> io::Result<File> {
    let mut options = OpenOptions::new();
    if bytes == 0 {
        return options.write(true).create(true).truncate(true).open(path);
    }
    let mut file = options.write(true).open(path)?;
    let found = file.metadata()?.len();
    if found < bytes {
        let text = format!("it has {found} bytes, {bytes} of them were written before");
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    file.set_len(bytes)?;
    file.seek(SeekFrom::Start(bytes))?;
    Ok(file)
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
    writer: Box<dyn Write + Send>,
    bytes: u64,
}

impl Pour<'_, '_> {
    fn run(mut self) -> Result<(), Error> {
        let shared = self.shared;
        if self.bytes == 0 && !shared.options.raw {
            let from = shared.lock().executed;
            let job = Job { from, ..shared.job }.encode();
            self.frame(&Header::new(Kind::Job, 0, 0, &job), &[&job])?;
        }
        let mut state = shared.lock();
        let first = state.executed;
        state.next = first;
        state.begin(first);
        (state.connected, state.connections) = (true, 1);
        drop(state);
        shared.changed.notify_all();
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

    /// Waits for the next lines; `None` where all are written.
    fn next(&mut self) -> Result<Option<(Arc<Block>, usize)>, Error> {
        let shared = self.shared;
        let mut state = shared.lock();
        loop {
            if state.abort || state.outcome.is_some() {
                let executed = state.executed;
                return Err(Error::Stopped { executed });
            }
            if state.next == shared.job.lines {
                break;
            }
            if state.started
                && !state.paused
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
        if let Some((_, bytes)) = &mut state.file {
            *bytes = self.bytes;
        }
        // The digests of the last lines may still be on their way.
        while !state.is_complete(shared.job.lines) && state.outcome.is_none() {
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
