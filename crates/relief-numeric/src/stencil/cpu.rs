//! Stencils on the CPU: tiles of columns, down their rows, so that what a row needs of the rows above is
//! still in a cache; each row first along the columns, then across, by plain loops compiled for each set of
//! vector instructions.
//!
//! - **Box of 8 bits**: sums of columns in 16 bits, updated by the row that enters and the one that leaves;
//!   across, sums of 2, 4, 8, … columns (`mean`).
//! - **Erosion, dilation, box of f32**: a column's window from two running results (`sliding`); across,
//!   windows of 2, 4, 8, … as well. A running sum across would be one addition for a pixel, but one after the
//!   other.
//! - **Gauss**: columns in 16 bits, exactly; rows in f32, exactly too, because its multiply-add is the
//!   fastest (`weighted`).
//! - **Sobel, convolution**: `square`.
//!
//! Results of large pictures take non-temporal stores.

mod mean;
mod product;
mod sliding;
mod square;
mod weighted;

use std::ops::Range;

pub use self::sliding::Ordered;
use self::sliding::{Greatest, Least, Sum};
use super::{Filter, MAX_RADIUS, Shape};
use relief_kernels::copy::cpu::{fence, stream_open};
use relief_kernels::isa::Isa;

/// The most columns of a tile. Rows of it stay in the second cache; narrower tiles jump from page to page of memory.
const TILE: usize = 8_192;

/// The columns of a tile whose windows across are computed at once, in the nearest cache.
const CHUNK: usize = 1_024;

/// Bytes of a line of the caches: row buffers begin with one, so that no vector of them lies in two.
const LINE: usize = 64;

/// Row buffers begin so many bytes after the beginning of a page, wherever their memory lies: a load waits
/// for a store before it to the same place of another page, so that the time of a picture would depend on the
/// allocator.
const PHASE: usize = 256;

/// Bytes of a page.
const PAGE: usize = 4_096;

/// The most row buffers of a filter.
const BUFFERS: usize = 8;

/// From so many bytes on, results take non-temporal stores.
const LARGE: usize = 4 << 20;

/// The samples of a picture.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a, T> {
    samples: &'a [T],
    shape: Shape,
}

impl<'a, T> Picture<'a, T> {
    /// A picture, or nothing where the samples are too few for the shape or its rows overlap.
    #[must_use]
    pub fn new(samples: &'a [T], shape: Shape) -> Option<Self> {
        (shape.samples()? <= samples.len()).then_some(Self { samples, shape })
    }

    /// Its shape.
    #[must_use]
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// The row that counts for row `y`, which may lie outside.
    fn row(&self, y: isize) -> &'a [T] {
        let row = y.clamp(0, self.shape.height as isize - 1) as usize;
        &self.samples[row * self.shape.pitch..][..self.shape.width]
    }
}

/// Samples that [`apply`] filters: 8-bit integers and f32.
pub trait Pixel: bytemuck::Pod + sealed::Filtered {}

impl Pixel for u8 {}
impl Pixel for f32 {}

/// Words of scratch memory that [`apply`] and [`extreme`] need for a filter.
#[must_use]
pub fn scratch_words(filter: &Filter) -> usize {
    // Larger radii are refused.
    let reach = filter.radius().min(MAX_RADIUS) as usize;
    // Rows of sums in 32 bits: those of the window, and seven more.
    let rows = (2 * reach + 1 + 7) * (TILE + 2 * reach + 64).div_ceil(2);
    rows + (PAGE + BUFFERS * LINE) / 8
}

/// Filters `rows` of a picture into `out`, whose rows lie `pitch` samples apart and of which `out` begins with the first.
///
/// # Panics
/// Where `rows` are not rows of the picture, `out` does not hold as many of its width, the radius exceeds [`MAX_RADIUS`], or
/// `scratch` is shorter than [`scratch_words`].
pub fn apply<T: Pixel>(
    filter: &Filter,
    source: Picture<'_, T>,
    rows: Range<usize>,
    out: &mut [T],
    pitch: usize,
    scratch: &mut [u64],
) {
    let target = Target::new(source.shape, rows, out, pitch);
    assert!(filter.is_supported(), "a radius above {MAX_RADIUS}");
    assert!(
        scratch.len() >= scratch_words(filter),
        "too little scratch memory"
    );
    T::apply(filter, source, target, scratch);
}

