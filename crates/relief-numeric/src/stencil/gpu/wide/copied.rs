//! The same of wide windows where a device copies boxes of a picture to shared memory by itself (the tensor
//! memory accelerator of Hopper): rows that enter and rows that leave are copied, some steps ahead, and take
//! no registers on their way. One unit (thread) asks for each row; all wait for those of a step.
//!
//! What lies outside of the picture at its left and right comes as 0: units there take the vector of the unit
//! that has the nearest pixels.

use cubecl::prelude::barrier::Barrier;
use cubecl::prelude::*;

use super::{COLUMNS, PAIRS, Place, Wide, across, down, mend, place, read_window, take};

/// Words of a row of a box; the widest that there are.
pub(in super::super) const BOX: u32 = 256;

/// As [`super::wide_sums`], whose source the boxes of a row are of as well.
#[cube(launch_unchecked, address_type = "dynamic")]
#[allow(clippy::too_many_arguments)]
pub(in super::super) fn wide_sums_copied<N: Size>(
    source: &Array<Vector<u32, N>>,
    out: &mut Array<Vector<u32, N>>,
    width: u32,
    height: u32,
    pitch: u32,
    steps: u32,
    inverse: f32,
    beside: u32,
    boxes: &TensorMap<u32, Tiled>,
    #[comptime] wide: Wide,
) {
    let (rows, parts) = comptime!((wide.rows, wide.parts()));
    let reach = comptime!(wide.radius as i32);
    let mut shared = SharedMemory::<Vector<u32, N>>::new(comptime!((wide.buffers() * wide.step()) as usize));
    let mut ring =
        SharedMemory::<Vector<u32, N>>::new_aligned(comptime!((wide.ring() * wide.units) as usize), 128usize);
    let mut barriers = Sequence::<Shared<Barrier>>::new();
    #[unroll]
    for _ in 0..parts {
        barriers.push(Barrier::shared(1u32, UNIT_POS == 0));
    }
    sync_async_proxy_shared();

    let place = place(CUBE_POS_X, width, height, pitch, wide);
    let first = CUBE_POS_Y * steps * comptime!(parts * rows);
    #[unroll]
    for part in 0..parts {
        let barrier = barriers.index(comptime!(part as usize));
        ask::<N>(
            boxes,
            &mut ring,
            barrier,
            first + comptime!(part * rows),
            part,
            &place,
            wide,
        );
    }
    let mut pairs = Array::<u32>::new(comptime!(PAIRS as usize));
    #[unroll]
    for p in 0..comptime!(PAIRS as usize) {
        pairs[p] = u32::new(0);
    }
    read_window::<N>(source, &mut pairs, first as i32 - reach - 1i32, &place, wide);
    let near = (place.nearest as i32 - place.begin / comptime!(COLUMNS as i32)) as u32;

    let mut below = Array::<u32>::new(comptime!((4 * rows) as usize));
    let mut above = Array::<u32>::new(comptime!((4 * rows) as usize));
    for s in 0..steps {
        #[unroll]
        for part in 0..parts {
            let row = first + (s * parts + part) * rows;
            let step = comptime!(part % wide.buffers() * wide.step()).runtime();
            let barrier = barriers.index(comptime!(part as usize));
            barrier.wait_parity(s % 2u32);
            #[unroll]
            for k in 0..rows {
                let slot = comptime!(2 * part * rows);
                take::<N>(&ring, &mut below, 0u32, near, comptime!(slot + k), k, wide);
                take::<N>(&ring, &mut above, 0u32, near, comptime!(slot + rows + k), k, wide);
            }
            if !place.inside {
                mend::<N>(&mut above, &place, rows);
                mend::<N>(&mut below, &place, rows);
            }
            down::<N>(
                &mut pairs,
                &above,
                &below,
                &mut shared,
                (step + UNIT_POS) as usize,
                wide,
            );
            sync_cube();
            // In the place of those that all have taken.
            if s + 1u32 < steps {
                let after = row + comptime!(parts * rows);
                ask::<N>(boxes, &mut ring, barrier, after, part, &place, wide);
            }
            across::<N>(&shared, out, step, row, inverse, beside, &place, wide);
            // Of two buffers, the next part of a step writes the other, and the one after only after the next one's wait.
            if comptime!(wide.buffers() == 1) {
                sync_cube();
            }
        }
    }
}

/// Asks for the rows that enter and leave in part `part` of a step, whose first row is `row`, or for the nearest inside; each by a unit.
#[cube]
fn ask<N: Size>(
    boxes: &TensorMap<u32, Tiled>,
    ring: &mut SharedMemory<Vector<u32, N>>,
    barrier: &Shared<Barrier>,
    row: u32,
    #[comptime] part: u32,
    place: &Place,
    #[comptime] wide: Wide,
) {
    let (rows, reach) = comptime!((wide.rows, wide.radius as i32));
    if UNIT_POS == 0 {
        barrier.arrive_and_expect_tx(1u32, comptime!(2 * rows * 16 * wide.units).runtime());
    }
    if UNIT_POS < comptime!(2 * rows) {
        let mut here = row as i32 + reach + UNIT_POS as i32;
        if UNIT_POS >= rows {
            here = row as i32 - reach - 1i32 + (UNIT_POS - rows) as i32;
        }
        let here = max(min(here, place.height as i32 - 1i32), 0i32);
        #[unroll]
        for b in 0..comptime!(4 * wide.units / BOX) {
            let to = (comptime!(2 * part * rows) + UNIT_POS) * comptime!(wide.units) + comptime!(b * BOX / 4);
            let mut target = ring.slice_mut(to as usize, (to + comptime!(BOX / 4)) as usize);
            barrier.tma_load_2d(
                boxes,
                &mut target,
                here,
                place.begin / 4i32 + comptime!((b * BOX) as i32),
            );
        }
    }
}
