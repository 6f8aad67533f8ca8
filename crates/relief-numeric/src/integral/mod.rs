//! Integral images (summed-area tables, Crow 1984): I(x, y) is the sum of all samples left of and above (x, y), itself included.
//!
//! The sum of any rectangle is then four samples of it: with its corners, I(x₁, y₁) − I(x₀, y₁) − I(x₁, y₀) + I(x₀, y₀). So a
//! mean over a window costs the same for every size of it.
//!
//! **Sums.** Of 8 bits in 32, modulo 2³²: rectangles of less than 2²⁴ samples still have their sum, because differences are
//! modulo 2³² too; of 8 bits in 64, exact; of floats in floats, which hold fewer digits the further right and down they are.
//!
//! **What windows are.** Samples at most `radius` away along both axes that the picture has: at a border a window is smaller.
//! [`Window::mean`] rounds halves up, so that an adaptive threshold is exact integers everywhere.
//!
//! Least work: every sample is read once, every sum written once.
//!
//! **The order of sums of floats** is fixed for a device and its layout, and on the CPU for all numbers of threads.
//!
//! ```
//! use relief_numeric::integral::cpu::{Picture, integral, scratch_sums};
//!
//! let picture = Picture { samples: &[1_u8, 2, 3, 4, 5, 6], width: 3, height: 2, pitch: 3 };
//! let mut sums = [0_u32; 6];
//! let mut scratch = vec![0; scratch_sums(&picture)];
//! integral(picture, &mut scratch, &mut sums, 3);
//! assert_eq!(sums, [1, 3, 6, 5, 12, 21]);
//! ```

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod windows;

#[cfg(test)]
mod tests;

/// What samples are and what their sums are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sums {
    /// Of samples of 8 bits, in 32 bits, modulo 2³².
    Short,
    /// Of samples of 8 bits, in 64 bits.
    Long,
    /// Of floats of 32 bits, in such.
    Floats,
}

impl Sums {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Short, Self::Long, Self::Floats];

    /// Bits of a sample.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Short | Self::Long => 8,
            Self::Floats => 32,
        }
    }

    /// Words of a sum.
    #[must_use]
    pub const fn words(self) -> u32 {
        match self {
            Self::Short | Self::Floats => 1,
            Self::Long => 2,
        }
    }
}

/// The samples at most so far away along both axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// How far.
    pub radius: u32,
}

impl Window {
    /// The mean of samples whose sum this is, rounded to the nearest, halves up.
    ///
    /// # Panics
    /// Where there are none: nothing has no mean.
    #[must_use]
    pub const fn mean(sum: u64, count: u64) -> u64 {
        (sum + count / 2) / count
    }
}
