//! The same where a device copies boxes of a picture to shared memory by itself (the tensor memory
//! accelerator of Hopper): rows come some steps ahead, and take no registers on their way. A plane (warp)
//! asks for each row, or the nearest inside, and waits for those of a step before any other needs them.
//!
//! Planes do not meet at each step. Each tells a barrier that its part of a step has gone down, folds across
//! what it has taken of the step before, and waits for the others' parts only then: so while one reads shared
//! memory, another computes.

use cubecl::prelude::barrier::Barrier;
use cubecl::prelude::*;

use super::super::super::Samples;
use super::super::super::columns::{column, raster};
use super::super::super::down::Fold;
use super::{
    AHEAD, ALIGNED, Kept, ROWS, WORDS, across, begin, begins, descend, descent, enter, fold_across, taken,
};

/// Steps that are awaited together of those that the first windows reach: totals are folded while the next are on their way.
const TOGETHER: u32 = 4;

/// As [`super::extremes_kept`]; `boxes` are of the rows of a step, `lines` of a single row, each a group of words wide.
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
    lines: &TensorMap<u32, Tiled>,
    inverse: f32,
    beside: u32,
    #[comptime] plan: Kept,
) {
    let mut ring =
        SharedMemory::<u32>::new_aligned(comptime!((plan.ring() * plan.step()) as usize), 128usize);
    let mut exchange = SharedMemory::<Vector<u32, N>>::new(comptime!(2 * plan.exchange() as usize));
    // For the rows of the first windows; for those of the steps that are on their way; and for the planes, who have let a step go down.
    let live = comptime!(plan.live());
    let mut first_rows = Sequence::<Shared<Barrier>>::new();
    #[unroll]
    for _ in 0..comptime!(live.div_ceil(TOGETHER)) {
        first_rows.push(Barrier::shared(1u32, UNIT_POS == 0));
    }
    let mut rows = Sequence::<Shared<Barrier>>::new();
    #[unroll]
    for _ in 0..AHEAD {
        rows.push(Barrier::shared(1u32, UNIT_POS == 0));
    }
    let planes = Barrier::shared(comptime!(plan.units() / plan.plane), UNIT_POS == 0);
    sync_async_proxy_shared();

    let raster = raster(width, height, pitch);
    let left = (CUBE_POS_X * comptime!(plan.columns())) as i32 - comptime!(plan.left() as i32);
    let column = column(left + UNIT_POS as i32, &raster, comptime!(Samples::Bytes));
    let first = CUBE_POS_Y * steps * ROWS;
    // The unit that has the words of a column, or, of one outside of the picture whose words are summed, those nearest inside: the cube reads them, since it computes some that are inside.
    let mut unit = UNIT_POS;
    if comptime!(plan.fold == Fold::Sum) {
        unit = (column.word as i32 - left) as u32;
    }
    let mut descent = descent(&column, unit, plan);
    let mut across = across(first, width, height, pitch, plan);
    let reads = UNIT_POS < comptime!(plan.words);
    let to = UNIT_POS % WORDS * comptime!(plan.apart()) + UNIT_POS / WORDS;

    // The last plane asks, a unit for each group of words, and nothing else: units of a plane ask one after the other.
    let computing = comptime!(plan.units() - plan.plane);
    let asks = UNIT_POS >= computing;
    let asking = Asking {
        group: UNIT_POS % comptime!(plan.plane),
        first: first as i32 - comptime!(plan.radius as i32),
        begins: left,
        last: height as i32 - 1i32,
    };
    if asks {
        #[unroll]
        for k in 0..comptime!(live.div_ceil(TOGETHER)) {
            let barrier = first_rows.index(comptime!(k as usize));
            let (begin, end) = comptime!(awaited(k, plan));
            expect(barrier, comptime!(end - begin), plan);
            for step in begin..end {
                ask(boxes, lines, &mut ring, barrier, step, step, &asking, plan);
            }
        }
        #[unroll]
        for more in 1..comptime!(AHEAD + 1) {
            if more < steps {
                let barrier = rows.index(comptime!(more as usize - 1));
                let step = comptime!(live - 1 + more).runtime();
                expect(barrier, 1u32, plan);
                ask(boxes, lines, &mut ring, barrier, step, step, &asking, plan);
            }
        }
        if steps > 1u32 {
            rows.index(0usize).wait_parity(0u32);
        }
    } else if reads {
        #[unroll]
        for k in 0..comptime!(live.div_ceil(TOGETHER)) {
            first_rows.index(comptime!(k as usize)).wait_parity(0u32);
            let (from, until) = comptime!(awaited(k, plan));
            enter(&mut descent, &mut ring, from, until, plan);
        }
        if comptime!(plan.fold != Fold::Sum) {
            begin(&mut descent, &mut ring, plan);
            sync_async_proxy_shared();
        }
        descend::<N>(&mut descent, &mut ring, &mut exchange, to as usize, plan);
    }
    gone_down(&planes);

    // Where the pairs of a step are, of which the others are those of the next; and where the rows of the step were that has left.
    let mut there = u32::new(0);
    let mut left = u32::new(0);
    for s in 0..steps {
        // What has gone down may go across, and who reads the next step's rows may: they are there.
        planes.wait_parity(s % 2u32);
        if asks {
            if s + comptime!(AHEAD + 1) < steps {
                let step = s + live + AHEAD;
                #[unroll]
                for b in 0..AHEAD {
                    if s % AHEAD == b {
                        let barrier = rows.index(comptime!(b as usize));
                        expect(barrier, 1u32, plan);
                        ask(boxes, lines, &mut ring, barrier, step, left, &asking, plan);
                    }
                }
                left += 1u32;
                if left == comptime!(plan.ring()) {
                    left = 0u32;
                }
            }
            if s + 2u32 < steps {
                #[unroll]
                for b in 0..AHEAD {
                    if (s + 1u32) % AHEAD == b {
                        rows.index(comptime!(b as usize))
                            .wait_parity((s + 1u32) / AHEAD % 2u32);
                    }
                }
            }
            gone_down(&planes);
        } else {
            let taken = taken::<N>(&exchange, there, &across, plan);
            there = comptime!(plan.exchange()) - there;
            if reads && s + 1u32 < steps {
                if begins(&descent, plan) {
                    begin(&mut descent, &mut ring, plan);
                    // What is written here is before the copies that take its place.
                    sync_async_proxy_shared();
                }
                descend::<N>(
                    &mut descent,
                    &mut ring,
                    &mut exchange,
                    (there + to) as usize,
                    plan,
                );
            }
            gone_down(&planes);
            fold_across::<N>(&taken, out, &mut across, inverse, beside, plan);
        }
    }
}

