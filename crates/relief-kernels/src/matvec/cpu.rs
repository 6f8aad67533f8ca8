//! Products on the CPU: plain loops, compiled for each set of vector instructions.
//!
//! Memory binds, and a processor sees for itself what a row reads next only up to the end of a page, so it is asked for before: on two
//! cores of an AMD EPYC (Zen 5) M·x of long rows took a third longer with four rows at once, which had been the better way where nothing
//! was asked for. Short rows, whose sums fit registers, are taken four at once. x·M takes eight rows at once, along runs of many pages:
//! runs of a page read 70 % of what a sum of all numbers read in the same run, of four 88 %.
//!
//! Threads deal out rows of M·x, and columns of x·M: each is a sum of its own.

use super::{BLOCK, ROW_SUMS, ROWS, SUMS};
use crate::ahead::{LINE, ask};
use crate::isa::{Isa, versions};
use crate::matrix::{Matrix, ShapeError};

/// Numbers of a row that is worth fewer sums.
const SHORT: usize = 64;

/// Levels of blocks: 2¹⁴ blocks of 2¹⁴ products each, and blocks of these, are more than memory holds.
const LEVELS: usize = 4;

/// Rows of M·x that are taken at once.
const TOGETHER: usize = 4;

/// Products of a row of which those of one sum are added at once, so that memory follows few runs of a row at a time.
const FEW: usize = 2 * SUMS;

/// How many numbers of a row ahead of those that are taken memory is asked for: most of a page.
const AHEAD: usize = 768;

/// Sums of a row that registers hold.
const GROUP: usize = 16;

/// Numbers of a line of the caches.
const LANES: usize = LINE / size_of::<f32>();

/// Columns of x·M that are summed together: four pages of each row, and the sums that are written stay in the second cache.
const STRIP: usize = 4_096;

/// Levels of blocks of x·M, each of 2⁹.
const ROW_LEVELS: usize = 8;

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
    let (fours, rest) = match (SHORT + 1..=FEW).contains(&x.len()) {
        true => y.as_chunks_mut::<TOGETHER>(),
        false => (&mut [][..], y),
    };
    let first = fours.len() * TOGETHER;
    for (k, four) in fours.iter_mut().enumerate() {
        let rows = std::array::from_fn(|row| matrix.row(k * TOGETHER + row));
        *four = few(isa, rows, x, TOGETHER * matrix.pitch());
    }
    for (k, y) in rest.iter_mut().enumerate() {
        *y = dot(isa, matrix.row(first + k), x);
    }
    Ok(())
}

/// The sum of products of two rows of the same length, in the order of [`matrix_vector`].
fn dot(isa: Isa, row: &[f32], x: &[f32]) -> f32 {
    if row.len() <= SHORT {
        return short(isa, row, x);
    }
    if row.len() <= BLOCK {
        return block(isa, row, x);
    }
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
        let sum = halved(&mut self.sums, &mut [0.0; SUMS / 4], self.count);
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
        let mut sums = [[0.0_f32; GROUP]; SUMS / GROUP];
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
        halved(sums.as_flattened_mut(), &mut [0.0; SUMS / 4], row.len())
    }
}

versions! {
    /// [`block`] of several rows of so few products that those of a sum are added at once: sums stay in registers (which the compiler sees of arrays with names
    /// of their own, not of an array of arrays), and only what four neighbours come to is kept.
    #[allow(clippy::needless_range_loop)]
    fn few(rows: [&[f32]; TOGETHER], x: &[f32], ahead: usize) -> [f32; TOGETHER] {
        let mut fours = [[0.0_f32; SUMS / 4]; TOGETHER];
        let used = x.len().next_power_of_two().clamp(4, SUMS);
        let [(a, a_rest), (b, b_rest), (c, c_rest), (d, d_rest)] =
            rows.map(|row| row[..x.len()].as_chunks::<GROUP>());
        let (x, x_rest) = x.as_chunks::<GROUP>();
        for group in 0..used.div_ceil(GROUP) {
            let (mut p, mut q, mut r, mut s) = ([0.0; GROUP], [0.0; GROUP], [0.0; GROUP], [0.0; GROUP]);
            for at in (group..x.len()).step_by(SUMS / GROUP) {
                add_products(&mut p, &a[at], &x[at], ahead);
                add_products(&mut q, &b[at], &x[at], ahead);
                add_products(&mut r, &c[at], &x[at], ahead);
                add_products(&mut s, &d[at], &x[at], ahead);
            }
            if group == x.len() % (SUMS / GROUP) {
                for (i, x) in x_rest.iter().enumerate() {
                    p[i] = a_rest[i].mul_add(*x, p[i]);
                    q[i] = b_rest[i].mul_add(*x, q[i]);
                    r[i] = c_rest[i].mul_add(*x, r[i]);
                    s[i] = d_rest[i].mul_add(*x, s[i]);
                }
            }
            for (fours, sums) in fours.iter_mut().zip([p, q, r, s]) {
                for k in 0..GROUP / 4 {
                    fours[group * GROUP / 4 + k] =
                        (sums[4 * k] + sums[4 * k + 1]) + (sums[4 * k + 2] + sums[4 * k + 3]);
                }
            }
        }
        fours.each_mut().map(|fours| folded(&mut fours[..used / 4]))
    }
}

