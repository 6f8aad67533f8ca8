//! Figures of blocks: from what is known, and where that does not do from samples.

use std::sync::atomic::{self, AtomicU64, AtomicUsize};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use relief_raster::{Rect, Sample, View, ViewMut};

use super::known::Asked;
use super::{Cpu, zeroed};
use crate::Error;
use crate::cancel::Cancel;
use crate::error::caught;
use crate::levels::{Effort, Exactness, LEAF, PIECE, Refining, SMALL, STRETCH, Statistic, chunk, direct};
use crate::node::{Block, Bounds, Edges, Grid, Summary};

/// The most that hints add to the edges of blocks along an axis, in parts of those that are there, and however few these are.
const HINTS: (usize, usize) = (4, 16);

/// The coarsest level of which blocks are computed without asking first.
const FINE: u32 = 3;

/// Calls `ask` with the grid, cut also where what is known of the root changes, if such places are few.
pub(super) fn with_hints<S: Sample, T>(
    root: &Asked<'_, S>,
    grid: Grid<'_>,
    ask: impl FnOnce(Grid<'_>) -> T,
) -> T {
    let hints = |edges: &[i64]| (edges.len() / HINTS.0).max(HINTS.1);
    let mut edges = Edges::with_room_for(hints(grid.xs).min(hints(grid.ys)));
    root.edges(grid.hull(), (0, 0), &mut edges);
    let most = edges.most;
    let merged = |own: &[i64], hints: Vec<i64>| {
        let mut all = own.to_vec();
        if hints.len() <= most {
            all.extend(hints);
        }
        all.sort_unstable();
        all.dedup();
        all
    };
    let (xs, ys) = (merged(grid.xs, edges.xs), merged(grid.ys, edges.ys));
    ask(Grid { xs: &xs, ys: &ys })
}

impl<S: Sample> Cpu<S> {
    /// What is known of `rect`, in coordinates of the streamed raster, after computing at most `effort` of its samples.
    pub(crate) fn summary(
        &self,
        rect: Rect,
        statistic: Statistic,
        effort: u64,
        cancel: &Cancel,
    ) -> Result<Summary, Error> {
        caught(rect, || {
            let (xs, ys) = ([rect.x(), rect.right()], [rect.y(), rect.bottom()]);
            let first = (self.kept.workers).run(|| self.ask(Grid { xs: &xs, ys: &ys }, true));
            let first = first.first().copied().unwrap_or(Summary::EMPTY);
            let mut one = Some((0, Refining::new(rect, first, statistic, effort)));
            let mut found = first;
            self.refined(
                || one.take(),
                |_, refining| found = refining.known(),
                true,
                cancel,
            )?;
            Ok(found)
        })
    }

    /// What is known of every block of `grid`, in coordinates of the streamed raster, without computing it.
    fn ask(&self, grid: Grid<'_>, zeros: bool) -> Vec<Summary> {
        let region = self.plan.region;
        let (program, store, levels) = (&self.plan.program, &self.kept.store, self.kept.levels.as_ref());
        let moved = |edges: &[i64], by: i64| edges.iter().map(|edge| edge + by).collect::<Vec<_>>();
        let (xs, ys) = (moved(grid.xs, region.x()), moved(grid.ys, region.y()));
        let coarse = Grid { xs: &xs, ys: &ys };
        Asked::root(
            program,
            Some(store),
            levels,
            grid.len(),
            zeros,
            |root: &Asked<'_, S>| {
                root.with_laid();
                with_hints(root, coarse, |fine| {
                    let mut blocks = vec![Block::EMPTY; fine.len()];
                    root.blocks(fine, &mut blocks);
                    root.settle(fine, &mut blocks);
                    // The number of the block that each lies in.
                    let of = |own: &[i64], edge: &i64| own.partition_point(|own| own <= edge) - 1;
                    let columns: Vec<usize> = fine.xs[..fine.columns()].iter().map(|x| of(&xs, x)).collect();
                    let mut all = vec![Summary::EMPTY; coarse.len()];
                    for (row, blocks) in blocks.chunks_exact(fine.columns()).enumerate() {
                        let start = of(&ys, &fine.ys[row]) * coarse.columns();
                        for (block, column) in blocks.iter().zip(&columns) {
                            let one = &mut all[start + column];
                            *one = one.and(block.summary);
                        }
                    }
                    all
                })
            },
        )
    }

    /// All samples of a rectangle of at most [`LEAF`] columns and rows, on a thread of the pool.
    fn leaf<T>(
        &self,
        rect: Rect,
        samples: &mut Vec<S>,
        cancel: &Cancel,
        read: impl FnOnce(View<'_, S>) -> T,
    ) -> Result<T, Error> {
        if samples.is_empty() {
            *samples = zeroed::<S>(LEAF * LEAF, "a block")?;
        }
        let worker = rayon::current_thread_index().unwrap_or(0);
        let samples = &mut samples[..rect.area() as usize];
        self.fill_alone(worker, rect, samples, cancel)?;
        Ok(read(View::packed(
            samples,
            rect.width() as usize,
            rect.height() as usize,
        )))
    }

    /// Refines the blocks that `next` gives, one after the other; `done` takes each with its number.
    ///
    /// A stretch at a time is looked at by a thread of the pool: one of these that waits for others may take up anything meanwhile, and an
    /// answer that takes for ever would hold up the one that it waits for.
    fn refined(
        &self,
        mut next: impl FnMut() -> Option<(usize, Refining)> + Send,
        mut done: impl FnMut(usize, Refining) + Send,
        zeros: bool,
        cancel: &Cancel,
    ) -> Result<(), Error> {
        let mut samples = Vec::new();
        let mut compute = |rect: Rect| {
            self.leaf(rect, &mut samples, cancel, |view| {
                direct(view, Rect::sized(rect.width(), rect.height()))
            })
        };
        let mut ask = |grid: Grid<'_>| self.ask(grid, zeros);
        let mut current = None;
        let mut stretch = || {
            let mut left = STRETCH;
            while left > 0 {
                let Some((number, mut refining)) = current.take().or_else(&mut next) else {
                    return Ok(false);
                };
                // A block that has too little effort to begin takes a moment as well.
                left -= 1;
                if refining.go_on(&mut left, &mut ask, &mut compute)? {
                    current = Some((number, refining));
                } else {
                    done(number, refining);
                }
            }
            Ok(true)
        };
        loop {
            cancel.check()?;
            if !self.kept.workers.run(&mut stretch)? {
                return Ok(());
            }
        }
    }

    /// The samples of `window` of a level, packed into `out`, with `effort` for them all.
    pub(crate) fn read_level(
        &self,
        level: u32,
        window: Rect,
        statistic: Statistic,
        effort: Effort,
        out: &mut [S],
        cancel: &Cancel,
    ) -> Result<Exactness, Error> {
        if level == 0 && u128::from(effort.samples) >= window.area() {
            let (width, height) = (window.width() as usize, window.height() as usize);
            self.fill(window, ViewMut::packed(out, width, height), cancel)?;
            return Ok(Exactness::Exact);
        }
        // Each holds what is known of the blocks of a piece.
        let _reader = self.kept.readers.one(cancel)?;
        let width = window.width();
        let columns = width.min(PIECE);
        let rows = (PIECE / columns).max(1);
        let mut left = effort.samples;
        let mut off = 0;
        caught(window, || {
            for y in (0..window.height()).step_by(rows as usize) {
                for x in (0..width).step_by(columns as usize) {
                    let piece = Rect::sized(columns, rows)
                        .translated(window.x() + x.cast_signed(), window.y() + y.cast_signed())
                        .intersection(&window);
                    let (known, spent) = self.piece(
                        level,
                        piece,
                        statistic,
                        Effort {
                            samples: left,
                            ..effort
                        },
                        cancel,
                    )?;
                    left -= if left == u64::MAX { 0 } else { spent.min(left) };
                    for (place, (least, most)) in known.into_iter().enumerate() {
                        let (column, row) = (place as u64 % piece.width(), place as u64 / piece.width());
                        let middle = least.midpoint(most);
                        off = off.max(most - middle);
                        out[((y + row) * width + x + column) as usize] = S::from_u16(middle);
                    }
                }
            }
            Ok(match off {
                0 => Exactness::Exact,
                off => Exactness::Within(off),
            })
        })
    }

    /// Between which samples those of a part of a level lie, row by row, and how many samples of the raster were computed.
    fn piece(
        &self,
        level: u32,
        piece: Rect,
        statistic: Statistic,
        effort: Effort,
        cancel: &Cancel,
    ) -> Result<(Vec<(u16, u16)>, u64), Error> {
        let Effort {
            samples: effort,
            near,
        } = effort;
        let raster = Rect::sized(self.plan.region.width(), self.plan.region.height());
        let edges = |from: i64, to: i64, end: i64| (from..=to).map(|edge| (edge << level).min(end)).collect();
        let xs: Vec<i64> = edges(piece.x(), piece.right(), raster.right());
        let ys: Vec<i64> = edges(piece.y(), piece.bottom(), raster.bottom());
        let grid = Grid { xs: &xs, ys: &ys };
        let all = grid.hull().area();
        // Computing a few pixels of each takes less time than asking.
        let mut known = if level <= FINE && all <= u128::from(effort) {
            let of = |rect: Rect| Summary::within(Bounds::between(0, S::MAX.to_u16()), rect.area());
            grid.rects().map(of).collect()
        } else {
            (self.kept.workers).run(|| self.known(grid, cancel))?
        };
        let mut open: Vec<usize> = (0..known.len())
            .filter(|number| !statistic.is_settled(&known[*number]))
            .collect();
        let pixels = open.iter().map(|number| known[*number].pixels);
        let reaches = effort == u64::MAX || pixels.sum::<u128>() <= u128::from(effort);
        if near > 0 && !reaches {
            open.retain(|number| {
                let (least, most) = statistic.of(&known[*number]);
                most - least.midpoint(most) > near
            });
        }
        let spent = if open.is_empty() || effort == 0 {
            0
        } else if 1 << level <= SMALL {
            let side = (LEAF >> level) as usize;
            (self.kept.workers)
                .run(|| self.by_leaves(grid, side, &mut known, (&open, statistic, effort), cancel))?
        } else {
            // Each as much as it may be off.
            let off = |number: &usize| {
                let (least, most) = statistic.of(&known[*number]);
                u128::from(most - least)
            };
            let all: u128 = open.iter().map(off).sum();
            let shares: Vec<u64> = (open.iter())
                .map(|number| match reaches {
                    true => effort,
                    false => (u128::from(effort) * off(number) / all.max(1)) as u64,
                })
                .collect();
            let (next, spent) = (AtomicUsize::new(0), AtomicU64::new(0));
            let blocks = Mutex::new(&mut known);
            let blocks = || blocks.lock().unwrap_or_else(PoisonError::into_inner);
            let refine_some = || {
                let take = || {
                    let place = next.fetch_add(1, atomic::Ordering::Relaxed);
                    let number = *open.get(place)?;
                    let refining =
                        Refining::new(grid.rect(number), blocks()[number], statistic, shares[place]);
                    Some((place, refining))
                };
                let done = |place: usize, refining: Refining| {
                    spent.fetch_add(shares[place] - refining.left(), atomic::Ordering::Relaxed);
                    blocks()[open[place]] = refining.known();
                };
                self.refined(take, done, false, cancel)
            };
            // However many windows are read, not many more threads than were asked for refine them.
            let extra = self.kept.refiners.some(open.len() - 1);
            std::thread::scope(|scope| {
                let others = (1..=extra.count()).map(|number| {
                    let name = format!("relief-level-{number}");
                    let other = std::thread::Builder::new()
                        .name(name)
                        .spawn_scoped(scope, refine_some);
                    other.map_err(|error| Error::Threads(Box::new(error)))
                });
                let others = others.collect::<Result<Vec<_>, Error>>()?;
                let mut all = refine_some();
                for other in others {
                    let other = other.join();
                    all = all.and(other.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
                }
                all
            })?;
            spent.into_inner()
        };
        Ok((known.iter().map(|summary| statistic.of(summary)).collect(), spent))
    }

    /// What is known of every block of `grid` without computing it, by all threads.
    fn known(&self, grid: Grid<'_>, cancel: &Cancel) -> Result<Vec<Summary>, Error> {
        let (columns, rows) = (grid.columns(), grid.rows());
        // What is held of planes is read row by row: a part has all columns, if it may.
        let most = chunk(self.plan.threads as u64, self.plan.program.nesting);
        let wide = columns.min(most).max(1);
        let high = (most / wide).min(rows.div_ceil(self.plan.threads)).max(1);
        let parts: Vec<(usize, usize)> = (0..rows)
            .step_by(high)
            .flat_map(|row| (0..columns).step_by(wide).map(move |column| (column, row)))
            .collect();
        // What is found is put in its place at once: it is held once.
        let known = Mutex::new(vec![Summary::EMPTY; grid.len()]);
        parts.into_par_iter().try_for_each(|(column, row)| {
            cancel.check()?;
            let part = Grid {
                xs: &grid.xs[column..=(column + wide).min(columns)],
                ys: &grid.ys[row..=(row + high).min(rows)],
            };
            let found = self.ask(part, false);
            put(&mut lock(&known), columns, (column, row), part.columns(), &found);
            Ok::<(), Error>(())
        })?;
        Ok(known.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Computes leaves of `side` × `side` blocks in which some are `open`, those that may be off the most first, as far as `effort` goes. How
    /// many samples were computed.
    fn by_leaves(
        &self,
        grid: Grid<'_>,
        side: usize,
        known: &mut [Summary],
        (open, statistic, effort): (&[usize], Statistic, u64),
        cancel: &Cancel,
    ) -> Result<u64, Error> {
        let (columns, rows) = (grid.columns(), grid.rows());
        let leaf = |column: usize, row: usize| Grid {
            xs: &grid.xs[column..=(column + side).min(columns)],
            ys: &grid.ys[row..=(row + side).min(rows)],
        };
        let across = columns.div_ceil(side);
        let mut off = vec![0_u64; across * rows.div_ceil(side)];
        for number in open {
            let (least, most) = statistic.of(&known[*number]);
            off[number / columns / side * across + number % columns / side] += u64::from(most - least);
        }
        let place = |(number, off): (usize, u64)| (number % across * side, number / across * side, off);
        let mut leaves: Vec<(usize, usize, u64)> = off
            .into_iter()
            .enumerate()
            .filter(|(_, off)| *off > 0)
            .map(place)
            .collect();
        leaves.sort_by_key(|(column, row, off)| (std::cmp::Reverse(*off), *row, *column));
        let mut spent = 0_u64;
        leaves.retain(|(column, row, _)| {
            let area = leaf(*column, *row).hull().area() as u64;
            let fits = spent.saturating_add(area) <= effort;
            spent += if fits { area } else { 0 };
            fits
        });
        let known = Mutex::new(known);
        let computed = leaves
            .into_par_iter()
            .map_init(Vec::new, |samples, (column, row, _)| {
                let blocks = leaf(column, row);
                let hull = blocks.hull();
                let found: Vec<Summary> = self.leaf(hull, samples, cancel, |view| {
                    let local = |rect: Rect| rect.translated(-hull.x(), -hull.y());
                    blocks.rects().map(|rect| direct(view, local(rect))).collect()
                })?;
                put(
                    &mut lock(&known),
                    columns,
                    (column, row),
                    blocks.columns(),
                    &found,
                );
                Ok(())
            });
        computed.collect::<Result<(), Error>>()?;
        Ok(spent)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts what is known of a part, of `width` columns at (`column`, `row`), into what is known of all.
fn put(all: &mut [Summary], columns: usize, (column, row): (usize, usize), width: usize, found: &[Summary]) {
    for (line, found) in found.chunks_exact(width).enumerate() {
        let start = (row + line) * columns + column;
        all[start..start + width].copy_from_slice(found);
    }
}
