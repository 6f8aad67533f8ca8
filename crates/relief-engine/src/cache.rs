//! The tile cache: one for all nodes, of a fixed number of bytes, least recently used first out.
//!
//! The bytes of a tile are reserved before it is computed, and a tile in use is never dropped, so that the budget
//! holds at every moment. A tile is computed once however many callers ask for it: the others wait. Waiting
//! cannot close a circle, because a tile waits only for tiles of nodes below its own; and room can always be
//! made, because the plan gives at least what all workers together can hold at once.
//!
//! Maintained concurrent caches were weighed (see `ARCHITECTURE.md`): they admit first and evict later, and so
//! pass their budget for a while; and none reuses the memory of what it drops.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use relief_raster::Sample;

use crate::Error;

/// Which tile of which node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) node: u32,
    pub(crate) column: u64,
    pub(crate) row: u64,
}

impl Key {
    /// The tile that lies so many columns to the right.
    const fn right(self, columns: u64) -> Self {
        Self {
            column: self.column + columns,
            ..self
        }
    }
}

/// The samples of a tile.
#[derive(Debug)]
pub(crate) enum Tile<S> {
    /// The same sample everywhere.
    Uniform(S),
    /// Packed rows.
    Samples(Vec<S>),
}

enum Slot<S> {
    Computing,
    Ready(Arc<Tile<S>>),
}

struct State<S> {
    slots: LruCache<Key, Slot<S>>,
    used: u64,
    /// Samples of dropped tiles, to be used again: all tiles of a cache have the same capacity.
    spare: Vec<Vec<S>>,
}

/// What a tile of one sample costs, its place in the index included: 64 bytes of the entry and 48 of the tile as the
/// allocator gives them, and up to 58 of the index, whose 17 bytes a place are there 8/7 to 16/7 times, and half of that
/// again while it grows.
pub(crate) const UNIFORM_BYTES: u64 = 176;

pub(crate) struct TileCache<S> {
    state: Mutex<State<S>>,
    changed: Condvar,
    budget: u64,
    /// Samples of a tile.
    capacity: usize,
    /// The most tiles that one caller computes at once.
    longest: usize,
}

