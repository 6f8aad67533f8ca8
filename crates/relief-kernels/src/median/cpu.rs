//! Ranks on the CPU, in two ways to the same samples: bit by bit for small squares, by a histogram for great ones.

mod bits;
mod histogram;

use relief_raster::{Depth, Sample, View, ViewMut};

use super::Rank;
use crate::isa::Isa;

/// The greatest radius at which going bit by bit is the faster way.
const fn bits_up_to(depth: Depth) -> usize {
    match depth {
        Depth::Eight => 6,
        Depth::Sixteen => 3,
    }
}

/// The least result, in samples, for which a histogram is worth being emptied.
const LEAST: usize = 256;

/// Words of scratch memory for [`filter`] at this depth.
#[must_use]
pub const fn scratch_words(depth: Depth, rank: Rank) -> usize {
    if rank.radius as usize <= bits_up_to(depth) {
        0
    } else {
        histogram::words(depth)
    }
}

/// Filters a block of samples into `out`, which has R fewer columns and rows on every side.
///
/// # Panics
/// Where `source` has not 2R columns and rows more than `out`, or `scratch` is shorter than [`scratch_words`].
pub fn filter<S: Sample>(source: View<'_, S>, rank: Rank, out: ViewMut<'_, S>, scratch: &mut [u64]) {
    let reach = 2 * rank.radius();
    let (width, height) = (out.width(), out.height());
    assert!(
        source.width() == width + reach && source.height() == height + reach,
        "a block of {} × {} samples for a result of {width} × {height} and a radius of {}",
        source.width(),
        source.height(),
        rank.radius()
    );
    let scratch = &mut scratch[..scratch_words(S::DEPTH, rank)];
    if scratch.is_empty() || width * height < LEAST {
        bits::filter(Isa::best(), source, rank, out);
    } else {
        histogram::filter(source, rank, out, scratch);
    }
}

#[cfg(test)]
pub(super) mod ways {
    use super::*;

    /// Both ways, whatever the radius and the size.
    pub(in super::super) fn each<S: Sample>(
        source: View<'_, S>,
        rank: Rank,
        (width, height): (usize, usize),
        mut test: impl FnMut(&str, &[S]),
    ) {
        let mut out = vec![S::from_u16(77); width * height];
        Isa::each(|| {
            let isa = Isa::best();
            bits::filter(isa, source, rank, ViewMut::packed(&mut out, width, height));
            test(&format!("bit by bit, {isa:?}"), &out);
            out.fill(S::from_u16(78));
        });
        // What is left in the memory does not matter.
        let mut scratch = vec![0xA5A5_A5A5_A5A5_A5A5; histogram::words(S::DEPTH)];
        histogram::filter(source, rank, ViewMut::packed(&mut out, width, height), &mut scratch);
        test("by a histogram", &out);
    }
}
