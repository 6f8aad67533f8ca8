//! The variants on devices.
#![allow(unsafe_code)]

use cubecl::prelude::*;
use relief_kernels::device::{Operand, cubes, launch};
use relief_numeric::element::Element;
use relief_numeric::reduce::Operation;
use relief_numeric::reduce::gpu::{self as production, Rows};

use super::Reduce;
use crate::array::Layout;
use crate::family::{Failure, OnGpu, Outcome, Variant, lanes};

/// Units of a cube of the ladder.
const UNITS: u32 = 256;

/// Cubes that step over all numbers.
const CUBES: u32 = 2_112;

/// A step of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Step {
    Divergent,
    Strided,
    Sequential,
    FirstAdd,
    LastPlane,
    Many,
    Vectors,
}

pub(super) fn variants(like: Reduce) -> Vec<Variant<Reduce>> {
    let mut variants = Vec::new();
    let one_sum = like.operation == Operation::Sum && like.element == Element::F32 && like.height == 1;
    if one_sum {
        let of = |name, idea, step| {
            Variant::gpu(name, idea, move |p: &Reduce, call| sum(p, call, step)).scratch(scratch)
        };
        variants.extend([
            of(
                "interleaved, divergent",
                "neighbours first; units that take part are scattered",
                Step::Divergent,
            ),
            of(
                "interleaved, strided",
                "neighbours first; the first units take part, and banks collide",
                Step::Strided,
            ),
            of(
                "sequential",
                "the second half is added to the first",
                Step::Sequential,
            ),
            of(
                "first add on load",
                "a unit loads two numbers and adds them",
                Step::FirstAdd,
            ),
            of(
                "last plane unrolled",
                "no loop and no barrier once a plane is left",
                Step::LastPlane,
            ),
            of("many per unit", "cubes step over all numbers", Step::Many),
            of(
                "vectors",
                "four numbers at a load; lanes exchange registers",
                Step::Vectors,
            ),
        ]);
    }
    variants.push(
        Variant::gpu(
            "blocks",
            "blocks in a fixed order, a cube for each; planes for short rows",
            in_blocks,
        )
        .tuned(production::NAME, production::SPACE, production::DEFAULT)
        .scratch(results)
        .production(),
    );
    variants
}

/// Memory for the results of blocks.
fn results(problem: &Reduce) -> Vec<Layout> {
    let (width, height) = (problem.width as u64, problem.height as u32);
    let words = production::scratch_words(problem.element, width, height);
    vec![Layout::of::<u32>(words)]
}

fn in_blocks(p: &Reduce, call: &OnGpu<'_>) -> Outcome {
    let rows = Rows {
        buffer: &call.inputs[0],
        element: p.element,
        width: p.width as u64,
        height: p.height as u32,
        pitch: (p.pitch() as u64 * u64::from(p.element.bits())) / 32,
    };
    let (to, scratch) = (&call.outputs[0], &call.scratch[0]);
    production::reduce_with(call.gpu, call.tuning, p.operation, rows, to, scratch)?;
    Ok(())
}

/// Results of the levels, in turn in two buffers.
fn scratch(problem: &Reduce) -> Vec<Layout> {
    let first = problem.width.div_ceil(UNITS as usize);
    vec![
        Layout::of::<f32>(first),
        Layout::of::<f32>(first.div_ceil(UNITS as usize).max(CUBES as usize)),
    ]
}

/// Sums all numbers, by a launch for each level.
fn sum(problem: &Reduce, call: &OnGpu<'_>, step: Step) -> Outcome {
    if problem.width >= 1 << 31 {
        return Err(Failure::Unsupported("more than 2^31 numbers".to_owned()));
    }
    let lanes = match step {
        Step::Divergent | Step::Strided | Step::Sequential | Step::FirstAdd => 1,
        _ => lanes(call.gpu, 2..)?,
    };
    let (mut from, mut count) = (call.inputs[0].clone(), problem.width as u32);
    let mut turn = 0;
    loop {
        let each = match step {
            Step::Divergent | Step::Strided | Step::Sequential => UNITS,
            Step::FirstAdd | Step::LastPlane => 2 * UNITS,
            _ => 8 * UNITS,
        };
        let mut wanted = count.div_ceil(each).max(1);
        if step >= Step::Many {
            wanted = wanted.min(CUBES);
        }
        let last = wanted == 1;
        let to = if last {
            &call.outputs[0]
        } else {
            &call.scratch[turn]
        };
        let (name, shape, grid) = ("reduce ladder", Shape { step, lanes }, cubes(call.gpu, wanted));
        let (grid, output) = ((grid, CubeDim::new_1d(UNITS)), [Operand::write("the output", to)]);
        // SAFETY: numbers are compared with their count, which the source holds; each of so many cubes writes one result, which the
        // target holds.
        match step {
            Step::Vectors => launch!(call.gpu, name, &shape, &output, grid, unsafe sum_vectors(
                4, from.array(4), to.array(1), count, wanted, lanes))?,
            _ => launch!(call.gpu, name, &shape, &output, grid, unsafe sum_level(
                from.array(1), to.array(1), count, wanted, shape))?,
        }
        if last {
            return Ok(());
        }
        (from, count, turn) = (to.clone(), wanted, 1 - turn);
    }
}

/// What is compiled into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
    step: Step,
    lanes: u32,
}

