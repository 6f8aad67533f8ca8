//! Deep Zoom images: every tile of every level against means that are computed pixel by pixel.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::io::Cursor;
use std::path::Path;

use crate::raster::{Cut, Whole, names};
use proptest::prelude::*;
use relief_engine::sink::{Raster, Sink};
use relief_io::DziSink;
use relief_raster::{Depth, Rect};
use tempfile::TempDir;

/// The sample (x, y) of a level: the mean of its pixels, halves up.
fn mean(whole: &Whole, shift: u32, x: u64, y: u64) -> u16 {
    let (width, height) = (whole.raster.width, whole.raster.height);
    let (mut sum, mut n) = (0_u64, 0_u64);
    for row in y << shift..((y + 1) << shift).min(height) {
        for column in x << shift..((x + 1) << shift).min(width) {
            sum += u64::from(whole.samples[(row * width + column) as usize]);
            n += 1;
        }
    }
    ((2 * sum + n) / (2 * n)) as u16
}

fn png(path: &Path) -> (u64, u64, Vec<u16>) {
    let mut reader = png::Decoder::new(Cursor::new(fs::read(path).unwrap()))
        .read_info()
        .unwrap();
    let mut frame = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut frame).unwrap();
    let samples = match info.bit_depth {
        png::BitDepth::Eight => frame.iter().map(|&v| u16::from(v)).collect(),
        _ => frame
            .chunks(2)
            .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
            .collect(),
    };
    (info.width.into(), info.height.into(), samples)
}

fn checked(whole: &Whole, cut: Cut) {
    let folder = TempDir::new().unwrap();
    whole
        .stream(&mut DziSink::new(folder.path().join("image.dzi")), cut)
        .unwrap();
    assert_eq!(names(folder.path()), ["image.dzi", "image_files"]);
    let (width, height) = (whole.raster.width, whole.raster.height);
    let text = fs::read_to_string(folder.path().join("image.dzi")).unwrap();
    assert!(
        text.contains(&format!("<Size Width=\"{width}\" Height=\"{height}\"/>")),
        "{text}"
    );
    assert!(
        text.contains("TileSize=\"254\"") && text.contains("Overlap=\"1\""),
        "{text}"
    );
    let files = folder.path().join("image_files");
    // The first power of two that is no less than the longer side.
    let deepest = (0..).find(|&level| 1 << level >= width.max(height)).unwrap();
    assert_eq!(names(&files).len(), deepest as usize + 1);
    for level in 0..=deepest {
        let shift = deepest - level;
        let (w, h) = (width.div_ceil(1 << shift), height.div_ceil(1 << shift));
        let of_level = files.join(level.to_string());
        assert_eq!(
            names(&of_level).len() as u64,
            w.div_ceil(254) * h.div_ceil(254),
            "level {level}"
        );
        for row in 0..h.div_ceil(254) {
            for column in 0..w.div_ceil(254) {
                let (left, top) = ((column * 254).saturating_sub(1), (row * 254).saturating_sub(1));
                let (right, bottom) = ((column * 254 + 255).min(w), (row * 254 + 255).min(h));
                let (found_w, found_h, samples) = png(&of_level.join(format!("{column}_{row}.png")));
                assert_eq!((found_w, found_h), (right - left, bottom - top));
                let expected = (top..bottom).flat_map(|y| (left..right).map(move |x| (x, y)));
                assert!(
                    expected.map(|(x, y)| mean(whole, shift, x, y)).eq(samples),
                    "tile {column}_{row} of level {level}"
                );
            }
        }
    }
}

#[test]
fn every_tile_is_the_exact_mean_of_its_pixels() {
    for (width, height) in [(1, 1), (2, 1), (254, 255), (255, 254), (600, 509), (3, 700)] {
        checked(&Whole::new(width, height, Depth::Eight), Cut::Rows(100));
    }
    checked(&Whole::new(300, 270, Depth::Sixteen), Cut::Rows(7));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn levels_do_not_depend_on_how_bands_are_cut(
        (width, height) in (1_u64..40, 1_u64..40),
        deep in any::<bool>(),
        cut in prop_oneof![(1_u64..9).prop_map(Cut::Rows), (1_u64..50).prop_map(Cut::Columns), (1_u64..50).prop_map(Cut::Mixed)],
    ) {
        checked(&Whole::new(width, height, if deep { Depth::Sixteen } else { Depth::Eight }), cut);
    }
}

#[test]
fn an_image_that_is_not_complete_leaves_nothing() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("image.dzi");
    let whole = Whole::new(300, 600, Depth::Eight);
    let mut sink = DziSink::new(path.clone());
    sink.begin(&whole.raster).unwrap();
    whole.write(&mut sink, Rect::sized(300, 400)).unwrap();
    assert_eq!(names(folder.path()), ["image_files.partial"]);
    let said = DziSink::new(path.clone())
        .begin(&whole.raster)
        .unwrap_err()
        .to_string();
    assert!(said.contains("another process writes"), "{said}");
    assert!(
        sink.finish()
            .unwrap_err()
            .to_string()
            .contains("ended at pixel (0, 400)")
    );
    drop(sink);
    assert_eq!(names(folder.path()), [""; 0]);

    // What a killed process left is not in the next image, and one that is there is not replaced.
    fs::create_dir_all(folder.path().join("image_files.partial/77")).unwrap();
    let mut sink = DziSink::new(path.clone());
    whole.stream(&mut sink, Cut::Rows(50)).unwrap();
    assert!(!folder.path().join("image_files/77").exists());
    let said = DziSink::new(path).begin(&whole.raster).unwrap_err().to_string();
    assert!(said.contains("is there already; remove it"), "{said}");
}

#[test]
fn sides_that_are_too_long_are_refused_with_what_would_do() {
    let raster = Raster::new((1 << 24) + 1, 1, Depth::Eight);
    let said = DziSink::new("image.dzi".into())
        .begin(&raster)
        .unwrap_err()
        .to_string();
    assert!(
        said.contains("16777216 columns") && said.contains("tiff, zarr"),
        "{said}"
    );
}
