//! Table: every sample replaced by its entry in a table, u8 (256 entries) and u16 (65 536).
//!
//! Least work: a sample read, a sample written, a look-up. A table of bytes fits into vector registers of a CPU and into
//! shared memory of a device; one of 65 536 entries lies in caches at best.

use rayon::prelude::*;
use relief_kernels::table::cpu;
use relief_raster::{Sample, View, ViewMut};

use super::super::stored_part;
use crate::array::{Array, Element, Fill, Layout, mix};
use crate::family::{Ladder, OnCpu, Outcome, Problem, Variant, Work};

/// Samples of type `S`, and a table for them.
pub(super) struct Lookup<S> {
    len: usize,
    sample: std::marker::PhantomData<S>,
}

impl<S> Lookup<S> {
    const fn new(len: usize) -> Self {
        Self {
            len,
            sample: std::marker::PhantomData,
        }
    }
}

impl<S: Sample + Element> Problem for Lookup<S> {
    fn label(&self) -> String {
        format!("{} u{}", crate::quantity::count(self.len as u64), S::DEPTH.bits())
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        let table = Array::from_fn(usize::from(S::MAX.to_u16()) + 1, |v| {
            S::from_u16(mix(7, v as u64) as u16 & S::MAX.to_u16())
        });
        vec![Array::filled(Layout::of::<S>(self.len), fill, 1), table]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::of::<S>(self.len)]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        let (samples, table) = (inputs[0].slice::<S>(), inputs[1].slice::<S>());
        for (i, out) in outputs[0].slice_mut::<S>().iter_mut().enumerate() {
            *out = table[usize::from(samples[i].to_u16())];
        }
    }

    fn work(&self) -> Work {
        let bytes = (self.len * size_of::<S>()) as u64;
        Work::bytes(bytes, bytes)
    }
}

pub(super) fn eight() -> Ladder<Lookup<u8>> {
    Ladder::new("map/table-u8", "out(i) = table(in(i)), bytes", variants())
        .of_lengths((1 << 32) + 77, Lookup::new)
}

pub(super) fn sixteen() -> Ladder<Lookup<u16>> {
    let about = "out(i) = table(in(i)), words of 16 bits";
    Ladder::new("map/table-u16", about, variants()).of_lengths((1 << 31) + 77, Lookup::new)
}

fn variants<S: Sample + Element>() -> Vec<Variant<Lookup<S>>> {
    let variants = vec![
        Variant::cpu("plain", "a sample at a time", |_: &Lookup<S>, call| {
            let table = call.inputs[1].slice::<S>();
            look_up(table, call.inputs[0].slice(), call.outputs[0].slice_mut());
            Ok(())
        }),
        Variant::cpu("one thread", "register permutes for bytes", |_, call| {
            let (samples, table) = (call.inputs[0].slice::<S>(), call.inputs[1].slice::<S>());
            map(table, samples, call.outputs[0].slice_mut());
            Ok(())
        }),
        Variant::cpu(
            "production",
            "register permutes for bytes, a part for each thread",
            |_, call| parts::<S>(call),
        )
        .production(),
    ];
    on_both!(variants, gpu::variants(S::DEPTH))
}

fn look_up<S: Sample>(table: &[S], samples: &[S], out: &mut [S]) {
    // rung: map/table-u8 on cpu: plain
    for (sample, out) in samples.iter().zip(out) {
        *out = table[usize::from(sample.to_u16())];
    }
    // end
}

// rung: map/table-u8 on cpu: one thread = production's permutes of 64 entries, `relief_kernels::table::cpu`

fn map<S: Sample>(table: &[S], samples: &[S], out: &mut [S]) {
    let len = samples.len();
    let (samples, out) = (View::new(samples, len, 1, len), ViewMut::new(out, len, 1, len));
    cpu::map(table, samples, out);
}

fn parts<S: Sample + Element>(call: OnCpu<'_>) -> Outcome {
    let (samples, table) = (call.inputs[0].slice::<S>(), call.inputs[1].slice::<S>());
    let part = stored_part(samples.len(), size_of::<S>());
    let outputs = call.outputs[0].slice_mut::<S>().par_chunks_mut(part);
    let parts = samples.par_chunks(part).zip(outputs);
    parts.for_each(|(samples, out)| map(table, samples, out));
    Ok(())
}

#[cfg(feature = "gpu")]
mod gpu {
    #![allow(unsafe_code)]

    use cubecl::prelude::*;
    use relief_kernels::device::{Operand, launch, line};
    use relief_kernels::table::gpu::{DEFAULT, SPACE, map_with};
    use relief_raster::{Depth, Sample};

    use super::Lookup;
    use crate::family::{OnGpu, Outcome, Variant};

