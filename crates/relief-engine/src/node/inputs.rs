//! What a node kind is given: the samples of its children, tables and pictures.

use std::sync::Arc;

use relief_design::tree::{Conversion, Place};
use relief_kernels::{coverage, mesh::Index};
use relief_raster::{Depth, Rect, Sample, View, ViewMut};
use relief_vector::Drawing;
use relief_vector::mesh::Solid;

use super::{Filled, Periodic};
use crate::Error;

/// A drawing that is ready to be computed.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) index: coverage::Index,
    /// Where it repeats.
    pub(crate) period: Option<Periodic>,
}

/// Answers what nodes hold, from wherever the plan keeps it.
pub(crate) trait Inputs<S: Sample> {
    /// Samples of `rect`, which lies inside the node and is given in its own coordinates, into `out`, which has
    /// its size.
    fn read(
        &self,
        node: usize,
        rect: Rect,
        out: ViewMut<'_, S>,
        scratch: &mut [u64],
    ) -> Result<Filled<S>, Error>;

    /// All samples of a node other than 0, if they are kept: a view from its top-left, with 0 beyond it.
    fn kept(&self, node: usize) -> Option<View<'_, S>>;

    /// The part of a picture that holds `rect`; `None` where it is not kept.
    fn picture_part(&self, picture: usize, rect: Rect) -> Option<View<'_, S>>;

    /// A table of the design.
    fn table(&self, number: usize) -> &[S];

    /// The table that the preparation of this node gave.
    fn prepared(&self) -> Result<&[S], Error>;

    /// Stops where the job was cancelled.
    fn check(&self) -> Result<(), Error>;
}

/// Numbers what nodes of a program share.
pub(crate) trait Resources {
    /// The number of a table that the design holds; tables of the same entries are one.
    fn table(&mut self, entries: &Arc<[u16]>) -> usize;

    /// As [`table`](Self::table), of one that a node has made, which the program then holds.
    fn made_table(&mut self, entries: Vec<u16>) -> usize;

    /// The number of a picture of so many columns and rows.
    fn picture(&mut self, path: &Arc<str>, conversion: Conversion, size: (u64, u64)) -> usize;

    /// The depth of all samples.
    fn depth(&self) -> Depth;

    /// The number and the index of the drawing of the node at this place; equal drawings are one.
    ///
    /// # Errors
    /// Where its edges cannot be sorted: too many, too far out, or copies too close together.
    fn drawing(&mut self, drawing: &Arc<Drawing>, place: Place) -> Result<(usize, Arc<Ready>), Error>;

    /// The number and the index of the mesh of the node at this place; equal meshes are one.
    ///
    /// # Errors
    /// Where its triangles lie too far out.
    fn mesh(&mut self, solid: &Arc<Solid>, place: Place) -> Result<(usize, Arc<Index>), Error>;
}

/// Samples of either depth.
#[cfg_attr(not(feature = "gpu"), allow(dead_code))]
#[derive(Clone, Copy, Debug)]
pub(crate) enum SamplesOf<'a> {
    /// 8 bits.
    Eight(&'a [u8]),
    /// 16 bits.
    Sixteen(&'a [u16]),
}
