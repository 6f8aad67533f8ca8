//! Products of matrices over a semiring on the CPU, after Goto and van de Geijn ("Anatomy of high-performance matrix multiplication",
//! 2008): what [`matmul`](crate::matmul) and [`min_plus`](crate::min_plus) have in common.
//!
//! c(i, j) is the sum of a(i, k) · b(k, j) over k, for the addition and the multiplication of a [`Semiring`].
//!
//! The right matrix is packed once, in blocks of [`Semiring::INNER`] rows, each a row of panels of [`Semiring::PANEL`] columns, so
//! that what the innermost loop reads lies in a row. The left matrix is packed block by block. A tile of the result stays in registers while it
//! takes the products of a block. Between blocks it lies in the result, so that the order of its sums is that of k.
//!
//! Threads share the packed right matrix and take rows each.

use bytemuck::Pod;

use crate::matrix::{Matrix, MatrixMut, ShapeError};
use relief_kernels::ahead::{LINE, ask};
use relief_kernels::isa::Isa;

/// An addition and a multiplication of numbers that operands hold as `T`, and how a processor computes products with them.
pub(crate) trait Semiring<T: Copy> {
    /// What packed operands, sums and results are of.
    type Number: Pod;

    /// Rows of the right matrix that a block has.
    const INNER: usize;

    /// Rows of the left matrix that a block has: a multiple of the rows of all tiles.
    const OUTER: usize;

    /// Columns of a panel of the right matrix.
    const PANEL: usize;

    /// Numbers of a packed block of the left matrix.
    const LEFT_LEN: usize = Self::OUTER * Self::INNER;

    /// The sum of no products.
    const ZERO: Self::Number;

    /// A number of an operand.
    fn operand(value: T) -> Self::Number;

    /// A sum as the result holds it.
    #[inline(always)]
    fn result(sum: Self::Number) -> Self::Number {
        sum
    }

    /// Rows of the tallest tile, and of a column of the packed left matrix.
    fn rows(isa: Isa) -> usize;

    /// A tile of at least so many rows, which are at most the tallest's, and how many it has.
    fn tile(isa: Isa, rows: usize) -> (usize, Tile<Self::Number>);

