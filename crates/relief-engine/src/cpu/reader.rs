//! Computing samples on the CPU: what the plan keeps, and how a node reads its children.

use std::ops::ControlFlow;
use std::sync::OnceLock;

use relief_kernels::repeat;
use relief_raster::{Rect, Sample, View, ViewMut};

use super::times::TileClock;
use crate::Error;
use crate::cache::{Key, Tile, TileCache};
use crate::cancel::Cancel;
use crate::node::{Filled, Inputs, Request, around, part};
use crate::program::{Keep, Program};
use crate::source::{Picture, guarded};

/// Samples of one node that are kept for the whole job.
#[derive(Debug)]
pub(crate) struct Plane<S> {
    /// Which samples, in the node's own coordinates.
    pub(crate) rect: Rect,
    /// Packed rows.
    pub(crate) samples: Vec<S>,
    /// The sample that all of them are, if they are.
    pub(crate) uniform: Option<S>,
}

impl<S: Sample> Plane<S> {
    pub(crate) fn view(&self) -> View<'_, S> {
        View::packed(
            &self.samples,
            self.rect.width() as usize,
            self.rect.height() as usize,
        )
    }

    /// The part that holds `rect`; `None` where that is empty or not all of it is here.
    pub(crate) fn part(&self, rect: Rect) -> Option<View<'_, S>> {
        let local = rect.translated(-self.rect.x(), -self.rect.y());
        (!rect.is_empty() && self.rect.contains(&rect)).then(|| {
            self.view().part(
                local.x() as usize,
                local.y() as usize,
                local.width() as usize,
                local.height() as usize,
            )
        })
    }
}

/// Everything that a job keeps in memory. What it is made of is made once, before anything is read.
pub(crate) struct Store<S> {
    /// Planes by the number of their node; not those of pictures.
    pub(crate) planes: Vec<OnceLock<Plane<S>>>,
    /// Pictures by their numbers.
    pub(crate) pictures: Vec<OnceLock<Plane<S>>>,
    /// Pictures that are read window by window, by their numbers.
    pub(crate) open: Vec<OnceLock<Box<dyn Picture>>>,
    /// What preparations gave, by the number of their node.
    pub(crate) prepared: Vec<OnceLock<Vec<S>>>,
    /// Tables by their numbers.
    pub(crate) tables: Vec<Vec<S>>,
    pub(crate) cache: TileCache<S>,
}

impl<S: Sample> Store<S> {
    /// All samples of a node other than 0, if they are kept: a view from its top-left, with 0 beyond it.
    pub(crate) fn pattern(&self, program: &Program, node: usize) -> Option<View<'_, S>> {
        if !program.keeps_pattern(node) {
            return None;
        }
        let step = &program.steps[node];
        match step.image {
            Some(shown) => {
                // Another node may read more of the picture.
                let (picture, stored) = (self.pictures[shown.picture].get()?, step.stored());
                let view = picture.view();
                Some(view.part(0, 0, stored.width() as usize, stored.height() as usize))
            }
            None => self.planes[node].get().map(Plane::view),
        }
    }
}

/// Reads a window of a picture, which is not trusted: every row has to come once, whole.
pub(super) fn read_window<S: Sample>(
    picture: &dyn Picture,
    path: &str,
    window: Rect,
    out: &mut ViewMut<'_, S>,
    cancel: &Cancel,
) -> Result<(), Error> {
    let (mut rows, mut damaged) = (0_u64, false);
    let mut seen = vec![false; window.height() as usize];
    let outcome = guarded(|| {
        picture.read(window, S::DEPTH, &mut |y, row| {
            if cancel.is_cancelled() {
                return ControlFlow::Break(());
            }
            let place = y.checked_sub(window.y().cast_unsigned());
            let Some(place) = place.filter(|place| *place < window.height() && row.len() == out.width())
            else {
                damaged = true;
                return ControlFlow::Break(());
            };
            // A row that comes twice must not stand for one that never comes.
            rows += u64::from(!std::mem::replace(&mut seen[place as usize], true));
            for (to, from) in out.row_mut(place as usize).iter_mut().zip(row) {
                *to = S::from_u16((*from).min(S::MAX.to_u16()));
            }
            ControlFlow::Continue(())
        })
    });
    cancel.check()?;
    outcome.map_err(|source| Error::Image {
        path: path.to_owned(),
        source,
    })?;
    if damaged || rows != window.height() {
        let found = format!("{rows} whole rows among those that are read");
        let expected = format!("{} rows of {} samples", window.height(), window.width());
        return Err(Error::ImageChanged {
            path: path.to_owned(),
            found,
            expected,
        });
    }
    Ok(())
}

