//! Products on the CPU, after Goto and van de Geijn ("Anatomy of high-performance matrix multiplication",
//! 2008).
//!
//! The right matrix is packed once, in blocks of [`INNER`] rows, each a row of panels of [`PANEL`] columns,
//! so that what the innermost loop reads lies in a row. A panel and a packed block of the left matrix stay in
//! a second cache of 2 MiB; longer blocks mean that the result is read and written less often. A tile of the
//! result stays in registers while it takes the products of a block: 14 × 32 with AVX-512, where 28 of 32
//! registers hold sums, and fewer rows at the lower end. Between blocks it lies in the result, so that the
//! order of its sums is that of k.
//!
//! The left matrix is packed by squares that are turned in registers where AVX-512 is: number by number it
//! took a tenth of a product of 512³.
//!
//! A tile asks for what it reads 16 steps later, for the tile below, and for the next panel, a line at a
//! time: asked for at once before each tile, the next panel would otherwise cost a tenth of the time of a
//! small product.
//!
//! Threads share the packed right matrix and take rows each.

use half::{bf16, f16};

use crate::matrix::{Matrix, MatrixMut, ShapeError};
use relief_kernels::ahead::{LINE, ask};
use relief_kernels::isa::{Isa, Level};

mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

/// Rows of the right matrix that a block has.
pub const INNER: usize = 512;

/// Columns of a panel of the right matrix.
pub const PANEL: usize = 32;

/// How many rows ahead memory is asked for where the right matrix is packed: parts of rows are too short for a processor to see.
const ROWS_AHEAD: usize = 8;

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
    inner
        .saturating_mul(columns.div_ceil(PANEL))
        .saturating_mul(PANEL)
}

/// Rows of a tile on this machine: parts that threads take are best multiples of it.
#[must_use]
pub fn tile_rows() -> usize {
    Tiles::of(Isa::best()).rows()
}

/// Numbers of scratch memory that [`multiply_packed`] takes for each thread.
pub const LEFT_LEN: usize = OUTER * INNER;

/// Numbers of scratch memory that [`multiply`] takes.
#[must_use]
pub const fn scratch_len(inner: usize, columns: usize) -> usize {
    packed_len(inner, columns).saturating_add(LEFT_LEN)
}

/// Packs a block: at most [`INNER`] rows of the right matrix, from a multiple of as many on. Blocks lie one behind the other:
/// that of rows r and on from number [`packed_len`]`(r, columns)` on.
///
/// # Errors
/// Where there are more rows, or not as many numbers as [`packed_len`] of these rows.
pub fn pack_block<T: Operand>(rows: Matrix<'_, T>, packed: &mut [f32]) -> Result<(), ShapeError> {
    if rows.rows() > INNER {
        ShapeError::unless_equal("rows of a block", INNER, rows.rows())?;
    }
    let len = packed_len(rows.rows(), rows.columns());
    ShapeError::unless_equal("numbers of a packed block", len, packed.len())?;
    let inner = rows.rows();
    let (lines, _) = packed.as_chunks_mut::<PANEL>();
    for row in 0..inner {
        let (panels, rest) = rows.row(row).as_chunks::<PANEL>();
        for (panel, values) in panels.iter().enumerate() {
            for line in values.chunks(LINE / size_of::<T>()) {
                ask(line.as_ptr().wrapping_add(ROWS_AHEAD * rows.pitch()));
            }
            for (to, value) in lines[panel * inner + row].iter_mut().zip(values) {
                *to = value.widen();
            }
        }
        if !rest.is_empty() {
            let mut last = [0.0; PANEL];
            for (to, value) in last.iter_mut().zip(rest) {
                *to = value.widen();
            }
            lines[panels.len() * inner + row] = last;
        }
    }
    Ok(())
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
    let (inner, columns) = (right.rows(), right.columns());
    ShapeError::unless_equal(
        "columns of the right matrix and of the result",
        columns,
        result.columns(),
    )?;
    ShapeError::unless_enough(scratch_len(inner, columns), scratch.len())?;
    let (packed, rest) = scratch.split_at_mut(packed_len(inner, columns));
    // Without columns there may be any number of rows.
    let mut begin = if columns == 0 { inner } else { 0 };
    while begin < inner {
        let end = inner.min(begin + INNER);
        let place = packed_len(begin, columns)..packed_len(end, columns);
        pack_block(right.rows_of(begin..end), &mut packed[place])?;
        begin = end;
    }
    multiply_packed(left, packed, result, rest)
}

