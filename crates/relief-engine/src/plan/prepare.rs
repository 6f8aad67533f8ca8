//! What is computed of whole sources before the first band.

use relief_raster::{Rect, Sample};

use crate::node::Counters;
use crate::program::{Keep, Program};

/// How the whole of a node's first child is gathered.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    /// Pixels of the node where the child is not: each counts as 0.
    pub(crate) outside: u128,
    /// The part that the cell kept of the child says, in the child's own coordinates.
    pub(crate) periodic: Option<Rect>,
    /// What is computed, in the child's own coordinates.
    pub(crate) computed: Vec<Rect>,
    /// The samples that are looked at.
    pub(crate) samples: u128,
}

impl Work {
    /// That of a node; `None` for one that is not prepared or never read.
    pub(crate) fn of(program: &Program, index: usize) -> Option<Self> {
        let step = &program.steps[index];
        let link = step.links.first()?;
        let preparation = step.kind.preparation()?;
        if step.need.is_empty() {
            return None;
        }
        let (own, child) = (step.own(), &program.steps[link.node]);
        let local = link.local(own);
        let mut work = Self {
            outside: own.area() - local.area(),
            periodic: None,
            computed: Vec::new(),
            samples: 0,
        };
        match child.keep {
            Keep::Cell { period, valid }
                if !preparation.is_placed() && !local.intersection(&valid).is_empty() =>
            {
                let inner = local.intersection(&valid);
                work.periodic = Some(inner);
                work.samples = period.cell();
                crate::node::around(local, inner, |rect| work.computed.push(rect));
            }
            _ if local.is_empty() => {}
            _ => work.computed.push(local),
        }
        work.samples += work.computed.iter().map(Rect::area).sum::<u128>();
        Some(work)
    }
}

/// The most bytes that preparing one node takes beside the scratch of its threads: tiles and counters of all of them.
pub(crate) fn memory(program: &Program, tile: (u64, u64), threads: u64) -> u64 {
    let depth = program.canvas.depth;
    let samples = tile.0.saturating_mul(tile.1).saturating_mul(depth.bytes());
    let counters = program
        .steps
        .iter()
        .filter(|step| !step.need.is_empty())
        .filter_map(|step| step.kind.preparation())
        .map(|preparation| (preparation.counters(depth) * size_of::<u128>()) as u64)
        .max();
    counters.map_or(0, |counters| {
        let each = counters.saturating_add(samples);
        // Those of the threads, and the sum.
        each.saturating_mul(threads.saturating_add(1))
    })
}

/// The samples of all tables that preparations give.
pub(crate) fn tables(program: &Program) -> u64 {
    let prepared = |index: &usize| Work::of(program, *index).is_some();
    let count = (0..program.steps.len()).filter(prepared).count() as u64;
    count * (u64::from(program.canvas.depth.max()) + 1)
}

/// Counters of nothing.
pub(crate) fn counters<S: Sample>(program: &Program, index: usize) -> Counters {
    let preparation = program.steps[index].kind.preparation();
    vec![0; preparation.map_or(0, |preparation| preparation.counters(S::DEPTH))]
}
