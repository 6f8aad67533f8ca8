//! The variants on devices.

use relief_kernels::copy::gpu::fill;
use relief_kernels::device::Buffer;
use relief_kernels::policy::Tuning;
use relief_numeric::select::gpu::{
    Elements, Order, Output, Phase, Route, Selection, Wanted, default, name, phase, phase_tiles,
    scratch_words, select_with, space,
};

mod classic;

use classic::Owners;

use super::{Compaction, PROVEN, Phases, SPOILT, expect};
use crate::array::{Kind, Layout};
use crate::family::{Failure, OnGpu, Outcome, Variant};

pub(super) fn variants(kind: Kind) -> Vec<Variant<Compaction>> {
    let bits = 8 * kind.bytes() as u32;
    let of = |name, idea, route| by(name, idea, bits, route);
    let look_back = |reads, order| Route::LookBack {
        reads,
        order,
        glance: false,
    };
    let glance = |order| Route::LookBack {
        reads: 1,
        order,
        glance: true,
    };
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
        of(
            "look-back",
            "one pass; tiles learn from their predecessors where to write",
            look_back(1, Order::Ticket),
        ),
        of(
            "look-back in order",
            "tiles by the numbers of cubes, as CUB counts on: no counter to wait for",
            look_back(1, Order::Position),
        ),
        of(
            "look-back in order, glance",
            "states are first read through the caches; atomics read what is missing",
            glance(Order::Position),
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
        of("look-back ahead, glance", "both", glance(Order::Ahead)),
        Variant::gpu(
            "production",
            "look-back in order, glance; where waiting is not safe, three phases, of sequences on software",
            move |p: &Compaction, call: OnGpu<'_>| {
                let route = Route::fitting(call.gpu.report());
                by_route(p, &call, call.tuning, route)
            },
        )
        .scratch(scratch)
        .tuned(name(bits), space(bits), default(bits))
        .production(),
    ]
}

/// A variant by this route, with the usual layout.
fn by(name: &str, idea: &'static str, bits: u32, route: Route) -> Variant<Compaction> {
    Variant::gpu(name, idea, move |p: &Compaction, call: OnGpu<'_>| {
        by_route(p, &call, default(bits), route)
    })
    .scratch(scratch)
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

/// An implementation of the article.
struct Classic {
    name: &'static str,
    idea: &'static str,
    owners: Owners,
    scratch: fn(&Compaction) -> Vec<Layout>,
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
    /// All of it, or one phase.
    fn variant(&self, name: String, idea: &'static str, phase: Option<Phase>) -> Variant<Compaction> {
        let owners = self.owners;
        let run = move |p: &Compaction, call: OnGpu<'_>| {
            let outputs = [&call.outputs[0], &call.outputs[1]];
            let scratch = [&call.scratch[0], &call.scratch[1], &call.scratch[2]];
            let Ok(words) = u32::try_from(p.len) else {
                return Err(Failure::Unsupported(format!("{} words", p.len)));
            };
            classic::compact(call.gpu, owners, phase, &call.inputs[0], words, outputs, scratch)
        };
        Variant::gpu(name, idea, run).scratch(self.scratch)
    }

    fn whole(&self) -> Variant<Compaction> {
        let whole = self.variant(self.name.to_owned(), self.idea, None);
        match self.source {
            Some(figure) => whole.source(figure),
            None => whole,
        }
    }
}

/// The article's implementations.
pub(super) fn classics() -> Vec<Variant<Compaction>> {
    CLASSICS.iter().map(Classic::whole).collect()
}

/// What has phases, each followed by its phases.
pub(super) fn phases() -> Vec<Variant<Compaction>> {
    let mut all = Vec::new();
    for classic in &CLASSICS {
        all.push(classic.whole());
        all.extend(PHASES.map(|(phase, name, idea)| {
            let part = classic.variant(format!("{}: {name}", classic.name), idea, Some(phase));
            let owners = classic.owners;
            let proof = move |p: &Compaction, call: OnGpu<'_>| classic_is_right(p, &call, owners, phase);
            part.part_of(classic.whole()).proven_on_gpu(proof)
        }));
    }
    let whole = || {
        by(
            "three phases",
            "one launch counts, one adds up, one moves",
            32,
            Route::Phases,
        )
    };
    all.push(whole());
    all.extend(PHASES.map(|(which, name, idea)| {
        let run = move |p: &Compaction, call: OnGpu<'_>| {
            phase(call.gpu, default(32), which, &selection(p, &call))?;
            Ok(())
        };
        let proof = move |p: &Compaction, call: OnGpu<'_>| phase_is_right(p, &call, which);
        let part = Variant::gpu(format!("three phases: {name}"), idea, run).part_of(whole());
        part.proven_on_gpu(proof)
    }));
    all
}

