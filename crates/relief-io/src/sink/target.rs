//! Where the bytes of a raster go, and how a file appears under its name only when it is complete.
//!
//! A regular file is written under a temporary name beside its own and renamed at the end, after the system has
//! been asked to store it: a reader sees the old file or the new one, never a part. A device, a FIFO or a writer
//! takes the bytes as they come, for there is nothing to rename.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tempfile::TempPath;

use super::SinkError;
use super::output::Output;

/// Where the bytes of a raster go.
pub enum Target {
    /// A path: a file, which appears or is replaced when the raster is complete, or a device or FIFO that exists.
    Path(PathBuf),
    /// The standard output of this process, as bytes.
    Stdout,
    /// Any writer.
    Writer(Box<dyn Write + Send>),
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path(path) => f.debug_tuple("Path").field(path).finish(),
            Self::Stdout => f.write_str("Stdout"),
            Self::Writer(_) => f.write_str("Writer(..)"),
        }
    }
}

/// Removes a partial file, from any thread: for the handler of an interrupt, which ends the process without
/// dropping the sink.
#[derive(Clone, Debug, Default)]
pub struct Cleanup(Arc<Mutex<Partial>>);

/// The file that a sink is writing.
#[derive(Debug, Default)]
enum Partial {
    /// None yet, or none any more.
    #[default]
    None,
    /// It has this temporary name; dropping that removes the file.
    Named(TempPath),
    /// No file may appear any more.
    Cancelled,
}

impl Cleanup {
    /// Removes the partial file, if there is one, and keeps the sink from making its file appear. A file that is
    /// complete stays.
    pub fn remove(&self) {
        *self.lock() = Partial::Cancelled;
    }

