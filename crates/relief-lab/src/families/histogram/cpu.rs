//! The variants on the CPU.

use super::Histogram;
use crate::array::Kind;
use crate::family::{OnCpu, Outcome, Variant};

pub(super) fn variants() -> Vec<Variant<Histogram>> {
    vec![Variant::cpu(
        "one table",
        "a counter for each value",
        |p: &Histogram, call| {
            let mut counts = vec![0_u64; 1 << p.bits()];
            match p.kind {
                Kind::U8 => call.inputs[0]
                    .slice::<u8>()
                    .iter()
                    .for_each(|v| counts[usize::from(*v)] += 1),
                _ => call.inputs[0]
                    .slice::<u16>()
                    .iter()
                    .for_each(|v| counts[usize::from(*v)] += 1),
            }
            tell(call, &counts)
        },
    )]
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
