//! What else is selected: by a flag for each element, between two numbers, where they lie, both halves, and runs of rows of bytes.
//!
//! Least work: elements (and flags) are read once, what is kept is written once.
//!
//! The other half of words that are not 0 is zeros, so its order does not show here; `gpu_numeric/select.rs` and `select/tests.rs` of `relief-numeric` check
//! it by flags.

use relief_numeric::element::Keys;
use relief_numeric::select::cpu::{self, SMALL, Shared, Wanted};

use super::cpu::{by_threads, tell};
use super::{kept, threshold};
use crate::array::{Array, Fill, Layout, mix};
use crate::family::{LENGTHS, Ladder, Outcome, Problem, Scale, Variant, Work};

/// What is selected, and what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Words whose flag is not 0.
    Flagged,
    /// Words from 0 to a bound.
    Within,
    /// Where words that are not 0 lie.
    Indices,
    /// Words that are not 0, and the others.
    Halves,
    /// Where runs of equal bytes begin, and what they hold; rows are runs' ends.
    Runs,
}

/// Bytes of a row.
const ROW: usize = 4_096;

/// So many elements, of which about so many of a hundred are kept.
#[derive(Clone, Copy)]
pub(super) struct Selected {
    what: What,
    len: usize,
    percent: u32,
}

pub(super) fn ladder(what: What) -> Ladder<Selected> {
    let (name, about) = match what {
        What::Flagged => ("select/flagged", "the words whose flag is not 0, in their order"),
        What::Within => ("select/within", "the words from 0 to a bound, in their order"),
        What::Indices => ("select/indices", "where the words lie that are not 0"),
        What::Halves => ("select/partition", "the words that are not 0, and the others"),
        What::Runs => (
            "select/runs-u8",
            "where runs of equal bytes begin in rows of 4 096, and what they hold",
        ),
    };
    let variants = on_both!(variants(), gpu::variants());
    let ladder = Ladder::new(name, about, variants).checks(move || checks(what));
    let ladder = ladder.cases(move |scale| cases(what, scale));
    ladder.huge(move || vec![huge(what)])
}

fn checks(what: What) -> Vec<Selected> {
    let lengths = LENGTHS.map(|len| Selected::new(what, len, 50));
    let densities = [0, 1, 99, 100].map(|percent| Selected::new(what, 30_011, percent));
    lengths.into_iter().chain(densities).collect()
}

/// The usual sizes with half kept, and other densities of the largest.
fn cases(what: What, scale: Scale) -> Vec<Selected> {
    let sizes: Vec<usize> = scale.sizes().into_iter().map(|len| len as usize).collect();
    let mut all: Vec<Selected> = sizes.iter().map(|len| Selected::new(what, *len, 50)).collect();
    if let (Some(largest), false) = (sizes.last(), scale.quick) {
        all.extend([1, 99].map(|percent| Selected::new(what, *largest, percent)));
    }
    all
}

const fn huge(what: What) -> Selected {
    let len = match what {
        // Places have 32 bits.
        What::Runs => (1 << 31) + 77,
        _ => (1 << 30) + 77,
    };
    Selected::new(what, len, 50)
}

impl Selected {
    const fn new(what: What, len: usize, percent: u32) -> Self {
        Self { what, len, percent }
    }

    /// Whether element `i` is to be kept: of structured inputs every so many, of others by chance.
    fn chosen(&self, fill: Fill, i: usize, every: usize) -> bool {
        match fill {
            Fill::Structured => i.is_multiple_of(every),
            Fill::Random => kept(self.percent, i),
        }
    }

    /// The greatest word that a bound keeps.
    fn bound(&self) -> u32 {
        threshold(self.percent)
    }

    /// What a bound keeps.
    fn within(&self) -> Wanted<'static> {
        Wanted::Within(Keys::at_most(self.bound()))
    }

    /// Bytes of an element.
    const fn bytes(&self) -> u64 {
        match self.what {
            What::Runs => 1,
            _ => 4,
        }
    }

    /// Whether element `i` is kept, by the definition.
    fn keeps(&self, inputs: &[Array], i: usize) -> bool {
        match self.what {
            What::Flagged => inputs[1].slice::<u8>()[i] != 0,
            What::Within => inputs[0].slice::<u32>()[i] <= self.bound(),
            What::Indices | What::Halves => inputs[0].slice::<u32>()[i] != 0,
            What::Runs => {
                let bytes = inputs[0].slice::<u8>();
                i.is_multiple_of(ROW) || bytes[i] != bytes[i - 1]
            }
        }
    }
}

