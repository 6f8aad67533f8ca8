//! Weighted sums of the samples around a pixel, exact in integers.
//!
//! With a mask of weights w, a divisor D and an offset, the sample at (x, y) becomes ⌊S/D + offset + ½⌋, taken to 0…M, of
//! S = Σ w(i, j) · v(x + i, y + j): the mask lies over the samples as it is written, so that its upper left weight counts for the sample up and to
//! the left. Mathematicians turn it by a half turn and call this a correlation.
//!
//! **How.** Sums of 8 bits fit 32, and so do those of 16 where the weights are small; others take 64. They stay in registers for a block of
//! columns while all weights but those that are 0 are taken. The quotient is one of binary64, which is exact where it is whole, and otherwise
//! further from a whole number than it is rounded by.
//!
//! ```
//! use relief_kernels::convolution::{Mask, cpu};
//! use relief_raster::{View, ViewMut};
//!
//! // Twice the sample itself less the one to the left.
//! let mask = Mask::new(&[0, 0, 0, -1, 2, 0, 0, 0, 0], 3, 1, 0).unwrap();
//! let source = [0_u8, 0, 0, 30, 40, 0, 0, 0, 0];
//! let mut out = [0];
//! cpu::filter(View::packed(&source, 3, 3), &mask, ViewMut::packed(&mut out, 1, 1));
//! assert_eq!(out, [50]);
//! ```

pub mod cpu;
#[cfg(feature = "gpu")]
pub(crate) mod gpu;

#[cfg(test)]
mod tests;

/// The most columns and rows of a mask.
pub const MAX_SIDE: usize = 15;

/// The greatest weight, and the least less its sign.
pub const MAX_WEIGHT: i32 = 32_767;

/// The greatest divisor.
pub const MAX_DIVISOR: u32 = 1 << 30;

/// A mask with its divisor and offset.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mask {
    columns: usize,
    rows: usize,
    taps: Vec<Tap>,
    /// The sum of all weights above 0, and of those below without their signs.
    sums: (u64, u64),
    divisor: u32,
    offset: i32,
}

/// A weight other than 0 and where it lies, from the top left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Tap {
    column: usize,
    row: usize,
    weight: i32,
}

impl Mask {
    /// The mask of these weights, row by row. Nothing where its sides are not odd and at most [`MAX_SIDE`], a weight exceeds [`MAX_WEIGHT`],
    /// the divisor is not 1 to [`MAX_DIVISOR`], or the offset lies beyond −65 535…65 535.
    #[must_use]
    pub fn new(weights: &[i32], columns: usize, divisor: u32, offset: i32) -> Option<Self> {
        let rows = weights.len().checked_div(columns)?;
        let is_side = |side: usize| side % 2 == 1 && side <= MAX_SIDE;
        let fits = is_side(columns)
            && is_side(rows)
            && rows * columns == weights.len()
            && weights
                .iter()
                .all(|weight| weight.unsigned_abs() <= MAX_WEIGHT.unsigned_abs())
            && (1..=MAX_DIVISOR).contains(&divisor)
            && offset.unsigned_abs() <= 65_535;
        if !fits {
            return None;
        }
        let tap = |(place, weight): (usize, &i32)| Tap {
            column: place % columns,
            row: place / columns,
            weight: *weight,
        };
        let sum = |sign: i32| {
            let same = weights.iter().filter(|weight| weight.signum() == sign);
            same.map(|weight| u64::from(weight.unsigned_abs())).sum()
        };
        Some(Self {
            columns,
            rows,
            taps: weights
                .iter()
                .enumerate()
                .map(tap)
                .filter(|tap| tap.weight != 0)
                .collect(),
            sums: (sum(1), sum(-1)),
            divisor,
            offset,
        })
    }

    /// How far it reaches along a row and down a column, in pixels.
    #[must_use]
    pub fn reach(&self) -> (usize, usize) {
        (self.columns / 2, self.rows / 2)
    }

    /// How many weights are not 0.
    #[must_use]
    pub fn weights(&self) -> usize {
        self.taps.len()
    }

    /// Between which samples results lie of samples between `least` and `greatest`, both at most M, which is `max`.
    #[must_use]
    pub fn range(&self, least: u16, greatest: u16, max: u16) -> (u16, u16) {
        let (up, down) = (self.sums.0.cast_signed(), self.sums.1.cast_signed());
        let (least, greatest) = (i64::from(least), i64::from(greatest));
        (
            self.sample(up * least - down * greatest, max),
            self.sample(up * greatest - down * least, max),
        )
    }

    /// The sample of a sum, at most `max`.
    fn sample(&self, sum: i64, max: u16) -> u16 {
        let divisor = i64::from(self.divisor);
        let rounded = (2 * (sum + i64::from(self.offset) * divisor) + divisor).div_euclid(2 * divisor);
        rounded.clamp(0, i64::from(max)) as u16
    }
}
