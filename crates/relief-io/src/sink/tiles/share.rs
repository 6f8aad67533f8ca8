//! Files in which equal tiles lie at one place: a raster that repeats takes little more than one of its tiles.
//!
//! Which tiles are equal follows from the period of the raster: tiles whose corners differ by a vector of it, where all their
//! pixels lie in the part that repeats. One of each class is computed. What of it lies beyond the raster continues the period,
//! so that tiles which the border cuts are of a class, too. All others are computed one by one and compared with up to
//! 65 536 tiles before them.

use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Instant;

use relief_engine::sink::{Raster, Samples};
use relief_engine::{Cancel, Error, Grid, Progress, Renderer, SamplesMut};
use relief_raster::{Depth, Period, Rect, Sample};

use super::layout::{self, LENGTH, Layout, MAX_DEFAULT_SIDE, OFFSET, STEP};
use super::sequence::{COMPARED, COMPARED_BYTES, Item, Sequence};
use super::store::{AT_ONCE, Store, Stored};
use super::{Compressor, EARLY, TileOptions, memory, pack};
use crate::sink::SinkError;
use crate::sink::journal::Completion;

/// The most classes of equal tiles: of more the period is not used.
const MAX_CLASSES: usize = 1 << 16;

/// The bytes that the plan counts for a class.
const CLASS_BYTES: u64 = 128;

/// The place of a tile's corner in the cell of the period.
type Phase = (u64, u64);

/// Which tiles of a raster are equal by its period.
#[derive(Clone, Debug)]
pub struct Sharing {
    raster: Raster,
    tile: (u64, u64),
    grid: Grid,
    /// The period, and where it holds.
    periodic: Option<(Period, Rect)>,
    /// Columns and rows of tiles that are of a class.
    columns: Range<u64>,
    rows: Range<u64>,
    classes: u64,
    /// Why no period is used, where one might be expected.
    reason: Option<String>,
}

impl Sharing {
    /// How a raster is cut in tiles that are equal as often as possible, by its period and where that holds
    /// ([`relief_engine::Plan::period`]); `tile` is the size that tiles must have, where it is given.
    #[must_use]
    pub fn new(raster: &Raster, periodic: Option<(Period, Rect)>, tile: Option<(u64, u64)>) -> Self {
        let whole = Rect::sized(raster.width, raster.height);
        let periodic = periodic.map(|(period, valid)| (period, valid.intersection(&whole)));
        let Some((period, valid)) = periodic else {
            let reason = Some("the raster has no period that is known".to_owned());
            return Self::plain(raster, tile, reason);
        };
        // A raster that is narrower than the cell may still repeat downwards, and a low one to the right.
        let down = (period.a() / gcd(period.a(), period.b())).saturating_mul(period.c());
        let along = Period::grid(period.a(), down);
        let (wide, high) = (valid.width() >= period.a(), valid.height() >= period.c());
        let narrow = !wide && valid.width() == raster.width && valid.height() >= down;
        let low = wide && !high && valid.height() == raster.height;
        let period = match along {
            Some(along) if narrow || low => along,
            _ => period,
        };
        if !(wide && high) && !(along.is_some() && (narrow || low)) {
            let reason = Some(format!(
                "one cell of its period, {} × {} pixels, is larger than the {} × {} pixels that repeat",
                period.a(),
                period.c(),
                valid.width(),
                valid.height()
            ));
            return Self::plain(raster, tile, reason);
        }
        if let Some((width, height)) = tile {
            // A tile without pixels is refused by the layout.
            let tile = (width.max(1), height.max(1));
            return Self::with(raster, period, valid, tile, None);
        }
        // Where the raster does not repeat any tile will do.
        let steps = (
            if narrow { STEP } else { multiple(period.a()) },
            if low { STEP } else { multiple(down) },
        );
        if steps.0 > MAX_DEFAULT_SIDE || steps.1 > MAX_DEFAULT_SIDE {
            let reason = Some(format!(
                "no tile of at most {MAX_DEFAULT_SIDE} pixels a side is a multiple of its period"
            ));
            return Self::with(raster, period, valid, layout::default_tile(raster), reason);
        }
        // Small tiles take less, many of them take longer lists.
        let candidates = [256, 512, 1_024, 2_048, MAX_DEFAULT_SIDE].map(|side| {
            let most = layout::clamped(raster, (side, side));
            let tile = (
                (most.0 / steps.0).max(1) * steps.0,
                (most.1 / steps.1).max(1) * steps.1,
            );
            Self::with(raster, period, valid, tile, None)
        });
        let [first, others @ ..] = candidates;
        others.into_iter().fold(
            first,
            |best, other| {
                if other.bytes() < best.bytes() { other } else { best }
            },
        )
    }

