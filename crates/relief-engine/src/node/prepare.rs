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

    /// Whether the sums depend on where samples lie: then they are gathered by [`gather_row`](Self::gather_row), and the whole child is looked at even where
    /// it repeats.
    fn is_placed(&self) -> bool {
        false
    }

    /// Adds samples of a row from the place (x, y) on, in the coordinates of the node that is prepared.
    fn gather_row(&self, samples: SamplesOf<'_>, _place: (i64, i64), counters: &mut [u128]) {
        self.gather(samples, 1, counters);
    }

    /// The table that the sums give: of M + 1 samples, each at most M. Numbers of another kind stand in it byte by byte.
    fn finish(&self, depth: Depth, counters: &[u128]) -> Vec<u16>;
}
