//! Levels: what is known of blocks of a raster, from closed forms, from what the plan keeps, and from samples.

mod cell;
mod laid;
mod plane;
mod table;

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use relief_kernels::fold::Fold;
use relief_raster::{Period, Rect, Sample, View};

use crate::Error;
use crate::node::{Block, Bounds, Grid, Summary, Through};
use crate::program::{Keep, Program};
pub(crate) use cell::{Bands, CellSums, RowSums, gcd};
pub(crate) use laid::{Below, Cells, Copy, Laid, Layer, MOST_BYTES_OF_COPIES, Span, Windows};
pub(crate) use plane::{PlaneSums, direct};
use table::TableSums;

/// The coarsest level: one sample stands for the largest raster.
pub const MAX_LEVEL: u32 = 40;

/// How much is computed for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    pub(crate) samples: u64,
    pub(crate) near: u16,
}

impl Effort {
    /// At most so many samples of the raster.
    #[must_use]
    pub const fn new(samples: u64) -> Self {
        Self { samples, near: 0 }
    }

    /// Where these do not make everything exact, none is computed for what is known within `near` of its value already: a first answer is there
    /// sooner, and as near as was asked for.
    #[must_use]
    pub const fn near(self, near: u16) -> Self {
        Self { near, ..self }
    }
}

impl From<u64> for Effort {
    fn from(samples: u64) -> Self {
        Self::new(samples)
    }
}

/// Which figure of the pixels that a sample of a level stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Statistic {
    /// The mean of them, halves up: ⌊(2S + n) / 2n⌋ of n pixels with the sum S.
    #[default]
    Mean,
    /// The least of them.
    Least,
    /// The greatest of them.
    Greatest,
}

impl Statistic {
    /// What the figure is at least and at most.
    pub(crate) fn of(self, summary: &Summary) -> (u16, u16) {
        match self {
            Self::Mean => summary.mean(),
            Self::Least => summary.least,
            Self::Greatest => summary.greatest,
        }
    }

    pub(crate) fn is_settled(self, summary: &Summary) -> bool {
        let (least, most) = self.of(summary);
        least == most
    }
}

/// Exact figures of blocks of a raster that were written down when it was computed.
pub trait KnownLevels: Send + Sync {
    /// What is known of the blocks of a window of a level, in coordinates of the level, row by row; `None` where that was not written down.
    fn read(&self, level: u32, window: Rect) -> Option<Vec<Summary>>;
}

/// How near samples of a level are to what they stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exactness {
    /// Each is exact.
    Exact,
    /// None is further off than this: proved.
    Within(u16),
}

/// What is known of a kept cell.
pub(crate) enum Cell {
    /// A small one: all sums.
    Small(CellSums),
    /// A large one that repeats along the axes: those of a plane.
    Upright(PlaneSums),
    /// Any other: the least and the greatest sample.
    Other(Bounds),
}

impl Cell {
    fn of<S: Sample>(period: Period, cell: View<'_, S>) -> Self {
        if is_small(&period) {
            Self::Small(CellSums::of(period, cell))
        } else if period.b() == 0 {
            Self::Upright(PlaneSums::of(cell))
        } else {
            let all = || cell.rows().flatten().map(|sample| sample.to_u16());
            Self::Other(Bounds::between(
                all().min().unwrap_or(0),
                all().max().unwrap_or(0),
            ))
        }
    }

    fn bytes(period: &Period) -> u64 {
        match period.b() {
            _ if is_small(period) => CellSums::bytes(period),
            0 => PlaneSums::bytes(period.a(), period.c()),
            _ => 0,
        }
    }
}

fn is_small(period: &Period) -> bool {
    period
        .a()
        .checked_mul(period.c())
        .is_some_and(|samples| samples <= cell::MOST_SAMPLES)
}

/// The most bytes of sums of cells through tables.
const MOST_TABLED: u64 = 8 << 20;

/// Sums of cells through tables, as many as there is room for.
#[derive(Default)]
struct Tabled {
    sums: HashMap<(usize, Vec<Through>), Arc<RowSums>>,
    bytes: u64,
}

/// Sums of what a plan keeps, each made when it is first asked for.
pub(crate) struct Levels {
    cells: Vec<OnceLock<Cell>>,
    wholes: Vec<OnceLock<PlaneSums>>,
    pictures: Vec<OnceLock<PlaneSums>>,
    tables: Vec<OnceLock<TableSums>>,
    /// Sums of cells through tables, by the number of their node and what their samples go through.
    tabled: Mutex<Tabled>,
    /// Sums of planes that repeat over textures.
    pub(crate) laid: Laid,
    /// Whether what nodes make of samples depends on how many of them are 0.
    pub(crate) zeros: bool,
}