    /// Packs a block of the left matrix, as [`pack_left`] does for [`rows`](Self::rows).
    fn pack_left(isa: Isa, rows: Matrix<'_, T>, packed: &mut [Self::Number]);
}

/// A tile of the result in registers: takes `inner` products for each of its sums.
///
/// # Safety
/// `left` has `inner` times the rows of the tallest tile of the instruction set, `right` `inner` times the columns of a panel; the
/// tile's rows of as many numbers lie `pitch` apart from `result` on, and hold the sums so far unless these products are the first. The machine
/// has the instruction set. `later` may be any place: every few products a tile may ask for a line from there on.
pub type Tile<N> = unsafe fn(
    inner: usize,
    left: *const N,
    right: *const N,
    result: *mut N,
    pitch: usize,
    first: bool,
    later: *const N,
);

/// Steps of a tile after which it asks for a line of the panel that follows.
pub(crate) const STEPS: usize = 4;

/// How many rows ahead memory is asked for where the right matrix is packed: parts of rows are too short for a processor to see.
const ROWS_AHEAD: usize = 8;

/// Bytes of the largest tile: 14 rows of 32 floats.
const EDGE: usize = 14 * 32 * 4;

/// Numbers that a packed right matrix takes.
pub(crate) const fn packed_len<S: Semiring<T>, T: Copy>(inner: usize, columns: usize) -> usize {
    inner
        .saturating_mul(columns.div_ceil(S::PANEL))
        .saturating_mul(S::PANEL)
}

/// Numbers of scratch memory that [`multiply`] takes.
pub(crate) const fn scratch_len<S: Semiring<T>, T: Copy>(inner: usize, columns: usize) -> usize {
    packed_len::<S, T>(inner, columns).saturating_add(S::LEFT_LEN)
}

/// Packs a block of the right matrix.
pub(crate) fn pack_block<S: Semiring<T>, T: Copy>(
    rows: Matrix<'_, T>,
    packed: &mut [S::Number],
) -> Result<(), ShapeError> {
    let inner = rows.rows();
    if inner > S::INNER {
        ShapeError::unless_equal("rows of a block", S::INNER, inner)?;
    }
    let len = packed_len::<S, T>(inner, rows.columns());
    ShapeError::unless_equal("numbers of a packed block", len, packed.len())?;
    for row in 0..inner {
        let line = |panel: usize| (panel * inner + row) * S::PANEL;
        let panels = rows.row(row).chunks_exact(S::PANEL);
        let (whole, rest) = (panels.len(), panels.remainder());
        for (panel, values) in panels.enumerate() {
            for part in values.chunks(LINE / size_of::<T>()) {
                ask(part.as_ptr().wrapping_add(ROWS_AHEAD * rows.pitch()));
            }
            let to = &mut packed[line(panel)..][..S::PANEL];
            for (to, value) in to.iter_mut().zip(values) {
                *to = S::operand(*value);
            }
        }
        if !rest.is_empty() {
            let to = &mut packed[line(whole)..][..S::PANEL];
            to.fill(S::ZERO);
            for (to, value) in to.iter_mut().zip(rest) {
                *to = S::operand(*value);
            }
        }
    }
    Ok(())
}

/// Computes a product by one thread.
pub(crate) fn multiply<S: Semiring<T>, T: Copy>(
    left: Matrix<'_, T>,
    right: Matrix<'_, T>,
    result: MatrixMut<'_, S::Number>,
    scratch: &mut [S::Number],
) -> Result<(), ShapeError> {
    let (inner, columns) = (right.rows(), right.columns());
    let what = "columns of the right matrix and of the result";
    ShapeError::unless_equal(what, columns, result.columns())?;
    ShapeError::unless_enough(scratch_len::<S, T>(inner, columns), scratch.len())?;
    let (packed, rest) = scratch.split_at_mut(packed_len::<S, T>(inner, columns));
    // Without columns there may be any number of rows.
    let whole = if columns == 0 { 0 } else { inner };
    for begin in (0..whole).step_by(S::INNER) {
        let end = inner.min(begin + S::INNER);
        let place = packed_len::<S, T>(begin, columns)..packed_len::<S, T>(end, columns);
        pack_block::<S, T>(right.rows_of(begin..end), &mut packed[place])?;
    }
    multiply_packed::<S, T>(left, packed, result, rest, true)
}

/// Computes a product with the right matrix packed, all of its blocks; `left` and `result` may be some of the rows. Unless it is `alone`, it is
/// added to what `result` holds.
pub(crate) fn multiply_packed<S: Semiring<T>, T: Copy>(
    left: Matrix<'_, T>,
    packed: &[S::Number],
    mut result: MatrixMut<'_, S::Number>,
    scratch: &mut [S::Number],
    alone: bool,
) -> Result<(), ShapeError> {
    let (rows, inner, columns) = (left.rows(), left.columns(), result.columns());
    ShapeError::unless_equal("rows of the left matrix and of the result", rows, result.rows())?;
    let len = packed_len::<S, T>(inner, columns);
    ShapeError::unless_equal("numbers of the packed matrix", len, packed.len())?;
    ShapeError::unless_enough(S::LEFT_LEN, scratch.len())?;
    if columns == 0 {
        return Ok(());
    }
    if inner == 0 && alone {
        for row in 0..rows {
            result.row(row).fill(S::result(S::ZERO));
        }
        return Ok(());
    }
    let isa = Isa::best();
    // As even as may be: a last block of few rows would use the right matrix badly.
    let height = rows
        .div_ceil(rows.div_ceil(S::OUTER).max(1))
        .next_multiple_of(S::rows(isa));
    for top in (0..rows).step_by(height.max(1)) {
        let bottom = rows.min(top + height);
        for begin in (0..inner).step_by(S::INNER) {
            let end = inner.min(begin + S::INNER);
            S::pack_left(isa, left.rows_of(top..bottom).columns_of(begin..end), scratch);
            let block = &packed[packed_len::<S, T>(begin, columns)..packed_len::<S, T>(end, columns)];
            let part = Part {
                top,
                bottom,
                inner: end - begin,
                first: alone && begin == 0,
                last: end == inner,
            };
            part.take::<S, T>(isa, scratch, block, &mut result);
        }
    }
    Ok(())
}

/// Columns of the left matrix that are packed at a time.
pub(crate) const SQUARE: usize = 16;

/// Numbers of a square of each of so many rows.
pub(crate) type Lines<'a, T, const H: usize> = [&'a [T; SQUARE]; H];

/// Columns of `H` rows, the numbers of each next to each other.
pub(crate) type Columns<N, const H: usize> = [[N; H]; SQUARE];

