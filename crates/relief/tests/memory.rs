//! The memory that a plan says is the most that the process takes.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test"
)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use nix::sys::resource::{UsageWho, getrusage};

use self::sparse::sparse_tiff;

#[path = "../../relief-io/tests/files/sparse.rs"]
mod sparse;

/// What a process takes beside its plan and its code: the stacks of its threads, the allocator.
const BESIDE: u64 = 6 << 20;

/// What a process takes beside its plan. The code that is in memory is that of this build, which is not that of a release (where
/// all of this is below 16 MiB): a job of one sample has it.
fn beside() -> u64 {
    static CODE: OnceLock<u64> = OnceLock::new();
    BESIDE
        + CODE.get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            let design = folder.path().join("design.kdl");
            let text = "relief version=1\ncanvas width=1 height=1\nfill value=1";
            std::fs::write(&design, text).unwrap();
            peak(&["render", "-q", design.to_str().unwrap(), "-o", "-"])
        })
}

fn relief(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_relief"));
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    command.args(arguments).current_dir(examples);
    command
}

/// Runs the job that the environment names as the only child of this process and prints its peak. By itself, as a
/// test, it says nothing.
#[test]
fn measured_alone() {
    let Ok(arguments) = std::env::var("RELIEF_TEST_JOB") else {
        return;
    };
    let arguments: Vec<&str> = arguments.split('\n').collect();
    if let Ok(pixels) = std::env::var("RELIEF_TEST_STOP") {
        stopped(&arguments, pixels.parse().unwrap());
    } else {
        let mut child = relief(&arguments).stdout(Stdio::piped()).spawn().unwrap();
        std::io::copy(&mut child.stdout.take().unwrap(), &mut std::io::sink()).unwrap();
        assert!(child.wait().unwrap().success());
    }
    let kibibytes = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss();
    println!("\npeak {}", u64::try_from(kibibytes).unwrap() * 1_024);
}

/// Runs a job until it has done so many pixels, and kills it.
fn stopped(arguments: &[&str], pixels: u64) {
    let mut child = relief(arguments)
        .arg("--json-progress")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    let is_far = told.by_ref().map(Result::unwrap).any(|line| {
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        line["done"].as_u64().unwrap() >= pixels
    });
    assert!(is_far, "the job ended before: {:?}", child.wait());
    child.kill().unwrap();
    // What it says is read, so that it does not wait.
    told.for_each(drop);
    child.wait().unwrap();
}

/// The most memory that a job has held, measured as the only child of a process of its own.
fn peak(arguments: &[&str]) -> u64 {
    peak_until(arguments, None)
}

/// The same of a job that is killed when it has done so many pixels.
fn peak_until(arguments: &[&str], pixels: Option<u64>) -> u64 {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "measured_alone", "--nocapture"])
        .env("RELIEF_TEST_JOB", arguments.join("\n"));
    if let Some(pixels) = pixels {
        command.env("RELIEF_TEST_STOP", pixels.to_string());
    }
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("peak "));
    line.unwrap_or_else(|| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)))
        .parse()
        .unwrap()
}

#[track_caller]
fn held(job: &[&str]) {
    held_after(job, 0);
}

/// Whether a job holds what was planned, or what was held before it began, and no more.
#[track_caller]
fn held_after(job: &[&str], before: u64) {
    let mut arguments = vec!["plan", "--json"];
    arguments.extend(job);
    let plan = relief(&arguments).output().unwrap();
    assert!(plan.status.success(), "{}", String::from_utf8_lossy(&plan.stderr));
    let plan: serde_json::Value = serde_json::from_slice(&plan.stdout).unwrap();
    let planned = plan["peak_bytes"].as_u64().unwrap();
    let mut arguments = vec!["render"];
    arguments.extend(job);
    arguments.extend(["-o", "-"]);
    let measured = peak(&arguments);
    assert!(
        measured <= planned.max(before) + beside(),
        "{measured} bytes were held, {planned} planned, {before} before: {job:?}"
    );
}

