//! The unfinished file of an export: what is written where, what is there already, and how it gets its name.
//!
//! Until it is complete the file is PATH.partial and stays there when its writer ends, however that ends: the next one goes
//! on with it. A tile is noted in the file, by its length, after the system was asked to store it; what is noted is there.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use relief_atomic::Identity;

use super::layout::{Head, LENGTH, Layout};
use crate::sink::SinkError;
use crate::sink::positioned::{lock, read_at, write_all_at};

/// Tiles are stored and noted at latest after so many bytes.
const UNSTORED_BYTES: u64 = 64 << 20;

/// Tiles are stored and noted at latest after so many.
const UNSTORED_TILES: usize = 1 << 16;

/// Entries of a list that are read or written at once.
pub(super) const AT_ONCE: usize = 1 << 13;

/// Where a tile lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) offset: u64,
    /// Its bytes; 0 for one that is not there.
    pub(super) length: u32,
}

/// The unfinished file.
#[derive(Debug)]
pub(super) struct Store {
    /// What the user calls it.
    path: PathBuf,
    partial: PathBuf,
    destination: PathBuf,
    file: File,
    head: Head,
    tiles: u64,
    /// Whether it was begun by this process, so that nothing is in it.
    pub(super) is_new: bool,
    shared: bool,
    unstored: Mutex<Unstored>,
    written: AtomicU64,
}

/// Tiles that are written, but not noted yet.
#[derive(Debug, Default)]
struct Unstored {
    tiles: Vec<(u64, Stored)>,
    bytes: u64,
}

/// What has become of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// The file has its name.
    Complete,
    /// Tiles of other parts are missing still.
    Missing {
        /// How many.
        tiles: u64,
    },
    /// Others write parts of it still; the last of them gives it its name.
    OthersWrite,
}

/// Where the unfinished file of an export is that goes on where it was left: PATH.partial, beside where `path` leads.
#[must_use]
pub fn partial_path(path: &Path) -> PathBuf {
    // What is no file, as a folder, has its name without what ends it.
    let destination = relief_atomic::destination(path).unwrap_or_else(|_| path.components().collect());
    partial_of(&destination)
}

