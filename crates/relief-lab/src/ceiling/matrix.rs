//! How many products the matrix instructions of a device take from registers and add to registers: nothing is loaded and
//! nothing waits for memory, so a product of matrices cannot be faster by the same instructions.
//!
//! A plane has 4 × 4 independent sums of 16 × 8 for four left and four right matrices: 16 instructions before one waits for its own
//! last result, and several planes to each scheduler. Numbers differ by unit and sign, because devices that draw much power
//! lower their clocks, and products of zeros draw little.

use cubecl::prelude::*;
use relief_kernels::device::{Buffer, Gpu, Operand, cubes, on_client, start};
use relief_numeric::matmul::gpu::{Half, has_matrix_instructions};
use relief_numeric::matmul::{bf16, f16};

use crate::ceiling::best;
use crate::clock::steadily;
use crate::family::{Operation, Outcome};
use crate::sampling::Sampling;

/// Planes of 32 units of a cube.
const PLANES: u32 = 8;

/// Left and right matrices of a plane.
const SIDE: u32 = 4;

/// Multiply-adds of an instruction.
const PRODUCTS: u32 = 16 * 8 * 16;

const ROUNDS: u32 = 1_024;

const CUBES: u32 = 4_096;

/// Multiply-adds a second for each kind of number that the device multiplies so.
pub(super) fn rates(gpu: &Gpu, sampling: &Sampling, output: &Buffer) -> Outcome<Vec<(Operation, f64)>> {
    let mut rates = Vec::new();
    for (half, operation) in [
        (Half::F16, Operation::F16MultiplyAdd),
        (Half::Bf16, Operation::Bf16MultiplyAdd),
    ] {
        if !has_matrix_instructions(gpu, half) {
            continue;
        }
        let grid = cubes(gpu, CUBES);
        let call = |_| {
            gpu.launch(
                "matrix instructions",
                &half,
                &[Operand::write("the output", output)],
                || {
                    on_client!(gpu, client => match half {
                        Half::F16 => launch::<f16, _>(client, output, grid.clone()),
                        Half::Bf16 => launch::<bf16, _>(client, output, grid.clone()),
                    });
                },
            )?;
            Ok(())
        };
        call(0)?;
        let operations = f64::from(CUBES * PLANES) * f64::from(ROUNDS * SIDE * SIDE) * f64::from(PRODUCTS);
        let rate = best(1, sampling, call, |calls, call| steadily(gpu, calls, call));
        rates.extend(rate.map(|rate| (operation, rate * operations)));
    }
    Ok(rates)
}

fn launch<E: Float, R: Runtime>(client: &ComputeClient<R>, output: &Buffer, grid: CubeCount) {
    // SAFETY: one word is written; the loop ends.
    start!(client, (grid, CubeDim::new_1d(32 * PLANES)), unsafe multiply<E, _>(output.array(1), ROUNDS, 3));
}

#[cube(launch_unchecked)]
fn multiply<E: Float>(output: &mut Array<f32>, rounds: u32, operand: u32) {
    let definition = cmma::MmaDefinition::<E, E, f32>::new(16usize, 8usize, 16usize);
    let size!(NA) = definition.vector_size(cmma::MatrixIdent::A);
    let size!(NB) = definition.vector_size(cmma::MatrixIdent::B);
    let size!(NC) = definition.vector_size(cmma::MatrixIdent::Accumulator);
    let own = UNIT_POS + operand;
    let mut lefts = Sequence::<Array<Vector<E, NA>>>::new();
    let mut rights = Sequence::<Array<Vector<E, NB>>>::new();
    let mut sums = Sequence::<Array<Vector<f32, NC>>>::new();
    #[unroll]
    for i in 0..SIDE {
        let mut left = Array::<Vector<E, NA>>::new(4usize);
        #[unroll]
        for k in 0..4u32 {
            let number = f32::cast_from((own * comptime!(37 + 8 * i + 2 * k)) % 251u32) * 0.01f32 - 1.25f32;
            left[comptime!(k as usize)] = Vector::empty().fill(E::cast_from(number));
        }
        lefts.push(left);
        let mut right = Array::<Vector<E, NB>>::new(2usize);
        #[unroll]
        for k in 0..2u32 {
            let number = f32::cast_from((own * comptime!(41 + 8 * i + 2 * k)) % 241u32) * 0.01f32 - 1.2f32;
            right[comptime!(k as usize)] = Vector::empty().fill(E::cast_from(number));
        }
        rights.push(right);
    }
    #[unroll]
    for _ in 0..comptime!(SIDE * SIDE) {
        let mut sum = Array::<Vector<f32, NC>>::new(2usize);
        sum[0usize] = Vector::empty().fill(0.0f32);
        sum[1usize] = Vector::empty().fill(0.0f32);
        sums.push(sum);
    }
    let mut round = 0u32;
    while round < rounds {
        #[unroll]
        for i in 0..SIDE {
            #[unroll]
            for j in 0..SIDE {
                definition.execute_inplace::<NA, NB, NC>(
                    lefts.index(comptime!(i as usize)),
                    rights.index(comptime!(j as usize)),
                    sums.index_mut(comptime!((i * SIDE + j) as usize)),
                );
            }
        }
        round += 1u32;
    }
    let mut result = 0.0f32;
    #[unroll]
    for k in 0..comptime!(SIDE * SIDE) {
        let sum = sums.index(comptime!(k as usize));
        let (upper, lower) = (sum[0usize], sum[1usize]);
        result += upper[0usize] + upper[1usize] + lower[0usize] + lower[1usize];
    }
    // Depends on all sums; hardly ever but in the first unit does it hold.
    if ABSOLUTE_POS == 0 || result == 123_456.79f32 {
        output[0] = result;
    }
}
