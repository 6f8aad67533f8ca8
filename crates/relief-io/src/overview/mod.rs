//! An overview: the exact sums, least and greatest samples of blocks of a raster, written as the raster streams.
//!
//! The file is a head of 64 bytes and then levels 8, 9, … up to that of one block, each row by row, 12 bytes a block: the sum (u64), the least and the greatest
//! sample (u16 each), all little-endian. The head is the magic `RLOVRVW1`, a digest of 32 bytes that names the raster, columns and rows (u64), the
//! bits of a sample, the first and the last level (u8 each), 0, and the CRC-32C of these 60 bytes. At 8 bits a file takes a quarter of a thousandth of the raster.

mod tiles;

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use relief_atomic::{AtomicFile, Cleanup, Opened};
use relief_engine::sink::{Band, Raster, Samples, Sink};
use relief_engine::{MAX_LEVEL, Summary, Workers};
use relief_kernels::figures::{Figures as Block, cpu};
use relief_kernels::isa::Isa;
use relief_raster::{Depth, Rect, Sample};

use crate::sink::positioned::{read_at, write_all_at};
use crate::source::check_regular;
pub use tiles::OverviewTiles;

/// The finest level of an overview.
const FIRST: u32 = 8;

/// The columns of a block of the finest level.
const SIDE: u64 = 1 << FIRST;

const HEAD: usize = 64;

/// The bytes of a block.
const ENTRY: usize = 12;

const MAGIC: &[u8; 8] = b"RLOVRVW1";

/// The most pixels of a raster of which an overview is made: every sum fits 63 bits.
const MOST_PIXELS: u128 = 1 << 47;

/// The most bytes that making one holds.
const MOST_MEMORY: u64 = 16 << 20;

/// An entry of the file.
const fn entry(block: Block) -> [u8; ENTRY] {
    let ([a, b, c, d, e, f, g, h], [i, j], [k, l]) = (
        block.sum.to_le_bytes(),
        block.least.to_le_bytes(),
        block.greatest.to_le_bytes(),
    );
    [a, b, c, d, e, f, g, h, i, j, k, l]
}

/// What an entry of the file says.
fn of_entry(bytes: &[u8]) -> Block {
    let mut sum = [0; 8];
    sum.copy_from_slice(&bytes[..8]);
    Block {
        sum: u64::from_le_bytes(sum),
        least: u16::from_le_bytes([bytes[8], bytes[9]]),
        greatest: u16::from_le_bytes([bytes[10], bytes[11]]),
    }
}

/// Where the levels of an overview lie.
#[derive(Clone, Copy, Debug)]
struct Layout {
    width: u64,
    height: u64,
    last: u32,
}

impl Layout {
    /// That of a raster; `None` of one that is empty or too large.
    fn of(width: u64, height: u64) -> Option<Self> {
        let pixels = u128::from(width) * u128::from(height);
        if pixels == 0 || pixels > MOST_PIXELS {
            return None;
        }
        let last = (FIRST..=MAX_LEVEL).find(|level| width.max(height) <= 1 << level)?;
        Some(Self { width, height, last })
    }

    const fn size(&self, level: u32) -> (u64, u64) {
        (self.width.div_ceil(1 << level), self.height.div_ceil(1 << level))
    }

    /// Where a level begins in the file; one past the last is the end of it. No raster of [`MOST_PIXELS`] has a file of 2^63 bytes.
    fn offset(&self, level: u32) -> u64 {
        (FIRST..level).fold(HEAD as u64, |offset, level| {
            let (columns, rows) = self.size(level);
            offset + columns * rows * ENTRY as u64
        })
    }

    fn head(&self, digest: &[u8; 32], depth: Depth) -> [u8; HEAD] {
        let mut head = [0; HEAD];
        head[..8].copy_from_slice(MAGIC);
        head[8..40].copy_from_slice(digest);
        head[40..48].copy_from_slice(&self.width.to_le_bytes());
        head[48..56].copy_from_slice(&self.height.to_le_bytes());
        head[56] = match depth {
            Depth::Eight => 8,
            Depth::Sixteen => 16,
        };
        (head[57], head[58]) = (FIRST as u8, self.last as u8);
        let sum = crc32c::crc32c(&head[..60]);
        head[60..].copy_from_slice(&sum.to_le_bytes());
        head
    }
}

