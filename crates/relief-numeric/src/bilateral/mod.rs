//! The bilateral filter: a mean over the neighbourhood in which what differs much in value counts little, so that edges
//! stay. Computed on the bilateral grid of Paris and Durand ("A fast approximation of the bilateral filter using a signal
//! processing approach", 2006), in the form of Chen, Paris and Durand ("Real-time edge-aware image processing with the
//! bilateral grid", 2007).
//!
//! The grid has three axes: columns, rows and values, one cell for every standard deviation in space and in value. *Splat*
//! adds each pixel to its nearest cell: one to its count, and its value to its sum. *Blur* takes a mean with the binomial weights
//! 1, 4, 6, 4, 1 along each axis, of standard deviation one cell. *Slice* reads sum and count at the pixel's own place and value,
//! linearly between the cells, and divides. Cells beyond the picture are empty. The blur costs a little for each cell,
//! so the time hardly depends on the deviation; a sum over neighbours costs its square.
//!
//! Values are integers: those of samples of 8 and 16 bits, and 2^19 times a float, which is taken to be between 0 and 1. Counts and
//! sums are exact, so the order of additions changes nothing; the blur and the slice are computed in f32.
//!
//! ```
//! use relief_numeric::bilateral::{Bilateral, cpu};
//!
//! // What does not differ stays as it is.
//! let job = Bilateral { width: 16, height: 8, spatial: 4, range: 30 };
//! let cells = job.cells(255)?;
//! let (image, mut output) = ([77_u8; 128], [0; 128]);
//! let row = cpu::Filter::new::<u8>(job)?.row_len();
//! let mut scratch = vec![0.0; 2 * cpu::grid_len(cells) + row];
//! let mut counts = vec![0; row];
//! cpu::bilateral(job, &image, &mut output, 16, &mut scratch, &mut counts)?;
//! assert_eq!(output, image);
//! # Ok::<(), relief_numeric::bilateral::BilateralError>(())
//! ```

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

#[cfg(test)]
mod tests;

/// Weights of the blur along an axis; their sum cancels out.
const WEIGHTS: [f32; 5] = [1.0, 4.0, 6.0, 4.0, 1.0];

/// The largest deviation in space: the sum of a cell's values has to fit 32 bits.
pub const MOST_SPATIAL: u32 = 64;

/// The most cells along the axis of values: the counts and sums of a column of cells have to fit shared memory.
pub const MOST_DEPTH: u32 = 256;

/// A type of samples: `u8`, `u16`, `f32`. It is sealed.
pub trait Level: crate::sealed::Sealed + Copy + Send + Sync {
    /// The greatest value.
    const GREATEST: u32;

    /// The value, 0…[`GREATEST`](Self::GREATEST).
    fn level(self) -> u32;

    /// The sample of a value between two, to the nearest.
    fn from_level(level: f32) -> Self;
}

impl Level for u8 {
    const GREATEST: u32 = 255;

    fn level(self) -> u32 {
        u32::from(self)
    }

    fn from_level(level: f32) -> Self {
        (level + 0.5) as Self
    }
}

impl Level for u16 {
    const GREATEST: u32 = 65_535;

    fn level(self) -> u32 {
        u32::from(self)
    }

    fn from_level(level: f32) -> Self {
        (level + 0.5) as Self
    }
}

/// How many values a float between 0 and 1 is told apart into.
const STEPS: u32 = 1 << 19;

impl Level for f32 {
    const GREATEST: u32 = STEPS;

    /// What is no number is 0.
    fn level(self) -> u32 {
        // 2^19 + 0.5 is exact.
        (self.clamp(0.0, 1.0) * STEPS as Self + 0.5) as u32
    }

    fn from_level(level: f32) -> Self {
        level / STEPS as Self
    }
}

/// Why a filter cannot be computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BilateralError {
    /// The deviation in space is 0 or too great.
    #[error("a deviation of {0} pixels in space: 1 to {MOST_SPATIAL} are possible")]
    Spatial(u32),
    /// The deviation in value is 0, or so small that the grid has too many cells.
    #[error("a deviation of {range} in value: at least {least} is possible where values go to {greatest}")]
    Range {
        /// What was asked for.
        range: u32,
        /// What is possible.
        least: u32,
        /// The greatest value.
        greatest: u32,
    },
    /// The grid has more cells than 32 bits count.
    #[error("a grid of {0} cells: at most 2^31 are possible")]
    Cells(u64),
}

/// A picture's size and the deviations, in pixels and in values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bilateral {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// The standard deviation in space.
    pub spatial: u32,
    /// The standard deviation in value.
    pub range: u32,
}

/// Cells along the three axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cells {
    /// Along columns.
    pub across: u32,
    /// Along rows.
    pub down: u32,
    /// Along values.
    pub deep: u32,
}

impl Cells {
    /// All of them.
    #[must_use]
    pub const fn count(self) -> u64 {
        (self.across as u64 * self.down as u64).saturating_mul(self.deep as u64)
    }
}

impl Bilateral {
    /// The grid of this filter, where values go from 0 to `greatest`.
    ///
    /// # Errors
    /// Where a deviation is out of range, or the grid too large.
    pub const fn cells(&self, greatest: u32) -> Result<Cells, BilateralError> {
        if self.spatial == 0 || self.spatial > MOST_SPATIAL {
            return Err(BilateralError::Spatial(self.spatial));
        }
        let least = greatest / (MOST_DEPTH - 1) + 1;
        if self.range < least {
            return Err(BilateralError::Range {
                range: self.range,
                least,
                greatest,
            });
        }
        let cells = Cells {
            across: (self.width.saturating_sub(1) / self.spatial).saturating_add(2),
            down: (self.height.saturating_sub(1) / self.spatial).saturating_add(2),
            deep: greatest / self.range + 2,
        };
        if cells.count() > 1 << 31 {
            return Err(BilateralError::Cells(cells.count()));
        }
        Ok(cells)
    }
}
