//! The CPU as a device: makes what the plan keeps, and fills bands with a pool of threads.

mod counts;
mod known;
mod laid;
mod levels;
mod permits;
mod prepare;
mod reader;
mod stream;
mod times;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rayon::iter::ParallelIterator;
use relief_kernels::uniform;
use relief_raster::{Rect, Sample, ViewMut};

pub(crate) use known::Asked;
use permits::Permits;
#[cfg(feature = "gpu")]
pub(crate) use prepare::samples_of;
pub(crate) use reader::Store;
use reader::{Plane, Reader, copy_row, read_window};
pub(crate) use stream::stream;
use times::Times;

use crate::Error;
use crate::cache::TileCache;
use crate::cancel::Cancel;
use crate::error::caught;
use crate::levels::Levels;
use crate::node::{Bounds, Filled, part};
use crate::plan::prepare::Work;
use crate::plan::{Plan, cached_samples};
use crate::prepared::{Prepared, Start};
use crate::program::{Keep, Picture};
use crate::progress::Progress;
use crate::source::{ImageSource, guarded};
use crate::workers::Workers;

/// A plan with everything in memory that it keeps, and the threads that run it.
pub(crate) struct Cpu<S> {
    plan: Plan,
    kept: Arc<Kept<S>>,
}

/// What the jobs of parts of a raster share.
struct Kept<S> {
    store: Store<S>,
    /// Sums of what is kept, where the plan has them.
    levels: Option<Levels>,
    /// Windows of levels that are read at the same time, and threads that refine them beside those that ask.
    readers: Permits,
    refiners: Permits,
    workers: Workers,
    /// Scratch of every worker; a worker only ever takes its own.
    scratch: Vec<Mutex<Vec<u64>>>,
    times: Times,
}

impl<S: Sample> Cpu<S> {
    /// Reads the pictures, makes the cells and prepares what needs it, but for what `start` has.
    pub(crate) fn new(
        plan: Plan,
        images: &dyn ImageSource,
        start: Start<'_>,
        cancel: &Cancel,
    ) -> Result<Self, Error> {
        let workers = Workers::new(plan.threads)?;
        let mut scratch = Vec::new();
        for _ in 0..plan.threads {
            scratch.push(Mutex::new(zeroed(plan.words, "scratch memory")?));
        }
        let store = Store {
            planes: plan.program.steps.iter().map(|_| OnceLock::new()).collect(),
            pictures: plan.program.pictures.iter().map(|_| OnceLock::new()).collect(),
            open: plan.program.pictures.iter().map(|_| OnceLock::new()).collect(),
            prepared: plan.program.steps.iter().map(|_| OnceLock::new()).collect(),
            tables: tables(&plan)?,
            cache: TileCache::new(
                plan.peak.cache,
                cached_samples(&plan.program) as usize,
                plan.threads,
            ),
        };
        let kept = Kept {
            times: Times::new(plan.program.steps.len()),
            levels: plan.levels.then(|| Levels::new(&plan.program)),
            readers: Permits::new(plan.level_readers),
            refiners: Permits::new(plan.threads - 1),
            store,
            workers,
            scratch,
        };
        let cpu = Self {
            plan,
            kept: Arc::new(kept),
        };
        cpu.read_images(images, cancel)?;
        cpu.make_planes(start, cancel)?;
        Ok(cpu)
    }

    /// The same for a part of the raster.
    pub(crate) fn part(&self, plan: Plan) -> Self {
        Self {
            plan,
            kept: Arc::clone(&self.kept),
        }
    }

    pub(crate) const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Between which samples `rect` lies, in coordinates of the streamed raster.
    pub(crate) fn bounds(&self, rect: Rect) -> Bounds {
        let region = self.plan.region;
        let rect = rect.translated(region.x(), region.y());
        let (program, store) = (&self.plan.program, &self.kept.store);
        Asked::root(program, Some(store), None, 1, false, |root| root.bounds(rect))
    }

