//! From the program to device work for one band: which nodes become planes on the device, and the expressions of
//! everything between them.
//!
//! A node becomes a plane where a halo reads it (the mask of a distance), where a kernel of its own computes it
//! (distance, direct lattice, a repeat without a cell), and where several nodes read it. Everything else is fused into
//! its readers.

use std::collections::BTreeSet;

use relief_kernels::distance::gpu::Profile;
use relief_kernels::fused::{Expression, Plane, Table};
use relief_kernels::lattice;
use relief_raster::{Period, Rect, Sample};

use super::store::{Resident, Residents};
use crate::Error;
use crate::keep::LARGEST_CELL;
use crate::nodes::{Kind, Link};
use crate::program::{Keep, Program, Step};

/// Which nodes are computed into planes for every band.
pub(crate) fn materialised(program: &Program) -> Vec<bool> {
    let mut planes = vec![false; program.steps.len()];
    for (index, step) in program.steps.iter().enumerate() {
        if step.need.is_empty() {
            continue;
        }
        let own_kernel = matches!(step.kind, Kind::Distance(_) | Kind::Lattice(_) | Kind::Repeat(_));
        let kept = lies_there(program, index);
        planes[index] |= !kept && (own_kernel || step.keep == Keep::Cached);
        if own_kernel && !kept {
            needs_plane(program, &mut planes, step.links[0].node);
        }
    }
    divide(program, &mut planes);
    planes
}

/// Turns nodes into planes where a fused kernel would else name more buffers than it may: of the children of a node those
/// that name most of them.
fn divide(program: &Program, planes: &mut [bool]) {
    // What readers of a node name for it. A plane may be named twice: by words and by vectors of them.
    let mut named: Vec<BTreeSet<(usize, Named)>> = Vec::with_capacity(program.steps.len());
    let plane = |node: usize| BTreeSet::from([(node, Named::Plane), (node, Named::Again)]);
    for (index, step) in program.steps.iter().enumerate() {
        if step.need.is_empty() {
            named.push(BTreeSet::new());
            continue;
        }
        let all = |named: &[BTreeSet<(usize, Named)>]| -> BTreeSet<(usize, Named)> {
            let mut all: BTreeSet<_> = step
                .links
                .iter()
                .flat_map(|link| named[link.node].iter().copied())
                .collect();
            all.extend(step.table.as_ref().map(|_| (index, Named::Table)));
            if matches!(step.keep, Keep::Cell { .. }) {
                all.insert((index, Named::Plane));
            }
            all
        };
        let mut own = if lies_there(program, index) {
            plane(index)
        } else {
            all(&named)
        };
        while own.len() > program.buffers && !lies_there(program, index) {
            let most = step.links.iter().max_by_key(|link| named[link.node].len());
            let Some(child) = most.map(|link| link.node).filter(|child| named[*child].len() > 2) else {
                break;
            };
            planes[child] = true;
            named[child] = plane(child);
            own = all(&named);
        }
        named.push(if planes[index] { plane(index) } else { own });
    }
}

/// Why a node takes a buffer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Named {
    Plane,
    Again,
    Table,
}

/// Whether all samples that are ever read of a node lie on the device from the start.
fn lies_there(program: &Program, index: usize) -> bool {
    let step = &program.steps[index];
    match step.keep {
        Keep::Image | Keep::Whole => true,
        Keep::Cell { .. } => !step.has_border(),
        Keep::No | Keep::Cached => cell_of_repeat(program, index).is_some(),
    }
}

/// Which nodes a device ever reads: of what lies there from the start, nothing below is.
pub(super) fn reached(program: &Program) -> Vec<bool> {
    let mut reached = vec![false; program.steps.len()];
    reached[program.root()] = true;
    for (index, step) in program.steps.iter().enumerate().rev() {
        if step.need.is_empty() {
            reached[index] = false;
        }
        if reached[index] && !lies_there(program, index) {
            for link in &step.links {
                reached[link.node] = true;
            }
        }
    }
    reached
}

