//! A design made ready to run: its nodes with what is kept of each.
//!
//! Nodes that compute the same samples are one step (value numbering): of the same kind and size, with the same children
//! in the same places. So a subtree that is written twice is computed as one that is defined once and used twice.
//! Tables of the same entries are one table, and a picture is one plane however many nodes show it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use relief_design::tree::{Canvas, Child, Conversion, Design, Node, Place, Role};
use relief_kernels::mesh::Index;
use relief_raster::{Depth, Extent, Period, Rect};
use relief_vector::Drawing;
use relief_vector::mesh::Solid;

use crate::Error;
use crate::drawings::{Drawings, SlowDrawing};
#[cfg(feature = "gpu")]
use crate::node::device::Lowering;
use crate::node::{Link, Ready, Request, Resources};
use crate::nodes::Kind;

/// The deepest nesting of nodes that is computed. Evaluation recurses once a level.
pub const MAX_NESTING: usize = 256;

/// What is kept of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Nothing: it is computed straight into its parent's tile.
    No,
    /// The part of a picture that is read.
    Image,
    /// Tiles of a picture that is read window by window, as long as the cache has room.
    Windows,
    /// One cell of it, with its top-left at that of `valid`; outside `valid` it is computed.
    Cell { period: Period, valid: Rect },
    /// All of it that is read.
    Whole,
    /// Tiles of it, as long as the cache has room.
    Cached,
}

impl Keep {
    /// Whether tiles of the node are in the cache.
    pub(crate) const fn is_cached(self) -> bool {
        matches!(self, Self::Cached | Self::Windows)
    }
}

/// A picture that a design names, by one conversion.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    pub(crate) path: Arc<str>,
    pub(crate) conversion: Conversion,
    pub(crate) width: u64,
    pub(crate) height: u64,
    /// Whether it can be read window by window.
    pub(crate) windowed: bool,
    /// The most bytes that reading it holds.
    pub(crate) memory: u64,
    /// The bytes that it holds as long as it is open.
    pub(crate) resident: u64,
    /// The part that its nodes read, in its own coordinates; empty for a picture that none reads, or that is read window by window.
    pub(crate) held: Rect,
    /// Whether it stays open, to be read window by window.
    pub(crate) open: bool,
}

/// The picture of an `image`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    /// The number of the picture.
    pub(crate) picture: usize,
    /// The picture in its own coordinates, which are those of the node.
    pub(crate) whole: Rect,
    /// What is held of the picture, for all its nodes.
    pub(crate) held: Rect,
}

/// One node of the program.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) kind: Kind,
    pub(crate) name: &'static str,
    pub(crate) links: Vec<Link>,
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) place: Place,
    /// The number in the design of the first node that it computes.
    pub(crate) node: usize,
    /// The picture of an `image`.
    pub(crate) image: Option<Shown>,
    pub(crate) keep: Keep,
    /// The samples that are ever read, in the node's own coordinates; empty for a node that is not read.
    pub(crate) need: Rect,
    /// Whether the host computes it for devices, whatever its kind can do.
    #[cfg(feature = "gpu")]
    pub(crate) on_host: bool,
}

impl Step {
    /// How devices compute it.
    #[cfg(feature = "gpu")]
    pub(crate) fn lowering(&self) -> Lowering {
        if self.on_host || self.keep == Keep::Windows {
            Lowering::Host
        } else {
            self.kind.lowering()
        }
    }

    /// The node in its own coordinates.
    pub(crate) fn own(&self) -> Rect {
        Rect::sized(self.width, self.height)
    }

    /// All samples that may differ from 0 and would be kept of an image or of a whole node.
    pub(crate) fn stored(&self) -> Rect {
        match &self.image {
            Some(shown) => self.own().intersection(&shown.whole),
            None => self.own(),
        }
    }

    /// The samples that are kept in a plane. Of an image they may be more than are read: those that other nodes read of
    /// the same picture.
    pub(crate) fn plane(&self) -> Rect {
        match self.keep {
            Keep::Image if self.need.is_empty() => Rect::EMPTY,
            Keep::Image => self
                .image
                .map_or(Rect::EMPTY, |shown| shown.held.intersection(&self.stored())),
            Keep::Whole => self.need,
            Keep::Cell { period, valid } => {
                let (width, height) = (period.a().cast_signed(), period.c().cast_signed());
                Rect::between(valid.x(), valid.y(), valid.x() + width, valid.y() + height)
            }
            Keep::No | Keep::Cached | Keep::Windows => Rect::EMPTY,
        }
    }

