//! The bytes on their way to the system.

use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::SinkError;

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
            failure: None,
            closed: false,
        })))
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
