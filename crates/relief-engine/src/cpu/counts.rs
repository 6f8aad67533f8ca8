//! Histograms: by counting the samples of cells as often as they stand there, and where that does not do from samples.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use relief_raster::{Period, Rect, Sample, View};

use super::known::{Asked, Looked};
use super::{Cpu, zeroed};
use crate::Error;
use crate::cancel::Cancel;
use crate::counts::Counts;
use crate::error::caught;
use crate::levels::{LEAF, split};
use crate::node::{Bounds, Grid, Runs, Through};
use crate::program::Keep;

/// The most parts of a raster that are open at the same time.
const MOST_PARTS: usize = 1 << 14;

/// What asking for a part counts as, in samples.
const ASKING: u64 = 64;

/// What counting the copies of a sample of a cell counts as, in samples: of one that repeats along the axes, and of any other.
const COUNTING: (u64, u64) = (2, 32);

/// The most samples of a cell of which runs are counted.
const MOST_OF_RUNS: u128 = 1 << 22;

/// The samples that are computed between two looks at the rest.
const BATCH: u128 = 1 << 26;

/// A part of a raster of which not all is known: that with the most pixels is looked at first, of equal ones the uppermost.
type Part = (u128, Reverse<(i64, i64)>, [i64; 4], (u16, u16));

fn part(rect: Rect, bounds: Bounds) -> Part {
    let sides = [rect.x(), rect.y(), rect.right(), rect.bottom()];
    let place = Reverse((rect.y(), rect.x()));
    (rect.area(), place, sides, (bounds.least, bounds.greatest))
}

impl<S: Sample> Cpu<S> {
    /// How often each sample stands in `rect`, in coordinates of the streamed raster, after computing at most `effort` samples.
    pub(crate) fn counts(&self, rect: Rect, mut effort: u64, cancel: &Cancel) -> Result<Counts, Error> {
        let region = self.plan.region;
        let rect = rect.translated(region.x(), region.y());
        let mut counts = Counts::new(S::DEPTH);
        let mut open: BinaryHeap<Part> = BinaryHeap::new();
        let mut computed: Vec<Rect> = Vec::new();
        let (mut waiting, mut first) = (0, true);
        open.push(part(rect, Bounds::between(0, S::MAX.to_u16())));
        while let Some((area, _, [left, top, right, bottom], (least, greatest))) = open.pop() {
            cancel.check()?;
            let rect = Rect::between(left, top, right, bottom);
            let leaf = rect.width() <= LEAF && rect.height() <= LEAF;
            let cost = ASKING * 64;
            let room = open.len() + 64 <= MOST_PARTS;
            if !leaf && room && (effort >= cost || first) {
                effort = effort.saturating_sub(cost);
                let (xs, ys) = if std::mem::take(&mut first) {
                    (vec![rect.x(), rect.right()], vec![rect.y(), rect.bottom()])
                } else {
                    (split(rect.x(), rect.right()), split(rect.y(), rect.bottom()))
                };
                for (rect, known) in self.look(Grid { xs: &xs, ys: &ys })? {
                    match known {
                        Looked::One(sample) => counts.add(sample, rect.area()),
                        Looked::Cell {
                            node,
                            place,
                            steps,
                            bounds,
                        } => {
                            let there = rect.translated(-place.0, -place.1);
                            if !self.count_cell(node, there, &steps, &mut effort, &mut counts) {
                                open.push(part(rect, bounds));
                            }
                        }
                        Looked::Between(bounds) => open.push(part(rect, bounds)),
                    }
                }
            } else if u128::from(effort) >= area {
                effort -= area as u64;
                waiting += area;
                computed.push(rect);
            } else {
                counts.add_within(Bounds::between(least, greatest), area);
            }
            if waiting >= BATCH || computed.len() >= MOST_PARTS {
                self.count_samples(std::mem::take(&mut computed), &mut counts, cancel)?;
                waiting = 0;
            }
        }
        self.count_samples(computed, &mut counts, cancel)?;
        Ok(counts)
    }

