//! The variants on devices.

use relief_kernels::histogram::gpu::{DEFAULT, SPACE, Samples, histogram_with, name, scratch_words};

use super::Histogram;
use crate::array::{Kind, Layout};
use crate::family::{OnGpu, Variant};

pub(super) fn variants(kind: Kind) -> Vec<Variant<Histogram>> {
    let bits = 8 * kind.bytes() as u32;
    vec![
        Variant::gpu(
            "production",
            "counters in shared memory, one for each lane or for an eighth of the values",
            |p: &Histogram, call: OnGpu<'_>| {
                let samples = Samples {
                    buffer: &call.inputs[0],
                    bits: p.bits(),
                    len: p.len as u64,
                };
                histogram_with(call.gpu, call.tuning, samples, &call.outputs[0], &call.scratch[0])?;
                Ok(())
            },
        )
        .scratch(|p| vec![Layout::of::<u32>(scratch_words(p.bits(), p.len as u64) as usize)])
        .tuned(name(bits), SPACE, DEFAULT)
        .production(),
    ]
}
