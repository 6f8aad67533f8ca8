//! Sinks that are given a raster in halftones, or what a pass makes of it.

use std::io;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use relief_design::scan::Halftone;
use relief_engine::sink::{Band, Raster, Samples, Sink};
use relief_engine::{Grid, Tile, TileSink, Workers};
use relief_raster::{Depth, Rect, Sample};

use crate::Error;
use crate::halftone::{Diffusion, Kernel, Screen};

/// Samples that are screened at once.
const PART: usize = 128 * 1024;

/// Hands a raster to another sink as a pass and a halftone make it. Of a halftone every sample is 0 or M.
///
/// The place of a pixel in an ordered screen is that in the canvas, so that a part of the canvas has the halftones of the whole.
/// Error diffusion begins at the first row that is computed and needs rows in order: as a [`TileSink`] it is refused.
#[derive(Debug)]
pub struct Screened<T> {
    inner: T,
    /// What the tables and the pass make of a sample; they come first.
    table: Option<Vec<u16>>,
    screen: Option<Screen>,
    /// The pixel of the canvas that is the first of the raster.
    origin: (u64, u64),
    /// The row that diffusion waits for.
    rows: Option<Rows>,
    /// Memory for the samples of bands and tiles.
    spare: Mutex<Vec<Memory>>,
}

/// The row that diffusion waits for, as far as it has come, and what the rows before it hand on.
#[derive(Debug)]
struct Rows {
    raster: Raster,
    state: Diffusion,
    eight: Vec<u8>,
    sixteen: Vec<u16>,
    row: u64,
}

#[derive(Debug, Default)]
struct Memory {
    eight: Vec<u8>,
    sixteen: Vec<u16>,
}

impl<T> Screened<T> {
    /// Screens what comes to `inner`, a raster of this depth whose first pixel is `origin` of the canvas.
    ///
    /// # Errors
    /// Where there is no such halftone for this depth.
    pub fn new(inner: T, halftone: Halftone, depth: Depth, origin: (u64, u64)) -> Result<Self, Error> {
        Self::with(inner, Some(halftone), None, depth, origin)
    }

    /// Looks samples up in a table of M + 1 entries, then screens them, where these are given.
    pub(crate) fn with(
        inner: T,
        halftone: Option<Halftone>,
        table: Option<Vec<u16>>,
        depth: Depth,
        origin: (u64, u64),
    ) -> Result<Self, Error> {
        Ok(Self {
            inner,
            table,
            screen: halftone
                .map(|halftone| Screen::new(halftone, depth))
                .transpose()?,
            origin,
            rows: None,
            spare: Mutex::default(),
        })
    }

    /// The sink that takes the halftones.
    pub const fn inner(&self) -> &T {
        &self.inner
    }

    /// The sink that takes the halftones, alone.
    pub fn into_inner(self) -> T {
        self.inner
    }

    /// The kernel of error diffusion.
    const fn kernel(&self) -> Option<Kernel> {
        match &self.screen {
            Some(Screen::Diffusion(kernel)) => Some(*kernel),
            _ => None,
        }
    }

    /// The bytes of the table of a pass and of the levels of a screen.
    fn tables(&self) -> u64 {
        let table = self.table.as_ref().map_or(0, |table| 2 * table.len() as u64);
        table.saturating_add(self.screen.as_ref().map_or(0, Screen::memory))
    }

    fn spare(&self) -> Memory {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        spare.pop().unwrap_or_default()
    }

    fn give_back(&self, memory: Memory) {
        self.spare
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(memory);
    }

    /// The samples of a rectangle after the table and an ordered screen, in `memory`.
    fn ordered<'a>(&self, rect: Rect, samples: Samples<'_>, memory: &'a mut Memory) -> Samples<'a> {
        fn rows<S: Sample>(
            (table, screen): (Option<&[u16]>, Option<&Screen>),
            (x, y): (u64, u64),
            width: usize,
            samples: &[S],
            out: &mut Vec<S>,
        ) {
            out.clear();
            out.extend_from_slice(samples);
            look_up(table, out);
            let Some(screen) = screen else { return };
            for (row, j) in out.chunks_mut(width.max(1)).zip(y..) {
                screen.apply(row, x, j);
            }
        }
        let first = (
            self.origin.0 + rect.x().unsigned_abs(),
            self.origin.1 + rect.y().unsigned_abs(),
        );
        let width = rect.width() as usize;
        let how = (self.table.as_deref(), self.screen.as_ref());
        match samples {
            Samples::Eight(samples) => {
                rows(how, first, width, samples, &mut memory.eight);
                Samples::Eight(&memory.eight)
            }
            Samples::Sixteen(samples) => {
                rows(how, first, width, samples, &mut memory.sixteen);
                Samples::Sixteen(&memory.sixteen)
            }
        }
    }
}

/// Looks samples up in a table of M + 1 entries.
fn look_up<S: Sample>(table: Option<&[u16]>, samples: &mut [S]) {
    if let Some(table) = table {
        for sample in samples {
            *sample = S::from_u16(table[usize::from(sample.to_u16())]);
        }
    }
}

