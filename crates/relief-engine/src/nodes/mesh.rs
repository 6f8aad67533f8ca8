//! `mesh`: of all triangles above a pixel the highest.
//!
//! Triangles are sorted once into an index, which equal meshes share and the plan counts with the design. Devices get the samples from
//! the CPU, which sees to it that tiles without a triangle, or within one that is level, cost nothing.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use relief_design::{kinds, tree};
use relief_kernels::mesh::{Index, cpu};
use relief_raster::{Depth, Rect, Sample, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::device::Lowering;
use crate::node::{Bounds, Filled, Inputs, Known, Link, Node, Resources, Summary, Tile};

#[derive(Clone, Debug)]
pub(crate) struct Mesh {
    /// The number of the mesh: equal meshes have one.
    number: usize,
    /// Rows that it lies below the top of the node.
    down: i64,
    depth: Depth,
    index: Arc<Index>,
}

impl PartialEq for Mesh {
    fn eq(&self, other: &Self) -> bool {
        (self.number, self.down) == (other.number, other.down)
    }
}

impl Eq for Mesh {}

impl Hash for Mesh {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.number, self.down).hash(state);
    }
}

impl Mesh {
    fn within(&self, rect: Rect) -> Bounds {
        let rect = rect.translated(0, -self.down);
        let (least, greatest) = match self.depth {
            Depth::Eight => cpu::within::<u8>(&self.index, rect),
            Depth::Sixteen => cpu::within::<u16>(&self.index, rect),
        };
        Bounds { least, greatest }
    }
}

impl Node for Mesh {
    fn bounds(&self, _: &dyn Known, _: &[Link], rect: Rect) -> Bounds {
        self.within(rect)
    }

    fn summary(&self, _: &dyn Known, _: &[Link], rect: Rect) -> Option<Summary> {
        let Bounds { least, greatest } = self.within(rect);
        (least == greatest).then(|| Summary::constant(least, rect.area()))
    }

    fn cost(&self) -> u64 {
        16
    }

    #[cfg(feature = "gpu")]
    fn lowering(&self) -> Lowering {
        Lowering::Host
    }
}

impl Tile for Mesh {
    type Design = kinds::Mesh;

    fn new(kind: &kinds::Mesh, node: &tree::Node, resources: &mut dyn Resources) -> Result<Self, Error> {
        let depth = resources.depth();
        let (number, index) = resources.mesh(&kind.solid, node.place)?;
        Ok(Self {
            number,
            down: kind.down.cast_signed(),
            depth,
            index,
        })
    }

    fn tile<S: Sample>(
        &self,
        _: &dyn Inputs<S>,
        _: &[Link],
        rect: Rect,
        out: ViewMut<'_, S>,
        _: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        let filled = cpu::compute(&self.index, (rect.x(), rect.y() - self.down), out);
        Ok(filled.map_or(Filled::Written, Filled::Uniform))
    }
}
