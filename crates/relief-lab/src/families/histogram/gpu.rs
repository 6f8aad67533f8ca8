//! The variants on devices.

use relief_kernels::histogram::gpu::{DEFAULT, SPACE, Samples, histogram_with, name, scratch_words};

use super::Histogram;
use crate::array::{Kind, Layout};
use crate::family::{OnGpu, Variant};

mod atomics;

use atomics::{Place, count};

pub(super) fn variants(kind: Kind) -> Vec<Variant<Histogram>> {
    let of = |name, idea, place, width| {
        Variant::gpu(name, idea, move |p: &Histogram, call: OnGpu<'_>| {
            count(p, &call, place, width)
        })
    };
    let mut variants = vec![
        of(
            "global atomics",
            "a unit adds to counters in memory",
            Place::Memory,
            1,
        ),
        of(
            "global atomics quad",
            "four words for each unit at a time",
            Place::Memory,
            4,
        ),
    ];
    let bits = 8 * kind.bytes() as u32;
    if bits == 8 {
        variants.extend([
            of(
                "shared atomics",
                "counters of a cube in shared memory",
                Place::Cube { together: false },
                1,
            ),
            of(
                "shared atomics quad",
                "four words for each unit at a time",
                Place::Cube { together: false },
                4,
            ),
            of(
                "aggregated by plane",
                "where the lanes of a plane meet one value, one of them adds for all",
                Place::Cube { together: true },
                4,
            ),
            of(
                "private per plane",
                "counters of each plane in shared memory",
                Place::Plane,
                4,
            ),
        ]);
    }
    variants.push(
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
    );
    variants
}
