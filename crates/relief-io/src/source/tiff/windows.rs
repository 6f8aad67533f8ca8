//! Windows of a TIFF: of each chunk that a window touches the rows and columns in it, from the file where they are not compressed, else
//! from a cache of decompressed chunks.

use std::borrow::Cow;
use std::sync::Arc;

use relief_raster::Rect;

use super::super::failure::Failure;
use super::super::gray::{GrayRows, Pixels};
use super::super::limits::Limits;
use super::super::windows::{BLOCK, Decoded, Needs, Parts, SLOT, Shared, Windows};
use super::codec::Codec;
use super::layout::{Layout, Part};
use super::{Chunks, Line, Place, Tiff};

/// The most bytes that are read ahead of a chunk's decompression.
const BUFFER: usize = 64 * 1024;

/// The bytes of a row that are read in vain, so that rows are read by one call of the system: reading more of them takes longer than
/// a call.
const IN_VAIN: usize = 2_048;

/// Whether samples lie in the file as they are.
fn direct(layout: &Layout) -> bool {
    layout.codec == Codec::None && !layout.reversed
}

/// What reading windows holds; none where a chunk is larger than the cache may be, so that the picture is read row by row.
pub(super) fn needs(tiff: &Tiff, limits: &Limits) -> Option<Needs> {
    let layout = &tiff.layout;
    let (chunk, chunks) = (layout.chunk_bytes(), layout.chunk_count());
    let direct = direct(layout);
    if !direct && chunk > limits.cache_bytes() {
        return None;
    }
    // The lists are read as they stand in the file, as numbers, and as places.
    let lists = chunks.saturating_mul(size_of::<Place>() as u64 * 3);
    let palette = layout
        .palette
        .as_ref()
        .map_or(0, |colors| colors.len() as u64 * 12);
    let mut open = lists.saturating_add(palette).saturating_add(1 << 17);
    let columns = layout.width.min(layout.chunk_width);
    let samples = columns.saturating_mul(layout.chunk_samples as u64);
    let planes = layout.kept_of_planes().len() as u64;
    // A row begins up to 7 pixels early.
    let row = columns.saturating_add(7).saturating_mul(pixel_bytes(layout));
    let stored = (2 * BLOCK).max(row.saturating_add(IN_VAIN as u64));
    let mut reading = BLOCK
        .max(layout.width.saturating_mul(2))
        .saturating_add(stored.saturating_mul(planes))
        .saturating_add(tiff.pixels.row_memory(columns))
        .saturating_add(samples.saturating_mul(12));
    if !direct {
        let kept = Parts::count(chunk, chunks, limits.cache_bytes());
        open = open.saturating_add(kept.saturating_mul(chunk.saturating_add(SLOT)));
        reading = reading
            .saturating_add(planes.saturating_mul(chunk))
            .saturating_add(tiff.decoder);
    }
    Some(Needs {
        parts: (!direct).then_some((layout.chunk_width, layout.chunk_height)),
        open,
        reading,
    })
}

/// The bytes of a pixel of a chunk, rounded up.
fn pixel_bytes(layout: &Layout) -> u64 {
    (layout.chunk_samples as u64 * u64::from(layout.bits)).div_ceil(8)
}

/// A TIFF that stays open.
pub(super) struct Tiles {
    file: Shared,
    bytes: u64,
    layout: Layout,
    pixels: Pixels,
    chunks: Chunks,
    cache: Parts,
    /// Which samples of each plane that is read become which.
    kept: Vec<Vec<(usize, usize)>>,
}

/// Rows of a chunk: their bytes from a byte of each row on, and how far one row is from the next.
struct Fetched {
    bytes: Held,
    /// Where the first byte of the first row lies.
    start: usize,
    stride: usize,
}

enum Held {
    Read(Vec<u8>),
    Kept(Arc<Decoded>),
}

impl Fetched {
    /// The bytes of a row; none where the chunk was never written.
    fn row(&self, row: usize, length: usize) -> Option<&[u8]> {
        let bytes = match &self.bytes {
            Held::Read(bytes) => bytes,
            Held::Kept(decoded) => (**decoded).as_ref()?,
        };
        let start = self.start + row * self.stride;
        bytes.get(start..start + length)
    }
}

/// Columns of a chunk that a window shows, from one that begins at a byte on.
#[derive(Clone, Copy)]
struct Columns {
    /// The first column that is read, counted within the chunk: a multiple of 8.
    first: u64,
    /// How many of the columns that are read come before the window.
    before: usize,
    /// How many columns are read.
    count: usize,
}

/// What reading a window holds to be used again.
#[derive(Default)]
struct Work {
    line: Line,
    /// Bytes of chunks, one for each plane.
    spare: Vec<Vec<u8>>,
}

impl Tiles {
    pub(super) fn new(tiff: Tiff, limits: &Limits) -> Self {
        let Tiff {
            file,
            layout,
            pixels,
            chunks,
            ..
        } = tiff;
        let count = Parts::count(layout.chunk_bytes(), layout.chunk_count(), limits.cache_bytes());
        Self {
            bytes: file.length,
            file: Shared::new(file.input, file.length),
            kept: layout.kept_of_planes(),
            cache: Parts::new(count),
            layout,
            pixels,
            chunks,
        }
    }

    /// The chunk of this number, decompressed.
    fn decoded(&self, index: usize) -> Result<Arc<Decoded>, Failure> {
        self.cache.get(index, |mut bytes| {
            let mut input = self.file.reader(self.bytes, BUFFER);
            let rows = self.layout.rows_of(index);
            let there = self
                .chunks
                .chunk(&mut input, &self.layout, index, rows, &mut bytes)?;
            Ok(there.then_some(bytes))
        })
    }

