//! Sums, least and greatest samples of a plane that is held.
//!
//! Sums are those of all blocks of 8 × 8 above and to the left of each (F. C. Crow, *Summed-area tables for texture mapping*, 1984), with
//! what is left of a rectangle summed directly; the least and greatest samples are in a pyramid over the same blocks.

use relief_raster::{Rect, Sample, View};

use crate::node::{Bounds, Corners, Summary};

/// Columns and rows of the smallest blocks, in samples.
const SIDE: u64 = 8;

/// Columns and rows of all others, in blocks of the level below.
const STEP: u64 = 4;

/// All bits of the samples of a row of a block that lie before a place in it.
const MASKS: [[u32; SIDE as usize]; SIDE as usize] = {
    let mut masks = [[0; SIDE as usize]; SIDE as usize];
    let mut place = 0;
    while place < SIDE as usize {
        let mut before = 0;
        while before < place {
            masks[place][before] = u32::MAX;
            before += 1;
        }
        place += 1;
    }
    masks
};

struct Level {
    /// Columns and rows of a block, in samples.
    side: u64,
    columns: u64,
    rows: u64,
    extremes: Vec<(u16, u16)>,
}

/// What is known of the blocks of a plane.
pub(crate) struct PlaneSums {
    width: u64,
    height: u64,
    columns: u64,
    /// Of all blocks above and to the left; a column and a row more than there are blocks.
    sums: Vec<u64>,
    zeros: Vec<u64>,
    levels: Vec<Level>,
}

/// What the samples of a run come to: their sum, how many are 0, the least and the greatest.
fn run<S: Sample>(samples: &[S]) -> (u64, u64, u16, u16) {
    let (mut sum, mut zeros, mut least, mut greatest) = (0_u64, 0_u64, u16::MAX, 0_u16);
    for sample in samples {
        let sample = sample.to_u16();
        sum += u64::from(sample);
        zeros += u64::from(sample == 0);
        least = least.min(sample);
        greatest = greatest.max(sample);
    }
    (sum, zeros, least, greatest)
}

/// The samples of `rect`, one by one.
pub(crate) fn direct<S: Sample>(plane: View<'_, S>, rect: Rect) -> Summary {
    let (mut sum, mut zeros, mut least, mut greatest) = (0_u64, 0_u64, u16::MAX, 0_u16);
    for y in rect.y()..rect.bottom() {
        let row = run(&plane.row(y as usize)[rect.x() as usize..rect.right() as usize]);
        sum += row.0;
        zeros += row.1;
        least = least.min(row.2);
        greatest = greatest.max(row.3);
    }
    Summary::exact(rect.area(), sum.into(), zeros.into(), least, greatest)
}

impl PlaneSums {
    /// The bytes of those of a plane with so many columns and rows.
    pub(crate) fn bytes(width: u64, height: u64) -> u64 {
        let (mut columns, mut rows) = (width.div_ceil(SIDE), height.div_ceil(SIDE));
        let mut bytes = (columns + 1).saturating_mul(rows + 1).saturating_mul(16);
        loop {
            bytes = bytes.saturating_add(columns.saturating_mul(rows).saturating_mul(4));
            if columns <= 1 && rows <= 1 {
                return bytes;
            }
            (columns, rows) = (columns.div_ceil(STEP), rows.div_ceil(STEP));
        }
    }

    /// Those of a plane.
    pub(crate) fn of<S: Sample>(plane: View<'_, S>) -> Self {
        let (width, height) = (plane.width() as u64, plane.height() as u64);
        let (columns, rows) = (width.div_ceil(SIDE), height.div_ceil(SIDE));
        let pitch = columns as usize + 1;
        let mut sums = vec![0_u64; pitch * (rows as usize + 1)];
        let mut zeros = sums.clone();
        let mut extremes = vec![(u16::MAX, 0_u16); (columns * rows) as usize];
        for row in 0..rows as usize {
            let mut own = vec![(0_u64, 0_u64); columns as usize];
            let lines = row * SIDE as usize..((row + 1) * SIDE as usize).min(plane.height());
            let extremes = &mut extremes[row * columns as usize..][..columns as usize];
            for y in lines {
                let blocks = plane.row(y).chunks(SIDE as usize);
                for ((samples, own), extremes) in blocks.zip(&mut own).zip(&mut *extremes) {
                    let (sum, zeros, least, greatest) = run(samples);
                    *own = (own.0 + sum, own.1 + zeros);
                    *extremes = (extremes.0.min(least), extremes.1.max(greatest));
                }
            }
            let (mut sum, mut zero) = (0, 0);
            for (column, own) in own.into_iter().enumerate() {
                (sum, zero) = (sum + own.0, zero + own.1);
                let place = (row + 1) * pitch + column + 1;
                sums[place] = sums[place - pitch] + sum;
                zeros[place] = zeros[place - pitch] + zero;
            }
        }
        let mut levels = vec![Level {
            side: SIDE,
            columns,
            rows,
            extremes,
        }];
        while let Some(below) = levels.last().filter(|level| level.columns > 1 || level.rows > 1) {
            let (columns, rows) = (below.columns.div_ceil(STEP), below.rows.div_ceil(STEP));
            let mut extremes = vec![(u16::MAX, 0_u16); (columns * rows) as usize];
            for (place, one) in below.extremes.iter().enumerate() {
                let (column, row) = (place as u64 % below.columns, place as u64 / below.columns);
                let all = &mut extremes[(row / STEP * columns + column / STEP) as usize];
                *all = (all.0.min(one.0), all.1.max(one.1));
            }
            levels.push(Level {
                side: below.side * STEP,
                columns,
                rows,
                extremes,
            });
        }
        Self {
            width,
            height,
            columns,
            sums,
            zeros,
            levels,
        }
    }

