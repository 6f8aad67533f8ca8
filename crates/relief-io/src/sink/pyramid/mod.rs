//! A raster with its levels in one file: a Cloud Optimized GeoTIFF, or an OME-Zarr store of several scales.
//!
//! A sample of level k is the exact mean of its 2^k × 2^k pixels, rounded once, halves up. Sums go from level to level while the raster is
//! computed, never means. A thread makes the tiles of a *unit*: those of a square of the raster and all tiles of levels within it, depth
//! first, so that it holds one tile of each level. What levels above the units need are sums of them, which wait in a file beside the
//! unfinished one; it is small, because a sum stands for many pixels. So memory depends on the tile, not on the raster, and a job that
//! was stopped goes on with the units it has not.

mod output;
mod shape;
mod sums;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Instant;

use relief_engine::sink::{Raster, Samples};
use relief_engine::{Cancel, Error, Progress, Renderer, SamplesMut};
use relief_raster::Depth;

use super::SinkError;
use super::tiles::{FileCut, Layout, TileOptions, default_tile, leveled, tile_memory};
use super::zarr::{Encoder, Metadata, ZarrOptions};
use crate::level::mean;
use output::{Memory as OutputMemory, Output, places};
use shape::Shape;
use sums::Sums;

/// Writes a raster and its levels, down to the one that is a single tile.
///
/// It appears, is left and gone on with as a [`TiledTiff`](super::TiledTiff) or a [`ZarrSink`](super::ZarrSink) is.
#[derive(Debug)]
pub struct Pyramid {
    path: PathBuf,
    shape: Shape,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Tiff(Vec<Layout>),
    Zarr(Encoder, Metadata),
}

impl Pyramid {
    /// A Cloud Optimized GeoTIFF: a BigTIFF in tiles whose directories of levels follow that of the raster, and whose tiles begin with
    /// those of the coarsest level. It says nothing of a place on Earth. Of strips nothing is written: they are tiles.
    ///
    /// # Errors
    /// Where the raster cannot be written so.
    pub fn tiff(path: PathBuf, raster: &Raster, options: &TileOptions) -> Result<Self, SinkError> {
        if options.one_bit {
            return Err(SinkError::Levels {
                problem: "means of pixels have more than one bit: write all bits".to_owned(),
            });
        }
        let tile = match options.cut {
            FileCut::TilesOf(width, height) => (width, height),
            FileCut::Strips | FileCut::Tiles => default_tile(raster),
        };
        // What tiles cannot be is told first.
        leveled(options, raster, &[], tile)?;
        let shape = Shape::new(raster, tile)?;
        let layouts = leveled(options, raster, &shape.rasters[1..], tile)?;
        let bytes = |layout: &Layout| u128::from(layout.tiles) * u128::from(layout.most_stored());
        if layouts.iter().map(bytes).sum::<u128>() > i64::MAX as u128 / 2 {
            return Err(SinkError::Levels {
                problem: "the file would be longer than a file can be: write a part of the raster".to_owned(),
            });
        }
        Ok(Self {
            path,
            shape,
            place: Place::Tiff(layouts),
        })
    }

    /// An OME-Zarr store: the array `0` is the raster, `1` its level of half the size, and so on.
    ///
    /// # Errors
    /// Where the raster cannot be written so.
    pub fn zarr(path: PathBuf, raster: &Raster, options: &ZarrOptions) -> Result<Self, SinkError> {
        let encoder = options.encoder(raster)?;
        let shape = Shape::new(raster, encoder.shard.unwrap_or(encoder.chunk))?;
        let metadata = options.metadata(raster, &shape.rasters[1..], &encoder);
        Ok(Self {
            path,
            shape,
            place: Place::Zarr(encoder, metadata),
        })
    }

    /// Whether it is a TIFF; else a Zarr store.
    #[must_use]
    pub const fn is_tiff(&self) -> bool {
        matches!(self.place, Place::Tiff(_))
    }

    /// The number of levels above the raster.
    #[must_use]
    pub const fn levels(&self) -> u32 {
        self.shape.top()
    }