/// The steps, from the first on and before the last, that barrier `k` of those for the first windows is for.
const fn awaited(k: u32, plan: Kept) -> (u32, u32) {
    let end = (k + 1) * TOGETHER;
    (k * TOGETHER, if end < plan.live() { end } else { plan.live() })
}

/// Tells that this plane's part of a step has gone down.
#[cube]
fn gone_down(planes: &Shared<Barrier>) {
    sync_plane();
    if UNIT_POS_PLANE == 0 {
        planes.arrive();
    }
}

/// What the units know that ask for rows.
#[derive(CubeType)]
struct Asking {
    /// The group of words.
    group: u32,
    /// The first row that the strip reads, and the first column of words.
    first: i32,
    begins: i32,
    /// The picture's last row.
    last: i32,
}

/// Tells a barrier of the rows of so many steps.
#[cube]
fn expect(barrier: &Shared<Barrier>, #[comptime] steps: u32, #[comptime] plan: Kept) {
    if UNIT_POS == comptime!(plan.units() - plan.plane) {
        barrier.arrive_and_expect_tx(1u32, comptime!(4 * steps * plan.step()).runtime());
    }
}

/// Asks for the rows of step `step` of those that the strip reads, to place `place` of the ring.
#[cube]
#[allow(clippy::too_many_arguments)]
fn ask(
    boxes: &TensorMap<u32, Tiled>,
    lines: &TensorMap<u32, Tiled>,
    ring: &mut SharedMemory<u32>,
    barrier: &Shared<Barrier>,
    step: u32,
    place: u32,
    asking: &Asking,
    #[comptime] plan: Kept,
) {
    if asking.group < comptime!(plan.words / ALIGNED) {
        let first = asking.first + (step * ROWS) as i32;
        let column = asking.begins + (asking.group * ALIGNED) as i32;
        let at = place * comptime!(plan.step()) + asking.group * comptime!(ROWS * ALIGNED);
        let inside = max(min(first, asking.last - comptime!(ROWS as i32 - 1)), 0i32);
        let mut whole = inside == first;
        if comptime!(plan.fold != Fold::Sum) {
            whole = whole || first + comptime!(ROWS as i32) <= 0i32 || first > asking.last;
        }
        // Where all rows of a step lie outside, of extremes those nearest inside may stand for them in any order: every window that reaches one has all of these, since radii are at least 8. A picture of
        // fewer rows than a step has is asked for row by row.
        if whole && asking.last >= comptime!(ROWS as i32 - 1) {
            let mut target = ring.slice_mut(at as usize, (at + comptime!(ROWS * ALIGNED)) as usize);
            barrier.tma_load_2d(boxes, &mut target, inside, column);
        } else {
            for k in 0..ROWS {
                let row = max(min(first + k as i32, asking.last), 0i32);
                let at = at + k * ALIGNED;
                let mut target = ring.slice_mut(at as usize, (at + ALIGNED) as usize);
                barrier.tma_load_2d(lines, &mut target, row, column);
            }
        }
    }
}
