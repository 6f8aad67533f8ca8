//! Lattices on the CPU.
//!
//! Copies are folded into planes that lie in scratch memory: for `mean` a plane of sums and one of counts, else one of
//! samples. All loops are vectorised by the compiler. `mean` divides in floating point, whose quotients are exact here
//! (see `finish_bytes`); where at most two copies overlap, as in most lattices, a shift does.

use relief_raster::{Depth, Rect, Sample, View, ViewMut};

use super::{Blend, copies, overlap};
use crate::isa::{Isa, versions};

/// The most copies that may cover one pixel: twice the sum of so many 16-bit samples fits into 32 bits with room to
/// round.
pub const MAX_OVERLAP: u128 = 16_384;

/// The words of scratch memory that [`cell`] and an [`Accumulator`] for `width` × `height` pixels need, of which no
/// pixel is covered by more than `overlap` copies. `usize::MAX` where no memory would do.
#[must_use]
pub fn scratch_words<S: Sample>(blend: Blend, overlap: u128, width: usize, height: usize) -> usize {
    let (first, second) = plane_bytes::<S>(blend, overlap);
    let words = |bytes: usize| Some(width.checked_mul(height)?.checked_mul(bytes)?.div_ceil(8));
    words(first)
        .zip(words(second))
        .and_then(|(first, second)| first.checked_add(second))
        .unwrap_or(usize::MAX)
}

/// One cell of the lattice: the blended samples (0, 0)…(a − 1, c − 1) of the raster in which copies of `pattern` lie
/// at `offset` + i·`u` + j·`v`. a and c, which are the size of `out`, are those of the
/// [`Period`](relief_raster::Period) that `u` and `v` span.
///
/// Every pixel of the pattern lies in the cell exactly once, whatever the number of copies that overlap.
///
/// # Panics
/// As [`Accumulator::new`] with [`overlap`], and as [`copies`].
pub fn cell<S: Sample>(
    pattern: View<'_, S>,
    offset: (i64, i64),
    blend: Blend,
    u: (i64, i64),
    v: (i64, i64),
    out: ViewMut<'_, S>,
    scratch: &mut [u64],
) {
    let size = (pattern.width() as u64, pattern.height() as u64);
    let whole = Rect::sized(out.width() as u64, out.height() as u64);
    let mut tile = Accumulator::new(blend, overlap(size, u, v), out.width(), out.height(), scratch);
    for copy in copies(whole, size, offset, u, v) {
        tile.add(copy.x, copy.y, pattern);
    }
    tile.finish(out);
}

/// Blends copies into a tile, one after the other.
#[derive(Debug)]
pub struct Accumulator<'s, S> {
    isa: Isa,
    blend: Blend,
    width: usize,
    height: usize,
    planes: Planes<'s, S>,
}

/// What is known of every pixel so far, row by row.
#[derive(Debug)]
enum Planes<'s, S> {
    /// Sums and numbers of up to 255 samples of 8 bits.
    Bytes(&'s mut [u16], &'s mut [u8]),
    /// Sums and numbers of up to [`MAX_OVERLAP`] samples.
    Words(&'s mut [u32], &'s mut [u16]),
    /// The blended sample; for [`Blend::Min`] less 1, wrapping, which makes 0 the greatest.
    Samples(&'s mut [S]),
}

/// The bytes of a pixel in the first and in the second plane.
fn plane_bytes<S: Sample>(blend: Blend, overlap: u128) -> (usize, usize) {
    match (blend, S::DEPTH) {
        // 255 · 255 fits in 16 bits.
        (Blend::Mean, Depth::Eight) if overlap <= 255 => (2, 1),
        (Blend::Mean, _) => (4, 2),
        _ => (size_of::<S>(), 0),
    }
}

impl<'s, S: Sample> Planes<'s, S> {
    fn new(blend: Blend, overlap: u128, pixels: usize, scratch: &'s mut [u64]) -> Self {
        let (first, second) = plane_bytes::<S>(blend, overlap);
        let (sums, rest) = scratch.split_at_mut((pixels * first).div_ceil(8));
        let counts = &mut rest[..(pixels * second).div_ceil(8)];
        sums.fill(if blend == Blend::Min { u64::MAX } else { 0 });
        counts.fill(0);
        match (first, second) {
            (2, 1) => Self::Bytes(typed(sums, pixels), typed(counts, pixels)),
            (4, 2) => Self::Words(typed(sums, pixels), typed(counts, pixels)),
            _ => Self::Samples(typed(sums, pixels)),
        }
    }
}

/// The first `count` numbers in these words.
fn typed<T: bytemuck::Pod>(words: &mut [u64], count: usize) -> &mut [T] {
    &mut bytemuck::cast_slice_mut(words)[..count]
}

