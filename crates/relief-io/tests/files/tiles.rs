//! TIFF in tiles: what is in the file, that it does not depend on threads, and that it goes on where it was left.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::HashMap;
use std::fs;
use std::io::Cursor;
use std::ops::ControlFlow;
use std::path::Path;

use crate::jobs::{self, Stops, nothing, whole, window};
use crate::raster::names;
use proptest::prelude::*;
use relief_design::Conversion;
use relief_engine::source::ImageSource;
use relief_engine::{Cancel, Error, Options, Progress, Raster, Renderer, TileSink};
use relief_io::{
    Completion, Compression, FileCut, Files, SharedTiff, Sharing, SinkError, TileOptions, TiledTiff,
    partial_path,
};
use relief_raster::{Depth, Rect};
use tempfile::TempDir;
use tiff::decoder::{Decoder, DecodingResult};

/// Every compression of samples of 8 and 16 bits.
const COMPRESSIONS: [Compression; 4] = [
    Compression::None,
    Compression::Deflate,
    Compression::PackBits,
    Compression::Lzw,
];

fn job(threads: usize, tile: (u64, u64), compression: Compression) -> TileOptions {
    TileOptions {
        cut: FileCut::TilesOf(tile.0, tile.1),
        compression,
        one_bit: false,
        job: blake3::hash(b"a job"),
        threads,
    }
}

/// A design ready to run.
fn renderer(text: &str, threads: usize) -> Renderer {
    jobs::renderer(text, &Options::default().threads(threads))
}

/// Noise under a grain that repeats, so that compressed tiles differ in length.
fn busy(width: u64, height: u64, depth: u64) -> String {
    format!(
        "canvas width={width} height={height} depth={depth} pixel=\"10um\"
compose {{
    (base)lattice blend=\"max\" {{ u 31 4; v -5 27; (pattern)disc diameter=11 value=255 }}
    (add)noise seed=7 width=200 height=90
}}"
    )
}

/// The samples of a file, by this crate's reader of pictures and, but for LZW, by the crate `tiff`: where a border cuts a
/// tile, that one asks for more than LZW has.
fn decoded(file: &[u8]) -> Vec<u16> {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("out.tif"), file).unwrap();
    let (files, conversion) = (Files::new(folder.path()), Conversion::default());
    let depth = if values(file, 258) == [8] {
        Depth::Eight
    } else {
        Depth::Sixteen
    };
    let picture = files.open("out.tif", &conversion).unwrap();
    let (width, height) = picture.size();
    let mut rows = vec![Vec::new(); height as usize];
    picture
        .read(Rect::sized(width, height), depth, &mut |y, row| {
            rows[y as usize] = row.to_vec();
            ControlFlow::Continue(())
        })
        .unwrap();
    let samples = rows.concat();
    if values(file, 259) != [5] && values(file, 258) != [1] {
        let others = match Decoder::new(Cursor::new(file)).unwrap().read_image().unwrap() {
            DecodingResult::U8(samples) => samples.into_iter().map(u16::from).collect(),
            DecodingResult::U16(samples) => samples,
            other => panic!("{other:?}"),
        };
        assert!(samples == others, "two readers differ");
    }
    samples
}

fn number(file: &[u8], start: u64, bytes: u64) -> u64 {
    let field = &file[start as usize..(start + bytes) as usize];
    field
        .iter()
        .rev()
        .fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// The values of a tag of a BigTIFF, by its specification.
fn values(file: &[u8], tag: u64) -> Vec<u64> {
    assert_eq!(file[..8], *b"II\x2B\0\x08\0\0\0");
    let directory = number(file, 8, 8);
    let entries = number(file, directory, 8);
    let entry = (0..entries)
        .map(|entry| directory + 8 + 20 * entry)
        .find(|&entry| number(file, entry, 2) == tag)
        .unwrap();
    let size = match number(file, entry + 2, 2) {
        1 | 2 => 1,
        3 => 2,
        4 => 4,
        5 | 16 => 8,
        other => panic!("type {other}"),
    };
    let count = number(file, entry + 4, 8);
    let start = if count * size <= 8 {
        entry + 12
    } else {
        number(file, entry + 12, 8)
    };
    (0..count).map(|i| number(file, start + i * size, size)).collect()
}

/// The bytes of every tile as it is stored.
fn tiles(file: &[u8]) -> Vec<(u64, &[u8])> {
    let (offsets, lengths) = (values(file, 324), values(file, 325));
    assert_eq!(offsets.len(), lengths.len());
    let stored =
        |(&offset, &length): (&u64, &u64)| (offset, &file[offset as usize..(offset + length) as usize]);
    offsets.iter().zip(&lengths).map(stored).collect()
}

fn written(renderer: &Renderer, options: &TileOptions) -> Vec<u8> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("out.tif");
    let mut sink = TiledTiff::new(path.clone(), options.clone());
    renderer
        .render_tiles(&mut sink, None, &mut nothing, &Cancel::new())
        .unwrap();
    assert_eq!(sink.completion(), Some(Completion::Complete));
    assert_eq!(names(folder.path()), ["out.tif"]);
    fs::read(path).unwrap()
}

