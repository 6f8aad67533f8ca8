//! The bytes on their way to the system.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::SinkError;
use super::positioned::write_all_at;

/// The bytes gathered before the system is called; longer writes go straight through.
pub(super) const BUFFER: usize = 256 * 1024;

/// A buffered stream of bytes that counts them and keeps its first failure.
///
/// Encoders that own their writer get a clone; what they lose of an error is still here.
#[derive(Clone)]
pub(super) struct Output(Arc<Mutex<Stream>>);

struct Stream {
    name: String,
    writer: BufWriter<Counted>,
    /// The file, where it is one that can be written at any place.
    file: Option<File>,
    /// The first failure, until it is taken.
    failure: Option<SinkError>,
    /// Whether nothing is written any more.
    closed: bool,
}

struct Counted {
    writer: Box<dyn Write + Send>,
    bytes: u64,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer.write(bytes)?;
        self.bytes = self.bytes.saturating_add(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Output {
    /// A stream into `writer`, which errors are to call by this name.
    pub(super) fn new(name: String, writer: Box<dyn Write + Send>) -> Self {
        let writer = BufWriter::with_capacity(BUFFER, Counted { writer, bytes: 0 });
        Self(Arc::new(Mutex::new(Stream {
            name,
            writer,
            file: None,
            failure: None,
            closed: false,
        })))
    }

    /// The same stream, which can be written at any place of `file` as well.
    pub(super) fn with_places(self, file: File) -> Self {
        self.lock().file = Some(file);
        self
    }

    /// Whether it can be written at any place.
    pub(super) fn has_places(&self) -> bool {
        self.lock().file.is_some()
    }

    /// Gives the file a length; what is not written yet is 0.
    pub(super) fn reserve(&self, length: u64) -> io::Result<()> {
        self.at(&|file| file.set_len(length), 0)
    }

    /// Writes at a place of the file.
    pub(super) fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.at(&|file| write_all_at(file, bytes, offset), bytes.len() as u64)
    }

    fn at(&self, work: &dyn Fn(&File) -> io::Result<()>, bytes: u64) -> io::Result<()> {
        // The file is taken out, so that the stream can count and fail.
        let file = self.lock().file.take();
        let outcome = self.attempt(|writer| {
            let file = file.as_ref().ok_or(io::ErrorKind::NotSeekable)?;
            work(file)?;
            let written = &mut writer.get_mut().bytes;
            *written = written.saturating_add(bytes);
            Ok(())
        });
        self.lock().file = file;
        outcome
    }

    /// The first failure, which no encoder can hide.
    pub(super) fn take_failure(&self) -> Option<SinkError> {
        self.lock().failure.take()
    }

    /// Nothing is written any more, whatever an encoder still does when it is dropped.
    pub(super) fn close(&self) {
        self.lock().closed = true;
    }

    fn lock(&self) -> MutexGuard<'_, Stream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn attempt(&self, work: impl FnOnce(&mut BufWriter<Counted>) -> io::Result<()>) -> io::Result<()> {
        let mut stream = self.lock();
        if stream.closed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        work(&mut stream.writer).map_err(|source| {
            let kind = source.kind();
            let (name, written) = (stream.name.clone(), stream.writer.get_ref().bytes);
            stream.failure = Some(SinkError::Write {
                name,
                written,
                source,
            });
            stream.closed = true;
            kind.into()
        })
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.attempt(|writer| writer.write_all(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt(Write::flush)
    }
}