    /// Columns and rows of a tile of the raster and of each level.
    #[must_use]
    pub const fn tile(&self) -> (u64, u64) {
        self.shape.tile
    }

    /// The tiles of the raster and of all levels.
    #[must_use]
    pub fn tiles(&self) -> u64 {
        self.shape.tiles()
    }

    /// The bytes of the file, before tiles are compressed; of a store, where no chunk is left out.
    #[must_use]
    pub fn bytes(&self) -> u128 {
        match &self.place {
            Place::Tiff(layouts) => places(layouts).1.into(),
            Place::Zarr(encoder, _) => {
                let (width, height) = self.shape.tile;
                u128::from(self.shape.tiles()) * u128::from(width * height) * u128::from(encoder.sample)
            }
        }
    }

    /// The bytes that it holds while so many threads compute, for the plan: the samples as well.
    #[must_use]
    pub fn memory(&self, threads: usize) -> u64 {
        let (width, height) = self.shape.tile;
        let samples = width.saturating_mul(height);
        let sums = samples.saturating_mul(size_of::<u64>() as u64);
        let bytes = samples.saturating_mul(self.shape.rasters[0].depth.bytes());
        let writing = match &self.place {
            Place::Tiff(layouts) => tile_memory(&layouts[0]),
            Place::Zarr(encoder, _) => encoder.memory(),
        };
        // A buffer of sums for each level of a unit, a quarter of one for those above, and their bytes; samples of a tile of the
        // raster and of a level.
        let thread = sums
            .saturating_mul(u64::from(self.shape.unit) + 1)
            .saturating_add(bytes.saturating_mul(2))
            .saturating_add(writing);
        let above = sums.saturating_mul(u64::from(self.shape.top() - self.shape.unit) + 1);
        thread
            .saturating_mul(threads as u64)
            .saturating_add(above)
            .saturating_add(NOTING)
    }

    /// Computes the raster and its levels on all threads of the job, and writes them. `progress` counts pixels of the raster.
    ///
    /// # Errors
    /// Where the renderer has another raster, computing or writing fails, or `cancel` is thrown. What is written stays for the next
    /// run.
    pub fn render(
        &self,
        renderer: &Renderer,
        progress: &mut dyn FnMut(Progress),
        cancel: &Cancel,
    ) -> Result<(), Error> {
        if renderer.plan().raster() != self.shape.rasters[0] {
            return Err(sink(SinkError::State {
                call: "render",
                state: "was made for another raster",
            }));
        }
        let opened = match &self.place {
            Place::Tiff(layouts) => Output::tiff(&self.path, layouts),
            Place::Zarr(encoder, metadata) => Output::zarr(&self.path, metadata, *encoder, &self.shape),
        };
        let (output, file) = opened.map_err(sink)?;
        let (columns, rows) = self.shape.sums();
        let run = Run {
            shape: &self.shape,
            output: &output,
            sums: Sums::new(file, columns * rows),
            renderer,
            cancel,
        };
        let done = run.units(progress).and_then(|()| run.above());
        // What is there is noted for who goes on, however this ended.
        let noted = output.flush().map_err(sink);
        if let Err(error) = done.and(noted) {
            output.leave();
            return Err(error);
        }
        output.complete().map_err(sink)
    }
}

/// What noting tiles holds.
const NOTING: u64 = (1 << 16) * 24 + 3 * 1_024 * 1_024;

/// A job that writes a pyramid.
struct Run<'a> {
    shape: &'a Shape,
    output: &'a Output,
    sums: Sums,
    renderer: &'a Renderer,
    cancel: &'a Cancel,
}

/// Memory of one thread.
#[derive(Default)]
struct Memory {
    eight: Vec<u8>,
    sixteen: Vec<u16>,
    /// Sums of the tile of each level that is being made, from level 1 on.
    levels: Vec<Vec<u64>>,
    /// Sums of a unit.
    unit: Vec<u64>,
    bytes: Vec<u8>,
    output: OutputMemory,
}

