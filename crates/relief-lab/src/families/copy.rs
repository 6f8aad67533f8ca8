//! Copy: out(i) = in(i), in words of 32 bits.
//!
//! Least work: every word is read once and written once; nothing is computed. So the ladder shows what it takes to
//! keep memory busy, and its best variant is the ceiling of the other families.
//!
//! From the source's search, 2^24 words on a GTX 690 (loops × words of a load):
//! - `none`: one vector for each unit, as many units as vectors.
//! - `grid-stride`: 2 048 cubes; a unit steps over all units' vectors.
//! - `sequences`: 480 planes; each owns one contiguous sequence (Billeter, Olsson and Assarsson). `sequences 8192` has
//!   enough planes for a large device.
//! - `plane-stride`: a plane copies four runs as wide as itself, then steps over those of all planes.
//! - `several`: a unit loads several vectors before it stores the first; production, with its layout tuned.
//!
//! On the CPU:
//! - `scalar`: a word at a time, which a compiler would not do.
//! - `memcpy`: what a loop becomes, the platform's copy.
//! - `non-temporal`: stores that leave the caches alone.
//! - `threads …`: the same on all threads, in parts.

use rayon::prelude::*;
use relief_kernels::copy::cpu;

use super::part;
use crate::array::{Array, Fill, Layout};
use crate::family::{Family, Ladder, OnCpu, Outcome, Problem, Variant, Work};

pub(super) fn family() -> Family {
    Family {
        name: "copy",
        about: "words from one place to another: what memory allows",
        source: "GTX 690, 2^24 u32, best block and grid sizes",
        source_size: "2^24 u32",
        wins: "A vector of 16 bytes a thread, without a loop, keeps enough bytes in flight for the latency \
               of memory and comes to the device's own copy. On processors non-temporal stores save reading \
               the lines that are overwritten.",
        loses: "One word a thread has a quarter of the bytes in flight, and waits. Few long sequences (480 \
                warps with one each, the slowest on the source's GPU as well) starve a large device: it \
                needs more loads in flight than so few warps can have.",
        ladders: vec![Box::new(ladder())],
    }
}

// rung: copy on cpu: memcpy = `copy_from_slice`

// rung: copy on cpu: threads non-temporal | threads production = the lines of `threads memcpy` around those of `non-temporal`

/// A copy of so many words.
struct Copy {
    words: usize,
}

impl Problem for Copy {
    fn label(&self) -> String {
        format!("{} u32", crate::quantity::count(self.words as u64))
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        vec![Array::filled(Layout::of::<u32>(self.words), fill, 1)]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::of::<u32>(self.words)]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        let from = inputs[0].slice::<u32>();
        for (i, to) in outputs[0].slice_mut::<u32>().iter_mut().enumerate() {
            *to = from[i];
        }
    }

    fn work(&self) -> Work {
        Work::bytes(4 * self.elements(), 4 * self.elements())
    }
}

fn ladder() -> Ladder<Copy> {
    let variants = vec![
        Variant::cpu("scalar", "a word at a time, not to be vectorised", scalar),
        Variant::cpu(
            "memcpy",
            "the platform's copy, which a plain loop becomes",
            |_, call| whole(call, |from, to| to.copy_from_slice(from)),
        ),
        Variant::cpu(
            "non-temporal",
            "stores that bypass the caches: the target is not read first",
            |_, call| whole(call, cpu::stream),
        ),
        Variant::cpu(
            "threads memcpy",
            "the platform's copy, a part for each thread",
            |_, call| parts(call, |from, to| to.copy_from_slice(from)),
        ),
        Variant::cpu(
            "threads non-temporal",
            "non-temporal stores, a part for each thread",
            |_, call| parts(call, cpu::stream),
        ),
        Variant::cpu(
            "threads production",
            "whichever suits the size, a part for each thread",
            |problem: &Copy, call| {
                let whole = problem.words * size_of::<u32>();
                parts(call, |from, to| cpu::copy_part(from, to, whole))
            },
        )
        .production(),
    ];
    let variants = on_both!(variants, gpu::variants());
    let about = "out(i) = in(i), words of 32 bits";
    Ladder::new("copy", about, variants).of_lengths((1 << 30) + 77, |words| Copy { words })
}

