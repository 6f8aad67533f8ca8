//! Repeat on the CPU.

use relief_raster::{Period, Sample, View, ViewMut};

/// Writes the raster of this period whose cell is `cell`: `out(i, j)` is its sample at (x + i, y + j).
///
/// Samples of the cell of `period.a()` × `period.c()` that lie outside `cell` are 0; samples of `cell` outside the
/// cell of the period are not used.
pub fn expand<S: Sample>(cell: View<'_, S>, period: Period, x: i64, y: i64, mut out: ViewMut<'_, S>) {
    for j in 0..out.height() {
        for i in 0..out.width() {
            let (column, row) = period.reduce(x + i as i64, y + j as i64);
            out.row_mut(j)[i] = if column < cell.width() as u64 && row < cell.height() as u64 {
                cell.row(row as usize)[column as usize]
            } else {
                S::ZERO
            };
        }
    }
}