fn shared(renderer: &Renderer, tile: Option<(u64, u64)>, options: &TileOptions) -> (Vec<u8>, Sharing) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("out.tif");
    let plan = renderer.plan();
    let sharing = Sharing::new(&plan.raster(), plan.period(), tile);
    let file = SharedTiff::new(path.clone(), sharing.clone(), options).unwrap();
    file.render(renderer, &mut nothing, &Cancel::new()).unwrap();
    assert_eq!(names(folder.path()), ["out.tif"]);
    (fs::read(path).unwrap(), sharing)
}

#[test]
fn a_file_decodes_to_the_samples_and_is_the_same_on_any_number_of_threads() {
    for (depth, compression) in [8, 16]
        .into_iter()
        .flat_map(|depth| COMPRESSIONS.map(|method| (depth, method)))
    {
        for tile in [(16, 16), (64, 32), (512, 512)] {
            let text = busy(301, 157, depth);
            let one = renderer(&text, 1);
            let file = written(&one, &job(1, tile, compression));
            assert!(
                decoded(&file) == whole(&one),
                "{compression}, {depth} bits, {tile:?}"
            );
            let many = renderer(&text, 5);
            assert!(
                written(&many, &job(5, tile, compression)) == file,
                "{compression}, {depth} bits, {tile:?}: the threads show"
            );
            // Nothing lies between tiles or after the last one.
            let mut next = tiles(&file)[0].0;
            for (offset, bytes) in tiles(&file) {
                assert_eq!(offset, next);
                next += bytes.len() as u64;
            }
            assert_eq!(next, file.len() as u64);
        }
    }
}

/// A file in strips: offsets of 32 bits, all columns, and no row beyond the raster.
#[test]
fn strips_are_those_of_any_reader() {
    for (depth, compression) in [8, 16]
        .into_iter()
        .flat_map(|depth| COMPRESSIONS.map(|method| (depth, method)))
    {
        // More than one strip: of 16 bits one has 145 rows.
        let (one, many) = (
            renderer(&busy(901, 457, depth), 1),
            renderer(&busy(901, 457, depth), 3),
        );
        let options = TileOptions {
            cut: FileCut::Strips,
            ..job(3, (16, 16), compression)
        };
        let file = written(&many, &options);
        assert!(file == written(&one, &options));
        assert_eq!(file[..4], *b"II\x2A\0");
        let mut decoder = Decoder::new(Cursor::new(&file)).unwrap();
        let rows = 256 * 1_024 / (901 * depth / 8);
        assert_eq!(decoder.chunk_dimensions(), (901, rows as u32));
        let samples: Vec<u16> = match decoder.read_image().unwrap() {
            DecodingResult::U8(samples) => samples.into_iter().map(u16::from).collect(),
            DecodingResult::U16(samples) => samples,
            other => panic!("{other:?}"),
        };
        assert!(samples == whole(&one), "{compression}, {depth} bits");
        if compression == Compression::None {
            // The last strip has the rows that are left, and nothing follows it.
            assert!(file.len() as u64 - 901 * 457 * depth / 8 < 1_024);
        }
    }
}

