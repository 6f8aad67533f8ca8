//! Products on the CPU: plain loops, compiled for each set of vector instructions.
//!
//! Memory binds, and a processor sees for itself what a row reads next only up to the end of a page, so it is
//! prefetched. Rows are taken from two places at once: more of memory is then on its way than where one
//! page is read after the other.
//!
//! Memory waits while the sums of a row are folded. So rows fold their sums by pairs, in loops that become
//! vector instructions.
//!
//! Threads deal out rows of M·x, and of x·M columns and blocks of rows: each is a sum of its own.

use super::{BLOCK, SUMS};
use crate::matrix::{Matrix, ShapeError};
use relief_kernels::ahead::{LINE, ask_for_later};
use relief_kernels::isa::{Isa, versions};

mod columns;
mod eight;
mod short;

pub use columns::{BLOCK_SCRATCH, block_sums, blocks_of, scratch_len, total, total_scratch, vector_matrix};

/// Levels of blocks: 2¹⁴ blocks of 2¹⁴ products each, and blocks of these, are more than memory holds.
const LEVELS: usize = 4;

/// Rows of M·x that are taken at once, and places of memory that are read in turn. Of four, with their sums
/// and `x`, what lies a multiple of a page apart does not find room in a first-level cache of 32 KiB.
const STREAMS: usize = 2;

/// Rows of several blocks that share the part of `x` that a block takes.
const SHARING: usize = 16;

/// Numbers of a row of as many blocks as one level of sums takes, one each.
const LONG: usize = BLOCK * SUMS;

/// How many numbers of a row ahead of those that are taken memory is asked for: a page. It is prefetched into
/// the second-level cache, because the first can wait for few lines at a time.
const AHEAD: usize = 1_024;

/// The most lines of a row that are prefetched before the sums of the one before are added to each other.
const ASKED_AFTER: usize = 64;

/// Sums of a row that registers hold.
const GROUP: usize = 16;

/// The sums of a row.
type Sums = [[f32; GROUP]; SUMS / GROUP];

/// What rows of at most a block are summed in; nothing is taken from it that was there before.
#[repr(align(64))]
struct Scratch {
    sums: [Sums; STREAMS],
    fours: Fours,
}

/// What the sums of a row come to on the way to one: two neighbours, and four.
#[repr(align(64))]
struct Fours {
    pairs: [f32; SUMS / 2],
    fours: [f32; SUMS / 4],
}

impl Scratch {
    const fn new() -> Self {
        Self {
            sums: [[[0.0; GROUP]; SUMS / GROUP]; STREAMS],
            fours: Fours::new(),
        }
    }
}

impl Fours {
    const fn new() -> Self {
        Self {
            pairs: [0.0; SUMS / 2],
            fours: [0.0; SUMS / 4],
        }
    }
}

/// Numbers of a line of the caches.
const LANES: usize = LINE / size_of::<f32>();

/// y = M·x: number r of `y` is the sum of the products of row r with `x`.
///
/// # Errors
/// Where lengths do not fit each other.
pub fn matrix_vector(matrix: Matrix<'_, f32>, x: &[f32], y: &mut [f32]) -> Result<(), ShapeError> {
    ShapeError::unless_equal(
        "columns of the matrix and numbers of x",
        matrix.columns(),
        x.len(),
    )?;
    ShapeError::unless_equal("rows of the matrix and numbers of y", matrix.rows(), y.len())?;
    let isa = Isa::best();
    match x.len() {
        len if len <= short::MOST => short::rows(isa, matrix, x, y),
        len if len <= BLOCK => rows_apart(matrix, x, y, isa),
        len if len <= LONG => {
            for (part, y) in y.chunks_mut(SHARING).enumerate() {
                let rows = part * SHARING..part * SHARING + y.len();
                long_rows(isa, matrix.rows_of(rows), x, y);
            }
        }
        _ => {
            for (row, y) in y.iter_mut().enumerate() {
                *y = longest(isa, matrix.row(row), x);
            }
        }
    }
    Ok(())
}

/// Rows of at most a block, some at once from as many places of memory, which serves it better than one.
fn rows_apart(matrix: Matrix<'_, f32>, x: &[f32], y: &mut [f32], isa: Isa) {
    let mut scratch = Scratch::new();
    let each = y.len() / STREAMS;
    let next = matrix.pitch() - x.len();
    for k in 0..each {
        let rows = std::array::from_fn(|part| part * each + k);
        let sums = blocks(isa, rows.map(|row| matrix.row(row)), x, next, &mut scratch);
        for (row, sum) in rows.into_iter().zip(sums) {
            y[row] = sum;
        }
    }
    for (row, y) in y.iter_mut().enumerate().skip(STREAMS * each) {
        *y = block(isa, matrix.row(row), x);
    }
}

