//! Grays to 0 or M.

mod bayer;
mod blue_noise;
mod diffusion;
mod dots;

use relief_raster::{Depth, Sample};

use crate::Error;
use relief_design::scan::Halftone;

pub use bayer::bayer;
pub use blue_noise::{blue_noise, blue_noise_of_256};
pub(crate) use diffusion::{Diffusion, Kernel};

/// A halftone made ready for a depth.
#[derive(Clone, Debug)]
pub(crate) enum Screen {
    /// M where the sample is at least the level of its place.
    Ordered(Ordered),
    /// Error diffusion.
    Diffusion(Kernel),
}

/// A matrix of levels that repeats: by its width along a line, and by its height down the lines, `shift` places further each time.
#[derive(Clone, Debug)]
pub(crate) struct Ordered {
    width: usize,
    shift: u64,
    /// Pixels of a place along both axes.
    spot: u64,
    levels: Vec<u16>,
}

impl Screen {
    pub(crate) fn new(halftone: Halftone, depth: Depth) -> Result<Self, Error> {
        let wrong = |problem: String| {
            Err(Error::Setting {
                setting: "halftone",
                problem,
            })
        };
        if let Some(kernel) = Kernel::of(halftone) {
            return Ok(Self::Diffusion(kernel));
        }
        match halftone {
            Halftone::Bayer { spot: 0, .. } | Halftone::BlueNoise { spot: 0, .. } => {
                wrong("a spot has a pixel at least".to_owned())
            }
            Halftone::Threshold { level } if level <= depth.max() => Ok(Self::Ordered(Ordered {
                width: 1,
                shift: 0,
                spot: 1,
                levels: vec![level],
            })),
            Halftone::Threshold { level } => wrong(format!(
                "the level {level} is above the greatest sample, {}",
                depth.max()
            )),
            Halftone::Bayer {
                size: size @ (2 | 4 | 8 | 16),
                spot,
            } => Ok(Self::square(size as usize, spot, &bayer(size), depth)),
            Halftone::Bayer { size, .. } => {
                wrong(format!("Bayer's matrix has 2, 4, 8 or 16 rows, not {size}"))
            }
            Halftone::BlueNoise { size: 64, spot } => Ok(Self::square(64, spot, blue_noise(), depth)),
            Halftone::BlueNoise { size: 256, spot } => {
                Ok(Self::square(256, spot, blue_noise_of_256(), depth))
            }
            Halftone::BlueNoise { size, .. } => {
                wrong(format!("a matrix of blue noise has 64 or 256 rows, not {size}"))
            }
            Halftone::Screen(screen) => {
                let dots = dots::Dots::new(screen).map_err(|problem| Error::Setting {
                    setting: "halftone",
                    problem,
                })?;
                Ok(Self::Ordered(Ordered {
                    width: dots.width,
                    shift: dots.shift,
                    spot: 1,
                    levels: levels(&dots.ranks, depth),
                }))
            }
            _ => wrong("this halftone is not known".to_owned()),
        }
    }

    fn square(size: usize, spot: u32, ranks: &[u32], depth: Depth) -> Self {
        Self::Ordered(Ordered {
            width: size,
            shift: 0,
            spot: spot.into(),
            levels: levels(ranks, depth),
        })
    }

    /// The bytes of its levels; what diffusion holds is told by its kernel.
    pub(crate) fn memory(&self) -> u64 {
        match self {
            Self::Ordered(ordered) => 2 * ordered.levels.len() as u64,
            Self::Diffusion(_) => 0,
        }
    }

    /// Screens pixels `i`… of line `j` in place; diffusion has been done before.
    pub(crate) fn apply<S: Sample>(&self, samples: &mut [S], i: u64, j: u64) {
        let Self::Ordered(ordered) = self else {
            return;
        };
        let Ordered {
            width, shift, spot, ..
        } = *ordered;
        let height = (ordered.levels.len() / width) as u64;
        let (above, line) = (j / spot / height, j / spot % height);
        let row = &ordered.levels[line as usize * width..][..width];
        let wide = width as u64;
        // How far the blocks above have moved the row, from the other side.
        let moved = (wide - above % wide * shift % wide) % wide;
        let start = ((i / spot % wide + moved) % wide) as usize;
        let levels = row.iter().cycle().skip(start);
        if spot == 1 {
            for (sample, &level) in samples.iter_mut().zip(levels) {
                *sample = if sample.to_u16() >= level { S::MAX } else { S::ZERO };
            }
            return;
        }
        // The first spot may have begun before.
        let first = samples.len().min((spot - i % spot) as usize);
        let (first, rest) = samples.split_at_mut(first);
        let spots = std::iter::once(first).chain(rest.chunks_mut(spot as usize));
        for (spot, &level) in spots.zip(levels) {
            for sample in spot {
                *sample = if sample.to_u16() >= level { S::MAX } else { S::ZERO };
            }
        }
    }
}

/// 2·v·n > (2·r + 1)·M is v ≥ ⌊(2·r + 1)·M / (2·n)⌋ + 1, at most M, where there are n ranks.
fn levels(ranks: &[u32], depth: Depth) -> Vec<u16> {
    let cells = ranks.len() as u64;
    let level = |&rank: &u32| ((2 * u64::from(rank) + 1) * u64::from(depth.max()) / (2 * cells) + 1) as u16;
    ranks.iter().map(level).collect()
}
