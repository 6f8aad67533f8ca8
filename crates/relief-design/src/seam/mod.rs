//! Whether a surface closes: whether what the canvas shows up to its last column goes on at its first, as on a roller.
//!
//! The question is put to the root for all columns of the canvas, and by each node to what it reads. A turn is W columns, the
//! side of the canvas. Of a node that lies over all columns asked for, its kind says whether it gives the same samples W
//! columns apart ([`NodeKind::seam`](crate::kinds::NodeKind::seam)). One that does not is a shape that is put somewhere: it goes
//! on where no part of it would show a turn away, or where the same node lies a turn away in the same role, and nothing
//! between both in the order of their parent could tell them apart. Rows are asked about in the same way.
//!
//! The answer is never yes where the surface is open. It may be no where samples happen to meet.

mod told;

use std::collections::HashMap;

use relief_raster::Period;

use crate::kinds::Edge;
use crate::tree::{Axis, Child, Node, NodeId, Role};

pub(crate) use told::{Copies, Told};

/// The most nodes that are asked.
const MAX_VISITS: usize = 1 << 18;

/// The most children that are looked at between two halves of a node, and the most pairs of nodes that are compared.
const MAX_LOOKS: usize = 1 << 22;

/// The most gaps that are told.
const MAX_GAPS: usize = 16;

/// Columns, or rows: from the first to the one after the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Interval {
    pub(crate) from: i128,
    pub(crate) to: i128,
}

impl Interval {
    pub(crate) const EMPTY: Self = Self { from: 0, to: 0 };

    /// Those of a side.
    pub(crate) fn side(pixels: u64) -> Self {
        Self {
            from: 0,
            to: pixels.into(),
        }
    }

    pub(crate) const fn len(self) -> i128 {
        self.to - self.from
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.to <= self.from
    }

    pub(crate) const fn moved(self, by: i128) -> Self {
        Self {
            from: self.from + by,
            to: self.to + by,
        }
    }

    /// Mirrored within a side of so many.
    pub(crate) const fn mirrored(self, side: i128) -> Self {
        Self {
            from: side - self.to,
            to: side - self.from,
        }
    }

    pub(crate) const fn grown(self, by: i128) -> Self {
        Self {
            from: self.from - by,
            to: self.to + by,
        }
    }

    pub(crate) fn meets(self, other: Self) -> bool {
        self.from.max(other.from) < self.to.min(other.to)
    }

    pub(crate) const fn covers(self, other: Self) -> bool {
        other.is_empty() || (self.from <= other.from && self.to >= other.to)
    }

    pub(crate) fn intersection(self, other: Self) -> Self {
        Self {
            from: self.from.max(other.from),
            to: self.to.min(other.to),
        }
    }

    /// The least that covers both.
    pub(crate) fn hull(self, other: Self) -> Self {
        match (self.is_empty(), other.is_empty()) {
            (true, _) => other,
            (_, true) => self,
            _ => Self {
                from: self.from.min(other.from),
                to: self.to.max(other.to),
            },
        }
    }
}

/// The columns and the rows beyond which a node is 0.
pub(crate) type Support = [Interval; 2];

/// Why a surface is not known to close.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Gap {
    /// It reaches over the seam, and nothing goes on a turn away: these columns of it in its parent, of those asked for.
    Cut {
        support: Interval,
        window: Interval,
        /// Whether its role lets halves of it stand side by side.
        halves: bool,
    },
    /// Copies of which a turn is no whole number of steps; with the period of those that lie along two vectors.
    Steps(Option<Period>),
    /// Samples that change along the axis and do not come back: what it is.
    Changes(String),
    /// A filter that reads so far over the seam and takes what its edge says.
    Edge(u32, Edge),
    /// Nothing is known of it: why.
    Unproven(String),
}

/// The nodes of a design, as they are asked.
pub(crate) struct Walk<'d> {
    nodes: &'d [Node],
    supports: Vec<Support>,
    /// Nodes that compute the same have the same number here; found when they are first asked for.
    same: Vec<usize>,
    known: HashMap<(usize, Axis, Interval, i128), bool>,
    gaps: Vec<(usize, Gap)>,
    visits: usize,
    looks: usize,
}

