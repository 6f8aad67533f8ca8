//! What is known of samples without computing them, from the tree and from what the plan keeps.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use relief_raster::{Rect, Sample};

use super::reader::{Plane, Store};
use crate::levels::{Bands, Cell as Kept, Levels, PlaneSums, RowSums};
use crate::node::{
    Block, Bounds, Corners, Edges, Form, Grid, Known, Link, Repeated, Summary, Through, of_plane,
};
use crate::program::{Keep, Program, Step};

/// The most nodes that are asked for one answer: a design may use one node along very many ways.
const MOST: u64 = 1 << 14;

/// The most that are asked for every block, where there are many.
const MOST_FOR_EACH: u64 = 1 << 12;

/// The most tables that are put together for one answer.
const MOST_TABLES: usize = 256;

/// What nodes share that are asked for one answer.
struct Answer {
    /// Nodes that may still be asked, each for one block.
    left: Cell<u64>,
    /// Whether it is asked how many samples are 0.
    zeros: bool,
    /// Whether the least and greatest samples of what is held are looked for in every part of it.
    thorough: bool,
    /// Whether planes that repeat over a texture are looked at together with it.
    lays: Cell<bool>,
    tables: RefCell<Tables>,
}

/// Tables that are put together step by step: each is another one, 0 being that which changes nothing, and what follows it.
#[derive(Default)]
struct Tables {
    steps: Vec<(u32, Through)>,
    numbers: HashMap<(u32, Through), u32>,
}

/// What is known of a block, as far as its samples can be counted from it.
pub(super) enum Looked {
    /// All of its samples are this one.
    One(u16),
    /// Its samples are those of a node of which a cell is kept, each through these steps.
    Cell {
        /// The node.
        node: usize,
        /// Where the top-left of that node lies.
        place: (i64, i64),
        /// What its samples go through, the first first.
        steps: Vec<Through>,
        /// Between which samples they lie.
        bounds: Bounds,
    },
    /// They lie between these.
    Between(Bounds),
}

/// What is known to one node.
pub(crate) struct Asked<'a, S> {
    program: &'a Program,
    /// What the plan keeps, where that is there.
    store: Option<&'a Store<S>>,
    /// Sums of it, where the plan has levels.
    levels: Option<&'a Levels>,
    node: usize,
    answer: &'a Answer,
}

impl<'a, S: Sample> Asked<'a, S> {
    /// Asks the root of a program about so many blocks.
    pub(crate) fn root<T>(
        program: &'a Program,
        store: Option<&'a Store<S>>,
        levels: Option<&'a Levels>,
        blocks: usize,
        thorough: bool,
        ask: impl FnOnce(&Asked<'_, S>) -> T,
    ) -> T {
        let answer = Answer {
            left: Cell::new((blocks as u64 * MOST_FOR_EACH).max(MOST)),
            zeros: thorough || levels.is_some_and(|levels| levels.zeros),
            thorough,
            lays: Cell::new(false),
            tables: RefCell::default(),
        };
        ask(&Asked {
            program,
            store,
            levels,
            node: program.root(),
            answer: &answer,
        })
    }

    /// Whether one more node may be asked for so many blocks.
    fn may_ask(&self, blocks: usize) -> bool {
        let left = self.answer.left.get().checked_sub(blocks as u64);
        self.answer.left.set(left.unwrap_or(0));
        left.is_some()
    }

    /// Looks at planes that repeat over a texture together with it from now on: that takes some time, and is of use for sums alone.
    pub(super) fn with_laid(&self) {
        self.answer.lays.set(true);
    }

    pub(super) const fn levels(&self) -> Option<&'a Levels> {
        self.levels
    }

