//! Samples as the bytes of a chunk, or of a shard of chunks.

use std::collections::HashMap;
use std::io;
use std::ops::Range;

use relief_engine::sink::Samples;

use super::GZIP;
use crate::sink::compression::Compressor;

/// How chunks are encoded.
#[derive(Clone, Copy, Debug)]
pub(in crate::sink) struct Encoder {
    pub(in crate::sink) gzip: bool,
    /// Columns and rows of a chunk.
    pub(in crate::sink) chunk: (u64, u64),
    /// Columns and rows of a shard, where chunks lie in shards.
    pub(in crate::sink) shard: Option<(u64, u64)>,
    /// Equal chunks of a shard lie at one place.
    pub(in crate::sink) share: bool,
    /// Bytes of a sample.
    pub(in crate::sink) sample: u64,
}

/// The offset and the length of a chunk of a shard that is not there: all of it is the fill value.
const ABSENT: u64 = u64::MAX;

/// Memory that is used again.
#[derive(Debug, Default)]
pub(in crate::sink) struct Memory {
    packed: Vec<u8>,
    compressor: Compressor,
    /// The bytes of the file.
    pub(in crate::sink) out: Vec<u8>,
}

impl Encoder {
    /// The bytes of a chunk before it is compressed.
    pub(in crate::sink) const fn chunk_bytes(&self) -> u64 {
        self.chunk
            .0
            .saturating_mul(self.chunk.1)
            .saturating_mul(self.sample)
    }

    /// What a thread holds to encode a file, beside its samples.
    pub(in crate::sink) const fn memory(&self) -> u64 {
        let gzip = if self.gzip { GZIP } else { 0 };
        self.chunk_bytes()
            .saturating_add(self.most())
            .saturating_add(gzip)
    }

    /// Chunks along the sides of a file.
    const fn inner(&self) -> (u64, u64) {
        let shard = match self.shard {
            Some(shard) => shard,
            None => self.chunk,
        };
        (shard.0 / self.chunk.0, shard.1 / self.chunk.1)
    }

    /// The most bytes of a file.
    pub(in crate::sink) const fn most(&self) -> u64 {
        let (across, down) = self.inner();
        let chunk = self.chunk_bytes();
        // Gzip stores what does not shrink in blocks of 2^16 − 1 bytes with 5 bytes each.
        let stored = if self.gzip {
            chunk + chunk / 1_024 + 64
        } else {
            chunk
        };
        across
            .saturating_mul(down)
            .saturating_mul(stored.saturating_add(16))
            + 4
    }

    /// Encodes the samples of a file, rows of `columns`; false where all are the fill value, so that none need be written.
    pub(in crate::sink) fn encode(
        &self,
        samples: Samples<'_>,
        columns: usize,
        memory: &mut Memory,
    ) -> io::Result<bool> {
        memory.out.clear();
        if !self.gzip || self.shard.is_none() {
            // A list that grows has room for twice as much.
            memory.out.reserve_exact(self.most() as usize);
        }
        let rows = samples.len() / columns.max(1);
        if self.shard.is_none() {
            return self.append(samples, columns, (0..columns, 0..rows), memory);
        }
        let (across, down) = self.inner();
        let (width, height) = (self.chunk.0 as usize, self.chunk.1 as usize);
        let mut index = Vec::with_capacity((across * down) as usize * 16 + 4);
        let mut known: HashMap<blake3::Hash, (u64, u64)> = HashMap::new();
        let mut is_there = false;
        for number in 0..across * down {
            let (column, row) = (
                (number % across) as usize * width,
                (number / across) as usize * height,
            );
            let part = (
                column.min(columns)..(column + width).min(columns),
                row.min(rows)..(row + height).min(rows),
            );
            let start = memory.out.len();
            let mut place = (ABSENT, ABSENT);
            if !part.0.is_empty() && !part.1.is_empty() && self.append(samples, columns, part, memory)? {
                is_there = true;
                place = (start as u64, (memory.out.len() - start) as u64);
                if self.share {
                    let digest = blake3::hash(&memory.out[start..]);
                    let first = *known.entry(digest).or_insert(place);
                    if first != place {
                        memory.out.truncate(start);
                        place = first;
                    }
                }
            }
            index.extend_from_slice(&place.0.to_le_bytes());
            index.extend_from_slice(&place.1.to_le_bytes());
        }
        index.extend_from_slice(&crc32c::crc32c(&index).to_le_bytes());
        memory.out.extend_from_slice(&index);
        Ok(is_there)
    }

    /// Appends a chunk of these columns and rows of the samples; what the samples have not of it is the fill value. Nothing is
    /// appended, and false given, where all of it is.
    fn append(
        &self,
        samples: Samples<'_>,
        columns: usize,
        (across, down): (Range<usize>, Range<usize>),
        memory: &mut Memory,
    ) -> io::Result<bool> {
        let Memory {
            packed,
            compressor,
            out,
        } = memory;
        let bytes = self.chunk_bytes() as usize;
        let start = out.len();
        // What is not compressed is laid where it is written from.
        let chunk = if self.gzip {
            packed.clear();
            packed.resize(bytes, 0);
            &mut packed[..]
        } else {
            out.resize(start + bytes, 0);
            &mut out[start..]
        };
        let row_bytes = (self.chunk.0 * self.sample) as usize;
        let mut is_there = false;
        for (row, to) in down.zip(chunk.chunks_exact_mut(row_bytes)) {
            let range = row * columns + across.start..row * columns + across.end;
            match samples {
                Samples::Eight(samples) => {
                    let from = &samples[range];
                    is_there = is_there || from.iter().any(|&sample| sample != 0);
                    to[..from.len()].copy_from_slice(from);
                }
                Samples::Sixteen(samples) => {
                    let from = &samples[range];
                    is_there = is_there || from.iter().any(|&sample| sample != 0);
                    for (to, from) in to.chunks_exact_mut(2).zip(from) {
                        to.copy_from_slice(&from.to_le_bytes());
                    }
                }
            }
        }
        if !is_there {
            out.truncate(start);
            return Ok(false);
        }
        if self.gzip {
            compressor.gzip(packed, out)?;
        }
        Ok(true)
    }
}
