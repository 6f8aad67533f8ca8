//! M·x: a team of units (threads) takes a block of several rows.
//!
//! A team plays 256 units, each with a vector of four sums: fewer units play several. Rows of up to 1 024
//! numbers have smaller teams, a part of a plane (warp) where that is enough, and several teams share a cube
//! (block).

use cubecl::prelude::*;

use relief_kernels::device::Gpu;
use relief_kernels::policy::Tuning;

/// Vectors that a team takes at once, and how often for a block.
const SPAN: u32 = 256;
const ROUNDS: u32 = 16;

/// What is compiled into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Along {
    /// Units that take a block together, and teams of a cube.
    team: u32,
    teams: u32,
    /// Vectors that a team takes at once.
    span: u32,
    /// Rows that it takes at once.
    rows: u32,
    /// Vectors of a row that are loaded before the first is taken, one after the other.
    ahead: u32,
    /// Units of a plane; 1 where planes differ.
    lanes: u32,
    /// Whether numbers are added, without a vector.
    ones: bool,
    /// Whether rows may end within what a team takes at once.
    tail: bool,
}

impl Along {
    pub(super) fn of(gpu: &Gpu, tuning: Tuning, columns: u32, ones: bool) -> Self {
        let lanes = match gpu.report().plane {
            (least, most) if least == most && matches!(most, 4 | 8 | 16 | 32 | 64) => most,
            _ => 1,
        };
        let vectors = columns.div_ceil(4).max(1);
        // On software Vulkan teams of several planes wait for each other in turn, and a loop that nobody
        // enters is computed once.
        let software = gpu.report().software;
        if lanes > 1 && (vectors <= SPAN || software) {
            let span = vectors.next_power_of_two().min(SPAN);
            let team = span.min(lanes);
            let plays = span / team;
            return Self {
                team,
                teams: SPAN / team,
                span,
                rows: (8 / plays).max(1),
                ahead: 1,
                lanes,
                ones,
                tail: !software || !columns.is_multiple_of(4 * span),
            };
        }
        Self {
            team: tuning.units,
            teams: 1,
            span: SPAN,
            rows: tuning.items,
            ahead: (8 * tuning.units / (tuning.items * SPAN)).max(1),
            lanes,
            ones,
            tail: true,
        }
    }

    pub(super) const fn units(&self) -> u32 {
        self.team * self.teams
    }

    pub(super) const fn rows_of_cube(&self) -> u32 {
        self.teams * self.rows
    }

    const fn plays(&self) -> u32 {
        self.span / self.team
    }
}

/// The sums of blocks of rows: that of block b of row r at word r · `result_pitch` + b.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(super) fn sum_rows<N: Size>(
    matrix: &Array<Vector<f32, N>>,
    x: &Array<Vector<f32, N>>,
    to: &mut Array<f32>,
    columns: u32,
    pitch: u32,
    rows: u32,
    blocks: u32,
    result_pitch: u32,
    #[comptime] plan: Along,
) {
    let (team, span, plays) = comptime!((plan.team, plan.span, plan.plays()));
    let member = UNIT_POS % team;
    let cube = CUBE_POS as u32;
    let block = cube % blocks;
    let first_row =
        (cube / blocks) * comptime!(plan.teams * plan.rows) + (UNIT_POS / team) * comptime!(plan.rows);
    let begin = block * comptime!(SPAN * ROUNDS) + member;
    let whole = columns / 4;

    // Vectors of four sums, of each row and of each unit that is played.
    let mut sums = Array::<Vector<f32, N>>::new(comptime!((plan.rows * plays) as usize));
    #[unroll]
    for k in 0..comptime!(plan.rows * plays) {
        sums[comptime!(k as usize)] = Vector::empty().fill(0.0f32);
    }
    // Where each row begins; the last row stands for those after it.
    let mut bases = Array::<u32>::new(comptime!(plan.rows as usize));
    #[unroll]
    for r in 0..comptime!(plan.rows) {
        bases[comptime!(r as usize)] = min(first_row + r, rows - 1) * pitch;
    }

    // rung: matvec on gpu: blocks
    // Vectors that all of the team have, in this block.
    let mut at = begin;
    let mut end = min(whole, (block + 1) * comptime!(SPAN * ROUNDS));
    let step = comptime!(span * plan.ahead);
    while at - member + step <= end {
        take_whole::<N>(matrix, x, &mut sums, &bases, at, plan);
        at += step;
    }
    // end
    if comptime!(plan.tail) {
        end = min(
            (columns + comptime!(4 - 1)) / 4,
            (block + 1) * comptime!(SPAN * ROUNDS),
        );
        while at - member < end {
            #[unroll]
            for m in 0..plays {
                let place = at + comptime!(m * team);
                if place < end {
                    let mut factor = Vector::<f32, N>::empty().fill(1.0f32);
                    if comptime!(!plan.ones) {
                        factor = x[place as usize];
                    }
                    let present = columns - 4 * place;
                    #[unroll]
                    for r in 0..comptime!(plan.rows) {
                        let k = comptime!((r * plays + m) as usize);
                        let numbers = matrix[(bases[comptime!(r as usize)] + place) as usize];
                        let mut sum = sums[k];
                        // What lies behind a row may be anything.
                        #[unroll]
                        for e in 0..4u32 {
                            let taken = fma(
                                numbers[comptime!(e as usize)],
                                factor[comptime!(e as usize)],
                                sum[comptime!(e as usize)],
                            );
                            sum[comptime!(e as usize)] =
                                select(e < present, taken, sum[comptime!(e as usize)]);
                        }
                        sums[k] = sum;
                    }
                }
            }
            at += span;
        }
    }

    let mut left = Array::<f32>::new(comptime!((plan.rows * plays) as usize));
    #[unroll]
    for k in 0..comptime!(plan.rows * plays) {
        let four = sums[comptime!(k as usize)];
        left[comptime!(k as usize)] = (four[0usize] + four[1usize]) + (four[2usize] + four[3usize]);
    }
    fold(&mut left, plan);
    if member == 0 {
        #[unroll]
        for r in 0..comptime!(plan.rows) {
            if first_row + r < rows {
                to[((first_row + r) * result_pitch + block) as usize] = left[comptime!((r * plays) as usize)];
            }
        }
    }
}

