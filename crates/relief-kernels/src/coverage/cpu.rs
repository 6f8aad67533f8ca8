//! Coverage on the CPU, piece by piece.
//!
//! A piece gathers the chains that reach into it (`gather`) and sweeps its rows (`sweep`), or paints its elements (`paint`). Where more chains meet than there is
//! room for, it is cut in halves; a piece of one row that still has too many is computed element by element (`dense`).

use bytemuck::{Pod, Zeroable};
use relief_raster::{Sample, ViewMut};

use super::{Index, Sampling};
use crate::isa::Isa;

mod dense;
mod gather;
mod grid;
mod paint;
mod steps;
mod sweep;
mod visit;
mod within;

pub use within::within;

use gather::{Event, Local, Walk};
use grid::{Grid, Piece};
use sweep::{Group, Key, Layer};

/// The greatest sides of a piece, in pixels.
const WIDTH: usize = 1_024;
const HEIGHT: usize = 64;

/// Fixed room for things of one kind, carved from words.
struct Stack<'a, T> {
    items: &'a mut [T],
    len: usize,
}

impl<'a, T: Pod> Stack<'a, T> {
    const fn words(count: usize) -> usize {
        (count * size_of::<T>()).div_ceil(8)
    }

    fn carve(words: &mut &'a mut [u64], count: usize) -> Self {
        let (own, rest) = std::mem::take(words).split_at_mut(Self::words(count));
        *words = rest;
        let items = &mut bytemuck::cast_slice_mut(own)[..count];
        Self { items, len: 0 }
    }

    /// `false` where there is no room left.
    #[inline]
    #[must_use]
    fn push(&mut self, item: T) -> bool {
        let Some(place) = self.items.get_mut(self.len) else {
            return false;
        };
        *place = item;
        self.len += 1;
        true
    }

    #[inline]
    fn get(&self) -> &[T] {
        &self.items[..self.len]
    }

    #[inline]
    fn get_mut(&mut self) -> &mut [T] {
        &mut self.items[..self.len]
    }
}

/// A crossing of one sub-scanline, with the chain's place in the list that is swept.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Crossing {
    x: i32,
    from: u32,
}

struct Scratch<'a> {
    walks: Stack<'a, Walk>,
    locals: Stack<'a, Local>,
    events: Stack<'a, Event>,
    /// Chains by the sub-scanline at which they begin, and those under way.
    starts: Stack<'a, u32>,
    active: Stack<'a, u32>,
    keys: Stack<'a, Key>,
    layers: Stack<'a, Layer>,
    groups: Stack<'a, Group>,
    bits: Stack<'a, u64>,
    crossings: Stack<'a, Crossing>,
    table: Stack<'a, i32>,
    sums: Stack<'a, u32>,
    /// Places of the sub-scanlines of a row, a bit each: those that are taken, and those of an element that is clipped.
    masks: Stack<'a, u64>,
    /// The crossings of one sub-scanline.
    places: Stack<'a, i32>,
    /// Placements and elements that are being sorted.
    numbers: Stack<'a, u32>,
    /// Copies that were visited.
    copies: u64,
    /// No winding comes from the left of the piece, and none is left at its right side.
    closed: bool,
    /// The sub-scanlines of the piece.
    lines: i32,
    /// The bands that the last row was cut into.
    bands: u32,
}

impl<'a> Scratch<'a> {
    fn words(index: &Index, grid: &Grid) -> usize {
        let capacity = index.capacity;
        Stack::<Walk>::words(capacity)
            + Stack::<Local>::words(capacity)
            + Stack::<Event>::words(2 * capacity)
            + 2 * Stack::<u32>::words(capacity)
            + Stack::<Key>::words(capacity)
            + Stack::<Layer>::words(capacity)
            + Stack::<Group>::words(capacity)
            + Stack::<u64>::words(capacity.div_ceil(64))
            + Stack::<Crossing>::words(capacity)
            + Stack::<i32>::words(capacity * grid.lines())
            + Stack::<u32>::words(WIDTH + 2)
            + Stack::<u64>::words(Self::masks(index, grid))
            + Stack::<i32>::words(capacity)
            + Stack::<u32>::words(Self::numbers(index))
    }

