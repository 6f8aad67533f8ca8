//! The variants on devices.

use relief_kernels::policy::Tuning;
use relief_numeric::select::gpu::{
    Elements, Output, Route, Selection, Wanted, default, name, scratch_words, select_with, space,
};

mod classic;

use super::Select;
use crate::array::{Kind, Layout};
use crate::family::{OnGpu, Outcome, Variant};

pub(super) fn variants(kind: Kind) -> Vec<Variant<Select>> {
    let bits = 8 * kind.bytes() as u32;
    let of = |name, idea, route| by(name, idea, bits, route);
    vec![
        of(
            "three phases",
            "one launch counts, one adds up, one moves",
            Route::Phases,
        ),
        of(
            "sequences",
            "the same phases, a long sequence for each unit",
            Route::Sequences,
        ),
        Variant::gpu(
            "production",
            "one pass: tiles look back; where waiting is not safe, three phases, of sequences on software",
            move |p: &Select, call| {
                let route = Route::fitting(call.gpu.report());
                by_route(p, call, call.tuning, route)
            },
        )
        .scratch(scratch)
        .tuned(name(bits), space(bits), default(bits))
        .production(),
    ]
}

// rung: select on gpu: three phases = the tiles of `production`, whose places were added up by a launch before

/// A variant by this route, with the usual layout.
fn by(name: &str, idea: &'static str, bits: u32, route: Route) -> Variant<Select> {
    Variant::gpu(name, idea, move |p: &Select, call| {
        by_route(p, call, default(bits), route)
    })
    .scratch(scratch)
}

fn scratch(problem: &Select) -> Vec<Layout> {
    let bits = problem.kind.element().bits();
    vec![Layout::of::<u32>(scratch_words(bits, problem.len as u64) as usize)]
}

fn selection<'a>(problem: &Select, call: &'a OnGpu<'_>) -> Selection<'a> {
    Selection {
        from: Elements {
            buffer: &call.inputs[0],
            kind: problem.kind.element(),
            len: problem.len as u64,
        },
        wanted: Wanted::NonZero,
        output: Output::Values(&call.outputs[0]),
        count: &call.outputs[1],
        scratch: &call.scratch[0],
    }
}

fn by_route(problem: &Select, call: &OnGpu<'_>, tuning: Tuning, route: Route) -> Outcome {
    select_with(call.gpu, tuning, route, &selection(problem, call))?;
    Ok(())
}

/// The article's implementations.
pub(super) fn classics() -> Vec<Variant<Select>> {
    vec![
        classic::variant::<480, 2>(
            "Billeter, Olsson, Assarsson",
            "480 planes, a sequence of pairs for each",
        )
        .source("1.3 ms structured, 1.4 random"),
        classic::variant::<8_192, 4>("modernised 8192", "8 192 planes, a sequence of quads for each"),
    ]
}