    /// How long each node has taken by itself, of the tiles that were timed.
    pub(crate) fn node_times(&self) -> Vec<Duration> {
        self.kept.times.read()
    }

    /// What the plan keeps.
    #[cfg(feature = "gpu")]
    pub(crate) fn store(&self) -> &Store<S> {
        &self.kept.store
    }

    /// The threads that compute tiles.
    pub(crate) fn workers(&self) -> &Workers {
        &self.kept.workers
    }

    /// A defect for tests: workers find no scratch.
    #[cfg(test)]
    pub(crate) fn lose_scratch(&mut self) {
        Arc::get_mut(&mut self.kept).unwrap().scratch.clear();
    }

    /// Computes `rect`, in coordinates of the streamed raster, into `out`.
    pub(crate) fn fill(&self, rect: Rect, out: ViewMut<'_, S>, cancel: &Cancel) -> Result<(), Error> {
        let region = self.plan.region;
        let rect = rect.translated(region.x(), region.y());
        caught(rect, || {
            self.fill_node(self.plan.program.root(), rect, out, cancel, false)
        })
    }

    /// One sample of a node, in its own coordinates and within it.
    pub(crate) fn sample(&self, node: usize, (x, y): (i64, i64), cancel: &Cancel) -> Result<u16, Error> {
        let (rect, mut out) = (Rect::sized(1, 1).translated(x, y), [S::ZERO]);
        caught(rect, || {
            self.fill_node(node, rect, ViewMut::packed(&mut out, 1, 1), cancel, false)
        })?;
        Ok(out[0].to_u16())
    }

    /// [`Self::fill`] on this thread alone, with the scratch of a worker.
    pub(crate) fn fill_alone(
        &self,
        worker: usize,
        rect: Rect,
        out: &mut [S],
        cancel: &Cancel,
    ) -> Result<(), Error> {
        let region = self.plan.region;
        let rect = rect.translated(region.x(), region.y());
        let view = ViewMut::packed(out, rect.width() as usize, rect.height() as usize);
        let root = self.plan.program.root();
        let (width, height) = self.tile();
        each_tile((rect, view), width, height, &mut |rect, out| {
            self.fill_tile(root, rect, out, worker, cancel, false)
        })
    }

    /// Columns and rows of a tile.
    pub(crate) const fn tile(&self) -> (usize, usize) {
        let shape = self.plan.shape;
        (shape.tile_width as usize, shape.tile_height as usize)
    }

    /// Computes a rectangle of a node by tiles; `anew` says whether the node itself is computed even if the plan
    /// keeps it, because what is kept is what is being made.
    pub(crate) fn fill_node(
        &self,
        node: usize,
        rect: Rect,
        out: ViewMut<'_, S>,
        cancel: &Cancel,
        anew: bool,
    ) -> Result<(), Error> {
        let (width, height) = self.tile();
        // Halved again and again rather than listed: a wide band has millions of small tiles.
        let pieces = rayon::iter::split((rect, out), |piece| halve(piece, width, height));
        self.kept.workers.run(|| {
            pieces.try_for_each(|piece| {
                each_tile(piece, width, height, &mut |rect, out| {
                    let worker = rayon::current_thread_index().unwrap_or(0);
                    self.fill_tile(node, rect, out, worker, cancel, anew)
                })
            })
        })
    }

