//! DZI, Deep Zoom: a file that names a folder of tiles for every power of two, each level the exact mean of the raster.
//!
//! Sums of squares of pixels are carried from level to level, never means: a sample of level L is the mean of its pixels,
//! rounded once. Rows come in order; a level holds the rows of one row of tiles.
//!
//! Format: <https://learn.microsoft.com/previous-versions/windows/silverlight/dotnet-windows-silverlight/cc645077(v=vs.95)>;
//! tiles, names and overlap as OpenSeadragon and libvips have them.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use relief_engine::Workers;
use relief_engine::sink::{Band, Raster, Samples, Sink};
use relief_raster::Depth;

use super::SinkError;
use super::format::Format;
use super::order::Order;

/// Columns and rows of a tile without what it has of its neighbours.
const TILE: u64 = 254;

/// Columns and rows that a tile has of each neighbour.
const OVERLAP: u64 = 1;

/// The most bytes of one level's rows and sums per sample of its width: rows of a row of tiles, and what stands before them.
const ROWS: u64 = TILE + 2 * OVERLAP;

/// The bytes that compressing a tile holds, for each thread.
const COMPRESSING: u64 = 1 << 20;

/// Writes a raster as a Deep Zoom image: `NAME.dzi` and the folder `NAME_files`, PNG of the depth of the raster.
///
/// `NAME.dzi` appears when it is complete. Until then tiles are in `NAME_files.partial`, which goes away with the sink.
pub struct DziSink {
    path: PathBuf,
    workers: Option<Workers>,
    state: Option<State>,
    failed: bool,
}

struct State {
    order: Order,
    raster: Raster,
    folder: Folder,
    levels: Vec<Level>,
}

/// The folder that is written; it goes away unless it is complete.
#[derive(Debug)]
struct Folder {
    partial: PathBuf,
    destination: PathBuf,
    /// Holds the lock that says that its writer lives.
    _lock: File,
    complete: bool,
}

/// The name of the file in the folder that is locked.
const LOCK: &str = ".lock";

impl Folder {
    fn begin(path: &Path) -> Result<Self, SinkError> {
        let refused = |reason, source| SinkError::Destination {
            path: path.to_owned(),
            reason,
            source,
        };
        let stem = path
            .file_stem()
            .ok_or_else(|| refused("it is not the name of a file", None))?;
        let mut name = stem.to_owned();
        name.push("_files");
        let destination = path.with_file_name(&name);
        name.push(".partial");
        let partial = path.with_file_name(&name);
        if fs::symlink_metadata(&destination).is_ok() {
            return Err(refused(
                "the folder of its tiles is there already; remove it",
                None,
            ));
        }
        let failed = |source| refused("the folder of its tiles cannot be created", Some(source));
        let create = || {
            fs::create_dir_all(&partial)?;
            let lock = File::options();
            let lock = lock
                .clone()
                .write(true)
                .create(true)
                .truncate(false)
                .open(partial.join(LOCK))?;
            Ok(lock)
        };
        let lock = create().map_err(failed)?;
        if let Err(TryLockError::WouldBlock) = lock.try_lock() {
            return Err(SinkError::Busy { partial });
        }
        // What a killed process left of the same image.
        for entry in fs::read_dir(&partial).map_err(failed)?.flatten() {
            if entry.path().is_dir() {
                fs::remove_dir_all(entry.path()).map_err(failed)?;
            }
        }
        Ok(Self {
            partial,
            destination,
            _lock: lock,
            complete: false,
        })
    }

    fn complete(&mut self) -> io::Result<()> {
        fs::remove_file(self.partial.join(LOCK))?;
        fs::rename(&self.partial, &self.destination)?;
        self.complete = true;
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.complete {
            let _ = fs::remove_dir_all(&self.partial);
        }
    }
}

/// One power of two.
#[derive(Debug)]
struct Level {
    /// Its number: 0 is one pixel.
    number: u32,
    /// A sample stands for so many columns and rows, to the power of two.
    shift: u32,
    width: u64,
    height: u64,
    /// Sums of the columns of the row that is being added up; none in the level of the raster itself.
    sums: Vec<u64>,
    /// Rows of samples, from `first` on.
    rows: Vec<u16>,
    first: u64,
    /// Rows that are there, from the top.
    done: u64,
    /// The row of tiles that comes next.
    tiles: u64,
}

impl Level {
    fn new(raster: &Raster, number: u32, shift: u32) -> Self {
        let side = |side: u64| side.div_ceil(1 << shift);
        let width = side(raster.width);
        Self {
            number,
            shift,
            width,
            height: side(raster.height),
            sums: if shift == 0 {
                Vec::new()
            } else {
                vec![0; width as usize]
            },
            rows: Vec::new(),
            first: 0,
            done: 0,
            tiles: 0,
        }
    }

