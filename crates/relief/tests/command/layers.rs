//! A file for each pass: what is in them, their names, and runs that are interrupted.

use std::path::Path;

use tempfile::TempDir;

use crate::process::{names, relief, run, written};

const RAMP: &str = "relief version=1
canvas width=200 height=70 pixel=\"10um\" amplitude=\"75um\"
compose {
    (base)ramp axis=\"x\" from=0 to=255
    (max)disc diameter=60 value=200
}
";

fn raw(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name)).unwrap()
}

/// The samples of a TIFF, which has one or eight bits a pixel, as 0 and 255.
fn tiff_samples(path: &Path) -> Vec<u8> {
    let mut decoder = tiff::decoder::Decoder::new(std::fs::File::open(path).unwrap()).unwrap();
    let (width, height) = decoder.dimensions().unwrap();
    let one_bit = matches!(decoder.colortype().unwrap(), tiff::ColorType::Gray(1));
    let tiff::decoder::DecodingResult::U8(found) = decoder.read_image().unwrap() else {
        panic!("8 bits")
    };
    if !one_bit {
        return found;
    }
    let row = (width as usize).div_ceil(8);
    (0..height as usize)
        .flat_map(|y| (0..width as usize).map(move |x| (y, x)))
        .map(|(y, x)| {
            if found[y * row + x / 8] >> (7 - x % 8) & 1 == 1 {
                255
            } else {
                0
            }
        })
        .collect()
}

#[test]
fn every_pass_is_a_file_of_what_fires_in_it() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, RAMP);
    let whole = run(&["render", &design, "-o", "-"]).done();
    let out = TempDir::new().unwrap();
    let pattern = |name: &str| out.path().join(name).to_str().unwrap().to_owned();
    let fires = |pass: u32, v: u8| if u32::from(v) * 20 > pass * 255 { 255 } else { 0 };
    // More passes than are written at once, in rows and by tiles.
    for (name, options) in [
        ("a-{pass:03}.raw", &[][..]),
        ("b-{pass:03}.tif", &["--bits", "1", "--compress", "packbits"]),
        ("c-{pass:03}.tif", &["--file-tile", "64x48"]),
    ] {
        let pattern = pattern(name);
        let command = [
            &["render", &design, "-o", &pattern, "--passes", "even:20", "-q"],
            options,
        ]
        .concat();
        assert_eq!(run(&command).done(), b"");
        for pass in 0..20 {
            let path = out.path().join(name.replace("{pass:03}", &format!("{pass:03}")));
            let found = if name.ends_with("raw") {
                std::fs::read(&path).unwrap()
            } else {
                tiff_samples(&path)
            };
            let expected = whole.iter().map(|&v| fires(pass, v));
            assert!(expected.eq(found), "{name} {pass}");
        }
    }
    assert_eq!(names(out.path()).len(), 60);
}

#[test]
fn a_scan_gives_its_tables_passes_and_halftone_and_what_is_ignored_is_said() {
    let folder = TempDir::new().unwrap();
    let text = RAMP.replace(
        "compose {",
        "scan direction=\"serpentine\" bits=1 {
    overscan before=4
    passes \"even\" step=\"10um\"
    halftone \"bayer\" size=4
    material \"half.json\"
}
compose {",
    );
    let design = written(&folder, &text);
    std::fs::write(
        folder.path().join("half.json"),
        "{\"name\": \"half\", \"points\": [[0, 0], [254, 127], [255, 128]]}",
    )
    .unwrap();
    let out = TempDir::new().unwrap();
    let layers = out.path().join("layers/");
    let command = [
        "render",
        &design,
        "--as-scanned",
        "-f",
        "png",
        "-o",
        layers.to_str().unwrap(),
    ];
    let ended = run(&command);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(
        ended.err.contains("of its `scan`, direction, overscan are for"),
        "{}",
        ended.err
    );
    assert!(
        ended
            .text()
            .contains("layer-007.png: 8 passes of 200 × 70 pixels"),
        "{}",
        ended.text()
    );
    // Eight passes of at most 10 µm in 75 µm; the material takes half of every sample.
    let names = names(&layers);
    assert_eq!(names.len(), 8);
    let whole = run(&["render", &design, "-q", "-o", "-"]).done();
    for (pass, name) in names.iter().enumerate() {
        assert_eq!(name, &format!("layer-{pass:03}.png"));
        let mut reader = png::Decoder::new(std::io::Cursor::new(raw(&layers, name)))
            .read_info()
            .unwrap();
        let mut found = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut found).unwrap();
        // Samples of 0 and M are the same after every ordered halftone.
        let expected = whole.iter().map(|&v| {
            let half = (u32::from(v) * 1_000 / 2 + 500) / 1_000;
            if half * 8 > pass as u32 * 255 { 255 } else { 0 }
        });
        assert!(expected.eq(found), "{name}");
    }
    run(&[&command[..], &["--deny", "warnings"]].concat()).failed(3, "W208");
    run(&["render", &design, "-o", "-", "-f", "raw", "--deny", "warnings"]).failed(3, "--as-scanned takes");
}

