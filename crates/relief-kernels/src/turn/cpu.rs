//! Turns on the CPU, block by block.

use relief_raster::{Sample, View, ViewMut};

/// Rows and columns that are turned together: those of a block stay in the nearest cache.
const BLOCK: usize = 32;

/// Turns `source` by a quarter, clockwise or the other way, into `out`, which has its columns as rows.
///
/// # Panics
/// Where `out` has not the size of the turned source.
pub fn quarter<S: Sample>(source: View<'_, S>, clockwise: bool, mut out: ViewMut<'_, S>) {
    let (width, height) = (source.width(), source.height());
    assert!(
        (out.width(), out.height()) == (height, width),
        "{width} × {height} samples turned into {} × {}",
        out.width(),
        out.height()
    );
    for top in (0..height).step_by(BLOCK) {
        for left in (0..width).step_by(BLOCK) {
            for y in top..(top + BLOCK).min(height) {
                let row = &source.row(y)[left..(left + BLOCK).min(width)];
                for (x, sample) in (left..).zip(row) {
                    if clockwise {
                        out.row_mut(x)[height - 1 - y] = *sample;
                    } else {
                        out.row_mut(width - 1 - x)[y] = *sample;
                    }
                }
            }
        }
    }
}
