//! The expressions of one band: what of the program is fused into one kernel.

use relief_kernels::fused::{Expression, Plane, Table};
use relief_raster::{Rect, Sample};

use super::store::{Resident, Residents};
use crate::Error;
use crate::node::Link;
use crate::node::device::{Lower, Lowering};
use crate::program::{Keep, Program};

/// What of a node is known on a device before the kernel that reads it runs.
#[derive(Clone)]
pub(crate) enum Ready {
    /// All samples that are read are this one.
    Constant(u16),
    /// They lie in a plane.
    Plane(Plane),
}

/// Builds the expressions of one band.
pub(crate) struct Builder<'a> {
    pub(super) program: &'a Program,
    pub(super) residents: &'a Residents,
    pub(super) needs: &'a [Rect],
    /// What is computed of this band already, by node.
    pub(super) ready: &'a [Option<Ready>],
}

/// What one node is given.
struct Scope<'b, 'a> {
    builder: &'b Builder<'a>,
    index: usize,
}

impl Lower for Scope<'_, '_> {
    fn read(&self, link: &Link) -> Result<Expression, Error> {
        let extent = link.extent;
        Ok(Expression::Placed {
            x: extent.x(),
            y: extent.y(),
            width: extent.width(),
            height: extent.height(),
            source: Box::new(self.builder.node(link.node)?),
        })
    }

    fn table(&self, number: usize) -> Result<Table, Error> {
        let missing = || Error::defect(Rect::EMPTY, "a table is not on the device");
        self.builder.residents.tables[number].clone().ok_or_else(missing)
    }

    fn prepared(&self) -> Result<Table, Error> {
        let missing = || Error::defect(Rect::EMPTY, "what was prepared is not on the device");
        self.builder.residents.prepared[self.index]
            .clone()
            .ok_or_else(missing)
    }
}

impl Builder<'_> {
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
                step.kind.expression(&Scope { builder: self, index }, &step.links)
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
        match step.lowering() {
            Lowering::Kernel if !self.is_kept(index) => {}
            Lowering::Host if !self.is_kept(index) => return Ok(None),
            _ => return Ok(self.node(index)?.constant::<S>(need).map(Sample::to_u16)),
        }
        let Some(constant) = step.kind.of_nothing() else {
            return Ok(None);
        };
        for (number, link) in step.links.iter().enumerate() {
            let reads = step.kind.reads(link, number, need);
            // Outside its extent a child is 0.
            if !reads.is_empty() && self.node(link.node)?.constant::<S>(reads) != Some(S::ZERO) {
                return Ok(None);
            }
        }
        Ok(Some(constant))
    }

    /// Samples of a node that lie in a plane, and which they are; `None` where all that is read of it is 0.
    pub(super) fn plane(&self, index: usize) -> Result<Option<(Plane, Rect)>, Error> {
        let (need, step) = (self.needs[index], &self.program.steps[index]);
        match (&self.ready[index], &self.residents.planes[index]) {
            (Some(Ready::Plane(plane)), _) => Ok(Some((plane.clone(), need))),
            (None, Some(Resident::Plane(plane, rect))) => Ok(Some((plane.clone(), *rect))),
            (Some(Ready::Constant(0)), _) => Ok(None),
            // Only the padding of a picture is read, or nothing.
            _ if need.is_empty() || (step.image.is_some() && step.plane().is_empty()) => Ok(None),
            _ => Err(Error::defect(need, "what a kernel reads is not in a plane")),
        }
    }
}
