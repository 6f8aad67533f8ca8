//! Products of numbers of 16 bits by the matrix instructions of a device, into floats of 32 bits.
//!
//! A cube of 8 planes computes 128 × 256 sums, each plane 64 × 64 in registers: 32 products of 16 × 8 × 16 for each 16 of k. Slices of
//! 64 of k go straight from memory to shared memory, three on the way while one is multiplied. Where the device has boxes (the tensor memory accelerator of
//! Hopper), one unit asks for them and the others have nothing to do with it; else each unit copies its vectors (`cp.async`).
//! Rows of 64 numbers are permuted, vector v of row r at v xor r mod 8, so that the eight rows of a matrix of 8 × 8 that the
//! instruction loads lie in different banks, and so do neighbours of a row that is stored. Boxes come permuted so.
//!
//! What the instructions of one step take is loaded to registers while those of the step before run, across slices too, and
//! where k is a multiple of 64 the next slice is asked for without a branch, so that the compiler puts loads and copies between products.
//! By boxes a slice takes 311 instructions of a plane, of which 128 multiply (machine code of CUDA 13.0 for sm_90).
//!
//! On an H200, bf16, 8 192³ (`relief lab run matmul/bf16 --device cuda`, 2026-11-22): 219 T multiply-adds a second by boxes, 197 by copies of each unit in a run of
//! the same day. From registers alone the same instructions reach 297 to 309, and cuBLAS 370, by those that take whole groups of planes, which the runtime does
//! not offer. The clock falls below 1.8 GHz meanwhile: power binds as well.
//!
//! The instructions add the products of 16 k at once, in an order and with roundings that their maker does not state: here results
//! have an error, not an order. Devices of other makers, and Vulkan, offer no such instructions through the runtime: there it is
//! said that they lack them.

use cubecl::prelude::barrier::{Barrier, copy_async, copy_async_checked};
use cubecl::prelude::*;

use super::Shape;

/// Rows and columns of a cube's tile, and numbers of k of a slice.
pub(super) const ROWS: u32 = 128;
pub(super) const COLUMNS: u32 = 256;
pub(super) const SLICE: u32 = 64;

/// Slices in shared memory.
const STAGES: u32 = 4;

/// Units of a cube: 2 × 4 planes.
pub(super) const UNITS: u32 = 256;

/// Numbers of a slice of each operand, and of a vector of 16 bytes.
const LEFT: u32 = ROWS * SLICE;
const RIGHT: u32 = SLICE * COLUMNS;
const EIGHT: u32 = 8;

/// Bytes of shared memory of a cube, and a little for barriers and gaps.
pub(super) const SHARED: usize = (STAGES * (LEFT + RIGHT) * 2 + 2_048) as usize;

/// Columns of a box: slices of the right operand lie as boxes next to each other, with rows as long as those of the left one.
pub(super) const BOX: u32 = 64;

/// Vectors of a slice of the right operand that a unit copies, and the parts that it does so in, with a vector of the left operand each.
const RIGHT_COPIES: u32 = RIGHT / EIGHT / UNITS;
const PARTS: u32 = LEFT / EIGHT / UNITS;

/// Steps of 16 k of a slice.
const STEPS: u32 = SLICE / 16;

/// Matrices of 16 rows and of 8 columns that a plane has.
const HIGH: u32 = 4;
const WIDE: u32 = 8;

/// Rows of tiles that are computed side by side.
const BAND: u32 = 8;

/// Cubes of a product.
pub(super) const fn count(shape: Shape) -> Option<u32> {
    shape
        .rows
        .div_ceil(ROWS)
        .checked_mul(shape.columns.div_ceil(COLUMNS))
}

