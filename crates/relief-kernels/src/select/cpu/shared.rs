//! One selection by several threads, in one pass.
//!
//! A thread takes the next block, selects from it into memory of its own, waits for its turn, takes as much of the
//! result as it needs, gives the turn on, and copies. So memory is read once and written once, past the caches where there
//! is much; to count first would read it twice. Turns are short, because they are given on before the copy.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Wanted, select};
use crate::copy::cpu::{LARGE, stream};
use crate::element::Number;

/// Elements of a block.
pub const BLOCK: usize = 8 << 10;

/// A selection that any number of threads may work on, each by [`work`](Self::work).
#[derive(Debug)]
pub struct Shared<'a, T> {
    from: &'a [T],
    wanted: Wanted<'a>,
    to: *mut T,
    /// The next block that nobody has taken.
    next: AtomicUsize,
    /// The block whose turn it is.
    turn: AtomicUsize,
    /// Elements that the blocks before it keep.
    kept: AtomicUsize,
    borrowed: PhantomData<&'a mut [T]>,
}

// SAFETY: threads share `from` to read it, and write parts of `to` that do not overlap.
unsafe impl<T: Number> Sync for Shared<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Number> Send for Shared<'_, T> {}

impl<'a, T: Number> Shared<'a, T> {
    /// A selection of what is wanted of `from`, in its order, to the start of `to`.
    ///
    /// # Panics
    /// Where `to` is shorter than `from`, or there are other flags than elements.
    #[must_use]
    pub fn new(from: &'a [T], wanted: Wanted<'a>, to: &'a mut [T]) -> Self {
        assert!(to.len() >= from.len(), "all of the elements may be kept");
        wanted.assert_fits(from.len());
        Self {
            from,
            wanted,
            to: to.as_mut_ptr(),
            next: AtomicUsize::new(0),
            turn: AtomicUsize::new(0),
            kept: AtomicUsize::new(0),
            borrowed: PhantomData,
        }
    }

    /// Works until no block is left. Other threads may still be at work on theirs.
    ///
    /// # Panics
    /// Where `scratch` is shorter than [`BLOCK`].
    pub fn work(&self, scratch: &mut [T]) {
        assert!(scratch.len() >= BLOCK, "scratch for a block");
        loop {
            let block = self.next.fetch_add(1, Ordering::Relaxed);
            let start = block.saturating_mul(BLOCK);
            if start >= self.from.len() {
                return;
            }
            let end = self.from.len().min(start + BLOCK);
            let count = select(&self.from[start..end], self.wanted.part(start..end), scratch);
            let place = self.take(block, count);
            // SAFETY: `place` is what all blocks before keep, each at most its length, and `count` at most this block's: so
            // the part lies inside `from`'s length, hence inside `to`. Turns give each block a part of its own.
            let to = unsafe { std::slice::from_raw_parts_mut(self.to.add(place), count) };
            if size_of_val(self.from) >= LARGE {
                stream(
                    bytemuck::cast_slice(&scratch[..count]),
                    bytemuck::cast_slice_mut(to),
                );
            } else {
                to.copy_from_slice(&scratch[..count]);
            }
        }
    }

    /// Waits for the turn of a block, and returns how many elements those before keep.
    fn take(&self, block: usize, count: usize) -> usize {
        let mut spins = 0_u32;
        // The thread that has the turn took its block earlier and waits for nobody after.
        while self.turn.load(Ordering::Acquire) != block {
            spins += 1;
            if spins.is_multiple_of(64) {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
        let place = self.kept.load(Ordering::Relaxed);
        self.kept.store(place + count, Ordering::Relaxed);
        self.turn.store(block + 1, Ordering::Release);
        place
    }

    /// How many elements are kept, once all threads have returned from [`work`](Self::work).
    #[must_use]
    pub fn kept(&self) -> usize {
        self.kept.load(Ordering::Acquire)
    }
}