#[test]
fn the_examples_hold_no_more_than_planned() {
    for design in ["label", "lenses", "logo", "texture"] {
        let design = format!("{design}/design.kdl");
        held(&[&design, "--threads", "2"]);
        held(&[&design, "--threads", "2", "--memory", "12MiB"]);
    }
    held(&[
        "sheet/design.kdl",
        "--region",
        "0,4000,2000000x40",
        "--threads",
        "2",
    ]);
}

#[test]
fn wide_rows_hold_no_more_than_planned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wide.kdl");
    let text = "relief version=1\ncanvas width=100000 height=400\ncompose {\n    (base)noise seed=1\n    (max)distance radius=60 {\n        (mask)threshold level=255 {\n            (source)noise seed=2\n        }\n        profile \"255 - 4 * d\" beyond=0\n    }\n}\n";
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap();
    held(&[path, "--memory", "64MiB", "--threads", "2"]);
    held(&[path, "--memory", "4MiB", "--threads", "2"]);
    held(&[path, "--memory", "64MiB", "--threads", "2", "--tile", "16x16"]);
}

#[test]
fn fonts_are_planned_once_for_equal_files_and_hold_no_more() {
    const LONG: usize = 40 << 20;
    let folder = tempfile::tempdir().unwrap();
    let font = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plate/FredokaOne-Regular.ttf");
    let mut font = std::fs::read(font).unwrap();
    // What stands behind the tables is not read, but held.
    font.resize(LONG, 0);
    for number in 0..6_u8 {
        // The last two are equal.
        font[LONG - 1] = number.min(4);
        std::fs::write(folder.path().join(format!("{number}.ttf")), &font).unwrap();
    }
    std::fs::write(
        folder.path().join("a.svg"),
        "<svg xmlns='http://www.w3.org/2000/svg' width='90' height='9'><text y='9' font-size='9'>a</text></svg>",
    )
    .unwrap();
    let texts: String = (0..4)
        .map(|number| format!("    (max)text \"A\" font=\"{number}.ttf\" size=9 value=255\n"))
        .collect();
    let node =
        "    (max)svg \"a.svg\" gray=\"opacity\" font=\"4.ttf\" { font \"5.ttf\"; font \"./0.ttf\" }\n";
    let text = format!(
        "relief version=1\ncanvas width=90 height=20\ncompose {{\n    (base)fill value=0\n{texts}{node}}}\n"
    );
    let design = folder.path().join("design.kdl");
    std::fs::write(&design, text).unwrap();
    let job = [design.to_str().unwrap(), "--threads", "2"];
    held(&job);
    let plan = |more: &[&str]| {
        relief(&[&["plan", "--json"], &job[..], more].concat())
            .output()
            .unwrap()
    };
    let told: serde_json::Value = serde_json::from_slice(&plan(&[]).stdout).unwrap();
    assert_eq!(
        told["memory"]["fonts"].as_u64(),
        Some(5 * LONG as u64),
        "{}",
        told["memory"]
    );
    assert!(told["peak_bytes"].as_u64().unwrap() >= 5 * LONG as u64);
    // Beyond what the job may take the first font that does not fit is refused.
    let refused = plan(&["--memory", "100MiB"]);
    let message = String::from_utf8_lossy(&refused.stderr).replace("\n  │ ", " ");
    assert_eq!(refused.status.code(), Some(4), "{message}");
    assert!(
        message.contains("2.ttf") && message.contains("name fewer fonts"),
        "{message}"
    );
    // So is one that is too large for any.
    font.resize((64 << 20) + 1, 0);
    std::fs::write(folder.path().join("0.ttf"), &font).unwrap();
    let refused = plan(&[]);
    let message = String::from_utf8_lossy(&refused.stderr).replace("\n  │ ", " ");
    assert_eq!(refused.status.code(), Some(3), "{message}");
    assert!(
        message.contains("0.ttf") && message.contains("at most 64 MiB"),
        "{message}"
    );
}

