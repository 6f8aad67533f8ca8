//! What divergence costs: two branches that take equally long, by runs of units.

use crate::array::{Array, Fill, Layout};
use crate::family::{Class, Ladder, Operation, Problem, Variant, Work};
use crate::quantity::count;

/// Steps of either branch; each is a multiplication and an addition.
const STEPS: u32 = 64;

/// So many words; units take one branch or the other by runs of so many.
pub(super) struct Branch {
    words: usize,
    run: usize,
}

/// What a word becomes: two recurrences, of which no step can be left out.
fn step(word: u32, first: bool) -> u32 {
    let (factor, summand) = if first { FIRST } else { SECOND };
    word.wrapping_mul(factor).wrapping_add(summand) ^ (word >> if first { 16 } else { 13 })
}

const FIRST: (u32, u32) = (1_664_525, 1_013_904_223);
const SECOND: (u32, u32) = (22_695_477, 12_345);

impl Problem for Branch {
    fn label(&self) -> String {
        format!("{} u32, runs of {}", count(self.words as u64), self.run)
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        vec![Array::filled(Layout::of::<u32>(self.words), fill, 1)]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::of::<u32>(self.words)]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        let out = outputs[0].slice_mut::<u32>();
        for (i, word) in inputs[0].slice::<u32>().iter().enumerate() {
            let mut value = *word;
            for _ in 0..STEPS {
                value = step(value, i / self.run % 2 == 0);
            }
            out[i] = value;
        }
    }

    fn work(&self) -> Work {
        // A multiplication, an addition and an exclusive or of a shifted word; counted as two additions.
        Work::bytes(4 * self.elements(), 4 * self.elements())
            .operations(Operation::IntegerAdd, 2 * u64::from(STEPS) * self.elements())
    }

    fn place(&self) -> Option<f64> {
        Some(self.run as f64)
    }
}

pub(super) fn ladder() -> Ladder<Branch> {
    let variants = vec![Variant::cpu("loop", "a word at a time", |p: &Branch, call| {
        let out = call.outputs[0].slice_mut::<u32>();
        for (i, (word, out)) in call.inputs[0].slice::<u32>().iter().zip(out).enumerate() {
            let first = (i / p.run).is_multiple_of(2);
            *out = (0..STEPS).fold(*word, |value, _| step(value, first));
        }
        Ok(())
    })];
    let variants = on_both!(variants, gpu::variants());
    let about = "one branch for units of a run, the other for those of the next";
    Ladder::new("votes/divergence", about, variants)
        .axis("units of a run")
        .checks(|| {
            let of = |words| Branch { words, run: 3 };
            [0, 1, 33, 1_000, 4_097].map(of).into()
        })
        .cases(|scale| {
            let words = scale.or(match (scale.class, scale.quick) {
                (Class::Gpu, false) => 1 << 26,
                (Class::Gpu, true) => 1 << 24,
                (Class::Cpu, _) => 1 << 20,
                (Class::Software, _) => 1 << 16,
            }) as usize;
            [1, 2, 4, 8, 16, 32, 64, 128]
                .map(|run| Branch { words, run })
                .into()
        })
}

#[cfg(feature = "gpu")]
mod gpu {
    #![allow(unsafe_code)]

    use cubecl::prelude::*;
    use relief_kernels::device::{Operand, launch, line};

    use super::{Branch, FIRST, SECOND, STEPS};
    use crate::family::{OnGpu, Outcome, Variant};

    const UNITS: u32 = 256;

    pub(super) fn variants() -> Vec<Variant<Branch>> {
        let of = |name, idea, selects| Variant::gpu(name, idea, move |p, call| run(p, call, selects));
        let branches = "a loop in each branch; planes that disagree take both";
        let selected = "one loop, whose constants are chosen before: nothing diverges";
        vec![
            of("branches", branches, false),
            of("selected constants", selected, true),
        ]
    }

    fn run(problem: &Branch, call: &OnGpu<'_>, selects: bool) -> Outcome {
        let words = problem.words as u32;
        if words == 0 {
            return Ok(());
        }
        let (from, out) = (&call.inputs[0], &call.outputs[0]);
        // SAFETY: units are compared with the words, which both buffers hold.
        launch!(
            call.gpu, "divergence", &selects, &[Operand::write("the output", out)], line(call.gpu, words, UNITS),
            unsafe branches(from.array(1), out.array(1), words, problem.run as u32, selects))?;
        Ok(())
    }

    #[cube(launch_unchecked)]
    fn branches(from: &Array<u32>, out: &mut Array<u32>, words: u32, run: u32, #[comptime] selects: bool) {
        let unit = CUBE_POS as u32 * UNITS + UNIT_POS;
        if unit < words {
            let mut value = from[unit as usize];
            let first = (unit / run) % 2u32 == 0;
            if comptime!(selects) {
                // rung: votes on gpu: selected constants
                let factor = select(first, comptime!(FIRST.0), comptime!(SECOND.0));
                let summand = select(first, comptime!(FIRST.1), comptime!(SECOND.1));
                let shift = select(first, 16u32, 13u32);
                for _ in 0..STEPS {
                    value = (value * factor + summand) ^ (value >> shift);
                }
                // end
            } else {
                // rung: votes on gpu: branches
                if first {
                    for _ in 0..STEPS {
                        value = (value * comptime!(FIRST.0) + comptime!(FIRST.1)) ^ (value >> 16u32);
                    }
                } else {
                    for _ in 0..STEPS {
                        value = (value * comptime!(SECOND.0) + comptime!(SECOND.1)) ^ (value >> 13u32);
                    }
                }
                // end
            }
            out[unit as usize] = value;
        }
    }
}
