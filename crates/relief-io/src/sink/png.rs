//! PNG: gray, 1, 8 or 16 bits, compressed by all threads of the job.
//!
//! Rows are gathered in blocks. Every block is filtered and deflated by itself, with the last 32 KiB of the one before as its dictionary,
//! and ends at a whole byte, so that the blocks one behind the other are one stream: as `pigz` has it. The file depends on the samples
//! alone, not on the number of threads. Chunks and their check sums are written by the crate `png`, whose own encoder is one thread.
//!
//! All rows of eight blocks have one filter: the one that makes a part of the first block shortest, or none where none is much shorter.
//! Rows that repeat, as those of a design mostly do, are best without.
//!
//! Formats: <https://www.w3.org/TR/png-3/>, RFC 1950 and 1951.

use std::io::{self, Write};

use png::{BitDepth, ColorType, EncodingError, PixelDimensions, Unit, Writer};
use rayon::prelude::*;
use relief_engine::Workers;
use relief_engine::sink::{Raster, Samples};
use relief_raster::{Depth, Length};
use zlib_rs::adler32::{adler32, adler32_combine};
use zlib_rs::{Deflate, DeflateFlush};

use super::bit_rows::{BitRows, PART};
use super::byte_order::{ByteOrder, SampleWriter};
use super::file::Encoding;
use super::output::Output;

/// A block has about so many bytes.
const BLOCK: usize = 512 * 1024;

/// Blocks for every thread that are gathered before they are compressed.
const BLOCKS: usize = 2;

/// As far back as Deflate finds what it has seen.
const WINDOW: usize = 32 * 1024;

/// The level of Deflate.
const LEVEL: i32 = 6;

/// The level by which filters are compared, the bytes of a block that are, and the blocks that then have the same.
const TRIAL_LEVEL: i32 = 2;
const TRIAL: usize = 32 * 1024;
const ALIKE: u64 = 8;

/// What a compressor holds.
const COMPRESSOR: u64 = 512 * 1024;

pub(super) struct Png {
    one_bit: bool,
    bits: Option<BitRows>,
    packed: Vec<u8>,
    samples: SampleWriter,
    workers: Option<Workers>,
    stream: Option<Stream>,
}

impl Png {
    pub(super) const fn new(one_bit: bool) -> Self {
        Self {
            one_bit,
            bits: None,
            packed: Vec::new(),
            samples: SampleWriter::new(ByteOrder::Big),
            workers: None,
            stream: None,
        }
    }

    fn row_bytes(&self, raster: &Raster) -> u64 {
        let bits = if self.one_bit {
            1
        } else {
            raster.depth.bits().into()
        };
        raster.width.saturating_mul(bits).div_ceil(8)
    }

    fn threads(&self) -> usize {
        self.workers.as_ref().map_or_else(
            || std::thread::available_parallelism().map_or(1, usize::from),
            Workers::threads,
        )
    }
}

impl Encoding for Png {
    fn use_workers(&mut self, workers: &Workers) {
        self.workers = Some(workers.clone());
    }

    fn memory(&self, raster: &Raster) -> u64 {
        // Blocks as they come, filtered and compressed; lists that grow have room for twice as much.
        let row = self.row_bytes(raster).min(BLOCK as u64);
        let block = (BLOCK + WINDOW) as u64 + row;
        let threads = self.threads() as u64;
        let blocks = block * 5 * BLOCKS as u64 + COMPRESSOR + TRIAL as u64 * 3;
        blocks
            .saturating_mul(threads)
            .saturating_add(ByteOrder::Big.memory() + (BLOCK + PART) as u64 + (1 << 20))
    }