/// `count` children of a fold, no two of them alike.
fn many_nodes(count: usize) -> String {
    let child = |number: usize| {
        format!(
            "    (max)noise seed={number} x={} width=9 height=5\n",
            number % 3_000
        )
    };
    let children: String = (0..count).map(child).collect();
    format!("relief version=1\ncanvas width=3000 height=20\ncompose {{\n{children}}}\n")
}

#[test]
fn designs_of_many_nodes_hold_no_more_than_planned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.kdl");
    std::fs::write(&path, many_nodes(60_000)).unwrap();
    let path = path.to_str().unwrap();
    // Reading the text is over before a job begins, and what it took is used again.
    let reading = peak(&["check", path]);
    let job = [path, "--memory", "128MiB", "--threads", "2"];
    held_after(&job, reading);
    // What the nodes take is told before the start.
    let refused = relief(&["render", path, "--memory", "4MiB", "-f", "null"])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(4), "{refused:?}");
    // The nodes of the plan are written one by one.
    let written = peak(&[&["plan", "--json"], &job[..]].concat());
    assert!(
        written <= reading + (64 << 20),
        "{written} bytes, {reading} for reading"
    );
}

#[test]
fn rows_wider_than_the_memory_hold_no_more_than_planned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("line.kdl");
    std::fs::write(
        &path,
        "relief version=1\ncanvas width=1099511627776 height=1\nramp axis=\"x\" from=0 to=255",
    )
    .unwrap();
    held(&[
        path.to_str().unwrap(),
        "--region",
        "0,0,100000000x1",
        "--memory",
        "64MiB",
        "--threads",
        "2",
    ]);
}

/// Every format holds what `plan` says for the same options, and no more.
#[test]
fn files_hold_no_more_than_planned() {
    let folder = tempfile::tempdir().unwrap();
    let region = "1501600,901700,4000x4000";
    let tile = ["--file-tile", "512x512"];
    for (name, options) in [
        ("a.tif", &[&tile[..]][..]),
        ("b.tif", &[&tile, &["--compress", "deflate"]]),
        ("d.tif", &[&["--share", "--compress", "packbits"]]),
        ("e.tif", &[&["--levels"]]),
        ("f.tif", &[&["--levels", "--compress", "deflate"]]),
        ("a.zarr", &[&["--compress", "gzip"]]),
        ("b.zarr", &[&["--shard", "1024x1024", "--file-tile", "256x256"]]),
        ("c.zarr", &[&["--levels", "--compress", "gzip"]]),
        ("a.png", &[]),
        ("c.png", &[&["--preview", "1000"]]),
        ("d.png", &[&["--level", "1"]]),
        ("h.tif", &[&tile, &["--level", "3"]]),
    ] {
        let path = folder.path().join(name);
        let output = ["-o", path.to_str().unwrap(), "--region", region, "--threads", "2"];
        let job = [&["sheet/design.kdl"], &output[..], &options.concat()].concat();
        let plan = relief(&[&["plan", "--json"], &job[..]].concat())
            .output()
            .unwrap();
        assert!(plan.status.success(), "{}", String::from_utf8_lossy(&plan.stderr));
        let plan: serde_json::Value = serde_json::from_slice(&plan.stdout).unwrap();
        let planned = plan["peak_bytes"].as_u64().unwrap();
        let measured = peak(&[&["render", "-q"], &job[..]].concat());
        assert!(
            measured <= planned + beside(),
            "{measured} bytes were held, {planned} planned: {name} {options:?}"
        );
    }
}

