//! The second pass: drafts become the nodes of a design, with their sizes.
//!
//! A definition used several times at one size becomes one node.

use std::collections::{HashMap, HashSet};

use relief_raster::{Extent, MAX_COORDINATE, Period};

use crate::draft::{Document, DraftNode, Given, Vector, What};
use crate::excerpt::Lines;
use crate::report::{MAX_COUNTED, Problem};
use crate::syntax::{MAX_DEPTH, Span};
use crate::tree::{Blend, Canvas, Child, Design, Kind, Node, NodeId};

/// The most nodes of a design, counting those of a definition for each of its uses.
pub const MAX_NODES: u64 = 65_536;

/// The most copies of a lattice's pattern that may cover one pixel.
pub const MAX_COPIES: u64 = 16_384;

/// A size, and whether it is what the design means: what follows from a wrong size is no further problem.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Size {
    width: u64,
    height: u64,
    sure: bool,
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
            let span = root.x.or(root.y).map_or(root.span, |given| given.span);
            self.note(
                problem
                    .label(span, format!("an offset of ({}, {})", resolved.x, resolved.y))
                    .help("put it into a `compose` to move it"),
            );
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
            self.note(
                problem
                    .label(draft.span, "too deep")
                    .help("leave levels out: a `compose` takes any number of children"),
            );
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
            *own += moved.map_or(0, |given| given.pixels);
        }
        if resolved.x.abs() > MAX_COORDINATE || resolved.y.abs() > MAX_COORDINATE {
            self.note(too_far(span));
            (resolved.x, resolved.y) = (0, 0);
        }
        Ok(resolved)
    }

    fn computed(&mut self, draft: &DraftNode, parent: Size, forced: Option<Size>) -> Result<Resolved, Stop> {
        let size = forced.unwrap_or_else(|| own_size(draft, parent));
        let (x, y) = (pixels(draft.x), pixels(draft.y));
        let mut children = Vec::with_capacity(draft.children.len());
        let mut sizes = Vec::new();
        for child in &draft.children {
            let resolved = self.node(&child.node, size, None)?;
            sizes.push(resolved.size);
            let offset = resolved.x.abs().max(resolved.y.abs());
            let reach = self
                .measures
                .get(resolved.id.0)
                .map_or(0, |measure| measure.reach);
            if offset.saturating_add(reach) > MAX_COORDINATE {
                let span = child
                    .node
                    .x
                    .or(child.node.y)
                    .map_or(child.node.span, |given| given.span);
                self.note(too_far(span));
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
        let kind = self.kind(draft, sizes.first().copied());
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
            kind: Kind::Fill { value: 0 },
            width: parent.width,
            height: parent.height,
            children: Vec::new(),
            place,
        };
        let id = self.push(node, draft.span)?;
        Ok(Resolved {
            id,
            x: pixels(draft.x),
            y: pixels(draft.y),
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
            self.note(
                problem
                    .label(span, "with those in here")
                    .help("draw repetitions with `repeat` or `lattice`"),
            );
            return Err(Stop);
        }
        self.nodes.push(node);
        self.measures.push(measure);
        Ok(NodeId(self.nodes.len() - 1))
    }

    fn kind(&mut self, draft: &DraftNode, pattern: Option<Size>) -> Kind {
        match (&draft.what, pattern) {
            (What::Ready(kind), _) => kind.clone(),
            (&What::Repeat { step_x, step_y }, Some(pattern)) => Kind::Repeat {
                step_x: self.step("step-x", step_x, pattern.width, pattern.sure, draft),
                step_y: self.step("step-y", step_y, pattern.height, pattern.sure, draft),
            },
            (&What::Lattice { blend, u, v }, Some(pattern)) => self.lattice(blend, u, v, pattern, draft),
            _ => Kind::Fill { value: 0 },
        }
    }

    fn step(&mut self, name: &str, given: Option<Given>, pattern: u64, sure: bool, draft: &DraftNode) -> u64 {
        let Some(given) = given else { return pattern };
        let step = given.pixels.unsigned_abs();
        if step < pattern && sure {
            let message = format!(
                "{name} is {step} pixels, less than the {pattern} of the pattern: its copies would overlap"
            );
            let mut problem = Problem::new("E501", message).label(given.span, format!("{step} px"));
            if let Some(child) = draft.children.first() {
                problem = problem.label(child.node.span, format!("{pattern} px"));
            }
            self.note(
                problem.help(
                    "use `lattice` for copies that overlap, or a step of at least the pattern's extent",
                ),
            );
        }
        step.max(pattern)
    }

    fn lattice(&mut self, blend: Blend, u: Vector, v: Vector, pattern: Size, draft: &DraftNode) -> Kind {
        let Some(period) = Period::spanned((u.x, u.y), (v.x, v.y)) else {
            self.note(no_period(u, v));
            return Kind::Fill { value: 0 };
        };
        let copies = copies((u.x, u.y), (v.x, v.y), period, pattern.width, pattern.height);
        if copies > u128::from(MAX_COPIES) && pattern.sure {
            let message = format!(
                "up to {copies} copies of the pattern, {} × {} pixels, may cover one pixel; at most {MAX_COPIES} are allowed",
                pattern.width, pattern.height
            );
            let mut problem = Problem::new("E503", message)
                .label(v.span, "short vectors")
                .label(u.span, "with this");
            if let Some(child) = draft.children.first() {
                problem = problem.label(child.node.span, "for this pattern");
            }
            self.note(problem.help("use longer vectors, or give the pattern a smaller width and height"));
        }
        Kind::Lattice {
            blend,
            u: (u.x, u.y),
            v: (v.x, v.y),
            period,
        }
    }
}

/// Why two vectors have no period.
fn no_period(u: Vector, v: Vector) -> Problem {
    if i128::from(u.x) * i128::from(v.y) != i128::from(u.y) * i128::from(v.x) {
        return Problem::new("E506", "this lattice repeats after more than 2^62 pixels only")
            .label(v.span, "v")
            .label(u.span, "u")
            .help("use shorter vectors, or vectors whose components have a common divisor");
    }
    let message = format!(
        "({}, {}) and ({}, {}) are parallel and span no lattice",
        u.x, u.y, v.x, v.y
    );
    Problem::new("E502", message)
        .label(v.span, "v")
        .label(u.span, "u")
        .help("turn one of them, so that u.x·v.y − u.y·v.x is not 0")
}

fn too_far(span: Span) -> Problem {
    Problem::new(
        "E504",
        "this node, or one in it, reaches further than 2^44 pixels from where its parent begins",
    )
    .label(span, "too far out")
    .help("use smaller offsets: the offsets of nested nodes and the greater side of the innermost add up")
}

fn pixels(given: Option<Given>) -> i64 {
    given.map_or(0, |given| given.pixels)
}

/// The size of a node: what is given, else its own, else its parent's.
fn own_size(draft: &DraftNode, parent: Size) -> Size {
    let (width, height, sure) = match &draft.what {
        What::Ready(Kind::Image { width, height, .. }) => (*width, *height, true),
        What::Ready(Kind::Disc { diameter, .. }) => (*diameter, *diameter, true),
        What::Broken => (parent.width, parent.height, false),
        _ => (parent.width, parent.height, parent.sure),
    };
    let side = |given: Option<Given>, default| given.map_or(default, |given| given.pixels.unsigned_abs());
    let given = draft.width.is_some() && draft.height.is_some();
    Size {
        width: side(draft.width, width),
        height: side(draft.height, height),
        sure: (sure || given) && !draft.broken,
    }
}

/// No fewer than the copies that can cover one pixel, and not many more.
///
/// The copies that cover a pixel are the points of the lattice in a box of the pattern's size. Two bounds hold: by the
/// rows of the Hermite normal form, each with a point every a columns; and by the coordinates of the box along a
/// reduced basis. The lesser one counts.
pub(crate) fn copies(u: (i64, i64), v: (i64, i64), period: Period, width: u64, height: u64) -> u128 {
    let rows = u128::from(height.div_ceil(period.c())) * u128::from(width.div_ceil(period.a()));
    let ((ux, uy), (vx, vy)) = reduced((u.0.into(), u.1.into()), (v.0.into(), v.1.into()));
    let determinant = (ux * vy - uy * vx).unsigned_abs().max(1);
    let (w, h) = (u128::from(width - 1), u128::from(height - 1));
    let along = |x: i128, y: i128| (w * y.unsigned_abs() + h * x.unsigned_abs()) / determinant + 1;
    rows.min(along(vx, vy).saturating_mul(along(ux, uy)))
}

type Wide = (i128, i128);

/// The shortest basis of the lattice of two vectors that are not parallel, after Gauss and Lagrange.
fn reduced(mut u: Wide, mut v: Wide) -> (Wide, Wide) {
    let dot = |a: Wide, b: Wide| a.0 * b.0 + a.1 * b.1;
    loop {
        if dot(u, u) > dot(v, v) {
            std::mem::swap(&mut u, &mut v);
        }
        let square = dot(u, u).max(1);
        let quotient = (2 * dot(u, v) + square).div_euclid(2 * square);
        if quotient == 0 {
            return (u, v);
        }
        let shorter = (v.0 - quotient * u.0, v.1 - quotient * u.1);
        if dot(shorter, shorter) >= dot(v, v) {
            return (u, v);
        }
        v = shorter;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(u: (i64, i64), v: (i64, i64), width: u64, height: u64) -> u128 {
        copies(u, v, Period::spanned(u, v).unwrap(), width, height)
    }

    /// The most lattice points in any box of this size, by trying every place of the box.
    fn counted(u: (i64, i64), v: (i64, i64), width: i64, height: i64) -> u128 {
        let period = Period::spanned(u, v).unwrap();
        let boxes = (0..i64::try_from(period.cell()).unwrap())
            .map(|i| (i % period.a() as i64, i / period.a() as i64));
        boxes
            .map(|(x0, y0)| {
                (0..width * height)
                    .filter(|i| period.has(x0 + i % width, y0 + i / width))
                    .count() as u128
            })
            .max()
            .unwrap()
    }

    #[test]
    fn the_bound_on_copies_is_safe_and_not_far_off() {
        for (u, v) in [
            ((9, 2), (-2, 8)),
            ((1, 0), (0, 1)),
            ((7, 0), (3, 1)),
            ((1, 30), (0, 37)),
            ((5, 5), (5, -5)),
            ((0, 3), (4, 0)),
        ] {
            for (width, height) in [(1, 1), (10, 10), (3, 17), (20, 2)] {
                let (bound, exact) = (
                    bound(u, v, width, height),
                    counted(u, v, width as i64, height as i64),
                );
                assert!(bound >= exact, "{u:?} {v:?} {width}×{height}: {bound} < {exact}");
                assert!(
                    bound <= 6 * exact + 6,
                    "{u:?} {v:?} {width}×{height}: {bound} for {exact}"
                );
            }
        }
    }

    #[test]
    fn long_thin_cells_have_few_copies() {
        // A Hermite normal form with c = 1 alone would count a copy for each row.
        assert!(bound((1, 20_000), (-20_000, 1), 20_000, 20_000) <= 8);
        let far = 1 << 30;
        assert!(bound((far, 1), (-1, far), 1 << 30, 1 << 30) <= 9);
        assert!(bound((1, 0), (0, 1), 1 << 40, 1 << 40) > 1 << 79);
    }
}
