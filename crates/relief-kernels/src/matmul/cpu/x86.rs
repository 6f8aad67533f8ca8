//! Tiles of x86-64. The compiler does not keep so many sums in registers of a plain loop, so these name them.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::{PANEL, STEPS};
use crate::ahead::{LINE, ask, ask_for_later};

/// How many rows of the panel ahead, and columns of the left matrix, memory is asked for: both come from the second cache, and a processor by itself
/// asks for the next lines too late.
const AHEAD: usize = 16;

/// Numbers of a line of the caches.
const LANES: usize = LINE / size_of::<f32>();

/// A tile of 14 rows and two registers: 28 of sums, two of the panel, one of the left matrix.
///
/// # Safety
/// As for every `Tile`: AVX-512.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn avx512(
    inner: usize,
    left: *const f32,
    right: *const f32,
    result: *mut f32,
    pitch: usize,
    first: bool,
    later: *const f32,
) {
    const ROWS: usize = 14;
    let mut sums = [[_mm512_setzero_ps(); 2]; ROWS];
    // SAFETY: the caller vouches for `inner` times the tile's rows and the panel's columns, and for the rows of the result.
    unsafe {
        for (k, sums) in sums.iter_mut().enumerate() {
            let row = result.add(k * pitch);
            if !first {
                *sums = [_mm512_loadu_ps(row), _mm512_loadu_ps(row.add(16))];
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
                ask(left.wrapping_add(AHEAD * ROWS));
                let panel = [_mm512_loadu_ps(right), _mm512_loadu_ps(right.add(16))];
                for (k, sums) in sums.iter_mut().enumerate() {
                    let number = _mm512_set1_ps(*left.add(k));
                    sums[0] = _mm512_fmadd_ps(number, panel[0], sums[0]);
                    sums[1] = _mm512_fmadd_ps(number, panel[1], sums[1]);
                }
                left = left.add(ROWS);
                right = right.add(PANEL);
            }
        }
        for (k, sums) in sums.iter().enumerate() {
            let row = result.add(k * pitch);
            _mm512_storeu_ps(row, sums[0]);
            _mm512_storeu_ps(row.add(16), sums[1]);
        }
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
