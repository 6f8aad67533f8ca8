//! Products of numbers of 16 bits by cooperative matrices, as CubeCL and CUDA (`wmma`) offer them: a plane holds matrices of 16 × 16, and
//! only the compiler knows which lane has which number.
//!
//! A cube of four planes computes 64 × 64 sums, each plane 32 × 32. Slices of 32 of k go through registers to shared memory, in rows that
//! are 16 bytes longer than they need to be, so that the eight rows that are loaded together lie in different banks.
#![allow(unsafe_code)]

use cubecl::ir::features::MmaConfig;
use cubecl::ir::{ElemType, FloatKind};
use cubecl::prelude::*;
use relief_kernels::device::{Gpu, Operand, cubes, launch, on_client};
use relief_numeric::matmul::{bf16, f16};

use super::halves::{Half, Halves};
use crate::family::{Failure, OnGpu, Outcome};

/// The side of a cube's tile, numbers of k of a slice, units of a cube.
const SIDE: u32 = 64;
const SLICE: u32 = 32;
const UNITS: u32 = 128;

/// Numbers from one row of a slice to the next.
const LEFT_PITCH: u32 = SLICE + 8;
const RIGHT_PITCH: u32 = SIDE + 8;

pub(super) fn run(p: &Halves, call: &OnGpu<'_>) -> Outcome {
    if !offered(call.gpu, p.half) {
        let reason = "the device has no cooperative matrices of 16 × 16 × 16";
        return Err(Failure::Unsupported(reason.to_owned()));
    }
    let [rows, inner, columns] = [p.shape.rows, p.shape.inner, p.shape.columns].map(|side| side as u32);
    if rows.max(inner).max(columns) >= 1 << 15 {
        return Err(Failure::Unsupported("more than 2^15 numbers a side".to_owned()));
    }
    if rows == 0 || columns == 0 {
        return Ok(());
    }
    match p.half {
        Half::F16 => multiplied::<f16>(p, call, [rows, inner, columns]),
        Half::Bf16 => multiplied::<bf16>(p, call, [rows, inner, columns]),
    }
}

fn multiplied<E: Float>(p: &Halves, call: &OnGpu<'_>, [rows, inner, columns]: [u32; 3]) -> Outcome {
    let (left, right, result) = (&call.inputs[0], &call.inputs[1], &call.outputs[0]);
    let pitches = p.pitches().map(|pitch| pitch as u32);
    let count = rows.div_ceil(SIDE) * columns.div_ceil(SIDE);
    // SAFETY: what is read is compared with the rows and numbers of the operands, what is written with those of the result, and the
    // buffers hold as many.
    launch!(
        call.gpu, "cooperative matrices", &p.half, &[Operand::write("the output", result)],
        (cubes(call.gpu, count), CubeDim::new_1d(UNITS)),
        unsafe multiply<E, _>(
            ArrayArg::from_raw_parts(left.handle(), 2 * left.words()),
            ArrayArg::from_raw_parts(right.handle(), 2 * right.words()), result.array(1), rows, inner, columns,
            pitches[0], pitches[1]))?;
    Ok(())
}

fn offered(gpu: &Gpu, half: Half) -> bool {
    let kind = match half {
        Half::F16 => FloatKind::F16,
        Half::Bf16 => FloatKind::BF16,
    };
    let product = MmaConfig {
        a_type: ElemType::Float(kind).into(),
        b_type: ElemType::Float(kind).into(),
        cd_type: ElemType::Float(FloatKind::F32).into(),
        m: 16,
        n: 16,
        k: 16,
    };
    gpu.report().plane == (32, 32)
        && on_client!(gpu, client => client.features().matmul.cmma.contains(&product))
}

