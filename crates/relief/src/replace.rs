//! Files of text that appear whole or not at all.

use std::io;
use std::path::Path;

/// Replaces a file as a whole, or writes to what is none: see [`relief_atomic`].
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    relief_atomic::remove_leftovers(path);
    Ok(relief_atomic::replace(path, text.as_bytes())?)
}
