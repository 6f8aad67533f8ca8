//! Computing samples on the CPU: what the plan keeps, and how a node reads its children.

use std::ops::{ControlFlow, RangeInclusive};
use std::sync::OnceLock;

use relief_kernels::repeat;
use relief_raster::{Depth, Rect, Sample, View, ViewMut};

use super::times::TileClock;
use crate::Error;
use crate::cache::{Found, Key, Tile, TileCache};
use crate::cancel::Cancel;
use crate::node::{Filled, Inputs, Request, around, clear_around, part};
use crate::program::{self, Keep, Program};
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

/// Samples of a picture, none of which passes the greatest.
pub(super) fn copy_row<S: Sample>(from: &[u16], to: &mut [S]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = S::from_u16((*from).min(S::MAX.to_u16()));
    }
}

/// Reads a window of a picture, which is not trusted: every row has to come once, whole. `hold` is given rows with their
/// places from the top of the window.
pub(super) fn read_window(
    picture: &dyn Picture,
    path: &str,
    window: Rect,
    depth: Depth,
    cancel: &Cancel,
    mut hold: impl FnMut(usize, &[u16]),
) -> Result<(), Error> {
    let (width, height) = (window.width(), window.height());
    let (mut rows, mut damaged) = (0_u64, false);
    let mut seen = vec![false; height as usize];
    let outcome = guarded(|| {
        picture.read(window, depth, &mut |y, row| {
            if cancel.is_cancelled() {
                return ControlFlow::Break(());
            }
            let place = y.checked_sub(window.y().cast_unsigned());
            let Some(place) = place.filter(|place| *place < height && row.len() as u64 == width) else {
                damaged = true;
                return ControlFlow::Break(());
            };
            // A row that comes twice must not stand for one that never comes.
            rows += u64::from(!std::mem::replace(&mut seen[place as usize], true));
            hold(place as usize, row);
            ControlFlow::Continue(())
        })
    });
    cancel.check()?;
    outcome.map_err(|source| Error::Image {
        path: path.to_owned(),
        source,
    })?;
    if damaged || rows != height {
        let found = format!("{rows} whole rows among those that are read");
        let expected = format!("{height} rows of {width} samples");
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
            Keep::Cached => self.read_cached(node, rect, out, scratch),
            Keep::Windows => self.read_windows(node, rect, out),
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
        let tiles = Tiles::of(self.program, node);
        let mut uniform: Option<Option<S>> = None;
        for row in tiles.rows(rect) {
            for column in tiles.columns(rect) {
                self.cancel.check()?;
                let area = tiles.area(column, row, 1);
                let (w, h) = (area.width() as usize, area.height() as usize);
                let tile = self.store.cache.get(tiles.key(column, row), w * h, |samples| {
                    Ok(
                        match self.compute(node, area, ViewMut::packed(samples, w, h), scratch)? {
                            Filled::Uniform(value) => Some(value),
                            Filled::Written => None,
                        },
                    )
                })?;
                show(&tile, area, rect, &mut out);
                let of_tile = match &*tile {
                    Tile::Uniform(value) => Some(*value),
                    Tile::Samples(_) => None,
                };
                let same = uniform.is_none_or(|so_far| so_far == of_tile);
                uniform = Some(of_tile.filter(|_| same));
            }
        }
        Ok(uniform.flatten().map_or(Filled::Written, Filled::Uniform))
    }

    /// Samples of a picture that is read window by window. Tiles side by side are read at once, since every row of samples costs a
    /// call of the system, and every thread that reads the same row of tiles reads some of them. The node may be larger than the
    /// picture.
    fn read_windows(&self, node: usize, rect: Rect, mut out: ViewMut<'_, S>) -> Result<Filled<S>, Error> {
        let number = self.program.steps[node].kind.picture();
        let opened = number.and_then(|number| Some((number, self.store.open[number].get()?)));
        let Some((number, picture)) = opened else {
            return Err(Error::defect(rect, "an image is read that was not opened"));
        };
        let picture = Windowed {
            program: &self.program.pictures[number],
            opened: &**picture,
        };
        let tiles = Tiles {
            own: Rect::sized(picture.program.width, picture.program.height),
            ..Tiles::of(self.program, node)
        };
        let covered = rect.intersection(&tiles.own);
        if covered.is_empty() {
            return Ok(Filled::Uniform(S::ZERO));
        }
        let inner = covered.translated(-rect.x(), -rect.y());
        self.read_covered(picture, &tiles, covered, part(&mut out, inner))?;
        if covered != rect {
            clear_around(&mut out, inner);
        }
        Ok(Filled::Written)
    }

    /// Samples of a rectangle that lies in the picture.
    fn read_covered(
        &self,
        picture: Windowed<'_>,
        tiles: &Tiles,
        rect: Rect,
        mut out: ViewMut<'_, S>,
    ) -> Result<(), Error> {
        let read = |area: Rect, hold: &mut dyn FnMut(usize, &[u16])| {
            let Windowed { program, opened } = picture;
            read_window(opened, &program.path, area, S::DEPTH, self.cancel, hold)
        };
        // There, or with another thread, unless the cache has dropped it or that thread has failed.
        let get = |column, row| {
            let area = tiles.area(column, row, 1);
            let width = area.width() as usize;
            let samples = width * area.height() as usize;
            self.store.cache.get(tiles.key(column, row), samples, |tile| {
                read(area, &mut |y, samples| {
                    copy_row(samples, &mut tile[y * width..][..width])
                })?;
                Ok(None)
            })
        };
        for row in tiles.rows(rect) {
            let mut show = |tile: &Tile<S>, column| show(tile, tiles.area(column, row, 1), rect, &mut out);
            let (mut column, last) = tiles.columns(rect).into_inner();
            // Those that other threads read meanwhile.
            let mut elsewhere = Vec::new();
            while column <= last {
                let most = (READ_AT_ONCE / tiles.width).clamp(1, last - column + 1);
                let mut claims = match self.store.cache.claim(tiles.key(column, row), most as usize)? {
                    Found::Claimed(claims) => claims,
                    Found::There(tile) => {
                        show(&tile, column);
                        column += 1;
                        continue;
                    }
                    Found::Computing => {
                        elsewhere.push(column);
                        column += 1;
                        continue;
                    }
                };
                let count = claims.count().cast_signed();
                read(tiles.area(column, row, count), &mut |y, samples| {
                    let parts = samples.chunks(tiles.width as usize);
                    for (part, tile) in parts.zip(claims.buffers()) {
                        copy_row(part, &mut tile[y * part.len()..][..part.len()]);
                    }
                })?;
                claims.keep(None);
                // Before others are read, for which the cache may drop them.
                for column in column..column + count {
                    show(&*get(column, row)?, column);
                }
                column += count;
            }
            for column in elsewhere {
                show(&*get(column, row)?, column);
            }
        }
        Ok(())
    }
}

