//! One scan by several threads, in one pass.
//!
//! A thread takes the next piece, sums up its blocks, waits for its turn to learn the sum of all before,
//! gives on what follows, and scans them while its second cache still holds them. So memory is read once,
//! where sums of all blocks first would read it twice, and threads wait for each other once a piece, not for
//! the slowest of all.
//!
//! Memory would rest from reading while a piece is written, and from writing while the next is summed up. So
//! a thread takes its next piece before it writes one, and prefetches as much of that as it writes. Sums take
//! non-temporal stores straight from registers; a detour through the nearest cache is much slower.
#![allow(unsafe_code)]

use std::marker::PhantomData;

use super::{BLOCK, Kind, Scannable, block_sums, sums_before};
use crate::turns::{Turn, Turns};
use relief_kernels::copy::cpu::{LARGE, fence, stream_open};
use relief_kernels::isa::Isa;

/// The most blocks of a piece.
const BLOCKS: usize = 64;

/// Numbers of a piece, 128 KiB: second-level caches hold two.
const fn piece<T>() -> usize {
    BLOCKS / size_of::<T>() * BLOCK
}

/// Bytes of sums that one thread has scanned before another has woken up.
pub const SMALL: usize = 256 << 10;

/// A scan that any number of threads may work on, each by [`work`](Self::work).
#[derive(Debug)]
pub struct Shared<'a, T: Scannable> {
    kind: Kind,
    values: &'a [T],
    out: *mut T::Sum,
    turns: Turns<T::Sum>,
    borrowed: PhantomData<&'a mut [T::Sum]>,
}

// SAFETY: threads share `values` to read them, and write parts of `out` that do not overlap.
unsafe impl<T: Scannable> Sync for Shared<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Scannable> Send for Shared<'_, T> {}

impl<'a, T: Scannable> Shared<'a, T> {
    /// [`scan`](super::scan) by several threads.
    ///
    /// # Panics
    /// Where there are not as many sums as numbers.
    #[must_use]
    pub fn new(kind: Kind, values: &'a [T], out: &'a mut [T::Sum]) -> Self {
        assert_eq!(values.len(), out.len(), "a sum for each number");
        Self {
            kind,
            values,
            out: out.as_mut_ptr(),
            turns: Turns::new(T::Sum::default()),
            borrowed: PhantomData,
        }
    }

    /// The next piece that nobody has taken.
    fn take(&self) -> Option<Piece<'_, T>> {
        let piece = piece::<T>();
        let turn = self.turns.take(self.values.len().div_ceil(piece))?;
        let start = turn.block * piece;
        let values = &self.values[start..self.values.len().min(start + piece)];
        Some(Piece { turn, start, values })
    }

    /// Works until no piece is left. Other threads may still be at work on theirs.
    ///
    /// # Panics
    /// Where another thread has panicked.
    pub fn work(&self) {
        let isa = Isa::best();
        let mut held = Sums([T::Sum::default(); BLOCK]);
        let large = self.values.len() * size_of::<T::Sum>() >= LARGE;
        let mut next = self.take();
        while let Some(Piece { turn, start, values }) = next {
            let blocks = values.len().div_ceil(BLOCK);
            let mut sums = [T::Sum::default(); BLOCKS];
            block_sums(values, &mut sums[..blocks]);
            turn.pass(|before| sums_before::<T>(before, &mut sums[..blocks]));
            // SAFETY: the piece lies inside `values`, hence inside `out`, which is as long; who takes it is its only one.
            let out = unsafe { std::slice::from_raw_parts_mut(self.out.add(start), values.len()) };
            next = self.take();
            let mut ahead = next.iter().flat_map(|piece| piece.values.chunks(BLOCK));
            let parts = values.chunks(BLOCK).zip(out.chunks_mut(BLOCK));
            for ((values, out), before) in parts.zip(sums) {
                if !large {
                    T::block(isa, self.kind, values, before, out);
                    continue;
                }
                if T::block_past(
                    isa,
                    self.kind,
                    values,
                    before,
                    out,
                    ahead.next().unwrap_or_default(),
                ) {
                    continue;
                }
                let held = &mut held.0[..values.len()];
                T::block(isa, self.kind, values, before, held);
                stream_open(bytemuck::cast_slice(held), bytemuck::cast_slice_mut(out), &[]);
            }
        }
        fence();
    }
}

/// A piece that was taken: its turn, where it begins, and its numbers.
struct Piece<'a, T: Scannable> {
    turn: Turn<'a, T::Sum>,
    start: usize,
    values: &'a [T],
}

/// The sums of a block, aligned as vectors are.
#[repr(align(64))]
struct Sums<S>([S; BLOCK]);
