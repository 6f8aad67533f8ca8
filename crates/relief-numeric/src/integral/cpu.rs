//! Integral images on the CPU, by bands of rows, each from what enters it.
//!
//! A band needs the integral image in the row above it. Bands are dealt to threads, so these rows are made
//! first: [`column_sums`] of each band, and [`last_rows`] from those. So the picture is read twice, the
//! second time from a cache if the bands of one turn fit it. Then [`band`] goes down strips of columns that
//! stay in the nearest cache: sixteen samples of a row at a time are scanned by four additions of the vector
//! to itself, shifted, added to the sum of the row so far, and to what the columns have. Large results take
//! non-temporal stores.
//!
//! **The order of sums of floats**: along a row, a sample's sum within its sixteen is added to that of the
//! sixteens before, one after the other; down a column, rows of a band are added one after the other to what
//! is above the band. That is made of sums of columns, added one after the other along each band's last row,
//! and of what is above the band before.

use bytemuck::Pod;

use crate::scan::cpu::{GROUP, scan_group};
use relief_kernels::copy::cpu::{LARGE, fence, stream_open};
use relief_kernels::isa::{Isa, Level, versions};

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

/// Rows of a band.
pub const BAND: usize = 128;

/// Samples of a strip: what its columns have stays in the nearest cache.
const STRIP: usize = 2_048;

/// Sums: `u32` (modulo 2³²) and `u64` of bytes, `f32` of floats. It is sealed.
pub trait Sum: crate::sealed::Sealed + Pod + Default + Send + Sync + PartialEq + std::fmt::Debug {
    /// What is summed.
    type Sample: Pod + Send + Sync;

    /// The sample as a sum.
    #[doc(hidden)]
    fn one(sample: Self::Sample) -> Self;

    /// a + b.
    #[doc(hidden)]
    fn plus(a: Self, b: Self) -> Self;

    /// Adds a row to columns, and returns the sum up to its end; `before` is that of what is left of it.
    #[doc(hidden)]
    fn add_row(isa: Isa, row: &[Self::Sample], before: Self, columns: &mut [Self]) -> Self;

    /// Sums columns of at most [`BAND`] rows.
    #[doc(hidden)]
    fn sum_columns(isa: Isa, rows: Picture<'_, Self::Sample>, sums: &mut [Self]);
}

/// Rows of samples.
#[derive(Debug)]
pub struct Picture<'a, T> {
    /// The samples.
    pub samples: &'a [T],
    /// Samples of a row.
    pub width: usize,
    /// How many rows.
    pub height: usize,
    /// Samples from one row to the next.
    pub pitch: usize,
}

impl<T> Clone for Picture<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Picture<'_, T> {}

impl<'a, T> Picture<'a, T> {
    /// # Panics
    /// Where the rows do not lie in the samples, or overlap.
    pub(super) fn assert_holds_rows(&self) {
        assert_rows(self.width, self.height, self.pitch, self.samples.len());
    }

    pub(super) fn row(&self, y: usize) -> &'a [T] {
        &self.samples[y * self.pitch..][..self.width]
    }

    /// How many bands of [`BAND`] rows it has.
    #[must_use]
    pub const fn bands(&self) -> usize {
        self.height.div_ceil(BAND)
    }

    /// The rows of a band.
    ///
    /// # Panics
    /// Where there is no such band.
    fn band(&self, band: usize) -> Self {
        assert!(band < self.bands(), "band {band} of {}", self.bands());
        if self.width == 0 {
            return Self { height: 0, ..*self };
        }
        let first = band * BAND;
        Self {
            samples: &self.samples[first * self.pitch..],
            height: (self.height - first).min(BAND),
            ..*self
        }
    }
}

/// Sums that [`integral`] takes as scratch memory: a row for each band.
#[must_use]
pub const fn scratch_sums<T>(picture: &Picture<'_, T>) -> usize {
    picture.bands().saturating_mul(picture.width)
}

/// # Panics
/// Where `height` rows of `width` numbers, `pitch` apart, do not lie in so many numbers, or overlap.
fn assert_rows(width: usize, height: usize, pitch: usize, held: usize) {
    if let Err(error) = crate::matrix::check(height, width, pitch, held) {
        panic!("{error}");
    }
}