/// C = A·B with the right matrix packed, all of its blocks; `left` and `result` may be some of the rows.
///
/// # Errors
/// Where shapes do not fit each other, or there are fewer numbers of scratch memory than [`LEFT_LEN`].
pub fn multiply_packed<T: Operand>(
    left: Matrix<'_, T>,
    packed: &[f32],
    mut result: MatrixMut<'_, f32>,
    scratch: &mut [f32],
) -> Result<(), ShapeError> {
    let (inner, columns) = (left.columns(), result.columns());
    ShapeError::unless_equal(
        "rows of the left matrix and of the result",
        left.rows(),
        result.rows(),
    )?;
    ShapeError::unless_equal(
        "numbers of the packed matrix",
        packed_len(inner, columns),
        packed.len(),
    )?;
    ShapeError::unless_enough(LEFT_LEN, scratch.len())?;
    let tiles = Tiles::of(Isa::best());
    let rows = left.rows();
    if result.columns() == 0 {
        return Ok(());
    }
    if inner == 0 {
        for row in 0..rows {
            result.row(row).fill(0.0);
        }
        return Ok(());
    }
    // As even as may be: a last block of few rows would use the right matrix badly.
    let height = rows
        .div_ceil(rows.div_ceil(OUTER).max(1))
        .next_multiple_of(tiles.rows());
    let mut top = 0;
    while top < rows {
        let bottom = rows.min(top + height);
        let mut begin = 0;
        while begin < inner {
            let end = inner.min(begin + INNER);
            let rows = left.rows_of(top..bottom);
            tiles.pack_left(rows, begin..end, scratch);
            let block = &packed[packed_len(begin, columns)..packed_len(end, columns)];
            let part = Part {
                top,
                bottom,
                inner: end - begin,
                first: begin == 0,
            };
            tiles.block(part, scratch, block, &mut result);
            begin = end;
        }
        top = bottom;
    }
    Ok(())
}

/// Columns that are packed at a time.
const SQUARE: usize = 16;

/// Numbers of a square of each of so many rows.
type Lines<'a, T, const H: usize> = [&'a [T; SQUARE]; H];

/// Columns of `H` rows, the numbers of each next to each other.
type Columns<const H: usize> = [[f32; H]; SQUARE];

