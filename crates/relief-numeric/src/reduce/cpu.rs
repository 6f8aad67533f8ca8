//! Reductions on the CPU: plain loops, compiled for each set of vector instructions.
//!
//! Blocks are what threads deal out: [`block_sums`] of parts that begin at multiples of [`BLOCK`], and [`total`] of all of
//! them, is [`sum`], to the bit.

use std::ops::AddAssign;

use super::BLOCK;
use crate::element::Number;
use crate::matrix::Matrix;
use relief_kernels::ahead::{LINE, ask_for_later};
use relief_kernels::isa::{Isa, versions};

/// Sums that a block of floats is taken into, and blocks' sums after it.
const SUMS: usize = 1_024;

/// Floats of a line of the caches.
const LANES: usize = LINE / size_of::<f32>();

/// How many lines ahead of the one that is summed memory is prefetched: two rows of sums, into the
/// second-level cache, because the first can wait for few lines at a time.
const AHEAD: usize = 2 * SUMS / LANES;

/// Floats of a row of which sixteen are summed at once.
const FEW: usize = 16;

/// Sums that registers hold.
const GROUP: usize = 128;

/// Numbers that can be reduced.
pub trait Reducible: Number {
    /// What a sum of them is: 64 bits for integers, an `f32` for floats.
    type Sum: Copy + Default + AddAssign + PartialEq + Send + Sync + std::fmt::Debug;

    /// The sum of at most [`BLOCK`] numbers.
    #[doc(hidden)]
    fn block_sum(isa: Isa, block: &[Self]) -> Self::Sum;

    /// The sum of each row.
    #[doc(hidden)]
    fn row_sums(_: Isa, rows: Matrix<'_, Self>, sums: &mut [Self::Sum]) {
        for (row, to) in sums.iter_mut().enumerate() {
            *to = sum(rows.row(row));
        }
    }

    /// The sum of what [`SUMS`] sums of blocks came to.
    #[doc(hidden)]
    fn halved(sums: &mut [Self::Sum; SUMS]) -> Self::Sum;

    /// The least number; of none the greatest there is.
    #[doc(hidden)]
    fn least(isa: Isa, values: &[Self]) -> Self;

    /// The greatest number; of none the least there is.
    #[doc(hidden)]
    fn greatest(isa: Isa, values: &[Self]) -> Self;
}

/// The sum of all numbers.
#[must_use]
pub fn sum<T: Reducible>(values: &[T]) -> T::Sum {
    let isa = Isa::best();
    if values.len() <= BLOCK {
        return T::block_sum(isa, values);
    }
    let mut sums = [T::Sum::default(); SUMS];
    for (k, block) in values.chunks(BLOCK).enumerate() {
        sums[k % SUMS] += T::block_sum(isa, block);
    }
    T::halved(&mut sums)
}

/// The [`sum`] of each row of a matrix.
///
/// # Panics
/// Where there are not as many sums as rows.
pub fn sum_rows<T: Reducible>(rows: Matrix<'_, T>, sums: &mut [T::Sum]) {
    assert_eq!(rows.rows(), sums.len(), "a sum for each row");
    T::row_sums(Isa::best(), rows, sums);
}

/// The sum of each block of [`BLOCK`] numbers, the last of which may be shorter.
///
/// # Panics
/// Where there are not as many sums as blocks.
pub fn block_sums<T: Reducible>(values: &[T], sums: &mut [T::Sum]) {
    assert_eq!(values.len().div_ceil(BLOCK), sums.len(), "a sum for each block");
    let isa = Isa::best();
    for (block, sum) in values.chunks(BLOCK).zip(sums) {
        *sum = T::block_sum(isa, block);
    }
}

/// The sum of all numbers from those of their blocks.
#[must_use]
pub fn total<T: Reducible>(blocks: &[T::Sum]) -> T::Sum {
    let mut sums = [T::Sum::default(); SUMS];
    for (k, block) in blocks.iter().enumerate() {
        sums[k % SUMS] += *block;
    }
    T::halved(&mut sums)
}

/// The least number, if there is one.
#[must_use]
pub fn least<T: Reducible>(values: &[T]) -> Option<T> {
    (!values.is_empty()).then(|| T::least(Isa::best(), values))
}

