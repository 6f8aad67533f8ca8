//! What is compiled into a kernel: the tree without its numbers.

use crate::fold::Fold;

use super::expression::Axis;

/// A tree; `at` is the place of a node's first number among the numbers of the launch, `slot` that of its buffer among
/// the buffers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Shape {
    Zero,
    Constant {
        at: usize,
    },
    Plane {
        at: usize,
        slot: usize,
    },
    Cell {
        at: usize,
        slot: usize,
        loads: Loads,
        sheared: bool,
    },
    Ramp {
        at: usize,
        axis: Axis,
    },
    Disc {
        at: usize,
    },
    Noise {
        at: usize,
    },
    Table {
        slot: usize,
        shared: Option<usize>,
        source: Box<Self>,
    },
    Threshold {
        at: usize,
        source: Box<Self>,
    },
    Fold {
        fold: Fold,
        below: Box<Self>,
        layer: Box<Self>,
    },
    Clip {
        at: usize,
        source: Box<Self>,
    },
    Mirror {
        at: usize,
        axis: Axis,
        source: Box<Self>,
    },
}

/// How the words of a periodic row are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Loads {
    /// Two words, shifted together.
    Funnel,
    /// One word of the copy that is shifted to match.
    Word,
    /// One vector of the copy that is shifted to match.
    Vector,
}

/// Everything that shapes a fused kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Plan {
    /// Bits of a sample: 8 or 16.
    pub(crate) bits: u32,
    /// Pixels from one word of a unit to its next.
    pub(crate) step: u32,
    /// Rows computed before the first of them is stored.
    pub(crate) unroll: u32,
    /// Copies of each table in shared memory, a power of two: units that read different entries at once then read
    /// different banks.
    pub(crate) lanes: u32,
    /// Units of a cube.
    pub(crate) units: u32,
    /// The buffers of the tables in shared memory.
    pub(crate) tables: Vec<usize>,
    pub(crate) shape: Shape,
}

impl Plan {
    /// Words of shared memory; never none, which a kernel cannot have.
    pub(crate) fn shared_words(&self) -> usize {
        (self.tables.len() * 256 * self.lanes as usize).max(1)
    }
}

/// Samples of `bits` bits in a word.
pub(crate) const fn per_word(bits: u32) -> u32 {
    32 / bits
}
