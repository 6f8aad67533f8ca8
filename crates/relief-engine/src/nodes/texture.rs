//! `perlin` and `worley`: functions of the seed and the place alone.

use relief_design::kinds;
use relief_design::tree;
use relief_kernels::texture::{Cells, cpu};
use relief_raster::{Period, Rect, Sample, ViewMut};

use super::hosted::{Held, Hosted};
use crate::Error;
use crate::node::{Periodic, Resources};

pub(crate) type Perlin = Held<Noise>;
pub(crate) type Worley = Held<Points>;

#[derive(Clone, Debug)]
pub(crate) struct Noise {
    seed: u64,
    cells: [Cells; 2],
    octaves: u32,
    /// Columns and rows after which it begins anew.
    periods: [Option<u64>; 2],
}

#[derive(Clone, Debug)]
pub(crate) struct Points {
    seed: u64,
    cells: [Cells; 2],
    of: cpu::Feature,
    /// Columns and rows after which it begins anew.
    periods: [Option<u64>; 2],
}

/// The cells of a node.
fn cells(cells: [kinds::Cells; 2]) -> Result<[Cells; 2], Error> {
    let [across, down] = cells.map(|cells| Cells::new(cells.count, cells.pixels, cells.wraps));
    match (across, down) {
        (Some(across), Some(down)) => Ok([across, down]),
        _ => Err(Error::defect(Rect::EMPTY, "a texture without cells")),
    }
}

/// The columns and rows after which a texture begins anew.
fn periods(cells: [kinds::Cells; 2]) -> [Option<u64>; 2] {
    cells.map(|cells| cells.wraps.then_some(cells.pixels))
}

/// How a texture repeats; along an axis without a period by all of its side, so that no two of its samples are meant.
fn periodic([across, down]: [Option<u64>; 2], own: Rect) -> Option<Periodic> {
    across.or(down)?;
    Some(Periodic {
        period: Period::grid(across.unwrap_or(own.width()), down.unwrap_or(own.height()))?,
        valid: own,
    })
}

impl Hosted for Noise {
    type Design = kinds::Perlin;
    type Key = (u64, [Cells; 2], u32, [Option<u64>; 2]);

    const IS_TALL: bool = false;

    fn new(kind: &kinds::Perlin, _: &tree::Node, _: &mut dyn Resources) -> Result<Self, Error> {
        Ok(Self {
            seed: kind.seed,
            cells: cells(kind.cells)?,
            octaves: kind.octaves,
            periods: periods(kind.cells),
        })
    }

    fn key(&self) -> Self::Key {
        (self.seed, self.cells, self.octaves, self.periods)
    }

    fn cost(&self) -> u64 {
        15 * u64::from(self.octaves)
    }

    fn period(&self, own: Rect) -> Option<Periodic> {
        periodic(self.periods, own)
    }

    fn scratch_words<S: Sample>(&self, width: u64) -> u64 {
        cpu::perlin_words(width)
    }

    fn compute<S: Sample>(
        &self,
        at: (i64, i64),
        out: ViewMut<'_, S>,
        scratch: &mut [u64],
        _: &dyn Fn() -> bool,
    ) -> Option<S> {
        cpu::perlin(self.seed, &self.cells, self.octaves, at, out, scratch);
        None
    }
}

impl Hosted for Points {
    type Design = kinds::Worley;
    type Key = (u64, [Cells; 2], cpu::Feature, [Option<u64>; 2]);

    const IS_TALL: bool = false;

    fn new(kind: &kinds::Worley, _: &tree::Node, _: &mut dyn Resources) -> Result<Self, Error> {
        Ok(Self {
            seed: kind.seed,
            cells: cells(kind.cells)?,
            of: match kind.of {
                kinds::Feature::Nearest => cpu::Feature::Nearest,
                kinds::Feature::Second => cpu::Feature::Second,
                kinds::Feature::Edge => cpu::Feature::Edge,
                kinds::Feature::Cell => cpu::Feature::Cell,
            },
            periods: periods(kind.cells),
        })
    }

    fn key(&self) -> Self::Key {
        (self.seed, self.cells, self.of, self.periods)
    }

    fn cost(&self) -> u64 {
        60
    }

    fn period(&self, own: Rect) -> Option<Periodic> {
        periodic(self.periods, own)
    }

    fn scratch_words<S: Sample>(&self, width: u64) -> u64 {
        cpu::worley_words(width)
    }

    fn compute<S: Sample>(
        &self,
        at: (i64, i64),
        out: ViewMut<'_, S>,
        scratch: &mut [u64],
        _: &dyn Fn() -> bool,
    ) -> Option<S> {
        cpu::worley(self.seed, &self.cells, self.of, at, out, scratch);
        None
    }
}