/// Packs columns of rows, `H` rows at a time, the numbers of a column next to each other; `turn` does it for a square. The last row stands for those that
/// are missing; what it comes to is not used.
fn pack_left<T: Operand, const H: usize>(
    rows: Matrix<'_, T>,
    range: std::ops::Range<usize>,
    packed: &mut [f32],
    turn: impl Fn(Lines<'_, T, H>, &mut Columns<H>),
) {
    let last = rows.rows() - 1;
    let parts = packed.chunks_exact_mut(range.len() * H);
    for (part, top) in parts.zip((0..rows.rows()).step_by(H)) {
        let rows: [&[T]; H] = std::array::from_fn(|k| &rows.row(last.min(top + k))[range.clone()]);
        let rows = rows.map(|row| row.as_chunks::<SQUARE>());
        let (columns, _) = part.as_chunks_mut::<H>();
        // A line of each row at a time: rows that are a multiple of a page apart lie in the same sets of the first cache, which are fewer than rows.
        let (squares, rest) = columns.as_chunks_mut::<SQUARE>();
        for (k, square) in squares.iter_mut().enumerate() {
            turn(rows.map(|(lines, _)| &lines[k]), square);
        }
        for (k, column) in rest.iter_mut().enumerate() {
            for (to, (_, row)) in column.iter_mut().zip(rows) {
                *to = row[k].widen();
            }
        }
    }
}

/// Turns a square.
fn turn<T: Operand, const H: usize>(lines: Lines<'_, T, H>, columns: &mut Columns<H>) {
    let wide = lines.map(|line| line.map(Operand::widen));
    for (k, column) in columns.iter_mut().enumerate() {
        for (to, row) in column.iter_mut().zip(&wide) {
            *to = row[k];
        }
    }
}

/// A block of the result: its rows, the products that it takes, and whether these are the first.
#[derive(Clone, Copy)]
struct Part {
    top: usize,
    bottom: usize,
    inner: usize,
    first: bool,
}

/// A tile of the result in registers: takes `inner` products for each of its sums.
///
/// # Safety
/// `left` has `inner` times the rows of the tallest of the [`Tiles`] that this is of, `right` `inner` times [`PANEL`] numbers; the tile's rows of [`PANEL`] numbers lie
/// `pitch` apart from `result` on, and hold the sums so far unless these products are the first. The machine has their
/// instructions. `later` may be any place: every [`STEPS`] products a line from there on is asked for.
type Tile = unsafe fn(
    inner: usize,
    left: *const f32,
    right: *const f32,
    result: *mut f32,
    pitch: usize,
    first: bool,
    later: *const f32,
);

/// Tiles of an instruction set.
#[derive(Clone, Copy)]
struct Tiles(Level);

/// Steps of a tile after which it asks for a line of the panel that follows; in the first of them for a row of the tile below as well.
const STEPS: usize = 4;

/// The most rows of a tile.
const TALLEST: usize = 14;

impl Tiles {
    const fn of(isa: Isa) -> Self {
        Self(isa.level())
    }

    /// Rows of the tallest tile, and of a column of the packed left matrix.
    const fn rows(self) -> usize {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 | Level::Avx512Vbmi => x86::ROWS_512,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => 6,
            Level::Portable => 4,
        }
    }

    /// A tile of at least so many rows, which are at most the tallest's, and how many it has.
    fn tile(self, rows: usize) -> (usize, Tile) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 | Level::Avx512Vbmi => x86::tile_512(rows),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => (6, x86::avx2),
            Level::Portable => (4, portable::tile),
        }
    }

    #[allow(unsafe_code)]
    fn pack_left<T: Operand>(self, rows: Matrix<'_, T>, range: std::ops::Range<usize>, packed: &mut [f32]) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 | Level::Avx512Vbmi => {
                // SAFETY: the instruction set was found on this machine.
                pack_left(rows, range, packed, |lines, columns| unsafe {
                    x86::turn_512(lines, columns);
                });
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => pack_left::<T, 6>(rows, range, packed, turn),
            Level::Portable => pack_left::<T, 4>(rows, range, packed, turn),
        }
    }

    /// All tiles of a block: those of a panel one after the other, so that it stays in the first cache.
    #[allow(unsafe_code)]
    fn block(self, part: Part, left: &[f32], right: &[f32], result: &mut MatrixMut<'_, f32>) {
        let columns = result.columns();
        let height = self.rows();
        let len = part.inner * PANEL;
        let asked = part.inner.div_ceil(STEPS) * LINE / size_of::<f32>();
        for panel in 0..right.len() / len {
            let (right, next) = right[panel * len..].split_at(len);
            let x = panel * PANEL;
            let width = PANEL.min(columns - x);
            let tops = (part.top..part.bottom).step_by(height);
            for (k, (top, left)) in tops.zip(left.chunks_exact(part.inner * height)).enumerate() {
                // Once all of it has been asked for, again from its beginning, which is there already.
                let later = next.as_ptr().wrapping_add(k * asked % len);
                let tall = height.min(part.bottom - top);
                let (rows, tile) = self.tile(tall);
                let (values, pitch) = result.tile(top, tall, x, width);
                let take = |to: *mut f32, pitch: usize| {
                    let (left, right) = (left.as_ptr(), right.as_ptr());
                    // SAFETY: packed numbers are as many as `chunks_exact` gives; `to` has the tile's rows, `pitch` apart, in one slice (below);
                    // the instruction set was found on this machine.
                    unsafe { tile(part.inner, left, right, to, pitch, part.first, later) };
                };
                if tall == rows && width == PANEL {
                    take(values.as_mut_ptr(), pitch);
                    continue;
                }
                let mut edge = [0.0_f32; TALLEST * PANEL];
                for (edge, values) in edge.chunks_exact_mut(PANEL).zip(values.chunks(pitch)).take(tall) {
                    edge[..width].copy_from_slice(&values[..width]);
                }
                take(edge.as_mut_ptr(), PANEL);
                for (edge, values) in edge.chunks_exact(PANEL).zip(values.chunks_mut(pitch)).take(tall) {
                    values[..width].copy_from_slice(&edge[..width]);
                }
            }
        }
    }
}