    /// Whether all samples of `rect` are those of what is kept of the node.
    pub(crate) fn holds(&self, rect: Rect) -> bool {
        match self.keep {
            Keep::Cell { valid, .. } => valid.contains(&rect),
            Keep::Whole => self.need.contains(&rect),
            Keep::No | Keep::Image | Keep::Windows | Keep::Cached => false,
        }
    }

    /// Whether samples outside the kept cell are read and so computed.
    pub(crate) fn has_border(&self) -> bool {
        match self.keep {
            Keep::Cell { valid, .. } => !valid.contains(&self.need),
            _ => false,
        }
    }
}

/// All nodes, children before parents; the root stands last.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) canvas: Canvas,
    pub(crate) steps: Vec<Step>,
    /// The step of every node of the design, by the number of the node.
    pub(crate) places: Vec<usize>,
    /// Whether single samples of nodes are asked for, also of those below a node of which a cell is kept.
    pub(crate) probed: bool,
    pub(crate) pictures: Vec<Picture>,
    pub(crate) tables: Vec<Arc<[u16]>>,
    /// Columns and rows of a cached tile.
    pub(crate) cached: (u64, u64),
    /// Levels from the root to the deepest node.
    pub(crate) nesting: usize,
    /// The bytes of the design: its nodes, their tables and drawings as it holds them, and the indices of those.
    pub(crate) design_bytes: u64,
    /// Of the fonts that it was read with.
    pub(crate) font_bytes: u64,
    pub(crate) slow: Vec<SlowDrawing>,
    /// The most buffers that a kernel which computes nodes may name.
    #[cfg(feature = "gpu")]
    pub(crate) buffers: usize,
}

/// Which nodes that compute the same samples become one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merge {
    /// All of them.
    Equal,
    /// Those that show pictures. A device computes for each band all that lies between the parts which are read of a
    /// node: of one that is read in places far apart that is more than two nodes would take.
    #[cfg_attr(not(feature = "gpu"), allow(dead_code))]
    Pictures,
}

/// What makes two nodes the same.
#[derive(PartialEq, Eq, Hash)]
struct Value {
    kind: Kind,
    links: Vec<Link>,
    width: u64,
    height: u64,
}

/// Makes the steps of a program.
struct Numbering<'d> {
    drawings: &'d mut Drawings,
    merge: Merge,
    steps: Vec<Step>,
    /// The levels below each step, itself included.
    depths: Vec<usize>,
    values: HashMap<Value, usize>,
    pictures: Vec<Picture>,
    by_name: HashMap<(bool, Arc<str>), Vec<usize>>,
    /// Whether nodes are those of a second design, and the pictures that are others there under the same name.
    other: bool,
    apart: HashSet<Arc<str>>,
    tables: Vec<Arc<[u16]>>,
    by_entries: HashMap<Arc<[u16]>, usize>,
    /// Tables that the design holds, which are looked at once each. None that ends earlier may be here: another would get its place.
    by_place: HashMap<*const u16, usize>,
    table_bytes: u64,
}

impl<'d> Numbering<'d> {
    fn new(nodes: usize, merge: Merge, drawings: &'d mut Drawings) -> Self {
        Self {
            drawings,
            merge,
            steps: Vec::with_capacity(nodes),
            depths: Vec::with_capacity(nodes),
            values: HashMap::new(),
            pictures: Vec::new(),
            by_name: HashMap::new(),
            other: false,
            apart: HashSet::new(),
            tables: Vec::new(),
            by_entries: HashMap::new(),
            by_place: HashMap::new(),
            table_bytes: 0,
        }
    }

    /// The number of a table with these entries, and whether it is new.
    fn numbered(&mut self, entries: &Arc<[u16]>) -> (usize, bool) {
        if let Some(number) = self.by_entries.get(entries) {
            return (*number, false);
        }
        let number = self.tables.len();
        self.tables.push(Arc::clone(entries));
        self.by_entries.insert(Arc::clone(entries), number);
        (number, true)
    }

