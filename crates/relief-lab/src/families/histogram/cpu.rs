//! The variants on the CPU.

use rayon::prelude::*;
use relief_numeric::histogram::cpu::{SCRATCH_WORDS, eight, sixteen};

use super::Histogram;
use crate::array::{Array, Kind};
use crate::families::part;
use crate::family::{OnCpu, Outcome, Variant};

pub(super) fn variants() -> Vec<Variant<Histogram>> {
    vec![
        Variant::cpu("one table", "a counter for each value", |p: &Histogram, call| {
            p.readable()?;
            let mut counts = vec![0_u64; 1 << p.bits()];
            match p.kind {
                Kind::U8 => plain(call.inputs[0].slice::<u8>(), &mut counts),
                _ => plain(call.inputs[0].slice::<u16>(), &mut counts),
            }
            tell(call, &counts)
        }),
        Variant::cpu(
            "several tables",
            "neighbours add to tables of their own",
            |p: &Histogram, call| {
                p.readable()?;
                let counts = tables(p.kind, &call.inputs[0], |len| len.max(1));
                tell(call, &counts)
            },
        ),
        Variant::cpu(
            "threads production",
            "tables of their own, a part for each thread",
            |p: &Histogram, call| {
                p.readable()?;
                let counts = tables(p.kind, &call.inputs[0], part);
                tell(call, &counts)
            },
        )
        .production(),
    ]
}

fn plain<T: Copy + Into<usize>>(samples: &[T], counts: &mut [u64]) {
    // rung: histogram on cpu: one table
    for sample in samples {
        let v: usize = (*sample).into();
        counts[v] += 1;
    }
    // end
}

/// By production, in parts of a length that depends on that of the whole.
fn tables(kind: Kind, samples: &Array, part: impl Fn(usize) -> usize) -> Vec<u64> {
    let len = samples.layout().len;
    match kind {
        Kind::U8 => {
            // rung: histogram on cpu: threads production
            let parts = samples.slice::<u8>().par_chunks(part(len));
            let counted = parts.map(|samples| {
                let mut counts = [0; 256];
                eight(samples, &mut counts);
                counts.to_vec()
            });
            counted.reduce(|| vec![0; 256], add)
            // end
        }
        _ => {
            // Tables take as long to clear and to add up as so many samples to count.
            let parts = samples.slice::<u16>().par_chunks(part(len).max(1 << 19));
            let counted = parts.map(|samples| {
                let mut counts = vec![0; 1 << 16];
                if let Some(counts) = counts.first_chunk_mut() {
                    sixteen(samples, counts, &mut vec![0; SCRATCH_WORDS]);
                }
                counts
            });
            counted.reduce(|| vec![0; 1 << 16], add)
        }
    }
}

fn add(mut a: Vec<u64>, b: Vec<u64>) -> Vec<u64> {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
    a
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
