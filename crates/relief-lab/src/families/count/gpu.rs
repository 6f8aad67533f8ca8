//! The variants on devices.
#![allow(unsafe_code)]

use cubecl::prelude::*;
use relief_kernels::device::{Operand, cubes, on_client, start};

use super::Count;
use crate::family::{OnGpu, Outcome, Variant, lanes};

pub(super) fn variants() -> Vec<Variant<Count>> {
    let of = |name, idea, walk, width| {
        Variant::gpu(name, idea, move |p: &Count, call| counted(p, call, walk, width))
    };
    let blocks = "a vector for each unit, a count for each cube";
    let sequences = "512 planes, a contiguous sequence for each";
    vec![
        of("blocks scalar", blocks, Walk::Blocks, 1).source("771.0 µs"),
        of("blocks quad", blocks, Walk::Blocks, 4).source("448.2 µs"),
        of("sequences quad", sequences, Walk::Sequences(512), 4).source("445.4 µs"),
        of(
            "sequences 8192 quad",
            "8 192 planes, a contiguous sequence for each",
            Walk::Sequences(8_192),
            4,
        ),
    ]
}

/// Which vectors a unit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Walk {
    Blocks,
    Sequences(u32),
}

/// What is compiled into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
    walk: Walk,
    width: u32,
    units: u32,
    lanes: u32,
}

fn counted(problem: &Count, call: &OnGpu<'_>, walk: Walk, width: u32) -> Outcome {
    let shape = Shape {
        walk,
        width,
        units: if walk == Walk::Blocks { 512 } else { 256 },
        lanes: lanes(call.gpu, ..)?,
    };
    let words = problem.words as u32;
    let wanted = match walk {
        Walk::Blocks => words.div_ceil(shape.units * width),
        Walk::Sequences(planes) => planes.div_ceil(shape.units / shape.lanes),
    };
    let grid = cubes(call.gpu, wanted);
    call.gpu.launch(
        "count ladder",
        &shape,
        &[Operand::write("the output", &call.outputs[0])],
        || {
            on_client!(call.gpu, client => {
                let (from, out) = (&call.inputs[0], &call.outputs[0]);
                let width = shape.width as usize;
                // SAFETY: the result has a word; vectors are compared with how many hold `words` words.
                start!(client, (CubeCount::Static(1, 1, 1), CubeDim::new_1d(1)), unsafe clear(out.array(1)));
                start!(client, (grid.clone(), CubeDim::new_1d(shape.units)), unsafe count_words(
                    width, from.array(width), out.array(1), words, shape));
            })
        },
    )?;
    Ok(())
}

#[cube(launch_unchecked)]
fn clear(out: &mut Array<u32>) {
    out[0] = 0u32;
}

#[cube(launch_unchecked)]
fn count_words<N: Size>(
    from: &Array<Vector<u32, N>>,
    out: &mut Array<Atomic<u32>>,
    words: u32,
    #[comptime] shape: Shape,
) {
    let width = comptime!(shape.width);
    let unit = CUBE_POS as u32 * comptime!(shape.units) + UNIT_POS;
    let vectors = (words + comptime!(shape.width - 1)) / width;
    let mut own = u32::new(0);
    match shape.walk {
        Walk::Blocks => {
            // rung: count on gpu: blocks scalar | blocks quad
            if unit < vectors {
                own = count_vector::<N>(from[unit as usize], words - unit * width, width);
            }
            // end
        }
        Walk::Sequences(planes) => {
            let lanes = comptime!(shape.lanes);
            // Whole chunks as wide as a plane, as many for each plane as it takes; planes past the last find none.
            let chunks = (vectors + comptime!(shape.lanes - 1)) / lanes;
            let each = (chunks + comptime!(planes - 1)) / comptime!(planes) * lanes;
            let plane = unit / lanes;
            // rung: count on gpu: sequences quad | sequences 8192 quad
            let mut place = plane * each + unit % lanes;
            let end = min(plane * each + each, vectors);
            if plane >= comptime!(planes) {
                place = end;
            }
            while place < end {
                own += count_vector::<N>(from[place as usize], words - place * width, width);
                place += lanes;
            }
            // end
        }
    }
    let mut sums = SharedMemory::<u32>::new(comptime!((shape.units / shape.lanes) as usize));
    let sum = plane_sum(own);
    if UNIT_POS % comptime!(shape.lanes) == 0 {
        sums[(UNIT_POS / comptime!(shape.lanes)) as usize] = sum;
    }
    sync_cube();
    if UNIT_POS == 0 {
        let mut total = u32::new(0);
        for k in 0..comptime!(shape.units / shape.lanes) {
            total += sums[k as usize];
        }
        out[0].fetch_add(total);
    }
}

/// How many of the first `left` words of a vector are not zero.
#[cube]
fn count_vector<N: Size>(vector: Vector<u32, N>, left: u32, #[comptime] width: u32) -> u32 {
    let mut count = u32::new(0);
    #[unroll]
    for k in 0..width {
        if vector[k as usize] != 0 {
            if k < left {
                count += 1u32;
            }
        }
    }
    count
}
