//! The kernels: tiles of vectors, scanned by planes (warps).

use cubecl::prelude::*;

use super::Kind;
use crate::element::Element;
use crate::look_back::{Look, Tells, add, look_back, tell};
use relief_kernels::policy::Tuning;

/// What is compiled into the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Plan {
    bits: u32,
    float: bool,
    kind: Kind,
    pub(crate) units: u32,
    /// Vectors of a unit.
    pub(crate) items: u32,
    /// Units of a plane; 1 where planes differ.
    pub(super) lanes: u32,
}

impl Plan {
    pub(crate) fn new(tuning: Tuning, element: Element, kind: Kind, lanes: u32) -> Self {
        Self {
            bits: element.bits(),
            float: element == Element::F32,
            kind,
            units: tuning.units,
            items: tuning.items,
            lanes,
        }
    }

    /// Vectors of a tile.
    pub(crate) const fn vectors(&self) -> u32 {
        self.units * self.items
    }

    /// Words that four numbers take.
    pub(super) const fn words_in(&self) -> usize {
        self.bits as usize / 8
    }

    pub(crate) const fn float(&self) -> bool {
        self.float
    }

    pub(crate) const fn planes(&self) -> u32 {
        self.units / self.lanes
    }

    const fn look(&self) -> Look {
        Look {
            lanes: self.lanes,
            tells: if self.float { Tells::Floats } else { Tells::Sums },
        }
    }
}

/// Scans tile CUBE_POS.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(super) fn scan_tiles<N: Size, M: Size>(
    from: &Array<Vector<u32, N>>,
    to: &mut Array<Vector<u32, M>>,
    state: &mut Array<Atomic<u64>>,
    seen: &mut Array<u64>,
    vectors: u32,
    tiles: u32,
    #[comptime] plan: Plan,
) {
    let mut sums = SharedMemory::<u32>::new(comptime!(plan.planes() as usize));
    let mut chain = SharedMemory::<u32>::new(comptime!(plan.look().chain() as usize));
    let mut found = SharedMemory::<u32>::new(1usize);
    let tile = CUBE_POS as u32;
    // A grid may have more cubes than there are tiles.
    if tile < tiles {
        let mut held = Array::<Vector<u32, N>>::new(comptime!(plan.items as usize));
        load::<N>(from, &mut held, 0u32, tile, vectors, plan);
        let mut before = Array::<u32>::new(comptime!(plan.items as usize));
        let sum = scan_items::<N>(&held, &mut before, plan);
        let own = share_sums(&mut sums, sum, plan);
        if UNIT_POS < comptime!(plan.lanes) {
            // rung: scan on gpu: production
            let total = all_sums(&sums, plan);
            if UNIT_POS == 0 {
                tell::<u64>(state, tile, total, comptime!(plan.look()));
            }
            let prefix = look_back::<u64>(state, seen, &mut chain, tile, total, comptime!(plan.look()));
            // end
            if UNIT_POS == 0 {
                found[0usize] = prefix;
            }
        }
        sync_cube();
        let first = add(found[0usize], own, comptime!(plan.float));
        store::<N, M>(to, &held, &before, first, 0u32, tile, vectors, plan);
    }
}

/// The sum of share CUBE_POS: `each` tiles.
#[cube(launch_unchecked)]
pub(super) fn sum_shares<N: Size>(
    from: &Array<Vector<u32, N>>,
    totals: &mut Array<u32>,
    vectors: u32,
    each: u32,
    shares: u32,
    #[comptime] plan: Plan,
) {
    let mut sums = SharedMemory::<u32>::new(comptime!(plan.planes() as usize));
    let share = CUBE_POS as u32;
    let mut sum = u32::new(0);
    for k in 0..each {
        let mut held = Array::<Vector<u32, N>>::new(comptime!(plan.items as usize));
        load::<N>(from, &mut held, 0u32, share * each + k, vectors, plan);
        #[unroll]
        for j in 0..comptime!(plan.items as usize) {
            sum = add(sum, sum_of::<N>(held[j], plan), comptime!(plan.float));
        }
    }
    let (_, plane) = plane_scan(sum, plan);
    share_sums(&mut sums, plane, plan);
    let total = all_sums(&sums, plan);
    if UNIT_POS == 0 {
        if share < shares {
            totals[share as usize] = total;
        }
    }
}

