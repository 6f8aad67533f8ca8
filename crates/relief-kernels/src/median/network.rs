//! Medians of 3 × 3 and of 5 × 5 samples by networks of comparisons.
//!
//! The columns of the square are sorted first, once for all squares that they lie in; then what is left of the square is, a row of ranks at a
//! time. Of nine samples the median is that of the greatest least, the middle middle and the least greatest one; of twenty-five, thirteen can
//! still be it, of which the least and the greatest are forgotten again and again (J. L. Smith, *Implementing median filters in XC4000E
//! FPGAs*, 1996). A comparison is a minimum and a maximum, of as many pixels together as a vector has lanes.
//!
//! Pixels are compared 64 together, as arrays: a loop over pixels around the whole network is too long for compilers to make vectors of.

use relief_raster::{Sample, View};

use super::cpu::Lane;
use crate::isa::versions;

/// Columns whose sorted samples lie near the processor.
const PART: usize = 256;

/// Pixels that are compared together.
const LANES: usize = 64;

/// A sample of each of them.
type Run<L> = [L; LANES];

/// Rows of a part, with what is read beyond its last run.
type Columns<L, const R: usize> = [[L; PART + LANES]; R];

versions! {
    /// A row of medians of the 3 × 3 samples around each column but the outermost. `L` is `S`.
    pub(super) fn of_nine<S: Sample, L: Lane>(rows: View<'_, S>, out: &mut [L]) {
        let mut columns: Columns<L, 3> = [[L::ZERO; PART + LANES]; 3];
        for (part, out) in out.chunks_mut(PART).enumerate() {
            read(rows, part * PART, out.len() + 2, &mut columns);
            for at in (0..out.len() + 2).step_by(LANES) {
                let mut column = runs(&columns, at);
                sort_three(&mut column);
                put(&mut columns, at, &column);
            }
            for (at, out) in out.chunks_mut(LANES).enumerate() {
                let at = at * LANES;
                let [left, middle, right] = [runs(&columns, at), runs(&columns, at + 1), runs(&columns, at + 2)];
                let low = greatest(&greatest(&left[0], &middle[0]), &right[0]);
                let high = least(&least(&left[2], &middle[2]), &right[2]);
                let centre = middle_of(&left[1], &middle[1], &right[1]);
                out.copy_from_slice(&middle_of(&low, &centre, &high)[..out.len()]);
            }
        }
    }
}

versions! {
    /// A row of medians of the 5 × 5 samples around each column but the two outermost. `L` is `S`.
    pub(super) fn of_twenty_five<S: Sample, L: Lane>(rows: View<'_, S>, out: &mut [L]) {
        let mut columns: Columns<L, 5> = [[L::ZERO; PART + LANES]; 5];
        for (part, out) in out.chunks_mut(PART).enumerate() {
            read(rows, part * PART, out.len() + 4, &mut columns);
            for at in (0..out.len() + 4).step_by(LANES) {
                let mut column = runs(&columns, at);
                sort(&mut column);
                put(&mut columns, at, &column);
            }
            for (at, out) in out.chunks_mut(LANES).enumerate() {
                let mut ranks = [[[L::ZERO; LANES]; 5]; 5];
                for (ranks, row) in ranks.iter_mut().zip(&columns) {
                    for (place, rank) in ranks.iter_mut().enumerate() {
                        rank.copy_from_slice(&row[at * LANES + place..][..LANES]);
                    }
                    sort(ranks);
                }
                out.copy_from_slice(&middle_of_sorted(&ranks)[..out.len()]);
            }
        }
    }
}

/// Brings the samples of rows from column `at` on.
#[inline(always)]
fn read<S: Sample, L: Lane, const R: usize>(
    rows: View<'_, S>,
    at: usize,
    count: usize,
    columns: &mut Columns<L, R>,
) {
    for (y, column) in columns.iter_mut().enumerate() {
        column[..count].copy_from_slice(bytemuck::cast_slice(&rows.row(y)[at..at + count]));
    }
}

/// A run of each row.
#[inline(always)]
fn runs<L: Lane, const R: usize>(columns: &Columns<L, R>, at: usize) -> [Run<L>; R] {
    let mut runs = [[L::ZERO; LANES]; R];
    for (run, row) in runs.iter_mut().zip(columns) {
        run.copy_from_slice(&row[at..at + LANES]);
    }
    runs
}

/// Puts a run of each row back.
#[inline(always)]
fn put<L: Lane, const R: usize>(columns: &mut Columns<L, R>, at: usize, runs: &[Run<L>; R]) {
    for (row, run) in columns.iter_mut().zip(runs) {
        row[at..at + LANES].copy_from_slice(run);
    }
}

/// The lesser of each two.
#[inline(always)]
fn least<L: Lane>(one: &Run<L>, other: &Run<L>) -> Run<L> {
    let mut least = *one;
    for (least, other) in least.iter_mut().zip(other) {
        *least = (*least).min(*other);
    }
    least
}

/// The greater of each two.
#[inline(always)]
fn greatest<L: Lane>(one: &Run<L>, other: &Run<L>) -> Run<L> {
    let mut greatest = *one;
    for (greatest, other) in greatest.iter_mut().zip(other) {
        *greatest = (*greatest).max(*other);
    }
    greatest
}

/// Has the lesser of two samples stand first.
#[inline(always)]
fn order<L: Lane, const N: usize>(samples: &mut [Run<L>; N], first: usize, second: usize) {
    let (one, other) = (samples[first], samples[second]);
    samples[first] = least(&one, &other);
    samples[second] = greatest(&one, &other);
}

/// Sorts three samples.
#[inline(always)]
fn sort_three<L: Lane>(samples: &mut [Run<L>; 3]) {
    order(samples, 1, 2);
    order(samples, 0, 1);
    order(samples, 1, 2);
}

/// Sorts five samples by nine comparisons (D. E. Knuth, *The Art of Computer Programming*, volume 3, 5.3.4).
#[inline(always)]
fn sort<L: Lane>(samples: &mut [Run<L>; 5]) {
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
fn middle_of<L: Lane>(one: &Run<L>, other: &Run<L>, third: &Run<L>) -> Run<L> {
    greatest(&least(&greatest(one, other), third), &least(one, other))
}

/// The median of rows that are sorted, and whose columns are.
///
/// A sample has at least (i + 1)·(j + 1) − 1 others at or below it and (5 − i)·(5 − j) − 1 at or above it; the median has no more than twelve of
/// either.
#[inline(always)]
fn middle_of_sorted<L: Lane>([a, b, c, d, e]: &[[Run<L>; 5]; 5]) -> Run<L> {
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
    middle_of(&v1, &v2, &e[1])
}

/// Has the least sample stand first and the greatest last.
#[inline(always)]
fn part<L: Lane, const N: usize>(samples: &mut [Run<L>; N]) {
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