#[cube(launch_unchecked)]
fn multiply<E: Float>(
    left: &Array<E>,
    right: &Array<E>,
    result: &mut Array<f32>,
    rows: u32,
    inner: u32,
    columns: u32,
    left_pitch: u32,
    right_pitch: u32,
) {
    let across = (columns + comptime!(SIDE - 1)) / SIDE;
    let (top, start) = (
        (CUBE_POS as u32 / across) * SIDE,
        (CUBE_POS as u32 % across) * SIDE,
    );
    let mut lefts = SharedMemory::<E>::new_aligned(comptime!((SIDE * LEFT_PITCH) as usize), 128usize);
    let mut rights = SharedMemory::<E>::new_aligned(comptime!((SLICE * RIGHT_PITCH) as usize), 128usize);
    let mut tile = SharedMemory::<f32>::new_aligned(comptime!((SIDE * SIDE) as usize), 128usize);
    // The rows and columns of this plane in the cube's tile.
    let plane = UNIT_POS / 32;
    let (y, x) = ((plane / 2) * 32, (plane % 2) * 32);

    let mut sums = Sequence::<cmma::Matrix<f32>>::new();
    #[unroll]
    for _ in 0..4u32 {
        sums.push(cmma::Matrix::<f32>::from_value(
            cmma::MatrixIdent::Accumulator,
            16usize,
            16usize,
            16usize,
            cmma::MatrixLayout::Undefined,
            0.0f32,
        ));
    }
    let mut begin = u32::new(0);
    while begin < inner {
        #[unroll]
        for i in 0..comptime!(SIDE * SLICE / UNITS) {
            let place = UNIT_POS + comptime!(i * UNITS);
            let (row, k) = (place / SLICE, place % SLICE);
            let mut number = E::cast_from(0.0f32);
            if top + row < rows {
                if begin + k < inner {
                    number = left[((top + row) * left_pitch + begin + k) as usize];
                }
            }
            lefts[(row * LEFT_PITCH + k) as usize] = number;
            let (k, column) = (place / SIDE, place % SIDE);
            let mut other = E::cast_from(0.0f32);
            if begin + k < inner {
                if start + column < columns {
                    other = right[((begin + k) * right_pitch + start + column) as usize];
                }
            }
            rights[(k * RIGHT_PITCH + column) as usize] = other;
        }
        sync_cube();
        #[unroll]
        for step in 0..comptime!(SLICE / 16) {
            let mut others = Sequence::<cmma::Matrix<E>>::new();
            #[unroll]
            for j in 0..2u32 {
                let at = comptime!(16 * step * RIGHT_PITCH + 16 * j) + x;
                others.push(cmma::Matrix::<E>::from_slice(
                    cmma::MatrixIdent::B,
                    16usize,
                    16usize,
                    16usize,
                    cmma::MatrixLayout::RowMajor,
                    &rights.slice(at as usize, (at + comptime!(15 * RIGHT_PITCH + 16)) as usize),
                    RIGHT_PITCH,
                ));
            }
            #[unroll]
            for i in 0..2u32 {
                let at = (y + comptime!(16 * i)) * LEFT_PITCH + comptime!(16 * step);
                let numbers = cmma::Matrix::<E>::from_slice(
                    cmma::MatrixIdent::A,
                    16usize,
                    16usize,
                    16usize,
                    cmma::MatrixLayout::RowMajor,
                    &lefts.slice(at as usize, (at + comptime!(15 * LEFT_PITCH + 16)) as usize),
                    LEFT_PITCH,
                );
                // rung: matmul on gpu: cooperative matrices
                #[unroll]
                for j in 0..2u32 {
                    let sum = sums.index(comptime!((2 * i + j) as usize));
                    cmma::execute::<E, E, f32, f32>(&numbers, others.index(comptime!(j as usize)), sum, sum);
                }
                // end
            }
        }
        sync_cube();
        begin += SLICE;
    }
    #[unroll]
    for i in 0..2u32 {
        #[unroll]
        for j in 0..2u32 {
            let at = (y + comptime!(16 * i)) * SIDE + x + comptime!(16 * j);
            cmma::store(
                &mut tile.slice_mut(at as usize, (at + comptime!(15 * SIDE + 16)) as usize),
                sums.index(comptime!((2 * i + j) as usize)),
                SIDE,
                cmma::MatrixLayout::RowMajor,
            );
        }
    }
    sync_cube();
    #[unroll]
    for i in 0..comptime!(SIDE * SIDE / UNITS) {
        let place = UNIT_POS + comptime!(i * UNITS);
        let (row, column) = (top + place / SIDE, start + place % SIDE);
        if row < rows {
            if column < columns {
                result[(row * columns + column) as usize] = tile[place as usize];
            }
        }
    }
}
