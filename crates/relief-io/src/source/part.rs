//! A file, or a part of one, read as if it were a file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// Bytes that can be read at any place.
#[derive(Debug)]
pub(super) enum Bytes {
    File(File),
    Part(Part),
}

/// So many bytes of a file from a place on.
#[derive(Debug)]
pub(super) struct Part {
    file: File,
    start: u64,
    bytes: u64,
    position: u64,
}

impl Part {
    pub(super) const fn new(file: File, start: u64, bytes: u64) -> Self {
        Self {
            file,
            start,
            bytes,
            position: 0,
        }
    }
}

/// The place that is sought in so many bytes, of which `position` is the place at hand; it may lie beyond them.
pub(super) fn sought(to: SeekFrom, position: u64, bytes: u64) -> io::Result<u64> {
    let place = match to {
        SeekFrom::Start(place) => Some(place),
        SeekFrom::End(offset) => bytes.checked_add_signed(offset),
        SeekFrom::Current(offset) => position.checked_add_signed(offset),
    };
    Ok(place.ok_or(io::ErrorKind::InvalidInput)?)
}

impl Bytes {
    /// The file, and where the bytes begin in it.
    pub(super) fn into_file(self) -> (File, u64) {
        match self {
            Self::File(file) => (file, 0),
            Self::Part(part) => (part.file, part.start),
        }
    }
}

impl From<File> for Bytes {
    fn from(file: File) -> Self {
        Self::File(file)
    }
}

impl Read for Part {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.bytes.saturating_sub(self.position)).unwrap_or(usize::MAX);
        let count = buffer.len().min(left);
        if count == 0 {
            return Ok(0);
        }
        self.file.seek(SeekFrom::Start(self.start + self.position))?;
        let count = self.file.read(&mut buffer[..count])?;
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for Part {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = sought(to, self.position, self.bytes)?;
        Ok(self.position)
    }
}

impl Read for Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buffer),
            Self::Part(part) => part.read(buffer),
        }
    }
}

impl Seek for Bytes {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::File(file) => file.seek(to),
            Self::Part(part) => part.seek(to),
        }
    }
}
