//! Memory for what a tile needs on the way.
//!
//! Every worker owns one run of words, as long as the plan says. A node carves what it needs off the front and
//! hands the rest to its children, so that nothing is allocated while pixels are computed and the peak is known.

use relief_raster::Sample;

/// How many words hold `samples` samples of `bytes` bytes.
pub(crate) const fn words(samples: u64, bytes: u64) -> u64 {
    match samples.checked_mul(bytes) {
        Some(total) => total.div_ceil(8),
        None => u64::MAX,
    }
}

/// `samples` samples off the front of `scratch`, and what is left of it.
///
/// # Panics
/// Where the scratch is too short: the plan sized it wrongly, which is a defect.
pub(crate) fn carve<S: Sample>(scratch: &mut [u64], samples: usize) -> (&mut [S], &mut [u64]) {
    let count = words(samples as u64, S::DEPTH.bytes()) as usize;
    assert!(
        count <= scratch.len(),
        "the plan gave {} words of scratch, {count} are needed",
        scratch.len()
    );
    let (front, rest) = scratch.split_at_mut(count);
    (&mut bytemuck::cast_slice_mut(front)[..samples], rest)
}
