//! The variants on devices.

use relief_kernels::policy::Tuning;
use relief_numeric::histogram::gpu::{
    DEFAULT_OF_WORDS, Route, SPACE, Samples, default, histogram_with, name, scratch_words,
};

use super::Histogram;
use crate::array::{Kind, Layout};
use crate::family::{OnGpu, Outcome, Variant};

mod atomics;

use atomics::{Place, count};

pub(super) fn variants(kind: Kind) -> Vec<Variant<Histogram>> {
    let of = |name, idea, place, width| {
        Variant::gpu(name, idea, move |p: &Histogram, call| {
            count(p, call, place, width)
        })
    };
    let mut variants = vec![of(
        "global atomics",
        "a unit adds to counters in memory",
        Place::Memory,
        1,
    )];
    let bits = 8 * kind.bytes() as u32;
    if bits == 8 {
        let scalar = "counters of a cube in shared memory";
        let quad = "four words for each unit at a time";
        variants.extend([
            of("shared atomics", scalar, Place::Cube, 1),
            of("shared atomics quad", quad, Place::Cube, 4),
        ]);
    }
    let memory = Variant::gpu(
        "counts in memory",
        "a unit adds to the counts of 64 bits themselves",
        |p: &Histogram, call| by_route(p, call, default(p.bits()), Route::Memory),
    );
    variants.push(memory.scratch(scratch));
    if bits == 16 {
        variants.extend(SHARED.map(|(name, idea, bits, bytes)| {
            let route = Route::Values { bits, bytes };
            Variant::gpu(name, idea, move |p, call| {
                by_route(p, call, DEFAULT_OF_WORDS, route)
            })
            .scratch(scratch)
        }));
    }
    variants.push(
        Variant::gpu(
            "production",
            "a counter of bytes for each lane; counters of 16 bits for all words, or an eighth of the values; on software one, or the counts",
            |p: &Histogram, call| {
                let route = Route::fitting(call.gpu, p.bits(), p.len as u64);
                by_route(p, call, call.tuning, route)
            },
        )
        .scratch(scratch)
        .tuned(name(bits), SPACE, default(bits))
        .production(),
    );
    variants
}

/// Counters of words of 16 bits in shared memory: their bits, and the bytes of all of them.
const SHARED: [(&str, &str, u32, u32); 5] = [
    (
        "eighths",
        "counters of 32 bits for an eighth of the values: samples are read eight times, seven from a cache",
        32,
        32 << 10,
    ),
    ("quarters", "the same for a quarter, in 64 KiB", 32, 64 << 10),
    ("halves", "the same for a half, in 128 KiB", 32, 128 << 10),
    (
        "counters of 16 bits",
        "all values in 128 KiB; what wraps around is noted in memory",
        16,
        128 << 10,
    ),
    (
        "counters of 8 bits",
        "all values in 64 KiB; more wraps, and more cubes at once",
        8,
        64 << 10,
    ),
];

fn scratch(problem: &Histogram) -> Vec<Layout> {
    let words = scratch_words(problem.bits(), problem.len as u64);
    vec![Layout::of::<u32>(words as usize)]
}

fn by_route(problem: &Histogram, call: &OnGpu<'_>, tuning: Tuning, route: Route) -> Outcome {
    problem.readable()?;
    let samples = Samples {
        buffer: &call.inputs[0],
        bits: problem.bits(),
        len: problem.len as u64,
    };
    let (counts, scratch) = (&call.outputs[0], &call.scratch[0]);
    histogram_with(call.gpu, tuning, route, samples, counts, scratch)?;
    Ok(())
}
