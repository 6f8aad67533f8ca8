//! Scan: the sums of all numbers up to each (inclusive) or before each (exclusive).
//!
//! Numbers of 8, 16 and 32 bits without a sign have sums of 32 bits, modulo 2³²; those of numbers with a sign wrap around
//! too. Sums of floats are floats.
//!
//! Least work: every number is read once, every sum written once; what is computed is less. So a copy of as many bytes is
//! the bound, and what costs is that every sum depends on all numbers before it.
//!
//! **The order of sums of floats** is fixed on a device with its layout, and on the CPU for every number of threads; they
//! are not the same: a scan of many units adds in another order than one of few, and to imitate the one on the other would
//! cost most of the speed of either.
//!
//! ```
//! use relief_numeric::scan::{Kind, cpu};
//!
//! let mut sums = [0_u32; 4];
//! cpu::scan(Kind::Inclusive, &[1_u32, 2, 3, 4], &mut sums);
//! assert_eq!(sums, [1, 3, 6, 10]);
//! cpu::scan(Kind::Exclusive, &[1_u32, 2, 3, 4], &mut sums);
//! assert_eq!(sums, [0, 1, 3, 6]);
//! ```

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

#[cfg(test)]
mod tests;

/// Whether a sum holds the number at its own place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It does: the first sum is the first number.
    Inclusive,
    /// It does not: the first sum is 0.
    Exclusive,
}
