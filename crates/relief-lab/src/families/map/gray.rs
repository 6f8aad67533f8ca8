//! Gray from colour: a byte from three.
//!
//! Two definitions, a ladder each:
//! - `map/gray`: (2126 r + 7152 g + 722 b + 5000) / 10000, in integers: Relief's.
//! - `map/gray-float`: 0.21 r + 0.71 g + 0.07 b in f32, rounded down, the source's. Whether products and sums are fused
//!   changes the last bit before it is rounded down, so a result may be off by one.
//!
//! Least work: three bytes read, one written, some products. On the CPU taking colours apart is the work; on a device
//! memory binds.
//!
//! - CPU: `plain`, a colour at a time; `threads`; `production`: byte permutes, 64 colours at a time.
//! - devices: `bytes`: a unit loads every byte of four colours by itself; `words`: three words make one; `vectors`: three
//!   vectors make one, 16 colours; production is `vectors`, as often for each unit as tuned.

use rayon::prelude::*;
use relief_numeric::map::cpu;

use super::super::part;
use crate::array::{Array, Fill, Layout};
use crate::family::{Class, LENGTHS, Ladder, OnCpu, Outcome, Problem, Scale, Tolerance, Variant, Work};

/// Which definition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Weights {
    Integer,
    Float,
}

pub(super) struct Colours {
    weights: Weights,
    len: usize,
}

impl Problem for Colours {
    fn label(&self) -> String {
        format!("{} px", crate::quantity::count(self.len as u64))
    }

    fn elements(&self) -> u64 {
        self.len as u64
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        vec![Array::filled(Layout::of::<u8>(3 * self.len), fill, 1)]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::of::<u8>(self.len)]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        let rgb = inputs[0].slice::<u8>();
        for (i, gray) in outputs[0].slice_mut::<u8>().iter_mut().enumerate() {
            let [r, g, b] = [rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]].map(u32::from);
            *gray = match self.weights {
                Weights::Integer => ((2126 * r + 7152 * g + 722 * b + 5000) / 10_000) as u8,
                Weights::Float => (0.21 * r as f32 + 0.71 * g as f32 + 0.07 * b as f32) as u8,
            };
        }
    }

    fn work(&self) -> Work {
        Work::bytes(3 * self.elements(), self.elements())
    }

    fn tolerance(&self) -> Tolerance {
        match self.weights {
            Weights::Integer => Tolerance::Exact,
            Weights::Float => Tolerance::Absolute(1.0),
        }
    }
}

fn cases(weights: Weights, scale: Scale) -> Vec<Colours> {
    let mut sizes = scale.sizes();
    if scale.class == Class::Gpu && !scale.quick && scale.size.is_none() {
        sizes.insert(2, 8_192 * 8_192);
    }
    sizes
        .into_iter()
        .map(|n| Colours {
            weights,
            len: n as usize,
        })
        .collect()
}

fn checks(weights: Weights) -> Vec<Colours> {
    LENGTHS.map(|len| Colours { weights, len }).into()
}

pub(super) fn integer() -> Ladder<Colours> {
    #[allow(unused_mut)]
    let mut variants = vec![
        Variant::cpu("plain", "a colour at a time", |_: &Colours, call: OnCpu<'_>| {
            plain(call.inputs[0].slice(), call.outputs[0].slice_mut());
            Ok(())
        }),
        Variant::cpu(
            "one thread",
            "byte permutes where the processor has them",
            |_, call| {
                cpu::gray(call.inputs[0].slice(), call.outputs[0].slice_mut());
                Ok(())
            },
        ),
        Variant::cpu(
            "threads",
            "a colour at a time, a part for each thread",
            |_, call| parts(call, plain),
        ),
        Variant::cpu(
            "production",
            "byte permutes, a part for each thread",
            |_, call| parts(call, cpu::gray),
        )
        .production(),
    ];
    #[cfg(feature = "gpu")]
    variants.extend(gpu::integer());
    Ladder {
        name: "map/gray",
        about: "(2126 r + 7152 g + 722 b + 5000) / 10000, bytes",
        axis: None,
        checks: || checks(Weights::Integer),
        cases: |scale| cases(Weights::Integer, scale),
        huge: || {
            vec![Colours {
                weights: Weights::Integer,
                len: (1 << 31) + 77,
            }]
        },
        variants,
    }
}