/// The cell of a repeat that is made of its kept pattern, with 0 up to the step. `None` for other nodes, and for a
/// cell that is mostly gap and too large: copies are then looked for, as those of a lattice.
pub(super) fn cell_of_repeat(program: &Program, index: usize) -> Option<Period> {
    let step = &program.steps[index];
    let Kind::Repeat(repeat) = &step.kind else {
        return None;
    };
    let pattern = step.links[0].node;
    let largest = LARGEST_CELL.max(2 * program.steps[pattern].stored().area());
    let made = matches!(step.keep, Keep::No | Keep::Cached) && program.keeps_pattern(pattern);
    Period::grid(repeat.step_x, repeat.step_y).filter(|period| made && period.cell() <= largest)
}

/// A kernel reads this node from a plane: it becomes one, unless it is kept as one.
fn needs_plane(program: &Program, planes: &mut [bool], node: usize) {
    planes[node] |= !matches!(program.steps[node].keep, Keep::Image | Keep::Whole);
}

/// Refuses lattices that are computed copy by copy and exceed the numbers of a device.
pub(super) fn check_lattices(program: &Program) -> Result<(), Error> {
    for (index, step) in program.steps.iter().enumerate() {
        let Kind::Lattice(node) = &step.kind else { continue };
        if step.need.is_empty() || lies_there(program, index) {
            continue;
        }
        let pattern = program.steps[step.links[0].node].stored();
        let size = (pattern.width(), pattern.height());
        if let Err(reason) = lattice::gpu::check(size, node.blend(), node.u, node.v) {
            return Err(Error::Unsupported {
                what: format!("the lattice of line {}: {reason}", step.place.line),
                advice: "give the job more to keep, if its cell fits, or compute on the cpu".to_owned(),
            });
        }
    }
    Ok(())
}

/// The samples of every node that a band reads, in the node's own coordinates.
pub(super) fn needs(program: &Program, band: Rect) -> Vec<Rect> {
    let mut needs = vec![Rect::EMPTY; program.steps.len()];
    needs[program.root()] = band;
    for (index, step) in program.steps.iter().enumerate().rev() {
        let need = needs[index];
        let kept = match step.keep {
            Keep::Cell { valid, .. } => valid.contains(&need),
            Keep::Image | Keep::Whole => true,
            Keep::No | Keep::Cached => cell_of_repeat(program, index).is_some(),
        };
        if need.is_empty() || kept {
            continue;
        }
        for (number, link) in step.links.iter().enumerate() {
            let reads = step.kind.reads(link, number, need);
            needs[link.node] = crate::keep::union(needs[link.node], reads);
        }
    }
    needs
}

/// How far beyond the band, in its own coordinates, a node is read along one axis.
#[derive(Clone, Copy, Debug, Default)]
struct Reach {
    /// From the first pixel of the band to the first that is read, at most.
    from: i64,
    /// From the last pixel of the band to the last that is read, at least.
    to: i64,
    /// Whether it is read wherever the band lies.
    everywhere: bool,
}

impl Reach {
    /// What a child at `offset` is asked for.
    fn below(self, offset: i64, halo: u32) -> Self {
        Self {
            from: self.from.saturating_sub(offset).saturating_sub(halo.into()),
            to: self.to.saturating_sub(offset).saturating_add(halo.into()),
            everywhere: self.everywhere,
        }
    }

    /// The least that holds both.
    fn union(self, other: Self) -> Self {
        Self {
            from: self.from.min(other.from),
            to: self.to.max(other.to),
            everywhere: self.everywhere || other.everywhere,
        }
    }

    /// The most pixels read for a band of `side`, of `all` that are ever read.
    fn side(self, side: u64, all: u64) -> u64 {
        if self.everywhere {
            return all;
        }
        side.saturating_add(self.to.abs_diff(self.from)).min(all)
    }
}

