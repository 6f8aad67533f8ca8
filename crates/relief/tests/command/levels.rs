//! Levels and previews, what `plan` says of a file before it is written, and what `verify` finds of one.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::process::{names, run, written};

/// A marked sheet, two thirds of which are the fill value.
const SHEET: &str = "relief version=1
canvas width=301 height=203 pixel=\"2um\"
compose {
    (base)fill value=0
    (max)noise seed=3 width=90 height=70 x=5 y=9
    (max)disc diameter=50 value=255 x=240 y=150
}
";

fn rendered(design: &str, path: &Path, options: &[&str]) {
    let ended = run(&[&["render", design, "-q", "-o", path.to_str().unwrap()], options].concat());
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{options:?}");
}

/// Means of blocks of 2^level pixels a side, pixel by pixel.
fn means(samples: &[u8], (width, height): (usize, usize), level: usize) -> Vec<u8> {
    let side = 1 << level;
    let block = |x: usize, y: usize| {
        let rows = y * side..height.min((y + 1) * side);
        let pixels: Vec<usize> = rows
            .flat_map(|y| {
                (x * side..width.min((x + 1) * side)).map(move |x| usize::from(samples[y * width + x]))
            })
            .collect();
        ((2 * pixels.iter().sum::<usize>() + pixels.len()) / (2 * pixels.len())) as u8
    };
    let columns = width.div_ceil(side);
    (0..height.div_ceil(side) * columns)
        .map(|place| block(place % columns, place / columns))
        .collect()
}

#[test]
fn a_level_is_the_same_in_every_format() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, SHEET);
    let all = run(&["render", &design, "-o", "-"]).done();
    for level in [1, 3] {
        let expected = means(&all, (301, 203), level);
        let level = level.to_string();
        let options = ["--level", &level];
        let raw = run(&[&["render", &design, "-o", "-"], &options[..]].concat()).done();
        assert!(raw == expected, "level {level}");
        let png = folder.path().join("out.png");
        rendered(&design, &png, &options);
        let mut reader = png::Decoder::new(std::io::Cursor::new(std::fs::read(&png).unwrap()))
            .read_info()
            .unwrap();
        let mut frame = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut frame).unwrap();
        assert!(frame == expected);
        for more in [&["--compress", "deflate"][..], &["--file-tile", "32x16"], &[]] {
            let tiff = folder.path().join("out.tif");
            rendered(&design, &tiff, &[&options[..], more].concat());
            let file = std::fs::File::open(&tiff).unwrap();
            let tiff::decoder::DecodingResult::U8(found) =
                tiff::decoder::Decoder::new(file).unwrap().read_image().unwrap()
            else {
                panic!("8 bits")
            };
            assert!(found == expected, "{more:?}");
        }
    }
    // The finest level of which no side is longer: 301 × 203, 151 × 102, 76 × 51.
    let preview = run(&["render", &design, "-o", "-", "--preview", "76"]).done();
    assert!(preview == means(&all, (301, 203), 2));
    let whole = run(&["render", &design, "-o", "-", "--preview", "301"]).done();
    assert!(whole == all);
    let least = run(&["render", &design, "-o", "-", "--level", "3", "--statistic", "min"]).done();
    let greatest = run(&["render", &design, "-o", "-", "--level", "3", "--statistic", "max"]).done();
    let mean = means(&all, (301, 203), 3);
    let ordered = |((least, mean), greatest): ((&u8, &u8), &u8)| least <= mean && mean <= greatest;
    assert!(least.iter().zip(&mean).zip(&greatest).all(ordered));
    assert!(least.contains(&0) && greatest.contains(&255));
}

#[test]
fn a_level_that_costs_too_much_is_refused_before_anything_is_written() {
    let folder = TempDir::new().unwrap();
    let text = "relief version=1\ncanvas width=4000000 height=1000000\nnoise seed=1\n";
    let design = written(&folder, text);
    let out = TempDir::new().unwrap();
    let path = out.path().join("out.tif");
    let path = path.to_str().unwrap();
    for more in [&[][..], &["--file-tile", "64x64"]] {
        let ended = run(&[&["render", &design, "-o", path, "--preview", "500"], more].concat());
        ended.failed(2, "takes 4000000000000 samples to compute");
        ended.failed(2, "--region");
        ended.failed(2, "--cost");
        assert_eq!(names(out.path()), [""; 0]);
    }
    // A part costs less.
    let region = [
        "--region",
        "5,7,3000x2000",
        "--cost",
        "6000000",
        "--preview",
        "500",
    ];
    rendered(&design, Path::new(path), &region);
    let ended = run(&["render", &design, "-o", path, "--statistic", "max"]);
    ended.failed(2, "give --level or --preview");
    let ended = run(&["render", &design, "-o", path, "--share", "--level", "2"]);
    ended.failed(2, "leave --share");
}

