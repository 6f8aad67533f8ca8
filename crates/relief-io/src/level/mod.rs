//! A raster at a coarser level: every sample stands for a square of 2^L × 2^L pixels and is exact.
//!
//! What closed forms and the plan know of blocks is taken as it is; all else is computed, and its figures are gathered while it
//! streams. So a sheet with a few marks costs what its marks do. Where most of a raster has to be computed it streams once, in
//! order, as it does for a file of all its pixels.

mod blocks;

use std::io;
use std::time::Instant;

use relief_engine::sink::{Band, Raster, Samples, Sink};
use relief_engine::{
    Cancel, Error, Exactness, MAX_LEVEL, Progress, Renderer, SamplesMut, Statistic, Tile, TileSink,
};
use relief_raster::{Depth, Length, Rect, Sample};

pub(crate) use blocks::mean;
use blocks::{Blocks, MAX_PIXELS, Memory};

/// What asking for a block counts as, in samples that are computed.
const ASKING: u128 = 64;

/// Blocks of so many pixels are cheaper to compute than to ask for.
const MIN_ASKED: u32 = 3;

/// Columns of blocks that are asked for together.
const TOGETHER: i64 = 64;

/// Samples of the level that are computed before they are handed on, where they are not a row.
const WINDOW: u64 = 1 << 20;

/// The longest row of a level that is gathered while all of the raster streams.
const MAX_ROW: u64 = 1 << 22;

/// Pixels that are computed for a window at once, where rows allow.
const PIXELS: u64 = 1 << 24;

/// A level of rasters, and what its samples stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    number: u32,
    statistic: Statistic,
}

impl Level {
    /// Level `number`, at most [`MAX_LEVEL`]: 0 is the raster itself.
    ///
    /// # Errors
    /// Where there is no such level.
    pub fn new(number: u32, statistic: Statistic) -> Result<Self, Error> {
        if number > MAX_LEVEL {
            return Err(Error::Option {
                option: "level",
                problem: format!("there is no level {number}; the coarsest is {MAX_LEVEL}"),
            });
        }
        Ok(Self { number, statistic })
    }

    /// The finest level of a raster of which no side is longer than `side`, or the coarsest there is.
    ///
    /// ```
    /// use relief_engine::{Depth, Raster, Statistic};
    /// use relief_io::Level;
    ///
    /// let raster = Raster::new(3_000_000, 1_200_000, Depth::Eight);
    /// let level = Level::preview(&raster, 1_000, Statistic::Mean);
    /// assert_eq!(level.number(), 12);
    /// assert_eq!(level.raster(&raster).width, 733);
    /// ```
    #[must_use]
    pub fn preview(raster: &Raster, side: u64, statistic: Statistic) -> Self {
        let longer = raster.width.max(raster.height);
        let fits = |number: &u32| longer.div_ceil(1 << number) <= side;
        let number = (0..MAX_LEVEL).find(fits).unwrap_or(MAX_LEVEL);
        Self { number, statistic }
    }

    /// Its number.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// What its samples stand for.
    #[must_use]
    pub const fn statistic(&self) -> Statistic {
        self.statistic
    }

    /// The raster that it is of another: ⌈w / 2^L⌉ × ⌈h / 2^L⌉ pixels whose side is 2^L times as long. Where 64 bits do not say that
    /// length, the level has none.
    #[must_use]
    pub fn raster(&self, raster: &Raster) -> Raster {
        let side = |side: u64| side.div_ceil(1 << self.number);
        let pixel = raster.pixel.and_then(|pixel| longer(pixel, self.number));
        Raster::new(side(raster.width), side(raster.height), raster.depth).with_pixel(pixel)
    }

    /// The bytes that computing it holds, for the plan, beside what its sink holds: with the columns and rows of tiles where it is
    /// computed in tiles.
    #[must_use]
    pub fn memory(&self, raster: &Raster, tile: Option<(u64, u64)>) -> u64 {
        let level = self.raster(raster);
        let window = tile.map_or_else(
            || {
                level
                    .width
                    .saturating_mul(level.height)
                    .min(WINDOW.max(level.width.min(MAX_ROW)))
            },
            |(width, height)| width.saturating_mul(height),
        );
        // A figure and a sample for each, and those that are asked for.
        window.saturating_mul(size_of::<u64>() as u64 + 2 * raster.depth.bytes())
    }
}