#[test]
fn rows_that_are_long_are_cut_in_tiles() {
    for (width, height, strips) in [(1 << 20, 9, true), ((1 << 20) + 1, 9, false), (9, 1 << 32, false)] {
        let raster = Raster::new(width, height, Depth::Eight);
        let options = TileOptions {
            cut: FileCut::Strips,
            ..job(1, (16, 16), Compression::Deflate)
        };
        let (columns, _) = TiledTiff::new("out.tif".into(), options)
            .grid(&raster)
            .unwrap()
            .tile();
        assert_eq!(columns == width, strips, "{width} × {height}");
    }
}

#[test]
fn tags_say_the_size_the_depth_the_resolution_and_the_job() {
    let file = written(
        &renderer(&busy(301, 157, 16), 2),
        &job(2, (64, 32), Compression::Deflate),
    );
    for (tag, expected) in [
        (256, vec![301]),
        (257, vec![157]),
        (258, vec![16]),
        (259, vec![8]),
        (262, vec![1]),
        (277, vec![1]),
        // 10 µm: 1 000 pixels a centimetre.
        (282, vec![1_000 | 1 << 32]),
        (283, vec![1_000 | 1 << 32]),
        (296, vec![3]),
        (317, vec![2]),
        (322, vec![64]),
        (323, vec![32]),
        (339, vec![1]),
    ] {
        assert_eq!(values(&file, tag), expected, "tag {tag}");
    }
    let text: Vec<u8> = values(&file, 270).into_iter().map(|byte| byte as u8).collect();
    let expected = format!("Relief raster, job {}\0", blake3::hash(b"a job"));
    assert_eq!(String::from_utf8(text).unwrap(), expected);
}

#[test]
fn one_bit_holds_two_values_and_says_where_another_is() {
    let text = "canvas width=203 height=77 depth=16
threshold level=20000 { (source)noise seed=3 }";
    let renderer_ = renderer(text, 2);
    let expected = whole(&renderer_);
    assert!(expected.contains(&0) && expected.contains(&65_535));
    for compression in [
        Compression::None,
        Compression::PackBits,
        Compression::Lzw,
        Compression::Deflate,
    ] {
        let options = TileOptions {
            one_bit: true,
            ..job(2, (64, 32), compression)
        };
        let file = written(&renderer_, &options);
        assert_eq!(values(&file, 258), [1]);
        assert!(decoded(&file) == expected, "{compression}");
    }
    // Group 4 is read by the crate `fax`.
    let options = TileOptions {
        one_bit: true,
        ..job(2, (64, 32), Compression::Group4)
    };
    let file = written(&renderer_, &options);
    assert!(decoded(&file) == expected);
    for (number, (_, bytes)) in tiles(&file).into_iter().enumerate() {
        let (left, top) = (number % 4 * 64, number / 4 * 32);
        let mut rows = 0;
        fax::decoder::decode_g4(bytes.iter().copied(), 64, Some(32), |changes| {
            for (x, colour) in fax::decoder::pels(changes, 64).enumerate() {
                let (x, y) = (left + x, top + rows);
                if x < 203 && y < 77 {
                    let expected = expected[y * 203 + x] > 0;
                    assert_eq!(colour == fax::Color::Black, expected, "({x}, {y})");
                }
            }
            rows += 1;
        });
        assert_eq!(rows, 32);
    }

    let gray = renderer("canvas width=40 height=20\nramp axis=\"x\" from=0 to=255", 1);
    let at = whole(&gray).iter().position(|&v| v != 0 && v != 255).unwrap();
    let folder = TempDir::new().unwrap();
    let mut sink = TiledTiff::new(folder.path().join("out.tif"), options);
    let error = gray
        .render_tiles(&mut sink, None, &mut nothing, &Cancel::new())
        .unwrap_err();
    let Error::Sink(error) = error else {
        panic!("{error:?}")
    };
    let said = error.to_string();
    assert!(
        said.contains(&format!("pixel ({at}, 0)")) && said.contains("threshold"),
        "{said}"
    );
}

