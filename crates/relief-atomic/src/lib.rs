//! Files that appear whole or not at all.
//!
//! A file is written under a temporary name beside its own, the *partial* `.NAME.XXXXXXXXXXXX.partial`, and renamed
//! when it is complete and stored. A reader sees the old file or the new one, never a part. [`open`] gives a file to
//! write piece by piece, [`replace`] writes one at once.
//!
//! - A link is followed: the file that it leads to is replaced, the link stays.
//! - A file that is replaced hands its permissions on, and its owner and group as far as the system allows. A new
//!   file has the permissions that the umask leaves. Access lists and extended attributes are not handed on.
//! - A file that may not be written is refused, although its folder would allow replacing it.
//! - The file is stored before it is renamed, and its folder afterwards, where the file system can do that.
//! - A partial goes away on every path, also by a [`Cleanup`] from another thread. That of a process that was killed
//!   goes away when the same file is written next: the writer of a partial holds a lock on it, which ends with the
//!   process. Computers that share a folder without sharing its locks must not write the same file at a time.
//! - Devices, FIFOs and what `/proc/self/fd/N` or `/dev/stdout` stand for take the bytes as they come: there is
//!   nothing to rename, and what they lead to is not the caller's to replace.

mod cleanup;
mod error;
mod identity;
mod partial;
mod place;
mod room;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

pub use cleanup::Cleanup;
pub use error::Error;
pub use identity::Identity;
pub use partial::{AtomicFile, remove_leftovers};
pub use place::{is_standard_output, is_stream};
pub use room::{Room, held, room};

use partial::{name, remove_leftovers_of};
use place::Place;

/// What was opened to be written.
#[derive(Debug)]
pub enum Opened {
    /// A file that appears under its name by [`AtomicFile::complete`].
    Whole(AtomicFile),
    /// A device, a FIFO or a file that is open already: it takes the bytes as they come.
    Stream(File),
}

/// Opens `path` to be written, and removes what killed processes left of the same file.
///
/// # Errors
/// Where no file can be at `path`, or what is there may not be written or replaced; [`Error::is_cancelled`] where
/// [`Cleanup::remove`] was called before.
pub fn open(path: &Path, cleanup: &Cleanup) -> Result<Opened, Error> {
    match place::find(path)? {
        Place::Stream(file) => Ok(Opened::Stream(file)),
        Place::File(name) => {
            remove_leftovers_of(&name);
            AtomicFile::create(name, cleanup).map(Opened::Whole)
        }
    }
}

/// The file that appears or is replaced where `path` is written: where its links lead. For a partial of the caller's
/// own, which a later process goes on with; [`rename`] gives it the name. What [takes bytes as they
/// come](is_stream) has none.
///
/// # Errors
/// Where no file can be at `path`, or what is there may not be written or replaced.
pub fn destination(path: &Path) -> Result<PathBuf, Error> {
    if is_stream(path) {
        return Err(Error::new("it is not a regular file", None));
    }
    match place::find(path)? {
        Place::Stream(_) => Err(Error::new("it is not a regular file", None)),
        Place::File(name) => Ok(name),
    }
}

/// Opens a partial of the caller's own for a [`destination`], to be read and written: the file at `partial` that an
/// earlier or another process began, or a new one that holds `head`. It says whether the file is new. A new file
/// appears with its head, so that several processes may begin it at a time.
///
/// # Errors
/// Where it can be neither opened nor created.
pub fn open_partial(partial: &Path, destination: &Path, head: &[u8]) -> Result<(File, bool), Error> {
    partial::open_own(partial, destination, head).map_err(|source| {
        let reason = "its partial file cannot be opened or created";
        Error::new(reason, Some(source))
    })
}

/// Opens a folder of the caller's own at `partial`: the one that is there, or a new one that appears with what `fill` puts into
/// it. It says whether the folder is new.
///
/// # Errors
/// Where something else is there, or it cannot be created and filled.
pub fn open_partial_folder(
    partial: &Path,
    fill: &mut dyn FnMut(&Path) -> std::io::Result<()>,
) -> std::io::Result<bool> {
    partial::open_own_folder(partial, fill)
}

/// Gives a partial of the caller's own, which is open as `file`, the name of a [`destination`]: permissions and owner
/// are handed on, the file and its name are stored.
///
/// # Errors
/// Where the system cannot store or rename it. The partial stays then.
pub fn rename(file: &File, partial: &Path, destination: &Path) -> Result<(), Error> {
    name(file, partial, destination).map_err(|source| {
        let reason = "the finished file could not be stored under its name";
        Error::new(reason, Some(source))
    })
}

/// Writes all of `bytes` to `path`. It does not look for what killed processes left: see [`remove_leftovers`].
///
/// # Errors
/// Where no file can be at `path`, what is there may not be written or replaced, or writing fails. A file that was
/// there is then as it was.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = |source| Error::new("writing failed", Some(source));
    match place::find(path)? {
        Place::Stream(mut file) => file.write_all(bytes).map_err(failed),
        Place::File(name) => {
            let file = AtomicFile::create(name, &Cleanup::default())?;
            let mut writer = file.file();
            writer.write_all(bytes).map_err(failed)?;
            file.complete()
        }
    }
}

/// The page of the package, whose examples are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
