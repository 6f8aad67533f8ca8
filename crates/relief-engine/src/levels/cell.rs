//! Sums of a raster of which one cell is held, in closed form.
//!
//! With steps a, b, c ([`Period`]) and g = gcd(a, b), a rectangle of a columns and c·a/g rows holds every sample of the cell
//! a/g times, wherever it lies; of one column in so many rows the samples are those of the cell's columns of one class modulo g, and of
//! one row in a columns those of one row of the cell. What is left of any rectangle is smaller than that, and is summed by
//! bands of c rows.

use relief_raster::{Period, Rect, Sample, View};

use crate::node::{Bounds, Summary};

/// The most bands that are summed for one answer.
const MOST_BANDS: u64 = 1 << 13;

/// The sums of the columns and rows of a cell, and how many of their samples are 0.
pub(crate) struct CellSums {
    period: Period,
    samples: Sums,
    zeros: Sums,
    common: u64,
    least: u16,
    greatest: u16,
}

/// What the samples of a cell come to, each taken as a number.
struct Sums {
    /// Those of the columns before each.
    columns: Vec<u64>,
    /// Those of the rows before each.
    rows: Vec<u64>,
    /// Those of the classes of columns before each; one for every residue modulo g.
    classes: Vec<u64>,
}

impl Sums {
    fn of<S: Sample>(cell: View<'_, S>, common: u64, number: fn(u16) -> u64) -> Self {
        let mut columns = vec![0_u64; cell.width()];
        let mut rows = Vec::with_capacity(cell.height());
        for row in cell.rows() {
            let mut sum = 0;
            for (column, sample) in columns.iter_mut().zip(row) {
                let number = number(sample.to_u16());
                *column += number;
                sum += number;
            }
            rows.push(sum);
        }
        let mut classes = vec![0_u64; common as usize];
        for (place, column) in columns.iter().enumerate() {
            classes[place % common as usize] += column;
        }
        Self {
            columns: before(columns.into_iter()),
            rows: before(rows.into_iter()),
            classes: before(classes.into_iter()),
        }
    }
}

const fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn before(sums: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut total = 0;
    let mut all = vec![0];
    all.extend(sums.map(|sum| {
        total += sum;
        total
    }));
    all
}

/// The sum over `count` places from `start` on of what repeats after those that `before` tells.
fn cyclic(before: &[u64], start: u128, count: u128) -> u128 {
    let length = before.len() as u128 - 1;
    let total = u128::from(before[before.len() - 1]);
    let up_to = |place: u128| place / length * total + u128::from(before[(place % length) as usize]);
    let start = start % length;
    up_to(start + count) - up_to(start)
}

impl CellSums {
    /// The bytes of those of a cell.
    pub(crate) fn bytes(period: &Period) -> u64 {
        let numbers = period
            .a()
            .saturating_mul(2)
            .saturating_add(period.c())
            .saturating_add(3);
        numbers.saturating_mul(16)
    }

    pub(crate) fn of<S: Sample>(period: Period, cell: View<'_, S>) -> Self {
        let common = gcd(period.a(), period.b());
        let all = || cell.rows().flatten().map(|sample| sample.to_u16());
        Self {
            period,
            samples: Sums::of(cell, common, u64::from),
            zeros: Sums::of(cell, common, |sample| u64::from(sample == 0)),
            common,
            least: all().min().unwrap_or(0),
            greatest: all().max().unwrap_or(0),
        }
    }

    /// The samples of `rect`, whose places count from the top-left of a cell; `None` where that takes too long.
    pub(crate) fn summary<S: Sample>(&self, cell: View<'_, S>, rect: Rect) -> Option<Summary> {
        let sum = self.sum(cell, rect, &self.samples, u64::from)?;
        let zeros = if self.least == 0 {
            self.sum(cell, rect, &self.zeros, |sample| u64::from(sample == 0))?
        } else {
            0
        };
        // Every sample of the cell stands in as many columns and rows as it has.
        if rect.width() >= self.period.a() && rect.height() >= self.period.c() {
            let (least, greatest) = (self.least, self.greatest);
            return Some(Summary::exact(rect.area(), sum, zeros, least, greatest));
        }
        let bounds = Bounds::between(self.least, self.greatest);
        Some(Summary {
            sum: (sum, sum),
            zeros: (zeros, zeros),
            ..Summary::within(bounds, rect.area())
        })
    }

