//! Files of text that appear whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Whether a path is a file, or will be when it is written: what is there may be a pipe or a device.
pub(super) fn is_file(path: &Path) -> bool {
    fs::metadata(path).map_or(true, |metadata| metadata.is_file())
}

/// Writes beside, then renames: whoever reads the file meanwhile, or ends this, has the one before. A link stays a link, what it points to is replaced; a file that
/// was there keeps its permissions, a new one has those of any. What is no file takes the text as it comes.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    if !is_file(path) {
        return fs::write(path, text);
    }
    let there = path.canonicalize().ok();
    let path = there.as_deref().unwrap_or(path);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    // The system takes away what its user does not allow.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    if there.is_some() {
        file.as_file().set_permissions(path.metadata()?.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