/// C = A·B; pitches are in numbers, that of the result in pairs.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(super) fn multiply_halves<E: Float, N: Size>(
    left: &Array<E>,
    right: &Array<E>,
    result: &mut Array<Vector<f32, N>>,
    rows: u32,
    inner: u32,
    columns: u32,
    left_pitch: u32,
    right_pitch: u32,
    result_pitch: u32,
    #[comptime] whole: bool,
) {
    let (top, start) = place_of_cube(rows, columns);
    let definition = cmma::MmaDefinition::<E, E, f32>::new(16usize, 8usize, 16usize);
    let size!(NA) = definition.vector_size(cmma::MatrixIdent::A);
    let size!(NB) = definition.vector_size(cmma::MatrixIdent::B);
    let size!(NC) = definition.vector_size(cmma::MatrixIdent::Accumulator);

    let mut lefts = SharedMemory::<E>::new_aligned(comptime!((STAGES * LEFT) as usize), 128usize);
    let mut rights = SharedMemory::<E>::new_aligned(comptime!((STAGES * RIGHT) as usize), 128usize);
    let mut barriers = Sequence::<Shared<Barrier>>::new();
    #[unroll]
    for _ in 0..STAGES {
        barriers.push(Barrier::shared(comptime!(UNITS), UNIT_POS == 0));
    }

    let mut sums = Sequence::<Array<Vector<f32, NC>>>::new();
    #[unroll]
    for _ in 0..comptime!(HIGH * WIDE) {
        let mut sum = Array::<Vector<f32, NC>>::new(2usize);
        sum[0usize] = Vector::empty().fill(0.0f32);
        sum[1usize] = Vector::empty().fill(0.0f32);
        sums.push(sum);
    }

    let feed = Feed::new(top, start, rows, columns, left_pitch);
    #[unroll]
    for stage in 0..comptime!(STAGES - 1) {
        let mut begin = comptime!(stage * SLICE).runtime();
        if comptime!(whole) {
            begin = min(begin, inner - SLICE);
        }
        if begin < inner {
            ask::<E>(
                left,
                right,
                &mut lefts,
                &mut rights,
                barriers.index(comptime!(stage as usize)),
                &feed,
                begin,
                stage,
                inner,
                right_pitch,
            );
        }
    }

    let lane = UNIT_POS_PLANE;
    let plane = UNIT_POS / 32;
    // Where a lane finds the row of eight numbers that it names to the instructions: in a slice of each operand.
    let half = lane / 16;
    let turn = lane % 8;
    let left_at = ((plane % 2) * 64 + lane % 16) * SLICE;
    let right_at = ((plane / 2) * SLICE + lane % 16) * BOX;

    // Two sets of what the instructions take: one is loaded while the other is multiplied.
    let mut numbers = Sequence::<Array<Vector<E, NA>>>::new();
    let mut others = Sequence::<Array<Vector<E, NB>>>::new();
    #[unroll]
    for _ in 0..comptime!(2 * HIGH) {
        numbers.push(Array::<Vector<E, NA>>::new(4usize));
    }
    #[unroll]
    for _ in 0..comptime!(2 * WIDE) {
        others.push(Array::<Vector<E, NB>>::new(2usize));
    }

    if inner > 0 {
        barriers.index(0usize).wait_parity(0u32);
        take::<E, NA, NB>(
            definition,
            &lefts,
            &rights,
            &mut numbers,
            &mut others,
            left_at,
            right_at,
            turn,
            half,
            0u32,
            0u32,
        );
    }
    let mut begin = u32::new(0);
    let mut phase = u32::new(0);
    while begin < inner {
        #[unroll]
        for stage in 0..STAGES {
            let here = begin + comptime!(stage * SLICE);
            if here < inner {
                #[unroll]
                for step in 0..STEPS {
                    let follows = comptime!((step + 1) % STEPS);
                    if comptime!(step + 1 < STEPS) {
                        take::<E, NA, NB>(
                            definition,
                            &lefts,
                            &rights,
                            &mut numbers,
                            &mut others,
                            left_at,
                            right_at,
                            turn,
                            half,
                            stage,
                            follows,
                        );
                    } else if here + SLICE < inner {
                        let after = comptime!((stage + 1) % STAGES);
                        let parity = (phase + comptime!((stage + 1) / STAGES)) % 2;
                        barriers.index(comptime!(after as usize)).wait_parity(parity);
                        take::<E, NA, NB>(
                            definition,
                            &lefts,
                            &rights,
                            &mut numbers,
                            &mut others,
                            left_at,
                            right_at,
                            turn,
                            half,
                            after,
                            follows,
                        );
                    }
                    let ahead = comptime!((stage + STAGES - 1) % STAGES);
                    let next = here + comptime!((STAGES - 1) * SLICE);
                    if comptime!(step == 0 && !whole) {
                        // All have taken the last of the slice before, whose place another one takes.
                        sync_cube();
                        if next < inner {
                            ask::<E>(
                                left,
                                right,
                                &mut lefts,
                                &mut rights,
                                barriers.index(comptime!(ahead as usize)),
                                &feed,
                                next,
                                ahead,
                                inner,
                                right_pitch,
                            );
                        }
                    }
                    let set = comptime!(step % 2);
                    #[unroll]
                    for i in 0..HIGH {
                        #[unroll]
                        for j in 0..WIDE {
                            definition.execute_inplace::<NA, NB, NC>(
                                numbers.index(comptime!((set * HIGH + i) as usize)),
                                others.index(comptime!((set * WIDE + j) as usize)),
                                sums.index_mut(comptime!((i * WIDE + j) as usize)),
                            );
                        }
                        if comptime!(step == 0 && whole && i == 0) {
                            // As above, but with products on the way.
                            sync_cube();
                        }
                        if comptime!(whole && i == 0) {
                            // A part in each step, so that loads of other planes do not wait behind all of a slice's copies. Behind the last slice it is asked for again, for nobody: without a branch, copies and products mix.
                            copies::<E>(
                                left,
                                right,
                                &mut lefts,
                                &mut rights,
                                &feed,
                                min(next, inner - SLICE),
                                ahead,
                                inner,
                                right_pitch,
                                step,
                                false,
                            );
                        }
                    }
                    if comptime!(step + 1 == STEPS && whole) {
                        let barrier = barriers.index(comptime!(ahead as usize));
                        barrier.commit_copy_async();
                        barrier.arrive();
                    }
                }
            }
        }
        phase = 1 - phase;
        begin += comptime!(STAGES * SLICE);
    }

    if comptime!(whole) {
        // What was asked for behind the last slice has to be there before this cube's memory is another's. As many slices were asked for as
        // there are and STAGES - 1 more, in the order of the stages.
        let asked = inner / SLICE + comptime!(STAGES - 1);
        #[unroll]
        for stage in 0..STAGES {
            let turns = (asked - stage + comptime!(STAGES - 1)) / STAGES;
            barriers
                .index(comptime!(stage as usize))
                .wait_parity((turns - 1) % 2);
        }
    }
    store::<N, NC>(&sums, result, rows, columns, result_pitch, top, start);
}