/// The row of blocks of a level that is being summed.
#[derive(Debug)]
struct Row {
    number: u64,
    blocks: Vec<Block>,
}

/// An overview that is being written.
#[derive(Debug)]
struct Writing {
    file: AtomicFile,
    layout: Layout,
    /// Those of all levels, the finest first.
    rows: Vec<Row>,
    bytes: Vec<u8>,
    /// The row of the raster that comes next.
    next: u64,
}

impl Writing {
    fn take(&mut self, band: &Band<'_>) -> io::Result<()> {
        let (x, width) = (band.rect.x().unsigned_abs(), band.rect.width() as usize);
        let mut row = 0;
        while row < band.rect.height() {
            // The rows of the band that lie in the same blocks; where it is not as wide as the raster, one.
            let whole = x + width as u64 == self.layout.width;
            let left = if x == 0 { SIDE - self.next % SIDE } else { 1 };
            let rows = if whole {
                left.min(band.rect.height() - row)
            } else {
                1
            };
            let part = row as usize * width..(row + rows) as usize * width;
            gather_rows(&mut self.rows[0].blocks, x, &band.samples, part, width);
            row += rows;
            if whole {
                self.next += rows;
                if self.next % SIDE == 0 || self.next == self.layout.height {
                    self.close_row()?;
                }
            }
        }
        Ok(())
    }

    /// Writes the row of blocks that is complete, and those of coarser levels that are with it.
    fn close_row(&mut self) -> io::Result<()> {
        for place in 0..self.rows.len() {
            let level = FIRST + place as u32;
            let (columns, rows) = self.layout.size(level);
            let (finer, coarser) = self.rows.split_at_mut(place + 1);
            let row = &mut finer[place];
            self.bytes.clear();
            for block in &row.blocks {
                self.bytes.extend(entry(*block));
            }
            let offset = self.layout.offset(level) + row.number * columns * ENTRY as u64;
            write_all_at(self.file.file(), &self.bytes, offset)?;
            let last = row.number + 1 == rows;
            let complete = row.number % 2 == 1 || last;
            if let Some(coarser) = coarser.first_mut() {
                for (pair, block) in row.blocks.chunks(2).zip(&mut coarser.blocks) {
                    pair.iter().for_each(|one| block.add(*one));
                }
            }
            row.number += 1;
            row.blocks.fill(Block::EMPTY);
            if !complete {
                break;
            }
        }
        Ok(())
    }
}

/// Adds a part of the samples, whole rows of so many columns from this column on, to the blocks of their columns.
fn gather_rows(blocks: &mut [Block], x: u64, samples: &Samples<'_>, part: Range<usize>, columns: usize) {
    let (isa, side) = (Isa::best(), SIDE as usize);
    if x % SIDE == 0 {
        let (rows, blocks) = (part.len() / columns.max(1), &mut blocks[(x / SIDE) as usize..]);
        match samples {
            Samples::Eight(samples) => {
                cpu::add_rows_of_bytes(isa, &samples[part], columns, columns, rows, side, blocks)
            }
            Samples::Sixteen(samples) => {
                cpu::add_rows_of_words(isa, &samples[part], columns, columns, rows, side, blocks)
            }
        }
        return;
    }
    for from in part.step_by(columns.max(1)) {
        let row = from..from + columns;
        match samples {
            Samples::Eight(samples) => gather(blocks, x, &samples[row], |run| cpu::of_bytes(isa, run)),
            Samples::Sixteen(samples) => gather(blocks, x, &samples[row], |run| cpu::of_words(isa, run)),
        }
    }
}

/// Adds a run of samples of a row, from this column on, to the blocks of its columns.
fn gather<S: Sample>(blocks: &mut [Block], x: u64, samples: &[S], of: impl Fn(&[S]) -> Block) {
    let mut rest = samples;
    let mut x = x;
    while !rest.is_empty() {
        let count = ((SIDE - x % SIDE) as usize).min(rest.len());
        let (run, next) = rest.split_at(count);
        blocks[(x / SIDE) as usize].add(of(run));
        (x, rest) = (x + count as u64, next);
    }
}

/// Hands bands to another sink and leaves an [`Overview`] of them behind. It appears only when the other sink is complete. What goes wrong with the overview
/// itself does not fail the job: see [`problem`](Self::problem).
#[derive(Debug)]
pub struct OverviewSink<T> {
    inner: T,
    path: PathBuf,
    cleanup: Cleanup,
    digest: [u8; 32],
    writing: Option<Writing>,
    problem: Option<io::Error>,
}

