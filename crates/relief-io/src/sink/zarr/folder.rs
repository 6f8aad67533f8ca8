//! The unfinished folder of a store: chunks that appear by a rename, which of them are there, and how it gets its name.
//!
//! A chunk whose samples are all the fill value has no file. So which chunks are done is a file of its own, of one byte a chunk:
//! 1 where it is done. It is written after the disk has the chunks, and goes away with the last.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use relief_atomic::Identity;

use crate::sink::SinkError;
use crate::sink::positioned::{lock, read_at, write_all_at};
use crate::sink::tiles::Completion;

/// The file that says which chunks are done.
pub(in crate::sink) const DONE: &str = ".relief-done";

/// Chunks are stored and noted at latest after so many bytes.
const UNSTORED_BYTES: u64 = 64 << 20;

/// Chunks are stored and noted at latest after so many.
const UNSTORED_CHUNKS: usize = 1 << 16;

/// Bytes that are read at once.
const AT_ONCE: usize = 1 << 16;

/// What a store says of itself: the files of the group and of the array.
#[derive(Debug)]
pub(super) struct Metadata {
    pub(super) group: Vec<u8>,
    pub(super) array: Vec<u8>,
}

impl Metadata {
    /// Whether the folder is one of this store.
    fn is_at(&self, folder: &Path) -> bool {
        let same = |name: &str, bytes: &[u8]| fs::read(folder.join(name)).is_ok_and(|found| found == bytes);
        same("zarr.json", &self.group) && same("0/zarr.json", &self.array)
    }
}

/// The unfinished folder.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    partial: PathBuf,
    destination: PathBuf,
    done: File,
    chunks: u64,
    shared: bool,
    /// Whether it was begun by this process.
    is_new: bool,
    unstored: Mutex<(Vec<u64>, u64)>,
    written: AtomicU64,
    looked: Mutex<Option<(u64, Vec<u8>)>>,
}

/// The name without what separates it from the names in it.
fn named(path: &Path) -> PathBuf {
    // Components leave out what ends a path.
    path.components().collect()
}

/// Whether the store at `path` is complete, and this one.
pub(super) fn is_complete(path: &Path, metadata: &Metadata) -> bool {
    metadata.is_at(&named(path))
}

impl Folder {
    /// Opens the unfinished folder for `path`, or begins it.
    pub(super) fn open(
        path: &Path,
        metadata: &Metadata,
        chunks: u64,
        shared: bool,
    ) -> Result<Self, SinkError> {
        let destination = named(path);
        let refused = |reason, source| SinkError::Destination {
            path: path.to_owned(),
            reason,
            source,
        };
        if destination.file_name().is_none() {
            return Err(refused("it is not the name of a folder", None));
        }
        if fs::symlink_metadata(&destination).is_ok() {
            return Err(refused(
                "it is there already; remove it, or write to another folder",
                None,
            ));
        }
        let mut name = destination.clone().into_os_string();
        name.push(".partial");
        let partial = PathBuf::from(name);
        let failed = |source| refused("its folder cannot be opened or created", Some(source));
        let is_new = relief_atomic::open_partial_folder(&partial, &mut |folder| {
            fs::create_dir(folder.join("0"))?;
            fs::write(folder.join("zarr.json"), &metadata.group)?;
            fs::write(folder.join("0/zarr.json"), &metadata.array)?;
            File::create_new(folder.join(DONE))?.set_len(chunks)
        })
        .map_err(failed)?;
        if !metadata.is_at(&partial) {
            return Err(SinkError::OtherJob { partial });
        }
        let done = File::options().read(true).write(true).open(partial.join(DONE));
        let done = done.map_err(failed)?;
        // Where the folder was completed while its lock was waited for, its name is gone.
        let still = lock(&done, shared)
            && Identity::of_open(&done)
                .is_none_or(|open| Identity::of(&partial.join(DONE)).is_ok_and(|found| found == open));
        if !still {
            return Err(SinkError::Busy { partial });
        }
        Ok(Self {
            path: path.to_owned(),
            partial,
            destination,
            done,
            chunks,
            shared,
            is_new,
            unstored: Mutex::default(),
            written: AtomicU64::new(0),
            looked: Mutex::default(),
        })
    }

    /// Removes the folder where it was begun although the store is complete: another process completed it in between.
    pub(super) fn discard_new(&self) -> bool {
        self.is_new && fs::remove_dir_all(&self.partial).is_ok()
    }

    pub(super) fn failed(&self, source: io::Error) -> SinkError {
        SinkError::Write {
            name: self.path.display().to_string(),
            written: self.written.load(Ordering::Relaxed),
            source,
        }
    }

