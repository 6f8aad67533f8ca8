//! The file that a job is written to.
//!
//! A regular file is written beside its name and gets it when the job is done: whatever had the name stays until then,
//! and half a job never looks like a whole one. A job with a manifest is written to `NAME.partial`, where it is taken up
//! again; without one nobody could take it up, so a temporary file does, which goes away where the job does not end. A
//! FIFO or a device takes the bytes as they come.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tempfile::TempPath;

use crate::frame::HEADER;
use crate::manifest::{followed, store_folder};

use super::ahead::Shared;

/// The time between two looks at whether the job goes on, where a reader is waited for.
#[cfg(unix)]
const LOOK: Duration = Duration::from_millis(20);

/// A file that nobody can go on with: dropping it removes it.
pub(super) type Leftover = Arc<Mutex<Option<TempPath>>>;

/// What a job is written to.
#[derive(Debug)]
pub(super) struct Output {
    file: File,
    /// The name that it gets.
    name: PathBuf,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// Where the bytes belong: there is nothing to rename, and nothing to store.
    There,
    /// Beside the name, to be taken up.
    Beside(PathBuf),
    /// Beside the name, for this process alone.
    Temporary(Leftover),
}

/// The name of the file that a job with a manifest is written to until it is done.
pub(super) fn partial(name: &Path) -> PathBuf {
    let mut partial: OsString = name.as_os_str().to_owned();
    partial.push(".partial");
    PathBuf::from(partial)
}

/// Whether bytes stay where they are written to `path`: it is a regular file, or will be one. What is reached by way of
/// the system's own folders is someone's open file.
fn is_kept(path: &Path) -> bool {
    let opened = path.starts_with("/dev") || path.starts_with("/proc");
    !opened && fs::metadata(path).map_or(true, |metadata| metadata.is_file())
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
        if !is_kept(path) {
            if recorded {
                let text = "it is no regular file, so a job into it cannot be taken up and has no manifest";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
            return Ok(Self {
                file: open_stream(shared, path)?,
                name: path.to_owned(),
                place: Place::There,
            });
        }
        let name = followed(path);
        if !recorded {
            return Self::temporary(shared, name);
        }
        let beside = partial(&name);
        let file = match bytes {
            Some(bytes) => taken_up(&beside, bytes)?,
            None => begun(&beside)?,
        };
        Ok(Self {
            file,
            name,
            place: Place::Beside(beside),
        })
    }

    fn temporary(shared: &Shared<'_>, name: PathBuf) -> io::Result<Self> {
        let folder = name.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut prefix = OsString::from(".");
        prefix.push(name.file_name().ok_or(io::ErrorKind::IsADirectory)?);
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(".partial");
        // The system takes away what its user does not allow.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let made = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
        let (file, temporary) = made.into_parts();
        let leftover = shared.leftover.clone();
        *leftover.lock().unwrap_or_else(PoisonError::into_inner) = Some(temporary);
        Ok(Self {
            file,
            name,
            place: Place::Temporary(leftover),
        })
    }

    /// Has the system store what was written.
    pub(super) fn store(&self) -> io::Result<()> {
        match self.place {
            Place::There => Ok(()),
            Place::Beside(_) | Place::Temporary(_) => self.file.sync_data(),
        }
    }

    /// Gives the file its name: the job is done and stored. A file that had the name is replaced and leaves it its
    /// permissions.
    pub(super) fn publish(&self) -> io::Result<()> {
        if matches!(self.place, Place::There) {
            return Ok(());
        }
        if let Ok(metadata) = fs::metadata(&self.name) {
            self.file.set_permissions(metadata.permissions())?;
        }
        match &self.place {
            Place::There => {}
            Place::Beside(beside) => fs::rename(beside, &self.name)?,
            Place::Temporary(leftover) => {
                let mut leftover = leftover.lock().unwrap_or_else(PoisonError::into_inner);
                let temporary = leftover.take().ok_or(io::ErrorKind::NotFound)?;
                temporary.persist(&self.name).map_err(|error| error.error)?;
            }
        }
        store_folder(&self.name);
        Ok(())
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
    let name = followed(path);
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
    use std::os::unix::fs::OpenOptionsExt;

    let flags = rustix::fs::OFlags::NONBLOCK.bits();
    let mut options = OpenOptions::new();
    options.append(true).custom_flags(flags as i32);
    let nobody_reads = Some(rustix::io::Errno::NXIO.raw_os_error());
    loop {
        match options.open(path) {
            Err(error) if error.raw_os_error() == nobody_reads => {
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