/// Answers what nodes hold, from wherever the plan keeps it.
pub(crate) struct Reader<'a, S> {
    pub(crate) program: &'a Program,
    pub(crate) store: &'a Store<S>,
    pub(crate) cancel: &'a Cancel,
    /// Times the nodes, where this tile is timed.
    pub(crate) clock: Option<TileClock<'a>>,
}

/// What one node is given.
struct Scope<'r, 'a, S> {
    reader: &'r Reader<'a, S>,
    node: usize,
}

impl<S: Sample> Inputs<S> for Scope<'_, '_, S> {
    fn read(
        &self,
        node: usize,
        rect: Rect,
        out: ViewMut<'_, S>,
        scratch: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        self.reader.read(node, rect, out, scratch)
    }

    fn kept(&self, node: usize) -> Option<View<'_, S>> {
        self.reader.store.pattern(self.reader.program, node)
    }

    fn picture_part(&self, picture: usize, rect: Rect) -> Option<View<'_, S>> {
        self.reader.store.pictures[picture].get()?.part(rect)
    }

    fn picture_window(&self, picture: usize, rect: Rect, mut out: ViewMut<'_, S>) -> Result<(), Error> {
        let Some(opened) = self.reader.store.open[picture].get() else {
            return Err(Error::defect(
                rect,
                "a part of an image is read that the plan does not keep",
            ));
        };
        let path = &self.reader.program.pictures[picture].path;
        read_window(&**opened, path, rect, &mut out, self.reader.cancel)
    }

    fn table(&self, number: usize) -> &[S] {
        &self.reader.store.tables[number]
    }

    fn prepared(&self) -> Result<&[S], Error> {
        self.reader.store.prepared[self.node]
            .get()
            .map(Vec::as_slice)
            .ok_or_else(|| Error::defect(Rect::EMPTY, "a node was not prepared"))
    }

    fn check(&self) -> Result<(), Error> {
        self.reader.cancel.check()
    }
}

