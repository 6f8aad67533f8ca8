//! What sinks write, and what they leave behind.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::io::{self, Cursor, Write};

use crate::raster::{Cut, Whole, names};
use proptest::prelude::*;
use relief_engine::sink::{Raster, Sink};
use relief_io::{ByteFile, Cleanup, DigestSink, FileSink, Format, NullSink, Target, Tee};
use relief_raster::Depth;
use tempfile::TempDir;

const FILE_FORMATS: [Format; 4] = [Format::Raw, Format::Pgm, Format::Png, Format::Tiff];

/// The file of a raster.
fn file(whole: &Whole, format: Format, cut: Cut) -> Vec<u8> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("raster");
    whole
        .stream(&mut FileSink::new(Target::Path(path.clone()), format), cut)
        .unwrap();
    assert_eq!(names(folder.path()), ["raster"]);
    fs::read(path).unwrap()
}

/// Width, height, depth and samples of a file, by decoders other than this crate's.
fn decoded(bytes: &[u8], format: Format, raster: &Raster) -> (u64, u64, Depth, Vec<u16>) {
    match format {
        Format::Png => decoded_png(bytes),
        Format::Tiff => decoded_tiff(bytes),
        Format::Pgm => decoded_pgm(bytes),
        Format::Bmp | Format::Stl => panic!("bits.rs and solids.rs read these"),
        Format::Raw | Format::Dzi | Format::Zarr | Format::Gcode | Format::Null => {
            let samples = match raster.depth {
                Depth::Eight => bytes.iter().map(|&v| u16::from(v)).collect(),
                Depth::Sixteen => bytes
                    .chunks(2)
                    .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
                    .collect(),
            };
            (raster.width, raster.height, raster.depth, samples)
        }
    }
}

fn decoded_png(bytes: &[u8]) -> (u64, u64, Depth, Vec<u16>) {
    let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
    let mut frame = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut frame).unwrap();
    reader.finish().unwrap();
    assert_eq!(info.color_type, png::ColorType::Grayscale);
    let (width, height) = (u64::from(info.width), u64::from(info.height));
    match info.bit_depth {
        png::BitDepth::Eight => (
            width,
            height,
            Depth::Eight,
            frame.iter().map(|&v| u16::from(v)).collect(),
        ),
        _ => {
            let samples = frame
                .chunks(2)
                .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
                .collect();
            (width, height, Depth::Sixteen, samples)
        }
    }
}

fn decoded_tiff(bytes: &[u8]) -> (u64, u64, Depth, Vec<u16>) {
    use tiff::decoder::DecodingResult;
    let mut decoder = tiff::decoder::Decoder::new(Cursor::new(bytes)).unwrap();
    let (width, height) = decoder.dimensions().unwrap();
    let (depth, samples) = match decoder.read_image().unwrap() {
        DecodingResult::U8(samples) => (Depth::Eight, samples.iter().map(|&v| u16::from(v)).collect()),
        DecodingResult::U16(samples) => (Depth::Sixteen, samples),
        _ => panic!("neither 8 nor 16 bits"),
    };
    (width.into(), height.into(), depth, samples)
}

fn decoded_pgm(bytes: &[u8]) -> (u64, u64, Depth, Vec<u16>) {
    use image::ImageDecoder;
    let decoder = image::codecs::pnm::PnmDecoder::new(Cursor::new(bytes)).unwrap();
    let (width, height) = decoder.dimensions();
    let color = decoder.color_type();
    let mut frame = vec![0; decoder.total_bytes() as usize];
    decoder.read_image(&mut frame).unwrap();
    let (depth, samples) = match color {
        image::ColorType::L8 => (Depth::Eight, frame.iter().map(|&v| u16::from(v)).collect()),
        image::ColorType::L16 => (
            Depth::Sixteen,
            frame
                .chunks(2)
                .map(|pair| u16::from_ne_bytes([pair[0], pair[1]]))
                .collect(),
        ),
        _ => panic!("not gray"),
    };
    (width.into(), height.into(), depth, samples)
}