    /// Computes a rectangle of a node by tiles of so many columns and rows; `each` is called with every one of them. Where all samples of one
    /// are the same, they are not written.
    #[cfg(feature = "gpu")]
    pub(crate) fn fill_apart(
        &self,
        node: usize,
        rect: Rect,
        out: ViewMut<'_, S>,
        (width, height): (usize, usize),
        cancel: &Cancel,
        each: impl Fn(Rect, Filled<S>, &ViewMut<'_, S>) + Sync,
    ) -> Result<(), Error> {
        let pieces = rayon::iter::split((rect, out), |piece| halve(piece, width, height));
        self.kept.workers.run(|| {
            pieces.try_for_each(|piece| {
                each_tile(piece, width, height, &mut |rect, out| {
                    let worker = rayon::current_thread_index().unwrap_or(0);
                    let (filled, part) = self.compute_tile(node, rect, out, worker, cancel, false)?;
                    each(rect, filled, &part);
                    Ok(())
                })
            })
        })
    }

    fn fill_tile(
        &self,
        node: usize,
        rect: Rect,
        out: ViewMut<'_, S>,
        worker: usize,
        cancel: &Cancel,
        anew: bool,
    ) -> Result<(), Error> {
        let (filled, out) = self.compute_tile(node, rect, out, worker, cancel, anew)?;
        filled.write(out);
        Ok(())
    }

    /// Computes a tile, which is not written where all its samples are one.
    fn compute_tile<'a>(
        &self,
        node: usize,
        rect: Rect,
        mut out: ViewMut<'a, S>,
        worker: usize,
        cancel: &Cancel,
        anew: bool,
    ) -> Result<(Filled<S>, ViewMut<'a, S>), Error> {
        cancel.check()?;
        let reader = self.reader(cancel);
        let mut scratch = self.kept.scratch[worker]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        caught(rect, || {
            let filled = if anew {
                reader.compute(node, rect, out.reborrow(), &mut scratch)
            } else {
                reader.read(node, rect, out.reborrow(), &mut scratch)
            };
            filled.map(|filled: Filled<S>| (filled, out))
        })
    }

    fn read_images(&self, images: &dyn ImageSource, cancel: &Cancel) -> Result<(), Error> {
        for (number, picture) in self.plan.program.pictures.iter().enumerate() {
            let Picture { path, held, .. } = picture;
            if held.is_empty() && !picture.open {
                continue;
            }
            let opened =
                guarded(|| images.open(path, &picture.conversion)).map_err(|source| Error::Image {
                    path: path.to_string(),
                    source,
                })?;
            let size = guarded(|| Ok(opened.size())).unwrap_or_default();
            if size != (picture.width, picture.height) {
                return Err(Error::ImageChanged {
                    path: path.to_string(),
                    found: format!("{}×{} pixels", size.0, size.1),
                    expected: format!("{}×{}", picture.width, picture.height),
                });
            }
            if picture.open {
                keep(&self.kept.store.open[number], opened)?;
                continue;
            }
            let mut samples: Vec<S> = zeroed_samples(held.area(), "an image")?;
            let mut view = ViewMut::packed(&mut samples, held.width() as usize, held.height() as usize);
            let parts = guarded(|| Ok(opened.parts().filter(|_| opened.windowed()))).unwrap_or_default();
            for window in windows(*held, parts) {
                let here = window.translated(-held.x(), -held.y());
                let mut out = part(&mut view, here);
                read_window(&*opened, path, window, S::DEPTH, cancel, |y, row| {
                    copy_row(row, out.row_mut(y));
                })?;
            }
            keep(&self.kept.store.pictures[number], plane(*held, samples))?;
        }
        Ok(())
    }

