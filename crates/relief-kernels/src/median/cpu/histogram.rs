//! By a histogram of the square, which slides to and fro along the rows.
//!
//! It has two levels: of buckets, each of as many values as there are buckets, and of values. The bucket that holds the
//! result is kept from pixel to pixel with the number of samples before it, so that it is found in few steps where
//! neighbours are alike, and never in more than there are buckets.

use relief_raster::{Depth, Sample, View, ViewMut};

use crate::median::Rank;

/// Values of a bucket that are summed together before one of them is looked for.
const GROUP: usize = 16;

/// Buckets at this depth, and values of each.
const fn buckets(depth: Depth) -> usize {
    1 << (depth.bits() / 2)
}

/// Words of memory for [`filter`]: the counts of all values and of all buckets, of 16 bits.
pub(super) const fn words(depth: Depth) -> usize {
    (buckets(depth) * buckets(depth) + buckets(depth)) / 4
}

struct Histogram<'s> {
    /// How many samples have each value; at most 33².
    values: &'s mut [u16],
    /// How many samples lie in each bucket.
    buckets: &'s mut [u16],
    /// Bits of a value that tell values of a bucket apart.
    low: u32,
    /// The bucket that held the last result.
    at: usize,
    /// How many samples lie in buckets before it.
    before: u16,
}

impl<'s> Histogram<'s> {
    /// An empty one.
    fn new(depth: Depth, scratch: &'s mut [u64]) -> Self {
        scratch.fill(0);
        let counts: &mut [u16] = bytemuck::cast_slice_mut(scratch);
        let (values, buckets) = counts.split_at_mut(counts.len() - buckets(depth));
        Self {
            values,
            buckets,
            low: depth.bits() / 2,
            at: 0,
            before: 0,
        }
    }

    /// Adds so many samples of this value, modulo 2^16.
    #[inline(always)]
    fn add(&mut self, sample: u16, count: u16) {
        let value = usize::from(sample);
        let bucket = value >> self.low;
        self.values[value] = self.values[value].wrapping_add(count);
        self.buckets[bucket] = self.buckets[bucket].wrapping_add(count);
        let counts = if bucket < self.at { count } else { 0 };
        self.before = self.before.wrapping_add(counts);
    }

    /// The `rank`-th smallest of at least so many samples.
    #[inline(always)]
    fn find(&mut self, rank: u16) -> u16 {
        while self.before >= rank {
            self.at -= 1;
            self.before -= self.buckets[self.at];
        }
        while self.before + self.buckets[self.at] < rank {
            self.before += self.buckets[self.at];
            self.at += 1;
        }
        let mut below = self.before;
        let first = self.at << self.low;
        let values = &self.values[first..first + (1 << self.low)];
        for (number, group) in values.chunks_exact(GROUP).enumerate() {
            let after = below + group.iter().sum::<u16>();
            if after < rank {
                below = after;
                continue;
            }
            for (value, count) in group.iter().enumerate() {
                below += count;
                if below >= rank {
                    // Below 2^16: it lies in a bucket.
                    return (first + number * GROUP + value) as u16;
                }
            }
        }
        unreachable!("a bucket holds the samples that were counted into it")
    }
}

const ONE_MORE: u16 = 1;
const ONE_LESS: u16 = u16::MAX;

/// Filters a block of samples that reaches R further than `out` on every side.
pub(super) fn filter<S: Sample>(
    source: View<'_, S>,
    rank: Rank,
    mut out: ViewMut<'_, S>,
    scratch: &mut [u64],
) {
    let side = 2 * rank.radius() + 1;
    let (width, height) = (out.width(), out.height());
    if width == 0 {
        return;
    }
    let mut histogram = Histogram::new(S::DEPTH, scratch);
    let add_row = |histogram: &mut Histogram<'_>, x: usize, y: usize, count: u16| {
        for sample in &source.row(y)[x..x + side] {
            histogram.add(sample.to_u16(), count);
        }
    };
    let add_column = |histogram: &mut Histogram<'_>, x: usize, y: usize, count: u16| {
        for y in y..y + side {
            histogram.add(source.row(y)[x].to_u16(), count);
        }
    };
    let mut x = 0;
    for y in 0..height {
        if y == 0 {
            for row in 0..side {
                add_row(&mut histogram, x, row, ONE_MORE);
            }
        } else {
            add_row(&mut histogram, x, y - 1, ONE_LESS);
            add_row(&mut histogram, x, y + side - 1, ONE_MORE);
        }
        let row = out.row_mut(y);
        row[x] = S::from_u16(histogram.find(rank.rank));
        if y % 2 == 0 {
            while x + 1 < width {
                add_column(&mut histogram, x, y, ONE_LESS);
                add_column(&mut histogram, x + side, y, ONE_MORE);
                x += 1;
                row[x] = S::from_u16(histogram.find(rank.rank));
            }
        } else {
            while x > 0 {
                add_column(&mut histogram, x + side - 1, y, ONE_LESS);
                add_column(&mut histogram, x - 1, y, ONE_MORE);
                x -= 1;
                row[x] = S::from_u16(histogram.find(rank.rank));
            }
        }
    }
}