/// A node that is asked whether it gives the same samples a turn apart.
pub(crate) struct Seam<'w, 'd> {
    walk: &'w mut Walk<'d>,
    node: usize,
    /// Along which axis of its own coordinates.
    pub(crate) axis: Axis,
    /// For which of its columns, or rows; all are within it.
    pub(crate) window: Interval,
    /// The pixels of a turn.
    pub(crate) turn: i128,
    closes: bool,
}

/// The gaps of a surface that is to close along an axis, each with the number of its node.
pub(crate) fn gaps(nodes: &[Node], axis: Axis) -> Vec<(usize, Gap)> {
    let Some(root) = nodes.len().checked_sub(1) else {
        return Vec::new();
    };
    let mut walk = Walk {
        nodes,
        supports: Vec::with_capacity(nodes.len()),
        same: Vec::new(),
        known: HashMap::new(),
        gaps: Vec::new(),
        visits: 0,
        looks: 0,
    };
    walk.find_supports();
    let canvas = Interval::side(side(&nodes[root], axis));
    let closes = walk.ask(root, axis, canvas, canvas.len());
    let mut gaps = walk.gaps;
    if !closes && gaps.is_empty() {
        gaps.push((
            root,
            Gap::Unproven("nothing is known of what it shows".to_owned()),
        ));
    }
    gaps
}

/// The side of a node along an axis.
const fn side(node: &Node, axis: Axis) -> u64 {
    match axis {
        Axis::X => node.width,
        Axis::Y => node.height,
    }
}

/// Where a child lies along an axis of its parent.
fn place(child: &Child, axis: Axis) -> Interval {
    let (begin, side) = match axis {
        Axis::X => (child.extent.x(), child.extent.width()),
        Axis::Y => (child.extent.y(), child.extent.height()),
    };
    Interval::side(side).moved(begin.into())
}

/// Whether a shape shows in the window as it does a turn away: no part of it lies over the seam, and it does not go all
/// around.
fn is_free(shape: Interval, window: Interval, turn: i128) -> bool {
    // Those of its places, each a turn from the next, that meet the window follow each other.
    let a_turn_away = shape.moved(turn).meets(window) || shape.moved(-turn).meets(window);
    !shape.covers(window) && !a_turn_away
}

/// Whether a child that is 0 leaves what lies under it.
const fn is_neutral(role: Role) -> bool {
    matches!(role, Role::Add | Role::Subtract | Role::Max | Role::Over)
}

/// Whether the order of two children in this role makes no difference.
const fn commutes(role: Role) -> bool {
    matches!(role, Role::Add | Role::Subtract | Role::Max)
}

