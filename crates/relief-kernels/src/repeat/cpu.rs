//! Repeat on the CPU: copies of long runs, which the platform's `memcpy` makes at the speed of its stores.
//!
//! Of each row one period is taken from the cell; then the row is its own source, first doubling what it has,
//! then copying the same run, short enough to stay in the nearest cache, until it is full. A narrow row that
//! has come before is copied whole instead: one call for each row beats one for each doubling.
//!
//! Large rasters take non-temporal stores, so that what they overwrite is not read first: whole periods are
//! laid out in the nearest cache and stored as often as they fit, in all rows that are equal.

use relief_raster::{Period, Sample, View, ViewMut};

use crate::copy::cpu::{self as copy, fence, stream_open};

/// The bytes of a row that serve as the source of the rest of it: they stay in the nearest cache, and calls that copy
/// so many cost little themselves.
const RUN: usize = 8 << 10;

/// From so many bytes on, a raster takes non-temporal stores: nothing else is read or written meanwhile. One
/// that is hardly more than a single cell is a copy of it, and goes by the rule of copies.
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
    out: ViewMut<'_, S>,
    whole: usize,
) {
    expand_bands(cell, period, x, y, &mut [out], whole);
}

/// [`expand_part`] of several bands as wide as each other, of which each is as if it began at (x, y): rows of the cell are taken from memory
/// once for all of them.
pub fn expand_bands<S: Sample>(
    cell: View<'_, S>,
    period: Period,
    x: i64,
    y: i64,
    bands: &mut [ViewMut<'_, S>],
    whole: usize,
) {
    let width = bands.iter().map(ViewMut::width).max().unwrap_or(0);
    if width == 0 {
        return;
    }
    let once = u128::from(period.a()) * u128::from(period.c()) > whole as u128 / 2;
    let least = if once { copy::LARGE } else { LARGE };
    if whole < least / size_of::<S>() {
        for band in bands {
            by_caches(cell, period, x, y, band.reborrow());
        }
        return;
    }
    let again = rows_until_equal(period).unwrap_or(usize::MAX);
    let tallest = bands.iter().map(ViewMut::height).max().unwrap_or(0);
    let mut run = Run([0; RUN]);
    // All that are equal to a row are stored with it.
    for (j, (row, column)) in (0..tallest.min(again)).zip(rows_of_cell(period, x, y)) {
        let source = Source::of(cell_row(cell, period, row), period.a(), column, width, &mut run);
        for band in &mut *bands {
            for j in (j..band.height()).step_by(again) {
                source.stream(band.row_mut(j));
            }
        }
    }
    fence();
}

fn by_caches<S: Sample>(cell: View<'_, S>, period: Period, x: i64, y: i64, mut out: ViewMut<'_, S>) {
    let narrow = out.width() * size_of::<S>() <= NARROW;
    let again = if narrow { rows_until_equal(period) } else { None };
    for (j, (row, column)) in (0..out.height()).zip(rows_of_cell(period, x, y)) {
        match again {
            Some(again) if j >= again => {
                let (above, row) = out.row_pair(j - again, j);
                row.copy_from_slice(above);
            }
            _ => expand_row(cell_row(cell, period, row), period.a(), column, out.row_mut(j)),
        }
    }
}

/// The rows of the cell that come up from row y on, and the columns of them that come up at x.
fn rows_of_cell(period: Period, x: i64, y: i64) -> impl Iterator<Item = (u64, u64)> {
    let (column, row) = period.reduce(x, y);
    std::iter::successors(Some((row, column)), move |(row, column)| {
        Some(match row + 1 {
            // The next cell below lies b to the right.
            below if below == period.c() => match column.checked_sub(period.b()) {
                Some(column) => (0, column),
                None => (0, column + period.a() - period.b()),
            },
            below => (below, *column),
        })
    })
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

/// What a row of non-temporal stores is copied from.
enum Source<'a, S> {
    /// Whole periods, in the nearest cache.
    Run(&'a [S]),
    /// The row of the cell, its length with zeros, and the column where the raster begins: a period is longer than a run.
    Row(&'a [S], u64, u64),
}

impl<'a, S: Sample> Source<'a, S> {
    fn of(cell: &'a [S], a: u64, column: u64, width: usize, run: &'a mut Run) -> Self {
        let run: &mut [S] = bytemuck::cast_slice_mut(&mut run.0);
        match usize::try_from(a).map_or(0, |a| run.len() / a * a) {
            0 => Self::Row(cell, a, column),
            periods => {
                let run = &mut run[..periods.min(width)];
                expand_row(cell, a, column, run);
                Self::Run(run)
            }
        }
    }

    /// Fills a row by non-temporal stores, up to a [`fence`].
    fn stream(&self, out: &mut [S]) {
        match *self {
            Self::Run(run) => {
                for part in out.chunks_mut(run.len()) {
                    stream_samples(&run[..part.len()], part);
                }
            }
            Self::Row(cell, a, column) => stream_row(cell, a, column, out),
        }
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