/// Computes an integral image, whose rows are `pitch` sums apart.
///
/// # Panics
/// Where a slice does not hold its rows, where rows overlap, and where `scratch` has fewer than [`scratch_sums`].
pub fn integral<S: Sum>(picture: Picture<'_, S::Sample>, scratch: &mut [S], out: &mut [S], pitch: usize) {
    let width = picture.width;
    if width == 0 {
        return;
    }
    picture.assert_holds_rows();
    assert_rows(width, picture.height, pitch, out.len());
    let scratch = &mut scratch[..scratch_sums(&picture)];
    let rows_of_band = BAND.saturating_mul(pitch.max(width));
    for (k, out) in out.chunks_mut(rows_of_band).take(picture.bands()).enumerate() {
        let (before, own) = scratch.split_at_mut(k * width);
        let before = before.chunks_exact(width).next_back();
        column_sums(picture, k, &mut own[..width]);
        last_rows(before, &mut own[..width], width);
        band(picture, k, before, out, pitch);
    }
}

/// Sums each column of a band.
///
/// # Panics
/// Where there is no such band, where the picture does not hold its rows, and where there are fewer sums than columns.
pub fn column_sums<S: Sum>(picture: Picture<'_, S::Sample>, band: usize, sums: &mut [S]) {
    picture.assert_holds_rows();
    let sums = &mut sums[..picture.width];
    S::sum_columns(Isa::best(), picture.band(band), sums);
}

/// Makes of the sums of the columns of bands that follow one another, `width` for each, the integral image in the last row of
/// each; `before` is that of the band before them, if there is one.
pub fn last_rows<S: Sum>(before: Option<&[S]>, bands: &mut [S], width: usize) {
    if width == 0 {
        return;
    }
    let mut before = before;
    for row in bands.chunks_exact_mut(width) {
        let mut sum = S::default();
        for value in row.iter_mut() {
            sum = S::plus(sum, *value);
            *value = sum;
        }
        if let Some(before) = before {
            for (value, before) in row.iter_mut().zip(before) {
                *value = S::plus(*before, *value);
            }
        }
        before = Some(row);
    }
}

/// Computes a band of an integral image, whose rows are `pitch` sums apart, from the row above it.
///
/// # Panics
/// Where there is no such band, where a slice does not hold its rows, and where rows overlap.
pub fn band<S: Sum>(
    picture: Picture<'_, S::Sample>,
    band: usize,
    above: Option<&[S]>,
    out: &mut [S],
    pitch: usize,
) {
    let isa = Isa::best();
    picture.assert_holds_rows();
    let picture = picture.band(band);
    assert_rows(picture.width, picture.height, pitch, out.len());
    let large = size_of::<S>() * picture.width * picture.height >= LARGE;
    // What lies to the left of a strip in each row, and what its columns have.
    let mut left = [S::default(); BAND];
    let mut columns = Columns([S::default(); STRIP]);
    // rung: integral on cpu: threads
    for start in (0..picture.width).step_by(STRIP) {
        let len = (picture.width - start).min(STRIP);
        let columns = &mut columns.0[..len];
        match above {
            Some(above) => columns.copy_from_slice(&above[start..][..len]),
            None => columns.fill(S::default()),
        }
        for (y, left) in left[..picture.height].iter_mut().enumerate() {
            let row = &picture.row(y)[start..][..len];
            *left = S::add_row(isa, row, *left, columns);
            let out = &mut out[y * pitch + start..][..len];
            if large {
                stream_open(bytemuck::cast_slice(columns), bytemuck::cast_slice_mut(out), &[]);
            } else {
                out.copy_from_slice(columns);
            }
        }
    }
    // end
    if large {
        fence();
    }
}

/// What columns have, aligned as vectors are.
#[repr(align(64))]
struct Columns<S>([S; STRIP]);

/// Adds the sums of a row of integers, one after the other, to columns.
fn add_integers<S: Sum>(row: &[S::Sample], before: S, columns: &mut [S]) -> S {
    let mut run = before;
    for (sample, column) in row.iter().zip(columns) {
        run = S::plus(run, S::one(*sample));
        *column = S::plus(*column, run);
    }
    run
}

