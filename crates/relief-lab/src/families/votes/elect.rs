//! Words that are not zero, counted in one counter.

use crate::array::{Array, Fill, Layout};
use crate::family::{Ladder, Problem, Variant, Work};

/// So many words.
pub(super) struct Votes(usize);

impl Problem for Votes {
    fn label(&self) -> String {
        format!("{} u32", crate::quantity::count(self.elements()))
    }

    fn elements(&self) -> u64 {
        self.0 as u64
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        if fill == Fill::Structured {
            return vec![Array::filled(Layout::of::<u32>(self.0), fill, 1)];
        }
        // Stretches of zeros, of words that are all set, and of both.
        let at = |i: usize| match i / 256 % 3 {
            0 => 0,
            1 => 7,
            _ => crate::array::mix(5, i as u64) & 1,
        };
        vec![Array::from_fn(self.0, at)]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::of::<u32>(1)]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        let words = inputs[0].slice::<u32>();
        outputs[0].slice_mut::<u32>()[0] = words.iter().filter(|word| **word != 0).count() as u32;
    }

    fn work(&self) -> Work {
        Work::bytes(4 * self.elements(), 4)
    }
}

pub(super) fn ladder() -> Ladder<Votes> {
    let variants = vec![Variant::cpu("loop", "a word at a time", |_: &Votes, call| {
        let words = call.inputs[0].slice::<u32>();
        call.outputs[0].slice_mut::<u32>()[0] = words.iter().map(|word| u32::from(*word != 0)).sum();
        Ok(())
    })];
    let variants = on_both!(variants, gpu::variants());
    Ladder::new(
        "votes/elect",
        "one counter of all words that are not zero",
        variants,
    )
    .of_lengths((1 << 30) + 77, Votes)
}

#[cfg(feature = "gpu")]
mod gpu {
    #![allow(unsafe_code)]

    use cubecl::prelude::*;
    use relief_kernels::device::{Operand, cubes, on_client, start};

    use super::Votes;
    use crate::family::{OnGpu, Outcome, Variant, lanes};

    const UNITS: u32 = 256;

    pub(super) fn variants() -> Vec<Variant<Votes>> {
        vec![
            Variant::gpu(
                "every unit",
                "every unit adds to one counter",
                |p: &Votes, call| vote(p, call, 1),
            ),
            Variant::gpu(
                "first lane",
                "the first lane adds for its plane",
                |p: &Votes, call| vote(p, call, lanes(call.gpu, 2..=32)?),
            ),
        ]
    }

    /// Counts, an addition for so many lanes.
    fn vote(problem: &Votes, call: &OnGpu<'_>, lanes: u32) -> Outcome {
        let gpu = call.gpu;
        let words = problem.0 as u32;
        let grid = cubes(gpu, words.div_ceil(UNITS));
        let (from, out) = (&call.inputs[0], &call.outputs[0]);
        gpu.launch("votes", &lanes, &[Operand::write("the output", out)], || {
            let (one, unit) = (CubeCount::Static(1, 1, 1), CubeDim::new_1d(1));
            let (grid, dim) = (grid.clone(), CubeDim::new_1d(UNITS));
            // SAFETY: words are compared with their number; the result has one.
            on_client!(gpu, client => {
                start!(client, (one, unit), unsafe clear(out.array(1)));
                start!(client, (grid, dim), unsafe total(from.array(1), out.array(1), words, lanes));
            });
        })?;
        Ok(())
    }

    #[cube(launch_unchecked)]
    fn clear(out: &mut Array<u32>) {
        out[0] = 0u32;
    }

    #[cube(launch_unchecked)]
    fn total(from: &Array<u32>, out: &mut Array<Atomic<u32>>, words: u32, #[comptime] lanes: u32) {
        let unit = CUBE_POS as u32 * UNITS + UNIT_POS;
        let mut set = false;
        if unit < words {
            set = from[unit as usize] != 0;
        }
        if comptime!(lanes > 1) {
            // rung: votes on gpu: first lane
            let sum = plane_sum(u32::cast_from(set));
            if UNIT_POS % lanes == 0 {
                out[0].fetch_add(sum);
            }
            // end
        } else {
            // rung: votes on gpu: every unit
            if set {
                out[0].fetch_add(1u32);
            }
            // end
        }
    }
}
