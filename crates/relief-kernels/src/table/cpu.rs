//! Tables on the CPU.

use relief_raster::{Sample, View, ViewMut};

/// Replaces every sample v by `table[v]`.
///
/// # Panics
/// Where the table has not M + 1 entries.
pub fn apply<S: Sample>(table: &[S], mut samples: ViewMut<'_, S>) {
    for y in 0..samples.height() {
        for sample in samples.row_mut(y) {
            *sample = table[usize::from(sample.to_u16())];
        }
    }
}

/// Writes `table[v]` for every sample v of `source`.
///
/// # Panics
/// Where the table has not M + 1 entries or the sizes differ.
pub fn map<S: Sample>(table: &[S], source: View<'_, S>, mut out: ViewMut<'_, S>) {
    out.copy_from(source);
    apply(table, out);
}

/// Replaces every sample v by M where v ≥ `level`, else by 0.
pub fn threshold<S: Sample>(level: S, mut samples: ViewMut<'_, S>) {
    for y in 0..samples.height() {
        for sample in samples.row_mut(y) {
            *sample = if *sample >= level { S::MAX } else { S::ZERO };
        }
    }
}