pub(super) fn float() -> Ladder<Colours> {
    #[allow(unused_mut)]
    let mut variants = vec![
        Variant::cpu("plain", "a colour at a time", |_: &Colours, call: OnCpu<'_>| {
            plain_float(call.inputs[0].slice(), call.outputs[0].slice_mut());
            Ok(())
        }),
        Variant::cpu(
            "threads",
            "a colour at a time, a part for each thread",
            |_, call| parts(call, plain_float),
        ),
    ];
    #[cfg(feature = "gpu")]
    variants.extend(gpu::float());
    Ladder {
        name: "map/gray-float",
        about: "0.21 r + 0.71 g + 0.07 b in f32, rounded down to a byte; may be off by one",
        axis: None,
        checks: || checks(Weights::Float),
        cases: |scale| cases(Weights::Float, scale),
        huge: || {
            vec![Colours {
                weights: Weights::Float,
                len: (1 << 31) + 77,
            }]
        },
        variants,
    }
}

fn plain(rgb: &[u8], out: &mut [u8]) {
    // rung: map/gray on cpu: plain
    for (rgb, out) in rgb.as_chunks::<3>().0.iter().zip(out) {
        *out = relief_numeric::map::gray(rgb[0], rgb[1], rgb[2]);
    }
    // end
}

fn plain_float(rgb: &[u8], out: &mut [u8]) {
    // rung: map/gray-float on cpu: plain
    for (rgb, out) in rgb.as_chunks::<3>().0.iter().zip(out) {
        let [r, g, b] = rgb.map(f32::from);
        *out = (0.21 * r + 0.71 * g + 0.07 * b) as u8;
    }
    // end
}

fn parts(call: OnCpu<'_>, gray: impl Fn(&[u8], &mut [u8]) + Sync) -> Outcome {
    // rung: map on cpu: threads | production
    let part = part(call.outputs[0].slice::<u8>().len());
    let colours = call.inputs[0].slice::<u8>().par_chunks(3 * part);
    let grays = call.outputs[0].slice_mut::<u8>().par_chunks_mut(part);
    colours
        .zip(grays)
        .for_each(|(colours, grays)| gray(colours, grays));
    // end
    Ok(())
}

#[cfg(feature = "gpu")]
mod gpu {
    #![allow(unsafe_code)]

    use cubecl::prelude::*;
    use relief_kernels::device::{Operand, cubes, launch};
    use relief_numeric::map::gpu::{DEFAULT, GRAY_SPACE, gray_with};

    use super::{Colours, Weights};
    use crate::family::{OnGpu, Outcome, Variant};

    pub(super) fn integer() -> Vec<Variant<Colours>> {
        let mut variants = both();
        variants.push(
            Variant::gpu(
                "several vectors",
                "48 bytes make 16, as often for each unit as tuned",
                |problem: &Colours, call| {
                    let OnGpu {
                        gpu,
                        inputs,
                        outputs,
                        tuning,
                        ..
                    } = call;
                    Ok(gray_with(gpu, tuning, &inputs[0], &outputs[0], problem.len)?)
                },
            )
            .tuned("map gray", GRAY_SPACE, DEFAULT)
            .production(),
        );
        variants
    }

    pub(super) fn float() -> Vec<Variant<Colours>> {
        both()
    }

    fn both() -> Vec<Variant<Colours>> {
        vec![
            Variant::gpu("bytes", "every byte by a load of its own", |problem, call| {
                run(problem, &call, Loads::Bytes)
            }),
            Variant::gpu("words", "three words make one", |problem, call| {
                run(problem, &call, Loads::Words)
            }),
            Variant::gpu("vectors", "three vectors make one", |problem, call| {
                run(problem, &call, Loads::Vectors)
            }),
        ]
    }

