//! Sums of a raster of which one cell is held.
//!
//! With steps a, b, c ([`Period`]) and g = gcd(a, b), bands of c rows repeat after a/g of them. So the sums of the blocks of a column of
//! blocks are differences of sums over bands, of which no more have to be made than that, each from two sums of the cell; what is left of
//! a band is two more (F. C. Crow, *Summed-area tables for texture mapping*, 1984).

use relief_raster::{Period, Sample, View};

use crate::node::{Bounds, Grid, Summary, quotient};

/// The most samples of a cell of which sums are made.
pub(crate) const MOST_SAMPLES: u64 = 1 << 18;

/// The most bands that are summed for a column of blocks.
const MOST_BANDS: u128 = 1 << 17;

/// The most columns of a cell of which the bands are summed for all columns of blocks that are as wide.
const MOST_COLUMNS: u64 = 1 << 16;

/// The sums of a cell, each sample taken as a number.
pub(crate) struct RowSums {
    period: Period,
    /// Bands after which everything repeats.
    bands: u64,
    /// By how many bands the first columns of two in the cell are apart that are as near as there are.
    apart: u64,
    /// For every row and the one after the last, those of the samples above it and before each column; one more than there are columns.
    above: Vec<u64>,
}

/// The greatest number that divides both.
pub(crate) const fn gcd(a: u64, b: u64) -> u64 {
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
        row.saturating_mul(period.c().saturating_add(1))
    }

    /// The most bytes that a thread holds that sums a cell through a table and asks for blocks of it: its sums, and those of the bands of both samples and zeros.
    pub(crate) fn asking(period: &Period) -> u64 {
        Self::bytes(period) + 2 * Bands::bytes(period)
    }

    /// The bytes that it holds.
    pub(crate) fn held(&self) -> u64 {
        Self::bytes(&self.period)
    }

    pub(crate) fn of<S: Sample>(period: Period, cell: View<'_, S>, number: impl Fn(S) -> u64) -> Self {
        let pitch = cell.width() + 1;
        let mut above = vec![0; pitch * (cell.height() + 1)];
        for (row, samples) in cell.rows().enumerate() {
            let (done, next) = above.split_at_mut((row + 1) * pitch);
            let mut sum = 0;
            for ((sample, before), sums) in samples.iter().zip(&done[row * pitch + 1..]).zip(&mut next[1..]) {
                sum += number(*sample);
                *sums = before + sum;
            }
        }
        let bands = period.a() / gcd(period.a(), period.b());
        Self {
            bands,
            apart: inverse(bands - period.b() / gcd(period.a(), period.b()) % bands, bands),
            period,
            above,
        }
    }

    /// The sum of `width` samples of each of the first rows of a band whose first column lies there in the cell; `width` is less than there are columns.
    fn part(&self, from: usize, rows: usize, width: usize) -> u64 {
        let pitch = self.period.a() as usize + 1;
        let sums = &self.above[rows * pitch..][..pitch];
        let to = from + width;
        match to.checked_sub(pitch - 1) {
            Some(wrapped) => sums[pitch - 1] - sums[from] + sums[wrapped],
            None => sums[to] - sums[from],
        }
    }

    /// The sums of so many bands of this width, of which the first begins in this column of the cell, one after the other; the first is 0.
    fn bands_from(&self, first: u64, count: u64, width: usize) -> impl Iterator<Item = u64> {
        let (a, b, c) = (self.period.a(), self.period.b(), self.period.c());
        let (mut from, mut sum) = (first, 0);
        std::iter::once(0).chain((0..count).map(move |_| {
            sum += self.part(from as usize, c as usize, width);
            from = if from < b { from + a - b } else { from - b };
            sum
        }))
    }

    /// Calls `take` with the sum of each block between two columns, row by row of blocks; places count from the top-left of a cell. `known` is of these
    /// sums alone. `false` where that takes too long.
    pub(crate) fn column(
        &self,
        (left, right): (i64, i64),
        ys: &[i64],
        known: &mut Bands,
        mut take: impl FnMut(usize, u128),
    ) -> bool {
        let (a, b, c) = (self.period.a(), self.period.b(), self.period.c());
        // Counted from the band of the first edge.
        let top = i128::from(ys[0]).div_euclid(c.into());
        let below = |y: i64| (i128::from(y) - top * i128::from(c)).unsigned_abs();
        let (copies, rest) = (right.abs_diff(left) / a, (right.abs_diff(left) % a) as usize);
        let end = below(ys[ys.len() - 1]).div_ceil(c.into());
        let count = end.min(self.bands.into());
        if rest > 0 && count > MOST_BANDS {
            return false;
        }
        let pitch = a as usize + 1;
        let first = (i128::from(left) - top.rem_euclid(a.into()) * i128::from(b)).rem_euclid(a.into()) as u64;
        let sums = match rest {
            0 => Turn::NONE,
            _ => known.turn(self, first, count as u64, rest),
        };
        let all = u128::from(sums.of(self.bands));
        let to = |y: i64| {
            let y = below(y);
            let (band, row) = quotient(y, c.into());
            let row = row as usize;
            let total = |row: usize| u128::from(self.above[(row + 1) * pitch - 1]);
            let mut sum = u128::from(copies) * (band * total(c as usize) + total(row));
            if rest > 0 {
                let (turn, band) = quotient(band, self.bands.into());
                let from = i128::from(first) - band as i128 * i128::from(b);
                sum += turn * all + u128::from(sums.of(band as u64));
                if row > 0 {
                    sum += u128::from(self.part(from.rem_euclid(a.into()) as usize, row, rest));
                }
            }
            sum
        };
        let mut above = to(ys[0]);
        for (place, y) in ys[1..].iter().enumerate() {
            let below = to(*y);
            take(place, below - above);
            above = below;
        }
        true
    }
}