impl Levels {
    pub(crate) fn new(program: &Program) -> Self {
        Self {
            cells: program.steps.iter().map(|_| OnceLock::new()).collect(),
            wholes: program.steps.iter().map(|_| OnceLock::new()).collect(),
            pictures: program.pictures.iter().map(|_| OnceLock::new()).collect(),
            tables: program.tables.iter().map(|_| OnceLock::new()).collect(),
            tabled: Mutex::default(),
            laid: Laid::default(),
            zeros: (program.steps.iter())
                .flat_map(|step| step.links.iter().map(|link| step.kind.folds(link.role)))
                .any(|fold| matches!(fold, Some(Fold::Over | Fold::Mask))),
        }
    }

    /// The bytes of all of them, and of what `threads` threads hold while they answer, for so many windows at a time.
    pub(crate) fn bytes(program: &Program, threads: u64, readers: u64) -> u64 {
        let of_step = |step: &crate::program::Step| match step.keep {
            _ if step.need.is_empty() => 0,
            Keep::Cell { period, .. } => Cell::bytes(&period),
            Keep::Whole => PlaneSums::bytes(step.plane().width(), step.plane().height()),
            Keep::No | Keep::Image | Keep::Windows | Keep::Cached => 0,
        };
        let pictures = program
            .pictures
            .iter()
            .map(|picture| PlaneSums::bytes(picture.held.width(), picture.held.height()));
        let tables = program.tables.iter().map(|table| TableSums::bytes(table.len()));
        let refining = LEAF * LEAF * program.canvas.depth.bytes() + MOST_PARTS * size_of::<Part>() as u64;
        let lays = (program.steps.iter()).any(|step| step.kind.repeats().is_some());
        // A node asks its children one after the other, and holds what it knows itself; where planes may lie over a texture, also what lies
        // under them.
        let asked = chunk(threads, program.nesting) as u64;
        let held = if lays { 3 } else { 2 };
        let asking = held * (program.nesting as u64 + 1) * 2 * asked * size_of::<Block>() as u64;
        let piece = PIECE * size_of::<Summary>() as u64;
        let cells = (program.steps.iter()).filter_map(|step| match step.keep {
            Keep::Cell { period, .. } if is_small(&period) => Some(RowSums::asking(&period)),
            _ => None,
        });
        let cells = cells.max().unwrap_or(0);
        program
            .steps
            .iter()
            .map(of_step)
            .chain(pictures)
            .chain(tables)
            .chain([
                (refining + asking + cells).saturating_mul(threads),
                piece.saturating_mul(readers),
                MOST_TABLED,
                if lays { laid::ALL_BYTES } else { 0 },
            ])
            .fold(0, u64::saturating_add)
    }

    pub(crate) fn cell<S: Sample>(&self, node: usize, period: Period, cell: View<'_, S>) -> &Cell {
        self.cells[node].get_or_init(|| Cell::of(period, cell))
    }

    pub(crate) fn whole<S: Sample>(&self, node: usize, plane: View<'_, S>) -> &PlaneSums {
        self.wholes[node].get_or_init(|| PlaneSums::of(plane))
    }

    pub(crate) fn picture<S: Sample>(&self, picture: usize, plane: View<'_, S>) -> &PlaneSums {
        self.pictures[picture].get_or_init(|| PlaneSums::of(plane))
    }

    /// The sums of a cell of which each sample goes through `steps`; `make` makes them where they are not held.
    pub(crate) fn tabled(
        &self,
        node: usize,
        steps: Vec<Through>,
        make: impl FnOnce() -> RowSums,
    ) -> Arc<RowSums> {
        let lock = || self.tabled.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (node, steps);
        if let Some(sums) = lock().sums.get(&key) {
            return Arc::clone(sums);
        }
        let sums = Arc::new(make());
        let mut tabled = lock();
        if tabled.bytes + sums.held() > MOST_TABLED {
            *tabled = Tabled::default();
        }
        if sums.held() <= MOST_TABLED && tabled.sums.insert(key, Arc::clone(&sums)).is_none() {
            tabled.bytes += sums.held();
        }
        sums
    }

    pub(crate) fn table(&self, number: usize, table: &[u16]) -> &TableSums {
        self.tables[number].get_or_init(|| TableSums::of(table))
    }
}

/// The most blocks that all threads together ask for at once, counted at every node that asks another.
const ASKED: u64 = 1 << 16;

/// The most blocks that one of so many threads asks for at once, of a program nested so deeply: what all of them hold is the same however
/// many there are.
pub(crate) fn chunk(threads: u64, nesting: usize) -> usize {
    let askers = threads.saturating_mul(nesting as u64 + 1).max(1);
    (ASKED / askers).clamp(1 << 8, 1 << 14) as usize
}