/// The whole copy by one thread.
fn whole(call: OnCpu<'_>, copy: impl Fn(&[u8], &mut [u8])) -> Outcome {
    copy(call.inputs[0].bytes(), call.outputs[0].bytes_mut());
    Ok(())
}

/// The copy in parts, dealt to the threads.
fn parts(call: OnCpu<'_>, copy: impl Fn(&[u8], &mut [u8]) + Sync) -> Outcome {
    // rung: copy on cpu: threads memcpy
    let part = part(call.inputs[0].bytes().len());
    let from = call.inputs[0].bytes().par_chunks(part);
    let to = call.outputs[0].bytes_mut().par_chunks_mut(part);
    from.zip(to).for_each(|(from, to)| copy(from, to));
    // end
    Ok(())
}

#[allow(unsafe_code)]
fn scalar(_: &Copy, call: OnCpu<'_>) -> Outcome {
    let to = call.outputs[0].slice_mut::<u32>();
    // rung: copy on cpu: scalar
    for (from, to) in call.inputs[0].slice::<u32>().iter().zip(to) {
        // SAFETY: both are references; a volatile access is only one that the compiler keeps as it is.
        unsafe { std::ptr::from_mut(to).write_volatile(std::ptr::from_ref(from).read_volatile()) };
    }
    // end
    Ok(())
}

#[cfg(feature = "gpu")]
mod gpu {
    #![allow(unsafe_code)]

    use cubecl::prelude::*;
    use relief_kernels::copy::gpu as production;
    use relief_kernels::device::{Operand, cubes, launch};

    use super::Copy;
    use crate::family::{OnGpu, Outcome, Variant};

    // rung: copy on gpu: sequences quad | sequences 8192 quad = production's kernel of software Vulkan, `copy_sequences`, with as many planes as the name says, or 480

    pub(super) fn variants() -> Vec<Variant<Copy>> {
        let copy = |name, idea, walk, vector, source| {
            Variant::gpu(name, idea, move |p: &Copy, call| walked(p, call, walk, vector)).source(source)
        };
        let none = "a vector for each unit";
        let grid = "2 048 cubes step over all units' vectors";
        let sequences = |name, idea, planes| {
            Variant::gpu(name, idea, move |p: &Copy, call| {
                let (from, to) = (&call.inputs[0], &call.outputs[0]);
                production::copy_sequences(call.gpu, planes, 4, from, to, p.words)?;
                Ok(())
            })
        };
        let planes = "a plane copies four runs of its width, then steps over all planes'";
        vec![
            copy("none scalar", none, Walk::Once, 1, "870.9 µs, 154.1 GB/s"),
            copy("none pair", none, Walk::Once, 2, "857.9 µs, 156.5 GB/s"),
            copy("none quad", none, Walk::Once, 4, "862.3 µs, 155.7 GB/s"),
            copy("grid-stride scalar", grid, Walk::Grid, 1, "861.8 µs, 155.7 GB/s"),
            copy("grid-stride quad", grid, Walk::Grid, 4, "862.4 µs, 155.6 GB/s"),
            sequences(
                "sequences quad",
                "480 planes, a contiguous sequence for each",
                480,
            )
            .source("1023.8 µs, 131.1 GB/s"),
            copy(
                "plane-stride scalar",
                planes,
                Walk::Planes,
                1,
                "863.7 µs, 155.4 GB/s",
            ),
            copy(
                "plane-stride quad",
                planes,
                Walk::Planes,
                4,
                "831.7 µs, 161.4 GB/s",
            ),
            sequences(
                "sequences 8192 quad",
                "8 192 planes, a contiguous sequence for each",
                8_192,
            ),
            Variant::gpu(
                "several quads",
                "a unit loads several vectors before it stores one",
                |p: &Copy, call| {
                    let (from, to) = (&call.inputs[0], &call.outputs[0]);
                    Ok(production::copy_with(call.gpu, call.tuning, from, to, p.words)?)
                },
            )
            .tuned("copy", production::SPACE, production::DEFAULT)
            .untuned_on_software(),
            Variant::gpu(
                "production",
                "several quads; on software, sequences of quads",
                |p: &Copy, call| {
                    let (from, to) = (&call.inputs[0], &call.outputs[0]);
                    Ok(production::copy(call.gpu, from, to, p.words)?)
                },
            )
            .production(),
        ]
    }

