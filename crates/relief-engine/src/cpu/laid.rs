//! What is known of planes that repeat over a texture: see [`levels::Cells`](crate::levels::Cells).

use std::collections::HashMap;
use std::sync::Arc;

use relief_kernels::fold::Fold;
use relief_raster::{Period, Rect, Sample};

use super::known::Asked;
use crate::levels::{
    Below, Cell as Kept, Cells, Copy, Layer, Levels, MOST_BYTES_OF_COPIES, PlaneSums, Span, Windows, gcd,
};
use crate::node::{Block, Bounds, Form, Grid, Link};
use crate::program::Keep;

/// Columns and rows of the cells that are folded one by one, in pixels.
const SIDES: [u64; 3] = [16, 8, 4];

/// The most of them for every block.
const MOST_FOR_EACH: u64 = 80;

/// The most ways in which they lie in a copy: where there are more, they begin where the copy does.
const MOST_WAYS: u64 = 16;

/// Columns and rows of groups of cells in a block, where copies are summed once: a group that its edge cuts is known less well.
const GROUPS: u64 = 32;

/// The smallest and the largest cells of copies that are summed once.
const LEAST_SIDE: u64 = 32;
const MOST_SIDE: u64 = 64;

/// The most cells of copies that are summed once.
const MOST_AT_ONCE: u64 = 1 << 24;

/// The most copies for every block.
const MOST_COPIES: u64 = 16;

/// The most textures that lie under the planes of one answer.
const MOST_TEXTURES: usize = 64;

/// Planes that repeat with the same steps, each over those before it.
pub(super) struct Stack<'a, S> {
    /// The number of the first of them among the children.
    first: usize,
    steps: (u64, u64),
    /// Where the first pixel of a copy lies.
    origin: (i64, i64),
    layers: Vec<Layer<'a, S>>,
    /// What is known of parts of each, and where it begins in them.
    sums: Vec<(Option<&'a PlaneSums>, (i64, i64))>,
}

/// One of them, as it is found.
struct Laid<'a, S> {
    steps: (u64, u64),
    place: (i64, i64),
    layer: Layer<'a, S>,
    sums: Option<&'a PlaneSums>,
    offset: (i64, i64),
}

impl<S> Stack<'_, S> {
    /// The number of the first of them among the children.
    pub(super) const fn first(&self) -> usize {
        self.first
    }

    /// Where the copy with these numbers lies.
    const fn place(&self, (i, j): (i64, i64)) -> (i64, i64) {
        let (across, down) = (self.steps.0.cast_signed(), self.steps.1.cast_signed());
        (self.origin.0 + i * across, self.origin.1 + j * down)
    }

    /// The copies of which pixels may lie in `rect`.
    fn copies(&self, rect: Rect) -> impl Iterator<Item = (i64, i64)> + use<S> {
        let along = |from: i64, to: i64, origin: i64, step: u64| {
            let step = step.cast_signed();
            (from - origin).div_euclid(step)..=(to - 1 - origin).div_euclid(step)
        };
        let across = along(rect.x(), rect.right(), self.origin.0, self.steps.0);
        let down = along(rect.y(), rect.bottom(), self.origin.1, self.steps.1);
        down.flat_map(move |j| across.clone().map(move |i| (i, j)))
    }
}

/// What lies under blocks.
struct Under {
    /// The number of what lies under each block among `all`.
    of: Vec<Option<usize>>,
    all: Vec<One>,
}

enum One {
    Sample(u16),
    Texture(Arc<Windows>, Period, (i64, i64)),
}

impl One {
    /// From a place of the raster on.
    fn at(&self, (x, y): (i64, i64)) -> Below<'_> {
        match self {
            Self::Sample(sample) => Below::One(*sample),
            Self::Texture(windows, period, place) => {
                Below::Texture(windows, period.reduce(x - place.0, y - place.1))
            }
        }
    }
}

/// What lies under the pixels of a row from the copy's first column on.
struct RowUnder<'a> {
    place: (i64, i64),
    last: Option<(&'a One, Below<'a>)>,
}

impl<'a> RowUnder<'a> {
    const fn new(place: (i64, i64)) -> Self {
        Self { place, last: None }
    }

