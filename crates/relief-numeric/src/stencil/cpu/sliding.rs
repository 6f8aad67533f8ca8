//! The least, the greatest or the sum over squares, by operations that need not be undone.
//!
//! Columns: rows are cut into blocks as high as the window. A window is the end of one block and the beginning of the
//! next; the ends are folded backwards once for each block and kept, the beginnings are folded on the way down. Blocks lie at
//! the same rows whatever part of the picture is computed, so the order of a sum does too.
//!
//! Rows: windows of 1, 2, 4, … columns, each from two of the last; the window asked for is two of the largest that
//! overlap, or, for sums, one of each that its width is made of.

use std::marker::PhantomData;

use super::{CHUNK, Carver, Picture, Target, Tile};
use relief_kernels::isa::{Isa, versions};

/// An associative operation on samples.
pub(super) trait Fold {
    type Item: bytemuck::Pod;
    /// Whether folding an item twice is the same as folding it once.
    const IDEMPOTENT: bool;
    fn fold(a: Self::Item, b: Self::Item) -> Self::Item;
    /// Multiplies by a number, where that means something.
    fn scale(item: Self::Item, factor: f32) -> Self::Item;
}

/// Samples that have an order: `u8`, `u16`, `f32`. It is sealed.
pub trait Ordered: crate::sealed::Sealed + bytemuck::Pod {
    /// The lesser; for NaN, either.
    fn least(self, other: Self) -> Self;
    /// The greater; for NaN, either.
    fn greatest(self, other: Self) -> Self;
}

macro_rules! ordered {
    ($($type:ty),*) => {
        $(impl Ordered for $type {
            #[inline(always)]
            fn least(self, other: Self) -> Self {
                // As vector instructions have it; `f32::min` would also look for NaN.
                if self < other { self } else { other }
            }
            #[inline(always)]
            fn greatest(self, other: Self) -> Self {
                if self > other { self } else { other }
            }
        })*
    };
}

ordered!(u8, u16, f32);

pub(super) struct Least<T>(PhantomData<T>);
pub(super) struct Greatest<T>(PhantomData<T>);
pub(super) struct Sum;

impl<T: Ordered> Fold for Least<T> {
    type Item = T;
    const IDEMPOTENT: bool = true;
    #[inline(always)]
    fn fold(a: T, b: T) -> T {
        a.least(b)
    }
    #[inline(always)]
    fn scale(item: T, _: f32) -> T {
        item
    }
}

impl<T: Ordered> Fold for Greatest<T> {
    type Item = T;
    const IDEMPOTENT: bool = true;
    #[inline(always)]
    fn fold(a: T, b: T) -> T {
        a.greatest(b)
    }
    #[inline(always)]
    fn scale(item: T, _: f32) -> T {
        item
    }
}

impl Fold for Sum {
    type Item = f32;
    const IDEMPOTENT: bool = false;
    #[inline(always)]
    fn fold(a: f32, b: f32) -> f32 {
        a + b
    }
    #[inline(always)]
    fn scale(item: f32, factor: f32) -> f32 {
        item * factor
    }
}

versions! {
    /// out = fold(a, b)
    fn fold_rows<F: Fold>(_by: PhantomData<F>, a: &[F::Item], b: &[F::Item], out: &mut [F::Item]) {
        for ((a, b), out) in a.iter().zip(b).zip(out) {
            *out = F::fold(*a, *b);
        }
    }
}

versions! {
    /// onto = fold(onto, row), and out = fold(end, onto)
    fn fold_onto<F: Fold>(_by: PhantomData<F>, row: &[F::Item], onto: &mut [F::Item], end: &[F::Item], out: &mut [F::Item]) {
        for (((row, onto), end), out) in row.iter().zip(onto).zip(end).zip(out) {
            *onto = F::fold(*onto, *row);
            *out = F::fold(*end, *onto);
        }
    }
}

versions! {
    /// onto = fold(onto, row)
    fn fold_into<F: Fold>(_by: PhantomData<F>, row: &[F::Item], onto: &mut [F::Item]) {
        for (row, onto) in row.iter().zip(onto) {
            *onto = F::fold(*onto, *row);
        }
    }
}

versions! {
    /// out = scale(fold(fold(a, b), c), factor)
    fn fold_three<F: Fold>(
        _by: PhantomData<F>,
        a: &[F::Item],
        b: &[F::Item],
        c: &[F::Item],
        factor: f32,
        out: &mut [F::Item],
    ) {
        for (((a, b), c), out) in a.iter().zip(b).zip(c).zip(out) {
            *out = F::scale(F::fold(F::fold(*a, *b), *c), factor);
        }
    }
}

versions! {
    /// out = scale(fold(a, b), factor)
    fn fold_scaled<F: Fold>(_by: PhantomData<F>, a: &[F::Item], b: &[F::Item], factor: f32, out: &mut [F::Item]) {
        for ((a, b), out) in a.iter().zip(b).zip(out) {
            *out = F::scale(F::fold(*a, *b), factor);
        }
    }
}