    /// The rows of a chunk from `row` on, as far as `columns` go.
    fn fetch(
        &self,
        index: usize,
        row: u64,
        rows: u64,
        columns: Columns,
        spare: &mut Vec<Vec<u8>>,
    ) -> Result<Fetched, Failure> {
        let layout = &self.layout;
        let row_bytes = layout.chunk_row_bytes as usize;
        // Whole bytes, since the first column is a multiple of 8.
        let begin = (columns.first * layout.chunk_samples as u64 * u64::from(layout.bits) / 8) as usize;
        if !direct(layout) {
            return Ok(Fetched {
                bytes: Held::Kept(self.decoded(index)?),
                start: row as usize * row_bytes + begin,
                stride: row_bytes,
            });
        }
        let Place { start, count } = self.chunks.places[index];
        if count == 0 {
            return Ok(Fetched {
                bytes: Held::Kept(Arc::new(None)),
                start: 0,
                stride: 0,
            });
        }
        let length = self.row_length(columns);
        let place = start + row * layout.chunk_row_bytes + begin as u64;
        let rows = rows as usize;
        let mut bytes = spare.pop().unwrap_or_default();
        let stride = if row_bytes - length <= IN_VAIN {
            bytes.resize((rows - 1) * row_bytes + length, 0);
            self.file.read_exact_at(&mut bytes, place)?;
            row_bytes
        } else {
            bytes.resize(rows * length, 0);
            for (number, row) in bytes.chunks_exact_mut(length).enumerate() {
                self.file
                    .read_exact_at(row, place + number as u64 * layout.chunk_row_bytes)?;
            }
            length
        };
        if layout.swaps(self.chunks.big_endian) {
            let sample = layout.bits as usize / 8;
            for row in bytes.chunks_mut(stride) {
                row.chunks_exact_mut(sample).for_each(<[u8]>::reverse);
            }
        }
        Ok(Fetched {
            bytes: Held::Read(bytes),
            start: 0,
            stride,
        })
    }

    /// The bytes of these columns in a row of a chunk.
    fn row_length(&self, columns: Columns) -> usize {
        (columns.count * self.layout.chunk_samples * self.layout.bits as usize).div_ceil(8)
    }

    /// Fills the columns of `block` that lie in one column of chunks. The block's rows begin at row `y` of the file, all of them in
    /// the row `chunk_row` of chunks.
    fn fill(
        &self,
        (chunk_row, column): (u64, u64),
        (y, window): (u64, Rect),
        rows: &mut GrayRows<'_>,
        Work { line, spare }: &mut Work,
        block: &mut [u16],
    ) -> Result<(), Failure> {
        let layout = &self.layout;
        let width = window.width() as usize;
        let (left, right) = (window.x().cast_unsigned(), window.right().cast_unsigned());
        let origin = column * layout.chunk_width;
        let (from, to) = (left.max(origin), right.min(origin + layout.chunk_width));
        let first = (from - origin) & !7;
        let columns = Columns {
            first,
            before: (from - origin - first) as usize,
            count: (to - origin - first) as usize,
        };
        let height = block.len() / width;
        let within = y - chunk_row * layout.chunk_height;
        let fetched: Vec<Fetched> = layout
            .planes()
            .iter()
            .map(|&plane| {
                let index = layout.index(plane, chunk_row, column);
                self.fetch(index, within, height as u64, columns, spare)
                    .map_err(|failure| failure.at_row(chunk_row * layout.chunk_height))
            })
            .collect::<Result<_, _>>()?;
        let length = self.row_length(columns);
        for (row, out) in block.chunks_exact_mut(width).enumerate() {
            let parts = fetched.iter().zip(&self.kept).map(|(plane, kept)| Part {
                bytes: plane.row(row, length),
                samples: columns.count * layout.chunk_samples,
                stride: layout.chunk_samples,
                first: 0,
                kept: Cow::Borrowed(kept),
            });
            let samples = line.fill(layout, columns.count, parts, rows.has_range());
            let gray = rows.gray(self.pixels, samples);
            let start = (from - left) as usize;
            let count = (to - from) as usize;
            if let (Some(out), Some(gray)) = (out.get_mut(start..start + count), gray.get(columns.before..)) {
                out.copy_from_slice(gray);
            }
        }
        spare.extend(fetched.into_iter().filter_map(|fetched| match fetched.bytes {
            Held::Read(bytes) => Some(bytes),
            Held::Kept(_) => None,
        }));
        Ok(())
    }
}

impl Windows for Tiles {
    fn read(&self, window: Rect, rows: &mut GrayRows<'_>) -> Result<(), Failure> {
        let layout = &self.layout;
        rows.read_as_nothing(layout.nodata);
        let (mut y, bottom) = (window.y().cast_unsigned(), window.bottom().cast_unsigned());
        let (left, right) = (window.x().cast_unsigned(), window.right().cast_unsigned());
        let row = window.width().saturating_mul(pixel_bytes(layout).max(2));
        let most = (BLOCK / row.saturating_add(IN_VAIN as u64)).max(1);
        let width = usize::try_from(window.width()).map_err(Failure::damaged)?;
        let (mut block, mut work) = (Vec::new(), Work::default());
        while y < bottom {
            let chunk_row = y / layout.chunk_height;
            let end = bottom.min((chunk_row + 1) * layout.chunk_height).min(y + most);
            block.clear();
            block.resize(width * (end - y) as usize, 0);
            for column in left / layout.chunk_width..right.div_ceil(layout.chunk_width) {
                self.fill((chunk_row, column), (y, window), rows, &mut work, &mut block)?;
            }
            for (row, line) in (y..end).zip(block.chunks_exact_mut(width)) {
                if rows.hand(row, line).is_break() {
                    return Ok(());
                }
            }
            y = end;
        }
        Ok(())
    }
}