    /// The temporary name of the file being written.
    #[must_use]
    pub fn temporary_path(&self) -> Option<PathBuf> {
        match &*self.lock() {
            Partial::Named(path) => Some(path.to_path_buf()),
            Partial::None | Partial::Cancelled => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Partial> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is left to do when all bytes are written.
#[derive(Debug)]
pub(super) enum Ending {
    /// Nothing: the bytes are where they belong.
    Written,
    /// Store the file and rename it.
    Rename {
        file: File,
        name: PathBuf,
        cleanup: Cleanup,
    },
}

impl Ending {
    /// Makes the file appear under its name.
    pub(super) fn complete(self) -> Result<(), SinkError> {
        let Self::Rename { file, name, cleanup } = &self else {
            return Ok(());
        };
        let failed = |source| SinkError::Destination {
            path: name.clone(),
            reason: "the finished file could not be stored under its name",
            source: Some(source),
        };
        file.sync_all().map_err(failed)?;
        let mut partial = cleanup.lock();
        match std::mem::take(&mut *partial) {
            Partial::Named(temporary) => temporary.persist(name).map_err(|error| failed(error.error))?,
            Partial::None | Partial::Cancelled => {
                *partial = Partial::Cancelled;
                return Err(SinkError::Cancelled { path: name.clone() });
            }
        }
        drop(partial);
        store_folder(name);
        Ok(())
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Self::Rename { cleanup, .. } = self {
            let mut partial = cleanup.lock();
            if matches!(*partial, Partial::Named(_)) {
                *partial = Partial::None;
            }
        }
    }
}

/// Asks the system to store the new name. Not every file system can; the raster itself is stored by now.
fn store_folder(name: &Path) {
    if cfg!(unix)
        && let Ok(folder) = File::open(folder_of(name))
    {
        let _ = folder.sync_all();
    }
}

/// Opens the target for writing.
pub(super) fn open(target: Target, cleanup: &Cleanup) -> Result<(Output, Ending), SinkError> {
    match target {
        Target::Writer(writer) => Ok((Output::new("the output".to_owned(), writer), Ending::Written)),
        Target::Stdout => {
            let name = "the standard output".to_owned();
            match stdout() {
                Ok(file) => {
                    widen_pipe(&file);
                    Ok((Output::new(name, Box::new(file)), Ending::Written))
                }
                Err(source) => Err(SinkError::Write {
                    name,
                    written: 0,
                    source,
                }),
            }
        }
        Target::Path(path) => open_path(path, cleanup),
    }
}

/// The bytes that a pipe is asked to hold: as many as Linux allows to anyone by default.
#[cfg(target_os = "linux")]
const PIPE: usize = 1 << 20;

/// Has a pipe hold more than the 64 KiB of default, so that writer and reader wait for one another less often: on two
/// cores of a Xeon `dd` moved 3.5 GB/s instead of 1.1 through a pipe of 1 MiB (2026-11-21). What is no pipe, or must
/// not grow, stays as it is.
#[cfg(target_os = "linux")]
fn widen_pipe(file: &File) {
    let _ = rustix::pipe::fcntl_setpipe_size(file, PIPE);
}

#[cfg(not(target_os = "linux"))]
fn widen_pipe(_: &File) {}

/// The standard output without the line buffer of [`io::stdout`], which would look for line ends in samples.
#[cfg(unix)]
fn stdout() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
fn stdout() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    io::stdout().as_handle().try_clone_to_owned().map(File::from)
}

fn open_path(path: PathBuf, cleanup: &Cleanup) -> Result<(Output, Ending), SinkError> {
    let (name, exists) = resolve(&path)?;
    match exists {
        Some(kind) if kind.is_dir() => Err(refused(path, "it is a folder", None)),
        Some(kind) if !kind.is_file() => {
            // Neither created nor cut: a device or a FIFO takes the bytes as they come.
            match OpenOptions::new().write(true).open(&name) {
                Ok(file) => {
                    widen_pipe(&file);
                    let output = Output::new(path.display().to_string(), Box::new(file));
                    Ok((output, Ending::Written))
                }
                Err(error) => Err(refused(path, "it cannot be opened", Some(error))),
            }
        }
        _ => open_beside(path, name, cleanup),
    }
}

/// Opens a temporary file beside `name`, which it is to replace.
fn open_beside(path: PathBuf, name: PathBuf, cleanup: &Cleanup) -> Result<(Output, Ending), SinkError> {
    let mut partial = cleanup.lock();
    if matches!(*partial, Partial::Cancelled) {
        return Err(SinkError::Cancelled { path });
    }
    let opened =
        temporary_beside(&name).and_then(|(file, temporary)| Ok((file.try_clone()?, file, temporary)));
    let (copy, file, temporary) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            let reason = match error.kind() {
                io::ErrorKind::NotFound => "its folder does not exist",
                io::ErrorKind::NotADirectory => "its folder is a file",
                io::ErrorKind::PermissionDenied => "its folder does not allow new files",
                _ => "no file can be created in its folder",
            };
            return Err(refused(path, reason, Some(error)));
        }
    };
    *partial = Partial::Named(temporary);
    let output = Output::new(path.display().to_string(), Box::new(file));
    Ok((
        output,
        Ending::Rename {
            file: copy,
            name,
            cleanup: cleanup.clone(),
        },
    ))
}

/// A new file in the folder of `name`, with the permissions of any new file: those that the umask leaves.
fn temporary_beside(name: &Path) -> io::Result<(File, TempPath)> {
    let stem = name.file_name().unwrap_or_default().to_string_lossy();
    // Names are at most 255 bytes on most file systems.
    let prefix: String = [".", &stem.chars().take(48).collect::<String>(), "."].concat();
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".partial");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    Ok(builder.tempfile_in(folder_of(name))?.into_parts())
}

/// The name to write and what is there. Links to a file are followed, so that it is replaced and not the link.
fn resolve(path: &Path) -> Result<(PathBuf, Option<fs::FileType>), SinkError> {
    if path.file_name().is_none() {
        return Err(refused(path.to_owned(), "it is not the name of a file", None));
    }
    let is_link = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() && is_link => match fs::canonicalize(path) {
            Ok(name) => Ok((name, Some(metadata.file_type()))),
            Err(error) => Err(refused(
                path.to_owned(),
                "its link cannot be followed",
                Some(error),
            )),
        },
        Ok(metadata) => Ok((path.to_owned(), Some(metadata.file_type()))),
        Err(error) if is_link => Err(refused(
            path.to_owned(),
            "it is a link that leads nowhere",
            Some(error),
        )),
        // What is wrong with a folder on the way shows when the temporary file is created.
        Err(_) => Ok((path.to_owned(), None)),
    }
}

fn refused(path: PathBuf, reason: &'static str, source: Option<io::Error>) -> SinkError {
    SinkError::Destination { path, reason, source }
}

fn folder_of(name: &Path) -> &Path {
    match name.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