    fn make_planes(&self, start: Start<'_>, cancel: &Cancel) -> Result<(), Error> {
        let begun = Instant::now();
        let total = self.plan.preparation();
        let mut looked_at = 0;
        for index in 0..self.plan.program.steps.len() {
            let step = &self.plan.program.steps[index];
            if step.need.is_empty() {
                continue;
            }
            if let Some(work) = Work::of(&self.plan.program, index) {
                let known = start.prepared.and_then(|prepared| prepared.table(step.node));
                let table = match known {
                    Some(table) if fits::<S>(table) => {
                        looked_at += work.samples;
                        table.iter().map(|sample| S::from_u16(*sample)).collect()
                    }
                    Some(_) => {
                        return Err(Error::Prepared {
                            line: step.place.line,
                        });
                    }
                    None => {
                        let mut done = |samples: u128| {
                            looked_at += samples;
                            (start.progress)(Progress {
                                done: looked_at,
                                total,
                                elapsed: begun.elapsed(),
                            });
                        };
                        self.prepare(index, &work, &mut done, cancel)?
                    }
                };
                keep(&self.kept.store.prepared[index], table)?;
            }
            let step = &self.plan.program.steps[index];
            if !matches!(step.keep, Keep::Cell { .. } | Keep::Whole) {
                continue;
            }
            let rect = step.plane();
            let mut samples: Vec<S> = zeroed_samples(rect.area(), "a cell")?;
            let view = ViewMut::packed(&mut samples, rect.width() as usize, rect.height() as usize);
            self.fill_node(index, rect, view, cancel, true)?;
            keep(&self.kept.store.planes[index], plane(rect, samples))?;
        }
        Ok(())
    }

    /// What preparations gave.
    pub(crate) fn prepared(&self) -> Prepared {
        let steps = self.plan.program.steps.iter().zip(&self.kept.store.prepared);
        steps
            .filter_map(|(step, table)| {
                let table = table.get()?.iter().map(|sample| sample.to_u16());
                Some((step.node, table.collect()))
            })
            .collect()
    }

    fn reader<'a>(&'a self, cancel: &'a Cancel) -> Reader<'a, S> {
        Reader {
            program: &self.plan.program,
            store: &self.kept.store,
            cancel,
            clock: self.kept.times.next_tile(),
        }
    }
}

/// The samples of the windows in which a picture is read that is stored in small parts.
const WINDOW: u64 = 1 << 18;

/// The windows in which `held` of a picture is read that is stored in parts of so many columns and rows: each part by itself, or a few small ones beside or below each other,
/// so that none is decoded again for every few rows. All of it where there are no parts.
fn windows(held: Rect, parts: Option<(u64, u64)>) -> impl Iterator<Item = Rect> {
    let whole = (held.right().unsigned_abs(), held.bottom().unsigned_abs());
    let (width, height) = parts.map_or(whole, |(width, height)| {
        let (width, height) = (width.clamp(1, whole.0.max(1)), height.clamp(1, whole.1.max(1)));
        let together = (WINDOW / width.saturating_mul(height)).max(1);
        if width == whole.0 {
            (width, height.saturating_mul(together))
        } else {
            (width.saturating_mul(together), height)
        }
    });
    let starts = |from: i64, to: i64, side: u64| {
        let first = from.unsigned_abs() / side.max(1);
        (first..to.unsigned_abs().div_ceil(side.max(1))).map(move |number| number * side)
    };
    starts(held.y(), held.bottom(), height).flat_map(move |y| {
        starts(held.x(), held.right(), width).map(move |x| {
            let window = Rect::sized(width, height).translated(x.cast_signed(), y.cast_signed());
            window.intersection(&held)
        })
    })
}

/// The tables of a plan, in samples of its depth.
fn tables<S: Sample>(plan: &Plan) -> Result<Vec<Vec<S>>, Error> {
    let table = |entries: &Arc<[u16]>| {
        let mut table: Vec<S> = zeroed(entries.len() as u64, "a table")?;
        for (to, from) in table.iter_mut().zip(entries.iter()) {
            *to = S::from_u16(*from);
        }
        Ok(table)
    };
    plan.program.tables.iter().map(table).collect()
}

/// Keeps what is made once.
fn keep<T>(place: &OnceLock<T>, made: T) -> Result<(), Error> {
    place
        .set(made)
        .map_err(|_| Error::defect(Rect::EMPTY, "what is kept was made twice"))
}

/// Whether a table is one for samples of this depth.
fn fits<S: Sample>(table: &[u16]) -> bool {
    let max = S::MAX.to_u16();
    table.len() == usize::from(max) + 1 && table.iter().all(|sample| *sample <= max)
}

