//! The file that a job is written to.
//!
//! A regular file is written beside its name and gets it when the job is done: whatever had the name stays until then,
//! and half a job never looks like a whole one. A job with a manifest is written to `NAME.partial`, where it is taken up
//! again; without one nobody could take it up, so a temporary file does, which goes away where the job does not end. A
//! FIFO or a device takes the bytes as they come.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use relief_atomic::{AtomicFile, Opened, destination, is_stream};

use crate::frame::HEADER;

use super::ahead::Shared;

/// The time between two looks at whether the job goes on, where a reader is waited for.
#[cfg(unix)]
const LOOK: Duration = Duration::from_millis(20);

/// What a job is written to.
#[derive(Debug)]
pub(super) struct Output {
    file: File,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// Where the bytes belong: there is nothing to rename, and nothing to store.
    There,
    /// Beside the name that it gets, to be taken up.
    Beside { partial: PathBuf, name: PathBuf },
    /// Beside the name, for this process alone; dropping it removes it.
    Temporary(Mutex<Option<AtomicFile>>),
}

/// The name of the file that a job with a manifest is written to until it is done.
fn partial(name: &Path) -> PathBuf {
    let mut partial = name.as_os_str().to_owned();
    partial.push(".partial");
    PathBuf::from(partial)
}

impl Output {
    /// Opens what a job is written to that holds so many bytes already; `None` where the job is new to it. `recorded`
    /// says whether it has a manifest.
    pub(super) fn open(
        shared: &Shared<'_>,
        path: &Path,
        bytes: Option<u64>,
        recorded: bool,
    ) -> io::Result<Self> {
        match (is_stream(path), recorded) {
            (true, true) => {
                let text =
                    "it is not a regular file, so a job into it cannot be taken up and has no manifest";
                Err(io::Error::new(io::ErrorKind::InvalidInput, text))
            }
            (true, false) => Ok(Self {
                file: open_stream(shared, path)?,
                place: Place::There,
            }),
            (false, true) => {
                let name = destination(path)?;
                let partial = partial(&name);
                let file = match bytes {
                    Some(bytes) => taken_up(&partial, bytes)?,
                    None => begun(&partial)?,
                };
                let place = Place::Beside { partial, name };
                Ok(Self { file, place })
            }
            (false, false) => match relief_atomic::open(path, &shared.cleanup)? {
                Opened::Whole(whole) => Ok(Self {
                    file: whole.file().try_clone()?,
                    place: Place::Temporary(Mutex::new(Some(whole))),
                }),
                Opened::Stream(file) => Ok(Self {
                    file,
                    place: Place::There,
                }),
            },
        }
    }

    /// Has the system store what was written.
    pub(super) fn store(&self) -> io::Result<()> {
        match self.place {
            Place::There => Ok(()),
            Place::Beside { .. } | Place::Temporary(_) => self.file.sync_data(),
        }
    }

    /// Gives the file its name: the job is done. A file that had the name is replaced.
    pub(super) fn publish(&self) -> io::Result<()> {
        match &self.place {
            Place::There => Ok(()),
            Place::Beside { partial, name } => Ok(relief_atomic::rename(&self.file, partial, name)?),
            Place::Temporary(whole) => {
                let whole = whole.lock().unwrap_or_else(PoisonError::into_inner).take();
                Ok(whole.map_or(Ok(()), AtomicFile::complete)?)
            }
        }
    }
}

/// A new file, which no other job may have. An empty one is that of a sender that was ended before its manifest knew of
/// it.
fn begun(beside: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).open(beside)?;
    lock(&file)?;
    if file.metadata()?.len() > 0 {
        let text = format!(
            "{} holds a job that has not ended; --resume with its manifest goes on with it, or remove it",
            beside.display()
        );
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
    }
    Ok(file)
}

/// A file that holds so many bytes to go on after.
fn taken_up(beside: &Path, bytes: u64) -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).open(beside).map_err(|error| {
        let text = format!(
            "{}, which holds what was written before: {error}",
            beside.display()
        );
        io::Error::new(error.kind(), text)
    })?;
    lock(&file)?;
    let found = file.metadata()?.len();
    if found < bytes {
        let text = format!("it has {found} bytes, {bytes} of them were written before");
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    file.set_len(bytes)?;
    file.seek(SeekFrom::Start(bytes))?;
    Ok(file)
}

fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            "another sender is writing to it",
        )),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether a job was done and its file has its name, though its manifest does not know: the sender was ended between
/// the two. `bytes` is what its lines take.
pub(super) fn is_published(path: &Path, bytes: u64, raw: bool) -> bool {
    let Ok(name) = destination(path) else {
        return false;
    };
    let end = if raw { 0 } else { HEADER as u64 };
    let whole = |metadata: fs::Metadata| metadata.is_file() && metadata.len() == bytes + end;
    !partial(&name).exists() && fs::metadata(name).is_ok_and(whole)
}

/// Writes to an output; ends where the job does while a reader is waited for.
pub(super) struct Writer<'a, 'b> {
    pub(super) output: Arc<Output>,
    pub(super) shared: &'a Shared<'b>,
}

impl Write for Writer<'_, '_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        loop {
            match (&self.output.file).write(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !self.shared.lock().course.goes_on() {
                        return Err(io::ErrorKind::ConnectionAborted.into());
                    }
                    wait(&self.output.file)?;
                }
                done => return done,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Opens a FIFO or a device. Neither opening nor writing waits in the system for a reader, where nobody could end it.
#[cfg(unix)]
fn open_stream(shared: &Shared<'_>, path: &Path) -> io::Result<File> {
    use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

    let flags = rustix::fs::OFlags::NONBLOCK.bits();
    let mut options = OpenOptions::new();
    options.append(true).custom_flags(flags as i32);
    let is_fifo = fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo());
    let nobody_reads = is_fifo.then_some(rustix::io::Errno::NXIO.raw_os_error());
    loop {
        match options.open(path) {
            Err(error) if is_fifo && error.raw_os_error() == nobody_reads => {
                let state = shared.lock();
                if !state.course.goes_on() {
                    return Err(io::ErrorKind::ConnectionAborted.into());
                }
                drop(shared.wait_for(state, LOOK));
            }
            done => return done,
        }
    }
}

#[cfg(not(unix))]
fn open_stream(_: &Shared<'_>, path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).open(path)
}

/// Waits a moment until a file can be written to.
#[cfg(unix)]
fn wait(file: &File) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let mut files = [PollFd::new(file, PollFlags::OUT)];
    let time = Timespec {
        tv_sec: 0,
        tv_nsec: LOOK.subsec_nanos().into(),
    };
    match poll(&mut files, Some(&time)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(unix))]
fn wait(_: &File) -> io::Result<()> {
    std::thread::sleep(Duration::from_millis(20));
    Ok(())
}
