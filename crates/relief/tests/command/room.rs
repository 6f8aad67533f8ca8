//! Whether there is room for a file, asked before its first byte.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::process::{Ended, names, run, written};

/// 180 PiB of 8 bits.
const LARGE: &str = "relief version=1\ncanvas width=450000000 height=450000000\nnoise seed=1\n";

/// A file system of 4 MiB, where this process may mount one; `None` elsewhere, which is a failure where it is required.
struct Small(PathBuf);

impl Small {
    fn mount(path: PathBuf) -> Option<Self> {
        fs::create_dir(&path).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"])
            .arg(&path)
            .output();
        let is_mounted = mounted.as_ref().is_ok_and(|mounted| mounted.status.success());
        let is_required = std::env::var_os("RELIEF_REQUIRE_PRIVILEGED").is_some_and(|value| value == "1");
        assert!(
            is_mounted || !is_required,
            "no file system can be mounted: {mounted:?}"
        );
        is_mounted.then_some(Self(path))
    }

    fn at(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// What is left, as the system says it.
    fn free(&self) -> u64 {
        let said = Command::new("df")
            .args(["-B1", "--output=avail"])
            .arg(&self.0)
            .output()
            .unwrap();
        let said = String::from_utf8(said.stdout).unwrap();
        said.lines().nth(1).unwrap().trim().parse().unwrap()
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).output();
    }
}

fn render(design: &str, out: &str, more: &[&str]) -> Ended {
    run(&[&["render", design, "-o", out, "--device", "cpu"], more].concat())
}

/// A design of so many samples of 8 bits, none of which is 0.
fn of(folder: &TempDir, width: u64, height: u64) -> String {
    let text =
        format!("relief version=1\ncanvas width={width} height={height} pixel=\"1um\"\nfill value=7\n");
    written(folder, &text)
}

#[test]
fn a_file_that_cannot_fit_is_refused_before_its_first_byte() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, LARGE);
    let out = TempDir::new().unwrap();
    let at = |name: &str| out.path().join(name).to_str().unwrap().to_owned();
    for (name, more) in [
        ("out.raw", &[][..]),
        ("out.pgm", &[]),
        ("out.tif", &["--file-tile", "4096x4096"]),
        ("out.tif", &["--file-tile", "4096x4096", "--part", "3/64"]),
        ("out.tif", &["--file-tile", "4096x4096", "--compress", "deflate"]),
        ("out.tif", &["--file-tile", "4096x4096", "--compress", "lzw"]),
        ("out.tif", &["--file-tile", "4096x4096", "--compress", "packbits"]),
        ("out.png", &[]),
        (
            "out.zarr",
            &["--file-tile", "4096x4096", "--shard", "32768x32768"],
        ),
        ("out-{pass}.pgm", &["--passes", "even:3"]),
    ] {
        let ended = render(&design, &at(name), more);
        ended.failed(1, "are free on its file system");
        ended.failed(1, "--force begins all the same");
        assert_eq!(names(out.path()), [""; 0], "{name} {more:?}");
    }
    render(&design, &at("out.raw"), &[]).failed(1, "179.9 PiB");
    render(&design, &at("out.png"), &[]).failed(1, "before it is compressed");
    // What takes bytes as they come has no room of its own, and a region of it fits.
    render(&design, &at("out.raw"), &["--region", "0,0,64x64", "-q"]).done();
}

#[test]
fn a_plan_tells_how_large_a_file_is_and_what_is_free() {
    let folder = TempDir::new().unwrap();
    let Some(disk) = Small::mount(folder.path().join("disk")) else {
        return;
    };
    let design = of(&folder, 4096, 2048);
    let plan = |out: &str, more: &[&str]| {
        let job = [&["plan", &design, "-o", out], more].concat();
        let json = String::from_utf8(run(&[&job[..], &["--json"]].concat()).done()).unwrap();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        (
            String::from_utf8(run(&job).done()).unwrap(),
            json["output"].clone(),
        )
    };
    let free = disk.free();
    let (text, json) = plan(&disk.at("out.raw"), &[]);
    assert!(
        text.contains("8.0 MiB\n") && text.contains("free on its file system: it does not fit"),
        "{text}"
    );
    assert_eq!(json["room"]["free_bytes"], free.to_string());
    assert_eq!(
        (json["room"]["fits"].as_bool(), &json["bytes"]),
        (Some(false), &json["least_bytes"])
    );
    let (text, json) = plan(&disk.at("out.png"), &[]);
    assert!(text.contains("whether it fits depends on the samples"), "{text}");
    assert!(json["room"]["fits"].is_null());
    // 2^23 bytes, and a byte for each row at least, by 1032.
    assert_eq!(json["least_bytes"], (4096 * 2048 / 1032).to_string());
    let (text, json) = plan(&disk.at("out.raw"), &["--region", "0,0,1000x1000"]);
    assert!(text.contains(": it fits"), "{text}");
    assert_eq!(json["room"]["fits"].as_bool(), Some(true));
    assert!(plan("/dev/null", &["-f", "raw"]).1["room"].is_null());
}