/// The greatest number, if there is one.
#[must_use]
pub fn greatest<T: Reducible>(values: &[T]) -> Option<T> {
    (!values.is_empty()).then(|| T::greatest(Isa::best(), values))
}

/// Where the first least number is, if there is one.
#[must_use]
pub fn place_of_least<T: Reducible>(values: &[T]) -> Option<u64> {
    let isa = Isa::best();
    // The block is found first, and searched once it is known.
    let mut best: Option<(u32, usize)> = None;
    for (k, block) in values.chunks(BLOCK).enumerate() {
        let key = T::least(isa, block).key();
        if best.is_none_or(|(least, _)| key < least) {
            best = Some((key, k));
        }
    }
    let (key, block) = best?;
    let start = block * BLOCK;
    let within = values[start..].iter().position(|value| value.key() == key)?;
    Some((start + within) as u64)
}

macro_rules! integers {
    ($($type:ty, $sum:ty, $block:ty;)+) => {$(
        impl Reducible for $type {
            type Sum = $sum;

            fn block_sum(isa: Isa, block: &[Self]) -> $sum {
                versions! {
                    fn run(block: &[$type]) -> $sum {
                        <$sum>::from(block.iter().map(|value| <$block>::from(*value)).sum::<$block>())
                    }
                }
                run(isa, block)
            }

            fn halved(sums: &mut [$sum; SUMS]) -> $sum {
                sums.iter().fold(0, |sum, part| sum.wrapping_add(*part))
            }

            fn least(isa: Isa, values: &[Self]) -> Self {
                versions! {
                    fn run(values: &[$type]) -> $type {
                        values.iter().fold(<$type>::MAX, |least, value| least.min(*value))
                    }
                }
                run(isa, values)
            }

            fn greatest(isa: Isa, values: &[Self]) -> Self {
                versions! {
                    fn run(values: &[$type]) -> $type {
                        values.iter().fold(<$type>::MIN, |greatest, value| greatest.max(*value))
                    }
                }
                run(isa, values)
            }
        }
    )+};
}

// A block of the shorter ones fits 32 bits.
integers! {
    u8, u64, u32;
    u16, u64, u32;
    u32, u64, u64;
    i32, i64, i64;
}

impl Reducible for f32 {
    type Sum = Self;

    fn block_sum(isa: Isa, block: &[Self]) -> Self {
        sum_floats(isa, block)
    }

    fn row_sums(isa: Isa, rows: Matrix<'_, Self>, sums: &mut [Self]) {
        row_sums_of_floats(isa, rows, sums);
    }

    fn halved(sums: &mut [Self; SUMS]) -> Self {
        halve(sums)
    }

    fn least(isa: Isa, values: &[Self]) -> Self {
        versions! {
            fn run(values: &[f32]) -> u32 {
                values.iter().fold(u32::MAX, |least, value| least.min(value.key()))
            }
        }
        Self::from_key(run(isa, values))
    }

    fn greatest(isa: Isa, values: &[Self]) -> Self {
        versions! {
            fn run(values: &[f32]) -> u32 {
                values.iter().fold(0, |greatest, value| greatest.max(value.key()))
            }
        }
        Self::from_key(run(isa, values))
    }
}

versions! {
    fn sum_floats(block: &[f32]) -> f32 {
        if block.len() <= SUMS {
            return sum_short(block);
        }
        let mut sums = [0.0_f32; SUMS];
        // A row after the other, each line of it prefetched long before. Four rows at once, whose sums are
        // read and written once, are slower.
        for row in block.chunks(SUMS) {
            let (lines, rest) = row.as_chunks::<LANES>();
            let (all, last) = sums.as_chunks_mut::<LANES>().0.split_at_mut(lines.len());
            for (sums, line) in all.iter_mut().zip(lines) {
                ask_for_later(std::ptr::from_ref(line).wrapping_add(AHEAD));
                for (sum, value) in sums.iter_mut().zip(line) {
                    *sum += value;
                }
            }
            for (sum, value) in last.as_flattened_mut().iter_mut().zip(rest) {
                *sum += value;
            }
        }
        let mut fours = [0.0_f32; SUMS / 4];
        for (four, sums) in fours.iter_mut().zip(sums.as_chunks::<4>().0) {
            *four = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        }
        halve(&mut fours)
    }
}

