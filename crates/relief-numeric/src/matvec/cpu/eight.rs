//! Eight rows that are read at once, from as many places of memory.
//!
//! The hardware prefetcher sees what a row reads next, and software prefetches of the same lines only slow
//! memory down. So memory is prefetched only at the end of the rows: what the next begin with, which nothing
//! has announced. Loops are as short as they can be, each for its own number of sums that are added: how much
//! of memory is on its way is bound by how many instructions a processor has in flight.

use super::{LANES, plus};
use crate::matrix::Matrix;
use relief_kernels::ahead::{ask, ask_for_later};

/// Rows that are read at once.
pub(super) const EIGHT: usize = 8;

/// What their sums are added to at most before these are written.
pub(super) const OTHERS: usize = 6;

/// How many numbers of the next rows are asked for, to the second cache: of eight rows, whose numbers lie in the same sets of the first if rows are a multiple of a page
/// long.
const AHEAD: usize = 512;

/// How many numbers ahead those that are written are asked for.
const WRITTEN_AHEAD: usize = 128;

/// How the products of a column are added.
#[derive(Clone, Copy)]
pub(super) enum Sum {
    /// One after the other, each product and its sum rounded once.
    InTurn,
    /// (0 + 1) + (2 + 3).
    Four,
    /// The first four so, the others so, and both.
    TwoFours,
}

/// Rows, and numbers that they are multiplied by.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    rows: [&'a [f32]; EIGHT],
    x: [f32; EIGHT],
    given: [bool; EIGHT],
    sum: Sum,
    /// What is read next lies so many numbers after these.
    below: usize,
}

impl<'a> Rows<'a> {
    /// The rows of M that are `given`, and their numbers of x, which has one or more.
    #[inline(always)]
    pub(super) fn of(
        x: &[f32],
        matrix: Matrix<'a, f32>,
        places: [usize; EIGHT],
        given: [bool; EIGHT],
        sum: Sum,
        below: usize,
    ) -> Self {
        // A row stands for those that are not given; nothing is taken from it.
        let places = places.map(|row| row.min(x.len() - 1));
        Self {
            rows: places.map(|row| matrix.row(row)),
            x: places.map(|row| x[row]),
            given,
            sum,
            below,
        }
    }
}

/// Sums of the columns of rows, to which those of `others` are added, the last first, and where they are `added`, what is there.
#[inline(always)]
pub(super) fn add(rows: &Rows<'_>, others: &[&[f32]], added: bool, to: &mut [f32]) {
    // A loop for each of the two that are nearly always meant: of constants the compiler makes no branches.
    match (rows.given == [true; EIGHT], rows.sum) {
        (true, Sum::InTurn) => add_runs::<All<IN_TURN>>(rows, others, added, to),
        (true, Sum::TwoFours) => add_runs::<All<TWO_FOURS>>(rows, others, added, to),
        _ => add_runs::<Any>(rows, others, added, to),
    }
}

