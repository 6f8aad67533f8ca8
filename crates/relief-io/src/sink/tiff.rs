//! TIFF: uncompressed gray in strips; BigTIFF where offsets would exceed 32 bits.
//!
//! Without compression every offset is known before the first sample, so that the whole directory stands before the
//! samples and the file can be written in one pass, to a pipe too, in no memory. The crate `tiff` cannot do that: its
//! encoder takes whole strips, keeps a list of them, borrows its file, and goes back to write the directory at the
//! end. Samples are little-endian ("II").
//!
//! Formats: TIFF 6.0, §2 and §4 (Adobe, 1992), and <https://www.awaresystems.be/imaging/tiff/bigtiff.html>.

use std::io::{self, Write};

use relief_engine::sink::{Raster, Samples};

use super::SinkError;
use super::byte_order::{ByteOrder, SampleWriter};
use super::file::Encoding;
use super::output::Output;

/// The longest side: TIFF keeps sides in 32 bits.
const MAX_SIDE: u64 = u32::MAX as u64;

/// A strip has at least this many bytes, where the raster has.
const STRIP_BYTES: u64 = 64 * 1024;

/// A file has at most this many strips, so that a reader can keep their offsets.
const MAX_STRIPS: u64 = 65_536;

/// The number of entries of the directory.
const ENTRIES: u64 = 12;

/// Which of the two formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// 32-bit offsets.
    Classic,
    /// 64-bit offsets.
    Big,
}

impl Kind {
    /// Header, number of entries, entries, and the offset of the next directory, which there is not.
    const fn directory(self) -> u64 {
        match self {
            Self::Classic => 8 + 2 + 12 * ENTRIES + 4,
            Self::Big => 16 + 8 + 20 * ENTRIES + 8,
        }
    }

    const fn offset_bytes(self) -> u64 {
        match self {
            Self::Classic => 4,
            Self::Big => 8,
        }
    }
}

#[derive(Debug)]
pub(super) struct Tiff {
    samples: SampleWriter,
    /// The kind, where the size of the raster is not to decide it.
    kind: Option<Kind>,
}

impl Tiff {
    pub(super) const fn new() -> Self {
        Self {
            samples: SampleWriter::new(ByteOrder::Little),
            kind: None,
        }
    }

    /// BigTIFF whatever the size.
    #[cfg(test)]
    pub(super) const fn big() -> Self {
        Self {
            samples: SampleWriter::new(ByteOrder::Little),
            kind: Some(Kind::Big),
        }
    }
}

impl Encoding for Tiff {
    fn memory(&self, _: &Raster) -> u64 {
        ByteOrder::Little.memory()
    }

    fn check(&self, raster: &Raster) -> Result<(), SinkError> {
        let Raster { width, height, .. } = *raster;
        if width.max(height) > MAX_SIDE {
            return Err(SinkError::TooLarge {
                format: "TIFF",
                limit: MAX_SIDE,
                width,
                height,
            });
        }
        Ok(())
    }

    fn header(&mut self, raster: &Raster, output: &mut Output) -> io::Result<()> {
        Layout::new(raster, self.kind).write(raster, output)
    }

    fn samples(&mut self, samples: Samples<'_>, output: &mut Output) -> io::Result<()> {
        self.samples.write(samples, output)
    }

    fn trailer(&mut self, _: &mut Output) -> io::Result<()> {
        Ok(())
    }
}

/// Where everything lies in the file: directory, resolutions, strip offsets, strip lengths, samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    kind: Kind,
    rows: u64,
    row_bytes: u64,
    rows_per_strip: u64,
    strips: u64,
}

impl Layout {
    /// The layout of a raster whose sides fit in 32 bits.
    fn new(raster: &Raster, kind: Option<Kind>) -> Self {
        let row_bytes = raster.width * raster.depth.bytes();
        let rows_per_strip = STRIP_BYTES
            .div_ceil(row_bytes)
            .max(raster.height.div_ceil(MAX_STRIPS))
            .min(raster.height);
        let strips = raster.height.div_ceil(rows_per_strip);
        let layout = |kind| Self {
            kind,
            rows: raster.height,
            row_bytes,
            rows_per_strip,
            strips,
        };
        let classic = layout(Kind::Classic);
        let fits = raster.bytes() + u128::from(classic.samples()) <= u128::from(u32::MAX);
        layout(kind.unwrap_or(if fits { Kind::Classic } else { Kind::Big }))
    }

