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

/// How many cubes of which size cover `width` × `height` units by `cube`, units along either axis.
#[must_use]
pub fn cover((width, height): (u32, u32), cube: (u32, u32)) -> (CubeCount, CubeDim) {
    let cubes = CubeCount::Static(width.div_ceil(cube.0), height.div_ceil(cube.1), 1);
    (cubes, CubeDim::new_2d(cube.0, cube.1))
}

/// How many cubes of `units` units cover `count` units; see [`cubes()`].
#[must_use]
pub fn line(gpu: &Gpu, count: u32, units: u32) -> (CubeCount, CubeDim) {
    (cubes(gpu, count.div_ceil(units)), CubeDim::new_1d(units))
}

/// Launches one kernel by [`Gpu::launch`]: `launch!(gpu, name, shape, memory, grid, unsafe kernel<kinds>(arguments))`.
///
/// `grid` is how many cubes and how large, as of [`cover`] and [`line()`]. `kernel` is a function with `#[cube(launch_unchecked)]`,
/// and `arguments` are those after the cubes. Kinds of numbers, if there are any, end with `_`, the runtime.
///
/// # Safety
/// Nothing checks where the kernel reads and writes: who writes `unsafe` says why each place lies in its buffer.
#[macro_export]
macro_rules! launch {
    (
        $gpu:expr, $name:expr, $shape:expr, $memory:expr, $grid:expr,
        unsafe $($kernel:ident)::+ $(<$($kind:ty),+>)? ($($argument:expr),* $(,)?)
    ) => {{
        let grid = $grid;
        $gpu.launch($name, $shape, $memory, || {
            $crate::on_client!($gpu, client => $crate::start!(
                client, grid.clone(), unsafe $($kernel)::+ $(<$($kind),+>)? ($($argument),*)
            ))
        })
    }};
}

/// Starts one kernel within a [`Gpu::launch`] of several, or of one of several: `start!(client, grid, unsafe kernel<kinds>(arguments))`.
///
/// # Safety
/// As of [`launch!`](crate::launch).
#[macro_export]
macro_rules! start {
    (
        $client:expr, $grid:expr, unsafe $($kernel:ident)::+ $(<$($kind:ty),+>)? ($($argument:expr),* $(,)?)
    ) => {{
        let (cubes, units) = $grid;
        // SAFETY: whoever writes `unsafe` says why.
        unsafe { $($kernel)::+::launch_unchecked $(::<$($kind),+>)? ($client, cubes, units, $($argument),*) }
    }};
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
