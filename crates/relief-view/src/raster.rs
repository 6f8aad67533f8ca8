//! Samples of levels.

use relief_engine::{Cancel, Depth, Effort, Exactness, OwnedSamples, Rect, Renderer, SamplesMut, Statistic};

use crate::fault::Fault;

/// Columns and rows of a tile.
pub(crate) const TILE: u64 = 256;

/// Samples that are asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) level: u32,
    /// In coordinates of the level.
    pub(crate) rect: Rect,
    pub(crate) statistic: Statistic,
}

impl Window {
    /// Computes it, packed, with `effort` for a level above 0.
    pub(crate) fn read(
        &self,
        renderer: &Renderer,
        effort: Effort,
        cancel: &Cancel,
    ) -> Result<(OwnedSamples, Exactness), Fault> {
        let count = usize::try_from(self.rect.area()).unwrap_or(usize::MAX);
        let fill = |out: SamplesMut<'_>| match self.level {
            0 => renderer.read(self.rect, out, cancel).map(|()| Exactness::Exact),
            level => renderer.read_level(level, self.rect, self.statistic, effort, out, cancel),
        };
        let read = match renderer.plan().depth() {
            Depth::Eight => {
                let mut samples = zeroed::<u8>(count)?;
                fill(SamplesMut::Eight(&mut samples))
                    .map(|exactness| (OwnedSamples::Eight(samples), exactness))
            }
            Depth::Sixteen => {
                let mut samples = zeroed::<u16>(count)?;
                fill(SamplesMut::Sixteen(&mut samples))
                    .map(|exactness| (OwnedSamples::Sixteen(samples), exactness))
            }
        };
        read.map_err(|error| Fault::engine(&error))
    }

    /// Computes it exactly, or refuses.
    pub(crate) fn exact(
        &self,
        renderer: &Renderer,
        cost: u64,
        cancel: &Cancel,
    ) -> Result<OwnedSamples, Fault> {
        match self.read(renderer, cost.into(), cancel)? {
            (samples, Exactness::Exact) => Ok(samples),
            _ => Err(Fault::inexact(cost)),
        }
    }
}

/// So many samples, or a refusal of the system.
pub(crate) fn zeroed<S: Clone + Default>(count: usize) -> Result<Vec<S>, Fault> {
    let mut samples = Vec::new();
    samples
        .try_reserve_exact(count)
        .map_err(|_| Fault::failed("the system refused memory for an answer"))?;
    samples.resize(count, S::default());
    Ok(samples)
}

/// The statistic of this name.
pub(crate) fn statistic(name: &str) -> Option<Statistic> {
    match name {
        "mean" => Some(Statistic::Mean),
        "min" | "least" => Some(Statistic::Least),
        "max" | "greatest" => Some(Statistic::Greatest),
        _ => None,
    }
}

/// Columns and rows of a level of a raster.
pub(crate) const fn level_size((width, height): (u64, u64), level: u32) -> (u64, u64) {
    let side = 1_u64 << level;
    (width.div_ceil(side), height.div_ceil(side))
}

/// The part of a grid of squares of `side` that is at (`x`, `y`), within `size`.
pub(crate) fn square((x, y): (u64, u64), side: u64, size: (u64, u64)) -> Option<Rect> {
    let (left, top) = (x.checked_mul(side)?, y.checked_mul(side)?);
    if left >= size.0 || top >= size.1 {
        return None;
    }
    Rect::new(
        i64::try_from(left).ok()?,
        i64::try_from(top).ok()?,
        side.min(size.0 - left),
        side.min(size.1 - top),
    )
}
