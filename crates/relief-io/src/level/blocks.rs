//! Exact figures of square blocks, gathered from the rows of a rectangle as they come.

use relief_engine::Statistic;
use relief_engine::sink::Samples;
use relief_raster::{Depth, Sample};

/// The most pixels of a block whose sum 64 bits hold, of samples of 16 bits.
pub(crate) const MAX_PIXELS: u128 = 1 << 48;

/// Figures of blocks of 2^shift × 2^shift pixels of a rectangle: sums, or the least or the greatest samples.
///
/// The border cuts the last blocks of rows and columns.
#[derive(Debug)]
pub(crate) struct Blocks {
    shift: u32,
    statistic: Statistic,
    /// Columns and rows of the rectangle.
    size: (u64, u64),
    /// Row by row of blocks.
    figures: Vec<u64>,
}

impl Blocks {
    /// For a rectangle of so many columns and rows, in memory that is used again.
    pub(crate) fn new(shift: u32, statistic: Statistic, size: (u64, u64), mut figures: Vec<u64>) -> Self {
        let count = size.0.div_ceil(1 << shift) * size.1.div_ceil(1 << shift);
        figures.clear();
        figures.resize(count as usize, start(statistic));
        Self {
            shift,
            statistic,
            size,
            figures,
        }
    }

    /// The memory of the figures.
    pub(crate) fn into_memory(self) -> Vec<u64> {
        self.figures
    }

    /// Columns of blocks.
    fn columns(&self) -> usize {
        self.size.0.div_ceil(1 << self.shift) as usize
    }

    /// Adds samples of row `y` that begin in column `x`.
    pub(crate) fn add(&mut self, x: u64, y: u64, samples: Samples<'_>) {
        let columns = self.columns();
        let row = (y >> self.shift) as usize * columns;
        let figures = &mut self.figures[row..row + columns];
        match samples {
            Samples::Eight(samples) => add(figures, self.shift, self.statistic, x, samples),
            Samples::Sixteen(samples) => add(figures, self.shift, self.statistic, x, samples),
        }
    }

    /// What the blocks of a row come to; every pixel of them must have been added.
    pub(crate) fn row<S: Sample>(&self, row: u64) -> impl Iterator<Item = S> + '_ {
        let side = 1_u64 << self.shift;
        let rows = side.min(self.size.1 - row * side);
        let columns = self.columns();
        let start = row as usize * columns;
        let (last, statistic) = (columns - 1, self.statistic);
        let last_columns = self.size.0 - last as u64 * side;
        let figures = &self.figures[start..start + columns];
        figures.iter().enumerate().map(move |(column, &figure)| {
            let columns = if column == last { last_columns } else { side };
            S::from_u16(value(statistic, figure, columns * rows))
        })
    }

    /// Has the rectangle end after so many rows.
    pub(crate) fn end_at(&mut self, rows: u64) {
        self.size.1 = rows;
    }

    /// Begins the row of blocks anew.
    pub(crate) fn clear(&mut self) {
        self.figures.fill(start(self.statistic));
    }
}

/// The figure of no samples.
const fn start(statistic: Statistic) -> u64 {
    match statistic {
        Statistic::Mean | Statistic::Greatest => 0,
        Statistic::Least => u64::MAX,
    }
}

/// The sample that a figure of `pixels` pixels comes to. Of a sum it is the mean, halves up.
pub(crate) fn value(statistic: Statistic, figure: u64, pixels: u64) -> u16 {
    match statistic {
        Statistic::Mean => mean(figure, pixels),
        // They are samples.
        Statistic::Least | Statistic::Greatest => figure as u16,
    }
}

/// ⌊(2·sum + n) / 2n⌋, at most M.
pub(crate) fn mean(sum: u64, pixels: u64) -> u16 {
    if pixels.is_power_of_two() {
        // Pixels are at most 2^48, and the sum is below 2^64.
        let shift = pixels.trailing_zeros();
        return ((u128::from(sum) + u128::from(pixels >> 1)) >> shift) as u16;
    }
    match sum.checked_mul(2).and_then(|twice| twice.checked_add(pixels)) {
        Some(above) => (above / (2 * pixels)) as u16,
        None => ((2 * u128::from(sum) + u128::from(pixels)) / (2 * u128::from(pixels))) as u16,
    }
}

