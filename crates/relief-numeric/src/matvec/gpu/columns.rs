//! x·M: cubes (blocks) walk down the rows of blocks of a few columns.
//!
//! 16 units (threads), or fewer that play 16, lie below each other: unit q takes rows 4q to 4q + 3 of every
//! 64, so that it loads a vector of x for four vectors of the matrix. Where rows are short, several blocks
//! share a cube.
//!
//! Up to 8 blocks of not too many columns are all in one cube, which adds up what they come to, without a
//! second launch. Then units are few, and each has twice as many loads on the way, as one that it takes makes
//! room for the next.

use cubecl::prelude::*;

use super::super::{ROW_SUMS, ROWS};
use relief_kernels::policy::Tuning;

/// Units below each other, each with four of the sums.
const GROUPS: u32 = ROW_SUMS as u32 / 4;

/// The most blocks that share a cube which adds up their sums, and the vectors that it takes side by side: a line of memory.
pub(super) const MERGED: u32 = 8;
pub(super) const MERGED_SIDE: u32 = 8;

/// What is compiled into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Across {
    /// Vectors that a cube takes side by side.
    pub(super) side: u32,
    /// Units below each other.
    groups: u32,
    /// Blocks of a cube.
    pub(super) blocks: u32,
    /// Whether these are all, and their sums are added up.
    pub(super) merges: bool,
    /// Rounds of 64 rows that are loaded at once.
    ahead: u32,
    /// Whether numbers are added, without a vector.
    ones: bool,
}

impl Across {
    pub(super) fn of(tuning: Tuning, vectors: u32, ones: bool) -> Self {
        let side = vectors.next_power_of_two().clamp(1, tuning.items);
        let groups = (tuning.units / side).clamp(1, GROUPS);
        Self {
            side,
            groups,
            blocks: tuning.units / (side * groups),
            merges: false,
            ahead: tuning.vector,
            ones,
        }
    }

    /// For so many blocks, all in one cube.
    pub(super) fn merging(blocks: u32, vectors: u32, ones: bool) -> Self {
        Self {
            side: vectors.next_power_of_two().clamp(1, MERGED_SIDE),
            groups: GROUPS / 2,
            blocks: blocks.next_power_of_two(),
            merges: true,
            ahead: 2,
            ones,
        }
    }

    pub(super) const fn units(&self) -> u32 {
        self.side * self.groups * self.blocks
    }

    /// Rows from a unit's first to its `m`-th four of a part of what it takes.
    const fn row(&self, m: u32, part: u32) -> u32 {
        let at_once = self.at_once();
        m / at_once * ROW_SUMS as u32 + 4 * (part * at_once + m % at_once) * self.groups
    }

    /// Fours of rows that a unit loads at once.
    const fn fours(&self) -> u32 {
        self.at_once() * self.ahead
    }

    /// Groups of a round whose rows are loaded at once. No more: registers.
    const fn at_once(&self) -> u32 {
        if self.plays() < 2 { 1 } else { 2 }
    }

    /// Groups that a unit plays.
    const fn plays(&self) -> u32 {
        GROUPS / self.groups
    }
}