/// The most columns and rows of every node that a band of this size reads. Readers at different offsets are served by
/// one plane that holds what all of them read, and what lies between.
pub(crate) fn most(program: &Program, width: u64, height: u64) -> Vec<(u64, u64)> {
    let mut reaches: Vec<Option<(Reach, Reach)>> = vec![None; program.steps.len()];
    reaches[program.root()] = Some(Default::default());
    for (index, step) in program.steps.iter().enumerate().rev() {
        let Some((across, down)) = reaches[index] else {
            continue;
        };
        if step.need.is_empty() || lies_there(program, index) {
            continue;
        }
        for (number, link) in step.links.iter().enumerate() {
            let halo = step.kind.halo(number);
            let everywhere = matches!(step.kind, Kind::Repeat(_) | Kind::Lattice(_));
            let below = |reach: Reach, offset: i64| {
                let below = reach.below(offset, halo);
                Reach {
                    everywhere: everywhere || below.everywhere,
                    ..below
                }
            };
            let read = (below(across, link.extent.x()), below(down, link.extent.y()));
            let so_far = reaches[link.node].unwrap_or(read);
            reaches[link.node] = Some((so_far.0.union(read.0), so_far.1.union(read.1)));
        }
    }
    let size = |(reach, step): (&Option<(Reach, Reach)>, &Step)| {
        reach.map_or((0, 0), |(across, down)| {
            (
                across.side(width, step.need.width()),
                down.side(height, step.need.height()),
            )
        })
    };
    reaches.iter().zip(&program.steps).map(size).collect()
}

/// How often the expression of every node that is computed into a plane, and of the root, names a disc.
pub(crate) fn discs(program: &Program, materialised: &[bool]) -> Vec<u64> {
    let mut discs = vec![0_u64; program.steps.len()];
    for (index, step) in program.steps.iter().enumerate() {
        let fused = |node: usize| !materialised[node] && !lies_there(program, node);
        discs[index] = match &step.kind {
            Kind::Disc(_) => 1,
            _ if lies_there(program, index) => 0,
            _ => step
                .links
                .iter()
                .filter(|link| fused(link.node))
                .fold(0, |sum, link| sum.saturating_add(discs[link.node])),
        };
    }
    discs
}

/// What of a node is known on a device before the kernel that reads it runs.
#[derive(Clone)]
pub(crate) enum Ready {
    /// All samples that are read are this one.
    Constant(u16),
    /// They lie in a plane.
    Plane(Plane),
}

/// Which samples a node may be said to be without having a plane, by what reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spared {
    /// Any.
    Any,
    /// 0: a distance knows what an empty mask gives.
    Zero,
    /// None: a kernel reads its plane.
    Never,
}

/// For every node, whether it needs a plane if all its samples are the same.
pub(super) fn spared(program: &Program) -> Vec<Spared> {
    let mut spared = vec![Spared::Any; program.steps.len()];
    for step in &program.steps {
        for link in &step.links {
            let by_this = match step.kind {
                Kind::Distance(_) => Spared::Zero,
                Kind::Lattice(_) | Kind::Repeat(_) => Spared::Never,
                _ => Spared::Any,
            };
            let so_far = &mut spared[link.node];
            *so_far = match (*so_far, by_this) {
                (Spared::Never, _) | (_, Spared::Never) => Spared::Never,
                (Spared::Zero, _) | (_, Spared::Zero) => Spared::Zero,
                (Spared::Any, Spared::Any) => Spared::Any,
            };
        }
    }
    spared
}

/// Builds the expressions of one band.
pub(crate) struct Builder<'a> {
    pub(super) program: &'a Program,
    pub(super) residents: &'a Residents,
    pub(super) needs: &'a [Rect],
    /// What is computed of this band already, by node.
    pub(super) ready: &'a [Option<Ready>],
}