#[test]
fn an_unfinished_level_is_not_gone_on_with_as_another() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, SHEET);
    let path = folder.path().join("out.zarr");
    let part = ["--file-tile", "16x16", "--part", "0/2"];
    rendered(&design, &path, &[&["--level", "1"], &part[..]].concat());
    let path = path.to_str().unwrap();
    let other = [
        &[
            "render",
            &design,
            "-o",
            path,
            "--level",
            "1",
            "--statistic",
            "max",
        ],
        &part[..],
    ]
    .concat();
    let ended = run(&other);
    ended.failed(1, "another job");
    // The same command would fail again.
    assert!(!ended.err.contains("goes on with it"), "{}", ended.err);
    assert_eq!(ended.err.matches("relief: ").count(), 1, "{}", ended.err);
}

fn plan(design: &str, options: &[&str]) -> Value {
    let ended = run(&[&["plan", "--json", design], options].concat());
    serde_json::from_slice(&ended.done()).unwrap()
}

/// What a plan says of a file is so of the file.
#[test]
fn a_plan_tells_what_the_file_will_be() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, SHEET);
    for (name, options, tiles) in [
        ("out.raw", &[][..], None),
        ("out.pgm", &[], None),
        ("out.bmp", &[], None),
        ("out.bmp", &["--bits", "1", "--halftone", "bayer:4"], None),
        ("out.tif", &[], None),
        ("out.tif", &["--file-tile", "64x48"], Some("25")),
        ("out.tif", &["--file-tile", "64x48", "--level", "2"], Some("4")),
        ("out.stl", &["--amplitude", "80um", "--base", "1mm"], None),
    ] {
        let path = folder.path().join(name);
        rendered(&design, &path, options);
        let options = [&["-o", path.to_str().unwrap()], options].concat();
        let output = &plan(&design, &options)["output"];
        assert_eq!(output["exact"], true, "{options:?}");
        let bytes = std::fs::metadata(&path).unwrap().len();
        assert_eq!(output["bytes"], bytes.to_string(), "{options:?}");
        assert_eq!(output["tiles"].as_str(), tiles, "{options:?}");
        std::fs::remove_file(path).unwrap();
    }
    for (name, options, resumable, parts) in [
        ("out.png", &[][..], false, false),
        ("out.tif", &["--compress", "deflate"], true, false),
        ("out.zarr", &["--compress", "gzip"], true, true),
        ("out.tif", &["--file-tile", "64x64"], true, true),
    ] {
        let output = &plan(&design, &[&["-o", name], options].concat())["output"];
        assert_eq!(
            (&output["resumable"], &output["parts"]),
            (&resumable.into(), &parts.into()),
            "{name}"
        );
    }
}

#[test]
fn a_plan_tells_how_many_tiles_differ_and_what_a_sink_holds() {
    let folder = TempDir::new().unwrap();
    let text = "relief version=1
canvas width=100000 height=100000
repeat step-x=120 step-y=80 { (pattern)disc diameter=70 value=200 }
";
    let design = written(&folder, text);
    let output = &plan(&design, &["-o", "out.tif", "--share"])["output"];
    assert_eq!(output["distinct_tiles"], "1");
    let text = run(&["plan", &design, "-o", "out.tif", "--share"]).done();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("at most 1 of them different"), "{text}");
    assert!(text.contains("goes on where it was left"), "{text}");
    // What the sink holds is part of the memory.
    let with = |options: &[&str]| plan(&design, options)["memory"]["output"].as_u64().unwrap();
    let plain = with(&["-o", "out.tif", "--file-tile", "512x512", "--threads", "2"]);
    let deflated = with(&[
        "-o",
        "out.tif",
        "--file-tile",
        "512x512",
        "--compress",
        "deflate",
        "--threads",
        "2",
    ]);
    assert!(0 < plain && plain < deflated, "{plain} {deflated}");
    // Options of a file without one are refused, and so is what 'render' refuses.
    run(&["plan", &design, "--share"]).failed(2, "name the file");
    run(&["plan", &design, "-o", "out.tif", "--compress", "g4"]).failed(2, "--bits 1");
    run(&["plan", &design, "-o", "out.txt"]).failed(2, "no format has this extension");
}

