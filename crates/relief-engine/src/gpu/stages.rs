//! From the program to device work for one band: which nodes become planes on the device, and the expressions of
//! everything between them.
//!
//! A node becomes a plane where a halo reads it (the mask of a distance), where a kernel of its own computes it
//! (distance, direct lattice), and where several nodes read it. Everything else is fused into its readers.

use relief_kernels::device::Buffer;
use relief_kernels::distance::gpu::Profile;
use relief_kernels::fused::{Expression, Plane};
use relief_raster::Rect;

use super::store::{Resident, Residents};
use crate::Error;
use crate::nodes::{Kind, Link};
use crate::program::{Keep, Program};

/// Which nodes are computed into planes for every band.
pub(crate) fn materialised(program: &Program) -> Vec<bool> {
    let mut planes = vec![false; program.steps.len()];
    for (index, step) in program.steps.iter().enumerate() {
        if step.need.is_empty() {
            continue;
        }
        let own_kernel = matches!(step.kind, Kind::Distance(_) | Kind::Lattice(_));
        let kept = matches!(step.keep, Keep::Image | Keep::Whole)
            || matches!(step.keep, Keep::Cell { .. }) && !step.has_border();
        planes[index] |= (own_kernel && !kept) || step.keep == Keep::Cached;
        if own_kernel && !kept {
            needs_plane(program, &mut planes, step.links[0].node);
        }
    }
    planes
}

/// A kernel reads this node from a plane: it becomes one, unless it is kept as one.
fn needs_plane(program: &Program, planes: &mut [bool], node: usize) {
    planes[node] |= !matches!(program.steps[node].keep, Keep::Image | Keep::Whole);
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
            Keep::No | Keep::Cached => false,
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

/// The most columns and rows of every node that a band of this size reads.
pub(crate) fn most(program: &Program, width: u64, height: u64) -> Vec<(u64, u64)> {
    let mut sizes = vec![(0_u64, 0_u64); program.steps.len()];
    sizes[program.root()] = (width, height);
    for (index, step) in program.steps.iter().enumerate().rev() {
        let kept = matches!(step.keep, Keep::Image | Keep::Whole)
            || matches!(step.keep, Keep::Cell { .. }) && !step.has_border();
        if step.need.is_empty() || kept {
            continue;
        }
        let (width, height) = sizes[index];
        for (number, link) in step.links.iter().enumerate() {
            let halo = 2 * u64::from(step.kind.halo(number));
            let whole = matches!(step.kind, Kind::Repeat(_) | Kind::Lattice(_));
            let side = |asked: u64, child: u64| if whole { child } else { (asked + halo).min(child) };
            let child = &mut sizes[link.node];
            child.0 = child.0.max(side(width, link.extent.width()));
            child.1 = child.1.max(side(height, link.extent.height()));
        }
    }
    sizes
}

/// Builds the expressions of one band.
pub(crate) struct Builder<'a> {
    pub(super) program: &'a Program,
    pub(super) residents: &'a Residents,
    pub(super) needs: &'a [Rect],
    /// What is computed of this band already, by node.
    pub(super) ready: &'a [Option<Plane>],
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
        if let Some(plane) = &self.ready[index] {
            return Ok(Expression::Plane {
                plane: plane.clone(),
                x: need.x(),
                y: need.y(),
            });
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

    /// Samples of a node that lie in a plane, and which they are; `None` where none is read.
    pub(super) fn plane(&self, index: usize) -> Option<(Plane, Rect)> {
        match (&self.ready[index], &self.residents.planes[index]) {
            (Some(plane), _) => Some((plane.clone(), self.needs[index])),
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
    pub(crate) fn table(&self, index: usize) -> Result<Buffer, Error> {
        self.residents.tables[index]
            .clone()
            .ok_or_else(|| Error::defect(Rect::EMPTY, "a table is not on the device"))
    }
}
