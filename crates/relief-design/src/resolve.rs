//! The second pass: drafts become the nodes of a design, with their sizes.
//!
//! A definition used several times at one size becomes one node.

use std::collections::{HashMap, HashSet};

use relief_raster::{Extent, MAX_COORDINATE};

use crate::draft::hints::{FEWER_LEVELS, FEWER_NODES, MOVED_ROOT};
use crate::draft::{Document, DraftNode, Given, What};
use crate::excerpt::Lines;
use crate::kinds::{NaturalChild, NaturalSize, Sizing};
use crate::report::{MAX_COUNTED, Problem};
use crate::signature::DefaultExtent;
use crate::syntax::{MAX_DEPTH, Span};
use crate::tree::{Canvas, Child, Design, Kind, Node, NodeId};

/// The most nodes of a design, counting those of a definition for each of its uses.
pub const MAX_NODES: u64 = 65_536;

/// A size, and whether it is what the design means: what follows from a wrong size is no further problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Size {
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) sure: bool,
}

/// A node that has its place in the design.
#[derive(Clone, Copy, Debug)]
struct Resolved {
    id: NodeId,
    x: i64,
    y: i64,
    size: Size,
}

/// What a node brings with it: how far its nodes lie from its own origin, and how many they are.
#[derive(Clone, Copy, Debug)]
struct Measure {
    reach: i64,
    nodes: u64,
}

/// Nothing more can be resolved.
struct Stop;

/// Turns a checked document into a design. What is wrong with its sizes is added to `problems`.
pub(crate) fn resolve(document: &Document, text: &str, problems: &mut Vec<Problem>) -> Option<Design> {
    let (canvas, root) = (document.canvas?, document.root.as_ref()?);
    let mut resolver = Resolver {
        document,
        lines: Lines::new(text),
        nodes: Vec::new(),
        measures: Vec::new(),
        used: HashMap::new(),
        natural_sizes: HashMap::new(),
        seen: HashSet::new(),
        depth: 0,
        problems,
    };
    resolver.root(canvas, root).ok()?;
    Some(Design {
        canvas,
        nodes: resolver.nodes,
        scan: document.scan.clone(),
    })
}

struct Resolver<'d, 'p> {
    document: &'d Document,
    lines: Lines<'d>,
    nodes: Vec<Node>,
    measures: Vec<Measure>,
    /// Definitions by their number and the size that they were given.
    used: HashMap<(usize, u64, u64), Resolved>,
    /// The offsets and natural sizes of the nodes of definitions, by their numbers.
    natural_sizes: HashMap<usize, NaturalChild>,
    /// Problems that were noted: a definition used twice is wrong once.
    seen: HashSet<(&'static str, Option<Span>)>,
    depth: usize,
    problems: &'p mut Vec<Problem>,
}

impl Resolver<'_, '_> {
    fn note(&mut self, problem: Problem) {
        let (code, span, _) = problem.key();
        if self.problems.len() < MAX_COUNTED && self.seen.insert((code, span)) {
            self.problems.push(problem);
        }
    }

    fn root(&mut self, canvas: Canvas, root: &DraftNode) -> Result<(), Stop> {
        let size = Size {
            width: canvas.width,
            height: canvas.height,
            sure: true,
        };
        self.check_root(canvas, root, root.span);
        let resolved = self.node(root, size, Some(size))?;
        if (resolved.x, resolved.y) != (0, 0) {
            let problem = Problem::new("E207", "the root fills the canvas and has no offset");
            let offset = format!("an offset of ({}, {})", resolved.x, resolved.y);
            self.note(problem.label(root.offset_span, offset).help(MOVED_ROOT));
        }
        Ok(())
    }

    /// The root has the size of the canvas, by itself or through the definition that it uses.
    fn check_root(&mut self, canvas: Canvas, root: &DraftNode, at: Span) {
        for (name, given, side) in [
            ("width", root.width, canvas.width),
            ("height", root.height, canvas.height),
        ] {
            let Some(given) = given.filter(|given| given.pixels.unsigned_abs() != side) else {
                continue;
            };
            let message = format!(
                "the {name} of the root is {} pixels, that of the canvas {side}",
                given.pixels
            );
            let mut problem = Problem::new("E207", message).label(given.span, "not that of the canvas");
            if let Some(span) = self.document.canvas_span {
                problem = problem.label(span, "the canvas");
            }
            self.note(
                problem
                    .label(at, "the root")
                    .help("remove it: the root has the size of the canvas"),
            );
        }
    }