impl<'s, S: Sample> Accumulator<'s, S> {
    /// An empty tile of `width` × `height` pixels of which no pixel will be covered by more than `overlap` copies.
    ///
    /// # Panics
    /// Where the scratch memory is shorter than [`scratch_words`], or `overlap` is more than [`MAX_OVERLAP`] and the
    /// blend is [`Blend::Mean`], which alone adds without a bound.
    #[must_use]
    pub fn new(blend: Blend, overlap: u128, width: usize, height: usize, scratch: &'s mut [u64]) -> Self {
        assert!(
            blend != Blend::Mean || overlap <= MAX_OVERLAP,
            "{overlap} copies over one pixel"
        );
        let needed = scratch_words::<S>(blend, overlap, width, height);
        assert!(
            scratch.len() >= needed,
            "{} words of scratch memory instead of {needed}",
            scratch.len()
        );
        Self {
            isa: Isa::best(),
            blend,
            width,
            height,
            planes: Planes::new(blend, overlap, width * height, scratch),
        }
    }

    /// Folds a copy, or a part of one, whose top-left lies at (x, y) of the tile; what lies outside is left out.
    pub fn add(&mut self, x: i64, y: i64, part: View<'_, S>) {
        let (left, first_column, columns) = overlapping(x, part.width(), self.width);
        let (top, first_row, rows) = overlapping(y, part.height(), self.height);
        if columns == 0 {
            return;
        }
        for row in 0..rows {
            let start = (top + row) * self.width + left;
            let v = &part.row(first_row + row)[first_column..first_column + columns];
            self.add_run(start..start + columns, v);
        }
    }

    fn add_run(&mut self, run: std::ops::Range<usize>, v: &[S]) {
        match &mut self.planes {
            Planes::Bytes(sums, counts) => {
                add_bytes(
                    self.isa,
                    &mut sums[run.clone()],
                    &mut counts[run],
                    bytemuck::cast_slice(v),
                );
            }
            Planes::Words(sums, counts) => add_words(self.isa, &mut sums[run.clone()], &mut counts[run], v),
            Planes::Samples(samples) => match S::DEPTH {
                Depth::Eight => {
                    let samples = bytemuck::cast_slice_mut(&mut samples[run]);
                    blend_samples::<u8>(self.isa, self.blend, samples, bytemuck::cast_slice(v));
                }
                Depth::Sixteen => {
                    let samples = bytemuck::cast_slice_mut(&mut samples[run]);
                    blend_samples::<u16>(self.isa, self.blend, samples, bytemuck::cast_slice(v));
                }
            },
        }
    }

    /// Writes the blended tile.
    ///
    /// # Panics
    /// Where `out` has not the size of the tile.
    pub fn finish(self, mut out: ViewMut<'_, S>) {
        assert_eq!(
            (out.width(), out.height()),
            (self.width, self.height),
            "a tile of another size"
        );
        for y in 0..self.height {
            let row = y * self.width..(y + 1) * self.width;
            let out = out.row_mut(y);
            match &self.planes {
                Planes::Bytes(sums, counts) => {
                    finish_bytes(
                        self.isa,
                        &sums[row.clone()],
                        &counts[row],
                        bytemuck::cast_slice_mut(out),
                    );
                }
                Planes::Words(sums, counts) => finish_words(self.isa, &sums[row.clone()], &counts[row], out),
                Planes::Samples(samples) => {
                    out.copy_from_slice(&samples[row]);
                    if self.blend == Blend::Min {
                        match S::DEPTH {
                            Depth::Eight => increment::<u8>(self.isa, bytemuck::cast_slice_mut(out)),
                            Depth::Sixteen => increment::<u16>(self.isa, bytemuck::cast_slice_mut(out)),
                        }
                    }
                }
            }
        }
    }
}

/// Where a run of `part` samples that starts at `start` meets 0..`whole`: its start there, the first sample of the
/// part, and how many.
fn overlapping(start: i64, part: usize, whole: usize) -> (usize, usize, usize) {
    let (start, part, whole) = (i128::from(start), part as i128, whole as i128);
    let (from, to) = (start.max(0), (start + part).min(whole));
    if from >= to {
        return (0, 0, 0);
    }
    // All three lie between 0 and a `usize`.
    (from as usize, (from - start) as usize, (to - from) as usize)
}

versions! {
    fn add_bytes(sums: &mut [u16], counts: &mut [u8], v: &[u8]) {
        for ((sum, count), v) in sums.iter_mut().zip(counts).zip(v) {
            *sum = sum.wrapping_add(u16::from(*v));
            *count = count.wrapping_add(u8::from(*v != 0));
        }
    }
}