/// Adds products, each to its own sum; and asks for what lies so many numbers on in the row.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
fn add_products(sums: &mut [f32; GROUP], row: &[f32; GROUP], x: &[f32; GROUP], ahead: usize) {
    ask(row.as_ptr().wrapping_add(ahead));
    for i in 0..GROUP {
        sums[i] = row[i].mul_add(x[i], sums[i]);
    }
}

versions! {
    fn short(row: &[f32], x: &[f32]) -> f32 {
        let mut sums = [0.0_f32; SHORT];
        for ((sum, a), x) in sums.iter_mut().zip(row).zip(x) {
            *sum = a.mul_add(*x, 0.0);
        }
        halved(&mut sums, &mut [0.0; SHORT / 4], row.len())
    }
}

/// What sums of so many numbers come to. Sums that took nothing are 0 and change none that they are added to.
#[inline(always)]
fn halved(sums: &mut [f32], fours: &mut [f32], count: usize) -> f32 {
    let used = count.next_power_of_two().clamp(4, sums.len());
    for (four, sums) in fours.iter_mut().zip(sums[..used].as_chunks::<4>().0) {
        *four = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    folded(&mut fours[..used / 4])
}

/// Adds the second half to the first until one is left, of a power of two.
#[inline(always)]
fn folded(fours: &mut [f32]) -> f32 {
    let mut half = fours.len() / 2;
    while half > 0 {
        let (first, second) = fours.split_at_mut(half);
        for (sum, other) in first.iter_mut().zip(second) {
            *sum += *other;
        }
        half /= 2;
    }
    fours[0]
}

/// Numbers of scratch memory that [`vector_matrix`] takes.
#[must_use]
pub const fn scratch_len(rows: usize) -> usize {
    let mut levels = 1;
    let mut blocks = rows.div_ceil(ROWS);
    while blocks > 1 {
        levels += 1;
        blocks = blocks.div_ceil(ROWS);
    }
    // A level's sums, and what they come to.
    levels * LEVEL_LEN
}

const LEVEL_LEN: usize = ROW_SUMS * STRIP;

/// y = x·M: number c of `y` is the sum of the products of column c with `x`.
///
/// # Errors
/// Where lengths do not fit each other, or there is less scratch memory than [`scratch_len`] of the rows.
pub fn vector_matrix(
    x: &[f32],
    matrix: Matrix<'_, f32>,
    y: &mut [f32],
    scratch: &mut [f32],
) -> Result<(), ShapeError> {
    ShapeError::unless_equal("rows of the matrix and numbers of x", matrix.rows(), x.len())?;
    ShapeError::unless_equal(
        "columns of the matrix and numbers of y",
        matrix.columns(),
        y.len(),
    )?;
    ShapeError::unless_enough(scratch_len(matrix.rows()), scratch.len())?;
    let isa = Isa::best();
    for (strip, y) in y.chunks_mut(STRIP).enumerate() {
        let first = strip * STRIP;
        strip_sums(isa, x, matrix.columns_of(first..first + y.len()), y, scratch);
    }
    Ok(())
}

/// The columns of a strip. Level 0 of the scratch memory takes products; each other level takes what blocks of the one before
/// came to.
fn strip_sums(isa: Isa, x: &[f32], matrix: Matrix<'_, f32>, y: &mut [f32], scratch: &mut [f32]) {
    let mut taken = [0; ROW_LEVELS];
    let width = y.len();
    let mut begin = 0;
    while begin < x.len() {
        let rows = begin..x.len().min(begin + ROWS);
        add_block(
            isa,
            &x[rows.clone()],
            matrix.rows_of(rows.clone()),
            &mut scratch[..LEVEL_LEN],
        );
        begin = rows.end;
        // A block is complete: it is one row of the next level, as that may be of the one above.
        let mut level = 0;
        loop {
            let used = if level == 0 { rows.len() } else { taken[level] };
            let ended = begin == x.len();
            if level > 0 && taken[level] < ROWS && !ended {
                break;
            }
            let (below, above) = scratch.split_at_mut((level + 1) * LEVEL_LEN);
            let sums = &mut below[level * LEVEL_LEN..];
            if level == 0 && used == ROWS {
                fold_fours(isa, sums, width, ROW_SUMS / 4);
            } else {
                fold_rows(isa, sums, width, used);
            }
            if level > 0 {
                taken[level] = 0;
            }
            let top = taken[level + 1..].iter().all(|taken| *taken == 0);
            if ended && top {
                y.copy_from_slice(&sums[..width]);
                return;
            }
            let row = taken[level + 1];
            add_row(isa, &sums[..width], above, row);
            taken[level + 1] = row + 1;
            level += 1;
        }
    }
    y.fill(0.0);
}

versions! {
    /// Takes a block of rows into sums that begin with 0; of a whole block, those of four neighbours are added already.
    fn add_block(x: &[f32], matrix: Matrix<'_, f32>, sums: &mut [f32]) {
        let width = matrix.columns();
        if x.len() == ROWS {
            // All that a sum takes at once: it is not written and read again for each row.
            let (fours, others) = sums.split_at_mut(ROW_SUMS / 4 * width);
            let others: &mut [f32] = &mut others[..3 * width];
            for (four, to) in fours.chunks_exact_mut(width).enumerate() {
                for (k, sums) in others.chunks_exact_mut(width).chain([&mut *to]).enumerate() {
                    let rows: [usize; ROWS / ROW_SUMS] = std::array::from_fn(|row| 4 * four + k + row * ROW_SUMS);
                    add_rows(rows.map(|row| matrix.row(row)), rows.map(|row| x[row]), sums, matrix.pitch());
                }
                let ((zero, one), two) = (others[..2 * width].split_at(width), &others[2 * width..]);
                for (((to, zero), one), two) in to.iter_mut().zip(zero).zip(one).zip(two) {
                    *to = (*zero + *one) + (*two + *to);
                }
            }
            return;
        }
        for (row, x) in x.iter().enumerate() {
            let values = matrix.row(row);
            let sums = &mut sums[row % ROW_SUMS * width..][..width];
            if row < ROW_SUMS {
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum = value.mul_add(*x, 0.0);
                }
            } else {
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum = value.mul_add(*x, *sum);
                }
            }
        }
    }
}

