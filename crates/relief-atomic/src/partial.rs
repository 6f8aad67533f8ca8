//! The partial file: from its creation to the moment it takes the name it is written for.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use crate::cleanup::{Cleanup, Partial};
use crate::error::Error;
use crate::identity::Identity;
use crate::place::{self, Place, folder_of, unreachable};

/// The random characters in the name of a partial.
const RANDOM: usize = 12;

/// The end of the name of a partial.
const SUFFIX: &str = ".partial";

/// A file on its way to its name. Dropped before it is complete, it goes away.
#[derive(Debug)]
pub struct AtomicFile {
    /// Holds the lock that says that its writer lives.
    file: File,
    name: PathBuf,
    cleanup: Cleanup,
}

impl AtomicFile {
    /// A new partial for `name`, which is no link.
    pub(crate) fn create(name: PathBuf, cleanup: &Cleanup) -> Result<Self, Error> {
        let mut partial = cleanup.lock();
        if matches!(*partial, Partial::Cancelled) {
            return Err(Error::cancelled());
        }
        let (file, temporary) = create(&name).map_err(|error| not_created(&name, error))?;
        *partial = Partial::Named(temporary);
        drop(partial);
        Ok(Self {
            file,
            name,
            cleanup: cleanup.clone(),
        })
    }

    /// The file to write to. Copies of it are to be dropped before [`AtomicFile::complete`] where nothing may be
    /// written any more.
    #[must_use]
    pub const fn file(&self) -> &File {
        &self.file
    }

    /// Stores the file and gives it its name.
    ///
    /// # Errors
    /// Where the system cannot store or rename it, or [`Cleanup::remove`] was called. The file is gone then, and one
    /// that had its name is as it was.
    pub fn complete(self) -> Result<(), Error> {
        let failed = |source| {
            let reason = "the finished file could not be stored under its name";
            Error::new(reason, Some(source))
        };
        // Permissions may have changed while it was written.
        inherit(&self.file, &self.name);
        self.file.sync_all().map_err(failed)?;
        let mut partial = self.cleanup.lock();
        match std::mem::take(&mut *partial) {
            Partial::Named(temporary) => temporary
                .persist(&self.name)
                .map_err(|error| failed(error.error))?,
            Partial::None | Partial::Cancelled => {
                *partial = Partial::Cancelled;
                return Err(Error::cancelled());
            }
        }
        drop(partial);
        store_folder(&self.name);
        Ok(())
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        let mut partial = self.cleanup.lock();
        if matches!(*partial, Partial::Named(_)) {
            *partial = Partial::None;
        }
    }
}

/// Stores a file and renames it.
pub(crate) fn name(file: &File, partial: &Path, destination: &Path) -> io::Result<()> {
    inherit(file, destination);
    file.sync_all()?;
    fs::rename(partial, destination)?;
    store_folder(destination);
    Ok(())
}