/// A length 2^shift times as long.
fn longer(length: Length, shift: u32) -> Option<Length> {
    let (above, below) = length.terms();
    let (above, below) = (u128::from(above) << shift, u128::from(below));
    let common = below.trailing_zeros().min(above.trailing_zeros());
    let term = |term: u128| u64::try_from(term >> common).ok();
    Length::metres(term(above)?, term(below)?)
}

/// Computes a level of the raster of a [`Renderer`], whose plan was made with
/// [`Options::levels`](relief_engine::Options::levels).
///
/// ```
/// use relief_engine::{Cancel, NoImages, Options, Plan, Renderer, Statistic};
/// use relief_io::{Format, FileSink, Level, LevelRenderer, Target};
///
/// let text = "relief version=1\ncanvas width=1000000 height=1000000\nramp axis=\"x\" from=0 to=255";
/// let design = relief_design::parse("ramp.kdl", text, &NoImages)?;
/// let cancel = Cancel::new();
/// let plan = Plan::new(&design, &NoImages, &Options::default().levels())?;
/// let renderer = Renderer::new(plan, &NoImages, &cancel)?;
/// let level = LevelRenderer::new(&renderer, Level::new(12, Statistic::Mean)?);
/// let mut sink = FileSink::new(Target::Writer(Box::new(std::io::sink())), Format::Png);
/// level.render(&mut sink, 1 << 30, &mut |_| (), &cancel)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LevelRenderer<'r> {
    renderer: &'r Renderer,
    level: Level,
    raster: Raster,
}

/// Which blocks are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// All, as the raster streams.
    All,
    /// Those that are not known.
    Unknown,
}

/// What a window is computed in.
#[derive(Default)]
struct Scratch<S> {
    out: Vec<S>,
    asked: Vec<S>,
    figures: Vec<u64>,
}

impl<'r> LevelRenderer<'r> {
    /// The renderer of a level.
    #[must_use]
    pub fn new(renderer: &'r Renderer, level: Level) -> Self {
        let raster = level.raster(&renderer.plan().raster());
        Self {
            renderer,
            level,
            raster,
        }
    }

    /// The raster of the level.
    #[must_use]
    pub const fn raster(&self) -> Raster {
        self.raster
    }

    /// How many samples of the raster are computed at most, and how.
    fn route(&self, most: u64, cancel: &Cancel) -> Result<Route, Error> {
        let raster = self.renderer.plan().raster();
        let all = u128::from(raster.width) * u128::from(raster.height);
        let blocks = u128::from(self.raster.width) * u128::from(self.raster.height);
        let most = u128::from(most).min(MAX_PIXELS);
        let stream = if self.raster.width <= MAX_ROW {
            Route::All
        } else {
            Route::Unknown
        };
        if self.level.number < MIN_ASKED || (blocks * ASKING > most && all <= most) {
            return self.allowed(all, most).map(|()| stream);
        }
        // Asking for all of them is work as well.
        self.allowed(blocks * ASKING, most)?;
        let unknown = self.unknown(cancel)?;
        self.allowed(unknown, most)?;
        Ok(if unknown * 4 > all { stream } else { Route::Unknown })
    }

    fn allowed(&self, cost: u128, most: u128) -> Result<(), Error> {
        if cost <= most {
            return Ok(());
        }
        Err(Error::Option {
            option: "level",
            problem: format!(
                "level {} of this raster takes {cost} samples to compute, and at most {most} are allowed: take a part of \
                 the raster (--region), or allow more (--cost), up to {MAX_PIXELS}",
                self.level.number
            ),
        })
    }

    /// The pixels of blocks that are not known without computing them.
    fn unknown(&self, cancel: &Cancel) -> Result<u128, Error> {
        let mut unknown = 0;
        let whole = Rect::sized(self.raster.width, self.raster.height);
        let (mut eight, mut sixteen) = (Scratch::default(), Scratch::default());
        for y in (0..whole.bottom()).step_by(TOGETHER as usize) {
            for x in (0..whole.right()).step_by(TOGETHER as usize) {
                let part = Rect::between(x, y, x + TOGETHER, y + TOGETHER).intersection(&whole);
                let known = match self.raster.depth {
                    Depth::Eight => self.asked(part, &mut eight, of_eight, cancel)?,
                    Depth::Sixteen => self.asked(part, &mut sixteen, of_sixteen, cancel)?,
                };
                if !known {
                    unknown += self.pixels(part).area();
                }
            }
        }
        Ok(unknown)
    }

