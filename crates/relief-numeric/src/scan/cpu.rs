//! Scans on the CPU: sixteen numbers at a time by four additions of the vector to itself, shifted by 1, 2, 4
//! and 8 (Hillis and Steele), where vectors have 64 or 32 bytes; elsewhere one integer after the other, and
//! floats in the same order.
//!
//! Blocks of [`BLOCK`] numbers are what threads deal out: [`block_sums`] of all blocks, [`sums_before`] of
//! these, and [`scan_blocks`] of parts are [`scan`], to the bit, and so is [`Shared`], which does all of it
//! in one pass over memory. Large results take non-temporal stores, so that what they overwrite is not read
//! first.
//!
//! **The order of sums of floats**: a number's sum within its sixteen, added to that of the sixteens of its
//! block before, one after the other, added to that of the blocks before, one after the other.

use std::cell::Cell;

use bytemuck::Pod;

use super::Kind;
use crate::element::Number;
use relief_kernels::copy::cpu::past_caches;
use relief_kernels::isa::{Isa, Level, versions};

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
mod shared;
#[cfg(target_arch = "x86_64")]
mod stores;

pub use shared::{SMALL, Shared};

/// Numbers of a block.
pub const BLOCK: usize = 2_048;

/// Numbers that are scanned at a time.
pub(crate) const GROUP: usize = 16;

/// Numbers that can be scanned.
pub trait Scannable: Number {
    /// What their sums are: `u32` for integers without a sign, `i32`, or `f32`; integers wrap around.
    type Sum: Pod + Default + PartialEq + Send + Sync + std::fmt::Debug;

    /// The number as a sum.
    #[doc(hidden)]
    fn one(self) -> Self::Sum;

    /// a + b.
    #[doc(hidden)]
    fn plus(a: Self::Sum, b: Self::Sum) -> Self::Sum;

    /// Scans a block from `before` on, and returns its sum.
    #[doc(hidden)]
    fn block(isa: Isa, kind: Kind, values: &[Self], before: Self::Sum, out: &mut [Self::Sum]) -> Self::Sum;

    /// [`Self::block`] by non-temporal stores, where the machine can and sums begin with a line of the
    /// caches; meanwhile memory is prefetched from what is read next. Returns whether that was done; other
    /// threads see it after a [`fence`](relief_kernels::copy::cpu::fence).
    #[doc(hidden)]
    fn block_past(
        isa: Isa,
        kind: Kind,
        values: &[Self],
        before: Self::Sum,
        out: &mut [Self::Sum],
        ahead: &[Self],
    ) -> bool;

    /// The sum of a block.
    #[doc(hidden)]
    fn block_sum(isa: Isa, values: &[Self]) -> Self::Sum;
}

/// Scans numbers.
///
/// # Panics
/// Where there are not as many sums as numbers.
pub fn scan<T: Scannable>(kind: Kind, values: &[T], out: &mut [T::Sum]) {
    assert_eq!(values.len(), out.len(), "a sum for each number");
    let isa = Isa::best();
    let before = Cell::new(T::Sum::default());
    past_caches(out, |start, out| {
        // Parts are whole blocks.
        let values = values[start..start + out.len()].chunks(BLOCK);
        for (values, out) in values.zip(out.chunks_mut(BLOCK)) {
            let sum = T::block(isa, kind, values, before.get(), out);
            before.set(T::plus(before.get(), sum));
        }
    });
}

/// The sum of each block of [`BLOCK`] numbers, the last of which may be shorter.
///
/// # Panics
/// Where there are not as many sums as blocks.
pub fn block_sums<T: Scannable>(values: &[T], sums: &mut [T::Sum]) {
    assert_eq!(values.len().div_ceil(BLOCK), sums.len(), "a sum for each block");
    let isa = Isa::best();
    for (block, sum) in values.chunks(BLOCK).zip(sums) {
        *sum = T::block_sum(isa, block);
    }
}

/// Makes of the sums of blocks those of all blocks before each, which begin with `before`; returns that after the last.
pub fn sums_before<T: Scannable>(before: T::Sum, sums: &mut [T::Sum]) -> T::Sum {
    sums.iter_mut().fold(before, |before, sum| {
        let after = T::plus(before, *sum);
        *sum = before;
        after
    })
}

