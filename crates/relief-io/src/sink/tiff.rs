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
use relief_raster::Length;

use super::byte_order::{ByteOrder, SampleWriter};
use super::file::Encoding;
use super::output::Output;

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

    fn bytes(&self, raster: &Raster) -> Option<u128> {
        Some(u128::from(Layout::new(raster, self.kind).samples()) + raster.bytes())
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

/// Pixels per centimetre or per inch as a fraction, and the unit: 3 for centimetres, 2 for inches, 1 for no unit.
///
/// The unit is the inch where that holds a whole number of pixels and the centimetre does not. Where the exact fraction has a term of more than 32 bits, it is the nearest one that has not, of no pixel that is
/// smaller or larger than 32 bits can say.
pub(super) fn resolution(pixel: Option<Length>) -> ((u32, u32), u64) {
    let Some(pixel) = pixel else {
        return ((1, 1), 1);
    };
    let (above, below) = pixel.terms();
    let (above, below) = (u128::from(above), u128::from(below));
    // A centimetre is 1/100 m, an inch 254/10000 m.
    let (centimetre, inch) = ((below, 100 * above), (254 * below, 10_000 * above));
    if !centimetre.0.is_multiple_of(centimetre.1) && inch.0.is_multiple_of(inch.1) {
        (nearest_fraction(inch.0, inch.1), 2)
    } else {
        (nearest_fraction(centimetre.0, centimetre.1), 3)
    }
}

/// The fraction nearest to n / d whose terms have at most 32 bits and are not 0. Both n and d are not 0.
///
/// The convergents of the continued fraction come ever nearer. The best fraction within the bound is the last
/// convergent that fits, or the semiconvergent after it with the largest multiple that fits: A. Ya. Khinchin,
/// *Continued Fractions*, §6.
fn nearest_fraction(n: u128, d: u128) -> (u32, u32) {
    const MAX: u128 = u32::MAX as u128;
    // Outside of what the terms can say, the end of their range is nearest.
    if n > MAX * d {
        return (u32::MAX, 1);
    }
    if d > MAX * n {
        return (1, u32::MAX);
    }
    let (mut rest, mut divisor) = (n, d);
    // Numerator and denominator of the convergent before the last one, and of the last.
    let (mut before, mut last) = ((0_u128, 1_u128), (1_u128, 0_u128));
    while divisor > 0 {
        let term = rest / divisor;
        let next = |times: u128| (times * last.0 + before.0, times * last.1 + before.1);
        let fits = |(x, y): (u128, u128)| x <= MAX && y <= MAX;
        if !fits(next(term)) {
            let times = |room: u128, step: u128| room.checked_div(step).unwrap_or(u128::MAX);
            let most = times(MAX - before.0, last.0).min(times(MAX - before.1, last.1));
            let semi = next(most);
            last = nearer((n, d), semi, last);
            break;
        }
        (before, last) = (last, next(term));
        (rest, divisor) = (divisor, rest % divisor);
    }
    // Both have 32 bits by now, and neither is 0 within the range above.
    let term = |term: u128| u32::try_from(term.max(1)).unwrap_or(u32::MAX);
    (term(last.0), term(last.1))
}

/// Which of two fractions, of terms of 32 bits, is nearer to n / d. One without a denominator or numerator is none.
fn nearer((n, d): (u128, u128), a: (u128, u128), b: (u128, u128)) -> (u128, u128) {
    // |x / y − n / d| · d, as a fraction: the same order, and products of at most 104 bits, as n and d have at most 72.
    let error = |(x, y): (u128, u128)| ((x * d).abs_diff(n * y), y);
    let is_fraction = |(x, y): (u128, u128)| x > 0 && y > 0;
    if !is_fraction(a) || !is_fraction(b) {
        return if is_fraction(a) { a } else { b };
    }
    let ((first, y), (second, z)) = (error(a), error(b));
    // first / y ≤ second / z. A convergent is off by at most d / y, so that the products have at most 104 bits.
    if first * z <= second * y { a } else { b }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::sync::{Arc, Mutex};

    use relief_engine::sink::{Band, Sink};
    use relief_raster::{Depth, Rect};
    use tiff::decoder::{Decoder, DecodingResult};

    use super::*;
    use crate::sink::{FileSink, Format, Target};

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
        Raster::new(width, height, depth).with_pixel(Length::picometres(1_000_000))
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
            let mut sink = FileSink::with(
                Target::Writer(Box::new(bytes.clone())),
                Format::Tiff,
                Box::new(Tiff::big()),
            );
            sink.begin(&raster).unwrap();
            let rect = Rect::sized(width, height);
            sink.write(&Band::new(rect, Samples::Sixteen(&samples))).unwrap();
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
        assert_eq!(resolution(Length::picometres(10_000_000)), ((1_000, 1), 3)); // 10 µm
        assert_eq!(resolution(Length::picometres(1_000_000)), ((10_000, 1), 3)); // 1 µm
        assert_eq!(resolution(Length::picometres(1_000_000_000_000)), ((1, 100), 3)); // 1 m
        assert_eq!(resolution(None), ((1, 1), 1));
        // Whole numbers of pixels an inch, which a centimetre has no whole number of.
        assert_eq!(resolution(Length::dpi(1_200)), ((1_200, 1), 2));
        assert_eq!(resolution(Length::dpi(300)), ((300, 1), 2));
        assert_eq!(resolution(Length::metres(1, 3)), ((3, 100), 3));
    }

    /// How far a fraction is from a centimetre over a pixel, relative to it, in units of 10⁻¹²: exact but for the last.
    fn relative_error((x, y): (u32, u32), pixel: u64) -> u128 {
        const CENTIMETRE: u128 = 10_000_000_000;
        let (found, exact) = (u128::from(x) * u128::from(pixel), CENTIMETRE * u128::from(y));
        found.abs_diff(exact) * 1_000_000 / (exact / 1_000_000).max(1)
    }

    #[test]
    fn the_resolution_of_any_pixel_is_right_to_a_thousand_millionth() {
        // Whole picometres: all small ones, powers with their neighbours, inches over whole numbers, and scattered.
        let small = 3..20_000_u64;
        let near_powers = (1..14).flat_map(|power| {
            let power = 10_u64.pow(power);
            (power.saturating_sub(40).max(3)..power + 40).chain([power * 7 / 3, power * 22 / 7])
        });
        let inches = (1..5_000_u64).map(|dpi| 25_400_000_000 / dpi);
        let scattered = (1..20_000_u64)
            .map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (20 + i % 40))
            .filter(|&pixel| pixel > 2);
        for pixel in small.chain(near_powers).chain(inches).chain(scattered) {
            let (fraction, unit) = resolution(Length::picometres(pixel));
            if unit == 2 {
                assert_eq!(
                    u64::from(fraction.0) * pixel,
                    25_400_000_000 * u64::from(fraction.1)
                );
                continue;
            }
            assert_eq!(unit, 3);
            let error = relative_error(fraction, pixel);
            assert!(error <= 1_000, "{pixel} pm: {fraction:?} is off by {error}e-12");
        }
    }

    /// |x / y − n / d|, as a fraction.
    fn distance((x, y): (u128, u128), (n, d): (u128, u128)) -> (u128, u128) {
        ((x * d).abs_diff(n * y), y * d)
    }

    #[test]
    fn no_other_fraction_is_nearer() {
        const MAX: u128 = u32::MAX as u128;
        // The larger term is so large that the smaller one has few values: all are tried.
        let small = (3..700).map(|pixel| (10_000_000_000_u128, pixel));
        let large = (1..180).map(|i| {
            (
                10_000_000_000,
                100_000_000_000_000_000 * i + 7_777_777_777 * i * i + 1,
            )
        });
        for (n, d) in small.chain(large) {
            let found = nearest_fraction(n, d);
            let found = (u128::from(found.0), u128::from(found.1));
            let (far, near) = distance(found, (n, d));
            let most = MAX * n.min(d) / n.max(d);
            for term in 1..=most {
                let other = |term: u128| (term * n.max(d) + n.min(d) / 2) / n.min(d);
                let other = if n > d {
                    (other(term), term)
                } else {
                    (term, other(term))
                };
                if other.0.max(other.1) > MAX {
                    continue;
                }
                let (error, of) = distance(other, (n, d));
                // far / near ≤ error / of, where both denominators share d.
                assert!(
                    far * (of / d) <= error * (near / d),
                    "{n} / {d}: {found:?} and {other:?}"
                );
            }
        }
    }

    #[test]
    fn pixels_beyond_what_the_fraction_can_say_are_at_its_ends() {
        assert_eq!(resolution(Length::picometres(1)), ((u32::MAX, 1), 3));
        assert_eq!(resolution(Length::picometres(2)), ((u32::MAX, 1), 3));
        assert_eq!(
            resolution(Length::picometres(u64::MAX)).0,
            nearest_fraction(10_000_000_000, u64::MAX.into())
        );
        assert_eq!(nearest_fraction(1, u64::MAX.into()), (1, u32::MAX));
    }
}
