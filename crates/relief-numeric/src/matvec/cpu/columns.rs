//! x·M: sums down columns, of eight rows at once along runs of many pages.
//!
//! What sums are added to is added while rows are read: passes of their own would let memory wait.

use super::LANES;
use super::eight::{EIGHT, OTHERS, Rows, Sum, add};
use crate::matrix::{Matrix, ShapeError};
use crate::matvec::{ROW_SUMS, ROWS};
use relief_kernels::ahead::ask_for_later;
use relief_kernels::isa::{Isa, versions};

/// Columns that are summed together: runs of some pages of each row, and the sums that are written stay in the second cache.
const STRIP: usize = 6_144;

/// The same of a block of no more rows than there are sums, of which fewer are written.
const WIDE_STRIP: usize = 2 * STRIP;

/// Columns of which the nearest cache holds all sums of a block.
const NARROW: usize = 96;

/// Rows of a sum of a narrow block that are taken at once, from as many places of memory.
const TURNS: usize = 4;

/// How many numbers ahead of those that a narrow block takes memory is asked for.
const NARROW_AHEAD: usize = 3_072;

/// Blocks of sums down so many rows.
#[must_use]
pub const fn blocks_of(rows: usize) -> usize {
    rows.div_ceil(ROWS)
}

/// Numbers of scratch memory that [`block_sums`] takes.
pub const BLOCK_SCRATCH: usize = KEPT * STRIP;

/// Rows of sums that a block keeps at once: fours, and two of a four that is on the way.
const KEPT: usize = FOURS + 2;

/// Fours that a block of more rows than there are sums keeps at once.
const FOURS: usize = ROW_SUMS / 8;

/// The same of a block of no more rows than there are sums: sums of two fours.
const KEPT_OF_FEW: usize = FOURS / 2;

const _: () = assert!(
    KEPT_OF_FEW * WIDE_STRIP <= BLOCK_SCRATCH && ROW_SUMS * NARROW <= BLOCK_SCRATCH,
    "all ways find room for their sums"
);

const _: () = assert!(
    ROWS == EIGHT * ROW_SUMS,
    "a sum of a block takes as many rows as are read at once"
);

/// Numbers of scratch memory that [`total`] of the sums of blocks of so many rows takes.
#[must_use]
pub const fn total_scratch(rows: usize, columns: usize) -> usize {
    // Sums of blocks of sums lie in one half of this, what comes of them in the other.
    let blocks = blocks_of(blocks_of(rows));
    let next = blocks_of(blocks);
    columns
        .saturating_mul(blocks.saturating_add(next))
        .saturating_add(BLOCK_SCRATCH)
}

/// Numbers of scratch memory that [`vector_matrix`] takes.
#[must_use]
pub const fn scratch_len(rows: usize, columns: usize) -> usize {
    columns
        .saturating_mul(blocks_of(rows))
        .saturating_add(total_scratch(rows, columns))
}

/// y = x·M: number c of `y` is the sum of the products of column c with `x`.
///
/// # Errors
/// Where lengths do not fit each other, or there is less scratch memory than [`scratch_len`] of the matrix.
pub fn vector_matrix(
    x: &[f32],
    matrix: Matrix<'_, f32>,
    y: &mut [f32],
    scratch: &mut [f32],
) -> Result<(), ShapeError> {
    ShapeError::unless_equal(
        "columns of the matrix and numbers of y",
        matrix.columns(),
        y.len(),
    )?;
    ShapeError::unless_enough(scratch_len(matrix.rows(), matrix.columns()), scratch.len())?;
    let blocks = blocks_of(matrix.rows());
    if blocks == 1 {
        return block_sums(x, matrix, y, scratch);
    }
    let (sums, rest) = scratch.split_at_mut(blocks * y.len());
    block_sums(x, matrix, sums, rest)?;
    total(Matrix::new(sums, blocks, y.len(), y.len())?, y, rest)
}

