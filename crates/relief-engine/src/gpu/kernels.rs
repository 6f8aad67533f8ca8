//! Nodes that a kernel of their own computes.

use relief_kernels::device::{Buffer, Gpu};
use relief_raster::{Depth, Rect, Sample};

use super::Failure;
use super::stages::{Builder, Ready};
use crate::Error;
use crate::nodes::distance::Distance;
use crate::nodes::lattice::Lattice;
use crate::program::Step;

/// The samples `need` of a distance.
pub(super) fn distance<S: Sample>(
    _gpu: &Gpu,
    _builder: &Builder<'_>,
    _step: &Step,
    _distance: &Distance,
    need: Rect,
    _buffer: Buffer,
    _scratch: Option<&Buffer>,
) -> Result<Ready, Failure> {
    Err(Error::defect(need, "not yet").into())
}

/// The samples `need` of a lattice whose cell is not kept.
pub(super) fn lattice<S: Sample>(
    _gpu: &Gpu,
    _builder: &Builder<'_>,
    _step: &Step,
    _lattice: &Lattice,
    need: Rect,
    _buffer: Buffer,
) -> Result<Ready, Failure> {
    Err(Error::defect(need, "not yet").into())
}

/// The words of scratch that a distance of this size needs.
pub(super) fn distance_scratch(_distance: &Distance, _width: u64, _height: u64, _depth: Depth) -> u64 {
    0
}
