//! Min-plus products on the CPU, in the manner of Goto and van de Geijn ("Anatomy of high-performance matrix multiplication", 2008).
//!
//! The right matrix is packed once, in blocks of [`INNER`] rows, each a row of panels as wide as three registers, so that what the innermost loop
//! reads lies in a row and a panel stays in the first cache. The left matrix is packed block by block to stay in the second. A tile of the
//! result, 8 rows of a panel, stays in registers while it takes the sums of a block: 24 of 32 registers with AVX-512. An addition and a minimum
//! go to either of two ports, so a step of 24 registers takes 24 clocks and nothing else binds.
//!
//! Threads share the packed right matrix and take rows each.

use super::{FAR, LIMIT};
use crate::matrix::{Matrix, MatrixMut, ShapeError};
use relief_kernels::isa::{Isa, Level};

mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

/// Rows of the right matrix that a block has.
pub const INNER: usize = 192;

/// Rows of a tile.
const ROWS: usize = 8;

/// Rows of the left matrix that a block has, a multiple of those of a tile.
const OUTER: usize = 512;

/// A tile of the result in registers: takes `inner` sums for each of its minima.
///
/// # Safety
/// `left` has `inner` times [`ROWS`], `right` `inner` times [`Length::PANEL`] numbers; `ROWS` rows of as many numbers lie `pitch` apart from
/// `result` on, and hold the minima so far unless these sums are the first. The machine has the instructions of the [`Isa`] that this
/// is of.
#[doc(hidden)]
pub type Tile<T> =
    unsafe fn(inner: usize, left: *const T, right: *const T, result: *mut T, pitch: usize, first: bool);

/// Lengths of paths: `f32`, `i32`, `u16`, as [`min_plus`](super) says. It is sealed.
pub trait Length: crate::sealed::Sealed + bytemuck::Pod + PartialOrd + Send + Sync + std::fmt::Debug {
    /// No path.
    const INFINITY: Self;

    /// The length of nothing.
    const ZERO: Self;

    /// Columns of a panel of the right matrix: three registers of AVX-512.
    const PANEL: usize = 3 * 64 / size_of::<Self>();

    /// What stands for no path in a sum.
    #[doc(hidden)]
    const FARTHEST: Self;

    /// The length as an operand.
    #[doc(hidden)]
    fn operand(self) -> Self;

    /// The least sum as a length.
    #[doc(hidden)]
    fn result(self) -> Self;

    /// a + b of two operands.
    #[doc(hidden)]
    fn plus(self, other: Self) -> Self;

    /// The tiles of an instruction set.
    #[doc(hidden)]
    fn tile(isa: Isa) -> Tile<Self>;
}

macro_rules! tiles {
    ($avx512:ident, $avx2:ident) => {
        fn tile(isa: Isa) -> Tile<Self> {
            match isa.level() {
                #[cfg(target_arch = "x86_64")]
                Level::Avx512 | Level::Avx512Vbmi => x86::$avx512,
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 => x86::$avx2,
                Level::Portable => portable::tile::<Self>,
            }
        }
    };
}

impl Length for f32 {
    const INFINITY: Self = Self::INFINITY;
    const ZERO: Self = 0.0;
    const FARTHEST: Self = Self::INFINITY;

    #[inline(always)]
    fn operand(self) -> Self {
        self
    }

    #[inline(always)]
    fn result(self) -> Self {
        self
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self + other
    }

    tiles!(f32_avx512, f32_avx2);
}

impl Length for i32 {
    const INFINITY: Self = Self::MAX;
    const ZERO: Self = 0;
    const FARTHEST: Self = FAR;

    #[inline(always)]
    fn operand(self) -> Self {
        if self > LIMIT { FAR } else { self.max(-LIMIT) }
    }

    #[inline(always)]
    fn result(self) -> Self {
        if self > LIMIT { Self::MAX } else { self.max(-LIMIT) }
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    tiles!(i32_avx512, i32_avx2);
}

impl Length for u16 {
    const INFINITY: Self = Self::MAX;
    const ZERO: Self = 0;
    const FARTHEST: Self = Self::MAX;

    #[inline(always)]
    fn operand(self) -> Self {
        self
    }

    #[inline(always)]
    fn result(self) -> Self {
        self
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.saturating_add(other)
    }

