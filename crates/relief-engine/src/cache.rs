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
}

impl<S: Sample> TileCache<S> {
    /// An empty cache of `budget` bytes for tiles of up to `capacity` samples.
    pub(crate) fn new(budget: u64, capacity: usize) -> Self {
        let state = State {
            slots: LruCache::unbounded(),
            used: 0,
            spare: Vec::new(),
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            budget,
            capacity,
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
        let bytes = Self::tile_bytes(self.capacity as u64);
        self.make_room(&mut state, bytes);
        state.used += bytes;
        state.slots.put(key, Slot::Computing);
        let mut buffer = state.spare.pop().unwrap_or_default();
        self.trim(&mut state);
        drop(state);

        // Gives the place back if `compute` fails or panics, so that nobody waits for ever.
        let mut claim = Claim {
            cache: self,
            key,
            bytes,
            kept: false,
        };
        if buffer.len() < self.capacity {
            buffer
                .try_reserve_exact(self.capacity - buffer.len())
                .map_err(|_| Error::Allocation {
                    bytes,
                    purpose: "a tile of the cache",
                })?;
            buffer.resize(self.capacity, S::ZERO);
        }
        let uniform = compute(&mut buffer[..samples])?;

        let mut state = self.lock();
        let tile = match uniform {
            Some(value) => {
                state.used -= bytes - UNIFORM_BYTES;
                state.spare.push(buffer);
                self.trim(&mut state);
                Arc::new(Tile::Uniform(value))
            }
            None => Arc::new(Tile::Samples(buffer)),
        };
        claim.kept = true;
        state.slots.put(key, Slot::Ready(Arc::clone(&tile)));
        drop(state);
        self.changed.notify_all();
        Ok(tile)
    }

    /// Drops tiles that nobody uses, the least recently used first, until `bytes` more fit.
    fn make_room(&self, state: &mut State<S>, bytes: u64) {
        while state.used + bytes > self.budget {
            let idle = |slot: &Slot<S>| matches!(slot, Slot::Ready(tile) if Arc::strong_count(tile) == 1);
            let Some(key) = state
                .slots
                .iter()
                .rev()
                .find(|(_, slot)| idle(slot))
                .map(|(key, _)| *key)
            else {
                tracing::warn!(
                    "every tile of the cache is in use: its budget of {} bytes is exceeded",
                    self.budget
                );
                return;
            };
            let Some(Slot::Ready(tile)) = state.slots.pop(&key) else {
                return;
            };
            match Arc::into_inner(tile) {
                Some(Tile::Samples(buffer)) => {
                    state.used -= Self::tile_bytes(self.capacity as u64);
                    state.spare.push(buffer);
                }
                _ => state.used -= UNIFORM_BYTES,
            }
        }
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

struct Claim<'a, S: Sample> {
    cache: &'a TileCache<S>,
    key: Key,
    bytes: u64,
    kept: bool,
}

impl<S: Sample> Drop for Claim<'_, S> {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        let mut state = self.cache.lock();
        state.slots.pop(&self.key);
        state.used -= self.bytes;
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
        let cache = TileCache::<u8>::new(10_000, 100);
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
        let cache = TileCache::<u8>::new(2 * TileCache::<u8>::tile_bytes(100), 100);
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
    fn a_tile_in_use_is_kept() {
        let cache = TileCache::<u8>::new(2 * TileCache::<u8>::tile_bytes(100), 100);
        let held = cache.get(key(1), 100, fill(1)).unwrap();
        for column in 2..9 {
            cache.get(key(column), 100, fill(2)).unwrap();
        }
        assert_eq!(first(&cache.get(key(1), 100, fill(9)).unwrap()), 1);
        drop(held);
    }

    #[test]
    fn a_failed_computation_is_tried_again_by_the_next() {
        let cache = TileCache::<u8>::new(10_000, 100);
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
        let cache = TileCache::<u8>::new(10 * UNIFORM_BYTES + TileCache::<u8>::tile_bytes(100), 100);
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
            let cache = TileCache::<u8>::new(budget, 1);
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
        let cache = TileCache::<u8>::new(budget, 100);
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