fn plane<S: Sample>(rect: Rect, samples: Vec<S>) -> Plane<S> {
    let mut plane = Plane {
        rect,
        samples,
        uniform: None,
    };
    plane.uniform = uniform::cpu::value(plane.view());
    plane
}

/// A rectangle with the memory of its samples.
type Piece<'a, S> = (Rect, ViewMut<'a, S>);

/// The two halves of a piece, whole tiles each, rows before columns; or the piece, where it is one tile.
fn halve<S>((rect, out): Piece<'_, S>, width: usize, height: usize) -> (Piece<'_, S>, Option<Piece<'_, S>>) {
    let (rows, columns) = (out.height().div_ceil(height), out.width().div_ceil(width));
    let (x, y, right, bottom) = (rect.x(), rect.y(), rect.right(), rect.bottom());
    if rows > 1 {
        let at = rows / 2 * height;
        let (above, below) = out.split_rows(at);
        let middle = y + at as i64;
        let halves = (
            Rect::between(x, y, right, middle),
            Rect::between(x, middle, right, bottom),
        );
        ((halves.0, above), Some((halves.1, below)))
    } else if columns > 1 {
        let at = columns / 2 * width;
        let (before, after) = out.split_columns(at);
        let middle = x + at as i64;
        let halves = (
            Rect::between(x, y, middle, bottom),
            Rect::between(middle, y, right, bottom),
        );
        ((halves.0, before), Some((halves.1, after)))
    } else {
        ((rect, out), None)
    }
}

/// The two halves of a rectangle, whole tiles each; or the rectangle, where it is one tile.
fn each_part(rect: Rect, width: usize, height: usize) -> (Rect, Option<Rect>) {
    let (across, down) = (
        rect.width().div_ceil(width as u64),
        rect.height().div_ceil(height as u64),
    );
    let (x, y, right, bottom) = (rect.x(), rect.y(), rect.right(), rect.bottom());
    if down > 1 {
        let middle = y + (down / 2 * height as u64).cast_signed();
        (
            Rect::between(x, y, right, middle),
            Some(Rect::between(x, middle, right, bottom)),
        )
    } else if across > 1 {
        let middle = x + (across / 2 * width as u64).cast_signed();
        (
            Rect::between(x, y, middle, bottom),
            Some(Rect::between(middle, y, right, bottom)),
        )
    } else {
        (rect, None)
    }
}

/// Calls `work` with every tile of a piece, one after the other.
fn each_tile<'a, S>(
    piece: Piece<'a, S>,
    width: usize,
    height: usize,
    work: &mut impl FnMut(Rect, ViewMut<'a, S>) -> Result<(), Error>,
) -> Result<(), Error> {
    match halve(piece, width, height) {
        ((rect, _), None) if rect.is_empty() => Ok(()),
        ((rect, out), None) => work(rect, out),
        (first, Some(second)) => {
            each_tile(first, width, height, work)?;
            each_tile(second, width, height, work)
        }
    }
}

/// Memory of zeros, or an error where the system has none. The system zeroes its pages when they are first written, by whoever writes them.
pub(crate) fn zeroed<T: bytemuck::Zeroable>(count: u64, purpose: &'static str) -> Result<Vec<T>, Error> {
    let bytes = count.saturating_mul(size_of::<T>() as u64);
    let refused = || Error::Allocation { bytes, purpose };
    let count = usize::try_from(count).map_err(|_| refused())?;
    let memory = bytemuck::try_zeroed_slice_box(count).map_err(|()| refused())?;
    Ok(memory.into_vec())
}

fn zeroed_samples<S: Sample>(count: u128, purpose: &'static str) -> Result<Vec<S>, Error> {
    zeroed(u64::try_from(count).unwrap_or(u64::MAX), purpose)
}