/// Scans share CUBE_POS from the sum of the shares before it on.
#[cube(launch_unchecked)]
pub(super) fn scan_shares<N: Size, M: Size>(
    from: &Array<Vector<u32, N>>,
    to: &mut Array<Vector<u32, M>>,
    totals: &Array<u32>,
    vectors: u32,
    each: u32,
    shares: u32,
    #[comptime] plan: Plan,
) {
    let mut sums = SharedMemory::<u32>::new(comptime!(plan.planes() as usize));
    let share = CUBE_POS as u32;
    // rung: scan on gpu: reduce, then scan
    let mut sum = u32::new(0);
    let mut at = UNIT_POS;
    while at < min(share, shares) {
        sum = add(sum, totals[at as usize], comptime!(plan.float));
        at += comptime!(plan.units);
    }
    let (_, plane) = plane_scan(sum, plan);
    share_sums(&mut sums, plane, plan);
    let mut first = all_sums(&sums, plan);
    // end
    for k in 0..each {
        // What was shared has been read by all.
        sync_cube();
        let tile = share * each + k;
        let mut held = Array::<Vector<u32, N>>::new(comptime!(plan.items as usize));
        load::<N>(from, &mut held, 0u32, tile, vectors, plan);
        let mut before = Array::<u32>::new(comptime!(plan.items as usize));
        let sum = scan_items::<N>(&held, &mut before, plan);
        let own = share_sums(&mut sums, sum, plan);
        let total = all_sums(&sums, plan);
        let here = add(first, own, comptime!(plan.float));
        store::<N, M>(to, &held, &before, here, 0u32, tile, vectors, plan);
        first = add(first, total, comptime!(plan.float));
    }
}

/// Scans row CUBE_POS, tile after tile; pitches are in vectors of either side.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(super) fn scan_rows<N: Size, M: Size>(
    from: &Array<Vector<u32, N>>,
    to: &mut Array<Vector<u32, M>>,
    vectors: u32,
    rows: u32,
    from_pitch: u32,
    to_pitch: u32,
    #[comptime] plan: Plan,
) {
    let mut sums = SharedMemory::<u32>::new(comptime!(plan.planes() as usize));
    let row = CUBE_POS as u32;
    // Cubes past the last row have nothing to scan.
    let vectors = select(row < rows, vectors, 0u32);
    let mut first = u32::new(0);
    let mut tile = u32::new(0);
    while tile * comptime!(plan.vectors()) < vectors {
        let mut held = Array::<Vector<u32, N>>::new(comptime!(plan.items as usize));
        load::<N>(from, &mut held, row * from_pitch, tile, vectors, plan);
        let mut before = Array::<u32>::new(comptime!(plan.items as usize));
        let sum = scan_items::<N>(&held, &mut before, plan);
        let own = share_sums(&mut sums, sum, plan);
        let total = all_sums(&sums, plan);
        let here = add(first, own, comptime!(plan.float));
        store::<N, M>(to, &held, &before, here, row * to_pitch, tile, vectors, plan);
        first = add(first, total, comptime!(plan.float));
        tile += 1u32;
        // What was shared has been read by all.
        sync_cube();
    }
}

/// The place of a unit's vector `j` of a tile: a plane's vectors are a run, item after item.
#[cube]
pub(crate) fn place(tile: u32, #[comptime] j: u32, #[comptime] plan: Plan) -> u32 {
    let (plane, lane) = (UNIT_POS / comptime!(plan.lanes), UNIT_POS % comptime!(plan.lanes));
    tile * comptime!(plan.units * plan.items)
        + plane * comptime!(plan.items * plan.lanes)
        + comptime!(j * plan.lanes)
        + lane
}