/// At most [`SHARING`] rows of several blocks, of at most [`LONG`] numbers: a block of all rows after the other, so that the part of `x` that they share
/// is read from the second cache by all but the first.
fn long_rows(isa: Isa, matrix: Matrix<'_, f32>, x: &[f32], y: &mut [f32]) {
    let mut scratch = Scratch::new();
    let mut all = [[0.0_f32; SUMS]; SHARING];
    let all = &mut all[..y.len()];
    for (k, part) in x.chunks(BLOCK).enumerate() {
        let numbers = |row: usize| &matrix.row(row)[k * BLOCK..][..part.len()];
        let (streams, rest) = all.as_chunks_mut::<STREAMS>();
        let first = streams.len() * STREAMS;
        let last = streams.len().saturating_sub(1);
        // As any sum, that of the blocks begins with 0.
        for (taken, sums) in streams.iter_mut().enumerate() {
            let rows = std::array::from_fn(|row| numbers(taken * STREAMS + row));
            let below = STREAMS * matrix.pitch();
            // The next rows, and after the last the next block of the first.
            let next = match taken == last {
                false => below.wrapping_sub(part.len()),
                true => (below * last).wrapping_neg(),
            };
            for (sums, sum) in sums.iter_mut().zip(blocks(isa, rows, part, next, &mut scratch)) {
                sums[k] += sum;
            }
        }
        for (row, sums) in rest.iter_mut().enumerate() {
            sums[k] += block(isa, numbers(first + row), part);
        }
    }
    for (y, sums) in y.iter_mut().zip(all) {
        *y = halved(sums, &mut scratch.fours, x.len().div_ceil(BLOCK));
    }
}

/// The sum of products of two rows of the same length, of any number of blocks.
fn longest(isa: Isa, row: &[f32], x: &[f32]) -> f32 {
    let mut levels = [Level::new(); LEVELS];
    for (row, x) in row.chunks(BLOCK).zip(x.chunks(BLOCK)) {
        put(&mut levels, block(isa, row, x));
    }
    finish(&mut levels)
}

/// Sums that come one by one, in the place of the products of a row.
#[derive(Clone, Copy)]
struct Level {
    sums: [f32; SUMS],
    count: usize,
}

impl Level {
    const fn new() -> Self {
        Self {
            sums: [0.0; SUMS],
            count: 0,
        }
    }

    fn sum(&mut self) -> f32 {
        let sum = halved(&self.sums, &mut Fours::new(), self.count);
        *self = Self::new();
        sum
    }
}

/// Takes the sum of a block; a full level becomes one number of the next.
fn put(levels: &mut [Level], value: f32) {
    let Some((level, next)) = levels.split_first_mut() else {
        return;
    };
    level.sums[level.count % SUMS] += value;
    level.count += 1;
    if level.count == BLOCK && !next.is_empty() {
        put(next, level.sum());
    }
}

/// The sum of all blocks.
fn finish(levels: &mut [Level]) -> f32 {
    let mut result = 0.0;
    for k in 0..levels.len() {
        let (here, next) = levels.split_at_mut(k + 1);
        let here = &mut here[k];
        let above = next.iter().any(|level| level.count > 0);
        if !above {
            return if here.count == 0 { result } else { here.sum() };
        }
        if here.count > 0 {
            result = here.sum();
            put(next, result);
        }
    }
    result
}

versions! {
    fn block(row: &[f32], x: &[f32]) -> f32 {
        let mut sums: Sums = [[0.0; GROUP]; SUMS / GROUP];
        for (row, x) in row.chunks(SUMS).zip(x.chunks(SUMS)) {
            let ((row, row_rest), (x, x_rest)) = (row.as_chunks::<GROUP>(), x.as_chunks::<GROUP>());
            for ((sums, row), x) in sums.iter_mut().zip(row).zip(x) {
                add_products(sums, row, x, AHEAD);
            }
            let sums = &mut sums.as_flattened_mut()[row.len() * GROUP..];
            for ((sum, a), x) in sums.iter_mut().zip(row_rest).zip(x_rest) {
                *sum = a.mul_add(*x, *sum);
            }
        }
        halved(sums.as_flattened(), &mut Fours::new(), row.len())
    }
}