    /// From the column `x` on, which is not left of the first.
    fn at(&mut self, one: &'a One, x: i64) -> Below<'a> {
        let first = match self.last {
            Some((last, below)) if std::ptr::eq(last, one) => below,
            _ => self.last.insert((one, one.at(self.place))).1,
        };
        first.across(x.abs_diff(self.place.0))
    }
}

impl<'a, S: Sample> Asked<'a, S> {
    /// The last children of a node that are planes which repeat with the same steps, all over `hull`; none where nothing lies under them.
    pub(super) fn stack(&self, links: &[Link], hull: Rect) -> Option<Stack<'a, S>> {
        let levels = self.levels()?;
        let kind = &self.step().kind;
        let mut found: Vec<Laid<'a, S>> = Vec::new();
        for link in links.iter().rev() {
            let fold = kind.folds(link.role).filter(|fold| *fold != Fold::Base);
            match fold.and_then(|fold| self.laid(levels, link, fold, hull)) {
                Some(one) if found.last().is_none_or(|other| other.steps == one.steps) => found.push(one),
                _ => break,
            }
        }
        found.reverse();
        let first = links.len() - found.len();
        let steps = found.first()?.steps;
        let (across, down) = (steps.0.cast_signed(), steps.1.cast_signed());
        let least =
            |of: fn(&Laid<'a, S>) -> i64, step: i64| found.iter().map(|one| of(one).rem_euclid(step)).min();
        let origin = (least(|one| one.place.0, across)?, least(|one| one.place.1, down)?);
        let copy = Rect::sized(steps.0, steps.1);
        let (mut layers, mut sums) = (Vec::new(), Vec::new());
        for mut one in found {
            let place = (
                (one.place.0 - origin.0).rem_euclid(across),
                (one.place.1 - origin.1).rem_euclid(down),
            );
            one.layer.rect = one.layer.rect.translated(place.0, place.1);
            // A plane that goes on in the next copy.
            if !copy.contains(&one.layer.rect) {
                return None;
            }
            layers.push(one.layer);
            sums.push((one.sums, one.offset));
        }
        Some(Stack {
            first,
            steps,
            origin,
            layers,
            sums,
        })
    }

