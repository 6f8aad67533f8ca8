//! What a path means to a writer: a file to replace, or something that takes bytes as they come.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// What a path means.
#[derive(Debug)]
pub(crate) enum Place {
    /// A file that is to appear under this name, or to be replaced; no link.
    File(PathBuf),
    /// Something that is open now and takes the bytes as they come.
    Stream(File),
}

/// Finds out what `path` means. Checks whatever would else fail only when the file is complete.
pub(crate) fn find(path: &Path) -> Result<Place, Error> {
    if path.file_name().is_none() {
        return refused("it is not the name of a file");
    }
    if let Some(link) = descriptor(path) {
        return match open_descriptor(&link) {
            Ok(file) => Ok(Place::Stream(file)),
            Err(error) => Err(Error::new("it cannot be opened", Some(error))),
        };
    }
    let is_link = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if is_link && error.kind() == io::ErrorKind::NotFound => {
            return Err(Error::new("it is a link that leads nowhere", Some(error)));
        }
        // Whether its folder is there shows when the partial file is created.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return if ends_with_separator(path) {
                refused("it is the name of a folder")
            } else {
                Ok(Place::File(path.to_owned()))
            };
        }
        Err(error) => return Err(unreachable(error)),
    };
    if metadata.is_dir() {
        return refused("it is a folder");
    }
    if !metadata.is_file() {
        // Neither created nor cut.
        return match OpenOptions::new().write(true).open(path) {
            Ok(file) => Ok(Place::Stream(file)),
            Err(error) => Err(Error::new("it cannot be opened", Some(error))),
        };
    }
    let name = if is_link {
        fs::canonicalize(path).map_err(|error| Error::new("its link cannot be followed", Some(error)))?
    } else {
        path.to_owned()
    };
    may_be_replaced(&name, &metadata)?;
    Ok(Place::File(name))
}

/// The folder that a name lies in.
pub(crate) fn folder_of(name: &Path) -> &Path {
    match name.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Whether a path stands for the standard output of this process, as `/dev/stdout` does.
#[must_use]
pub fn is_standard_output(path: &Path) -> bool {
    descriptor(path).is_some_and(|link| number(&link) == Some(1))
}

/// Whether `path` takes bytes as they come: it is a device, a FIFO, or a file that is open already. Nothing is opened.
#[must_use]
pub fn is_stream(path: &Path) -> bool {
    let other = |metadata: Metadata| !metadata.is_file() && !metadata.is_dir();
    descriptor(path).is_some() || fs::metadata(path).is_ok_and(other)
}

fn refused<T>(reason: &'static str) -> Result<T, Error> {
    Err(Error::new(reason, None))
}

/// Why a name cannot even be looked at.
pub(crate) fn unreachable(error: io::Error) -> Error {
    let reason = match error.kind() {
        io::ErrorKind::NotFound => "its folder does not exist",
        io::ErrorKind::NotADirectory => "its folder is a file",
        io::ErrorKind::InvalidFilename => "its name is too long",
        io::ErrorKind::PermissionDenied => "its folder may not be used",
        _ => "it cannot be looked at",
    };
    Error::new(reason, Some(error))
}

fn ends_with_separator(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes
        .last()
        .is_some_and(|&byte| std::path::is_separator(char::from(byte)))
}

/// Whether a file that is there may be written: replacing it asks only its folder, which would let a file be replaced
/// that its owner has locked.
fn may_be_replaced(name: &Path, metadata: &Metadata) -> Result<(), Error> {
    if metadata.permissions().readonly() {
        return refused("it is read-only; make it writable or write to another file");
    }
    if let Err(error) = OpenOptions::new().write(true).open(name) {
        let reason = match error.kind() {
            io::ErrorKind::PermissionDenied => "it may not be written",
            _ => "it cannot be written",
        };
        return Err(Error::new(reason, Some(error)));
    }
    renamed_over(name, metadata)
}

/// Whether the system will let another file take the name.
#[cfg(unix)]
fn renamed_over(name: &Path, metadata: &Metadata) -> Result<(), Error> {
    use std::os::unix::fs::MetadataExt;
    let Ok(folder) = fs::metadata(folder_of(name)) else {
        return Ok(());
    };
    if folder.dev() != metadata.dev() {
        return refused("a file that is mounted by itself cannot be replaced; mount its folder");
    }
    const STICKY: u32 = 0o1000;
    let user = rustix::process::geteuid();
    if folder.mode() & STICKY != 0
        && !user.is_root()
        && ![folder.uid(), metadata.uid()].contains(&user.as_raw())
    {
        return refused("it belongs to another user, and its folder lets nobody else replace it");
    }
    Ok(())
}

#[cfg(not(unix))]
fn renamed_over(_: &Path, _: &Metadata) -> Result<(), Error> {
    Ok(())
}

/// The most links that lead from one to the next.
#[cfg(unix)]
const MAX_LINKS: usize = 40;

/// The name of an open file of a process that `path` leads to, such as `/proc/self/fd/1`: opening it gives what is
/// open, and what that is called elsewhere is not for us to replace.
#[cfg(unix)]
fn descriptor(path: &Path) -> Option<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        if lists_descriptors(folder_of(&path)) && fs::symlink_metadata(&path).is_ok() {
            return Some(path);
        }
        let next = fs::read_link(&path).ok()?;
        path = folder_of(&path).join(next);
    }
    None
}

#[cfg(not(unix))]
fn descriptor(_: &Path) -> Option<PathBuf> {
    None
}

#[cfg(target_os = "linux")]
fn lists_descriptors(folder: &Path) -> bool {
    rustix::fs::statfs(folder).is_ok_and(|system| system.f_type == rustix::fs::PROC_SUPER_MAGIC)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn lists_descriptors(folder: &Path) -> bool {
    fs::canonicalize(folder).is_ok_and(|folder| folder == Path::new("/dev/fd"))
}

/// The number of a descriptor of this process by its name.
fn number(link: &Path) -> Option<i32> {
    let folder = fs::canonicalize(folder_of(link)).ok()?;
    let own = Path::new("/proc").join(std::process::id().to_string()).join("fd");
    if folder != own && folder != Path::new("/dev/fd") {
        return None;
    }
    link.file_name()?.to_str()?.parse().ok()
}

/// What is open under the name of a descriptor, to go on where it stands.
fn open_descriptor(link: &Path) -> io::Result<File> {
    if let Some(own) = number(link).and_then(duplicate) {
        return own;
    }
    // Opened anew, a file would begin at its start: what is in it already stays.
    OpenOptions::new().append(true).open(link)
}

/// A descriptor of this process once more.
#[cfg(unix)]
fn duplicate(number: i32) -> Option<io::Result<File>> {
    use std::os::fd::AsFd;
    match number {
        1 => Some(io::stdout().as_fd().try_clone_to_owned().map(File::from)),
        2 => Some(io::stderr().as_fd().try_clone_to_owned().map(File::from)),
        _ => duplicate_any(number).map(Ok),
    }
}

#[cfg(not(unix))]
fn duplicate(_: i32) -> Option<io::Result<File>> {
    None
}

#[cfg(target_os = "linux")]
fn duplicate_any(number: i32) -> Option<File> {
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
    let own = pidfd_open(getpid(), PidfdFlags::empty()).ok()?;
    pidfd_getfd(own, number, PidfdGetfdFlags::empty())
        .ok()
        .map(File::from)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn duplicate_any(_: i32) -> Option<File> {
    None
}