    /// The step of a node with these children: a new one, or one that computes the same samples. The root is always new,
    /// because it has to stand last.
    fn step(&mut self, (number, node): (usize, &Node), links: Vec<Link>, root: bool) -> Result<usize, Error> {
        let kind = Kind::new(node, self)?;
        let image = kind.picture().map(|picture| {
            let Picture { width, height, .. } = self.pictures[picture];
            Shown {
                picture,
                whole: Rect::sized(width, height),
                held: Rect::EMPTY,
            }
        });
        let value = Value {
            kind,
            links,
            width: node.width,
            height: node.height,
        };
        let merged = self.merge == Merge::Equal || image.is_some();
        if let (Some(step), true, false) = (self.values.get(&value), merged, root) {
            return Ok(*step);
        }
        let depth = 1 + value
            .links
            .iter()
            .map(|link| self.depths[link.node])
            .max()
            .unwrap_or(0);
        if depth > MAX_NESTING {
            return Err(Error::TooDeep {
                depth,
                limit: MAX_NESTING,
            });
        }
        let index = self.steps.len();
        self.depths.push(depth);
        self.steps.push(Step {
            kind: value.kind.clone(),
            name: node.kind.name(),
            links: value.links.clone(),
            width: node.width,
            height: node.height,
            place: node.place,
            node: number,
            image,
            keep: Keep::No,
            need: Rect::EMPTY,
            #[cfg(feature = "gpu")]
            on_host: false,
        });
        self.values.insert(value, index);
        Ok(index)
    }

    /// Makes the steps of all nodes of a design. Which step is which node, and how many children there are. Nodes that
    /// [divide](crate::node::Node::divides) and have more than `layers` children become nodes of nodes.
    fn nodes(&mut self, design: &Design, layers: usize) -> Result<(Vec<usize>, usize), Error> {
        let mut places = Vec::with_capacity(design.nodes().len());
        let mut children = 0;
        for (number, node) in design.nodes().iter().enumerate() {
            children += node.children.len();
            let mut links: Vec<Link> = node
                .children
                .iter()
                .map(|child| Link {
                    node: places[child.node.0],
                    role: child.role,
                    extent: child.extent,
                })
                .collect();
            let whole = Extent::new(0, 0, node.width, node.height);
            let divides = links.len() > layers && Kind::new(node, self)?.divides();
            while let (Some(extent), true, true) = (whole, divides, links.len() > layers) {
                // The first children, as a node of their own.
                let rest = links.split_off(layers);
                links = vec![Link {
                    node: self.step((number, node), links, false)?,
                    role: Role::Base,
                    extent,
                }];
                links.extend(rest);
            }
            let root = number + 1 == design.nodes().len();
            places.push(self.step((number, node), links, root)?);
        }
        Ok((places, children))
    }
}

impl Resources for Numbering<'_> {
    fn depth(&self) -> Depth {
        self.drawings.depth()
    }

    fn drawing(&mut self, drawing: &Arc<Drawing>, place: Place) -> Result<(usize, Arc<Ready>), Error> {
        self.drawings.get(drawing, place)
    }

    fn mesh(&mut self, solid: &Arc<Solid>, place: Place) -> Result<(usize, Arc<Index>), Error> {
        self.drawings.mesh(solid, place)
    }

    fn table(&mut self, entries: &Arc<[u16]>) -> usize {
        if let Some(number) = self.by_place.get(&entries.as_ptr()) {
            return *number;
        }
        self.table_bytes = self.table_bytes.saturating_add(2 * entries.len() as u64);
        let number = self.numbered(entries).0;
        self.by_place.insert(entries.as_ptr(), number);
        number
    }

    fn made_table(&mut self, entries: Vec<u16>) -> usize {
        let bytes = 2 * entries.len() as u64;
        let (number, is_new) = self.numbered(&entries.into());
        if is_new {
            self.table_bytes = self.table_bytes.saturating_add(bytes);
        }
        number
    }

    fn picture(&mut self, path: &Arc<str>, conversion: Conversion, (width, height): (u64, u64)) -> usize {
        let named = self
            .by_name
            .entry((self.other && self.apart.contains(path), Arc::clone(path)))
            .or_default();
        let same = |number: &&usize| {
            let picture = &self.pictures[**number];
            picture.conversion == conversion && (picture.width, picture.height) == (width, height)
        };
        named.iter().find(same).copied().unwrap_or_else(|| {
            named.push(self.pictures.len());
            self.pictures.push(Picture {
                path: Arc::clone(path),
                conversion,
                width,
                height,
                windowed: false,
                memory: 0,
                resident: 0,
                held: Rect::EMPTY,
                open: false,
            });
            self.pictures.len() - 1
        })
    }
}