    /// Between which samples those of `rect` lie, in the plane's own places: sound, from blocks no larger than it.
    pub(crate) fn bounds(&self, rect: Rect) -> Bounds {
        let rect = rect.intersection(&Rect::sized(self.width, self.height));
        if rect.is_empty() {
            return Bounds::ZERO;
        }
        let longer = rect.width().max(rect.height());
        let finest = self.levels.partition_point(|level| level.side * STEP < longer);
        let level = &self.levels[finest.min(self.levels.len() - 1)];
        let first = |from: i64| from.unsigned_abs() / level.side;
        let last = |to: i64| (to.unsigned_abs() - 1) / level.side;
        let (mut least, mut greatest) = (u16::MAX, 0);
        for row in first(rect.y())..=last(rect.bottom()) {
            let start = row * level.columns;
            let blocks = (start + first(rect.x())) as usize..=(start + last(rect.right())) as usize;
            for one in &level.extremes[blocks] {
                (least, greatest) = (least.min(one.0), greatest.max(one.1));
            }
        }
        Bounds::between(least, greatest)
    }

    /// The sums of all samples above and to the left of places, from the first of them on; places ascend and lie in the plane or at its end.
    pub(crate) fn corners<S: Sample>(
        &self,
        plane: View<'_, S>,
        xs: &[i64],
        ys: &[i64],
        zeros: bool,
    ) -> Corners {
        let sums = self.corners_of(plane, xs, ys, &self.sums, |sample| u32::from(sample.to_u16()));
        let zeros = if zeros {
            self.corners_of(plane, xs, ys, &self.zeros, |sample| u32::from(sample == S::ZERO))
        } else {
            Vec::new()
        };
        Corners {
            columns: xs.len(),
            sums,
            zeros,
        }
    }

    fn corners_of<S: Sample>(
        &self,
        plane: View<'_, S>,
        xs: &[i64],
        ys: &[i64],
        blocks: &[u64],
        number: impl Fn(S) -> u32,
    ) -> Vec<u64> {
        let side = SIDE as usize;
        let place = |at: &i64| at.unsigned_abs() as usize;
        let (xs, ys): (Vec<usize>, Vec<usize>) =
            (xs.iter().map(place).collect(), ys.iter().map(place).collect());
        let pitch = self.columns as usize + 1;
        let mut corners = Vec::with_capacity(xs.len() * ys.len());
        // What lies to the left of each place, but right of the blocks before it, in the rows so far.
        let mut strips = vec![0_u64; xs.len()];
        let open: Vec<usize> = (0..xs.len()).filter(|place| xs[*place] % side > 0).collect();
        let mut parts = vec![[0_u32; SIDE as usize]; open.len()];
        let right = *xs.last().unwrap_or(&0);
        let left = xs.first().map_or(0, |x| x / side * side);
        let mut rest = vec![0_u32; right - left];
        // Rows above the first place are in all corners alike.
        let mut top = ys.first().map_or(0, |y| y / side * side);
        for y in ys {
            let whole = y / side * side;
            let rows = top..if open.is_empty() { top } else { whole };
            // As many at a time as a sum of 32 bits has room for.
            for first in rows.clone().step_by(1 << 15) {
                for row in first..rows.end.min(first + (1 << 15)) {
                    let row = plane.row(row);
                    for (part, place) in parts.iter_mut().zip(&open) {
                        let x = xs[*place];
                        let (from, mask) = (x / side * side, &MASKS[x % side]);
                        match row.get(from..from + side) {
                            // All of them, so that they are added at once.
                            Some(samples) => {
                                for ((sum, sample), mask) in part.iter_mut().zip(samples).zip(mask) {
                                    *sum += number(*sample) & mask;
                                }
                            }
                            None => {
                                for (sum, sample) in part.iter_mut().zip(&row[from..x]) {
                                    *sum += number(*sample);
                                }
                            }
                        }
                    }
                }
                for (part, place) in parts.iter_mut().zip(&open) {
                    strips[*place] += std::mem::take(part).iter().copied().map(u64::from).sum::<u64>();
                }
            }
            top = top.max(whole);
            // The rows below the blocks, from the block of the first place on: what lies left of it is in all corners alike.
            rest.fill(0);
            for row in whole..y {
                for (all, sample) in rest.iter_mut().zip(&plane.row(row)[left..right]) {
                    *all += number(*sample);
                }
            }
            let (mut sum, mut at) = (0_u64, left);
            for (x, strip) in xs.iter().zip(&strips) {
                sum += rest[at - left..x - left]
                    .iter()
                    .map(|all| u64::from(*all))
                    .sum::<u64>();
                at = *x;
                corners.push(blocks[whole / side * pitch + x / side] + strip + sum);
            }
        }
        // From the first places on: what is left of the first column and above the first row counts in none.
        let columns = xs.len();
        for row in corners.chunks_exact_mut(columns) {
            let first = row[0];
            for corner in row {
                *corner = corner.wrapping_sub(first);
            }
        }
        let (above, below) = corners.split_at_mut(columns);
        for row in below.chunks_exact_mut(columns) {
            for (corner, above) in row.iter_mut().zip(&*above) {
                *corner = corner.wrapping_sub(*above);
            }
        }
        above.fill(0);
        corners
    }