#[test]
fn what_cannot_be_written_as_passes_is_refused_and_leaves_nothing() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, RAMP);
    let out = TempDir::new().unwrap();
    let place = |name: &str| out.path().join(name).to_str().unwrap().to_owned();
    let (one, pattern, zarr) = (
        place("one.tif"),
        place("layer-{pass:03}.tif"),
        place("l-{pass}.zarr"),
    );
    let dir = place("{pass}/a.tif");
    for (options, said) in [
        (&["-o", &one, "--passes", "even:3"][..], "-o layer-{pass:03}.tif"),
        (&["-o", "-", "-f", "raw", "--passes", "even:3"], "a file for each"),
        (&["-f", "null", "--passes", "even:3"], "a file for each"),
        (&["-o", &dir, "--passes", "even:3"], "not of a folder"),
        (&["-o", &pattern, "--passes", "even:0"], "1 to 65536 are possible"),
        (&["-o", &pattern, "--passes", "odd:3"], "not a way to slice"),
        (&["-o", &pattern, "--as-scanned"], "which has none"),
        (
            &["-o", &pattern, "--passes", "even:3", "--part", "0/4"],
            "listed:LEVEL",
        ),
        (&["-o", &pattern, "--passes", "even:3", "--share"], "as it is"),
        (
            &["-o", &pattern, "--passes", "even:3", "--digest"],
            "that of one raster",
        ),
        (
            &["-o", &zarr, "--passes", "even:3", "--halftone", "floyd-steinberg"],
            "take blue-noise",
        ),
    ] {
        let ended = run(&[&["render", &design], options].concat());
        assert_eq!(ended.code, Some(2), "{options:?}: {}", ended.err);
        assert!(ended.err.contains(said), "{options:?}: {}", ended.err);
        assert_eq!(names(out.path()), [""; 0]);
    }
    // One pass is one file, under the very name.
    run(&["render", &design, "-o", &one, "--passes", "listed:100", "-q"]).done();
    assert_eq!(names(out.path()), ["one.tif"]);
    // A folder is not replaced, and nothing else is then.
    std::fs::create_dir(out.path().join("l-1.zarr")).unwrap();
    let command = ["render", &design, "-o", &zarr, "--passes", "even:3", "-q"];
    run(&command).failed(2, "remove it");
    assert_eq!(names(out.path()), ["l-1.zarr", "one.tif"]);
    std::fs::remove_dir(out.path().join("l-1.zarr")).unwrap();
    run(&command).done();
    assert_eq!(names(out.path()), ["l-0.zarr", "l-1.zarr", "l-2.zarr", "one.tif"]);
}

