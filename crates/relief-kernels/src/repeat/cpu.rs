//! Repeat on the CPU: copies of long runs, which the platform's `memcpy` makes at the speed of its stores.
//!
//! Of each row one period is taken from the cell; then the row is its own source, first doubling what it has, then
//! copying the same run, short enough to stay in the nearest cache, until it is full. A narrow row that has come before
//! is copied whole instead: one call for each row beats one for each doubling.
//!
//! Large rasters are stored past the caches, so that what they overwrite is not read first: whole periods are laid out
//! in the nearest cache and stored as often as they fit, in all rows that are equal.

use relief_raster::{Period, Sample, View, ViewMut};

use crate::copy::cpu::{self as copy, fence, stream_open};

/// The bytes of a row that serve as the source of the rest of it: they stay in the nearest cache, and calls that copy
/// so many cost little themselves.
const RUN: usize = 8 << 10;

/// From so many bytes on, a raster is stored past the caches: nothing else is read or written meanwhile. One that is hardly more than a
/// single cell is a copy of it, and goes by the rule of copies.
const LARGE: usize = 1 << 20;

/// Rows of at most so many bytes are copied whole from an equal row.
const NARROW: usize = 8 << 10;

/// Writes the raster of this period whose cell is `cell`: `out(i, j)` is its sample at (x + i, y + j).
///
/// Samples of the cell of `period.a()` × `period.c()` that lie outside `cell` are 0; samples of `cell` outside the
/// cell of the period are not used.
pub fn expand<S: Sample>(cell: View<'_, S>, period: Period, x: i64, y: i64, out: ViewMut<'_, S>) {
    let whole = out.width().saturating_mul(out.height());
    expand_part(cell, period, x, y, out, whole);
}

/// [`expand`] of a part of `whole` samples, of which other threads write the rest: what suits all of them suits each.
pub fn expand_part<S: Sample>(
    cell: View<'_, S>,
    period: Period,
    x: i64,
    y: i64,
    mut out: ViewMut<'_, S>,
    whole: usize,
) {
    if out.width() == 0 {
        return;
    }
    let once = u128::from(period.a()) * u128::from(period.c()) > whole as u128 / 2;
    let least = if once { copy::LARGE } else { LARGE };
    let large = whole >= least / size_of::<S>();
    let narrow = !large && out.width() * size_of::<S>() <= NARROW;
    let again = if narrow || large {
        rows_until_equal(period)
    } else {
        None
    };
    let mut run = Run([0; RUN]);
    let (mut column, mut row) = period.reduce(x, y);
    for j in 0..out.height() {
        match again {
            // All that are equal to one have been stored with it.
            Some(again) if j >= again && large => break,
            Some(again) if j >= again => {
                let (above, row) = out.row_pair(j - again, j);
                row.copy_from_slice(above);
                continue;
            }
            _ => {}
        }
        let cell = cell_row(cell, period, row);
        if large {
            let rows = (j..out.height()).step_by(again.unwrap_or(usize::MAX));
            stream_rows(cell, period.a(), column, &mut run, &mut out, rows);
        } else {
            expand_row(cell, period.a(), column, out.row_mut(j));
        }
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
    if large {
        fence();
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
    if second > 0 {
        copy_padded(cell, &mut rest[..second]);
    }

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

/// A run of samples, aligned as lines of the caches are.
#[repr(align(64))]
struct Run([u8; RUN]);

/// As [`expand_row`], of rows that are equal, past the caches, up to a [`fence`].
fn stream_rows<S: Sample>(
    cell: &[S],
    a: u64,
    column: u64,
    run: &mut Run,
    out: &mut ViewMut<'_, S>,
    rows: impl Iterator<Item = usize>,
) {
    let run: &mut [S] = bytemuck::cast_slice_mut(&mut run.0);
    let periods = usize::try_from(a).map_or(0, |a| run.len() / a * a);
    if periods > 0 {
        let run = &mut run[..periods.min(out.width())];
        expand_row(cell, a, column, run);
        for row in rows {
            for part in out.row_mut(row).chunks_mut(run.len()) {
                stream_samples(&run[..part.len()], part);
            }
        }
        return;
    }
    for row in rows {
        stream_row(cell, a, column, out.row_mut(row));
    }
}

/// A row whose period is longer than a run: from the cell itself, up to the end of each period.
fn stream_row<S: Sample>(cell: &[S], a: u64, column: u64, out: &mut [S]) {
    let (mut column, mut rest) = (column, out);
    while !rest.is_empty() {
        let count = usize::try_from(a - column).map_or(rest.len(), |left| left.min(rest.len()));
        let (part, after) = rest.split_at_mut(count);
        let source = cell
            .get(usize::try_from(column).unwrap_or(usize::MAX)..)
            .unwrap_or_default();
        let (held, zeros) = part.split_at_mut(source.len().min(count));
        stream_samples(&source[..held.len()], held);
        zeros.fill(S::ZERO);
        (column, rest) = (0, after);
    }
}

fn stream_samples<S: Sample>(from: &[S], to: &mut [S]) {
    stream_open(bytemuck::cast_slice(from), bytemuck::cast_slice_mut(to), &[]);
}

/// Copies the beginning of `source`, and 0 where it ends.
fn copy_padded<S: Sample>(source: &[S], out: &mut [S]) {
    let count = source.len().min(out.len());
    let (head, tail) = out.split_at_mut(count);
    head.copy_from_slice(&source[..count]);
    // Rows are short enough for a call that fills nothing to show.
    if !tail.is_empty() {
        tail.fill(S::ZERO);
    }
}