impl Problem for Selected {
    fn label(&self) -> String {
        let (bits, percent) = (8 * self.bytes(), self.percent);
        format!("{} u{bits}, {percent} %", crate::quantity::count(self.len as u64))
    }

    fn elements(&self) -> u64 {
        self.len as u64
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        let words = Layout::of::<u32>(self.len);
        let number = |i| match fill {
            Fill::Structured => i as u32 + 1,
            Fill::Random => mix(1, i as u64) | 1,
        };
        match self.what {
            What::Flagged => vec![
                Array::filled(words, fill, 1),
                Array::from_fn(self.len, |i| u8::from(self.chosen(fill, i, 2))),
            ],
            What::Within => vec![Array::filled(words, fill, 1)],
            What::Indices | What::Halves => vec![Array::from_fn(self.len, |i| {
                number(i) * u32::from(self.chosen(fill, i, 2))
            })],
            What::Runs => {
                // Another byte than the one before where chance begins a run: its last bit changes.
                let mut bit = 0;
                let mut bytes = Array::new(Layout::of::<u8>(self.len));
                for (i, byte) in bytes.slice_mut::<u8>().iter_mut().enumerate() {
                    bit ^= u8::from(self.chosen(fill, i, 3));
                    *byte = 6 | bit;
                }
                vec![bytes]
            }
        }
    }

    fn outputs(&self) -> Vec<Layout> {
        let mut outputs = vec![Layout::of::<u32>(2), Layout::of::<u32>(self.len)];
        match self.what {
            What::Halves => outputs.push(Layout::of::<u32>(self.len)),
            What::Runs => outputs.push(Layout::of::<u8>(self.len)),
            _ => {}
        }
        outputs
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        let (mut count, mut others) = (0, 0);
        for i in 0..self.len {
            let keeps = self.keeps(inputs, i);
            match self.what {
                What::Flagged | What::Within if keeps => {
                    outputs[1].slice_mut::<u32>()[count] = inputs[0].slice::<u32>()[i];
                }
                What::Indices if keeps => outputs[1].slice_mut::<u32>()[count] = i as u32,
                What::Halves => {
                    let (half, at) = if keeps { (1, count) } else { (2, others) };
                    outputs[half].slice_mut::<u32>()[at] = inputs[0].slice::<u32>()[i];
                }
                What::Runs if keeps => {
                    outputs[1].slice_mut::<u32>()[count] = i as u32;
                    outputs[2].slice_mut::<u8>()[count] = inputs[0].slice::<u8>()[i];
                }
                _ => {}
            }
            count += usize::from(keeps);
            others += usize::from(!keeps);
        }
        tell(outputs[0].slice_mut(), count);
    }

    fn defined(&self, expected: &[Array]) -> Vec<usize> {
        let count = expected[0].slice::<u32>()[0] as usize;
        match self.what {
            What::Flagged | What::Within | What::Indices => vec![2, count],
            What::Halves => vec![2, count, self.len - count],
            What::Runs => vec![2, count, count],
        }
    }

    fn work(&self) -> Work {
        let len = self.len as u64;
        let kept = (len as f64 * f64::from(self.percent) / 100.0) as u64;
        match self.what {
            What::Flagged => Work::bytes(5 * len, 4 * kept),
            What::Indices | What::Within => Work::bytes(4 * len, 4 * kept),
            What::Halves => Work::bytes(4 * len, 4 * len),
            What::Runs => Work::bytes(len, 5 * kept),
        }
    }
}

fn variants() -> Vec<Variant<Selected>> {
    let of = |name, idea, way: fn(&Selected, &[Array], &mut [Array]) -> usize| {
        Variant::cpu(name, idea, move |p: &Selected, call| -> Outcome {
            let count = way(p, call.inputs, call.outputs);
            tell(call.outputs[0].slice_mut(), count);
            Ok(())
        })
    };
    let idea = "one pass in blocks; turns say where to write";
    vec![
        of("vectors", "vectors compressed in registers", vectors),
        of("threads production", idea, in_turns).production(),
    ]
}