/// Files in tiles hold what their plan allows: one that allows little is kept to.
#[test]
fn files_in_tiles_hold_no_more_than_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.tif");
    let path = path.to_str().unwrap();
    let sheet = ["render", "sheet/design.kdl", "-q", "-o", path, "--threads", "2"];
    for (options, region, memory) in [
        (&["--file-tile", "512x512"][..], "1501600,901700,8000x8000", 24),
        (
            &["--file-tile", "512x512", "--compress", "deflate"],
            "1501600,901700,8000x8000",
            32,
        ),
        (&["--compress", "lzw"], "1501600,901700,8000x8000", 32),
        (
            &["--share", "--compress", "packbits"],
            "1501600,901700,8000x8000",
            48,
        ),
    ] {
        let memory_text = format!("{memory}MiB");
        let job = [
            &sheet[..],
            options,
            &["--region", region, "--memory", &memory_text],
        ]
        .concat();
        let measured = peak(&job);
        assert!(
            measured <= (memory << 20) + beside(),
            "{measured} bytes: {options:?}"
        );
    }
}

/// The bytes that `plan` says for a job into this file.
fn planned(job: &[&str]) -> u64 {
    let plan = relief(&[&["plan", "--json"], job].concat()).output().unwrap();
    assert!(plan.status.success(), "{}", String::from_utf8_lossy(&plan.stderr));
    let plan: serde_json::Value = serde_json::from_slice(&plan.stdout).unwrap();
    plan["peak_bytes"].as_u64().unwrap()
}

/// The sheet of 3.6 TB into every format that holds it: begun as a whole, and killed after a stretch of it. What depends on the size of
/// the raster, as lists of tiles, is there from the start.
#[test]
#[ignore = "it takes a minute, 4 GiB of memory and a gigabyte of disk"]
fn the_whole_sheet_in_every_format_holds_no_more_than_planned() {
    const STRETCH: u64 = 100_000_000;
    let tile = ["--file-tile", "512x512"];
    let bits = ["--bits", "1", "--halftone", "blue-noise"];
    for (name, options) in [
        ("out.raw", &[][..]),
        ("out.pgm", &[]),
        ("out.png", &[]),
        ("bits.png", &[&bits[..]]),
        ("out.tif", &[]),
        ("none.tif", &[&tile]),
        ("deflate.tif", &[&tile, &["--compress", "deflate"]]),
        ("lzw.tif", &[&tile, &["--compress", "lzw"]]),
        ("packbits.tif", &[&["--compress", "packbits"]]),
        ("g4.tif", &[&bits, &["--compress", "g4"]]),
        ("share.tif", &[&["--share", "--compress", "deflate"]]),
        ("levels.tif", &[&["--levels", "--compress", "deflate"]]),
        ("part.tif", &[&["--part", "3/64"]]),
        ("chunks.zarr", &[]),
        ("gzip.zarr", &[&["--compress", "gzip"]]),
        ("shards.zarr", &[&tile, &["--shard", "4096x4096", "--share"]]),
        ("part.zarr", &[&["--part", "3/64"]]),
        ("levels.zarr", &[&["--levels", "--compress", "gzip"]]),
        // Its levels hold 256 rows each.
        ("out.dzi", &[&["--memory", "4GiB"]]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let output = ["sheet/design.kdl", "-o", path.to_str().unwrap(), "--threads", "2"];
        let job = [&output[..], &options.concat()].concat();
        let planned = planned(&job);
        let measured = peak_until(&[&["render", "--force"], &job[..]].concat(), Some(STRETCH));
        println!(
            "{name}: {} MiB planned, {} MiB held",
            planned >> 20,
            measured >> 20
        );
        assert!(
            measured <= planned + beside(),
            "{measured} bytes were held, {planned} planned: {name} {options:?}"
        );
        assert!(!path.exists(), "{name} is there although the job was killed");
    }
}

/// Formats that do not hold the whole sheet: rows of its width, as many as make a stretch.
#[test]
#[ignore = "it takes half a minute and half a gigabyte of disk"]
fn rows_of_the_sheet_hold_no_more_than_planned_where_a_format_holds_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let lines = folder.path().join("lines.kdl");
    let text = "relief version=1
canvas width=2000000 height=40 pixel=\"10um\"
scan {
    gcode feed=\"3000mm/min\" s-max=1000
}
repeat step-x=50 step-y=40 { (pattern)disc diameter=30 value=200 }
";
    std::fs::write(&lines, text).unwrap();
    let lines = lines.to_str().unwrap();
    let solid = [
        "--amplitude",
        "80um",
        "--base",
        "1mm",
        "--region",
        "0,4000,2000000x4",
    ];
    for (design, name, options) in [
        (
            "sheet/design.kdl",
            "out.bmp",
            &["--region", "0,4000,2000000x40"][..],
        ),
        (
            "sheet/design.kdl",
            "bits.bmp",
            &[
                "--region",
                "0,4000,2000000x40",
                "--bits",
                "1",
                "--halftone",
                "stucki",
            ],
        ),
        ("sheet/design.kdl", "out.stl", &solid),
        (lines, "out.gcode", &[]),
    ] {
        let path = folder.path().join(name);
        let output = [design, "-o", path.to_str().unwrap(), "--threads", "2"];
        let job = [&output[..], options].concat();
        let planned = planned(&job);
        let measured = peak(&[&["render", "-q"], &job[..]].concat());
        println!(
            "{name}: {} MiB planned, {} MiB held",
            planned >> 20,
            measured >> 20
        );
        assert!(
            measured <= planned + beside(),
            "{measured} bytes were held, {planned} planned: {name} {options:?}"
        );
    }
}

