//! `convolve`: sums of samples times the numbers of a kernel.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::gauss::Edge;
use super::{Node, Weighted, around, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Item, Model};
use crate::oracle::strategy::Inner;

#[derive(Clone, Debug)]
pub(crate) struct Convolve {
    /// Rows of weights.
    pub(crate) kernel: Vec<Vec<i64>>,
    pub(crate) divisor: Option<i64>,
    pub(crate) offset: i64,
    pub(crate) edge: Edge,
    pub(crate) source: Box<Item>,
}

impl Convolve {
    fn divisor(&self) -> i64 {
        let sum = self.kernel.iter().flatten().sum::<i64>();
        self.divisor.unwrap_or(if sum > 0 { sum } else { 1 })
    }
}

impl Node for Convolve {
    const NAME: &'static str = "convolve";

    one_child!(source);

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        let row = |row: &Vec<i64>| row.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let rows: Vec<String> = self.kernel.iter().map(row).collect();
        let divisor = self
            .divisor
            .map_or(String::new(), |divisor| format!(" divisor={divisor}"));
        format!(
            " \"{}\"{divisor} offset={} edge=\"{}\"",
            rows.join("; "),
            self.offset,
            self.edge.name()
        )
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let (across, down) = (self.kernel[0].len() as i64 / 2, self.kernel.len() as i64 / 2);
        let sum: i64 = around(at, self.edge, across, down)
            .iter()
            .map(|(dx, dy, sample)| self.kernel[(dy + down) as usize][(dx + across) as usize] * sample)
            .sum();
        // Halves go up.
        let twice = 2 * sum + (2 * self.offset + 1) * self.divisor();
        let sample = twice.div_euclid(2 * self.divisor());
        u16::try_from(sample.clamp(0, i64::from(at.max()))).unwrap()
    }

    fn branches(max: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let half = || prop_oneof![8 => 0_usize..=1, 1 => 2_usize..=7];
        let kernel = (half(), half()).prop_flat_map(|(across, down)| {
            let weight = prop_oneof![2 => Just(0_i64), 6 => -4_i64..=8, 1 => -32_767_i64..=32_767];
            vec(vec(weight, 2 * across + 1), 2 * down + 1)
        });
        let divisor = proptest::option::of(prop_oneof![1_i64..20, 1_i64..=1 << 30]);
        let offset = prop_oneof![2 => Just(0), 1 => -i64::from(max)..=i64::from(max)];
        let any = (
            kernel,
            divisor,
            offset,
            select(&Edge::ALL[..]),
            inner.item.clone(),
        )
            .prop_map(|(kernel, divisor, offset, edge, source)| Self {
                kernel,
                divisor,
                offset,
                edge,
                source: Box::new(source),
            });
        Some((1, any.boxed()))
    }
}
