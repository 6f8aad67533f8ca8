//! Tiles of a product of floats whose slices the device copies to shared memory without registers
//! (`cp.async`).
//!
//! A slice of the left matrix is turned on the way: number by number, so that eight lanes read eight
//! neighbours of a row and write them below each other. Columns of it are four numbers longer than the tile,
//! so that those of a plane (warp) go to different banks. Vectors of the right matrix go as they are. There
//! are three slices, so that one barrier does: units (threads) that wait for a slice have asked for it while
//! they used the one before, none of them uses that before this any more, and what is asked for next takes
//! its place. Meanwhile they may be almost a slice apart, which hides what one of them waits for.

use cubecl::prelude::barrier::{Barrier, copy_async, copy_async_checked};
use cubecl::prelude::*;

use super::tiles::{Tile, multiply_slice, place_of_cube, place_of_unit, store};

/// Slices in shared memory.
pub(super) const STAGES: u32 = 3;

/// Numbers of k of a row of the left matrix that neighbours copy.
const TOGETHER: u32 = 8;

/// C = A·B. Widths and pitches are in vectors of four, but that of the left matrix, which is in numbers; `zero` is 0.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(super) fn multiply_straight<N: Size>(
    left: &Array<f32>,
    right: &Array<Vector<f32, N>>,
    result: &mut Array<Vector<f32, N>>,
    rows: u32,
    inner: u32,
    width: u32,
    left_pitch: u32,
    right_pitch: u32,
    result_pitch: u32,
    zero: u32,
    #[comptime] tile: Tile,
) {
    let (top, start) = place_of_cube(rows, width, tile);
    let (row, column) = place_of_unit(tile);
    let depth = comptime!(tile.depth);
    let mut lefts = SharedMemory::<f32>::new_aligned(
        comptime!((STAGES * depth * 4 * tile.left_straight()) as usize),
        16usize,
    );
    let mut rights = SharedMemory::<Vector<f32, N>>::new(comptime!((STAGES * depth * tile.right()) as usize));
    let barrier = Barrier::shared(comptime!(tile.units), UNIT_POS == 0);
    let mut sums = Array::<Vector<f32, N>>::new(comptime!(tile.vectors() as usize));
    #[unroll]
    for k in 0..comptime!(tile.vectors()) {
        sums[comptime!(k as usize)] = Vector::empty().fill(0.0f32);
    }

    let feed = Feed::new(top, start, rows, width, left_pitch, tile);
    if inner > 0 {
        ask::<N>(
            left,
            right,
            &mut lefts,
            &mut rights,
            &barrier,
            &feed,
            0u32,
            inner,
            right_pitch,
            0u32,
            tile,
        );
    }
    let mut begin = u32::new(0);
    let mut stage = u32::new(0);
    let mut parity = u32::new(0);
    while begin < inner {
        barrier.wait_parity(parity);
        let next = begin + depth;
        let after = select(stage + 1 == STAGES, 0u32, stage + 1);
        if next < inner {
            ask::<N>(
                left,
                right,
                &mut lefts,
                &mut rights,
                &barrier,
                &feed,
                next,
                inner,
                right_pitch,
                after,
                tile,
            );
        }
        let vectors = lefts.to_slice().into_vectorized().with_vector_size::<N>();
        multiply_slice::<N>(
            &vectors,
            &rights.to_slice(),
            &mut sums,
            stage % comptime!(STAGES.next_power_of_two()),
            row,
            column,
            comptime!(tile.left_straight()),
            tile,
        );
        stage = after;
        parity = 1 - parity;
        begin = next;
    }
    store::<N>(
        &sums,
        result,
        rows,
        width,
        result_pitch,
        zero,
        top,
        start,
        row,
        column,
        tile,
    );
}

/// Where what a unit copies of a slice comes from and goes to: what does not depend on the slice.
#[derive(CubeType)]
struct Feed {
    /// Numbers before its rows of the left matrix, which stand for the last one where they lie below it, and its number of k.
    rows: Sequence<u32>,
    k: u32,
    /// Its first row of a slice of the right matrix, and its vector.
    y: u32,
    x: u32,
    /// Where they go.
    left_to: u32,
    right_to: u32,
}

