//! The bilateral grid on the CPU, in steps over rows of cells and rows of pixels, so that threads can share each step.
//!
//! A cell is two floats next to each other: its sum and its count. So the blur is the same for both, over contiguous
//! numbers, and a slice reads four runs of four.

use super::{Bilateral, BilateralError, Cells, Level, WEIGHTS};

/// Floats of one grid.
#[must_use]
pub const fn grid_len(cells: Cells) -> usize {
    (cells.count() as usize).saturating_mul(2)
}

/// A filter on pictures of one type of samples.
#[derive(Clone, Copy, Debug)]
pub struct Filter {
    job: Bilateral,
    cells: Cells,
}

impl Filter {
    /// For samples of type `T`.
    ///
    /// # Errors
    /// As [`Bilateral::cells`].
    pub fn new<T: Level>(job: Bilateral) -> Result<Self, BilateralError> {
        let cells = job.cells(T::GREATEST)?;
        Ok(Self { job, cells })
    }

    /// Cells along the axes.
    #[must_use]
    pub const fn cells(&self) -> Cells {
        self.cells
    }

    /// Floats of a row of cells.
    #[must_use]
    pub const fn row_len(&self) -> usize {
        2 * self.cells.across as usize * self.cells.deep as usize
    }

    /// Splats what belongs to a row of cells, and blurs it along the values. `image` has `pitch` samples from one row to the
    /// next; `row` and `scratch` have [`row_len`](Self::row_len) elements.
    ///
    /// # Panics
    /// Where the slices are too short.
    pub fn splat<T: Level>(
        &self,
        image: &[T],
        pitch: usize,
        down: u32,
        row: &mut [f32],
        scratch: &mut [u32],
    ) {
        let Bilateral {
            width,
            height,
            spatial,
            range,
        } = self.job;
        let deep = self.cells.deep as usize;
        let half = spatial / 2;
        scratch.fill(0);
        // Pixel p is nearest to cell (p + half) / spatial.
        let first = (down * spatial).saturating_sub(half);
        let end = ((down + 1) * spatial).saturating_sub(half).min(height);
        for y in first..end {
            let samples = &image[y as usize * pitch..][..width as usize];
            let mut from = 0;
            for cells in scratch.chunks_exact_mut(2 * deep) {
                let to = if from == 0 { spatial - half } else { from + spatial }.min(width);
                for sample in &samples[from as usize..to as usize] {
                    let level = sample.level();
                    let cell = 2 * ((level + range / 2) / range) as usize;
                    cells[cell] += level;
                    cells[cell + 1] += 1;
                }
                from = to;
            }
        }
        let column = row.chunks_exact_mut(2 * deep).zip(scratch.chunks_exact(2 * deep));
        for (to, from) in column {
            for k in 0..deep {
                let (mut sum, mut count) = (0.0, 0.0);
                for (tap, weight) in WEIGHTS.iter().enumerate() {
                    let k = k + tap;
                    if (2..deep + 2).contains(&k) {
                        sum += weight * from[2 * (k - 2)] as f32;
                        count += weight * from[2 * (k - 2) + 1] as f32;
                    }
                }
                to[2 * k] = sum;
                to[2 * k + 1] = count;
            }
        }
    }

    /// Blurs a row of cells along rows and columns of the grid. `grid` is all that [`splat`](Self::splat) made; `row` and
    /// `scratch` have [`row_len`](Self::row_len) elements.
    ///
    /// # Panics
    /// Where the slices are too short.
    pub fn blur(&self, grid: &[f32], down: u32, row: &mut [f32], scratch: &mut [f32]) {
        let len = self.row_len();
        scratch.fill(0.0);
        for (tap, weight) in WEIGHTS.iter().enumerate() {
            let at = down as usize + tap;
            if (2..self.cells.down as usize + 2).contains(&at) {
                add(scratch, &grid[(at - 2) * len..][..len], *weight);
            }
        }
        row.fill(0.0);
        let column = 2 * self.cells.deep as usize;
        for (tap, weight) in WEIGHTS.iter().enumerate() {
            let shift = tap.abs_diff(2) * column;
            if shift < len {
                if tap < 2 {
                    add(&mut row[shift..], &scratch[..len - shift], *weight);
                } else {
                    add(&mut row[..len - shift], &scratch[shift..], *weight);
                }
            }
        }
    }