versions! {
    fn add_words<S: Sample>(sums: &mut [u32], counts: &mut [u16], v: &[S]) {
        for ((sum, count), v) in sums.iter_mut().zip(counts).zip(v) {
            *sum = sum.wrapping_add(u32::from(v.to_u16()));
            *count = count.wrapping_add(u16::from(*v != S::ZERO));
        }
    }
}

/// The arithmetic of one depth.
trait Lane: Sample {
    fn add(self, v: Self) -> Self;
    fn next(self) -> Self;
    fn previous(self) -> Self;
}

impl Lane for u8 {
    #[inline(always)]
    fn add(self, v: Self) -> Self {
        self.saturating_add(v)
    }

    #[inline(always)]
    fn next(self) -> Self {
        self.wrapping_add(1)
    }

    #[inline(always)]
    fn previous(self) -> Self {
        self.wrapping_sub(1)
    }
}

impl Lane for u16 {
    #[inline(always)]
    fn add(self, v: Self) -> Self {
        self.saturating_add(v)
    }

    #[inline(always)]
    fn next(self) -> Self {
        self.wrapping_add(1)
    }

    #[inline(always)]
    fn previous(self) -> Self {
        self.wrapping_sub(1)
    }
}

versions! {
    fn blend_samples<L: Lane>(blend: Blend, samples: &mut [L], v: &[L]) {
        match blend {
            // Means have planes of their own; a sum that saturates is not one.
            Blend::Mean | Blend::Sum => each(samples, v, L::add),
            Blend::Max => each(samples, v, L::max),
            Blend::Min => each(samples, v, |sample, v| sample.min(v.previous())),
            Blend::Last => each(samples, v, |sample, v| if v == L::ZERO { sample } else { v }),
        }
    }
}

#[inline(always)]
fn each<L: Lane>(samples: &mut [L], v: &[L], f: impl Fn(L, L) -> L) {
    for (sample, v) in samples.iter_mut().zip(v) {
        *sample = f(*sample, *v);
    }
}

versions! {
    fn increment<L: Lane>(samples: &mut [L]) {
        for sample in samples {
            *sample = sample.next();
        }
    }
}

/// Pixels for which the greatest number of copies is looked at together.
const BLOCK: usize = 256;

versions! {
    /// (2·sum + n) / (2·n), for n ≤ 255 samples of 8 bits.
    ///
    /// Numerator and denominator are less than 2^24, exact in `f32`. The quotient is at most 255.5; where it is no integer
    /// it lies at least 1/510 below the next, far more than it is rounded by, so that cutting gives the exact floor.
    fn finish_bytes(sums: &[u16], counts: &[u8], out: &mut [u8]) {
        let blocks = sums.chunks(BLOCK).zip(counts.chunks(BLOCK)).zip(out.chunks_mut(BLOCK));
        for ((sums, counts), out) in blocks {
            let most = counts.iter().fold(0, |most, count| most.max(*count));
            let pixels = sums.iter().zip(counts).zip(out);
            if most <= 2 {
                for ((sum, n), out) in pixels {
                    *out = if *n == 2 { (*sum + 1) >> 1 } else { *sum } as u8;
                }
            } else {
                for ((sum, n), out) in pixels {
                    let twice = (2 * i32::from(*n)).max(1);
                    *out = ((2 * i32::from(*sum) + i32::from(*n)) as f32 / twice as f32) as i32 as u8;
                }
            }
        }
    }
}

versions! {
    /// (2·sum + n) / (2·n), for n ≤ 2^14: as [`finish_bytes`], in `f64`, with numerators below 2^32 and quotients that lie
    /// at least 2^-15 below the next integer.
    fn finish_words<S: Sample>(sums: &[u32], counts: &[u16], out: &mut [S]) {
        let blocks = sums.chunks(BLOCK).zip(counts.chunks(BLOCK)).zip(out.chunks_mut(BLOCK));
        for ((sums, counts), out) in blocks {
            let most = counts.iter().fold(0, |most, count| most.max(*count));
            let pixels = sums.iter().zip(counts).zip(out);
            if most <= 2 {
                for ((sum, n), out) in pixels {
                    *out = S::from_u16(if *n == 2 { (*sum + 1) >> 1 } else { *sum } as u16);
                }
            } else {
                for ((sum, n), out) in pixels {
                    let twice = (2 * i32::from(*n)).max(1);
                    let mean = f64::from(2 * *sum + u32::from(*n)) / f64::from(twice);
                    *out = S::from_u16(mean as i32 as u16);
                }
            }
        }
    }
}