    const fn masks(index: &Index, grid: &Grid) -> usize {
        let sets = if index.clipped { 3 } else { 1 };
        sets * grid.lines() * dense::WORDS
    }

    const fn numbers(index: &Index) -> usize {
        match (index.layered, index.capacity < dense::NUMBERS) {
            (false, _) => 0,
            (true, true) => index.capacity,
            (true, false) => dense::NUMBERS,
        }
    }

    fn carve(mut words: &'a mut [u64], index: &Index, grid: &Grid) -> Self {
        let words = &mut words;
        let capacity = index.capacity;
        let scratch = Self {
            walks: Stack::carve(words, capacity),
            locals: Stack::carve(words, capacity),
            events: Stack::carve(words, 2 * capacity),
            starts: Stack::carve(words, capacity),
            active: Stack::carve(words, capacity),
            keys: Stack::carve(words, capacity),
            layers: Stack::carve(words, capacity),
            groups: Stack::carve(words, capacity),
            bits: Stack::carve(words, capacity.div_ceil(64)),
            crossings: Stack::carve(words, capacity),
            table: Stack::carve(words, capacity * grid.lines()),
            sums: Stack::carve(words, WIDTH + 2),
            masks: Stack::carve(words, Self::masks(index, grid)),
            places: Stack::carve(words, capacity),
            numbers: Stack::carve(words, Self::numbers(index)),
            copies: 0,
            closed: true,
            lines: 0,
            bands: 0,
        };
        scratch.sums.items.fill(0);
        scratch
    }
}

/// Words of scratch memory for [`compute`].
#[must_use]
pub fn scratch_words<S: Sample>(index: &Index, sampling: Sampling) -> usize {
    Scratch::words(index, &Grid::new::<S>(sampling))
}

/// Computes the samples of `out`, whose top-left is the pixel (x, y).
///
/// Where all of them are one sample, that is returned and nothing is written.
///
/// # Panics
/// Where `scratch` is shorter than [`scratch_words`].
pub fn compute<S: Sample>(
    index: &Index,
    sampling: Sampling,
    at: (i64, i64),
    out: ViewMut<'_, S>,
    scratch: &mut [u64],
) -> Option<S> {
    compute_until(index, sampling, at, out, scratch, &|| false)
}

/// Whether to go on no longer, which is asked every few milliseconds.
type Stop<'a> = &'a dyn Fn() -> bool;

/// As [`compute`], until `stop` says so: the samples are any then. It is asked again and again within a tile that takes long.
///
/// # Panics
/// As [`compute`].
pub fn compute_until<S: Sample>(
    index: &Index,
    sampling: Sampling,
    at: (i64, i64),
    out: ViewMut<'_, S>,
    scratch: &mut [u64],
    stop: Stop<'_>,
) -> Option<S> {
    counted(index, sampling, at, out, scratch, stop).0
}

/// As [`compute_until`], and how many copies were visited.
pub(super) fn counted<S: Sample>(
    index: &Index,
    sampling: Sampling,
    (x, y): (i64, i64),
    mut out: ViewMut<'_, S>,
    scratch: &mut [u64],
    stop: Stop<'_>,
) -> (Option<S>, u64) {
    let grid = Grid::new::<S>(sampling);
    let mut scratch = Scratch::carve(scratch, index, &grid);
    let (width, height) = (out.width(), out.height());
    let mut pieces = Pieces {
        index,
        grid,
        scratch: &mut scratch,
        stop,
        corner: (x, y),
        uniform: None,
        done: 0,
    };
    let mut number = 0;
    for top in (0..height).step_by(HEIGHT) {
        for left in (0..width).step_by(WIDTH) {
            let size = (WIDTH.min(width - left), HEIGHT.min(height - top));
            pieces.compute((left, top), size, &mut out, number);
            number += 1;
        }
    }
    let uniform = pieces.uniform.filter(|_| pieces.done < number);
    (uniform, scratch.copies)
}

