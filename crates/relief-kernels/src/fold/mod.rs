//! Fold: how one raster is laid onto another, sample by sample.
//!
//! Two loads and one store per sample and a few exact integer operations: the bound is memory.
//!
//! ```
//! use relief_kernels::fold::{Fold, cpu};
//! use relief_raster::{View, ViewMut};
//!
//! let (mut below, above) = ([10_u8, 200, 30], [5, 100, 40]);
//! cpu::fold(Fold::Add, ViewMut::packed(&mut below, 3, 1), View::packed(&above, 3, 1));
//! assert_eq!(below, [15, 255, 70]);
//! assert_eq!(Fold::Mean.apply(4_u8, 7), 6);
//! ```

use relief_raster::Sample;

pub mod cpu;

#[cfg(test)]
mod tests;

/// How a sample `v` is folded into `acc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fold {
    /// v
    Base,
    /// acc + v, at most M
    Add,
    /// acc − v, at least 0
    Subtract,
    /// (acc·v + ⌊M/2⌋) / M
    Multiply,
    /// (acc + v + 1) / 2
    Mean,
    /// the greater
    Max,
    /// the lesser
    Min,
    /// v where v ≠ 0, else acc
    Over,
    /// acc where v ≠ 0, else 0
    Mask,
}

impl Fold {
    /// All folds.
    pub const ALL: [Self; 9] = [
        Self::Base,
        Self::Add,
        Self::Subtract,
        Self::Multiply,
        Self::Mean,
        Self::Max,
        Self::Min,
        Self::Over,
        Self::Mask,
    ];

    /// One folded sample: what [`cpu::fold`] computes for each.
    #[must_use]
    pub fn apply<S: Sample>(self, acc: S, v: S) -> S {
        let (a, b, max) = (
            u32::from(acc.to_u16()),
            u32::from(v.to_u16()),
            u32::from(S::MAX.to_u16()),
        );
        let folded = match self {
            Self::Base => b,
            Self::Add => (a + b).min(max),
            Self::Subtract => a.saturating_sub(b),
            Self::Multiply => (a * b + max / 2) / max,
            Self::Mean => (a + b).div_ceil(2),
            Self::Max => a.max(b),
            Self::Min => a.min(b),
            Self::Over => {
                if b == 0 {
                    a
                } else {
                    b
                }
            }
            Self::Mask => {
                if b == 0 {
                    0
                } else {
                    a
                }
            }
        };
        // No fold exceeds M, so nothing is cut off here.
        S::from_u16(folded as u16)
    }
}