/// Adds the sums of a row of floats, by sixteens, to columns.
fn add_floats(row: &[f32], before: f32, columns: &mut [f32]) -> f32 {
    let mut run = before;
    for (samples, columns) in row.chunks(GROUP).zip(columns.chunks_mut(GROUP)) {
        let mut sums = [0.0; GROUP];
        sums[..samples.len()].copy_from_slice(samples);
        let sums = scan_group::<f32>(sums);
        for (column, sum) in columns.iter_mut().zip(sums) {
            *column += run + sum;
        }
        run += sums[GROUP - 1];
    }
    run
}

/// Calls `group` for sixteens of both, the last of which is filled up.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn each<T: Copy + Default, S: Copy + Default>(
    row: &[T],
    columns: &mut [S],
    group: &mut impl FnMut(&[T; GROUP], &mut [S; GROUP]),
) {
    let (groups, rest) = row.as_chunks::<GROUP>();
    let (targets, last) = columns.as_chunks_mut::<GROUP>();
    for (samples, columns) in groups.iter().zip(targets) {
        group(samples, columns);
    }
    if !rest.is_empty() {
        let mut samples = [T::default(); GROUP];
        samples[..rest.len()].copy_from_slice(rest);
        let mut columns = [S::default(); GROUP];
        columns[..last.len()].copy_from_slice(last);
        group(&samples, &mut columns);
        last.copy_from_slice(&columns[..last.len()]);
    }
}

/// Columns of bytes in 16 bits, which [`BAND`] rows do not overflow.
#[inline(always)]
fn sum_bytes<S: Sum<Sample = u8> + From<u16>>(rows: Picture<'_, u8>, sums: &mut [S]) {
    const SHORT: usize = 4_096;
    let mut short = [0_u16; SHORT];
    for (k, sums) in sums.chunks_mut(SHORT).enumerate() {
        let short = &mut short[..sums.len()];
        short.fill(0);
        for y in 0..rows.height {
            let row = &rows.row(y)[k * SHORT..][..sums.len()];
            for (sum, sample) in short.iter_mut().zip(row) {
                *sum += u16::from(*sample);
            }
        }
        for (sum, short) in sums.iter_mut().zip(short) {
            *sum = S::from(*short);
        }
    }
}

#[inline(always)]
fn sum_floats(rows: Picture<'_, f32>, sums: &mut [f32]) {
    sums.fill(0.0);
    for y in 0..rows.height {
        for (sum, sample) in sums.iter_mut().zip(rows.row(y)) {
            *sum += *sample;
        }
    }
}

macro_rules! sums {
    ($($type:ty, $sample:ty, $plus:expr, $columns:ident, $row:ident, $wide:ident $(, $half:ident)?;)+) => {$(
        impl Sum for $type {
            type Sample = $sample;

            #[inline(always)]
            fn one(sample: $sample) -> Self {
                sample.into()
            }

            #[inline(always)]
            fn plus(a: Self, b: Self) -> Self {
                $plus(a, b)
            }

            #[allow(unsafe_code)]
            fn add_row(isa: Isa, row: &[$sample], before: Self, columns: &mut [Self]) -> Self {
                match isa.level() {
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: an `Isa` of this level exists only where the machine has its instructions.
                    Level::Avx512 | Level::Avx512Vbmi => unsafe { avx512::$wide(row, before, columns) },
                    $(
                        #[cfg(target_arch = "x86_64")]
                        // SAFETY: as above.
                        Level::Avx2 => unsafe { avx2::$half(row, before, columns) },
                    )?
                    _ => $row(row, before, columns),
                }
            }

            fn sum_columns(isa: Isa, rows: Picture<'_, $sample>, sums: &mut [Self]) {
                versions! {
                    fn run(rows: Picture<'_, $sample>, sums: &mut [$type]) {
                        $columns(rows, sums);
                    }
                }
                run(isa, rows, sums);
            }
        }
    )+};
}

sums! {
    u32, u8, u32::wrapping_add, sum_bytes, add_integers, add_short;
    u64, u8, u64::wrapping_add, sum_bytes, add_integers, add_long;
    f32, f32, |a: f32, b: f32| a + b, sum_floats, add_floats, add_floats, add_floats;
}
