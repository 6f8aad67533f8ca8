//! The unfinished file of an export: what is written where, what is there already, and how it gets its name.
//!
//! Until it is complete the file is PATH.partial and stays there when its writer ends, however that ends: the next one goes
//! on with it. A tile is noted in the file, by its length, after the system was asked to store it; what is noted is there.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::layout::{Head, LENGTH, Layout, Lists};
use crate::sink::SinkError;
use crate::sink::journal::{Completion, Journal, Notes, SEARCHED, is_useless, last_writer, runs};
use crate::sink::positioned::{lock, read_at, write_all_at};

/// Entries of a list that are read or written at once.
pub(in crate::sink) const AT_ONCE: usize = 1 << 13;

/// Where a tile lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sink) struct Stored {
    pub(in crate::sink) offset: u64,
    /// Its bytes; 0 for one that is not there.
    pub(in crate::sink) length: u32,
}

/// The unfinished file.
#[derive(Debug)]
pub(in crate::sink) struct Store {
    /// What the user calls it.
    path: PathBuf,
    partial: PathBuf,
    destination: PathBuf,
    file: File,
    head: Head,
    tiles: u64,
    /// Whether it was begun by this process, so that nothing is in it.
    pub(in crate::sink) is_new: bool,
    shared: bool,
    journal: Journal<Stored>,
    /// A file that is stored before tiles are noted.
    beside: Option<File>,
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

/// The lists of the level that has this tile.
fn lists(head: &Head, tile: u64) -> Option<&Lists> {
    head.lists.iter().find(|lists| lists.tiles.contains(&tile))
}

/// Writes bytes at a place of a file.
pub(in crate::sink) type WriteAt<'a> = dyn FnMut(&[u8], u64) -> Result<(), SinkError> + 'a;

/// Writes where tiles lie that follow one another, from `first` on. Their lengths come last: these say that they are there.
pub(in crate::sink) fn list_into(
    head: &Head,
    first: u64,
    tiles: &[Stored],
    write: &mut WriteAt<'_>,
) -> Result<(), SinkError> {
    let width = head.offset_bytes;
    let mut bytes = Vec::with_capacity(AT_ONCE.min(tiles.len()) * 8);
    let (mut first, mut tiles) = (first, tiles);
    while let Some(lists) = lists(head, first).filter(|_| !tiles.is_empty()) {
        let count = (lists.tiles.end - first).min(AT_ONCE.min(tiles.len()) as u64);
        let (part, rest) = tiles.split_at(count as usize);
        let at = first - lists.tiles.start;
        bytes.clear();
        for tile in part {
            bytes.extend_from_slice(&tile.offset.to_le_bytes()[..width as usize]);
        }
        write(&bytes, lists.offsets.start + at * width)?;
        bytes.clear();
        for tile in part {
            bytes.extend_from_slice(&tile.length.to_le_bytes());
        }
        write(&bytes, lists.lengths.start + at * LENGTH)?;
        (first, tiles) = (first + count, rest);
    }
    Ok(())
}

impl Store {
    /// Opens the partial file for `path`, or begins it. Where `shared`, other processes may write other parts of it.
    pub(super) fn open(path: &Path, layout: &Layout, shared: bool) -> Result<Self, SinkError> {
        Self::open_levels(path, std::slice::from_ref(layout), shared)
    }

