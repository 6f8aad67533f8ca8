//! Rows so short that their sums stay in registers.

use super::{GROUP, LANES, plus};
use crate::matrix::Matrix;
use relief_kernels::ahead::ask_for_later;
use relief_kernels::isa::{Isa, versions};

#[cfg(target_arch = "x86_64")]
mod avx2;

/// The most numbers of such a row.
pub(super) const MOST: usize = 64;

/// Places of memory that short rows are read from in turn. With four, some distances are read at half the
/// speed of others.
const PLACES: usize = 2;

/// How many numbers ahead of those that are taken memory is asked for, to the second cache: three pages, of several rows each.
const AHEAD: usize = 3_072;

/// The same as whole rows.
fn ahead_of(matrix: Matrix<'_, f32>) -> usize {
    matrix.pitch() * AHEAD.div_ceil(matrix.pitch().max(1))
}

/// The products of rows of at most [`MOST`] numbers with `x`.
pub(super) fn rows(isa: Isa, matrix: Matrix<'_, f32>, x: &[f32], y: &mut [f32]) {
    // Of whole rows of four and eight numbers the compiler makes what takes no longer.
    #[cfg(target_arch = "x86_64")]
    if isa.level() >= relief_kernels::isa::Level::Avx2 && !matches!(x.len(), 4 | 8) {
        return avx2::rows(isa, matrix, x, y);
    }
    one_by_one(isa, matrix, x, y);
}

versions! {
    fn one_by_one(matrix: Matrix<'_, f32>, x: &[f32], y: &mut [f32]) {
        // How many sums a row takes is a constant for each, so that they stay in registers.
        match x.len() {
            ..=4 => rows_of::<4>(matrix, x, y),
            5..=8 => rows_of::<8>(matrix, x, y),
            9..=16 => rows_of::<16>(matrix, x, y),
            17..=32 => rows_of::<32>(matrix, x, y),
            _ => rows_of::<MOST>(matrix, x, y),
        }
    }
}

/// Rows whose products are taken into `USED` sums, one each.
#[inline(always)]
fn rows_of<const USED: usize>(matrix: Matrix<'_, f32>, x: &[f32], y: &mut [f32]) {
    let mut padded = [[0.0; GROUP]; MOST / GROUP];
    padded.as_flattened_mut()[..x.len()].copy_from_slice(x);
    let ahead = ahead_of(matrix);
    let each = y.len() / PLACES;
    for k in 0..each {
        for row in (0..PLACES).map(|part| part * each + k) {
            y[row] = asked::<USED>(matrix.row(row), &padded, ahead);
        }
    }
    for (row, y) in y.iter_mut().enumerate().skip(PLACES * each) {
        *y = asked::<USED>(matrix.row(row), &padded, ahead);
    }
}

/// The sum of products of a row; asks for the row `ahead` numbers on.
#[inline(always)]
fn asked<const USED: usize>(row: &[f32], x: &[[f32; GROUP]; MOST / GROUP], ahead: usize) -> f32 {
    for at in (0..USED).step_by(LANES) {
        ask_for_later(row.as_ptr().wrapping_add(ahead + at));
    }
    match row.first_chunk::<USED>() {
        Some(row) => short::<USED>(row, x),
        None => short::<USED>(row, x),
    }
}

/// The sum of products of a row that takes `USED` sums.
#[inline(always)]
fn short<const USED: usize>(row: &[f32], x: &[[f32; GROUP]; MOST / GROUP]) -> f32 {
    let mut fours = [[0.0; GROUP]; MOST / GROUP];
    let (groups, rest) = row.as_chunks::<GROUP>();
    for ((four, row), x) in fours.iter_mut().zip(groups).zip(x) {
        *four = four_times(products(row, x));
    }
    if !rest.is_empty() {
        let mut last = [0.0; GROUP];
        last[..rest.len()].copy_from_slice(rest);
        fours[groups.len()] = four_times(products(&last, &x[groups.len()]));
    }
    // Four neighbours hold the same: what a half of fours is added to is that of as many groups, or of lanes.
    let mut sums = fours[0];
    if USED > 32 {
        sums = plus(plus(fours[0], fours[2]), plus(fours[1], fours[3]));
    } else if USED > 16 {
        sums = plus(fours[0], fours[1]);
    }
    match USED {
        4 => sums[0],
        8 => sums[0] + sums[4],
        _ => (sums[0] + sums[8]) + (sums[4] + sums[12]),
    }
}

#[inline(always)]
fn products(row: &[f32; GROUP], x: &[f32; GROUP]) -> [f32; GROUP] {
    let mut products = [0.0; GROUP];
    for ((product, a), x) in products.iter_mut().zip(row).zip(x) {
        *product = a.mul_add(*x, 0.0);
    }
    products
}

/// The sums of four neighbours, each in all four places.
#[inline(always)]
fn four_times(sums: [f32; GROUP]) -> [f32; GROUP] {
    let mut pairs = [0.0; GROUP];
    for k in 0..GROUP {
        pairs[k] = sums[k] + sums[k ^ 1];
    }
    let mut fours = [0.0; GROUP];
    for k in 0..GROUP {
        fours[k] = pairs[k] + pairs[k ^ 2];
    }
    fours
}