    /// The pixels of the raster that blocks stand for.
    fn pixels(&self, blocks: Rect) -> Rect {
        let raster = self.renderer.plan().raster();
        let shift = self.level.number;
        let (left, top) = (blocks.x() << shift, blocks.y() << shift);
        let (right, bottom) = (blocks.right() << shift, blocks.bottom() << shift);
        Rect::between(left, top, right, bottom).intersection(&Rect::sized(raster.width, raster.height))
    }

    /// Whether blocks are known exactly without computing them; then they are in `scratch.asked`.
    fn asked<S: Sample>(
        &self,
        blocks: Rect,
        scratch: &mut Scratch<S>,
        wrap: fn(&mut [S]) -> SamplesMut<'_>,
        cancel: &Cancel,
    ) -> Result<bool, Error> {
        scratch.asked.resize(blocks.area() as usize, S::ZERO);
        let Level { number, statistic } = self.level;
        let exactness =
            self.renderer
                .read_level(number, blocks, statistic, 0, wrap(&mut scratch.asked), cancel)?;
        Ok(exactness == Exactness::Exact)
    }

    /// Computes a window of the level into `scratch.out`, packed.
    fn window<S: Sample>(
        &self,
        window: Rect,
        scratch: &mut Scratch<S>,
        wrap: fn(&mut [S]) -> SamplesMut<'_>,
        cancel: &Cancel,
    ) -> Result<(), Error> {
        scratch.out.resize(window.area() as usize, S::ZERO);
        if self.level.number < MIN_ASKED {
            return self.computed(window, window, scratch, cancel);
        }
        let width = window.width() as usize;
        for top in (window.y()..window.bottom()).step_by(TOGETHER as usize) {
            let bottom = window.bottom().min(top + TOGETHER);
            // Columns of blocks, one beside the other, that have to be computed.
            let mut run = window.x();
            for left in (window.x()..window.right()).step_by(TOGETHER as usize) {
                let right = window.right().min(left + TOGETHER);
                let part = Rect::between(left, top, right, bottom);
                if !self.asked(part, scratch, wrap, cancel)? {
                    // It is computed with those beside it.
                    continue;
                }
                let start = (top - window.y()) as usize * width + (left - window.x()) as usize;
                let columns = part.width() as usize;
                for (row, known) in scratch.asked.chunks_exact(columns).enumerate() {
                    scratch.out[start + row * width..][..columns].copy_from_slice(known);
                }
                self.computed(window, Rect::between(run, top, left, bottom), scratch, cancel)?;
                run = right;
            }
            self.computed(
                window,
                Rect::between(run, top, window.right(), bottom),
                scratch,
                cancel,
            )?;
        }
        Ok(())
    }

    /// Computes blocks of a window into `scratch.out`.
    fn computed<S: Sample>(
        &self,
        window: Rect,
        blocks: Rect,
        scratch: &mut Scratch<S>,
        cancel: &Cancel,
    ) -> Result<(), Error> {
        if blocks.is_empty() {
            return Ok(());
        }
        let pixels = self.pixels(blocks);
        let region = self.renderer.plan().region();
        let part = self.renderer.part(pixels.translated(region.x(), region.y()))?;
        let Level { number, statistic } = self.level;
        let memory = std::mem::take(&mut scratch.figures);
        let size = (pixels.width(), pixels.height());
        let mut gathered = Gathered(Blocks::new(number, statistic, size, memory));
        let outcome = part.render(&mut gathered, &mut |_| (), cancel);
        let width = window.width() as usize;
        let start = (blocks.y() - window.y()) as usize * width + (blocks.x() - window.x()) as usize;
        if outcome.is_ok() {
            for row in 0..blocks.height() {
                let out = &mut scratch.out[start + row as usize * width..][..blocks.width() as usize];
                out.iter_mut()
                    .zip(gathered.0.row::<S>(row))
                    .for_each(|(to, from)| *to = from);
            }
        }
        scratch.figures = gathered.0.into_memory();
        outcome
    }