    fn header(&mut self, raster: &Raster, output: &mut Output) -> io::Result<()> {
        let side = |side: u64| u32::try_from(side).map_err(io::Error::other);
        let mut encoder = png::Encoder::new(output.clone(), side(raster.width)?, side(raster.height)?);
        encoder.set_color(ColorType::Grayscale);
        self.bits = self.one_bit.then(|| BitRows::new(raster));
        encoder.set_depth(match raster.depth {
            _ if self.one_bit => BitDepth::One,
            Depth::Eight => BitDepth::Eight,
            Depth::Sixteen => BitDepth::Sixteen,
        });
        encoder.set_pixel_dims(raster.pixel.and_then(pixel_dimensions));
        let writer = encoder.write_header().map_err(unwrapped)?;
        // At most 2^32 bytes, by the sides.
        let row = self.row_bytes(raster) as usize;
        self.stream = Some(Stream {
            writer,
            workers: self.workers.clone(),
            batch: BLOCKS * self.threads(),
            row,
            pixel: if self.one_bit {
                1
            } else {
                raster.depth.bytes() as usize
            },
            in_row: 0,
            bytes: Vec::new(),
            above: Vec::new(),
            window: Vec::new(),
            blocks: 0,
            filter: 0,
            sum: None,
        });
        Ok(())
    }

    fn samples(&mut self, samples: Samples<'_>, _: &mut Output) -> io::Result<()> {
        let Some(stream) = &mut self.stream else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        match &mut self.bits {
            Some(bits) => bits.push(samples, &mut self.packed, &mut |_, bytes| stream.write_all(bytes)),
            None => self.samples.write(samples, stream),
        }
    }

    fn trailer(&mut self, _: &mut Output) -> io::Result<()> {
        self.stream.take().map_or(Ok(()), Stream::finish)
    }
}

/// The rows on their way into the file.
struct Stream {
    writer: Writer<Output>,
    workers: Option<Workers>,
    /// Blocks that are compressed together.
    batch: usize,
    /// Bytes of a row, and of a pixel, at least 1.
    row: usize,
    pixel: usize,
    /// Bytes of the row that has come in part.
    in_row: usize,
    /// Rows that are in no block yet. Those longer than a block are cut anywhere, have no filter, and a 0 before each says so.
    bytes: Vec<u8>,
    /// The row before them.
    above: Vec<u8>,
    /// What Deflate has seen last.
    window: Vec<u8>,
    /// Blocks that are written, and the filter of the last.
    blocks: u64,
    filter: u8,
    /// The check sum so far; `None` before the first block.
    sum: Option<u32>,
}

/// A block that is compressed.
struct Deflated {
    bytes: Vec<u8>,
    /// The check sum of what it was, and the length of that.
    sum: u32,
    length: usize,
}

impl Stream {
    const fn is_long(&self) -> bool {
        self.row > BLOCK
    }

    /// Bytes of a block, as they come.
    fn block(&self) -> usize {
        if self.is_long() {
            BLOCK
        } else {
            (BLOCK / self.row).max(1) * self.row
        }
    }

