//! Tiles of x86-64. The compiler does not keep so many sums in registers of a plain loop, so these name them.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::{Operand, PANEL};
use crate::product::{Columns, Lines, SQUARE, STEPS, Tile};
use relief_kernels::ahead::{LINE, ask, ask_for_later};

/// How many rows of the panel ahead, and columns of the left matrix, memory is asked for: both come from the second cache, and a processor by itself
/// asks for the next lines too late.
const AHEAD: usize = 16;

/// Numbers of a line of the caches.
const LANES: usize = LINE / size_of::<f32>();

/// Rows of the tallest tile of AVX-512: 28 registers of sums, two of the panel, one of the left matrix.
pub(super) const ROWS_512: usize = 14;

/// The tile of AVX-512 of so many rows, or one more.
pub(super) fn tile_512(rows: usize) -> (usize, Tile<f32>) {
    match rows {
        ..=2 => (2, avx512::<2>),
        3..=4 => (4, avx512::<4>),
        5..=6 => (6, avx512::<6>),
        7..=8 => (8, avx512::<8>),
        9..=10 => (10, avx512::<10>),
        11..=12 => (12, avx512::<12>),
        _ => (ROWS_512, avx512::<ROWS_512>),
    }
}

/// A tile of `ROWS` rows of two registers. Columns of the packed left matrix are those of the tallest.
///
/// # Safety
/// As for every `Tile`: AVX-512. `ROWS` is at most [`ROWS_512`].
#[target_feature(enable = "avx512f")]
unsafe fn avx512<const ROWS: usize>(
    inner: usize,
    left: *const f32,
    right: *const f32,
    result: *mut f32,
    pitch: usize,
    first: bool,
    later: *const f32,
) {
    let mut sums = [[_mm512_setzero_ps(); 2]; ROWS];
    // SAFETY: the caller vouches for `inner` columns of the packed left matrix and rows of the panel, and for the rows of the result.
    unsafe {
        for (k, sums) in sums.iter_mut().enumerate() {
            let row = result.add(k * pitch);
            if !first {
                *sums = [_mm512_loadu_ps(row), _mm512_loadu_ps(row.add(LANES))];
            }
        }
        let (mut left, mut right) = (left, right);
        for step in 0..inner.div_ceil(STEPS) {
            // A line at a time: a processor that is asked for many at once waits.
            ask_for_later(later.wrapping_add(step * LANES));
            if step < ROWS {
                let below = result.wrapping_add((ROWS + step) * pitch);
                ask(below);
                ask(below.wrapping_add(LANES));
            }
            for _ in 0..STEPS.min(inner - step * STEPS) {
                ask(right.wrapping_add(AHEAD * PANEL));
                ask(right.wrapping_add(AHEAD * PANEL + LANES));
                ask(left.wrapping_add(AHEAD * ROWS_512));
                let panel = [_mm512_loadu_ps(right), _mm512_loadu_ps(right.add(LANES))];
                for (k, sums) in sums.iter_mut().enumerate() {
                    let number = _mm512_set1_ps(*left.add(k));
                    sums[0] = _mm512_fmadd_ps(number, panel[0], sums[0]);
                    sums[1] = _mm512_fmadd_ps(number, panel[1], sums[1]);
                }
                left = left.add(ROWS_512);
                right = right.add(PANEL);
            }
        }
        for (k, sums) in sums.iter().enumerate() {
            let row = result.add(k * pitch);
            _mm512_storeu_ps(row, sums[0]);
            _mm512_storeu_ps(row.add(LANES), sums[1]);
        }
    }
}

