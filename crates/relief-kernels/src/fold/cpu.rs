//! Folds on the CPU.

use relief_raster::{Sample, View, ViewMut};

use super::Fold;

/// Folds every sample of `v` into that of `acc`.
///
/// # Panics
/// Where the sizes differ.
pub fn fold<S: Sample>(op: Fold, mut acc: ViewMut<'_, S>, v: View<'_, S>) {
    assert_eq!(
        (acc.width(), acc.height()),
        (v.width(), v.height()),
        "views of different sizes"
    );
    for y in 0..acc.height() {
        for (acc, v) in acc.row_mut(y).iter_mut().zip(v.row(y)) {
            *acc = op.apply(*acc, *v);
        }
    }
}

/// Folds the same sample into every sample of `acc`.
pub fn fold_uniform<S: Sample>(op: Fold, mut acc: ViewMut<'_, S>, value: S) {
    for y in 0..acc.height() {
        for acc in acc.row_mut(y) {
            *acc = op.apply(*acc, value);
        }
    }
}