    /// The runs of samples above 0 along the rows of `rect`, in coordinates of the streamed raster, where all of it repeats one small cell; else `None`.
    pub(crate) fn runs(&self, rect: Rect) -> Result<Option<Runs>, Error> {
        let program = &self.plan.program;
        let region = self.plan.region;
        let rect = rect.translated(region.x(), region.y());
        let (xs, ys) = ([rect.x(), rect.right()], [rect.y(), rect.bottom()]);
        let looked = self.look(Grid { xs: &xs, ys: &ys })?;
        let [
            (
                _,
                Looked::Cell {
                    node, place, steps, ..
                },
            ),
        ] = &looked[..]
        else {
            return Ok(None);
        };
        let (Keep::Cell { period, valid }, Some(plane)) =
            (program.steps[*node].keep, self.kept.store.planes[*node].get())
        else {
            return Ok(None);
        };
        let there = rect.translated(-place.0, -place.1);
        if plane.uniform.is_some() || period.cell() > MOST_OF_RUNS || !valid.contains(&there) {
            return Ok(None);
        }
        let view = plane.view();
        let set = |sample: S| self.through(steps, sample.to_u16()) > 0;
        // For each sample: 0, or 1 where a run begins with it, or 2 where one goes on.
        let (a, c) = (period.a() as usize, period.c() as usize);
        let mut begins = zeroed::<u8>((a * c) as u64, "runs")?;
        let mut longest = (0, 0);
        let there = there.translated(-valid.x(), -valid.y());
        for (row, begins) in view.rows().zip(begins.chunks_exact_mut(a)) {
            let mut before = set(row[a - 1]);
            for (sample, begins) in row.iter().zip(&mut *begins) {
                let now = set(*sample);
                *begins = u8::from(now) * (1 + u8::from(before));
                before = now;
            }
            // The longest of a row that goes on for ever.
            let most = match begins.iter().position(|sample| *sample < 2) {
                None => u64::MAX,
                Some(first) => {
                    let around = begins[first..].iter().chain(&begins[..first]);
                    let (mut run, mut most) = (0, 0);
                    for sample in around {
                        run = if *sample > 0 { run + 1 } else { 0 };
                        most = most.max(run);
                    }
                    most
                }
            };
            let most = most.min(there.width());
            // A window of two cells shows each of its runs whole, where it shows the row.
            let shown =
                there.height() >= period.c() && (there.width() / 2 >= period.a() || most == there.width());
            longest = (longest.0.max(if shown { most } else { 0 }), longest.1.max(most));
        }
        let cell = View::packed(&begins, a, c);
        let left = Rect::between(there.x(), there.y(), there.x() + 1, there.bottom());
        let count = copies(cell, &period, there)[1] + copies(cell, &period, left)[2];
        Ok(Some(Runs {
            count: (count, count),
            longest,
        }))
    }

    /// What a sample becomes that goes through these steps, the first first.
    fn through(&self, steps: &[Through], sample: u16) -> u16 {
        let entry = |table: usize, sample: u16| {
            let entry = self.plan.program.tables[table].get(usize::from(sample));
            entry.copied().unwrap_or(0)
        };
        (steps.iter()).fold(sample, |sample, step| step.apply(sample, entry, S::MAX.to_u16()))
    }

