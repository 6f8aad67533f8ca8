//! The second pass: drafts become the nodes of a design, with their sizes.
//!
//! A definition used several times at one size becomes one node.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use relief_raster::{Depth, Extent, MAX_COORDINATE, MAX_SIDE};

use crate::draft::hints::{FEWER_LEVELS, FEWER_NODES, MOVED_ROOT};
use crate::draft::{Document, DraftChild, DraftNode, GivenSide, Measure, What, vanishing};
use crate::excerpt::Lines;
use crate::kinds::{
    Bounds, Doubts, Draft, Lowering, NaturalChild, NaturalSize, Seen, Sizing, covers, misses,
};
use crate::length::Ratio;
use crate::pictures::ImageSource;
use crate::report::{MAX_COUNTED, Problem};
use crate::scan::Passes;
use crate::seam::{self, Copies, Told};
use crate::signature::DefaultExtent;
use crate::syntax::{MAX_DEPTH, Span};
use crate::tree::{Axis, Canvas, Child, Design, Kind, Node, NodeId, Role, Rounding, nodes_within};

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

/// A node in a parent before anything is rounded.
#[derive(Clone, Copy, Debug)]
struct Exact {
    /// Where it begins.
    begin: [Ratio; 2],
    /// Its sides.
    sides: [Ratio; 2],
    /// Whether they are what the design means.
    sure: bool,
}

/// A node in a parent, in whole pixels.
#[derive(Clone, Copy, Debug)]
struct Placed {
    begin: [i64; 2],
    size: Size,
}

/// What a node brings with it: how far its nodes lie from its own origin, and how many they are.
#[derive(Clone, Copy, Debug)]
struct Reach {
    reach: i64,
    nodes: u64,
}

/// Nothing more can be resolved.
struct Stop;

/// Turns a checked document into a design. What is wrong with its sizes is added to `problems`, what is most likely not meant
/// to `warnings`.
pub(crate) fn resolve(
    document: &Document,
    text: &str,
    images: &dyn ImageSource,
    problems: &mut Vec<Problem>,
    warnings: &mut Vec<Problem>,
) -> Option<Design> {
    let (canvas, root) = (document.canvas?, document.root.as_ref()?);
    let mut resolver = Resolver {
        document,
        lines: Lines::new(text),
        nodes: Vec::new(),
        measures: Vec::new(),
        spans: Vec::new(),
        copies: HashMap::new(),
        used: HashMap::new(),
        exact: HashMap::new(),
        rounding: document.rounding,
        natural_sizes: HashMap::new(),
        seen: HashSet::new(),
        depth: 0,
        looks: Vec::new(),
        images,
        shown: Vec::new(),
        grays: HashMap::new(),
        depth_of_samples: canvas.depth,
        budget: Cell::new(MAX_LOOKS),
        max: canvas.depth.max(),
        warnings,
        problems,
    };
    resolver.root(canvas, root).ok()?;
    resolver.doubt_whole(canvas, root);
    resolver.prove_closed(canvas);
    Some(Design {
        canvas,
        rounding: resolver.rounding.map(|(pixels, span)| Rounding {
            pixels,
            place: resolver.lines.place(span.start),
        }),
        nodes: resolver.nodes,
        font_bytes: document.font_bytes,
        scan: document.scan.clone(),
    })
}