    /// Tiles of which none is known to be equal to another.
    fn plain(raster: &Raster, tile: Option<(u64, u64)>, reason: Option<String>) -> Self {
        let tile = tile.unwrap_or_else(|| layout::default_tile(raster));
        Self {
            raster: *raster,
            tile,
            grid: grid(raster, tile),
            periodic: None,
            columns: 0..0,
            rows: 0..0,
            classes: 0,
            reason,
        }
    }

    fn with(raster: &Raster, period: Period, valid: Rect, tile: (u64, u64), reason: Option<String>) -> Self {
        let grid = grid(raster, tile);
        let within = |start: i64, end: i64, side: u64, all: u64| {
            // A tile that the border cuts ends there.
            let last = if end.unsigned_abs() >= all {
                all.div_ceil(side)
            } else {
                end.unsigned_abs() / side
            };
            let first = start.unsigned_abs().div_ceil(side);
            first..last.max(first)
        };
        let mut sharing = Self {
            raster: *raster,
            tile,
            columns: within(valid.x(), valid.right(), tile.0, raster.width),
            rows: within(valid.y(), valid.bottom(), tile.1, raster.height),
            grid,
            periodic: Some((period, valid)),
            classes: 0,
            reason,
        };
        let Some(classes) = sharing.count() else {
            let reason = format!("its tiles differ in more than {MAX_CLASSES} ways");
            return Self::plain(raster, Some(tile), Some(reason));
        };
        sharing.classes = classes;
        sharing
    }

    /// The number of classes; `None` where there are too many.
    fn count(&self) -> Option<u64> {
        let mut starts = HashSet::new();
        let mut phases: HashSet<Phase> = HashSet::new();
        for row in self.rows.clone() {
            if self.columns.is_empty() {
                break;
            }
            // Rows that start alike are alike, and so are all after them. A row's start is a phase: these are bounded, too.
            if !starts.insert(self.phase(self.columns.start, row)) {
                break;
            }
            for phase in self.pattern(row) {
                phases.insert(phase);
                if phases.len() > MAX_CLASSES {
                    return None;
                }
            }
        }
        Some(phases.len() as u64)
    }

    /// The phases of the tiles of a row that are of a class, until they repeat.
    fn pattern(&self, row: u64) -> Vec<Phase> {
        let Some((period, _)) = self.periodic else {
            return Vec::new();
        };
        let (first, y) = self.phase(self.columns.start, row);
        let step = self.tile.0 % period.a();
        let repeats = period.a() / gcd(period.a(), step);
        let count = repeats
            .min(self.columns.end - self.columns.start)
            .min(MAX_CLASSES as u64 + 1);
        let mut x = first;
        (0..count)
            .map(|_| {
                let phase = (x, y);
                // Both are less than 2^62.
                x = (x + step) % period.a();
                phase
            })
            .collect()
    }

    /// The place in the cell of the period of the corner of the tile in this column and row.
    fn phase(&self, column: u64, row: u64) -> Phase {
        let corner = (
            (column * self.tile.0).cast_signed(),
            (row * self.tile.1).cast_signed(),
        );
        self.periodic
            .map_or((0, 0), |(period, _)| period.reduce(corner.0, corner.1))
    }

    /// Columns and rows of a tile.
    #[must_use]
    pub const fn tile(&self) -> (u64, u64) {
        self.tile
    }

    /// The tiles of the raster.
    #[must_use]
    pub const fn tiles(&self) -> u128 {
        self.grid.count()
    }

    /// The tiles that are computed: no more than these are different.
    #[must_use]
    pub fn distinct(&self) -> u128 {
        let side = |range: &Range<u64>| u128::from(range.end - range.start);
        let alike = side(&self.columns) * side(&self.rows);
        self.tiles() - alike + u128::from(self.classes)
    }