    /// What is known of every block of `grid`, in coordinates of the canvas.
    fn look(&self, grid: Grid<'_>) -> Result<Vec<(Rect, Looked)>, Error> {
        let (program, store, levels) = (&self.plan.program, &self.kept.store, self.kept.levels.as_ref());
        caught(grid.hull(), || {
            Ok(Asked::root(
                program,
                Some(store),
                levels,
                grid.len(),
                false,
                |root: &Asked<'_, S>| {
                    super::levels::with_hints(root, grid, |fine| {
                        let blocks = root.known_blocks(fine);
                        fine.rects()
                            .zip(blocks)
                            .filter(|(rect, _)| !rect.is_empty())
                            .collect()
                    })
                },
            ))
        })
    }

    /// Counts the samples of `rect`, in the coordinates of a node, from the cell that is kept of it, each through `steps`; `false` where
    /// computing it takes less time, or more than is allowed.
    fn count_cell(
        &self,
        node: usize,
        rect: Rect,
        steps: &[Through],
        effort: &mut u64,
        counts: &mut Counts,
    ) -> bool {
        let program = &self.plan.program;
        let (Keep::Cell { period, valid }, Some(plane)) =
            (program.steps[node].keep, self.kept.store.planes[node].get())
        else {
            return false;
        };
        if !valid.contains(&rect) {
            return false;
        }
        let of_each = if period.b() == 0 { COUNTING.0 } else { COUNTING.1 };
        let cost = u128::from(of_each) * period.cell() + u128::from(S::MAX.to_u16());
        if cost > rect.area() || cost > u128::from(*effort) {
            return false;
        }
        *effort -= cost as u64;
        let there = rect.translated(-valid.x(), -valid.y());
        let raw = copies(plane.view(), &period, there);
        for (sample, times) in (0_u16..=u16::MAX).zip(raw).filter(|(_, times)| *times > 0) {
            counts.add(self.through(steps, sample), times);
        }
        true
    }

    /// Counts the samples of rectangles in coordinates of the canvas, by computing them.
    fn count_samples(&self, rects: Vec<Rect>, counts: &mut Counts, cancel: &Cancel) -> Result<(), Error> {
        let Some(hull) = rects.iter().copied().reduce(|all, rect| all.union(&rect)) else {
            return Ok(());
        };
        let region = self.plan.region;
        let side = LEAF as usize;
        let leaves: Vec<Rect> = rects
            .into_iter()
            .flat_map(|rect| {
                let rows = (rect.y()..rect.bottom()).step_by(side);
                rows.flat_map(move |y| {
                    let columns = (rect.x()..rect.right()).step_by(side);
                    columns.map(move |x| Rect::sized(LEAF, LEAF).translated(x, y).intersection(&rect))
                })
            })
            .collect();
        let each = leaves.len().div_ceil(self.plan.threads).max(1);
        let shares: Vec<Vec<Rect>> = leaves.chunks(each).map(<[Rect]>::to_vec).collect();
        let found: Vec<Vec<u64>> = caught(hull, || {
            self.kept.workers.run(|| {
                shares
                    .into_par_iter()
                    .map(|share| {
                        let mut samples = zeroed::<S>(LEAF * LEAF, "a block")?;
                        let mut found = vec![0_u64; usize::from(S::MAX.to_u16()) + 1];
                        let worker = rayon::current_thread_index().unwrap_or(0);
                        for leaf in share {
                            let local = leaf.translated(-region.x(), -region.y());
                            let samples = &mut samples[..leaf.area() as usize];
                            self.fill_alone(worker, local, samples, cancel)?;
                            for sample in samples {
                                found[usize::from(sample.to_u16())] += 1;
                            }
                        }
                        Ok(found)
                    })
                    .collect::<Result<_, Error>>()
            })
        })?;
        for found in found {
            for (sample, times) in (0_u16..=u16::MAX).zip(found).filter(|(_, times)| *times > 0) {
                counts.add(sample, times.into());
            }
        }
        Ok(())
    }
}

/// How often each sample of a cell stands in `rect`, whose coordinates count from the top-left of a cell.
fn copies<S: Sample>(cell: View<'_, S>, period: &Period, rect: Rect) -> Vec<u128> {
    let mut counts = vec![0_u128; usize::from(S::MAX.to_u16()) + 1];
    let upright = period.b() == 0;
    let line = |period: Option<Period>, rect: Rect, place: (u64, u64)| {
        period.map_or(0, |period| period.copies(&rect, place))
    };
    // Along the axes, columns and rows are counted apart.
    let across: Vec<u128> = if upright {
        let row = Rect::between(rect.x(), 0, rect.right(), 1);
        let period = Period::grid(period.a(), 1);
        (0..cell.width() as u64)
            .map(|x| line(period, row, (x, 0)))
            .collect()
    } else {
        Vec::new()
    };
    for (y, row) in cell.rows().enumerate() {
        let down = if upright {
            let column = Rect::between(0, rect.y(), 1, rect.bottom());
            line(Period::grid(1, period.c()), column, (0, y as u64))
        } else {
            0
        };
        for (x, sample) in row.iter().enumerate() {
            let times = if upright {
                across[x] * down
            } else {
                period.copies(&rect, (x as u64, y as u64))
            };
            counts[usize::from(sample.to_u16())] += times;
        }
    }
    counts
}