/// [`multiply_halves`] where the device copies whole boxes by itself (the tensor memory accelerator): one unit asks for a slice, and numbers
/// outside of the operands are 0.
#[cube(launch_unchecked)]
pub(super) fn multiply_halves_by_boxes<E: Float, N: Size>(
    left: &TensorMap<E, Tiled>,
    right: &TensorMap<E, Tiled>,
    result: &mut Array<Vector<f32, N>>,
    rows: u32,
    inner: u32,
    columns: u32,
    result_pitch: u32,
) {
    let (top, start) = place_of_cube(rows, columns);
    let definition = cmma::MmaDefinition::<E, E, f32>::new(16usize, 8usize, 16usize);
    let size!(NA) = definition.vector_size(cmma::MatrixIdent::A);
    let size!(NB) = definition.vector_size(cmma::MatrixIdent::B);
    let size!(NC) = definition.vector_size(cmma::MatrixIdent::Accumulator);

    // Boxes are permuted by the addresses that they lie at.
    let mut lefts = SharedMemory::<E>::new_aligned(comptime!((STAGES * LEFT) as usize), 1024usize);
    let mut rights = SharedMemory::<E>::new_aligned(comptime!((STAGES * RIGHT) as usize), 1024usize);
    let mut barriers = Sequence::<Shared<Barrier>>::new();
    #[unroll]
    for _ in 0..STAGES {
        barriers.push(Barrier::shared(1u32, UNIT_POS == 0));
    }
    sync_async_proxy_shared();

    let mut sums = Sequence::<Array<Vector<f32, NC>>>::new();
    #[unroll]
    for _ in 0..comptime!(HIGH * WIDE) {
        let mut sum = Array::<Vector<f32, NC>>::new(2usize);
        sum[0usize] = Vector::empty().fill(0.0f32);
        sum[1usize] = Vector::empty().fill(0.0f32);
        sums.push(sum);
    }
    let mut numbers = Sequence::<Array<Vector<E, NA>>>::new();
    let mut others = Sequence::<Array<Vector<E, NB>>>::new();
    #[unroll]
    for _ in 0..comptime!(2 * HIGH) {
        numbers.push(Array::<Vector<E, NA>>::new(4usize));
    }
    #[unroll]
    for _ in 0..comptime!(2 * WIDE) {
        others.push(Array::<Vector<E, NB>>::new(2usize));
    }

    if UNIT_POS == 0 {
        #[unroll]
        for stage in 0..comptime!(STAGES - 1) {
            let begin = comptime!(stage * SLICE).runtime();
            if begin < inner {
                ask_for_boxes::<E>(
                    left,
                    right,
                    &mut lefts,
                    &mut rights,
                    barriers.index(comptime!(stage as usize)),
                    top,
                    start,
                    begin,
                    stage,
                );
            }
        }
    }

    let (lane, plane) = (UNIT_POS_PLANE, UNIT_POS / 32);
    let half = lane / 16;
    let turn = lane % 8;
    let left_at = ((plane % 2) * 64 + lane % 16) * SLICE;
    let right_at = ((plane / 2) * SLICE + lane % 16) * BOX;
    if inner > 0 {
        barriers.index(0usize).wait_parity(0u32);
        take::<E, NA, NB>(
            definition,
            &lefts,
            &rights,
            &mut numbers,
            &mut others,
            left_at,
            right_at,
            turn,
            half,
            0u32,
            0u32,
        );
    }
    let mut begin = u32::new(0);
    let mut phase = u32::new(0);
    while begin < inner {
        #[unroll]
        for stage in 0..STAGES {
            let here = begin + comptime!(stage * SLICE);
            if here < inner {
                // All have taken the last of the slice before, whose place another one takes.
                sync_cube();
                let ahead = comptime!((stage + STAGES - 1) % STAGES);
                let next = here + comptime!((STAGES - 1) * SLICE);
                if UNIT_POS == 0 {
                    if next < inner {
                        ask_for_boxes::<E>(
                            left,
                            right,
                            &mut lefts,
                            &mut rights,
                            barriers.index(comptime!(ahead as usize)),
                            top,
                            start,
                            next,
                            ahead,
                        );
                    }
                }
                #[unroll]
                for step in 0..STEPS {
                    let follows = comptime!((step + 1) % STEPS);
                    if comptime!(step + 1 < STEPS) {
                        take::<E, NA, NB>(
                            definition,
                            &lefts,
                            &rights,
                            &mut numbers,
                            &mut others,
                            left_at,
                            right_at,
                            turn,
                            half,
                            stage,
                            follows,
                        );
                    } else if here + SLICE < inner {
                        let after = comptime!((stage + 1) % STAGES);
                        let parity = (phase + comptime!((stage + 1) / STAGES)) % 2;
                        barriers.index(comptime!(after as usize)).wait_parity(parity);
                        take::<E, NA, NB>(
                            definition,
                            &lefts,
                            &rights,
                            &mut numbers,
                            &mut others,
                            left_at,
                            right_at,
                            turn,
                            half,
                            after,
                            follows,
                        );
                    }
                    let set = comptime!(step % 2);
                    #[unroll]
                    for i in 0..HIGH {
                        #[unroll]
                        for j in 0..WIDE {
                            definition.execute_inplace::<NA, NB, NC>(
                                numbers.index(comptime!((set * HIGH + i) as usize)),
                                others.index(comptime!((set * WIDE + j) as usize)),
                                sums.index_mut(comptime!((i * WIDE + j) as usize)),
                            );
                        }
                    }
                }
            }
        }
        phase = 1 - phase;
        begin += comptime!(STAGES * SLICE);
    }
    store::<N, NC>(&sums, result, rows, columns, result_pitch, top, start);
}

