//! Products of numbers of 16 bits by the matrix instructions of a device, into floats of 32 bits.
//!
//! A cube (block) of 8 planes (warps) computes 256 × 128 sums, each plane 64 × 64 in registers: 32 products
//! of 16 × 8 × 16 for each 16 of k. Slices of 64 of k go straight from memory to shared memory, three on the
//! way while one is multiplied: the device copies boxes of a matrix by itself (the tensor memory accelerator
//! of Hopper), one unit (thread) asks for them and the others have nothing to do with it. Rows of 64 numbers
//! are permuted, vector v of row r at v xor r mod 8, so that the eight rows of a matrix of 8 × 8 that the
//! instruction loads lie in different banks, and so do neighbours of a row that is stored. Boxes come
//! permuted so.
//!
//! What the instructions of one step take is loaded to registers while those of the step before run, across
//! slices too. Planes wait for a slice behind products, not before them, and not for each other: each says
//! when it has taken the last of a slice, and who asks for the next one in that place waits for all to have
//! said so.
//!
//! The bound is the instruction itself: from registers alone it reaches little more. cuBLAS is faster by
//! instructions that take whole groups of planes (`wgmma`), which the runtime does not offer.
//!
//! The instructions add the products of 16 k at once, in an order and with roundings that their maker does
//! not state: here results have an error, not an order. Devices of other makers, and Vulkan, offer no such
//! instructions through the runtime: there it is said that they lack them.

use cubecl::prelude::barrier::Barrier;
use cubecl::prelude::*;

use super::Shape;

/// Rows and columns of a cube's tile, and numbers of k of a slice.
pub(super) const ROWS: u32 = 256;
pub(super) const COLUMNS: u32 = 128;
pub(super) const SLICE: u32 = 64;

/// Slices in shared memory.
const STAGES: u32 = 4;

/// Planes of a cube below each other; each has 64 × 64 sums.
const HIGH_PLANES: u32 = ROWS / 64;

/// Units of a cube: 4 × 2 planes.
pub(super) const UNITS: u32 = 32 * HIGH_PLANES * COLUMNS / 64;

/// Numbers of a slice of each operand, and of a vector of 16 bytes.
const LEFT: u32 = ROWS * SLICE;
const RIGHT: u32 = SLICE * COLUMNS;
const EIGHT: u32 = 8;

/// Bytes of shared memory of a cube, and a little for barriers and gaps.
pub(super) const SHARED: usize = (STAGES * (LEFT + RIGHT) * 2 + 2_048) as usize;

/// Columns of a box: slices of the right operand lie as boxes next to each other, with rows as long as those of the left one.
pub(super) const BOX: u32 = 64;

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

