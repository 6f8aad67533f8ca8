//! Reduction: the sum, the least, the greatest number of an array or of each row of one, and where the least is.
//!
//! Every number is read once, and what is computed weighs little beside that: the bound is how fast memory is read.
//!
//! **What results are.** Sums of integers are exact, in 64 bits. The least and greatest float are those of
//! [`f32::total_cmp`]: −0 is below 0, and a NaN is above (or, negative, below) all numbers. Of equal numbers the first is
//! where the least is. Of nothing, a sum is 0, the least is the greatest number there is (of floats the greatest NaN), the
//! greatest is the least, and the place of the least is [`u64::MAX`].
//!
//! **The order of a sum of floats** is fixed, so that the bits are the same on every device and for every number of
//! threads:
//! 1. A row is cut in blocks of [`BLOCK`] numbers. In a block, sum j of 1 024 begins with 0 and takes the numbers j, j + 1 024,
//!    j + 2 048, … one after the other.
//! 2. Four neighbouring sums become (s₀ + s₁) + (s₂ + s₃).
//! 3. Of the 256 that are left, the second half is added to the first, until one is left: that of the block.
//! 4. Of the sums of blocks, sum j of 1 024 begins with 0 and takes those of blocks j, j + 1 024, …; and again the second half is
//!    added to the first, until one is left. A single block's sum is the result.
//!
//! It costs nothing: it is the order in which a cube of 256 units with vectors of four reads a block.
//!
//! ```
//! use relief_numeric::reduce::cpu;
//!
//! assert_eq!(cpu::sum(&[200_u8, 100, 5]), 305);
//! assert_eq!(cpu::place_of_least(&[3.0_f32, -1.0, 2.0, -1.0]), Some(1));
//! ```

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

#[cfg(test)]
mod tests;

/// What a reduction computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// The sum: of integers in 64 bits, of floats in 32.
    Sum,
    /// The least number.
    Least,
    /// The greatest number.
    Greatest,
    /// The place of the first least number, in 64 bits.
    PlaceOfLeast,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Sum, Self::Least, Self::Greatest, Self::PlaceOfLeast];
}

/// Floats of a block, which is what a cube reduces at once.
pub const BLOCK: usize = 16 * 1_024;
