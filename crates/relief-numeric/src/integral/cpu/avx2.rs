//! Sixteen floats of a row at a time, added to what their columns have.

use crate::scan::cpu::GROUP;
use crate::scan::cpu::avx2::{all, first, last_float, load, plus, scan_floats, store};

/// Sums of floats.
#[target_feature(enable = "avx2")]
pub(super) fn add_floats(row: &[f32], before: f32, columns: &mut [f32]) -> f32 {
    let mut run = all(before);
    let mut group = |samples: &[f32; GROUP], columns: &mut [f32; GROUP]| {
        let sums = scan_floats(load(samples));
        store(plus(load(columns), plus(run, sums)), columns);
        run = plus(run, last_float(sums));
    };
    super::each(row, columns, &mut group);
    first(run)
}
