//! The samples of a model, each computed from the definition of its node alone.
//!
//! A node is a function of a pixel; it is remembered what it gave, because a pixel of a mask is asked for by many.

use std::collections::HashMap;
use std::rc::Rc;

use super::model::{Item, Model, Picture};
use super::nodes::{Kind, Use};

/// Nodes of at most this area remember their samples in a table, larger ones by pixel.
pub(super) const DENSE: u64 = 1 << 16;

/// The samples of a model.
pub(crate) struct Oracle<'m> {
    model: &'m Model,
    nodes: Vec<Node<'m>>,
    /// Definitions that were used, by number, whether as a pattern, and size of the parent's frame.
    used: HashMap<(usize, bool, u64, u64), usize>,
    root: usize,
}

struct Node<'m> {
    width: u64,
    height: u64,
    kind: &'m Kind,
    /// The nodes of the children, in order, with their places.
    children: Vec<Placed>,
    memory: Memory,
    /// What the node found out once about a whole child.
    whole: Option<Rc<[(i64, i64)]>>,
}

#[derive(Clone, Copy)]
struct Placed {
    node: usize,
    x: i64,
    y: i64,
}

enum Memory {
    Dense(Vec<Option<u16>>),
    Sparse(HashMap<(i64, i64), u16>),
}

impl Memory {
    fn new(width: u64, height: u64) -> Self {
        match width.checked_mul(height) {
            Some(area) if area <= DENSE => Self::Dense(vec![None; area as usize]),
            _ => Self::Sparse(HashMap::new()),
        }
    }
}

impl<'m> Oracle<'m> {
    pub(crate) fn new(model: &'m Model) -> Self {
        let mut oracle = Self {
            model,
            nodes: Vec::new(),
            used: HashMap::new(),
            root: 0,
        };
        oracle.root = oracle.add(&model.root, (model.width, model.height));
        oracle
    }

    /// The samples of a window of the canvas, row by row.
    pub(crate) fn window(&mut self, x: i64, y: i64, width: u64, height: u64) -> Vec<u16> {
        let rows = y..y + height as i64;
        let root = self.root;
        rows.flat_map(|y| (x..x + width as i64).map(move |x| (x, y)))
            .map(|(x, y)| self.sample(root, x, y))
            .collect()
    }

    /// All samples of the canvas.
    pub(crate) fn raster(&mut self) -> Vec<u16> {
        self.window(0, 0, self.model.width, self.model.height)
    }

    fn add(&mut self, kind: &'m Kind, size: (u64, u64)) -> usize {
        let frame = kind.frame(size);
        let children = kind
            .children()
            .into_iter()
            .map(|(role, item)| self.place(role, item, frame))
            .collect();
        self.nodes.push(Node {
            width: size.0,
            height: size.1,
            kind,
            children,
            memory: Memory::new(size.0, size.1),
            whole: None,
        });
        self.nodes.len() - 1
    }

    /// A child of a parent whose frame has this size.
    fn place(&mut self, role: &str, item: &'m Item, frame: (u64, u64)) -> Placed {
        let model = self.model;
        let (x, y) = model.offset(item);
        let node = match item.kind {
            Kind::Use(Use(number)) => {
                let key = (number, role == "pattern", frame.0, frame.1);
                match self.used.get(&key) {
                    Some(node) => *node,
                    None => {
                        let node = self.place(role, &model.definitions[number], frame).node;
                        self.used.insert(key, node);
                        node
                    }
                }
            }
            _ => {
                let size = model
                    .size(role, item, Some(frame))
                    .expect("the parent has a size");
                self.add(&item.kind, size)
            }
        };
        Placed { node, x, y }
    }

    /// Sample (x, y) of a node, in its own coordinates.
    fn sample(&mut self, node: usize, x: i64, y: i64) -> u16 {
        let (width, height) = (self.nodes[node].width, self.nodes[node].height);
        if x < 0 || y < 0 || x as u64 >= width || y as u64 >= height {
            return 0;
        }
        let known = match &self.nodes[node].memory {
            Memory::Dense(table) => table[(y as u64 * width + x as u64) as usize],
            Memory::Sparse(map) => map.get(&(x, y)).copied(),
        };
        if let Some(sample) = known {
            return sample;
        }
        let kind = self.nodes[node].kind;
        let sample = kind.sample(&mut At {
            oracle: self,
            node,
            x,
            y,
        });
        match &mut self.nodes[node].memory {
            Memory::Dense(table) => table[(y as u64 * width + x as u64) as usize] = Some(sample),
            Memory::Sparse(map) => {
                map.insert((x, y), sample);
            }
        }
        sample
    }
}

/// A pixel of a node, with all that its sample may depend on.
pub(crate) struct At<'o, 'm> {
    oracle: &'o mut Oracle<'m>,
    node: usize,
    pub(super) x: i64,
    pub(super) y: i64,
}

impl<'m> At<'_, 'm> {
    /// M.
    pub(super) fn max(&self) -> u16 {
        self.oracle.model.max
    }

    /// Columns and rows of the node.
    pub(super) fn size(&self) -> (i64, i64) {
        let node = &self.oracle.nodes[self.node];
        (node.width as i64, node.height as i64)
    }

    /// Columns and rows of a child.
    pub(super) fn child_size(&self, index: usize) -> (i64, i64) {
        let node = &self.oracle.nodes[self.oracle.nodes[self.node].children[index].node];
        (node.width as i64, node.height as i64)
    }

    /// Where a child begins.
    pub(super) fn child_offset(&self, index: usize) -> (i64, i64) {
        let placed = self.oracle.nodes[self.node].children[index];
        (placed.x, placed.y)
    }

    pub(super) fn picture(&self, number: usize) -> &'m Picture {
        &self.oracle.model.pictures[number]
    }

    /// What a child holds at (x, y) of the node.
    pub(super) fn child(&mut self, index: usize, x: i64, y: i64) -> u16 {
        let (left, top) = self.child_offset(index);
        self.within_child(index, x - left, y - top)
    }

    /// What a child holds at (x, y) of its own.
    pub(super) fn within_child(&mut self, index: usize, x: i64, y: i64) -> u16 {
        let node = self.oracle.nodes[self.node].children[index].node;
        self.oracle.sample(node, x, y)
    }

    /// What the node knows of a whole child: computed at its first pixel, the same for all.
    pub(super) fn whole(&mut self, find: impl FnOnce(&mut Self) -> Vec<(i64, i64)>) -> Rc<[(i64, i64)]> {
        if let Some(known) = &self.oracle.nodes[self.node].whole {
            return Rc::clone(known);
        }
        let found: Rc<[(i64, i64)]> = find(self).into();
        self.oracle.nodes[self.node].whole = Some(Rc::clone(&found));
        found
    }
}
