//! One selection by several threads, in one pass.
//!
//! A thread takes the next block, selects from it into memory of its own, waits for its turn to learn where
//! to write, gives the turn on, and copies. So memory is read once and written once, by non-temporal stores
//! where there is much; to count first would read it twice. Turns are short, because they are given on before
//! the copy. A thread takes its next block before the copy, which asks memory for it: else memory would rest
//! from reading meanwhile.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ops::Range;

use bytemuck::{Pod, cast_slice, cast_slice_mut};

use super::{Wanted, partition, places, runs_of_part, select};
use crate::element::Number;
use crate::turns::{Turn, Turns};
use relief_kernels::copy::cpu::{LARGE, fence, stream_open};

/// Elements of a block whose places are told; of values there are as many as have its bytes.
pub const BLOCK: usize = 16 << 10;

/// Words of scratch that a thread takes.
pub const SCRATCH_WORDS: usize = 2 * BLOCK;

/// The most bytes of input that one thread has selected from before another has woken up.
pub const SMALL: usize = 1 << 20;

/// Where a selection goes.
#[derive(Clone, Copy, Debug)]
enum Target<T> {
    Values(*mut T),
    Indices(*mut u32),
    Halves(*mut T, *mut T),
    /// Of rows of so many bytes: where runs begin, and what they hold.
    Runs(usize, *mut u32, *mut u8),
}

/// A selection that any number of threads may work on, each by [`work`](Self::work).
#[derive(Debug)]
pub struct Shared<'a, T> {
    from: &'a [T],
    wanted: Wanted<'a>,
    to: Target<T>,
    /// Elements that are kept so far.
    turns: Turns<usize>,
    borrowed: PhantomData<&'a mut [T]>,
}

// SAFETY: threads share `from` to read it, and write parts of the target that do not overlap.
unsafe impl<T: Number> Sync for Shared<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Number> Send for Shared<'_, T> {}

impl<'a, T: Number> Shared<'a, T> {
    /// [`select()`](super::select()) by several threads.
    ///
    /// # Panics
    /// Where `to` is shorter than `from`, or there are other flags than elements.
    #[must_use]
    pub fn select(from: &'a [T], wanted: Wanted<'a>, to: &'a mut [T]) -> Self {
        assert!(to.len() >= from.len(), "all of the elements may be kept");
        Self::new(from, wanted, Target::Values(to.as_mut_ptr()))
    }

    /// [`indices`](super::indices) by several threads.
    ///
    /// # Panics
    /// As [`Self::select`], and where there are more than 2^32 elements.
    #[must_use]
    pub fn indices(from: &'a [T], wanted: Wanted<'a>, to: &'a mut [u32]) -> Self {
        assert!(to.len() >= from.len(), "all of the elements may be kept");
        assert!(from.len() as u64 <= 1 << 32, "indices are numbers of 32 bits");
        Self::new(from, wanted, Target::Indices(to.as_mut_ptr()))
    }

    /// [`partition`](super::partition) by several threads.
    ///
    /// # Panics
    /// As [`Self::select`].
    #[must_use]
    pub fn partition(from: &'a [T], wanted: Wanted<'a>, kept: &'a mut [T], left: &'a mut [T]) -> Self {
        let shorter = kept.len().min(left.len());
        assert!(shorter >= from.len(), "all of the elements may be on either side");
        let halves = Target::Halves(kept.as_mut_ptr(), left.as_mut_ptr());
        Self::new(from, wanted, halves)
    }

    fn new(from: &'a [T], wanted: Wanted<'a>, to: Target<T>) -> Self {
        wanted.assert_fits(from.len());
        Self {
            from,
            wanted,
            to,
            turns: Turns::new(0),
            borrowed: PhantomData,
        }
    }

    /// Works until no block is left. Other threads may still be at work on theirs.
    ///
    /// # Panics
    /// Where `scratch` is shorter than [`SCRATCH_WORDS`], and where another thread has panicked.
    pub fn work(&self, scratch: &mut [u32]) {
        let scratch = &mut scratch[..SCRATCH_WORDS];
        let mut next = self.take();
        while let Some((turn, block)) = next {
            let count = self.keep(block.clone(), scratch);
            let place = turn.pass(|kept| kept + count);
            next = self.take();
            let ahead = next.as_ref().map_or(0..0, |(_, block)| block.clone());
            // SAFETY: `place` is what all blocks before keep, each at most its length, and `count` at most this block's: so both
            // parts, what is kept and what is left, lie inside `from`'s length, hence inside what they go to, which
            // constructors have made sure is as long. Turns give each block parts of its own.
            unsafe { self.put(block, scratch, count, place, cast_slice(&self.from[ahead])) };
        }
        fence();
    }