/// Where the sums of a tile go: into rows of the tile of the level above.
struct Into<'a> {
    sums: &'a mut [u64],
    /// From one row to the next.
    stride: usize,
    /// Of the first.
    start: usize,
}

/// What tiles are made of.
struct Source<'a> {
    /// The level whose sums are there already; `None` where all is computed.
    from: Option<u32>,
    /// Hears of the pixels of every tile of the raster that is done.
    tell: &'a dyn Fn(u128),
}

impl Run<'_> {
    /// Makes all units, on all threads.
    fn units(&self, progress: &mut dyn FnMut(Progress)) -> Result<(), Error> {
        let raster = &self.shape.rasters[0];
        let total = u128::from(raster.width) * u128::from(raster.height);
        let (start, mut pixels) = (Instant::now(), 0);
        let (columns, rows) = self.shape.grid(self.shape.unit);
        let (next, ended) = (AtomicU64::new(0), AtomicBool::new(false));
        let work = |tell: &mpsc::Sender<Result<u128, Error>>| {
            let mut memory = Memory::default();
            loop {
                let unit = next.fetch_add(1, Ordering::Relaxed);
                if unit >= columns * rows || ended.load(Ordering::Relaxed) {
                    return;
                }
                // Nobody listens once something else has gone wrong.
                let told = |pixels| drop(tell.send(Ok(pixels)));
                let place = (unit % columns, unit / columns);
                if let Err(error) = self.unit(unit, place, &told, &mut memory) {
                    let _ = tell.send(Err(error));
                    return;
                }
            }
        };
        std::thread::scope(|scope| {
            let (tell, told) = mpsc::channel();
            let mut outcome = (0..self.renderer.plan().threads()).try_for_each(|number| {
                let (tell, work) = (tell.clone(), &work);
                std::thread::Builder::new()
                    .name(format!("relief-level-{number}"))
                    .spawn_scoped(scope, move || work(&tell))
                    .map(drop)
                    .map_err(Error::Sink)
            });
            drop(tell);
            for done in told {
                match done {
                    Ok(more) if outcome.is_ok() => {
                        pixels += more;
                        progress(Progress::new(pixels, total, start.elapsed()));
                    }
                    Ok(_) => {}
                    Err(error) => outcome = outcome.and(Err(error)),
                }
                if outcome.is_err() {
                    ended.store(true, Ordering::Relaxed);
                }
            }
            outcome
        })?;
        self.check()
    }

    fn check(&self) -> Result<(), Error> {
        if self.cancel.is_cancelled() {
            Err(Error::Cancelled)
        } else {
            Ok(())
        }
    }

    /// Makes one unit, unless it is there.
    fn unit(
        &self,
        unit: u64,
        place: (u64, u64),
        tell: &dyn Fn(u128),
        memory: &mut Memory,
    ) -> Result<(), Error> {
        let level = self.shape.unit;
        if self.has(unit, place, memory).map_err(sink)? {
            let (side_x, side_y) = (self.shape.tile.0 << level, self.shape.tile.1 << level);
            let raster = &self.shape.rasters[0];
            let columns = side_x.min(raster.width - place.0 * side_x);
            let rows = side_y.min(raster.height - place.1 * side_y);
            tell(u128::from(columns) * u128::from(rows));
            return Ok(());
        }
        let (columns, rows) = self.shape.sums();
        let mut sums = std::mem::take(&mut memory.unit);
        sums.clear();
        sums.resize((columns * rows) as usize, 0);
        let into = Into {
            sums: &mut sums,
            stride: columns as usize,
            start: 0,
        };
        // The sums are there before the unit's last tile is noted.
        let kept = |sums: &[u64], bytes: &mut Vec<u8>| {
            let written = self.sums.write(unit, sums, bytes);
            written.map_err(|error| sink(self.output.failed(error)))
        };
        let outcome = self.tile(
            level,
            place,
            into,
            &Source { from: None, tell },
            memory,
            Some(&kept),
        );
        memory.unit = sums;
        outcome
    }

    /// Whether all tiles of a unit are there, and its sums.
    fn has(&self, unit: u64, place: (u64, u64), memory: &mut Memory) -> Result<bool, SinkError> {
        let top = self.shape.unit;
        // The last tile of a unit is mostly missing where one is.
        for level in (0..=top).rev() {
            let side = 1 << (top - level);
            let (columns, rows) = self.shape.grid(level);
            for row in place.1 * side..rows.min((place.1 + 1) * side) {
                for column in place.0 * side..columns.min((place.0 + 1) * side) {
                    if !self.output.has(self.shape.number(level, (column, row)))? {
                        return Ok(false);
                    }
                }
            }
        }
        let sums = self.sums.read(unit, &mut memory.unit, &mut memory.bytes);
        sums.map_err(|error| self.output.failed(error))
    }

    /// Makes the levels above the units, of the sums of these.
    fn above(&self) -> Result<(), Error> {
        let (top, unit) = (self.shape.top(), self.shape.unit);
        if top == unit {
            return Ok(());
        }
        let (columns, rows) = self.shape.sums();
        let mut nothing = vec![0; (columns * rows) as usize];
        let into = Into {
            sums: &mut nothing,
            stride: columns as usize,
            start: 0,
        };
        let source = Source {
            from: Some(unit),
            tell: &|_| (),
        };
        self.tile(top, (0, 0), into, &source, &mut Memory::default(), None)
    }

    /// Makes a tile and all below it, and adds the sums of its squares of 2 × 2 samples to those of the level above. `kept` is given those
    /// before the tile is written.
    fn tile(
        &self,
        level: u32,
        place: (u64, u64),
        into: Into<'_>,
        source: &Source<'_>,
        memory: &mut Memory,
        kept: Option<&Kept<'_>>,
    ) -> Result<(), Error> {
        if source.from == Some(level) {
            return self.read(place, into, memory);
        }
        self.check()?;
        if level == 0 {
            return self.computed(place, into, source, memory, kept);
        }
        let (width, height) = (self.shape.tile.0 as usize, self.shape.tile.1 as usize);
        if memory.levels.len() < level as usize {
            memory.levels.resize(level as usize, Vec::new());
        }
        let mut sums = std::mem::take(&mut memory.levels[level as usize - 1]);
        sums.clear();
        sums.resize(width * height, 0);
        let (columns, rows) = self.shape.grid(level - 1);
        for (i, j) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let below = (2 * place.0 + i, 2 * place.1 + j);
            if below.0 >= columns || below.1 >= rows {
                continue;
            }
            let into = Into {
                sums: &mut sums,
                stride: width,
                start: j as usize * (height / 2) * width + i as usize * (width / 2),
            };
            self.tile(level - 1, below, into, source, memory, None)?;
        }
        let outcome = self.made(level, place, &sums, into, memory, kept);
        memory.levels[level as usize - 1] = sums;
        outcome
    }

    /// Writes a tile of a level whose sums are all there.
    fn made(
        &self,
        level: u32,
        place: (u64, u64),
        sums: &[u64],
        into: Into<'_>,
        memory: &mut Memory,
        kept: Option<&Kept<'_>>,
    ) -> Result<(), Error> {
        let width = self.shape.tile.0 as usize;
        let rect = self.shape.rect(level, place);
        let (columns, rows) = (rect.width() as usize, rect.height() as usize);
        let (x, y) = (rect.x().unsigned_abs(), rect.y().unsigned_abs());
        let lines = || sums.chunks_exact(width).take(rows).map(|line| &line[..columns]);
        let above = squares(lines(), into, |&sum| sum);
        if let Some(kept) = kept {
            kept(above, &mut memory.bytes)?;
        }
        let number = self.shape.number(level, place);
        if self.output.has(number).map_err(sink)? {
            return Ok(());
        }
        let samples = lines().zip(y..).flat_map(|(line, y)| {
            let means = line.iter().zip(x..);
            means.map(move |(&sum, x)| mean(sum, self.shape.pixels(level, (x, y))))
        });
        let samples = match self.shape.rasters[0].depth {
            Depth::Eight => {
                memory.eight.clear();
                // A mean of samples of 8 bits has 8.
                memory.eight.extend(samples.map(|sample| sample as u8));
                Samples::Eight(&memory.eight)
            }
            Depth::Sixteen => {
                memory.sixteen.clear();
                memory.sixteen.extend(samples);
                Samples::Sixteen(&memory.sixteen)
            }
        };
        let output = &mut memory.output;
        self.output
            .write(self.shape, level, place, (samples, columns), output)
            .map_err(sink)
    }

    /// Computes a tile of the raster.
    fn computed(
        &self,
        place: (u64, u64),
        into: Into<'_>,
        source: &Source<'_>,
        memory: &mut Memory,
        kept: Option<&Kept<'_>>,
    ) -> Result<(), Error> {
        let rect = self.shape.rect(0, place);
        let columns = rect.width() as usize;
        let count = rect.area() as usize;
        let sums = match self.shape.rasters[0].depth {
            Depth::Eight => {
                memory.eight.resize(count, 0);
                let out = SamplesMut::Eight(&mut memory.eight);
                self.renderer.read(rect, out, self.cancel)?;
                squares(memory.eight.chunks_exact(columns), into, |&sample| sample.into())
            }
            Depth::Sixteen => {
                memory.sixteen.resize(count, 0);
                let out = SamplesMut::Sixteen(&mut memory.sixteen);
                self.renderer.read(rect, out, self.cancel)?;
                squares(memory.sixteen.chunks_exact(columns), into, |&sample| {
                    sample.into()
                })
            }
        };
        if let Some(kept) = kept {
            kept(sums, &mut memory.bytes)?;
        }
        if !self.output.has(self.shape.number(0, place)).map_err(sink)? {
            let samples = match self.shape.rasters[0].depth {
                Depth::Eight => Samples::Eight(&memory.eight),
                Depth::Sixteen => Samples::Sixteen(&memory.sixteen),
            };
            let output = &mut memory.output;
            self.output
                .write(self.shape, 0, place, (samples, columns), output)
                .map_err(sink)?;
        }
        (source.tell)(rect.area());
        Ok(())
    }

    /// Adds the sums of a unit to those of the level above it.
    fn read(&self, place: (u64, u64), into: Into<'_>, memory: &mut Memory) -> Result<(), Error> {
        let (columns, _) = self.shape.grid(self.shape.unit);
        let unit = place.1 * columns + place.0;
        let read = self.sums.read(unit, &mut memory.unit, &mut memory.bytes);
        if !read.map_err(|error| sink(self.output.failed(error)))? {
            return Err(sink(SinkError::State {
                call: "finish",
                state: "misses the sums of a unit",
            }));
        }
        let width = self.shape.sums().0 as usize;
        let lines = into.sums[into.start..].chunks_mut(into.stride);
        for (to, from) in lines.zip(memory.unit.chunks_exact(width)) {
            to[..width].copy_from_slice(from);
        }
        Ok(())
    }
}

/// Takes the sums of a unit.
type Kept<'a> = dyn Fn(&[u64], &mut Vec<u8>) -> Result<(), Error> + 'a;

/// Adds squares of 2 × 2 numbers of `lines` to sums, and gives these.
fn squares<'l, 's, T: 'l>(
    lines: impl Iterator<Item = &'l [T]>,
    into: Into<'s>,
    number: impl Fn(&T) -> u64,
) -> &'s [u64] {
    let Into { sums, stride, start } = into;
    for (row, line) in lines.enumerate() {
        let to = &mut sums[start + row / 2 * stride..];
        let (pairs, rest) = line.as_chunks::<2>();
        for (to, [left, right]) in to.iter_mut().zip(pairs) {
            *to += number(left) + number(right);
        }
        if let [last] = rest {
            to[pairs.len()] += number(last);
        }
    }
    sums
}

fn sink(error: SinkError) -> Error {
    Error::Sink(error.into())
}
