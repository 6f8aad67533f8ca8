//! Count: how many words are not zero. The first phase of a compaction in phases.
//!
//! Least work: every word is read once; a comparison and an addition each. So memory binds, and what the ladder shows is how
//! loads have to be dealt for it to be kept busy.
//!
//! The source's times are of 2^24 words, in µs, with cubes of 512 units (blocks) and 64 cubes of 256 (sequences). Its lesson: wide
//! loads made the difference, not sequences.

#[cfg(feature = "gpu")]
mod gpu;

use rayon::prelude::*;
use relief_numeric::select::cpu::{Wanted, count};

use super::part;
use crate::array::{Array, Fill, Layout};
use crate::family::{Family, Ladder, OnCpu, Outcome, Problem, Variant, Work};

pub(super) fn family() -> Family {
    Family {
        name: "count",
        about: "how many words are not zero: reading, and nothing else",
        source: "2^24 u32 on the compaction article's GTX 690",
        source_size: "2^24 u32",
        wins: "Wide loads, and enough of them in flight: 8 192 sequences read vectors and write 8 192 \
               counts, where a vector a thread writes one for every block.",
        loses: "Loads of single words leave memory waiting. 512 sequences are too few threads for a device \
                of today: on 2^28 words they take longer than blocks do.",
        ladders: vec![Box::new(ladder())],
    }
}

/// So many words.
struct Count {
    words: usize,
}

impl Problem for Count {
    fn label(&self) -> String {
        format!("{} u32", crate::quantity::count(self.words as u64))
    }

    fn elements(&self) -> u64 {
        self.words as u64
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        let filled = Array::filled(Layout::of::<u32>(self.words), fill, 1);
        if fill == Fill::Structured {
            return vec![filled];
        }
        // Half of them, at random.
        vec![Array::from_fn(self.words, |i| {
            let word = filled.slice::<u32>()[i];
            if word >> 31 == 0 { 0 } else { word }
        })]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::of::<u32>(1)]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        let total = &mut outputs[0].slice_mut::<u32>()[0];
        for word in inputs[0].slice::<u32>() {
            if *word != 0 {
                *total += 1;
            }
        }
    }

    fn work(&self) -> Work {
        Work::bytes(4 * self.elements(), 4)
    }
}

fn ladder() -> Ladder<Count> {
    let variants = vec![
        Variant::cpu(
            "loop",
            "a word at a time, not to be vectorised",
            |_: &Count, call| {
                // rung: count on cpu: loop
                let words = call.inputs[0].slice::<u32>().iter();
                let set = words.filter(|word| std::hint::black_box(**word) != 0);
                let total = set.count();
                // end
                tell(call, total as u64)
            },
        ),
        Variant::cpu("vectors", "whole vectors are compared", |_, call| {
            // rung: count on cpu: vectors
            let total = count(call.inputs[0].slice::<u32>(), Wanted::NonZero);
            // end
            tell(call, total)
        }),
        Variant::cpu(
            "threads production",
            "whole vectors, a part for each thread",
            |_, call| {
                let words = call.inputs[0].slice::<u32>();
                // rung: count on cpu: threads production
                let parts = words.par_chunks(part(words.len()));
                let total = parts.map(|part| count(part, Wanted::NonZero)).sum();
                // end
                tell(call, total)
            },
        )
        .production(),
    ];
    let variants = on_both!(variants, gpu::variants());
    Ladder::new("count", "how many words are not zero", variants)
        .of_lengths((1 << 30) + 77, |words| Count { words })
}

fn tell(call: OnCpu<'_>, total: u64) -> Outcome {
    call.outputs[0].slice_mut::<u32>()[0] = total as u32;
    Ok(())
}
