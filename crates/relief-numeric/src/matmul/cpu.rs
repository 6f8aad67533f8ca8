//! Products on the CPU, by the tiles of `product`, which min-plus products have too.
//!
//! A panel and a packed block of the left matrix stay in a second cache of 2 MiB; longer blocks mean that the
//! result is read and written less often. A tile of the result is 14 × 32 with AVX-512, where 28 of 32
//! registers hold sums, and fewer rows at the lower end.
//!
//! The left matrix is packed by squares that are turned in registers where AVX-512 is: number by number it
//! took a tenth of a product of 512³.
//!
//! A tile asks for what it reads 16 steps later, for the tile below, and for the next panel, a line at a
//! time: asked for at once before each tile, the next panel would otherwise cost a tenth of the time of a
//! small product.

use half::{bf16, f16};

use crate::matrix::{Matrix, MatrixMut, ShapeError};
use crate::product::{self, Semiring, Tile, pack_left, turn};
use relief_kernels::isa::{Isa, Level};

mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

/// Rows of the right matrix that a block has.
pub const INNER: usize = 512;

/// Columns of a panel of the right matrix.
pub const PANEL: usize = 32;

/// Rows of the left matrix that a block has: a multiple of the rows of all tiles.
const OUTER: usize = 672;

/// Numbers that can be multiplied: `f32`, `f16`, `bf16`. It is sealed.
pub trait Operand: crate::sealed::Sealed + Copy + Send + Sync + 'static {
    /// The number, exactly.
    fn widen(self) -> f32;
}

impl Operand for f32 {
    #[inline(always)]
    fn widen(self) -> f32 {
        self
    }
}

impl Operand for bf16 {
    #[inline(always)]
    fn widen(self) -> f32 {
        self.to_f32()
    }
}

impl Operand for f16 {
    #[inline(always)]
    fn widen(self) -> f32 {
        self.to_f32()
    }
}

/// Numbers that a packed right matrix takes.
#[must_use]
pub const fn packed_len(inner: usize, columns: usize) -> usize {
    product::packed_len::<PlusTimes, f32>(inner, columns)
}

/// Rows of a tile on this machine: parts that threads take are best multiples of it.
#[must_use]
pub fn tile_rows() -> usize {
    <PlusTimes as Semiring<f32>>::rows(Isa::best())
}

/// Numbers of scratch memory that [`multiply_packed`] takes for each thread.
pub const LEFT_LEN: usize = OUTER * INNER;

/// Numbers of scratch memory that [`multiply`] takes.
#[must_use]
pub const fn scratch_len(inner: usize, columns: usize) -> usize {
    product::scratch_len::<PlusTimes, f32>(inner, columns)
}

/// Packs a block: at most [`INNER`] rows of the right matrix, from a multiple of as many on. Blocks lie one behind the other:
/// that of rows r and on from number [`packed_len`]`(r, columns)` on.
///
/// # Errors
/// Where there are more rows, or not as many numbers as [`packed_len`] of these rows.
pub fn pack_block<T: Operand>(rows: Matrix<'_, T>, packed: &mut [f32]) -> Result<(), ShapeError> {
    product::pack_block::<PlusTimes, T>(rows, packed)
}

/// C = A·B by one thread.
///
/// # Errors
/// Where shapes do not fit each other, or there is less scratch memory than [`scratch_len`].
pub fn multiply<T: Operand>(
    left: Matrix<'_, T>,
    right: Matrix<'_, T>,
    result: MatrixMut<'_, f32>,
    scratch: &mut [f32],
) -> Result<(), ShapeError> {
    product::multiply::<PlusTimes, T>(left, right, result, scratch)
}

/// C = A·B with the right matrix packed, all of its blocks; `left` and `result` may be some of the rows.
///
/// # Errors
/// Where shapes do not fit each other, or there are fewer numbers of scratch memory than [`LEFT_LEN`].
pub fn multiply_packed<T: Operand>(
    left: Matrix<'_, T>,
    packed: &[f32],
    result: MatrixMut<'_, f32>,
    scratch: &mut [f32],
) -> Result<(), ShapeError> {
    product::multiply_packed::<PlusTimes, T>(left, packed, result, scratch, true)
}

/// The numbers that are added and multiplied as floats are.
struct PlusTimes;

impl<T: Operand> Semiring<T> for PlusTimes {
    type Number = f32;
    const INNER: usize = INNER;
    const OUTER: usize = OUTER;
    const PANEL: usize = PANEL;
    const ZERO: f32 = 0.0;

    #[inline(always)]
    fn operand(value: T) -> f32 {
        value.widen()
    }

    fn rows(isa: Isa) -> usize {
        match isa.level() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 | Level::Avx512Vbmi => x86::ROWS_512,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => 6,
            Level::Portable => 4,
        }
    }

    fn tile(isa: Isa, rows: usize) -> (usize, Tile<f32>) {
        match isa.level() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 | Level::Avx512Vbmi => x86::tile_512(rows),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => (6, x86::avx2),
            Level::Portable => (4, portable::tile),
        }
    }

    #[allow(unsafe_code)]
    fn pack_left(isa: Isa, rows: Matrix<'_, T>, packed: &mut [f32]) {
        match isa.level() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 | Level::Avx512Vbmi => {
                // SAFETY: the instruction set was found on this machine.
                pack_left::<Self, T, _>(rows, packed, |lines, columns| unsafe {
                    x86::turn_512(lines, columns);
                });
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => pack_left::<Self, T, 6>(rows, packed, turn::<Self, T, 6>),
            Level::Portable => pack_left::<Self, T, 4>(rows, packed, turn::<Self, T, 4>),
        }
    }
}