/// Folds the squares of 2 · `reach` + 1 pixels, and multiplies by `factor`.
pub(super) fn filter<F: Fold>(
    source: Picture<'_, F::Item>,
    reach: usize,
    mut target: Target<'_, F::Item>,
    scratch: &mut [u64],
    factor: f32,
) {
    let isa = target.isa;
    for tile in target.tiles(reach) {
        let mut carver = Carver::new(&mut *scratch);
        let rows = target.rows.clone();
        let mut down = Down::<F>::new(&tile, &mut carver, isa);
        let row = carver.take(tile.span());
        let mut across = Across::<F>::new(reach, factor, &mut carver, isa);
        let held = carver.take(tile.columns);
        for y in rows.clone() {
            down.row(&source, y, y == rows.start, &mut row[tile.within()]);
            tile.replicate(row);
            target.write(y, &tile, held, |out| {
                for (start, columns) in tile.chunks() {
                    across.windows(
                        &row[start..start + columns + 2 * reach],
                        &mut out[start..start + columns],
                    );
                }
            });
        }
    }
}

/// Windows down the columns of a tile.
struct Down<'s, F: Fold> {
    tile: Tile,
    isa: Isa,
    /// For each row of the block in which windows begin, everything from there to its end.
    ends: &'s mut [F::Item],
    /// Everything from the beginning of the next block on.
    beginning: &'s mut [F::Item],
}

impl<'s, F: Fold> Down<'s, F> {
    fn new(tile: &Tile, carver: &mut Carver<'s>, isa: Isa) -> Self {
        let window = 2 * tile.reach + 1;
        Self {
            tile: *tile,
            isa,
            ends: carver.take(window * tile.inside),
            beginning: carver.take(tile.inside),
        }
    }

    /// The windows around row `y`, which follows the row before or is the first that is asked for.
    fn row(&mut self, source: &Picture<'_, F::Item>, y: usize, is_first: bool, out: &mut [F::Item]) {
        let window = 2 * self.tile.reach + 1;
        if window == 3 {
            let row = |k: isize| self.tile.of(source, y as isize + k);
            return fold_three(self.isa, PhantomData::<F>, row(-1), row(0), row(1), 1.0, out);
        }
        let (columns, place) = (self.tile.inside, y % window);
        // The row of the picture that is the first of the block in which the window begins.
        let block = (y - place) as isize - self.tile.reach as isize;
        let row = |k: usize| self.tile.of(source, block + k as isize);
        if is_first || place == 0 {
            self.ends[(window - 1) * columns..].copy_from_slice(row(window - 1));
            for k in (place..window - 1).rev() {
                let (this, next) = self.ends[k * columns..(k + 2) * columns].split_at_mut(columns);
                fold_rows(self.isa, PhantomData::<F>, row(k), next, this);
            }
            if place > 0 {
                self.beginning.copy_from_slice(row(window));
            }
            for k in 1..place {
                fold_into(self.isa, PhantomData::<F>, row(window + k), self.beginning);
            }
        }
        // rung: stencil on cpu: vectors
        let end = &self.ends[place * columns..(place + 1) * columns];
        match place {
            0 => out.copy_from_slice(end),
            _ if is_first => fold_rows(self.isa, PhantomData::<F>, end, self.beginning, out),
            1 => {
                self.beginning.copy_from_slice(row(window));
                fold_rows(self.isa, PhantomData::<F>, end, self.beginning, out);
            }
            _ => fold_onto(
                self.isa,
                PhantomData::<F>,
                row(window + place - 1),
                self.beginning,
                end,
                out,
            ),
        }
        // end
    }
}

/// Windows across.
struct Across<'s, F: Fold> {
    isa: Isa,
    window: usize,
    factor: f32,
    /// Windows of a power of two columns, and the next.
    rows: [&'s mut [F::Item]; 2],
    /// The beginnings of windows.
    sum: &'s mut [F::Item],
}

impl<'s, F: Fold> Across<'s, F> {
    fn new(reach: usize, factor: f32, carver: &mut Carver<'s>, isa: Isa) -> Self {
        let span = CHUNK + 2 * reach;
        Self {
            isa,
            window: 2 * reach + 1,
            factor,
            rows: [carver.take(span), carver.take(span)],
            sum: carver.take(CHUNK),
        }
    }

    /// The windows of `row` that begin at its first elements, each multiplied by the factor.
    fn windows(&mut self, row: &[F::Item], out: &mut [F::Item]) {
        let (isa, by) = (self.isa, PhantomData::<F>);
        let (columns, window, factor) = (out.len(), self.window, self.factor);
        match window {
            1 => return out.copy_from_slice(&row[..columns]),
            3 => return fold_three(isa, by, row, &row[1..], &row[2..], factor, out),
            _ => {}
        }
        let (mut width, mut summed) = (1, 0);
        while 2 * width <= window {
            let [from, to] = &mut self.rows;
            let from: &[F::Item] = if width == 1 { row } else { from };
            if !F::IDEMPOTENT && window & width != 0 {
                let (part, sum) = (&from[summed..summed + columns], &mut self.sum[..columns]);
                if summed == 0 {
                    sum.copy_from_slice(part);
                } else {
                    fold_into(isa, by, part, sum);
                }
                summed += width;
            }
            let count = columns + window - 2 * width;
            fold_rows(
                isa,
                by,
                &from[..count],
                &from[width..width + count],
                &mut to[..count],
            );
            self.rows.swap(0, 1);
            width *= 2;
        }
        let beginning: &[F::Item] = if F::IDEMPOTENT { self.rows[0] } else { self.sum };
        fold_scaled(isa, by, beginning, &self.rows[0][window - width..], factor, out);
    }
}
