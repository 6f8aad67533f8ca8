//! Min-plus products on the CPU, by the tiles of `product`, which products of numbers have too.
//!
//! Panels are as wide as three registers, so that one stays in the first cache; a block of the left matrix stays in the second. A tile of
//! the result, 8 rows of a panel, takes 24 of 32 registers with AVX-512. An addition and a minimum go to either of two ports, so a step
//! of 24 registers takes 24 clocks and nothing else binds.

use super::{FAR, LIMIT};
use crate::matrix::{Matrix, MatrixMut, ShapeError};
#[doc(hidden)]
pub use crate::product::Tile;
use crate::product::{self, Semiring, pack_left, turn};
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
    #[inline(always)]
    fn operand(self) -> Self {
        self
    }

    /// The least sum as a length.
    #[doc(hidden)]
    #[inline(always)]
    fn result(self) -> Self {
        self
    }

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
    fn plus(self, other: Self) -> Self {
        self.saturating_add(other)
    }

    tiles!(u16_avx512, u16_avx2);
}

/// Numbers that a packed right matrix takes.
#[must_use]
pub const fn packed_len<T: Length>(inner: usize, columns: usize) -> usize {
    product::packed_len::<MinPlus, T>(inner, columns)
}

/// Numbers of scratch memory that [`min_plus_packed`] takes for each thread.
pub const LEFT_LEN: usize = OUTER * INNER;

/// Numbers of scratch memory that [`min_plus`] takes.
#[must_use]
pub const fn scratch_len<T: Length>(inner: usize, columns: usize) -> usize {
    product::scratch_len::<MinPlus, T>(inner, columns)
}

/// Packs a block: at most [`INNER`] rows of the right matrix, from a multiple of as many on. Blocks lie one behind the other:
/// that of rows r and on from number [`packed_len`]`(r, columns)` on.
///
/// # Errors
/// Where there are more rows, or not as many numbers as [`packed_len`] of these rows.
pub fn pack_block<T: Length>(rows: Matrix<'_, T>, packed: &mut [T]) -> Result<(), ShapeError> {
    product::pack_block::<MinPlus, T>(rows, packed)
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
    product::multiply::<MinPlus, T>(left, right, result, scratch)
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
    product::multiply_packed::<MinPlus, T>(left, packed, result, scratch, true)
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
    product::multiply_packed::<MinPlus, T>(left, packed, result, scratch, false)
}

/// The lengths, added by a minimum and multiplied by an addition.
struct MinPlus;

impl<T: Length> Semiring<T> for MinPlus {
    type Number = T;
    const INNER: usize = INNER;
    const OUTER: usize = OUTER;
    const PANEL: usize = T::PANEL;
    const ZERO: T = T::FARTHEST;

    #[inline(always)]
    fn operand(value: T) -> T {
        value.operand()
    }

    #[inline(always)]
    fn result(sum: T) -> T {
        sum.result()
    }

    fn rows(_: Isa) -> usize {
        ROWS
    }

    fn tile(isa: Isa, _: usize) -> (usize, Tile<T>) {
        (ROWS, T::tile(isa))
    }

    fn pack_left(_: Isa, rows: Matrix<'_, T>, packed: &mut [T]) {
        pack_left::<Self, T, ROWS>(rows, packed, turn::<Self, T, ROWS>);
    }
}