    /// Computes the level into `sink`, of which at most `most` samples of the raster are computed; `progress` counts pixels of the
    /// raster.
    ///
    /// # Errors
    /// Where it takes more samples, computing or the sink fails, or `cancel` is thrown.
    pub fn render(
        &self,
        sink: &mut dyn Sink,
        most: u64,
        progress: &mut dyn FnMut(Progress),
        cancel: &Cancel,
    ) -> Result<(), Error> {
        if self.route(most, cancel)? == Route::All {
            let raster = self.renderer.plan().raster();
            let Level { number, statistic } = self.level;
            let blocks = Blocks::new(number, statistic, (raster.width, 1 << number), Vec::new());
            let mut reduced = Reduced {
                inner: sink,
                raster,
                level: self.raster,
                shift: number,
                blocks,
                out: Memory::default(),
            };
            return self.renderer.render(&mut reduced, progress, cancel);
        }
        sink.use_workers(self.renderer.workers());
        sink.begin(&self.raster).map_err(Error::Sink)?;
        let mut meter = Meter::new(
            self,
            Rect::sized(self.raster.width, self.raster.height).area(),
            progress,
        );
        let Raster { width, height, .. } = self.raster;
        let columns = width.min(WINDOW);
        let rows = if columns < width {
            1
        } else {
            ((PIXELS >> (2 * self.level.number).min(63)) / width)
                .min(WINDOW / width)
                .clamp(1, height.min(TOGETHER.unsigned_abs()))
        };
        let mut scratch = (Scratch::default(), Scratch::default());
        for y in (0..height.cast_signed()).step_by(rows as usize) {
            for x in (0..width.cast_signed()).step_by(columns as usize) {
                let bottom = height.cast_signed().min(y + rows.cast_signed());
                let right = width.cast_signed().min(x + columns.cast_signed());
                let window = Rect::between(x, y, right, bottom);
                let samples = self.either(window, &mut scratch, cancel)?;
                cancelled(cancel)?;
                sink.write(&Band::new(window, samples)).map_err(Error::Sink)?;
                meter.tell(window);
            }
        }
        sink.finish().map_err(Error::Sink)
    }

    /// Computes the tiles of the level that `sink` has not, of a part or all, one after the other; each is computed by all threads.
    ///
    /// # Errors
    /// As [`render`](Self::render), and where there is no such part.
    pub fn render_tiles(
        &self,
        sink: &mut dyn TileSink,
        part: Option<(u64, u64)>,
        most: u64,
        progress: &mut dyn FnMut(Progress),
        cancel: &Cancel,
    ) -> Result<(), Error> {
        let grid = sink.grid(&self.raster).map_err(Error::Sink)?;
        let (number, parts) = part.unwrap_or((0, 1));
        let range = grid.part(number, parts).ok_or_else(|| Error::Option {
            option: "part",
            problem: format!("there is no part {number} of {parts}: parts are counted from 0"),
        })?;
        // What is refused is so before a file is begun.
        self.route(most, cancel)?;
        sink.begin(&self.raster, &grid, &range).map_err(Error::Sink)?;
        let mut meter = Meter::new(self, grid.pixels(&range), progress);
        let mut scratch = (Scratch::default(), Scratch::default());
        for number in range {
            let rect = grid.rect(number);
            if !sink.has(number).map_err(Error::Sink)? {
                let samples = self.either(rect, &mut scratch, cancel)?;
                cancelled(cancel)?;
                sink.write(&Tile::new(number, rect, samples))
                    .map_err(Error::Sink)?;
            }
            meter.tell(rect);
        }
        sink.finish().map_err(Error::Sink)
    }

    fn either<'s>(
        &self,
        window: Rect,
        (eight, sixteen): &'s mut (Scratch<u8>, Scratch<u16>),
        cancel: &Cancel,
    ) -> Result<Samples<'s>, Error> {
        Ok(match self.raster.depth {
            Depth::Eight => {
                self.window(window, eight, of_eight, cancel)?;
                Samples::Eight(&eight.out)
            }
            Depth::Sixteen => {
                self.window(window, sixteen, of_sixteen, cancel)?;
                Samples::Sixteen(&sixteen.out)
            }
        })
    }
}

const fn of_eight(samples: &mut [u8]) -> SamplesMut<'_> {
    SamplesMut::Eight(samples)
}

const fn of_sixteen(samples: &mut [u16]) -> SamplesMut<'_> {
    SamplesMut::Sixteen(samples)
}

fn cancelled(cancel: &Cancel) -> Result<(), Error> {
    if cancel.is_cancelled() {
        Err(Error::Cancelled)
    } else {
        Ok(())
    }
}