/// A unit's vectors of a tile of a row of `vectors` that begins at `base`; 0 past its end.
#[cube]
pub(crate) fn load<N: Size>(
    from: &Array<Vector<u32, N>>,
    held: &mut Array<Vector<u32, N>>,
    base: u32,
    tile: u32,
    vectors: u32,
    #[comptime] plan: Plan,
) {
    // A tile that is whole needs no comparisons between its loads.
    if (tile + 1) * comptime!(plan.vectors()) <= vectors {
        #[unroll]
        for j in 0..comptime!(plan.items) {
            held[comptime!(j as usize)] = from[(base + place(tile, j, plan)) as usize];
        }
    } else {
        #[unroll]
        for j in 0..comptime!(plan.items) {
            let at = place(tile, j, plan);
            held[comptime!(j as usize)] = Vector::new(0u32);
            if at < vectors {
                held[comptime!(j as usize)] = from[(base + at) as usize];
            }
        }
    }
}

/// Number `k` of the four of a vector.
#[cube]
fn number<N: Size>(vector: Vector<u32, N>, #[comptime] k: u32, #[comptime] plan: Plan) -> u32 {
    match plan.bits {
        8 => (vector[0usize] >> comptime!(8 * k)) & 0xffu32,
        16 => (vector[comptime!((k / 2) as usize)] >> comptime!(16 * (k % 2))) & 0xffffu32,
        _ => vector[comptime!(k as usize)],
    }
}

/// The sum of the four.
#[cube]
fn sum_of<N: Size>(vector: Vector<u32, N>, #[comptime] plan: Plan) -> u32 {
    if comptime!(plan.bits == 8) {
        let pairs = (vector[0usize] & 0x00ff_00ffu32) + ((vector[0usize] >> 8u32) & 0x00ff_00ffu32);
        (pairs & 0xffffu32) + (pairs >> 16u32)
    } else {
        let low = add(
            number::<N>(vector, 0u32, plan),
            number::<N>(vector, 1u32, plan),
            comptime!(plan.float),
        );
        let high = add(
            number::<N>(vector, 2u32, plan),
            number::<N>(vector, 3u32, plan),
            comptime!(plan.float),
        );
        add(low, high, comptime!(plan.float))
    }
}

/// The sum of what the units of the plane up to this one have, of `lanes` units.
///
/// Written out, because what the runtime makes of `plane_inclusive_sum` on CUDA is a loop with a division in it.
#[cube]
pub(crate) fn sum_up_to(value: u32, #[comptime] lanes: u32, #[comptime] float: bool) -> u32 {
    let lane = UNIT_POS % lanes;
    let mut sum = value;
    #[unroll]
    for k in 0..comptime!(lanes.ilog2()) {
        let distance = comptime!(1u32 << k);
        let before = plane_shuffle_up(sum, distance);
        sum = select(lane >= distance, add(before, sum, float), sum);
    }
    sum
}

/// The sum of what the units of the plane before this one have, and that of what all have.
#[cube]
pub(crate) fn sums_before(value: u32, #[comptime] lanes: u32, #[comptime] float: bool) -> (u32, u32) {
    if comptime!(lanes == 1) {
        (u32::new(0), value)
    } else {
        let up_to = sum_up_to(value, lanes, float);
        let all = plane_broadcast(up_to, comptime!(lanes - 1));
        if comptime!(float) {
            // The sum up to the unit before: to take the own value off again would round.
            let before = plane_shuffle_up(up_to, 1u32);
            (select(UNIT_POS % lanes == 0u32, 0u32, before), all)
        } else {
            (up_to - value, all)
        }
    }
}

/// The same for the units of a plan.
#[cube]
fn plane_scan(value: u32, #[comptime] plan: Plan) -> (u32, u32) {
    sums_before(value, comptime!(plan.lanes), comptime!(plan.float))
}

