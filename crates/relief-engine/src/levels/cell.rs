//! Sums of a raster of which one cell is held.
//!
//! With steps a, b, c ([`Period`]) and g = gcd(a, b), rows repeat every c·a/g. So the sums of the blocks of a column of blocks are
//! differences of sums over rows, of which no more have to be made than that, each from the sums of the row of the cell.

use relief_raster::{Period, Sample, View};

use crate::node::Summary;
use crate::node::{Bounds, Grid};

/// The most samples of a cell of which sums are made.
pub(crate) const MOST_SAMPLES: u64 = 1 << 18;

/// The most rows that are summed for a column of blocks.
const MOST_ROWS: u128 = 1 << 17;

/// The sums of the rows of a cell, each sample taken as a number.
pub(crate) struct RowSums {
    period: Period,
    /// Rows after which everything repeats.
    high: u128,
    /// For every row those of the samples before each column; one more than there are columns.
    before: Vec<u64>,
    /// Those of the rows before each.
    rows: Vec<u64>,
}

const fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl RowSums {
    /// The bytes of those of a cell.
    pub(crate) fn bytes(period: &Period) -> u64 {
        let row = period.a().saturating_add(1).saturating_mul(8);
        row.saturating_add(8).saturating_mul(period.c()).saturating_add(8)
    }

    /// The bytes that it holds.
    pub(crate) fn held(&self) -> u64 {
        Self::bytes(&self.period)
    }

    pub(crate) fn of<S: Sample>(period: Period, cell: View<'_, S>, number: impl Fn(S) -> u64) -> Self {
        let mut before = Vec::with_capacity((cell.width() + 1) * cell.height());
        let mut rows = vec![0];
        let mut total = 0;
        for row in cell.rows() {
            let mut sum = 0;
            before.push(0);
            for sample in row {
                sum += number(*sample);
                before.push(sum);
            }
            total += sum;
            rows.push(total);
        }
        Self {
            high: u128::from(period.a() / gcd(period.a(), period.b())) * u128::from(period.c()),
            period,
            before,
            rows,
        }
    }

    /// Calls `take` with the sum of each block between two columns, row by row of blocks; places count from the top-left of a cell.
    /// `false` where that takes too long.
    pub(crate) fn column(
        &self,
        (left, right): (i64, i64),
        ys: &[i64],
        mut take: impl FnMut(usize, u128),
    ) -> bool {
        let (a, b, c) = (self.period.a(), self.period.b(), self.period.c());
        let (first, end) = (ys[0], ys[ys.len() - 1]);
        let count = u128::from(end.abs_diff(first)).min(self.high);
        let (copies, rest) = (right.abs_diff(left) / a, (right.abs_diff(left) % a) as usize);
        if rest > 0 && count > MOST_ROWS {
            return false;
        }
        let (a, c) = (i128::from(a), i128::from(c));
        let pitch = a as usize + 1;
        let mut sums = vec![0_u64];
        if rest > 0 {
            let (mut band, mut row) = (i128::from(first).div_euclid(c), i128::from(first).rem_euclid(c));
            let start =
                |band: i128| (i128::from(left) - band.rem_euclid(a) * i128::from(b)).rem_euclid(a) as usize;
            let mut from = start(band);
            let mut sum = 0;
            sums.reserve(count as usize);
            for _ in 0..count {
                let before = &self.before[row as usize * pitch..][..pitch];
                let to = from + rest;
                sum += match to.checked_sub(pitch - 1) {
                    Some(wrapped) => before[pitch - 1] - before[from] + before[wrapped],
                    None => before[to] - before[from],
                };
                sums.push(sum);
                row += 1;
                if row == c {
                    (band, row) = (band + 1, 0);
                    from = start(band);
                }
            }
        }
        let total = u128::from(self.rows[self.rows.len() - 1]);
        let whole = |y: i64| {
            let y = (i128::from(y) - i128::from(first).div_euclid(c) * c) as u128;
            y / c as u128 * total + u128::from(self.rows[(y % c as u128) as usize])
        };
        let part = |y: i64| match sums.last() {
            Some(all) if rest > 0 && count > 0 => {
                let y = u128::from(y.abs_diff(first));
                y / count * u128::from(*all) + u128::from(sums[(y % count) as usize])
            }
            _ => 0,
        };
        let to = |y: i64| u128::from(copies) * whole(y) + part(y);
        let mut above = to(first);
        for (place, y) in ys[1..].iter().enumerate() {
            let below = to(*y);
            take(place, below - above);
            above = below;
        }
        true
    }
}