    /// The next block that nobody has taken, and its turn.
    fn take(&self) -> Option<(Turn<'_, usize>, Range<usize>)> {
        let each = match self.to {
            Target::Values(_) | Target::Halves(..) => 4 * BLOCK / size_of::<T>(),
            Target::Indices(_) | Target::Runs(..) => BLOCK,
        };
        let turn = self.turns.take(self.from.len().div_ceil(each))?;
        let start = turn.block * each;
        Some((turn, start..self.from.len().min(start + each)))
    }

    /// Selects from a block to scratch memory, and returns how many elements are kept.
    fn keep(&self, block: Range<usize>, scratch: &mut [u32]) -> usize {
        let from = &self.from[block.clone()];
        let (first, second) = scratch.split_at_mut(BLOCK);
        let wanted = |wanted: Wanted<'a>| wanted.part(block.clone());
        match self.to {
            Target::Values(_) => select(from, wanted(self.wanted), cast_slice_mut(first)),
            Target::Indices(_) => places(from, wanted(self.wanted), block.start as u32, first),
            Target::Halves(..) => {
                let (kept, left) = (cast_slice_mut(first), cast_slice_mut(second));
                partition(from, wanted(self.wanted), kept, left)
            }
            Target::Runs(width, ..) => {
                let bytes = cast_slice(self.from);
                runs_of_part(bytes, width, block, first, cast_slice_mut(second))
            }
        }
    }

    /// Copies what was kept of a block, and what is left of it, to its place, and asks for what is read next.
    ///
    /// # Safety
    /// `count` elements from `place` on of what is kept, and what the block has beyond that from where it starts less `place` on of
    /// what is left, lie inside the target and belong to this block.
    unsafe fn put(&self, block: Range<usize>, scratch: &[u32], count: usize, place: usize, ahead: &[u8]) {
        let (first, second) = scratch.split_at(BLOCK);
        // SAFETY: as the caller says.
        unsafe {
            match self.to {
                Target::Values(to) => self.copy(&cast_slice(first)[..count], to.add(place), ahead),
                Target::Indices(to) => self.copy(&first[..count], to.add(place), ahead),
                Target::Halves(kept, left) => {
                    let others = &cast_slice(second)[..block.len() - count];
                    // Of what is asked for as much with each part as it has of the block.
                    let (ahead, rest) = ahead.split_at(ahead.len() / block.len() * count);
                    self.copy(&cast_slice(first)[..count], kept.add(place), ahead);
                    self.copy(others, left.add(block.start - place), rest);
                }
                Target::Runs(_, starts, values) => {
                    self.copy(&first[..count], starts.add(place), ahead);
                    self.copy(&cast_slice::<u32, u8>(second)[..count], values.add(place), &[]);
                }
            }
        }
    }

    /// # Safety
    /// As many elements lie at `to`, which nobody else uses.
    unsafe fn copy<U: Pod>(&self, from: &[U], to: *mut U, ahead: &[u8]) {
        // SAFETY: as the caller says.
        let to = unsafe { std::slice::from_raw_parts_mut(to, from.len()) };
        if self.from.len() * size_of::<U>() >= LARGE {
            stream_open(cast_slice(from), cast_slice_mut(to), ahead);
        } else {
            to.copy_from_slice(from);
        }
    }

    /// How many elements are kept, or how many runs there are, once all threads have returned from [`work`](Self::work).
    #[must_use]
    pub fn kept(&self) -> usize {
        self.turns.carried()
    }
}

impl<'a> Shared<'a, u8> {
    /// [`runs_of_rows`](super::runs_of_rows) by several threads.
    ///
    /// # Panics
    /// As [`runs_of_rows`](super::runs_of_rows).
    #[must_use]
    pub fn runs_of_rows(from: &'a [u8], width: usize, starts: &'a mut [u32], values: &'a mut [u8]) -> Self {
        super::assert_holds_runs(from, width, starts.len(), values);
        super::assert_narrow(from);
        let runs = Target::Runs(width, starts.as_mut_ptr(), values.as_mut_ptr());
        Self::new(from, Wanted::NonZero, runs)
    }
}