    /// Why tiles are not as equal as a period would make them, where that is so.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// About how many bytes the file has, before it is compressed.
    #[must_use]
    pub fn bytes(&self) -> u128 {
        let tile = u128::from(self.tile.0) * u128::from(self.tile.1) * u128::from(self.raster.depth.bytes());
        self.distinct() * tile + self.tiles() * u128::from(OFFSET + LENGTH)
    }

    /// The class of the tile in this column and row; `None` for one that is on its own.
    fn class(&self, column: u64, row: u64) -> Option<Phase> {
        (self.columns.contains(&column) && self.rows.contains(&row)).then(|| self.phase(column, row))
    }
}

fn grid(raster: &Raster, tile: (u64, u64)) -> Grid {
    // A tile without pixels is refused by the layout.
    let grid = Grid::new(raster, tile.0.max(1), tile.1.max(1));
    grid.unwrap_or_else(|| unreachable!("both sides are at least 1"))
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The least multiple of a step of the period and of [`STEP`], or more than any tile has.
fn multiple(step: u64) -> u64 {
    (step / gcd(step, STEP)).saturating_mul(STEP)
}

/// A tile that is computed.
#[derive(Clone, Copy, Debug)]
struct Needed {
    /// Its place among those that are computed.
    place: u64,
    tile: u64,
    column: u64,
    row: u64,
    class: Option<Phase>,
}

/// The tiles that are computed, in order of their numbers.
struct NeededTiles<'a> {
    sharing: &'a Sharing,
    seen: HashSet<Phase>,
    place: u64,
    column: u64,
    row: u64,
}

impl<'a> NeededTiles<'a> {
    fn new(sharing: &'a Sharing) -> Self {
        Self {
            sharing,
            seen: HashSet::new(),
            place: 0,
            column: 0,
            row: 0,
        }
    }
}

impl Iterator for NeededTiles<'_> {
    type Item = Needed;

    fn next(&mut self) -> Option<Needed> {
        let sharing = self.sharing;
        let across = sharing.grid.columns();
        while self.row < sharing.grid.rows() {
            let (column, row) = (self.column, self.row);
            if column >= across {
                (self.column, self.row) = (0, row + 1);
                continue;
            }
            let class = sharing.class(column, row);
            if class.is_some() && self.seen.len() as u64 == sharing.classes {
                self.column = sharing.columns.end;
                continue;
            }
            self.column += 1;
            if class.is_some_and(|phase| !self.seen.insert(phase)) {
                continue;
            }
            self.place += 1;
            return Some(Needed {
                place: self.place - 1,
                tile: row * across + column,
                column,
                row,
                class,
            });
        }
        None
    }
}

/// Writes a raster as a BigTIFF in whose tiles equal ones lie at one place.
///
/// It appears, is left and gone on with as a [`TiledTiff`](super::TiledTiff) is.
#[derive(Debug)]
pub struct SharedTiff {
    path: PathBuf,
    layout: Layout,
    sharing: Sharing,
    /// Where one tile of each class lies.
    classes: Mutex<HashMap<Phase, Stored>>,
}

impl SharedTiff {
    /// A file of a raster that is cut like this. Of `options` the size of tiles does not count.
    ///
    /// # Errors
    /// Where the raster cannot be written so.
    pub fn new(path: PathBuf, sharing: Sharing, options: &TileOptions) -> Result<Self, SinkError> {
        let layout = options.layout(&sharing.raster, (sharing.tile, false), ", equal tiles shared")?;
        Ok(Self {
            path,
            layout,
            sharing,
            classes: Mutex::default(),
        })
    }

    /// The bytes that it holds while so many threads compute, for the plan: the samples as well.
    #[must_use]
    pub fn memory(&self, threads: usize) -> u64 {
        let (width, height) = self.layout.tile;
        let samples = width * height * self.layout.raster.depth.bytes();
        // A tile, and the piece of it that is computed at once.
        let samples = samples.saturating_mul(2).saturating_mul(threads as u64);
        memory(&self.layout, threads, true)
            .saturating_add(samples)
            .saturating_add(COMPARED as u64 * COMPARED_BYTES)
            .saturating_add(self.sharing.classes * CLASS_BYTES)
    }