/// Asks for the boxes of a slice, by one unit: 128 × 64 numbers of the left operand, four times 64 × 64 of the right one.
#[cube]
#[allow(clippy::too_many_arguments)]
fn ask_for_boxes<E: Float>(
    left: &TensorMap<E, Tiled>,
    right: &TensorMap<E, Tiled>,
    lefts: &mut SharedMemory<E>,
    rights: &mut SharedMemory<E>,
    barrier: &Shared<Barrier>,
    top: u32,
    start: u32,
    begin: u32,
    #[comptime] stage: u32,
) {
    barrier.arrive_and_expect_tx(1u32, comptime!((LEFT + RIGHT) * 2).runtime());
    let mut target = lefts.slice_mut(
        comptime!((stage * LEFT) as usize),
        comptime!(((stage + 1) * LEFT) as usize),
    );
    barrier.tma_load_2d(left, &mut target, top as i32, begin as i32);
    #[unroll]
    for part in 0..comptime!(COLUMNS / BOX) {
        let from = comptime!(stage * RIGHT + part * SLICE * BOX);
        let mut target = rights.slice_mut(comptime!(from as usize), comptime!((from + SLICE * BOX) as usize));
        barrier.tma_load_2d(
            right,
            &mut target,
            begin as i32,
            (start + comptime!(part * BOX)) as i32,
        );
    }
}