#[test]
fn a_small_disk_takes_what_fits_and_nothing_of_what_does_not() {
    let folder = TempDir::new().unwrap();
    let Some(disk) = Small::mount(folder.path().join("disk")) else {
        return;
    };
    let design = of(&folder, 1024, 2048);
    for name in ["a.raw", "a.pgm", "a.tif", "a.bmp"] {
        render(&design, &disk.at(name), &["-q"]).done();
        fs::remove_file(disk.at(name)).unwrap();
    }
    let design = of(&folder, 1024, 8192);
    for (name, more) in [
        ("a.raw", &[][..]),
        ("a.pgm", &[]),
        ("a.tif", &[]),
        ("a.tif", &["--file-tile", "256x256"]),
        ("a.tif", &["--file-tile", "256x256", "--levels"]),
        ("a.bmp", &[]),
        ("a.zarr", &[]),
        (
            "a.stl",
            &["--amplitude", "1mm", "--base", "1mm", "--region", "0,0,300x300"],
        ),
    ] {
        let ended = render(&design, &disk.at(name), more);
        ended.failed(1, "are free on its file system");
        assert_eq!(names(&disk.0), [""; 0], "{name} {more:?}");
    }
    // Told to, it begins, and says how it went.
    render(&design, &disk.at("a.raw"), &["--force"]).failed(1, "it failed after");
    assert_eq!(names(&disk.0), [""; 0]);
    // Nobody knows before whether what is compressed fits: it does.
    let ended = render(&design, &disk.at("a.png"), &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.err.contains("depends on the samples"), "{ended:?}");
    render(&design, &disk.at("a.png"), &["-q"]).done();
    // What is replaced stays until it is.
    fs::remove_file(disk.at("a.png")).unwrap();
    let design = of(&folder, 1024, 2500);
    render(&design, &disk.at("a.raw"), &["-q"]).done();
    render(&design, &disk.at("a.raw"), &["-q"]).failed(1, "2.4 MiB");
    assert_eq!(fs::metadata(disk.at("a.raw")).unwrap().len(), 1024 * 2500);
}

#[test]
fn what_an_unfinished_file_holds_is_counted() {
    let folder = TempDir::new().unwrap();
    let Some(disk) = Small::mount(folder.path().join("disk")) else {
        return;
    };
    let design = of(&folder, 1024, 3072);
    for (name, more) in [
        ("a.tif", &["--file-tile", "256x256"][..]),
        ("a.zarr", &["--file-tile", "256x256"]),
    ] {
        let out = disk.at(name);
        for part in ["0/4", "1/4", "2/4"] {
            render(&design, &out, &[more, &["--part", part, "-q"]].concat()).done();
        }
        // Of 3 MiB less than one is left to write, and no more than one is free.
        assert!(disk.free() < 2 << 20, "{}", disk.free());
        render(&design, &out, &[more, &["--part", "3/4", "-q"]].concat()).done();
        assert!(Path::new(&out).exists());
        if Path::new(&out).is_dir() {
            fs::remove_dir_all(out).unwrap();
        } else {
            fs::remove_file(out).unwrap();
        }
    }
}

#[test]
fn all_files_of_a_batch_and_of_passes_must_fit_together() {
    let folder = TempDir::new().unwrap();
    let Some(disk) = Small::mount(folder.path().join("disk")) else {
        return;
    };
    let text = "relief version=1\nparameter \"v\" 1\ncanvas width=1024 height=1024\nfill value=$v\n";
    let design = written(&folder, text);
    let rows = |count: u32| {
        let path = folder.path().join("rows.csv");
        let rows: String = (1..=count).map(|row| format!("{row}\n")).collect();
        fs::write(&path, format!("v\n{rows}")).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let out = disk.at("{v}.raw");
    let ended = render(&design, &out, &["--each", &rows(5)]);
    ended.failed(1, "row 5 of");
    ended.failed(1, "after the files before it");
    assert_eq!(names(&disk.0), [""; 0]);
    render(&design, &out, &["--each", &rows(3), "-q"]).done();
    // They are written over, one by one.
    render(&design, &out, &["--each", &rows(3), "-q"]).done();
    for name in names(&disk.0) {
        fs::remove_file(disk.at(&name)).unwrap();
    }
    let passes = disk.at("{pass}.raw");
    render(&design, &passes, &["--passes", "even:5"]).failed(1, "the files");
    assert_eq!(names(&disk.0), [""; 0]);
    render(&design, &passes, &["--passes", "even:3", "-q"]).done();
    assert_eq!(names(&disk.0), ["0.raw", "1.raw", "2.raw"]);
}

#[test]
fn lines_of_a_machine_in_a_file_must_fit_too() {
    let folder = TempDir::new().unwrap();
    let Some(disk) = Small::mount(folder.path().join("disk")) else {
        return;
    };
    let stream = |design: &str, more: &[&str]| {
        let to = format!("file:{}", disk.at("lines"));
        run(&[&["stream", design, &to, "--raw", "-q", "--device", "cpu"], more].concat())
    };
    let design = of(&folder, 1024, 8192);
    stream(&design, &[]).failed(1, "8.0 MiB, and 4.0 MiB are free");
    assert_eq!(names(&disk.0), [""; 0]);
    stream(&design, &["--force"]).failed(1, "lines");
    stream(&design, &["--bits", "1"]).done();
    assert_eq!(fs::metadata(disk.at("lines")).unwrap().len(), 1 << 20);
    stream(&design, &["--region", "0,0,1024x2048"]).done();
}

#[test]
fn what_is_no_file_of_a_file_system_is_not_judged() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, LARGE);
    // It is refused for its memory, or stopped, and never for room.
    let mut child = crate::process::relief(&[
        "render",
        &design,
        "-f",
        "raw",
        "-o",
        "/dev/null",
        "--json-progress",
    ])
    .stderr(std::process::Stdio::piped())
    .spawn()
    .unwrap();
    let mut line = String::new();
    let mut said = std::io::BufReader::new(child.stderr.take().unwrap());
    std::io::BufRead::read_line(&mut said, &mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.starts_with("{\"done\""), "{line}");
}