    /// Compresses and writes the blocks that are complete; at the end all there is.
    fn flush(&mut self, is_last: bool) -> io::Result<()> {
        let block = self.block();
        let all = if is_last {
            self.bytes.len()
        } else {
            // Something is left for the last block, which ends the stream.
            self.bytes.len().saturating_sub(1) / block * block
        };
        let blocks: Vec<&[u8]> = self.bytes[..all].chunks(block).collect();
        if blocks.is_empty() {
            return Ok(());
        }
        let (row, pixel, is_long) = (self.row, self.pixel, self.is_long());
        let (above, window) = (&self.above, &self.window);
        let (first, filter) = (self.blocks, self.filter);
        let in_parallel = self.workers.is_some();
        let work = || {
            let before = |number: usize| match number.checked_sub(1) {
                None => &above[..],
                Some(before) => &blocks[before][blocks[before].len() - row..],
            };
            let (mut filter, mut filters) = (filter, Vec::with_capacity(blocks.len()));
            for (number, block) in blocks.iter().enumerate() {
                // By the number in the file, so that it does not depend on how many come together.
                if !is_long && (first + number as u64) % ALIKE == 0 {
                    filter = best(block, before(number), (row, pixel), in_parallel);
                }
                filters.push(filter);
            }
            let filtered = each(blocks.len(), in_parallel, |number| {
                if is_long {
                    return blocks[number].to_vec();
                }
                let rows = blocks[number];
                let mut out = Vec::with_capacity(rows.len() + rows.len() / row);
                apply(filters[number], rows, before(number), (row, pixel), &mut out);
                out
            });
            let deflated = each(blocks.len(), in_parallel, |number| {
                let before = match number.checked_sub(1) {
                    None => window,
                    Some(before) => &filtered[before][..],
                };
                let before = &before[before.len().saturating_sub(WINDOW)..];
                let ends = is_last && number + 1 == blocks.len();
                deflated(&filtered[number], before, ends)
            });
            let deflated: io::Result<Vec<Deflated>> = deflated.into_iter().collect();
            let last = filtered.last().map(|last| {
                // A short last block is followed by none.
                last[last.len().saturating_sub(WINDOW)..].to_vec()
            });
            (deflated, last.unwrap_or_default(), filter)
        };
        let (deflated, window, filter) = match &self.workers {
            Some(workers) => workers.run(work),
            None => work(),
        };
        let deflated = deflated?;
        if !is_long {
            let last = &self.bytes[all - row..all];
            self.above.clear();
            self.above.extend_from_slice(last);
        }
        self.window = window;
        self.filter = filter;
        self.blocks += deflated.len() as u64;
        self.bytes.drain(..all);
        let count = deflated.len();
        for (number, block) in deflated.into_iter().enumerate() {
            let mut bytes = block.bytes;
            let sum = match self.sum {
                Some(before) => adler32_combine(before, block.sum, block.length as u64),
                None => {
                    // Deflate with a window of 32 KiB, at the default level.
                    bytes.splice(..0, [0x78, 0x9C]);
                    block.sum
                }
            };
            self.sum = Some(sum);
            if is_last && number + 1 == count {
                bytes.extend_from_slice(&sum.to_be_bytes());
            }
            self.writer
                .write_chunk(png::chunk::IDAT, &bytes)
                .map_err(unwrapped)?;
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        // The last block is not full, or is the one before it.
        self.flush(true)?;
        self.writer.finish().map_err(unwrapped)
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let take = bytes.len().min(self.row - self.in_row);
        if self.in_row == 0 && self.is_long() {
            self.bytes.push(0);
        }
        self.bytes.extend_from_slice(&bytes[..take]);
        self.in_row = (self.in_row + take) % self.row;
        if self.bytes.len() > self.block() * self.batch {
            self.flush(false)?;
        }
        Ok(take)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What `of` gives for each number below `count`: on the threads of the pool that this is called on, or on this thread alone.
fn each<T: Send>(count: usize, in_parallel: bool, of: impl Fn(usize) -> T + Send + Sync) -> Vec<T> {
    if in_parallel {
        (0..count).into_par_iter().map(of).collect()
    } else {
        (0..count).map(of).collect()
    }
}

/// The filters of PNG that are tried, by their numbers.
const FILTERS: [u8; 4] = [0, 1, 2, 4];

/// The filter that makes some rows in the middle of a block shortest.
fn best(rows: &[u8], above: &[u8], (row, pixel): (usize, usize), in_parallel: bool) -> u8 {
    let count = rows.len() / row;
    let tried = (TRIAL / row).clamp(1, count);
    let first = (count - tried) / 2;
    let (part, before) = if first == 0 {
        (&rows[..tried * row], above)
    } else {
        (
            &rows[first * row..][..tried * row],
            &rows[(first - 1) * row..][..row],
        )
    };
    let lengths = each(FILTERS.len(), in_parallel, |number| {
        let mut out = Vec::with_capacity(part.len() + tried);
        apply(FILTERS[number], part, before, (row, pixel), &mut out);
        let length = length(&out).unwrap_or(usize::MAX);
        // A filter that gains little here loses where rows repeat: it must be an eighth shorter than none.
        if number == 0 { length - length / 8 } else { length }
    });
    let shortest = lengths.iter().zip(FILTERS).min_by_key(|(length, _)| **length);
    shortest.map_or(0, |(_, filter)| filter)
}

/// Appends rows filtered by one filter. Above the first row of a picture there is nothing, which counts as 0.
fn apply(filter: u8, rows: &[u8], above: &[u8], (row, pixel): (usize, usize), out: &mut Vec<u8>) {
    let nothing;
    let mut above = if above.is_empty() {
        nothing = vec![0; row];
        &nothing[..]
    } else {
        above
    };
    for line in rows.chunks_exact(row) {
        out.push(filter);
        let lead = pixel.min(row);
        match filter {
            0 => out.extend_from_slice(line),
            1 => {
                out.extend_from_slice(&line[..lead]);
                out.extend(
                    line[lead..]
                        .iter()
                        .zip(line)
                        .map(|(here, left)| here.wrapping_sub(*left)),
                );
            }
            2 => out.extend(line.iter().zip(above).map(|(here, up)| here.wrapping_sub(*up))),
            _ => {
                // What is left of the row is 0, so that the sample above is nearest.
                out.extend(
                    line[..lead]
                        .iter()
                        .zip(above)
                        .map(|(here, up)| here.wrapping_sub(*up)),
                );
                let rest = line[lead..].iter().zip(line).zip(&above[lead..]).zip(above);
                out.extend(
                    rest.map(|(((here, left), up), corner)| here.wrapping_sub(paeth(*left, *up, *corner))),
                );
            }
        }
        above = line;
    }
}

/// Of left, up and their corner the one nearest to left + up − corner: PNG, §9.4.
fn paeth(left: u8, up: u8, corner: u8) -> u8 {
    let (a, b, c) = (i16::from(left), i16::from(up), i16::from(corner));
    let (to_left, to_up, to_corner) = ((b - c).abs(), (a - c).abs(), (a + b - 2 * c).abs());
    if to_left <= to_up && to_left <= to_corner {
        left
    } else if to_up <= to_corner {
        up
    } else {
        corner
    }
}

/// The length of bytes as they are compressed quickly.
fn length(bytes: &[u8]) -> io::Result<usize> {
    let mut deflate = Deflate::new(TRIAL_LEVEL, false, 15);
    let mut out = Vec::new();
    run(&mut deflate, bytes, DeflateFlush::Finish, &mut out)?;
    Ok(out.len())
}

/// Compresses a block that follows `before`; what follows begins at a whole byte.
fn deflated(block: &[u8], before: &[u8], ends: bool) -> io::Result<Deflated> {
    // Raw Deflate: the frame of RFC 1950 is around all blocks.
    let mut deflate = Deflate::new(LEVEL, false, 15);
    if !before.is_empty() {
        deflate
            .set_dictionary(before)
            .map_err(|error| io::Error::other(error.as_str()))?;
    }
    let flush = if ends {
        DeflateFlush::Finish
    } else {
        DeflateFlush::SyncFlush
    };
    let mut bytes = Vec::new();
    run(&mut deflate, block, flush, &mut bytes)?;
    Ok(Deflated {
        bytes,
        sum: adler32(1, block),
        length: block.len(),
    })
}

/// Compresses `bytes` to their end and appends what comes out.
fn run(deflate: &mut Deflate, bytes: &[u8], flush: DeflateFlush, out: &mut Vec<u8>) -> io::Result<()> {
    let start = deflate.total_in();
    let mut room = bytes.len() / 4 + 1_024;
    loop {
        let (at, before) = (out.len(), deflate.total_out());
        out.resize(at + room, 0);
        let taken = (deflate.total_in() - start) as usize;
        deflate
            .compress(&bytes[taken..], &mut out[at..], flush)
            .map_err(|error| io::Error::other(error.as_str()))?;
        let written = (deflate.total_out() - before) as usize;
        out.truncate(at + written);
        // Room that is left says that nothing is left to write.
        if written < room {
            return Ok(());
        }
        room = bytes.len() / 4 + 1_024;
    }
}

fn unwrapped(error: EncodingError) -> io::Error {
    match error {
        EncodingError::IoError(error) => error,
        error => io::Error::other(error),
    }
}

/// Pixels per metre, which PNG keeps as whole numbers; nothing for pixels too small or too large to say.
fn pixel_dimensions(pixel: Length) -> Option<PixelDimensions> {
    let (above, below) = pixel.terms();
    let (above, below) = (u128::from(above), u128::from(below));
    let per_metre = (2 * below + above) / (2 * above);
    let per_metre = u32::try_from(per_metre).ok().filter(|&n| n > 0)?;
    Some(PixelDimensions {
        xppu: per_metre,
        yppu: per_metre,
        unit: Unit::Meter,
    })
}
