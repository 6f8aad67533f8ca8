//! A raster and its levels in one file: exact means, the layout of a Cloud Optimized GeoTIFF, scales of OME-Zarr, and that both go on
//! where they were left.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Cursor;
use std::path::Path;

use proptest::prelude::*;
use relief_engine::{Cancel, Error, Options, Progress, Raster, Renderer};
use relief_io::{Compression, FileCut, Pyramid, SinkError, TileOptions, ZarrOptions, partial_path};
use relief_raster::Depth;
use serde_json::{Value, json};
use tempfile::TempDir;
use tiff::decoder::{Decoder, DecodingResult};

use crate::jobs::{self, nothing, whole};
use crate::raster::names;
use crate::zarr::{files, read_array};

fn renderer(width: u64, height: u64, depth: u64, threads: usize) -> Renderer {
    let text = format!(
        "canvas width={width} height={height} depth={depth} pixel=\"2um\"
compose {{
    (base)repeat step-x=90 step-y=64 {{ (pattern)disc diameter=31 value=200 }}
    (max)noise seed=7 width=140 height=133
}}"
    );
    jobs::renderer(&text, &Options::default().threads(threads))
}

/// Level after level, each from the pixels of the raster, until one tile holds it.
fn levels(renderer: &Renderer, tile: (u64, u64)) -> Vec<(u64, u64, Vec<u16>)> {
    let raster = renderer.plan().raster();
    let all = whole(renderer);
    let mut levels = vec![(raster.width, raster.height, all.clone())];
    for level in 1.. {
        let (width, height, _) = levels[levels.len() - 1];
        if width <= tile.0 && height <= tile.1 {
            break;
        }
        let side = 1_u64 << level;
        let (width, height) = (raster.width.div_ceil(side), raster.height.div_ceil(side));
        let mean = |x: u64, y: u64| {
            let (mut sum, mut n) = (0, 0);
            for y in y * side..raster.height.min((y + 1) * side) {
                for x in x * side..raster.width.min((x + 1) * side) {
                    sum += u64::from(all[(y * raster.width + x) as usize]);
                    n += 1;
                }
            }
            ((2 * sum + n) / (2 * n)) as u16
        };
        let samples = (0..width * height)
            .map(|place| mean(place % width, place / width))
            .collect();
        levels.push((width, height, samples));
    }
    levels
}

fn tiff_options(tile: (u64, u64), compression: Compression) -> TileOptions {
    TileOptions {
        cut: FileCut::TilesOf(tile.0, tile.1),
        compression,
        one_bit: false,
        job: blake3::hash(b"a job"),
        threads: 2,
    }
}

fn zarr_options(chunk: (u64, u64), shard: Option<(u64, u64)>, gzip: bool) -> ZarrOptions {
    ZarrOptions {
        chunk: Some(chunk),
        shard,
        gzip,
        share: false,
        job: blake3::hash(b"a job"),
    }
}

fn write(renderer: &Renderer, pyramid: &Pyramid) {
    pyramid.render(renderer, &mut nothing, &Cancel::new()).unwrap();
}

fn tiff(renderer: &Renderer, options: &TileOptions) -> Vec<u8> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("out.tif");
    let pyramid = Pyramid::tiff(path.clone(), &renderer.plan().raster(), options).unwrap();
    write(renderer, &pyramid);
    assert_eq!(names(folder.path()), ["out.tif"]);
    fs::read(path).unwrap()
}

