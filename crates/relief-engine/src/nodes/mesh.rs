//! `mesh`: of all triangles above a pixel the highest.

use std::sync::Arc;

use relief_design::{kinds, tree};
use relief_kernels::mesh::{Index, cpu};
use relief_raster::{Rect, Sample, ViewMut};

use super::hosted::{Held, Hosted};
use crate::Error;
use crate::node::Resources;

pub(crate) type Mesh = Held<Triangles>;

#[derive(Clone, Debug)]
pub(crate) struct Triangles {
    /// The number of the mesh: equal meshes have one.
    number: usize,
    /// Rows that it lies below the top of the node.
    down: i64,
    index: Arc<Index>,
}

impl Hosted for Triangles {
    type Design = kinds::Mesh;
    type Key = (usize, i64);

    const IS_TALL: bool = true;

    fn new(kind: &kinds::Mesh, node: &tree::Node, resources: &mut dyn Resources) -> Result<Self, Error> {
        let (number, index) = resources.mesh(&kind.solid, node.place)?;
        Ok(Self {
            number,
            down: kind.down.cast_signed(),
            index,
        })
    }

    fn key(&self) -> Self::Key {
        (self.number, self.down)
    }

    fn cost(&self) -> u64 {
        16
    }

    fn within<S: Sample>(&self, rect: Rect) -> (u16, u16) {
        cpu::within::<S>(&self.index, rect.translated(0, -self.down))
    }

    fn compute<S: Sample>(
        &self,
        (x, y): (i64, i64),
        out: ViewMut<'_, S>,
        _: &mut [u64],
        _: &dyn Fn() -> bool,
    ) -> Option<S> {
        cpu::compute(&self.index, (x, y - self.down), out)
    }
}
