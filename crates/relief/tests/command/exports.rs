//! Files that go on where they were left: killed, interrupted, on a full disk, in parts.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::process::{names, relief, run, written};

/// A raster far from its end when 80 megapixels are done: a job tells how far it is five times a second, and one thread computes less than
/// half of what is left in that time.
const LONG: &str = "relief version=1
canvas width=12000 height=18000 pixel=\"1um\"
compose {
    (base)noise seed=3
    (multiply)disc diameter=9000 value=255 x=1500
}
";

/// A short one.
const SHORT: &str = "relief version=1
canvas width=700 height=500
noise seed=9
";

fn rendered(design: &str, path: &Path, options: &[&str]) {
    let ended = run(&[&["render", design, "-q", "-o", path.to_str().unwrap()], options].concat());
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{options:?}");
}

/// The bytes of a file written at once.
fn at_once(design: &str, options: &[&str]) -> Vec<u8> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("out.tif");
    rendered(design, &path, options);
    std::fs::read(path).unwrap()
}

/// Starts a job of one thread, waits until it has done so many pixels, and ends it by a signal.
fn ended_by(signal: Signal, design: &str, path: &Path, options: &[&str], pixels: u64) -> Option<i32> {
    let mut child = relief(&["render", design, "--threads", "1", "--json-progress", "-o"])
        .arg(path)
        .args(options)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    for line in told.by_ref() {
        let line: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        if line["done"].as_u64().unwrap() >= pixels {
            break;
        }
    }
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
    // What it says is read, so that it does not wait.
    told.for_each(drop);
    child.wait().unwrap().code()
}

#[test]
fn a_job_that_is_killed_leaves_no_file_and_goes_on_to_the_same_bytes() {
    for options in [
        &["--file-tile", "512x512"][..],
        &["--file-tile", "512x512", "--compress", "packbits"],
        &["--file-tile", "512x512", "--share", "--compress", "packbits"],
    ] {
        let folder = TempDir::new().unwrap();
        let design = written(&folder, LONG);
        let out = TempDir::new().unwrap();
        let path = out.path().join("out.tif");
        // What was noted on the disk by then is more than nothing.
        ended_by(Signal::SIGKILL, &design, &path, options, 80_000_000);
        assert_eq!(names(out.path()), ["out.tif.partial"], "{options:?}");
        rendered(&design, &path, options);
        assert_eq!(names(out.path()), ["out.tif"], "{options:?}");
        assert!(
            std::fs::read(&path).unwrap() == at_once(&design, options),
            "{options:?}"
        );
    }
}

/// The files of a folder, by name.
fn files(folder: &Path) -> std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut files = std::collections::BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_owned();
                files.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    files
}

#[test]
fn a_store_that_is_killed_or_written_in_parts_is_that_of_one_process() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, LONG);
    let out = TempDir::new().unwrap();
    let whole = out.path().join("whole.zarr");
    let options = &["--file-tile", "512x512", "--shard", "1024x1024"];
    rendered(&design, &whole, options);
    let expected = files(&whole);

    let killed = out.path().join("killed.zarr");
    ended_by(Signal::SIGKILL, &design, &killed, options, 80_000_000);
    assert_eq!(names(out.path()), ["killed.zarr.partial", "whole.zarr"]);
    rendered(&design, &killed, options);
    assert!(files(&killed) == expected);

    let parts = out.path().join("parts.zarr");
    let part = |part: &str| {
        relief(&["render", &design, "-o", parts.to_str().unwrap(), "--part", part])
            .args(options)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = ["2/3", "0/3"].map(part).into();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    assert!(!parts.exists());
    let last = part("1/3").wait_with_output().unwrap();
    assert!(
        String::from_utf8(last.stdout)
            .unwrap()
            .contains("12000 × 18000 pixels")
    );
    assert!(files(&parts) == expected);
    let again = part("1/3").wait_with_output().unwrap();
    assert!(
        String::from_utf8(again.stdout)
            .unwrap()
            .contains("all parts are there")
    );
    // A store is not replaced.
    let refused = run(&[&["render", &design, "-o", parts.to_str().unwrap()], &options[..]].concat());
    refused.failed(1, "it is there already; remove it");
}

#[test]
fn an_interrupt_ends_with_130_and_says_where_it_goes_on() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, LONG);
    let out = TempDir::new().unwrap();
    let path = out.path().join("out.tif");
    let options = &["--file-tile", "256x256", "--compress", "deflate"];
    let code = ended_by(Signal::SIGINT, &design, &path, options, 1);
    assert_eq!(code, Some(130));
    assert_eq!(names(out.path()), ["out.tif.partial"]);
    rendered(&design, &path, options);
    assert_eq!(names(out.path()), ["out.tif"]);
    assert!(std::fs::read(&path).unwrap() == at_once(&design, options));
}

