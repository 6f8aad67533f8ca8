//! Grays to 0 or M.

mod diffusion;

use relief_raster::{Depth, Sample};

use crate::Error;
use relief_design::halftone::Matrix;
use relief_design::scan::Halftone;

pub(crate) use diffusion::{Diffusion, Kernel};
pub use relief_design::halftone::{bayer, blue_noise, blue_noise_of_256};

/// A halftone made ready for a depth.
#[derive(Clone, Debug)]
pub(crate) enum Screen {
    /// M where the sample is at least the level of its place.
    Ordered(Matrix),
    /// Error diffusion.
    Diffusion(Kernel),
}

impl Screen {
    pub(crate) fn new(halftone: Halftone, depth: Depth) -> Result<Self, Error> {
        if let Some(kernel) = Kernel::of(halftone) {
            return Ok(Self::Diffusion(kernel));
        }
        let problem = match Matrix::new(halftone, depth) {
            Ok(Some(matrix)) => return Ok(Self::Ordered(matrix)),
            Ok(None) => "this halftone is not known".to_owned(),
            Err(problem) => problem,
        };
        Err(Error::Setting {
            setting: "halftone",
            problem,
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
        let Matrix {
            width, shift, spot, ..
        } = *ordered;
        let height = ordered.height() as u64;
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
