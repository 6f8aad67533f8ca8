//! Medians of 3 × 3 and of 5 × 5 samples by networks of comparisons.
//!
//! The columns of the square are sorted first, once for all squares that they lie in; then what is left of the square is, a row of ranks at a
//! time. Of nine samples the median is that of the greatest least, the middle middle and the least greatest one; of twenty-five, thirteen can
//! still be it, of which the least and the greatest are forgotten again and again (J. L. Smith, *Implementing median filters in XC4000E
//! FPGAs*, 1996). A comparison is a minimum and a maximum, of as many pixels together as a vector has lanes.

use relief_raster::{Sample, View};

use super::cpu::Lane;
use crate::isa::versions;

/// Columns whose sorted samples lie near the processor.
const PART: usize = 256;

versions! {
    /// A row of medians of the 3 × 3 samples around each column but the outermost. `L` is `S`.
    pub(super) fn of_nine<S: Sample, L: Lane>(rows: View<'_, S>, out: &mut [L]) {
        for (part, out) in out.chunks_mut(PART).enumerate() {
            let count = out.len();
            let mut sorted = [[L::ZERO; PART + 2]; 3];
            sort_columns(read(rows, part * PART, count + 2), &mut sorted, |v: &mut [L; 3]| {
                order(v, 1, 2);
                order(v, 0, 1);
                order(v, 1, 2);
            });
            let [low, middle, high] = sorted.each_ref().map(|row| shifted::<L, 3>(row, count));
            for (x, out) in out.iter_mut().enumerate() {
                let low = low[0][x].max(low[1][x]).max(low[2][x]);
                let high = high[0][x].min(high[1][x]).min(high[2][x]);
                *out = middle_of(low, middle_of(middle[0][x], middle[1][x], middle[2][x]), high);
            }
        }
    }
}

versions! {
    /// A row of medians of the 5 × 5 samples around each column but the two outermost. `L` is `S`.
    pub(super) fn of_twenty_five<S: Sample, L: Lane>(rows: View<'_, S>, out: &mut [L]) {
        for (part, out) in out.chunks_mut(PART).enumerate() {
            let count = out.len();
            let mut sorted = [[L::ZERO; PART + 4]; 5];
            sort_columns(read(rows, part * PART, count + 4), &mut sorted, sort);
            let ranks = sorted.each_ref().map(|row| shifted::<L, 5>(row, count));
            for (x, out) in out.iter_mut().enumerate() {
                let mut rows = [[L::ZERO; 5]; 5];
                for (row, places) in rows.iter_mut().zip(&ranks) {
                    for (sample, place) in row.iter_mut().zip(places) {
                        *sample = place[x];
                    }
                    sort(row);
                }
                *out = middle_of_sorted(rows);
            }
        }
    }
}

/// The samples of rows from column `at` on.
#[inline(always)]
fn read<'a, S: Sample, L: Lane, const R: usize>(rows: View<'a, S>, at: usize, count: usize) -> [&'a [L]; R] {
    let mut read: [&[L]; R] = [&[]; R];
    for (y, row) in read.iter_mut().enumerate() {
        *row = bytemuck::cast_slice(&rows.row(y)[at..at + count]);
    }
    read
}

/// Sorts each column of some rows.
#[inline(always)]
fn sort_columns<L: Lane, const R: usize, const W: usize>(
    rows: [&[L]; R],
    sorted: &mut [[L; W]; R],
    sort: impl Fn(&mut [L; R]),
) {
    let count = rows[0].len();
    let mut sorted = sorted.each_mut().map(|row| &mut row[..count]);
    for x in 0..count {
        let mut column = [L::ZERO; R];
        for (sample, row) in column.iter_mut().zip(&rows) {
            *sample = row[x];
        }
        sort(&mut column);
        for (row, sample) in sorted.iter_mut().zip(column) {
            row[x] = sample;
        }
    }
}

/// A row from each of its first places on.
#[inline(always)]
fn shifted<L, const N: usize>(row: &[L], count: usize) -> [&[L]; N] {
    let mut shifted: [&[L]; N] = [&[]; N];
    for (from, places) in shifted.iter_mut().enumerate() {
        *places = &row[from..from + count];
    }
    shifted
}

/// Has the lesser of two samples stand first.
#[inline(always)]
fn order<L: Lane, const N: usize>(samples: &mut [L; N], first: usize, second: usize) {
    let (one, other) = (samples[first], samples[second]);
    samples[first] = one.min(other);
    samples[second] = one.max(other);
}

/// Sorts five samples by nine comparisons (D. E. Knuth, *The Art of Computer Programming*, volume 3, 5.3.4).
#[inline(always)]
fn sort<L: Lane>(samples: &mut [L; 5]) {
    order(samples, 0, 3);
    order(samples, 1, 4);
    order(samples, 0, 2);
    order(samples, 1, 3);
    order(samples, 0, 1);
    order(samples, 2, 4);
    order(samples, 1, 2);
    order(samples, 3, 4);
    order(samples, 2, 3);
}

/// The middle of three.
#[inline(always)]
fn middle_of<L: Lane>(one: L, other: L, third: L) -> L {
    one.max(other).min(third).max(one.min(other))
}

/// The median of rows that are sorted, and whose columns are.
///
/// A sample has at least (i + 1)·(j + 1) − 1 others at or below it and (5 − i)·(5 − j) − 1 at or above it; the median has no more than twelve of
/// either.
#[inline(always)]
fn middle_of_sorted<L: Lane>([a, b, c, d, e]: [[L; 5]; 5]) -> L {
    // The outer ones of each row are in order already.
    let mut eight = [a[3], b[2], c[1], d[0], d[2], c[3], b[4], a[4]];
    for place in 1..4 {
        order(&mut eight, 0, place);
        order(&mut eight, place + 3, 7);
    }
    let [_, v1, v2, v3, v4, v5, v6, _] = eight;
    let mut seven = [v1, v2, v3, v4, v5, v6, b[3]];
    part(&mut seven);
    let [_, v1, v2, v3, v4, v5, _] = seven;
    let mut six = [v1, v2, v3, v4, v5, c[2]];
    part(&mut six);
    let [_, v1, v2, v3, v4, _] = six;
    let mut five = [v1, v2, v3, v4, d[1]];
    part(&mut five);
    let [_, v1, v2, v3, _] = five;
    let mut four = [v1, v2, v3, e[0]];
    part(&mut four);
    let [_, v1, v2, _] = four;
    middle_of(v1, v2, e[1])
}

/// Has the least sample stand first and the greatest last.
#[inline(always)]
fn part<L: Lane, const N: usize>(samples: &mut [L; N]) {
    for place in 0..N / 2 {
        order(samples, place, N - 1 - place);
    }
    for place in 1..N.div_ceil(2) {
        order(samples, 0, place);
    }
    for place in N / 2..N - 1 {
        order(samples, place, N - 1);
    }
}