    pub(super) const fn store(&self) -> Option<&'a Store<S>> {
        self.store
    }

    pub(super) const fn node(&self) -> usize {
        self.node
    }

    pub(super) fn step(&self) -> &'a Step {
        &self.program.steps[self.node]
    }

    pub(super) fn plane(&self) -> Option<&'a Plane<S>> {
        self.store.and_then(|store| store.planes[self.node].get())
    }

    /// The samples of `rect`, in the node's own coordinates and within it.
    pub(crate) fn bounds(&self, rect: Rect) -> Bounds {
        if !self.may_ask(1) {
            return self.anything();
        }
        let step = self.step();
        let told = || step.kind.bounds(self, &step.links, rect);
        let Some(plane) = self.plane().filter(|_| step.holds(rect)) else {
            return told();
        };
        if let Some(value) = plane.uniform {
            return Bounds::one(value.to_u16());
        }
        match (step.keep, self.levels) {
            (Keep::Whole, Some(levels)) => {
                let sums = levels.whole(self.node, plane.view());
                self.extremes(plane, sums, rect)
            }
            (Keep::Cell { period, .. }, Some(levels)) => {
                let all = match levels.cell(self.node, period, plane.view()) {
                    Kept::Small(sums) => sums.bounds(),
                    Kept::Upright(sums) => sums.bounds(Rect::sized(period.a(), period.c())),
                    Kept::Other(bounds) => *bounds,
                };
                // A small part may lie in what all copies have in common.
                if rect.width() < period.a() || rect.height() < period.c() {
                    all.and(told())
                } else {
                    all
                }
            }
            _ => told(),
        }
    }

    /// All that is known of the samples of `rect`, in the node's own coordinates and within it.
    pub(crate) fn summary(&self, rect: Rect) -> Summary {
        let (xs, ys) = ([rect.x(), rect.right()], [rect.y(), rect.bottom()]);
        let mut block = [Block::EMPTY];
        self.blocks(Grid { xs: &xs, ys: &ys }, &mut block);
        block[0].summary
    }

    /// What is known of every block of `grid`, in the node's own coordinates and within it.
    pub(crate) fn blocks(&self, grid: Grid<'_>, out: &mut [Block]) {
        if !self.may_ask(grid.len()) {
            let anything = |_| self.anything();
            for (block, rect) in out.iter_mut().zip(grid.rects()) {
                *block = Block::within(rect, anything);
            }
            return;
        }
        let step = self.step();
        let held = match step.keep {
            Keep::Cell { valid, .. } => valid,
            Keep::Whole => step.need,
            Keep::No | Keep::Image | Keep::Windows | Keep::Cached => Rect::EMPTY,
        };
        let Some(plane) = self.plane().filter(|_| self.levels.is_some() && !held.is_empty()) else {
            step.kind.blocks(self, &step.links, grid, out);
            return;
        };
        // Columns and rows of blocks that lie in what is held.
        let inside = |edges: &[i64], from: i64, to: i64| {
            let first = edges.partition_point(|edge| *edge < from);
            (first, edges.partition_point(|edge| *edge <= to).max(first))
        };
        let (left, right) = inside(grid.xs, held.x(), held.right());
        let (top, bottom) = inside(grid.ys, held.y(), held.bottom());
        let inner = Grid {
            xs: &grid.xs[left..right],
            ys: &grid.ys[top..bottom],
        };
        let some = inner.xs.len() > 1 && inner.ys.len() > 1;
        if !some || inner.len() < grid.len() {
            step.kind.blocks(self, &step.links, grid, out);
        }
        if !some {
            return;
        }
        if inner.len() == grid.len() {
            self.held(plane, grid, out);
        } else {
            let mut known = vec![Block::EMPTY; inner.len()];
            self.held(plane, inner, &mut known);
            for (row, known) in known.chunks_exact(inner.columns()).enumerate() {
                let start = (top + row) * grid.columns() + left;
                out[start..start + known.len()].copy_from_slice(known);
            }
        }
    }

    /// The blocks of `grid`, all of which lie in what is kept of the node.
    fn held(&self, plane: &Plane<S>, grid: Grid<'_>, out: &mut [Block]) {
        if let Some(value) = plane.uniform {
            for (block, rect) in out.iter_mut().zip(grid.rects()) {
                *block = Block::of(Summary::constant(value.to_u16(), rect.area()));
            }
            return;
        }
        let Some(levels) = self.levels else { return };
        let (view, place) = (plane.view(), (plane.rect.x(), plane.rect.y()));
        let zeros = self.answer.zeros;
        let of_plane = |sums: &PlaneSums, across: &Repeated, down: &Repeated, out: &mut [Block]| {
            let corners = sums.corners(view, &across.places, &down.places, zeros);
            let max = S::MAX.to_u16();
            of_plane(grid, (across, down), &corners, max, |rect| self.bounds(rect), out);
        };
        let form = Form::of(self.node);
        match self.step().keep {
            Keep::Whole => {
                let across = Repeated::once(grid.xs, place.0, plane.rect.width());
                let down = Repeated::once(grid.ys, place.1, plane.rect.height());
                of_plane(levels.whole(self.node, view), &across, &down, out);
            }
            Keep::Cell { period, .. } => match levels.cell(self.node, period, view) {
                Kept::Small(sums) => {
                    let moved =
                        |edges: &[i64], by: i64| edges.iter().map(|edge| edge - by).collect::<Vec<_>>();
                    let (xs, ys) = (moved(grid.xs, place.0), moved(grid.ys, place.1));
                    sums.blocks(Grid { xs: &xs, ys: &ys }, zeros, |number, summary| {
                        out[number] = Block { summary, form };
                    });
                }
                Kept::Upright(sums) => {
                    let across = Repeated::new(grid.xs, place.0, period.a(), period.a());
                    let down = Repeated::new(grid.ys, place.1, period.c(), period.c());
                    of_plane(sums, &across, &down, out);
                    out.iter_mut().for_each(|block| block.form = form);
                }
                Kept::Other(bounds) => {
                    for (block, rect) in out.iter_mut().zip(grid.rects()) {
                        *block = Block {
                            form,
                            ..Block::within(rect, |_| *bounds)
                        };
                    }
                }
            },
            Keep::No | Keep::Image | Keep::Windows | Keep::Cached => {}
        }
    }

    /// Makes the sums of blocks exact that are a kept cell through a table.
    pub(crate) fn settle(&self, grid: Grid<'_>, blocks: &mut [Block]) {
        let (Some(levels), Some(store)) = (self.levels, self.store) else {
            return;
        };
        let open = |block: &Block| block.summary.sum.0 < block.summary.sum.1;
        let columns = grid.columns();
        // Each with the columns in which it stands; neighbours mostly have the same.
        let mut forms: Vec<(Form, Vec<bool>)> = Vec::new();
        let mut last = 0;
        for row in blocks.chunks_exact(columns.max(1)) {
            for (column, block) in row.iter().enumerate().filter(|(_, block)| open(block)) {
                let Some(form) = block.form else { continue };
                if forms.get(last).is_none_or(|(known, _)| *known != form) {
                    let known = forms.iter().position(|(known, _)| *known == form);
                    last = match known {
                        Some(known) => known,
                        None if forms.len() == MOST_TABLES => continue,
                        None => {
                            forms.push((form, vec![false; columns]));
                            forms.len() - 1
                        }
                    };
                }
                forms[last].1[column] = true;
            }
        }
        for (form, stands) in forms {
            let step = &self.program.steps[form.node()];
            let (Keep::Cell { period, .. }, Some(plane)) = (step.keep, store.planes[form.node()].get())
            else {
                continue;
            };
            if !matches!(levels.cell(form.node(), period, plane.view()), Kept::Small(_)) {
                continue;
            }
            let steps = self.steps_of(form.table);
            let sums = levels.tabled(form.node(), steps.clone(), || {
                RowSums::of(period, plane.view(), |sample: S| {
                    self.stepped(&steps, sample.to_u16()).into()
                })
            });
            let (x, y) = (form.place.0 + plane.rect.x(), form.place.1 + plane.rect.y());
            let ys: Vec<i64> = grid.ys.iter().map(|edge| edge - y).collect();
            let is_one = |block: &Block| open(block) && block.form == Some(form);
            let mut bands = Bands::new(stands.iter().filter(|stands| **stands).count());
            for column in (0..columns).filter(|column| stands[*column]) {
                let sides = (grid.xs[column] - x, grid.xs[column + 1] - x);
                sums.column(sides, &ys, &mut bands, |row, sum| {
                    let block = &mut blocks[row * columns + column];
                    if is_one(block) {
                        block.summary = block.summary.of_exactly(sum);
                    }
                });
            }
        }
    }

    /// What is known of every block of `grid`, so that its samples can be counted.
    pub(super) fn known_blocks(&self, grid: Grid<'_>) -> Vec<Looked> {
        let mut blocks = vec![Block::EMPTY; grid.len()];
        self.blocks(grid, &mut blocks);
        let looked = |block: &Block| {
            let bounds = block.summary.bounds();
            match block.form {
                _ if bounds.least == bounds.greatest => Looked::One(bounds.least),
                Some(form) => Looked::Cell {
                    node: form.node(),
                    place: form.place,
                    steps: self.steps_of(form.table),
                    bounds,
                },
                None => Looked::Between(bounds),
            }
        };
        blocks.iter().map(looked).collect()
    }

    /// The steps of a table, the first first.
    pub(super) fn steps_of(&self, table: u32) -> Vec<Through> {
        let tables = self.answer.tables.borrow();
        let mut steps = Vec::new();
        let mut table = table;
        while let Some((before, step)) = (table as usize)
            .checked_sub(1)
            .and_then(|place| tables.steps.get(place))
        {
            steps.push(*step);
            table = *before;
        }
        steps.reverse();
        steps
    }

    pub(super) fn stepped(&self, steps: &[Through], sample: u16) -> u16 {
        let entry = |table: usize, sample: u16| {
            let entry = self.program.tables[table].get(usize::from(sample));
            entry.copied().unwrap_or(0)
        };
        let max = S::MAX.to_u16();
        steps
            .iter()
            .fold(sample, |sample, step| step.apply(sample, entry, max))
    }

    /// Between which samples those of a rectangle of a plane lie.
    fn extremes(&self, plane: &Plane<S>, sums: &PlaneSums, rect: Rect) -> Bounds {
        let local = rect.translated(-plane.rect.x(), -plane.rect.y());
        if self.answer.thorough {
            sums.extremes(plane.view(), local)
        } else {
            sums.bounds(local)
        }
    }

    /// Where what is known of the node changes within `hull`: see [`Node::edges`].
    pub(crate) fn edges(&self, hull: Rect, place: (i64, i64), edges: &mut Edges) {
        let step = self.step();
        let held = matches!(step.keep, Keep::Cell { .. } | Keep::Whole) && step.holds(hull);
        if !hull.is_empty() && !held && self.may_ask(1) {
            step.kind.edges(self, &step.links, hull, place, edges);
        }
    }

    pub(super) fn of(&self, child: usize) -> Self {
        Self { node: child, ..*self }
    }
}