#[test]
fn rows_of_a_file_and_passes_name_files_together() {
    let folder = TempDir::new().unwrap();
    let text =
        "relief version=1\nparameter \"top\" 255\ncanvas width=9 height=2\nramp axis=\"x\" from=0 to=$top\n";
    let design = written(&folder, text);
    let rows = folder.path().join("rows.csv");
    std::fs::write(&rows, "top\n255\n90\n").unwrap();
    let out = TempDir::new().unwrap();
    let pattern = out.path().join("p{top}-{pass}.raw");
    run(&[
        "render",
        &design,
        "-q",
        "--each",
        rows.to_str().unwrap(),
        "--passes",
        "even:2",
        "-o",
        pattern.to_str().unwrap(),
    ])
    .done();
    assert_eq!(
        names(out.path()),
        ["p255-0.raw", "p255-1.raw", "p90-0.raw", "p90-1.raw"]
    );
    assert!(raw(out.path(), "p90-1.raw").iter().all(|&v| v == 0));
    assert!(raw(out.path(), "p255-1.raw").contains(&255));
}

/// A pass of a level is that of its samples, which are exact means.
#[test]
fn passes_of_a_level_are_slices_of_its_samples() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, RAMP);
    let out = TempDir::new().unwrap();
    let level = ["--level", "2", "--region", "12,8,100x50"];
    let means = run(&[&["render", &design, "-o", "-"][..], &level].concat()).done();
    assert_eq!(means.len(), 25 * 13);
    for (name, options) in [
        ("rows-{pass}.raw", &[][..]),
        ("tiles-{pass}.tif", &["--file-tile", "16x16"]),
    ] {
        let pattern = out.path().join(name).to_str().unwrap().to_owned();
        let asked = ["render", &design, "-q", "--passes", "even:3", "-o", &pattern];
        run(&[&asked[..], &level, options].concat()).done();
        for pass in 0..3_u32 {
            let path = out.path().join(name.replace("{pass}", &pass.to_string()));
            let found = match options {
                [] => std::fs::read(&path).unwrap(),
                _ => tiff_samples(&path),
            };
            let slice = |&v: &u8| if u32::from(v) * 3 > pass * 255 { 255 } else { 0 };
            assert!(means.iter().map(slice).eq(found), "{name} {pass}");
        }
    }
    // The place of a sample in a matrix is that in the level of the canvas.
    let screened = |options: &[&str]| {
        let asked = [
            "render",
            &design,
            "-o",
            "-",
            "--halftone",
            "bayer:4",
            "--level",
            "2",
        ];
        run(&[&asked[..], options].concat()).done()
    };
    let (whole, part) = (screened(&[]), screened(&level[2..]));
    for (row, found) in part.chunks(25).take(12).enumerate() {
        let first = (row + 2) * 50 + 3;
        assert_eq!(found, &whole[first..first + 25], "{row}");
    }
    let zarr = out.path().join("a-{pass}.zarr").to_str().unwrap().to_owned();
    let levels = ["render", &design, "-o", &zarr, "--passes", "even:3", "--levels"];
    run(&levels).failed(2, "cannot be used with");
}