    /// Computes the tiles that are different, on all threads of the job, and writes the file. `progress` counts their pixels.
    ///
    /// # Errors
    /// Where the renderer has another raster, computing or writing fails, or `cancel` is thrown. What is written stays for the
    /// next run.
    pub fn render(
        &self,
        renderer: &Renderer,
        progress: &mut dyn FnMut(Progress),
        cancel: &Cancel,
    ) -> Result<(), Error> {
        if renderer.plan().raster() != self.layout.raster {
            return Err(sink(SinkError::State {
                call: "render",
                state: "was made for another raster",
            }));
        }
        let store = Store::open(&self.path, &self.layout, false).map_err(sink)?;
        let done = self.compute(&store, renderer, progress, cancel);
        // What is there is noted for who goes on, however this ended.
        let noted = store.flush().map_err(sink);
        let end = done?;
        noted?;
        self.list(&store).map_err(sink)?;
        match store.complete(end).map_err(sink)? {
            Completion::Complete => Ok(()),
            Completion::Missing { .. } | Completion::OthersWrite => Err(sink(SinkError::State {
                call: "finish",
                state: "misses tiles",
            })),
        }
    }

    /// Computes what is not there yet; gives where the last tile ends.
    fn compute(
        &self,
        store: &Store,
        renderer: &Renderer,
        progress: &mut dyn FnMut(Progress),
        cancel: &Cancel,
    ) -> Result<u64, Error> {
        let mut needed = NeededTiles::new(&self.sharing);
        let (sequence, first) = self
            .found(store, renderer.plan().threads(), &mut needed)
            .map_err(sink)?;
        let needed = Mutex::new((first, needed));
        let take = || {
            let mut needed = needed.lock().unwrap_or_else(PoisonError::into_inner);
            needed.0.take().or_else(|| needed.1.next())
        };
        let start = Instant::now();
        let tile = u128::from(self.layout.tile.0) * u128::from(self.layout.tile.1);
        let (mut pixels, total) = (
            u128::from(sequence.reached().0) * tile,
            self.sharing.distinct() * tile,
        );
        let ended = AtomicBool::new(false);
        let work = |tell: &mpsc::Sender<Result<(), Error>>| {
            let _ending = OnPanic(&ended, &sequence);
            let mut memory = Memory::default();
            while let Some(needed) = take() {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                let outcome = self.one(store, &sequence, renderer, needed, &mut memory, cancel);
                let failed = outcome.is_err();
                // Nobody listens once something else has gone wrong.
                let _ = tell.send(outcome);
                if failed {
                    return;
                }
            }
        };
        std::thread::scope(|scope| {
            let (tell, told) = mpsc::channel();
            // However this ends, by a panic too, no thread waits for another.
            let _ending = Ending(&ended, &sequence);
            let mut outcome = (0..renderer.plan().threads()).try_for_each(|number| {
                let (tell, work) = (tell.clone(), &work);
                std::thread::Builder::new()
                    .name(format!("relief-share-{number}"))
                    .spawn_scoped(scope, move || work(&tell))
                    .map(drop)
                    .map_err(Error::Sink)
            });
            drop(tell);
            for tile_done in told {
                match tile_done {
                    Ok(()) if outcome.is_ok() => {
                        pixels += tile;
                        progress(Progress::new(pixels, total, start.elapsed()));
                    }
                    Ok(()) => {}
                    Err(error) => outcome = outcome.and(Err(error)),
                }
                if outcome.is_err() {
                    ended.store(true, Ordering::Relaxed);
                    sequence.stop();
                }
            }
            outcome
        })?;
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        Ok(sequence.reached().1)
    }