/// Scans blocks, each from the sum of those before it on.
///
/// # Panics
/// Where there are not as many sums before as blocks, or as many sums as numbers.
pub fn scan_blocks<T: Scannable>(kind: Kind, values: &[T], before: &[T::Sum], out: &mut [T::Sum]) {
    assert_eq!(values.len(), out.len(), "a sum for each number");
    assert_eq!(values.len().div_ceil(BLOCK), before.len(), "a sum for each block");
    let isa = Isa::best();
    past_caches(out, |start, out| {
        let values = values[start..start + out.len()].chunks(BLOCK);
        let before = before[start / BLOCK..].iter();
        for ((values, before), out) in values.zip(before).zip(out.chunks_mut(BLOCK)) {
            T::block(isa, kind, values, *before, out);
        }
    });
}

/// The sums of sixteen numbers.
#[inline(always)]
pub(crate) fn scan_group<T: Scannable>(mut sums: [T::Sum; GROUP]) -> [T::Sum; GROUP] {
    #[inline(always)]
    fn step<T: Scannable>(sums: [T::Sum; GROUP], shift: usize) -> [T::Sum; GROUP] {
        std::array::from_fn(|i| match i.checked_sub(shift) {
            Some(other) => T::plus(sums[i], sums[other]),
            None => sums[i],
        })
    }
    sums = step::<T>(sums, 1);
    sums = step::<T>(sums, 2);
    sums = step::<T>(sums, 4);
    step::<T>(sums, 8)
}

/// Scans a block of integers, one after the other; returns its sum.
fn scan_integers<T: Scannable>(kind: Kind, values: &[T], before: T::Sum, out: &mut [T::Sum]) -> T::Sum {
    let (mut run, mut sum) = (before, T::Sum::default());
    for (value, out) in values.iter().zip(out) {
        let after = T::plus(run, value.one());
        *out = if kind == Kind::Inclusive { after } else { run };
        run = after;
        sum = T::plus(sum, value.one());
    }
    sum
}

/// Scans a block of floats by sixteens; returns its sum.
fn scan_floats(kind: Kind, values: &[f32], before: f32, out: &mut [f32]) -> f32 {
    let mut run = 0.0;
    for (values, out) in values.chunks(GROUP).zip(out.chunks_mut(GROUP)) {
        let mut sums = [0.0; GROUP];
        sums[..values.len()].copy_from_slice(values);
        let sums = scan_group::<f32>(sums);
        for (i, out) in out.iter_mut().enumerate() {
            *out = match (kind, i.checked_sub(1)) {
                (Kind::Inclusive, _) => before + (run + sums[i]),
                (Kind::Exclusive, Some(other)) => before + (run + sums[other]),
                (Kind::Exclusive, None) => before + run,
            };
        }
        run += sums[GROUP - 1];
    }
    run
}

/// Whether sums begin with a line of the caches.
#[cfg(target_arch = "x86_64")]
fn begins_line<S>(sums: &[S]) -> bool {
    sums.as_ptr().addr().is_multiple_of(64)
}

versions! {
    /// The sum of a block of floats, in the order of [`scan_floats`]: what its last sum of sixteen numbers is takes no others.
    fn sum_floats(values: &[f32]) -> f32 {
        let (many, rest) = values.as_chunks::<{ GROUP * GROUP }>();
        let run = many.iter().fold(0.0, |run, values| {
            let mut pairs = [0.0; 8 * GROUP];
            let mut fours = [0.0; 4 * GROUP];
            let mut eights = [0.0; 2 * GROUP];
            let mut sums = [0.0; GROUP];
            add_neighbours(values, &mut pairs);
            add_neighbours(&pairs, &mut fours);
            add_neighbours(&fours, &mut eights);
            add_neighbours(&eights, &mut sums);
            sums.iter().fold(run, |run, sum| run + sum)
        });
        rest.chunks(GROUP).fold(run, |run, values| {
            let mut sums = [0.0; GROUP];
            sums[..values.len()].copy_from_slice(values);
            run + scan_group::<f32>(sums)[GROUP - 1]
        })
    }
}