/// The most blocks of which a summary is held at the same time.
pub(crate) const PIECE: u64 = 1 << 16;

/// Columns and rows of what is computed at once.
pub(crate) const LEAF: u64 = 128;

/// Columns and rows of the smallest parts that are told apart before they are computed.
pub(crate) const SMALL: u64 = 32;

/// The most parts that a block is in at the same time.
const MOST_PARTS: u64 = 1 << 14;

/// The most parts along a side in which a part is looked at.
const SPLIT: u64 = 8;

/// What asking for a part counts as, in samples.
const ASKING: u64 = 64;

/// A part of a block of which not all is known.
struct Part {
    /// Those with the greatest are looked at first.
    urgency: u128,
    rect: Rect,
    summary: Summary,
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Part {}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Part {
    fn cmp(&self, other: &Self) -> Ordering {
        let place = |part: &Self| (part.rect.y(), part.rect.x());
        // The place makes the order one and the same on every device.
        (self.urgency, place(other)).cmp(&(other.urgency, place(self)))
    }
}

/// The parts of a block.
struct Parts {
    statistic: Statistic,
    /// All that need not be looked at further.
    settled: Summary,
    open: BinaryHeap<Part>,
    /// What the sum of all is at least and at most.
    sum: (u128, u128),
}

impl Parts {
    fn add(&mut self, rect: Rect, summary: Summary) {
        self.sum = (self.sum.0 + summary.sum.0, self.sum.1 + summary.sum.1);
        let (settled, urgency) = match self.statistic {
            Statistic::Mean => (summary.sum.0 == summary.sum.1, summary.sum.1 - summary.sum.0),
            Statistic::Least => (
                summary.least.0 == summary.least.1,
                u128::from(u16::MAX - summary.least.0),
            ),
            Statistic::Greatest => (
                summary.greatest.0 == summary.greatest.1,
                summary.greatest.1.into(),
            ),
        };
        if settled {
            self.settled = self.settled.and(summary);
        } else {
            self.open.push(Part {
                urgency,
                rect,
                summary,
            });
        }
    }

    fn take(&mut self) -> Option<Part> {
        let part = self.open.pop()?;
        let sum = part.summary.sum;
        self.sum = (self.sum.0 - sum.0, self.sum.1 - sum.1);
        Some(part)
    }

    /// Whether the most urgent part changes nothing.
    fn is_over(&self, pixels: u128) -> bool {
        match (self.statistic, self.open.peek()) {
            (_, None) => true,
            (Statistic::Mean, _) => Statistic::Mean.is_settled(&Summary {
                pixels,
                sum: self.sum,
                ..Summary::EMPTY
            }),
            // No other may have a lesser, or a greater, sample.
            (Statistic::Least, Some(part)) => part.summary.least.0 >= self.settled.least.1,
            (Statistic::Greatest, Some(part)) => {
                self.settled.pixels > 0 && part.summary.greatest.1 <= self.settled.greatest.0
            }
        }
    }
}

/// Samples that are looked at before others are served: see [`Refining::go_on`].
pub(crate) const STRETCH: u64 = 1 << 16;

/// A block whose parts are looked at until its figure is settled or so many samples are looked at.
pub(crate) struct Refining {
    rect: Rect,
    first: Summary,
    effort: u64,
    parts: Parts,
    /// A part that is computed leaf by leaf.
    computing: Option<Computing>,
    is_over: bool,
}

/// A part of a block, some leaves of which are computed.
struct Computing {
    rect: Rect,
    /// How many of them.
    leaves: u64,
    summary: Summary,
}

impl Refining {
    /// That of `rect`, of which `first` is known.
    pub(crate) fn new(rect: Rect, first: Summary, statistic: Statistic, effort: u64) -> Self {
        let mut parts = Parts {
            statistic,
            settled: Summary::EMPTY,
            open: BinaryHeap::new(),
            sum: (0, 0),
        };
        parts.add(rect, first);
        Self {
            rect,
            first,
            effort,
            parts,
            computing: None,
            is_over: statistic.is_settled(&first) || effort == 0,
        }
    }

