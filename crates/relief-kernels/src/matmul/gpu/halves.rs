//! Products of numbers of 16 bits by the matrix instructions of a device, into floats of 32 bits.
//!
//! A cube of 8 planes computes 128 × 256 sums, each plane 64 × 64 in registers: 32 products of 16 × 8 × 16 for each 16 of k. Slices of
//! 64 of k go straight from memory to shared memory, without registers (`cp.async`), three on the way while one is multiplied.
//! Rows of a slice are permuted, vector v of row r at v xor r mod 8, so that the eight rows of a matrix of 8 × 8 that the
//! instruction loads lie in different banks, and so do neighbours of a row that is stored.
//!
//! Not measured on a device so far: its text compiles for compute capability 9.0 to 128 matrix products and 32 loads of shared memory for each
//! slice and plane, with 170 registers and no spills. What bounds it there are these instructions themselves, which reach about six tenths
//! of the rate of those that take whole groups of planes, which the runtime does not offer.
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

/// Bytes of shared memory of a cube, and a little for barriers.
pub(super) const SHARED: usize = (STAGES * (LEFT + RIGHT) * 2 + 256) as usize;

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
) {
    let high = (rows + comptime!(ROWS - 1)) / ROWS;
    let wide = (columns + comptime!(COLUMNS - 1)) / COLUMNS;
    let cube = CUBE_POS as u32;
    let band = cube / (BAND * wide);
    let within = cube - band * (BAND * wide);
    // A last band may have fewer rows; cubes that are too many compute tiles below the result, and write nothing.
    let tall = max(min(high - min(band * BAND, high), comptime!(BAND)), 1u32);
    let top = (band * BAND + within % tall) * ROWS;
    let start = (within / tall) * COLUMNS;

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

    #[unroll]
    for stage in 0..comptime!(STAGES - 1) {
        if comptime!(stage * SLICE) < inner {
            load::<E>(
                left,
                right,
                &mut lefts,
                &mut rights,
                barriers.index(comptime!(stage as usize)),
                top,
                start,
                comptime!(stage * SLICE).runtime(),
                stage,
                rows,
                inner,
                columns,
                left_pitch,
                right_pitch,
            );
        }
    }

    let lane = UNIT_POS_PLANE;
    let plane = UNIT_POS / 32;
    // Where a lane finds the row of eight numbers that it names to the instructions: in a slice of each operand.
    let row = (plane % 2) * 64 + lane % 16;
    let column = (plane / 2) * 8;
    let turn = lane % 8;
    let half = lane / 16;

    let mut begin = u32::new(0);
    let mut phase = u32::new(0);
    while begin < inner {
        #[unroll]
        for stage in 0..STAGES {
            let here = begin + comptime!(stage * SLICE);
            if here < inner {
                barriers.index(comptime!(stage as usize)).wait_parity(phase);
                // All have multiplied the slice before, whose place the next one takes.
                sync_cube();
                let ahead = comptime!((stage + STAGES - 1) % STAGES);
                let next = here + comptime!((STAGES - 1) * SLICE);
                if next < inner {
                    load::<E>(
                        left,
                        right,
                        &mut lefts,
                        &mut rights,
                        barriers.index(comptime!(ahead as usize)),
                        top,
                        start,
                        next,
                        ahead,
                        rows,
                        inner,
                        columns,
                        left_pitch,
                        right_pitch,
                    );
                }
                #[unroll]
                for step in 0..comptime!(SLICE / 16) {
                    let mut others = Sequence::<Array<Vector<E, NB>>>::new();
                    #[unroll]
                    for pair in 0..comptime!(WIDE / 2) {
                        let vector = column + ((comptime!(2 * pair) + half) ^ turn);
                        let at = comptime!(stage * RIGHT + step * 16 * COLUMNS)
                            + (lane % 16) * COLUMNS
                            + vector * EIGHT;
                        let place = rights.slice(at as usize, (at + EIGHT) as usize);
                        let four =
                            definition.load_matrix::<E, NB>(&place, cmma::MatrixIdent::B, 4usize, true);
                        #[unroll]
                        for k in 0..2usize {
                            let mut two = Array::<Vector<E, NB>>::new(2usize);
                            two[0usize] = four[comptime!(2 * k)];
                            two[1usize] = four[comptime!(2 * k + 1)];
                            others.push(two);
                        }
                    }
                    #[unroll]
                    for i in 0..HIGH {
                        let vector = (comptime!(2 * step) + half) ^ turn;
                        let at = comptime!(stage * LEFT + i * 16 * SLICE) + row * SLICE + vector * EIGHT;
                        let place = lefts.slice(at as usize, (at + EIGHT) as usize);
                        let numbers =
                            definition.load_matrix::<E, NA>(&place, cmma::MatrixIdent::A, 4usize, false);
                        #[unroll]
                        for j in 0..WIDE {
                            definition.execute_inplace::<NA, NB, NC>(
                                &numbers,
                                others.index(comptime!(j as usize)),
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

/// Asks for a slice of both operands. Rows and vectors outside stand for the last ones inside; numbers behind the last k are 0.
#[cube]
#[allow(clippy::too_many_arguments)]
fn load<E: Float>(
    left: &Array<E>,
    right: &Array<E>,
    lefts: &mut SharedMemory<E>,
    rights: &mut SharedMemory<E>,
    barrier: &Shared<Barrier>,
    top: u32,
    start: u32,
    begin: u32,
    #[comptime] stage: u32,
    rows: u32,
    inner: u32,
    columns: u32,
    left_pitch: u32,
    right_pitch: u32,
) {
    if begin + SLICE <= inner {
        copies::<E>(
            left,
            right,
            lefts,
            rights,
            top,
            start,
            begin,
            stage,
            rows,
            inner,
            columns,
            left_pitch,
            right_pitch,
            false,
        );
    } else {
        copies::<E>(
            left,
            right,
            lefts,
            rights,
            top,
            start,
            begin,
            stage,
            rows,
            inner,
            columns,
            left_pitch,
            right_pitch,
            true,
        );
    }
    barrier.commit_copy_async();
    barrier.arrive();
}

#[cube]
#[allow(clippy::too_many_arguments)]
fn copies<E: Float>(
    left: &Array<E>,
    right: &Array<E>,
    lefts: &mut SharedMemory<E>,
    rights: &mut SharedMemory<E>,
    top: u32,
    start: u32,
    begin: u32,
    #[comptime] stage: u32,
    rows: u32,
    inner: u32,
    columns: u32,
    left_pitch: u32,
    right_pitch: u32,
    #[comptime] partly: bool,
) {
    #[unroll]
    for i in 0..comptime!(LEFT / EIGHT / UNITS) {
        let place = UNIT_POS + comptime!(i * UNITS);
        let (y, vector) = (place / 8, place % 8);
        let k = begin + vector * EIGHT;
        let to = comptime!(stage * LEFT) + y * SLICE + (vector ^ (y % 8)) * EIGHT;
        let mut target = lefts.slice_mut(to as usize, (to + EIGHT) as usize);
        let row = min(top + y, rows - 1) * left_pitch;
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
    }
    let last = (columns + comptime!(EIGHT - 1)) / EIGHT - 1;
    #[unroll]
    for i in 0..comptime!(RIGHT / EIGHT / UNITS) {
        let place = UNIT_POS + comptime!(i * UNITS);
        let (y, vector) = (place / 32, place % 32);
        let k = begin + y;
        let to = comptime!(stage * RIGHT) + y * COLUMNS + (vector ^ (y % 8)) * EIGHT;
        let mut target = rights.slice_mut(to as usize, (to + EIGHT) as usize);
        let x = min(start / 8 + vector, last) * EIGHT;
        if comptime!(partly) {
            let present = select(k < inner, comptime!(EIGHT), 0u32);
            let from = min(k, inner - 1) * right_pitch + x;
            let source = right.slice(from as usize, (from + present) as usize);
            copy_async_checked(&source, &mut target, EIGHT);
        } else {
            let from = k * right_pitch + x;
            let source = right.slice(from as usize, (from + EIGHT) as usize);
            copy_async(&source, &mut target, EIGHT);
        }
    }
}
