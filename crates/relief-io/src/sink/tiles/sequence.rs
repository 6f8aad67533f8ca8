//! Tiles of different lengths behind one another in the order of their numbers, whoever compresses them when.
//!
//! A tile that is early waits; when too many wait, so does its thread. The tile that is next never does, so that somebody
//! always goes on. Where a tile lies depends on the tiles before it alone, not on threads or time.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::store::{Store, Stored};
use crate::sink::SinkError;

/// Tiles that are compared with all later ones.
pub(super) const COMPARED: usize = 1 << 16;

/// The bytes of one of them.
pub(super) const COMPARED_BYTES: u64 = 96;

/// A tile as it is stored.
#[derive(Debug)]
pub(super) struct Item {
    /// Its number in the grid.
    pub(super) tile: u64,
    pub(super) bytes: Vec<u8>,
}

/// The tiles that are on their way into a file.
#[derive(Debug)]
pub(super) struct Sequence {
    /// The most that wait.
    room: u64,
    /// Whether equal tiles lie at one place.
    compares: bool,
    state: Mutex<State>,
    moved: Condvar,
}

#[derive(Debug)]
struct State {
    /// The place in the sequence that comes next.
    next: u64,
    /// Where it will lie.
    end: u64,
    /// Tiles that are early, by place.
    waiting: BTreeMap<u64, (Item, Option<blake3::Hash>)>,
    stopped: bool,
    /// Tiles by their digests.
    known: HashMap<blake3::Hash, Stored>,
    /// Memory to be used again.
    spare: Vec<Vec<u8>>,
}

impl Sequence {
    /// A sequence whose next tile has the place `next` and lies at `end`; at most `room` tiles wait. Where `known` is given,
    /// a tile that is equal to one of these is not stored again.
    pub(super) fn new(next: u64, end: u64, room: u64, known: Option<HashMap<blake3::Hash, Stored>>) -> Self {
        Self {
            room,
            compares: known.is_some(),
            state: Mutex::new(State {
                next,
                end,
                waiting: BTreeMap::new(),
                stopped: false,
                known: known.unwrap_or_default(),
                spare: Vec::new(),
            }),
            moved: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Memory for a tile.
    pub(super) fn memory(&self) -> Vec<u8> {
        self.state().spare.pop().unwrap_or_default()
    }

    /// The place that comes next, and where it will lie.
    pub(super) fn reached(&self) -> (u64, u64) {
        let state = self.state();
        (state.next, state.end)
    }

    /// Nobody waits any more.
    pub(super) fn stop(&self) {
        self.state().stopped = true;
        self.moved.notify_all();
    }

    /// Puts a tile at its place in the sequence. `told` hears where every tile lies that is stored by this call.
    pub(super) fn put(
        &self,
        store: &Store,
        place: u64,
        item: Item,
        told: &dyn Fn(u64, Stored),
    ) -> Result<(), SinkError> {
        let digest = self.compares.then(|| blake3::hash(&item.bytes));
        let mut state = self.state();
        while place >= state.next.saturating_add(self.room) && !state.stopped {
            state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.stopped {
            return Err(SinkError::State {
                call: "write",
                state: "was stopped",
            });
        }
        state.waiting.insert(place, (item, digest));
        let mut ready = Vec::new();
        loop {
            let next = state.next;
            let Some((item, digest)) = state.waiting.remove(&next) else {
                break;
            };
            state.next += 1;
            let stored = Stored {
                offset: state.end,
                length: u32::try_from(item.bytes.len()).unwrap_or(u32::MAX),
            };
            let known = digest.and_then(|digest| {
                let found = state.known.get(&digest).copied();
                if found.is_none() && state.known.len() < COMPARED {
                    state.known.insert(digest, stored);
                }
                found
            });
            if known.is_none() {
                state.end += item.bytes.len() as u64;
            }
            ready.push((item, known.unwrap_or(stored), known.is_none()));
        }
        drop(state);
        if !ready.is_empty() {
            self.moved.notify_all();
        }
        for (mut item, stored, anew) in ready {
            if anew {
                store.write(&item.bytes, stored.offset)?;
            }
            told(item.tile, stored);
            store.note(item.tile, stored)?;
            item.bytes.clear();
            self.state().spare.push(item.bytes);
        }
        Ok(())
    }
}
