//! The same where a device copies boxes of a picture to shared memory by itself (the tensor memory accelerator of Hopper): rows come some steps ahead, and take
//! no registers on their way. A plane asks for each row, or the nearest inside; the others wait for those of a step.

use cubecl::prelude::barrier::Barrier;
use cubecl::prelude::*;

use super::super::super::Samples;
use super::super::super::columns::{column, raster};
use super::{AHEAD, COLUMNS, Kept, ROWS, WORDS, across, begin, descend, descent, fold_across, pixels};

/// Words of a row of a box at most.
pub(in super::super::super) const BOX: u32 = 256;

/// Barriers: for the rows of as many steps as are on their way, and for those that are there.
const BARRIERS: u32 = AHEAD + 1;

/// As [`super::extremes_kept`]; `boxes` are of a row's first words, `others` of those that are more than a box.
#[cube(launch_unchecked, address_type = "dynamic")]
#[allow(clippy::too_many_arguments)]
pub(in super::super::super) fn extremes_copied<N: Size>(
    _source: &Array<u32>,
    out: &mut Array<Vector<u32, N>>,
    width: u32,
    height: u32,
    pitch: u32,
    steps: u32,
    boxes: &TensorMap<u32, Tiled>,
    others: &TensorMap<u32, Tiled>,
    #[comptime] plan: Kept,
) {
    let mut ring =
        SharedMemory::<u32>::new_aligned(comptime!((plan.ring() * plan.step()) as usize), 128usize);
    let mut exchange = SharedMemory::<Vector<u32, N>>::new(comptime!(2 * plan.exchange() as usize));
    let mut barriers = Sequence::<Shared<Barrier>>::new();
    #[unroll]
    for _ in 0..BARRIERS {
        barriers.push(Barrier::shared(1u32, UNIT_POS == 0));
    }
    sync_async_proxy_shared();

    let raster = raster(width, height, pitch);
    let begins = (CUBE_POS_X * comptime!(plan.columns())) as i32 - comptime!(plan.left() as i32);
    let column = column(begins + UNIT_POS as i32, &raster, comptime!(Samples::Bytes));
    let first = CUBE_POS_Y * steps * ROWS;
    let mut descent = descent(&column, plan);
    let mut across = across(first, width, height, pitch, plan);
    let reads = UNIT_POS < comptime!(plan.words);
    let to = UNIT_POS % WORDS * comptime!(plan.apart()) + UNIT_POS / WORDS;

    // The last plane asks, a unit for each row, and nothing else: units of a plane ask one after the other.
    let computing = comptime!(plan.units() - plan.plane);
    let asks = UNIT_POS >= computing;
    let asking = Asking {
        row: UNIT_POS % comptime!(plan.plane),
        first: first as i32 - comptime!(plan.radius as i32),
        begins,
        last: height as i32 - 1i32,
    };
    let live = comptime!(plan.live());
    if asks {
        if UNIT_POS == computing {
            barriers
                .index(0usize)
                .arrive_and_expect_tx(1u32, comptime!(4 * live * plan.step()).runtime());
        }
        for step in 0..live {
            ask(
                boxes,
                others,
                &mut ring,
                barriers.index(0usize),
                step,
                step,
                &asking,
                plan,
            );
        }
        #[unroll]
        for more in 1..BARRIERS {
            if more < steps {
                let barrier = barriers.index(comptime!(more as usize));
                let step = comptime!(live - 1 + more).runtime();
                expect(barrier, plan);
                ask(boxes, others, &mut ring, barrier, step, step, &asking, plan);
            }
        }
    } else {
        barriers.index(0usize).wait_parity(0u32);
        if reads {
            begin(&mut descent, &mut ring, plan);
            sync_async_proxy_shared();
            descend::<N>(&mut descent, &ring, &mut exchange, to as usize, plan);
        }
    }

    // Where the pairs of a step are, of which the others are those of the next; its barrier, and that of the next, with its phase; and where the rows of the step
    // were that has left.
    let mut there = u32::new(0);
    let mut of_this = u32::new(0);
    let mut of_next = u32::new(1);
    let mut phase = u32::new(0);
    let mut left = u32::new(0);
    for s in 0..steps {
        sync_cube();
        if asks {
            if s + BARRIERS < steps {
                let step = s + comptime!(live - 1 + BARRIERS);
                #[unroll]
                for b in 0..BARRIERS {
                    if of_this == b {
                        let barrier = barriers.index(comptime!(b as usize));
                        expect(barrier, plan);
                        ask(boxes, others, &mut ring, barrier, step, left, &asking, plan);
                    }
                }
                left += 1u32;
                if left == comptime!(plan.ring()) {
                    left = 0u32;
                }
            }
        } else {
            let (count, rest) = comptime!((COLUMNS, plan.runs().1));
            let run = pixels::<N>(&exchange, there as usize + across.begins, count, plan);
            let last = pixels::<N>(
                &exchange,
                there as usize + across.ends,
                comptime!(count + rest),
                plan,
            );
            there = comptime!(plan.exchange()) - there;
            if s + 1u32 < steps {
                if of_next == 0u32 {
                    barriers.index(0usize).wait_parity(phase);
                } else if of_next == 1u32 {
                    barriers.index(1usize).wait_parity(phase);
                } else {
                    barriers.index(2usize).wait_parity(phase);
                }
                if reads {
                    if descent.left == 0u32 {
                        begin(&mut descent, &mut ring, plan);
                        // What is written here is before the copies that take its place.
                        sync_async_proxy_shared();
                    }
                    descend::<N>(&mut descent, &ring, &mut exchange, (there + to) as usize, plan);
                }
            }
            fold_across::<N>(&run, &last, out, &mut across, plan);
        }
        of_this = of_next;
        of_next += 1u32;
        if of_next == BARRIERS {
            of_next = 0u32;
            phase = 1u32 - phase;
        }
    }
}

/// What the units know that ask for rows.
#[derive(CubeType)]
struct Asking {
    /// The row of a step.
    row: u32,
    /// The first row that the strip reads, and the first column of words.
    first: i32,
    begins: i32,
    /// The picture's last row.
    last: i32,
}

/// Tells a barrier of the rows of a step.
#[cube]
fn expect(barrier: &Shared<Barrier>, #[comptime] plan: Kept) {
    if UNIT_POS == comptime!(plan.units() - plan.plane) {
        barrier.arrive_and_expect_tx(1u32, comptime!(4 * plan.step()).runtime());
    }
}

/// Asks for the rows of step `step` of those that the strip reads, to place `place` of the ring.
#[cube]
#[allow(clippy::too_many_arguments)]
fn ask(
    boxes: &TensorMap<u32, Tiled>,
    others: &TensorMap<u32, Tiled>,
    ring: &mut SharedMemory<u32>,
    barrier: &Shared<Barrier>,
    step: u32,
    place: u32,
    asking: &Asking,
    #[comptime] plan: Kept,
) {
    let wide = comptime!(if plan.words < BOX { plan.words } else { BOX });
    if asking.row < ROWS {
        let row = asking.first + (step * ROWS + asking.row) as i32;
        let row = max(min(row, asking.last), 0i32);
        let at = place * comptime!(plan.step()) + asking.row * comptime!(plan.words);
        let mut target = ring.slice_mut(at as usize, (at + wide) as usize);
        barrier.tma_load_2d(boxes, &mut target, row, asking.begins);
        if comptime!(plan.words > BOX) {
            let mut target = ring.slice_mut((at + wide) as usize, (at + comptime!(plan.words)) as usize);
            barrier.tma_load_2d(others, &mut target, row, asking.begins + comptime!(wide as i32));
        }
    }
}