    /// The least and the greatest sample of `rect`.
    pub(crate) fn extremes<S: Sample>(&self, plane: View<'_, S>, rect: Rect) -> Bounds {
        let rect = rect.intersection(&Rect::sized(self.width, self.height));
        if rect.is_empty() {
            return Bounds::ZERO;
        }
        let mut extremes = (u16::MAX, 0);
        self.descend(plane, self.levels.len() - 1, (0, 0), rect, &mut extremes);
        Bounds::between(extremes.0, extremes.1)
    }

    /// Those of the part of `rect` in the block (column, row) of a level.
    fn descend<S: Sample>(
        &self,
        plane: View<'_, S>,
        number: usize,
        (column, row): (u64, u64),
        rect: Rect,
        extremes: &mut (u16, u16),
    ) {
        let level = &self.levels[number];
        let side = level.side.cast_signed();
        let (x, y) = (
            (column * level.side).cast_signed(),
            (row * level.side).cast_signed(),
        );
        let all = Rect::between(x, y, x + side, y + side).intersection(&Rect::sized(self.width, self.height));
        let part = all.intersection(&rect);
        let here = level.extremes[(row * level.columns + column) as usize];
        // Nothing beyond what is known already.
        if part.is_empty() || (here.0 >= extremes.0 && here.1 <= extremes.1) {
            return;
        }
        if part == all {
            *extremes = (extremes.0.min(here.0), extremes.1.max(here.1));
            return;
        }
        let Some(below) = number.checked_sub(1) else {
            let direct = direct(plane, part);
            *extremes = (extremes.0.min(direct.least.0), extremes.1.max(direct.greatest.0));
            return;
        };
        let step = self.levels[below].side;
        let first = |from: i64| from.unsigned_abs() / step;
        let last = |to: i64| (to.unsigned_abs() - 1) / step;
        for row in first(part.y())..=last(part.bottom()) {
            for column in first(part.x())..=last(part.right()) {
                self.descend(plane, below, (column, row), part, extremes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn rectangles_are_known_exactly(
            (width, height) in (1..200_u64, 1..200_u64),
            seed in any::<u64>(),
            places in proptest::collection::vec((0.0..=1.0_f64, 0.0..=1.0_f64), 2..9),
        ) {
            let samples: Vec<u16> = (0..width * height).map(|i| (seed ^ i).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes()[7].into()).collect();
            let plane = View::packed(&samples, width as usize, height as usize);
            let sums = PlaneSums::of(plane);
            let sorted = |mut all: Vec<i64>| { all.sort_unstable(); all.dedup(); all };
            let xs = sorted(places.iter().map(|(x, _)| (x * width as f64) as i64).collect());
            let ys = sorted(places.iter().map(|(_, y)| (y * height as f64) as i64).collect());
            let corners = sums.corners(plane, &xs, &ys, true);
            for (j, y) in ys.iter().enumerate() {
                for (i, x) in xs.iter().enumerate() {
                    let rect = Rect::between(xs[0], ys[0], *x, *y);
                    let right = direct(plane, rect);
                    let at = j * xs.len() + i;
                    prop_assert_eq!((u128::from(corners.sums[at]), u128::from(corners.zeros[at])), (right.sum.0, right.zeros.0));
                    if !rect.is_empty() {
                        prop_assert_eq!(sums.extremes(plane, rect), Bounds::between(right.least.0, right.greatest.0));
                        let bounds = sums.bounds(rect);
                        prop_assert!(bounds.least <= right.least.0 && right.greatest.0 <= bounds.greatest);
                    }
                }
            }
        }
    }
}
