//! Repeat on the CPU: copies of long runs, which the platform's `memcpy` makes at the speed of its stores.
//!
//! Of each row one period is taken from the cell; then the row is its own source, first doubling what it has, then
//! copying the same run, short enough to stay in the nearest cache, until it is full. A narrow row that has come before
//! is copied whole instead: one call for each row beats one for each doubling.

use relief_raster::{Period, Sample, View, ViewMut};

/// The bytes of a row that serve as the source of the rest of it: they stay in the nearest cache, and calls that copy
/// so many cost little themselves.
const RUN: usize = 8 << 10;

/// Rows of at most so many bytes are copied whole from an equal row.
const NARROW: usize = 8 << 10;

/// Writes the raster of this period whose cell is `cell`: `out(i, j)` is its sample at (x + i, y + j).
///
/// Samples of the cell of `period.a()` × `period.c()` that lie outside `cell` are 0; samples of `cell` outside the
/// cell of the period are not used.
pub fn expand<S: Sample>(cell: View<'_, S>, period: Period, x: i64, y: i64, mut out: ViewMut<'_, S>) {
    if out.width() == 0 {
        return;
    }
    let narrow = out.width() * size_of::<S>() <= NARROW;
    let again = if narrow { rows_until_equal(period) } else { None };
    let (mut column, mut row) = period.reduce(x, y);
    for j in 0..out.height() {
        match again {
            Some(again) if j >= again => {
                let (above, row) = out.row_pair(j - again, j);
                row.copy_from_slice(above);
                continue;
            }
            _ => {}
        }
        expand_row(cell_row(cell, period, row), period.a(), column, out.row_mut(j));
        row += 1;
        if row == period.c() {
            row = 0;
            // The next cell below lies b to the right.
            column = if column >= period.b() {
                column - period.b()
            } else {
                column + period.a() - period.b()
            };
        }
    }
}

/// The samples of one row of the cell; those after its end are 0.
fn cell_row<S: Sample>(cell: View<'_, S>, period: Period, row: u64) -> &[S] {
    match usize::try_from(row) {
        Ok(row) if row < cell.height() => {
            let row = cell.row(row);
            let width = usize::try_from(period.a()).map_or(row.len(), |a| a.min(row.len()));
            &row[..width]
        }
        _ => &[],
    }
}

/// The least number of rows after which a row of the raster comes again without a shift.
fn rows_until_equal(period: Period) -> Option<usize> {
    let (mut gcd, mut rest) = (period.a(), period.b());
    while rest != 0 {
        (gcd, rest) = (rest, gcd % rest);
    }
    usize::try_from(u128::from(period.c()) * u128::from(period.a() / gcd)).ok()
}

/// Repeats `cell`, continued by 0 to `a` samples, from sample `column` on.
fn expand_row<S: Sample>(cell: &[S], a: u64, column: u64, out: &mut [S]) {
    let width = out.len();
    // Up to the end of the first, cut period, then the part of it that was cut off: one period.
    let first = usize::try_from(a - column).map_or(width, |first| first.min(width));
    let (head, rest) = out.split_at_mut(first);
    copy_padded(
        cell.get(usize::try_from(column).unwrap_or(usize::MAX)..)
            .unwrap_or_default(),
        head,
    );
    if rest.is_empty() {
        return;
    }
    let second = usize::try_from(column).map_or(rest.len(), |second| second.min(rest.len()));
    copy_padded(cell, &mut rest[..second]);

    let mut done = first + second;
    while done < width && done * size_of::<S>() < RUN {
        let count = done.min(width - done);
        out.copy_within(..count, done);
        done += count;
    }
    let (run, rest) = out.split_at_mut(done);
    for part in rest.chunks_mut(done) {
        part.copy_from_slice(&run[..part.len()]);
    }
}

/// Copies the beginning of `source`, and 0 where it ends.
fn copy_padded<S: Sample>(source: &[S], out: &mut [S]) {
    let count = source.len().min(out.len());
    let (head, tail) = out.split_at_mut(count);
    head.copy_from_slice(&source[..count]);
    tail.fill(S::ZERO);
}