/// Packs rows, `H` at a time, the numbers of a column next to each other; `turn` does it for a square. The last row stands for those that
/// are missing; what it comes to is not used.
pub(crate) fn pack_left<S: Semiring<T>, T: Copy, const H: usize>(
    rows: Matrix<'_, T>,
    packed: &mut [S::Number],
    turn: impl Fn(Lines<'_, T, H>, &mut Columns<S::Number, H>),
) {
    let last = rows.rows() - 1;
    let parts = packed.chunks_exact_mut(rows.columns() * H);
    for (part, top) in parts.zip((0..rows.rows()).step_by(H)) {
        let rows: [_; H] = std::array::from_fn(|k| rows.row(last.min(top + k)).as_chunks::<SQUARE>());
        let (columns, _) = part.as_chunks_mut::<H>();
        // A line of each row at a time: rows that are a multiple of a page apart lie in the same sets of the first cache, which are fewer than rows.
        let (squares, rest) = columns.as_chunks_mut::<SQUARE>();
        for (k, square) in squares.iter_mut().enumerate() {
            turn(rows.map(|(lines, _)| &lines[k]), square);
        }
        for (k, column) in rest.iter_mut().enumerate() {
            for (to, (_, row)) in column.iter_mut().zip(rows) {
                *to = S::operand(row[k]);
            }
        }
    }
}

/// Turns a square.
pub(crate) fn turn<S: Semiring<T>, T: Copy, const H: usize>(
    lines: Lines<'_, T, H>,
    columns: &mut Columns<S::Number, H>,
) {
    let operands = lines.map(|line| line.map(S::operand));
    for (k, column) in columns.iter_mut().enumerate() {
        for (to, row) in column.iter_mut().zip(&operands) {
            *to = row[k];
        }
    }
}

/// A block of the result: its rows, the products that it takes, and whether these are the first and the last.
#[derive(Clone, Copy)]
struct Part {
    top: usize,
    bottom: usize,
    inner: usize,
    first: bool,
    last: bool,
}

impl Part {
    /// All tiles of the block: those of a panel one after the other, so that it stays in the first cache.
    #[allow(unsafe_code)]
    fn take<S: Semiring<T>, T: Copy>(
        self,
        isa: Isa,
        left: &[S::Number],
        right: &[S::Number],
        result: &mut MatrixMut<'_, S::Number>,
    ) {
        let (columns, height) = (result.columns(), S::rows(isa));
        let len = self.inner * S::PANEL;
        let asked = self.inner.div_ceil(STEPS) * LINE / size_of::<S::Number>();
        for panel in 0..right.len() / len {
            let (right, next) = right[panel * len..].split_at(len);
            let x = panel * S::PANEL;
            let width = S::PANEL.min(columns - x);
            let tops = (self.top..self.bottom).step_by(height);
            for (k, (top, left)) in tops.zip(left.chunks_exact(self.inner * height)).enumerate() {
                // Once all of it has been asked for, again from its beginning, which is there already.
                let later = next.as_ptr().wrapping_add(k * asked % len);
                let tall = height.min(self.bottom - top);
                let (rows, tile) = S::tile(isa, tall);
                let (values, pitch) = result.tile(top, tall, x, width);
                let take = |to: *mut S::Number, pitch: usize| {
                    let (left, right) = (left.as_ptr(), right.as_ptr());
                    // SAFETY: packed numbers are as many as `chunks_exact` gives; `to` has the tile's rows, `pitch` apart, in one slice (below);
                    // the instruction set was found on this machine.
                    unsafe { tile(self.inner, left, right, to, pitch, self.first, later) };
                };
                if tall == rows && width == S::PANEL {
                    take(values.as_mut_ptr(), pitch);
                } else {
                    let mut edge = [0_u64; EDGE / 8];
                    let edge = &mut bytemuck::cast_slice_mut(&mut edge)[..rows * S::PANEL];
                    for (edge, values) in edge.chunks_exact_mut(S::PANEL).zip(values.chunks(pitch)) {
                        edge[..width].copy_from_slice(&values[..width]);
                    }
                    take(edge.as_mut_ptr(), S::PANEL);
                    for (edge, values) in edge.chunks_exact(S::PANEL).zip(values.chunks_mut(pitch)) {
                        values[..width].copy_from_slice(&edge[..width]);
                    }
                }
                if self.last {
                    for row in values.chunks_mut(pitch) {
                        for value in &mut row[..width] {
                            *value = S::result(*value);
                        }
                    }
                }
            }
        }
    }
}