/// What lies before each of a unit's vectors in the run of its plane, and the sum of the run.
///
/// Four bytes of each unit of a plane sum up to less than 2¹⁶, so two items are scanned as one.
#[cube]
pub(crate) fn scan_items<N: Size>(
    held: &Array<Vector<u32, N>>,
    before: &mut Array<u32>,
    #[comptime] plan: Plan,
) -> u32 {
    let pairs = comptime!(if plan.bits == 8 {
        plan.items as usize / 2
    } else {
        0
    });
    let mut run = u32::new(0);
    #[unroll]
    for j in 0..pairs {
        let (first, second) = comptime!((2 * j, 2 * j + 1));
        let both = sum_of::<N>(held[first], plan) | (sum_of::<N>(held[second], plan) << 16u32);
        let (left, all) = plane_scan(both, plan);
        before[first] = run + (left & 0xffffu32);
        run += all & 0xffffu32;
        before[second] = run + (left >> 16u32);
        run += all >> 16u32;
    }
    #[unroll]
    for j in comptime!(2 * pairs)..comptime!(plan.items as usize) {
        let (left, all) = plane_scan(sum_of::<N>(held[j], plan), plan);
        before[j] = add(run, left, comptime!(plan.float));
        run = add(run, all, comptime!(plan.float));
    }
    run
}

/// Tells all units of the cube the sum of a plane; returns the sum of the planes before this one.
#[cube]
pub(crate) fn share_sums(sums: &mut SharedMemory<u32>, sum: u32, #[comptime] plan: Plan) -> u32 {
    let plane = UNIT_POS / comptime!(plan.lanes);
    let lane = UNIT_POS % comptime!(plan.lanes);
    if lane == 0 {
        sums[plane as usize] = sum;
    }
    sync_cube();
    sums_below(sums, plane, plan)
}

/// The sum of all planes.
#[cube]
pub(crate) fn all_sums(sums: &SharedMemory<u32>, #[comptime] plan: Plan) -> u32 {
    sums_below(sums, u32::new(comptime!(i64::from(plan.planes()))), plan)
}

/// The sum of the first `count` planes, which are as many for all units of a plane.
#[cube]
fn sums_below(sums: &SharedMemory<u32>, count: u32, #[comptime] plan: Plan) -> u32 {
    if comptime!(plan.planes() <= plan.lanes) {
        // A unit for each plane.
        let lane = UNIT_POS % comptime!(plan.lanes);
        let mut own = u32::new(0);
        if lane < count {
            own = sums[lane as usize];
        }
        if comptime!(plan.float) {
            u32::reinterpret(plane_sum(f32::reinterpret(own)))
        } else {
            plane_sum(own)
        }
    } else {
        let mut all = u32::new(0);
        for k in 0..count {
            all = add(all, sums[k as usize], comptime!(plan.float));
        }
        all
    }
}

/// Stores the sums of a unit's vectors, which begin `first` after those of its plane.
#[cube]
pub(crate) fn store<N: Size, M: Size>(
    to: &mut Array<Vector<u32, M>>,
    held: &Array<Vector<u32, N>>,
    before: &Array<u32>,
    first: u32,
    base: u32,
    tile: u32,
    vectors: u32,
    #[comptime] plan: Plan,
) {
    #[unroll]
    for j in 0..comptime!(plan.items) {
        let vector = held[comptime!(j as usize)];
        let mut sum = add(first, before[comptime!(j as usize)], comptime!(plan.float));
        let mut sums = Vector::<u32, M>::empty();
        #[unroll]
        for k in 0..4u32 {
            if comptime!(plan.kind == Kind::Exclusive) {
                sums[comptime!(k as usize)] = sum;
            }
            sum = add(sum, number::<N>(vector, k, plan), comptime!(plan.float));
            if comptime!(plan.kind == Kind::Inclusive) {
                sums[comptime!(k as usize)] = sum;
            }
        }
        let at = place(tile, j, plan);
        if at < vectors {
            to[(base + at) as usize] = sums;
        }
    }
}