    /// Looks at parts until `stretch` samples are looked at, of which those that are left over are told; whether there is more to do. `ask` tells what is known of blocks without
    /// computing them, `compute` everything of one of at most [`SMALL`] columns and rows.
    pub(crate) fn go_on(
        &mut self,
        stretch: &mut u64,
        ask: &mut dyn FnMut(Grid<'_>) -> Vec<Summary>,
        compute: &mut dyn FnMut(Rect) -> Result<Summary, Error>,
    ) -> Result<bool, Error> {
        let parts = &mut self.parts;
        while !self.is_over && *stretch > 0 {
            if let Some(mut part) = self.computing.take() {
                let Some(leaf) = leaf(part.rect, part.leaves) else {
                    parts.add(part.rect, part.summary);
                    continue;
                };
                part.summary = part.summary.and(compute(leaf)?);
                part.leaves += 1;
                *stretch = stretch.saturating_sub(leaf.area() as u64);
                self.computing = Some(part);
                continue;
            }
            if parts.is_over(self.rect.area()) {
                self.is_over = true;
                break;
            }
            let room = parts.open.len() as u64 + SPLIT * SPLIT <= MOST_PARTS;
            let Some(part) = parts.take() else { break };
            let small = part.rect.width() <= SMALL && part.rect.height() <= SMALL;
            let (xs, ys) = (
                split(part.rect.x(), part.rect.right()),
                split(part.rect.y(), part.rect.bottom()),
            );
            let grid = Grid { xs: &xs, ys: &ys };
            // Without room for more parts it is computed as it is.
            let computed = small || !room;
            let cost = if computed {
                u64::try_from(part.rect.area()).unwrap_or(u64::MAX)
            } else {
                grid.len() as u64 * ASKING
            };
            if self.effort < cost {
                parts.add(part.rect, part.summary);
                self.is_over = true;
                break;
            }
            self.effort -= cost;
            if computed {
                self.computing = Some(Computing {
                    rect: part.rect,
                    leaves: 0,
                    summary: Summary::EMPTY,
                });
            } else {
                *stretch = stretch.saturating_sub(cost);
                for (rect, known) in grid.rects().zip(ask(grid)) {
                    parts.add(rect, known);
                }
            }
        }
        Ok(!self.is_over)
    }

    /// Samples that may be looked at yet.
    pub(crate) const fn left(&self) -> u64 {
        self.effort
    }

    /// What is known now.
    pub(crate) fn known(self) -> Summary {
        let parts = self.parts;
        let all = (parts.open.into_iter()).fold(parts.settled, |all, part| all.and(part.summary));
        // Of the same samples both are true.
        all.both(self.first)
    }
}

/// The part of at most [`SMALL`] columns and rows of a rectangle that has this number, row by row.
fn leaf(rect: Rect, number: u64) -> Option<Rect> {
    let columns = rect.width().div_ceil(SMALL).max(1);
    let (column, row) = (number % columns, number / columns);
    let at = |from: i64, place: u64| from + (place * SMALL).cast_signed();
    let leaf = Rect::sized(SMALL, SMALL)
        .translated(at(rect.x(), column), at(rect.y(), row))
        .intersection(&rect);
    (row < rect.height().div_ceil(SMALL)).then_some(leaf)
}

/// The edges of up to [`SPLIT`] parts of a side, none smaller than it has to be.
pub(crate) fn split(from: i64, to: i64) -> Vec<i64> {
    let step = (to.abs_diff(from).div_ceil(SPLIT).div_ceil(SMALL) * SMALL).cast_signed();
    let mut edges = vec![from];
    edges.extend(
        (1..SPLIT.cast_signed())
            .map(|part| from + part * step)
            .take_while(|edge| *edge < to),
    );
    edges.push(to);
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_more_parts_than_there_is_room_for_is_computed_all_the_same() {
        let rect = Rect::sized(8_000, 4_100).translated(-77, 5);
        let unknown = |rect: Rect| Summary::within(Bounds::between(0, 255), rect.area());
        let (mut ask, mut looked_at) = (|grid: Grid<'_>| grid.rects().map(unknown).collect::<Vec<_>>(), 0);
        let mut compute = |rect: Rect| {
            assert!(rect.width() <= SMALL && rect.height() <= SMALL);
            looked_at += rect.area();
            let sample = (rect.x().unsigned_abs() + 3 * rect.y().unsigned_abs()) as u16 % 251;
            Ok(Summary::constant(sample, rect.area()))
        };
        let mut refined = |effort| {
            let mut refining = Refining::new(rect, unknown(rect), Statistic::Mean, effort);
            while refining.go_on(&mut { STRETCH }, &mut ask, &mut compute).unwrap() {}
            refining.known()
        };
        let all = refined(u64::MAX);
        let some = refined(1 << 20);
        assert!(
            Statistic::Mean.is_settled(&all) && all.pixels == rect.area(),
            "{all:?}"
        );
        assert!(some.sum.0 <= all.sum.0 && all.sum.1 <= some.sum.1 && some.sum.0 < some.sum.1);
        assert!(looked_at <= rect.area() + (1 << 20), "{looked_at}");
    }
}