versions! {
    fn row_sums_of_floats(rows: Matrix<'_, f32>, sums: &mut [f32]) {
        let mut done = 0;
        if let (FEW, Some(all)) = (rows.columns(), rows.whole()) {
            let (many, _) = all.as_chunks::<{ FEW * FEW }>();
            for (rows, to) in many.iter().zip(sums.as_chunks_mut::<FEW>().0) {
                sum_sixteen(rows, to);
                done += FEW;
            }
        }
        for (row, to) in sums.iter_mut().enumerate().skip(done) {
            let row = rows.row(row);
            *to = if row.len() <= SUMS { sum_short(row) } else { sum(row) };
        }
    }
}

/// The sum of at most [`SUMS`] floats: sums that would take nothing need not be cleared.
#[inline(always)]
fn sum_short(block: &[f32]) -> f32 {
    match block.len() {
        ..=FEW => sum_few::<FEW>(block),
        17..=64 => sum_few::<64>(block),
        65..=256 => sum_few::<256>(block),
        _ => sum_groups(block),
    }
}

/// The sums of sixteen rows of as many floats, all of them step by step.
#[inline(always)]
fn sum_sixteen(rows: &[f32; FEW * FEW], to: &mut [f32; FEW]) {
    let (mut pairs, mut fours, mut halves) = ([0.0; 8 * FEW], [0.0; 4 * FEW], [0.0; 2 * FEW]);
    for (pair, [first, second]) in pairs.iter_mut().zip(rows.as_chunks::<2>().0) {
        *pair = first + second;
    }
    for (four, [first, second]) in fours.iter_mut().zip(pairs.as_chunks::<2>().0) {
        *four = first + second;
    }
    for (half, row) in halves
        .as_chunks_mut::<2>()
        .0
        .iter_mut()
        .zip(fours.as_chunks::<4>().0)
    {
        *half = [row[0] + row[2], row[1] + row[3]];
    }
    for (to, [first, second]) in to.iter_mut().zip(halves.as_chunks::<2>().0) {
        // Sums begin with 0: that of nothing but -0 is 0.
        *to = 0.0 + (first + second);
    }
}

/// The sum of at most `N` floats, in the order of a block.
#[inline(always)]
fn sum_few<const N: usize>(block: &[f32]) -> f32 {
    // The length is a constant in the usual case.
    match <&[f32; N]>::try_from(block) {
        Ok(all) => sum_up_to::<N>(all, N),
        Err(_) => sum_up_to::<N>(block, block.len().next_power_of_two().clamp(4, N)),
    }
}

/// [`sum_few`] with as many sums.
#[inline(always)]
fn sum_up_to<const N: usize>(block: &[f32], used: usize) -> f32 {
    let mut sums = [0.0_f32; N];
    // Each is 0 and a number, as in a block: 0 + -0 is 0.
    for (sum, value) in sums.iter_mut().zip(block) {
        *sum += value;
    }
    let (fours, _) = sums.as_chunks::<4>();
    let mut halves = [0.0_f32; 64];
    for (half, sums) in halves.iter_mut().zip(&fours[..used / 4]) {
        *half = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    halve(&mut halves[..used / 4])
}

/// The sum of at most [`SUMS`] floats, in the order of a block: only what four neighbours come to is kept.
#[inline(always)]
fn sum_groups(block: &[f32]) -> f32 {
    let mut fours = [0.0_f32; SUMS / 4];
    let used = block.len().next_power_of_two().clamp(4, SUMS);
    for (values, fours) in block.chunks(GROUP).zip(fours.chunks_mut(GROUP / 4)) {
        let mut sums = [0.0_f32; GROUP];
        if let Some(values) = values.first_chunk::<GROUP>() {
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += value;
            }
        } else {
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += value;
            }
        }
        for (four, sums) in fours.iter_mut().zip(sums.as_chunks::<4>().0) {
            *four = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        }
    }
    halve(&mut fours[..used / 4])
}

/// Adds the second half to the first until one is left.
#[inline(always)]
fn halve(sums: &mut [f32]) -> f32 {
    let mut sums = sums;
    while sums.len() > 1 {
        let (first, second) = sums.split_at_mut(sums.len() / 2);
        for (sum, other) in first.iter_mut().zip(second) {
            *sum += *other;
        }
        sums = first;
    }
    sums[0]
}