#[cube]
impl Feed {
    fn new(top: u32, start: u32, rows: u32, width: u32, left_pitch: u32, #[comptime] tile: Tile) -> Feed {
        let unit = UNIT_POS % tile.units;
        let (row, k) = (unit / TOGETHER, unit % TOGETHER);
        let apart = comptime!(tile.units / TOGETHER);
        let mut places = Sequence::<u32>::new();
        #[unroll]
        for i in 0..comptime!(tile.rows() / apart) {
            places.push(min(top + row + comptime!(i * apart), rows - 1) * left_pitch);
        }
        Feed {
            rows: places,
            k,
            y: unit / comptime!(tile.right()),
            x: min(start + unit % comptime!(tile.right()), width - 1),
            left_to: k * comptime!(4 * tile.left_straight()) + row,
            right_to: unit,
        }
    }
}

/// Asks for a slice of both matrices. Numbers of k that are not there are 0.
#[cube]
#[allow(clippy::too_many_arguments)]
fn ask<N: Size>(
    left: &Array<f32>,
    right: &Array<Vector<f32, N>>,
    lefts: &mut SharedMemory<f32>,
    rights: &mut SharedMemory<Vector<f32, N>>,
    barrier: &Shared<Barrier>,
    feed: &Feed,
    begin: u32,
    inner: u32,
    right_pitch: u32,
    stage: u32,
    #[comptime] tile: Tile,
) {
    if begin + comptime!(tile.depth) <= inner {
        copies::<N>(
            left,
            right,
            lefts,
            rights,
            feed,
            begin,
            inner,
            right_pitch,
            stage,
            false,
            tile,
        );
    } else {
        copies::<N>(
            left,
            right,
            lefts,
            rights,
            feed,
            begin,
            inner,
            right_pitch,
            stage,
            true,
            tile,
        );
    }
    barrier.commit_copy_async();
    barrier.arrive();
}

/// A unit's copies of a slice, of which `partly` some are there.
#[cube]
#[allow(clippy::too_many_arguments)]
fn copies<N: Size>(
    left: &Array<f32>,
    right: &Array<Vector<f32, N>>,
    lefts: &mut SharedMemory<f32>,
    rights: &mut SharedMemory<Vector<f32, N>>,
    feed: &Feed,
    begin: u32,
    inner: u32,
    right_pitch: u32,
    stage: u32,
    #[comptime] partly: bool,
    #[comptime] tile: Tile,
) {
    let depth = comptime!(tile.depth);
    // A remainder cannot be large: then places need no arithmetic of their own.
    let stage = stage % comptime!(STAGES.next_power_of_two());
    let column = comptime!(4 * tile.left_straight());
    let apart = comptime!(tile.units / TOGETHER);
    let left_to = stage * comptime!(depth * column) + feed.left_to;
    #[unroll]
    for i in 0..comptime!(tile.rows() / apart) {
        #[unroll]
        for part in 0..comptime!(depth / TOGETHER) {
            let k = begin + feed.k + comptime!(part * TOGETHER);
            let to = left_to + comptime!(part * TOGETHER * column + i * apart);
            let mut target = lefts.slice_mut(to as usize, (to + 1) as usize);
            let row = *feed.rows.index(comptime!(i as usize));
            if comptime!(partly) {
                let present = select(k < inner, 1u32, 0u32);
                let from = row + min(k, inner - 1);
                let source = left.slice(from as usize, (from + present) as usize);
                copy_async_checked(&source, &mut target, 1u32);
            } else {
                let from = row + k;
                let source = left.slice(from as usize, (from + 1) as usize);
                copy_async(&source, &mut target, 1u32);
            }
        }
    }
    let right_to = stage * comptime!(depth * tile.right()) + feed.right_to;
    #[unroll]
    for i in 0..comptime!(tile.loads()) {
        let k = begin + feed.y + comptime!(i * (tile.units / tile.right()));
        let to = right_to + comptime!(i * tile.units);
        let mut target = rights.slice_mut(to as usize, (to + 1) as usize);
        if comptime!(partly) {
            let present = select(k < inner, 1u32, 0u32);
            let from = min(k, inner - 1) * right_pitch + feed.x;
            let source = right.slice(from as usize, (from + present) as usize);
            copy_async_checked(&source, &mut target, 4u32);
        } else {
            let from = k * right_pitch + feed.x;
            let source = right.slice(from as usize, (from + 1) as usize);
            copy_async(&source, &mut target, 4u32);
        }
    }
}
