//! Blocks that threads work on at once, where each has to know what those before it have come to.
//!
//! A thread takes the next block, does what it can without the others, waits for its turn, adds to what is carried from block
//! to block, gives the turn on, and finishes. So memory is read once (to sum up all blocks first would read it twice), the
//! order of what is carried is that of the blocks for every number of threads, and turns are short.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The turn after a thread has failed: the others must not wait for it.
const FAILED: usize = usize::MAX;

/// Looks at the turn before a thread yields: some tens of microseconds.
const SPINS: u32 = 1 << 12;

/// The turns of blocks, and what is carried from one to the next.
#[derive(Debug)]
pub(crate) struct Turns<C> {
    /// The next block that nobody has taken.
    next: AtomicUsize,
    /// The block whose turn it is.
    turn: AtomicUsize,
    /// Only who has the turn locks it.
    carried: Mutex<C>,
}

impl<C: Copy> Turns<C> {
    pub(crate) const fn new(first: C) -> Self {
        Self {
            next: AtomicUsize::new(0),
            turn: AtomicUsize::new(0),
            carried: Mutex::new(first),
        }
    }

    /// Takes the next of `blocks` blocks, if any is left. Who took one has to [pass](Turn::pass) it on.
    pub(crate) fn take(&self, blocks: usize) -> Option<Turn<'_, C>> {
        let block = self.next.fetch_add(1, Ordering::Relaxed);
        (block < blocks).then(|| Turn { turns: self, block })
    }

    /// What is carried: all of it once all threads are done.
    pub(crate) fn carried(&self) -> C {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, C> {
        self.carried.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A block that was taken.
pub(crate) struct Turn<'a, C> {
    turns: &'a Turns<C>,
    pub(crate) block: usize,
}

impl<C: Copy> Turn<'_, C> {
    /// Waits for the turn of this block, replaces what is carried, gives the turn on, and returns what was carried here.
    ///
    /// # Panics
    /// Where the thread that had a block before has panicked.
    pub(crate) fn pass(self, replace: impl FnOnce(C) -> C) -> C {
        let mut spins = 0_u32;
        loop {
            // The thread that has the turn took its block earlier and waits for nobody after.
            let turn = self.turns.turn.load(Ordering::Acquire);
            assert!(turn != FAILED, "a block before this one has failed");
            if turn == self.block {
                break;
            }
            spins += 1;
            // A turn comes within microseconds, unless its thread has lost its processor to another program: then this one lends it its
            // own. To yield earlier would hand it to the other program turn by turn.
            if spins.is_multiple_of(SPINS) {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
        let before = {
            let mut carried = self.turns.lock();
            let before = *carried;
            *carried = replace(before);
            before
        };
        self.turns.turn.store(self.block + 1, Ordering::Release);
        std::mem::forget(self);
        before
    }
}

/// Who drops a block without having passed it on has panicked.
impl<C> Drop for Turn<'_, C> {
    fn drop(&mut self) {
        self.turns.turn.store(FAILED, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_carried_is_that_of_all_blocks_before_whoever_took_them() {
        let turns = Turns::new(5_usize);
        let found = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while let Some(turn) = turns.take(500) {
                        let block = turn.block;
                        let before = turn.pass(|sum| sum + block);
                        found.lock().unwrap().push((block, before));
                    }
                });
            }
        });
        let mut found = found.into_inner().unwrap();
        found.sort_unstable();
        let right: Vec<_> = (0..500)
            .map(|k: usize| (k, 5 + k * k.saturating_sub(1) / 2))
            .collect();
        assert_eq!(found, right);
        assert_eq!(turns.carried(), 5 + 500 * 499 / 2);
    }

    #[test]
    fn who_waits_for_a_block_that_failed_fails_too() {
        let turns = Turns::new(0);
        let (first, second) = (turns.take(2), turns.take(2));
        let waits = std::thread::scope(|scope| {
            let waiter = scope.spawn(|| second.map(|turn| turn.pass(|sum| sum)));
            drop(first);
            waiter.join()
        });
        assert!(waits.is_err());
    }
}
