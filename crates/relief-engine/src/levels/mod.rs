//! Levels: what is known of blocks of a raster, from closed forms, from what the plan keeps, and from samples.

mod cell;
mod pyramid;

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::OnceLock;

use relief_raster::{Period, Rect, Sample, View};

use crate::Error;
use crate::node::Summary;
use crate::program::{Keep, Program};
use cell::CellSums;
use pyramid::Pyramid;
pub(crate) use pyramid::direct;

/// The coarsest level: one sample stands for the largest raster.
pub const MAX_LEVEL: u32 = 40;

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

    fn is_settled(self, summary: &Summary) -> bool {
        let (least, most) = self.of(summary);
        least == most
    }
}

/// How near samples of a level are to what they stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exactness {
    /// Each is exact.
    Exact,
    /// None is further off than this: proved.
    Within(u16),
}

/// Sums of what a plan keeps, each made when it is first asked for.
pub(crate) struct Levels {
    cells: Vec<OnceLock<CellSums>>,
    wholes: Vec<OnceLock<Pyramid>>,
    pictures: Vec<OnceLock<Pyramid>>,
}

impl Levels {
    pub(crate) fn new(program: &Program) -> Self {
        Self {
            cells: program.steps.iter().map(|_| OnceLock::new()).collect(),
            wholes: program.steps.iter().map(|_| OnceLock::new()).collect(),
            pictures: program.pictures.iter().map(|_| OnceLock::new()).collect(),
        }
    }

    /// The bytes of all of them, and of what `threads` threads compute to refine them.
    pub(crate) fn bytes(program: &Program, threads: u64) -> u64 {
        let of_step = |step: &crate::program::Step| match step.keep {
            _ if step.need.is_empty() => 0,
            Keep::Cell { period, .. } => CellSums::bytes(&period),
            Keep::Whole => Pyramid::bytes(step.plane().width(), step.plane().height()),
            Keep::No | Keep::Image | Keep::Windows | Keep::Cached => 0,
        };
        let pictures = program
            .pictures
            .iter()
            .map(|picture| Pyramid::bytes(picture.held.width(), picture.held.height()));
        let refining = LEAF * LEAF * program.canvas.depth.bytes() + MOST_PARTS * size_of::<Part>() as u64;
        program
            .steps
            .iter()
            .map(of_step)
            .chain(pictures)
            .fold(refining.saturating_mul(threads), u64::saturating_add)
    }

    pub(crate) fn cell<S: Sample>(&self, node: usize, period: Period, cell: View<'_, S>) -> &CellSums {
        self.cells[node].get_or_init(|| CellSums::of(period, cell))
    }

    pub(crate) fn whole<S: Sample>(&self, node: usize, plane: View<'_, S>) -> &Pyramid {
        self.wholes[node].get_or_init(|| Pyramid::of(plane))
    }

    pub(crate) fn picture<S: Sample>(&self, picture: usize, plane: View<'_, S>) -> &Pyramid {
        self.pictures[picture].get_or_init(|| Pyramid::of(plane))
    }
}

/// Columns and rows of what is computed to know a part.
pub(crate) const LEAF: u64 = 128;

/// The most parts that a block is in at the same time.
const MOST_PARTS: u64 = 1 << 14;

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

/// What is known of `rect` after looking at parts of it until the figure is settled or `effort` samples are looked at. `ask` tells what is
/// known of a rectangle without computing it, `compute` everything of one of at most [`LEAF`] columns and rows.
pub(crate) fn refine(
    rect: Rect,
    statistic: Statistic,
    mut effort: u64,
    ask: &dyn Fn(Rect) -> Summary,
    compute: &mut dyn FnMut(Rect) -> Result<Summary, Error>,
) -> Result<Summary, Error> {
    let first = ask(rect);
    if statistic.is_settled(&first) {
        return Ok(first);
    }
    let mut parts = Parts {
        statistic,
        settled: Summary::EMPTY,
        open: BinaryHeap::new(),
        sum: (0, 0),
    };
    parts.add(rect, first);
    while !parts.is_over(rect.area()) {
        let room = parts.open.len() as u64 + 4 <= MOST_PARTS;
        let Some(part) = parts.take() else { break };
        let leaf = part.rect.width() <= LEAF && part.rect.height() <= LEAF;
        let cost = if leaf { part.rect.area() as u64 } else { 4 * ASKING };
        if effort < cost || (!leaf && !room) {
            parts.add(part.rect, part.summary);
            break;
        }
        effort -= cost;
        if leaf {
            parts.add(part.rect, compute(part.rect)?);
        } else {
            for quarter in quarters(part.rect) {
                parts.add(quarter, ask(quarter));
            }
        }
    }
    let all = (parts.open.into_iter()).fold(parts.settled, |all, part| all.and(part.summary));
    // Of the same samples both are true.
    Ok(all.both(first))
}

/// A rectangle in halves along each side that is longer than a leaf.
fn quarters(rect: Rect) -> impl Iterator<Item = Rect> {
    let halves = |from: i64, to: i64| {
        let length = (to - from).unsigned_abs();
        let middle = if length > LEAF {
            // Whole leaves, so that none is smaller than it has to be.
            from + (length.div_ceil(LEAF).div_ceil(2) * LEAF).cast_signed()
        } else {
            to
        };
        [(from, middle), (middle, to)]
    };
    let (across, down) = (halves(rect.x(), rect.right()), halves(rect.y(), rect.bottom()));
    down.into_iter()
        .flat_map(move |(top, bottom)| across.map(|(left, right)| Rect::between(left, top, right, bottom)))
        .filter(|rect| !rect.is_empty())
}