/// Spoils what a phase leaves, and calls it alone.
fn classic_is_right(p: &Compaction, call: &OnGpu<'_>, owners: Owners, phase: Phase) -> Outcome {
    if p.len > PROVEN {
        return Ok(());
    }
    let each = owners.each(p.len as u32, call.gpu.report().plane.1);
    let count = owners.count(p.len as u32) as usize;
    let right = Phases::of(&read(call, &call.inputs[0], p.len)?, each as usize, count);
    let left = match phase {
        Phase::Count => &call.scratch[0],
        Phase::Prefix => &call.scratch[1],
        Phase::Move => &call.outputs[0],
    };
    spoil(call, left, right.left(phase).len())?;
    let outputs = [&call.outputs[0], &call.outputs[1]];
    let scratch = [&call.scratch[0], &call.scratch[1], &call.scratch[2]];
    let words = p.len as u32;
    classic::compact(
        call.gpu,
        owners,
        Some(phase),
        &call.inputs[0],
        words,
        outputs,
        scratch,
    )?;
    let found = read(call, left, right.left(phase).len())?;
    expect(of(phase), &found, right.left(phase))
}

/// The same for the phases of this crate's selection, whose places lie where counts were.
fn phase_is_right(p: &Compaction, call: &OnGpu<'_>, which: Phase) -> Outcome {
    if p.len > PROVEN {
        return Ok(());
    }
    let selection = selection(p, call);
    let tiles = phase_tiles(call.gpu, default(32), &selection)?;
    let words = read(call, &call.inputs[0], p.len)?;
    let right = Phases::of(&words, tiles.elements as usize, tiles.count as usize);
    let spoilt = match which {
        Phase::Count => Some(&tiles.numbers),
        Phase::Prefix => None,
        Phase::Move => Some(&call.outputs[0]),
    };
    if let Some(buffer) = spoilt {
        spoil(call, buffer, right.left(which).len())?;
    }
    let phase = |which| phase(call.gpu, default(32), which, &selection);
    if which == Phase::Prefix {
        phase(Phase::Count)?;
    }
    phase(which)?;
    let left = match which {
        Phase::Count | Phase::Prefix => &tiles.numbers,
        Phase::Move => &call.outputs[0],
    };
    let found = read(call, left, right.left(which).len())?;
    expect(of(which), &found, right.left(which))
}

impl Phases {
    fn left(&self, phase: Phase) -> &[u32] {
        match phase {
            Phase::Count => &self.counts,
            Phase::Prefix => &self.places,
            Phase::Move => &self.kept,
        }
    }
}

/// What one of the numbers is that a phase leaves.
const fn of(phase: Phase) -> &'static str {
    match phase {
        Phase::Count => "the count of owner",
        Phase::Prefix => "the place of owner",
        Phase::Move => "element",
    }
}

fn spoil(call: &OnGpu<'_>, buffer: &Buffer, words: usize) -> Outcome {
    if words > 0 {
        fill(call.gpu, buffer, words, u32::from_ne_bytes([SPOILT; 4]))?;
    }
    Ok(())
}

fn read(call: &OnGpu<'_>, buffer: &Buffer, words: usize) -> Outcome<Vec<u32>> {
    if words == 0 {
        return Ok(Vec::new());
    }
    let bytes = call.gpu.read(buffer, words).wait()?;
    Ok(bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|word| u32::from_le_bytes(*word))
        .collect())
}

/// Phases, what their rows are called, and what they do.
const PHASES: [(Phase, &str, &str); 3] = [
    (Phase::Count, "count", "how many each owner keeps"),
    (Phase::Prefix, "prefix", "how many those before it keep"),
    (Phase::Move, "move", "to its place"),
];

const BILLETER: Owners = Owners::Planes(480, 2);
const MODERN: Owners = Owners::Planes(512, 4);
const LARGE: Owners = Owners::Planes(8_192, 4);

fn layouts(owners: Owners, problem: &Compaction) -> Vec<Layout> {
    classic::scratch(owners, problem.len)
        .map(Layout::of::<u32>)
        .into()
}