    /// What is there already: the sequence at the first tile that is not, and that tile.
    fn found(
        &self,
        store: &Store,
        threads: usize,
        needed: &mut NeededTiles<'_>,
    ) -> Result<(Sequence, Option<Needed>), SinkError> {
        let mut known = HashMap::new();
        let mut places = HashSet::new();
        let mut end = store.head().tiles;
        let mut first = None;
        let mut bytes = Vec::new();
        for tile in needed.by_ref() {
            let mut stored = [Stored { offset: 0, length: 0 }];
            if !store.is_new {
                store.listed(tile.tile, &mut stored)?;
            }
            let [stored] = stored;
            let is_next = stored.offset == end;
            let is_there = stored.length > 0
                && u64::from(stored.length) <= self.layout.most_stored()
                && (is_next || places.contains(&stored.offset));
            if !is_there {
                first = Some(tile);
                break;
            }
            if is_next {
                end += u64::from(stored.length);
                if known.len() < COMPARED {
                    places.insert(stored.offset);
                    bytes.resize(stored.length as usize, 0);
                    store.read(&mut bytes, stored.offset)?;
                    known.entry(blake3::hash(&bytes)).or_insert(stored);
                }
            }
            if let Some(phase) = tile.class {
                self.classes().insert(phase, stored);
            }
        }
        let place = first.map_or(needed.place, |tile| tile.place);
        let room = EARLY.saturating_mul(threads as u64);
        Ok((Sequence::new(place, end, room, Some(known)), first))
    }

    fn classes(&self) -> std::sync::MutexGuard<'_, HashMap<Phase, Stored>> {
        self.classes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Computes one tile and hands it on.
    fn one(
        &self,
        store: &Store,
        sequence: &Sequence,
        renderer: &Renderer,
        needed: Needed,
        memory: &mut Memory,
        cancel: &Cancel,
    ) -> Result<(), Error> {
        let (width, height) = self.layout.tile;
        let corner = (needed.column * width, needed.row * height);
        let tile = Rect::between(
            corner.0.cast_signed(),
            corner.1.cast_signed(),
            (corner.0 + width).cast_signed(),
            (corner.1 + height).cast_signed(),
        );
        let whole = Rect::sized(self.layout.raster.width, self.layout.raster.height);
        let pieces = match (self.sharing.periodic, needed.class) {
            (Some((period, valid)), Some(_)) => pieces(period, valid, tile),
            _ => vec![Piece {
                source: tile.intersection(&whole),
                column: 0,
                row: 0,
            }],
        };
        let columns = pieces
            .iter()
            .map(|piece| piece.column + piece.source.width())
            .max();
        let columns = columns.unwrap_or(0) as usize;
        let Memory {
            eight,
            sixteen,
            packed,
            compressor,
        } = memory;
        let samples = match self.layout.raster.depth {
            Depth::Eight => {
                fill(
                    renderer,
                    &pieces,
                    columns,
                    eight,
                    |samples| SamplesMut::Eight(samples),
                    cancel,
                )?;
                Samples::Eight(&eight.0)
            }
            Depth::Sixteen => {
                fill(
                    renderer,
                    &pieces,
                    columns,
                    sixteen,
                    |samples| SamplesMut::Sixteen(samples),
                    cancel,
                )?;
                Samples::Sixteen(&sixteen.0)
            }
        };
        pack(&self.layout, samples, columns, corner, packed).map_err(|error| sink(store.of_tile(error)))?;
        let mut bytes = sequence.memory();
        self.layout
            .compression
            .encode(packed, width, self.layout.bits, &mut bytes, compressor)
            .map_err(|error| sink(store.failed(error)))?;
        let item = Item {
            tile: needed.tile,
            bytes,
        };
        let told = |tile: u64, stored| {
            let across = self.sharing.grid.columns();
            if let Some(phase) = self.sharing.class(tile % across, tile / across) {
                self.classes().insert(phase, stored);
            }
        };
        sequence.put(store, needed.place, item, &told).map_err(sink)
    }

    /// Lists where the tiles lie that are not computed because they are equal to others.
    fn list(&self, store: &Store) -> Result<(), SinkError> {
        let classes = self.classes();
        let across = self.sharing.grid.columns();
        let columns = self.sharing.columns.clone();
        if columns.is_empty() {
            return Ok(());
        }
        // Tiles that follow one another, and the first of them.
        let (mut part, mut first) = (Vec::with_capacity(AT_ONCE), 0);
        for row in self.sharing.rows.clone() {
            let pattern: Option<Vec<Stored>> = self
                .sharing
                .pattern(row)
                .iter()
                .map(|phase| classes.get(phase).copied())
                .collect();
            let pattern = pattern.ok_or(SinkError::State {
                call: "finish",
                state: "misses tiles",
            })?;
            let numbers = row * across + columns.start..row * across + columns.end;
            for (number, stored) in numbers.zip(pattern.iter().cycle()) {
                if part.len() == AT_ONCE || first + part.len() as u64 != number {
                    store.list(first, &part)?;
                    part.clear();
                    first = number;
                }
                part.push(*stored);
            }
        }
        store.list(first, &part)
    }
}