/// What `plan` says of the files is what `render` writes, and `verify` knows each of them.
#[test]
fn passes_are_planned_and_verified() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, RAMP);
    let out = TempDir::new().unwrap();
    let place = |name: &str| out.path().join(name).to_str().unwrap().to_owned();
    for (name, options) in [
        ("a-{pass:02}.raw", &["--passes", "even:20"][..]),
        (
            "b-{pass:02}.tif",
            &["--passes", "even:20", "--file-tile", "64x48"],
        ),
    ] {
        let pattern = place(name);
        let of = |command: &str, more: &[&str]| {
            run(&[&[command, &design, "-o", &pattern], options, more].concat()).done()
        };
        let text = String::from_utf8(of("plan", &[])).unwrap();
        assert!(text.contains("20 files of "), "{text}");
        let plan: serde_json::Value = serde_json::from_slice(&of("plan", &["--json"])).unwrap();
        let output = &plan["output"];
        assert_eq!(output["files"], 20);
        assert_eq!(
            (&output["exact"], &output["parts"]),
            (&true.into(), &false.into())
        );
        // Sixteen files are written at once, each with its own memory.
        let single = ["plan", &design, "-o", &place("one.raw"), "--json"];
        let single: serde_json::Value = serde_json::from_slice(&run(&single).done()).unwrap();
        let memory = |plan: &serde_json::Value| plan["memory"]["output"].as_u64().unwrap();
        assert!(memory(&plan) > 8 * memory(&single), "{plan}");
        let there = names(out.path()).len();
        of("render", &["-q"]);
        assert_eq!(names(out.path()).len(), there + 20);
        let bytes: u64 = output["bytes"].as_str().unwrap().parse().unwrap();
        for pass in ["00", "19"] {
            let path = place(&name.replace("{pass:02}", pass));
            assert_eq!(std::fs::metadata(path).unwrap().len(), bytes, "{name}");
        }
    }
    let (third, verify) = (place("b-03.tif"), |options: &[&str]| {
        run(&[&["verify", &design], options].concat())
    });
    let said = String::from_utf8(verify(&[&third, "--passes", "even:20"]).done()).unwrap();
    assert!(said.contains("of this design, pass 3"), "{said}");
    verify(&[&third]).failed(1, "of another job");
    verify(&[&third, "--passes", "even:21"]).failed(1, "in its first pass");
    let manifest = ["verify", &design, &place("a-03.raw"), "--passes", "even:20"];
    run(&manifest).failed(2, "--passes is for one Zarr store or TIFF");
}

/// The amplitude of the canvas is that of a solid which is given no other.
#[test]
fn a_solid_is_as_high_as_the_design_says() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, RAMP);
    let out = TempDir::new().unwrap();
    let solid = |name: &str, options: &[&str]| {
        let path = out.path().join(name);
        let command = [
            "render",
            &design,
            "-q",
            "-o",
            path.to_str().unwrap(),
            "--base",
            "1mm",
        ];
        run(&[&command[..], options].concat()).done();
        raw(out.path(), name)
    };
    let own = solid("own.stl", &[]);
    assert!(own == solid("said.stl", &["--amplitude", "75um"]));
    assert!(own != solid("other.stl", &["--amplitude", "80um"]));
}

#[cfg(unix)]
#[test]
fn passes_that_are_interrupted_go_on_to_the_same_files() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    let folder = TempDir::new().unwrap();
    let text = "relief version=1\ncanvas width=3000 height=2000\ncompose {\n    (base)noise seed=3\n    (multiply)disc \
                diameter=2000 value=255\n}\n";
    let design = written(&folder, text);
    let (out, whole) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let command = |out: &TempDir| {
        let pattern = out.path().join("layer-{pass:02}.tif");
        let mut command = relief(&["render", &design, "--passes", "even:20", "--json-progress", "-o"]);
        command
            .arg(pattern)
            .args(["--bits", "1", "--compress", "packbits"]);
        command
    };
    assert!(command(&whole).output().unwrap().status.success());
    for signal in [Signal::SIGKILL, Signal::SIGTERM] {
        let mut child = command(&out)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
        // Some passes are being written by then, and none has its name.
        for line in told.by_ref() {
            let line: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
            if line["done"].as_u64().is_some_and(|done| done > 0) {
                break;
            }
        }
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
        told.for_each(drop);
        child.wait().unwrap();
        let found = names(out.path());
        assert!(
            found == ["layer-{pass:02}.tif.partial"] || found.len() == 20,
            "{signal}: {found:?}"
        );
    }
    // Another job does not go on with it.
    if names(out.path()).len() == 1 {
        let pattern = out.path().join("layer-{pass:02}.tif");
        run(&[
            "render",
            &design,
            "--passes",
            "even:20",
            "-o",
            pattern.to_str().unwrap(),
        ])
        .failed(2, "of another job");
    }
    assert!(command(&out).output().unwrap().status.success());
    assert_eq!(names(out.path()), names(whole.path()));
    assert_eq!(names(out.path()).len(), 20);
    for name in names(out.path()) {
        assert!(raw(out.path(), &name) == raw(whole.path(), &name), "{name}");
    }
}
