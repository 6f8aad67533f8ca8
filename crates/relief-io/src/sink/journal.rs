//! What unfinished files of tiles share, whatever they are: notes of what is written, which are made after the disk has it, and who of
//! several writers gives the file its name.

use std::fs::{File, TryLockError};
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use relief_atomic::Identity;

use super::SinkError;

/// Tiles are stored and noted at latest after so many bytes.
const UNSTORED_BYTES: u64 = 64 << 20;

/// Tiles are stored and noted at latest after so many.
const UNSTORED_TILES: usize = 1 << 16;

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

/// Tiles by number, each with what is noted of it, in the order of their numbers.
pub(super) type Notes<T> = Vec<(u64, T)>;

/// Tiles that are written and not noted yet: enough of them are stored together.
#[derive(Debug)]
pub(super) struct Journal<T> {
    /// What the user calls the file.
    name: String,
    unstored: Mutex<(Notes<T>, u64)>,
    written: AtomicU64,
    /// Whether a tile was handed over by this process.
    touched: AtomicBool,
    /// Whether the same job would fail again, whoever goes on with it.
    in_vain: AtomicBool,
}

impl<T> Journal<T> {
    pub(super) fn new(path: &Path) -> Self {
        Self {
            name: path.display().to_string(),
            unstored: Mutex::new((Vec::new(), 0)),
            written: AtomicU64::new(0),
            touched: AtomicBool::new(false),
            in_vain: AtomicBool::new(false),
        }
    }

    /// An error of a tile, by which what is written is kept, or is of no use any more: samples that the file cannot hold come again in
    /// the next run.
    pub(super) fn of_tile(&self, error: SinkError) -> SinkError {
        if matches!(error, SinkError::NotTwoValued { .. }) {
            self.in_vain.store(true, Ordering::Relaxed);
        }
        error
    }

    /// Whether nobody goes on with what is written: the job would fail again.
    pub(super) fn is_in_vain(&self) -> bool {
        self.in_vain.load(Ordering::Relaxed)
    }

    /// Whether this process wrote a tile, or one that is 0.
    pub(super) fn is_touched(&self) -> bool {
        self.touched.load(Ordering::Relaxed)
    }

    /// What writing failed by.
    pub(super) fn failed(&self, source: io::Error) -> SinkError {
        SinkError::Write {
            name: self.name.clone(),
            written: self.written.load(Ordering::Relaxed),
            source,
        }
    }

    /// Counts bytes that are written.
    pub(super) fn count(&self, bytes: u64) {
        self.written.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Has a tile of so many bytes noted. Gives all that are to be stored and noted now, where they are enough.
    pub(super) fn note(&self, tile: u64, note: T, bytes: u64) -> Option<Notes<T>> {
        self.touched.store(true, Ordering::Relaxed);
        let mut unstored = self.unstored.lock().unwrap_or_else(PoisonError::into_inner);
        unstored.0.push((tile, note));
        unstored.1 += bytes;
        if unstored.1 < UNSTORED_BYTES && unstored.0.len() < UNSTORED_TILES {
            return None;
        }
        Some(Self::ordered(std::mem::take(&mut *unstored).0))
    }

    /// All that are not noted yet.
    pub(super) fn take(&self) -> Notes<T> {
        let mut unstored = self.unstored.lock().unwrap_or_else(PoisonError::into_inner);
        Self::ordered(std::mem::take(&mut *unstored).0)
    }

    fn ordered(mut notes: Notes<T>) -> Notes<T> {
        notes.sort_unstable_by_key(|(tile, _)| *tile);
        notes
    }
}

/// Runs of tiles whose numbers follow one another.
pub(super) fn runs<T>(notes: &Notes<T>) -> impl Iterator<Item = &[(u64, T)]> {
    notes.chunk_by(|(before, _), (tile, _)| before + 1 == *tile)
}

/// Notes that were read last, from a tile on: tiles are asked for one after the other.
#[derive(Debug)]
pub(super) struct Looked<T>(Mutex<Option<(u64, Vec<T>)>>);

impl<T> Default for Looked<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T: Copy> Looked<T> {
    /// The note of a tile; `read` gives those from it on, as many as are read at once.
    pub(super) fn at(
        &self,
        tile: u64,
        read: impl FnOnce() -> Result<Vec<T>, SinkError>,
    ) -> Result<Option<T>, SinkError> {
        let mut looked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((first, notes)) = &*looked
            && let Some(at) = tile.checked_sub(*first)
            && let Some(note) = notes.get(usize::try_from(at).unwrap_or(usize::MAX))
        {
            return Ok(Some(*note));
        }
        let notes = read()?;
        let note = notes.first().copied();
        *looked = Some((tile, notes));
        Ok(note)
    }
}

/// Whether this writer of a file that several write is the last; else what it says of the file. `path` is where `file` was opened.
///
/// Each gives up its own lock first: so the last one to come here finds no other.
pub(super) fn last_writer(file: &File, path: &Path) -> ControlFlow<Completion> {
    let _ = file.unlock();
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        return ControlFlow::Break(Completion::OthersWrite);
    }
    if is_at(file, path) {
        ControlFlow::Continue(())
    } else {
        // Another process was here in between, and found that nothing is missing.
        ControlFlow::Break(Completion::Complete)
    }
}

/// The most tiles of which a file of several writers is searched for one that is there.
pub(super) const SEARCHED: u64 = 1 << 20;

/// Whether what is unfinished is of no use: the job fails again, or nothing is in it. `has_some` looks whether other writers wrote some of it.
/// `path` is where `file` was opened.
pub(super) fn is_useless<T>(
    journal: &Journal<T>,
    (file, path): (&File, &Path),
    (is_new, shared): (bool, bool),
    has_some: impl FnOnce() -> bool,
) -> bool {
    if !shared {
        return (journal.is_in_vain() || (is_new && !journal.is_touched())) && is_at(file, path);
    }
    // A part that others write as well is theirs, too.
    is_new && !journal.is_touched() && last_writer(file, path).is_continue() && !has_some()
}

/// Whether a file that is open still has its name.
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    Identity::of_open(file).is_none_or(|open| Identity::of(path).is_ok_and(|found| found == open))
}
