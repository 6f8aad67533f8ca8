//! `perlin` and `worley`: functions of the seed and the place alone.

use relief_design::kinds;
use relief_design::tree;
use relief_kernels::texture::{Cells, cpu};
use relief_raster::{Period, Rect, Sample, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::device::Lowering;
use crate::node::{Filled, Inputs, Link, Node, Periodic, Request, Resources, Tile};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Perlin {
    seed: u64,
    cells: [Cells; 2],
    octaves: u32,
    /// Columns and rows after which it begins anew.
    periods: [Option<u64>; 2],
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Worley {
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

impl Node for Perlin {
    fn period(&self, own: Rect, _: &[Link], _: &[Option<Periodic>]) -> Option<Periodic> {
        periodic(self.periods, own)
    }

    fn scratch(&self, _: &[Link], request: &Request, _: u64) -> u64 {
        cpu::perlin_words(request.width)
    }

    fn cost(&self) -> u64 {
        15 * u64::from(self.octaves)
    }

    #[cfg(feature = "gpu")]
    fn lowering(&self) -> Lowering {
        Lowering::Host
    }
}

impl Node for Worley {
    fn period(&self, own: Rect, _: &[Link], _: &[Option<Periodic>]) -> Option<Periodic> {
        periodic(self.periods, own)
    }

    fn scratch(&self, _: &[Link], request: &Request, _: u64) -> u64 {
        cpu::worley_words(request.width)
    }

    fn cost(&self) -> u64 {
        60
    }

    #[cfg(feature = "gpu")]
    fn lowering(&self) -> Lowering {
        Lowering::Host
    }
}

impl Tile for Perlin {
    type Design = kinds::Perlin;

    fn new(kind: &kinds::Perlin, _: &tree::Node, _: &mut dyn Resources) -> Result<Self, Error> {
        Ok(Self {
            seed: kind.seed,
            cells: cells(kind.cells)?,
            octaves: kind.octaves,
            periods: periods(kind.cells),
        })
    }

    fn tile<S: Sample>(
        &self,
        _: &dyn Inputs<S>,
        _: &[Link],
        rect: Rect,
        out: ViewMut<'_, S>,
        scratch: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        cpu::perlin(
            self.seed,
            &self.cells,
            self.octaves,
            (rect.x(), rect.y()),
            out,
            scratch,
        );
        Ok(Filled::Written)
    }
}

impl Tile for Worley {
    type Design = kinds::Worley;

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

    fn tile<S: Sample>(
        &self,
        _: &dyn Inputs<S>,
        _: &[Link],
        rect: Rect,
        out: ViewMut<'_, S>,
        scratch: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        cpu::worley(
            self.seed,
            &self.cells,
            self.of,
            (rect.x(), rect.y()),
            out,
            scratch,
        );
        Ok(Filled::Written)
    }
}
