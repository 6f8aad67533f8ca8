//! Nodes that a kernel of their own computes.

use relief_kernels::device::{Buffer, DeviceReport, Gpu};
use relief_kernels::distance;
use relief_kernels::fused::{self, Expression};
use relief_kernels::lattice::{self, Blend};
use relief_raster::{Rect, Sample};

use super::Failure;
use super::stages::Builder;
use crate::Error;
use crate::nodes::lattice::Lattice;
use crate::nodes::repeat::Repeat;
use crate::program::Step;

/// The samples `need` of the distance that is node `index`.
pub(super) fn distance<S: Sample>(
    gpu: &Gpu,
    builder: &Builder<'_>,
    index: usize,
    step: &Step,
    beyond: u16,
    need: Rect,
    (scratch, buffer, pitch): (Option<&Buffer>, &Buffer, u32),
) -> Result<(), Failure> {
    let link = &step.links[0];
    let Some((mask, rect)) = builder.plane(link.node) else {
        // No part of the mask lies within reach.
        return Ok(fused::render(
            gpu,
            &Expression::Constant(beyond),
            S::DEPTH,
            step.need,
            need,
            buffer,
            pitch,
        )?);
    };
    let profile = builder.profile(index)?;
    let place = (link.extent.x() + rect.x(), link.extent.y() + rect.y());
    Ok(distance::gpu::render(
        gpu, scratch, &mask, place, profile, need, buffer, pitch,
    )?)
}

/// The samples `need` of a lattice whose cell is not kept.
pub(super) fn lattice(
    gpu: &Gpu,
    builder: &Builder<'_>,
    step: &Step,
    node: &Lattice,
    need: Rect,
    (buffer, pitch): (&Buffer, u32),
) -> Result<(), Failure> {
    let link = &step.links[0];
    let Some((pattern, rect)) = builder.plane(link.node) else {
        return nothing(gpu, builder, (step, link.node), need, (buffer, pitch));
    };
    let lattice = lattice::gpu::Lattice {
        pattern,
        blend: node.blend(),
        offset: (link.extent.x() + rect.x(), link.extent.y() + rect.y()),
        u: node.u,
        v: node.v,
    };
    Ok(lattice::gpu::render(gpu, &lattice, need, buffer, pitch)?)
}

/// The samples `need` of a repeat whose cell does not lie on the device: copies that do not overlap, of which each
/// pixel has the greatest sample.
pub(super) fn repeat(
    gpu: &Gpu,
    builder: &Builder<'_>,
    step: &Step,
    node: &Repeat,
    need: Rect,
    (buffer, pitch): (&Buffer, u32),
) -> Result<(), Failure> {
    let link = &step.links[0];
    let Some((pattern, rect)) = builder.plane(link.node) else {
        return nothing(gpu, builder, (step, link.node), need, (buffer, pitch));
    };
    let (width, height) = (u64::from(pattern.width()), u64::from(pattern.height()));
    let place = (link.extent.x() + rect.x(), link.extent.y() + rect.y());
    let (step_x, x) = nearest(node.step_x, place.0, width, (need.x(), need.right()));
    let (step_y, y) = nearest(node.step_y, place.1, height, (need.y(), need.bottom()));
    let lattice = lattice::gpu::Lattice {
        pattern,
        blend: Blend::Max,
        offset: (x, y),
        u: (step_x, 0),
        v: (0, step_y),
    };
    Ok(lattice::gpu::render(gpu, &lattice, need, buffer, pitch)?)
}

/// The samples `need` of copies of the pattern `child`, none of which meets them.
fn nothing(
    gpu: &Gpu,
    builder: &Builder<'_>,
    (step, child): (&Step, usize),
    need: Rect,
    (buffer, pitch): (&Buffer, u32),
) -> Result<(), Failure> {
    let pattern = &builder.program.steps[child];
    let padding = pattern.image.is_some() && pattern.plane().is_empty();
    if !builder.needs[child].is_empty() && !padding {
        return Err(Error::defect(need, "the pattern of copies is not on the device").into());
    }
    let zero = Expression::Constant(0);
    Ok(fused::render(
        gpu,
        &zero,
        builder.program.canvas.depth,
        step.need,
        need,
        buffer,
        pitch,
    )?)
}

/// A step and an offset with the same copies of `length` pixels between `from` and `to` along one axis. Where at most
/// one of them is there, the step is no longer than it has to be: that of the design may exceed 32 bits.
fn nearest(step: u64, offset: i64, length: u64, (from, to): (i64, i64)) -> (i64, i64) {
    let (step, length) = (step.cast_signed(), length.cast_signed());
    let enough = to - from + length;
    if step <= enough {
        return (step, offset);
    }
    let last = offset + (to - 1 - offset).div_euclid(step) * step;
    (enough, last.max(from - length))
}

/// The words of scratch that a distance of this size takes on a device.
pub(super) fn distance_scratch(report: &DeviceReport, radius: u32, width: u64, height: u64) -> u64 {
    let sides = u32::try_from(width).ok().zip(u32::try_from(height).ok());
    let bytes = |(width, height)| distance::gpu::scratch_bytes(report, width, height, radius);
    sides.and_then(bytes).map_or(u64::MAX, |bytes| bytes.div_ceil(4))
}
