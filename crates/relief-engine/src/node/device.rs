//! What a node kind is on a device.

use std::any::Any;

use relief_kernels::device::{Buffer, DeviceError, Gpu};
use relief_kernels::fused::{self, Expression, Plane, Table};
use relief_raster::{Depth, Rect};

use super::Link;
use crate::Error;

/// How a device computes a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lowering {
    /// As a part of the kernel that reads it.
    Fused,
    /// By a kernel of its own, from planes of its children into a plane.
    Kernel,
    /// By the CPU, into a plane that is copied to the device.
    Host,
}

/// Gives the expressions of what a fused node reads.
pub(crate) trait Lower {
    /// A child in its parent's coordinates, 0 outside its extent.
    fn read(&self, link: &Link) -> Result<Expression, Error>;

    /// A table of the design.
    fn table(&self, number: usize) -> Result<Table, Error>;

    /// The table that the preparation of this node gave.
    fn prepared(&self) -> Result<Table, Error>;
}

/// What a kind keeps on a device for its kernel.
pub(crate) type Upload = Box<dyn Any + Send + Sync>;

/// What the kernel of a node is given.
pub(crate) struct Launch<'a> {
    pub(crate) gpu: &'a Gpu,
    pub(crate) depth: Depth,
    /// The children by their links: a plane, and which samples it holds in the child's own coordinates. `None` where all
    /// that is read of a child is 0.
    pub(crate) children: Vec<Option<(Plane, Rect)>>,
    /// What [`Node::upload`](super::Node::upload) made.
    pub(crate) upload: Option<&'a Upload>,
    /// As many words as [`Node::device_scratch`](super::Node::device_scratch) said.
    pub(crate) scratch: Option<&'a Buffer>,
    /// All samples of the node that are ever read.
    pub(crate) whole: Rect,
    /// The samples to compute, in the node's own coordinates.
    pub(crate) need: Rect,
    /// Where to: rows of `pitch` words.
    pub(crate) out: &'a Buffer,
    pub(crate) pitch: u32,
}

impl Launch<'_> {
    /// What the kind keeps on the device.
    pub(crate) fn upload<T: 'static>(&self) -> Result<&T, Failure> {
        self.upload
            .and_then(|upload| upload.downcast_ref())
            .ok_or_else(|| Error::defect(self.need, "what a kernel reads is not on the device").into())
    }

    /// Writes one sample everywhere.
    pub(crate) fn fill(&self, sample: u16) -> Result<(), Failure> {
        self.render(&Expression::Constant(sample))
    }

    /// Writes what an expression is.
    pub(crate) fn render(&self, expression: &Expression) -> Result<(), Failure> {
        let (gpu, depth, out) = (self.gpu, self.depth, self.out);
        Ok(fused::render(
            gpu, expression, depth, self.whole, self.need, out, self.pitch,
        )?)
    }
}

/// Why a plane could not be computed.
#[derive(Debug)]
pub(crate) enum Failure {
    Device(DeviceError),
    Engine(Error),
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        Self::Device(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}