/// The number that times `number` leaves 1 when divided by `by`; both have no divisor in common.
const fn inverse(number: u64, by: u64) -> u64 {
    let (mut a, mut b) = (by as i128, number as i128);
    let (mut of_a, mut of_b) = (0_i128, 1_i128);
    while b > 0 {
        let times = a / b;
        (a, b) = (b, a - times * b);
        (of_a, of_b) = (of_b, of_a - times * of_b);
    }
    of_a.rem_euclid(by as i128) as u64
}

/// Sums of the bands of a cell, for columns of blocks one after the other.
pub(crate) struct Bands {
    /// Columns of blocks.
    columns: u64,
    /// Of which width they are; 0 of none.
    width: usize,
    /// Those of all bands, one turn after the other; or those of one column of blocks.
    sums: Vec<u64>,
}

/// The sums of the bands from one on, one after the other.
struct Turn<'a> {
    sums: &'a [u64],
    first: usize,
}

impl Turn<'_> {
    /// Of bands without a column.
    const NONE: Self = Self { sums: &[0], first: 0 };

    /// The sum of so many bands, which are at most as many as there are; no more of them are known than were asked for.
    fn of(&self, count: u64) -> u64 {
        let last = self.sums.len() - 1;
        let to = self.first + count as usize;
        match to.checked_sub(last) {
            Some(wrapped) if self.first > 0 => self.sums[last] - self.sums[self.first] + self.sums[wrapped],
            _ => self.sums[to.min(last)] - self.sums[self.first],
        }
    }
}

impl Bands {
    /// The most bytes of those of a cell.
    fn bytes(period: &Period) -> u64 {
        match period.a() {
            a if a > MOST_COLUMNS => (MOST_BANDS as u64 + 1) * 8,
            // A sum more than there are bands, of every turn of which there are no more than columns.
            a => a * 16,
        }
    }

    /// For so many columns of blocks.
    pub(crate) const fn new(columns: usize) -> Self {
        Self {
            columns: columns as u64,
            width: 0,
            sums: Vec::new(),
        }
    }

    /// The sums of the bands of which the first begins in this column of the cell, at least so many.
    fn turn(&mut self, of: &RowSums, first: u64, count: u64, width: usize) -> Turn<'_> {
        let a = of.period.a();
        if a > MOST_COLUMNS || count.saturating_mul(self.columns) < 2 * a {
            self.width = 0;
            self.sums.clear();
            self.sums.extend(of.bands_from(first, count, width));
            return Turn {
                sums: &self.sums,
                first: 0,
            };
        }
        let turns = a / of.bands;
        if self.width != width {
            self.width = width;
            self.sums.clear();
            for turn in 0..turns {
                self.sums.extend(of.bands_from(turn, of.bands, width));
            }
        }
        let bands = of.bands as usize;
        let sums = &self.sums[(first % turns) as usize * (bands + 1)..][..=bands];
        // Each is less than 2^16.
        let first = (first / turns * of.apart % of.bands) as usize;
        Turn { sums, first }
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
        let (mut of_samples, mut of_zeros) = (Bands::new(columns), Bands::new(columns));
        for column in 0..columns {
            let sides = (grid.xs[column], grid.xs[column + 1]);
            let zeros = self.least == 0 && zeros;
            let known =
                zeros && (self.zeros).column(sides, grid.ys, &mut of_zeros, |row, sum| empty[row] = sum);
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
                .column(sides, grid.ys, &mut of_samples, |row, sum| one(row, Some(sum)))
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
            mut xs in proptest::collection::vec(-60..60_i64, 2..20),
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