#[test]
fn a_disk_that_is_full_leaves_what_goes_on_when_it_is_not() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, SHORT);
    for options in [
        &["--file-tile", "64x64"][..],
        &["--file-tile", "64x64", "--compress", "lzw"],
        &["--file-tile", "64x64", "--share"],
    ] {
        let out = TempDir::new().unwrap();
        let path = out.path().join("out.tif");
        // 128 blocks of 1 KiB, or of 512 bytes.
        let output = Command::new("sh")
            .args(["-c", "ulimit -f 128; exec \"$0\" \"$@\""])
            .arg(env!("CARGO_BIN_EXE_relief"))
            .args(["render", &design, "-o", path.to_str().unwrap()])
            .args(options)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("cannot write") && said.contains("the same command goes on"),
            "{said}"
        );
        assert_eq!(names(out.path()), ["out.tif.partial"]);
        rendered(&design, &path, options);
        assert_eq!(names(out.path()), ["out.tif"]);
        assert!(
            std::fs::read(&path).unwrap() == at_once(&design, options),
            "{options:?}"
        );
    }
}

#[test]
fn processes_write_parts_of_one_file_at_the_same_time() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, SHORT);
    let out = TempDir::new().unwrap();
    let path = out.path().join("out.tif");
    let part = |part: &str| {
        let tile = ["--file-tile", "64x64", "--part", part];
        relief(&["render", &design, "-o", path.to_str().unwrap()])
            .args(tile)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = ["0/4", "1/4", "3/4"].map(part).into();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    assert_eq!(names(out.path()), ["out.tif.partial"]);
    let last = part("2/4").wait_with_output().unwrap();
    assert!(
        String::from_utf8(last.stdout)
            .unwrap()
            .contains("700 × 500 pixels")
    );
    assert_eq!(names(out.path()), ["out.tif"]);
    assert!(std::fs::read(&path).unwrap() == at_once(&design, &["--file-tile", "64x64"]));
    // A part that is asked for again has nothing to do.
    let again = part("1/4").wait_with_output().unwrap();
    assert!(
        String::from_utf8(again.stdout)
            .unwrap()
            .contains("all parts are there")
    );
    assert_eq!(names(out.path()), ["out.tif"]);
}

#[test]
fn options_that_do_not_go_together_are_refused_before_anything_is_written() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, SHORT);
    let out = TempDir::new().unwrap();
    let tif = out.path().join("out.tif");
    let png = out.path().join("out.png");
    let stl = out.path().join("out.stl");
    let stl = stl.to_str().unwrap();
    let zarr = out.path().join("out.zarr");
    let zarr = zarr.to_str().unwrap();
    let raw = out.path().join("out.raw");
    let (tif, png, raw) = (
        tif.to_str().unwrap(),
        png.to_str().unwrap(),
        raw.to_str().unwrap(),
    );
    for (options, said) in [
        (&["-o", png, "--share"][..], "name the file .tif"),
        (&["-o", "-", "-f", "tiff", "--share"], "name a file"),
        (&["-o", tif, "--share", "--digest"], "relief digest"),
        (&["-o", tif, "--file-tile", "100x64"], "112x64 would do"),
        (
            &["-o", tif, "--share", "--file-tile", "64x100"],
            "64x112 would do",
        ),
        (&["-o", tif, "--compress", "g4"], "--bits 1"),
        (
            &["-o", tif, "--compress", "zip"],
            "there are none, for TIFF deflate",
        ),
        (&["-o", tif, "--part", "4/4"], "the last one is 3/4"),
        (
            &["-o", tif, "--part", "0/4", "--compress", "lzw"],
            "cannot be written in parts",
        ),
        (&["-o", tif, "--part", "0/4", "--share"], "leave --part out"),
        (&["-o", tif, "--bits", "2", "--share"], "1"),
        (&["-o", zarr, "--bits", "1"], "write png, bmp or tiff"),
        (&["-o", zarr, "--compress", "lzw"], "compressed by gzip"),
        (&["-o", tif, "--compress", "gzip"], "is for Zarr"),
        (&["-o", tif, "--shard", "64x64"], "is for Zarr"),
        (&["-o", zarr, "--share"], "give --shard"),
        (
            &["-o", zarr, "--file-tile", "10x10", "--shard", "25x30"],
            "30x30 would do",
        ),
        (&["-o", zarr, "--digest"], "relief digest"),
        (&["-o", "-", "-f", "zarr"], "name a file"),
        (&["-o", zarr, "--halftone", "floyd-steinberg"], "take blue-noise"),
        (
            &["-o", tif, "--share", "--halftone", "blue-noise"],
            "leave one out",
        ),
        (&["-o", stl], "--amplitude 80um --base 1mm"),
        (&["-o", stl, "--amplitude", "80um", "--base", "0mm"], "--base 1mm"),
        (&["-o", stl, "--amplitude", "80", "--base", "1mm"], "such as 80um"),
        (&["-o", tif, "--base", "1mm"], "name the file .stl"),
        (&["-o", raw, "--halftone", "bayer:3"], "2, 4, 8 or 16"),
        (
            &["-o", raw, "--halftone", "threshold:300"],
            "above the greatest sample",
        ),
        (&["-o", raw, "--bits", "1"], "write png, bmp or tiff"),
        (&["-o", "-", "-f", "tiff", "--bits", "1"], "name a file"),
    ] {
        let ended = run(&[&["render", &design], options].concat());
        assert_eq!(ended.code, Some(2), "{options:?}: {}", ended.err);
        assert!(ended.err.contains(said), "{options:?}: {}", ended.err);
        assert_eq!(names(out.path()), [""; 0]);
    }
}