/// A part of the samples.
fn part(samples: Samples<'_>, start: usize, end: usize) -> Samples<'_> {
    match samples {
        Samples::Eight(samples) => Samples::Eight(&samples[start..end]),
        Samples::Sixteen(samples) => Samples::Sixteen(&samples[start..end]),
    }
}

/// The bands that a band is cut in: whole rows, or parts of one row, of about so many samples.
fn cut(rect: Rect) -> impl Iterator<Item = Rect> {
    let most = PART as u64;
    let columns = rect.width().min(most).max(1);
    let rows = (most / rect.width().max(1)).max(1);
    let (across, down) = (rect.width().div_ceil(columns), rect.height().div_ceil(rows));
    (0..across * down).map(move |number| {
        let (x, y) = (number % across * columns, number / across * rows);
        let left = rect.x() + x.cast_signed();
        let top = rect.y() + y.cast_signed();
        let right = rect.right().min(left + columns.cast_signed());
        let bottom = rect.bottom().min(top + rows.cast_signed());
        Rect::between(left, top, right, bottom)
    })
}

impl<T: Sink> Screened<T> {
    fn screened(&mut self, band: &Band<'_>) -> io::Result<()> {
        let mut memory = self.spare();
        let mut start = 0;
        for rect in cut(band.rect) {
            let end = start + rect.area() as usize;
            let samples = self.ordered(rect, part(band.samples, start, end), &mut memory);
            self.inner.write(&Band::new(rect, samples))?;
            start = end;
        }
        self.give_back(memory);
        Ok(())
    }

    fn diffused(&mut self, band: &Band<'_>) -> io::Result<()> {
        let Some(rows) = &mut self.rows else {
            return Err(io::Error::other("write was called on a sink that has not begun"));
        };
        let width = rows.raster.width as usize;
        let mut from = 0;
        while from < band.samples.len() {
            let there = rows.eight.len().max(rows.sixteen.len());
            let end = band.samples.len().min(from + width - there);
            match part(band.samples, from, end) {
                Samples::Eight(samples) => rows.eight.extend_from_slice(samples),
                Samples::Sixteen(samples) => rows.sixteen.extend_from_slice(samples),
            }
            from = end;
            if rows.eight.len().max(rows.sixteen.len()) < width {
                break;
            }
            let top = rows.row.cast_signed();
            let rect = Rect::between(0, top, rows.raster.width.cast_signed(), top + 1);
            let samples = match rows.raster.depth {
                Depth::Eight => {
                    look_up(self.table.as_deref(), &mut rows.eight);
                    rows.state.line(&mut rows.eight);
                    Samples::Eight(&rows.eight)
                }
                Depth::Sixteen => {
                    look_up(self.table.as_deref(), &mut rows.sixteen);
                    rows.state.line(&mut rows.sixteen);
                    Samples::Sixteen(&rows.sixteen)
                }
            };
            self.inner.write(&Band::new(rect, samples))?;
            rows.eight.clear();
            rows.sixteen.clear();
            rows.row += 1;
        }
        Ok(())
    }
}

impl<T: Sink> Sink for Screened<T> {
    fn use_workers(&mut self, workers: &Workers) {
        self.inner.use_workers(workers);
    }

    fn memory(&self, raster: &Raster) -> u64 {
        let own = match self.kernel() {
            Some(kernel) => kernel
                .memory(raster.width)
                .saturating_add(raster.width.saturating_mul(raster.depth.bytes())),
            None => PART as u64 * raster.depth.bytes(),
        };
        self.inner
            .memory(raster)
            .saturating_add(own)
            .saturating_add(self.tables())
    }

    fn wants(&self, raster: &Raster) -> u64 {
        self.inner.wants(raster)
    }

    fn begin(&mut self, raster: &Raster) -> io::Result<()> {
        self.rows = None;
        if let Some(kernel) = self.kernel() {
            let width = usize::try_from(raster.width).map_err(io::Error::other)?;
            self.rows = Some(Rows {
                raster: *raster,
                state: Diffusion::new(kernel, width),
                eight: Vec::with_capacity(if raster.depth == Depth::Eight { width } else { 0 }),
                sixteen: Vec::with_capacity(if raster.depth == Depth::Sixteen { width } else { 0 }),
                row: 0,
            });
        }
        self.inner.begin(raster)
    }

    fn write(&mut self, band: &Band<'_>) -> io::Result<()> {
        if self.kernel().is_some() {
            self.diffused(band)
        } else {
            self.screened(band)
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.inner.finish()
    }
}

impl<T: TileSink> TileSink for Screened<T> {
    fn grid(&self, raster: &Raster) -> io::Result<Grid> {
        if self.kernel().is_some() {
            let error = Error::Setting {
                setting: "halftone",
                problem: "error diffusion needs the rows in order, and tiles are computed in any: take blue-noise or \
                          bayer:16, or write png or bmp"
                    .to_owned(),
            };
            return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
        }
        self.inner.grid(raster)
    }

    fn memory(&self, raster: &Raster, threads: usize) -> u64 {
        // A tile of each thread once more; what has no grid is refused.
        let tile = self.inner.grid(raster).map_or(0, |grid| {
            let rect = grid.rect(0);
            rect.width()
                .saturating_mul(rect.height())
                .saturating_mul(raster.depth.bytes())
        });
        self.inner
            .memory(raster, threads)
            .saturating_add(tile.saturating_mul(threads as u64))
            .saturating_add(self.tables())
    }

    fn begin(&mut self, raster: &Raster, grid: &Grid, tiles: &Range<u128>) -> io::Result<()> {
        self.inner.begin(raster, grid, tiles)
    }

    fn has(&self, number: u128) -> io::Result<bool> {
        self.inner.has(number)
    }

    fn write(&self, tile: &Tile<'_>) -> io::Result<()> {
        let mut memory = self.spare();
        let samples = self.ordered(tile.rect, tile.samples, &mut memory);
        let outcome = self.inner.write(&Tile::new(tile.number, tile.rect, samples));
        self.give_back(memory);
        outcome
    }

    fn stop(&self) {
        self.inner.stop();
    }

    fn finish(&mut self) -> io::Result<()> {
        self.inner.finish()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Keeps what it is given.
    #[derive(Default)]
    struct Kept(Vec<u16>, Vec<Rect>);

    impl Sink for Kept {
        fn memory(&self, _: &Raster) -> u64 {
            0
        }

        fn begin(&mut self, _: &Raster) -> io::Result<()> {
            Ok(())
        }

        fn write(&mut self, band: &Band<'_>) -> io::Result<()> {
            match band.samples {
                Samples::Eight(samples) => self.0.extend(samples.iter().map(|&v| u16::from(v))),
                Samples::Sixteen(samples) => self.0.extend_from_slice(samples),
            }
            self.1.push(band.rect);
            Ok(())
        }

        fn finish(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn value(x: u64, y: u64) -> u8 {
        ((x * 7 + y * 13 + x * y / 9) % 256) as u8
    }

    /// Screens the raster, cut in bands of rows or in parts of rows.
    fn screened(halftone: Halftone, origin: (u64, u64), (width, height): (u64, u64), columns: u64) -> Kept {
        let raster = Raster::new(width, height, Depth::Eight);
        let mut sink = Screened::new(Kept::default(), halftone, Depth::Eight, origin).unwrap();
        Sink::begin(&mut sink, &raster).unwrap();
        let mut y = 0;
        while y < height {
            let rows = if columns < width { 1 } else { 3.min(height - y) };
            let mut x = 0;
            while x < width {
                let right = width.min(x + columns);
                let rect = Rect::new(x as i64, y as i64, right - x, rows).unwrap();
                let samples: Vec<u8> = (y..y + rows)
                    .flat_map(|y| (x..right).map(move |x| value(origin.0 + x, origin.1 + y)))
                    .collect();
                let samples = Samples::Eight(&samples);
                Sink::write(&mut sink, &Band::new(rect, samples)).unwrap();
                x = right;
            }
            y += rows;
        }
        sink.inner
    }

    proptest! {
        /// However bands are cut, and for ordered screens whatever part of the canvas it is: by the rule of each, pixel by pixel.
        #[test]
        fn halftones_do_not_depend_on_bands_or_regions(
            (width, height) in (1_u64..60, 1_u64..30),
            origin in (0_u64..50, 0_u64..50),
            columns in 1_u64..80,
        ) {
            let (size, ranks) = (8_u64, crate::bayer(8));
            let found = screened(Halftone::bayer(8), origin, (width, height), columns).0;
            let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (origin.0 + x, origin.1 + y)));
            let expected: Vec<u16> = pixels
                .map(|(x, y)| {
                    let rank = u64::from(ranks[(y % size * size + x % size) as usize]);
                    let on = 2 * u64::from(value(x, y)) * size * size > (2 * rank + 1) * 255;
                    if on { 255 } else { 0 }
                })
                .collect();
            prop_assert!(found == expected);

            let found = screened(Halftone::FLOYD_STEINBERG, origin, (width, height), columns).0;
            // a of every pixel, in sixteenths.
            let mut given = vec![0_i64; (width * (height + 1)) as usize];
            let mut at = 0;
            for y in 0..height {
                for x in 0..width {
                    let place = (y * width + x) as usize;
                    let wanted = i64::from(value(origin.0 + x, origin.1 + y)) + (given[place] + 8).div_euclid(16);
                    let on = 2 * wanted > 255;
                    let error = wanted - if on { 255 } else { 0 };
                    prop_assert_eq!(found[at], if on { 255 } else { 0 });
                    at += 1;
                    let below = place + width as usize;
                    if x + 1 < width {
                        given[place + 1] += 7 * error;
                        given[below + 1] += error;
                    }
                    if x > 0 {
                        given[below - 1] += 3 * error;
                    }
                    given[below] += 5 * error;
                }
            }
        }
    }

    #[test]
    fn bands_that_are_large_are_handed_on_in_parts() {
        let found = screened(Halftone::BLUE_NOISE, (3, 5), (300_000, 2), 300_000).1;
        assert!(found.iter().all(|rect| rect.area() <= PART as u128));
        assert_eq!(found.iter().map(Rect::area).sum::<u128>(), 600_000);
    }
}