/// The first row and the first column of a cube's tile. Cubes go down a band of tiles before they go on to the right.
#[cube]
fn place_of_cube(rows: u32, columns: u32) -> (u32, u32) {
    let high = (rows + comptime!(ROWS - 1)) / ROWS;
    let wide = (columns + comptime!(COLUMNS - 1)) / COLUMNS;
    let cube = CUBE_POS as u32;
    let band = cube / (BAND * wide);
    let within = cube - band * (BAND * wide);
    // A last band may have fewer rows; cubes that are too many compute tiles below the result, and write nothing.
    let tall = max(min(high - min(band * BAND, high), comptime!(BAND)), 1u32);
    let top = (band * BAND + within % tall) * ROWS;
    let start = (within / tall) * COLUMNS;
    (top, start)
}

/// Writes the sums of a plane.
#[cube]
fn store<N: Size, NC: Size>(
    sums: &Sequence<Array<Vector<f32, NC>>>,
    result: &mut Array<Vector<f32, N>>,
    rows: u32,
    columns: u32,
    result_pitch: u32,
    top: u32,
    start: u32,
) {
    let (lane, plane) = (UNIT_POS_PLANE, UNIT_POS / 32);
    // A lane has pairs of neighbours, in rows 8 apart.
    let width = (columns + comptime!(2 - 1)) / 2;
    #[unroll]
    for i in 0..HIGH {
        #[unroll]
        for j in 0..WIDE {
            let sum = sums.index(comptime!((i * WIDE + j) as usize));
            let x = start / 2 + (plane / 2) * 32 + comptime!(4 * j) + lane % 4;
            #[unroll]
            for e in 0..2u32 {
                let y = top + (plane % 2) * 64 + comptime!(16 * i + 8 * e) + lane / 4;
                if y < rows {
                    if x < width {
                        let two = sum[comptime!(e as usize)];
                        let mut pair = Vector::<f32, N>::empty();
                        pair[0usize] = two[0usize];
                        pair[1usize] = two[1usize];
                        result[(y * result_pitch + x) as usize] = pair;
                    }
                }
            }
        }
    }
}

/// Loads what the instructions of a step of 16 k take, of a slice that is there, into the step's set of registers.
#[cube]
#[allow(clippy::too_many_arguments)]
fn take<E: Float, NA: Size, NB: Size>(
    definition: cmma::MmaDefinition<E, E, f32>,
    lefts: &SharedMemory<E>,
    rights: &SharedMemory<E>,
    numbers: &mut Sequence<Array<Vector<E, NA>>>,
    others: &mut Sequence<Array<Vector<E, NB>>>,
    left_at: u32,
    right_at: u32,
    turn: u32,
    half: u32,
    #[comptime] stage: u32,
    #[comptime] step: u32,
) {
    let set = comptime!(step % 2);
    #[unroll]
    for pair in 0..comptime!(WIDE / 2) {
        let vector = (comptime!(2 * pair) + half) ^ turn;
        let at = comptime!(stage * RIGHT + step * 16 * BOX) + right_at + vector * EIGHT;
        let place = rights.slice(at as usize, (at + EIGHT) as usize);
        let four = definition.load_matrix::<E, NB>(&place, cmma::MatrixIdent::B, 4usize, true);
        #[unroll]
        for k in 0..2u32 {
            let two = others.index_mut(comptime!((set * WIDE + 2 * pair + k) as usize));
            two[0usize] = four[comptime!((2 * k) as usize)];
            two[1usize] = four[comptime!((2 * k + 1) as usize)];
        }
    }
    let vector = (comptime!(2 * step) + half) ^ turn;
    #[unroll]
    for i in 0..HIGH {
        let at = comptime!(stage * LEFT + i * 16 * SLICE) + left_at + vector * EIGHT;
        let place = lefts.slice(at as usize, (at + EIGHT) as usize);
        definition.load_matrix_inplace::<E, NA>(
            &place,
            numbers.index_mut(comptime!((set * HIGH + i) as usize)),
            cmma::MatrixIdent::A,
            4usize,
            false,
        );
    }
}