/// What the products of a column come to.
trait Take {
    /// Of `L` columns.
    fn take<const L: usize>(rows: &Rows<'_>, lines: [&[f32; L]; EIGHT]) -> [f32; L];
}

const IN_TURN: bool = true;
const TWO_FOURS: bool = false;

/// All rows are given.
struct All<const WAY: bool>;

impl<const WAY: bool> Take for All<WAY> {
    #[inline(always)]
    fn take<const L: usize>(rows: &Rows<'_>, lines: [&[f32; L]; EIGHT]) -> [f32; L] {
        take(
            [true; EIGHT],
            if WAY { Sum::InTurn } else { Sum::TwoFours },
            rows.x,
            lines,
        )
    }
}

/// Some rows are given, in any way.
struct Any;

impl Take for Any {
    #[inline(always)]
    fn take<const L: usize>(rows: &Rows<'_>, lines: [&[f32; L]; EIGHT]) -> [f32; L] {
        take(rows.given, rows.sum, rows.x, lines)
    }
}

#[inline(always)]
fn add_runs<T: Take>(rows: &Rows<'_>, others: &[&[f32]], added: bool, to: &mut [f32]) {
    // Of a constant number the compiler makes no loop.
    match others.len() {
        0 => add_others::<T, 0>(rows, others, added, to),
        1 => add_others::<T, 1>(rows, others, added, to),
        2 => add_others::<T, 2>(rows, others, added, to),
        3 => add_others::<T, 3>(rows, others, added, to),
        4 => add_others::<T, 4>(rows, others, added, to),
        5 => add_others::<T, 5>(rows, others, added, to),
        _ => add_others::<T, OTHERS>(rows, others, added, to),
    }
}

#[inline(always)]
fn add_others<T: Take, const K: usize>(rows: &Rows<'_>, others: &[&[f32]], added: bool, to: &mut [f32]) {
    let width = to.len();
    let lines = width - width % LANES;
    let asking = lines.saturating_sub(AHEAD);
    // Of short rows, as many are passed over as make up for it.
    let next = (AHEAD.div_ceil(width.max(1)) * rows.below).wrapping_sub(asking);
    let (here, rest) = to.split_at_mut(asking);
    let (there, single) = rest.split_at_mut(lines - asking);
    add_part::<T, K, LANES>(rows, 0, others, added, here, None);
    add_part::<T, K, LANES>(rows, asking, others, added, there, Some(next));
    add_part::<T, K, 1>(rows, lines, others, added, single, None);
}

/// Sums of columns from `at` on, `L` of them in a register; asks for what lies `next` numbers ahead.
#[inline(always)]
fn add_part<T: Take, const K: usize, const L: usize>(
    rows: &Rows<'_>,
    at: usize,
    others: &[&[f32]],
    added: bool,
    to: &mut [f32],
    next: Option<usize>,
) {
    let (to, _) = to.as_chunks_mut::<L>();
    let count = to.len();
    let [a, b, c, d, e, f, g, h] = rows.rows.map(|row| &row[at..].as_chunks::<L>().0[..count]);
    let mut others_in_lines: [&[[f32; L]]; K] = [&[]; K];
    for (lines, other) in others_in_lines.iter_mut().zip(others) {
        *lines = &other[at..].as_chunks::<L>().0[..count];
    }
    for i in 0..count {
        let lines = [&a[i], &b[i], &c[i], &d[i], &e[i], &f[i], &g[i], &h[i]];
        if let Some(next) = next {
            for line in lines {
                ask_for_later(line.as_ptr().wrapping_add(next));
            }
        }
        // What is written lies in the second cache. (Without this the compiler makes vectors of numbers of several lines, gathered one by one.)
        ask(to[i].as_ptr().wrapping_add(WRITTEN_AHEAD));
        let mut taken = T::take(rows, lines);
        for k in (0..K).rev() {
            taken = plus(others_in_lines[k][i], taken);
        }
        to[i] = if added { plus(to[i], taken) } else { taken };
    }
}

#[inline(always)]
fn take<const L: usize>(
    given: [bool; EIGHT],
    sum: Sum,
    x: [f32; EIGHT],
    lines: [&[f32; L]; EIGHT],
) -> [f32; L] {
    if matches!(sum, Sum::InTurn) {
        let mut taken = [0.0; L];
        for k in 0..EIGHT {
            if given[k] {
                taken = products(lines[k], x[k], taken);
            }
        }
        return taken;
    }
    let mut all = [[0.0; L]; EIGHT];
    for k in 0..EIGHT {
        if given[k] {
            all[k] = products(lines[k], x[k], all[k]);
        }
    }
    let [a, b, c, d, e, f, g, h] = all;
    let first = plus(plus(a, b), plus(c, d));
    match sum {
        Sum::TwoFours => plus(first, plus(plus(e, f), plus(g, h))),
        _ => first,
    }
}

/// Products, added to what was taken before.
#[inline(always)]
fn products<const L: usize>(line: &[f32; L], x: f32, mut taken: [f32; L]) -> [f32; L] {
    for (taken, value) in taken.iter_mut().zip(line) {
        *taken = value.mul_add(x, *taken);
    }
    taken
}
