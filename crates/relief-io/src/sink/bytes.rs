//! Bytes that are no raster, such as a text, on their way to a file or a pipe.

use std::io::{self, Write};

use relief_atomic::Cleanup;

use super::SinkError;
use super::output::{BUFFER, Output};
use super::target::{self, Ending, Target};

/// Writes bytes to a [`Target`]: a file appears under its name by [`complete`](Self::complete), and not at all where this is
/// dropped before.
pub struct ByteFile {
    output: Output,
    ending: Ending,
}

impl std::fmt::Debug for ByteFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ByteFile")
            .field("ending", &self.ending)
            .finish_non_exhaustive()
    }
}

impl ByteFile {
    /// The bytes that it holds.
    pub const MEMORY: u64 = BUFFER as u64;

    /// Opens the target; `cleanup` removes its partial file from another thread.
    ///
    /// # Errors
    /// Where it cannot be opened or created.
    pub fn open(target: Target, cleanup: &Cleanup) -> Result<Self, SinkError> {
        let (output, ending) = target::open(target, cleanup)?;
        Ok(Self { output, ending })
    }

    /// Makes the file appear with all that was written.
    ///
    /// # Errors
    /// Where the rest cannot be written or the file cannot have its name; nothing appears then.
    pub fn complete(mut self) -> io::Result<()> {
        let flushed = self.output.flush();
        self.outcome(flushed)?;
        self.output.close();
        self.ending.complete()?;
        Ok(())
    }

    /// The failure of the output itself, where there was one.
    fn outcome<T>(&self, result: io::Result<T>) -> io::Result<T> {
        match self.output.take_failure() {
            Some(failure) => Err(failure.into()),
            None => result,
        }
    }
}

impl Write for ByteFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.output.write(bytes);
        self.outcome(written)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.output.write_all(bytes);
        self.outcome(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.output.flush();
        self.outcome(flushed)
    }
}