/// The sums of blocks of [`ROWS`] rows, the last of which may have fewer: row b of `sums` has those of block b, one for each column. `x` and `matrix`
/// may be some of the rows of a larger product, from a multiple of [`ROWS`] on, and some of its columns.
///
/// # Errors
/// Where lengths do not fit each other, or there is less scratch memory than [`BLOCK_SCRATCH`].
pub fn block_sums(
    x: &[f32],
    matrix: Matrix<'_, f32>,
    sums: &mut [f32],
    scratch: &mut [f32],
) -> Result<(), ShapeError> {
    let (rows, columns) = (matrix.rows(), matrix.columns());
    ShapeError::unless_equal("rows of the matrix and numbers of x", rows, x.len())?;
    let all = columns.saturating_mul(blocks_of(rows));
    ShapeError::unless_equal("columns of all blocks and their sums", all, sums.len())?;
    ShapeError::unless_enough(BLOCK_SCRATCH, scratch.len())?;
    if columns == 0 {
        return Ok(());
    }
    let isa = Isa::best();
    for (block, sums) in sums.chunks_mut(columns).enumerate() {
        let begin = block * ROWS;
        let rows = begin..rows.min(begin + ROWS);
        let (x, matrix) = (&x[rows.clone()], matrix.rows_of(rows));
        let strip = if x.len() > ROW_SUMS { STRIP } else { WIDE_STRIP };
        // Strips as wide as each other.
        let width = columns
            .div_ceil(columns.div_ceil(strip))
            .next_multiple_of(LANES)
            .min(strip);
        for (strip, sums) in sums.chunks_mut(width).enumerate() {
            let first = strip * width;
            add_block(
                isa,
                x,
                matrix.columns_of(first..first + sums.len()),
                sums,
                scratch,
            );
        }
    }
    Ok(())
}

/// y = x·M from the sums of its blocks, all of them, and also of some columns.
///
/// # Errors
/// Where lengths do not fit each other, or there is less scratch memory than [`total_scratch`] of the rows of M and of these columns.
pub fn total(sums: Matrix<'_, f32>, y: &mut [f32], scratch: &mut [f32]) -> Result<(), ShapeError> {
    let columns = sums.columns();
    ShapeError::unless_equal("columns of the sums and numbers of y", columns, y.len())?;
    if sums.rows() == 0 {
        y.fill(0.0);
        return Ok(());
    }
    if sums.rows() == 1 {
        y.copy_from_slice(sums.row(0));
        return Ok(());
    }
    let blocks = blocks_of(sums.rows());
    let need = columns.saturating_mul(blocks.saturating_add(blocks_of(blocks)));
    ShapeError::unless_enough(need.saturating_add(BLOCK_SCRATCH), scratch.len())?;
    let (scratch, rest) = scratch.split_at_mut(BLOCK_SCRATCH);
    let (mut here, mut there) = rest.split_at_mut(blocks * columns);
    sums_of_sums(sums, here, scratch)?;
    let mut left = blocks;
    while left > 1 {
        let next = blocks_of(left);
        let sums = Matrix::new(&here[..left * columns], left, columns, columns)?;
        sums_of_sums(sums, &mut there[..next * columns], scratch)?;
        (here, there, left) = (there, here, next);
    }
    y.copy_from_slice(&here[..columns]);
    Ok(())
}

/// Sums that are added as they are: products with 1.
fn sums_of_sums(sums: Matrix<'_, f32>, to: &mut [f32], scratch: &mut [f32]) -> Result<(), ShapeError> {
    let columns = sums.columns();
    for block in 0..blocks_of(sums.rows()) {
        let begin = block * ROWS;
        let rows = begin..sums.rows().min(begin + ROWS);
        let to = &mut to[block * columns..][..columns];
        block_sums(&[1.0; ROWS][..rows.len()], sums.rows_of(rows), to, scratch)?;
    }
    Ok(())
}

versions! {
    /// The sums of a block of a strip of columns.
    fn add_block(x: &[f32], matrix: Matrix<'_, f32>, to: &mut [f32], scratch: &mut [f32]) {
        match (x.len(), to.len()) {
            (..=ROW_SUMS, _) => add_few(x, matrix, to, scratch),
            (_, ..=NARROW) => add_narrow(x, matrix, to, scratch),
            _ => add_many(x, matrix, to, scratch),
        }
    }
}