/// The sums of blocks of columns: those of block b are row b of `to`.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(super) fn sum_columns<N: Size>(
    matrix: &Array<Vector<f32, N>>,
    x: &Array<Vector<f32, N>>,
    to: &mut Array<Vector<f32, N>>,
    vectors: u32,
    pitch: u32,
    rows: u32,
    #[comptime] plan: Across,
) {
    let (side, groups, plays) = comptime!((plan.side, plan.groups, plan.plays()));
    let sides = (vectors + comptime!(side - 1)) / side;
    let cube = CUBE_POS as u32;
    let column = (cube % sides) * side + UNIT_POS % side;
    let group = UNIT_POS / side % groups;
    let block = (cube / sides) * comptime!(plan.blocks) + UNIT_POS / comptime!(side * groups);
    let place = min(column, vectors - 1);

    let mut sums = Array::<Vector<f32, N>>::new(comptime!((4 * plays) as usize));
    #[unroll]
    for k in 0..comptime!(4 * plays) {
        sums[comptime!(k as usize)] = Vector::empty().fill(0.0f32);
    }
    let begin = block * comptime!(ROWS as u32);
    let mut period = u32::new(0);
    if comptime!(plan.merges) {
        if begin + comptime!(ROWS as u32) <= rows {
            // Not a constant, so that the loop stays one.
            let end = min(rows, begin + comptime!(ROWS as u32));
            take_block::<N>(matrix, x, &mut sums, begin + 4 * group, end, place, pitch, plan);
            period += comptime!(ROWS as u32);
        }
    }
    while period < comptime!(ROWS as u32) && begin + period < rows {
        // Rows of this unit: those of group + k · groups.
        let first = begin + period + 4 * group;
        if begin + period + comptime!(plan.ahead * ROW_SUMS as u32) <= rows {
            take_rounds::<N>(matrix, x, &mut sums, first, place, pitch, plan);
            // The round below is the last of these.
            period += comptime!((plan.ahead - 1) * ROW_SUMS as u32);
        } else {
            #[unroll]
            // rung: matvec on gpu: split
            for m in 0..plays {
                #[unroll]
                for e in 0..4u32 {
                    let row = first + comptime!(4 * m * groups + e);
                    if row < rows {
                        let mut factor = f32::new(1.0);
                        if comptime!(!plan.ones) {
                            let four = x[(row / 4) as usize];
                            factor = four[comptime!(e as usize)];
                        }
                        let k = comptime!((4 * m + e) as usize);
                        let factor = Vector::<f32, N>::empty().fill(factor);
                        sums[k] = fma(matrix[(row * pitch + place) as usize], factor, sums[k]);
                    }
                }
            }
            // end
        }
        period += comptime!(ROW_SUMS as u32);
    }

    let mut left = Array::<Vector<f32, N>>::new(comptime!(plays as usize));
    #[unroll]
    for m in 0..plays {
        let k = comptime!(4 * m as usize);
        left[comptime!(m as usize)] =
            (sums[k] + sums[comptime!(k + 1)]) + (sums[comptime!(k + 2)] + sums[comptime!(k + 3)]);
    }
    #[unroll]
    for step in 0..comptime!(plays.ilog2()) {
        let half = comptime!(plays >> (step + 1));
        #[unroll]
        for m in 0..half {
            left[comptime!(m as usize)] = left[comptime!(m as usize)] + left[comptime!((m + half) as usize)];
        }
    }
    if comptime!(groups > 1) {
        let mut shared = SharedMemory::<Vector<f32, N>>::new(comptime!(plan.units() as usize));
        shared[UNIT_POS as usize] = left[0usize];
        sync_cube();
        // Units are few, and a barrier of all of them takes longer than what one adds up alone.
        if group == 0 {
            let mut parts = Array::<Vector<f32, N>>::new(comptime!(groups as usize));
            #[unroll]
            for g in 0..groups {
                parts[comptime!(g as usize)] = shared[(UNIT_POS + comptime!(g * side)) as usize];
            }
            #[unroll]
            for step in 0..comptime!(groups.ilog2()) {
                let half = comptime!(groups >> (step + 1));
                #[unroll]
                for g in 0..half {
                    parts[comptime!(g as usize)] =
                        parts[comptime!(g as usize)] + parts[comptime!((g + half) as usize)];
                }
            }
            left[0usize] = parts[0usize];
        }
        if comptime!(plan.merges) {
            // Nobody else reads this place. As in a launch of their own, sums begin with 0.
            if group == 0 {
                shared[UNIT_POS as usize] = left[0usize] + Vector::empty().fill(0.0f32);
            }
            sync_cube();
            left[0usize] = merged::<N>(&shared, plan);
        }
    }
    if group == 0 {
        if column < vectors {
            // Of blocks that are added up, the first holds the sum.
            let mut stores = begin < max(rows, 1u32);
            if comptime!(plan.merges) {
                stores = block == 0u32;
            }
            if stores {
                to[(block * vectors + column) as usize] = left[0usize];
            }
        }
    }
}

/// The sum of what all blocks of a cube come to.
#[cube]
fn merged<N: Size>(results: &SharedMemory<Vector<f32, N>>, #[comptime] plan: Across) -> Vector<f32, N> {
    let mut merged = Array::<Vector<f32, N>>::new(comptime!(plan.blocks as usize));
    #[unroll]
    for b in 0..comptime!(plan.blocks) {
        let place = comptime!(b * plan.side * plan.groups) + UNIT_POS % comptime!(plan.side);
        merged[comptime!(b as usize)] = results[place as usize];
    }
    #[unroll]
    for step in 0..comptime!(plan.blocks.ilog2()) {
        // Neighbours first: four of them are one unit's there, and there are no more than two such units.
        #[unroll]
        for b in 0..comptime!(plan.blocks >> (step + 1)) {
            merged[comptime!(b as usize)] =
                merged[comptime!((2 * b) as usize)] + merged[comptime!((2 * b + 1) as usize)];
        }
    }
    merged[0usize]
}

