//! Grids of more cubes than one axis takes, and how kernels count places in memory.

// What the macro makes beside a public kernel has no documentation.
#![allow(missing_docs)]

use cubecl::prelude::*;

use super::{Backend, Gpu};

/// A grid of at least `count` cubes, over two axes where one is too short; `CUBE_POS` counts them, and a few of the
/// last may be too many.
#[must_use]
pub fn cubes(gpu: &Gpu, count: u32) -> CubeCount {
    let rows = count.div_ceil(gpu.report().cubes.clamp(1, 65_535)).max(1);
    CubeCount::Static(count.div_ceil(rows).max(1), rows, 1)
}

/// The number of a cube in a grid of [`cubes()`].
///
/// `CUBE_POS` and `UNIT_POS` count along three axes. A unit that loads once and stores once spends so much of its time before the load that those
/// few instructions cost a device with fast memory up to 0.4 %; units of cubes of one axis are counted by `UNIT_POS_X`.
#[cube]
pub fn cube_number() -> u32 {
    CUBE_POS_Y * CUBE_COUNT_X + CUBE_POS_X
}

/// How kernels count places where one of them is a constant after another: `place as usize + constant`.
///
/// CUDA's runtime compiler has pointers of 64 bits to shared memory as well. A sum of 32 bits may wrap, so each place would be computed apart, two
/// instructions each; one of 64 bits is part of the load. Others count in 32 bits.
#[must_use]
pub fn addresses(gpu: &Gpu) -> AddressType {
    match gpu.report().backend() {
        Some(Backend::Cuda) => AddressType::U64,
        _ => AddressType::U32,
    }
}