fn depths() -> impl Strategy<Value = Depth> {
    prop::sample::select(vec![Depth::Eight, Depth::Sixteen])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_format_decodes_to_the_samples_written(
        width in 1..60_u64, height in 1..60_u64, depth in depths(), format in prop::sample::select(&FILE_FORMATS[..]),
    ) {
        let whole = Whole::new(width, height, depth);
        let bytes = file(&whole, format, Cut::Rows(7));
        prop_assert_eq!(decoded(&bytes, format, &whole.raster), (width, height, depth, whole.samples));
    }

    #[test]
    fn however_a_raster_is_cut_into_bands_its_file_is_the_same(
        width in 1..60_u64, height in 1..20_u64, depth in depths(), n in 1..70_u64,
        format in prop::sample::select(&FILE_FORMATS[..]),
    ) {
        let whole = Whole::new(width, height, depth);
        let one = file(&whole, format, Cut::Rows(height));
        for cut in [Cut::Rows(1), Cut::Rows(n), Cut::Columns(n), Cut::Mixed(n)] {
            prop_assert!(file(&whole, format, cut) == one, "{cut:?}");
        }
    }

    #[test]
    fn the_digest_is_the_blake3_of_all_samples_as_u16_little_endian(
        width in 1..300_u64, height in 1..40_u64, depth in depths(), n in 1..70_u64,
    ) {
        let whole = Whole::new(width, height, depth);
        let bytes: Vec<u8> = whole.samples.iter().flat_map(|v| v.to_le_bytes()).collect();
        let mut sink = DigestSink::new();
        whole.stream(&mut sink, Cut::Mixed(n)).unwrap();
        prop_assert_eq!(sink.digest(), Some(blake3::hash(&bytes)));
    }
}

#[test]
fn a_large_raster_survives_every_format() {
    for depth in [Depth::Eight, Depth::Sixteen] {
        let whole = Whole::new(3_001, 707, depth);
        for format in FILE_FORMATS {
            let bytes = file(&whole, format, Cut::Rows(100));
            let (_, _, _, samples) = decoded(&bytes, format, &whole.raster);
            assert!(samples == whole.samples, "{format} of {depth}");
        }
    }
}

#[test]
fn png_and_tiff_say_how_large_a_pixel_is() {
    let mut whole = Whole::new(5, 5, Depth::Eight);
    whole.raster.pixel = relief_raster::Length::picometres(10_000_000); // 10 µm
    let png = file(&whole, Format::Png, Cut::Rows(1));
    let reader = png::Decoder::new(Cursor::new(&png)).read_info().unwrap();
    let dimensions = reader.info().pixel_dims.unwrap();
    assert_eq!(
        (dimensions.xppu, dimensions.yppu, dimensions.unit),
        (100_000, 100_000, png::Unit::Meter)
    );
    let tiff = file(&whole, Format::Tiff, Cut::Rows(1));
    let mut decoder = tiff::decoder::Decoder::new(Cursor::new(&tiff)).unwrap();
    let mut tag = |tag| decoder.get_tag(tag).unwrap();
    use tiff::decoder::ifd::Value;
    assert_eq!(tag(tiff::tags::Tag::XResolution), Value::Rational(1_000, 1));
    assert_eq!(tag(tiff::tags::Tag::YResolution), Value::Rational(1_000, 1));
    assert_eq!(tag(tiff::tags::Tag::ResolutionUnit), Value::Short(3));
}

#[test]
fn a_tiff_of_1200_dpi_says_1200_and_a_png_the_nearest_number_in_a_metre() {
    let mut whole = Whole::new(5, 5, Depth::Eight);
    whole.raster.pixel = relief_raster::Length::dpi(1_200);
    let tiff = file(&whole, Format::Tiff, Cut::Rows(1));
    let mut decoder = tiff::decoder::Decoder::new(Cursor::new(&tiff)).unwrap();
    let mut tag = |tag| decoder.get_tag(tag).unwrap();
    use tiff::decoder::ifd::Value;
    assert_eq!(tag(tiff::tags::Tag::XResolution), Value::Rational(1_200, 1));
    assert_eq!(tag(tiff::tags::Tag::ResolutionUnit), Value::Short(2));
    let png = file(&whole, Format::Png, Cut::Rows(1));
    let reader = png::Decoder::new(Cursor::new(&png)).read_info().unwrap();
    // 6 000 000 / 127 = 47 244.09.
    assert_eq!(reader.info().pixel_dims.unwrap().xppu, 47_244);
}

