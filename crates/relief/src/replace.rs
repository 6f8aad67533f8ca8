//! Files of text that appear whole or not at all.

use std::fs;
use std::io;
use std::path::Path;

/// Whether a path is a file, or will be when it is written: what is there may be a pipe or a device.
fn is_file(path: &Path) -> bool {
    fs::metadata(path).map_or(true, |metadata| metadata.is_file())
}

/// Replaces a file as a whole, or writes to what is none: see [`relief_atomic`].
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    relief_atomic::remove_leftovers(path);
    Ok(relief_atomic::replace(path, text.as_bytes())?)
}