/// One level of the tree: cube k sums its numbers to result k.
#[cube(launch_unchecked)]
fn sum_level(from: &Array<f32>, to: &mut Array<f32>, count: u32, cubes: u32, #[comptime] shape: Shape) {
    let unit = UNIT_POS;
    let cube = CUBE_POS as u32;
    let step = comptime!(shape.step);
    let mut sum = f32::new(0.0);
    if comptime!(step < Step::FirstAdd) {
        let at = cube * UNITS + unit;
        if at < count {
            sum = from[at as usize];
        }
    } else if comptime!(step < Step::Many) {
        let at = cube * comptime!(2 * UNITS) + unit;
        if at < count {
            sum = from[at as usize];
        }
        if at + UNITS < count {
            sum += from[(at + UNITS) as usize];
        }
    } else {
        let mut at = cube * UNITS + unit;
        while at < count {
            sum += from[at as usize];
            at += cubes * UNITS;
        }
    }
    sum = sum_shared(sum, shape);
    if unit == 0 {
        if cube < cubes {
            to[cube as usize] = sum;
        }
    }
}

/// The sum of a cube by way of shared memory, to its first unit.
#[cube]
fn sum_shared(value: f32, #[comptime] shape: Shape) -> f32 {
    let unit = UNIT_POS;
    let step = comptime!(shape.step);
    let mut shared = SharedMemory::<f32>::new(comptime!(UNITS as usize));
    shared[unit as usize] = value;
    sync_cube();
    if comptime!(step == Step::Divergent) {
        // rung: reduce on gpu: interleaved, divergent
        let mut stride = u32::new(1);
        while stride < UNITS {
            let place = unit % (2 * stride);
            if place == 0 {
                shared[unit as usize] = shared[unit as usize] + shared[(unit + stride) as usize];
            }
            sync_cube();
            stride *= 2u32;
        }
        // end
    } else if comptime!(step == Step::Strided) {
        // rung: reduce on gpu: interleaved, strided
        let mut stride = u32::new(1);
        while stride < UNITS {
            let at = 2 * stride * unit;
            if at < UNITS {
                shared[at as usize] = shared[at as usize] + shared[(at + stride) as usize];
            }
            sync_cube();
            stride *= 2u32;
        }
        // end
    } else if comptime!(step < Step::LastPlane) {
        // rung: reduce on gpu: sequential
        let mut half = u32::new(comptime!(i64::from(UNITS / 2)));
        while half > 0 {
            if unit < half {
                shared[unit as usize] = shared[unit as usize] + shared[(unit + half) as usize];
            }
            sync_cube();
            half /= 2u32;
        }
        // end
    } else {
        // rung: reduce on gpu: last plane unrolled
        let mut half = u32::new(comptime!(i64::from(UNITS / 2)));
        while half >= comptime!(shape.lanes) {
            if unit < half {
                shared[unit as usize] = shared[unit as usize] + shared[(unit + half) as usize];
            }
            sync_cube();
            half /= 2u32;
        }
        // end
        if unit < comptime!(shape.lanes) {
            let sum = plane_sum(shared[unit as usize]);
            if unit == 0 {
                shared[0usize] = sum;
            }
        }
    }
    shared[0usize]
}

// rung: reduce on gpu: first add on load | many per unit = the lines of `sequential`, and a loop before them in which a unit adds up two numbers, or all that it steps over

/// The sum of a cube by exchanges within planes, to its first unit.
#[cube]
fn sum_planes(value: f32, #[comptime] lanes: u32) -> f32 {
    let planes = comptime!(UNITS / lanes);
    let mut shared = SharedMemory::<f32>::new(comptime!(planes as usize));
    let sum = plane_sum(value);
    let lane = UNIT_POS % lanes;
    if lane == 0 {
        shared[(UNIT_POS / lanes) as usize] = sum;
    }
    sync_cube();
    let mut all = f32::new(0.0);
    if UNIT_POS == 0 {
        for k in 0..planes {
            all += shared[k as usize];
        }
    }
    all
}

/// What a unit gets when cubes step over all numbers by vectors.
#[cube]
fn sum_own<N: Size>(from: &Array<Vector<f32, N>>, count: u32, cubes: u32) -> f32 {
    let mut sums = Vector::<f32, N>::new(0.0);
    let whole = count / 4;
    let mut at = CUBE_POS as u32 * UNITS + UNIT_POS;
    // rung: reduce on gpu: vectors
    while at < whole {
        sums += from[at as usize];
        at += cubes * UNITS;
    }
    let mut sum = (sums[0usize] + sums[1usize]) + (sums[2usize] + sums[3usize]);
    // end
    // The last vector is the next unit's.
    if at == whole {
        // Where there is none, any vector does: nothing of it counts.
        let rest = from[min(whole, (max(count, 1u32) - 1) / 4) as usize];
        #[unroll]
        for k in 0..3u32 {
            if k < count % 4 {
                sum += rest[comptime!(k as usize)];
            }
        }
    }
    sum
}

#[cube(launch_unchecked)]
fn sum_vectors<N: Size>(
    from: &Array<Vector<f32, N>>,
    to: &mut Array<f32>,
    count: u32,
    cubes: u32,
    #[comptime] lanes: u32,
) {
    let cube = CUBE_POS as u32;
    // Cubes past the last step over nothing.
    let counted = select(cube < cubes, count, 0u32);
    let sum = sum_planes(sum_own::<N>(from, counted, cubes), lanes);
    if UNIT_POS == 0 {
        if cube < cubes {
            to[cube as usize] = sum;
        }
    }
}