    /// What a unit loads at once.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    enum Loads {
        Bytes,
        /// The same where 32 bits do not count all bytes.
        FarBytes,
        Words,
        Vectors,
    }

    const UNITS: u32 = 256;

    fn run(problem: &Colours, call: &OnGpu<'_>, loads: Loads) -> Outcome {
        let width = if loads == Loads::Vectors { 4 } else { 1 };
        let count = problem.len.div_ceil(16) as u32 * 4 / width;
        if count == 0 {
            return Ok(());
        }
        let loads = match loads {
            Loads::Bytes if 12 * u64::from(count) > 1 << 32 => Loads::FarBytes,
            loads => loads,
        };
        let grid = cubes(call.gpu, count.div_ceil(UNITS));
        let shape = (loads, problem.weights);
        let (loads, weights) = shape;
        let (rgb, out) = (&call.inputs[0], &call.outputs[0]);
        let width = width as usize;
        // The input holds whole vectors of its own length, which may be fewer than three for each of the output.
        let last = (rgb.words() / width) as u32 - 1;
        // SAFETY: places of the output are compared with `count`, those of the input clamped to its last vector.
        launch!(
            call.gpu, "gray ladder", &shape, &[Operand::write("the output", &call.outputs[0])],
            (grid, CubeDim::new_1d(UNITS)),
            unsafe gray_units(width, rgb.array(width), out.array(width), count, last, loads, weights))?;
        Ok(())
    }

    #[cube(launch_unchecked)]
    fn gray_units<N: Size>(
        rgb: &Array<Vector<u32, N>>,
        out: &mut Array<Vector<u32, N>>,
        count: u32,
        last: u32,
        #[comptime] loads: Loads,
        #[comptime] weights: Weights,
    ) {
        let place = ABSOLUTE_POS as u32;
        if place < count {
            let mut grays = Vector::<u32, N>::empty();
            let first = place * 3u32;
            if comptime!(matches!(loads, Loads::Bytes | Loads::FarBytes)) {
                let mut word = 0u32;
                #[unroll]
                for k in 0..4u32 {
                    let mut parts = Array::<u32>::new(3usize);
                    #[unroll]
                    for c in 0..3usize {
                        // rung: map on gpu: bytes
                        let ahead = comptime!(k * 3 + c as u32);
                        let byte = place * 12u32 + ahead;
                        let mut from = byte / 4u32;
                        let mut shift = byte % 4u32 * 8u32;
                        if comptime!(loads == Loads::FarBytes) {
                            from = first + comptime!(ahead / 4);
                            shift = comptime!(ahead % 4 * 8).runtime();
                        }
                        let held = rgb[min(from, last) as usize];
                        parts[c] = (held[0usize] >> shift) & 255u32;
                        // end
                    }
                    word |= gray(parts[0usize], parts[1usize], parts[2usize], weights) << comptime!(8 * k);
                }
                grays[0usize] = word;
            } else {
                let a = rgb[min(first, last) as usize];
                let b = rgb[min(first + 1u32, last) as usize];
                let c = rgb[min(first + 2u32, last) as usize];
                if comptime!(loads == Loads::Words) {
                    // rung: map on gpu: words
                    grays[0usize] = gray_word(a[0usize], b[0usize], c[0usize], weights);
                    // end
                } else {
                    // rung: map on gpu: vectors
                    grays[0usize] = gray_word(a[0usize], a[1usize], a[2usize], weights);
                    grays[1usize] = gray_word(a[3usize], b[0usize], b[1usize], weights);
                    grays[2usize] = gray_word(b[2usize], b[3usize], c[0usize], weights);
                    grays[3usize] = gray_word(c[1usize], c[2usize], c[3usize], weights);
                    // end
                }
            }
            out[place as usize] = grays;
        }
    }

    /// Four grays from the twelve bytes of three words.
    #[cube]
    fn gray_word(a: u32, b: u32, c: u32, #[comptime] weights: Weights) -> u32 {
        gray(a & 255u32, (a >> 8u32) & 255u32, (a >> 16u32) & 255u32, weights)
            | (gray(a >> 24u32, b & 255u32, (b >> 8u32) & 255u32, weights) << 8u32)
            | (gray((b >> 16u32) & 255u32, b >> 24u32, c & 255u32, weights) << 16u32)
            | (gray((c >> 8u32) & 255u32, (c >> 16u32) & 255u32, c >> 24u32, weights) << 24u32)
    }

    #[cube]
    fn gray(r: u32, g: u32, b: u32, #[comptime] weights: Weights) -> u32 {
        match weights {
            Weights::Integer => (r * 2126u32 + g * 7152u32 + b * 722u32 + 5000u32) / 10_000u32,
            Weights::Float => {
                let sum =
                    f32::cast_from(r) * 0.21f32 + f32::cast_from(g) * 0.71f32 + f32::cast_from(b) * 0.07f32;
                u32::cast_from(sum)
            }
        }
    }
}