/// The erosion, or the dilation where `greatest`, by the square of `radius`, of samples of any kind; else as [`apply`].
///
/// # Panics
/// As [`apply`].
pub fn extreme<T: Ordered>(
    greatest: bool,
    radius: u32,
    source: Picture<'_, T>,
    rows: Range<usize>,
    out: &mut [T],
    pitch: usize,
    scratch: &mut [u64],
) {
    let target = Target::new(source.shape, rows, out, pitch);
    assert!(radius <= MAX_RADIUS, "a radius above {MAX_RADIUS}");
    let filter = Filter::Erosion(radius);
    assert!(
        scratch.len() >= scratch_words(&filter),
        "too little scratch memory"
    );
    if greatest {
        sliding::filter::<Greatest<T>>(source, radius as usize, target, scratch, 1.0);
    } else {
        sliding::filter::<Least<T>>(source, radius as usize, target, scratch, 1.0);
    }
}

mod sealed {
    use super::{Filter, Greatest, Least, Picture, Sum, Target, mean, sliding, square, weighted};

    pub trait Filtered: Sized {
        #[allow(private_interfaces)]
        fn apply(filter: &Filter, source: Picture<'_, Self>, target: Target<'_, Self>, scratch: &mut [u64]);
    }

    impl Filtered for u8 {
        #[allow(private_interfaces)]
        fn apply(filter: &Filter, source: Picture<'_, u8>, target: Target<'_, u8>, scratch: &mut [u64]) {
            let reach = filter.radius() as usize;
            match filter {
                Filter::Box(_) => mean::filter(source, reach, target, scratch),
                Filter::Gauss(weights) => weighted::filter_u8(source, weights.whole(), target, scratch),
                Filter::Sobel => square::sobel_u8(source, target, scratch),
                Filter::Convolution(mask) => square::convolve_u8(source, mask, target, scratch),
                Filter::Erosion(_) => {
                    sliding::filter::<Least<u8>>(source, reach, target, scratch, 1.0);
                }
                Filter::Dilation(_) => {
                    sliding::filter::<Greatest<u8>>(source, reach, target, scratch, 1.0);
                }
            }
        }
    }

    impl Filtered for f32 {
        #[allow(private_interfaces)]
        fn apply(filter: &Filter, source: Picture<'_, f32>, target: Target<'_, f32>, scratch: &mut [u64]) {
            let reach = filter.radius() as usize;
            match filter {
                Filter::Box(_) => {
                    let inverse = 1.0 / ((2 * reach + 1) * (2 * reach + 1)) as f32;
                    sliding::filter::<Sum>(source, reach, target, scratch, inverse);
                }
                Filter::Gauss(weights) => weighted::filter_f32(source, weights.real(), target, scratch),
                Filter::Sobel => square::sobel_f32(source, target, scratch),
                Filter::Convolution(mask) => square::convolve_f32(source, mask, target, scratch),
                Filter::Erosion(_) => {
                    sliding::filter::<Least<f32>>(source, reach, target, scratch, 1.0);
                }
                Filter::Dilation(_) => {
                    sliding::filter::<Greatest<f32>>(source, reach, target, scratch, 1.0);
                }
            }
        }
    }
}

/// Where results go: some rows of a picture.
struct Target<'a, T> {
    samples: &'a mut [T],
    pitch: usize,
    width: usize,
    rows: Range<usize>,
    isa: Isa,
    /// Whether they take non-temporal stores.
    large: bool,
}

impl<'a, T: bytemuck::Pod> Target<'a, T> {
    fn new(shape: Shape, rows: Range<usize>, samples: &'a mut [T], pitch: usize) -> Self {
        let taken = Shape {
            width: shape.width,
            height: rows.len(),
            pitch,
        };
        assert!(rows.end <= shape.height, "rows below the picture");
        assert!(
            taken.samples().is_some_and(|taken| taken <= samples.len()),
            "too little memory for {} rows of {} samples",
            rows.len(),
            shape.width
        );
        let large = size_of_val(samples) >= LARGE;
        Self {
            samples,
            pitch,
            width: shape.width,
            rows,
            isa: Isa::best(),
            large,
        }
    }

