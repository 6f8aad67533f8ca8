//! TIFF and BigTIFF: the first picture of a file, in strips or tiles, with interleaved samples or in planes.
//!
//! Windows are read by [`windows`]. A file whose chunks are too large for that is read row by row: one row of chunks is held at a
//! time, so that a file of one strip is held whole. The tags are read by [`directory`],
//! chunks are decompressed by [`codec`], predictors undone by [`predictor`]; what the samples mean is said here. What
//! opens is known to be read: all tags have been looked at, and every chunk lies within the file.

mod codec;
mod directory;
mod layout;
mod predictor;
mod windows;

use std::io::{BufRead, Read, Seek, SeekFrom};

pub(super) use self::codec::MAX_WINDOW;
use self::codec::{Codec, reversed};
pub(crate) use self::directory::Directory;
use self::directory::tag;
pub(super) use self::directory::{exif_orientation, exif_pitch};
pub(super) use self::layout::Number;
use self::layout::{Layout, Part};
use self::predictor::{Predictor, undo};
use super::bits::{greatest, unpack};
use super::failure::Failure;
use super::files::{Decoder, Info, Input};
use super::gray::{GrayRows, Pixels, Row};
use super::jpeg;
use super::limits::Limits;
use super::pitch::Pitch;
use super::windows::{Needs, Windows};

/// What is held beside rows of chunks and lists: the buffers of the decompressors.
const DECODER: u64 = 1 << 20;

pub(super) struct Tiff {
    file: Directory<Input>,
    layout: Layout,
    pixels: Pixels,
    chunks: Chunks,
    info: Info,
    /// What decompressing a chunk holds beside it.
    decoder: u64,
    /// What reading it window by window holds; none where it is not read so.
    windows: Option<Needs>,
    pitch: Option<Pitch>,
    limits: Limits,
}

/// Where the chunks lie, and what decompressing them needs.
struct Chunks {
    places: Vec<Place>,
    /// The greatest window of the codec.
    window: u64,
    /// The tables that all JPEG chunks share.
    tables: Vec<u8>,
    big_endian: bool,
}

impl Chunks {
    /// The coded bytes of a chunk.
    fn coded<'a, R: BufRead + Seek>(
        &self,
        input: &'a mut R,
        layout: &Layout,
        index: usize,
    ) -> Result<Box<dyn BufRead + 'a>, Failure> {
        let Place { start, count } = self.places[index];
        input.seek(SeekFrom::Start(start))?;
        let coded = input.by_ref().take(count);
        Ok(if layout.reversed {
            Box::new(reversed(coded))
        } else {
            Box::new(coded)
        })
    }

    /// A chunk of JPEG with the tables that it leaves out (TIFF Technical Note 2).
    fn jpeg<R: BufRead + Seek>(
        &self,
        input: &mut R,
        layout: &Layout,
        index: usize,
    ) -> Result<Vec<u8>, Failure> {
        let mut whole = self.tables.clone();
        if whole.ends_with(&[0xFF, 0xD9]) {
            whole.truncate(whole.len() - 2);
        }
        let mut coded = Vec::new();
        self.coded(input, layout, index)?.read_to_end(&mut coded)?;
        let rest = if whole.is_empty() {
            &coded
        } else {
            coded.strip_prefix(&[0xFF, 0xD8]).unwrap_or(&coded)
        };
        whole.extend_from_slice(rest);
        Ok(whole)
    }

    /// Reads the first `rows` rows of a chunk, samples of whole bytes big-endian; false where it was never written.
    fn chunk<R: BufRead + Seek>(
        &self,
        input: &mut R,
        layout: &Layout,
        index: usize,
        rows: u64,
        into: &mut Vec<u8>,
    ) -> Result<bool, Failure> {
        if self.places[index].count == 0 {
            return Ok(false);
        }
        let &Layout {
            codec,
            bits,
            predictor,
            ..
        } = layout;
        let too_large = || Failure::TooLarge("its strips exceed the memory of this machine".to_owned());
        let row_bytes = usize::try_from(layout.chunk_row_bytes).map_err(|_| too_large())?;
        let bytes = usize::try_from(layout.chunk_row_bytes.saturating_mul(rows)).map_err(|_| too_large())?;
        into.clear();
        if codec == Codec::Jpeg {
            let coded = self.jpeg(input, layout, index)?;
            let header = jpeg::header(&coded)?;
            layout.check_jpeg(header)?;
            if header.height < rows {
                return Err(Failure::damaged(format!(
                    "it has {} rows of {rows}",
                    header.height
                )));
            }
            *into = jpeg::decode(&coded, !layout.luma_and_chroma)?;
            into.truncate(bytes);
            return Ok(true);
        }
        into.try_reserve_exact(bytes).map_err(|_| too_large())?;
        into.resize(bytes, 0);
        let (window, columns) = (self.window, layout.chunk_width);
        codec.decode(
            &mut *self.coded(input, layout, index)?,
            window,
            columns,
            row_bytes,
            into,
        )?;
        if layout.swaps(self.big_endian) {
            into.chunks_exact_mut(bits as usize / 8).for_each(<[u8]>::reverse);
        }
        let mut scratch = Vec::new();
        for row in into.chunks_exact_mut(row_bytes) {
            undo(predictor, row, bits, layout.chunk_samples, &mut scratch);
        }
        Ok(true)
    }
}

