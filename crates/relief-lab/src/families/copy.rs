//! Copy: out(i) = in(i), in words of 32 bits.
//!
//! Least work: every word is read once and written once; nothing is computed. So the ladder shows what it takes to
//! keep memory busy, and its best variant is the ceiling of the other families.
//!
//! The source's search, 2^24 words on a GTX 690 (loops × words of a load):
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
//! - `vectors`: loads and stores of 64 or 32 bytes.
//! - `non-temporal`: stores that leave the caches alone.
//! - `threads …`: the same on all threads, in parts.

use rayon::prelude::*;
use relief_kernels::copy::cpu;

use super::part;
use crate::array::{Array, Fill, Layout};
use crate::family::{Family, Ladder, Lesson, OnCpu, Outcome, Problem, Variant, Work};

/// The family.
#[must_use]
pub fn family() -> Family {
    Family {
        name: "copy",
        about: "words from one place to another: what memory allows",
        source: "GTX 690, 2^24 u32, best block and grid sizes",
        source_size: "2^24 u32",
        lesson: Lesson {
            wins: "A vector of 16 bytes a thread, without a loop, keeps enough bytes in flight for the \
                    latency of memory and comes to the device's own copy. On processors non-temporal \
                    stores save reading the lines that are overwritten.",
            loses: "One word a thread has a quarter of the bytes in flight, and waits. Few long sequences \
                    (480 warps with one each, the winner on the source's GPU) starve a large device: it \
                    needs more loads in flight than so few warps can have.",
        },
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

    fn elements(&self) -> u64 {
        self.words as u64
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
            "vectors",
            "loads and stores as wide as the machine has them",
            |_, call| whole(call, vectors::copy),
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

/// Loads and stores as wide as the machine has them; the compiler would make `memcpy` of a loop.
mod vectors {
    #![allow(unsafe_code)]

    use relief_kernels::isa::{Isa, Level};

    pub(super) fn copy(from: &[u8], to: &mut [u8]) {
        match Isa::best().level() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: an `Isa` of this level exists only where the machine has its instructions.
            Level::Avx512 | Level::Avx512Vbmi => unsafe { x86::copy_avx512(from, to) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Level::Avx2 => unsafe { x86::copy_avx2(from, to) },
            Level::Portable => to.copy_from_slice(from),
        }
    }

    #[cfg(target_arch = "x86_64")]
    mod x86 {
        use std::arch::x86_64::*;

        #[target_feature(enable = "avx512f")]
        pub(super) fn copy_avx512(from: &[u8], to: &mut [u8]) {
            // rung: copy on cpu: vectors
            let (from, last) = from.as_chunks::<64>();
            let (to, rest) = to.as_chunks_mut::<64>();
            for (from, to) in from.iter().zip(to) {
                // SAFETY: both have 64 bytes.
                unsafe {
                    _mm512_storeu_si512(to.as_mut_ptr().cast(), _mm512_loadu_si512(from.as_ptr().cast()))
                };
            }
            rest.copy_from_slice(last);
            // end
        }

        #[target_feature(enable = "avx2")]
        pub(super) fn copy_avx2(from: &[u8], to: &mut [u8]) {
            let (from, last) = from.as_chunks::<32>();
            let (to, rest) = to.as_chunks_mut::<32>();
            for (from, to) in from.iter().zip(to) {
                // SAFETY: both have 32 bytes.
                unsafe {
                    _mm256_storeu_si256(to.as_mut_ptr().cast(), _mm256_loadu_si256(from.as_ptr().cast()))
                };
            }
            rest.copy_from_slice(last);
        }
    }
}

#[cfg(feature = "gpu")]
mod gpu {
    #![allow(unsafe_code)]

    use cubecl::prelude::*;
    use relief_kernels::copy::gpu as production;
    use relief_kernels::device::{Operand, cubes, launch};

    use super::Copy;
    use crate::family::{OnGpu, Outcome, Variant};

    // rung: copy on gpu: sequences scalar | sequences pair | sequences quad | sequences 8192 quad = production's kernel of software Vulkan, `copy_sequences`, with as many planes and words of a vector as the name says

    pub(super) fn variants() -> Vec<Variant<Copy>> {
        let copy = |name, idea, walk, vector, source| {
            Variant::gpu(name, idea, move |problem: &Copy, call: OnGpu<'_>| {
                walked(problem, &call, walk, vector)
            })
            .source(source)
        };
        let none = "a vector for each unit";
        let grid = "2 048 cubes step over all units' vectors";
        let sequences = |name, vector| {
            let idea = "480 planes, a contiguous sequence for each";
            Variant::gpu(name, idea, move |p: &Copy, call: OnGpu<'_>| {
                in_sequences(p, &call, 480, vector)
            })
        };
        let planes = "a plane copies four runs of its width, then steps over all planes'";
        vec![
            copy("none scalar", none, Walk::Once, 1, "870.9 µs, 154.1 GB/s"),
            copy("none pair", none, Walk::Once, 2, "857.9 µs, 156.5 GB/s"),
            copy("none quad", none, Walk::Once, 4, "862.3 µs, 155.7 GB/s"),
            copy("grid-stride scalar", grid, Walk::Grid, 1, "861.8 µs, 155.7 GB/s"),
            copy("grid-stride pair", grid, Walk::Grid, 2, "859.7 µs, 156.1 GB/s"),
            copy("grid-stride quad", grid, Walk::Grid, 4, "862.4 µs, 155.6 GB/s"),
            sequences("sequences scalar", 1).source("1125.3 µs, 119.3 GB/s"),
            sequences("sequences pair", 2).source("1005.6 µs, 133.5 GB/s"),
            sequences("sequences quad", 4).source("1023.8 µs, 131.1 GB/s"),
            copy(
                "plane-stride scalar",
                planes,
                Walk::Planes,
                1,
                "863.7 µs, 155.4 GB/s",
            ),
            copy(
                "plane-stride pair",
                planes,
                Walk::Planes,
                2,
                "820.9 µs, 163.5 GB/s",
            ),
            copy(
                "plane-stride quad",
                planes,
                Walk::Planes,
                4,
                "831.7 µs, 161.4 GB/s",
            ),
            Variant::gpu(
                "sequences 8192 quad",
                "8 192 planes, a contiguous sequence for each",
                |p, call| in_sequences(p, &call, 8_192, 4),
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

    fn in_sequences(problem: &Copy, call: &OnGpu<'_>, planes: u32, vector: u32) -> Outcome {
        let (from, to, words) = (&call.inputs[0], &call.outputs[0], problem.words);
        Ok(production::copy_sequences(
            call.gpu, planes, vector, from, to, words,
        )?)
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
        let units = UNITS;
        let lanes = call.gpu.report().plane.1.clamp(1, units);
        let wanted = match walk {
            Walk::Once => count.div_ceil(units),
            Walk::Grid => CUBES.min(count.div_ceil(units)),
            Walk::Planes => CUBES.min(count.div_ceil(units * RUNS)),
        };
        let grid = cubes(call.gpu, wanted);
        let shape = Shape {
            walk,
            units,
            lanes,
            cubes: wanted,
        };
        let (from, to) = (&call.inputs[0], &call.outputs[0]);
        let width = vector as usize;
        // SAFETY: places are compared with `count`, and both buffers hold as many vectors.
        launch!(
            call.gpu, "copy ladder", &(shape, vector), &[Operand::write("the output", &call.outputs[0])],
            (grid, CubeDim::new_1d(shape.units)),
            unsafe copy_walked(width, from.array(width), to.array(width), count, shape))?;
        Ok(())
    }

    /// What is compiled into the kernel.
    #[derive(Clone, core::marker::Copy, Debug, PartialEq, Eq, Hash)]
    struct Shape {
        walk: Walk,
        units: u32,
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
        let unit = CUBE_POS as u32 * comptime!(shape.units) + UNIT_POS;
        let plane = unit / comptime!(shape.lanes);
        let lane = unit % comptime!(shape.lanes);
        let planes = comptime!(shape.cubes * (shape.units / shape.lanes));
        match shape.walk {
            Walk::Once => {
                // rung: copy on gpu: none scalar | none pair | none quad
                if unit < count {
                    to[unit as usize] = from[unit as usize];
                }
                // end
            }
            Walk::Grid => {
                // rung: copy on gpu: grid-stride scalar | grid-stride pair | grid-stride quad
                let mut place = unit;
                while place < count {
                    to[place as usize] = from[place as usize];
                    place += comptime!(shape.cubes * shape.units);
                }
                // end
            }
            Walk::Planes => {
                // rung: copy on gpu: plane-stride scalar | plane-stride pair | plane-stride quad
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
