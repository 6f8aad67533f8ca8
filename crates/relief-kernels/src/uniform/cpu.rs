//! Uniform on the CPU.

use relief_raster::{Sample, View};

use crate::isa::{Isa, versions};

/// The sample that all samples of `view` are, or `None` where two differ or there is none.
///
/// Stops at the first block of a row that holds another sample.
#[must_use]
pub fn value<S: Sample>(view: View<'_, S>) -> Option<S> {
    if view.width() == 0 || view.height() == 0 {
        return None;
    }
    let first = view.row(0)[0];
    let isa = Isa::best();
    view.rows().all(|row| all_equal(isa, row, first)).then_some(first)
}

/// Samples compared between two looks at the outcome.
const BLOCK: usize = 1024;

versions! {
    fn all_equal<S: Sample>(row: &[S], value: S) -> bool {
        // Without a branch inside a block the compiler compares whole vectors.
        row.chunks(BLOCK)
            .all(|block| block.iter().fold(true, |same, sample| same & (*sample == value)))
    }
}