fn vectors(p: &Selected, inputs: &[Array], outputs: &mut [Array]) -> usize {
    let [_, first, rest @ ..] = outputs else { return 0 };
    let first = first.slice_mut::<u32>();
    match p.what {
        What::Flagged => {
            let flags = Wanted::Flagged(inputs[1].slice());
            cpu::select(inputs[0].slice::<u32>(), flags, first)
        }
        What::Within => cpu::select(inputs[0].slice::<u32>(), p.within(), first),
        What::Indices => cpu::indices(inputs[0].slice::<u32>(), Wanted::NonZero, first),
        What::Halves => {
            let (from, left) = (inputs[0].slice::<u32>(), rest[0].slice_mut());
            cpu::partition(from, Wanted::NonZero, first, left)
        }
        What::Runs => cpu::runs_of_rows(inputs[0].slice(), ROW, first, rest[0].slice_mut()),
    }
}

fn in_turns(p: &Selected, inputs: &[Array], outputs: &mut [Array]) -> usize {
    if p.len * (p.bytes() as usize) <= SMALL {
        return vectors(p, inputs, outputs);
    }
    let [_, first, rest @ ..] = outputs else { return 0 };
    let first = first.slice_mut::<u32>();
    match p.what {
        What::Flagged => {
            let flags = Wanted::Flagged(inputs[1].slice());
            by_threads(&Shared::select(inputs[0].slice::<u32>(), flags, first))
        }
        What::Within => by_threads(&Shared::select(inputs[0].slice::<u32>(), p.within(), first)),
        What::Indices => {
            let from = inputs[0].slice::<u32>();
            by_threads(&Shared::indices(from, Wanted::NonZero, first))
        }
        What::Halves => {
            let (from, left) = (inputs[0].slice::<u32>(), rest[0].slice_mut());
            by_threads(&Shared::partition(from, Wanted::NonZero, first, left))
        }
        What::Runs => {
            let (from, values) = (inputs[0].slice(), rest[0].slice_mut());
            by_threads(&Shared::runs_of_rows(from, ROW, first, values))
        }
    }
}

#[cfg(feature = "gpu")]
mod gpu {
    use relief_kernels::policy;
    use relief_numeric::element::{Element, Keys};
    use relief_numeric::select::gpu::{
        Elements, Output, Route, Selection, Wanted, default, name, scratch_words, select_with, space,
    };

    use super::{ROW, Selected, What};
    use crate::array::Layout;
    use crate::family::{OnGpu, Outcome, Variant};

    pub(super) fn variants() -> Vec<Variant<Selected>> {
        let of = |name, idea, route: Option<Route>| {
            Variant::gpu(name, idea, move |p: &Selected, call| whole(p, call, route)).scratch(scratch)
        };
        let phases = "one launch counts, one adds up, one moves";
        vec![
            of("three phases", phases, Some(Route::Phases)),
            of("production", "the route that suits the device", None).production(),
        ]
    }

    fn kind(p: &Selected) -> Element {
        match p.what {
            What::Runs => Element::U8,
            _ => Element::U32,
        }
    }

    fn scratch(p: &Selected) -> Vec<Layout> {
        let words = scratch_words(kind(p).bits(), p.len as u64);
        vec![Layout::of::<u32>(words as usize)]
    }

    /// All of a problem in one selection.
    fn whole(p: &Selected, call: &OnGpu<'_>, route: Option<Route>) -> Outcome {
        let out = |k: usize| &call.outputs[k];
        let (wanted, output) = match p.what {
            What::Flagged => (Wanted::Flagged(&call.inputs[1]), Output::Values(out(1))),
            What::Within => (Wanted::Within(Keys::at_most(p.bound())), Output::Values(out(1))),
            What::Indices => (Wanted::NonZero, Output::Indices(out(1))),
            What::Halves => (Wanted::NonZero, Output::Halves(out(1), out(2))),
            What::Runs => (Wanted::Heads(ROW as u32), Output::Places(out(1), out(2))),
        };
        let bits = kind(p).bits();
        let selection = Selection {
            from: Elements {
                buffer: &call.inputs[0],
                kind: kind(p),
                len: p.len as u64,
            },
            wanted,
            output,
            count: &call.outputs[0],
            scratch: &call.scratch[0],
        };
        let report = call.gpu.report();
        let tuning = policy::tuning(report, name(bits), &space(bits), default(bits));
        let route = route.unwrap_or(Route::fitting(report));
        select_with(call.gpu, tuning, route, &selection)?;
        Ok(())
    }
}