/// The pictures of a file, by the crate `tiff`.
fn pictures(file: &[u8]) -> Vec<(u64, u64, Vec<u16>)> {
    let mut decoder = Decoder::new(Cursor::new(file)).unwrap();
    let mut pictures = Vec::new();
    loop {
        let (width, height) = decoder.dimensions().unwrap();
        let samples = match decoder.read_image().unwrap() {
            DecodingResult::U8(samples) => samples.into_iter().map(u16::from).collect(),
            DecodingResult::U16(samples) => samples,
            other => panic!("{other:?}"),
        };
        pictures.push((width.into(), height.into(), samples));
        if !decoder.more_images() {
            return pictures;
        }
        decoder.next_image().unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_level_is_the_exact_mean_of_pixels(
        (width, height) in (1_u64..420, 1_u64..300),
        deep in any::<bool>(),
        tile in (1_u64..5, 1_u64..5),
        method in 0_usize..3,
        threads in 1_usize..4,
    ) {
        let renderer = renderer(width, height, if deep { 16 } else { 8 }, threads);
        let tile = (tile.0 * 16, tile.1 * 16);
        let expected = levels(&renderer, tile);
        let compression = [Compression::None, Compression::Deflate, Compression::PackBits][method];
        let file = tiff(&renderer, &tiff_options(tile, compression));
        prop_assert!(pictures(&file) == expected);

        let folder = TempDir::new().unwrap();
        let path = folder.path().join("out.zarr");
        let shard = (method == 2).then_some((tile.0 * 2, tile.1));
        let options = zarr_options(tile, shard, method > 0);
        let unit = shard.unwrap_or(tile);
        write(&renderer, &Pyramid::zarr(path.clone(), &renderer.plan().raster(), &options).unwrap());
        let files = files(&path);
        for (number, (_, _, samples)) in levels(&renderer, unit).into_iter().enumerate() {
            prop_assert!(read_array(&files, &number.to_string()) == samples, "level {}", number);
        }
    }
}

/// The numbers of a tag of every directory, by the specification of BigTIFF.
fn directories(file: &[u8], tag: u64) -> Vec<(u64, Vec<u64>)> {
    let number = |start: u64, bytes: u64| {
        file[start as usize..(start + bytes) as usize]
            .iter()
            .rev()
            .fold(0, |number, &byte| number << 8 | u64::from(byte))
    };
    let (mut directories, mut at) = (Vec::new(), number(8, 8));
    while at != 0 {
        let count = number(at, 8);
        let entry = (0..count)
            .map(|entry| at + 8 + 20 * entry)
            .find(|&entry| number(entry, 2) == tag);
        let values = entry.map_or(Vec::new(), |entry| {
            let size = [0, 1, 1, 2, 4, 8][number(entry + 2, 2).min(5) as usize];
            let count = number(entry + 4, 8);
            let start = if count * size <= 8 {
                entry + 12
            } else {
                number(entry + 12, 8)
            };
            (0..count).map(|i| number(start + i * size, size)).collect()
        });
        directories.push((at, values));
        at = number(at + 8 + 20 * count, 8);
    }
    directories
}

/// What checkers of Cloud Optimized GeoTIFF ask for: directories first and in order, tiles of levels before those of the raster.
#[test]
fn directories_come_first_and_tiles_from_the_coarsest_level_on() {
    let renderer = renderer(700, 500, 8, 3);
    for compression in [Compression::None, Compression::Lzw] {
        let file = tiff(&renderer, &tiff_options((64, 48), compression));
        assert_eq!(file[..16], *b"II\x2B\0\x08\0\0\0\x10\0\0\0\0\0\0\0");
        let offsets = directories(&file, 324);
        assert_eq!(offsets.len(), 5);
        assert!(offsets.iter().map(|(at, _)| at).is_sorted());
        // All tiles of a level, in order, before those of the next finer one.
        let all: Vec<u64> = offsets
            .iter()
            .rev()
            .flat_map(|(_, tiles)| tiles.clone())
            .collect();
        assert!(all.is_sorted_by(|a, b| a < b), "{compression}");
        assert!(offsets[4].0 < all[0]);
        let reduced: Vec<Vec<u64>> = directories(&file, 254)
            .into_iter()
            .map(|(_, values)| values)
            .collect();
        assert_eq!(reduced, [&[][..], &[1], &[1], &[1], &[1]]);
        // The bytes do not depend on threads.
        let one = self::renderer(700, 500, 8, 1);
        assert!(tiff(&one, &tiff_options((64, 48), compression)) == file);
    }
}

#[test]
fn scales_and_places_of_levels_are_told() {
    let renderer = renderer(300, 200, 16, 1);
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("out.zarr");
    let options = zarr_options((64, 64), None, true);
    write(
        &renderer,
        &Pyramid::zarr(path.clone(), &renderer.plan().raster(), &options).unwrap(),
    );
    let group: Value = serde_json::from_slice(&fs::read(path.join("zarr.json")).unwrap()).unwrap();
    let scales = &group["attributes"]["ome"]["multiscales"][0];
    let datasets = scales["datasets"].as_array().unwrap();
    assert_eq!(datasets.len(), 4);
    assert_eq!(
        datasets[0]["coordinateTransformations"],
        json!([{"type": "scale", "scale": [2.0, 2.0]}])
    );
    // A sample of level 2 has the pixels 0 to 3, whose middle is 1.5 pixels from that of pixel 0.
    assert_eq!(
        datasets[2],
        json!({"path": "2", "coordinateTransformations": [
            {"type": "scale", "scale": [8.0, 8.0]}, {"type": "translation", "translation": [3.0, 3.0]},
        ]})
    );
    let array: Value = serde_json::from_slice(&fs::read(path.join("2/zarr.json")).unwrap()).unwrap();
    assert_eq!(array["shape"], json!([50, 75]));
    // Nothing is left of what the job needed.
    assert_eq!(names(&path), ["0", "1", "2", "3", "zarr.json"]);
}

/// Runs a job until it has told of so many tiles.
fn stopped(renderer: &Renderer, pyramid: &Pyramid, most: usize) -> Result<(), Error> {
    let cancel = Cancel::new();
    let mut told = 0;
    let mut tell = |_: Progress| {
        told += 1;
        if told >= most {
            cancel.cancel();
        }
    };
    pyramid.render(renderer, &mut tell, &cancel)
}

#[test]
fn a_pyramid_that_is_stopped_goes_on_to_the_same_bytes() {
    let renderer = renderer(1_100, 900, 8, 3);
    for compression in [Compression::None, Compression::Deflate] {
        let options = tiff_options((16, 16), compression);
        let expected = tiff(&renderer, &options);
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("out.tif");
        let pyramid = Pyramid::tiff(path.clone(), &renderer.plan().raster(), &options).unwrap();
        for most in [1, 400, 1_500] {
            assert!(matches!(
                stopped(&renderer, &pyramid, most),
                Err(Error::Cancelled)
            ));
            assert_eq!(names(folder.path()), ["out.tif.partial", "out.tif.partial.sums"]);
        }
        write(&renderer, &pyramid);
        assert_eq!(names(folder.path()), ["out.tif"]);
        assert!(fs::read(&path).unwrap() == expected, "{compression}");
    }
    let options = zarr_options((16, 16), None, false);
    let store = |path: &Path| Pyramid::zarr(path.to_owned(), &renderer.plan().raster(), &options).unwrap();
    let folder = TempDir::new().unwrap();
    let (at_once, path) = (folder.path().join("a.zarr"), folder.path().join("b.zarr"));
    write(&renderer, &store(&at_once));
    let pyramid = store(&path);
    assert!(matches!(stopped(&renderer, &pyramid, 900), Err(Error::Cancelled)));
    write(&renderer, &pyramid);
    let all: BTreeMap<String, Vec<u8>> = files(&at_once);
    assert!(files(&path) == all);
}

/// Sums that are lost or damaged are made again, not believed.
#[test]
fn a_unit_without_its_sums_is_made_again() {
    let renderer = renderer(1_100, 900, 8, 1);
    let options = tiff_options((16, 16), Compression::None);
    let expected = tiff(&renderer, &options);
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("out.tif");
    let pyramid = Pyramid::tiff(path.clone(), &renderer.plan().raster(), &options).unwrap();
    assert!(matches!(
        stopped(&renderer, &pyramid, 1_500),
        Err(Error::Cancelled)
    ));
    let mut sums = partial_path(&path).into_os_string();
    sums.push(".sums");
    let mut bytes = fs::read(&sums).unwrap();
    let middle = bytes.len() / 3;
    bytes[middle] ^= 1;
    fs::write(&sums, bytes).unwrap();
    write(&renderer, &pyramid);
    assert!(fs::read(&path).unwrap() == expected);
}

#[test]
fn what_cannot_have_levels_is_refused_with_what_would_do() {
    let raster = Raster::new(1_000, 1_000, Depth::Eight);
    let path = || "out".into();
    let odd = Pyramid::zarr(path(), &raster, &zarr_options((15, 8), None, false)).unwrap_err();
    assert!(odd.to_string().contains("16x8 would do"), "{odd}");
    let large = Raster::new(1 << 30, 1 << 30, Depth::Eight);
    let too_large =
        Pyramid::zarr(path(), &large, &zarr_options((1 << 15, 1 << 15), None, false)).unwrap_err();
    assert!(matches!(too_large, SinkError::Levels { .. }), "{too_large}");
    let one_bit = TileOptions {
        one_bit: true,
        ..tiff_options((64, 64), Compression::None)
    };
    let bits = Pyramid::tiff(path(), &raster, &one_bit).unwrap_err();
    assert!(bits.to_string().contains("write all bits"), "{bits}");
}
