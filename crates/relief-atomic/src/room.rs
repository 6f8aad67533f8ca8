//! The room that a file system has left, and what a file takes of it.

use std::path::{Path, PathBuf};

use crate::place::{folder_of, is_stream};

/// What is left of the file system that a file would lie on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Room {
    /// The bytes that this user may still write.
    pub free: u64,
    /// Which file system it is: files of the same one share its room.
    pub system: u64,
}

/// The room for a file or folder at `path`, which need not exist, nor its folder: its next folder that does counts, where links lead.
///
/// `None` where nothing can be said: what [takes bytes as they come](is_stream) lies on no file system, some file systems do not know
/// how large they are, and outside Unix none is asked. Quotas are not known.
#[must_use]
pub fn room(path: &Path) -> Option<Room> {
    if is_stream(path) {
        return None;
    }
    // A link to a file is followed; what it leads to need not lie on the same file system.
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| named(path));
    let folder = std::iter::successors(Some(folder_of(&path)), |folder| {
        (*folder != Path::new(".")).then(|| folder_of(folder))
    })
    .find(|folder| folder.is_dir())?;
    of_folder(folder)
}

/// A path without what ends the name of a folder.
fn named(path: &Path) -> PathBuf {
    path.components().collect()
}

#[cfg(unix)]
fn of_folder(folder: &Path) -> Option<Room> {
    use std::os::unix::fs::MetadataExt;
    let system = std::fs::metadata(folder).ok()?.dev();
    let found = rustix::fs::statvfs(folder).ok()?;
    if found.f_blocks == 0 {
        return None;
    }
    // The last blocks are kept for an administrator.
    let blocks = if rustix::process::geteuid().is_root() {
        found.f_bfree
    } else {
        found.f_bavail
    };
    let block = if found.f_frsize == 0 {
        found.f_bsize
    } else {
        found.f_frsize
    };
    Some(Room {
        free: blocks.saturating_mul(block),
        system,
    })
}

#[cfg(not(unix))]
fn of_folder(_: &Path) -> Option<Room> {
    None
}

/// The most files that are looked at in a folder.
const MAX_FILES: usize = 1 << 20;

/// The bytes that a file, or a folder with all that lies in it, takes on its disk: what is a hole takes none, and neither does what is
/// not there. Links are not followed.
///
/// `None` where that cannot be told: where it may not be looked at, or more than 2^20 files lie in it.
#[must_use]
pub fn held(path: &Path) -> Option<u64> {
    let mut bytes = 0_u64;
    let mut folders = Vec::new();
    let mut files = 0;
    let mut take = |path: PathBuf, folders: &mut Vec<PathBuf>| {
        files += 1;
        match std::fs::symlink_metadata(&path) {
            Ok(metadata) => {
                bytes = bytes.saturating_add(allocated(&metadata));
                if metadata.is_dir() {
                    folders.push(path);
                }
            }
            // Others may complete or remove it at any time.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(_) => return None,
        }
        (files <= MAX_FILES).then_some(())
    };
    take(named(path), &mut folders)?;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).ok()? {
            take(entry.ok()?.path(), &mut folders)?;
        }
    }
    Some(bytes)
}

#[cfg(unix)]
fn allocated(metadata: &std::fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    // Of 512 bytes, whatever the blocks of the file system.
    metadata.blocks().saturating_mul(512)
}

#[cfg(not(unix))]
fn allocated(metadata: &std::fs::Metadata) -> u64 {
    metadata.len()
}