/// What one thread computes with: samples of a tile and of a piece of it, and the packed tile.
#[derive(Default)]
struct Memory {
    eight: (Vec<u8>, Vec<u8>),
    sixteen: (Vec<u16>, Vec<u16>),
    packed: Vec<u8>,
    compressor: Compressor,
}

/// A part of a tile, and where it is in the tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    /// Pixels of the raster with the same samples.
    source: Rect,
    column: u64,
    row: u64,
}

/// A tile that continues the period beyond `valid`: pieces of `valid` with the same samples. In a direction in which no whole
/// cell lies in `valid`, the tile ends with it.
fn pieces(period: Period, valid: Rect, tile: Rect) -> Vec<Piece> {
    let end = |cell: u64, side: u64, tile: i64, valid: i64| if side < cell { tile.min(valid) } else { tile };
    let tile = Rect::between(
        tile.x(),
        tile.y(),
        end(period.a(), valid.width(), tile.right(), valid.right()),
        end(period.c(), valid.height(), tile.bottom(), valid.bottom()),
    );
    let (a, b, c) = (
        i128::from(period.a()),
        i128::from(period.b()),
        i128::from(period.c()),
    );
    let mut pieces = Vec::new();
    let mut row = 0;
    while row < tile.height() {
        let y = i128::from(tile.y()) + i128::from(row);
        let (top, bottom) = (i128::from(valid.y()), i128::from(valid.bottom()));
        let from_y = if (top..bottom).contains(&y) {
            y
        } else {
            top + (y - top).rem_euclid(c)
        };
        let rows = (bottom - from_y).min(i128::from(tile.height() - row));
        // So many cells above: the raster is shifted by b for each.
        let shift = ((y - from_y) / c).rem_euclid(a) * b % a;
        let mut column = 0;
        while column < tile.width() {
            let x = i128::from(tile.x()) + i128::from(column) - shift;
            let (left, right) = (i128::from(valid.x()), i128::from(valid.right()));
            let from_x = if (left..right).contains(&x) {
                x
            } else {
                left + (x - left).rem_euclid(a)
            };
            let columns = (right - from_x).min(i128::from(tile.width() - column));
            // All lie in the raster.
            let source = Rect::between(
                from_x as i64,
                from_y as i64,
                (from_x + columns) as i64,
                (from_y + rows) as i64,
            );
            pieces.push(Piece { source, column, row });
            column += columns as u64;
        }
        row += rows as u64;
    }
    pieces
}

/// Computes the pieces of a tile into the first of two memories.
fn fill<S: Sample>(
    renderer: &Renderer,
    pieces: &[Piece],
    columns: usize,
    (out, piece_out): &mut (Vec<S>, Vec<S>),
    wrap: fn(&mut [S]) -> SamplesMut<'_>,
    cancel: &Cancel,
) -> Result<(), Error> {
    let rows = pieces.iter().map(|piece| piece.row + piece.source.height()).max();
    out.resize(columns * rows.unwrap_or(0) as usize, S::ZERO);
    if let [whole] = pieces {
        return renderer.read(whole.source, wrap(out), cancel);
    }
    for piece in pieces {
        let width = piece.source.width() as usize;
        piece_out.resize(piece.source.area() as usize, S::ZERO);
        renderer.read(piece.source, wrap(piece_out), cancel)?;
        for (row, samples) in (piece.row as usize..).zip(piece_out.chunks_exact(width)) {
            let start = row * columns + piece.column as usize;
            out[start..start + width].copy_from_slice(samples);
        }
    }
    Ok(())
}

/// Has threads end, and nobody wait.
struct Ending<'a>(&'a AtomicBool, &'a Sequence);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        self.1.stop();
    }
}

/// [`Ending`] where a thread panics.
struct OnPanic<'a>(&'a AtomicBool, &'a Sequence);

impl Drop for OnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            drop(Ending(self.0, self.1));
        }
    }
}

fn sink(error: SinkError) -> Error {
    Error::Sink(io::Error::from(error))
}
