//! Zarr stores, read by the specification: metadata, chunks, shards, and that they go on where they were left.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use crate::jobs::{self, Stops, nothing, whole};
use crate::raster::names;
use proptest::prelude::*;
use relief_engine::{Cancel, Error, Options, Progress, Raster, Renderer, TileSink};
use relief_io::{Completion, ZarrOptions, ZarrSink};
use relief_raster::Depth;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) fn options(chunk: (u64, u64), shard: Option<(u64, u64)>, gzip: bool) -> ZarrOptions {
    ZarrOptions {
        chunk: Some(chunk),
        shard,
        gzip,
        share: false,
        job: blake3::hash(b"a job"),
    }
}

/// A design with much that is 0: dots far from one another, and noise in a corner.
pub(crate) fn renderer(width: u64, height: u64, depth: u64, threads: usize) -> Renderer {
    let text = format!(
        "canvas width={width} height={height} depth={depth} pixel=\"2.5um\"
compose {{
    (base)repeat step-x=90 step-y=64 {{ (pattern)disc diameter=11 value=200 }}
    (max)noise seed=7 width=40 height=33
}}"
    );
    jobs::renderer(&text, &Options::default().threads(threads))
}

pub(crate) fn write(renderer: &Renderer, path: &Path, options: &ZarrOptions) {
    let mut sink = ZarrSink::new(path.to_owned(), options.clone());
    renderer
        .render_tiles(&mut sink, None, &mut nothing, &Cancel::new())
        .unwrap();
    assert_eq!(sink.completion(), Some(Completion::Complete));
}

/// All files of a folder, with their bytes.
pub(crate) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fn add(folder: &Path, name: &str, files: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{name}/{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                add(&entry.path(), &name, files);
            } else {
                files.insert(name, fs::read(entry.path()).unwrap());
            }
        }
    }
    let mut all = BTreeMap::new();
    add(folder, "", &mut all);
    all
}

fn written(renderer: &Renderer, options: &ZarrOptions) -> BTreeMap<String, Vec<u8>> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("out.zarr");
    write(renderer, &path, options);
    assert_eq!(names(folder.path()), ["out.zarr"]);
    files(&path)
}

/// The samples of a chunk as it is stored, by its codecs.
fn chunk(stored: &[u8], codecs: &Value, sample: usize) -> Vec<u16> {
    let mut bytes = stored.to_vec();
    for codec in codecs.as_array().unwrap().iter().rev() {
        match codec["name"].as_str().unwrap() {
            "gzip" => {
                let mut unpacked = Vec::new();
                flate2::read::GzDecoder::new(&bytes[..])
                    .read_to_end(&mut unpacked)
                    .unwrap();
                bytes = unpacked;
            }
            "bytes" => assert_eq!(codec["configuration"]["endian"], "little"),
            other => panic!("{other}"),
        }
    }
    let number = |bytes: &[u8]| {
        bytes
            .iter()
            .rev()
            .fold(0, |number, &byte| number << 8 | u16::from(byte))
    };
    bytes.chunks(sample).map(number).collect()
}

/// All samples of a store.
fn read(files: &BTreeMap<String, Vec<u8>>) -> Vec<u16> {
    read_array(files, "0")
}