#[test]
fn a_run_that_is_stopped_goes_on_to_the_same_bytes() {
    let text = busy(301, 157, 8);
    for compression in COMPRESSIONS {
        for share in [false, true] {
            let options = job(3, (32, 16), compression);
            let tile = Some((32, 16));
            let renderer = renderer(&text, 3);
            let expected = if share {
                shared(&renderer, tile, &options).0
            } else {
                written(&renderer, &options)
            };
            let folder = TempDir::new().unwrap();
            let path = folder.path().join("out.tif");
            // Every run computes some tiles more than the one before.
            for most in [1, 20, 60, usize::MAX] {
                let cancel = Cancel::new();
                let mut told = Vec::new();
                let mut tell = |progress: Progress| {
                    told.push(progress.done);
                    if told.len() >= most {
                        cancel.cancel();
                    }
                };
                let outcome = if share {
                    let plan = renderer.plan();
                    let sharing = Sharing::new(&plan.raster(), plan.period(), tile);
                    let file = SharedTiff::new(path.clone(), sharing, &options).unwrap();
                    file.render(&renderer, &mut tell, &cancel)
                } else {
                    let mut sink = TiledTiff::new(path.clone(), options.clone());
                    renderer.render_tiles(&mut sink, None, &mut tell, &cancel)
                };
                if outcome.is_ok() || most == usize::MAX {
                    // It may be done before it hears that it is to stop.
                    outcome.unwrap();
                    break;
                } else {
                    assert!(
                        matches!(outcome, Err(Error::Cancelled)),
                        "{compression}: {outcome:?}"
                    );
                    // Where the first tile is not the first one that is done, it may be that none has its place yet.
                    let none_yet = most == 1 && names(folder.path()).is_empty();
                    assert!(
                        none_yet || names(folder.path()) == ["out.tif.partial"],
                        "{compression}"
                    );
                }
            }
            assert_eq!(names(folder.path()), ["out.tif"]);
            assert!(
                fs::read(&path).unwrap() == expected,
                "{compression}, shared: {share}"
            );
        }
    }
}

/// Tiles that are noted as stored are believed: a mark left in one of them is there at the end.
#[test]
fn what_is_stored_is_not_computed_again() {
    for compression in [Compression::None, Compression::PackBits] {
        let renderer = renderer(&busy(301, 157, 8), 2);
        let options = job(2, (32, 16), compression);
        let expected = written(&renderer, &options);
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("out.tif");
        let sink = TiledTiff::new(path.clone(), options.clone());
        renderer
            .render_tiles(&mut Stops(sink, 50), None, &mut nothing, &Cancel::new())
            .unwrap_err();
        let partial = partial_path(&path);
        let mut bytes = fs::read(&partial).unwrap();
        let (offset, _) = tiles(&bytes)[3];
        bytes[offset as usize] ^= 1;
        fs::write(&partial, &bytes).unwrap();
        let mut sink = TiledTiff::new(path.clone(), options.clone());
        renderer
            .render_tiles(&mut sink, None, &mut nothing, &Cancel::new())
            .unwrap();
        let mut found = fs::read(&path).unwrap();
        assert_eq!(found[offset as usize], expected[offset as usize] ^ 1);
        found[offset as usize] ^= 1;
        assert!(found == expected);
    }
}