    /// Whether a chunk is done.
    pub(super) fn has(&self, chunk: u64) -> Result<bool, SinkError> {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((first, done)) = &*looked
            && let Some(at) = chunk.checked_sub(*first)
            && let Some(done) = done.get(usize::try_from(at).unwrap_or(usize::MAX))
        {
            return Ok(*done != 0);
        }
        let count = self.chunks.saturating_sub(chunk).min(AT_ONCE as u64);
        let mut done = vec![0; count as usize];
        read_at(&self.done, &mut done, chunk).map_err(|error| self.failed(error))?;
        let is_there = done.first().is_some_and(|&done| done != 0);
        *looked = Some((chunk, done));
        Ok(is_there)
    }

    /// Writes the file of the chunk in this column and row; `bytes` are `None` where all of it is the fill value.
    pub(super) fn write(
        &self,
        chunk: u64,
        (column, row): (u64, u64),
        bytes: Option<&[u8]>,
    ) -> Result<(), SinkError> {
        let folder = self.partial.join("0/c").join(row.to_string());
        let name = folder.join(column.to_string());
        if let Some(bytes) = bytes {
            // The same name whoever writes it: what a killed process left is written over.
            let temporary = folder.join(format!(".{column}.partial"));
            self.put(&folder, &temporary, bytes)
                .and_then(|()| fs::rename(&temporary, &name))
                .map_err(|error| self.failed(error))?;
        } else if let Err(error) = fs::remove_file(&name)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(self.failed(error));
        }
        let length = bytes.map_or(0, |bytes| bytes.len() as u64);
        self.written.fetch_add(length, Ordering::Relaxed);
        let mut unstored = self.unstored();
        unstored.0.push(chunk);
        unstored.1 += length;
        if unstored.1 < UNSTORED_BYTES && unstored.0.len() < UNSTORED_CHUNKS {
            return Ok(());
        }
        let (chunks, _) = std::mem::take(&mut *unstored);
        drop(unstored);
        self.store(chunks)
    }

    /// Writes a file in a folder that may not be there yet.
    fn put(&self, folder: &Path, name: &Path, bytes: &[u8]) -> io::Result<()> {
        let file = match File::create(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(folder)?;
                File::create(name)
            }
            created => created,
        };
        let mut file = file?;
        file.write_all(bytes)?;
        // Where not all files can be stored at once, each is by itself.
        if cfg!(not(target_os = "linux")) {
            file.sync_data()?;
        }
        Ok(())
    }

    fn unstored(&self) -> MutexGuard<'_, (Vec<u64>, u64)> {
        self.unstored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has everything noted that was written.
    pub(super) fn flush(&self) -> Result<(), SinkError> {
        let (chunks, _) = std::mem::take(&mut *self.unstored());
        self.store(chunks)
    }

    fn store(&self, mut chunks: Vec<u64>) -> Result<(), SinkError> {
        if chunks.is_empty() {
            return Ok(());
        }
        self.sync().map_err(|error| self.failed(error))?;
        chunks.sort_unstable();
        for run in chunks.chunk_by(|before, chunk| before + 1 == *chunk) {
            write_all_at(&self.done, &vec![1; run.len()], run[0]).map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    /// Has the disk store all files: one call for thousands of them.
    #[cfg(target_os = "linux")]
    fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(&self.done)?)
    }

    #[cfg(not(target_os = "linux"))]
    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// Gives the folder its name, once nobody else writes it and no chunk is missing.
    pub(super) fn complete(&self) -> Result<Completion, SinkError> {
        self.flush()?;
        let done = self.partial.join(DONE);
        if self.shared {
            // Each gives up its own lock first: so the last one to come here finds no other.
            let _ = self.done.unlock();
            if let Err(TryLockError::WouldBlock) = self.done.try_lock() {
                return Ok(Completion::OthersWrite);
            }
            let same = Identity::of_open(&self.done)
                .is_none_or(|open| Identity::of(&done).is_ok_and(|found| found == open));
            if !same {
                // Another process was here in between, and found that nothing is missing.
                return Ok(Completion::Complete);
            }
        }
        let failed = |error| self.failed(error);
        let (mut first, mut missing) = (0, 0);
        let mut part = vec![0; AT_ONCE.min(usize::try_from(self.chunks).unwrap_or(AT_ONCE))];
        while first < self.chunks {
            let count = (self.chunks - first).min(AT_ONCE as u64);
            let part = &mut part[..count as usize];
            read_at(&self.done, part, first).map_err(failed)?;
            missing += part.iter().filter(|&&done| done == 0).count() as u64;
            first += count;
        }
        if missing > 0 {
            return Ok(Completion::Missing { tiles: missing });
        }
        self.sync().map_err(failed)?;
        fs::rename(&self.partial, &self.destination).map_err(|source| SinkError::Destination {
            path: self.path.clone(),
            reason: "the finished folder could not be stored under its name",
            source: Some(source),
        })?;
        // Nobody reads it any more; where it stays it harms nobody.
        let _ = fs::remove_file(self.destination.join(DONE));
        self.sync().map_err(failed)?;
        Ok(Completion::Complete)
    }
}