#[test]
fn a_size_that_the_format_cannot_hold_is_refused_before_anything_is_opened() {
    let folder = TempDir::new().unwrap();
    for (format, width, height) in [
        (Format::Png, 1 << 31, 1),
        (Format::Png, 1, 1 << 31),
        (Format::Tiff, 1 << 32, 2),
    ] {
        let mut sink = FileSink::new(Target::Path(folder.path().join("raster")), format);
        let error = sink.begin(&Raster::new(width, height, Depth::Eight)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert!(error.to_string().contains(&width.to_string()), "{error}");
        assert_eq!(names(folder.path()), [""; 0]);
    }
}

#[test]
fn a_size_that_is_refused_is_told_with_the_formats_that_hold_it() {
    let raster = |width, height| Raster::new(width, height, Depth::Sixteen);
    for (format, width, height, advice) in [
        (Format::Png, 1 << 31, 1, Some("write tiff, zarr, pgm or raw")),
        (
            Format::Png,
            1,
            (1 << 32) - 1,
            Some("write tiff, zarr, pgm or raw"),
        ),
        (Format::Png, 1 << 32, 1, Some("write zarr, pgm or raw")),
        (Format::Tiff, 7, 1 << 32, Some("write zarr, pgm or raw")),
        (Format::Tiff, 1 << 40, 1 << 40, Some("write zarr, pgm or raw")),
        (Format::Png, (1 << 31) - 1, 9, None),
        (Format::Tiff, (1 << 32) - 1, 9, None),
        (Format::Pgm, 1 << 40, 1 << 40, None),
        (Format::Raw, 1 << 40, 1 << 40, None),
        (Format::Null, 1 << 40, 1 << 40, None),
    ] {
        let told = format
            .check(&raster(width, height))
            .err()
            .map(|error| error.to_string());
        match (&told, advice) {
            (None, None) => {}
            (Some(told), Some(advice)) => assert!(told.ends_with(advice), "{told}"),
            _ => panic!("{width} × {height} as {format}: {told:?}"),
        }
    }
}

/// Noise without any order: nothing makes it shorter.
fn noise(width: u64, height: u64, depth: Depth) -> Whole {
    let mut whole = Whole::new(width, height, depth);
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    for sample in &mut whole.samples {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *sample = (state >> 32) as u16 & depth.max();
    }
    whole
}

#[test]
fn noise_as_png_is_hardly_longer_than_its_samples() {
    for (width, height, depth) in [
        (8, 100_001, Depth::Eight),
        (100_001, 8, Depth::Sixteen),
        (1_000, 1_000, Depth::Eight),
        (1, 300_000, Depth::Sixteen),
        (3, 3, Depth::Eight),
    ] {
        let whole = noise(width, height, depth);
        let bytes = file(&whole, Format::Png, Cut::Rows(1_000)).len() as u64;
        // A row has a byte for its filter. Blocks and chunks have headers; the rest is what blocks may grow before they
        // are stored.
        let rows = (width * depth.bytes() + 1) * height;
        let most = rows + rows / 500 + 200;
        assert!(
            bytes <= most,
            "{bytes} bytes of {rows} for {width} × {height}, {depth}"
        );
    }
}

#[test]
fn a_png_of_what_repeats_is_much_shorter_than_its_samples() {
    let mut whole = Whole::new(1_000, 1_000, Depth::Sixteen);
    for (i, sample) in whole.samples.iter_mut().enumerate() {
        *sample = (i % 1_000 / 50 * 1_000) as u16;
    }
    let bytes = file(&whole, Format::Png, Cut::Rows(100)).len();
    assert!(bytes < 40_000, "{bytes} of 2 000 000 bytes");
}

#[test]
fn the_null_format_touches_no_file() {
    let folder = TempDir::new().unwrap();
    let whole = Whole::new(6, 4, Depth::Eight);
    let mut sink = FileSink::new(Target::Path(folder.path().join("raster")), Format::Null);
    whole.stream(&mut sink, Cut::Rows(1)).unwrap();
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn the_null_sink_counts() {
    let mut sink = NullSink::new();
    Whole::new(6, 4, Depth::Sixteen)
        .stream(&mut sink, Cut::Columns(4))
        .unwrap();
    assert_eq!((sink.bands(), sink.samples()), (8, 24));
}

#[test]
fn a_tee_writes_and_digests_in_one_pass() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("raster.raw");
    let whole = Whole::new(100, 30, Depth::Sixteen);
    let mut tee = Tee::new(
        DigestSink::new(),
        FileSink::new(Target::Path(path.clone()), Format::Raw),
    );
    whole.stream(&mut tee, Cut::Rows(3)).unwrap();
    assert_eq!(tee.first().digest(), Some(blake3::hash(&fs::read(path).unwrap())));
}

/// Bytes of a text appear under their name when they are complete, and not before; no raster becomes one.
#[test]
fn a_text_appears_whole_or_not_at_all() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("plate.gcode");
    let target = || Target::Path(path.clone());
    let begun = |text: &[u8]| {
        let mut file = ByteFile::open(target(), &Cleanup::default()).unwrap();
        file.write_all(text).unwrap();
        file
    };
    drop(begun(b"G0X1"));
    assert_eq!(names(folder.path()), [""; 0]);
    let cleanup = Cleanup::default();
    let mut stopped = ByteFile::open(target(), &cleanup).unwrap();
    stopped.write_all(b"G0X1").unwrap();
    cleanup.remove();
    assert!(stopped.complete().is_err());
    assert_eq!(names(folder.path()), [""; 0]);
    begun(b"G0X1\n").complete().unwrap();
    drop(begun(b"G0X2\n"));
    assert_eq!(fs::read(&path).unwrap(), b"G0X1\n");
    let error = FileSink::new(target(), Format::Gcode)
        .begin(&Raster::new(2, 2, Depth::Eight))
        .unwrap_err();
    assert!(error.to_string().contains("lines of a machine"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"G0X1\n");
}