/// A picture that is read window by window: what the program says of it, and what is read.
#[derive(Clone, Copy)]
struct Windowed<'a> {
    program: &'a program::Picture,
    opened: &'a dyn Picture,
}

/// The most columns of a picture that a thread reads at once: a call of the system for so many bytes costs little more than they do.
const READ_AT_ONCE: i64 = 8_192;

/// The tiles of a node in the cache.
struct Tiles {
    node: usize,
    /// All samples that tiles have.
    own: Rect,
    width: i64,
    height: i64,
}

impl Tiles {
    fn of(program: &Program, node: usize) -> Self {
        let Request { width, height } = program.cached_tile(node);
        Self {
            node,
            own: program.steps[node].own(),
            width: width.cast_signed(),
            height: height.cast_signed(),
        }
    }

    /// The columns of tiles that have samples of `rect`.
    fn columns(&self, rect: Rect) -> RangeInclusive<i64> {
        rect.x().div_euclid(self.width)..=(rect.right() - 1).div_euclid(self.width)
    }

    /// The rows of tiles that have samples of `rect`.
    fn rows(&self, rect: Rect) -> RangeInclusive<i64> {
        rect.y().div_euclid(self.height)..=(rect.bottom() - 1).div_euclid(self.height)
    }

    /// What so many tiles from this one to the right have of the node.
    fn area(&self, column: i64, row: i64, count: i64) -> Rect {
        let (left, top) = (column * self.width, row * self.height);
        Rect::between(left, top, left + count * self.width, top + self.height).intersection(&self.own)
    }

    fn key(&self, column: i64, row: i64) -> Key {
        Key {
            node: self.node as u32,
            column: column.cast_unsigned(),
            row: row.cast_unsigned(),
        }
    }
}

/// Copies what a tile of `area` has of `rect` to its place in `out`.
fn show<S: Sample>(tile: &Tile<S>, area: Rect, rect: Rect, out: &mut ViewMut<'_, S>) {
    let shared = area.intersection(&rect);
    let mut target = part(out, shared.translated(-rect.x(), -rect.y()));
    match tile {
        Tile::Uniform(value) => target.fill(*value),
        Tile::Samples(samples) => {
            let from = shared.translated(-area.x(), -area.y());
            let (w, h) = (area.width() as usize, area.height() as usize);
            target.copy_from(View::packed(&samples[..w * h], w, h).part(
                from.x() as usize,
                from.y() as usize,
                from.width() as usize,
                from.height() as usize,
            ));
        }
    }
}
