//! Vector addition: c(i) = a(i) + b(i), f32.
//!
//! Least work: two words read, one written, one addition: memory binds by far. The source reached 0.02 to
//! 0.03 GFLOPS, transfers included: the advice is not to move data for one addition.

use rayon::prelude::*;
use relief_kernels::isa::{Isa, Level};
use relief_kernels::versions;
use relief_numeric::map::cpu;

use super::super::part;
use crate::array::{Array, Fill, Layout};
use crate::family::{Ladder, OnCpu, Operation, Outcome, Problem, Variant, Work};

pub(super) struct Add {
    len: usize,
}

impl Problem for Add {
    fn label(&self) -> String {
        format!("{} f32", crate::quantity::count(self.len as u64))
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        [1, 2]
            .map(|seed| Array::filled(Layout::of::<f32>(self.len), fill, seed))
            .into()
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::of::<f32>(self.len)]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        let (a, b) = (inputs[0].slice::<f32>(), inputs[1].slice::<f32>());
        for (i, c) in outputs[0].slice_mut::<f32>().iter_mut().enumerate() {
            *c = a[i] + b[i];
        }
    }

    fn work(&self) -> Work {
        Work::bytes(8 * self.elements(), 4 * self.elements()).operations(Operation::F32Add, self.elements())
    }
}

pub(super) fn ladder() -> Ladder<Add> {
    let variants = vec![
        Variant::cpu("scalar", "an addition at a time", scalar),
        Variant::cpu("SSE2 or NEON", "vectors that every machine has", |_, call| {
            let (a, b) = (call.inputs[0].slice(), call.inputs[1].slice());
            let portable = Isa::at(Level::Portable).unwrap_or(Isa::best());
            add(portable, a, b, call.outputs[0].slice_mut());
            Ok(())
        }),
        Variant::cpu("threads", "a part for each thread, ordinary stores", |_, call| {
            parts(call, |a, b, c| add(Isa::best(), a, b, c))
        }),
        Variant::cpu(
            "production",
            "a part for each thread; large results take non-temporal stores",
            |problem: &Add, call| parts(call, |a, b, out| cpu::add_part(a, b, out, problem.len)),
        )
        .production(),
    ];
    let variants = on_both!(variants, gpu::variants());
    Ladder::new("map/add", "c(i) = a(i) + b(i), f32", variants).of_lengths((1 << 30) + 77, |len| Add { len })
}

versions! {
    fn add(a: &[f32], b: &[f32], c: &mut [f32]) {
        for ((a, b), c) in a.iter().zip(b).zip(c) {
            *c = a + b;
        }
    }
}

fn scalar(_: &Add, call: OnCpu<'_>) -> Outcome {
    let (a, b) = (call.inputs[0].slice::<f32>(), call.inputs[1].slice::<f32>());
    for ((a, b), c) in a.iter().zip(b).zip(call.outputs[0].slice_mut::<f32>()) {
        // What the compiler cannot see through it cannot vectorise.
        *c = std::hint::black_box(*a) + b;
    }
    Ok(())
}

fn parts(call: OnCpu<'_>, add: impl Fn(&[f32], &[f32], &mut [f32]) + Sync) -> Outcome {
    let (a, b) = (call.inputs[0].slice::<f32>(), call.inputs[1].slice::<f32>());
    let part = part(a.len());
    let terms = a.par_chunks(part).zip(b.par_chunks(part));
    let sums = call.outputs[0].slice_mut::<f32>().par_chunks_mut(part);
    terms.zip(sums).for_each(|((a, b), c)| add(a, b, c));
    Ok(())
}

#[cfg(feature = "gpu")]
mod boxes;

#[cfg(feature = "gpu")]
mod gpu {
    use relief_kernels::policy::Tuning;
    use relief_numeric::map::gpu::{DEFAULT, SPACE, add_with};

    use super::{Add, boxes};
    use crate::family::{OnGpu, Outcome, Variant};

    pub(super) fn variants() -> Vec<Variant<Add>> {
        let plain = |name, idea, vector| {
            // rung: map/add on gpu: scalar | quad
            let tuning = Tuning {
                units: 256,
                items: 1,
                vector,
            };
            // end
            Variant::gpu(name, idea, move |problem: &Add, call| {
                added(problem, call, tuning)
            })
        };
        vec![
            plain("scalar", "a sum for each unit", 1).source("0.02–0.03 GFLOPS, transfers included"),
            plain("quad", "four sums for each unit", 4),
            Variant::gpu(
                "boxes",
                "the device copies the terms of a cube to it, and the sums from it",
                boxes::add,
            ),
            Variant::gpu(
                "several quads",
                "quads, as many for each unit as tuned",
                |problem: &Add, call| added(problem, call, call.tuning),
            )
            .tuned("map add", SPACE, DEFAULT)
            .production(),
        ]
    }

    fn added(problem: &Add, call: &OnGpu<'_>, tuning: Tuning) -> Outcome {
        let (a, b, c) = (&call.inputs[0], &call.inputs[1], &call.outputs[0]);
        Ok(add_with(call.gpu, tuning, a, b, c, problem.len)?)
    }
}
