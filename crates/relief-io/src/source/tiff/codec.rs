//! How the chunks of a TIFF are compressed, and how they are read back: by the crates that the formats have.

use std::io::{BufRead, BufReader, Read};

use flate2::bufread::ZlibDecoder;
use hayro_ccitt::{DecodeSettings, DecoderContext, EncodingMode};
use lzma_rust2::XzReader;
use ruzstd::decoding::StreamingDecoder;
use weezl::{BitOrder, LzwStatus};

use super::super::failure::Failure;

/// How chunks are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    None,
    /// Facsimile without lines of its own that end: each row begins at a byte.
    FaxRows,
    /// Group 3, where the flag says that rows refer to the row above.
    Fax3(bool),
    /// Group 4.
    Fax4,
    Lzw,
    Jpeg,
    Deflate,
    PackBits,
    Lzma,
    Zstandard,
}

/// The greatest window of Zstandard and dictionary of LZMA that is held.
pub(in super::super) const MAX_WINDOW: u64 = 128 << 20;

impl Codec {
    /// The codec of a value of the tag Compression.
    pub(super) fn new(compression: u64, t4: u64, t6: u64) -> Result<Self, Failure> {
        const UNCOMPRESSED: u64 = 2;
        let refused = |name: &str| {
            Err(Failure::unsupported(format!(
                "its compression is {name} ({compression}); none, LZW, Deflate, PackBits, CCITT Group 3 and 4, JPEG, \
                 LZMA and Zstandard are read"
            )))
        };
        match compression {
            1 => Ok(Self::None),
            2 => Ok(Self::FaxRows),
            3 if t4 & UNCOMPRESSED != 0 => refused("CCITT Group 3 with uncompressed parts"),
            3 => Ok(Self::Fax3(t4 & 1 == 1)),
            4 if t6 & UNCOMPRESSED != 0 => refused("CCITT Group 4 with uncompressed parts"),
            4 => Ok(Self::Fax4),
            5 => Ok(Self::Lzw),
            6 => refused("JPEG in the manner of TIFF 6.0, which TIFF has given up"),
            7 => Ok(Self::Jpeg),
            8 | 32_946 => Ok(Self::Deflate),
            9 | 10 | 34_661 => refused("JBIG"),
            32_766 => refused("NeXT"),
            32_771 => refused("CCITT with rows that begin at words"),
            32_773 => Ok(Self::PackBits),
            32_809 => refused("ThunderScan"),
            32_895..=32_898 => refused("one of IT8"),
            32_908 => refused("PIXAR film"),
            32_909 => refused("PIXAR log"),
            34_676 | 34_677 => refused("SGI LogLuv"),
            33_003 | 33_004 | 33_005 | 34_712 => refused("JPEG 2000"),
            34_887 => refused("LERC"),
            34_892 => refused("lossy JPEG of DNG"),
            34_925 => Ok(Self::Lzma),
            50_000 => Ok(Self::Zstandard),
            50_001 => refused("WebP"),
            22_610 | 34_934 => refused("JPEG XR"),
            50_002 | 52_546 => refused("JPEG XL"),
            _ => refused("unknown"),
        }
    }

    /// Whether a chunk's coded bytes are held as a whole.
    pub(super) fn holds_chunks(self) -> bool {
        matches!(self, Self::FaxRows | Self::Fax3(_) | Self::Fax4 | Self::Jpeg)
    }

    /// Whether rows may have been predicted: where not, the tag has no agreed meaning.
    pub(super) fn predicts(self) -> bool {
        matches!(self, Self::Lzw | Self::Deflate | Self::Lzma | Self::Zstandard)
    }

    pub(super) fn is_fax(self) -> bool {
        matches!(self, Self::FaxRows | Self::Fax3(_) | Self::Fax4)
    }

    /// The window that a chunk which begins so asks for, 0 for codecs of a fixed one.
    pub(super) fn window(self, start: &[u8]) -> u64 {
        match self {
            Self::Zstandard => zstandard_window(start).unwrap_or(0),
            // The filter LZMA2 has the number 0x21 and one byte, the size of its dictionary (xz, §5.3.1).
            Self::Lzma => start
                .windows(3)
                .skip(14)
                .find(|bytes| bytes[..2] == [0x21, 1])
                .map_or(0, |bytes| match bytes[2] {
                    size @ 0..=39 => (2 | u64::from(size & 1)) << (size / 2 + 11),
                    _ => u64::from(u32::MAX),
                }),
            _ => 0,
        }
    }

    /// Fills `out` with the first bytes of a chunk whose coded bytes are `input`; rows are of `columns` samples.
    pub(super) fn decode(
        self,
        input: &mut dyn BufRead,
        window: u64,
        columns: u64,
        row_bytes: usize,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        match self {
            Self::None => Ok(input.read_exact(out)?),
            Self::Deflate => Ok(ZlibDecoder::new(input).read_exact(out)?),
            Self::Lzw => lzw(input, out),
            Self::PackBits => packbits(input, out),
            Self::Lzma => {
                let kibibytes = u32::try_from(window / 1_024 + 1_024).unwrap_or(u32::MAX);
                Ok(XzReader::new_mem_limit(input, false, kibibytes).read_exact(out)?)
            }
            Self::Zstandard => {
                let decoder = StreamingDecoder::new_with_max_window_size(input, window.max(1_024));
                Ok(decoder.map_err(Failure::damaged)?.read_exact(out)?)
            }
            Self::FaxRows | Self::Fax3(_) | Self::Fax4 => {
                let mut coded = Vec::new();
                input.read_to_end(&mut coded)?;
                self.fax(&coded, columns, row_bytes, out)
            }
            // Read by `super::jpeg`, which needs to know the colours.
            Self::Jpeg => Err(Failure::damaged("it is a JPEG")),
        }
    }

