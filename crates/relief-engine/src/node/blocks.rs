//! Blocks of a raster between edges, and what is known of each: many at once, because what they share is then found once.

use relief_kernels::fold::Fold;
use relief_raster::{Extent, Rect};

use super::{Bounds, Known, Link, Summary};

/// Blocks between neighbouring edges: that in column i and row j lies at `xs[i]..xs[i + 1]`, `ys[j]..ys[j + 1]`. Edges do not
/// descend; a block between equal ones has no pixel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid<'a> {
    pub(crate) xs: &'a [i64],
    pub(crate) ys: &'a [i64],
}

impl Grid<'_> {
    pub(crate) const fn columns(&self) -> usize {
        self.xs.len() - 1
    }

    pub(crate) const fn rows(&self) -> usize {
        self.ys.len() - 1
    }

    pub(crate) const fn len(&self) -> usize {
        self.columns() * self.rows()
    }

    /// The block with this number: row by row.
    pub(crate) fn rect(&self, number: usize) -> Rect {
        let (column, row) = (number % self.columns(), number / self.columns());
        Rect::between(
            self.xs[column],
            self.ys[row],
            self.xs[column + 1],
            self.ys[row + 1],
        )
    }

    /// All blocks, row by row.
    pub(crate) fn rects(&self) -> impl Iterator<Item = Rect> {
        let (xs, ys) = (self.xs, self.ys);
        let (mut column, mut row) = (0, 0);
        std::iter::from_fn(move || {
            if column + 1 == xs.len() {
                (column, row) = (0, row + 1);
            }
            let (right, bottom) = (xs.get(column + 1)?, ys.get(row + 1)?);
            column += 1;
            Some(Rect::between(xs[column - 1], ys[row], *right, *bottom))
        })
    }

    /// All blocks together.
    pub(crate) fn hull(&self) -> Rect {
        Rect::between(
            self.xs[0],
            self.ys[0],
            self.xs[self.xs.len() - 1],
            self.ys[self.ys.len() - 1],
        )
    }
}

/// The edges that lie between an extent's, in its own coordinates, with its sides in place of those beyond it.
fn clipped(edges: &[i64], offset: i64, length: u64) -> Vec<i64> {
    let local = |edge: &i64| (edge - offset).clamp(0, length.cast_signed());
    edges.iter().map(local).collect()
}

/// The samples of a block as those of a node elsewhere through a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Form {
    /// The node; what is kept of it is a cell. Of 32 bits, so that a [`Block`] has no more than 128 bytes, which are copied without a call.
    node: u32,
    /// Where the top-left of that node lies.
    pub(crate) place: (i64, i64),
    /// The number of the table among those of the answer; 0 changes nothing.
    pub(crate) table: u32,
}

impl Form {
    /// All samples of a node as they are; `None` of a node with a number that no program has.
    pub(crate) fn of(node: usize) -> Option<Self> {
        Some(Self {
            node: u32::try_from(node).ok()?,
            place: (0, 0),
            table: 0,
        })
    }

    /// The number of the node.
    pub(crate) const fn node(&self) -> usize {
        self.node as usize
    }
}

const _: () = assert!(size_of::<Block>() <= 128);

/// One step of a table that is put together from what samples go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Through {
    /// A table of the design.
    Table(usize),
    /// M for a sample that reaches this one, else 0.
    Reaching(u16),
    /// This sample is folded into each.
    Folded(Fold, u16),
    /// Each is folded into this sample.
    Into(Fold, u16),
}

impl Through {
    /// What a sample of the depth with the greatest sample `max` becomes.
    pub(crate) fn apply(self, sample: u16, table: impl Fn(usize, u16) -> u16, max: u16) -> u16 {
        let fold = |fold: Fold, into: u16, sample: u16| match u8::try_from(max) {
            Ok(_) => u16::from(fold.apply(into as u8, sample as u8)),
            Err(_) => fold.apply(into, sample),
        };
        match self {
            Self::Table(number) => table(number, sample),
            Self::Reaching(level) if sample >= level => max,
            Self::Reaching(_) => 0,
            Self::Folded(operation, other) => fold(operation, sample, other),
            Self::Into(operation, other) => fold(operation, other, sample),
        }
    }