    /// Computes a row of pixels. `grid` is all that [`blur`](Self::blur) made; `scratch` has [`row_len`](Self::row_len)
    /// elements.
    ///
    /// # Panics
    /// Where the slices are too short.
    pub fn slice<T: Level>(
        &self,
        grid: &[f32],
        y: u32,
        samples: &[T],
        output: &mut [T],
        scratch: &mut [f32],
    ) {
        let Bilateral { spatial, range, .. } = self.job;
        let (deep, len) = (self.cells.deep as usize, self.row_len());
        let down = (y / spatial) as usize;
        let part = (y % spatial) as f32 / spatial as f32;
        let (above, below) = grid[down * len..][..2 * len].split_at(len);
        for ((between, above), below) in scratch.iter_mut().zip(above).zip(below) {
            *between = above + part * (below - above);
        }
        // A division by a number that the compiler does not know takes longer than all the rest.
        let reciprocal = 1.0 / range as f32;
        let pixels = samples
            .chunks(spatial as usize)
            .zip(output.chunks_mut(spatial as usize));
        for ((samples, output), columns) in pixels.zip(scratch.windows(4 * deep).step_by(2 * deep)) {
            let (left, right) = columns.split_at(2 * deep);
            for (x, (sample, output)) in samples.iter().zip(output).enumerate() {
                let level = sample.level();
                let cell = cell_below(level, range, reciprocal);
                let up = (level - cell * range) as f32 * reciprocal;
                let across = x as f32 / spatial as f32;
                let k = 2 * cell as usize;
                let (left, right) = (&left[k..k + 4], &right[k..k + 4]);
                let between = |i: usize| {
                    let left = left[i] + up * (left[i + 2] - left[i]);
                    let right = right[i] + up * (right[i + 2] - right[i]);
                    left + across * (right - left)
                };
                *output = T::from_level(between(0) / between(1));
            }
        }
    }
}

/// `level / range`, by a product: it is off by one at most, and that is mended.
#[inline(always)]
fn cell_below(level: u32, range: u32, reciprocal: f32) -> u32 {
    let near = (level as f32 * reciprocal) as u32;
    let near = near - u32::from(near * range > level);
    near + u32::from((near + 1) * range <= level)
}

#[inline(always)]
fn add(to: &mut [f32], from: &[f32], weight: f32) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += weight * from;
    }
}

/// Filters a picture on this thread. `image` and `output` have `pitch` samples from one row to the next; `scratch` has twice
/// [`grid_len`] elements and one row more, and `counts` a row.
///
/// # Errors
/// As [`Bilateral::cells`].
///
/// # Panics
/// Where the slices are too short.
pub fn bilateral<T: Level>(
    job: Bilateral,
    image: &[T],
    output: &mut [T],
    pitch: usize,
    scratch: &mut [f32],
    counts: &mut [u32],
) -> Result<(), BilateralError> {
    let filter = Filter::new::<T>(job)?;
    if job.width == 0 || job.height == 0 {
        return Ok(());
    }
    let (len, row_len) = (grid_len(filter.cells), filter.row_len());
    let (first, rest) = scratch.split_at_mut(len);
    let (second, rest) = rest.split_at_mut(len);
    let spare = &mut rest[..row_len];
    for (down, row) in (0..).zip(first.chunks_exact_mut(row_len)) {
        filter.splat(image, pitch, down, row, &mut counts[..row_len]);
    }
    for (down, row) in (0..).zip(second.chunks_exact_mut(row_len)) {
        filter.blur(first, down, row, spare);
    }
    let width = job.width as usize;
    for y in 0..job.height as usize {
        let (samples, output) = (&image[y * pitch..][..width], &mut output[y * pitch..][..width]);
        filter.slice(second, y as u32, samples, output, spare);
    }
    Ok(())
}
