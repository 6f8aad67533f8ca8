//! The variants on devices.

use relief_kernels::policy::Tuning;
use relief_kernels::select::gpu::{
    Elements, Order, Output, Route, Selection, Wanted, default, name, scratch_words, select_with, space,
};

mod classic;

use classic::Owners;

use super::Compaction;
use crate::array::{Kind, Layout};
use crate::family::{Failure, OnGpu, Outcome, Variant};

pub(super) fn variants(kind: Kind) -> Vec<Variant<Compaction>> {
    let bits = 8 * kind.bytes() as u32;
    let of = |name, idea, route| {
        Variant::gpu(name, idea, move |p: &Compaction, call: OnGpu<'_>| {
            by_route(p, &call, default(bits), route)
        })
        .scratch(scratch)
    };
    let look_back = |reads, order| Route::LookBack { reads, order };
    vec![
        of(
            "three phases",
            "one launch counts, one adds up, one moves",
            Route::Phases,
        ),
        of(
            "look-back",
            "one pass; tiles learn from their predecessors where to write",
            look_back(1, Order::Ticket),
        ),
        of(
            "look-back wide",
            "four states for each lane at a time",
            look_back(4, Order::Ticket),
        ),
        of(
            "look-back ahead",
            "the next tile is loaded while one waits and is written",
            look_back(1, Order::Ahead),
        ),
        Variant::gpu(
            "production",
            "look-back, ahead for words; three phases where waiting is not safe",
            move |p: &Compaction, call: OnGpu<'_>| {
                by_route(p, &call, call.tuning, Route::fitting(call.gpu.report(), bits))
            },
        )
        .scratch(scratch)
        .tuned(name(bits), space(bits), default(bits))
        .production(),
    ]
}

fn scratch(problem: &Compaction) -> Vec<Layout> {
    let bits = problem.number().bits();
    vec![Layout::of::<u32>(scratch_words(bits, problem.len as u64) as usize)]
}

fn selection<'a>(problem: &Compaction, call: &'a OnGpu<'_>) -> Selection<'a> {
    Selection {
        from: Elements {
            buffer: &call.inputs[0],
            kind: problem.number(),
            len: problem.len as u64,
        },
        wanted: Wanted::NonZero,
        output: Output::Values(&call.outputs[0]),
        count: &call.outputs[1],
        scratch: &call.scratch[0],
    }
}

fn by_route(problem: &Compaction, call: &OnGpu<'_>, tuning: Tuning, route: Route) -> Outcome {
    select_with(call.gpu, tuning, route, &selection(problem, call))?;
    Ok(())
}

/// The article's implementations, beside the best of this crate.
pub(super) fn classics() -> Vec<Variant<Compaction>> {
    let of = |name, idea, owners, layouts: fn(&Compaction) -> Vec<Layout>| {
        Variant::gpu(name, idea, move |p: &Compaction, call: OnGpu<'_>| {
            let outputs = [&call.outputs[0], &call.outputs[1]];
            let scratch = [&call.scratch[0], &call.scratch[1], &call.scratch[2]];
            let Ok(words) = u32::try_from(p.len) else {
                return Err(Failure::Unsupported(format!("{} words", p.len)));
            };
            classic::compact(call.gpu, owners, &call.inputs[0], words, outputs, scratch)
        })
        .scratch(layouts)
    };
    vec![
        of(
            "InK-Compact",
            "cubes; every unit counts the bits before its own",
            Owners::CubesBits,
            |p| layouts(Owners::CubesBits, p),
        )
        .source("112.3 ms structured, 112.8 random"),
        of(
            "Spataro",
            "cubes; every unit adds up the planes before its own",
            Owners::CubesEveryUnit,
            |p| layouts(Owners::CubesEveryUnit, p),
        )
        .source("3.6 ms"),
        of(
            "Orange Owls",
            "cubes; one unit adds up the planes",
            Owners::CubesOneUnit,
            |p| layouts(Owners::CubesOneUnit, p),
        )
        .source("2.6 ms"),
        of(
            "Billeter, Olsson, Assarsson",
            "480 planes, a sequence of pairs for each",
            BILLETER,
            |p| layouts(BILLETER, p),
        )
        .source("1.3 ms structured, 1.4 random"),
        of(
            "modernised",
            "512 planes, a sequence of quads for each",
            MODERN,
            |p| layouts(MODERN, p),
        )
        .source("1.29 ms random"),
        of(
            "modernised 8192",
            "8 192 planes, a sequence of quads for each",
            LARGE,
            |p| layouts(LARGE, p),
        ),
    ]
}

const BILLETER: Owners = Owners::Planes(480, 2);
const MODERN: Owners = Owners::Planes(512, 4);
const LARGE: Owners = Owners::Planes(8_192, 4);

fn layouts(owners: Owners, problem: &Compaction) -> Vec<Layout> {
    classic::scratch(owners, problem.len)
        .map(Layout::of::<u32>)
        .into()
}
