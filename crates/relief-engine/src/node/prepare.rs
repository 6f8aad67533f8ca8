//! What a node must know of a whole child before its first sample is computed.

use relief_raster::Depth;

use super::SamplesOf;

/// Exact sums over samples. Greater than any sum over the largest raster, of 2^80 samples, of their fourth powers of
/// coordinates or samples.
pub(crate) type Counters = Vec<u128>;

/// Sums over all samples of a node's first child within the node, and what becomes of them: a table of samples.
///
/// Counters are summed over disjoint parts of the child in any order, on any number of threads.
pub(crate) trait Preparation: Sync {
    /// The number of counters for samples of this depth.
    fn counters(&self, depth: Depth) -> usize;

    /// Adds the samples of one row, each of them `times` times.
    fn gather(&self, samples: SamplesOf<'_>, times: u128, counters: &mut [u128]);

    /// The table that the sums give: of M + 1 samples, each at most M.
    fn finish(&self, depth: Depth, counters: &[u128]) -> Vec<u16>;
}