impl<S: Sample> Known for Asked<'_, S> {
    fn max(&self) -> u16 {
        S::MAX.to_u16()
    }

    fn within(&self, child: usize, rect: Rect) -> Bounds {
        self.of(child).bounds(rect)
    }

    fn summary_within(&self, child: usize, rect: Rect) -> Summary {
        self.of(child).summary(rect)
    }

    fn blocks_within(&self, child: usize, grid: Grid<'_>, out: &mut [Block]) {
        self.of(child).blocks(grid, out);
    }

    fn laid_from(&self, links: &[Link], hull: Rect) -> Option<usize> {
        let stack = self.answer.lays.get().then(|| self.stack(links, hull))?;
        stack.map(|stack| stack.first())
    }

    fn lay(&self, links: &[Link], grid: Grid<'_>, below: &mut [Block], out: &mut [Block]) {
        if let Some(stack) = self.stack(links, grid.hull()) {
            Self::lay(self, &stack, grid, below, out);
        }
    }

    fn corners(&self, child: usize, xs: &[i64], ys: &[i64]) -> Option<Corners> {
        let asked = self.of(child);
        let (levels, plane) = (self.levels?, asked.plane()?);
        let (step, rect) = (asked.step(), plane.rect);
        let held = match step.image {
            // A picture holds what is read of it, and beyond it there is nothing.
            Some(shown) => {
                return self.picture_corners(shown.picture, xs, ys).filter(|_| {
                    let stored = step.stored();
                    xs.last().is_none_or(|x| *x <= stored.right())
                        && ys.last().is_none_or(|y| *y <= stored.bottom())
                });
            }
            None => step.keep == Keep::Whole && within(rect, xs, ys),
        };
        let moved = |edges: &[i64], by: i64| edges.iter().map(|edge| edge - by).collect::<Vec<_>>();
        held.then(|| {
            let sums = levels.whole(child, plane.view());
            sums.corners(
                plane.view(),
                &moved(xs, rect.x()),
                &moved(ys, rect.y()),
                self.answer.zeros,
            )
        })
    }

    fn picture_corners(&self, picture: usize, xs: &[i64], ys: &[i64]) -> Option<Corners> {
        let (levels, plane) = (self.levels?, self.store?.pictures[picture].get()?);
        let (view, rect) = (plane.view(), plane.rect);
        let moved = |edges: &[i64], by: i64| edges.iter().map(|edge| edge - by).collect::<Vec<_>>();
        within(rect, xs, ys).then(|| {
            let sums = levels.picture(picture, view);
            sums.corners(
                view,
                &moved(xs, rect.x()),
                &moved(ys, rect.y()),
                self.answer.zeros,
            )
        })
    }

    fn through(&self, table: usize, samples: Summary) -> Summary {
        let entries = &self.program.tables[table];
        let through = match self.levels {
            Some(levels) => {
                let sums = levels.table(table, entries);
                let bounds = samples.bounds();
                (sums.through(bounds)).map(|(through, straight)| {
                    samples.through_entries(sums.entry(bounds.least), through, straight)
                })
            }
            None => samples.through(entries),
        };
        through.unwrap_or_else(|| Summary::within(self.anything(), samples.pixels))
    }

    fn pushed(&self, table: u32, step: Through) -> Option<u32> {
        let mut tables = self.answer.tables.borrow_mut();
        if let Some(number) = tables.numbers.get(&(table, step)) {
            return Some(*number);
        }
        if tables.steps.len() == MOST_TABLES {
            return None;
        }
        tables.steps.push((table, step));
        let number = tables.steps.len() as u32;
        tables.numbers.insert((table, step), number);
        Some(number)
    }

    fn edges_within(&self, child: &Link, hull: Rect, place: (i64, i64), edges: &mut Edges) {
        let place = (place.0 + child.extent.x(), place.1 + child.extent.y());
        self.of(child.node).edges(child.local(hull), place, edges);
    }

    fn table(&self, number: usize) -> &[u16] {
        &self.program.tables[number]
    }

    fn prepared(&self, samples: Bounds) -> Bounds {
        let table = self.store.and_then(|store| store.prepared[self.node].get());
        let entries = usize::from(samples.least)..=usize::from(samples.greatest);
        let entries = table.and_then(|table| table.get(entries)).unwrap_or_default();
        let entries = || entries.iter().map(|entry| entry.to_u16());
        match (entries().min(), entries().max()) {
            (Some(least), Some(greatest)) => Bounds { least, greatest },
            _ => self.anything(),
        }
    }

    fn picture(&self, picture: usize, rect: Rect) -> Bounds {
        let plane = self.store.and_then(|store| store.pictures[picture].get());
        match (plane, self.levels) {
            (Some(plane), _) if plane.uniform.is_some() => {
                Bounds::one(plane.uniform.map_or(0, Sample::to_u16))
            }
            (Some(plane), Some(levels)) if plane.rect.contains(&rect) => {
                let sums = levels.picture(picture, plane.view());
                self.extremes(plane, sums, rect)
            }
            _ => self.anything(),
        }
    }
}

/// Whether all places lie in `rect` or at its ends.
fn within(rect: Rect, xs: &[i64], ys: &[i64]) -> bool {
    let along = |places: &[i64], from: i64, to: i64| {
        let ends = places.first().zip(places.last());
        ends.is_some_and(|(first, last)| from <= *first && *last <= to)
    };
    along(xs, rect.x(), rect.right()) && along(ys, rect.y(), rect.bottom())
}