fn add<S: Sample>(figures: &mut [u64], shift: u32, statistic: Statistic, x: u64, samples: &[S]) {
    let first = (x >> shift) as usize;
    // Up to the next block, then whole blocks and what is left.
    let side = 1_u64 << shift;
    let lead = ((side - x % side) % side).min(samples.len() as u64) as usize;
    let (lead, rest) = samples.split_at(lead);
    let mut at = first;
    if !lead.is_empty() {
        join(statistic, &mut figures[at], lead);
        at += 1;
    }
    let side = usize::try_from(side).unwrap_or(usize::MAX);
    if statistic == Statistic::Mean && shift == 1 {
        let (pairs, rest) = rest.as_chunks::<2>();
        for (figure, pair) in figures[at..].iter_mut().zip(pairs) {
            *figure += pair.iter().map(|&sample| u64::from(sample.to_u16())).sum::<u64>();
        }
        if !rest.is_empty() {
            join(statistic, &mut figures[at + pairs.len()], rest);
        }
        return;
    }
    for (figure, part) in figures[at..].iter_mut().zip(rest.chunks(side)) {
        join(statistic, figure, part);
    }
}

/// Joins samples of one row of a block to its figure.
fn join<S: Sample>(statistic: Statistic, figure: &mut u64, samples: &[S]) {
    let samples = samples.iter().map(|sample| sample.to_u16());
    match statistic {
        // A part of at most 2^16 samples has a sum of 32 bits.
        Statistic::Mean if samples.len() <= 1 << 16 => {
            *figure += u64::from(samples.map(u32::from).sum::<u32>());
        }
        Statistic::Mean => *figure += samples.map(u64::from).sum::<u64>(),
        Statistic::Least => {
            *figure = samples.min().map_or(*figure, |least| (*figure).min(least.into()));
        }
        Statistic::Greatest => {
            *figure = samples
                .max()
                .map_or(*figure, |greatest| (*figure).max(greatest.into()));
        }
    }
}

/// Samples of either depth, in memory that is used again.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) eight: Vec<u8>,
    pub(crate) sixteen: Vec<u16>,
}

impl Memory {
    /// The samples of the depth that was written.
    pub(crate) fn samples(&self, depth: Depth) -> Samples<'_> {
        match depth {
            Depth::Eight => Samples::Eight(&self.eight),
            Depth::Sixteen => Samples::Sixteen(&self.sixteen),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_mean_is_rounded_once_halves_up(pixels in 1_u64..(1 << 48), samples in 0_u64..=65_535, more in any::<u64>()) {
            let sum = (pixels * samples).saturating_sub(more % pixels);
            let exact = (2 * u128::from(sum) + u128::from(pixels)) / (2 * u128::from(pixels));
            prop_assert_eq!(u128::from(mean(sum, pixels)), exact);
        }

        /// Figures do not depend on how rows are cut.
        #[test]
        fn figures_are_those_of_their_pixels(
            (width, height) in (1_u64..70, 1_u64..20),
            shift in 1_u32..6,
            cuts in proptest::collection::vec(1_usize..40, 1..20),
            seed in any::<u64>(),
        ) {
            let sample = |x: u64, y: u64| ((x * 2_654_435_761 + y * 40_503 + seed % 1_000) >> 3) as u16;
            for statistic in [Statistic::Mean, Statistic::Least, Statistic::Greatest] {
                let mut blocks = Blocks::new(shift, statistic, (width, height), Vec::new());
                for y in 0..height {
                    let row: Vec<u16> = (0..width).map(|x| sample(x, y)).collect();
                    let (mut from, mut cuts) = (0, cuts.iter().cycle());
                    while from < row.len() {
                        let end = row.len().min(from + cuts.next().unwrap());
                        blocks.add(from as u64, y, Samples::Sixteen(&row[from..end]));
                        from = end;
                    }
                }
                for row in 0..height.div_ceil(1 << shift) {
                    for (column, found) in (0..).zip(blocks.row::<u16>(row)) {
                        let range = |at: u64, all: u64| at << shift..all.min((at + 1) << shift);
                        let pixels: Vec<u64> = range(row, height)
                            .flat_map(|y| range(column, width).map(move |x| u64::from(sample(x, y))))
                            .collect();
                        let n = pixels.len() as u64;
                        let expected = match statistic {
                            Statistic::Mean => (2 * pixels.iter().sum::<u64>() + n) / (2 * n),
                            Statistic::Least => *pixels.iter().min().unwrap(),
                            Statistic::Greatest => *pixels.iter().max().unwrap(),
                        };
                        prop_assert_eq!(u64::from(found), expected);
                    }
                }
            }
        }
    }
}
