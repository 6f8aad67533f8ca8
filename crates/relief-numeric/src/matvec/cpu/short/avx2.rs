//! Four rows at once by vectors of 32 bytes. Neighbours are added by exchanges within halves of vectors, which keep the order of sums that is defined but not
//! that of lanes, and what four rows come to last is added to each other together: of loops compilers make a number of its own of each row.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::{PLACES, ahead_of, one_by_one};
use crate::matrix::Matrix;
use relief_kernels::ahead::{LINE, ask_for_later};
use relief_kernels::isa::Isa;

/// Numbers of a vector.
const EIGHT: usize = 8;

/// Rows at once: as many of each place.
const FOUR: usize = 4;

/// Numbers that rows have, or 0, by vectors.
struct Shape<const V: usize> {
    x: [__m256; V],
    /// Which numbers a row has.
    has: [__m256i; V],
}

/// As [`super::rows`].
///
/// # Panics
/// Where the machine has no AVX2.
pub(super) fn rows(isa: Isa, matrix: Matrix<'_, f32>, x: &[f32], y: &mut [f32]) {
    assert!(isa.level() >= relief_kernels::isa::Level::Avx2, "AVX2");
    let each = y.len() / FOUR * (FOUR / PLACES);
    // SAFETY: an `Isa` of this level exists only where the machine has its instructions.
    unsafe {
        match x.len() {
            64 => fours::<8, true>(matrix, x, &mut y[..PLACES * each], each),
            33.. => fours::<8, false>(matrix, x, &mut y[..PLACES * each], each),
            17.. => fours::<4, false>(matrix, x, &mut y[..PLACES * each], each),
            _ => fours::<2, false>(matrix, x, &mut y[..PLACES * each], each),
        }
    }
    let rest = PLACES * each..y.len();
    one_by_one(isa, matrix.rows_of(rest.clone()), x, &mut y[rest]);
}

/// Rows from [`PLACES`] places that are `each` rows apart; of `WHOLE` rows all vectors are.
#[target_feature(enable = "avx2,fma")]
fn fours<const V: usize, const WHOLE: bool>(matrix: Matrix<'_, f32>, x: &[f32], y: &mut [f32], each: usize) {
    let shape = Shape::<V>::of(x);
    let ahead = ahead_of(matrix);
    for k in (0..each).step_by(FOUR / PLACES) {
        let mut sums = [_mm256_setzero_ps(); FOUR];
        let places = [k, k + 1, each + k, each + k + 1];
        for (sums, row) in sums.iter_mut().zip(places) {
            let row = matrix.row(row);
            for at in (0..V * EIGHT * size_of::<f32>()).step_by(LINE) {
                ask_for_later(row.as_ptr().wrapping_add(ahead).wrapping_byte_add(at));
            }
            *sums = eighths::<V, WHOLE>(row, &shape);
        }
        let [a, b, c, d] = sums;
        // Of each row, in each half: the first number and the third, the second and the fourth.
        let first = _mm256_add_ps(
            _mm256_shuffle_ps::<0b01_00_01_00>(a, b),
            _mm256_shuffle_ps::<0b11_10_11_10>(a, b),
        );
        let second = _mm256_add_ps(
            _mm256_shuffle_ps::<0b01_00_01_00>(c, d),
            _mm256_shuffle_ps::<0b11_10_11_10>(c, d),
        );
        let halves = neighbours(first, second);
        let all = _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps::<1>(halves));
        let mut found = [0.0; FOUR];
        // SAFETY: four numbers.
        unsafe { _mm_storeu_ps(found.as_mut_ptr(), all) };
        for (place, found) in places.into_iter().zip(found) {
            y[place] = found;
        }
    }
}

impl<const V: usize> Shape<V> {
    #[target_feature(enable = "avx2,fma")]
    fn of(x: &[f32]) -> Self {
        let mut shape = Self {
            x: [_mm256_setzero_ps(); V],
            has: [_mm256_setzero_si256(); V],
        };
        for (k, x) in x.chunks(EIGHT).take(V).enumerate() {
            let (mut numbers, mut has) = ([0.0_f32; EIGHT], [0_i32; EIGHT]);
            numbers[..x.len()].copy_from_slice(x);
            has[..x.len()].fill(-1);
            // SAFETY: eight numbers each.
            unsafe {
                shape.x[k] = _mm256_loadu_ps(numbers.as_ptr());
                shape.has[k] = _mm256_loadu_si256(has.as_ptr().cast());
            }
        }
        shape
    }
}

/// The sums of fours of neighbours of a row, those of the second half of 64 added to the first: 0 2 4 6 and 1 3 5 7.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn eighths<const V: usize, const WHOLE: bool>(row: &[f32], shape: &Shape<V>) -> __m256 {
    let mut products = [_mm256_setzero_ps(); V];
    for (k, (product, x)) in products.iter_mut().zip(shape.x).enumerate() {
        // SAFETY: a mask leaves out what the row does not have; a whole row has as many vectors.
        let numbers = unsafe {
            let at = row.as_ptr().wrapping_add(EIGHT * k);
            match WHOLE {
                true => _mm256_loadu_ps(at),
                false => _mm256_maskload_ps(at, shape.has[k]),
            }
        };
        // As any sum, that of a product begins with 0.
        *product = _mm256_fmadd_ps(numbers, x, _mm256_setzero_ps());
    }
    if V == 2 {
        return neighbours(neighbours(products[0], products[1]), _mm256_setzero_ps());
    }
    let mut sums = neighbours(
        neighbours(products[0], products[1]),
        neighbours(products[2], products[3]),
    );
    if V == 8 {
        let others = neighbours(
            neighbours(products[4], products[5]),
            neighbours(products[6], products[7]),
        );
        sums = _mm256_add_ps(sums, others);
    }
    sums
}

/// The sums of pairs of neighbours: in each half those of the first vector's half, then those of the second's.
#[inline]
#[target_feature(enable = "avx2")]
fn neighbours(first: __m256, second: __m256) -> __m256 {
    _mm256_add_ps(
        _mm256_shuffle_ps::<0b10_00_10_00>(first, second),
        _mm256_shuffle_ps::<0b11_01_11_01>(first, second),
    )
}