    /// Two rationals of 8 bytes each.
    const fn resolutions(&self) -> u64 {
        self.kind.directory()
    }

    const fn strip_offsets(&self) -> u64 {
        self.resolutions() + 16
    }

    const fn strip_lengths(&self) -> u64 {
        self.strip_offsets() + self.strips * self.kind.offset_bytes()
    }

    /// Where the samples start: on a multiple of 16 bytes.
    const fn samples(&self) -> u64 {
        (self.strip_lengths() + self.strips * self.kind.offset_bytes()).next_multiple_of(16)
    }

    fn strip_offset(&self, strip: u64) -> u64 {
        // At most 2^32 rows of 2^33 bytes would overflow only past the end of what a disk can hold.
        self.samples()
            .saturating_add((strip * self.rows_per_strip).saturating_mul(self.row_bytes))
    }

    fn strip_length(&self, strip: u64) -> u64 {
        let first = strip * self.rows_per_strip;
        self.rows_per_strip
            .min(self.rows - first)
            .saturating_mul(self.row_bytes)
    }

    /// Writes everything that stands before the samples.
    fn write(&self, raster: &Raster, output: &mut impl Write) -> io::Result<()> {
        let mut out = Fields {
            kind: self.kind,
            output,
        };
        out.start()?;
        let lists = match self.kind {
            Kind::Classic => Type::Long,
            Kind::Big => Type::Long8,
        };
        // A list of one stands in its entry.
        let list = |offset: u64, value: u64| if self.strips == 1 { value } else { offset };
        let ((x, unit), resolutions) = (resolution(raster.pixel), self.resolutions());
        out.entry(256, Type::Long, 1, raster.width)?; // ImageWidth
        out.entry(257, Type::Long, 1, raster.height)?; // ImageLength
        out.entry(258, Type::Short, 1, u64::from(raster.depth.bits()))?; // BitsPerSample
        out.entry(259, Type::Short, 1, 1)?; // Compression: none
        out.entry(262, Type::Short, 1, 1)?; // PhotometricInterpretation: black is zero
        out.entry(
            273,
            lists,
            self.strips,
            list(self.strip_offsets(), self.strip_offset(0)),
        )?; // StripOffsets
        out.entry(277, Type::Short, 1, 1)?; // SamplesPerPixel
        out.entry(278, Type::Long, 1, self.rows_per_strip)?; // RowsPerStrip
        out.entry(
            279,
            lists,
            self.strips,
            list(self.strip_lengths(), self.strip_length(0)),
        )?; // StripByteCounts
        out.resolution(282, resolutions, x)?; // XResolution
        out.resolution(283, resolutions + 8, x)?; // YResolution
        out.entry(296, Type::Short, 1, unit)?; // ResolutionUnit
        out.offset(0)?; // no other directory
        for _ in 0..2 {
            out.long(x.0)?;
            out.long(x.1)?;
        }
        (0..self.strips).try_for_each(|strip| out.offset(self.strip_offset(strip)))?;
        (0..self.strips).try_for_each(|strip| out.offset(self.strip_length(strip)))?;
        let written = self.strip_lengths() + self.strips * self.kind.offset_bytes();
        let padding = usize::try_from(self.samples() - written).unwrap_or(0);
        out.output.write_all(&[0; 16][..padding])
    }
}

/// The types of values in a directory, by their number.
#[derive(Clone, Copy)]
enum Type {
    Short = 3,
    Long = 4,
    Rational = 5,
    Long8 = 16,
}

/// Writes the fields of one of the two formats.
struct Fields<'a, W> {
    kind: Kind,
    output: &'a mut W,
}