impl<T: Sink> OverviewSink<T> {
    /// Writes the overview of a raster of this name to `path`.
    pub fn new(inner: T, path: PathBuf, digest: [u8; 32]) -> Self {
        Self {
            inner,
            path,
            cleanup: Cleanup::default(),
            digest,
            writing: None,
            problem: None,
        }
    }

    /// Has its partial file removed by `cleanup`, from the handler of an interrupt.
    #[must_use]
    pub fn with_cleanup(mut self, cleanup: Cleanup) -> Self {
        self.cleanup = cleanup;
        self
    }

    /// Whether an overview of this raster can be made: it is neither empty nor has more than 2^47 pixels, and its rows do not take more than 16 MiB.
    #[must_use]
    pub fn fits(raster: &Raster) -> bool {
        Layout::of(raster.width, raster.height).is_some() && memory(raster.width) <= MOST_MEMORY
    }

    /// The sink that takes the bands.
    pub const fn inner(&self) -> &T {
        &self.inner
    }

    /// Why there is no overview although the raster is complete.
    pub const fn problem(&self) -> Option<&io::Error> {
        self.problem.as_ref()
    }

    fn start(&self, raster: &Raster) -> io::Result<Writing> {
        if memory(raster.width) > MOST_MEMORY {
            return Err(too_large());
        }
        let (file, layout) = begun(&self.path, &self.cleanup, &self.digest, raster)?;
        let row = |level| Row {
            number: 0,
            blocks: vec![Block::EMPTY; layout.size(level).0 as usize],
        };
        Ok(Writing {
            file,
            layout,
            rows: (FIRST..=layout.last).map(row).collect(),
            bytes: Vec::with_capacity(layout.size(FIRST).0 as usize * ENTRY),
            next: 0,
        })
    }
}

fn too_large() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        "the raster is too large for an overview",
    )
}

/// The file of an overview with its head.
fn begun(
    path: &Path,
    cleanup: &Cleanup,
    digest: &[u8; 32],
    raster: &Raster,
) -> io::Result<(AtomicFile, Layout)> {
    let layout = Layout::of(raster.width, raster.height).ok_or_else(too_large)?;
    let opened = relief_atomic::open(path, cleanup).map_err(io::Error::other)?;
    let Opened::Whole(file) = opened else {
        return Err(io::Error::other("an overview is a regular file"));
    };
    write_all_at(file.file(), &layout.head(digest, raster.depth), 0)?;
    Ok((file, layout))
}

/// The bytes that the rows of all levels take, and what is written of one.
const fn memory(width: u64) -> u64 {
    (width / SIDE + 64).saturating_mul(2 * size_of::<Block>() as u64 + ENTRY as u64)
}

impl<T: Sink> Sink for OverviewSink<T> {
    fn use_workers(&mut self, workers: &Workers) {
        self.inner.use_workers(workers);
    }

    fn memory(&self, raster: &Raster) -> u64 {
        let own = memory(raster.width);
        let own = if own <= MOST_MEMORY { own } else { 0 };
        self.inner.memory(raster).saturating_add(own)
    }

    fn wants(&self, raster: &Raster) -> u64 {
        self.inner.wants(raster)
    }

    fn begin(&mut self, raster: &Raster) -> io::Result<()> {
        self.inner.begin(raster)?;
        (self.writing, self.problem) = match self.start(raster) {
            Ok(writing) => (Some(writing), None),
            Err(error) => (None, Some(error)),
        };
        Ok(())
    }