    /// The tiles of columns for a filter that looks this far; none where there are no rows.
    fn tiles(&self, reach: usize) -> impl Iterator<Item = Tile> + use<T> {
        let (width, rows) = (self.width, self.rows.len());
        let starts = (0..width).step_by(TILE).filter(move |_| rows > 0);
        starts.map(move |start| Tile::new(start, TILE.min(width - start), reach, width))
    }

    /// The samples of row `y` that lie in a tile.
    fn row(&mut self, y: usize, tile: &Tile) -> &mut [T] {
        let start = (y - self.rows.start) * self.pitch + tile.start;
        &mut self.samples[start..start + tile.columns]
    }

    /// Lets `compute` write the samples of row `y` that lie in a tile, by non-temporal stores from `held`
    /// where that is better.
    fn write(&mut self, y: usize, tile: &Tile, held: &mut [T], compute: impl FnOnce(&mut [T])) {
        let large = self.large;
        let out = self.row(y, tile);
        if large {
            let held = &mut held[..out.len()];
            compute(held);
            stream_open(bytemuck::cast_slice(held), bytemuck::cast_slice_mut(out), &[]);
        } else {
            compute(out);
        }
    }
}

impl<T> Drop for Target<'_, T> {
    fn drop(&mut self) {
        if self.large {
            fence();
        }
    }
}

/// Some columns, and those around them that the filter looks at; row buffers begin with the first of those.
#[derive(Clone, Copy, Debug)]
struct Tile {
    /// The first column.
    start: usize,
    columns: usize,
    reach: usize,
    /// The first column that is looked at and lies inside of the picture.
    first: usize,
    /// How many of those looked at lie inside.
    inside: usize,
}

impl Tile {
    fn new(start: usize, columns: usize, reach: usize, width: usize) -> Self {
        let first = start.saturating_sub(reach);
        Self {
            start,
            columns,
            reach,
            first,
            inside: width.min(start + columns + reach) - first,
        }
    }

    /// Columns that are looked at.
    const fn span(&self) -> usize {
        self.columns + 2 * self.reach
    }

    /// Of the columns that are looked at, those inside of the picture.
    const fn within(&self) -> Range<usize> {
        let left = self.first + self.reach - self.start;
        left..left + self.inside
    }

    /// The samples of row `y` of a picture that are looked at and lie inside.
    fn of<'a, T>(&self, source: &Picture<'a, T>, y: isize) -> &'a [T] {
        &source.row(y)[self.first..self.first + self.inside]
    }

    /// The columns in parts: where each begins, and how many they are.
    fn chunks(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let columns = self.columns;
        (0..columns)
            .step_by(CHUNK)
            .map(move |start| (start, CHUNK.min(columns - start)))
    }

    /// Fills what lies outside of the picture with the nearest inside.
    fn replicate<A: Copy>(&self, row: &mut [A]) {
        let Range { start, end } = self.within();
        let (first, last) = (row[start], row[end - 1]);
        row[..start].fill(first);
        row[end..self.span()].fill(last);
    }
}

/// Typed slices, one after the other, of scratch memory.
struct Carver<'s>(&'s mut [u64]);

impl<'s> Carver<'s> {
    /// From [`PHASE`] on.
    fn new(scratch: &'s mut [u64]) -> Self {
        let place = scratch.as_ptr().addr() % PAGE;
        let skipped = (PAGE + PHASE - place) % PAGE / 8;
        Self(&mut scratch[skipped..])
    }

    fn take<T: bytemuck::Pod>(&mut self, count: usize) -> &'s mut [T] {
        let words = std::mem::take(&mut self.0);
        let (taken, rest) = words.split_at_mut((count * size_of::<T>()).div_ceil(LINE) * (LINE / 8));
        self.0 = rest;
        &mut bytemuck::cast_slice_mut(taken)[..count]
    }
}