#[test]
fn verify_lists_what_a_store_misses() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, SHEET);
    let path = folder.path().join("out.zarr");
    let store = path.to_str().unwrap();
    let tile = ["--file-tile", "32x32"];
    let part = |part: &str| rendered(&design, &path, &[&tile[..], &["--part", part]].concat());
    // 10 × 7 tiles in three parts: 24, 23 and 23.
    part("1/3");
    let ended = run(&["verify", &design, store, "--parts", "3"]);
    ended.failed(
        1,
        "misses 47 of 70 tiles, in parts 0/3, 2/3, has not its name yet",
    );
    assert!(
        ended.text().contains("missing: tiles 0 to 23"),
        "{}",
        ended.text()
    );
    part("0/3");
    part("2/3");
    let done = run(&["verify", &design, store]).done();
    let done = String::from_utf8(done).unwrap();
    assert!(done.contains("all 70 tiles are there, of this design"), "{done}");
    // A chunk that is lost, one of many that are the fill value; and files that belong to none.
    std::fs::remove_file(path.join("0/c/1/1")).unwrap();
    std::fs::write(path.join("0/c/1/99"), "x").unwrap();
    std::fs::write(path.join("0/c/01"), "x").unwrap();
    let ended = run(&["verify", &design, store]);
    ended.failed(1, "misses 1 of 70 tiles, has 2 files that no tile is in");
    let told = ended.text();
    assert!(
        told.contains("missing: tile 11 at (32, 32): its file is gone"),
        "{told}"
    );
    assert!(told.contains("foreign: ") && told.contains("0/c/1/99"), "{told}");
    // Another design, or a part of it, is another job.
    let region = run(&["verify", &design, store, "--region", "0,0,50x50"]);
    region.failed(1, "is of another job");
    let other = TempDir::new().unwrap();
    let other = written(
        &other,
        "relief version=1\ncanvas width=301 height=203\nfill value=1\n",
    );
    run(&["verify", &other, store]).failed(1, "is of another job");
    run(&[
        "verify",
        &design,
        folder.path().join("none.zarr").to_str().unwrap(),
    ])
    .failed(1, "cannot tell");
    run(&["verify", &design, "a.raw", "--parts", "3"]).failed(2, "--parts is for one Zarr store or TIFF");
    run(&["verify", &design, "a.png"]).failed(2, "is a design, by which one Zarr store or TIFF");
}

#[test]
fn verify_finds_what_a_tiff_misses() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, SHEET);
    let path = folder.path().join("out.tif");
    let file = path.to_str().unwrap();
    for compress in [&[][..], &["--compress", "packbits"]] {
        let tile = [&["--file-tile", "32x32"], compress].concat();
        rendered(&design, &path, &tile);
        let done = String::from_utf8(run(&["verify", &design, file]).done()).unwrap();
        assert!(done.contains("all 70 tiles are there"), "{done}");
    }
    rendered(&design, &path, &["--file-tile", "32x32"]);
    // The last 3 tiles are cut off.
    let bytes = std::fs::metadata(&path).unwrap().len();
    let open = std::fs::File::options().write(true).open(&path).unwrap();
    open.set_len(bytes - 2 * 1_024 - 1).unwrap();
    run(&["verify", &design, file]).failed(1, "misses 3 of 70 tiles");
    std::fs::remove_file(&path).unwrap();
    rendered(&design, &path, &["--file-tile", "32x32", "--part", "0/2"]);
    run(&["verify", &design, file, "--parts", "2"]).failed(1, "in parts 1/2");
    // One that was written in one pass does not say of what it is.
    rendered(&design, &path, &[]);
    run(&["verify", &design, file]).failed(1, "written in one pass");
}