impl Walk<'_> {
    /// The supports of all nodes; children stand before their parents.
    fn find_supports(&mut self) {
        for node in self.nodes {
            let children: Vec<(Role, Support)> = node
                .children
                .iter()
                .map(|child| {
                    let own = self.supports.get(child.node.0).copied();
                    let own = own.unwrap_or([place(child, Axis::X), place(child, Axis::Y)]);
                    let moved = [
                        own[0].moved(child.extent.x().into()),
                        own[1].moved(child.extent.y().into()),
                    ];
                    (child.role, moved)
                })
                .collect();
            let size = (node.width, node.height);
            let found = node.kind.support(size, &children);
            self.supports.push([
                found[0].intersection(Interval::side(size.0)),
                found[1].intersection(Interval::side(size.1)),
            ]);
        }
    }

    fn support(&self, node: usize, axis: Axis) -> Interval {
        self.supports
            .get(node)
            .map_or(Interval::EMPTY, |support| support[axis as usize])
    }

    /// Whether a node gives the same samples a turn apart, for columns that it covers.
    fn ask(&mut self, node: usize, axis: Axis, window: Interval, turn: i128) -> bool {
        let key = (node, axis, window, turn);
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        self.visits += 1;
        let nodes = self.nodes;
        let closes = if self.visits > MAX_VISITS {
            self.gap(
                node,
                Gap::Unproven("the design has too many nodes to be looked through".to_owned()),
            );
            false
        } else {
            let mut seam = Seam {
                walk: self,
                node,
                axis,
                window,
                turn,
                closes: true,
            };
            nodes[node].kind.seam(&mut seam);
            seam.closes
        };
        self.known.insert(key, closes);
        closes
    }

    fn gap(&mut self, node: usize, gap: Gap) {
        if self.gaps.len() < MAX_GAPS {
            self.gaps.push((node, gap));
        }
    }

    /// Whether a child goes on by itself; nothing where that depends on those beside it.
    fn ask_child(&mut self, child: &Child, axis: Axis, window: Interval, turn: i128) -> Option<bool> {
        let (place, node) = (place(child, axis), child.node.0);
        let shape = self.support(node, axis).moved(place.from);
        if !shape.meets(window) || is_free(shape, window, turn) {
            return Some(true);
        }
        if place.covers(window) {
            return Some(self.ask(node, axis, window.moved(-place.from), turn));
        }
        None
    }

    fn cut(&mut self, child: &Child, axis: Axis, window: Interval, halves: bool) {
        let support = self.support(child.node.0, axis).moved(place(child, axis).from);
        let gap = Gap::Cut {
            support,
            window,
            halves,
        };
        self.gap(child.node.0, gap);
    }

    /// Whether no child between two others of a fold could tell them apart: those could change places with it.
    fn may_meet(
        &mut self,
        children: &[Child],
        (one, other): (usize, usize),
        axis: Axis,
        window: Interval,
    ) -> bool {
        let shape = |walk: &Self, child: &Child| {
            let shape = walk.support(child.node.0, axis);
            shape.moved(place(child, axis).from).intersection(window)
        };
        let (first, last) = (one.min(other), one.max(other));
        let role = children[one].role;
        let halves = [shape(self, &children[one]), shape(self, &children[other])];
        let between = &children[first + 1..last];
        self.looks += between.len();
        self.looks <= MAX_LOOKS
            && between.iter().all(|child| {
                let beside = !halves.iter().any(|half| half.meets(shape(self, child)));
                is_neutral(child.role) && (beside || (child.role == role && commutes(role)))
            })
    }

    /// Tells nodes that are of one kind and size, with the same children in the same places, from others. Where comparing them
    /// takes too long, the rest are taken for different.
    fn find_same(&mut self) {
        let mut alike: HashMap<_, Vec<usize>> = HashMap::new();
        for (index, node) in self.nodes.iter().enumerate() {
            let children: Vec<(Role, usize, i64, i64)> = node
                .children
                .iter()
                .map(|child| {
                    let NodeId(own) = child.node;
                    let same = self.same.get(own).copied().unwrap_or(own);
                    (child.role, same, child.extent.x(), child.extent.y())
                })
                .collect();
            let key = (
                std::mem::discriminant(&node.kind),
                node.width,
                node.height,
                children,
            );
            let alike = alike.entry(key).or_default();
            self.looks += alike.len();
            let first = (self.looks <= MAX_LOOKS)
                .then(|| alike.iter().find(|&&other| self.nodes[other].kind == node.kind))
                .flatten();
            self.same.push(first.copied().unwrap_or(index));
            if first.is_none() {
                alike.push(index);
            }
        }
    }

    /// The rule of a fold: shapes over the seam have their other halves a turn away.
    fn fold(&mut self, parent: usize, axis: Axis, window: Interval, turn: i128) -> bool {
        let nodes = self.nodes;
        let children = &nodes[parent].children;
        let mut closes = true;
        let mut cut = Vec::new();
        for (i, child) in children.iter().enumerate() {
            match self.ask_child(child, axis, window, turn) {
                Some(goes_on) => closes &= goes_on,
                None => cut.push(i),
            }
        }
        if cut.is_empty() {
            return closes;
        }
        if self.same.is_empty() {
            self.find_same();
        }
        let same = std::mem::take(&mut self.same);
        let key = |child: &Child| {
            let across = match axis {
                Axis::X => child.extent.y(),
                Axis::Y => child.extent.x(),
            };
            (same.get(child.node.0), child.role, across)
        };
        let mut places: HashMap<_, Vec<usize>> = HashMap::new();
        for &i in &cut {
            let child = &children[i];
            places
                .entry((key(child), place(child, axis).from))
                .or_default()
                .push(i);
        }
        for &i in &cut {
            let child = &children[i];
            let from = place(child, axis).from;
            let shape = self.support(child.node.0, axis).moved(from);
            let here = &places[&(key(child), from)];
            // Of several at one place the first goes with the first, and so on.
            let number = here.binary_search(&i).unwrap_or_default();
            // One that is longer than a turn lies over itself, where its order counts.
            let goes_on = is_neutral(child.role)
                && (shape.len() <= turn || commutes(child.role))
                && [turn, -turn].into_iter().all(|by| {
                    if !shape.moved(by).meets(window) {
                        return true;
                    }
                    let there = places.get(&(key(child), from + by));
                    let there = there.filter(|there| there.len() == here.len());
                    there.is_some_and(|there| self.may_meet(children, (i, there[number]), axis, window))
                });
            if !goes_on {
                self.cut(child, axis, window, is_neutral(child.role));
                closes = false;
            }
        }
        drop(places);
        self.same = same;
        closes
    }
}