/// What is known of a kept cell.
pub(crate) struct CellSums {
    pub(crate) period: Period,
    samples: RowSums,
    zeros: RowSums,
    least: u16,
    greatest: u16,
}

impl CellSums {
    /// The bytes of those of a cell; 0 for one of which none are made.
    pub(crate) fn bytes(period: &Period) -> u64 {
        RowSums::bytes(period).saturating_mul(2)
    }

    pub(crate) fn of<S: Sample>(period: Period, cell: View<'_, S>) -> Self {
        let all = || cell.rows().flatten().map(|sample| sample.to_u16());
        Self {
            period,
            samples: RowSums::of(period, cell, |sample| sample.to_u16().into()),
            zeros: RowSums::of(period, cell, |sample| u64::from(sample == S::ZERO)),
            least: all().min().unwrap_or(0),
            greatest: all().max().unwrap_or(0),
        }
    }

    pub(crate) const fn bounds(&self) -> Bounds {
        Bounds {
            least: self.least,
            greatest: self.greatest,
        }
    }

    /// Calls `take` with what is known of every block of `grid`, whose places count from the top-left of a cell.
    pub(crate) fn blocks(&self, grid: Grid<'_>, zeros: bool, mut take: impl FnMut(usize, Summary)) {
        let (columns, rows) = (grid.columns(), grid.rows());
        let mut empty = vec![0; rows];
        for column in 0..columns {
            let sides = (grid.xs[column], grid.xs[column + 1]);
            let zeros = self.least == 0 && zeros;
            let known = zeros && self.zeros.column(sides, grid.ys, |row, sum| empty[row] = sum);
            let mut one = |row: usize, sum: Option<u128>| {
                let rect = grid.rect(row * columns + column);
                let all = rect.width() >= self.period.a() && rect.height() >= self.period.c();
                // Every sample of the cell stands in as many columns and rows as it has.
                let mut summary = match sum {
                    Some(sum) if all => Summary::exact(rect.area(), sum, 0, self.least, self.greatest),
                    Some(sum) => Summary::within(self.bounds(), rect.area()).of_exactly(sum),
                    None => Summary::within(self.bounds(), rect.area()),
                };
                summary.zeros = match self.least {
                    0 if known => (empty[row], empty[row]),
                    0 => (0, rect.area()),
                    _ => (0, 0),
                };
                take(row * columns + column, summary);
            };
            if !self
                .samples
                .column(sides, grid.ys, |row, sum| one(row, Some(sum)))
            {
                (0..rows).for_each(|row| one(row, None));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn sums_are_those_of_every_pixel(
            u in (1..9_i64, -9..9_i64),
            v in (-9..9_i64, 1..9_i64),
            mut xs in proptest::collection::vec(-60..60_i64, 2..5),
            mut ys in proptest::collection::vec(-90..90_i64, 2..5),
            seed in any::<u64>(),
        ) {
            let Some(period) = Period::spanned(u, v) else { return Ok(()) };
            let (a, c) = (period.a() as usize, period.c() as usize);
            let samples: Vec<u8> = (0..a * c)
                .map(|i| ((seed ^ i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 50) as u8 & if seed % 2 == 0 { 1 } else { 255 })
                .collect();
            let cell = View::packed(&samples, a, c);
            xs.sort_unstable();
            ys.sort_unstable();
            let grid = Grid { xs: &xs, ys: &ys };
            let mut all = vec![None; grid.len()];
            CellSums::of(period, cell).blocks(grid, true, |place, summary| all[place] = Some(summary));
            for (found, rect) in all.into_iter().zip(grid.rects()) {
                let found = found.unwrap();
                let (mut sum, mut zeros, mut least, mut greatest) = (0_u128, 0_u128, u16::MAX, 0);
                for y in rect.y()..rect.bottom() {
                    for x in rect.x()..rect.right() {
                        let (column, row) = period.reduce(x, y);
                        let sample = u16::from(samples[row as usize * a + column as usize]);
                        sum += u128::from(sample);
                        zeros += u128::from(sample == 0);
                        least = least.min(sample);
                        greatest = greatest.max(sample);
                    }
                }
                prop_assert_eq!(found.pixels, rect.area());
                prop_assert_eq!(found.sum, (sum, sum));
                prop_assert_eq!(found.zeros, (zeros, zeros));
                if !rect.is_empty() {
                    prop_assert!(found.least.0 <= least && least <= found.least.1);
                    prop_assert!(found.greatest.0 <= greatest && greatest <= found.greatest.1);
                }
                if rect.width() >= period.a() && rect.height() >= period.c() {
                    prop_assert!(found.is_exact());
                }
            }
        }
    }
}
