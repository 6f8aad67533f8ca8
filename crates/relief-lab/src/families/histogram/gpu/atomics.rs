//! Counters that units share by atomic additions: in memory, or of a cube.
#![allow(unsafe_code)]

use cubecl::prelude::*;
use relief_kernels::device::{Operand, cubes, on_client, start};

use super::super::Histogram;
use crate::family::{Failure, OnGpu, Outcome};

/// Whose counters a unit adds to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// Those of the result, in memory.
    Memory,
    /// Those of its cube, added to the result in the end.
    Cube,
}

/// What is compiled into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
    place: Place,
    bits: u32,
    width: u32,
}

impl Shape {
    /// Samples of a vector.
    const fn samples(&self) -> u32 {
        self.width * 32 / self.bits
    }

    /// Counters in shared memory.
    const fn counters(&self) -> u32 {
        match self.place {
            Place::Memory => 1,
            Place::Cube => 1 << self.bits,
        }
    }
}

const UNITS: u32 = 256;
/// Cubes that step over the input together.
const CUBES: u32 = 1_056;

pub(super) fn count(problem: &Histogram, call: &OnGpu<'_>, place: Place, width: u32) -> Outcome {
    problem.readable()?;
    let unsupported = |reason: String| Err(Failure::Unsupported(reason));
    let Ok(len) = u32::try_from(problem.len) else {
        return unsupported(format!("{} samples: counters have 32 bits", problem.len));
    };
    let shape = Shape {
        place,
        bits: problem.bits(),
        width,
    };
    let shared = call.gpu.report().shared_memory;
    if shape.counters() * 4 > shared {
        return unsupported(format!("{} counters in {shared} bytes", shape.counters()));
    }
    let vectors = len.div_ceil(shape.samples());
    let grid = cubes(call.gpu, CUBES.min(vectors.div_ceil(UNITS)));
    call.gpu.launch(
        "histogram ladder",
        &shape,
        &[Operand::write("the output", &call.outputs[0])],
        || {
            on_client!(call.gpu, client => {
                let (from, out) = (&call.inputs[0], &call.outputs[0]);
                let counts = 2_u32 << shape.bits;
                // SAFETY: the result has two words for each value, which the first kernel compares its places with; vectors are compared with
                // how many hold `len` samples.
                start!(
                    client, (CubeCount::Static(counts.div_ceil(UNITS), 1, 1), CubeDim::new_1d(UNITS)),
                    unsafe clear(out.array(1), counts));
                start!(client, (grid.clone(), CubeDim::new_1d(UNITS)), unsafe add_up(
                    shape.width as usize, from.array(shape.width as usize), out.array(1), len, shape));
            })
        },
    )?;
    Ok(())
}

#[cube(launch_unchecked)]
fn clear(out: &mut Array<u32>, words: u32) {
    if (ABSOLUTE_POS as u32) < words {
        out[ABSOLUTE_POS] = 0u32;
    }
}

#[cube(launch_unchecked)]
fn add_up<N: Size>(
    from: &Array<Vector<u32, N>>,
    out: &mut Array<Atomic<u32>>,
    len: u32,
    #[comptime] shape: Shape,
) {
    let samples = comptime!(shape.samples());
    let counters = SharedMemory::<Atomic<u32>>::new(comptime!(shape.counters() as usize));
    // rung: histogram on gpu: shared atomics | shared atomics quad
    if comptime!(shape.place != Place::Memory) {
        let mut place = UNIT_POS;
        while place < comptime!(shape.counters()) {
            counters[place as usize].store(0u32);
            place += UNITS;
        }
        sync_cube();
    }
    // end
    // The same for all units of a cube, so that planes stay whole.
    let mut first = CUBE_POS as u32 * UNITS;
    let vectors = (len + comptime!(shape.samples() - 1)) / samples;
    while first < vectors {
        let place = first + UNIT_POS;
        if (first + UNITS) <= len / samples {
            count_vector::<N>(from[place as usize], samples, &counters, out, true, shape);
        } else if place < vectors {
            let left = len - place * samples;
            count_vector::<N>(from[place as usize], left, &counters, out, false, shape);
        }
        first += CUBE_COUNT as u32 * UNITS;
    }

    if comptime!(shape.place != Place::Memory) {
        sync_cube();
        let mut value = UNIT_POS;
        while value < comptime!(shape.counters()) {
            out[(value * 2u32) as usize].fetch_add(counters[value as usize].load());
            value += UNITS;
        }
    }
}

/// Counts the first `left` samples of a vector; all of them where it is `whole`, as are those of the other units.
#[cube]
fn count_vector<N: Size>(
    vector: Vector<u32, N>,
    left: u32,
    counters: &SharedMemory<Atomic<u32>>,
    out: &mut Array<Atomic<u32>>,
    #[comptime] whole: bool,
    #[comptime] shape: Shape,
) {
    let bits = comptime!(shape.bits);
    #[unroll]
    for e in 0..comptime!(shape.samples()) {
        let word = vector[comptime!((e * bits / 32) as usize)];
        let sample = (word >> comptime!(e * bits % 32)) & comptime!((1u32 << bits) - 1);
        if comptime!(whole) {
            add(sample, counters, out, shape);
        } else {
            if e < left {
                add(sample, counters, out, shape);
            }
        }
    }
}

#[cube]
fn add(
    sample: u32,
    counters: &SharedMemory<Atomic<u32>>,
    out: &mut Array<Atomic<u32>>,
    #[comptime] shape: Shape,
) {
    if comptime!(shape.place == Place::Memory) {
        // rung: histogram on gpu: global atomics
        out[(sample * 2u32) as usize].fetch_add(1u32);
        // end
    } else {
        counters[sample as usize].fetch_add(1u32);
    }
}
