//! Histograms of numbers of 32 bits over 256 bins of equal width, with what lies below, above, and is no number.
//!
//! Least work: a number read, a few operations for its bin, an addition. The rule is that of `relief_numeric::histogram::even`: of
//! floats its arithmetic in f32, of integers the exact quotient.
//!
//! On devices: `global atomics`, `shared atomics` (floats): counters in memory, of a cube; `production`: a counter for each bin and lane.
//! On the CPU: `one table`; `several tables`: bins of a block are found at once, neighbours add to tables of their own;
//! `threads production`: the same, a part for each thread.

use rayon::prelude::*;
use relief_numeric::histogram::even::{Bins, even};

use crate::array::{Array, Fill, Layout, mix};
use crate::families::part;
use crate::family::{Failure, LENGTHS, Ladder, OnCpu, Outcome, Problem, Scale, Variant, Work};

/// How many bins there are, and from where to where.
const BINS: u32 = 256;
const LOW: i32 = -1_000;
const HIGH: i32 = 3_000;

/// So many numbers.
#[derive(Clone, Copy)]
pub(super) struct Even {
    float: bool,
    len: usize,
}

pub(super) fn floats() -> Ladder<Even> {
    Ladder {
        name: "histogram/even-f32",
        about: "how many floats lie in each of 256 bins from -1000 to 3000, below, above, and are no number",
        axis: None,
        checks: || checks(true),
        cases: |scale| cases(true, scale),
        huge: || {
            vec![Even {
                float: true,
                len: (1 << 30) + 77,
            }]
        },
        variants: variants(true),
    }
}

pub(super) fn integers() -> Ladder<Even> {
    Ladder {
        name: "histogram/even-i32",
        about: "how many integers lie in each of 256 bins from -1000 to 3000, below, and above",
        axis: None,
        checks: || checks(false),
        cases: |scale| cases(false, scale),
        huge: || {
            vec![Even {
                float: false,
                len: (1 << 30) + 77,
            }]
        },
        variants: variants(false),
    }
}

fn checks(float: bool) -> Vec<Even> {
    LENGTHS.into_iter().map(|len| Even { float, len }).collect()
}

fn cases(float: bool, scale: Scale) -> Vec<Even> {
    let of = |len: u64| Even {
        float,
        len: len as usize,
    };
    scale.sizes().into_iter().map(of).collect()
}

fn bins(p: &Even) -> Outcome<Bins> {
    let bins = match p.float {
        true => Bins::f32(LOW as f32, HIGH as f32, BINS),
        false => Bins::i32(LOW, HIGH, BINS),
    };
    bins.map_err(|e| Failure::Failed(e.to_string()))
}

impl Even {
    /// The counter of a number, by the definition.
    fn counter(&self, bits: u32) -> usize {
        let bins = BINS as usize;
        if self.float {
            let (x, low, high) = (f32::from_bits(bits), LOW as f32, HIGH as f32);
            return if x.is_nan() {
                bins + 2
            } else if x < low {
                bins
            } else if x >= high {
                bins + 1
            } else {
                (((x - low) * (BINS as f32 / (high - low))).floor() as usize).min(bins - 1)
            };
        }
        let x = i64::from(bits as i32);
        match x {
            _ if x < i64::from(LOW) => bins,
            _ if x >= i64::from(HIGH) => bins + 1,
            _ => ((x - i64::from(LOW)) * i64::from(BINS) / i64::from(HIGH - LOW)) as usize,
        }
    }
}

/// Words of the counts: two for each counter, and some that mean nothing.
const WORDS: usize = 2 * (BINS as usize + Bins::OUTSIDE);

impl Problem for Even {
    fn label(&self) -> String {
        let kind = if self.float { "f32" } else { "i32" };
        format!("{} {kind}", crate::quantity::count(self.len as u64))
    }