/// Takes vectors that are there, all loads before the first product.
#[cube]
fn take_whole<N: Size>(
    matrix: &Array<Vector<f32, N>>,
    x: &Array<Vector<f32, N>>,
    sums: &mut Array<Vector<f32, N>>,
    bases: &Array<u32>,
    at: u32,
    #[comptime] plan: Along,
) {
    let plays = comptime!(plan.plays());
    let each = comptime!(plan.rows * plays);
    let mut held = Array::<Vector<f32, N>>::new(comptime!((plan.ahead * each) as usize));
    #[unroll]
    for a in 0..comptime!(plan.ahead) {
        #[unroll]
        for m in 0..plays {
            #[unroll]
            for r in 0..comptime!(plan.rows) {
                let place = bases[comptime!(r as usize)] + at + comptime!(a * plan.span + m * plan.team);
                held[comptime!((a * each + r * plays + m) as usize)] = matrix[place as usize];
            }
        }
    }
    #[unroll]
    for a in 0..comptime!(plan.ahead) {
        #[unroll]
        for m in 0..plays {
            let mut factor = Vector::<f32, N>::empty().fill(1.0f32);
            if comptime!(!plan.ones) {
                factor = x[(at + comptime!(a * plan.span + m * plan.team)) as usize];
            }
            #[unroll]
            for r in 0..comptime!(plan.rows) {
                let k = comptime!((r * plays + m) as usize);
                sums[k] = fma(
                    held[comptime!((a * each + r * plays + m) as usize)],
                    factor,
                    sums[k],
                );
            }
        }
    }
}

/// Halves what the units of a team are left with, of each row, until the first has the sum.
#[cube]
fn fold(left: &mut Array<f32>, #[comptime] plan: Along) {
    let plays = comptime!(plan.plays());
    #[unroll]
    for r in 0..comptime!(plan.rows) {
        #[unroll]
        for step in 0..comptime!(plays.ilog2()) {
            let half = comptime!(plays >> (step + 1));
            #[unroll]
            for m in 0..half {
                let k = comptime!((r * plays + m) as usize);
                left[k] = left[k] + left[comptime!((r * plays + m + half) as usize)];
            }
        }
    }
    if comptime!(plan.team > plan.lanes) {
        let mut shared = SharedMemory::<f32>::new(comptime!((plan.rows * plan.team) as usize));
        #[unroll]
        for r in 0..comptime!(plan.rows) {
            shared[(comptime!(r * plan.team) + UNIT_POS) as usize] = left[comptime!((r * plays) as usize)];
        }
        sync_cube();
        #[unroll]
        for step in 0..comptime!((plan.team / plan.lanes).ilog2()) {
            let half = comptime!(plan.team >> (step + 1));
            if UNIT_POS < half {
                #[unroll]
                for r in 0..comptime!(plan.rows) {
                    let place = comptime!(r * plan.team) + UNIT_POS;
                    shared[place as usize] = shared[place as usize] + shared[(place + half) as usize];
                }
            }
            sync_cube();
        }
        if UNIT_POS < comptime!(plan.lanes) {
            #[unroll]
            for r in 0..comptime!(plan.rows) {
                left[comptime!((r * plays) as usize)] =
                    shared[(comptime!(r * plan.team) + UNIT_POS) as usize];
            }
        }
    }
    #[unroll]
    for r in 0..comptime!(plan.rows) {
        #[unroll]
        for step in 0..comptime!(plan.lanes.min(plan.team).ilog2()) {
            let half = comptime!(plan.lanes.min(plan.team) >> (step + 1));
            let k = comptime!((r * plays) as usize);
            left[k] = left[k] + plane_shuffle_xor(left[k], half);
        }
    }
}
