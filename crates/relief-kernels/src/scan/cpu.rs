//! Scans on the CPU: sixteen numbers at a time by four additions of the vector to itself, shifted by 1, 2, 4 and 8 (Hillis and
//! Steele), compiled for each set of vector instructions.
//!
//! Blocks of [`BLOCK`] numbers are what threads deal out: [`block_sums`] of all blocks, [`sums_before`] of these, and
//! [`scan_blocks`] of parts are [`scan`], to the bit. Large results go past the caches, so that what they overwrite is not
//! read first.
//!
//! **The order of sums of floats**: a number's sum within its sixteen, added to that of the sixteens of its block before, one
//! after the other, added to that of the blocks before, one after the other.

use std::cell::Cell;

use bytemuck::Pod;

use super::Kind;
use crate::copy::cpu::past_caches;
use crate::element::Number;
use crate::isa::{Isa, versions};

/// Numbers of a block.
pub const BLOCK: usize = 2_048;

/// Numbers that are scanned at a time.
const GROUP: usize = 16;

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
fn scan_group<T: Scannable>(mut sums: [T::Sum; GROUP]) -> [T::Sum; GROUP] {
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

#[inline(always)]
fn scan_block<T: Scannable>(kind: Kind, values: &[T], before: T::Sum, out: &mut [T::Sum]) -> T::Sum {
    let mut run = T::Sum::default();
    let (groups, rest) = values.as_chunks::<GROUP>();
    let (targets, last) = out.as_chunks_mut::<GROUP>();
    let mut group = |values: [T::Sum; GROUP], target: &mut [T::Sum]| {
        let sums = scan_group::<T>(values);
        let first = T::plus(before, run);
        match kind {
            Kind::Inclusive => {
                for (target, sum) in target.iter_mut().zip(sums) {
                    *target = T::plus(before, T::plus(run, sum));
                }
            }
            Kind::Exclusive => {
                for (i, target) in target.iter_mut().enumerate() {
                    *target = match i.checked_sub(1) {
                        Some(other) => T::plus(before, T::plus(run, sums[other])),
                        None => first,
                    };
                }
            }
        }
        run = T::plus(run, sums[GROUP - 1]);
    };
    for (values, target) in groups.iter().zip(targets) {
        group(values.map(T::one), target);
    }
    if !rest.is_empty() {
        let mut values = [T::Sum::default(); GROUP];
        for (value, number) in values.iter_mut().zip(rest) {
            *value = number.one();
        }
        group(values, last);
    }
    run
}

#[inline(always)]
fn sum_block<T: Scannable>(values: &[T]) -> T::Sum {
    let (groups, rest) = values.as_chunks::<GROUP>();
    let sum = |values: [T::Sum; GROUP]| {
        let twos: [T::Sum; 8] = std::array::from_fn(|i| T::plus(values[2 * i], values[2 * i + 1]));
        let fours: [T::Sum; 4] = std::array::from_fn(|i| T::plus(twos[2 * i], twos[2 * i + 1]));
        T::plus(T::plus(fours[0], fours[1]), T::plus(fours[2], fours[3]))
    };
    let mut run = T::Sum::default();
    for values in groups {
        run = T::plus(run, sum(values.map(T::one)));
    }
    if !rest.is_empty() {
        let mut values = [T::Sum::default(); GROUP];
        for (value, number) in values.iter_mut().zip(rest) {
            *value = number.one();
        }
        run = T::plus(run, sum(values));
    }
    run
}

macro_rules! scannable {
    ($($type:ty, $sum:ty, $plus:expr;)+) => {$(
        impl Scannable for $type {
            type Sum = $sum;

            #[inline(always)]
            fn one(self) -> $sum {
                self.into()
            }

            #[inline(always)]
            fn plus(a: $sum, b: $sum) -> $sum {
                $plus(a, b)
            }

            fn block(isa: Isa, kind: Kind, values: &[Self], before: $sum, out: &mut [$sum]) -> $sum {
                versions! {
                    fn run(kind: Kind, values: &[$type], before: $sum, out: &mut [$sum]) -> $sum {
                        // The kind is known in each of the loops.
                        match kind {
                            Kind::Inclusive => scan_block(Kind::Inclusive, values, before, out),
                            Kind::Exclusive => scan_block(Kind::Exclusive, values, before, out),
                        }
                    }
                }
                run(isa, kind, values, before, out)
            }

            fn block_sum(isa: Isa, values: &[Self]) -> $sum {
                versions! {
                    fn run(values: &[$type]) -> $sum {
                        sum_block(values)
                    }
                }
                run(isa, values)
            }
        }
    )+};
}

scannable! {
    u8, u32, u32::wrapping_add;
    u16, u32, u32::wrapping_add;
    u32, u32, u32::wrapping_add;
    i32, i32, i32::wrapping_add;
    f32, f32, |a: f32, b: f32| a + b;
}