/// Where a unit's vectors of a slice come from and go to: what does not depend on the slice.
#[derive(CubeType)]
struct Feed {
    /// Numbers before its rows of the left operand, which stand for the last one where they lie below it.
    rows: Sequence<u32>,
    /// Its vector of these, in numbers.
    k: u32,
    /// Its first row of a slice of the right operand, and the number where its vector begins.
    y: u32,
    x: u32,
    /// Where they go.
    left_to: u32,
    right_to: u32,
}

#[cube]
impl Feed {
    fn new(top: u32, start: u32, rows: u32, columns: u32, left_pitch: u32) -> Feed {
        let (row, vector) = (UNIT_POS / 8, UNIT_POS % 8);
        let mut offsets = Sequence::<u32>::new();
        #[unroll]
        for i in 0..PARTS {
            offsets.push(min(top + row + comptime!(i * UNITS / 8), rows - 1) * left_pitch);
        }
        let (y, across) = (UNIT_POS / 32, UNIT_POS % 32);
        let last = (columns + comptime!(EIGHT - 1)) / EIGHT - 1;
        Feed {
            rows: offsets,
            k: vector * EIGHT,
            y,
            x: min(start / 8 + across, last) * EIGHT,
            // Rows of further copies are multiples of eight further on: the permutation is the same.
            left_to: row * SLICE + (vector ^ (row % 8)) * EIGHT,
            right_to: ((across / 8) * SLICE + y) * BOX + ((across % 8) ^ (y % 8)) * EIGHT,
        }
    }
}

/// Asks for a slice of both operands, which may be there partly. Rows and vectors outside stand for the last ones inside; numbers behind the last k are 0.
#[cube]
#[allow(clippy::too_many_arguments)]
fn ask<E: Float>(
    left: &Array<E>,
    right: &Array<E>,
    lefts: &mut SharedMemory<E>,
    rights: &mut SharedMemory<E>,
    barrier: &Shared<Barrier>,
    feed: &Feed,
    begin: u32,
    #[comptime] stage: u32,
    inner: u32,
    right_pitch: u32,
) {
    #[unroll]
    for part in 0..PARTS {
        copies::<E>(
            left,
            right,
            lefts,
            rights,
            feed,
            begin,
            stage,
            inner,
            right_pitch,
            part,
            true,
        );
    }
    barrier.commit_copy_async();
    barrier.arrive();
}

/// One of the parts of a unit's copies of a slice.
#[cube]
#[allow(clippy::too_many_arguments)]
fn copies<E: Float>(
    left: &Array<E>,
    right: &Array<E>,
    lefts: &mut SharedMemory<E>,
    rights: &mut SharedMemory<E>,
    feed: &Feed,
    begin: u32,
    #[comptime] stage: u32,
    inner: u32,
    right_pitch: u32,
    #[comptime] part: u32,
    #[comptime] partly: bool,
) {
    let to = comptime!(stage * LEFT + part * (UNITS / 8) * SLICE) + feed.left_to;
    let mut target = lefts.slice_mut(to as usize, (to + EIGHT) as usize);
    let row = *feed.rows.index(comptime!(part as usize));
    let k = begin + feed.k;
    if comptime!(partly) {
        // What is not there is not named either: the first numbers of the row instead, of which none is taken.
        let present = min(max(inner, k) - k, EIGHT);
        let from = row + select(present == 0, 0u32, k);
        let source = left.slice(from as usize, (from + present) as usize);
        copy_async_checked(&source, &mut target, EIGHT);
    } else {
        let source = left.slice((row + k) as usize, (row + k + EIGHT) as usize);
        copy_async(&source, &mut target, EIGHT);
    }
    #[unroll]
    for n in 0..comptime!(RIGHT_COPIES / PARTS) {
        let i = comptime!(part * (RIGHT_COPIES / PARTS) + n);
        let to = comptime!(stage * RIGHT + i * (UNITS / 32) * BOX) + feed.right_to;
        let mut target = rights.slice_mut(to as usize, (to + EIGHT) as usize);
        let k = begin + feed.y + comptime!(i * UNITS / 32);
        if comptime!(partly) {
            let present = select(k < inner, comptime!(EIGHT), 0u32);
            let from = min(k, inner - 1) * right_pitch + feed.x;
            let source = right.slice(from as usize, (from + present) as usize);
            copy_async_checked(&source, &mut target, EIGHT);
        } else {
            let from = k * right_pitch + feed.x;
            let source = right.slice(from as usize, (from + EIGHT) as usize);
            copy_async(&source, &mut target, EIGHT);
        }
    }
}