struct Resolver<'d, 'p> {
    document: &'d Document,
    lines: Lines<'d>,
    nodes: Vec<Node>,
    measures: Vec<Reach>,
    /// Where the nodes are written.
    spans: Vec<Span>,
    /// The exact copies of those that copy, where the surface is to close.
    copies: HashMap<NodeId, Copies>,
    /// The nodes of definitions, by their numbers and the sizes that they have, and whether those are sure.
    used: HashMap<(usize, u64, u64), (NodeId, bool)>,
    /// Where the nodes of definitions lie, by their numbers, whether they are patterns, and the sizes of the parents in
    /// which they are used.
    exact: HashMap<(usize, bool, u64, u64), Exact>,
    /// The largest rounding of a place, in pixels, and where that is written.
    rounding: Option<(f64, Span)>,
    /// The offsets and natural sizes of the nodes of definitions, by their numbers.
    natural_sizes: HashMap<usize, NaturalChild>,
    /// Problems that were noted: a definition used twice is wrong once.
    seen: HashSet<(&'static str, Option<Span>)>,
    depth: usize,
    /// What samples the nodes can have, and whether they are smooth.
    looks: Vec<(Bounds, bool)>,
    images: &'d dyn ImageSource,
    /// The file that each node shows as it is at its edges, if any, by the node of that file.
    shown: Vec<Option<NodeId>>,
    /// The nodes of files that were looked at, and whether those have samples between 0 and M.
    grays: HashMap<NodeId, bool>,
    depth_of_samples: Depth,
    /// Entries of tables that may yet be looked at for that.
    budget: Cell<usize>,
    max: u16,
    warnings: &'p mut Vec<Problem>,
    problems: &'p mut Vec<Problem>,
}

/// The most files that are looked at to tell whether masks have grays.
const MAX_LOOKED_AT: usize = 16;

/// The most entries of tables that are looked at to tell what samples nodes can have.
const MAX_LOOKS: usize = 1 << 25;

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
        self.check_root(size, root, root.span);
        let resolved = self.node(root, Role::Base, size, Some(size))?;
        if (resolved.x, resolved.y) != (0, 0) {
            let problem = Problem::new("E207", "the root fills the canvas and has no offset");
            let offset = format!("an offset of ({}, {})", resolved.x, resolved.y);
            self.note(problem.label(root.offset_span, offset).help(MOVED_ROOT));
        }
        Ok(())
    }

    /// The root has the size of the canvas, by itself or through the definition that it uses.
    fn check_root(&mut self, canvas: Size, root: &DraftNode, at: Span) {
        for (name, given, side) in [
            ("width", root.width, canvas.width),
            ("height", root.height, canvas.height),
        ] {
            let Some(given) = given else { continue };
            let pixels = given.measure.of(side).map(Ratio::rounded);
            if pixels == Some(side.into()) {
                continue;
            }
            let pixels = pixels.map_or("other".to_owned(), |pixels| pixels.to_string());
            let message = format!("the {name} of the root is {pixels} pixels, that of the canvas {side}");
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
    fn node(
        &mut self,
        draft: &DraftNode,
        role: Role,
        parent: Size,
        forced: Option<Size>,
    ) -> Result<Resolved, Stop> {
        let Some(exact) = self.exact(draft, role, parent, self.depth)? else {
            return self.placeholder(draft, parent);
        };
        let mut placed = self.placed(draft, exact);
        if let Some(size) = forced {
            placed.size = size;
        }
        self.placed_node(draft, parent, placed, forced.is_some())
    }

    /// The node at its place, which a `use` has given it.
    fn placed_node(
        &mut self,
        draft: &DraftNode,
        parent: Size,
        placed: Placed,
        root: bool,
    ) -> Result<Resolved, Stop> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.too_deep(draft.span));
        }
        let resolved = match &draft.what {
            What::Use { name, .. } => self.used(draft, name, parent, placed, root),
            _ => self.computed(draft, placed),
        };
        self.depth -= 1;
        resolved
    }

    fn too_deep(&mut self, span: Span) -> Stop {
        let problem = Problem::new(
            "E103",
            format!("nodes are nested more than {MAX_DEPTH} deep once every `use` is followed"),
        );
        self.note(problem.label(span, "too deep").help(FEWER_LEVELS));
        Stop
    }

    fn used(
        &mut self,
        draft: &DraftNode,
        name: &str,
        parent: Size,
        placed: Placed,
        root: bool,
    ) -> Result<Resolved, Stop> {
        let document = self.document;
        let index = document.by_name.get(name).copied();
        let node = index
            .and_then(|i| document.definitions.get(i))
            .and_then(|d| d.node.as_ref());
        let (Some(index), Some(node)) = (index, node) else {
            return self.placeholder(draft, parent);
        };
        let size = placed.size;
        if root {
            self.check_root(size, node, draft.span);
        }
        // What is in the node depends on its size alone. The root is resolved once, so that need not be part of the key.
        let key = (index, size.width, size.height);
        if let Some(&(id, sure)) = self.used.get(&key).filter(|_| !root) {
            let size = Size { sure, ..size };
            return Ok(placed.with(id, size));
        }
        let resolved = self.placed_node(node, parent, placed, root)?;
        if !root {
            self.used.insert(key, (resolved.id, resolved.size.sure));
        }
        Ok(resolved)
    }

    fn computed(&mut self, draft: &DraftNode, placed: Placed) -> Result<Resolved, Stop> {
        let size = placed.size;
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
            let resolved = self.node(&child.node, child.role, frame, None)?;
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
        let kind = self.kind(draft, size, &sizes, &children);
        let copies = self.copies_of(draft, size, &children);
        self.doubt(
            draft,
            (size.width, size.height),
            (frame.width, frame.height),
            &children,
        );
        let place = self.lines.place(draft.span.start);
        let (mut stopped, sound) = (None, self.problems.is_empty());
        let mut push = |kind: Kind, (width, height): (u64, u64), children: Vec<Child>| {
            let node = Node {
                kind,
                width,
                height,
                children,
                place,
            };
            let pushed = self.push(node, draft.span);
            pushed.map_err(|stop| stopped = Some(stop)).ok()
        };
        let mut lowering = Lowering {
            kind,
            size: (size.width, size.height),
            children,
            push: &mut push,
        };
        // Of a design that is refused nothing need be said in other words.
        if let What::Kind(draft) = &draft.what
            && sound
        {
            draft.lower(&mut lowering);
        }
        let Lowering { kind, children, .. } = lowering;
        let id = push(kind, (size.width, size.height), children);
        match (id, stopped) {
            (Some(id), None) => {
                self.copies.extend(copies.map(|copies| (id, copies)));
                Ok(placed.with(id, size))
            }
            (_, stopped) => Err(stopped.unwrap_or(Stop)),
        }
    }

    /// The exact copies of the first child, where they may be told.
    fn copies_of(&self, draft: &DraftNode, size: Size, children: &[Child]) -> Option<Copies> {
        self.document.wrap?;
        let What::Kind(kind) = &draft.what else {
            return None;
        };
        let extent = children.first()?.extent;
        let pattern = (extent.width(), extent.height());
        Some(Copies {
            vectors: kind.vectors((size.width, size.height), pattern)?,
            pattern: pattern.into(),
        })
    }

    /// Proves that the surface closes where the canvas says so, or tells where it is open.
    fn prove_closed(&mut self, canvas: Canvas) {
        let Some((axes, wrap)) = self.document.wrap else {
            return;
        };
        if !self.problems.is_empty() {
            return;
        }
        for &axis in axes {
            for (index, gap) in seam::gaps(&self.nodes, axis) {
                let (Some(node), Some(&span)) = (self.nodes.get(index), self.spans.get(index)) else {
                    continue;
                };
                let told = Told {
                    axis,
                    turn: match axis {
                        Axis::X => canvas.width,
                        Axis::Y => canvas.height,
                    },
                    pixel: canvas.pixel,
                    node,
                    span,
                    wrap,
                    copies: self.copies.get(&NodeId(index)).copied(),
                };
                let problem = told.problem(&gap);
                if problem.is_warning() {
                    self.warnings.push(problem);
                } else {
                    self.problems.push(problem);
                }
            }
        }
    }

    /// What a node of this frame sees of its children, and which of them are smooth.
    fn looks(&self, children: &[Child], frame: (u64, u64)) -> (Vec<Bounds>, Vec<bool>) {
        let look = |child: &Child| {
            let any = (Bounds::new(0, self.max), false);
            let (bounds, smooth) = self.looks.get(child.node.0).copied().unwrap_or(any);
            let seen = match child {
                child if covers(child, frame) => bounds,
                child if misses(child, frame) => Bounds::ZERO,
                _ => bounds.or(Bounds::ZERO),
            };
            (seen, smooth)
        };
        children.iter().map(look).unzip()
    }

    /// Whether a node shows a file with samples between 0 and M.
    fn has_grays(&mut self, node: NodeId) -> bool {
        let Some(file) = self.shown.get(node.0).copied().flatten() else {
            return false;
        };
        if let Some(&known) = self.grays.get(&file) {
            return known;
        }
        let kind = self.nodes.get(file.0).map(|node| &node.kind);
        let found = self.grays.len() < MAX_LOOKED_AT
            && kind.is_some_and(|kind| kind.has_grays(self.images, self.depth_of_samples));
        self.grays.insert(file, found);
        found
    }

    /// Notes what is most likely not meant of a node.
    fn doubt(&mut self, draft: &DraftNode, size: (u64, u64), frame: (u64, u64), children: &[Child]) {
        let (What::Kind(kind), Some(canvas)) = (&draft.what, self.document.canvas) else {
            return;
        };
        if !self.problems.is_empty() || self.warnings.len() >= MAX_COUNTED {
            return;
        }
        let (mut bounds, mut smooth) = self.looks(children, frame);
        // A mask counts also outside of the node that reads it.
        let is_mask = matches!(children, [child] if child.role == Role::Mask);
        if is_mask
            && let (Some(seen), Some((all, _))) = (bounds.first_mut(), self.looks.get(children[0].node.0))
        {
            *seen = seen.or(*all);
        }
        // Files are looked at for masks alone.
        if is_mask && let Some(smooth) = smooth.first_mut() {
            *smooth = *smooth || self.has_grays(children[0].node);
        }
        let filtered = match (kind.signature().extent, draft.children.first()) {
            (DefaultExtent::Source | DefaultExtent::SourceWithoutOverlap, Some(child)) => {
                self.filtered(&child.node)
            }
            _ => None,
        };
        let mut doubts = Doubts {
            filtered,
            node: draft,
            size,
            seen: Seen {
                max: self.max,
                bounds: &bounds,
                children,
                budget: &self.budget,
            },
            smooth: &smooth,
            canvas,
            is_root: self.depth == 1,
            warnings: Vec::new(),
        };
        kind.doubt(&mut doubts);
        let warnings = doubts.warnings;
        self.warnings.extend(warnings);
    }

    /// The natural size of a filter, or of filters in filters, of a node that has one itself; of a filter each sample follows from those near it in its one
    /// source, and its size is that of its parent where none is given.
    fn filtered(&mut self, node: &DraftNode) -> Option<NaturalSize> {
        let document = self.document;
        let (mut inner, mut is_filter) = (node, false);
        for _ in 0..=MAX_DEPTH {
            inner = match &inner.what {
                What::Use { name, .. } => {
                    let index = *document.by_name.get(name)?;
                    document.definitions.get(index)?.node.as_ref()?
                }
                What::Kind(kind) => match (kind.signature().extent, &inner.children[..]) {
                    (
                        DefaultExtent::Natural | DefaultExtent::Source | DefaultExtent::SourceWithoutOverlap,
                        _,
                    ) if is_filter => {
                        return Some(self.natural_child(node, self.depth).size);
                    }
                    (DefaultExtent::Parent, [source]) if source.role == Role::Source => {
                        is_filter = true;
                        &source.node
                    }
                    _ => return None,
                },
                What::Broken => return None,
            };
        }
        None
    }

    /// Notes what is most likely not meant of the whole design.
    fn doubt_whole(&mut self, canvas: Canvas, root: &DraftNode) {
        let Some(&(bounds, _)) = self.looks.last() else {
            return;
        };
        if !self.problems.is_empty() {
            return;
        }
        if bounds.least == bounds.greatest && self.nodes.len() > 1 {
            let message = format!("every sample of this design is {}", bounds.least);
            let warning = Problem::new("W204", message).label(root.span, "the same everywhere");
            self.warnings.push(
                warning.help(
                    "look at the sizes and places in `relief plan`; if this is meant, one `fill` says it",
                ),
            );
        }
        let (Some(scan), Some(span)) = (&self.document.scan, self.document.passes_span) else {
            return;
        };
        // A table of the material makes other samples of those of the design.
        if scan.material.is_some() {
            return;
        }
        let (max, greatest) = (u64::from(canvas.depth.max()), u64::from(bounds.greatest));
        let (idle, all) = match &scan.scan.passes {
            Passes::Even { count } => {
                let fires = |pass: u64| greatest * u64::from(*count) > pass * max;
                let all = u64::from(*count);
                ((0..all).filter(|&pass| !fires(pass)).count() as u64, all)
            }
            Passes::Listed { thresholds } => {
                let idle = thresholds
                    .iter()
                    .filter(|&&level| u64::from(level) > greatest)
                    .count();
                (idle as u64, thresholds.len() as u64)
            }
            _ => return,
        };
        if idle > 0 {
            let message =
                format!("{idle} of {all} passes never fire: no sample of the design is above {greatest}");
            let warning = Problem::new("W207", message).label(span, "these passes");
            self.warnings.push(
                warning.help("leave passes out, or use the whole range of samples, 0 to M, in the design"),
            );
        }
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
        let size = Size {
            sure: false,
            ..parent
        };
        Ok(Resolved { id, x: 0, y: 0, size })
    }

    fn push(&mut self, node: Node, span: Span) -> Result<NodeId, Stop> {
        let mut measure = Reach {
            reach: node.width.max(node.height).cast_signed(),
            nodes: 1,
        };
        for child in &node.children {
            let Some(inner) = self.measures.get(child.node.0) else {
                continue;
            };
            let offset = child.extent.x().abs().max(child.extent.y().abs());
            measure.reach = measure.reach.max(offset.saturating_add(inner.reach));
        }
        measure.nodes = nodes_within(&node.children, |id| {
            self.measures.get(id.0).map_or(0, |inner| inner.nodes)
        });
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
        let (bounds, smooth) = self.looks(&node.children, (node.width, node.height));
        let bounds = node.kind.bounds(&Seen {
            max: self.max,
            bounds: &bounds,
            children: &node.children,
            budget: &self.budget,
        });
        self.looks
            .push((bounds, node.kind.is_smooth(smooth.contains(&true))));
        // What would be smooth where its children are shows them as they are.
        let is_file = node.kind.file().is_some().then_some(NodeId(self.nodes.len()));
        let passes_on = node.kind.is_smooth(true) && !node.kind.is_smooth(false);
        let inner = node
            .children
            .iter()
            .find_map(|child| self.shown.get(child.node.0).copied().flatten());
        self.shown.push(is_file.or(inner.filter(|_| passes_on)));
        self.nodes.push(node);
        self.spans.push(span);
        self.measures.push(measure);
        Ok(NodeId(self.nodes.len() - 1))
    }

    fn kind(&mut self, draft: &DraftNode, size: Size, children: &[Size], placed: &[Child]) -> Kind {
        let What::Kind(kind) = &draft.what else {
            return Kind::placeholder();
        };
        let mut sizing = Sizing::new(draft, size, children, placed);
        let sized = kind.sized(&mut sizing);
        for problem in sizing.problems {
            self.note(problem);
        }
        sized.unwrap_or_else(Kind::placeholder)
    }

    /// Where a node lies in its parent, and its sides, before they are rounded: those that are given, else its natural
    /// ones where its kind takes those, else its parent's.
    ///
    /// Nothing where it cannot be told; that has been noted, or will be.
    fn exact(
        &mut self,
        draft: &DraftNode,
        role: Role,
        parent: Size,
        depth: usize,
    ) -> Result<Option<Exact>, Stop> {
        if depth > MAX_DEPTH {
            return Err(self.too_deep(draft.span));
        }
        let mut exact = match &draft.what {
            What::Use { name, .. } => match self.exact_definition(name, role, parent, depth)? {
                Some(exact) => exact,
                None => return Ok(None),
            },
            _ => self.exact_sides(draft, role, parent),
        };
        let sides = [parent.width, parent.height];
        let (given, halves) = ([draft.x, draft.y], [draft.anchor.x, draft.anchor.y]);
        for axis in 0..2 {
            let moved = moved(
                exact.begin[axis],
                given[axis],
                halves[axis],
                exact.sides[axis],
                sides[axis],
            );
            if let Some(begin) = moved {
                exact.begin[axis] = begin;
            } else {
                self.note(too_many_digits(draft.offset_span));
                exact.sure = false;
            }
        }
        Ok(Some(exact))
    }

    /// The node of a definition in a parent of this size.
    fn exact_definition(
        &mut self,
        name: &str,
        role: Role,
        parent: Size,
        depth: usize,
    ) -> Result<Option<Exact>, Stop> {
        let document = self.document;
        let Some(&index) = document.by_name.get(name) else {
            return Ok(None);
        };
        let key = (index, role == Role::Pattern, parent.width, parent.height);
        if let Some(&known) = self.exact.get(&key) {
            return Ok(Some(known));
        }
        let Some(node) = document.definitions.get(index).and_then(|d| d.node.as_ref()) else {
            return Ok(None);
        };
        let exact = self.exact(node, role, parent, depth + 1)?;
        if let Some(exact) = exact {
            self.exact.insert(key, exact);
        }
        Ok(exact)
    }

    /// The sides of a node that is no `use`, which begins where its parent does.
    fn exact_sides(&mut self, draft: &DraftNode, role: Role, parent: Size) -> Exact {
        let natural = match &draft.what {
            What::Kind(kind) => match kind.signature().extent {
                DefaultExtent::Natural | DefaultExtent::Source | DefaultExtent::SourceWithoutOverlap => {
                    self.natural_size(draft, self.depth)
                }
                // What is copied ends where there is nothing more of it.
                _ if role == Role::Pattern => self.natural_size(draft, self.depth),
                _ => NaturalSize::NONE,
            },
            _ => NaturalSize {
                sure: false,
                ..NaturalSize::NONE
            },
        };
        let mut readable = true;
        let mut side = |given: Option<GivenSide>, natural: Option<u64>, parent: u64| match given {
            None => Ratio::integer(natural.unwrap_or(parent).into()),
            Some(given) => given.measure.of(parent).unwrap_or_else(|| {
                self.note(too_many_digits(given.span));
                readable = false;
                Ratio::integer(parent.into())
            }),
        };
        let sides = [
            side(draft.width, natural.width, parent.width),
            side(draft.height, natural.height, parent.height),
        ];
        let mut sides = sides;
        if let What::Kind(kind) = &draft.what {
            let given = [draft.width.is_some(), draft.height.is_some()];
            if let Some((axis, side)) = other_side(kind, given, sides.map(Ratio::real)) {
                sides[axis] = Ratio::integer(side.into());
            }
        }
        let sure = (natural.width.is_some() && natural.height.is_some()) || parent.sure;
        let given = draft.width.is_some() && draft.height.is_some();
        Exact {
            begin: [Ratio::ZERO; 2],
            sides,
            sure: ((sure && natural.sure) || given) && !draft.broken && readable,
        }
    }

    /// The edges of a node, each rounded to the nearest pixel, halves up.
    fn placed(&mut self, draft: &DraftNode, exact: Exact) -> Placed {
        let (mut begin, mut sides) = ([0; 2], [1; 2]);
        for (axis, given) in [draft.width, draft.height].into_iter().enumerate() {
            let (from, side) = (exact.begin[axis], exact.sides[axis]);
            let span = given.map_or(draft.offset_span, |given| given.span);
            let Some(to) = from.plus(side) else {
                self.note(too_many_digits(span));
                continue;
            };
            for edge in [from, to] {
                self.rounds(edge, span);
            }
            let (first, end) = (from.rounded(), to.rounded());
            if let Ok(first) = i64::try_from(first)
                && first.abs() <= MAX_COORDINATE
            {
                begin[axis] = first;
            } else {
                self.note(too_far(draft.offset_span));
            }
            match u64::try_from(end - first) {
                Ok(whole) if (1..=MAX_SIDE).contains(&whole) => sides[axis] = whole,
                Ok(0) => self.note(vanishing(span, side)),
                _ => self.note(too_wide(span, end - first)),
            }
        }
        Placed {
            begin,
            size: Size {
                width: sides[0],
                height: sides[1],
                sure: exact.sure,
            },
        }
    }

    /// Notes that a place becomes the nearest pixel.
    fn rounds(&mut self, edge: Ratio, span: Span) {
        let distance = edge.distance_to_whole();
        if distance > 0.0 && self.rounding.is_none_or(|(most, _)| distance > most) {
            self.rounding = Some((distance, span));
        }
    }

    /// The size that the kind of a node has of itself, whatever its parent's and wherever the node lies.
    ///
    /// Nodes nested more than [`MAX_DEPTH`] deep have none; their design is refused.
    fn natural_size(&mut self, draft: &DraftNode, depth: usize) -> NaturalSize {
        let What::Kind(kind) = &draft.what else {
            return NaturalSize {
                sure: false,
                ..NaturalSize::NONE
            };
        };
        let size = self.kind_size(kind, &draft.children, depth);
        NaturalSize {
            sure: size.sure && !draft.broken,
            ..size
        }
    }

    fn kind_size(&mut self, kind: &Draft, children: &[DraftChild], depth: usize) -> NaturalSize {
        let children: Vec<NaturalChild> = children
            .iter()
            .map(|child| self.natural_child(&child.node, depth + 1))
            .collect();
        kind.natural_size(&children)
    }

    /// A node where it begins in its parent, with its natural size: no size along an axis where it depends on its
    /// parent's.
    fn natural_child(&mut self, draft: &DraftNode, depth: usize) -> NaturalChild {
        let unknown = NaturalChild {
            x: 0,
            y: 0,
            size: NaturalSize {
                sure: false,
                ..NaturalSize::NONE
            },
        };
        if depth > MAX_DEPTH {
            return unknown;
        }
        let inner = match &draft.what {
            What::Broken => unknown,
            What::Use { name, .. } => self.defined(name, depth).unwrap_or(unknown),
            What::Kind(kind) => {
                let mut size = self.kind_size(kind, &draft.children, depth);
                let absolute = |side: Option<GivenSide>| side?.measure.absolute().map(Ratio::real);
                let sides = [absolute(draft.width), absolute(draft.height)];
                let given = sides.map(|side| side.is_some());
                if let Some((axis, side)) = other_side(kind, given, sides.map(Option::unwrap_or_default)) {
                    *[&mut size.width, &mut size.height][axis] = Some(side);
                }
                NaturalChild { x: 0, y: 0, size }
            }
        };
        let axis = |begin: i64, natural: Option<u64>, given: Option<GivenSide>, at: Measure, halves: u8| {
            let side = match given {
                Some(given) => given.measure.absolute(),
                None => natural.map(|side| Ratio::integer(side.into())),
            };
            let placed = side.and_then(|side| {
                let at = Measure::pixels(at.absolute()?);
                let from = moved(Ratio::integer(begin.into()), at, halves, side, 0)?;
                let end = from.plus(side)?.rounded();
                let from = from.rounded();
                Some((i64::try_from(from).ok()?, u64::try_from(end - from).ok()?))
            });
            placed.map_or((0, None), |(from, side)| (from, Some(side)))
        };
        let NaturalSize { width, height, sure } = inner.size;
        let (x, width) = axis(inner.x, width, draft.width, draft.x, draft.anchor.x);
        let (y, height) = axis(inner.y, height, draft.height, draft.y, draft.anchor.y);
        NaturalChild {
            x,
            y,
            size: NaturalSize {
                width,
                height,
                sure: sure && !draft.broken,
            },
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

impl Placed {
    fn with(self, id: NodeId, size: Size) -> Resolved {
        let [x, y] = self.begin;
        Resolved { id, x, y, size }
    }
}

/// Where a node of this side begins that began at `begin`, once the point of it that `halves` of the side say lies at `at`.
fn moved(begin: Ratio, at: Measure, halves: u8, side: Ratio, parent: u64) -> Option<Ratio> {
    let begin = begin.plus(at.of(parent)?)?;
    match halves {
        0 => Some(begin),
        halves => begin.minus(side.times(Ratio::fraction(halves.into(), 2))?),
    }
}

/// The axis along which no side is given and the side along it, where it follows from the one that is given along the other.
fn other_side(kind: &Draft, given: [bool; 2], sides: [f64; 2]) -> Option<(usize, u64)> {
    match given {
        [true, false] => Some((1, kind.other_side(0, sides[0])?)),
        [false, true] => Some((0, kind.other_side(1, sides[1])?)),
        _ => None,
    }
}

fn too_many_digits(span: Span) -> Problem {
    Problem::new(
        "E407",
        "this place has more digits than can be represented exactly",
    )
    .label(span, "too many digits")
    .help("write lengths and percentages with fewer digits")
}

fn too_wide(span: Span, pixels: i128) -> Problem {
    Problem::new(
        "E402",
        format!("a side of {pixels} pixels; the sides of nodes are 1 to 2^40 pixels"),
    )
    .label(span, "out of range")
    .help("write a smaller length or percentage")
}

fn too_far(span: Span) -> Problem {
    Problem::new(
        "E504",
        "this node, or one in it, reaches further than 2^44 pixels from where its parent begins",
    )
    .label(span, "too far out")
    .help("use smaller offsets: the offsets of nested nodes and the greater side of the innermost add up")
}
