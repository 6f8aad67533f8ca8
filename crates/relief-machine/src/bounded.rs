//! Small files, read whole.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::Error;

/// The bytes of a regular file of at most `limit` bytes. Nothing is waited for, as a FIFO would have it, and no more
/// than the limit is held.
pub(crate) fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let read = || {
        if !std::fs::metadata(path)?.is_file() {
            let text = "it is not a regular file";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let mut bytes = Vec::new();
        File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            let text = format!("it has more than {limit} bytes, the most that such a file may have");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
        }
        Ok(bytes)
    };
    read().map_err(|source| Error::File {
        action: "cannot read",
        path: path.to_owned(),
        source,
    })
}
