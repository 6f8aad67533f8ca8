//! Preparations: exact sums over whole sources, before the first band.

use std::sync::{Mutex, PoisonError};

use rayon::iter::ParallelIterator;
use relief_raster::{Depth, Rect, Sample, View, ViewMut};

use super::{Cpu, each_part, zeroed};
use crate::Error;
use crate::cancel::Cancel;
use crate::error::caught;
use crate::node::{Counters, Filled, Link, Preparation, SamplesOf};
use crate::plan::prepare::{Work, counters};
use crate::program::Keep;

/// Samples that are gathered before it is told how far the preparation is.
const CHUNK: u64 = 1 << 26;

/// What one thread gathers.
struct Gathered<S> {
    samples: Vec<S>,
    counters: Counters,
}

/// The parts of a rectangle after each of which it is told how far the preparation is: whole tiles of about [`CHUNK`] samples, one at least.
fn chunks(rect: Rect, (width, height): (u64, u64)) -> impl Iterator<Item = Rect> {
    let whole = |samples: u64, side: u64| samples.max(1).next_multiple_of(side);
    let columns = whole(CHUNK / height, width).min(rect.width());
    let rows = whole(CHUNK / columns.max(1), height).min(rect.height());
    let steps = |from: i64, to: i64, step: u64| (from..to).step_by(step.max(1) as usize);
    steps(rect.y(), rect.bottom(), rows).flat_map(move |y| {
        steps(rect.x(), rect.right(), columns)
            .map(move |x| Rect::sized(columns, rows).translated(x, y).intersection(&rect))
    })
}

/// Samples with their depth.
pub(crate) fn samples_of<S: Sample>(samples: &[S]) -> SamplesOf<'_> {
    match S::DEPTH {
        Depth::Eight => SamplesOf::Eight(bytemuck::cast_slice(samples)),
        Depth::Sixteen => SamplesOf::Sixteen(bytemuck::cast_slice(samples)),
    }
}

impl<S: Sample> Cpu<S> {
    /// The table of a node that is prepared; `done` is told the samples that were looked at.
    pub(super) fn prepare(
        &self,
        index: usize,
        work: &Work,
        done: &mut dyn FnMut(u128),
        cancel: &Cancel,
    ) -> Result<Vec<S>, Error> {
        let program = &self.plan.program;
        let step = &program.steps[index];
        let (Some(preparation), Some(link)) = (step.kind.preparation(), step.links.first()) else {
            return Err(Error::defect(
                step.own(),
                "a node is prepared that needs no preparation",
            ));
        };
        let mut total = counters::<S>(program, index);
        if work.outside > 0 {
            preparation.gather(samples_of(&[S::ZERO]), work.outside, &mut total);
        }
        if let Some(inner) = work.periodic {
            self.gather_cell(link.node, inner, preparation, &mut total, cancel)?;
            done(work.samples - work.computed.iter().map(Rect::area).sum::<u128>());
        }
        let (width, height) = self.tile();
        let mut threads = Vec::new();
        for _ in 0..self.plan.threads {
            threads.push(Mutex::new(Gathered {
                samples: zeroed::<S>((width * height) as u64, "a preparation")?,
                counters: counters::<S>(program, index),
            }));
        }
        for rect in &work.computed {
            for chunk in chunks(*rect, (width as u64, height as u64)) {
                self.kept.workers.run(|| {
                    rayon::iter::split(chunk, |piece| each_part(piece, width, height))
                        .try_for_each(|piece| self.gather_tiles(link, piece, preparation, &threads, cancel))
                })?;
                done(chunk.area());
            }
        }
        for thread in threads {
            let gathered = thread.into_inner().unwrap_or_else(PoisonError::into_inner);
            for (sum, part) in total.iter_mut().zip(&gathered.counters) {
                *sum = sum.wrapping_add(*part);
            }
        }
        let table = preparation.finish(S::DEPTH, &total);
        Ok(table.into_iter().map(S::from_u16).collect())
    }

