//! Histograms of numbers of 32 bits over 256 bins of equal width, with what lies below, above, and is no number.
//!
//! Least work: a number read, a few operations for its bin, an addition. The rule is that of `relief_numeric::histogram::even`: its
//! arithmetic in f32. (That of integers, the exact quotient, runs in the same kernel.)

use rayon::prelude::*;
use relief_numeric::histogram::even::{Bins, even};

use super::cpu::{add, tell};
use crate::array::{Array, Fill, Layout, mix};
use crate::families::part;
use crate::family::{Failure, Ladder, OnCpu, Outcome, Problem, Variant, Work};

/// How many bins there are, and from where to where.
const BINS: u32 = 256;
const LOW: i32 = -1_000;
const HIGH: i32 = 3_000;

/// So many numbers.
#[derive(Clone, Copy)]
pub(super) struct Even(usize);

pub(super) fn ladder() -> Ladder<Even> {
    let about = "how many floats lie in each of 256 bins from -1000 to 3000, below, above, and are no number";
    Ladder::new("histogram/even-f32", about, variants()).of_lengths((1 << 30) + 77, Even)
}

fn bins() -> Outcome<Bins> {
    Bins::f32(LOW as f32, HIGH as f32, BINS).map_err(|e| Failure::Failed(e.to_string()))
}

/// The counter of a number, by the definition.
fn counter(bits: u32) -> usize {
    let bins = BINS as usize;
    let (x, low, high) = (f32::from_bits(bits), LOW as f32, HIGH as f32);
    if x.is_nan() {
        bins + 2
    } else if x < low {
        bins
    } else if x >= high {
        bins + 1
    } else {
        (((x - low) * (BINS as f32 / (high - low))).floor() as usize).min(bins - 1)
    }
}

/// Words of the counts: two for each counter, and some that mean nothing.
const WORDS: usize = 2 * (BINS as usize + Bins::OUTSIDE);

impl Problem for Even {
    fn label(&self) -> String {
        format!("{} f32", crate::quantity::count(self.0 as u64))
    }

    fn elements(&self) -> u64 {
        self.0 as u64
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        // A bell around the middle of the bins whose ends lie outside; sometimes any bits.
        let number = |i: usize| {
            let part = |seed| f64::from(mix(seed, i as u64)) / 4_294_967_296.0;
            let bell = (1..5).map(part).sum::<f64>() / 4.0;
            let x = f64::from(LOW) + (bell * 1.6 - 0.3) * f64::from(HIGH - LOW);
            match mix(7, i as u64) % 64 {
                0 => mix(8, i as u64),
                _ => (x as f32).to_bits(),
            }
        };
        vec![match fill {
            Fill::Random => Array::from_fn(self.0, number),
            Fill::Structured => Array::filled(Layout::of::<u32>(self.0), fill, 1),
        }]
    }

    fn outputs(&self) -> Vec<Layout> {
        // Devices add up eight counters at a time.
        vec![Layout::of::<u32>(WORDS.next_multiple_of(16))]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        let counts = outputs[0].slice_mut::<u32>();
        for bits in inputs[0].slice::<u32>() {
            let at = 2 * counter(*bits);
            counts[at] = counts[at].wrapping_add(1);
            counts[at + 1] += u32::from(counts[at] == 0);
        }
    }

    fn defined(&self, _: &[Array]) -> Vec<usize> {
        vec![WORDS]
    }

    fn work(&self) -> Work {
        Work::bytes(4 * self.0 as u64, 4 * WORDS as u64)
    }
}

fn variants() -> Vec<Variant<Even>> {
    let variants = vec![
        Variant::cpu(
            "one table",
            "a counter for each bin",
            |_: &Even, call: OnCpu<'_>| {
                let bins = bins()?;
                let mut counts = vec![0; bins.counters()];
                for bits in call.inputs[0].slice::<u32>() {
                    counts[bins.counter(*bits) as usize] += 1;
                }
                tell(call, &counts)
            },
        ),
        Variant::cpu(
            "several tables",
            "bins of a block at once; neighbours add to tables of their own",
            |_: &Even, call: OnCpu<'_>| {
                let bins = bins()?;
                let mut counts = vec![0; bins.counters()];
                even(&bins, call.inputs[0].slice(), &mut counts);
                tell(call, &counts)
            },
        ),
        Variant::cpu(
            "threads production",
            "the same, a part for each thread",
            |_: &Even, call: OnCpu<'_>| {
                let bins = bins()?;
                let numbers = call.inputs[0].slice::<u32>();
                let counted = numbers.par_chunks(part(numbers.len())).map(|numbers| {
                    let mut counts = vec![0; bins.counters()];
                    even(&bins, numbers, &mut counts);
                    counts
                });
                let counts = counted.reduce(|| vec![0; bins.counters()], add);
                tell(call, &counts)
            },
        )
        .production(),
    ];
    on_both!(variants, gpu::variants())
}

#[cfg(feature = "gpu")]
mod gpu {
    use relief_numeric::histogram::gpu::even::{even, even_scratch_words};

    use super::{Even, bins};
    use crate::array::Layout;
    use crate::family::{OnGpu, Variant};

    pub(super) fn variants() -> [Variant<Even>; 1] {
        let idea = "a counter for each bin and lane in shared memory";
        let production = Variant::gpu("production", idea, |p: &Even, call: OnGpu<'_>| {
            let (numbers, counts, scratch) = (&call.inputs[0], &call.outputs[0], &call.scratch[0]);
            Ok(even(call.gpu, &bins()?, numbers, p.0 as u64, counts, scratch)?)
        });
        let scratch = |p: &Even| {
            let words = bins().map_or(0, |bins| even_scratch_words(&bins, p.0 as u64));
            vec![Layout::of::<u32>(words as usize)]
        };
        [production.scratch(scratch).production()]
    }
}