/// Tells how many pixels of the raster are done.
struct Meter<'a> {
    /// Pixels of a block that no border cuts.
    block: u128,
    done: u128,
    total: u128,
    start: Instant,
    progress: &'a mut dyn FnMut(Progress),
}

impl<'a> Meter<'a> {
    fn new(of: &LevelRenderer<'_>, blocks: u128, progress: &'a mut dyn FnMut(Progress)) -> Self {
        Self {
            block: 1 << (2 * of.level.number),
            done: 0,
            total: blocks,
            start: Instant::now(),
            progress,
        }
    }

    fn tell(&mut self, blocks: Rect) {
        self.done += blocks.area();
        let pixels = |blocks: u128| blocks.saturating_mul(self.block);
        let (done, total) = (pixels(self.done), pixels(self.total));
        (self.progress)(Progress::new(done, total, self.start.elapsed()));
    }
}

/// Takes a rectangle as it streams into figures of its blocks.
struct Gathered(Blocks);

impl Gathered {
    fn take(blocks: &mut Blocks, band: &Band<'_>) {
        each_row(band, &mut |x, y, samples| blocks.add(x, y, samples));
    }
}

/// Takes the column, the row and the samples of a row of a band.
type TakeRow<'a> = dyn FnMut(u64, u64, Samples<'_>) + 'a;

fn each_row(band: &Band<'_>, take: &mut TakeRow<'_>) {
    let width = band.rect.width() as usize;
    let (x, y) = (band.rect.x().unsigned_abs(), band.rect.y().unsigned_abs());
    for (row, y) in (0..band.rect.height() as usize).zip(y..) {
        let range = row * width..(row + 1) * width;
        match band.samples {
            Samples::Eight(samples) => take(x, y, Samples::Eight(&samples[range])),
            Samples::Sixteen(samples) => take(x, y, Samples::Sixteen(&samples[range])),
        }
    }
}

impl Sink for Gathered {
    fn memory(&self, _: &Raster) -> u64 {
        0
    }

    fn begin(&mut self, _: &Raster) -> io::Result<()> {
        Ok(())
    }

    fn write(&mut self, band: &Band<'_>) -> io::Result<()> {
        Self::take(&mut self.0, band);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Hands on rows of a level as the raster streams.
struct Reduced<'a> {
    inner: &'a mut dyn Sink,
    raster: Raster,
    level: Raster,
    shift: u32,
    /// Those of one row.
    blocks: Blocks,
    out: Memory,
}

impl Reduced<'_> {
    /// Hands on a row whose last pixel has come.
    fn row(&mut self, row: u64) -> io::Result<()> {
        let rows = (self.raster.height - (row << self.shift)).min(1 << self.shift);
        self.blocks.end_at(rows);
        match self.level.depth {
            Depth::Eight => {
                self.out.eight.clear();
                self.out.eight.extend(self.blocks.row::<u8>(0));
            }
            Depth::Sixteen => {
                self.out.sixteen.clear();
                self.out.sixteen.extend(self.blocks.row::<u16>(0));
            }
        }
        let rect = Rect::between(
            0,
            row.cast_signed(),
            self.level.width.cast_signed(),
            row.cast_signed() + 1,
        );
        self.blocks.clear();
        self.inner
            .write(&Band::new(rect, self.out.samples(self.level.depth)))
    }
}

impl Sink for Reduced<'_> {
    fn use_workers(&mut self, workers: &relief_engine::Workers) {
        self.inner.use_workers(workers);
    }

    fn memory(&self, _: &Raster) -> u64 {
        self.inner.memory(&self.level)
    }

    fn begin(&mut self, _: &Raster) -> io::Result<()> {
        self.inner.begin(&self.level)
    }

    fn write(&mut self, band: &Band<'_>) -> io::Result<()> {
        let width = band.rect.width();
        let mut outcome = Ok(());
        each_row(band, &mut |x, y, samples| {
            if outcome.is_err() {
                return;
            }
            let side = 1 << self.shift;
            self.blocks.add(x, y % side, samples);
            let ends = (y + 1) % side == 0 || y + 1 == self.raster.height;
            if ends && x + width == self.raster.width {
                outcome = self.row(y >> self.shift);
            }
        });
        outcome
    }

    fn finish(&mut self) -> io::Result<()> {
        self.inner.finish()
    }
}
