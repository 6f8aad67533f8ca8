//! What becomes of the samples of a raster in each pass, where the raster stays one: a file for each pass.

use std::io;
use std::ops::Range;

use relief_design::scan::{Halftone, Passes, Scan};
use relief_engine::sink::{Band, Raster, Sink};
use relief_engine::{Grid, Tile, TileSink, Workers};
use relief_raster::Depth;

use crate::Error;
use crate::halftone::Screen;
use crate::passes::Slice;
use crate::program;
use crate::screened::Screened;
use crate::table::Tables;

/// The passes over a raster whose rows and columns stay where they are: tables, slices and halftones of a [`Scan`], without
/// its order of lines.
#[derive(Clone, Debug)]
pub struct Layers {
    passes: Passes,
    count: u32,
    halftone: Option<Halftone>,
    tables: Tables,
    depth: Depth,
}

impl Layers {
    /// Those of a scan, for a raster of this depth. As for a machine, lines of 1 bit without a halftone have a threshold of
    /// ⌊M / 2⌋ + 1.
    ///
    /// # Errors
    /// As [`Program::new`](crate::Program::new), but for settings of lines.
    pub fn new(scan: &Scan, tables: &Tables, depth: Depth) -> Result<Self, Error> {
        let (count, halftone) = program::checked(scan, tables, depth)?;
        if let Some(halftone) = halftone {
            Screen::new(halftone, depth)?;
        }
        Ok(Self {
            passes: scan.passes.clone(),
            count,
            halftone,
            tables: tables.clone(),
            depth,
        })
    }

    /// How many passes.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// The halftone of all passes.
    #[must_use]
    pub const fn halftone(&self) -> Option<Halftone> {
        self.halftone
    }

    /// Whether there is one pass that changes nothing.
    #[must_use]
    pub fn change_nothing(&self) -> bool {
        self.count == 1 && self.halftone.is_none() && self.passes.table(0, self.depth, &self.tables).is_none()
    }

    /// Hands what a pass makes of a raster to `inner`; the first pixel of the raster is `origin` of the canvas.
    ///
    /// # Errors
    /// Where there is no such pass.
    pub fn pass<T>(&self, inner: T, pass: u32, origin: (u64, u64)) -> Result<Screened<T>, Error> {
        if pass >= self.count {
            return Err(Error::Range {
                first: pass.into(),
                end: u64::from(pass) + 1,
                lines: self.count.into(),
            });
        }
        let table = self.passes.table(pass, self.depth, &self.tables);
        Screened::with(inner, self.halftone, table, self.depth, origin)
    }

    /// A digest of everything here that decides the samples of a pass.
    #[must_use]
    pub fn digest(&self, pass: u32) -> blake3::Hash {
        let table = |table: &Option<crate::Table>| table.as_ref().map(|table| table.digest().to_string());
        let text = serde_json::json!([
            "layer",
            pass,
            self.passes,
            self.halftone,
            table(&self.tables.material),
            table(&self.tables.machine),
        ]);
        blake3::hash(text.to_string().as_bytes())
    }
}

/// Hands one raster to several sinks: for each a pass of it.
#[derive(Debug)]
pub struct Layered<T>(Vec<Screened<T>>);

impl<T> Layered<T> {
    /// Hands every band or tile to all of these. Sinks of tiles have the same grid.
    #[must_use]
    pub const fn new(sinks: Vec<Screened<T>>) -> Self {
        Self(sinks)
    }
}

impl<T: Sink> Sink for Layered<T> {
    fn use_workers(&mut self, workers: &Workers) {
        for sink in &mut self.0 {
            sink.use_workers(workers);
        }
    }

    fn memory(&self, raster: &Raster) -> u64 {
        let each = self.0.iter().map(|sink| Sink::memory(sink, raster));
        each.fold(0, u64::saturating_add)
    }

    fn wants(&self, raster: &Raster) -> u64 {
        self.0.iter().map(|sink| sink.wants(raster)).max().unwrap_or(1)
    }

    fn begin(&mut self, raster: &Raster) -> io::Result<()> {
        self.0.iter_mut().try_for_each(|sink| Sink::begin(sink, raster))
    }

    fn write(&mut self, band: &Band<'_>) -> io::Result<()> {
        self.0.iter_mut().try_for_each(|sink| Sink::write(sink, band))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.iter_mut().try_for_each(Sink::finish)
    }
}

impl<T: TileSink> TileSink for Layered<T> {
    fn grid(&self, raster: &Raster) -> io::Result<Grid> {
        match self.0.first() {
            Some(first) => first.grid(raster),
            None => Err(io::Error::other("no pass is written")),
        }
    }

    fn memory(&self, raster: &Raster, threads: usize) -> u64 {
        let each = self.0.iter().map(|sink| TileSink::memory(sink, raster, threads));
        each.fold(0, u64::saturating_add)
    }

    fn begin(&mut self, raster: &Raster, grid: &Grid, tiles: &Range<u128>) -> io::Result<()> {
        self.0
            .iter_mut()
            .try_for_each(|sink| TileSink::begin(sink, raster, grid, tiles))
    }

    fn has(&self, number: u128) -> io::Result<bool> {
        for sink in &self.0 {
            if !sink.has(number)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn write(&self, tile: &Tile<'_>) -> io::Result<()> {
        for sink in &self.0 {
            // A run that was interrupted may have left some with more tiles than others.
            if !sink.has(tile.number)? {
                TileSink::write(sink, tile)?;
            }
        }
        Ok(())
    }

    fn stop(&self) {
        self.0.iter().for_each(TileSink::stop);
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.iter_mut().try_for_each(TileSink::finish)
    }
}