/// The coded bytes of a chunk; none where the chunk was never written.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: u64,
    count: u64,
}

/// One row of chunks: for each chunk across and each plane its bytes, or nothing.
type Band = Vec<Option<Vec<u8>>>;

impl Tiff {
    /// Reads the tags of a file of `bytes` bytes.
    pub(super) fn open(input: Input, bytes: u64, limits: &Limits) -> Result<Self, Failure> {
        let mut file = Directory::open(input, bytes)?;
        let layout = Layout::read(&mut file, limits)?;
        let pixels = layout.pixels();
        let list_bytes = layout.chunk_count().saturating_mul(size_of::<Place>() as u64 * 2);
        limits.check_memory(layout.width, layout.height, list_bytes)?;
        let pitch = file.pitch();
        let tables = file.bytes(tag::JPEG_TABLES, 65_535)?.unwrap_or_default();
        let mut tiff = Self {
            chunks: Chunks {
                places: places(&mut file, &layout)?,
                window: 0,
                tables,
                big_endian: file.big_endian,
            },
            file,
            pixels,
            info: Info {
                width: layout.width,
                height: layout.height,
                bits: layout.bits,
                memory: 0,
            },
            layout,
            decoder: 0,
            windows: None,
            pitch,
            limits: *limits,
        };
        tiff.prove(limits, list_bytes)?;
        Ok(tiff)
    }

    /// Looks at the first chunk that was written, so that what opens can be read, and says the memory.
    fn prove(&mut self, limits: &Limits, list_bytes: u64) -> Result<(), Failure> {
        let Layout {
            width, height, codec, ..
        } = self.layout;
        let longest = self
            .chunks
            .places
            .iter()
            .map(|place| place.count)
            .max()
            .unwrap_or(0);
        // What decompressing a chunk holds beside the chunk.
        let mut decoder = DECODER;
        if codec.holds_chunks() {
            decoder = decoder.saturating_add(longest.saturating_mul(2));
        }
        limits.check_memory(width, height, decoder)?;
        if let Some(first) = self.chunks.places.iter().position(|place| place.count > 0) {
            if codec == Codec::Jpeg {
                let header = jpeg::header(&self.chunks.jpeg(&mut self.file.input, &self.layout, first)?)?;
                self.layout.check_jpeg(header)?;
                let greatest = jpeg::Header {
                    height: self.layout.chunk_height,
                    ..header
                };
                decoder = decoder.saturating_add(greatest.memory());
            } else {
                let mut start = Vec::new();
                self.chunks
                    .coded(&mut self.file.input, &self.layout, first)?
                    .take(1_024)
                    .read_to_end(&mut start)?;
                self.chunks.window = codec.window(&start);
                if self.chunks.window > MAX_WINDOW {
                    return Err(Failure::TooLarge(format!(
                        "its compression asks for a window of {} bytes; at most {MAX_WINDOW} are held",
                        self.chunks.window
                    )));
                }
                decoder = decoder.saturating_add(self.chunks.window.saturating_mul(2));
            }
        }
        self.decoder = decoder;
        self.info.memory = self
            .layout
            .band_memory()
            .saturating_add(list_bytes)
            .saturating_add(self.pixels.row_memory(width))
            .saturating_add(decoder);
        self.windows = windows::needs(self, limits);
        let memory = match self.windows {
            Some(needs) => needs.all(),
            None => self.info.memory,
        };
        limits.check_memory(width, height, memory)?;
        // Some writers claim more bytes than there are; whether a file is cut short, one of its chunks tells.
        let length = self.file.length;
        let beyond = |place: &Place| place.start.saturating_add(place.count) > length;
        if let Some(index) = self.chunks.places.iter().position(beyond) {
            let mut chunk = Vec::new();
            let rows = self.layout.rows_of(index);
            self.chunks
                .chunk(&mut self.file.input, &self.layout, index, rows, &mut chunk)
                .map_err(|failure| failure.at_row(self.layout.first_row_of(index)))?;
        }
        Ok(())
    }