    /// A child that is a plane which repeats along the axes, all over `hull`.
    fn laid(&self, levels: &'a Levels, link: &Link, fold: Fold, hull: Rect) -> Option<Laid<'a, S>> {
        if !link.extent.in_parent().contains(&hull) {
            return None;
        }
        let child = self.of(link.node);
        let step = child.step();
        let at = (link.extent.x(), link.extent.y());
        let local = |width: u64, height: u64| Rect::sized(width, height);
        if let Keep::Cell { period, valid } = step.keep {
            let plane = child.plane().filter(|plane| plane.uniform.is_none())?;
            let view = plane.view();
            let sums = match levels.cell(link.node, period, view) {
                Kept::Upright(sums) => Some(sums),
                Kept::Small(_) | Kept::Other(_) => None,
            };
            let there = period.b() == 0 && valid.contains(&hull.translated(-at.0, -at.1));
            return there.then(|| Laid {
                steps: (period.a(), period.c()),
                place: (at.0 + plane.rect.x(), at.1 + plane.rect.y()),
                layer: Layer {
                    fold,
                    samples: view,
                    rect: local(period.a(), period.c()),
                },
                sums,
                offset: (0, 0),
            });
        }
        let steps = step.kind.repeats()?;
        let pattern = step.links.first()?;
        let (extent, of_pattern) = (pattern.extent, child.of(pattern.node));
        let shown = local(extent.width().min(steps.0), extent.height().min(steps.1));
        let (plane, shown, sums) = match of_pattern.step().image {
            Some(image) => {
                let plane = self.store()?.pictures[image.picture].get()?;
                let stored = shown.intersection(&of_pattern.step().stored());
                let sums = (plane.uniform.is_none()).then(|| levels.picture(image.picture, plane.view()));
                (plane, stored, sums)
            }
            None if of_pattern.step().keep == Keep::Whole => {
                let plane = of_pattern.plane()?;
                let sums = (plane.uniform.is_none()).then(|| levels.whole(pattern.node, plane.view()));
                (plane, shown, sums)
            }
            None => return None,
        };
        let samples = plane.part(shown).filter(|_| plane.uniform.is_none())?;
        Some(Laid {
            steps,
            place: (at.0 + extent.x(), at.1 + extent.y()),
            layer: Layer {
                fold,
                samples,
                rect: shown,
            },
            sums,
            offset: (shown.x() - plane.rect.x(), shown.y() - plane.rect.y()),
        })
    }

    /// The cells of a copy of a stack; `before` is how far before the copy the first begins.
    fn cells(&self, stack: &Stack<'_, S>, side: u64, before: (u64, u64)) -> Option<Arc<Cells>> {
        let levels = self.levels()?;
        let number = (self.node(), stack.layers.len());
        levels.laid.cells(number, side, before, || {
            Cells::of(&stack.layers, stack.steps, side, before, |layer, rect| {
                let (sums, offset) = &stack.sums[layer];
                sums.map_or_else(
                    || Bounds::between(0, S::MAX.to_u16()),
                    |sums| sums.bounds(rect.translated(offset.0, offset.1)),
                )
            })
        })
    }

    /// What lies under blocks, in windows of this side.
    fn under(&self, below: &[Block], side: u64) -> Option<Under> {
        let (levels, store) = (self.levels()?, self.store()?);
        let mut numbers: HashMap<Result<Form, u16>, usize> = HashMap::new();
        let mut all = Vec::new();
        let mut of = Vec::with_capacity(below.len());
        // Neighbours mostly lie over the same.
        let mut last: Option<(Result<Form, u16>, usize)> = None;
        for block in below {
            let key = match (block.one(), block.form) {
                _ if block.summary.pixels == 0 => None,
                (Some(sample), _) => Some(Err(sample)),
                (None, form) => form.map(Ok),
            };
            let Some(key) = key else {
                of.push(None);
                continue;
            };
            let known = match last {
                Some((before, number)) if before == key => Some(number),
                _ => numbers.get(&key).copied(),
            };
            if let Some(number) = known {
                last = Some((key, number));
                of.push(Some(number));
                continue;
            }
            let one = match key {
                Err(sample) => One::Sample(sample),
                Ok(form) => {
                    let Keep::Cell { period, .. } = self.of(form.node()).step().keep else {
                        return None;
                    };
                    let plane = store.planes[form.node()].get()?;
                    if plane.uniform.is_some()
                        || !matches!(levels.cell(form.node(), period, plane.view()), Kept::Small(_))
                    {
                        of.push(None);
                        continue;
                    }
                    let steps = self.steps_of(form.table);
                    let windows = levels.laid.windows(form.node(), side, steps.clone(), || {
                        Windows::of(period, plane.view(), side, |sample: S| {
                            self.stepped(&steps, sample.to_u16())
                        })
                    });
                    let place = (form.place.0 + plane.rect.x(), form.place.1 + plane.rect.y());
                    One::Texture(windows, period, place)
                }
            };
            if all.len() == MOST_TEXTURES {
                return None;
            }
            numbers.insert(key, all.len());
            of.push(Some(all.len()));
            all.push(one);
        }
        Some(Under { of, all })
    }

    /// Narrows what is known of the sums of blocks of a stack over what is known of those under it.
    pub(super) fn lay(&self, stack: &Stack<'_, S>, grid: Grid<'_>, below: &mut [Block], out: &mut [Block]) {
        // A mean that is known a little better than within a 32nd of the range is near enough.
        let near = u128::from(S::MAX.to_u16() / 19);
        let open = |block: &Block| block.summary.sum.1 - block.summary.sum.0 > block.summary.pixels * near;
        if !out.iter().any(open) {
            return;
        }
        self.settle(grid, below);
        let Some((side, group)) = self.way(stack, grid, below) else {
            return;
        };
        let Some(under) = self.under(below, side) else {
            return;
        };
        let wanted: Vec<Option<&One>> = (out.iter().zip(&under.of))
            .map(|(block, number)| number.filter(|_| open(block)).map(|number| &under.all[number]))
            .collect();
        let mut changes: Vec<Span> = vec![(0, 0); out.len()];
        let done = match group {
            None => self.cell_by_cell(stack, side, grid, &wanted, &mut changes),
            Some(group) => self.copy_by_copy(stack, (side, group), grid, &wanted, &mut changes),
        };
        if done.is_none() {
            return;
        }
        let changed = |sum: u128, by: i64| sum.saturating_add_signed(by.into());
        for (((block, below), change), _) in
            (out.iter_mut().zip(below).zip(changes).zip(&wanted)).filter(|(_, wanted)| wanted.is_some())
        {
            let (sum, under) = (&mut block.summary.sum, below.summary.sum);
            *sum = (
                sum.0.max(changed(under.0, change.0)),
                sum.1.min(changed(under.1, change.1)),
            );
        }
    }

    /// The side of the cells, and how many of them copies have in a group, if they are not folded one by one; `None` where that takes too long.
    fn way(&self, stack: &Stack<'_, S>, grid: Grid<'_>, below: &[Block]) -> Option<(u64, Option<u64>)> {
        let hull = grid.hull();
        let copy = u128::from(stack.steps.0) * u128::from(stack.steps.1);
        let copies = u64::try_from(hull.area() / copy).ok()? + 1;
        let blocks = grid.len() as u64;
        // Hints cut some of them.
        let longest = |edges: &[i64]| edges.windows(2).map(|edges| edges[0].abs_diff(edges[1])).max();
        let block = longest(grid.xs)?.min(longest(grid.ys)?);
        let looked_at = |side: u64, count: u64| {
            let most = u64::try_from(hull.area() / u128::from(side * side)).unwrap_or(u64::MAX);
            copies.saturating_mul(count).min(most)
        };
        let mut fine = None;
        // How many there may be if each of the coarser ones is cut in four.
        let mut most = 0;
        for side in SIDES.into_iter().filter(|side| side * 8 <= block) {
            if looked_at(side, most) > blocks.saturating_mul(MOST_FOR_EACH) {
                break;
            }
            let cells = self.cells(stack, side, (0, 0))?;
            if looked_at(side, cells.count) > blocks.saturating_mul(MOST_FOR_EACH) {
                break;
            }
            fine = Some((side, None));
            most = 4 * cells.count;
        }
        if fine.is_some() {
            return fine;
        }
        if copies > blocks.saturating_mul(MOST_COPIES) {
            return None;
        }
        // Copies under which different places of a texture lie.
        let mut forms: Vec<Form> = Vec::new();
        let mut different = 1_u64;
        for form in below.iter().filter_map(|block| block.form) {
            if forms.last() == Some(&form) || forms.contains(&form) {
                continue;
            }
            forms.push(form);
            let Keep::Cell { period, .. } = self.of(form.node()).step().keep else {
                return None;
            };
            let both = Period::grid(stack.steps.0, stack.steps.1)?.intersection(&period)?;
            let places = u64::try_from(both.cell() / copy).unwrap_or(u64::MAX);
            different = different.saturating_add(places.min(copies));
        }
        let side = (block / GROUPS).clamp(LEAST_SIDE, MOST_SIDE);
        let group = (block / GROUPS / side).max(1);
        let cells = self.cells(stack, side, (0, 0))?;
        let fits = different.saturating_mul(cells.count) <= MOST_AT_ONCE
            && different.saturating_mul(Copy::most_bytes(&cells, group)) <= MOST_BYTES_OF_COPIES;
        fits.then_some((side, Some(group)))
    }

    fn cell_by_cell(
        &self,
        stack: &Stack<'_, S>,
        side: u64,
        grid: Grid<'_>,
        wanted: &[Option<&One>],
        changes: &mut [Span],
    ) -> Option<()> {
        let (hull, columns, step) = (grid.hull(), grid.columns(), side.cast_signed());
        let mut add = |block: usize, change: Span| {
            changes[block] = (changes[block].0 + change.0, changes[block].1 + change.1);
        };
        // The block between whose edges a place lies.
        let of = |edges: &[i64], place: i64| edges.partition_point(|edge| *edge <= place) - 1;
        // Cells that blocks have in common with no other are known better.
        let ways = |length: u64| side / gcd(side, length % side);
        let in_blocks = ways(stack.steps.0) * ways(stack.steps.1) <= MOST_WAYS;
        for copy in stack.copies(hull) {
            let place = stack.place(copy);
            let before = |place: i64, from: i64| match in_blocks {
                true => (place - from).rem_euclid(step).unsigned_abs(),
                false => 0,
            };
            let before = (before(place.0, hull.x()), before(place.1, hull.y()));
            let cells = self.cells(stack, side, before)?;
            let at =
                |cell: u32, place: i64, before: u64| place - before.cast_signed() + i64::from(cell) * step;
            for row in cells.used.1.clone() {
                let y = at(row, place.1, before.1);
                if y + step <= hull.y() || y >= hull.bottom() {
                    continue;
                }
                let line = of(grid.ys, y.max(hull.y()));
                let whole = y >= hull.y() && y + step <= grid.ys[line + 1];
                let mut column = 0;
                let mut under = RowUnder::new((place.0 - before.0.cast_signed(), y));
                for run in &cells.rows[row as usize] {
                    let mut from = run.from;
                    while from < run.to {
                        let x = at(from, place.0, before.0);
                        let left = (hull.x() - x) / step;
                        if left > 0 {
                            from = run
                                .to
                                .min(from.saturating_add(u32::try_from(left).unwrap_or(u32::MAX)));
                            continue;
                        }
                        if x >= hull.right() {
                            break;
                        }
                        while grid.xs[column + 1] <= x {
                            column += 1;
                        }
                        let fit = ((grid.xs[column + 1] - x) / step).min(i64::from(run.to - from)) as u32;
                        if whole && fit > 0 && x >= hull.x() {
                            let block = line * columns + column;
                            if let Some(one) = wanted[block] {
                                add(block, cells.change(run, (from, from + fit), under.at(one, x)));
                            }
                            from += fit;
                            continue;
                        }
                        // Cut by an edge: so many pixels, whichever they are.
                        let cell = Rect::sized(side, side).translated(x, y).intersection(&hull);
                        for line in line..=of(grid.ys, cell.bottom() - 1) {
                            for column in column..=of(grid.xs, cell.right() - 1) {
                                let block = line * columns + column;
                                if let Some(one) = wanted[block] {
                                    let pixels = grid.rect(block).intersection(&cell).area() as i64;
                                    let change =
                                        cells.change_of_one(run, (from, from + 1), under.at(one, x).bounds());
                                    add(block, (pixels * change.0, pixels * change.1));
                                }
                            }
                        }
                        from += 1;
                    }
                }
            }
        }
        Some(())
    }

    fn copy_by_copy(
        &self,
        stack: &Stack<'_, S>,
        (side, group): (u64, u64),
        grid: Grid<'_>,
        wanted: &[Option<&One>],
        changes: &mut [Span],
    ) -> Option<()> {
        let levels = self.levels()?;
        let cells = self.cells(stack, side, (0, 0))?;
        let (hull, columns) = (grid.hull(), grid.columns());
        let used = {
            let along = |cells: &std::ops::Range<u32>| (i64::from(cells.start), i64::from(cells.end));
            let ((x0, x1), (y0, y1)) = (along(&cells.used.0), along(&cells.used.1));
            let step = side.cast_signed();
            Rect::between(x0 * step, y0 * step, x1 * step, y1 * step)
        };
        let of = |edges: &[i64], place: i64| edges.partition_point(|edge| *edge <= place) - 1;
        for copy in stack.copies(hull) {
            let place = stack.place(copy);
            let there = used.translated(place.0, place.1).intersection(&hull);
            if there.is_empty() {
                continue;
            }
            let mut last: Option<(*const One, Arc<Copy>)> = None;
            for line in of(grid.ys, there.y())..=of(grid.ys, there.bottom() - 1) {
                for column in of(grid.xs, there.x())..=of(grid.xs, there.right() - 1) {
                    let block = line * columns + column;
                    let Some(one) = wanted[block] else { continue };
                    let copy = match &last {
                        Some((known, copy)) if std::ptr::eq(*known, one) => copy,
                        _ => {
                            let copy = levels.laid.copy(&cells, one.at(place), group);
                            &last.insert((std::ptr::from_ref(one), copy)).1
                        }
                    };
                    let part = grid
                        .rect(block)
                        .intersection(&there)
                        .translated(-place.0, -place.1);
                    let change = copy.change(&cells, part);
                    changes[block] = (changes[block].0 + change.0, changes[block].1 + change.1);
                }
            }
        }
        Some(())
    }
}
