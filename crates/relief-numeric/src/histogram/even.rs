//! Histograms of numbers of 32 bits over bins of equal width, with what lies outside counted apart.
//!
//! **Which bin.** Of `count` bins from `low` to `high`, an integer x lies in bin ⌊(x − low) · count / (high − low)⌋, exactly. A float
//! lies in bin ⌊(x − low) · s⌋, or in the last one if that is less, where s = count / (high − low), and differences, products and s
//! are rounded to f32: the rule is the arithmetic, so that it is the same everywhere. A number is inside where low ≤ x < high; else it is
//! below, above, or, of floats, no number.

/// Why there are no such bins.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum BinsError {
    /// None, or more than [`Bins::MOST`].
    #[error("{0} bins; there may be 1 to {most}", most = Bins::MOST)]
    Count(u32),
    /// Bounds that are not in order, not finite, or so near or far that the width of a bin is not a normal number.
    #[error("{count} bins from {low} to {high}")]
    Bounds {
        /// The lower bound.
        low: f64,
        /// The upper one.
        high: f64,
        /// How many bins.
        count: u32,
    },
}

/// Bins of equal width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bins {
    count: u32,
    range: Range,
}

/// From where to where.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Range {
    F32 { low: f32, high: f32, scale: f32 },
    I32 { low: i32, width: u32 },
}

impl Bins {
    /// The most bins: counters of 32 bits for them, and what lies outside, fit the shared memory of every device.
    pub const MOST: u32 = 4_096;

    /// What is counted beside bins: numbers below, numbers above, and what is no number.
    pub const OUTSIDE: usize = 3;

    /// `count` bins of floats.
    ///
    /// # Errors
    /// Where there are none or too many, or the bounds make none.
    pub fn f32(low: f32, high: f32, count: u32) -> Result<Self, BinsError> {
        let scale = count as f32 / (high - low);
        let bounds = low < high && (high - low).is_normal() && scale.is_normal();
        let range = Range::F32 { low, high, scale };
        Self::checked(count, bounds, range, (f64::from(low), f64::from(high)))
    }

    /// `count` bins of integers.
    ///
    /// # Errors
    /// Where there are none or too many, or the bounds are not in order.
    pub fn i32(low: i32, high: i32, count: u32) -> Result<Self, BinsError> {
        let width = high.wrapping_sub(low) as u32;
        let range = Range::I32 { low, width };
        Self::checked(count, low < high, range, (f64::from(low), f64::from(high)))
    }

    const fn checked(
        count: u32,
        bounds: bool,
        range: Range,
        (low, high): (f64, f64),
    ) -> Result<Self, BinsError> {
        if count == 0 || count > Self::MOST {
            return Err(BinsError::Count(count));
        }
        if !bounds {
            return Err(BinsError::Bounds { low, high, count });
        }
        Ok(Self { count, range })
    }

    /// How many bins there are.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    #[cfg(feature = "gpu")]
    pub(crate) const fn range(&self) -> Range {
        self.range
    }

    /// Counters: of the bins, then of what is below, above, and no number.
    #[must_use]
    pub const fn counters(&self) -> usize {
        self.count as usize + Self::OUTSIDE
    }

    /// The counter of a number given by its bits: of a float or of an integer, as the bins are of.
    #[must_use]
    #[inline]
    pub fn counter(&self, bits: u32) -> u32 {
        let count = self.count;
        match self.range {
            Range::F32 { low, high, scale } => {
                let x = f32::from_bits(bits);
                // What is no number becomes 0 here, and is told apart below.
                let inside = (((x - low) * scale) as u32).min(count - 1);
                let outside = if x < low { count } else { count + 1 };
                match (x >= low && x < high, x.is_nan()) {
                    (true, _) => inside,
                    (_, true) => count + 2,
                    _ => outside,
                }
            }
            Range::I32 { low, width } => {
                let from_low = (bits as i32).wrapping_sub(low) as u32;
                // Both are integers below 2^48 and 2^32: their quotient is no nearer to an integer above it than 2^-32, which f64
                // resolves, so that rounding never reaches that.
                let inside = (f64::from(from_low) * f64::from(count) / f64::from(width)) as u32;
                match ((bits as i32) < low, from_low >= width) {
                    (true, _) => count,
                    (_, true) => count + 1,
                    _ => inside,
                }
            }
        }
    }
}

/// Numbers whose counters are found at once, before they are counted.
const BLOCK: usize = 1_024;

/// Adds to `counts` how many of the numbers, given by their bits, each counter has: those of bins, then below, above, and no number.
///
/// # Panics
/// Where there are not [`Bins::counters`] counts.
pub fn even(bins: &Bins, numbers: &[u32], counts: &mut [u64]) {
    const TABLES: usize = 4;
    assert_eq!(counts.len(), bins.counters(), "a count for each counter");
    let stride = bins.counters();
    // Neighbours add to tables of their own: two of one bin need not wait for each other.
    let mut tables = vec![0_u64; TABLES * stride];
    let mut found = [0; BLOCK];
    for block in numbers.chunks(BLOCK) {
        for (counter, bits) in found.iter_mut().zip(block) {
            *counter = bins.counter(*bits);
        }
        for (k, counter) in found[..block.len()].iter().enumerate() {
            tables[k % TABLES * stride + *counter as usize] += 1;
        }
    }
    for table in tables.chunks(stride) {
        counts
            .iter_mut()
            .zip(table)
            .for_each(|(count, part)| *count += part);
    }
}