    /// Whether it leaves every sample as it is.
    pub(crate) fn changes_nothing(self, max: u16) -> bool {
        match self {
            Self::Table(_) | Self::Reaching(_) => false,
            Self::Folded(fold, other) => match fold {
                Fold::Add | Fold::Subtract | Fold::Max | Fold::Over => other == 0,
                Fold::Multiply | Fold::Min => other == max,
                Fold::Mask => other > 0,
                Fold::Base | Fold::Mean => false,
            },
            Self::Into(fold, other) => match fold {
                Fold::Base => true,
                Fold::Add | Fold::Max | Fold::Over => other == 0,
                Fold::Multiply | Fold::Min => other == max,
                Fold::Subtract | Fold::Mean | Fold::Mask => false,
            },
        }
    }
}

/// Whether folding 0 leaves the sample as it is.
pub(crate) const fn zero_is_identity(operation: Fold) -> bool {
    matches!(operation, Fold::Add | Fold::Subtract | Fold::Max | Fold::Over)
}

/// What is known of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(crate) summary: Summary,
    pub(crate) form: Option<Form>,
}

impl Block {
    pub(crate) const EMPTY: Self = Self::of(Summary::EMPTY);

    pub(crate) const fn of(summary: Summary) -> Self {
        Self { summary, form: None }
    }

    /// Of the samples of a rectangle that lie between `bounds` of it.
    pub(crate) fn within(rect: Rect, bounds: impl Fn(Rect) -> Bounds) -> Self {
        if rect.is_empty() {
            Self::EMPTY
        } else {
            Self::of(Summary::within(bounds(rect), rect.area()))
        }
    }

    /// The sample that all of them are.
    pub(crate) fn one(&self) -> Option<u16> {
        let bounds = self.summary.bounds();
        (self.summary.pixels > 0 && bounds.least == bounds.greatest).then_some(bounds.least)
    }
}

/// What every block of `grid` is known to be of a child, in coordinates of its parent: 0 beyond its extent.
pub(crate) fn of_child(known: &dyn Known, link: &Link, grid: Grid<'_>, out: &mut [Block]) {
    let extent: Extent = link.extent;
    if grid.hull().intersection(&extent.in_parent()).is_empty() {
        for (block, rect) in out.iter_mut().zip(grid.rects()) {
            *block = Block::of(Summary::constant(0, rect.area()));
        }
        return;
    }
    let xs = clipped(grid.xs, extent.x(), extent.width());
    let ys = clipped(grid.ys, extent.y(), extent.height());
    known.blocks_within(link.node, Grid { xs: &xs, ys: &ys }, out);
    for (block, rect) in out.iter_mut().zip(grid.rects()) {
        let beyond = rect.area() - block.summary.pixels;
        if beyond > 0 {
            *block = Block::of(block.summary.and(Summary::constant(0, beyond)));
        } else if let Some(form) = &mut block.form {
            form.place = (form.place.0 + extent.x(), form.place.1 + extent.y());
        }
    }
}

/// Every block through the same step; `summary` says what that makes of what is known of one.
pub(crate) fn through(
    known: &dyn Known,
    step: Through,
    out: &mut [Block],
    summary: impl Fn(Summary) -> Summary,
) {
    for block in out.iter_mut().filter(|block| block.summary.pixels > 0) {
        *block = Block {
            summary: summary(block.summary),
            form: block.form.and_then(|form| pushed(known, form, step)),
        };
    }
}