    /// In which order units take vectors.
    #[derive(Clone, core::marker::Copy, Debug, PartialEq, Eq, Hash)]
    enum Walk {
        Once,
        Grid,
        Planes,
    }

    const UNITS: u32 = 256;
    const CUBES: u32 = 2_048;
    /// Runs as wide as a plane that it copies at a time.
    const RUNS: u32 = 4;

    fn walked(problem: &Copy, call: &OnGpu<'_>, walk: Walk, vector: u32) -> Outcome {
        let count = problem.words.next_multiple_of(4) as u32 / vector;
        if count == 0 {
            return Ok(());
        }
        let wanted = match walk {
            Walk::Once => count.div_ceil(UNITS),
            Walk::Grid => CUBES.min(count.div_ceil(UNITS)),
            Walk::Planes => CUBES.min(count.div_ceil(UNITS * RUNS)),
        };
        let grid = cubes(call.gpu, wanted);
        let shape = Shape {
            walk,
            lanes: call.gpu.report().plane.1.clamp(1, UNITS),
            cubes: wanted,
        };
        let (from, to) = (&call.inputs[0], &call.outputs[0]);
        let width = vector as usize;
        // SAFETY: places are compared with `count`, and both buffers hold as many vectors.
        launch!(
            call.gpu, "copy ladder", &(shape, vector), &[Operand::write("the output", &call.outputs[0])],
            (grid, CubeDim::new_1d(UNITS)),
            unsafe copy_walked(width, from.array(width), to.array(width), count, shape))?;
        Ok(())
    }

    /// What is compiled into the kernel.
    #[derive(Clone, core::marker::Copy, Debug, PartialEq, Eq, Hash)]
    struct Shape {
        walk: Walk,
        lanes: u32,
        cubes: u32,
    }

    #[cube(launch_unchecked)]
    fn copy_walked<N: Size>(
        from: &Array<Vector<u32, N>>,
        to: &mut Array<Vector<u32, N>>,
        count: u32,
        #[comptime] shape: Shape,
    ) {
        let unit = CUBE_POS as u32 * comptime!(UNITS) + UNIT_POS;
        let plane = unit / comptime!(shape.lanes);
        let lane = unit % comptime!(shape.lanes);
        let planes = comptime!(shape.cubes * (UNITS / shape.lanes));
        match shape.walk {
            Walk::Once => {
                // rung: copy on gpu: none scalar | none pair | none quad
                if unit < count {
                    to[unit as usize] = from[unit as usize];
                }
                // end
            }
            Walk::Grid => {
                // rung: copy on gpu: grid-stride scalar | grid-stride quad
                let mut place = unit;
                while place < count {
                    to[place as usize] = from[place as usize];
                    place += comptime!(shape.cubes * UNITS);
                }
                // end
            }
            Walk::Planes => {
                // rung: copy on gpu: plane-stride scalar | plane-stride quad
                let mut run = plane * comptime!(shape.lanes * RUNS);
                while run < count {
                    #[unroll]
                    for k in 0..RUNS {
                        let place = run + comptime!(k * shape.lanes) + lane;
                        if place < count {
                            to[place as usize] = from[place as usize];
                        }
                    }
                    run += comptime!(planes * shape.lanes * RUNS);
                }
                // end
            }
        }
    }
}