#[test]
fn a_picture_of_200_gigapixels_is_filtered_in_256_mebibytes() {
    let folder = tempfile::tempdir().unwrap();
    let side = 447_232_u64;
    // Where four tiles meet, and in the last corner.
    let meeting = 4_096 * 90;
    let set = [(meeting - 1, meeting), (side - 1, side - 1)];
    sparse_tiff(&folder.path().join("scan.tif"), side, &set);
    let design = folder.path().join("scan.kdl");
    let text = format!(
        "relief version=1\ncanvas width={side} height={side} bits=8\nbox radius=1 {{ (source)image \"scan.tif\" }}"
    );
    std::fs::write(&design, text).unwrap();
    let design = design.to_str().unwrap();
    let plan = relief(&["plan", "--json", design, "--memory", "256MiB", "--threads", "2"])
        .output()
        .unwrap();
    assert!(plan.status.success(), "{}", String::from_utf8_lossy(&plan.stderr));
    let plan: serde_json::Value = serde_json::from_slice(&plan.stdout).unwrap();
    assert!(plan["peak_bytes"].as_u64().unwrap() <= 256 << 20);
    // A part that is held at once, and one that is read window by window.
    for (region, memory) in [
        (format!("{},{},600x500", meeting - 300, meeting - 200), "256MiB"),
        (format!("0,{},{side}x3", side - 3), "256MiB"),
        (format!("{},{},3000x2000", meeting - 300, meeting - 200), "12MiB"),
    ] {
        held(&[design, "--region", &region, "--memory", memory, "--threads", "2"]);
    }
    // The mean of nine pixels, of which one is 255; beyond the border the last pixel is read again.
    for (place, size, expected) in [
        (
            (meeting - 3, meeting - 2),
            (5, 5),
            [
                [0; 5],
                [0, 28, 28, 28, 0],
                [0, 28, 28, 28, 0],
                [0, 28, 28, 28, 0],
                [0; 5],
            ]
            .concat(),
        ),
        ((side - 3, side - 2), (3, 2), vec![0, 28, 57, 0, 57, 113]),
    ] {
        let region = format!("{},{},{}x{}", place.0, place.1, size.0, size.1);
        let output = relief(&[
            "render", "-q", design, "--region", &region, "-f", "raw", "-o", "-",
        ])
        .output()
        .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(output.stdout, expected, "{region}");
    }
}