/// Halftones of a part are those of the whole, and all formats hold the same.
#[test]
fn halftones_are_those_of_the_canvas_in_every_format() {
    let folder = TempDir::new().unwrap();
    let text = "relief version=1
canvas width=300 height=200
ramp axis=\"x\" from=0 to=255
";
    let design = written(&folder, text);
    for method in ["bayer:8", "blue-noise", "threshold:77", "floyd-steinberg"] {
        let halftone = ["--halftone", method];
        let whole = run(&[&["render", &design, "-o", "-"], &halftone[..]].concat()).done();
        assert_eq!(whole.len(), 300 * 200);
        assert!(
            whole.iter().all(|&sample| sample == 0 || sample == 255),
            "{method}"
        );
        // As gray as the ramp, whose mean is a half of M.
        let set = whole.iter().filter(|&&sample| sample == 255).count();
        assert!(
            method == "threshold:77" || set.abs_diff(30_000) < 600,
            "{method}: {set} of 60000"
        );
        let region = ["--region", "37,21,150x99"];
        let part = run(&[&["render", &design, "-o", "-"], &halftone[..], &region].concat()).done();
        let rows = (21..120).flat_map(|y| whole[y * 300 + 37..][..150].iter().copied());
        if method != "floyd-steinberg" {
            assert!(rows.eq(part), "{method}");
        }
        let png = folder.path().join("out.png");
        rendered(&design, &png, &[&halftone[..], &["--bits", "1"]].concat());
        let mut reader = png::Decoder::new(std::io::Cursor::new(std::fs::read(&png).unwrap()))
            .read_info()
            .unwrap();
        let mut frame = vec![0; reader.output_buffer_size().unwrap()];
        let line = reader.next_frame(&mut frame).unwrap().line_size;
        let bits = (0..200).flat_map(|y| {
            let row = &frame[y * line..][..line];
            (0..300).map(move |x| {
                if row[x / 8] >> (7 - x % 8) & 1 == 1 {
                    255
                } else {
                    0
                }
            })
        });
        assert!(bits.eq(whole.iter().copied()), "{method}");
        if method != "floyd-steinberg" {
            let tiff = folder.path().join("out.tif");
            let tiles = ["--file-tile", "64x48", "--compress", "deflate"];
            rendered(&design, &tiff, &[&halftone[..], &tiles].concat());
            let file = std::fs::File::open(&tiff).unwrap();
            let tiff::decoder::DecodingResult::U8(found) =
                tiff::decoder::Decoder::new(file).unwrap().read_image().unwrap()
            else {
                panic!("8 bits")
            };
            assert!(found == whole, "{method}");
        }
    }
}

#[test]
fn how_many_tiles_are_different_is_said_before_the_start() {
    let folder = TempDir::new().unwrap();
    let text = "relief version=1
canvas width=100000 height=100000
repeat step-x=120 step-y=80 { (pattern)disc diameter=70 value=200 }
";
    let design = written(&folder, text);
    let path = folder.path().join("out.tif");
    let ended = run(&["render", &design, "-o", path.to_str().unwrap(), "--share"]);
    assert_eq!(ended.code, Some(0));
    assert!(ended.err.contains("at most 1 of them different"), "{}", ended.err);
    let other = "relief version=1\ncanvas width=1000 height=1000\nnoise seed=1\n";
    let design = written(&folder, other);
    let ended = run(&["render", &design, "-o", path.to_str().unwrap(), "--share"]);
    assert!(ended.err.contains("no period that is known"), "{}", ended.err);
}

