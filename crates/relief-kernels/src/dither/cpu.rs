//! Ordered dithering on the CPU.

use relief_raster::Sample;

use crate::isa::{Isa, versions};

/// Dithers a row: `levels` are those of a row of the matrix, each of `spot` pixels, and repeat. The first sample is pixel `start` of them.
///
/// # Panics
/// Where there are no levels, or a spot has no pixel.
pub fn row<S: Sample>(samples: &mut [S], levels: &[S], spot: u64, start: u64) {
    let isa = Isa::best();
    let place = (start / spot % levels.len() as u64) as usize;
    if spot == 1 {
        // Up to the end of the matrix, then whole rows of it.
        let first = samples.len().min(levels.len() - place);
        let (first, rest) = samples.split_at_mut(first);
        reach(isa, first, &levels[place..]);
        for samples in rest.chunks_mut(levels.len()) {
            reach(isa, samples, levels);
        }
        return;
    }
    let mut levels = levels.iter().cycle().skip(place);
    // The first spot may have begun before.
    let mut rest = samples;
    let mut count = spot - start % spot;
    while !rest.is_empty() {
        let (samples, after) =
            rest.split_at_mut(rest.len().min(usize::try_from(count).unwrap_or(usize::MAX)));
        if let Some(level) = levels.next() {
            for sample in samples {
                *sample = if *sample >= *level { S::MAX } else { S::ZERO };
            }
        }
        rest = after;
        count = spot;
    }
}

versions! {
    fn reach<S: Sample>(samples: &mut [S], levels: &[S]) {
        for (sample, level) in samples.iter_mut().zip(levels) {
            *sample = if *sample >= *level { S::MAX } else { S::ZERO };
        }
    }
}