/// Turns a line of numbers of each row of a tile: a column behind the other.
#[target_feature(enable = "avx512f")]
pub(super) fn turn_512<T: Operand>(rows: Lines<'_, T, ROWS_512>, columns: &mut Columns<f32, ROWS_512>) {
    // The last two rows are zeros.
    let mut lines = [_mm512_setzero_ps(); SQUARE];
    for (line, row) in lines.iter_mut().zip(rows) {
        let mut wide = [0.0; SQUARE];
        for (wide, number) in wide.iter_mut().zip(row) {
            *wide = number.widen();
        }
        // SAFETY: a register's numbers are read.
        *line = unsafe { _mm512_loadu_ps(wide.as_ptr()) };
    }
    // Quarter p of register c of rows 4 q to 4 q + 3 has their numbers of column 4 p + c.
    let mut quarters = [[_mm512_setzero_ps(); 4]; 4];
    for (quarters, rows) in quarters.iter_mut().zip(lines.as_chunks::<4>().0) {
        let low = [
            _mm512_unpacklo_ps(rows[0], rows[1]),
            _mm512_unpacklo_ps(rows[2], rows[3]),
        ];
        let high = [
            _mm512_unpackhi_ps(rows[0], rows[1]),
            _mm512_unpackhi_ps(rows[2], rows[3]),
        ];
        let [low, high] = [low, high].map(|pair| pair.map(|both| _mm512_castps_pd(both)));
        let all = [
            _mm512_unpacklo_pd(low[0], low[1]),
            _mm512_unpackhi_pd(low[0], low[1]),
            _mm512_unpacklo_pd(high[0], high[1]),
            _mm512_unpackhi_pd(high[0], high[1]),
        ];
        *quarters = all.map(|four| _mm512_castpd_ps(four));
    }
    let mut turned = [_mm512_setzero_ps(); SQUARE];
    for c in 0..4 {
        let [a, b, d, e] = [quarters[0][c], quarters[1][c], quarters[2][c], quarters[3][c]];
        let even = (
            _mm512_shuffle_f32x4::<0x88>(a, b),
            _mm512_shuffle_f32x4::<0x88>(d, e),
        );
        let odd = (
            _mm512_shuffle_f32x4::<0xdd>(a, b),
            _mm512_shuffle_f32x4::<0xdd>(d, e),
        );
        turned[c] = _mm512_shuffle_f32x4::<0x88>(even.0, even.1);
        turned[4 + c] = _mm512_shuffle_f32x4::<0x88>(odd.0, odd.1);
        turned[8 + c] = _mm512_shuffle_f32x4::<0xdd>(even.0, even.1);
        turned[12 + c] = _mm512_shuffle_f32x4::<0xdd>(odd.0, odd.1);
    }
    let to = columns.as_flattened_mut();
    for (k, column) in turned.into_iter().enumerate() {
        // What is too much is written over by the next column; of the last it is left out.
        let taken = if k < SQUARE - 1 {
            u16::MAX
        } else {
            u16::MAX >> (SQUARE - ROWS_512)
        };
        // SAFETY: the numbers that are written lie in `to`: up to (SQUARE - 2) * ROWS_512 + SQUARE, and of the last column to the end.
        unsafe { _mm512_mask_storeu_ps(to.as_mut_ptr().add(k * ROWS_512), taken, column) };
    }
}

/// A tile of 6 rows, two registers of the panel at a time: 12 of sums.
///
/// # Safety
/// As for every `Tile`: AVX2 and fused multiply-adds.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn avx2(
    inner: usize,
    left: *const f32,
    right: *const f32,
    result: *mut f32,
    pitch: usize,
    first: bool,
    later: *const f32,
) {
    const ROWS: usize = 6;
    for x in [0, PANEL / 2] {
        let mut sums = [[_mm256_setzero_ps(); 2]; ROWS];
        // SAFETY: the caller vouches for `inner` times the tile's rows and the panel's columns, and for the rows of the result.
        unsafe {
            if !first {
                for (k, sums) in sums.iter_mut().enumerate() {
                    let row = result.add(k * pitch + x);
                    *sums = [_mm256_loadu_ps(row), _mm256_loadu_ps(row.add(8))];
                }
            }
            let (mut left, mut right) = (left, right.add(x));
            for k in 0..inner {
                if x == 0 && k % STEPS == 0 {
                    ask_for_later(later.wrapping_add(k / STEPS * LANES));
                    if k / STEPS < ROWS {
                        let below = result.wrapping_add((ROWS + k / STEPS) * pitch);
                        ask(below);
                        ask(below.wrapping_add(LANES));
                    }
                }
                let panel = [_mm256_loadu_ps(right), _mm256_loadu_ps(right.add(8))];
                for (k, sums) in sums.iter_mut().enumerate() {
                    let number = _mm256_set1_ps(*left.add(k));
                    sums[0] = _mm256_fmadd_ps(number, panel[0], sums[0]);
                    sums[1] = _mm256_fmadd_ps(number, panel[1], sums[1]);
                }
                left = left.add(ROWS);
                right = right.add(PANEL);
            }
            for (k, sums) in sums.iter().enumerate() {
                let row = result.add(k * pitch + x);
                _mm256_storeu_ps(row, sums[0]);
                _mm256_storeu_ps(row.add(8), sums[1]);
            }
        }
    }
}