/// A file whose samples are those of its design, whatever it is and by whatever options it was written.
#[test]
fn samples_are_compared_in_every_file_of_tiles() {
    let folder = TempDir::new().unwrap();
    let text = |bits| {
        format!(
            "relief version=1
canvas width=300 height=200 bits={bits} pixel=\"10um\"
compose {{
    (base)ramp axis=\"x\" from=0 to=255
    (max)noise seed=4 width=90 height=70 x=33 y=90
}}
"
        )
    };
    let out = TempDir::new().unwrap();
    let tile = ["--file-tile", "64x48"];
    let halftone = ["--halftone", "screen:500lpi,30,line"];
    for (number, (bits, name, options, own)) in [
        (8, "out.tif", &[&tile[..]][..], &[][..]),
        (16, "out.tif", &[&tile, &["--compress", "deflate"]], &[]),
        (16, "out.tif", &[&["--compress", "lzw"]], &[]),
        (8, "out.tif", &[&tile, &["--compress", "packbits"]], &[]),
        (8, "out.tif", &[&tile, &["--share", "--compress", "deflate"]], &[]),
        (8, "out.tif", &[&["--levels"], &tile], &[]),
        (8, "out.tif", &[&["--bits", "1", "--compress", "g4"]], &halftone),
        (16, "out.tif", &[&["--bits", "1"], &tile], &halftone),
        (8, "out.tif", &[&tile], &["--level", "1"]),
        (
            8,
            "out.tif",
            &[&tile],
            &["--passes", "listed:90", "--region", "20,10,200x150"],
        ),
        (8, "out.zarr", &[&tile], &[]),
        (16, "out.zarr", &[&tile, &["--compress", "gzip"]], &[]),
        (16, "out.zarr", &[&tile, &["--shard", "128x96"]], &halftone),
        (8, "out.zarr", &[&tile, &["--shard", "128x96", "--share"]], &[]),
        (
            8,
            "out.zarr",
            &[&tile, &["--shard", "128x96", "--compress", "gzip", "--levels"]],
            &[],
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let design = written(&folder, &text(bits));
        let path = out.path().join(format!("{number}-{name}"));
        rendered(&design, &path, &[&options.concat()[..], own].concat());
        let verify = ["verify", &design, path.to_str().unwrap(), "--samples"];
        let said = run(&[&verify[..], own].concat()).done();
        let said = String::from_utf8(said).unwrap();
        assert!(
            said.contains(" samples are the same"),
            "{said}: {bits} {name} {options:?} {own:?}"
        );
    }
}

/// What differs is said by its rectangle, where it is asked for.
#[test]
fn samples_that_differ_are_told_by_their_rectangle() {
    let folder = TempDir::new().unwrap();
    let text = "relief version=1
canvas width=300 height=200
ramp axis=\"x\" from=0 to=255
";
    let design = written(&folder, text);
    let out = TempDir::new().unwrap();
    let verify = |path: &Path, options: &[&str]| {
        run(&[&["verify", &design, path.to_str().unwrap(), "--samples"], options].concat())
    };
    let tiff = out.path().join("out.tif");
    rendered(&design, &tiff, &["--file-tile", "64x48"]);
    // The samples of the last tile end the file: that of its row 47 and its column 3 lies beyond the raster, that of row 5 does not.
    let mut bytes = std::fs::read(&tiff).unwrap();
    let last = bytes.len() - 64 * 48;
    bytes[last + 47 * 64 + 3] ^= 1;
    std::fs::write(&tiff, &bytes).unwrap();
    verify(&tiff, &[]).done();
    for (row, column) in [(5, 3), (5, 9), (7, 6)] {
        bytes[last + row * 64 + column] = 0;
    }
    std::fs::write(&tiff, &bytes).unwrap();
    // The tile is the fifth of its row and begins at (256, 192).
    let ended = verify(&tiff, &[]);
    ended.failed(1, "differs in 3 of 60000 samples, in 1 tile");
    let expected = run(&["render", &design, "-o", "-", "--region", "259,197,1x1"]).done()[0];
    assert!(
        ended.text().contains(&format!(
            "different: 3 samples in 259,197,7x3; the first, at (259, 197), is 0 and should be {expected}"
        )),
        "{}",
        ended.text()
    );
    verify(&tiff, &["--region", "0,0,259x200"]).done();
    verify(&tiff, &["--region", "260,196,40x3"]).failed(1, "differs in 1 of 120 samples");
    // Another region was not written, and without --samples nothing of it is known.
    let part = [
        "verify",
        &design,
        tiff.to_str().unwrap(),
        "--region",
        "0,0,259x200",
    ];
    run(&part).failed(1, "is of another job");

    let zarr = out.path().join("out.zarr");
    let options = ["--file-tile", "16x16", "--shard", "64x48", "--compress", "gzip"];
    rendered(&design, &zarr, &options);
    let chunk = zarr.join("0/c/1/2");
    let mut bytes = std::fs::read(&chunk).unwrap();
    let end = bytes.len();
    bytes[end - 1] ^= 1;
    std::fs::write(&chunk, &bytes).unwrap();
    let ended = verify(&zarr, &[]);
    ended.failed(1, "in 1 tile");
    assert!(
        ended
            .text()
            .contains("damaged: the tile of 128,48,64x48: the check sum of its index is wrong"),
        "{}",
        ended.text()
    );
    std::fs::remove_file(&chunk).unwrap();
    let ended = verify(&zarr, &[]);
    ended.failed(1, "differs in 3072 of 60000 samples, in 1 tile");
    assert!(
        ended.text().contains("in 128,48,64x48; the first"),
        "{}",
        ended.text()
    );

    // Of a file that is not complete, what is there is compared.
    let part = out.path().join("part.tif");
    rendered(&design, &part, &["--file-tile", "64x48", "--part", "0/2"]);
    verify(&part, &[]).failed(1, "misses 12 of 25 tiles");
    let other = written(&folder, &text.replace("to=255", "to=254"));
    run(&["verify", &other, tiff.to_str().unwrap(), "--samples"]).failed(1, "is of another job");
    let lines = out.path().join("lines");
    std::fs::write(&lines, "").unwrap();
    run(&["verify", &design, lines.to_str().unwrap(), "--samples"])
        .failed(2, "--samples is for one Zarr store or TIFF");
}

/// A screen that is an option is that of a design.
#[test]
fn a_screen_on_the_command_line_is_that_of_a_design() {
    let folder = TempDir::new().unwrap();
    let text = |scan: &str| {
        format!(
            "relief version=1
canvas width=300 height=200 dpi=1200
{scan}
ramp axis=\"x\" from=0 to=255
"
        )
    };
    let plain = folder.path().join("plain.kdl");
    std::fs::write(&plain, text("")).unwrap();
    let plain = plain.to_str().unwrap();
    let lines = |design: &str, options: &[&str]| {
        let path = folder.path().join("lines");
        let to = format!("file:{}", path.display());
        run(&[&["stream", design, &to, "--raw", "-q"], options].concat()).done();
        std::fs::read(path).unwrap()
    };
    for (option, properties) in [
        ("screen:60lpi", "frequency=\"60lpi\""),
        ("screen:60lpi,15.5", "frequency=\"60lpi\" angle=15.5"),
        (
            "screen:2.5lpmm,-30,diamond",
            "frequency=\"2.5lpmm\" angle=-30 dot=\"diamond\"",
        ),
    ] {
        let scanned = written(
            &folder,
            &text(&format!("scan {{ halftone \"screen\" {properties} }}")),
        );
        let expected = run(&["render", &scanned, "-o", "-", "--as-scanned", "-q"]).done();
        let found = run(&["render", plain, "-o", "-", "--halftone", option, "-q"]).done();
        assert!(found == expected, "{option}");
        assert!(found.contains(&0) && found.contains(&255), "{option}");
        assert!(
            lines(plain, &["--halftone", option]) == lines(&scanned, &[]),
            "{option}"
        );
    }
    let out = folder.path().join("out.tif");
    let out = out.to_str().unwrap();
    let job = [plain, "-o", out, "--halftone", "screen:150lpi,15"];
    let said = run(&[&["plan"], &job[..]].concat()).done();
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("where 150 lpi at 15° are asked"), "{said}");
    let said = run(&[&["render"], &job[..]].concat()).err;
    assert!(said.contains("where 150 lpi at 15° are asked"), "{said}");
    let render = |design: &str, option: &str| run(&["render", design, "-o", out, "--halftone", option]);
    render(plain, "screen:900lpi").failed(2, "2.3438 to 600.0000 lpi");
    render(plain, "screen:150").failed(2, "such as 150lpi");
    let unknown = written(&folder, SHORT);
    render(&unknown, "screen:150lpi").failed(2, "how large a pixel is");
}