    fn elements(&self) -> u64 {
        self.len as u64
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        let float = self.float;
        // A bell around the middle of the bins whose ends lie outside; sometimes any bits.
        let number = |i: usize| {
            let part = |seed| f64::from(mix(seed, i as u64)) / 4_294_967_296.0;
            let bell = (1..5).map(part).sum::<f64>() / 4.0;
            let x = f64::from(LOW) + (bell * 1.6 - 0.3) * f64::from(HIGH - LOW);
            match (mix(7, i as u64) % 64, float) {
                (0, _) => mix(8, i as u64),
                (_, true) => (x as f32).to_bits(),
                (_, false) => x as i32 as u32,
            }
        };
        vec![match fill {
            Fill::Random => Array::from_fn(self.len, number),
            Fill::Structured => Array::filled(Layout::of::<u32>(self.len), fill, 1),
        }]
    }

    fn outputs(&self) -> Vec<Layout> {
        // Devices add up eight counters at a time.
        vec![Layout::of::<u32>(WORDS.next_multiple_of(16))]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        let counts = outputs[0].slice_mut::<u32>();
        for bits in inputs[0].slice::<u32>() {
            let at = 2 * self.counter(*bits);
            counts[at] = counts[at].wrapping_add(1);
            counts[at + 1] += u32::from(counts[at] == 0);
        }
    }

    fn defined(&self, _: &[Array]) -> Vec<usize> {
        vec![WORDS]
    }

    fn work(&self) -> Work {
        Work::bytes(4 * self.len as u64, 4 * WORDS as u64)
    }
}

fn variants(float: bool) -> Vec<Variant<Even>> {
    let mut variants = vec![
        Variant::cpu(
            "one table",
            "a counter for each bin",
            |p: &Even, call: OnCpu<'_>| {
                let bins = bins(p)?;
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
            |p: &Even, call: OnCpu<'_>| {
                let bins = bins(p)?;
                let mut counts = vec![0; bins.counters()];
                even(&bins, call.inputs[0].slice(), &mut counts);
                tell(call, &counts)
            },
        ),
        Variant::cpu(
            "threads production",
            "the same, a part for each thread",
            |p: &Even, call: OnCpu<'_>| {
                let bins = bins(p)?;
                let numbers = call.inputs[0].slice::<u32>();
                let counted = numbers.par_chunks(part(numbers.len())).map(|numbers| {
                    let mut counts = vec![0; bins.counters()];
                    even(&bins, numbers, &mut counts);
                    counts
                });
                let add = |mut a: Vec<u64>, b: Vec<u64>| {
                    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
                    a
                };
                let counts = counted.reduce(|| vec![0; bins.counters()], add);
                tell(call, &counts)
            },
        )
        .production(),
    ];
    #[cfg(feature = "gpu")]
    variants.extend(gpu::variants(float));
    #[cfg(not(feature = "gpu"))]
    let _ = (float, &mut variants);
    variants
}

/// Writes counts as two words each.
fn tell(call: OnCpu<'_>, counts: &[u64]) -> Outcome {
    let words = call.outputs[0].slice_mut::<u32>();
    for (words, count) in words.chunks_exact_mut(2).zip(counts) {
        words[0] = *count as u32;
        words[1] = (*count >> 32) as u32;
    }
    Ok(())
}

#[cfg(feature = "gpu")]
mod gpu {
    #![allow(unsafe_code)]

    use cubecl::prelude::*;
    use relief_kernels::device::{Operand, cubes, on_client, start};
    use relief_numeric::histogram::gpu::even::{even, even_scratch_words};

    use super::{BINS, Even, HIGH, LOW, WORDS, bins};
    use crate::array::Layout;
    use crate::family::{Failure, OnGpu, Outcome, Variant};