    /// The first row of a row of tiles, and the one after its last.
    fn span(&self, tiles: u64) -> (u64, u64) {
        span(tiles, self.height)
    }

    /// Adds the means of a row that is complete to its rows.
    fn means(&mut self, raster: &Raster) {
        let side = 1_u64 << self.shift;
        let rows = side.min(raster.height - self.done * side);
        for (column, sum) in (0..).zip(&self.sums) {
            let columns = side.min(raster.width - column * side);
            let n = u128::from(columns * rows);
            // ⌊(2·S + n) / 2·n⌋, at most M.
            self.rows.push(((2 * u128::from(*sum) + n) / (2 * n)) as u16);
        }
        self.done += 1;
    }
}

/// The first column or row of a tile with what it has of its neighbours, and the one after its last.
fn span(tile: u64, side: u64) -> (u64, u64) {
    let start = (tile * TILE).saturating_sub(OVERLAP);
    (start, ((tile + 1) * TILE + OVERLAP).min(side))
}

/// The shift of the level of one pixel.
fn deepest(raster: &Raster) -> u32 {
    raster
        .width
        .max(raster.height)
        .next_power_of_two()
        .trailing_zeros()
}

impl DziSink {
    /// A sink that writes `path`, a name that ends with `.dzi`, and the folder of its tiles.
    #[must_use]
    pub const fn new(path: PathBuf) -> Self {
        Self {
            path,
            workers: None,
            state: None,
            failed: false,
        }
    }

    fn state(&mut self, call: &'static str) -> Result<&mut State, SinkError> {
        let state = if self.failed {
            "has failed before"
        } else {
            "has not begun"
        };
        self.state.as_mut().ok_or(SinkError::State { call, state })
    }

    fn failure(&self, source: io::Error) -> io::Error {
        SinkError::Write {
            name: self.path.display().to_string(),
            written: 0,
            source,
        }
        .into()
    }

    fn take(&mut self, band: &Band<'_>) -> io::Result<()> {
        let state = self.state("write")?;
        state.order.accept(band)?;
        let width = band.rect.width() as usize;
        let start = (band.rect.x(), band.rect.y());
        for row in 0..band.rect.height() as usize {
            let range = row * width..(row + 1) * width;
            let column = start.0.unsigned_abs();
            match band.samples {
                Samples::Eight(samples) => self.row(column, samples[range].iter().map(|&v| u16::from(v)))?,
                Samples::Sixteen(samples) => self.row(column, samples[range].iter().copied())?,
            }
        }
        Ok(())
    }

    /// The samples that come next, of one row.
    fn row(&mut self, column: u64, samples: impl Iterator<Item = u16>) -> io::Result<()> {
        let state = self.state("write")?;
        let raster = state.raster;
        let (whole, above) = state.levels.split_at_mut(1);
        let whole = &mut whole[0];
        let mut end = column;
        match above.first_mut() {
            Some(next) => {
                for (x, sample) in (column..).zip(samples) {
                    whole.rows.push(sample);
                    next.sums[(x >> 1) as usize] += u64::from(sample);
                    end = x + 1;
                }
            }
            None => {
                for sample in samples {
                    whole.rows.push(sample);
                    end += 1;
                }
            }
        }
        if end < raster.width {
            return Ok(());
        }
        whole.done += 1;
        // A level whose row is complete adds it to the one above.
        for level in 1..state.levels.len() {
            let (below, rest) = state.levels.split_at_mut(level);
            let below = &below[level - 1];
            let this = &mut rest[0];
            if below.done % 2 != 0 && below.done < below.height {
                break;
            }
            this.means(&raster);
            let sums = std::mem::take(&mut this.sums);
            if let Some(next) = rest.get_mut(1) {
                for (x, sum) in sums.iter().enumerate() {
                    next.sums[x >> 1] += sum;
                }
            }
            let mut sums = sums;
            sums.fill(0);
            rest[0].sums = sums;
        }
        self.tiles()
    }