/// Sums of rows, one after the other; asks for the rows below, `pitch` numbers on.
#[inline(always)]
fn add_rows<const N: usize>(rows: [&[f32]; N], x: [f32; N], sums: &mut [f32], pitch: usize) {
    let rows = rows.map(|row| row[..sums.len()].as_chunks::<LANES>());
    let (groups, rest) = sums.as_chunks_mut::<LANES>();
    for (g, sums) in groups.iter_mut().enumerate() {
        let mut taken = [0.0; LANES];
        for ((row, _), x) in rows.iter().zip(x) {
            ask(row[g].as_ptr().wrapping_add(pitch));
            for (taken, value) in taken.iter_mut().zip(&row[g]) {
                *taken = value.mul_add(x, *taken);
            }
        }
        *sums = taken;
    }
    for (c, sum) in rest.iter_mut().enumerate() {
        let mut taken = 0.0;
        for ((_, row), x) in rows.iter().zip(x) {
            taken = row[c].mul_add(x, taken);
        }
        *sum = taken;
    }
}

versions! {
    /// Takes row `row` of a level.
    fn add_row(values: &[f32], sums: &mut [f32], row: usize) {
        let width = values.len();
        let sums = &mut sums[row % ROW_SUMS * width..][..width];
        if row < ROW_SUMS {
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum = 0.0 + *value;
            }
        } else {
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += *value;
            }
        }
    }
}

versions! {
    /// Folds the sums of `used` rows to the first of them.
    fn fold_rows(sums: &mut [f32], width: usize, used: usize) {
        let count = used.next_power_of_two().clamp(4, ROW_SUMS);
        if used < count {
            sums[used * width..count * width].fill(0.0);
        }
        for four in 0..count / 4 {
            // Row `four` becomes the sum of rows 4·four and on, which are not before it.
            let (to, rest) = sums[four * width..].split_at_mut(width);
            if four > 0 {
                to.copy_from_slice(&rest[(3 * four - 1) * width..][..width]);
            }
            let next = &rest[3 * four * width..][..3 * width];
            let ((one, two), three) = (next[..2 * width].split_at(width), &next[2 * width..]);
            for (((to, one), two), three) in to.iter_mut().zip(one).zip(two).zip(three) {
                *to = (*to + *one) + (*two + *three);
            }
        }
        halve_rows(sums, width, count / 4);
    }
}

versions! {
    /// Folds rows, each the sum of four already, to the first of them.
    fn fold_fours(sums: &mut [f32], width: usize, count: usize) {
        halve_rows(sums, width, count);
    }
}

#[inline(always)]
fn halve_rows(sums: &mut [f32], width: usize, count: usize) {
    let mut half = count / 2;
    while half > 0 {
        let (first, second) = sums.split_at_mut(half * width);
        for (sum, other) in first.iter_mut().zip(second) {
            *sum += *other;
        }
        half /= 2;
    }
}
