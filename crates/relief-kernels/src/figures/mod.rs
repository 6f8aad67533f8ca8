//! Figures of samples: their sum, the least and the greatest.
//!
//! ```
//! use relief_kernels::figures::{Figures, cpu};
//! use relief_kernels::isa::Isa;
//!
//! let figures = cpu::of_bytes(Isa::best(), &[3, 200, 7]);
//! assert_eq!((figures.sum, figures.least, figures.greatest), (210, 3, 200));
//! assert_eq!(cpu::of_bytes(Isa::best(), &[]), Figures::EMPTY);
//! ```

pub mod cpu;

#[cfg(test)]
mod tests;

/// What is known of some samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// The sum of all.
    pub sum: u64,
    /// The least; the greatest number of 16 bits where there are none.
    pub least: u16,
    /// The greatest; 0 where there are none.
    pub greatest: u16,
}

impl Figures {
    /// Those of no samples.
    pub const EMPTY: Self = Self {
        sum: 0,
        least: u16::MAX,
        greatest: 0,
    };

    /// Takes other samples in. Sums beyond 64 bits stay the greatest number.
    pub fn add(&mut self, other: Self) {
        self.sum = self.sum.saturating_add(other.sum);
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
    }
}
