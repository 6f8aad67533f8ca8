//! Kinds that look every sample up in a table that follows from the histogram of their whole source.

use std::fmt::Debug;
use std::hash::Hash;

use relief_design::tree;
#[cfg(feature = "gpu")]
use relief_kernels::fused::Expression;
use relief_kernels::table;
use relief_raster::{Depth, Rect, Sample, ViewMut};

#[cfg(feature = "gpu")]
use super::device::Lower;
use super::{
    Bounds, Filled, Inputs, Known, Link, Node, Periodic, Preparation, Resources, SamplesOf, Tile,
    read_padded, through,
};
use crate::Error;

/// How a table follows from a histogram.
pub(crate) trait Law: Clone + Debug + PartialEq + Eq + Hash + Sync {
    /// The kind in the design.
    type Design;

    /// The law of a kind.
    fn new(kind: &Self::Design) -> Self;

    /// The entries for all levels, at most M, by how many samples there are of each; M is `max`.
    fn table(&self, max: u16, counts: &[u128]) -> Vec<u16>;
}

/// A law as a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ByHistogram<L>(L);

impl<L: Law> Node for ByHistogram<L> {
    fn period(&self, own: Rect, links: &[Link], children: &[Option<Periodic>]) -> Option<Periodic> {
        through(own, links, children)
    }

    fn bounds(&self, known: &dyn Known, links: &[Link], rect: Rect) -> Bounds {
        known.prepared(known.child(&links[0], rect))
    }

    fn cost(&self) -> u64 {
        2
    }

    fn preparation(&self) -> Option<&dyn Preparation> {
        Some(self)
    }

    #[cfg(feature = "gpu")]
    fn expression(&self, lower: &dyn Lower, links: &[Link]) -> Result<Expression, Error> {
        Ok(Expression::Table {
            table: lower.prepared()?,
            source: Box::new(lower.read(&links[0])?),
        })
    }
}

impl<L: Law> Preparation for ByHistogram<L> {
    /// One for every level.
    fn counters(&self, depth: Depth) -> usize {
        usize::from(depth.max()) + 1
    }

    fn gather(&self, samples: SamplesOf<'_>, times: u128, counters: &mut [u128]) {
        match samples {
            SamplesOf::Eight(samples) => {
                // Four at a time, so that equal neighbours do not wait for each other.
                let mut counts = [[0_u32; 256]; 4];
                for part in samples.chunks(1 << 24) {
                    for four in part.chunks(4) {
                        for (count, sample) in counts.iter_mut().zip(four) {
                            count[usize::from(*sample)] += 1;
                        }
                    }
                    for (level, counter) in counters.iter_mut().enumerate() {
                        let count: u128 = counts.iter().map(|count| u128::from(count[level])).sum();
                        *counter += count * times;
                    }
                    counts = [[0; 256]; 4];
                }
            }
            SamplesOf::Sixteen(samples) => {
                for sample in samples {
                    counters[usize::from(*sample)] += times;
                }
            }
        }
    }

    fn finish(&self, depth: Depth, counters: &[u128]) -> Vec<u16> {
        self.0.table(depth.max(), counters)
    }
}

impl<L: Law> Tile for ByHistogram<L> {
    type Design = L::Design;

    fn new(kind: &L::Design, _: &tree::Node, _: &mut dyn Resources) -> Result<Self, Error> {
        Ok(Self(L::new(kind)))
    }

    fn tile<S: Sample>(
        &self,
        inputs: &dyn Inputs<S>,
        links: &[Link],
        rect: Rect,
        mut out: ViewMut<'_, S>,
        scratch: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        let table = inputs.prepared()?;
        Ok(
            match read_padded(inputs, &links[0], rect, out.reborrow(), scratch)? {
                Filled::Uniform(value) => Filled::Uniform(table[usize::from(value.to_u16())]),
                Filled::Written => {
                    table::cpu::apply(table, out);
                    Filled::Written
                }
            },
        )
    }
}
