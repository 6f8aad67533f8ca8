//! Transposes on the CPU: tiles of 64 × 64 elements, turned by interleaving.
//!
//! Rows of a tile are whole lines of the caches on both sides, so every line is loaded once and stored once.
//! Between, lanes of 16 bytes are turned as squares of L × L elements, four side by side: to interleave rows
//! i and i + L/2 into rows 2i and 2i + 1, log₂ L times over, transposes a square (the perfect shuffle; H. S.
//! Stone, "Parallel processing with the perfect shuffle", 1971). An interleave within lanes is one
//! instruction that all vector sets have, and the compiler finds it in plain loops.
//!
//! A turned tile waits in the nearest cache until its rows are whole: then each goes out at once. Stores that
//! visit a row for every line are slower where rows are a power of two apart, because such rows share few
//! sets of a cache. Tiles are taken in blocks of 512 bytes each way, so that neighbouring lines of memory
//! follow each other.
//!
//! All lines of a tile are prefetched before it is turned; for bytes that stay in the caches, the lines of
//! the result too.
//!
//! Large matrices take non-temporal stores, which save reading the lines that are overwritten.
#![allow(unsafe_code)]

use relief_kernels::ahead::{LINE, ask, ask_for_later, ask_to_write};
use relief_kernels::copy::cpu::fence;
use relief_kernels::isa::{Isa, amd_family};
use relief_kernels::versions;

/// Elements of the sides of a tile.
const SIDE: usize = 64;

/// Bytes of the sides of a block.
const BLOCK: usize = 512;

/// A matrix of so many bytes takes non-temporal stores.
const LARGE: usize = 2 << 20;

/// Whether a matrix of so many bytes, elements of 8 bits, whose tiles have lines of one vector, takes
/// non-temporal stores. Zen 5 prefers cached stores up to a few MiB, Zen 4 does not.
fn bytes_pass_caches(bytes: usize) -> bool {
    match amd_family() {
        Some(0x1A) => bytes >= 8 << 20,
        Some(0x19) => bytes >= 1 << 20 && !(12 << 20..24 << 20).contains(&bytes),
        _ => bytes >= LARGE,
    }
}

/// What is transposed: integers of 8, 16 or 32 bits, or any other type as these.
pub trait Element: Copy + Default + private::Turn {}

impl Element for u8 {}
impl Element for u16 {}
impl Element for u32 {}

/// A matrix in memory: `height` rows of `width` elements, each `pitch` elements after the one before.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a, T> {
    elements: &'a [T],
    width: usize,
    height: usize,
    pitch: usize,
}

impl<'a, T> Matrix<'a, T> {
    /// The matrix whose element (x, y) is `elements[y · pitch + x]`.
    ///
    /// # Panics
    /// Where rows are longer than the pitch, or the elements are too few.
    #[must_use]
    pub fn new(elements: &'a [T], width: usize, height: usize, pitch: usize) -> Self {
        assert!(width <= pitch || height == 0, "rows longer than their pitch");
        let end = match height {
            0 => Some(0),
            _ => (height - 1)
                .checked_mul(pitch)
                .and_then(|start| start.checked_add(width)),
        };
        assert!(
            end.is_some_and(|end| end <= elements.len()),
            "a matrix of more elements than there are"
        );
        Self {
            elements,
            width,
            height,
            pitch,
        }
    }

    /// How many rows it has.
    #[must_use]
    pub const fn height(&self) -> usize {
        self.height
    }

    /// One of its rows.
    ///
    /// # Panics
    /// Where it has not so many.
    #[must_use]
    pub fn row(&self, y: usize) -> &'a [T] {
        assert!(y < self.height, "a row below the last");
        &self.elements[y * self.pitch..][..self.width]
    }
}

/// How lines are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stores {
    /// By way of the caches.
    Cached,
    /// Past the caches, where the machine can and a line of the target is a line of the caches.
    Streamed,
}

/// Writes columns of a matrix as rows: row j of `to`, which begins at element j · `pitch`, becomes column `first` + j of
/// `from`, for as many rows as `to` holds. What lies between rows is left as it is.
///
/// Several threads share the work by their parts of `to`.
///
/// # Panics
/// Where `to` is not whole rows, a row does not hold a column, or there are not so many columns.
pub fn transpose<T: Element>(from: Matrix<'_, T>, first: usize, to: &mut [T], pitch: usize) {
    // The same whatever part of the rows is asked for.
    let elements = from.width.saturating_mul(from.height);
    let large = match size_of::<T>() {
        1 => bytes_pass_caches(elements),
        size => elements >= LARGE / size,
    };
    // Where rows of bytes begin anywhere in a line, only one in 64 lines of a tile is a line of the caches,
    // and non-temporal stores lose. Of wider elements more lines are, and they gain.
    let apart = size_of::<T>() == 1 && !pitch.is_multiple_of(LINE);
    let stores = if large && !apart {
        Stores::Streamed
    } else {
        Stores::Cached
    };
    transpose_with(stores, from, first, to, pitch);
}