    /// [`Store::open`] for a file of a raster and its levels; the numbers of their tiles follow one another.
    pub(in crate::sink) fn open_levels(
        path: &Path,
        levels: &[Layout],
        shared: bool,
    ) -> Result<Self, SinkError> {
        let refused = |error| super::super::target::refused(path.to_owned(), error);
        let destination = relief_atomic::destination(path).map_err(refused)?;
        let partial = partial_of(&destination);
        let head = Head::of(levels);
        let (file, is_new) =
            relief_atomic::open_partial(&partial, &destination, &head.bytes).map_err(refused)?;
        if !lock(&file, shared) {
            return Err(SinkError::Busy { partial });
        }
        let store = Self {
            path: path.to_owned(),
            partial,
            destination,
            file,
            tiles: levels.iter().map(|layout| layout.tiles).sum(),
            head,
            is_new,
            shared,
            journal: Journal::new(path),
            beside: None,
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

    /// Has a file stored whenever tiles are noted, before they are.
    pub(in crate::sink) fn store_beside(&mut self, file: File) {
        self.beside = Some(file);
    }

    /// Whether the file at `path` is complete already, and that of this layout.
    pub(super) fn is_complete(path: &Path, layout: &Layout) -> bool {
        let head = layout.head();
        let mut found = vec![0; head.bytes.len()];
        File::open(path).is_ok_and(|file| read_at(&file, &mut found, 0).is_ok()) && head.begins(&found)
    }

    /// Removes the file where it was begun although the export is complete: another process completed it in between.
    pub(in crate::sink) fn discard_new(&self) -> bool {
        self.is_new && std::fs::remove_file(&self.partial).is_ok()
    }

    pub(in crate::sink) const fn head(&self) -> &Head {
        &self.head
    }

    pub(in crate::sink) fn failed(&self, source: io::Error) -> SinkError {
        self.journal.failed(source)
    }

    /// Writes at a place of the file.
    pub(in crate::sink) fn write(&self, bytes: &[u8], offset: u64) -> Result<(), SinkError> {
        write_all_at(&self.file, bytes, offset).map_err(|error| self.failed(error))?;
        self.journal.count(bytes.len() as u64);
        Ok(())
    }

    /// Reads what lies at a place of the file.
    pub(in crate::sink) fn read(&self, bytes: &mut [u8], offset: u64) -> Result<(), SinkError> {
        read_at(&self.file, bytes, offset).map_err(|error| self.failed(error))
    }

    /// An error of a tile, which may make what is written useless.
    pub(in crate::sink) fn of_tile(&self, error: SinkError) -> SinkError {
        self.journal.of_tile(error)
    }

    /// Has a tile noted that was written.
    pub(in crate::sink) fn note(&self, tile: u64, stored: Stored) -> Result<(), SinkError> {
        match self.journal.note(tile, stored, stored.length.into()) {
            Some(notes) => self.store(&notes),
            None => Ok(()),
        }
    }

    /// Has everything noted that was written.
    pub(in crate::sink) fn flush(&self) -> Result<(), SinkError> {
        self.store(&self.journal.take())
    }

    /// Stores tiles, then notes them.
    fn store(&self, notes: &Notes<Stored>) -> Result<(), SinkError> {
        if notes.is_empty() {
            return Ok(());
        }
        if let Some(beside) = &self.beside {
            beside.sync_data().map_err(|error| self.failed(error))?;
        }
        self.file.sync_data().map_err(|error| self.failed(error))?;
        for run in runs(notes) {
            let stored: Vec<Stored> = run.iter().map(|(_, stored)| *stored).collect();
            self.list(run[0].0, &stored)?;
        }
        Ok(())
    }

    /// Writes where tiles lie that follow one another, from `first` on.
    pub(in crate::sink) fn list(&self, first: u64, tiles: &[Stored]) -> Result<(), SinkError> {
        list_into(&self.head, first, tiles, &mut |bytes, offset| {
            self.write(bytes, offset)
        })
    }

    /// Removes the unfinished file, whose tiles are elsewhere.
    pub(in crate::sink) fn remove(&self) {
        let _ = std::fs::remove_file(&self.partial);
    }

    /// Where tiles lie that follow one another, as many as `tiles` takes, from `first` on.
    pub(in crate::sink) fn listed(&self, first: u64, tiles: &mut [Stored]) -> Result<(), SinkError> {
        let width = self.head.offset_bytes;
        let (mut first, mut tiles) = (first, tiles);
        let mut bytes = Vec::new();
        while let Some(lists) = lists(&self.head, first).filter(|_| !tiles.is_empty()) {
            let count = (lists.tiles.end - first).min(tiles.len() as u64);
            let (part, rest) = tiles.split_at_mut(count as usize);
            let at = first - lists.tiles.start;
            bytes.resize(part.len() * width as usize, 0);
            self.read(&mut bytes, lists.offsets.start + at * width)?;
            for (tile, offset) in part.iter_mut().zip(bytes.chunks_exact(width as usize)) {
                tile.offset = offset
                    .iter()
                    .rev()
                    .fold(0, |number, &byte| number << 8 | u64::from(byte));
            }
            bytes.resize(part.len() * LENGTH as usize, 0);
            self.read(&mut bytes, lists.lengths.start + at * LENGTH)?;
            for (tile, length) in part.iter_mut().zip(bytes.as_chunks().0) {
                tile.length = u32::from_le_bytes(*length);
            }
            (first, tiles) = (first + count, rest);
        }
        Ok(())
    }

    /// Calls `each` with the number of every tile and where it lies, until it says that this is enough.
    pub(in crate::sink) fn each_listed(
        &self,
        each: &mut dyn FnMut(u64, Stored) -> bool,
    ) -> Result<(), SinkError> {
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
    pub(in crate::sink) fn complete(&self, end: u64) -> Result<Completion, SinkError> {
        self.flush()?;
        if self.shared
            && let ControlFlow::Break(completion) = last_writer(&self.file, &self.partial)
        {
            return Ok(completion);
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

impl Drop for Store {
    /// Removes the file where nobody can go on with it.
    fn drop(&mut self) {
        let has_some = || {
            let mut found = self.tiles > SEARCHED;
            let looked = self.each_listed(&mut |_, tile| {
                found |= tile.length > 0;
                !found
            });
            found || looked.is_err()
        };
        let how = (self.is_new, self.shared);
        if is_useless(&self.journal, (&self.file, &self.partial), how, has_some) {
            self.remove();
        }
    }
}