impl Program {
    /// The nodes of a design, nothing kept yet. Nodes that [divide](crate::node::Node::divides) and have more than `layers`
    /// children become nodes of nodes.
    pub(crate) fn new(
        design: &Design,
        layers: usize,
        merge: Merge,
        drawings: &mut Drawings,
    ) -> Result<Self, Error> {
        let mut numbering = Numbering::new(design.nodes().len(), merge, drawings);
        let (places, children) = numbering.nodes(design, layers)?;
        let nodes = size_of_val(design.nodes()) + children * size_of::<Child>();
        Ok(Self {
            canvas: design.canvas(),
            nesting: numbering.depths.last().copied().unwrap_or(0),
            steps: numbering.steps,
            places,
            probed: false,
            pictures: numbering.pictures,
            tables: numbering.tables,
            cached: (1, 1),
            design_bytes: (nodes as u64)
                .saturating_add(numbering.table_bytes)
                .saturating_add(numbering.drawings.bytes()),
            font_bytes: design.font_bytes(),
            slow: numbering.drawings.slow().to_vec(),
            #[cfg(feature = "gpu")]
            buffers: usize::MAX,
        })
    }

    /// The nodes of two designs of one depth, in which equal nodes of both are one step, but for their roots, and the steps of
    /// the roots. `apart` are the pictures that are others in the second design.
    pub(crate) fn of_two(
        designs: (&Design, &Design),
        apart: HashSet<Arc<str>>,
        drawings: &mut Drawings,
    ) -> Result<(Vec<Step>, usize, usize), Error> {
        let count = designs.0.nodes().len() + designs.1.nodes().len();
        let mut numbering = Numbering::new(count, Merge::Equal, drawings);
        numbering.nodes(designs.0, usize::MAX)?;
        let first = numbering.steps.len() - 1;
        (numbering.other, numbering.apart) = (true, apart);
        numbering.nodes(designs.1, usize::MAX)?;
        let second = numbering.steps.len() - 1;
        Ok((numbering.steps, first, second))
    }

    /// The bytes of all steps.
    pub(crate) fn bytes(&self) -> u64 {
        let links: usize = self.steps.iter().map(|step| step.links.len()).sum();
        (self.steps.len() * size_of::<Step>()
            + self.places.len() * size_of::<usize>()
            + links * size_of::<Link>()) as u64
    }

    /// Tells every picture, and every node that shows it, what is read of it by all of them. Of those that can be read window
    /// by window no more than `budget` bytes are held.
    pub(crate) fn hold_pictures(&mut self, budget: u64) {
        for picture in &mut self.pictures {
            picture.held = Rect::EMPTY;
            picture.open = false;
        }
        for step in &self.steps {
            if let Some(shown) = &step.image {
                let held = &mut self.pictures[shown.picture].held;
                *held = held.union(&step.need.intersection(&step.stored()));
            }
        }
        let mut left = u128::from(budget / self.canvas.depth.bytes());
        for picture in &mut self.pictures {
            let samples = picture.held.area();
            if picture.windowed && samples > left {
                picture.held = Rect::EMPTY;
                picture.open = true;
            } else if picture.windowed {
                left -= samples;
            }
        }
        for step in &mut self.steps {
            if let Some(shown) = &mut step.image {
                let picture = &self.pictures[shown.picture];
                shown.held = picture.held;
                if picture.open {
                    step.keep = Keep::Windows;
                    step.image = None;
                }
            }
        }
    }

    /// The number of the root.
    pub(crate) fn root(&self) -> usize {
        self.steps.len() - 1
    }

    /// Whether all samples of a node other than 0 are kept, from its top-left on.
    pub(crate) fn keeps_pattern(&self, node: usize) -> bool {
        let step = &self.steps[node];
        let stored = step.stored();
        matches!(step.keep, Keep::Whole | Keep::Image)
            && step.plane() == stored
            && (stored.x(), stored.y()) == (0, 0)
    }

    /// The greatest tile that is cached of a node.
    pub(crate) fn cached_tile(&self, node: usize) -> Request {
        let step = &self.steps[node];
        Request {
            width: self.cached.0.min(step.width),
            height: self.cached.1.min(step.height),
        }
    }
}