/// Fours of rows on the way to a unit, and of x.
#[derive(CubeType)]
struct Fours<N: Size> {
    rows: Array<Vector<f32, N>>,
    factors: Array<Vector<f32, N>>,
}

#[cube]
impl<N: Size> Fours<N> {
    fn new(#[comptime] plan: Across) -> Fours<N> {
        let fours = comptime!(plan.fours());
        Fours::<N> {
            rows: Array::<Vector<f32, N>>::new(comptime!((4 * fours) as usize)),
            factors: Array::<Vector<f32, N>>::new(comptime!(fours as usize)),
        }
    }

    /// Loads the `m`-th four of a part of what a unit takes of `plan.ahead` rounds, which are all there.
    #[allow(clippy::too_many_arguments)]
    fn load(
        &mut self,
        matrix: &Array<Vector<f32, N>>,
        x: &Array<Vector<f32, N>>,
        first: u32,
        place: u32,
        pitch: u32,
        #[comptime] m: u32,
        #[comptime] part: u32,
        #[comptime] plan: Across,
    ) {
        let row = first + comptime!(plan.row(m, part));
        #[unroll]
        for e in 0..4u32 {
            self.rows[comptime!((4 * m + e) as usize)] = matrix[((row + e) * pitch + place) as usize];
        }
        let mut four = Vector::<f32, N>::empty().fill(1.0f32);
        if comptime!(!plan.ones) {
            four = x[(row / 4) as usize];
        }
        self.factors[comptime!(m as usize)] = four;
    }

    /// Adds its products.
    fn add_to(
        &self,
        sums: &mut Array<Vector<f32, N>>,
        #[comptime] m: u32,
        #[comptime] part: u32,
        #[comptime] plan: Across,
    ) {
        let at_once = comptime!(plan.at_once());
        let four = self.factors[comptime!(m as usize)];
        #[unroll]
        for e in 0..4u32 {
            let k = comptime!((4 * (part * at_once + m % at_once) + e) as usize);
            let factor = Vector::<f32, N>::empty().fill(four[comptime!(e as usize)]);
            sums[k] = fma(self.rows[comptime!((4 * m + e) as usize)], factor, sums[k]);
        }
    }
}

/// Takes the rows of a unit of 64 or more that are all there, all loads before the first product.
#[cube]
fn take_rounds<N: Size>(
    matrix: &Array<Vector<f32, N>>,
    x: &Array<Vector<f32, N>>,
    sums: &mut Array<Vector<f32, N>>,
    first: u32,
    place: u32,
    pitch: u32,
    #[comptime] plan: Across,
) {
    #[unroll]
    for part in 0..comptime!(plan.plays() / plan.at_once()) {
        let mut fours = Fours::<N>::new(plan);
        #[unroll]
        for m in 0..comptime!(plan.fours()) {
            fours.load(matrix, x, first, place, pitch, m, part, plan);
        }
        #[unroll]
        for m in 0..comptime!(plan.fours()) {
            fours.add_to(sums, m, part, plan);
        }
    }
}

/// Takes the rows of a unit of a block that is there in full, up to row `end`: each four rows that are taken make room for the loads of others. A loop
/// whose bound the compiler does not know keeps them on the way; in one piece it moved loads to where they are used.
#[cube]
#[allow(clippy::too_many_arguments)]
fn take_block<N: Size>(
    matrix: &Array<Vector<f32, N>>,
    x: &Array<Vector<f32, N>>,
    sums: &mut Array<Vector<f32, N>>,
    first: u32,
    end: u32,
    place: u32,
    pitch: u32,
    #[comptime] plan: Across,
) {
    let mut fours = Fours::<N>::new(plan);
    #[unroll]
    for m in 0..comptime!(plan.fours()) {
        fours.load(matrix, x, first, place, pitch, m, 0u32, plan);
    }
    let mut next = first + comptime!(plan.ahead * ROW_SUMS as u32);
    while next < end {
        #[unroll]
        for m in 0..comptime!(plan.fours()) {
            fours.add_to(sums, m, 0u32, plan);
            fours.load(matrix, x, next, place, pitch, m, 0u32, plan);
        }
        next += comptime!(plan.ahead * ROW_SUMS as u32);
    }
    #[unroll]
    for m in 0..comptime!(plan.fours()) {
        fours.add_to(sums, m, 0u32, plan);
    }
}
