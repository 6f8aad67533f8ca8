//! The unfinished folder of a store: chunks that appear by a rename, which of them are there, and how it gets its name.
//!
//! A chunk whose samples are all the fill value has no file. So which chunks are done is a file of its own, of one byte a chunk:
//! 1 where it is done. It is written after the disk has the chunks, and goes away with the last.

use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::sink::SinkError;
use crate::sink::journal::{
    Completion, Journal, Looked, Notes, SEARCHED, is_at, is_useless, last_writer, runs,
};
use crate::sink::positioned::{lock, read_at, write_all_at};

/// The file that says which chunks are done.
pub(in crate::sink) const DONE: &str = ".relief-done";

/// Bytes that are read at once.
const AT_ONCE: usize = 1 << 16;

/// What a store says of itself: the files of the group and of its arrays, which are numbered.
#[derive(Debug)]
pub(in crate::sink) struct Metadata {
    pub(super) group: Vec<u8>,
    pub(super) arrays: Vec<Vec<u8>>,
}

impl Metadata {
    /// Whether the folder is one of this store.
    fn is_at(&self, folder: &Path) -> bool {
        let same = |name: &str, bytes: &[u8]| fs::read(folder.join(name)).is_ok_and(|found| found == bytes);
        let arrays = self.arrays.iter().enumerate();
        same("zarr.json", &self.group)
            && arrays
                .into_iter()
                .all(|(number, array)| same(&format!("{number}/zarr.json"), array))
    }
}

/// The unfinished folder.
#[derive(Debug)]
pub(in crate::sink) struct Folder {
    path: PathBuf,
    partial: PathBuf,
    destination: PathBuf,
    done: File,
    chunks: u64,
    shared: bool,
    /// Whether it was begun by this process.
    is_new: bool,
    journal: Journal<()>,
    looked: Looked<u8>,
    /// A file that is stored before chunks are noted.
    beside: Option<File>,
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
    pub(in crate::sink) fn open(
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
            fs::write(folder.join("zarr.json"), &metadata.group)?;
            for (number, array) in metadata.arrays.iter().enumerate() {
                let folder = folder.join(number.to_string());
                fs::create_dir(&folder)?;
                fs::write(folder.join("zarr.json"), array)?;
            }
            File::create_new(folder.join(DONE))?.set_len(chunks)
        })
        .map_err(failed)?;
        if !metadata.is_at(&partial) {
            return Err(SinkError::OtherJob { partial });
        }
        let done = File::options().read(true).write(true).open(partial.join(DONE));
        let done = done.map_err(failed)?;
        // Where the folder was completed while its lock was waited for, its name is gone.
        if !(lock(&done, shared) && is_at(&done, &partial.join(DONE))) {
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
            journal: Journal::new(path),
            looked: Looked::default(),
            beside: None,
        })
    }

    /// A file of this name in the folder, which is stored whenever chunks are noted, before they are. The finished store has none.
    pub(in crate::sink) fn store_beside(&mut self, name: &str) -> Result<File, SinkError> {
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(false);
        let open = || {
            let file = options.open(self.partial.join(name))?;
            Ok((file.try_clone()?, file))
        };
        let (file, beside) = open().map_err(|error| self.failed(error))?;
        self.beside = Some(beside);
        Ok(file)
    }

    /// Removes a file in the folder that nobody needs any more.
    pub(in crate::sink) fn remove_beside(&self, name: &str) -> Result<(), SinkError> {
        fs::remove_file(self.partial.join(name)).map_err(|error| self.failed(error))
    }

    /// Removes the folder where it was begun although the store is complete: another process completed it in between.
    pub(super) fn discard_new(&self) -> bool {
        self.is_new && fs::remove_dir_all(&self.partial).is_ok()
    }

    pub(in crate::sink) fn failed(&self, source: io::Error) -> SinkError {
        self.journal.failed(source)
    }

    /// Whether a chunk is done.
    pub(in crate::sink) fn has(&self, chunk: u64) -> Result<bool, SinkError> {
        let done = self.looked.at(chunk, || {
            let count = self.chunks.saturating_sub(chunk).min(AT_ONCE as u64);
            let mut done = vec![0; count as usize];
            read_at(&self.done, &mut done, chunk).map_err(|error| self.failed(error))?;
            Ok(done)
        })?;
        Ok(done.is_some_and(|done| done != 0))
    }

    /// Writes the file of the chunk in this column and row of an array; `bytes` are `None` where all of it is the fill value.
    pub(in crate::sink) fn write(
        &self,
        chunk: u64,
        array: usize,
        (column, row): (u64, u64),
        bytes: Option<&[u8]>,
    ) -> Result<(), SinkError> {
        let folder = self.partial.join(format!("{array}/c/{row}"));
        let name = folder.join(column.to_string());
        if let Some(bytes) = bytes {
            // What a killed process left of it is written over: a chunk counts once it is noted, and it is stored before.
            self.put(&folder, &name, bytes)
                .map_err(|error| self.failed(error))?;
        } else if let Err(error) = fs::remove_file(&name)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(self.failed(error));
        }
        let length = bytes.map_or(0, |bytes| bytes.len() as u64);
        self.journal.count(length);
        match self.journal.note(chunk, (), length) {
            Some(notes) => self.store(&notes),
            None => Ok(()),
        }
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
        // The disk begins to store it while others are computed, so that less is left for the end. Advice is not promised to be taken.
        #[cfg(target_os = "linux")]
        let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
        // Where not all files can be stored at once, each is by itself.
        #[cfg(not(target_os = "linux"))]
        file.sync_data()?;
        Ok(())
    }

    /// Has everything noted that was written.
    pub(in crate::sink) fn flush(&self) -> Result<(), SinkError> {
        self.store(&self.journal.take())
    }

    fn store(&self, notes: &Notes<()>) -> Result<(), SinkError> {
        if notes.is_empty() {
            return Ok(());
        }
        if let Some(beside) = &self.beside {
            beside.sync_data().map_err(|error| self.failed(error))?;
        }
        self.sync().map_err(|error| self.failed(error))?;
        for run in runs(notes) {
            write_all_at(&self.done, &vec![1; run.len()], run[0].0).map_err(|error| self.failed(error))?;
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
    pub(in crate::sink) fn complete(&self) -> Result<Completion, SinkError> {
        self.flush()?;
        let done = self.partial.join(DONE);
        if self.shared
            && let ControlFlow::Break(completion) = last_writer(&self.done, &done)
        {
            return Ok(completion);
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

impl Drop for Folder {
    /// Removes the folder where nothing is in it.
    fn drop(&mut self) {
        let done = self.partial.join(DONE);
        let has_some = || {
            if self.chunks > SEARCHED {
                return true;
            }
            let mut noted = vec![0; self.chunks as usize];
            read_at(&self.done, &mut noted, 0).is_err() || noted.iter().any(|&done| done != 0)
        };
        if is_useless(
            &self.journal,
            (&self.done, &done),
            (self.is_new, self.shared),
            has_some,
        ) {
            let _ = fs::remove_dir_all(&self.partial);
        }
    }
}
