//! Rasters of one bit a pixel, and BMP, by other decoders.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::io::Cursor;

use crate::raster::{Cut, Whole, names};
use proptest::prelude::*;
use relief_engine::sink::{Raster, Sink};
use relief_io::{FileSink, Format, Target};
use relief_raster::Depth;
use tempfile::TempDir;

/// A raster of 0 and M alone.
fn two_valued(width: u64, height: u64, depth: Depth) -> Whole {
    let mut whole = Whole::new(width, height, depth);
    whole
        .samples
        .iter_mut()
        .for_each(|sample| *sample = if *sample % 3 == 0 { depth.max() } else { 0 });
    whole
}

fn file(whole: &Whole, format: Format, one_bit: bool, cut: Cut) -> Vec<u8> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("raster");
    let target = Target::Path(path.clone());
    whole
        .stream(&mut FileSink::with_bits(target, format, one_bit), cut)
        .unwrap();
    assert_eq!(names(folder.path()), ["raster"]);
    fs::read(path).unwrap()
}

/// The samples of a PNG of one bit, as 0 and 1.
fn png_bits(file: &[u8]) -> Vec<u16> {
    let mut reader = png::Decoder::new(Cursor::new(file)).read_info().unwrap();
    let mut frame = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut frame).unwrap();
    assert_eq!(
        (info.color_type, info.bit_depth),
        (png::ColorType::Grayscale, png::BitDepth::One)
    );
    let row = |row: &[u8]| -> Vec<u16> {
        (0..info.width as usize)
            .map(|x| u16::from(row[x / 8] >> (7 - x % 8) & 1))
            .collect()
    };
    frame.chunks(info.line_size).flat_map(row).collect()
}

/// The samples of a BMP.
fn bmp(file: &[u8]) -> Vec<u16> {
    let image = image::load_from_memory_with_format(file, image::ImageFormat::Bmp).unwrap();
    image.to_luma8().into_raw().into_iter().map(u16::from).collect()
}

fn field(file: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(file[at..at + 4].try_into().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn bits_are_those_of_the_raster(
        width in 1_u64..90,
        height in 1_u64..40,
        deep in any::<bool>(),
        cut in prop_oneof![(1_u64..9).prop_map(Cut::Rows), (1_u64..50).prop_map(Cut::Columns), (1_u64..50).prop_map(Cut::Mixed)],
    ) {
        let depth = if deep { Depth::Sixteen } else { Depth::Eight };
        let whole = two_valued(width, height, depth);
        let bits: Vec<u16> = whole.samples.iter().map(|&sample| u16::from(sample > 0)).collect();
        prop_assert!(png_bits(&file(&whole, Format::Png, true, cut)) == bits);
        let found = file(&whole, Format::Bmp, true, cut);
        prop_assert_eq!(field(&found, 2) as usize, found.len());
        prop_assert!(bmp(&found).iter().map(|sample| sample / 255).eq(bits));
    }

    #[test]
    fn a_bmp_has_the_samples_of_the_raster(
        width in 1_u64..90,
        height in 1_u64..40,
        cut in prop_oneof![(1_u64..9).prop_map(Cut::Rows), (1_u64..50).prop_map(Cut::Columns), (1_u64..50).prop_map(Cut::Mixed)],
    ) {
        let whole = Whole::new(width, height, Depth::Eight);
        let found = file(&whole, Format::Bmp, false, cut);
        prop_assert_eq!(field(&found, 2) as usize, found.len());
        prop_assert!(bmp(&found) == whole.samples);
    }
}

#[test]
fn a_bmp_says_its_resolution() {
    let mut whole = Whole::new(3, 3, Depth::Eight);
    whole.raster.pixel = relief_raster::Length::picometres(10_000_000);
    let found = file(&whole, Format::Bmp, false, Cut::Rows(1));
    // 10 µm: 100 000 pixels a metre.
    assert_eq!((field(&found, 38), field(&found, 42)), (100_000, 100_000));
    // No signed number of 32 bits says that.
    whole.raster.pixel = relief_raster::Length::picometres(1);
    let found = file(&whole, Format::Bmp, false, Cut::Rows(1));
    assert_eq!((field(&found, 38), field(&found, 42)), (0, 0));
}

/// What a sink says of a raster before its first sample.
fn refusal(target: Target, format: Format, one_bit: bool, width: u64, height: u64, depth: Depth) -> String {
    let raster = Raster::new(width, height, depth);
    let error = FileSink::with_bits(target, format, one_bit)
        .begin(&raster)
        .unwrap_err();
    error.to_string()
}

#[test]
fn what_a_format_cannot_hold_is_refused_with_what_can() {
    let folder = TempDir::new().unwrap();
    let path = || Target::Path(folder.path().join("raster"));
    let said = refusal(path(), Format::Bmp, false, 4, 4, Depth::Sixteen);
    assert!(
        said.contains("16 bits") && said.contains("write png, tiff or zarr"),
        "{said}"
    );
    let said = refusal(path(), Format::Bmp, false, 70_000, 70_000, Depth::Eight);
    assert!(
        said.contains("4294967295 bytes") && said.contains("png, tiff or raw"),
        "{said}"
    );
    let said = refusal(path(), Format::Bmp, true, 1 << 31, 1, Depth::Eight);
    assert!(
        said.contains("2147483647 columns") && said.contains("tiff"),
        "{said}"
    );
    // An eighth of it fits.
    FileSink::with_bits(path(), Format::Bmp, true)
        .begin(&Whole::new(1, 1, Depth::Eight).raster)
        .unwrap();
    for format in [Format::Raw, Format::Pgm, Format::Tiff] {
        let said = refusal(path(), format, true, 4, 4, Depth::Eight);
        assert!(said.contains("1 bit a pixel: write png, bmp or tiff"), "{said}");
    }
    let pipe = Target::Writer(Box::new(std::io::sink()));
    let said = refusal(pipe, Format::Bmp, false, 4, 4, Depth::Eight);
    assert!(said.contains("name a file"), "{said}");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_sample_that_is_no_bit_is_named_and_nothing_appears() {
    for format in [Format::Png, Format::Bmp] {
        for (depth, value) in [(Depth::Eight, 254), (Depth::Sixteen, 255)] {
            let folder = TempDir::new().unwrap();
            let mut whole = two_valued(37, 11, depth);
            whole.samples[5 * 37 + 29] = value;
            let target = Target::Path(folder.path().join("raster"));
            let mut sink = FileSink::with_bits(target, format, true);
            let said = whole.stream(&mut sink, Cut::Rows(4)).unwrap_err().to_string();
            let expected = format!(
                "pixel (29, 5) is {value}, and one bit holds 0 and {}",
                depth.max()
            );
            assert!(said.contains(&expected), "{said}");
            drop(sink);
            assert_eq!(names(folder.path()), [""; 0]);
        }
    }
}