/// The second of each two numbers, and the first.
#[inline(always)]
fn add_neighbours(values: &[f32], sums: &mut [f32]) {
    for (sum, [first, second]) in sums.iter_mut().zip(values.as_chunks::<2>().0) {
        *sum = second + first;
    }
}

macro_rules! integers {
    ($($type:ty, $sum:ty;)+) => {$(
        impl Scannable for $type {
            type Sum = $sum;

            #[inline(always)]
            fn one(self) -> $sum {
                self.into()
            }

            #[inline(always)]
            fn plus(a: $sum, b: $sum) -> $sum {
                a.wrapping_add(b)
            }

            #[allow(unsafe_code)]
            // rung: scan on cpu: vectors
            fn block(isa: Isa, kind: Kind, values: &[Self], before: $sum, out: &mut [$sum]) -> $sum {
                match isa.level() {
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 | Level::Avx512Vbmi => {
                        let out = bytemuck::cast_slice_mut(out);
                        // SAFETY: an `Isa` of this level exists only where the machine has its instructions.
                        unsafe { avx512::block(kind, values, before as u32, out, stores::Cached) as $sum }
                    }
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => {
                        let out = bytemuck::cast_slice_mut(out);
                        // SAFETY: as above.
                        unsafe { avx2::block(kind, values, before as u32, out, stores::Cached) as $sum }
                    }
                    _ => scan_integers(kind, values, before, out),
                }
            }
            // end

            #[allow(unsafe_code)]
            fn block_past(
                isa: Isa,
                kind: Kind,
                values: &[Self],
                before: $sum,
                out: &mut [$sum],
                ahead: &[Self],
            ) -> bool {
                match isa.level() {
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 | Level::Avx512Vbmi if begins_line(out) => {
                        let out = bytemuck::cast_slice_mut(out);
                        // SAFETY: as above, and `out` begins with a line.
                        unsafe { avx512::block(kind, values, before as u32, out, stores::Past(ahead.as_ptr())) };
                        true
                    }
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 if begins_line(out) => {
                        let out = bytemuck::cast_slice_mut(out);
                        // SAFETY: as above.
                        unsafe { avx2::block(kind, values, before as u32, out, stores::Past(ahead.as_ptr())) };
                        true
                    }
                    _ => false,
                }
            }

            fn block_sum(isa: Isa, values: &[Self]) -> $sum {
                versions! {
                    fn run(values: &[$type]) -> $sum {
                        values.iter().fold(0, |sum, value| sum.wrapping_add(value.one()))
                    }
                }
                run(isa, values)
            }
        }
    )+};
}

integers! {
    u8, u32;
    u16, u32;
    u32, u32;
    i32, i32;
}

impl Scannable for f32 {
    type Sum = Self;

    #[inline(always)]
    fn one(self) -> Self {
        self
    }

    #[inline(always)]
    fn plus(a: Self, b: Self) -> Self {
        a + b
    }

    #[allow(unsafe_code)]
    fn block(isa: Isa, kind: Kind, values: &[Self], before: Self, out: &mut [Self]) -> Self {
        match isa.level() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: an `Isa` of this level exists only where the machine has its instructions.
            Level::Avx512 | Level::Avx512Vbmi => unsafe {
                avx512::block_floats(kind, values, before, out, stores::Cached)
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Level::Avx2 => unsafe { avx2::block_floats(kind, values, before, out, stores::Cached) },
            _ => scan_floats(kind, values, before, out),
        }
    }

    #[allow(unsafe_code)]
    fn block_past(
        isa: Isa,
        kind: Kind,
        values: &[Self],
        before: Self,
        out: &mut [Self],
        ahead: &[Self],
    ) -> bool {
        match isa.level() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 | Level::Avx512Vbmi if begins_line(out) => {
                // SAFETY: as above, and `out` begins with a line.
                unsafe { avx512::block_floats(kind, values, before, out, stores::Past(ahead.as_ptr())) };
                true
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 if begins_line(out) => {
                // SAFETY: as above.
                unsafe { avx2::block_floats(kind, values, before, out, stores::Past(ahead.as_ptr())) };
                true
            }
            _ => false,
        }
    }

    fn block_sum(isa: Isa, values: &[Self]) -> Self {
        sum_floats(isa, values)
    }
}
