//! Grids of more cubes than one axis takes.

use cubecl::prelude::CubeCount;

use super::Gpu;

/// A grid of at least `count` cubes, over two axes where one is too short; `CUBE_POS` counts them, and a few of the
/// last may be too many.
#[must_use]
pub fn cubes(gpu: &Gpu, count: u32) -> CubeCount {
    let rows = count.div_ceil(gpu.report().cubes.clamp(1, 65_535)).max(1);
    CubeCount::Static(count.div_ceil(rows).max(1), rows, 1)
}