/// Other blocks folded into these, one by one.
pub(crate) fn fold(known: &dyn Known, into: &mut [Block], fold: Fold, others: &[Block]) {
    let max = known.max();
    let mut last = None;
    let mut pushed = |form: Form, step: Through| match last {
        // Neighbours mostly go through the same.
        Some((table, before, through)) if (table, before) == (form.table, step) => {
            Option::<u32>::map(through, |table| Form { table, ..form })
        }
        _ => {
            let through = pushed(known, form, step);
            last = Some((form.table, step, through.map(|form| form.table)));
            through
        }
    };
    for (block, other) in into.iter_mut().zip(others) {
        if block.summary.pixels == 0 {
            *block = Block::EMPTY;
            continue;
        }
        let one = other.one();
        if one.is_some_and(|sample| Through::Folded(fold, sample).changes_nothing(max)) {
            continue;
        }
        let form = match (block.one(), one) {
            _ if fold == Fold::Base => other.form,
            (_, Some(sample)) => block
                .form
                .and_then(|form| pushed(form, Through::Folded(fold, sample))),
            (Some(sample), _) => other
                .form
                .and_then(|form| pushed(form, Through::Into(fold, sample))),
            (None, None) => None,
        };
        *block = Block {
            summary: block.summary.fold(fold, other.summary, max),
            form,
        };
    }
}

fn pushed(known: &dyn Known, form: Form, step: Through) -> Option<Form> {
    if step.changes_nothing(known.max()) {
        return Some(form);
    }
    let table = known.pushed(form.table, step)?;
    Some(Form { table, ..form })
}

/// Edges where what is known changes, so that blocks between them are known better.
#[derive(Debug, Default)]
pub(crate) struct Edges {
    pub(crate) xs: Vec<i64>,
    pub(crate) ys: Vec<i64>,
    /// The most along each axis; beyond it none is of use.
    pub(crate) most: usize,
}

impl Edges {
    pub(crate) fn with_room_for(most: usize) -> Self {
        Self {
            most,
            ..Self::default()
        }
    }

    /// Those of an extent within `hull`.
    pub(crate) fn add_extent(&mut self, extent: &Extent, hull: Rect, (dx, dy): (i64, i64)) {
        let all = extent.in_parent();
        for x in [all.x(), all.right()] {
            if hull.x() < x && x < hull.right() {
                self.add_x(x + dx);
            }
        }
        for y in [all.y(), all.bottom()] {
            if hull.y() < y && y < hull.bottom() {
                self.add_y(y + dy);
            }
        }
    }

    /// Whether there are too many along both axes.
    pub(crate) fn is_full(&self) -> bool {
        self.xs.len() > self.most && self.ys.len() > self.most
    }

    pub(crate) fn add_x(&mut self, x: i64) {
        if self.xs.len() <= self.most {
            self.xs.push(x);
        }
    }

    pub(crate) fn add_y(&mut self, y: i64) {
        if self.ys.len() <= self.most {
            self.ys.push(y);
        }
    }
}

/// Along one axis, a pattern of which the first `side` pixels of every `step` show a plane, from `offset` on.
pub(crate) struct Repeated {
    /// For every edge how many whole copies lie before it, counted from the first, and the number of the place in the copy.
    edges: Vec<(u128, usize)>,
    /// Places in the plane, ascending.
    pub(crate) places: Vec<i64>,
    /// The number of the place at the end of the plane, where more than one copy is seen.
    end: Option<usize>,
    /// Pixels of the plane in a copy.
    side: u64,
}

impl Repeated {
    /// That of a plane that is there once, with nothing before and after it.
    pub(crate) fn once(edges: &[i64], offset: i64, side: u64) -> Self {
        let split = edges
            .iter()
            .map(|edge| (0, (edge - offset).clamp(0, side.cast_signed())));
        Self::of(split.collect(), side)
    }

    pub(crate) fn new(edges: &[i64], offset: i64, step: u64, side: u64) -> Self {
        let side = side.min(step).cast_signed();
        let step = step.cast_signed();
        let split = |edge: &i64| {
            let from = edge - offset;
            (from.div_euclid(step), from.rem_euclid(step).min(side))
        };
        Self::of(edges.iter().map(split).collect(), side.unsigned_abs())
    }

