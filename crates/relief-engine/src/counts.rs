//! How often each sample stands in a part of a raster: exactly, or between which numbers.

use std::collections::BTreeMap;

use relief_raster::Depth;

use crate::node::{Bounds, Summary};

/// The most different bounds that are told apart before they are made coarser.
const MOST_OPEN: usize = 1 << 12;

/// A histogram of which a part may only be known within bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    pixels: u128,
    known: Vec<u128>,
    /// How many pixels are only known to lie between two samples.
    open: BTreeMap<(u16, u16), u128>,
}

impl Counts {
    pub(crate) fn new(depth: Depth) -> Self {
        Self {
            pixels: 0,
            known: vec![0; usize::from(depth.max()) + 1],
            open: BTreeMap::new(),
        }
    }

    /// The most bytes that counting holds beside what the plan of a job with so many threads counts.
    #[must_use]
    pub fn memory(depth: Depth, threads: usize) -> u64 {
        let entries = u64::from(depth.max()) + 1;
        // Those of the threads, their sum, and what is looked at.
        entries * 16 * (threads as u64 + 3) + (8 << 20)
    }

    pub(crate) fn add(&mut self, sample: u16, times: u128) {
        self.pixels += times;
        self.known[usize::from(sample)] += times;
    }

    pub(crate) fn add_within(&mut self, bounds: Bounds, times: u128) {
        if bounds.least == bounds.greatest {
            return self.add(bounds.least, times);
        }
        self.pixels += times;
        *self.open.entry((bounds.least, bounds.greatest)).or_default() += times;
        if self.open.len() > MOST_OPEN && self.known.len() > 256 {
            let max = (self.known.len() - 1) as u16;
            for ((least, greatest), times) in std::mem::take(&mut self.open) {
                let coarse = (least & !255, (greatest | 255).min(max));
                *self.open.entry(coarse).or_default() += times;
            }
        }
    }

    /// How many pixels there are.
    #[must_use]
    pub const fn pixels(&self) -> u128 {
        self.pixels
    }

    /// How many of them are known exactly.
    #[must_use]
    pub fn known(&self) -> u128 {
        self.known.iter().sum()
    }

    /// Whether all of them are.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.open.is_empty()
    }

    /// How often each sample, from 0 to the greatest of the depth, stands there at least.
    #[must_use]
    pub fn least(&self) -> &[u128] {
        &self.known
    }

    /// How often each sample stands there at most.
    #[must_use]
    pub fn most(&self) -> Vec<u128> {
        let mut changes = vec![(0_u128, 0_u128); self.known.len() + 1];
        for ((least, greatest), times) in &self.open {
            changes[usize::from(*least)].0 += times;
            changes[usize::from(*greatest) + 1].1 += times;
        }
        let mut open = 0;
        self.known
            .iter()
            .zip(changes)
            .map(|(known, (more, less))| {
                open = open + more - less;
                known + open
            })
            .collect()
    }

    /// What follows for the samples together.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let all = Summary::of_counts(&self.known);
        self.open.iter().fold(all, |all, ((least, greatest), times)| {
            all.and(Summary::within(Bounds::between(*least, *greatest), *times))
        })
    }
}