impl<W: Write> Fields<'_, W> {
    /// The header, which says that the directory follows at once, and the number of its entries.
    fn start(&mut self) -> io::Result<()> {
        match self.kind {
            Kind::Classic => {
                self.output.write_all(b"II\x2A\0\x08\0\0\0")?;
                self.output.write_all(&(ENTRIES as u16).to_le_bytes())
            }
            Kind::Big => {
                self.output.write_all(b"II\x2B\0\x08\0\0\0\x10\0\0\0\0\0\0\0")?;
                self.output.write_all(&ENTRIES.to_le_bytes())
            }
        }
    }

    /// One entry; a value shorter than its field stands at the start of it, which little-endian makes the same.
    fn entry(&mut self, tag: u16, kind: Type, count: u64, value: u64) -> io::Result<()> {
        self.output.write_all(&tag.to_le_bytes())?;
        self.output.write_all(&(kind as u16).to_le_bytes())?;
        self.offset(count)?;
        self.offset(value)
    }

    /// One rational, which stands in its entry where that has 8 bytes and elsewhere at `offset`.
    fn resolution(&mut self, tag: u16, offset: u64, (x, y): (u32, u32)) -> io::Result<()> {
        let value = match self.kind {
            Kind::Classic => offset,
            Kind::Big => u64::from(x) | u64::from(y) << 32,
        };
        self.entry(tag, Type::Rational, 1, value)
    }

    fn long(&mut self, value: u32) -> io::Result<()> {
        self.output.write_all(&value.to_le_bytes())
    }

    /// A number of 32 bits, or of 64 in BigTIFF.
    fn offset(&mut self, value: u64) -> io::Result<()> {
        match self.kind {
            // The layout is classic only where every number of it fits.
            Kind::Classic => self.long(u32::try_from(value).map_err(io::Error::other)?),
            Kind::Big => self.output.write_all(&value.to_le_bytes()),
        }
    }
}