/// The sums of a block of no more rows than there are sums: two fours at a time that are added to each other.
#[inline(always)]
fn add_few(x: &[f32], matrix: Matrix<'_, f32>, to: &mut [f32], scratch: &mut [f32]) {
    let half = x.len().next_power_of_two() / EIGHT;
    let mut strips = Strips::<KEPT_OF_FEW>::of(to, scratch);
    for pair in 0..half.max(1) {
        let places: [usize; EIGHT] = std::array::from_fn(|k| 4 * pair + k % 4 + k / 4 * 4 * half);
        let sum = if half > 0 { Sum::TwoFours } else { Sum::Four };
        let given = std::array::from_fn(|k| places[k] < x.len() && (k < 4 || half > 0));
        let rows = Rows::of(x, matrix, places, given, sum, 4 * matrix.pitch());
        strips.add(&rows, folded(pair, half.max(1)), &[]);
    }
}

/// The sums of a block of more rows than there are sums: 4 q to 4 q + 3 come to (0 + 1) + (2 + 3), a four.
#[inline(always)]
fn add_many(x: &[f32], matrix: Matrix<'_, f32>, to: &mut [f32], scratch: &mut [f32]) {
    /// Where the first two sums of a four are, and the third; before them are fours.
    const A: usize = FOURS;
    const B: usize = A + 1;
    let mut strips = Strips::<KEPT>::of(to, scratch);
    for sum in 0..ROW_SUMS {
        let places: [usize; EIGHT] = std::array::from_fn(|k| sum + k * ROW_SUMS);
        let rows = Rows::of(
            x,
            matrix,
            places,
            places.map(|row| row < x.len()),
            Sum::InTurn,
            matrix.pitch(),
        );
        // One call: what is inlined into it is large.
        let (folded, others) = match sum % 4 {
            0 => (Folded::alone(A, false), &[][..]),
            1 => (Folded::alone(A, true), &[][..]),
            2 => (Folded::alone(B, false), &[][..]),
            _ => (folded(sum / 4, ROW_SUMS / 4), &[A, B][..]),
        };
        strips.add(&rows, folded, others);
    }
}

/// Sums of a strip of columns that are kept, and those that all come to.
struct Strips<'a, const N: usize> {
    kept: [&'a mut [f32]; N],
    all: &'a mut [f32],
}

impl<'a, const N: usize> Strips<'a, N> {
    #[inline(always)]
    fn of(all: &'a mut [f32], scratch: &'a mut [f32]) -> Self {
        let mut parts = scratch.chunks_exact_mut(all.len());
        let kept = std::array::from_fn(|_| parts.next().unwrap_or_default());
        Self { kept, all }
    }

    /// Sums of rows, to which those of `others` are added, the last first, before they go where they are `folded`.
    #[inline(always)]
    fn add(&mut self, rows: &Rows<'_>, folded: Folded, others: &[usize]) {
        let to = match folded.at {
            Some(at) => &mut self.kept[at],
            None => &mut self.all,
        };
        let to = std::mem::take(to);
        let mut values: [&[f32]; OTHERS] = [&[]; OTHERS];
        let count = folded.count + others.len();
        for (values, other) in values
            .iter_mut()
            .zip(folded.others[..folded.count].iter().chain(others))
        {
            *values = &*self.kept[*other];
        }
        add(rows, &values[..count], folded.added, to);
        match folded.at {
            Some(at) => self.kept[at] = to,
            None => self.all = to,
        }
    }
}

/// Where a sum goes whose second half is added to the first until one is left.
struct Folded {
    /// Among those that are kept; none for what all come to.
    at: Option<usize>,
    /// Whether it is added to what is there.
    added: bool,
    /// The `count` that it is added to before, the first last.
    others: [usize; 4],
    count: usize,
}

impl Folded {
    /// What is added to nothing else.
    fn alone(at: usize, added: bool) -> Self {
        Self {
            at: Some(at),
            added,
            others: [0; 4],
            count: 0,
        }
    }
}

/// Where sum `k` goes of so many, a power of two, that come one after the other.
fn folded(mut k: usize, mut sums: usize) -> Folded {
    let (mut others, mut count) = ([0; 4], 0);
    while sums > 1 {
        let half = sums / 2;
        if k < half {
            // What it was added to last is where it goes.
            let added = count > 0;
            let rest = &mut others[..count];
            rest.reverse();
            others.rotate_left(usize::from(added));
            return Folded {
                at: Some(k),
                added,
                others,
                count: count - usize::from(added),
            };
        }
        k -= half;
        others[count] = k;
        count += 1;
        sums = half;
    }
    others[..count].reverse();
    Folded {
        at: None,
        added: false,
        others,
        count,
    }
}