    pub(super) fn variants<S: Sample>(depth: Depth) -> Vec<Variant<Lookup<S>>> {
        let own = |name, idea, place, vector| {
            Variant::gpu(name, idea, move |p: &Lookup<S>, call| {
                run(p, call, depth, place, vector)
            })
        };
        let scalar = "the table where it lies, a word for each unit";
        let quad = "the table where it lies, four words for each unit";
        let mut variants = vec![
            own("memory scalar", scalar, Place::Memory, 1),
            own("memory quad", quad, Place::Memory, 4),
        ];
        if depth == Depth::Eight {
            let idea = "four entries for each shared word, four words for each unit";
            variants.push(own("shared packed", idea, Place::Packed, 4));
        }
        let idea = match depth {
            Depth::Eight => "four entries for each shared word, several vectors for each unit",
            Depth::Sixteen => "the table where it lies, several vectors for each unit",
        };
        let production = Variant::gpu("several quads", idea, move |problem: &Lookup<S>, call| {
            let words = (problem.len * size_of::<S>()).div_ceil(4);
            let (from, table, to) = (&call.inputs[0], &call.inputs[1], &call.outputs[0]);
            Ok(map_with(call.gpu, call.tuning, depth, table, from, to, words)?)
        });
        variants.push(production.tuned(kernel(depth), SPACE, DEFAULT).production());
        variants
    }

    const fn kernel(depth: Depth) -> &'static str {
        match depth {
            Depth::Eight => "table u8",
            Depth::Sixteen => "table u16",
        }
    }

    /// Where a unit looks entries up.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    enum Place {
        Memory,
        Packed,
    }

    const UNITS: u32 = 256;

    fn run<S: Sample>(
        problem: &Lookup<S>,
        call: &OnGpu<'_>,
        depth: Depth,
        place: Place,
        vector: u32,
    ) -> Outcome {
        let words = (problem.len * size_of::<S>()).div_ceil(16) as u32 * 4;
        if words == 0 {
            return Ok(());
        }
        let count = words / vector;
        let (bits, width) = (depth.bits(), vector as usize);
        let (source, table, out) = (&call.inputs[0], &call.inputs[1], &call.outputs[0]);
        // SAFETY: places are compared with `count`, and both buffers hold as many vectors; the table has an entry for
        // every sample.
        launch!(
            call.gpu, "table ladder", &(bits, place, vector), &[Operand::write("the output", out)],
            line(call.gpu, count, UNITS),
            unsafe look_up(
                width, table.array(1), source.array(width), out.array(width), count, bits, place, width))?;
        Ok(())
    }

    #[cube(launch_unchecked)]
    fn look_up<N: Size>(
        table: &Array<u32>,
        source: &Array<Vector<u32, N>>,
        out: &mut Array<Vector<u32, N>>,
        count: u32,
        #[comptime] bits: u32,
        #[comptime] place: Place,
        #[comptime] width: usize,
    ) {
        let mut shared = SharedMemory::<u32>::new(64usize);
        if comptime!(place != Place::Memory) {
            if UNIT_POS < 64u32 {
                shared[UNIT_POS as usize] = table[UNIT_POS as usize];
            }
            sync_cube();
        }
        let unit = ABSOLUTE_POS as u32;
        if unit < count {
            let samples = source[unit as usize];
            let mut result = Vector::<u32, N>::empty();
            #[unroll]
            for j in 0..width {
                let mut word = 0u32;
                #[unroll]
                for k in 0..comptime!(32 / bits) {
                    let sample = (samples[j] >> comptime!(k * bits)) & comptime!(mask(bits));
                    let entry = entry(table, &shared, sample, bits, place);
                    word |= entry << comptime!(k * bits);
                }
                result[j] = word;
            }
            out[unit as usize] = result;
        }
    }

    /// The entry of a sample, from wherever entries are looked up.
    #[cube]
    fn entry(
        table: &Array<u32>,
        shared: &SharedMemory<u32>,
        sample: u32,
        #[comptime] bits: u32,
        #[comptime] place: Place,
    ) -> u32 {
        match place {
            // rung: map on gpu: memory scalar | memory quad
            Place::Memory => packed(table[(sample / comptime!(32 / bits)) as usize], sample, bits),
            // end
            // rung: map on gpu: shared packed
            Place::Packed => packed(shared[(sample / comptime!(32 / bits)) as usize], sample, bits),
            // end
        }
    }

    /// The entry of a sample in the word that holds it.
    #[cube]
    fn packed(word: u32, sample: u32, #[comptime] bits: u32) -> u32 {
        (word >> ((sample % comptime!(32 / bits)) * bits)) & comptime!(mask(bits))
    }

    const fn mask(bits: u32) -> u32 {
        u32::MAX >> (32 - bits)
    }
}
