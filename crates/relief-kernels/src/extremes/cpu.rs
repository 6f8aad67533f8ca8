//! Least and greatest samples on the CPU.

use relief_raster::{Sample, ViewMut};

use super::{Extreme, MAX_RADIUS, Shape};
use crate::block;
use crate::isa::{Isa, versions};

/// The sample of two that is taken.
trait Pick {
    fn of<S: Sample>(one: S, other: S) -> S;
}

struct Least;
struct Greatest;

impl Pick for Least {
    #[inline(always)]
    fn of<S: Sample>(one: S, other: S) -> S {
        if other < one { other } else { one }
    }
}

impl Pick for Greatest {
    #[inline(always)]
    fn of<S: Sample>(one: S, other: S) -> S {
        if other > one { other } else { one }
    }
}

/// Rows of scratch memory.
const fn rows(shape: Shape, radius: usize) -> usize {
    match shape {
        // A row of running extremes, and two that windows are made of.
        Shape::Square => 3,
        // Windows of every power of two.
        Shape::Disc => (2 * radius + 1).ilog2() as usize + 1,
    }
}

/// Words of scratch memory for a result of so many columns of samples of `bytes` bytes.
#[must_use]
pub const fn scratch_words(shape: Shape, radius: usize, width: usize, bytes: usize) -> usize {
    let row = width.saturating_add(2 * radius);
    row.saturating_mul(rows(shape, radius))
        .saturating_mul(bytes)
        .div_ceil(8)
}

/// Takes one of the samples around every pixel. `block` has R more columns and rows on every side than `out`; what it holds is lost.
///
/// # Panics
/// Where it has not, R exceeds [`MAX_RADIUS`], or `scratch` is shorter than [`scratch_words`].
pub fn filter<S: Sample>(
    block: ViewMut<'_, S>,
    extreme: Extreme,
    shape: Shape,
    radius: usize,
    out: ViewMut<'_, S>,
    scratch: &mut [u64],
) {
    assert!(radius <= MAX_RADIUS, "a radius of {radius}");
    block::check(&block.as_view(), (out.width(), out.height()), radius, radius);
    let scratch = &mut bytemuck::cast_slice_mut::<u64, S>(scratch)[..rows(shape, radius) * block.width()];
    match (extreme, shape) {
        (Extreme::Least, Shape::Square) => square::<S, Least>(block, radius, out, scratch),
        (Extreme::Greatest, Shape::Square) => square::<S, Greatest>(block, radius, out, scratch),
        (Extreme::Least, Shape::Disc) => disc::<S, Least>(block, radius, out, scratch),
        (Extreme::Greatest, Shape::Disc) => disc::<S, Greatest>(block, radius, out, scratch),
    }
}

fn square<S: Sample, P: Pick>(
    mut block: ViewMut<'_, S>,
    radius: usize,
    mut out: ViewMut<'_, S>,
    scratch: &mut [S],
) {
    let isa = Isa::best();
    let (side, span, height) = (2 * radius + 1, block.width(), out.height());
    let (running, windows) = scratch.split_at_mut(span);
    let (one, other) = windows.split_at_mut(span);
    for first in (0..height).step_by(side) {
        // From every row of a part to the last of that part.
        for y in (first..first + side - 1).rev() {
            let (below, row) = block.row_pair(y + 1, y);
            fold::<S, P>(isa, row, below);
        }
        for y in first..height.min(first + side) {
            // And from the first row of the next part on.
            if y == first {
                one.copy_from_slice(block.row(y));
            } else {
                let last = block.row(y + side - 1);
                if y == first + 1 {
                    running.copy_from_slice(last);
                } else {
                    fold::<S, P>(isa, running, last);
                }
                join::<S, P>(isa, block.row(y), running, one);
            }
            across::<S, P>(isa, one, other, side, out.row_mut(y));
        }
    }
}

fn disc<S: Sample, P: Pick>(
    block: ViewMut<'_, S>,
    radius: usize,
    mut out: ViewMut<'_, S>,
    scratch: &mut [S],
) {
    let isa = Isa::best();
    let (span, width, height) = (block.width(), out.width(), out.height());
    for row in 0..block.height() {
        scratch[..span].copy_from_slice(block.row(row));
        for (level, end) in (1..scratch.len() / span).map(|level| (level, (level + 1) * span)) {
            let (before, windows) = scratch[..end].split_at_mut(level * span);
            double::<S, P>(isa, &before[(level - 1) * span..], 1 << (level - 1), windows);
        }
        for y in row.saturating_sub(2 * radius)..height.min(row + 1) {
            let half = chord(radius, (row - y).abs_diff(radius));
            let length = 2 * half + 1;
            let level = length.ilog2() as usize;
            let windows = &scratch[level * span + radius - half..][..width + length - (1 << level)];
            let (left, right) = (&windows[..width], &windows[length - (1 << level)..]);
            // The first row of the disc begins the result.
            if y == row {
                join::<S, P>(isa, left, right, out.row_mut(y));
            } else {
                fold_both::<S, P>(isa, out.row_mut(y), left, right);
            }
        }
    }
}

/// Half the length of a disc's row, ⌊√(R² − dy²)⌋.
fn chord(radius: usize, dy: usize) -> usize {
    (radius * radius - dy * dy).isqrt()
}

versions! {
    fn fold<S: Sample, P: Pick>(into: &mut [S], row: &[S]) {
        for (into, sample) in into.iter_mut().zip(row) {
            *into = P::of(*into, *sample);
        }
    }
}

versions! {
    fn fold_both<S: Sample, P: Pick>(into: &mut [S], one: &[S], other: &[S]) {
        for ((into, one), other) in into.iter_mut().zip(one).zip(other) {
            *into = P::of(*into, P::of(*one, *other));
        }
    }
}

versions! {
    fn join<S: Sample, P: Pick>(one: &[S], other: &[S], out: &mut [S]) {
        for ((out, one), other) in out.iter_mut().zip(one).zip(other) {
            *out = P::of(*one, *other);
        }
    }
}

versions! {
    /// Windows twice as long as those that begin at every sample of `windows`, as far as they lie within.
    fn double<S: Sample, P: Pick>(windows: &[S], length: usize, out: &mut [S]) {
        let shifted = &windows[length..];
        for ((out, one), other) in out.iter_mut().zip(windows).zip(shifted) {
            *out = P::of(*one, *other);
        }
    }
}

versions! {
    /// The windows of `side` samples along `one`, by way of `other`; both are overwritten.
    fn across<S: Sample, P: Pick>(one: &mut [S], other: &mut [S], side: usize, out: &mut [S]) {
        let (mut from, mut to) = (one, other);
        let mut length = 1;
        while 2 * length <= side {
            let shifted = &from[length..];
            for ((to, one), other) in to.iter_mut().zip(from.iter()).zip(shifted) {
                *to = P::of(*one, *other);
            }
            (from, to) = (to, from);
            length *= 2;
        }
        let shifted = &from[side - length..];
        for ((out, one), other) in out.iter_mut().zip(from.iter()).zip(shifted) {
            *out = P::of(*one, *other);
        }
    }
}
