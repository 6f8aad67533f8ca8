//! Gray from colour, a byte from three: (2126 r + 7152 g + 722 b + 5000) / 10000, in integers.
//!
//! Least work: three bytes read, one written, some products. On the CPU taking colours apart is the work; on a device
//! memory binds.

use rayon::prelude::*;
use relief_numeric::map::cpu;

use super::super::part;
use crate::array::{Array, Fill, Layout};
use crate::family::{Class, Ladder, OnCpu, Outcome, Problem, Scale, Variant, Work};

pub(super) struct Colours {
    len: usize,
}

impl Problem for Colours {
    fn label(&self) -> String {
        format!("{} px", crate::quantity::count(self.len as u64))
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
            *gray = ((2126 * r + 7152 * g + 722 * b + 5000) / 10_000) as u8;
        }
    }

    fn work(&self) -> Work {
        Work::bytes(3 * self.elements(), self.elements())
    }
}

fn cases(scale: Scale) -> Vec<Colours> {
    let mut sizes = scale.sizes();
    if scale.class == Class::Gpu && !scale.quick && scale.size.is_none() {
        sizes.insert(2, 8_192 * 8_192);
    }
    sizes.into_iter().map(|n| Colours { len: n as usize }).collect()
}

pub(super) fn ladder() -> Ladder<Colours> {
    let variants = vec![
        Variant::cpu("plain", "a colour at a time", |_: &Colours, call| {
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
            "production",
            "byte permutes, a part for each thread",
            |_, call| parts(call),
        )
        .production(),
    ];
    let variants = on_both!(variants, gpu::variants());
    let about = "(2126 r + 7152 g + 722 b + 5000) / 10000, bytes";
    Ladder::new("map/gray", about, variants)
        .of_lengths((1 << 31) + 77, |len| Colours { len })
        .cases(cases)
}

fn plain(rgb: &[u8], out: &mut [u8]) {
    // rung: map/gray on cpu: plain
    for (rgb, out) in rgb.as_chunks::<3>().0.iter().zip(out) {
        *out = relief_numeric::map::gray(rgb[0], rgb[1], rgb[2]);
    }
    // end
}

fn parts(call: OnCpu<'_>) -> Outcome {
    // rung: map on cpu: production
    let part = part(call.outputs[0].slice::<u8>().len());
    let colours = call.inputs[0].slice::<u8>().par_chunks(3 * part);
    let grays = call.outputs[0].slice_mut::<u8>().par_chunks_mut(part);
    colours
        .zip(grays)
        .for_each(|(colours, grays)| cpu::gray(colours, grays));
    // end
    Ok(())
}

#[cfg(feature = "gpu")]
mod gpu {
    #![allow(unsafe_code)]

    use cubecl::prelude::*;
    use relief_kernels::device::{Operand, launch, line};
    use relief_kernels::policy::Tuning;
    use relief_numeric::map::gpu::{DEFAULT, GRAY_SPACE, gray_with};

    use super::Colours;
    use crate::family::{OnGpu, Outcome, Variant, tuning};

    pub(super) fn variants() -> Vec<Variant<Colours>> {
        let of = |name, idea, loads| Variant::gpu(name, idea, move |p: &Colours, call| run(p, call, loads));
        let one = tuning(UNITS, 1, 4);
        vec![
            of("bytes", "every byte by a load of its own", Loads::Bytes),
            of("words", "three words make one", Loads::Words),
            // rung: map on gpu: vectors = production's kernel, as of `several vectors`, once for each unit
            Variant::gpu("vectors", "three vectors make one", move |problem, call| {
                made(problem, call, one)
            }),
            Variant::gpu(
                "several vectors",
                "48 bytes make 16, as often for each unit as tuned",
                |problem, call| made(problem, call, call.tuning),
            )
            .tuned("map gray", GRAY_SPACE, DEFAULT)
            .production(),
        ]
    }

    fn made(problem: &Colours, call: &OnGpu<'_>, tuning: Tuning) -> Outcome {
        let (from, to) = (&call.inputs[0], &call.outputs[0]);
        Ok(gray_with(call.gpu, tuning, from, to, problem.len)?)
    }

    /// What a unit loads at once.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    enum Loads {
        Bytes,
        /// The same where 32 bits do not count all bytes.
        FarBytes,
        Words,
    }

    const UNITS: u32 = 256;

    fn run(problem: &Colours, call: &OnGpu<'_>, loads: Loads) -> Outcome {
        let count = problem.len.div_ceil(16) as u32 * 4;
        if count == 0 {
            return Ok(());
        }
        let loads = match loads {
            Loads::Bytes if 12 * u64::from(count) > 1 << 32 => Loads::FarBytes,
            loads => loads,
        };
        let (rgb, out) = (&call.inputs[0], &call.outputs[0]);
        // The input holds whole vectors of its own length, which may be fewer than three words for each of the output.
        let last = rgb.words() as u32 - 1;
        // SAFETY: places of the output are compared with `count`, those of the input clamped to its last word.
        launch!(
            call.gpu, "gray ladder", &loads, &[Operand::write("the output", &call.outputs[0])],
            line(call.gpu, count, UNITS),
            unsafe gray_words(rgb.array(1), out.array(1), count, last, loads))?;
        Ok(())
    }

    #[cube(launch_unchecked)]
    fn gray_words(rgb: &Array<u32>, out: &mut Array<u32>, count: u32, last: u32, #[comptime] loads: Loads) {
        let place = ABSOLUTE_POS as u32;
        if place < count {
            let first = place * 3u32;
            let mut word = 0u32;
            if comptime!(loads == Loads::Words) {
                // rung: map on gpu: words
                let a = rgb[min(first, last) as usize];
                let b = rgb[min(first + 1u32, last) as usize];
                let c = rgb[min(first + 2u32, last) as usize];
                word = gray_word(a, b, c);
                // end
            } else {
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
                        parts[c] = (rgb[min(from, last) as usize] >> shift) & 255u32;
                        // end
                    }
                    word |= gray(parts[0usize], parts[1usize], parts[2usize]) << comptime!(8 * k);
                }
            }
            out[place as usize] = word;
        }
    }

    /// Four grays from the twelve bytes of three words.
    #[cube]
    fn gray_word(a: u32, b: u32, c: u32) -> u32 {
        gray(a & 255u32, (a >> 8u32) & 255u32, (a >> 16u32) & 255u32)
            | (gray(a >> 24u32, b & 255u32, (b >> 8u32) & 255u32) << 8u32)
            | (gray((b >> 16u32) & 255u32, b >> 24u32, c & 255u32) << 16u32)
            | (gray((c >> 8u32) & 255u32, (c >> 16u32) & 255u32, c >> 24u32) << 24u32)
    }

    #[cube]
    fn gray(r: u32, g: u32, b: u32) -> u32 {
        (r * 2126u32 + g * 7152u32 + b * 722u32 + 5000u32) / 10_000u32
    }
}