/// The sums of a block of more rows than there are sums, of which the nearest cache holds those of all columns: rows as they lie in memory, some turns of all
/// sums at once.
#[inline(always)]
fn add_narrow(x: &[f32], matrix: Matrix<'_, f32>, to: &mut [f32], scratch: &mut [f32]) {
    let width = to.len();
    let sums = &mut scratch[..ROW_SUMS * width];
    let mut begin = 0;
    while begin < x.len() {
        let left = x.len() - begin;
        let sums = &mut sums[..left.min(ROW_SUMS) * width];
        if left >= TURNS * ROW_SUMS {
            add_turns::<TURNS>(x, matrix, begin, sums);
            begin += TURNS * ROW_SUMS;
        } else {
            add_turns::<1>(x, matrix, begin, sums);
            begin += ROW_SUMS;
        }
    }
    for four in 0..ROW_SUMS / 4 {
        // What four sums come to takes the place of sums that are not needed any more.
        let (before, after) = sums.split_at_mut(4 * four * width);
        let (zero, after) = after.split_at_mut(width);
        let (one, after) = after.split_at_mut(width);
        let (two, three) = after.split_at_mut(width);
        let others = one.iter().zip(two.iter().zip(three.iter()));
        for (zero, (one, (two, three))) in zero.iter_mut().zip(others) {
            *zero = (*zero + *one) + (*two + *three);
        }
        if four > 0 {
            before[four * width..][..width].copy_from_slice(zero);
        }
    }
    fold_to(sums, width, ROW_SUMS / 4, to);
}

/// Adds products of rows from `begin` on to all sums, or to as many as are given: `T` turns, of which each sum takes a row.
#[inline(always)]
fn add_turns<const T: usize>(x: &[f32], matrix: Matrix<'_, f32>, begin: usize, sums: &mut [f32]) {
    let width = matrix.columns();
    let ahead = NARROW_AHEAD.div_ceil(matrix.pitch().max(1));
    for (k, sums) in sums.chunks_exact_mut(width).enumerate() {
        let mut rows: [&[[f32; LANES]]; T] = [&[]; T];
        let (mut rests, mut numbers): ([&[f32]; T], _) = ([&[]; T], [0.0; T]);
        for t in 0..T {
            let row = begin + t * ROW_SUMS + k;
            let (lines, rest) = matrix.row(row).as_chunks();
            (rows[t], rests[t]) = (&lines[..width / LANES], &rest[..width % LANES]);
            numbers[t] = x[row];
        }
        // What follows the rows of a turn are those of other turns, which are read at the same time.
        let turns = (k + ahead) / ROW_SUMS * (T - 1) * ROW_SUMS;
        let ahead = (ahead + turns) * matrix.pitch();
        let (sums, rest) = sums.as_chunks_mut::<LANES>();
        for (i, sums) in sums.iter_mut().enumerate() {
            let mut taken = if begin == 0 { [0.0; LANES] } else { *sums };
            for t in 0..T {
                ask_for_later(rows[t][i].as_ptr().wrapping_add(ahead));
                for (taken, value) in taken.iter_mut().zip(&rows[t][i]) {
                    *taken = value.mul_add(numbers[t], *taken);
                }
            }
            *sums = taken;
        }
        for (i, sum) in rest.iter_mut().enumerate() {
            let mut taken = if begin == 0 { 0.0 } else { *sum };
            for t in 0..T {
                taken = rests[t][i].mul_add(numbers[t], taken);
            }
            *sum = taken;
        }
    }
}

/// Adds the second half of rows to the first until one is left.
#[inline(always)]
fn fold_to(sums: &mut [f32], width: usize, count: usize, to: &mut [f32]) {
    let mut half = count / 2;
    while half > 1 {
        let (first, second) = sums.split_at_mut(half * width);
        for (sum, other) in first.iter_mut().zip(second) {
            *sum += *other;
        }
        half /= 2;
    }
    let (first, second) = sums.split_at(width);
    if half == 0 {
        to.copy_from_slice(first);
        return;
    }
    for ((to, sum), other) in to.iter_mut().zip(first).zip(second) {
        *to = *sum + *other;
    }
}
