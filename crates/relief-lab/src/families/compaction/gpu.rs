//! The variants on devices.

use relief_kernels::policy::Tuning;
use relief_kernels::select::gpu::{
    Elements, Order, Output, Route, Selection, Wanted, default, name, scratch_words, select_with, space,
};

use super::Compaction;
use crate::array::{Kind, Layout};
use crate::family::{OnGpu, Outcome, Variant};

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
            "look-back wide and ahead; three phases where waiting is not safe",
            |p: &Compaction, call: OnGpu<'_>| {
                by_route(p, &call, call.tuning, Route::fitting(call.gpu.report()))
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
