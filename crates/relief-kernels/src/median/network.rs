//! Medians of 3 × 3 and of 5 × 5 samples by networks of comparisons.
//!
//! What neighbouring squares have in common is sorted once for all of them. Of nine samples the median is that of the greatest least, the
//! middle middle and the least greatest one of sorted columns (J. L. Smith, *Implementing median filters in XC4000E FPGAs*, 1996). A comparison is
//! a minimum and a maximum, of as many pixels together as a vector has lanes.
//!
//! Pixels are compared 64 together, as arrays: a loop over pixels around the whole network is too long for compilers to make vectors of.

use relief_raster::{Sample, View, ViewMut};

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

/// The five samples of a row from each column of a part on, sorted: by runs.
type Sorted<L> = [[Run<L>; 5]; PART / LANES];

/// Those of two rows, sorted together.
type Merged<L> = [[Run<L>; 10]; PART / LANES];

/// What is held of the rows that the next two results read. Runs lie in lines of the caches: half of them would be two accesses else.
#[repr(align(64))]
struct Rows<L> {
    /// By row modulo six.
    sorted: [Sorted<L>; 6],
    /// Of rows 2n + 1 and 2n + 2, by n modulo two.
    merged: [Merged<L>; 2],
}

versions! {
    /// Medians of the 5 × 5 samples around each sample but those of the two outermost columns and rows. `L` is `S`.
    ///
    /// Two results above each other have four rows in common, of which seven samples lie below both of them and seven above; the middle six
    /// and the five of the row that only one of them reads are left. The four rows are two and two, and each two serve the results above them
    /// and those below.
    pub(super) fn of_twenty_five<S: Sample, L: Lane>(source: View<'_, S>, out: &mut ViewMut<'_, S>) {
        let (width, height) = (out.width(), out.height());
        let mut rows = Rows {
            sorted: [[[[L::ZERO; LANES]; 5]; PART / LANES]; 6],
            merged: [[[[L::ZERO; LANES]; 10]; PART / LANES]; 2],
        };
        for from in (0..width).step_by(PART) {
            let count = PART.min(width - from);
            for y in 0..4 {
                sort_row(source, (from, count), y, &mut rows);
            }
            merge_rows(&mut rows, 0, count);
            for y in (0..height).step_by(2) {
                sort_row(source, (from, count), y + 4, &mut rows);
                let both = y + 1 < height;
                if both {
                    sort_row(source, (from, count), y + 5, &mut rows);
                }
                merge_rows(&mut rows, y / 2 + 1, count);
                for run in 0..count.div_ceil(LANES) {
                    let middle = middle_six(&rows.merged[0][run], &rows.merged[1][run]);
                    let at = run * LANES;
                    let place = (from + at, LANES.min(count - at));
                    let first = middle_of_both(&middle, &rows.sorted[y % 6][run]);
                    write(&first, place, out.row_mut(y));
                    if both {
                        let second = middle_of_both(&middle, &rows.sorted[(y + 5) % 6][run]);
                        write(&second, place, out.row_mut(y + 1));
                    }
                }
            }
        }
    }
}

/// Writes so many samples of a run to a row, from a column on.
#[inline(always)]
fn write<S: Sample, L: Lane>(run: &Run<L>, (from, count): (usize, usize), row: &mut [S]) {
    let row: &mut [L] = bytemuck::cast_slice_mut(row);
    let row = &mut row[from..from + count];
    // Whole runs are stored as they are.
    match <&mut Run<L>>::try_from(&mut *row) {
        Ok(whole) => *whole = *run,
        Err(_) => row.copy_from_slice(&run[..count]),
    }
}

/// Sorts the five samples from each of some columns of a row on.
#[inline(always)]
fn sort_row<S: Sample, L: Lane>(
    source: View<'_, S>,
    (from, count): (usize, usize),
    y: usize,
    rows: &mut Rows<L>,
) {
    let row: &[L] = bytemuck::cast_slice(&source.row(y)[from..from + count + 4]);
    let sorted = &mut rows.sorted[y % 6];
    for (at, sorted) in (0..count).step_by(LANES).zip(sorted) {
        if let Some(run) = row.get(at..at + LANES + 4) {
            *sorted = sorted_run(run);
        } else {
            let mut rest = [L::ZERO; LANES + 4];
            rest[..row.len() - at].copy_from_slice(&row[at..]);
            *sorted = sorted_run(&rest);
        }
    }
}