#[test]
fn parts_that_are_written_at_the_same_time_are_one_file() {
    let text = busy(301, 157, 16);
    let options = job(1, (32, 32), Compression::None);
    let expected = written(&renderer(&text, 2), &options);
    for parts in [1, 2, 5, 90] {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("out.tif");
        let completions: Vec<Completion> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..parts)
                .map(|part| {
                    let (text, path, options) = (&text, &path, &options);
                    scope.spawn(move || {
                        let renderer = renderer(text, 1);
                        let sink = TiledTiff::new(path.clone(), options.clone());
                        let mut sink = sink.in_parts().unwrap();
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
        assert_eq!(names(folder.path()), ["out.tif"], "{parts} parts");
        assert!(fs::read(&path).unwrap() == expected, "{parts} parts");
    }
}

/// Compressed tiles would wait for those of other parts: a part of them is refused, and nothing is written.
#[test]
fn a_part_of_compressed_tiles_is_refused_before_it_begins() {
    let renderer = renderer(&busy(301, 157, 8), 2);
    for compression in &COMPRESSIONS[1..] {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("out.tif");
        let options = job(2, (32, 32), *compression);
        let mut sink = TiledTiff::new(path.clone(), options.clone());
        let refused = renderer.render_tiles(&mut sink, Some((1, 3)), &mut nothing, &Cancel::new());
        let Err(Error::Sink(error)) = refused else {
            panic!("{refused:?}")
        };
        let said = error.to_string();
        assert!(said.contains("cannot be written in parts"), "{said}");
        assert_eq!(names(folder.path()), [""; 0]);
        // All of them are one part.
        renderer
            .render_tiles(&mut sink, Some((0, 1)), &mut nothing, &Cancel::new())
            .unwrap();
        assert!(fs::read(&path).unwrap() == written(&renderer, &options));
    }
}

#[test]
fn a_part_says_what_is_missing() {
    let renderer = renderer(&busy(301, 157, 8), 1);
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("out.tif");
    let run = |part| {
        let sink = TiledTiff::new(path.clone(), job(1, (32, 32), Compression::None));
        let mut sink = sink.in_parts().unwrap();
        renderer
            .render_tiles(&mut sink, Some((part, 3)), &mut nothing, &Cancel::new())
            .unwrap();
        sink.completion().unwrap()
    };
    // 10 × 5 tiles in parts of 17, 17 and 16.
    assert_eq!(run(2), Completion::Missing { tiles: 34 });
    assert_eq!(run(2), Completion::Missing { tiles: 34 });
    assert_eq!(run(0), Completion::Missing { tiles: 17 });
    assert_eq!(names(folder.path()), ["out.tif.partial"]);
    assert_eq!(run(1), Completion::Complete);
    assert_eq!(names(folder.path()), ["out.tif"]);
}

#[test]
fn an_unfinished_file_of_another_job_or_that_another_writes_is_refused() {
    let renderer = renderer(&busy(301, 157, 8), 1);
    let raster = renderer.plan().raster();
    let options = job(1, (32, 32), Compression::None);
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("out.tif");
    let begin = |options: &TileOptions| {
        let mut sink = TiledTiff::new(path.clone(), options.clone());
        let grid = sink.grid(&raster).unwrap();
        sink.begin(&raster, &grid, &(0..grid.count())).map(|()| sink)
    };
    let first = begin(&options).unwrap();
    let said = begin(&options).unwrap_err().to_string();
    assert!(
        said.contains("another process writes") && said.contains("out.tif.partial"),
        "{said}"
    );
    // Nothing is in it: it goes away.
    drop(first);
    assert_eq!(names(folder.path()), [""; 0]);
    let mut part = TiledTiff::new(path.clone(), options.clone()).in_parts().unwrap();
    let render = renderer.render_tiles(&mut part, Some((0, 2)), &mut |_| (), &Cancel::new());
    render.unwrap();
    drop(part);
    for other in [
        TileOptions {
            job: blake3::hash(b"another"),
            ..options.clone()
        },
        job(1, (64, 32), Compression::None),
        job(1, (32, 32), Compression::Lzw),
    ] {
        let said = begin(&other).unwrap_err().to_string();
        assert!(
            said.contains("another job")
                && said.contains(&format!("`rm {}.partial` removes it", path.display())),
            "{said}"
        );
    }
    begin(&options).unwrap();
    assert_eq!(names(folder.path()), ["out.tif.partial"]);
}

#[test]
fn tiles_that_cannot_be_are_refused_with_what_would_do() {
    let raster = Raster::new(1 << 40, 1 << 40, Depth::Eight);
    for (tile, said) in [
        ((100, 16), "112x16 would do"),
        ((16, 0), "16x16 would do"),
        ((1 << 20, 1 << 20), "at most 2147483647"),
        ((16, 16), "more than a file can hold"),
    ] {
        let sink = TiledTiff::new("out.tif".into(), job(1, tile, Compression::None));
        let error = sink.grid(&raster).unwrap_err().to_string();
        assert!(error.contains(said), "{tile:?}: {error}");
    }
    let compressed = TiledTiff::new("out.tif".into(), job(1, (16, 16), Compression::Lzw)).in_parts();
    assert!(matches!(compressed, Err(SinkError::PartsInOrder { .. })));
}

/// Tiles that repeat are stored once, and what of them lies beyond the raster goes on repeating.
#[test]
fn a_raster_that_repeats_is_stored_once() {
    for (depth, compression) in [(8, Compression::None), (16, Compression::Deflate)] {
        let text = format!(
            "canvas width=1001 height=703 depth={depth}
repeat step-x=24 step-y=40 {{ (pattern)disc diameter=19 value=200 }}"
        );
        let renderer = renderer(&text, 3);
        let (file, sharing) = shared(&renderer, None, &job(3, (16, 16), compression));
        assert!(decoded(&file) == whole(&renderer), "{compression}");
        assert_eq!(sharing.distinct(), 1);
        assert_eq!(sharing.reason(), None);
        let (width, height) = sharing.tile();
        assert!(width % 48 == 0 && height % 80 == 0, "{width} × {height}");
        let stored = tiles(&file);
        assert_eq!(stored.len() as u128, sharing.tiles());
        assert!(stored.iter().all(|tile| tile.0 == stored[0].0));
    }
}

/// A tile with its padding, as the period gives it: by the sample at (0, 0) … of the raster.
#[test]
fn the_padding_of_a_shared_tile_continues_the_period() {
    let renderer = renderer(
        "canvas width=100 height=90
repeat step-x=32 step-y=48 { (pattern)disc diameter=31 value=200 }",
        2,
    );
    let raster = whole(&renderer);
    let (file, sharing) = shared(&renderer, Some((64, 48)), &job(2, (64, 48), Compression::None));
    assert_eq!(sharing.distinct(), 1);
    let (_, bytes) = tiles(&file)[3];
    for (at, byte) in bytes.iter().enumerate() {
        let (x, y) = (at % 64 % 32, at / 64 % 48);
        assert_eq!(
            u16::from(*byte),
            raster[y * 100 + x],
            "({}, {})",
            at % 64,
            at / 64
        );
    }
}

#[test]
fn a_raster_one_pixel_wide_repeats_along_its_length() {
    for (width, height) in [(1, 5_000), (5_000, 1)] {
        let text = format!(
            "canvas width={width} height={height}
repeat step-x=120 step-y=80 {{ (pattern)disc diameter=70 value=200 }}"
        );
        let renderer = renderer(&text, 2);
        let (file, sharing) = shared(&renderer, None, &job(2, (16, 16), Compression::None));
        assert_eq!(sharing.distinct(), 1, "{width} × {height}");
        assert!(decoded(&file) == whole(&renderer));
    }
}

#[test]
fn the_tiles_of_a_terabyte_are_counted_before_the_start() {
    let raster = Raster::new(1_000_000, 1_000_000, Depth::Eight);
    let text = "canvas width=1000000 height=1000000
repeat step-x=120 step-y=80 { (pattern)disc diameter=70 value=200 }";
    let renderer = renderer(text, 2);
    let sharing = Sharing::new(&raster, renderer.plan().period(), None);
    assert_eq!(sharing.distinct(), 1);
    assert!(sharing.bytes() <= 20_000_000, "{} bytes", sharing.bytes());
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("out.tif");
    let options = job(2, (16, 16), Compression::None);
    let file = SharedTiff::new(path.clone(), sharing, &options).unwrap();
    file.render(&renderer, &mut nothing, &Cancel::new()).unwrap();
    assert!(fs::metadata(&path).unwrap().len() <= 20_000_000);
    let mut decoder = Decoder::new(fs::File::open(&path).unwrap())
        .unwrap()
        .with_limits(tiff::decoder::Limits::unlimited());
    assert_eq!(decoder.dimensions().unwrap(), (1_000_000, 1_000_000));
    let (width, height) = decoder.chunk_dimensions();
    // A tile somewhere, and the one at the corner, which the border cuts.
    let across = 1_000_000_u32.div_ceil(width);
    for (column, row) in [(77, 101), (across - 1, 1_000_000_u32.div_ceil(height) - 1)] {
        let DecodingResult::U8(tile) = decoder.read_chunk(row * across + column).unwrap() else {
            panic!("8 bits")
        };
        let (x, y) = (i64::from(column * width), i64::from(row * height));
        let rect = Rect::new(x, y, u64::from(width), u64::from(height)).unwrap();
        let rect = rect.intersection(&Rect::sized(1_000_000, 1_000_000));
        let tile: Vec<u16> = tile.into_iter().map(u16::from).collect();
        assert!(tile == window(&renderer, rect), "tile ({column}, {row})");
    }
}

/// A design that repeats in the middle only, of any lattice, with a mark that does not.
fn lattice(u: (i64, i64), v: (i64, i64), marked: bool, width: u64, height: u64) -> String {
    let mark = if marked {
        "(max)disc diameter=9 value=255 x=5 y=3"
    } else {
        ""
    };
    format!(
        "canvas width={width} height={height}
compose {{
    (base)lattice blend=\"max\" {{ u {} {}; v {} {}; (pattern)ramp axis=\"x\" from=20 to=200 width=7 height=5 }}
    {mark}
}}",
        u.0, u.1, v.0, v.1
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever the period: the samples are right, and equal tiles lie at one place.
    #[test]
    fn shared_tiles_are_right_and_equal_ones_are_one(
        u in (6_i64..20, -9_i64..9),
        v in (-9_i64..9, 6_i64..20),
        marked in any::<bool>(),
        (width, height) in (1_u64..200, 1_u64..200),
        tile in (1_u64..5, 1_u64..5),
        chosen in any::<bool>(),
        threads in 1_usize..4,
        method in 0_usize..4,
    ) {
        // Parallel vectors span nothing.
        prop_assume!(u.0 * v.1 != u.1 * v.0);
        let renderer = renderer(&lattice(u, v, marked, width, height), threads);
        let tile = (tile.0 * 16, tile.1 * 16);
        let options = job(threads, tile, COMPRESSIONS[method]);
        let (file, sharing) = shared(&renderer, (!chosen).then_some(tile), &options);
        prop_assert!(decoded(&file) == whole(&renderer));
        let mut places: HashMap<&[u8], u64> = HashMap::new();
        let stored = tiles(&file);
        for (offset, bytes) in &stored {
            prop_assert_eq!(*places.entry(bytes).or_insert(*offset), *offset);
        }
        prop_assert!(places.len() as u128 <= sharing.distinct());
        prop_assert!(sharing.distinct() <= sharing.tiles());
        prop_assert_eq!(stored.len() as u128, sharing.tiles());
    }
}

#[test]
fn a_file_that_is_replaced_is_as_it_was_until_the_new_one_is_complete() {
    let renderer = renderer(&busy(301, 157, 8), 1);
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("out.tif");
    fs::write(&path, "older").unwrap();
    let options = job(1, (32, 32), Compression::Deflate);
    let sink = TiledTiff::new(path.clone(), options.clone());
    renderer
        .render_tiles(&mut Stops(sink, 20), None, &mut nothing, &Cancel::new())
        .unwrap_err();
    assert_eq!(fs::read(&path).unwrap(), b"older");
    let mut sink = TiledTiff::new(path.clone(), options);
    renderer
        .render_tiles(&mut sink, None, &mut nothing, &Cancel::new())
        .unwrap();
    assert!(decoded(&fs::read(&path).unwrap()) == whole(&renderer));
    assert_eq!(partial_path(Path::new("a.tif")), Path::new("a.tif.partial"));
}

/// Nothing is compressed further than is said: the samples are those that each compression makes least of.
#[test]
fn no_compression_goes_below_its_least() {
    let raster = Raster::new(4_096, 4_096, Depth::Eight);
    for compression in [
        Compression::None,
        Compression::Deflate,
        Compression::PackBits,
        Compression::Lzw,
        Compression::Group4,
    ] {
        let one_bit = compression == Compression::Group4;
        let options = TileOptions {
            one_bit,
            ..job(2, (4_096, 4_096), compression)
        };
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("out.tif");
        let mut sink = TiledTiff::new(path.clone(), options);
        let before = sink.bytes(&raster).unwrap();
        let text = "canvas width=4096 height=4096 depth=8\nfill value=0";
        let renderer = renderer(text, 2);
        renderer
            .render_tiles(&mut sink, None, &mut |_| (), &Cancel::new())
            .unwrap();
        let bytes = u128::from(fs::metadata(&path).unwrap().len());
        let least = compression.least(before.into(), 4_096);
        assert!(least <= bytes, "{compression}: {least} {bytes}");
        // And not by far: a bound that says nothing refuses nothing.
        assert!(bytes < 3 * least + 4_096, "{compression}: {least} {bytes}");
    }
}