fn partial_of(destination: &Path) -> PathBuf {
    let mut name = destination.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

impl Store {
    /// Opens the partial file for `path`, or begins it. Where `shared`, other processes may write other parts of it.
    pub(super) fn open(path: &Path, layout: &Layout, shared: bool) -> Result<Self, SinkError> {
        let destination = relief_atomic::destination(path)
            .map_err(|error| super::super::target::refused(path.to_owned(), error))?;
        let partial = partial_of(&destination);
        let head = layout.head();
        let (file, is_new) = relief_atomic::open_partial(&partial, &destination, &head.bytes)
            .map_err(|error| super::super::target::refused(path.to_owned(), error))?;
        if !lock(&file, shared) {
            return Err(SinkError::Busy { partial });
        }
        let store = Self {
            path: path.to_owned(),
            partial,
            destination,
            file,
            tiles: layout.tiles,
            head,
            is_new,
            shared,
            unstored: Mutex::default(),
            written: AtomicU64::new(0),
        };
        if !is_new {
            let mut found = vec![0; store.head.bytes.len()];
            read_at(&store.file, &mut found, 0).map_err(|error| store.failed(error))?;
            if !store.head.begins(&found) {
                return Err(SinkError::OtherJob {
                    partial: store.partial.clone(),
                });
            }
        }
        Ok(store)
    }

    /// Whether the file at `path` is complete already, and that of this layout.
    pub(super) fn is_complete(path: &Path, layout: &Layout) -> bool {
        let head = layout.head();
        let mut found = vec![0; head.bytes.len()];
        File::open(path).is_ok_and(|file| read_at(&file, &mut found, 0).is_ok()) && head.begins(&found)
    }

    /// Removes the file where it was begun although the export is complete: another process completed it in between.
    pub(super) fn discard_new(&self) -> bool {
        self.is_new && std::fs::remove_file(&self.partial).is_ok()
    }

    pub(super) const fn head(&self) -> &Head {
        &self.head
    }

    pub(super) fn failed(&self, source: io::Error) -> SinkError {
        SinkError::Write {
            name: self.path.display().to_string(),
            written: self.written.load(Ordering::Relaxed),
            source,
        }
    }

    /// Writes at a place of the file.
    pub(super) fn write(&self, bytes: &[u8], offset: u64) -> Result<(), SinkError> {
        write_all_at(&self.file, bytes, offset).map_err(|error| self.failed(error))?;
        self.written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Reads what lies at a place of the file.
    pub(super) fn read(&self, bytes: &mut [u8], offset: u64) -> Result<(), SinkError> {
        read_at(&self.file, bytes, offset).map_err(|error| self.failed(error))
    }

    fn unstored(&self) -> MutexGuard<'_, Unstored> {
        self.unstored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a tile noted that was written.
    pub(super) fn note(&self, tile: u64, stored: Stored) -> Result<(), SinkError> {
        let mut unstored = self.unstored();
        unstored.tiles.push((tile, stored));
        unstored.bytes += u64::from(stored.length);
        if unstored.bytes < UNSTORED_BYTES && unstored.tiles.len() < UNSTORED_TILES {
            return Ok(());
        }
        let tiles = std::mem::take(&mut *unstored).tiles;
        drop(unstored);
        self.store(tiles)
    }

    /// Has everything noted that was written.
    pub(super) fn flush(&self) -> Result<(), SinkError> {
        let tiles = std::mem::take(&mut *self.unstored()).tiles;
        self.store(tiles)
    }

    /// Stores tiles, then notes them.
    fn store(&self, mut tiles: Vec<(u64, Stored)>) -> Result<(), SinkError> {
        if tiles.is_empty() {
            return Ok(());
        }
        self.file.sync_data().map_err(|error| self.failed(error))?;
        tiles.sort_unstable_by_key(|(tile, _)| *tile);
        for run in tiles.chunk_by(|(before, _), (tile, _)| before + 1 == *tile) {
            let stored: Vec<Stored> = run.iter().map(|(_, stored)| *stored).collect();
            self.list(run[0].0, &stored)?;
        }
        Ok(())
    }

    /// Writes where tiles lie that follow one another, from `first` on. Their lengths come last: these say that they are there.
    pub(super) fn list(&self, first: u64, tiles: &[Stored]) -> Result<(), SinkError> {
        let width = self.head.offset_bytes;
        let mut bytes = Vec::with_capacity(AT_ONCE.min(tiles.len()) * 8);
        for (number, part) in tiles.chunks(AT_ONCE).enumerate() {
            let first = first + (number * AT_ONCE) as u64;
            bytes.clear();
            for tile in part {
                bytes.extend_from_slice(&tile.offset.to_le_bytes()[..width as usize]);
            }
            self.write(&bytes, self.head.offsets.start + first * width)?;
            bytes.clear();
            for tile in part {
                bytes.extend_from_slice(&tile.length.to_le_bytes());
            }
            self.write(&bytes, self.head.lengths.start + first * LENGTH)?;
        }
        Ok(())
    }

    /// Where tiles lie that follow one another, as many as `tiles` takes, from `first` on.
    pub(super) fn listed(&self, first: u64, tiles: &mut [Stored]) -> Result<(), SinkError> {
        let width = self.head.offset_bytes;
        let mut bytes = vec![0; tiles.len() * width as usize];
        self.read(&mut bytes, self.head.offsets.start + first * width)?;
        for (tile, offset) in tiles.iter_mut().zip(bytes.chunks_exact(width as usize)) {
            tile.offset = offset
                .iter()
                .rev()
                .fold(0, |number, &byte| number << 8 | u64::from(byte));
        }
        bytes.resize(tiles.len() * LENGTH as usize, 0);
        self.read(&mut bytes, self.head.lengths.start + first * LENGTH)?;
        for (tile, length) in tiles.iter_mut().zip(bytes.as_chunks().0) {
            tile.length = u32::from_le_bytes(*length);
        }
        Ok(())
    }

    /// Calls `each` with the number of every tile and where it lies, until it says that this is enough.
    pub(super) fn each_listed(&self, each: &mut dyn FnMut(u64, Stored) -> bool) -> Result<(), SinkError> {
        let nowhere = Stored { offset: 0, length: 0 };
        let mut tiles = vec![nowhere; AT_ONCE.min(usize::try_from(self.tiles).unwrap_or(AT_ONCE))];
        let mut first = 0;
        while first < self.tiles {
            let count = (self.tiles - first).min(AT_ONCE as u64);
            let part = &mut tiles[..count as usize];
            self.listed(first, part)?;
            for (number, tile) in (first..).zip(part.iter()) {
                if !each(number, *tile) {
                    return Ok(());
                }
            }
            first += count;
        }
        Ok(())
    }

    /// Gives the file its name, once nobody else writes it and no tile is missing; `end` is where its last tile ends.
    pub(super) fn complete(&self, end: u64) -> Result<Completion, SinkError> {
        self.flush()?;
        if self.shared {
            // Each gives up its own lock first: so the last one to come here finds no other.
            let _ = self.file.unlock();
            if let Err(TryLockError::WouldBlock) = self.file.try_lock() {
                return Ok(Completion::OthersWrite);
            }
            let same = Identity::of_open(&self.file)
                .is_none_or(|open| Identity::of(&self.partial).is_ok_and(|found| found == open));
            if !same {
                // Another process was here in between, and found that nothing is missing.
                return Ok(Completion::Complete);
            }
        }
        let mut missing = 0;
        self.each_listed(&mut |_, tile| {
            missing += u64::from(tile.length == 0);
            true
        })?;
        if missing > 0 {
            return Ok(Completion::Missing { tiles: missing });
        }
        self.file.set_len(end).map_err(|error| self.failed(error))?;
        relief_atomic::rename(&self.file, &self.partial, &self.destination)
            .map_err(|error| super::super::target::refused(self.path.clone(), error))?;
        Ok(Completion::Complete)
    }
}
