//! Ramps, discs and white noise on the CPU.

use relief_raster::{Sample, ViewMut};

use crate::isa::{Isa, versions};

/// The axis along which a ramp changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Along the rows.
    X,
    /// Along the columns.
    Y,
}

/// Writes samples `start`, `start` + 1, … along the axis of a ramp of `n` samples: sample i is
/// from + round((to − from)·i / (n − 1)), half away from zero, and `from` where n ≤ 1.
///
/// Samples from `n` on, which a ramp does not have, are its last.
pub fn ramp<S: Sample>(axis: Axis, from: S, to: S, n: u64, start: u64, mut out: ViewMut<'_, S>) {
    if out.width() == 0 || out.height() == 0 {
        return;
    }
    let mut line = Line::new(from, to, n, start);
    match axis {
        Axis::X => {
            line.write(out.row_mut(0));
            for y in 1..out.height() {
                let (first, row) = out.row_pair(0, y);
                row.copy_from_slice(first);
            }
        }
        Axis::Y => {
            for y in 0..out.height() {
                out.row_mut(y).fill(line.next());
            }
        }
    }
}

/// The samples of a ramp, one after the other, by steps of quotient and remainder instead of a division each.
///
/// round(D·i / (n − 1)), half up, is ⌊(2·D·i + n − 1) / (2·(n − 1))⌋; the numerator grows by 2·D from i to i + 1.
struct Line {
    from: u16,
    rising: bool,
    divisor: u128,
    step: (u16, u128),
    at: (u16, u128),
    /// Steps left until the last sample.
    left: u64,
}

/// Equal samples in a row from which on finding their end by a division beats stepping through them.
const LONG_RUN: u128 = 16;

impl Line {
    fn new<S: Sample>(from: S, to: S, n: u64, start: u64) -> Self {
        let (from, to) = (from.to_u16(), to.to_u16());
        let last = n.saturating_sub(1);
        let i = start.min(last);
        let height = u128::from(from.abs_diff(to));
        let divisor = 2 * u128::from(last.max(1));
        // Quotients are at most D: they fit in 16 bits.
        let split = |numerator: u128| ((numerator / divisor) as u16, numerator % divisor);
        Self {
            from,
            rising: to >= from,
            divisor,
            step: split(2 * height),
            at: split(2 * height * u128::from(i) + u128::from(last)),
            left: last - i,
        }
    }

    /// Writes the next samples: whole runs where a sample comes many times, as it does in wide rasters.
    fn write<S: Sample>(&mut self, out: &mut [S]) {
        if self.step.0 > 0 || self.divisor < LONG_RUN * self.step.1 {
            for sample in out {
                *sample = self.next();
            }
            return;
        }
        let mut rest = out;
        while !rest.is_empty() {
            let count = usize::try_from(self.run()).map_or(rest.len(), |run| run.min(rest.len()));
            let (run, after) = std::mem::take(&mut rest).split_at_mut(count);
            run.fill(S::from_u16(self.value()));
            self.skip(count as u64);
            rest = after;
        }
    }

    /// How often the sample comes from here on, where the step has no quotient.
    fn run(&self) -> u64 {
        if self.step.1 == 0 {
            return u64::MAX;
        }
        match u64::try_from((self.divisor - self.at.1).div_ceil(self.step.1)) {
            Ok(steps) if steps <= self.left => steps,
            // The last sample comes for ever.
            _ => u64::MAX,
        }
    }

    /// Goes on by so many samples of one run: to its end, or less far.
    fn skip(&mut self, count: u64) {
        let count = count.min(self.left);
        self.left -= count;
        self.at.1 += u128::from(count) * self.step.1;
        if self.at.1 >= self.divisor {
            self.at.1 -= self.divisor;
            self.at.0 += 1;
        }
    }

    const fn value(&self) -> u16 {
        if self.rising {
            self.from + self.at.0
        } else {
            self.from - self.at.0
        }
    }

    fn next<S: Sample>(&mut self) -> S {
        let sample = self.value();
        if self.left > 0 {
            self.left -= 1;
            self.at.0 += self.step.0;
            self.at.1 += self.step.1;
            if self.at.1 >= self.divisor {
                self.at.1 -= self.divisor;
                self.at.0 += 1;
            }
        }
        S::from_u16(sample)
    }
}

/// Writes `value` where (2X − D + 1)² + (2Y − D + 1)² ≤ D², else 0, with (X, Y) = (x + i, y + j) at `out(i, j)` and D
/// the diameter.
///
/// A row of a disc is one run, whose ends come from an integer square root.
pub fn disc<S: Sample>(diameter: u64, value: S, x: i64, y: i64, mut out: ViewMut<'_, S>) {
    let width = out.width() as i128;
    for j in 0..out.height() {
        let (first, end) = disc_run(diameter, i128::from(y) + j as i128);
        // Both are cut to 0…width.
        let first = (first - i128::from(x)).clamp(0, width) as usize;
        let end = (end - i128::from(x)).clamp(first as i128, width) as usize;
        let row = out.row_mut(j);
        row[..first].fill(S::ZERO);
        row[first..end].fill(value);
        row[end..].fill(S::ZERO);
    }
}

/// The columns first..end of row `y` of a disc of this diameter; none where both are equal.
#[must_use]
pub fn disc_run(diameter: u64, y: i128) -> (i128, i128) {
    let d = i128::from(diameter);
    let across = 2 * y - d + 1;
    if across.abs() > d {
        return (0, 0);
    }
    // |across| ≤ D < 2^64, so that the squares of both fit in 128 bits.
    let room = d.unsigned_abs().pow(2) - across.unsigned_abs().pow(2);
    let half = room.isqrt() as i128;
    // |2X − D + 1| ≤ half; both ends round towards the inside.
    let first = (d - 1 - half + 1).div_euclid(2);
    let last = (d - 1 + half).div_euclid(2);
    (first, last + 1)
}

/// Writes white noise: the top bits of the SplitMix64 finaliser of
/// seed + x·0x9E3779B97F4A7C15 + y·0xC2B2AE3D27D4EB4F, wrapping, with x and y in two's complement.
///
/// Source: G. L. Steele, D. Lea, C. H. Flood, *Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014, with the
/// constants of D. Stafford's variant 13.
pub fn noise<S: Sample>(seed: u64, x: i64, y: i64, mut out: ViewMut<'_, S>) {
    let isa = Isa::best();
    for j in 0..out.height() {
        let row = y.wrapping_add_unsigned(j as u64).cast_unsigned();
        let first = seed
            .wrapping_add(x.cast_unsigned().wrapping_mul(COLUMN))
            .wrapping_add(row.wrapping_mul(ROW));
        noise_row(isa, first, out.row_mut(j));
    }
}

const COLUMN: u64 = 0x9E37_79B9_7F4A_7C15;
const ROW: u64 = 0xC2B2_AE3D_27D4_EB4F;

versions! {
    fn noise_row<S: Sample>(first: u64, row: &mut [S]) {
        for (i, sample) in row.iter_mut().enumerate() {
            let mut z = first.wrapping_add((i as u64).wrapping_mul(COLUMN));
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^= z >> 31;
            *sample = S::from_u16((z >> (64 - S::DEPTH.bits())) as u16);
        }
    }
}
