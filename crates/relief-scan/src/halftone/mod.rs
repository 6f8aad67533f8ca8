//! Grays to 0 or M.

mod bayer;
mod blue_noise;
mod floyd_steinberg;

use relief_raster::{Depth, Sample};

use crate::Error;
use relief_design::scan::Halftone;

pub use bayer::bayer;
pub use blue_noise::blue_noise;
pub(crate) use floyd_steinberg::Diffusion;

/// A halftone made ready for a depth.
#[derive(Clone, Debug)]
pub(crate) enum Screen {
    /// M where the sample is at least the level of its place: `levels[j mod size][i mod size]`.
    Ordered { size: usize, levels: Vec<u16> },
    /// Error diffusion.
    Diffusion,
}

impl Screen {
    pub(crate) fn new(halftone: Halftone, depth: Depth) -> Result<Self, Error> {
        let wrong = |problem: String| {
            Err(Error::Setting {
                setting: "halftone",
                problem,
            })
        };
        match halftone {
            Halftone::Threshold { level } if level <= depth.max() => Ok(Self::Ordered {
                size: 1,
                levels: vec![level],
            }),
            Halftone::Threshold { level } => wrong(format!(
                "the level {level} is above the greatest sample, {}",
                depth.max()
            )),
            Halftone::Bayer {
                size: size @ (2 | 4 | 8 | 16),
            } => Ok(Self::ordered(size as usize, &bayer(size), depth)),
            Halftone::Bayer { size } => wrong(format!("Bayer's matrix has 2, 4, 8 or 16 rows, not {size}")),
            Halftone::BlueNoise => Ok(Self::ordered(blue_noise::SIDE, blue_noise(), depth)),
            Halftone::FloydSteinberg => Ok(Self::Diffusion),
        }
    }

    /// 2·v·n² > (2·r + 1)·M is v ≥ ⌊(2·r + 1)·M / (2·n²)⌋ + 1, at most M.
    fn ordered(size: usize, ranks: &[u32], depth: Depth) -> Self {
        let cells = ranks.len() as u64;
        let level =
            |&rank: &u32| ((2 * u64::from(rank) + 1) * u64::from(depth.max()) / (2 * cells) + 1) as u16;
        Self::Ordered {
            size,
            levels: ranks.iter().map(level).collect(),
        }
    }

    /// Screens pixels `i`… of line `j` in place; diffusion has been done before.
    pub(crate) fn apply<S: Sample>(&self, samples: &mut [S], i: u64, j: u64) {
        let Self::Ordered { size, levels } = self else {
            return;
        };
        let row = &levels[(j % *size as u64) as usize * size..][..*size];
        let start = (i % *size as u64) as usize;
        for (sample, &level) in samples.iter_mut().zip(row.iter().cycle().skip(start)) {
            *sample = if sample.to_u16() >= level { S::MAX } else { S::ZERO };
        }
    }
}