/// Those of a run, with the four samples after it.
#[inline(always)]
fn sorted_run<L: Lane>(samples: &[L]) -> [Run<L>; 5] {
    let from = |place: usize| {
        let mut run = [L::ZERO; LANES];
        run.copy_from_slice(&samples[place..place + LANES]);
        run
    };
    let mut five = [from(0), from(1), from(2), from(3), from(4)];
    sort(&mut five);
    five
}

/// Sorts rows 2n + 1 and 2n + 2 together.
#[inline(always)]
fn merge_rows<L: Lane>(rows: &mut Rows<L>, n: usize, count: usize) {
    let (one, other) = (&rows.sorted[(2 * n + 1) % 6], &rows.sorted[(2 * n + 2) % 6]);
    let runs = one.iter().zip(other).zip(&mut rows.merged[n % 2]);
    for ((one, other), merged) in runs.take(count.div_ceil(LANES)) {
        *merged = merge(one, other);
    }
}

/// Both of two samples, the lesser first.
#[inline(always)]
fn ordered<L: Lane>(one: &Run<L>, other: &Run<L>) -> (Run<L>, Run<L>) {
    (least(one, other), greatest(one, other))
}

/// Sorts twice five sorted samples together: those with even and those with odd numbers first (K. E. Batcher, *Sorting networks and their
/// applications*, 1968), thirteen comparisons.
#[inline(always)]
fn merge<L: Lane>(a: &[Run<L>; 5], b: &[Run<L>; 5]) -> [Run<L>; 10] {
    let two = |a0: &Run<L>, a1: &Run<L>, b0: &Run<L>, b1: &Run<L>| {
        let ((first, low), (high, last)) = (ordered(a0, b0), ordered(a1, b1));
        let (second, third) = ordered(&low, &high);
        [first, second, third, last]
    };
    let outer = two(&a[0], &a[4], &b[0], &b[4]);
    let inner = ordered(&a[2], &b[2]);
    let (e1, e2) = ordered(&inner.0, &outer[1]);
    let (e3, e4) = ordered(&inner.1, &outer[2]);
    let odd = two(&a[1], &a[3], &b[1], &b[3]);
    let ((m1, m2), (m3, m4)) = (ordered(&odd[0], &e1), ordered(&odd[1], &e2));
    let ((m5, m6), (m7, m8)) = (ordered(&odd[2], &e3), ordered(&odd[3], &e4));
    [outer[0], m1, m2, m3, m4, m5, m6, m7, m8, outer[3]]
}

/// The eighth to the thirteenth of twice ten sorted samples.
#[inline(always)]
fn middle_six<L: Lane>(a: &[Run<L>; 10], b: &[Run<L>; 10]) -> [Run<L>; 6] {
    // The ten least and the ten greatest rise and fall once; so do the five of each that lie next to the middle.
    let [a0, a1, a2, a3, a4, a5, a6, a7, a8, a9] = a;
    let [b0, b1, b2, b3, b4, b5, b6, b7, b8, b9] = b;
    let mut below = [
        greatest(&least(a0, b9), &least(a5, b4)),
        greatest(&least(a1, b8), &least(a6, b3)),
        greatest(&least(a2, b7), &least(a7, b2)),
        greatest(&least(a3, b6), &least(a8, b1)),
        greatest(&least(a4, b5), &least(a9, b0)),
    ];
    sort(&mut below);
    let mut above = [
        least(&greatest(a0, b9), &greatest(a5, b4)),
        least(&greatest(a1, b8), &greatest(a6, b3)),
        least(&greatest(a2, b7), &greatest(a7, b2)),
        least(&greatest(a3, b6), &greatest(a8, b1)),
        least(&greatest(a4, b5), &greatest(a9, b0)),
    ];
    sort(&mut above);
    [below[2], below[3], below[4], above[0], above[1], above[2]]
}

/// The sixth of six and of five sorted samples together: the least of all that are the greatest of six, so many of one and the rest of the other.
#[inline(always)]
fn middle_of_both<L: Lane>(six: &[Run<L>; 6], five: &[Run<L>; 5]) -> Run<L> {
    let [a0, a1, a2, a3, a4, a5] = six;
    let [b0, b1, b2, b3, b4] = five;
    let first = least(&greatest(a0, b4), &greatest(a1, b3));
    let second = least(&greatest(a2, b2), &greatest(a3, b1));
    least(&least(&first, &second), &least(&greatest(a4, b0), a5))
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
