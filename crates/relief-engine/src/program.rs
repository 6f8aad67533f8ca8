//! A design made ready to run: its nodes with what is kept of each.

use std::sync::Arc;

use relief_design::tree::{Canvas, Conversion, Design, Kind as Meaning, Node, Place, Role};
use relief_raster::{Extent, Period, Rect};

use crate::Error;
use crate::nodes::{Kind, Link, Request};

/// The deepest nesting of nodes that is computed. Evaluation recurses once a level.
pub const MAX_NESTING: usize = 256;

/// What is kept of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Nothing: it is computed straight into its parent's tile.
    No,
    /// The part of a picture that is read.
    Image,
    /// One cell of it, with its top-left at that of `valid`; outside `valid` it is computed.
    Cell { period: Period, valid: Rect },
    /// All of it.
    Whole,
    /// Tiles of it, as long as the cache has room.
    Cached,
}

/// A picture that an `image` names.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    pub(crate) path: Arc<str>,
    pub(crate) conversion: Conversion,
    pub(crate) width: u64,
    pub(crate) height: u64,
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
    /// The picture of an `image`.
    pub(crate) image: Option<Picture>,
    /// The table of a `map` or the profile of a `distance`.
    pub(crate) table: Option<Arc<[u16]>>,
    pub(crate) keep: Keep,
    /// The samples that are ever read, in the node's own coordinates; empty for a node that is not read.
    pub(crate) need: Rect,
}

impl Step {
    /// The node in its own coordinates.
    pub(crate) fn own(&self) -> Rect {
        Rect::sized(self.width, self.height)
    }

    /// All samples that may differ from 0 and would be kept of an image or of a whole node.
    pub(crate) fn stored(&self) -> Rect {
        match &self.image {
            Some(picture) => self
                .own()
                .intersection(&Rect::sized(picture.width, picture.height)),
            None => self.own(),
        }
    }

    /// The samples that are kept in a plane.
    pub(crate) fn plane(&self) -> Rect {
        match self.keep {
            Keep::Image => self.need.intersection(&self.stored()),
            Keep::Whole => self.own(),
            Keep::Cell { period, valid } => {
                let (width, height) = (period.a().cast_signed(), period.c().cast_signed());
                Rect::between(valid.x(), valid.y(), valid.x() + width, valid.y() + height)
            }
            Keep::No | Keep::Cached => Rect::EMPTY,
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
    /// Columns and rows of a cached tile.
    pub(crate) cached: (u64, u64),
    /// Levels from the root to the deepest node.
    pub(crate) nesting: usize,
    /// The most buffers that a kernel which computes nodes may name.
    #[cfg(feature = "gpu")]
    pub(crate) buffers: usize,
}

/// The first children of a fold that has too many for one kernel, as a fold of its own.
fn fold(index: usize, node: &Node, links: Vec<Link>) -> Step {
    Step {
        kind: Kind::new(index, node),
        name: node.kind.name(),
        links,
        width: node.width,
        height: node.height,
        place: node.place,
        image: None,
        table: None,
        keep: Keep::No,
        need: Rect::EMPTY,
    }
}

/// The levels below the deepest of these children, itself included.
fn deepest(depths: &[usize], links: &[Link]) -> usize {
    links.iter().map(|link| depths[link.node]).max().unwrap_or(0)
}

impl Program {
    /// The nodes of a design, nothing kept yet. Folds of more than `layers` children become folds of folds.
    pub(crate) fn new(design: &Design, layers: usize) -> Result<Self, Error> {
        let mut depths = Vec::with_capacity(design.nodes.len());
        let mut steps: Vec<Step> = Vec::with_capacity(design.nodes.len());
        // Which step is which node of the design.
        let mut places = Vec::with_capacity(design.nodes.len());
        for node in &design.nodes {
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
            while let (Meaning::Compose, Some(extent), true) = (&node.kind, whole, links.len() > layers) {
                let rest = links.split_off(layers);
                let first = fold(steps.len(), node, links);
                depths.push(1 + deepest(&depths, &first.links));
                links = vec![Link {
                    node: steps.len(),
                    role: Role::Base,
                    extent,
                }];
                links.extend(rest);
                steps.push(first);
            }
            let index = steps.len();
            places.push(index);
            let depth = 1 + deepest(&depths, &links);
            if depth > MAX_NESTING {
                return Err(Error::TooDeep {
                    depth,
                    limit: MAX_NESTING,
                });
            }
            depths.push(depth);
            steps.push(Step {
                kind: Kind::new(index, node),
                name: node.kind.name(),
                links,
                width: node.width,
                height: node.height,
                place: node.place,
                image: match &node.kind {
                    Meaning::Image {
                        path,
                        conversion,
                        width,
                        height,
                    } => Some(Picture {
                        path: Arc::clone(path),
                        conversion: *conversion,
                        width: *width,
                        height: *height,
                    }),
                    _ => None,
                },
                table: match &node.kind {
                    Meaning::Map { table } => Some(Arc::clone(table)),
                    Meaning::Distance { profile, .. } => Some(Arc::clone(profile)),
                    _ => None,
                },
                keep: Keep::No,
                need: Rect::EMPTY,
            });
        }
        Ok(Self {
            canvas: design.canvas,
            steps,
            cached: (1, 1),
            #[cfg(feature = "gpu")]
            buffers: usize::MAX,
            nesting: depths.last().copied().unwrap_or(0),
        })
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