    tiles!(u16_avx512, u16_avx2);
}

/// Numbers that a packed right matrix takes.
#[must_use]
pub const fn packed_len<T: Length>(inner: usize, columns: usize) -> usize {
    inner
        .saturating_mul(columns.div_ceil(T::PANEL))
        .saturating_mul(T::PANEL)
}

/// Numbers of scratch memory that [`min_plus_packed`] takes for each thread.
pub const LEFT_LEN: usize = OUTER * INNER;

/// Numbers of scratch memory that [`min_plus`] takes.
#[must_use]
pub const fn scratch_len<T: Length>(inner: usize, columns: usize) -> usize {
    packed_len::<T>(inner, columns).saturating_add(LEFT_LEN)
}

/// Packs a block: at most [`INNER`] rows of the right matrix, from a multiple of as many on. Blocks lie one behind the other:
/// that of rows r and on from number [`packed_len`]`(r, columns)` on.
///
/// # Errors
/// Where there are more rows, or not as many numbers as [`packed_len`] of these rows.
pub fn pack_block<T: Length>(rows: Matrix<'_, T>, packed: &mut [T]) -> Result<(), ShapeError> {
    if rows.rows() > INNER {
        ShapeError::unless_equal("rows of a block", INNER, rows.rows())?;
    }
    let len = packed_len::<T>(rows.rows(), rows.columns());
    ShapeError::unless_equal("numbers of a packed block", len, packed.len())?;
    let inner = rows.rows();
    for row in 0..inner {
        for (panel, values) in rows.row(row).chunks(T::PANEL).enumerate() {
            let to = &mut packed[(panel * inner + row) * T::PANEL..][..T::PANEL];
            let (taken, rest) = to.split_at_mut(values.len());
            for (to, value) in taken.iter_mut().zip(values) {
                *to = value.operand();
            }
            rest.fill(T::FARTHEST);
        }
    }
    Ok(())
}

/// Computes a product by one thread.
///
/// # Errors
/// Where shapes do not fit each other, or there is less scratch memory than [`scratch_len`].
pub fn min_plus<T: Length>(
    left: Matrix<'_, T>,
    right: Matrix<'_, T>,
    result: MatrixMut<'_, T>,
    scratch: &mut [T],
) -> Result<(), ShapeError> {
    let (inner, columns) = (right.rows(), right.columns());
    let what = "columns of the right matrix and of the result";
    ShapeError::unless_equal(what, columns, result.columns())?;
    ShapeError::unless_enough(scratch_len::<T>(inner, columns), scratch.len())?;
    let (packed, rest) = scratch.split_at_mut(packed_len::<T>(inner, columns));
    // Without columns there may be any number of rows.
    let whole = if columns == 0 { 0 } else { inner };
    for begin in (0..whole).step_by(INNER) {
        let end = inner.min(begin + INNER);
        let place = packed_len::<T>(begin, columns)..packed_len::<T>(end, columns);
        pack_block(right.rows_of(begin..end), &mut packed[place])?;
    }
    min_plus_packed(left, packed, result, rest)
}

/// Computes a product with the right matrix packed, all of its blocks; `left` and `result` may be some of the rows.
///
/// # Errors
/// Where shapes do not fit each other, or there are fewer numbers of scratch memory than [`LEFT_LEN`].
pub fn min_plus_packed<T: Length>(
    left: Matrix<'_, T>,
    packed: &[T],
    result: MatrixMut<'_, T>,
    scratch: &mut [T],
) -> Result<(), ShapeError> {
    take(left, packed, result, scratch, true)
}

/// Makes of each number of `result` the lesser of it and of the product's; else as [`min_plus_packed`].
///
/// # Errors
/// As [`min_plus_packed`].
pub fn lessen_packed<T: Length>(
    left: Matrix<'_, T>,
    packed: &[T],
    result: MatrixMut<'_, T>,
    scratch: &mut [T],
) -> Result<(), ShapeError> {
    take(left, packed, result, scratch, false)
}

/// A product, alone or with what `result` holds.
fn take<T: Length>(
    left: Matrix<'_, T>,
    packed: &[T],
    mut result: MatrixMut<'_, T>,
    scratch: &mut [T],
    alone: bool,
) -> Result<(), ShapeError> {
    let (rows, inner, columns) = (left.rows(), left.columns(), result.columns());
    ShapeError::unless_equal("rows of the left matrix and of the result", rows, result.rows())?;
    let len = packed_len::<T>(inner, columns);
    ShapeError::unless_equal("numbers of the packed matrix", len, packed.len())?;
    ShapeError::unless_enough(LEFT_LEN, scratch.len())?;
    if columns == 0 {
        return Ok(());
    }
    let tile = T::tile(Isa::best());
    if inner == 0 && alone {
        for row in 0..rows {
            result.row(row).fill(T::INFINITY);
        }
        return Ok(());
    }
    // As even as may be: a last block of few rows would use the right matrix badly.
    let height = rows.div_ceil(rows.div_ceil(OUTER).max(1)).next_multiple_of(ROWS);
    for top in (0..rows).step_by(height.max(1)) {
        let bottom = rows.min(top + height);
        for begin in (0..inner).step_by(INNER) {
            let end = inner.min(begin + INNER);
            pack_left(left.rows_of(top..bottom).columns_of(begin..end), scratch);
            let block = &packed[packed_len::<T>(begin, columns)..packed_len::<T>(end, columns)];
            let part = Part {
                top,
                bottom,
                inner: end - begin,
                first: alone && begin == 0,
                last: end == inner,
            };
            part.take(tile, scratch, block, &mut result);
        }
    }
    Ok(())
}

/// Packs rows, [`ROWS`] at a time, the numbers of a column next to each other; rows that are missing have no path.
fn pack_left<T: Length>(rows: Matrix<'_, T>, packed: &mut [T]) {
    let parts = packed.chunks_mut(rows.columns() * ROWS);
    for (part, top) in parts.zip((0..rows.rows()).step_by(ROWS)) {
        for k in 0..ROWS {
            if top + k < rows.rows() {
                for (to, value) in part[k..].iter_mut().step_by(ROWS).zip(rows.row(top + k)) {
                    *to = value.operand();
                }
            } else {
                part[k..]
                    .iter_mut()
                    .step_by(ROWS)
                    .for_each(|to| *to = T::FARTHEST);
            }
        }
    }
}

/// A block of the result: its rows, the sums that it takes, and whether these are the first and the last.
#[derive(Clone, Copy)]
struct Part {
    top: usize,
    bottom: usize,
    inner: usize,
    first: bool,
    last: bool,
}

/// The widest panel, in bytes.
const WIDEST: usize = 192;

impl Part {
    /// All tiles of the block: those of a panel one after the other, so that it stays in the first cache.
    #[allow(unsafe_code)]
    fn take<T: Length>(self, tile: Tile<T>, left: &[T], right: &[T], result: &mut MatrixMut<'_, T>) {
        let columns = result.columns();
        for (panel, right) in right.chunks_exact(self.inner * T::PANEL).enumerate() {
            let x = panel * T::PANEL;
            let width = T::PANEL.min(columns - x);
            let tops = (self.top..self.bottom).step_by(ROWS);
            for (top, left) in tops.zip(left.chunks_exact(self.inner * ROWS)) {
                let tall = ROWS.min(self.bottom - top);
                let (values, pitch) = result.tile(top, tall, x, width);
                if tall == ROWS && width == T::PANEL {
                    // SAFETY: packed numbers are as many as `chunks_exact` gives; the tile lies in the result, whose rows lie `pitch` apart
                    // in one slice; the instruction set was found on this machine.
                    unsafe {
                        tile(
                            self.inner,
                            left.as_ptr(),
                            right.as_ptr(),
                            values.as_mut_ptr(),
                            pitch,
                            self.first,
                        )
                    };
                } else {
                    let mut edge = [0_u64; ROWS * WIDEST / 8];
                    let edge: &mut [T] = bytemuck::cast_slice_mut(&mut edge);
                    for (edge, values) in edge.chunks_exact_mut(T::PANEL).zip(values.chunks(pitch)) {
                        edge[..width].copy_from_slice(&values[..width]);
                    }
                    // SAFETY: as above; the tile lies in `edge`, which holds its rows, as far apart as they are long.
                    unsafe {
                        tile(
                            self.inner,
                            left.as_ptr(),
                            right.as_ptr(),
                            edge.as_mut_ptr(),
                            T::PANEL,
                            self.first,
                        )
                    };
                    for (edge, values) in edge.chunks_exact(T::PANEL).zip(values.chunks_mut(pitch)) {
                        values[..width].copy_from_slice(&edge[..width]);
                    }
                }
                if self.last {
                    for values in values.chunks_mut(pitch) {
                        values[..width]
                            .iter_mut()
                            .for_each(|value| *value = value.result());
                    }
                }
            }
        }
    }
}