impl Seam<'_, '_> {
    /// Columns, or rows, of the node.
    pub(crate) fn side(&self) -> i128 {
        side(&self.walk.nodes[self.node], self.axis).into()
    }

    /// Notes why it is not known to give the same samples a turn apart.
    pub(crate) fn gap(&mut self, gap: Gap) {
        self.closes = false;
        self.walk.gap(self.node, gap);
    }

    /// It gives them where its child of this number does, for these columns or rows of its own.
    pub(crate) fn child(&mut self, index: usize, axis: Axis, window: Interval) {
        let nodes = self.walk.nodes;
        let Some(child) = nodes[self.node].children.get(index) else {
            return;
        };
        let goes_on = self.walk.ask_child(child, axis, window, self.turn);
        if goes_on.is_none() {
            self.walk.cut(child, axis, window, false);
        }
        self.closes &= goes_on.unwrap_or(false);
    }

    /// It computes every sample from those of its children at the same place.
    pub(crate) fn same_place(&mut self) {
        for index in 0..self.walk.nodes[self.node].children.len() {
            self.child(index, self.axis, self.window);
        }
    }

    /// It folds its children, those that are neutral where they are 0 among them.
    pub(crate) fn fold(&mut self) {
        self.closes &= self.walk.fold(self.node, self.axis, self.window, self.turn);
    }

    /// It is a shape that ends where its support does. One that goes all around is not known to meet itself.
    pub(crate) fn shape(&mut self, all_around: &str) {
        let support = self.walk.support(self.node, self.axis);
        self.reaching(support, all_around);
    }

    /// It is a shape that reaches from here to there, beyond the ends of the node as well: what a canvas cuts off would have
    /// gone on a turn away.
    pub(crate) fn reaching(&mut self, support: Interval, all_around: &str) {
        if !support.meets(self.window) || is_free(support, self.window, self.turn) {
            return;
        }
        self.gap(if support.covers(self.window) {
            Gap::Unproven(all_around.to_owned())
        } else {
            Gap::Cut {
                support,
                window: self.window,
                halves: false,
            }
        });
    }

    /// It shows its child in steps of so many pixels.
    pub(crate) fn copies(&mut self, step: u64) {
        let nodes = self.walk.nodes;
        let Some(child) = nodes[self.node].children.first() else {
            return;
        };
        let shows = !self.walk.support(child.node.0, self.axis).is_empty();
        if shows && self.turn % i128::from(step.max(1)) != 0 {
            self.gap(Gap::Steps(None));
        }
    }

    /// It reads its child as far as a radius around every pixel, and beyond its own extent what an edge says.
    pub(crate) fn filter(&mut self, radius: u32, edge: Edge) {
        let nodes = self.walk.nodes;
        let Some(child) = nodes[self.node].children.first() else {
            return;
        };
        let (whole, reach) = (
            Interval {
                from: 0,
                to: self.side(),
            },
            i128::from(radius),
        );
        let read = self.window.grown(reach);
        if whole.covers(read) {
            return self.child(0, self.axis, read);
        }
        if edge == Edge::Wrap && self.window == whole && whole.len() == self.turn {
            return self.child(0, self.axis, self.window);
        }
        let shape = self
            .walk
            .support(child.node.0, self.axis)
            .moved(place(child, self.axis).from);
        // Whatever the edge, 0 is read where there is nothing near it. Mirrored, −R reads R.
        let nothing_near = shape.is_empty() || whole.grown(-reach - 1).covers(shape);
        if nothing_near && (!shape.meets(read) || is_free(shape, read, self.turn)) {
            return;
        }
        if edge != Edge::Zero && self.is_constant(child, whole) {
            return;
        }
        self.gap(Gap::Edge(radius, edge));
    }

    /// Whether a child is the same along the axis.
    fn is_constant(&mut self, child: &Child, whole: Interval) -> bool {
        let gaps = self.walk.gaps.clone();
        let is_constant = self.walk.ask_child(child, self.axis, whole, 1) == Some(true);
        self.walk.gaps = gaps;
        is_constant
    }
}