/// All samples of an array of a store.
pub(crate) fn read_array(files: &BTreeMap<String, Vec<u8>>, array: &str) -> Vec<u16> {
    let meta: Value = serde_json::from_slice(&files[&format!("/{array}/zarr.json")]).unwrap();
    let pair = |value: &Value| {
        let side = |i: usize| value[i].as_u64().unwrap() as usize;
        (side(0), side(1))
    };
    let (height, width) = pair(&meta["shape"]);
    let sample = if meta["data_type"] == "uint8" { 1 } else { 2 };
    let (rows, columns) = pair(&meta["chunk_grid"]["configuration"]["chunk_shape"]);
    assert_eq!(meta["fill_value"], 0);
    let mut out = vec![0; width * height];
    let mut place = |x: usize, y: usize, across: usize, samples: &[u16]| {
        for (row, samples) in (y..).zip(samples.chunks(across)) {
            for (column, sample) in (x..).zip(samples) {
                if column < width && row < height {
                    out[row * width + column] = *sample;
                } else {
                    assert_eq!(*sample, 0, "beyond the array is the fill value");
                }
            }
        }
    };
    for (name, bytes) in files {
        let Some(key) = name.strip_prefix(&format!("/{array}/c/")) else {
            continue;
        };
        let (row, column) = key.split_once('/').unwrap();
        let (x, y) = (
            column.parse::<usize>().unwrap() * columns,
            row.parse::<usize>().unwrap() * rows,
        );
        let codec = &meta["codecs"][0];
        if codec["name"] != "sharding_indexed" {
            place(x, y, columns, &chunk(bytes, &meta["codecs"], sample));
            continue;
        }
        let (inner_rows, inner_columns) = pair(&codec["configuration"]["chunk_shape"]);
        let (down, across) = (rows / inner_rows, columns / inner_columns);
        let index = &bytes[bytes.len() - down * across * 16 - 4..];
        let (entries, sum) = index.split_at(down * across * 16);
        // CRC-32C, bit by bit.
        let mut crc = u32::MAX;
        for byte in entries {
            crc ^= u32::from(*byte);
            for _ in 0..8 {
                crc = if crc & 1 == 1 {
                    crc >> 1 ^ 0x82F6_3B78
                } else {
                    crc >> 1
                };
            }
        }
        assert_eq!(sum, (!crc).to_le_bytes());
        for (number, entry) in entries.chunks(16).enumerate() {
            let field = |at: usize| u64::from_le_bytes(entry[at..at + 8].try_into().unwrap());
            let (offset, length) = (field(0), field(8));
            if (offset, length) == (u64::MAX, u64::MAX) {
                continue;
            }
            let stored = &bytes[offset as usize..(offset + length) as usize];
            let samples = chunk(stored, &codec["configuration"]["codecs"], sample);
            let (x, y) = (
                x + number % across * inner_columns,
                y + number / across * inner_rows,
            );
            place(x, y, inner_columns, &samples);
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_store_reads_as_the_raster(
        (width, height) in (1_u64..300, 1_u64..200),
        deep in any::<bool>(),
        chunk in (1_u64..90, 1_u64..90),
        shard in proptest::option::of((1_u64..4, 1_u64..4)),
        gzip in any::<bool>(),
        share in any::<bool>(),
        threads in 1_usize..4,
    ) {
        let renderer = renderer(width, height, if deep { 16 } else { 8 }, threads);
        let shard = shard.map(|(across, down)| (chunk.0 * across, chunk.1 * down));
        let options = ZarrOptions { share, ..options(chunk, shard, gzip) };
        prop_assert!(read(&written(&renderer, &options)) == whole(&renderer));
    }
}

#[test]
fn what_is_the_fill_value_takes_no_bytes() {
    let renderer = renderer(900, 640, 8, 2);
    // Dots of 11 pixels every 90 × 64: of 9 chunks of 30 × 32 in a step, one has a part of a dot.
    let files = written(&renderer, &options((30, 32), None, false));
    let expected = whole(&renderer);
    let full = (0..600).filter(|chunk| {
        let (x, y) = (chunk % 30 * 30, chunk / 30 * 32);
        (y..y + 32).any(|y| expected[y * 900 + x..][..30].iter().any(|&sample| sample > 0))
    });
    let chunks = files.keys().filter(|name| name.starts_with("/0/c/")).count();
    assert_eq!(chunks, full.count());
    assert!(chunks < 150, "{chunks} of 600 chunks");
}

#[test]
fn equal_chunks_of_a_shard_share_their_bytes() {
    let renderer = renderer(900, 640, 8, 2);
    let shard = options((90, 64), Some((900, 640)), false);
    let apart = written(&renderer, &shard);
    let shared = written(&renderer, &ZarrOptions { share: true, ..shard });
    assert!(read(&apart) == read(&shared));
    let bytes = |files: &BTreeMap<String, Vec<u8>>| files["/0/c/0/0"].len();
    // One chunk with the noise and one of all others, and the index.
    assert_eq!(bytes(&shared), 2 * 90 * 64 + 100 * 16 + 4);
    assert_eq!(bytes(&apart), 100 * 90 * 64 + 100 * 16 + 4);
}

#[test]
fn a_store_says_what_a_pixel_is_and_of_which_job_it_is() {
    let files = written(
        &renderer(300, 200, 16, 1),
        &options((64, 32), Some((128, 64)), true),
    );
    let group: Value = serde_json::from_slice(&files["/zarr.json"]).unwrap();
    assert_eq!(
        (&group["zarr_format"], &group["node_type"]),
        (&json!(3), &json!("group"))
    );
    assert_eq!(
        group["attributes"]["relief"]["job"],
        blake3::hash(b"a job").to_string()
    );
    let scales = &group["attributes"]["ome"]["multiscales"][0];
    assert_eq!(
        scales["axes"][1],
        json!({"name": "x", "type": "space", "unit": "micrometer"})
    );
    let level = &scales["datasets"][0];
    assert_eq!(level["path"], "0");
    assert_eq!(
        level["coordinateTransformations"],
        json!([{"type": "scale", "scale": [2.5, 2.5]}])
    );
    let array: Value = serde_json::from_slice(&files["/0/zarr.json"]).unwrap();
    assert_eq!(array["shape"], json!([200, 300]));
    assert_eq!(array["data_type"], "uint16");
    assert_eq!(array["dimension_names"], json!(["y", "x"]));
    assert_eq!(
        array["chunk_grid"]["configuration"]["chunk_shape"],
        json!([64, 128])
    );
    let shards = &array["codecs"][0]["configuration"];
    assert_eq!(shards["chunk_shape"], json!([32, 64]));
    assert_eq!(shards["index_codecs"][1], json!({"name": "crc32c"}));
}

#[test]
fn a_run_that_is_stopped_goes_on_to_the_same_store() {
    for shard in [None, Some((64, 48))] {
        let options = options((32, 24), shard, true);
        let renderer = renderer(300, 200, 8, 3);
        let expected = written(&renderer, &options);
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("out.zarr");
        for most in [1, 9, usize::MAX] {
            let cancel = Cancel::new();
            let mut told = 0;
            let mut tell = |_: Progress| {
                told += 1;
                if told >= most {
                    cancel.cancel();
                }
            };
            let mut sink = ZarrSink::new(path.clone(), options.clone());
            let outcome = renderer.render_tiles(&mut sink, None, &mut tell, &cancel);
            if outcome.is_ok() || most == usize::MAX {
                // It may be done before it hears that it is to stop.
                outcome.unwrap();
                break;
            } else {
                assert!(matches!(outcome, Err(Error::Cancelled)), "{outcome:?}");
                assert_eq!(names(folder.path()), ["out.zarr.partial"]);
            }
        }
        assert_eq!(names(folder.path()), ["out.zarr"]);
        assert!(files(&path) == expected, "{shard:?}");
    }
}

/// A mark that is left in a chunk that is done is there at the end: it is not computed again.
#[test]
fn chunks_that_are_done_are_not_computed_again() {
    let renderer = renderer(300, 200, 8, 1);
    let options = options((32, 24), None, false);
    let expected = written(&renderer, &options);
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("out.zarr");
    let sink = ZarrSink::new(path.clone(), options.clone());
    renderer
        .render_tiles(&mut Stops(sink, 20), None, &mut nothing, &Cancel::new())
        .unwrap_err();
    let first = folder.path().join("out.zarr.partial/0/c/0/0");
    let mut bytes = fs::read(&first).unwrap();
    bytes[5] ^= 1;
    fs::write(&first, &bytes).unwrap();
    write(&renderer, &path, &options);
    let mut found = files(&path);
    found.get_mut("/0/c/0/0").unwrap()[5] ^= 1;
    assert!(found == expected);
}

#[test]
fn parts_that_are_written_at_the_same_time_are_one_store() {
    let options = options((16, 16), Some((32, 32)), true);
    let expected = written(&renderer(300, 200, 8, 2), &options);
    for parts in [2, 5, 90] {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("out.zarr");
        let completions: Vec<Completion> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..parts)
                .map(|part| {
                    let (path, options) = (&path, &options);
                    scope.spawn(move || {
                        let renderer = renderer(300, 200, 8, 1);
                        let mut sink = ZarrSink::new(path.clone(), options.clone()).in_parts();
                        if sink.is_complete(&renderer.plan().raster()).unwrap() {
                            return Completion::Complete;
                        }
                        renderer
                            .render_tiles(&mut sink, Some((part, parts)), &mut nothing, &Cancel::new())
                            .unwrap();
                        sink.completion().unwrap()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(completions.contains(&Completion::Complete), "{completions:?}");
        assert_eq!(names(folder.path()), ["out.zarr"], "{parts} parts");
        assert!(files(&path) == expected, "{parts} parts");
    }
}

#[test]
fn a_store_that_is_there_or_of_another_job_or_that_another_writes_is_refused() {
    let renderer = renderer(300, 200, 8, 1);
    let raster = renderer.plan().raster();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("out.zarr");
    let base = options((32, 24), None, false);
    let begin = |options: &ZarrOptions| {
        let mut sink = ZarrSink::new(path.clone(), options.clone());
        let grid = sink.grid(&raster).unwrap();
        sink.begin(&raster, &grid, &(0..grid.count())).map(|()| sink)
    };
    let first = begin(&base).unwrap();
    let said = begin(&base).unwrap_err().to_string();
    assert!(said.contains("another process writes"), "{said}");
    // Nothing is in it: it goes away.
    drop(first);
    assert_eq!(names(folder.path()), [""; 0]);
    let mut part = ZarrSink::new(path.clone(), base.clone()).in_parts();
    let render = renderer.render_tiles(&mut part, Some((0, 2)), &mut |_| (), &Cancel::new());
    render.unwrap();
    drop(part);
    for other in [
        ZarrOptions {
            job: blake3::hash(b"another"),
            ..base.clone()
        },
        options((32, 32), None, false),
        options((32, 24), None, true),
        options((32, 24), Some((64, 48)), false),
    ] {
        let said = begin(&other).unwrap_err().to_string();
        assert!(
            said.contains("another job")
                && said.contains(&format!("`rm -r {}.partial` removes it", path.display())),
            "{said}"
        );
    }
    write(&renderer, &path, &base);
    let said = begin(&base).unwrap_err().to_string();
    assert!(said.contains("it is there already"), "{said}");
    assert_eq!(names(folder.path()), ["out.zarr"]);
}

#[test]
fn chunks_and_shards_that_cannot_be_are_refused_with_what_would_do() {
    let raster = Raster::new(1 << 40, 1 << 40, Depth::Eight);
    for (chunk, shard, said) in [
        ((0, 5), None, "at least 1"),
        ((100, 60), Some((1_000, 100)), "1000x120 would do"),
        ((1 << 16, 1 << 16), None, "at most 2147483648"),
        ((512, 512), None, "each a file"),
    ] {
        let sink = ZarrSink::new("out.zarr".into(), options(chunk, shard, false));
        let error = sink.grid(&raster).unwrap_err().to_string();
        assert!(error.contains(said), "{chunk:?}: {error}");
    }
}
