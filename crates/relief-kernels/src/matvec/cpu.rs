//! Products on the CPU: plain loops, compiled for each set of vector instructions.
//!
//! Memory binds, and a processor sees for itself what a row reads next only up to the end of a page, so it is asked for before. Rows of at most a block,
//! and rows so long that `x` does not stay in a cache, are taken from four places at once: more of memory is then on its way than where one page is read
//! after the other; short rows from two. x·M takes eight rows at once, along runs of many pages, because each run begins with memory that nothing has asked for.
//!
//! What a row's sums come to, and what sums of x·M are added to, is time in which memory waits: both were a tenth to a sixth of the whole on two cores of
//! an AMD EPYC of Zen 5. So rows fold their sums by pairs, in loops that become vector instructions, and x·M adds while it reads (`docs/lab.md` has the trials).
//!
//! Threads deal out rows of M·x, and of x·M columns and blocks of rows: each is a sum of its own.

use super::{BLOCK, ROW_SUMS, ROWS, SUMS};
use crate::ahead::{LINE, ask};
use crate::isa::{Isa, versions};
use crate::matrix::{Matrix, ShapeError};

/// Numbers of a row that is worth fewer sums.
const SHORT: usize = 64;

/// Levels of blocks: 2¹⁴ blocks of 2¹⁴ products each, and blocks of these, are more than memory holds.
const LEVELS: usize = 4;

/// Rows of M·x that are taken at once, and places of memory that are read in turn.
const STREAMS: usize = 4;

/// Places of memory that short rows are read from in turn. Of four, some distances are read at half the speed of others (an AMD EPYC of Zen 5).
const PLACES: usize = 2;

/// Rows of several blocks that share the part of `x` that a block takes.
const SHARING: usize = 16;

/// Numbers of a row of as many blocks as one level of sums takes, one each.
const LONG: usize = BLOCK * SUMS;

/// How many numbers of a row ahead of those that are taken memory is asked for: most of a page.
const AHEAD: usize = 768;

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

/// Columns of x·M that are summed together: runs of some pages of each row, and the sums that are written stay in the second cache.
const STRIP: usize = 6_144;

/// Columns of x·M of which the nearest cache holds all sums of a block.
const NARROW: usize = 96;

/// How many numbers ahead in its row x·M asks for memory: of eight rows, whose numbers lie in the same sets of the first cache if rows are a
/// multiple of a page long, so that there is no room for more.
const ROW_AHEAD: usize = 256;

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
        len if len <= SHORT => short_rows(isa, matrix, x, y),
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

/// Rows of at most a block, four at once from four places of memory, which serves it better than one.
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
        let (fours, rest) = all.as_chunks_mut::<STREAMS>();
        let first = fours.len() * STREAMS;
        let last = fours.len().saturating_sub(1);
        // As any sum, that of the blocks begins with 0.
        for (four, sums) in fours.iter_mut().enumerate() {
            let rows = std::array::from_fn(|row| numbers(four * STREAMS + row));
            let below = STREAMS * matrix.pitch();
            // The next four rows, and after the last the next block of the first.
            let next = match four == last {
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
        all.each_ref().map(|sums| halved(sums.as_flattened(), &mut scratch.fours, len))
    }
}

/// Adds products, each to its own sum; and asks for what lies so many numbers ahead.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
fn add_products(sums: &mut [f32; GROUP], row: &[f32; GROUP], x: &[f32; GROUP], ahead: usize) {
    ask(row.as_ptr().wrapping_add(ahead));
    for i in 0..GROUP {
        sums[i] = row[i].mul_add(x[i], sums[i]);
    }
}

versions! {
    /// Rows that are no longer than [`SHORT`].
    fn short_rows(matrix: Matrix<'_, f32>, x: &[f32], y: &mut [f32]) {
            // How many sums a row takes is a constant for each, so that they stay in registers.
        match x.len() {
            ..=4 => rows_of::<4>(matrix, x, y),
            5..=8 => rows_of::<8>(matrix, x, y),
            9..=16 => rows_of::<16>(matrix, x, y),
            17..=32 => rows_of::<32>(matrix, x, y),
            _ => rows_of::<SHORT>(matrix, x, y),
        }
    }
}

