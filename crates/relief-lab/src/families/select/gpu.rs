//! The variants on devices.

use relief_kernels::policy::Tuning;
use relief_numeric::select::gpu::{
    Elements, Output, Route, Selection, Wanted, default, name, scratch_words, select_with, space,
};

mod classic;

use classic::Owners;

use super::Select;
use crate::array::{Kind, Layout};
use crate::family::{Failure, OnGpu, Outcome, Variant};

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
            move |p: &Select, call: OnGpu<'_>| {
                let route = Route::fitting(call.gpu.report());
                by_route(p, &call, call.tuning, route)
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
    Variant::gpu(name, idea, move |p: &Select, call: OnGpu<'_>| {
        by_route(p, &call, default(bits), route)
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

/// An implementation of the article.
struct Classic {
    name: &'static str,
    idea: &'static str,
    owners: Owners,
    scratch: fn(&Select) -> Vec<Layout>,
    source: Option<&'static str>,
}

const CLASSICS: [Classic; 6] = [
    Classic {
        name: "InK-Compact",
        idea: "cubes; every unit counts the bits before its own",
        owners: Owners::CubesBits,
        scratch: |p| layouts(Owners::CubesBits, p),
        source: Some("112.3 ms structured, 112.8 random"),
    },
    Classic {
        name: "Spataro",
        idea: "cubes; every unit adds up the planes before its own",
        owners: Owners::CubesEveryUnit,
        scratch: |p| layouts(Owners::CubesEveryUnit, p),
        source: Some("3.6 ms"),
    },
    Classic {
        name: "Orange Owls",
        idea: "cubes; one unit adds up the planes",
        owners: Owners::CubesOneUnit,
        scratch: |p| layouts(Owners::CubesOneUnit, p),
        source: Some("2.6 ms"),
    },
    Classic {
        name: "Billeter, Olsson, Assarsson",
        idea: "480 planes, a sequence of pairs for each",
        owners: BILLETER,
        scratch: |p| layouts(BILLETER, p),
        source: Some("1.3 ms structured, 1.4 random"),
    },
    Classic {
        name: "modernised",
        idea: "512 planes, a sequence of quads for each",
        owners: MODERN,
        scratch: |p| layouts(MODERN, p),
        source: Some("1.29 ms random"),
    },
    Classic {
        name: "modernised 8192",
        idea: "8 192 planes, a sequence of quads for each",
        owners: LARGE,
        scratch: |p| layouts(LARGE, p),
        source: None,
    },
];

impl Classic {
    fn variant(&self) -> Variant<Select> {
        let owners = self.owners;
        let run = move |p: &Select, call: OnGpu<'_>| {
            let outputs = [&call.outputs[0], &call.outputs[1]];
            let scratch = [&call.scratch[0], &call.scratch[1], &call.scratch[2]];
            let Ok(words) = u32::try_from(p.len) else {
                return Err(Failure::Unsupported(format!("{} words", p.len)));
            };
            classic::compact(call.gpu, owners, &call.inputs[0], words, outputs, scratch)
        };
        let variant = Variant::gpu(self.name, self.idea, run).scratch(self.scratch);
        match self.source {
            Some(figure) => variant.source(figure),
            None => variant,
        }
    }
}

/// The article's implementations.
pub(super) fn classics() -> Vec<Variant<Select>> {
    CLASSICS.iter().map(Classic::variant).collect()
}

const BILLETER: Owners = Owners::Planes(480, 2);
const MODERN: Owners = Owners::Planes(512, 4);
const LARGE: Owners = Owners::Planes(8_192, 4);

fn layouts(owners: Owners, problem: &Select) -> Vec<Layout> {
    classic::scratch(owners, problem.len)
        .map(Layout::of::<u32>)
        .into()
}