    fn write(&mut self, band: &Band<'_>) -> io::Result<()> {
        self.inner.write(band)?;
        if let Some(writing) = &mut self.writing
            && let Err(error) = writing.take(band)
        {
            (self.writing, self.problem) = (None, Some(error));
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.inner.finish()?;
        if let Some(writing) = self.writing.take()
            && let Err(error) = writing.file.complete()
        {
            self.problem = Some(io::Error::other(error));
        }
        Ok(())
    }
}

/// An overview that was written: exact sums, least and greatest samples of blocks of 2^L × 2^L pixels, from level 8 up.
#[derive(Debug)]
pub struct Overview {
    file: File,
    layout: Layout,
    depth: Depth,
    digest: [u8; 32],
}

impl Overview {
    /// Opens an overview.
    ///
    /// # Errors
    /// Where it cannot be read, is no overview, or is not whole.
    pub fn open(path: &Path) -> io::Result<Self> {
        // It is read at many places; and opening a FIFO would wait for a writer.
        check_regular(&std::fs::metadata(path)?)?;
        let file = File::open(path)?;
        let mut head = [0; HEAD];
        read_at(&file, &mut head, 0)?;
        let wrong = |problem: String| io::Error::new(io::ErrorKind::InvalidData, problem);
        if &head[..8] != MAGIC {
            return Err(wrong("it is not an overview of a raster".to_owned()));
        }
        let number = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&head[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        let (width, height) = (number(40), number(48));
        let depth = match head[56] {
            8 => Some(Depth::Eight),
            16 => Some(Depth::Sixteen),
            _ => None,
        };
        let mut digest = [0; 32];
        digest.copy_from_slice(&head[8..40]);
        let layout = Layout::of(width, height);
        let (Some(layout), Some(depth)) = (layout, depth) else {
            return Err(wrong("its head is damaged".to_owned()));
        };
        if layout.head(&digest, depth) != head {
            return Err(wrong("its head is damaged".to_owned()));
        }
        let (found, expected) = (file.metadata()?.len(), layout.offset(layout.last + 1));
        if found != expected {
            return Err(wrong(format!(
                "it has {found} bytes, not {expected}: it is not whole"
            )));
        }
        Ok(Self {
            file,
            layout,
            depth,
            digest,
        })
    }

    /// The name of the raster.
    #[must_use]
    pub const fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// Columns and rows of the raster.
    #[must_use]
    pub const fn size(&self) -> (u64, u64) {
        (self.layout.width, self.layout.height)
    }

    /// The depth of its samples.
    #[must_use]
    pub const fn depth(&self) -> Depth {
        self.depth
    }

    /// The finest and the coarsest level; the coarsest has one block.
    #[must_use]
    pub const fn levels(&self) -> (u32, u32) {
        (FIRST, self.layout.last)
    }

    /// What is known of the blocks of a window of a level, in coordinates of the level, row by row. How many samples are 0 is known only where all are,
    /// or none.
    ///
    /// # Errors
    /// Where the file cannot be read, its samples are damaged, or there is no such window or level.
    pub fn read(&self, level: u32, window: Rect) -> io::Result<Vec<Summary>> {
        let there = level >= FIRST && level <= self.layout.last;
        let (columns, rows) = if there { self.layout.size(level) } else { (0, 0) };
        if window.is_empty() || !Rect::sized(columns, rows).contains(&window) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("an overview has no such window of level {level}"),
            ));
        }
        let raster = Rect::sized(self.layout.width, self.layout.height);
        let mut found = Vec::new();
        let mut bytes = vec![0; window.width() as usize * ENTRY];
        for y in window.y()..window.bottom() {
            let place = y.unsigned_abs() * columns + window.x().unsigned_abs();
            read_at(
                &self.file,
                &mut bytes,
                self.layout.offset(level) + place * ENTRY as u64,
            )?;
            for (x, entry) in (window.x()..).zip(bytes.chunks_exact(ENTRY)) {
                let block = of_entry(entry);
                let (left, top) = (x << level, y << level);
                let side = 1_i64 << level;
                let pixels = Rect::between(left, top, left + side, top + side).intersection(&raster);
                let summary =
                    Summary::of_figures(pixels.area(), block.sum.into(), block.least, block.greatest);
                found.push(
                    summary
                        .filter(|_| block.greatest <= self.depth.max())
                        .ok_or_else(|| {
                            io::Error::new(
                                io::ErrorKind::InvalidData,
                                format!("the overview is damaged at {x}, {y} of level {level}"),
                            )
                        })?,
                );
            }
        }
        Ok(found)
    }

    /// What is known of the raster as a whole.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn summary(&self) -> io::Result<Summary> {
        let all = self.read(self.layout.last, Rect::sized(1, 1))?;
        all.first()
            .copied()
            .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

impl relief_engine::KnownLevels for Overview {
    fn read(&self, level: u32, window: Rect) -> Option<Vec<Summary>> {
        if level < FIRST || level > self.layout.last {
            return None;
        }
        // What cannot be read is computed.
        Self::read(self, level, window).ok()
    }
}