/// Rows whose products are taken into `USED` sums, one each.
#[inline(always)]
fn rows_of<const USED: usize>(matrix: Matrix<'_, f32>, x: &[f32], y: &mut [f32]) {
    let mut padded = [[0.0; GROUP]; SHORT / GROUP];
    padded.as_flattened_mut()[..x.len()].copy_from_slice(x);
    let ahead = matrix.pitch() * AHEAD.div_ceil(matrix.pitch().max(1));
    let each = y.len() / PLACES;
    for k in 0..each {
        for row in (0..PLACES).map(|part| part * each + k) {
            y[row] = asked::<USED>(matrix.row(row), &padded, ahead);
        }
    }
    for (row, y) in y.iter_mut().enumerate().skip(PLACES * each) {
        *y = asked::<USED>(matrix.row(row), &padded, ahead);
    }
}

/// The sum of products of a row; asks for the row `ahead` numbers on.
#[inline(always)]
fn asked<const USED: usize>(row: &[f32], x: &[[f32; GROUP]; SHORT / GROUP], ahead: usize) -> f32 {
    for at in (0..USED).step_by(LANES) {
        ask(row.as_ptr().wrapping_add(ahead + at));
    }
    match row.first_chunk::<USED>() {
        Some(row) => short::<USED>(row, x),
        None => short::<USED>(row, x),
    }
}

/// The sum of products of a row that takes `USED` sums.
#[inline(always)]
fn short<const USED: usize>(row: &[f32], x: &[[f32; GROUP]; SHORT / GROUP]) -> f32 {
    let mut fours = [[0.0; GROUP]; SHORT / GROUP];
    let (groups, rest) = row.as_chunks::<GROUP>();
    for ((four, row), x) in fours.iter_mut().zip(groups).zip(x) {
        *four = four_times(products(row, x));
    }
    if !rest.is_empty() {
        let mut last = [0.0; GROUP];
        last[..rest.len()].copy_from_slice(rest);
        fours[groups.len()] = four_times(products(&last, &x[groups.len()]));
    }
    // Four neighbours hold the same: what a half of fours is added to is that of as many groups, or of lanes.
    let mut sums = fours[0];
    if USED > 32 {
        sums = plus(plus(fours[0], fours[2]), plus(fours[1], fours[3]));
    } else if USED > 16 {
        sums = plus(fours[0], fours[1]);
    }
    match USED {
        4 => sums[0],
        8 => sums[0] + sums[4],
        _ => (sums[0] + sums[8]) + (sums[4] + sums[12]),
    }
}

#[inline(always)]
fn products(row: &[f32; GROUP], x: &[f32; GROUP]) -> [f32; GROUP] {
    let mut products = [0.0; GROUP];
    for ((product, a), x) in products.iter_mut().zip(row).zip(x) {
        *product = a.mul_add(*x, 0.0);
    }
    products
}

#[inline(always)]
fn plus(a: [f32; GROUP], b: [f32; GROUP]) -> [f32; GROUP] {
    std::array::from_fn(|k| a[k] + b[k])
}