    /// Reads one row of chunks, the first `rows` rows of it.
    fn band(&mut self, number: u64, rows: u64, band: &mut Band) -> Result<(), Failure> {
        let (across, planes) = (self.layout.across, self.layout.planes());
        band.resize_with(across as usize * planes.len(), || None);
        for (i, &plane) in planes.iter().enumerate() {
            for column in 0..across {
                let index = self.layout.index(plane, number, column);
                let slot = &mut band[i * across as usize + column as usize];
                let mut bytes = slot.take().unwrap_or_default();
                let Self {
                    file, layout, chunks, ..
                } = self;
                if chunks.chunk(&mut file.input, layout, index, rows, &mut bytes)? {
                    *slot = Some(bytes);
                }
            }
        }
        Ok(())
    }
}

/// How the chunks of a file of one gray sample a pixel are stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored {
    /// The values of the tags Compression and Predictor.
    pub(crate) compression: u64,
    pub(crate) predictor: u64,
    /// Bits of a sample: 1, 8 or 16.
    pub(crate) bits: u32,
    pub(crate) big_endian: bool,
    /// Columns of a chunk.
    pub(crate) columns: u64,
}

impl Stored {
    /// Fills `out` with the first rows of a chunk whose coded bytes are these; samples of 16 bits are big-endian.
    pub(crate) fn decode(&self, mut coded: &[u8], out: &mut [u8]) -> Result<(), Failure> {
        let codec = Codec::new(self.compression, 0, 0)?;
        let predictor = match self.predictor {
            2 => Predictor::Horizontal,
            _ => Predictor::None,
        };
        let row_bytes = (self.columns * u64::from(self.bits)).div_ceil(8).max(1) as usize;
        codec.decode(&mut coded, MAX_WINDOW, self.columns, row_bytes, out)?;
        if self.bits == 16 && !self.big_endian {
            out.chunks_exact_mut(2).for_each(<[u8]>::reverse);
        }
        let mut scratch = Vec::new();
        for row in out.chunks_exact_mut(row_bytes) {
            undo(predictor, row, self.bits, 1, &mut scratch);
        }
        Ok(())
    }
}

/// The chunks that are read, proved to lie within the file and, where uncompressed, to be long enough.
fn places(file: &mut Directory<Input>, layout: &Layout) -> Result<Vec<Place>, Failure> {
    let (kind, offsets, counts) = if layout.tiled {
        ("tile", tag::TILE_OFFSETS, tag::TILE_BYTE_COUNTS)
    } else {
        ("strip", tag::STRIP_OFFSETS, tag::STRIP_BYTE_COUNTS)
    };
    let needed = layout.chunk_count();
    let listed = |list: Option<Vec<u64>>, what: &str| match list {
        Some(list) if list.len() as u64 >= needed => Ok(Some(list)),
        Some(list) => Err(Failure::damaged(format!(
            "it has {needed} {kind}s, and the {what} of {} of them",
            list.len()
        ))),
        None => Ok(None),
    };
    let offsets = listed(file.list(offsets, needed)?, "places")?;
    let offsets =
        offsets.ok_or_else(|| Failure::damaged(format!("it does not say where its {kind}s lie")))?;
    let counts = listed(file.list(counts, needed)?, "lengths")?;
    if counts.is_none() && needed > 1 && layout.codec != Codec::None {
        return Err(Failure::damaged(format!(
            "it does not say how many bytes its {needed} compressed {kind}s have"
        )));
    }
    let length = file.length;
    let mut places = Vec::with_capacity(offsets.len());
    for (index, &start) in offsets.iter().enumerate() {
        let mut count = counts
            .as_ref()
            .map_or(length.saturating_sub(start), |counts| counts[index]);
        if count > 0 && (start == 0 || start >= length) {
            return Err(Failure::damaged(format!(
                "its {kind} {index} begins at byte {start} of {length}"
            )));
        }
        if layout.codec == Codec::None && count > 0 {
            let bytes = layout.chunk_row_bytes.saturating_mul(layout.rows_of(index));
            count = count.min(length - start);
            if count < bytes {
                return Err(Failure::damaged(format!(
                    "its {kind} {index} has {count} bytes, and its samples take {bytes}"
                )));
            }
        }
        places.push(Place { start, count });
    }
    Ok(places)
}