    fn fax(self, coded: &[u8], columns: u64, row_bytes: usize, out: &mut [u8]) -> Result<(), Failure> {
        let rows = out.len() / row_bytes.max(1);
        let settings = DecodeSettings {
            columns: u32::try_from(columns).map_err(Failure::damaged)?,
            rows: u32::try_from(rows).map_err(Failure::damaged)?,
            end_of_block: true,
            end_of_line: false,
            rows_are_byte_aligned: self == Self::FaxRows,
            encoding: match self {
                Self::Fax4 => EncodingMode::Group4,
                Self::Fax3(true) => EncodingMode::Group3_2D,
                _ => EncodingMode::Group3_1D,
            },
            strict: true,
        };
        out.fill(0);
        let mut sink = FaxRows {
            rows: out.chunks_exact_mut(row_bytes.max(1)),
            columns: columns as usize,
            count: 0,
        };
        let outcome = hayro_ccitt::decode(coded, &mut sink, &mut DecoderContext::new(settings));
        // What follows the rows that count is of no interest.
        if sink.count < rows {
            return Err(match outcome {
                Err(error) => Failure::damaged(format!("its row {} is not facsimile: {error}", sink.count)),
                Ok(_) => Failure::damaged(format!("it has {} rows of {rows}", sink.count)),
            });
        }
        Ok(())
    }
}

/// Takes rows as places at which the colour changes, and sets the bits of black pixels.
struct FaxRows<'a> {
    rows: std::slice::ChunksExactMut<'a, u8>,
    columns: usize,
    count: usize,
}

impl hayro_ccitt::Decoder for FaxRows<'_> {
    fn push_row(&mut self, changes: &[u32]) {
        let Some(row) = self.rows.next() else {
            return;
        };
        self.count += 1;
        for run in changes.chunks(2) {
            let start = run[0] as usize;
            let end = run
                .get(1)
                .map_or(self.columns, |&end| end as usize)
                .min(self.columns);
            for x in start..end {
                row[x / 8] |= 0x80 >> (x % 8);
            }
        }
    }
}

fn lzw(input: &mut dyn BufRead, out: &mut [u8]) -> Result<(), Failure> {
    // Before TIFF 5.0 codes stood the other way round: the first, 256 of 9 bits, began with a byte of 0.
    let old = matches!(input.fill_buf()?, [0, second, ..] if second & 1 == 1);
    let mut decoder = if old {
        weezl::decode::Decoder::new(BitOrder::Lsb, 8)
    } else {
        weezl::decode::Decoder::with_tiff_size_switch(BitOrder::Msb, 8)
    };
    let mut filled = 0;
    while filled < out.len() {
        let coded = input.fill_buf()?;
        let ended = coded.is_empty();
        let step = decoder.decode_bytes(coded, &mut out[filled..]);
        input.consume(step.consumed_in);
        filled += step.consumed_out;
        let stuck = step.consumed_in == 0 && step.consumed_out == 0;
        match step.status {
            Ok(LzwStatus::Done) => break,
            Ok(_) if stuck || ended && step.consumed_out == 0 => break,
            Ok(_) => {}
            Err(_) => return Err(Failure::damaged("a code of its LZW stands for nothing")),
        }
    }
    if filled < out.len() {
        return Err(Failure::damaged(format!(
            "it ends too early: {filled} bytes of {} are there",
            out.len()
        )));
    }
    Ok(())
}

/// TIFF 6.0, page 42.
fn packbits(input: &mut dyn BufRead, out: &mut [u8]) -> Result<(), Failure> {
    let mut byte = [0];
    let mut filled = 0;
    while filled < out.len() {
        input.read_exact(&mut byte)?;
        let left = &mut out[filled..];
        match byte[0].cast_signed() {
            -128 => {}
            run @ ..0 => {
                input.read_exact(&mut byte)?;
                let count = (1 + usize::from(run.unsigned_abs())).min(left.len());
                left[..count].fill(byte[0]);
                filled += count;
            }
            run => {
                let count = (1 + usize::from(run.unsigned_abs())).min(left.len());
                input.read_exact(&mut left[..count])?;
                filled += count;
            }
        }
    }
    Ok(())
}

/// The window of a frame: RFC 8878, §3.1.1.1.
fn zstandard_window(start: &[u8]) -> Option<u64> {
    let frame = start.strip_prefix(&[0x28, 0xB5, 0x2F, 0xFD])?;
    let (&descriptor, rest) = frame.split_first()?;
    if descriptor & 0x20 == 0 {
        let window = *rest.first()?;
        let base = 1_u64 << (10 + (window >> 3));
        return Some(base + base / 8 * u64::from(window & 7));
    }
    // A single segment: the window is the content.
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let size = [1, 2, 4, 8][usize::from(descriptor >> 6)];
    let content = rest.get(dictionary..dictionary + size)?;
    let content = content
        .iter()
        .rev()
        .fold(0, |size, byte| size << 8 | u64::from(*byte));
    Some(if size == 2 { content + 256 } else { content })
}

/// Bytes whose bits stand the other way round: FillOrder 2.
struct Reversed<R>(R);

impl<R: Read> Read for Reversed<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.0.read(into)?;
        into[..count]
            .iter_mut()
            .for_each(|byte| *byte = byte.reverse_bits());
        Ok(count)
    }
}

/// A reader of the bytes of `input` with the bits of each the other way round.
pub(super) fn reversed<'a>(input: impl Read + 'a) -> impl BufRead + 'a {
    BufReader::new(Reversed(input))
}