/// The partial of the caller's own at `path`, open to be read and written: the one that is there, or a new one that
/// appears with the bytes of `head`, so that of several processes that begin it none sees it without. Whether it is new
/// comes with it.
pub(crate) fn open_own(path: &Path, destination: &Path, head: &[u8]) -> io::Result<(File, bool)> {
    for _ in 0..ATTEMPTS {
        // Looked at before it is opened: opening a FIFO would wait, and a link would lead elsewhere.
        match fs::symlink_metadata(path) {
            Ok(metadata) if !metadata.is_file() => {
                return Err(io::Error::other("what is there is not a regular file"));
            }
            Ok(_) => match fs::OpenOptions::new().read(true).write(true).open(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => return Ok((opened?, false)),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let mut begun = builder(destination)
            .prefix(&prefix_of(path))
            .suffix(SUFFIX)
            .rand_bytes(RANDOM)
            .tempfile_in(folder_of(path))?;
        io::Write::write_all(&mut begun, head)?;
        match begun.persist_noclobber(path) {
            Ok(file) => {
                store_folder(path);
                return Ok((file, true));
            }
            // Another process was first.
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.error),
        }
    }
    Err(io::Error::other(
        "other processes begin and remove it all the time",
    ))
}

/// The folder of the caller's own at `path`, or a new one with what `fill` puts into it. Whether it is new.
pub(crate) fn open_own_folder(
    path: &Path,
    fill: &mut dyn FnMut(&Path) -> io::Result<()>,
) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => return Ok(false),
        Ok(_) => return Err(io::Error::other("what is there is not a folder")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
    let begun = builder
        .prefix(&prefix_of(path))
        .suffix(SUFFIX)
        .rand_bytes(RANDOM)
        .tempdir_in(folder_of(path))?;
    fill(begun.path())?;
    match fs::rename(begun.path(), path) {
        Ok(()) => {
            // It has its name now; what it was called is not to be removed.
            let _ = begun.keep();
            store_folder(path);
            Ok(true)
        }
        // Another process was first: no folder is renamed over one that holds something.
        Err(_) if path.is_dir() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes what killed processes left of the file at `path`. Partials whose writer lives stay. What cannot be removed
/// stays, too: it harms nobody.
pub fn remove_leftovers(path: &Path) {
    // Looking for the place of a FIFO opens it, and waits for who reads it.
    if place::is_stream(path) {
        return;
    }
    if let Ok(Place::File(name)) = place::find(path) {
        remove_leftovers_of(&name);
    }
}

pub(crate) fn remove_leftovers_of(name: &Path) {
    let prefix = prefix_of(name);
    let Ok(entries) = fs::read_dir(folder_of(name)) else {
        return;
    };
    for entry in entries.flatten() {
        if is_partial(&entry.file_name().to_string_lossy(), &prefix) {
            remove_if_dead(&entry.path());
        }
    }
}

/// Whether a name is that of a partial with this prefix.
fn is_partial(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix)
        .and_then(|rest| rest.strip_suffix(SUFFIX))
        .is_some_and(|random| {
            random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
}

fn remove_if_dead(path: &Path) {
    // Looked at before it is opened: opening a FIFO would wait.
    let regular = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file());
    // Some file systems lock only what is open for writing.
    let opened = regular.then(|| fs::OpenOptions::new().read(true).write(true).open(path));
    let Some(Ok(file)) = opened else {
        return;
    };
    // A writer that is done has released the lock and renamed the file: the name must still be that of what is locked.
    if file.try_lock().is_ok() && is_at(&file, path) {
        let _ = fs::remove_file(path);
    }
}

/// Whether an open file has this name. Where the system does not say, it has.
fn is_at(file: &File, path: &Path) -> bool {
    match Identity::of_open(file) {
        Some(identity) => Identity::of(path).is_ok_and(|found| found == identity),
        None => path.exists(),
    }
}

/// The start of the names of partials for a file. Names have at most 255 bytes on most file systems.
fn prefix_of(name: &Path) -> String {
    let stem = name.file_name().unwrap_or_default().to_string_lossy();
    [".", &stem.chars().take(48).collect::<String>(), "."].concat()
}

/// The times a partial is created anew where another process took it for a leftover before it was locked.
const ATTEMPTS: usize = 16;

/// A new, locked file beside `name`.
fn create(name: &Path) -> io::Result<(File, TempPath)> {
    for _ in 0..ATTEMPTS {
        let (file, temporary) = builder(name)
            .prefix(&prefix_of(name))
            .suffix(SUFFIX)
            .rand_bytes(RANDOM)
            .tempfile_in(folder_of(name))?
            .into_parts();
        match file.try_lock() {
            Ok(()) if !is_at(&file, &temporary) => continue,
            Err(fs::TryLockError::WouldBlock) => continue,
            // Where the file system has no locks, nobody gets one to remove a leftover either.
            Ok(()) | Err(fs::TryLockError::Error(_)) => {}
        }
        inherit(&file, name);
        return Ok((file, temporary));
    }
    Err(io::Error::other("other processes remove every partial file"))
}

/// A builder of partials: for the user alone where another file is replaced, whose permissions follow, else with the
/// permissions that the umask leaves.
#[cfg_attr(
    not(unix),
    expect(unused_variables, unused_mut, reason = "permissions are those of Unix")
)]
fn builder<'a>(name: &Path) -> tempfile::Builder<'a, 'a> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    if fs::metadata(name).is_err() {
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    }
    builder
}

fn not_created(name: &Path, error: io::Error) -> Error {
    // What the system says of the name itself: that of the temporary file tells nobody anything.
    let error = match fs::symlink_metadata(name) {
        Err(plain) if plain.kind() == error.kind() => plain,
        _ => error,
    };
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename => {
            unreachable(error)
        }
        io::ErrorKind::PermissionDenied => Error::new("its folder does not allow new files", Some(error)),
        _ => Error::new("no file can be created in its folder", Some(error)),
    }
}

/// Hands permissions, owner and group of the file at `name` on, where there is one and as far as the system allows.
#[cfg(unix)]
fn inherit(file: &File, name: &Path) {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    const SET_USER: u32 = 0o4000;
    const SET_GROUP: u32 = 0o2000;
    let (Ok(there), Ok(here)) = (fs::metadata(name), file.metadata()) else {
        return;
    };
    let mut mode = there.mode() & 0o7777;
    // Only an administrator may give files away, and a user may hand them to their own groups alone.
    if there.uid() != here.uid() && fchown(file, Some(there.uid()), None).is_err() {
        mode &= !SET_USER;
    }
    if there.gid() != here.gid() && fchown(file, None, Some(there.gid())).is_err() {
        // Another group gets no more than everybody has.
        mode &= !SET_GROUP & (!0o070 | (mode & 0o007) << 3);
    }
    // Where that is refused the file keeps the permissions it was created with, which give less.
    let _ = file.set_permissions(fs::Permissions::from_mode(mode));
}

#[cfg(not(unix))]
fn inherit(_: &File, _: &Path) {}

/// Asks the system to store the new name. Not every file system can; the file itself is stored by now.
fn store_folder(name: &Path) {
    if cfg!(unix)
        && let Ok(folder) = File::open(folder_of(name))
    {
        let _ = folder.sync_all();
    }
}