    /// What the samples of `rect` come to; `number` is what each counts as.
    fn sum<S: Sample>(
        &self,
        cell: View<'_, S>,
        rect: Rect,
        sums: &Sums,
        number: fn(u16) -> u64,
    ) -> Option<u128> {
        let (a, b, c) = (self.period.a(), self.period.b(), self.period.c());
        // Rows after which all shifts have come.
        let turns = u128::from(a / self.common);
        let high = turns * u128::from(c);
        let (width, height) = (u128::from(rect.width()), u128::from(rect.height()));
        let (across, rest_width) = (width / u128::from(a), width % u128::from(a));
        let (down, rest_height) = (height / high, height % high);
        let total = u128::from(*sums.columns.last()?);
        let residue = |place: i64, step: u64| i128::from(place).rem_euclid(step.into()) as u128;
        let mut sum = across * down * turns * total;
        sum += down * cyclic(&sums.classes, residue(rect.x(), self.common), rest_width);
        sum += across * cyclic(&sums.rows, residue(rect.y(), c), rest_height);
        if rest_width == 0 || rest_height == 0 {
            return Some(sum);
        }
        // The rest at the corner; whole steps to the left and above change nothing but the shift.
        let y = i128::from(rect.y()) + (down * high) as i128;
        let (first, end) = (y.div_euclid(c.into()), y + rest_height as i128);
        let last = (end - 1).div_euclid(c.into());
        if last - first >= i128::from(MOST_BANDS) {
            return None;
        }
        for band in first..=last {
            let shift = band.rem_euclid(a.into()) * i128::from(b) % i128::from(a);
            let start = (i128::from(rect.x()) - shift).rem_euclid(a.into()) as u128;
            let top = band * i128::from(c);
            let (from, to) = ((y - top).max(0) as usize, (end - top).min(c.into()) as usize);
            if (from, to) == (0, c as usize) {
                sum += cyclic(&sums.columns, start, rest_width);
                continue;
            }
            let (start, width) = (start as usize, rest_width as usize);
            let wrapped = (start + width).saturating_sub(a as usize);
            for row in from..to {
                let row = cell.row(row);
                let parts = row[start..start + width - wrapped].iter().chain(&row[..wrapped]);
                sum += u128::from(parts.map(|sample| number(sample.to_u16())).sum::<u64>());
            }
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn sums_are_those_of_every_pixel(
            u in (1..9_i64, -9..9_i64),
            v in (-9..9_i64, 1..9_i64),
            x in -60..60_i64,
            y in -60..60_i64,
            width in 1..70_u64,
            height in 1..90_u64,
            seed in any::<u64>(),
        ) {
            let Some(period) = Period::spanned(u, v) else { return Ok(()) };
            let (a, c) = (period.a() as usize, period.c() as usize);
            let samples: Vec<u8> = (0..a * c)
                .map(|i| ((seed ^ i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 50) as u8 & if seed % 2 == 0 { 1 } else { 255 })
                .collect();
            let cell = View::packed(&samples, a, c);
            let rect = Rect::new(x, y, width, height).unwrap();
            let found = CellSums::of(period, cell).summary(cell, rect).unwrap();
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
            prop_assert_eq!(found.sum, (sum, sum));
            prop_assert_eq!(found.zeros, (zeros, zeros));
            prop_assert!(found.least.0 <= least && least <= found.least.1);
            prop_assert!(found.greatest.0 <= greatest && greatest <= found.greatest.1);
            if width >= period.a() && height >= period.c() {
                prop_assert!(found.is_exact());
            }
        }
    }
}