impl<S: Sample> Reader<'_, S> {
    /// Samples of `rect`, which lies inside the node and is given in its own coordinates, into `out`, which has
    /// its size.
    pub(crate) fn read(
        &self,
        node: usize,
        rect: Rect,
        out: ViewMut<'_, S>,
        scratch: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        match &self.clock {
            None => self.fetch(node, rect, out, scratch),
            Some(clock) => clock.time(node, || self.fetch(node, rect, out, scratch)),
        }
    }

    /// Samples from where they are kept, or computed.
    fn fetch(
        &self,
        node: usize,
        rect: Rect,
        out: ViewMut<'_, S>,
        scratch: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        match self.program.steps[node].keep {
            Keep::Cell { .. } => self.read_cell(node, rect, out, scratch),
            Keep::Whole => self.read_plane(node, rect, out),
            Keep::Cached | Keep::Windows => self.read_cached(node, rect, out, scratch),
            Keep::No | Keep::Image => self.compute(node, rect, out, scratch),
        }
    }

    /// Computes samples without looking at what is kept of the node itself.
    pub(crate) fn compute(
        &self,
        node: usize,
        rect: Rect,
        out: ViewMut<'_, S>,
        scratch: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        let step = &self.program.steps[node];
        step.kind
            .tile(&Scope { reader: self, node }, &step.links, rect, out, scratch)
    }

    fn read_plane(&self, node: usize, rect: Rect, mut out: ViewMut<'_, S>) -> Result<Filled<S>, Error> {
        let plane = self.store.planes[node].get();
        let view = plane
            .and_then(|plane| plane.part(rect))
            .ok_or_else(|| Error::defect(rect, "a part of a node is read that the plan does not keep"))?;
        out.copy_from(view);
        Ok(Filled::Written)
    }

    fn read_cell(
        &self,
        node: usize,
        rect: Rect,
        mut out: ViewMut<'_, S>,
        scratch: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        let Keep::Cell { period, valid } = self.program.steps[node].keep else {
            return self.compute(node, rect, out, scratch);
        };
        let Some(plane) = self.store.planes[node].get() else {
            return Err(Error::defect(rect, "a cell was not made"));
        };
        let inner = rect.intersection(&valid);
        if inner.is_empty() {
            return self.compute(node, rect, out, scratch);
        }
        if let (Some(value), true) = (plane.uniform, inner == rect) {
            return Ok(Filled::Uniform(value));
        }
        let here = inner.translated(-rect.x(), -rect.y());
        let (x, y) = (inner.x() - valid.x(), inner.y() - valid.y());
        repeat::cpu::expand(plane.view(), period, x, y, part(&mut out, here));
        if inner != rect {
            let mut outcome = Ok(());
            around(rect, inner, |border| {
                if outcome.is_ok() {
                    let mut out = part(&mut out, border.translated(-rect.x(), -rect.y()));
                    outcome = self
                        .compute(node, border, out.reborrow(), scratch)
                        .map(|filled| filled.write(out));
                }
            });
            outcome?;
        }
        Ok(Filled::Written)
    }

    fn read_cached(
        &self,
        node: usize,
        rect: Rect,
        mut out: ViewMut<'_, S>,
        scratch: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        let step = &self.program.steps[node];
        let own = step.own();
        let Request { width, height } = self.program.cached_tile(node);
        let (columns, rows) = (width.cast_signed(), height.cast_signed());
        let mut uniform: Option<Option<S>> = None;
        for row in rect.y().div_euclid(rows)..=(rect.bottom() - 1).div_euclid(rows) {
            for column in rect.x().div_euclid(columns)..=(rect.right() - 1).div_euclid(columns) {
                self.cancel.check()?;
                let (left, top) = (column * columns, row * rows);
                let area = Rect::between(left, top, left + columns, top + rows).intersection(&own);
                let (w, h) = (area.width() as usize, area.height() as usize);
                let key = Key {
                    node: node as u32,
                    column: column.cast_unsigned(),
                    row: row.cast_unsigned(),
                };
                let tile = self.store.cache.get(key, w * h, |samples| {
                    Ok(
                        match self.compute(node, area, ViewMut::packed(samples, w, h), scratch)? {
                            Filled::Uniform(value) => Some(value),
                            Filled::Written => None,
                        },
                    )
                })?;
                let shared = area.intersection(&rect);
                let mut target = part(&mut out, shared.translated(-rect.x(), -rect.y()));
                match &*tile {
                    Tile::Uniform(value) => {
                        target.fill(*value);
                        let same = uniform.is_none_or(|so_far| so_far == Some(*value));
                        uniform = Some(same.then_some(*value));
                    }
                    Tile::Samples(samples) => {
                        let from = shared.translated(-area.x(), -area.y());
                        target.copy_from(View::packed(&samples[..w * h], w, h).part(
                            from.x() as usize,
                            from.y() as usize,
                            from.width() as usize,
                            from.height() as usize,
                        ));
                        uniform = Some(None);
                    }
                }
            }
        }
        Ok(uniform.flatten().map_or(Filled::Written, Filled::Uniform))
    }
}