impl<S: Sample> TileCache<S> {
    /// An empty cache of `budget` bytes for tiles of up to `capacity` samples, which so many callers share.
    pub(crate) fn new(budget: u64, capacity: usize, callers: usize) -> Self {
        let state = State {
            slots: LruCache::unbounded(),
            used: 0,
            spare: Vec::new(),
        };
        let tiles = budget / Self::tile_bytes(capacity as u64);
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            budget,
            capacity,
            longest: usize::try_from(tiles).unwrap_or(usize::MAX) / callers.max(1),
        }
    }

    /// What a tile of samples costs, its place in the index included.
    pub(crate) const fn tile_bytes(capacity: u64) -> u64 {
        capacity * S::DEPTH.bytes() + UNIFORM_BYTES
    }

    /// The tile, computed by `compute` unless it is there. `compute` is given `samples` samples to write, or
    /// says that they are all the same.
    pub(crate) fn get(
        &self,
        key: Key,
        samples: usize,
        compute: impl FnOnce(&mut [S]) -> Result<Option<S>, Error>,
    ) -> Result<Arc<Tile<S>>, Error> {
        let mut state = self.lock();
        loop {
            match state.slots.get(&key) {
                Some(Slot::Ready(tile)) => return Ok(Arc::clone(tile)),
                Some(Slot::Computing) => {
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                None => break,
            }
        }
        let mut claims = self.claimed(state, key, 1)?;
        let uniform = compute(&mut claims.first[..samples])?;
        Ok(claims.keep(uniform))
    }

    /// The tile, or who is to compute it. Where nobody does, the caller has claimed it and those right of it, up to `most` in all: as far as they are not
    /// there and nobody computes them, as they have room that nobody uses, and as all callers can do the same. A caller
    /// computes what it claimed before it asks for more.
    pub(crate) fn claim(&self, key: Key, most: usize) -> Result<Found<'_, S>, Error> {
        let mut state = self.lock();
        match state.slots.get(&key) {
            Some(Slot::Ready(tile)) => Ok(Found::There(Arc::clone(tile))),
            Some(Slot::Computing) => Ok(Found::Computing),
            None => self.claimed(state, key, most).map(Found::Claimed),
        }
    }

    /// Claims a tile that is not there.
    fn claimed(
        &self,
        mut state: MutexGuard<'_, State<S>>,
        key: Key,
        most: usize,
    ) -> Result<Claims<'_, S>, Error> {
        let bytes = Self::tile_bytes(self.capacity as u64);
        if !self.make_room(&mut state, bytes) {
            tracing::warn!(
                "every tile of the cache is in use: its budget of {} bytes is exceeded",
                self.budget
            );
        }
        let take = |state: &mut State<S>, key: Key| {
            state.used += bytes;
            state.slots.put(key, Slot::Computing);
            state.spare.pop().unwrap_or_default()
        };
        // Gives the places back if what is to come fails or panics, so that nobody waits for ever.
        let mut claims = Claims {
            cache: self,
            key,
            first: take(&mut state, key),
            others: Vec::new(),
            kept: false,
        };
        for right in 1..most.min(self.longest) as u64 {
            let key = key.right(right);
            if state.slots.contains(&key) || !self.make_room(&mut state, bytes) {
                break;
            }
            claims.others.push(take(&mut state, key));
        }
        self.trim(&mut state);
        drop(state);
        for buffer in claims.buffers() {
            if buffer.len() < self.capacity {
                buffer
                    .try_reserve_exact(self.capacity - buffer.len())
                    .map_err(|_| Error::Allocation {
                        bytes,
                        purpose: "a tile of the cache",
                    })?;
                buffer.resize(self.capacity, S::ZERO);
            }
        }
        Ok(claims)
    }

    /// Drops tiles that nobody uses, the least recently used first, until `bytes` more fit; whether they do.
    fn make_room(&self, state: &mut State<S>, bytes: u64) -> bool {
        while state.used + bytes > self.budget {
            let idle = |slot: &Slot<S>| matches!(slot, Slot::Ready(tile) if Arc::strong_count(tile) == 1);
            let Some(key) = state
                .slots
                .iter()
                .rev()
                .find(|(_, slot)| idle(slot))
                .map(|(key, _)| *key)
            else {
                return false;
            };
            let Some(Slot::Ready(tile)) = state.slots.pop(&key) else {
                return false;
            };
            match Arc::into_inner(tile) {
                Some(Tile::Samples(buffer)) => {
                    state.used -= Self::tile_bytes(self.capacity as u64);
                    state.spare.push(buffer);
                }
                _ => state.used -= UNIFORM_BYTES,
            }
        }
        true
    }

    /// Gives back spare memory that, with what is in use, would pass the budget.
    fn trim(&self, state: &mut State<S>) {
        let each = self.capacity as u64 * S::DEPTH.bytes();
        while !state.spare.is_empty() && state.used + state.spare.len() as u64 * each > self.budget {
            state.spare.pop();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<S>> {
        // The state is whole whenever the lock is released; a panic elsewhere does not spoil it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a tile is.
pub(crate) enum Found<'a, S: Sample> {
    /// In the cache.
    There(Arc<Tile<S>>),
    /// With a caller that computes it.
    Computing,
    /// With this caller, and so are those right of it.
    Claimed(Claims<'a, S>),
}

/// Tiles side by side that are one caller's to compute. Given up, their places are free again.
pub(crate) struct Claims<'a, S: Sample> {
    cache: &'a TileCache<S>,
    key: Key,
    first: Vec<S>,
    /// Those right of it.
    others: Vec<Vec<S>>,
    kept: bool,
}

impl<S: Sample> Claims<'_, S> {
    /// How many tiles they are.
    pub(crate) fn count(&self) -> u64 {
        1 + self.others.len() as u64
    }

    /// The memory of every tile, from the left.
    pub(crate) fn buffers(&mut self) -> impl Iterator<Item = &mut Vec<S>> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }

    /// Keeps the tiles as they are written, or as the sample that all of them have. Returns the first.
    pub(crate) fn keep(mut self, uniform: Option<S>) -> Arc<Tile<S>> {
        let (first, others) = (std::mem::take(&mut self.first), std::mem::take(&mut self.others));
        self.kept = true;
        let cache = self.cache;
        let mut state = cache.lock();
        let mut keep = |right: u64, buffer: Vec<S>| {
            let tile = Arc::new(match uniform {
                Some(value) => {
                    state.used -= TileCache::<S>::tile_bytes(cache.capacity as u64) - UNIFORM_BYTES;
                    state.spare.push(buffer);
                    Tile::Uniform(value)
                }
                None => Tile::Samples(buffer),
            });
            let key = self.key.right(right);
            state.slots.put(key, Slot::Ready(Arc::clone(&tile)));
            tile
        };
        let tile = keep(0, first);
        for (right, buffer) in (1..).zip(others) {
            keep(right, buffer);
        }
        cache.trim(&mut state);
        drop(state);
        cache.changed.notify_all();
        tile
    }
}

