//! What is worth keeping: the part of the planner that looks at the tree.
//!
//! Nodes are looked at from the root down, with the samples that are ever read of each. A node that repeats keeps
//! one cell, if it is read more often than it has samples; a pattern that is copied is kept as far as it is read; a node
//! that several tiles would compute again is cached; every other node is computed straight into its parent's tile.

use relief_raster::{Period, Rect};

use crate::node::{Link, Periodic};
use crate::program::{Keep, Program};

/// A node that takes fewer operations a sample than this is not cached: reading a tile back costs as much.
const WORTH_CACHING: u64 = 6;

/// A cell is kept where so many times its samples are read.
const WORTH_A_CELL: u128 = 2;

/// The most samples of one cell: making it must not delay the first band.
pub(crate) const LARGEST_CELL: u128 = 1 << 24;

/// Decides what is kept, for reading `region` of the root, with at most `budget` bytes for cells and whole nodes.
pub(crate) fn decide(program: &mut Program, region: Rect, budget: u64) {
    let bytes = u128::from(program.canvas.depth.bytes());
    let periods = periods(program);
    let (costs, halos) = (costs(program), halos(program));
    let count = program.steps.len();
    let mut left = u128::from(budget);
    let mut readers = vec![0_u32; count];
    let mut copied = vec![false; count];
    let mut repeated_halo = vec![false; count];
    let mut counted = vec![false; count];
    let root = program.root();
    program.steps[root].need = region;

    for index in (0..count).rev() {
        if program.steps[index].need.is_empty() {
            continue;
        }
        let keep = if program.steps[index].image.is_some() {
            Keep::Image
        } else if let Some(cell) = cell(program, index, periods[index], counted[index], left / bytes) {
            left -= cell.period.cell() * bytes;
            Keep::Cell {
                period: cell.period,
                valid: cell.valid,
            }
        } else if copied[index] && costs[index] > 0 && program.steps[index].need.area() * bytes <= left {
            left -= program.steps[index].need.area() * bytes;
            Keep::Whole
        } else if costs[index] >= WORTH_CACHING
            && (readers[index] > 1 || copied[index] || repeated_halo[index])
        {
            Keep::Cached
        } else {
            Keep::No
        };
        program.steps[index].keep = keep;

        let step = &program.steps[index];
        let asked = match keep {
            Keep::Cell { .. } if !step.has_border() && !program.probed => step.plane(),
            Keep::Cell { .. } => step.need.union(&step.plane()),
            // Cached tiles are computed whole.
            Keep::Cached => step.own(),
            _ => step.need,
        };
        for (number, link) in step.links.clone().iter().enumerate() {
            let kind = &program.steps[index].kind;
            // Of what is prepared, the whole is looked at.
            let whole = number == 0 && kind.preparation().is_some();
            let asked = if whole { program.steps[index].own() } else { asked };
            counted[link.node] |= whole;
            let reads = kind.reads(link, number, asked);
            repeated_halo[link.node] |= kind.footprint(link, number).halo() > 0;
            copied[link.node] |= kind.copies(link, asked, halos[link.node]);
            if !reads.is_empty() {
                readers[link.node] += 1;
                let need = &mut program.steps[link.node].need;
                *need = need.union(&reads);
            }
        }
    }
    program.hold_pictures(budget);
}

/// The sum of the halos on the longest way below every node.
fn halos(program: &Program) -> Vec<u32> {
    let mut halos: Vec<u32> = Vec::with_capacity(program.steps.len());
    for step in &program.steps {
        let below = |(number, link): (usize, &Link)| {
            let halo = step.kind.footprint(link, number).halo();
            halo.saturating_add(halos[link.node])
        };
        halos.push(step.links.iter().enumerate().map(below).max().unwrap_or(0));
    }
    halos
}

/// How every node repeats.
pub(super) fn periods(program: &Program) -> Vec<Option<Periodic>> {
    let mut periods: Vec<Option<Periodic>> = Vec::with_capacity(program.steps.len());
    for step in &program.steps {
        let children: Vec<_> = step.links.iter().map(|link| periods[link.node]).collect();
        periods.push(step.kind.period(step.own(), &step.links, &children));
    }
    periods
}

/// Roughly how many operations a sample of every node takes, its children included.
fn costs(program: &Program) -> Vec<u64> {
    let mut costs: Vec<u64> = Vec::with_capacity(program.steps.len());
    for step in &program.steps {
        let children = step
            .links
            .iter()
            .fold(0_u64, |sum, link| sum.saturating_add(costs[link.node]));
        costs.push(children.saturating_add(step.kind.cost()));
    }
    costs
}

/// The cell to keep of a node, if one pays. Where the whole node is `counted`, it pays for any kind: its samples are then
/// counted once, with how often they stand there, however large the node is.
fn cell(
    program: &Program,
    index: usize,
    periodic: Option<Periodic>,
    counted: bool,
    room: u128,
) -> Option<Periodic> {
    let step = &program.steps[index];
    let Periodic { period, valid } = periodic?;
    let picture = step
        .links
        .first()
        .is_some_and(|link| program.steps[link.node].image.is_some());
    if !counted && !step.kind.worth_a_cell(picture) {
        return None;
    }
    let fits = period.a() <= valid.width()
        && period.c() <= valid.height()
        && period.cell() <= room.min(LARGEST_CELL);
    // A cell that is never read is not made: what it would be made of need not be kept.
    let read = step.need.intersection(&valid).area();
    let pays = read >= WORTH_A_CELL * period.cell();
    // A raster of one sample is kept whatever its size: it makes whole tiles uniform.
    (fits && (pays || (period == Period::ONE && read > 0))).then_some(Periodic { period, valid })
}
