//! What a plan says of its nodes.

use relief_design::tree::Role;
use relief_raster::Rect;

use super::{Plan, saturate};
use crate::program::Keep;

/// What the plan does with a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kept {
    /// Nothing is kept: it is computed straight into the tile of its parent.
    Nothing,
    /// The part of a picture that is read.
    Picture,
    /// Tiles of a picture that is read window by window, in the cache.
    Windows {
        /// Columns of a cached tile.
        columns: u64,
        /// Rows of a cached tile.
        rows: u64,
    },
    /// One cell of `columns` × `rows` samples of a node that repeats.
    Cell {
        /// Columns of the cell.
        columns: u64,
        /// Rows of the cell.
        rows: u64,
    },
    /// All of it that is read.
    Whole,
    /// Tiles, in the cache.
    Tiles {
        /// Columns of a cached tile.
        columns: u64,
        /// Rows of a cached tile.
        rows: u64,
    },
    /// It is never read.
    Unused,
}

/// A node of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedNode {
    /// Its kind, as the design says it.
    pub kind: &'static str,
    /// The line of the design where it stands.
    pub line: u32,
    /// Columns.
    pub width: u64,
    /// Rows.
    pub height: u64,
    /// The samples that are ever read, in its own coordinates.
    pub read: Rect,
    /// What is kept of it.
    pub kept: Kept,
    /// The bytes kept for the whole job. A picture that several nodes show counts once, as the first one's.
    pub bytes: u64,
    /// Where GPUs compute: the bytes of it, at most, that the host computes for each band and copies to the GPU of the band. 0 where
    /// only nodes that the host computes read it. `None` where the host does not compute it for each band, and where there is no GPU.
    pub by_host: Option<u64>,
    /// What it reads: role, number of the node, offset, halo.
    pub children: Vec<PlannedChild>,
}

/// A child in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedChild {
    /// What it is for.
    pub role: Role,
    /// Its number in [`Plan::nodes`].
    pub node: usize,
    /// Its horizontal offset in the parent.
    pub x: i64,
    /// Its vertical offset in the parent.
    pub y: i64,
    /// How far beyond a tile it is read.
    pub halo: u32,
}

impl Plan {
    /// All nodes, children before parents; the root stands last.
    #[must_use]
    pub fn nodes(&self) -> Vec<PlannedNode> {
        let bytes = self.depth().bytes();
        // A picture counts as the first node's that shows it.
        let mut counted = vec![false; self.program.pictures.len()];
        let mut held = |index: usize| {
            let step = &self.program.steps[index];
            match step.image {
                Some(_) if step.need.is_empty() => Rect::EMPTY,
                Some(shown) if std::mem::replace(&mut counted[shown.picture], true) => Rect::EMPTY,
                Some(shown) => shown.held,
                None => step.plane(),
            }
        };
        let by_host = self.by_host();
        let describe = |index: usize| {
            let step = &self.program.steps[index];
            let tile = self.program.cached_tile(index);
            PlannedNode {
                kind: step.name,
                line: step.place.line,
                width: step.width,
                height: step.height,
                read: step.need,
                kept: match step.keep {
                    _ if step.need.is_empty() => Kept::Unused,
                    Keep::No => Kept::Nothing,
                    Keep::Image => Kept::Picture,
                    Keep::Windows => Kept::Windows {
                        columns: tile.width,
                        rows: tile.height,
                    },
                    Keep::Cell { period, .. } => Kept::Cell {
                        columns: period.a(),
                        rows: period.c(),
                    },
                    Keep::Whole => Kept::Whole,
                    Keep::Cached => Kept::Tiles {
                        columns: tile.width,
                        rows: tile.height,
                    },
                },
                bytes: saturate(held(index).area()).saturating_mul(bytes),
                by_host: by_host.get(index).copied().flatten(),
                children: step
                    .links
                    .iter()
                    .enumerate()
                    .map(|(number, link)| PlannedChild {
                        role: link.role,
                        node: link.node,
                        x: link.extent.x(),
                        y: link.extent.y(),
                        halo: step.kind.footprint(link, number).halo(),
                    })
                    .collect(),
            }
        };
        (0..self.program.steps.len()).map(describe).collect()
    }

    /// As [`PlannedNode::by_host`] of every node; empty where there is no GPU.
    #[cfg(feature = "gpu")]
    fn by_host(&self) -> Vec<Option<u64>> {
        let Some(device) = &self.device else {
            return Vec::new();
        };
        // A GPU gets the planes of a strip once, for `strip` bands of its own.
        let rows = super::devices::strip_rows(self.shape, device.strip, device.ids.len() as u64);
        let words = super::planes::by_host(&self.program, self.shape.band_width, rows).into_iter();
        words
            .map(|words| words.map(|words| words.saturating_mul(4).div_ceil(device.strip)))
            .collect()
    }

    #[cfg(not(feature = "gpu"))]
    #[allow(clippy::unused_self)]
    const fn by_host(&self) -> Vec<Option<u64>> {
        Vec::new()
    }
}