    /// Gathers the tiles of a piece, which is one tile or a few.
    fn gather_tiles(
        &self,
        link: &Link,
        piece: Rect,
        preparation: &dyn Preparation,
        threads: &[Mutex<Gathered<S>>],
        cancel: &Cancel,
    ) -> Result<(), Error> {
        if let (first, Some(second)) = each_part(piece, self.tile().0, self.tile().1) {
            self.gather_tiles(link, first, preparation, threads, cancel)?;
            return self.gather_tiles(link, second, preparation, threads, cancel);
        }
        cancel.check()?;
        let worker = rayon::current_thread_index().unwrap_or(0);
        let mut gathered = threads[worker].lock().unwrap_or_else(PoisonError::into_inner);
        let Gathered { samples, counters } = &mut *gathered;
        let (width, height) = (piece.width() as usize, piece.height() as usize);
        let samples = &mut samples[..width * height];
        let reader = self.reader(cancel);
        let mut scratch = self.kept.scratch[worker]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        caught(piece, || {
            let mut view = ViewMut::packed(samples, width, height);
            match reader.read(link.node, piece, view.reborrow(), &mut scratch)? {
                filled if preparation.is_placed() => {
                    filled.write(view);
                    let (x, y) = (piece.x() + link.extent.x(), piece.y() + link.extent.y());
                    for (row, samples) in samples.chunks_exact(width).enumerate() {
                        preparation.gather_row(samples_of(samples), (x, y + row as i64), counters);
                    }
                }
                Filled::Uniform(value) => {
                    preparation.gather(samples_of(&[value]), piece.area(), counters);
                }
                Filled::Written => preparation.gather(samples_of(samples), 1, counters),
            }
            Ok(())
        })
    }

    /// Gathers `inner` of a node of which a cell is kept: each of its samples as often as it stands there.
    fn gather_cell(
        &self,
        node: usize,
        inner: Rect,
        preparation: &dyn Preparation,
        total: &mut [u128],
        cancel: &Cancel,
    ) -> Result<(), Error> {
        let (Keep::Cell { period, valid }, Some(plane)) = (
            self.plan.program.steps[node].keep,
            self.kept.store.planes[node].get(),
        ) else {
            return Err(Error::defect(inner, "a cell was not made"));
        };
        if let Some(value) = plane.uniform {
            preparation.gather(samples_of(&[value]), inner.area(), total);
            return Ok(());
        }
        // The cell's top-left lies at that of `valid`.
        let there = inner.translated(-valid.x(), -valid.y());
        let cell: View<'_, S> = plane.view();
        for (y, row) in cell.rows().enumerate() {
            cancel.check()?;
            // Neighbours mostly stand there equally often.
            let (mut start, mut times) = (0, period.copies(&there, (0, y as u64)));
            for x in 1..=row.len() {
                let next = if x < row.len() {
                    period.copies(&there, (x as u64, y as u64))
                } else {
                    u128::MAX
                };
                if next != times {
                    if times > 0 {
                        preparation.gather(samples_of(&row[start..x]), times, total);
                    }
                    (start, times) = (x, next);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_all_of_a_rectangle_however_wide_and_never_nothing() {
        for (width, height) in [
            (70_000_000, 3),
            (1 << 40, 700),
            (3, 1 << 30),
            (1_000, 1_000),
            (1, 1),
        ] {
            for tile in [(1, 1), (512, 512), (64, 4_096)] {
                let rect = Rect::sized(width, height).translated(-5, 9);
                let mut left = rect.area();
                for (number, chunk) in chunks(rect, tile).enumerate() {
                    assert!(
                        !chunk.is_empty() && rect.contains(&chunk),
                        "{rect:?} {tile:?}: {chunk:?}"
                    );
                    left -= chunk.area();
                    // Of the largest only the first are looked at.
                    if number == 200 {
                        left = 0;
                        break;
                    }
                }
                assert_eq!(left, 0, "{rect:?} {tile:?}");
            }
        }
    }
}