/// The sums of four neighbours, each in all four places.
#[inline(always)]
fn four_times(sums: [f32; GROUP]) -> [f32; GROUP] {
    let mut pairs = [0.0; GROUP];
    for k in 0..GROUP {
        pairs[k] = sums[k] + sums[k ^ 1];
    }
    let mut fours = [0.0; GROUP];
    for k in 0..GROUP {
        fours[k] = pairs[k] + pairs[k ^ 2];
    }
    fours
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
fn halved(sums: &[f32], Fours { pairs, fours }: &mut Fours, count: usize) -> f32 {
    let used = used(count);
    // Two loops of pairs become a few exchanges of vectors; one of fours does not.
    for (pair, sums) in pairs.iter_mut().zip(sums[..used].as_chunks::<2>().0) {
        *pair = sums[0] + sums[1];
    }
    for (four, pairs) in fours.iter_mut().zip(pairs[..used / 2].as_chunks::<2>().0) {
        *four = pairs[0] + pairs[1];
    }
    let mut half = used / 8;
    while half > 0 {
        let (first, second) = fours.split_at_mut(half);
        for (sum, other) in first.iter_mut().zip(second) {
            *sum += *other;
        }
        half /= 2;
    }
    fours[0]
}

/// Blocks of sums down so many rows.
#[must_use]
pub const fn blocks_of(rows: usize) -> usize {
    rows.div_ceil(ROWS)
}

/// Numbers of scratch memory that [`block_sums`] takes.
pub const BLOCK_SCRATCH: usize = KEPT * STRIP;

/// Rows of sums that a block is taken into: one of each four neighbours, and three of a four that is on the way.
const KEPT: usize = ROW_SUMS / 4 + 3;

/// Fours that a block of more rows than there are sums keeps at once.
const FOURS: usize = ROW_SUMS / 8;

/// What a sum is added to at most while its rows are read.
const OTHERS: usize = 6;

/// Rows of a block that a sum takes, but for a last block.
const TAKEN: usize = ROWS / ROW_SUMS;

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
    // Strips as wide as each other.
    let width = columns
        .div_ceil(columns.div_ceil(STRIP))
        .next_multiple_of(LANES)
        .min(STRIP);
    for (block, sums) in sums.chunks_mut(columns).enumerate() {
        let begin = block * ROWS;
        let rows = begin..rows.min(begin + ROWS);
        let (x, matrix) = (&x[rows.clone()], matrix.rows_of(rows));
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
        let width = to.len();
        if x.len() > ROW_SUMS {
            match width {
                ..=NARROW => add_narrow(x, matrix, to, scratch),
                _ => add_many(x, matrix, to, scratch),
            }
            return;
        }
        let (all, others) = scratch.split_at_mut(ROW_SUMS / 4 * width);
        let used = x.len();
        let count = used.next_power_of_two().max(4) / 4;
        let half = count / 2;
        // Where sums take a product each, fours that are added to each other may be taken together.
        let pairs = (used / 4).saturating_sub(half).min(half);
        for (four, sums) in all.chunks_exact_mut(width).take(pairs).enumerate() {
            let rows: [usize; 8] = std::array::from_fn(|k| 4 * four + k % 4 + k / 4 * 4 * half);
            add_pair(rows.map(|row| matrix.row(row)), rows.map(|row| x[row]), sums, 4 * matrix.pitch());
        }
        for (four, fours) in all.chunks_exact_mut(width).take(count).enumerate() {
            if four < pairs || (half..half + pairs).contains(&four) {
                continue;
            }
            let others: &mut [f32] = &mut others[..3 * width];
            for (k, sums) in others.chunks_exact_mut(width).chain([&mut *fours]).enumerate() {
                let row = 4 * four + k;
                match row < used {
                    true => add_rows(&[matrix.row(row)], &[x[row]], &[], false, sums, matrix.pitch()),
                    false => sums.fill(0.0),
                }
            }
            let ((zero, one), two) = (others[..2 * width].split_at(width), &others[2 * width..]);
            for (((to, zero), one), two) in fours.iter_mut().zip(zero).zip(one).zip(two) {
                *to = (*zero + *one) + (*two + *to);
            }
        }
        if count > 1 {
            let (first, second) = all.split_at_mut(half * width);
            let done = pairs * width;
            for (sum, other) in first[done..].iter_mut().zip(&second[done..]) {
                *sum += *other;
            }
        }
        fold_to(all, width, half.max(1), to);
    }
}