impl<S: Sample> Drop for Claims<'_, S> {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        let mut state = self.cache.lock();
        for right in 0..self.count() {
            state.slots.pop(&self.key.right(right));
            state.used -= TileCache::<S>::tile_bytes(self.cache.capacity as u64);
        }
        drop(state);
        self.cache.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn key(column: u64) -> Key {
        Key {
            node: 0,
            column,
            row: 0,
        }
    }

    fn fill(value: u8) -> impl FnOnce(&mut [u8]) -> Result<Option<u8>, Error> {
        move |out| {
            out.fill(value);
            Ok(None)
        }
    }

    fn first(tile: &Tile<u8>) -> u8 {
        match tile {
            Tile::Uniform(value) => *value,
            Tile::Samples(samples) => samples[0],
        }
    }

    #[test]
    fn a_tile_is_computed_once_however_many_ask() {
        let cache = TileCache::<u8>::new(10_000, 100, 1);
        let computed = AtomicUsize::new(0);
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|s| {
            for _ in 0..8 {
                s.spawn(|| {
                    start.wait();
                    let tile = cache.get(key(1), 100, |out| {
                        computed.fetch_add(1, Ordering::Relaxed);
                        fill(7)(out)
                    });
                    assert_eq!(first(&tile.unwrap()), 7);
                });
            }
        });
        assert_eq!(computed.into_inner(), 1);
    }

    #[test]
    fn the_least_recently_used_tile_goes_first() {
        let cache = TileCache::<u8>::new(2 * TileCache::<u8>::tile_bytes(100), 100, 1);
        cache.get(key(1), 100, fill(1)).unwrap();
        cache.get(key(2), 100, fill(2)).unwrap();
        cache.get(key(1), 100, fill(9)).unwrap();
        cache.get(key(3), 100, fill(3)).unwrap();
        assert_eq!(
            first(&cache.get(key(1), 100, fill(9)).unwrap()),
            1,
            "used since: kept"
        );
        assert_eq!(
            first(&cache.get(key(2), 100, fill(9)).unwrap()),
            9,
            "dropped: computed again"
        );
    }

    #[test]
    fn as_many_tiles_are_claimed_as_are_missing_and_have_room() {
        let room = 8 * TileCache::<u8>::tile_bytes(100);
        let cache = TileCache::<u8>::new(room, 100, 2);
        let found = |from: u64, most: usize| cache.claim(key(from), most).unwrap();
        let claim = |from: u64, most: usize| match found(from, most) {
            Found::Claimed(claims) => claims,
            _ => panic!("{from} is not free"),
        };
        cache.get(key(3), 100, fill(3)).unwrap();
        assert!(matches!(found(3, 9), Found::There(tile) if first(&tile) == 3));
        let claims = claim(0, 9);
        assert_eq!(claims.count(), 3, "up to the one that is there");
        assert!(matches!(found(1, 9), Found::Computing));
        drop(claims);
        assert_eq!(
            cache.lock().used,
            TileCache::<u8>::tile_bytes(100),
            "given up: their room is free"
        );
        assert_eq!(claim(4, 2).count(), 2, "no more than are asked for");
        let mut claims = claim(4, 9);
        assert_eq!(claims.count(), 4, "two callers may each hold half of them");
        let other = claim(20, 9);
        assert_eq!(other.count(), 4, "the tile that is there gives way");
        for (buffer, value) in claims.buffers().zip(4..) {
            buffer.fill(value);
        }
        assert_eq!(first(&claims.keep(None)), 4);
        drop(other);
        let held: Vec<_> = (4..8)
            .map(|column| cache.get(key(column), 100, fill(9)).unwrap())
            .collect();
        for (tile, value) in held.iter().zip(4..) {
            assert_eq!(first(tile), value);
        }
        let most = claim(30, 9);
        assert_eq!(most.count(), 4);
        assert_eq!(claim(40, 9).count(), 1, "one always");
    }

    #[test]
    fn who_waits_for_a_claimed_tile_is_given_it() {
        let cache = TileCache::<u8>::new(10_000, 100, 1);
        let Ok(Found::Claimed(mut claims)) = cache.claim(key(0), 3) else {
            panic!("it is not free");
        };
        assert_eq!(claims.count(), 3);
        std::thread::scope(|s| {
            let other = s.spawn(|| first(&cache.get(key(2), 100, fill(9)).unwrap()));
            claims.buffers().for_each(|buffer| buffer.fill(5));
            claims.keep(None);
            assert_eq!(other.join().unwrap(), 5);
        });
    }

    #[test]
    fn a_tile_in_use_is_kept() {
        let cache = TileCache::<u8>::new(2 * TileCache::<u8>::tile_bytes(100), 100, 1);
        let held = cache.get(key(1), 100, fill(1)).unwrap();
        for column in 2..9 {
            cache.get(key(column), 100, fill(2)).unwrap();
        }
        assert_eq!(first(&cache.get(key(1), 100, fill(9)).unwrap()), 1);
        drop(held);
    }

    #[test]
    fn a_failed_computation_is_tried_again_by_the_next() {
        let cache = TileCache::<u8>::new(10_000, 100, 1);
        assert!(cache.get(key(1), 100, |_| Err(Error::Cancelled)).is_err());
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _ = cache.get(key(1), 100, |_| panic!("on purpose"));
        }));
        assert!(panicked.is_err());
        assert_eq!(first(&cache.get(key(1), 100, fill(5)).unwrap()), 5);
        assert_eq!(cache.lock().used, TileCache::<u8>::tile_bytes(100));
    }

    #[test]
    fn uniform_tiles_cost_almost_nothing() {
        let cache = TileCache::<u8>::new(10 * UNIFORM_BYTES + TileCache::<u8>::tile_bytes(100), 100, 1);
        for column in 0..10 {
            cache.get(key(column), 100, |_| Ok(Some(4))).unwrap();
        }
        assert_eq!(cache.lock().used, 10 * UNIFORM_BYTES);
        assert_eq!(first(&cache.get(key(0), 100, fill(9)).unwrap()), 4);
    }

    /// The memory of this process that is in use.
    #[cfg(target_os = "linux")]
    fn resident() -> u64 {
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages: u64 = pages.split(' ').nth(1).unwrap().parse().unwrap();
        pages * 4_096
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn uniform_tiles_take_no_more_memory_than_they_count() {
        const ALONE: &str = "RELIEF_TEST_ALONE";
        if std::env::var_os(ALONE).is_none() {
            // In a process of its own, whose memory no other test changes.
            let name = "cache::tests::uniform_tiles_take_no_more_memory_than_they_count";
            let output = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", name])
                .env(ALONE, "1")
                .output()
                .unwrap();
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stdout)
            );
            return;
        }
        // Right after the index has grown it is largest for what it holds: its places are a power of two, of which seven
        // eighths are used.
        for tiles in [7 << 16, (7 << 16) + 1] {
            let budget = tiles * UNIFORM_BYTES + TileCache::<u8>::tile_bytes(1);
            let before = resident();
            let cache = TileCache::<u8>::new(budget, 1, 1);
            for column in 0..tiles {
                cache.get(key(column), 1, |_| Ok(Some(4))).unwrap();
            }
            assert_eq!(cache.lock().used, tiles * UNIFORM_BYTES, "all of them are there");
            let taken = resident() - before;
            // The allocator keeps a little for later.
            assert!(taken <= budget + (2 << 20), "{taken} bytes for {budget}");
        }
    }

    #[test]
    fn the_budget_and_the_spare_memory_never_pass_the_budget() {
        let budget = 5 * TileCache::<u8>::tile_bytes(100);
        let cache = TileCache::<u8>::new(budget, 100, 1);
        for column in 0..200 {
            let result = if column % 3 == 0 {
                cache.get(key(column), 100, |_| Ok(Some(1)))
            } else {
                cache.get(key(column), 100, fill(2))
            };
            result.unwrap();
            let state = cache.lock();
            assert!(state.used + state.spare.len() as u64 * 100 <= budget);
        }
    }
}
