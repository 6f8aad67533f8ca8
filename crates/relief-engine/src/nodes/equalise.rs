//! `equalise`: a source with its samples spread evenly over all levels, by its histogram.

use relief_design::kinds;
use relief_design::tree;
use relief_kernels::table;
use relief_raster::{Depth, Rect, Sample, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::device::Lower;
use crate::node::{
    Bounds, Filled, Inputs, Known, Link, Node, Periodic, Preparation, Resources, SamplesOf, Tile,
    read_padded, through,
};
#[cfg(feature = "gpu")]
use relief_kernels::fused::Expression;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Equalise;

impl Node for Equalise {
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

impl Preparation for Equalise {
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

    /// ⌊(M·(C(v) − C(v₀)) + ⌊D/2⌋) / D⌋ with C the samples up to v, v₀ the least sample and D all samples above it.
    fn finish(&self, depth: Depth, counters: &[u128]) -> Vec<u16> {
        let max = u128::from(depth.max());
        let total: u128 = counters.iter().sum();
        let least = counters.iter().copied().find(|count| *count > 0).unwrap_or(0);
        let above = total - least;
        let mut up_to = 0;
        let entry = |(level, count): (usize, &u128)| {
            up_to += count;
            // Levels below the least are not there; all that is one level stays as it is.
            let ranked = (max * up_to.saturating_sub(least) + above / 2).checked_div(above);
            ranked.map_or(level as u16, |sample| sample as u16)
        };
        counters.iter().enumerate().map(entry).collect()
    }
}

impl Tile for Equalise {
    type Design = kinds::Equalise;

    fn new(_: &kinds::Equalise, _: &tree::Node, _: &mut dyn Resources) -> Result<Self, Error> {
        Ok(Self)
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