    /// For every edge the number of the copy that it lies in, and the place in the plane.
    fn of(split: Vec<(i64, i64)>, side: u64) -> Self {
        let first = split.first().map_or(0, |(copy, _)| *copy);
        let several = split.iter().any(|(copy, _)| *copy != first);
        let mut places: Vec<i64> = split.iter().map(|(_, place)| *place).collect();
        if several {
            places.extend([0, side.cast_signed()]);
        }
        places.sort_unstable();
        places.dedup();
        let number = |place: i64| places.binary_search(&place).unwrap_or(0);
        Self {
            edges: split
                .iter()
                .map(|(copy, place)| (u128::from(copy.abs_diff(first)), number(*place)))
                .collect(),
            end: several.then(|| number(side.cast_signed())),
            places,
            side,
        }
    }

    /// The pixels of the plane in each block.
    fn shown(&self) -> Vec<u128> {
        let to = |&(copies, place): &(u128, usize)| {
            copies * u128::from(self.side) + u128::from(self.places[place].abs_diff(0))
        };
        self.edges
            .windows(2)
            .map(|edges| to(&edges[1]) - to(&edges[0]))
            .collect()
    }
}

/// What is known of blocks of what repeats: `corners` are those of its plane at all places, `bounds` tells between which samples those of a
/// block lie; `max` is the greatest sample.
pub(crate) fn of_plane(
    grid: Grid<'_>,
    (across, down): (&Repeated, &Repeated),
    corners: &Corners,
    max: u16,
    bounds: impl Fn(Rect) -> Bounds,
    out: &mut [Block],
) {
    let sums = repeated_sums(across, down, &corners.sums, corners.columns);
    let zeros =
        (!corners.zeros.is_empty()).then(|| repeated_sums(across, down, &corners.zeros, corners.columns));
    let (wide, high) = (across.shown(), down.shown());
    for ((number, rect), block) in grid.rects().enumerate().zip(out) {
        if rect.is_empty() {
            *block = Block::EMPTY;
            continue;
        }
        let area = rect.area();
        // A sum can say which sample all of them are.
        let all = [0, max]
            .into_iter()
            .find(|sample| sums[number] == area * u128::from(*sample));
        if let Some(sample) = all {
            *block = Block::of(Summary::constant(sample, area));
            continue;
        }
        let mut summary = Summary::within(bounds(rect), area);
        if let Some(zeros) = &zeros {
            let gaps = rect.area() - wide[number % grid.columns()] * high[number / grid.columns()];
            summary.zeros = (zeros[number] + gaps, zeros[number] + gaps);
        }
        *block = Block::of(summary.of_exactly(sums[number]));
    }
}

/// Sums of the samples of a plane above and to the left of places, and how many of them are 0: row by row.
#[derive(Debug)]
pub(crate) struct Corners {
    pub(crate) columns: usize,
    pub(crate) sums: Vec<u64>,
    pub(crate) zeros: Vec<u64>,
}

/// The sums of all blocks of what repeats along both axes, `corners` of its plane at all places.
fn repeated_sums(across: &Repeated, down: &Repeated, corners: &[u64], columns: usize) -> Vec<u128> {
    let at = |row: usize, column: usize| u128::from(corners[row * columns + column]);
    let to = |&(qy, ry): &(u128, usize), &(qx, rx): &(u128, usize)| {
        let mut sum = at(ry, rx);
        if let Some(end) = across.end {
            sum += qx * at(ry, end);
        }
        if let Some(end) = down.end {
            sum += qy * at(end, rx);
        }
        if let (Some(right), Some(bottom)) = (across.end, down.end) {
            sum += qx * qy * at(bottom, right);
        }
        sum
    };
    let mut above: Vec<u128> = across.edges.iter().map(|x| to(&down.edges[0], x)).collect();
    let mut sums = Vec::with_capacity((across.edges.len() - 1) * (down.edges.len() - 1));
    for y in &down.edges[1..] {
        let below: Vec<u128> = across.edges.iter().map(|x| to(y, x)).collect();
        for (a, b) in above.windows(2).zip(below.windows(2)) {
            sums.push(b[1] + a[0] - b[0] - a[1]);
        }
        above = below;
    }
    sums
}
