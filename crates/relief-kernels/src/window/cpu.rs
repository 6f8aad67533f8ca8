//! Sums over squares on the CPU.

use relief_raster::{Depth, Sample, View, ViewMut};

use super::{Law, MAX_RADIUS, MAX_THRESHOLD_RADIUS};
use crate::block;
use crate::isa::{Isa, versions};

/// Columns that are computed at once: their sums stay in the nearest caches.
const CHUNK: usize = 1_024;

/// A sum, modulo its width.
trait Sum: bytemuck::Pod {
    fn of(value: u64) -> Self;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn wide(self) -> u64;

    /// The sum as a number of f32, of one below 2^24.
    fn single(self) -> f32;
}

macro_rules! sums {
    ($($type:ident),*) => {
        $(impl Sum for $type {
            #[inline(always)]
            fn of(value: u64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn wide(self) -> u64 {
                u64::from(self)
            }

            #[inline(always)]
            fn single(self) -> f32 {
                self as i32 as f32
            }
        })*
    };
}
sums!(u32, u64);

/// The number of binary64 of a whole number below 2^52: its bits below those of 2^52.
#[inline(always)]
fn real(value: u64) -> f64 {
    const MAGIC: u64 = 0x4330_0000_0000_0000;
    f64::from_bits(MAGIC | value) - (1_u64 << 52) as f64
}

/// Words of scratch memory of [`mean`] and [`threshold`], of results of any size.
#[must_use]
pub const fn scratch_words(radius: usize) -> usize {
    // Sums of columns and from the left, and the same of squares, of 64 bits each.
    4 * (CHUNK + 2 * radius + 1)
}

/// The mean of the square of radius R around every pixel. `source` has R more columns and rows on every side than `out`.
///
/// # Panics
/// Where it has not, R exceeds [`MAX_RADIUS`], or `scratch` is shorter than [`scratch_words`].
pub fn mean<S: Sample>(source: View<'_, S>, radius: usize, out: ViewMut<'_, S>, scratch: &mut [u64]) {
    assert!(radius <= MAX_RADIUS, "a radius of {radius}");
    block::check(&source, (out.width(), out.height()), radius, radius);
    let samples = (2 * radius as u64 + 1).pow(2);
    // Modulo 2^32 a sum below that is itself.
    if samples * u64::from(S::MAX.to_u16()) < 1 << 32 {
        means::<S, u32>(source, radius, out, scratch);
    } else {
        means::<S, u64>(source, radius, out, scratch);
    }
}

fn means<S: Sample, T: Sum>(
    source: View<'_, S>,
    radius: usize,
    mut out: ViewMut<'_, S>,
    scratch: &mut [u64],
) {
    let isa = Isa::best();
    let (side, height) = (2 * radius + 1, out.height());
    let (sums, from_left) = bytemuck::cast_slice_mut::<u64, T>(scratch).split_at_mut(CHUNK + side);
    let count = (side * side) as f64;
    for start in (0..out.width()).step_by(CHUNK) {
        let columns = CHUNK.min(out.width() - start);
        let span = columns + side - 1;
        let (sums, from_left) = (&mut sums[..span], &mut from_left[..=span]);
        let row = |y: usize| &source.row(y)[start..start + span];
        sums.fill(T::of(0));
        (0..side - 1).for_each(|y| add::<S, T>(isa, row(y), sums));
        for y in 0..height {
            add::<S, T>(isa, row(y + side - 1), sums);
            scan(sums, from_left);
            let out = &mut out.row_mut(y)[start..start + columns];
            if S::DEPTH == Depth::Eight && radius <= 63 {
                divide_in_single::<S, T>(isa, from_left, (1.0 / count) as f32, out);
            } else {
                divide::<S, T>(isa, from_left, 1.0 / count, out);
            }
            take::<S, T>(isa, row(y), sums);
        }
    }
}

/// The pixels that a law sets, M, and 0 elsewhere. `source` has R more columns and rows on every side than `out`.
///
/// # Panics
/// Where it has not, R exceeds [`MAX_THRESHOLD_RADIUS`], or `scratch` is shorter than [`scratch_words`].
pub fn threshold<S: Sample>(
    source: View<'_, S>,
    radius: usize,
    law: Law,
    mut out: ViewMut<'_, S>,
    scratch: &mut [u64],
) {
    assert!(radius <= MAX_THRESHOLD_RADIUS, "a radius of {radius}");
    block::check(&source, (out.width(), out.height()), radius, radius);
    let isa = Isa::best();
    let (side, height) = (2 * radius + 1, out.height());
    let (first, second) = scratch.split_at_mut(2 * (CHUNK + side));
    let (sums, from_left) = bytemuck::cast_slice_mut::<u64, u32>(first).split_at_mut(CHUNK + side);
    let (squares, squares_from_left) = second.split_at_mut(CHUNK + side);
    let count = (side * side) as u64;
    for start in (0..out.width()).step_by(CHUNK) {
        let columns = CHUNK.min(out.width() - start);
        let span = columns + side - 1;
        let (sums, from_left) = (&mut sums[..span], &mut from_left[..=span]);
        let (squares, squares_from_left) = (&mut squares[..span], &mut squares_from_left[..=span]);
        let row = |y: usize| &source.row(y)[start..start + span];
        sums.fill(0);
        squares.fill(0);
        let deviates = matches!(law, Law::Sauvola { .. });
        for y in 0..height + side - 1 {
            add::<S, u32>(isa, row(y), sums);
            if deviates {
                add_squares::<S>(isa, row(y), squares);
            }
            let Some(top) = (y + 1).checked_sub(side) else {
                continue;
            };
            let middle = &source.row(top + radius)[start + radius..start + radius + columns];
            let out = &mut out.row_mut(top)[start..start + columns];
            scan(sums, from_left);
            match law {
                Law::Mean { offset } => by_mean::<S>(isa, middle, from_left, count, offset, out),
                Law::Sauvola { k } => {
                    scan(squares, squares_from_left);
                    by_sauvola::<S>(isa, middle, from_left, squares_from_left, count, k, out);
                    take_squares::<S>(isa, row(top), squares);
                }
            }
            take::<S, u32>(isa, row(top), sums);
        }
    }
}

versions! {
    fn add<S: Sample, T: Sum>(row: &[S], sums: &mut [T]) {
        for (sum, sample) in sums.iter_mut().zip(row) {
            *sum = sum.plus(T::of(u64::from(sample.to_u16())));
        }
    }
}

versions! {
    fn take<S: Sample, T: Sum>(row: &[S], sums: &mut [T]) {
        for (sum, sample) in sums.iter_mut().zip(row) {
            *sum = sum.minus(T::of(u64::from(sample.to_u16())));
        }
    }
}

versions! {
    fn add_squares<S: Sample>(row: &[S], sums: &mut [u64]) {
        for (sum, sample) in sums.iter_mut().zip(row) {
            *sum = sum.wrapping_add(square(*sample));
        }
    }
}

versions! {
    fn take_squares<S: Sample>(row: &[S], sums: &mut [u64]) {
        for (sum, sample) in sums.iter_mut().zip(row) {
            *sum = sum.wrapping_sub(square(*sample));
        }
    }
}

#[inline(always)]
fn square<S: Sample>(sample: S) -> u64 {
    let wide = u32::from(sample.to_u16());
    u64::from(wide * wide)
}

/// The sums of the first 0, 1, 2 … of `sums`.
#[inline(always)]
fn scan<T: Sum>(sums: &[T], from_left: &mut [T]) {
    let mut total = T::of(0);
    let (first, rest) = from_left.split_at_mut(1);
    first[0] = total;
    for (to, sum) in rest.iter_mut().zip(sums) {
        total = total.plus(*sum);
        *to = total;
    }
}

versions! {
    /// Means of differences of sums from the left: Σ/n and 2^23 leave the nearest whole number in the lowest bits.
    fn divide_in_single<S: Sample, T: Sum>(from_left: &[T], inverse: f32, out: &mut [S]) {
        let side = from_left.len() - out.len();
        for ((low, high), out) in from_left.iter().zip(&from_left[side..]).zip(out) {
            let mean = high.minus(*low).single() * inverse + 8_388_608.0;
            *out = S::from_u16(mean.to_bits() as u8 as u16);
        }
    }
}

versions! {
    /// As [`divide_in_single`], with 2^52.
    fn divide<S: Sample, T: Sum>(from_left: &[T], inverse: f64, out: &mut [S]) {
        let side = from_left.len() - out.len();
        for ((low, high), out) in from_left.iter().zip(&from_left[side..]).zip(out) {
            let mean = real(high.minus(*low).wide()) * inverse + (1_u64 << 52) as f64;
            *out = S::from_u16(mean.to_bits() as u16);
        }
    }
}

versions! {
    fn by_mean<S: Sample>(middle: &[S], from_left: &[u32], count: u64, offset: i32, out: &mut [S]) {
        let side = from_left.len() - out.len();
        let count = count as f64;
        for (((low, high), sample), out) in from_left.iter().zip(&from_left[side..]).zip(middle).zip(out) {
            // All whole numbers below 2^34.
            let raised = count * f64::from(i32::from(sample.to_u16()) + offset);
            let sum = real(high.minus(*low).wide());
            *out = if raised >= sum { S::MAX } else { S::ZERO };
        }
    }
}

versions! {
    fn by_sauvola<S: Sample>(
        middle: &[S],
        from_left: &[u32],
        squares: &[u64],
        count: u64,
        k: f64,
        out: &mut [S]
    ) {
        let side = from_left.len() - out.len();
        let half = f64::from(S::MAX.to_u16()) / 2.0;
        let sums = from_left.iter().zip(&from_left[side..]);
        let squares = squares.iter().zip(&squares[side..]);
        for (((sum, square), sample), out) in sums.zip(squares).zip(middle).zip(out) {
            let threshold = sauvola(sum.1.minus(*sum.0).wide(), square.1.minus(*square.0), count, k, half);
            let set = f64::from(sample.to_u16()) >= threshold;
            *out = if set { S::MAX } else { S::ZERO };
        }
    }
}

/// m·(1 + k·(s / half − 1)).
#[inline(always)]
fn sauvola(sum: u64, squares: u64, count: u64, k: f64, half: f64) -> f64 {
    // n·Q is at least Σ², and less than 2^64.
    let spread = count.wrapping_mul(squares).wrapping_sub(sum.wrapping_mul(sum));
    let mean = sum as f64 / count as f64;
    let deviation = (spread as f64).sqrt() / count as f64;
    mean * (1.0 + k * (deviation / half - 1.0))
}