/// [`transpose`] with these stores.
///
/// # Panics
/// As [`transpose`].
pub fn transpose_with<T: Element>(
    stores: Stores,
    from: Matrix<'_, T>,
    first: usize,
    to: &mut [T],
    pitch: usize,
) {
    if from.height == 0 || to.is_empty() {
        return;
    }
    assert!(
        from.height <= pitch && to.len().is_multiple_of(pitch),
        "rows that do not hold the columns"
    );
    let rows = to.len() / pitch;
    assert!(
        first.checked_add(rows).is_some_and(|end| end <= from.width),
        "columns that the matrix does not have"
    );
    if rows < SIDE || from.height < SIDE {
        narrow(from, first, to, pitch);
    } else {
        T::turn(Isa::best(), from, first, to, pitch, stores);
        fence();
    }
}

/// [`transpose`] of a matrix that is less than a tile wide or high: element by element, some rows of it at a time, so
/// that their lines are used whole before they leave the nearest cache.
fn narrow<T: Copy>(from: Matrix<'_, T>, first: usize, to: &mut [T], pitch: usize) {
    for top in (0..from.height).step_by(SIDE) {
        let end = from.height.min(top + SIDE);
        for (x, row) in to.chunks_exact_mut(pitch).enumerate() {
            let column = from.elements[top * from.pitch + first + x..]
                .iter()
                .step_by(from.pitch);
            for (to, from) in row[top..end].iter_mut().zip(column) {
                *to = *from;
            }
        }
    }
}

/// Squares of L × L elements, four side by side: row k of all four, lane by lane.
type Squares<T, const L: usize> = [[[T; L]; 4]; L];

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Aligned<T>(T);

/// A tile, by its rows.
type Tile<T> = [[T; SIDE]; SIDE];

#[inline(always)]
fn turn<T: Element, const L: usize>(
    from: Matrix<'_, T>,
    first: usize,
    to: &mut [T],
    pitch: usize,
    stores: Stores,
) {
    let mut turned = Aligned([[T::default(); SIDE]; SIDE]);
    let (rows, columns, block) = (to.len() / pitch, from.height, BLOCK / size_of::<T>());
    // Loops, not a closure for each tile: a closure that is not inlined has none of the instructions that this is compiled for.
    for down in (0..columns).step_by(block) {
        for across in (0..rows).step_by(block) {
            for x in (across..rows.min(across + block)).step_by(SIDE) {
                for y in (down..columns.min(down + block)).step_by(SIDE) {
                    // The last tiles of both directions overlap those before where the size is no multiple of the side.
                    let (x, y) = (x.min(rows - SIDE), y.min(columns - SIDE));
                    if stores == Stores::Cached && size_of::<T>() == 1 {
                        for row in 0..SIDE {
                            ask_to_write(to.as_ptr().wrapping_add((x + row) * pitch + y));
                        }
                    }
                    // Of what stays in the caches, elements of 16 bits lose by it.
                    if stores == Stores::Streamed || size_of::<T>() != 2 {
                        ask_tile(from, first + x, y);
                    }
                    turn_tile::<T, L>(from, first + x, y, &mut turned.0);
                    for (row, line) in turned.0.iter().enumerate() {
                        let start = (x + row) * pitch + y;
                        store(line, &mut to[start..start + SIDE], stores);
                    }
                }
            }
        }
    }
}

/// Asks for the lines of a tile before the first of them is turned: a processor that turns one square sees no further than the next.
///
/// The first cache holds a tile of bytes, unless its rows are so far apart that they fall into few of its sets (4 of 64, of 8 lines each, at 1 KiB); elsewhere the second is near enough.
#[inline(always)]
fn ask_tile<T: Element>(from: Matrix<'_, T>, x: usize, y: usize) {
    let near = size_of::<T>() == 1 && !from.pitch.is_multiple_of(1 << 10);
    for row in 0..SIDE {
        let row = from.elements.as_ptr().wrapping_add((y + row) * from.pitch + x);
        for line in (0..SIDE).step_by(LINE / size_of::<T>()) {
            match near {
                true => ask(row.wrapping_add(line)),
                false => ask_for_later(row.wrapping_add(line)),
            }
        }
    }
}