impl Builder<'_> {
    /// A child in its parent's coordinates, 0 outside its extent.
    pub(crate) fn read(&self, link: &Link) -> Result<Expression, Error> {
        let extent = link.extent;
        Ok(Expression::Placed {
            x: extent.x(),
            y: extent.y(),
            width: extent.width(),
            height: extent.height(),
            source: Box::new(self.node(link.node)?),
        })
    }

    /// A node in its own coordinates.
    pub(crate) fn node(&self, index: usize) -> Result<Expression, Error> {
        let need = self.needs[index];
        if need.is_empty() {
            // The band does not reach it: nothing of it was computed, and outside its extent it is 0.
            return Ok(Expression::Constant(0));
        }
        match &self.ready[index] {
            Some(Ready::Constant(value)) => return Ok(Expression::Constant(*value)),
            Some(Ready::Plane(plane)) => {
                return Ok(Expression::Plane {
                    plane: plane.clone(),
                    x: need.x(),
                    y: need.y(),
                });
            }
            None => {}
        }
        match &self.residents.planes[index] {
            Some(resident) if self.is_kept(index) => Ok(match resident {
                Resident::Uniform(value) => Expression::Constant(*value),
                Resident::Cell(cell, x, y) => Expression::Cell {
                    cell: cell.clone(),
                    x: *x,
                    y: *y,
                },
                Resident::Plane(plane, rect) => Expression::Plane {
                    plane: plane.clone(),
                    x: rect.x(),
                    y: rect.y(),
                },
            }),
            _ => {
                let step = &self.program.steps[index];
                if step.image.is_some() && step.plane().is_empty() {
                    // Only the padding of the picture is read.
                    return Ok(Expression::Constant(0));
                }
                step.kind.expression(self, &step.links)
            }
        }
    }

    /// Whether what is kept of a node holds all samples that the band reads.
    pub(super) fn is_kept(&self, index: usize) -> bool {
        match self.program.steps[index].keep {
            Keep::Cell { valid, .. } => valid.contains(&self.needs[index]),
            _ => self.residents.planes[index].is_some(),
        }
    }

    /// The sample that all of a node is where the band reads it, if that is seen without computing it: marks far from
    /// each other leave most of a sheet so.
    pub(super) fn constant<S: Sample>(&self, index: usize) -> Result<Option<u16>, Error> {
        let (need, step) = (self.needs[index], &self.program.steps[index]);
        let constant = match &step.kind {
            Kind::Distance(distance) if !self.is_kept(index) => {
                let mask = self
                    .read(&step.links[0])?
                    .constant::<S>(need.grown(distance.radius));
                mask.filter(|value| *value == S::ZERO).map(|_| distance.beyond)
            }
            Kind::Lattice(_) | Kind::Repeat(_) if !self.is_kept(index) => None,
            _ => self.node(index)?.constant::<S>(need).map(Sample::to_u16),
        };
        Ok(constant)
    }

    /// Samples of a node that lie in a plane, and which they are; `None` where none is read.
    pub(super) fn plane(&self, index: usize) -> Option<(Plane, Rect)> {
        match (&self.ready[index], &self.residents.planes[index]) {
            (Some(Ready::Plane(plane)), _) => Some((plane.clone(), self.needs[index])),
            (None, Some(Resident::Plane(plane, rect))) => Some((plane.clone(), *rect)),
            _ => None,
        }
    }

    /// The profile of a distance.
    pub(super) fn profile(&self, index: usize) -> Result<&Profile, Error> {
        let missing = || Error::defect(Rect::EMPTY, "a profile is not on the device");
        self.residents.profiles[index].as_ref().ok_or_else(missing)
    }

    /// The table of a node.
    pub(crate) fn table(&self, index: usize) -> Result<Table, Error> {
        self.residents.tables[index]
            .clone()
            .ok_or_else(|| Error::defect(Rect::EMPTY, "a table is not on the device"))
    }
}
