//! Files as programs of others read them: tifffile, GDAL, libvips and Pillow, run by Python.
//!
//! `RELIEF_READERS` names a Python that has them (see `readers.py`); without it these tests say that they were skipped, unless
//! `RELIEF_REQUIRE_READERS=1` asks for them.

#![expect(clippy::print_stderr, reason = "a test says that it was skipped")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::{run, written};

/// The readers, running.
struct Readers {
    child: Child,
    folder: TempDir,
}

impl Readers {
    fn start() -> Option<Self> {
        let python = std::env::var_os("RELIEF_READERS").unwrap_or_else(|| "python3".into());
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers.py");
        let there = Command::new(&python)
            .arg(&script)
            .arg("--check")
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !there {
            let required = std::env::var_os("RELIEF_REQUIRE_READERS").is_some_and(|value| value == "1");
            assert!(
                !required,
                "{} has not the readers of readers.txt",
                python.display()
            );
            eprintln!("skipped: {} has not the readers of readers.txt", python.display());
            return None;
        }
        let child = Command::new(&python)
            .arg(&script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Some(Self {
            child,
            folder: TempDir::new().unwrap(),
        })
    }

    /// The samples of a window, or of all, with columns and rows; or what the reader says.
    fn read(
        &mut self,
        reader: &str,
        path: &Path,
        window: Option<[u64; 4]>,
    ) -> Result<(u64, u64, Vec<u16>), String> {
        let out = self.folder.path().join("out");
        let request = json!({"path": path, "reader": reader, "window": window, "out": out});
        writeln!(self.child.stdin.as_mut().unwrap(), "{request}").unwrap();
        let mut line = String::new();
        let answers = self.child.stdout.as_mut().unwrap();
        BufReader::with_capacity(1, answers).read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        if let Some(error) = answer["error"].as_str() {
            return Err(error.to_owned());
        }
        let side = |number: usize| answer["size"][number].as_u64().unwrap();
        let bytes = std::fs::read(&out).unwrap();
        Ok((side(0), side(1), wide(&bytes)))
    }
}

/// The crate `zarrs`, in a program of its own (tests/zarrs) that `RELIEF_ZARRS` names: it answers as `readers.py` does.
struct Zarrs;

impl Zarrs {
    fn start() -> Option<Readers> {
        let Some(program) = std::env::var_os("RELIEF_ZARRS") else {
            let required = std::env::var_os("RELIEF_REQUIRE_READERS").is_some_and(|value| value == "1");
            assert!(!required, "RELIEF_ZARRS names no program");
            eprintln!("skipped: RELIEF_ZARRS names no program");
            return None;
        };
        let child = Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Some(Readers {
            child,
            folder: TempDir::new().unwrap(),
        })
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn wide(bytes: &[u8]) -> Vec<u16> {
    let pair = |pair: &[u8]| u16::from_le_bytes([pair[0], pair[1]]);
    bytes.chunks(2).map(pair).collect()
}

/// The samples of a part of a design.
fn samples(design: &str, region: Option<[u64; 4]>, size: usize) -> Vec<u16> {
    let region = region.map(|[x, y, width, height]| format!("{x},{y},{width}x{height}"));
    let mut arguments = vec!["render", design, "-o", "-"];
    if let Some(region) = &region {
        arguments.extend(["--region", region]);
    }
    let bytes = run(&arguments).done();
    if size == 1 {
        bytes.into_iter().map(u16::from).collect()
    } else {
        wide(&bytes)
    }
}

/// Renders a design with these options; what it says beside is not looked at.
fn rendered(design: &str, options: &[&str], path: &Path) {
    let path = path.to_str().unwrap();
    let ended = run(&[&["render", design, "-o", path, "-q"], options].concat());
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{options:?}");
}

fn grained(depth: u64) -> String {
    format!(
        "relief version=1
canvas width=601 height=433 pixel=\"10um\" bits={depth}
compose {{
    (base)repeat step-x=24 step-y=40 {{ (pattern)disc diameter=19 value=200 }}
    (max)noise seed=5 width=150 height=90 x=77 y=12
}}
"
    )
}

#[test]
fn all_read_a_tiff_in_tiles_alike() {
    let Some(mut readers) = Readers::start() else {
        return;
    };
    for depth in [8, 16] {
        let folder = TempDir::new().unwrap();
        let design = written(&folder, &grained(depth));
        let expected = samples(&design, None, depth as usize / 8);
        for method in ["none", "deflate", "packbits", "lzw"] {
            for share in [
                &["--file-tile", "112x64"][..],
                &["--share"],
                &["--share", "--file-tile", "48x80"],
            ] {
                let path = folder.path().join("out.tif");
                rendered(&design, &[share, &["--compress", method]].concat(), &path);
                for reader in ["tifffile", "gdal", "vips", "pillow"] {
                    let found = readers.read(reader, &path, None).unwrap();
                    assert!(
                        found == (601, 433, expected.clone()),
                        "{reader}: {method}, {depth} bits, {share:?}"
                    );
                    let window = [333, 77, 101, 59];
                    let (_, _, found) = readers.read(reader, &path, Some(window)).unwrap();
                    let part = samples(&design, Some(window), depth as usize / 8);
                    assert!(
                        found == part,
                        "a window by {reader}: {method}, {depth} bits, {share:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn all_read_one_bit_in_tiles_alike() {
    let Some(mut readers) = Readers::start() else {
        return;
    };
    let folder = TempDir::new().unwrap();
    let text = "relief version=1
canvas width=601 height=433
compose {
    (base)threshold level=100 { (source)noise seed=5 }
    (max)disc diameter=300 value=255 x=150 y=60
}
";
    let design = written(&folder, text);
    let expected = samples(&design, None, 1);
    for method in ["none", "deflate", "packbits", "lzw", "g4"] {
        let path = folder.path().join("out.tif");
        rendered(
            &design,
            &["--bits", "1", "--compress", method, "--file-tile", "112x64"],
            &path,
        );
        for reader in ["tifffile", "gdal", "vips", "pillow"] {
            let (width, height, mut found) = readers.read(reader, &path, None).unwrap();
            if found.iter().all(|&sample| sample <= 1) {
                found.iter_mut().for_each(|sample| *sample *= 255);
            }
            assert!(
                (width, height, found) == (601, 433, expected.clone()),
                "{reader}: {method}"
            );
        }
    }
}

#[test]
fn all_read_strips_and_small_formats_alike() {
    let Some(mut readers) = Readers::start() else {
        return;
    };
    let folder = TempDir::new().unwrap();
    let gray = folder.path().join("gray.kdl");
    let deep = folder.path().join("deep.kdl");
    let mask = folder.path().join("mask.kdl");
    std::fs::write(&gray, grained(8)).unwrap();
    std::fs::write(&deep, grained(16)).unwrap();
    let text = "relief version=1
canvas width=601 height=433
threshold level=100 { (source)noise seed=5 }
";
    std::fs::write(&mask, text).unwrap();
    let all = &["tifffile", "gdal", "vips", "pillow"][..];
    // libvips as it is built here has no BMP, and tifffile reads TIFF alone.
    for (design, size, name, options, by) in [
        (&gray, 1, "out.tif", &["--compress", "deflate"][..], all),
        (&deep, 2, "out.tif", &["--compress", "lzw"], all),
        (&deep, 2, "out.tif", &["--compress", "packbits"], all),
        (&mask, 1, "out.tif", &["--bits", "1"], all),
        (
            &mask,
            1,
            "out.tif",
            &["--bits", "1", "--compress", "packbits"],
            all,
        ),
        (&mask, 1, "out.tif", &["--bits", "1", "--compress", "g4"], all),
        (&deep, 2, "out.png", &[], &all[1..]),
        (&mask, 1, "out.png", &["--bits", "1"], &all[1..]),
        (&gray, 1, "out.bmp", &[], &["gdal", "pillow"]),
        (&mask, 1, "out.bmp", &["--bits", "1"], &["gdal", "pillow"]),
    ] {
        let design = design.to_str().unwrap();
        let path = folder.path().join(name);
        rendered(design, options, &path);
        let expected = samples(design, None, size);
        for reader in by {
            let (width, height, mut found) = readers.read(reader, &path, None).unwrap();
            if found.iter().all(|&sample| sample <= 1) {
                found.iter_mut().for_each(|sample| *sample *= 255);
            }
            assert!(
                (width, height, found) == (601, 433, expected.clone()),
                "{reader}: {name} {options:?}"
            );
        }
    }
}

#[test]
fn zarr_readers_read_stores_of_any_size() {
    let Some(mut readers) = Readers::start() else {
        return;
    };
    for depth in [8, 16] {
        let folder = TempDir::new().unwrap();
        let design = written(&folder, &grained(depth));
        let expected = samples(&design, None, depth as usize / 8);
        let mut zarrs = Zarrs::start();
        for (number, options) in [
            &["--file-tile", "100x60"][..],
            &["--file-tile", "100x60", "--compress", "gzip"],
            &["--file-tile", "50x60", "--shard", "300x120", "--compress", "gzip"],
            &["--file-tile", "24x40", "--shard", "240x200", "--share"],
            &[],
        ]
        .into_iter()
        .enumerate()
        {
            let path = folder.path().join(format!("{number}.zarr"));
            rendered(&design, options, &path);
            if let Some(zarrs) = &mut zarrs {
                let found = zarrs.read("zarrs", &path.join("0"), None).unwrap();
                assert!(
                    found == (601, 433, expected.clone()),
                    "zarrs: {depth} bits, {options:?}"
                );
            }
            for reader in ["zarr", "xarray", "gdal_zarr"] {
                let found = readers.read(reader, &path.join("0"), None);
                if reader == "gdal_zarr" {
                    let said = found.unwrap_err();
                    // The name of the codec before the specification was final is what it knows.
                    assert!(
                        said.contains("codec"),
                        "GDAL reads Zarr 3 now, or says else: {said}; say so in docs/files.md"
                    );
                    continue;
                }
                assert!(
                    found.unwrap() == (601, 433, expected.clone()),
                    "{reader}: {depth} bits, {options:?}"
                );
                let window = [333, 77, 101, 59];
                let (_, _, found) = readers.read(reader, &path.join("0"), Some(window)).unwrap();
                let part = samples(&design, Some(window), depth as usize / 8);
                assert!(found == part, "a window by {reader}: {depth} bits, {options:?}");
            }
        }
    }
    // A marked corner of 2^40 × 2^40: all other shards are the fill value.
    let folder = TempDir::new().unwrap();
    let text = "relief version=1
canvas width=1099511627776 height=1099511627776
compose {
    (base)fill value=0
    (max)disc diameter=300 value=90 x=1099511627400 y=1099511627420
}
";
    let design = written(&folder, text);
    let path = folder.path().join("out.zarr");
    let window = [1_099_511_627_000, 1_099_511_627_000, 776, 776];
    let region = "1099511627000,1099511627000,776x776";
    rendered(
        &design,
        &["--region", region, "--shard", "512x512", "--file-tile", "64x64"],
        &path,
    );
    let (_, _, found) = readers.read("zarr", &path.join("0"), None).unwrap();
    assert!(found == samples(&design, Some(window), 1));
}

/// The raster and its level of half the size, of files with levels.
#[test]
fn levels_are_read_by_who_reads_levels() {
    let Some(mut readers) = Readers::start() else {
        return;
    };
    for depth in [8, 16] {
        let folder = TempDir::new().unwrap();
        let design = written(&folder, &grained(depth));
        let size = depth as usize / 8;
        let whole = samples(&design, None, size);
        let raw = folder.path().join("half.raw");
        rendered(&design, &["--level", "1"], &raw);
        let bytes = std::fs::read(&raw).unwrap();
        let half = if size == 1 {
            bytes.into_iter().map(u16::from).collect()
        } else {
            wide(&bytes)
        };
        for method in ["none", "deflate", "lzw"] {
            let path = folder.path().join("out.tif");
            let tile = ["--levels", "--file-tile", "128x128", "--compress", method];
            rendered(&design, &tile, &path);
            for reader in ["tifffile", "gdal", "vips", "pillow"] {
                let found = readers.read(reader, &path, None).unwrap();
                assert!(found == (601, 433, whole.clone()), "{reader}: {method}");
            }
            let found = readers.read("cog", &path, None).unwrap();
            assert!(found == (301, 217, half.clone()), "{method}");
        }
        let path = folder.path().join("out.zarr");
        rendered(
            &design,
            &["--levels", "--file-tile", "128x128", "--compress", "gzip"],
            &path,
        );
        for reader in ["zarr", "xarray"] {
            let found = readers.read(reader, &path.join("0"), None).unwrap();
            assert!(found == (601, 433, whole.clone()), "{reader}");
            let found = readers.read(reader, &path.join("1"), None).unwrap();
            assert!(found == (301, 217, half.clone()), "{reader}");
        }
    }
}

#[test]
fn a_deep_zoom_image_has_the_tiles_that_libvips_makes() {
    let Some(mut readers) = Readers::start() else {
        return;
    };
    for depth in [8, 16] {
        let folder = TempDir::new().unwrap();
        let design = written(&folder, &grained(depth));
        let path = folder.path().join("out.dzi");
        rendered(&design, &[], &path);
        let found = readers.read("dzi", &path, None).unwrap();
        assert!(
            found == (601, 433, samples(&design, None, depth as usize / 8)),
            "{depth} bits"
        );
    }
}

/// Sides at which readers stop, by what they say of themselves: README.md has the same table.
#[test]
fn long_sides_are_read_as_far_as_a_reader_goes() {
    let Some(mut readers) = Readers::start() else {
        return;
    };
    const GDAL: u64 = (1 << 31) - 1;
    const VIPS: u64 = 100_000_000;
    for (width, height) in [
        (1_000_000, 1_000_000),
        (4_860_000, 400_000),
        ((1 << 31) - 1, 1_000),
        (1_000, (1 << 31) + 1),
        ((1 << 31) + 1, 100),
        (1, 4_360_048_129),
    ] {
        let folder = TempDir::new().unwrap();
        let text = format!(
            "relief version=1
canvas width={width} height={height}
repeat step-x=120 step-y=80 {{ (pattern)disc diameter=70 value=200 x=-9 }}
"
        );
        let design = written(&folder, &text);
        let path = folder.path().join("out.tif");
        rendered(&design, &["--share"], &path);
        let (w, h) = (width.min(200), height.min(150));
        for (x, y) in [
            (0, 0),
            ((width - w) / 2, (height - h) / 3),
            (width - w, height - h),
        ] {
            let window = [x, y, w, h];
            let expected = samples(&design, Some(window), 1);
            for (reader, most) in [("tifffile", u64::MAX), ("gdal", GDAL), ("vips", VIPS)] {
                let found = readers.read(reader, &path, Some(window));
                if width.max(height) > most {
                    assert!(
                        found.is_err(),
                        "{reader} reads {width} × {height} now: say so in README.md"
                    );
                } else {
                    let (_, _, found) = found.unwrap();
                    assert!(found == expected, "{reader} at ({x}, {y}) of {width} × {height}");
                }
            }
        }
    }
}

/// Stores of which most chunks are the fill value, so that few are computed.
#[test]
fn stores_of_long_sides_are_read_by_windows() {
    let Some(mut readers) = Readers::start() else {
        return;
    };
    let mut zarrs = Zarrs::start();
    for (width, height, options) in [
        (4_860_000, 400_000, &["--compress", "gzip"][..]),
        (
            (1 << 31) - 1,
            1_000,
            &["--file-tile", "1024x1000", "--shard", "16384x1000"],
        ),
        (
            1_000,
            (1 << 31) + 1,
            &["--file-tile", "1000x1024", "--shard", "1000x16384"],
        ),
        ((1 << 31) + 1, 100, &["--file-tile", "65536x100"]),
        (
            1,
            4_360_048_129,
            &[
                "--file-tile",
                "1x65536",
                "--shard",
                "1x16777216",
                "--compress",
                "gzip",
            ],
        ),
    ] {
        let folder = TempDir::new().unwrap();
        let (w, h): (u64, u64) = (width.min(200), height.min(150));
        let corners = [
            (0, 0),
            ((width - w) / 2, (height - h) / 3),
            (width - w, height - h),
        ];
        let marks = corners.map(|(x, y)| format!("(max)noise seed=3 x={x} y={y} width={w} height={h}\n"));
        let text = format!(
            "relief version=1\ncanvas width={width} height={height}\ncompose {{\n(base)fill value=0\n{}}}\n",
            marks.concat()
        );
        let design = written(&folder, &text);
        let path = folder.path().join("out.zarr");
        rendered(&design, options, &path);
        for (x, y) in corners {
            let window = [x, y, w, h];
            let expected = samples(&design, Some(window), 1);
            let (_, _, found) = readers.read("zarr", &path.join("0"), Some(window)).unwrap();
            assert!(
                found == expected,
                "zarr-python at ({x}, {y}) of {width} × {height}"
            );
            if let Some(zarrs) = &mut zarrs {
                let (_, _, found) = zarrs.read("zarrs", &path.join("0"), Some(window)).unwrap();
                assert!(found == expected, "zarrs at ({x}, {y}) of {width} × {height}");
            }
        }
    }
}

/// Where a Python is, tests that need it are not skipped in silence: its path is a file.
#[test]
fn the_readers_that_are_named_are_there() {
    if let Some(python) = std::env::var_os("RELIEF_READERS") {
        assert!(PathBuf::from(python).is_file());
    }
}