/// The pieces of one call, of which the first ones may be uniform and not written yet.
struct Pieces<'a, 'b, S> {
    index: &'a Index,
    grid: Grid,
    scratch: &'a mut Scratch<'b>,
    stop: Stop<'a>,
    corner: (i64, i64),
    /// What the pieces before are.
    uniform: Option<S>,
    /// All pieces before this one are written.
    done: usize,
}

impl<S: Sample> Pieces<'_, '_, S> {
    fn compute(&mut self, at: (usize, usize), size: (usize, usize), out: &mut ViewMut<'_, S>, number: usize) {
        let piece = self.piece(at, size);
        let fits = gather::gather(self.index, &self.grid, &piece, self.scratch);
        if fits && let Some(value) = sweep::uniform(self.index, self.scratch) {
            let value = S::from_u16(value as u16);
            if number == 0 {
                self.uniform = Some(value);
            }
            if self.done == 0 && self.uniform == Some(value) {
                return;
            }
            self.settle(out, number);
            fill(out, at, size, value);
            return;
        }
        self.settle(out, number);
        if fits {
            self.write(&piece, at, out);
        } else {
            self.halves(at, size, out);
        }
    }

    /// Writes a piece whose chains were gathered.
    fn write(&mut self, piece: &Piece, at: (usize, usize), out: &mut ViewMut<'_, S>) {
        let (index, grid) = (self.index, &self.grid);
        if paint::paints(index, grid, self.scratch) {
            paint::paint(Isa::best(), index, grid, piece, self.scratch, at, out);
        } else {
            sweep::sweep(index, grid, piece, self.scratch, at, out);
        }
    }

    fn piece(&self, at: (usize, usize), size: (usize, usize)) -> Piece {
        let x = self.corner.0 + at.0 as i64;
        let y = self.corner.1 + at.1 as i64;
        Piece {
            x,
            y,
            width: size.0,
            height: size.1,
        }
    }

    /// Writes the pieces before `number`, which are uniform, if they are not written yet.
    fn settle(&mut self, out: &mut ViewMut<'_, S>, number: usize) {
        if self.done == 0
            && let Some(value) = self.uniform
        {
            let across = out.width().div_ceil(WIDTH);
            for before in 0..number {
                let (left, top) = (before % across * WIDTH, before / across * HEIGHT);
                let size = (WIDTH.min(out.width() - left), HEIGHT.min(out.height() - top));
                fill(out, (left, top), size, value);
            }
        }
        self.done = usize::MAX;
    }

    /// Computes a piece that has too many chains from two of half the size.
    fn halves(
        &mut self,
        (left, top): (usize, usize),
        (width, height): (usize, usize),
        out: &mut ViewMut<'_, S>,
    ) {
        if (self.stop)() {
            return;
        }
        if height == 1 && width <= dense::WIDTH {
            let piece = self.piece((left, top), (width, height));
            let (index, grid) = (self.index, &self.grid);
            dense::compute(index, grid, &piece, self.scratch, self.stop, (left, top), out);
            return;
        }
        let parts = if height > 1 && (height >= 8 || width <= dense::WIDTH) {
            let half = height / 2;
            [
                ((left, top), (width, half)),
                ((left, top + half), (width, height - half)),
            ]
        } else {
            let half = width / 2;
            [
                ((left, top), (half, height)),
                ((left + half, top), (width - half, height)),
            ]
        };
        for (at, size) in parts {
            let piece = self.piece(at, size);
            if !gather::gather(self.index, &self.grid, &piece, self.scratch) {
                self.halves(at, size, out);
            } else if let Some(value) = sweep::uniform(self.index, self.scratch) {
                fill(out, at, size, S::from_u16(value as u16));
            } else {
                self.write(&piece, at, out);
            }
        }
    }
}

fn fill<S: Sample>(out: &mut ViewMut<'_, S>, (left, top): (usize, usize), size: (usize, usize), value: S) {
    for y in top..top + size.1 {
        out.row_mut(y)[left..left + size.0].fill(value);
    }
}
