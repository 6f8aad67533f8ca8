//! The variants on devices: cubes of several sizes.
#![allow(unsafe_code)]

use cubecl::prelude::*;
use relief_kernels::device::{Operand, cubes, launch};

use super::{Kernel, Limits, Resident, STEPS};
use crate::family::{Failure, OnGpu, Outcome, Variant};

/// Vectors that a unit takes, one after another.
const ITEMS: u32 = 16;

pub(super) fn variants() -> Vec<Variant<Resident>> {
    [32, 128, 1_024]
        .map(|units| {
            Variant::gpu(
                format!("cubes of {units}"),
                "as many cubes as the warps asked for make, by the shared memory that they take",
                move |p: &Resident, call| run(p, call, units),
            )
        })
        .into()
}

/// What is compiled into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
    kernel: Kernel,
    units: u32,
    /// Words of shared memory that nobody needs.
    held: u32,
}

fn run(problem: &Resident, call: &OnGpu<'_>, units: u32) -> Outcome {
    let limits = Limits::of_driver(&call.gpu.report().driver);
    let shared = match problem.warps {
        None => 0,
        Some(warps) => limits.shared_for(warps, units).ok_or_else(|| {
            Failure::Unsupported("cubes of so many units do not come to so many warps".to_owned())
        })?,
    };
    // Beyond what every kernel may take, where the runtime asks for it.
    let most = call.gpu.most_shared_memory();
    if shared > most {
        return Err(Failure::Unsupported(format!(
            "a cube would take more shared memory than the {most} bytes that the device gives it"
        )));
    }
    if problem.words == 0 {
        return Ok(());
    }
    let vector = match problem.kernel {
        Kernel::Quads => 4,
        Kernel::Arithmetic | Kernel::Words => 1,
    };
    let count = problem.words.div_ceil(vector) as u32;
    let items = items(problem.kernel);
    let shape = Shape {
        kernel: problem.kernel,
        units,
        held: shared / 4,
    };
    let from = &call.inputs[0];
    let to = &call.outputs[0];
    let grid = cubes(call.gpu, count.div_ceil(units * items));
    // SAFETY: places are compared with the number of vectors, which both buffers hold; a unit has a word of the shared memory if there is
    // any.
    launch!(
        call.gpu, "occupancy", &shape, &[Operand::write("the output", to)],
        (grid, CubeDim::new_1d(shape.units)),
        unsafe occupy(
            vector, from.array(vector), to.array(vector), count, 0, 1.0, shape))?;
    Ok(())
}

/// `zero` is 0 and `one` is 1, which the compiler does not know.
#[cube(launch_unchecked)]
fn occupy<N: Size>(
    from: &Array<Vector<f32, N>>,
    to: &mut Array<Vector<f32, N>>,
    count: u32,
    zero: u32,
    one: f32,
    #[comptime] shape: Shape,
) {
    let mut place = CUBE_POS as u32 * comptime!(shape.units * items(shape.kernel)) + UNIT_POS;
    // rung: occupancy on gpu: cubes of 32 | cubes of 128 | cubes of 1024
    if comptime!(shape.held > 0) {
        // Written, and read where it might matter, or it would not be taken.
        let mut held = SharedMemory::<f32>::new(comptime!(shape.held.max(shape.units) as usize));
        held[UNIT_POS as usize] = one;
        if zero == 1u32 {
            sync_cube();
            to[0] = Vector::new(held[comptime!(shape.units as usize) - 1 - UNIT_POS as usize]);
        }
    }
    // end
    if comptime!(shape.kernel == Kernel::Arithmetic) {
        if place < count {
            let mut sum = from[place as usize][0usize];
            let mut step = 0u32;
            while step < STEPS {
                #[unroll]
                for _ in 0..16u32 {
                    sum = fma(sum, one, one);
                }
                step += 16u32;
            }
            to[place as usize] = Vector::new(sum);
        }
    } else {
        let mut item = 0u32;
        while item < ITEMS {
            if place < count {
                let vector = from[place as usize];
                to[place as usize] = vector;
                // The next place is known when this word is there.
                place += u32::reinterpret(vector[0usize]) & zero;
            }
            place += comptime!(shape.units);
            item += 1u32;
        }
    }
}

/// Vectors of a unit.
const fn items(kernel: Kernel) -> u32 {
    match kernel {
        Kernel::Arithmetic => 1,
        Kernel::Words | Kernel::Quads => ITEMS,
    }
}
