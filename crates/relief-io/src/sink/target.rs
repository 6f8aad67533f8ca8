//! Where the bytes of a raster go: a file, which appears under its name when it is complete, or something that takes
//! the bytes as they come.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use relief_atomic::{AtomicFile, Cleanup, Opened};

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

/// What is left to do when all bytes are written.
#[derive(Debug)]
pub(super) enum Ending {
    /// Nothing: the bytes are where they belong.
    Written,
    /// Make the file appear that was asked for at this path.
    Appear(PathBuf, AtomicFile),
}

impl Ending {
    /// Makes the file appear under its name.
    pub(super) fn complete(self) -> Result<(), SinkError> {
        match self {
            Self::Written => Ok(()),
            Self::Appear(path, file) => file.complete().map_err(|error| refused(path, error)),
        }
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

/// Has a pipe hold more than the 64 KiB of default, so that writer and reader wait for one another less often: a pipe of 1 MiB carries several times as
/// much. What is no pipe, or must not grow, stays as it is.
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
    let name = path.display().to_string();
    match relief_atomic::open(&path, cleanup).map_err(|error| refused(path.clone(), error))? {
        Opened::Stream(file) => {
            widen_pipe(&file);
            Ok((Output::new(name, Box::new(file)), Ending::Written))
        }
        Opened::Whole(file) => {
            let copy = || {
                file.file().try_clone().map_err(|source| SinkError::Destination {
                    path: path.clone(),
                    reason: "it cannot be opened",
                    source: Some(source),
                })
            };
            let output = Output::new(name, Box::new(copy()?)).with_places(copy()?);
            Ok((output, Ending::Appear(path, file)))
        }
    }
}

pub(super) fn refused(path: PathBuf, error: relief_atomic::Error) -> SinkError {
    if error.is_cancelled() {
        return SinkError::Cancelled { path };
    }
    let (reason, source) = error.into_parts();
    SinkError::Destination { path, reason, source }
}