/// Pixels per centimetre as a fraction, and the unit: 3 for centimetres, 1 for no unit.
///
/// A fraction whose terms exceed 32 bits is rounded: that of pixels below 3 pm or sides with a long fraction.
fn resolution(pixel: Option<u64>) -> ((u32, u32), u64) {
    const CENTIMETRE: u64 = 10_000_000_000;
    let Some(pixel) = pixel.filter(|&pixel| pixel > 0) else {
        return ((1, 1), 1);
    };
    let divisor = gcd(CENTIMETRE, pixel);
    let (mut x, mut y) = (CENTIMETRE / divisor, pixel / divisor);
    while x.max(y) > u64::from(u32::MAX) {
        (x, y) = (x / 2, y / 2);
    }
    let term = |n: u64| u32::try_from(n.max(1)).unwrap_or(u32::MAX);
    ((term(x), term(y)), 3)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::sync::{Arc, Mutex};

    use relief_engine::sink::{Band, Sink};
    use relief_raster::{Depth, Rect};
    use tiff::decoder::{Decoder, DecodingResult};

    use super::*;
    use crate::sink::{FileSink, Target};

    /// A writer whose bytes can be looked at afterwards.
    #[derive(Clone, Default)]
    struct Bytes(Arc<Mutex<Vec<u8>>>);

    impl Write for Bytes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn raster(width: u64, height: u64, depth: Depth) -> Raster {
        Raster {
            width,
            height,
            depth,
            pixel: Some(1_000_000),
        }
    }

    fn number(file: &[u8], start: u64, bytes: u64) -> u64 {
        let field = &file[start as usize..(start + bytes) as usize];
        field
            .iter()
            .rev()
            .fold(0, |number, &byte| number << 8 | u64::from(byte))
    }

    /// The values of a tag whose type has this size, read by the specification.
    fn values(file: &[u8], tag: u64) -> Vec<u64> {
        let big = number(file, 2, 2) == 43;
        let (offset, count, entry) = if big { (8, 8, 20) } else { (4, 2, 12) };
        let directory = number(file, if big { 8 } else { 4 }, offset);
        let entries = (0..number(file, directory, count)).map(|i| directory + count + i * entry);
        let found = entries
            .into_iter()
            .find(|&at| number(file, at, 2) == tag)
            .expect("the tag is there");
        let size = match number(file, found + 2, 2) {
            3 => 2,
            4 => 4,
            16 => 8,
            other => panic!("type {other}"),
        };
        let n = number(file, found + 4, offset);
        let value = found + 4 + offset;
        let start = if n * size <= offset {
            value
        } else {
            number(file, value, offset)
        };
        (0..n).map(|i| number(file, start + i * size, size)).collect()
    }

    /// Everything before the samples.
    fn head(raster: &Raster, kind: Option<Kind>) -> Vec<u8> {
        let mut file = Vec::new();
        Layout::new(raster, kind).write(raster, &mut file).unwrap();
        file
    }

    #[test]
    fn strips_follow_one_another_from_the_end_of_the_head_to_the_end_of_the_samples() {
        for (width, height, depth) in [
            (1, 1, Depth::Eight),
            (7, 100_000, Depth::Sixteen),
            (70_000, 3, Depth::Eight),
            (65_536, 65_535, Depth::Eight),
            (65_536, 65_536, Depth::Eight),
            (2_000_000, 1_800_000, Depth::Eight),
            (1_000, 4_000_000_000, Depth::Sixteen),
            (4_294_967_295, 4_294_967_295, Depth::Eight),
        ] {
            let raster = raster(width, height, depth);
            let file = head(&raster, None);
            let (offsets, lengths) = (values(&file, 273), values(&file, 279));
            let rows = values(&file, 278)[0];
            assert_eq!(offsets.len() as u64, height.div_ceil(rows));
            assert!(offsets.len() <= 65_536, "{} strips", offsets.len());
            let mut next = file.len() as u64;
            for (offset, length) in offsets.iter().zip(&lengths) {
                assert_eq!(*offset, next);
                next += length;
            }
            assert_eq!(
                u128::from(next),
                file.len() as u128 + raster.bytes(),
                "{width} × {height}"
            );
            assert!(lengths.iter().rev().skip(1).all(|&length| length >= STRIP_BYTES));
        }
    }

    #[test]
    fn a_file_is_classic_up_to_4_gib_and_big_past_that() {
        let width = 65_536;
        let version = |height| number(&head(&raster(width, height, Depth::Eight), None), 2, 2);
        // The head of 65 536 strips takes 524 508 bytes: a little more than 8 rows.
        assert_eq!(version(65_526), 42);
        assert_eq!(version(65_528), 43);
        assert_eq!(version(65_536), 43);
    }

    #[test]
    fn a_big_tiff_decodes_to_the_samples_written() {
        for (width, height) in [(1, 1), (301, 997)] {
            let raster = raster(width, height, Depth::Sixteen);
            let samples: Vec<u16> = (0..width * height)
                .map(|i| (i * 40_503 % 65_521) as u16)
                .collect();
            let bytes = Bytes::default();
            let mut sink = FileSink::with(Target::Writer(Box::new(bytes.clone())), Box::new(Tiff::big()));
            sink.begin(&raster).unwrap();
            let rect = Rect::sized(width, height);
            sink.write(&Band {
                rect,
                samples: Samples::Sixteen(&samples),
            })
            .unwrap();
            sink.finish().unwrap();
            let file = bytes.0.lock().unwrap();
            assert_eq!(file[..16], *b"II\x2B\0\x08\0\0\0\x10\0\0\0\0\0\0\0");
            let mut decoder = Decoder::new(Cursor::new(&*file)).unwrap();
            assert_eq!(decoder.dimensions().unwrap(), (width as u32, height as u32));
            let DecodingResult::U16(decoded) = decoder.read_image().unwrap() else {
                panic!("16 bits")
            };
            assert!(decoded == samples);
        }
    }

    #[test]
    fn the_resolution_is_exact_where_its_fraction_fits() {
        assert_eq!(resolution(Some(10_000_000)), ((1_000, 1), 3)); // 10 µm
        assert_eq!(resolution(Some(1_000_000)), ((10_000, 1), 3)); // 1 µm
        assert_eq!(resolution(Some(1_000_000_000_000)), ((1, 100), 3)); // 1 m
        assert_eq!(resolution(None), ((1, 1), 1));
        for pixel in [1, 3, u64::MAX] {
            let ((x, y), _) = resolution(Some(pixel));
            assert!(x > 0 && y > 0, "{pixel}");
        }
    }
}