/// C = A·B, whose pitch is in pairs. One unit asks for a slice; numbers outside of the operands are 0.
#[cube(launch_unchecked, address_type = "dynamic")]
pub(super) fn multiply_halves<E: Float, N: Size>(
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
    let mut slices = Slices::<E> {
        left: SharedMemory::new_aligned(comptime!((STAGES * LEFT) as usize), 1024usize),
        right: SharedMemory::new_aligned(comptime!((STAGES * RIGHT) as usize), 1024usize),
    };
    let mut barriers = Sequence::<Shared<Barrier>>::new();
    let mut left_behind = Sequence::<Shared<Barrier>>::new();
    #[unroll]
    for _ in 0..STAGES {
        barriers.push(Barrier::shared(1u32, UNIT_POS == 0));
        left_behind.push(Barrier::shared(comptime!(UNITS / 32), UNIT_POS == 0));
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
    let mut held = Held::<E, NA, NB>::new();

    if UNIT_POS == 0 {
        #[unroll]
        for stage in 0..comptime!(STAGES - 1) {
            let begin = comptime!(stage * SLICE).runtime();
            if begin < inner {
                let barrier = barriers.index(comptime!(stage as usize));
                slices.ask_for_boxes(left, right, barrier, top, start, begin, stage);
            }
        }
    }

    let (lane, plane) = (UNIT_POS_PLANE, UNIT_POS / 32);
    // A lane's first vector; vectors that are a multiple of two further are at places that differ by their number in the bits of a row.
    let vector = (lane / 16) ^ (lane % 8);
    let at = (
        ((plane % HIGH_PLANES) * 64 + lane % 16) * SLICE + vector * EIGHT,
        ((plane / HIGH_PLANES) * SLICE + lane % 16) * BOX + vector * EIGHT,
    );
    if inner > 0 {
        barriers.index(0usize).wait_parity(0u32);
        held.take(definition, &slices, at, 0u32, 0u32);
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
                    if comptime!(step + 1 < STEPS) {
                        held.take(definition, &slices, at, stage, comptime!(step + 1));
                    }
                    let set = comptime!(step % 2);
                    #[unroll]
                    for i in 0..HIGH {
                        // rung: matmul on gpu: matrix instructions
                        #[unroll]
                        for j in 0..WIDE {
                            definition.execute_inplace::<NA, NB, NC>(
                                held.left.index(comptime!((set * HIGH + i) as usize)),
                                held.right.index(comptime!((set * WIDE + j) as usize)),
                                sums.index_mut(comptime!((i * WIDE + j) as usize)),
                            );
                        }
                        // end
                        // What waits does so behind products.
                        if comptime!(step == 0 && i == 0) {
                            let ahead = comptime!((stage + STAGES - 1) % STAGES);
                            let next = here + comptime!((STAGES - 1) * SLICE);
                            if UNIT_POS == 0 {
                                if next < inner {
                                    // All planes have taken the last of the slice before, in whose place another one comes: long ago, but for those
                                    // far behind. At the first slice nothing was in that place.
                                    let parity = (phase + comptime!(u32::from(stage == 0))) % 2;
                                    left_behind.index(comptime!(ahead as usize)).wait_parity(parity);
                                    let barrier = barriers.index(comptime!(ahead as usize));
                                    slices.ask_for_boxes(left, right, barrier, top, start, next, ahead);
                                }
                            }
                        }
                        if comptime!(step + 1 == STEPS && i == 0) {
                            if here + SLICE < inner {
                                let after = comptime!((stage + 1) % STAGES);
                                let parity = (phase + comptime!((stage + 1) / STAGES)) % 2;
                                barriers.index(comptime!(after as usize)).wait_parity(parity);
                                held.take(definition, &slices, at, after, 0u32);
                            }
                        }
                        if comptime!(step + 1 == STEPS && i + 1 == HIGH) {
                            // What this plane takes of the slice is in registers, since the last products with it have begun.
                            if lane == 0 {
                                left_behind.index(comptime!(stage as usize)).arrive();
                            }
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

/// Slices of both operands in shared memory.
#[derive(CubeType)]
struct Slices<E: Float> {
    left: SharedMemory<E>,
    right: SharedMemory<E>,
}

#[cube]
impl<E: Float> Slices<E> {
    /// Asks for the boxes of a slice, by one unit: 256 × 64 numbers of the left operand, twice 64 × 64 of the right one.
    #[allow(clippy::too_many_arguments)]
    fn ask_for_boxes(
        &mut self,
        left: &TensorMap<E, Tiled>,
        right: &TensorMap<E, Tiled>,
        barrier: &Shared<Barrier>,
        top: u32,
        start: u32,
        begin: u32,
        #[comptime] stage: u32,
    ) {
        barrier.arrive_and_expect_tx(1u32, comptime!((LEFT + RIGHT) * 2).runtime());
        let mut target = self.left.slice_mut(
            comptime!((stage * LEFT) as usize),
            comptime!(((stage + 1) * LEFT) as usize),
        );
        barrier.tma_load_2d(left, &mut target, top as i32, begin as i32);
        #[unroll]
        for part in 0..comptime!(COLUMNS / BOX) {
            let from = comptime!(stage * RIGHT + part * SLICE * BOX);
            let mut target = self
                .right
                .slice_mut(comptime!(from as usize), comptime!((from + SLICE * BOX) as usize));
            barrier.tma_load_2d(
                right,
                &mut target,
                begin as i32,
                (start + comptime!(part * BOX)) as i32,
            );
        }
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
            let x = start / 2 + (plane / HIGH_PLANES) * 32 + comptime!(4 * j) + lane % 4;
            #[unroll]
            for e in 0..2u32 {
                let y = top + (plane % HIGH_PLANES) * 64 + comptime!(16 * i + 8 * e) + lane / 4;
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

/// What the instructions of two steps take, in registers.
#[derive(CubeType)]
struct Held<E: Float, NA: Size, NB: Size> {
    left: Sequence<Array<Vector<E, NA>>>,
    right: Sequence<Array<Vector<E, NB>>>,
}

#[cube]
impl<E: Float, NA: Size, NB: Size> Held<E, NA, NB> {
    fn new() -> Self {
        let mut left = Sequence::<Array<Vector<E, NA>>>::new();
        let mut right = Sequence::<Array<Vector<E, NB>>>::new();
        #[unroll]
        for _ in 0..comptime!(2 * HIGH) {
            left.push(Array::<Vector<E, NA>>::new(4usize));
        }
        #[unroll]
        for _ in 0..comptime!(2 * WIDE) {
            right.push(Array::<Vector<E, NB>>::new(2usize));
        }
        Held::<E, NA, NB> { left, right }
    }

    /// Loads what those of a step of 16 k take, of a slice that is there, into the step's set of registers. A lane's first numbers of a
    /// slice lie `at` these places.
    fn take(
        &mut self,
        definition: cmma::MmaDefinition<E, E, f32>,
        slices: &Slices<E>,
        at: (u32, u32),
        #[comptime] stage: u32,
        #[comptime] step: u32,
    ) {
        let set = comptime!(step % 2);
        #[unroll]
        for pair in 0..comptime!(WIDE / 2) {
            let first = (at.1 ^ comptime!(2 * pair * EIGHT)) as usize;
            let from = first + comptime!((stage * RIGHT + step * 16 * BOX) as usize);
            let place = slices.right.slice(from, from + comptime!(EIGHT as usize));
            let four = definition.load_matrix::<E, NB>(&place, cmma::MatrixIdent::B, 4usize, true);
            #[unroll]
            for k in 0..2u32 {
                let two = self
                    .right
                    .index_mut(comptime!((set * WIDE + 2 * pair + k) as usize));
                two[0usize] = four[comptime!((2 * k) as usize)];
                two[1usize] = four[comptime!((2 * k + 1) as usize)];
            }
        }
        let first = (at.0 ^ comptime!(2 * step * EIGHT)) as usize;
        #[unroll]
        for i in 0..HIGH {
            let from = first + comptime!((stage * LEFT + i * 16 * SLICE) as usize);
            let place = slices.left.slice(from, from + comptime!(EIGHT as usize));
            definition.load_matrix_inplace::<E, NA>(
                &place,
                self.left.index_mut(comptime!((set * HIGH + i) as usize)),
                cmma::MatrixIdent::A,
                4usize,
                false,
            );
        }
    }
}
