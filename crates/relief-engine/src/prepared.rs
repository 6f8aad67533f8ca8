//! What is known of whole sources before the first band.

use std::collections::BTreeMap;

use crate::progress::Progress;

/// Tables that nodes look samples up in which follow from the whole of their source, by the numbers of the nodes in the
/// design. They depend on the design and its pictures alone: not on the region, the device or the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    tables: BTreeMap<usize, Vec<u16>>,
}

impl Prepared {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// The table of a node.
    #[must_use]
    pub fn table(&self, node: usize) -> Option<&[u16]> {
        self.tables.get(&node).map(Vec::as_slice)
    }

    /// All tables, by the numbers of their nodes.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &[u16])> {
        self.tables.iter().map(|(node, table)| (*node, table.as_slice()))
    }
}

impl FromIterator<(usize, Vec<u16>)> for Prepared {
    fn from_iter<I: IntoIterator<Item = (usize, Vec<u16>)>>(tables: I) -> Self {
        Self {
            tables: tables.into_iter().collect(),
        }
    }
}

/// What a renderer starts from.
pub(crate) struct Start<'a> {
    pub(crate) prepared: Option<&'a Prepared>,
    /// Told how far preparations are.
    pub(crate) progress: &'a mut dyn FnMut(Progress),
}
