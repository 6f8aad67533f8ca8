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

use super::tiles::{Place, Sizes, Tile, multiply_slice, no_sums};

/// Slices in shared memory.
pub(super) const STAGES: u32 = 3;

/// Numbers of k of a row of the left matrix that neighbours copy.
const TOGETHER: u32 = 8;

/// C = A·B, with the sizes of [`Sizes`].
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
    let sizes = Sizes {
        rows,
        inner,
        width,
        left_pitch,
        right_pitch,
        result_pitch,
        zero,
    };
    let depth = comptime!(tile.depth);
    let place = Place::of(sizes, tile);
    let mut slices = Slices::<N> {
        left: SharedMemory::new_aligned(
            comptime!((STAGES * depth * 4 * tile.left_straight()) as usize),
            16usize,
        ),
        right: SharedMemory::new(comptime!((STAGES * depth * tile.right()) as usize)),
    };
    let barrier = Barrier::shared(comptime!(tile.units), UNIT_POS == 0);
    let mut sums = no_sums::<N>(tile);

    let feed = Feed::new(sizes, place, tile);
    if inner > 0 {
        feed.ask::<N>(left, right, &mut slices, &barrier, sizes, 0u32, 0u32, tile);
    }
    let mut begin = u32::new(0);
    let mut stage = u32::new(0);
    let mut parity = u32::new(0);
    while begin < inner {
        barrier.wait_parity(parity);
        let next = begin + depth;
        let after = select(stage + 1 == STAGES, 0u32, stage + 1);
        if next < inner {
            feed.ask::<N>(left, right, &mut slices, &barrier, sizes, next, after, tile);
        }
        let vectors = slices.left.to_slice().into_vectorized().with_vector_size::<N>();
        multiply_slice::<N>(
            &vectors,
            &slices.right.to_slice(),
            &mut sums,
            stage % comptime!(STAGES.next_power_of_two()),
            place,
            comptime!(tile.left_straight()),
            tile,
        );
        stage = after;
        parity = 1 - parity;
        begin = next;
    }
    place.store::<N>(&sums, result, sizes, tile);
}

/// Slices of both matrices in shared memory.
#[derive(CubeType)]
struct Slices<N: Size> {
    left: SharedMemory<f32>,
    right: SharedMemory<Vector<f32, N>>,
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
    fn new(sizes: Sizes, place: Place, #[comptime] tile: Tile) -> Feed {
        let unit = UNIT_POS % tile.units;
        let (row, k) = (unit / TOGETHER, unit % TOGETHER);
        let apart = comptime!(tile.units / TOGETHER);
        let mut places = Sequence::<u32>::new();
        #[unroll]
        for i in 0..comptime!(tile.rows() / apart) {
            places.push(min(place.top + row + comptime!(i * apart), sizes.rows - 1) * sizes.left_pitch);
        }
        Feed {
            rows: places,
            k,
            y: unit / comptime!(tile.right()),
            x: min(place.start + unit % comptime!(tile.right()), sizes.width - 1),
            left_to: k * comptime!(4 * tile.left_straight()) + row,
            right_to: unit,
        }
    }

    /// Asks for a slice of both matrices. Numbers of k that are not there are 0.
    #[allow(clippy::too_many_arguments)]
    fn ask<N: Size>(
        &self,
        left: &Array<f32>,
        right: &Array<Vector<f32, N>>,
        slices: &mut Slices<N>,
        barrier: &Shared<Barrier>,
        sizes: Sizes,
        begin: u32,
        stage: u32,
        #[comptime] tile: Tile,
    ) {
        if begin + comptime!(tile.depth) <= sizes.inner {
            self.copy::<N>(left, right, slices, sizes, begin, stage, false, tile);
        } else {
            self.copy::<N>(left, right, slices, sizes, begin, stage, true, tile);
        }
        barrier.commit_copy_async();
        barrier.arrive();
    }

    /// A unit's copies of a slice, of which `partly` some are there.
    #[allow(clippy::too_many_arguments)]
    fn copy<N: Size>(
        &self,
        left: &Array<f32>,
        right: &Array<Vector<f32, N>>,
        slices: &mut Slices<N>,
        sizes: Sizes,
        begin: u32,
        stage: u32,
        #[comptime] partly: bool,
        #[comptime] tile: Tile,
    ) {
        let depth = comptime!(tile.depth);
        // A remainder cannot be large: then places need no arithmetic of their own.
        let stage = stage % comptime!(STAGES.next_power_of_two());
        let column = comptime!(4 * tile.left_straight());
        let apart = comptime!(tile.units / TOGETHER);
        let left_to = stage * comptime!(depth * column) + self.left_to;
        #[unroll]
        for i in 0..comptime!(tile.rows() / apart) {
            #[unroll]
            for part in 0..comptime!(depth / TOGETHER) {
                let k = begin + self.k + comptime!(part * TOGETHER);
                let to = left_to + comptime!(part * TOGETHER * column + i * apart);
                let mut target = slices.left.slice_mut(to as usize, (to + 1) as usize);
                let row = *self.rows.index(comptime!(i as usize));
                if comptime!(partly) {
                    let present = select(k < sizes.inner, 1u32, 0u32);
                    let from = row + min(k, sizes.inner - 1);
                    let source = left.slice(from as usize, (from + present) as usize);
                    copy_async_checked(&source, &mut target, 1u32);
                } else {
                    let from = row + k;
                    let source = left.slice(from as usize, (from + 1) as usize);
                    copy_async(&source, &mut target, 1u32);
                }
            }
        }
        let right_to = stage * comptime!(depth * tile.right()) + self.right_to;
        #[unroll]
        for i in 0..comptime!(tile.loads()) {
            let k = begin + self.y + comptime!(i * (tile.units / tile.right()));
            let to = right_to + comptime!(i * tile.units);
            let mut target = slices.right.slice_mut(to as usize, (to + 1) as usize);
            if comptime!(partly) {
                let present = select(k < sizes.inner, 1u32, 0u32);
                let from = min(k, sizes.inner - 1) * sizes.right_pitch + self.x;
                let source = right.slice(from as usize, (from + present) as usize);
                copy_async_checked(&source, &mut target, 4u32);
            } else {
                let from = k * sizes.right_pitch + self.x;
                let source = right.slice(from as usize, (from + 1) as usize);
                copy_async(&source, &mut target, 4u32);
            }
        }
    }
}