/// The sums of a block of more rows than there are sums, of which the nearest cache holds those of all columns: rows one after the other, as they lie in memory.
#[inline(always)]
fn add_narrow(x: &[f32], matrix: Matrix<'_, f32>, to: &mut [f32], scratch: &mut [f32]) {
    let width = to.len();
    let ahead = matrix.pitch() * AHEAD.div_ceil(matrix.pitch().max(1));
    let sums = &mut scratch[..ROW_SUMS * width];
    for (k, x) in x.iter().enumerate() {
        let first = k < ROW_SUMS;
        let (row, row_rest) = matrix.row(k).as_chunks::<LANES>();
        let (sums, rest) = sums[k % ROW_SUMS * width..][..width].as_chunks_mut::<LANES>();
        for (sums, row) in sums.iter_mut().zip(row) {
            ask(row.as_ptr().wrapping_add(ahead));
            let mut taken = if first { [0.0; LANES] } else { *sums };
            for (taken, value) in taken.iter_mut().zip(row) {
                *taken = value.mul_add(*x, *taken);
            }
            *sums = taken;
        }
        for (sum, value) in rest.iter_mut().zip(row_rest) {
            *sum = value.mul_add(*x, if first { 0.0 } else { *sum });
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

/// The sums of a block of more rows than there are sums. What a sum is added to is added while its rows are read, so that memory does not wait for it:
/// sums 4 q to 4 q + 3 come to (0 + 1) + (2 + 3), a four, and of fours the second half is added to the first until one is left.
#[inline(always)]
fn add_many(x: &[f32], matrix: Matrix<'_, f32>, to: &mut [f32], scratch: &mut [f32]) {
    /// Where the first two sums of a four are, and the third; before them are eight fours, behind them what comes of all.
    const A: usize = FOURS;
    const B: usize = A + 1;
    const ALL: usize = B + 1;
    let width = to.len();
    let mut strips: [&mut [f32]; ALL + 1] = Default::default();
    for (strip, part) in strips.iter_mut().zip(scratch.chunks_exact_mut(width).take(ALL)) {
        *strip = part;
    }
    strips[ALL] = to;
    for sum in 0..ROW_SUMS {
        let four = sum / 4;
        // Where it goes, whether it is added to what is there, and what it is added to before, from the last on.
        let (at, added, others): (usize, bool, &[usize]) = match (sum % 4, four) {
            (0, _) => (A, false, &[]),
            (1, _) => (A, true, &[]),
            (2, _) => (B, false, &[]),
            (_, 0..8) => (four, false, &[A, B]),
            (_, 8..12) => (four - 8, true, &[A, B]),
            (_, 12) => (0, true, &[4, A, B]),
            (_, 13) => (1, true, &[5, A, B]),
            (_, 14) => (0, true, &[2, 6, A, B]),
            _ => (ALL, false, &[0, 1, 3, 7, A, B]),
        };
        let to = std::mem::take(&mut strips[at]);
        let mut values: [&[f32]; OTHERS] = Default::default();
        for (values, other) in values.iter_mut().zip(others) {
            *values = &*strips[*other];
        }
        let values = &values[..others.len()];
        let count = (x.len() - sum).div_ceil(ROW_SUMS);
        // What is behind the last row is not taken.
        let rows: [usize; TAKEN] = std::array::from_fn(|k| sum + k.min(count - 1) * ROW_SUMS);
        let (rows, x) = (rows.map(|row| matrix.row(row)), rows.map(|row| x[row]));
        // Of a constant number the compiler makes no loop.
        match count {
            TAKEN => add_rows(&rows, &x, values, added, to, matrix.pitch()),
            _ => add_rows(&rows[..count], &x[..count], values, added, to, matrix.pitch()),
        }
        strips[at] = to;
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

/// Sums of rows, one after the other, each added to the last of `others`, that to the one before, and so on, and where `added`, to what is there. Asks for
/// what is read next, in the rows and then in those `below` numbers after.
#[inline(always)]
fn add_rows(rows: &[&[f32]], x: &[f32], others: &[&[f32]], added: bool, to: &mut [f32], below: usize) {
    let width = to.len();
    let mut others_in_groups: [&[[f32; LANES]]; OTHERS] = Default::default();
    for (groups, other) in others_in_groups.iter_mut().zip(others) {
        *groups = other[..width].as_chunks::<LANES>().0;
    }
    let others_in_groups = &others_in_groups[..others.len()];
    let mut in_groups: [&[[f32; LANES]]; TAKEN] = Default::default();
    for (groups, row) in in_groups.iter_mut().zip(rows) {
        *groups = row[..width].as_chunks::<LANES>().0;
    }
    let in_groups = &in_groups[..rows.len()];
    let (groups, rest) = to.as_chunks_mut::<LANES>();
    let first = groups.len() * LANES;
    for (range, ahead) in asked_in_turn(groups.len(), below) {
        for g in range {
            let mut taken = [0.0; LANES];
            for (row, x) in in_groups.iter().zip(x) {
                ask(row[g].as_ptr().wrapping_add(ahead));
                for (taken, value) in taken.iter_mut().zip(&row[g]) {
                    *taken = value.mul_add(*x, *taken);
                }
            }
            for other in others_in_groups.iter().rev() {
                taken = plus(other[g], taken);
            }
            groups[g] = if added { plus(groups[g], taken) } else { taken };
        }
    }
    for (c, to) in (first..).zip(rest) {
        let mut taken = 0.0;
        for (row, x) in rows.iter().zip(x) {
            taken = row[c].mul_add(*x, taken);
        }
        for other in others.iter().rev() {
            taken += other[c];
        }
        *to = if added { *to + taken } else { taken };
    }
}

/// What two fours come to, each the sum of four rows; asks as [`add_rows`] does.
#[inline(always)]
fn add_pair(rows: [&[f32]; 8], x: [f32; 8], sums: &mut [f32], below: usize) {
    let [a, b, c, d, e, f, g, h] = rows.map(|row| row[..sums.len()].as_chunks::<LANES>());
    let [p, q, r, s, t, u, v, w] = x;
    let (groups, rest) = sums.as_chunks_mut::<LANES>();
    for (range, ahead) in asked_in_turn(groups.len(), below) {
        for i in range {
            for (row, _) in [a, b, c, d, e, f, g, h] {
                ask(row[i].as_ptr().wrapping_add(ahead));
            }
            for (k, sum) in groups[i].iter_mut().enumerate() {
                *sum = sum_of_four([a.0[i][k], b.0[i][k], c.0[i][k], d.0[i][k]], [p, q, r, s])
                    + sum_of_four([e.0[i][k], f.0[i][k], g.0[i][k], h.0[i][k]], [t, u, v, w]);
            }
        }
    }
    for (k, sum) in rest.iter_mut().enumerate() {
        *sum = sum_of_four([a.1[k], b.1[k], c.1[k], d.1[k]], [p, q, r, s])
            + sum_of_four([e.1[k], f.1[k], g.1[k], h.1[k]], [t, u, v, w]);
    }
}

#[inline(always)]
fn sum_of_four(values: [f32; 4], x: [f32; 4]) -> f32 {
    let zero = values[0].mul_add(x[0], 0.0);
    let one = values[1].mul_add(x[1], 0.0);
    let two = values[2].mul_add(x[2], 0.0);
    let three = values[3].mul_add(x[3], 0.0);
    (zero + one) + (two + three)
}

/// The groups of a run of a row in two parts, and how many numbers ahead of each memory is asked for: in the row itself, and, at its end, from the
/// beginning of the next on, that lies `below` numbers after this one.
#[inline(always)]
fn asked_in_turn(groups: usize, below: usize) -> [(std::ops::Range<usize>, usize); 2] {
    let near = groups.saturating_sub(ROW_AHEAD / LANES);
    // Of short rows, as many are passed over as make up for it.
    let rows = ROW_AHEAD.div_ceil((groups * LANES).max(1));
    let last = (rows * below).wrapping_sub(near * LANES);
    [(0..near, ROW_AHEAD), (near..groups, last)]
}
