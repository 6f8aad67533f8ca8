//! Ordered halftones: matrices of levels that repeat over a raster.

mod bayer;
mod blue_noise;
mod dots;

use relief_raster::Depth;

use crate::scan::Halftone;

pub use bayer::bayer;
pub use blue_noise::{blue_noise, blue_noise_of_256};

/// A matrix of levels that repeats: by its width along a row, and by its height down the rows, `shift` places further to the right each time.
/// A sample becomes M where it is at least the level of its place, else 0.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Matrix {
    /// Places of a row, at least 1.
    pub width: usize,
    /// How far the places of each next height of rows lie further to the right, less than the width.
    pub shift: u64,
    /// Pixels of a place along both axes, at least 1.
    pub spot: u64,
    /// The level of each place, row by row.
    pub levels: Vec<u16>,
}

impl Matrix {
    /// The matrix of a halftone; none of error diffusion, which has no matrix.
    ///
    /// # Errors
    /// What is wrong with the halftone.
    pub fn new(halftone: Halftone, depth: Depth) -> Result<Option<Self>, String> {
        is_ordered(halftone, depth.max())?;
        Ok(match halftone {
            Halftone::Threshold { level } => Some(Self {
                width: 1,
                shift: 0,
                spot: 1,
                levels: vec![level],
            }),
            Halftone::Bayer { size, spot } => Some(Self::square(size as usize, spot, &bayer(size), depth)),
            Halftone::BlueNoise { size: 64, spot } => Some(Self::square(64, spot, blue_noise(), depth)),
            Halftone::BlueNoise { spot, .. } => Some(Self::square(256, spot, blue_noise_of_256(), depth)),
            Halftone::Screen(screen) => {
                let dots = dots::Dots::new(screen)?;
                Some(Self {
                    width: dots.width,
                    shift: dots.shift,
                    spot: 1,
                    levels: levels(&dots.ranks, depth),
                })
            }
            _ => None,
        })
    }

    fn square(size: usize, spot: u32, ranks: &[u32], depth: Depth) -> Self {
        Self {
            width: size,
            shift: 0,
            spot: spot.into(),
            levels: levels(ranks, depth),
        }
    }

    /// Rows of places until all of them are `shift` further.
    #[must_use]
    pub fn height(&self) -> usize {
        self.levels.len() / self.width
    }
}

/// Whether the numbers of a halftone are in range; those of error diffusion are.
pub(crate) fn is_ordered(halftone: Halftone, max: u16) -> Result<(), String> {
    match halftone {
        Halftone::Bayer { spot: 0, .. } | Halftone::BlueNoise { spot: 0, .. } => {
            Err("a spot has a pixel at least".to_owned())
        }
        Halftone::Threshold { level } if level > max => {
            Err(format!("the level {level} is above the greatest sample, {max}"))
        }
        Halftone::Bayer { size, .. } if !matches!(size, 2 | 4 | 8 | 16) => {
            Err(format!("Bayer's matrix has 2, 4, 8 or 16 rows, not {size}"))
        }
        Halftone::BlueNoise { size, .. } if !matches!(size, 64 | 256) => {
            Err(format!("a matrix of blue noise has 64 or 256 rows, not {size}"))
        }
        Halftone::Screen(screen) => dots::is_screen(screen),
        _ => Ok(()),
    }
}

/// 2·v·n > (2·r + 1)·M is v ≥ ⌊(2·r + 1)·M / (2·n)⌋ + 1, at most M, where there are n ranks.
fn levels(ranks: &[u32], depth: Depth) -> Vec<u16> {
    let cells = ranks.len() as u64;
    let level = |&rank: &u32| ((2 * u64::from(rank) + 1) * u64::from(depth.max()) / (2 * cells) + 1) as u16;
    ranks.iter().map(level).collect()
}