    /// Writes every row of tiles whose rows are all there.
    fn tiles(&mut self) -> io::Result<()> {
        let workers = self.workers.clone();
        let mut outcome = Ok(());
        let state = self.state("write")?;
        let depth = state.raster.depth;
        for level in &mut state.levels {
            while outcome.is_ok()
                && level.tiles * TILE < level.height
                && level.done >= level.span(level.tiles).1
            {
                let folder = state.folder.partial.join(level.number.to_string());
                outcome = match &workers {
                    Some(workers) => workers.run(|| row_of_tiles(level, &folder, depth)),
                    None => row_of_tiles(level, &folder, depth),
                };
                level.tiles += 1;
                // The next tiles have the last rows of these.
                let keep = level.span(level.tiles).0;
                let gone = (keep.min(level.done) - level.first) * level.width;
                level.rows.drain(..gone as usize);
                level.first = keep.min(level.done);
            }
        }
        outcome.map_err(|error| self.failure(error))
    }
}

/// Writes the tiles of a row.
fn row_of_tiles(level: &Level, folder: &Path, depth: Depth) -> io::Result<()> {
    if level.tiles == 0 {
        fs::create_dir(folder)?;
    }
    let (top, bottom) = level.span(level.tiles);
    (0..level.width.div_ceil(TILE))
        .into_par_iter()
        .try_for_each(|column| {
            let (left, right) = span(column, level.width);
            let rows = (top..bottom).map(|y| {
                let start = (y - level.first) * level.width;
                &level.rows[(start + left) as usize..(start + right) as usize]
            });
            let bytes: Vec<u8> = match depth {
                Depth::Eight => rows.flatten().map(|&sample| sample as u8).collect(),
                Depth::Sixteen => rows.flatten().flat_map(|sample| sample.to_be_bytes()).collect(),
            };
            let name = folder.join(format!("{column}_{}.png", level.tiles));
            fs::write(name, png(&bytes, right - left, bottom - top, depth)?)
        })
}

/// A PNG of a tile.
fn png(bytes: &[u8], width: u64, height: u64, depth: Depth) -> io::Result<Vec<u8>> {
    let mut file = Vec::new();
    // At most 256 each.
    let mut encoder = png::Encoder::new(&mut file, width as u32, height as u32);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(match depth {
        Depth::Eight => png::BitDepth::Eight,
        Depth::Sixteen => png::BitDepth::Sixteen,
    });
    let mut writer = encoder.write_header().map_err(io::Error::other)?;
    writer.write_image_data(bytes).map_err(io::Error::other)?;
    writer.finish().map_err(io::Error::other)?;
    Ok(file)
}

impl Sink for DziSink {
    fn use_workers(&mut self, workers: &Workers) {
        self.workers = Some(workers.clone());
    }

    fn memory(&self, raster: &Raster) -> u64 {
        let levels = u64::from(deepest(raster)) + 1;
        // All levels together are twice as wide as the first; a row beyond those of tiles, and room that a list takes ahead.
        let rows = raster
            .width
            .saturating_mul(2)
            .saturating_mul(ROWS + 2)
            .saturating_mul(2 * 2);
        let threads = self.workers.as_ref().map_or_else(
            || std::thread::available_parallelism().map_or(1, usize::from),
            Workers::threads,
        );
        rows.saturating_add(raster.width.saturating_mul(8))
            .saturating_add(levels * 1_024)
            .saturating_add(COMPRESSING.saturating_mul(threads as u64))
    }

    fn begin(&mut self, raster: &Raster) -> io::Result<()> {
        let order = Order::new(raster)?;
        Format::Dzi.check(raster)?;
        let folder = Folder::begin(&self.path)?;
        let deepest = deepest(raster);
        let levels = (0..=deepest).map(|shift| Level::new(raster, deepest - shift, shift));
        self.state = Some(State {
            order,
            raster: *raster,
            folder,
            levels: levels.collect(),
        });
        self.failed = false;
        Ok(())
    }

    fn write(&mut self, band: &Band<'_>) -> io::Result<()> {
        let outcome = self.take(band);
        if outcome.is_err() {
            self.state = None;
            self.failed = true;
        }
        outcome
    }

    fn finish(&mut self) -> io::Result<()> {
        self.state("finish")?;
        let Some(mut state) = self.state.take() else {
            return Ok(());
        };
        state.order.complete()?;
        let refused = |error| super::target::refused(self.path.clone(), error);
        state.folder.complete().map_err(|error| self.failure(error))?;
        let text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <Image xmlns=\"http://schemas.microsoft.com/deepzoom/2008\" Format=\"png\" Overlap=\"{OVERLAP}\" \
             TileSize=\"{TILE}\">\n  <Size Width=\"{}\" Height=\"{}\"/>\n</Image>\n",
            state.raster.width, state.raster.height
        );
        relief_atomic::replace(&self.path, text.as_bytes()).map_err(refused)?;
        Ok(())
    }
}

impl std::fmt::Debug for DziSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DziSink")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
