//! Files of text that are read whole.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The bytes of a regular file of at most `limit` bytes.
///
/// For files that a design or an option names: a pipe or a device may never end, and a file may have any length.
///
/// # Errors
/// Where the file cannot be read, is no regular file, or is longer.
pub fn read_bounded(path: impl AsRef<Path>, limit: u64) -> io::Result<Vec<u8>> {
    let path = path.as_ref();
    // Looked at before it is opened, because opening a FIFO waits for a writer.
    check(&std::fs::metadata(path)?, limit)?;
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    check(&metadata, limit)?;
    // A file may grow while it is read.
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(too_long(bytes.len() as u64, limit));
    }
    Ok(bytes)
}

/// Refuses what is no regular file.
pub(crate) fn check_regular(metadata: &std::fs::Metadata) -> io::Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    let what = if metadata.is_dir() {
        "it is a folder"
    } else {
        "it is not a regular file"
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

fn check(metadata: &std::fs::Metadata, limit: u64) -> io::Result<()> {
    check_regular(metadata)?;
    if metadata.len() > limit {
        return Err(too_long(metadata.len(), limit));
    }
    Ok(())
}

fn too_long(bytes: u64, limit: u64) -> io::Error {
    let why = format!("it has {bytes} bytes or more, where {limit} are allowed");
    io::Error::new(io::ErrorKind::InvalidInput, why)
}