impl Decoder for Tiff {
    fn info(&self) -> Info {
        self.info
    }

    fn orientation(&self) -> u16 {
        self.layout.orientation
    }

    fn pitch(&self) -> Option<Pitch> {
        self.pitch
    }

    fn numbers(&self) -> Option<String> {
        self.layout.numbers()
    }

    fn windows(&self) -> Option<Needs> {
        self.windows
    }

    fn into_windows(self: Box<Self>) -> Result<Box<dyn Windows>, Failure> {
        let limits = self.limits;
        Ok(Box::new(windows::Tiles::new(*self, &limits)))
    }

    fn read(mut self: Box<Self>, rows: &mut GrayRows<'_>) -> Result<(), Failure> {
        let height = self.layout.chunk_height;
        let mut band = Band::new();
        let mut line = Line::default();
        let width = usize::try_from(self.layout.width).map_err(Failure::damaged)?;
        rows.read_as_nothing(self.layout.nodata);
        for first in (0..self.info.height).step_by(usize::try_from(height).unwrap_or(usize::MAX)) {
            let count = height.min(self.info.height - first);
            self.band(first / height, count, &mut band)
                .map_err(|failure| failure.at_row(first))?;
            for row in 0..count {
                let parts = self.layout.parts(&band, row);
                let samples = line.fill(&self.layout, width, parts, rows.has_range());
                if rows.take(first + row, self.pixels, samples).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// The samples of one row.
#[derive(Default)]
struct Line {
    whole: Vec<u32>,
    numbers: Vec<f64>,
    raw: Vec<u32>,
    read: Vec<f64>,
}

impl Line {
    /// `width` pixels of a row that lie in these parts, as they are handed on.
    fn fill<'a>(
        &mut self,
        layout: &Layout,
        width: usize,
        parts: impl Iterator<Item = Part<'a>>,
        ranged: bool,
    ) -> Row<'_> {
        if layout.number == Number::Whole {
            self.fill_whole(layout, width, parts, ranged);
            Row::Whole(&self.whole)
        } else {
            self.fill_numbers(layout, width, parts);
            Row::Numbers(&self.numbers)
        }
    }

    fn fill_whole<'a>(
        &mut self,
        layout: &Layout,
        width: usize,
        parts: impl Iterator<Item = Part<'a>>,
        ranged: bool,
    ) {
        let Self { whole, raw, .. } = self;
        let count = layout.pixels().count();
        whole.clear();
        let max = greatest(layout.bits);
        let white_is_zero = layout.white_is_zero && !ranged;
        for part in parts {
            if layout.palette.is_none() && !white_is_zero && part.is_as_handed_on(count) {
                whole.resize(part.first * count, 0);
                match part.bytes {
                    Some(bytes) => unpack(bytes, layout.bits, part.samples, whole),
                    None => whole.resize(whole.len() + part.samples, layout.missing_whole()),
                }
                continue;
            }
            whole.resize(width * count, 0);
            raw.clear();
            match part.bytes {
                Some(bytes) => unpack(bytes, layout.bits, part.samples, raw),
                None => raw.resize(part.samples, layout.missing_whole()),
            }
            if let Some(palette) = &layout.palette {
                let pixels = raw.chunks_exact(part.stride);
                for (to, from) in whole[part.first * count..].chunks_exact_mut(count).zip(pixels) {
                    if let Some(color) = palette.get(from[0] as usize) {
                        to[..3].copy_from_slice(color);
                    }
                    if let Some(alpha) = layout.alpha_at() {
                        to[3] = layout.palette_alpha(from[alpha]);
                    }
                }
                continue;
            }
            part.keep(&mut whole[part.first * count..], raw, count, |sample, into| {
                // α is not colour.
                if white_is_zero && into == 0 {
                    max - sample
                } else {
                    sample
                }
            });
        }
        whole.resize(width * count, 0);
    }

    fn fill_numbers<'a>(&mut self, layout: &Layout, width: usize, parts: impl Iterator<Item = Part<'a>>) {
        let Self { numbers, read, .. } = self;
        let count = layout.pixels().count();
        numbers.clear();
        numbers.resize(width * count, 0.0);
        for part in parts {
            read.clear();
            match part.bytes {
                Some(bytes) => layout.number.read(bytes, layout.bits, part.samples, read),
                None => read.resize(part.samples, layout.nodata.unwrap_or(0.0)),
            }
            part.keep(&mut numbers[part.first * count..], read, count, |number, _| {
                number
            });
        }
    }
}