/// Turns the tile whose first element is (x, y).
#[inline(always)]
fn turn_tile<T: Element, const L: usize>(from: Matrix<'_, T>, x: usize, y: usize, turned: &mut Tile<T>) {
    for down in (0..SIDE).step_by(4 * L) {
        for across in (0..SIDE).step_by(4 * L) {
            let start = (y + down) * from.pitch + x + across;
            turn_lines::<T, L>(&from.elements[start..], from.pitch, turned, (across, down));
        }
    }
}

/// Turns as many lines as one has elements, from `from`, `pitch` apart, to row `across`, element `down` of a tile.
#[inline(always)]
fn turn_lines<T: Element, const L: usize>(
    from: &[T],
    pitch: usize,
    tile: &mut Tile<T>,
    (across, down): (usize, usize),
) {
    let mut lines = Aligned([[[[T::default(); L]; 4]; L]; 4]);
    let mut spare = Aligned([[[T::default(); L]; 4]; L]);
    for row in 0..4 * L {
        let (lanes, _) = from[row * pitch..][..4 * L].as_chunks::<L>();
        for (square, lane) in lanes.iter().enumerate() {
            lines.0[square][row % L][row / L] = *lane;
        }
    }
    for (square, squares) in lines.0.iter_mut().enumerate() {
        let turned = transpose_squares(squares, &mut spare.0);
        for (row, line) in turned.iter().enumerate() {
            tile[across + square * L + row][down..down + 4 * L].copy_from_slice(line.as_flattened());
        }
    }
}

/// Transposes each square; which of the two then holds them depends on the number of rounds.
#[inline(always)]
fn transpose_squares<'a, T: Copy, const L: usize>(
    squares: &'a mut Squares<T, L>,
    spare: &'a mut Squares<T, L>,
) -> &'a Squares<T, L> {
    let (mut now, mut next) = (squares, spare);
    for _ in 0..L.ilog2() {
        interleave_rows(now, next);
        (now, next) = (next, now);
    }
    now
}

/// Row 2i becomes the interleave of the first halves of rows i and i + L/2, row 2i + 1 that of the second halves.
#[inline(always)]
fn interleave_rows<T: Copy, const L: usize>(from: &Squares<T, L>, to: &mut Squares<T, L>) {
    // rung: transpose on cpu: tiles
    for i in 0..L / 2 {
        let (a, b) = (&from[i], &from[L / 2 + i]);
        for half in 0..2 {
            let out = &mut to[2 * i + half];
            for lane in 0..4 {
                for k in 0..L / 2 {
                    out[lane][2 * k] = a[lane][half * (L / 2) + k];
                    out[lane][2 * k + 1] = b[lane][half * (L / 2) + k];
                }
            }
        }
    }
    // end
}

/// Stores a row of a tile, by non-temporal stores where asked for and the target is aligned.
#[inline(always)]
fn store<T: Copy>(row: &[T; SIDE], to: &mut [T], stores: Stores) {
    // rung: transpose on cpu: tiles streamed
    #[cfg(target_arch = "x86_64")]
    if stores == Stores::Streamed && to.as_ptr().align_offset(LINE) == 0 {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
        assert_eq!(to.len(), row.len(), "a row of a tile");
        let (from, to): (*const __m128i, *mut __m128i) = (row.as_ptr().cast(), to.as_mut_ptr().cast());
        for k in 0..size_of_val(row) / 16 {
            // SAFETY: both have as many elements, whole vectors of 16 bytes, and the target is aligned.
            unsafe { _mm_stream_si128(to.add(k), _mm_loadu_si128(from.add(k))) };
        }
        return;
    }
    // end
    to.copy_from_slice(row);
}

mod private {
    use super::{Isa, Matrix, Stores, turn, versions};

    /// A type of elements that the tiles are compiled for.
    pub trait Turn: Sized {
        /// Transposes a matrix of at least a tile.
        fn turn(
            isa: Isa,
            from: Matrix<'_, Self>,
            first: usize,
            to: &mut [Self],
            pitch: usize,
            stores: Stores,
        );
    }

    macro_rules! turned {
        ($type:ty, $lanes:literal) => {
            impl Turn for $type {
                fn turn(isa: Isa, from: Matrix<'_, Self>, first: usize, to: &mut [Self], pitch: usize, stores: Stores) {
                    versions! {
                        fn compiled(from: Matrix<'_, $type>, first: usize, to: &mut [$type], pitch: usize, stores: Stores) {
                            turn::<$type, $lanes>(from, first, to, pitch, stores);
                        }
                    }
                    compiled(isa, from, first, to, pitch, stores);
                }
            }
        };
    }

    turned!(u8, 16);
    turned!(u16, 8);
    turned!(u32, 4);
}
