//! How long each node takes: what to look at when lines are not made in time.
//!
//! A clock stands around the reading of a node. What its children take is taken off, so the times of all nodes sum
//! up to that of the tiles that were timed. One tile in [`EVERY`] is timed.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Of so many tiles of the root one is timed: a prime, so that rows of tiles do not always have the same one timed.
const EVERY: u64 = 7;

/// The times of all nodes of a program.
#[derive(Debug)]
pub(crate) struct Times {
    tiles: AtomicU64,
    nanoseconds: Vec<AtomicU64>,
}

impl Times {
    pub(crate) fn new(nodes: usize) -> Self {
        Self {
            tiles: AtomicU64::new(0),
            nanoseconds: (0..nodes).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// A clock for the next tile, where it is timed.
    pub(crate) fn next_tile(&self) -> Option<TileClock<'_>> {
        let timed = self.tiles.fetch_add(1, Ordering::Relaxed).is_multiple_of(EVERY);
        timed.then(|| TileClock {
            times: self,
            inner: Cell::new(Duration::ZERO),
        })
    }

    /// The time that each node took without its children, of the tiles that were timed.
    pub(crate) fn read(&self) -> Vec<Duration> {
        let time = |time: &AtomicU64| Duration::from_nanos(time.load(Ordering::Relaxed));
        self.nanoseconds.iter().map(time).collect()
    }
}

/// Times the nodes of one tile, on one thread.
#[derive(Debug)]
pub(crate) struct TileClock<'a> {
    times: &'a Times,
    /// What has been measured inside the node that is being measured.
    inner: Cell<Duration>,
}

impl TileClock<'_> {
    /// Measures a node.
    pub(crate) fn time<T>(&self, node: usize, work: impl FnOnce() -> T) -> T {
        let outer = self.inner.replace(Duration::ZERO);
        let start = Instant::now();
        let done = work();
        let took = start.elapsed();
        let own = took.saturating_sub(self.inner.get());
        let nanoseconds = u64::try_from(own.as_nanos()).unwrap_or(u64::MAX);
        self.times.nanoseconds[node].fetch_add(nanoseconds, Ordering::Relaxed);
        self.inner.set(outer + took);
        done
    }
}