    /// The node in a parent of this size. `forced` is its size where it is the root.
    fn node(&mut self, draft: &DraftNode, parent: Size, forced: Option<Size>) -> Result<Resolved, Stop> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let problem = Problem::new(
                "E103",
                format!("nodes are nested more than {MAX_DEPTH} deep once every `use` is followed"),
            );
            self.note(problem.label(draft.span, "too deep").help(FEWER_LEVELS));
            return Err(Stop);
        }
        let resolved = match &draft.what {
            What::Use { name, span } => self.used(draft, name, *span, parent, forced),
            _ => self.computed(draft, parent, forced),
        };
        self.depth -= 1;
        resolved
    }

    fn used(
        &mut self,
        draft: &DraftNode,
        name: &str,
        span: Span,
        parent: Size,
        forced: Option<Size>,
    ) -> Result<Resolved, Stop> {
        let document = self.document;
        let index = document.by_name.get(name).copied();
        let node = index
            .and_then(|i| document.definitions.get(i))
            .and_then(|d| d.node.as_ref());
        let (Some(index), Some(node)) = (index, node) else {
            return self.placeholder(draft, parent);
        };
        if let Some(size) = forced {
            let canvas = Canvas {
                width: size.width,
                height: size.height,
                pixel: None,
                depth: relief_raster::Depth::Eight,
            };
            self.check_root(canvas, node, draft.span);
        }
        // The root is resolved once, so its size need not be part of the key.
        let key = (index, parent.width, parent.height);
        let known = self.used.get(&key).copied().filter(|_| forced.is_none());
        let mut resolved = match known {
            Some(known) => known,
            None => self.node(node, parent, forced)?,
        };
        if forced.is_none() {
            self.used.insert(key, resolved);
        }
        for (own, moved) in [(&mut resolved.x, draft.x), (&mut resolved.y, draft.y)] {
            *own += moved;
        }
        if resolved.x.abs() > MAX_COORDINATE || resolved.y.abs() > MAX_COORDINATE {
            self.note(too_far(span));
            (resolved.x, resolved.y) = (0, 0);
        }
        Ok(resolved)
    }

    fn computed(&mut self, draft: &DraftNode, parent: Size, forced: Option<Size>) -> Result<Resolved, Stop> {
        let size = match forced {
            Some(size) => size,
            None => self.size(draft, parent),
        };
        let (x, y) = (draft.x, draft.y);
        let frame = match &draft.what {
            What::Kind(kind) => kind.frame((size.width, size.height)),
            _ => (size.width, size.height),
        };
        let frame = Size {
            width: frame.0,
            height: frame.1,
            ..size
        };
        let mut children = Vec::with_capacity(draft.children.len());
        let mut sizes = Vec::new();
        for child in &draft.children {
            let resolved = self.node(&child.node, frame, None)?;
            sizes.push(resolved.size);
            let offset = resolved.x.abs().max(resolved.y.abs());
            let reach = self
                .measures
                .get(resolved.id.0)
                .map_or(0, |measure| measure.reach);
            if offset.saturating_add(reach) > MAX_COORDINATE {
                self.note(too_far(child.node.offset_span));
            }
            if let Some(extent) =
                Extent::new(resolved.x, resolved.y, resolved.size.width, resolved.size.height)
            {
                children.push(Child {
                    role: child.role,
                    node: resolved.id,
                    extent,
                });
            } else {
                self.note(too_far(child.node.span));
            }
        }
        let kind = self.kind(draft, &sizes);
        let id = self.push(
            Node {
                kind,
                width: size.width,
                height: size.height,
                children,
                place: self.lines.place(draft.span.start),
            },
            draft.span,
        )?;
        Ok(Resolved { id, x, y, size })
    }

    /// A node in place of one that cannot be told.
    fn placeholder(&mut self, draft: &DraftNode, parent: Size) -> Result<Resolved, Stop> {
        let place = self.lines.place(draft.span.start);
        let node = Node {
            kind: Kind::placeholder(),
            width: parent.width,
            height: parent.height,
            children: Vec::new(),
            place,
        };
        let id = self.push(node, draft.span)?;
        Ok(Resolved {
            id,
            x: draft.x,
            y: draft.y,
            size: Size {
                sure: false,
                ..parent
            },
        })
    }

    fn push(&mut self, node: Node, span: Span) -> Result<NodeId, Stop> {
        let mut measure = Measure {
            reach: node.width.max(node.height).cast_signed(),
            nodes: 1,
        };
        for child in &node.children {
            let Some(inner) = self.measures.get(child.node.0) else {
                continue;
            };
            let offset = child.extent.x().abs().max(child.extent.y().abs());
            measure.reach = measure.reach.max(offset.saturating_add(inner.reach));
            measure.nodes = measure.nodes.saturating_add(inner.nodes);
        }
        if measure.reach > MAX_COORDINATE {
            // This has been noted with the child; what holds this node is not wrong as well.
            measure.reach = 0;
        }
        if measure.nodes > MAX_NODES || self.nodes.len() as u64 >= MAX_NODES {
            let problem = Problem::new(
                "E104",
                format!("the design has more than {MAX_NODES} nodes once every `use` is followed"),
            );
            self.note(problem.label(span, "with those in here").help(FEWER_NODES));
            return Err(Stop);
        }
        self.nodes.push(node);
        self.measures.push(measure);
        Ok(NodeId(self.nodes.len() - 1))
    }

    fn kind(&mut self, draft: &DraftNode, children: &[Size]) -> Kind {
        let What::Kind(kind) = &draft.what else {
            return Kind::placeholder();
        };
        let mut sizing = Sizing::new(draft, children);
        let sized = kind.sized(&mut sizing);
        for problem in sizing.problems {
            self.note(problem);
        }
        sized.unwrap_or_else(Kind::placeholder)
    }

    /// The size of a node: what is given, else its natural size where its kind takes that, else its parent's.
    fn size(&mut self, draft: &DraftNode, parent: Size) -> Size {
        let natural = match &draft.what {
            What::Kind(kind) => match kind.signature().extent {
                DefaultExtent::Natural | DefaultExtent::Source => self.natural_size(draft, self.depth),
                _ => NaturalSize::NONE,
            },
            _ => NaturalSize {
                sure: false,
                ..NaturalSize::NONE
            },
        };
        let side = |given: Option<Given>, natural: Option<u64>, parent| {
            given.map_or(natural.unwrap_or(parent), |given| given.pixels.unsigned_abs())
        };
        let sure = (natural.width.is_some() && natural.height.is_some()) || parent.sure;
        let given = draft.width.is_some() && draft.height.is_some();
        Size {
            width: side(draft.width, natural.width, parent.width),
            height: side(draft.height, natural.height, parent.height),
            sure: ((sure && natural.sure) || given) && !draft.broken,
        }
    }

    /// The size that a node has whatever its parent's: what is given, else what its kind has of itself.
    ///
    /// Nodes nested more than [`MAX_DEPTH`] deep have none; their design is refused.
    fn natural_size(&mut self, draft: &DraftNode, depth: usize) -> NaturalSize {
        let unknown = NaturalSize {
            sure: false,
            ..NaturalSize::NONE
        };
        if depth > MAX_DEPTH {
            return unknown;
        }
        let natural = match &draft.what {
            What::Broken => unknown,
            What::Use { name, .. } => self
                .defined(name, depth)
                .map_or(unknown, |definition| definition.size),
            What::Kind(kind) => {
                let children: Vec<NaturalChild> = draft
                    .children
                    .iter()
                    .map(|child| self.natural_child(&child.node, depth + 1))
                    .collect();
                kind.natural_size(&children)
            }
        };
        let side = |given: Option<Given>, natural| given.map(|g| g.pixels.unsigned_abs()).or(natural);
        NaturalSize {
            width: side(draft.width, natural.width),
            height: side(draft.height, natural.height),
            sure: natural.sure && !draft.broken,
        }
    }

    /// A node where it begins in its parent, with its natural size.
    fn natural_child(&mut self, draft: &DraftNode, depth: usize) -> NaturalChild {
        let (x, y) = match &draft.what {
            What::Use { name, .. } => self.defined(name, depth).map_or((0, 0), |node| (node.x, node.y)),
            _ => (0, 0),
        };
        NaturalChild {
            x: x.saturating_add(draft.x),
            y: y.saturating_add(draft.y),
            size: self.natural_size(draft, depth),
        }
    }

    /// The node of the definition of this name, with its natural size, which it has wherever it is used.
    fn defined(&mut self, name: &str, depth: usize) -> Option<NaturalChild> {
        let document = self.document;
        let index = *document.by_name.get(name)?;
        if let Some(&known) = self.natural_sizes.get(&index) {
            return Some(known);
        }
        let node = document.definitions.get(index)?.node.as_ref()?;
        let natural = self.natural_child(node, depth + 1);
        self.natural_sizes.insert(index, natural);
        Some(natural)
    }
}

fn too_far(span: Span) -> Problem {
    Problem::new(
        "E504",
        "this node, or one in it, reaches further than 2^44 pixels from where its parent begins",
    )
    .label(span, "too far out")
    .help("use smaller offsets: the offsets of nested nodes and the greater side of the innermost add up")
}