versions! {
    /// [`block`] of several rows, a group of each after the other. What is read then lies `next` numbers behind the ends of these.
    fn blocks(rows: [&[f32]; STREAMS], x: &[f32], next: usize, scratch: &mut Scratch) -> [f32; STREAMS] {
        let all = &mut scratch.sums;
        let (whole, len) = (x.len().min(SUMS) / GROUP, x.len());
        for (at, x) in (0..).step_by(SUMS).zip(x.chunks(SUMS)) {
            let (groups, x_rest) = x.as_chunks::<GROUP>();
            let rows = rows.map(|row| row[at..][..x.len()].as_chunks::<GROUP>());
            for (g, x) in groups.iter().enumerate() {
                let behind = if at + GROUP * g + AHEAD < len { 0 } else { next };
                for (all, row) in all.iter_mut().zip(rows) {
                    // Nothing is read where the first products are written.
                    let mut sums = if at == 0 { [0.0; GROUP] } else { all[g] };
                    add_products(&mut sums, &row.0[g], x, AHEAD.wrapping_add(behind));
                    all[g] = sums;
                }
            }
            if at == 0 {
                for sums in &mut *all {
                    sums[whole..used(len).div_ceil(GROUP)].fill([0.0; GROUP]);
                }
            }
            for (sums, row) in all.iter_mut().zip(rows) {
                let sums = &mut sums.as_flattened_mut()[groups.len() * GROUP..];
                for ((sum, a), x) in sums.iter_mut().zip(row.1).zip(x_rest) {
                    *sum = a.mul_add(*x, *sum);
                }
            }
        }
        let mut found = [0.0; STREAMS];
        // By a loop: what is given to another function is not compiled for these vectors.
        for (row, found) in found.iter_mut().enumerate() {
            // What follows what has been asked for, while sums are added to each other: memory would wait.
            let after = rows[row].as_ptr().wrapping_add(len.wrapping_add(next).wrapping_add(AHEAD));
            for line in 0..ASKED_AFTER.min(len / (2 * LANES)) {
                ask_for_later(after.wrapping_add(line * LANES));
            }
            *found = halved(all[row].as_flattened(), &mut scratch.fours, len);
        }
        found
    }
}

/// Adds products, each to its own sum; and asks for what lies so many numbers ahead.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
fn add_products(sums: &mut [f32; GROUP], row: &[f32; GROUP], x: &[f32; GROUP], ahead: usize) {
    ask_for_later(row.as_ptr().wrapping_add(ahead));
    for i in 0..GROUP {
        sums[i] = row[i].mul_add(x[i], sums[i]);
    }
}

#[inline(always)]
fn plus<const N: usize>(a: [f32; N], b: [f32; N]) -> [f32; N] {
    std::array::from_fn(|k| a[k] + b[k])
}

/// How many sums so many numbers take, one each or more: a power of two, at least four.
const fn used(count: usize) -> usize {
    match count.next_power_of_two() {
        ..=4 => 4,
        SUMS.. => SUMS,
        used => used,
    }
}

/// What sums of so many numbers come to. Sums that took nothing are 0 and change none that they are added to.
#[inline(always)]
fn halved(sums: &[f32], fours: &mut Fours, count: usize) -> f32 {
    // Of constant numbers loops become a few instructions each.
    match used(count) {
        4 => halved_of::<4>(sums, fours),
        8 => halved_of::<8>(sums, fours),
        16 => halved_of::<16>(sums, fours),
        32 => halved_of::<32>(sums, fours),
        64 => halved_of::<64>(sums, fours),
        128 => halved_of::<128>(sums, fours),
        256 => halved_of::<256>(sums, fours),
        512 => halved_of::<512>(sums, fours),
        _ => halved_of::<SUMS>(sums, fours),
    }
}

#[inline(always)]
fn halved_of<const USED: usize>(sums: &[f32], Fours { pairs, fours }: &mut Fours) -> f32 {
    // Two loops of pairs become a few exchanges of vectors; one of fours does not.
    for (pair, sums) in pairs.iter_mut().zip(sums[..USED].as_chunks::<2>().0) {
        *pair = sums[0] + sums[1];
    }
    for (four, pairs) in fours.iter_mut().zip(pairs[..USED / 2].as_chunks::<2>().0) {
        *four = pairs[0] + pairs[1];
    }
    let mut half = USED / 8;
    while half > 0 {
        let (first, second) = fours.split_at_mut(half);
        for (sum, other) in first.iter_mut().zip(&second[..half]) {
            *sum += *other;
        }
        half /= 2;
    }
    fours[0]
}
