//! Resampling on the CPU.

use relief_raster::{Sample, View, ViewMut};

use super::Axis;
use crate::isa::{Isa, versions};

/// Words of scratch memory of [`resample`], for blocks of so many columns and results of so many.
#[must_use]
pub const fn scratch_words(block: u64, columns: u64) -> u64 {
    block.saturating_add(columns)
}

/// Computes the samples from column `x` and row `y` of the result on. `block` holds what [`Axis::reads`] says of both axes.
///
/// # Panics
/// Where it holds less, or `scratch` is shorter than [`scratch_words`].
pub fn resample<S: Sample>(
    block: View<'_, S>,
    (across, down): (&Axis, &Axis),
    (x, y): (i64, i64),
    mut out: ViewMut<'_, S>,
    scratch: &mut [u64],
) {
    let (width, height) = (out.width(), out.height());
    if width == 0 || height == 0 {
        return;
    }
    let isa = Isa::best();
    let (left, _) = across.place(x);
    let (top, _) = down.place(y);
    let (sums, places) = scratch.split_at_mut(block.width());
    let sums = bytemuck::cast_slice_mut::<u64, i64>(sums);
    let places = &mut places[..width];
    for (column, place) in places.iter_mut().enumerate() {
        let (first, phase) = across.place(x + column as i64);
        // The block has fewer columns than memory has bytes.
        *place = (first - left).cast_unsigned() << 8 | phase as u64;
    }
    for row in 0..height {
        let (first, phase) = down.place(y + row as i64);
        let first = (first - top) as usize;
        sums.fill(0);
        for (i, weight) in down.weights(phase).iter().enumerate() {
            if *weight != 0 {
                add::<S>(isa, block.row(first + i), i64::from(*weight), sums);
            }
        }
        along::<S>(isa, sums, places, across, out.row_mut(row));
    }
}

versions! {
    fn add<S: Sample>(row: &[S], weight: i64, sums: &mut [i64]) {
        for (sum, sample) in sums.iter_mut().zip(row) {
            *sum += weight * i64::from(sample.to_u16());
        }
    }
}

versions! {
    fn along<S: Sample>(sums: &[i64], places: &[u64], axis: &Axis, out: &mut [S]) {
        for (out, place) in out.iter_mut().zip(places) {
            let first = (place >> 8) as usize;
            let weights = axis.weights((place & 0xFF) as usize);
            let total: i64 = sums[first..first + weights.len()]
                .iter()
                .zip(weights)
                .map(|(sum, weight)| sum * i64::from(*weight))
                .sum();
            // At most 2^36 times M.
            let rounded = (total + (1 << 31)) >> 32;
            *out = S::from_u16(rounded.clamp(0, i64::from(S::MAX.to_u16())) as u16);
        }
    }
}