    pub(super) fn variants(float: bool) -> Vec<Variant<Even>> {
        let of = |name, idea, shared| {
            Variant::gpu(name, idea, move |p: &Even, call: OnGpu<'_>| {
                count(p, &call, shared)
            })
        };
        let mut variants = Vec::new();
        if float {
            variants.extend([
                of("global atomics", "a unit adds to counters in memory", false),
                of("shared atomics", "counters of a cube in shared memory", true),
            ]);
        }
        variants.push(
            Variant::gpu(
                "production",
                "a counter for each bin and lane in shared memory",
                |p: &Even, call: OnGpu<'_>| {
                    let (numbers, counts) = (&call.inputs[0], &call.outputs[0]);
                    even(
                        call.gpu,
                        &bins(p)?,
                        numbers,
                        p.len as u64,
                        counts,
                        &call.scratch[0],
                    )?;
                    Ok(())
                },
            )
            .scratch(|p| {
                let words = bins(p).map_or(0, |bins| even_scratch_words(&bins, p.len as u64));
                vec![Layout::of::<u32>(words as usize)]
            })
            .production(),
        );
        variants
    }

    const UNITS: u32 = 256;
    /// Cubes that step over the numbers together.
    const CUBES: u32 = 1_056;

    fn count(p: &Even, call: &OnGpu<'_>, shared: bool) -> Outcome {
        let Ok(len) = u32::try_from(p.len) else {
            return Err(Failure::Unsupported(format!(
                "{} numbers: counters have 32 bits",
                p.len
            )));
        };
        let cube_count = CUBES.min(len.div_ceil(UNITS)).max(1);
        let grid = cubes(call.gpu, cube_count);
        call.gpu.launch(
            "histogram even ladder",
            &shared,
            &[Operand::write("the output", &call.outputs[0])],
            || {
                on_client!(call.gpu, client => {
                    let (from, out) = (&call.inputs[0], &call.outputs[0]);
                    let (low, high) = (LOW as f32, HIGH as f32);
                    // SAFETY: the result has two words for each counter, which places are compared with; numbers are compared with their count.
                    start!(
                        client, (CubeCount::Static((WORDS as u32).div_ceil(UNITS), 1, 1), CubeDim::new_1d(UNITS)),
                        unsafe clear(out.array(1), WORDS as u32));
                    start!(client, (grid.clone(), CubeDim::new_1d(UNITS)), unsafe add_up(
                        from.array(1), out.array(1), len, low, high, BINS as f32 / (high - low), shared));
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
    fn add_up(
        from: &Array<u32>,
        out: &mut Array<Atomic<u32>>,
        len: u32,
        low: f32,
        high: f32,
        scale: f32,
        #[comptime] shared: bool,
    ) {
        let size = comptime!(BINS + 3);
        let counters = SharedMemory::<Atomic<u32>>::new(comptime!((BINS + 3) as usize));
        if shared {
            let mut place = UNIT_POS;
            while place < size {
                counters[place as usize].store(0u32);
                place += UNITS;
            }
            sync_cube();
        }
        let mut at = CUBE_POS as u32 * UNITS + UNIT_POS;
        while at < len {
            let x = f32::reinterpret(from[at as usize]);
            // None of these holds for what is no number.
            let mut counter = u32::new(comptime!(i64::from(BINS + 2)));
            if x < low {
                counter = u32::new(comptime!(i64::from(BINS)));
            }
            if x >= high {
                counter = u32::new(comptime!(i64::from(BINS + 1)));
            }
            if x >= low {
                if x < high {
                    counter = min(u32::cast_from((x - low) * scale), comptime!(BINS - 1));
                }
            }
            if shared {
                counters[counter as usize].fetch_add(1u32);
            } else {
                out[(counter * 2u32) as usize].fetch_add(1u32);
            }
            at += CUBE_COUNT as u32 * UNITS;
        }
        if shared {
            sync_cube();
            let mut place = UNIT_POS;
            while place < size {
                out[(place * 2u32) as usize].fetch_add(counters[place as usize].load());
                place += UNITS;
            }
        }
    }
}
