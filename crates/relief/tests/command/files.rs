//! What becomes of the files that are written over, and of those that are left.

use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::process::{Ended, ended, names, relief, run, written};

const SMALL: &str = "relief version=1\ncanvas width=8 height=8\nfill value=1";

/// A design that reads the picture `picture.png`, and that picture.
fn with_picture(folder: &tempfile::TempDir) -> String {
    let picture = folder.path().join("picture.png");
    let source = written(folder, SMALL);
    run(&["render", &source, "-q", "-o", picture.to_str().unwrap()]).done();
    written(
        folder,
        "relief version=1\ncanvas width=8 height=8\nimage \"picture.png\"",
    )
}

/// Renders to a path in a format.
fn rendered(design: &str, out: &Path, format: &str) -> Ended {
    run(&["render", design, "-q", "-f", format, "-o", out.to_str().unwrap()])
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn an_output_that_is_an_input_is_refused_by_whatever_name() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let design = with_picture(&folder);
    symlink("picture.png", at("link.png")).unwrap();
    fs::hard_link(at("picture.png"), at("hard.png")).unwrap();
    symlink("design.kdl", at("link.kdl")).unwrap();
    let before = (fs::read(&design).unwrap(), fs::read(at("picture.png")).unwrap());
    for (name, what) in [
        ("picture.png", "the image \"picture.png\""),
        ("link.png", "the image \"picture.png\""),
        ("hard.png", "the image \"picture.png\""),
        ("design.kdl", "the design"),
        ("link.kdl", "the design"),
    ] {
        let ended = rendered(&design, &at(name), "raw");
        ended.failed(2, what);
        ended.failed(2, "write to another file");
    }
    // By its other name the design is the same file, too.
    rendered(at("link.kdl").to_str().unwrap(), &at("design.kdl"), "raw").failed(2, "the design");
    let after = (fs::read(&design).unwrap(), fs::read(at("picture.png")).unwrap());
    assert!(after == before);
    rendered(&design, &at("other.png"), "png").done();
}

#[test]
fn a_file_of_lines_spares_the_inputs_too() {
    let folder = tempfile::tempdir().unwrap();
    let design = with_picture(&folder);
    let picture = folder.path().join("picture.png");
    let before = (fs::read(&design).unwrap(), fs::read(&picture).unwrap());
    for (output, what) in [(Path::new(&design), "the design"), (&picture, "the image")] {
        let to = format!("file:{}", output.display());
        run(&["stream", &design, &to, "--raw", "-q"]).failed(2, what);
    }
    assert!((fs::read(&design).unwrap(), fs::read(&picture).unwrap()) == before);
    assert_eq!(names(folder.path()), ["design.kdl", "picture.png"]);
}

#[test]
fn a_table_of_the_design_is_spared_too() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("table.json");
    let text = r#"{ "name": "steel", "points": [[0, 0], [255, 200]] }"#;
    fs::write(&table, text).unwrap();
    let design = written(
        &folder,
        "relief version=1\ncanvas width=8 height=8\nscan {\n    material \"table.json\"\n}\nfill value=1",
    );
    rendered(&design, &table, "raw").failed(2, "table.json");
    assert_eq!(fs::read_to_string(&table).unwrap(), text);
}

#[test]
fn a_standard_input_and_output_that_are_one_file_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let design = with_picture(&folder);
    for arguments in [
        &["render", "-", "-f", "raw", "-o", "-"][..],
        &["render", "-", "-f", "raw", "-o", &design],
    ] {
        let mut command = relief(arguments);
        command
            .current_dir(folder.path())
            .stdin(File::open(&design).unwrap());
        if arguments[5] == "-" {
            command.stdout(File::options().append(true).open(&design).unwrap());
        }
        let output = command
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8(output.stderr).unwrap().contains("the design"));
    }
    run(&["check", &design]).done();
}

#[test]
fn fmt_may_write_its_input() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(
        &folder,
        "relief   version=1\ncanvas width=4 height=4\nfill value=1\n",
    );
    fs::set_permissions(&design, Permissions::from_mode(0o640)).unwrap();
    run(&["fmt", &design]).done();
    assert!(
        fs::read_to_string(&design)
            .unwrap()
            .starts_with("relief version=1\n")
    );
    assert_eq!(mode(Path::new(&design)), 0o640);
    assert_eq!(names(folder.path()), ["design.kdl"]);
}

#[test]
fn permissions_of_an_output_stay_and_a_read_only_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(&folder, SMALL);
    let out = folder.path().join("out.raw");
    for kept in [0o600, 0o755, 0o664] {
        fs::write(&out, "older").unwrap();
        fs::set_permissions(&out, Permissions::from_mode(kept)).unwrap();
        rendered(&design, &out, "raw").done();
        assert_eq!((mode(&out), fs::read(&out).unwrap().len()), (kept, 64));
    }
    fs::set_permissions(&out, Permissions::from_mode(0o444)).unwrap();
    rendered(&design, &out, "png").failed(1, "it is read-only");
    assert_eq!(fs::read(&out).unwrap().len(), 64);
    let design = written(
        &folder,
        "relief   version=1\ncanvas width=4 height=4\nfill value=1\n",
    );
    fs::set_permissions(&design, Permissions::from_mode(0o444)).unwrap();
    run(&["fmt", &design]).failed(1, "it is read-only");
}

#[cfg(target_os = "linux")]
#[test]
fn what_stands_for_the_standard_output_is_appended_to() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(&folder, SMALL);
    let log = folder.path().join("log");
    for name in ["-", "/dev/stdout", "/proc/self/fd/1", "/dev/fd/1"] {
        fs::write(&log, "KEEP").unwrap();
        let mut command = relief(&["render", &design, "-f", "raw", "-o", name]);
        command.stdout(File::options().append(true).open(&log).unwrap());
        assert!(command.status().unwrap().success());
        let bytes = fs::read(&log).unwrap();
        assert_eq!((&bytes[..4], &bytes[4..]), (&b"KEEP"[..], &[1; 64][..]), "{name}");
    }
    assert_eq!(names(folder.path()), ["design.kdl", "log"]);
    run(&["render", &design, "-f", "raw", "-o", "/dev/stdout", "--digest"]).failed(2, "write to a file");
}

#[test]
fn what_a_killed_job_left_goes_away_with_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.raw");
    let name = out.to_str().unwrap();
    for _ in 0..3 {
        let mut child = relief(&[
            "render",
            "sheet/design.kdl",
            "--json-progress",
            "--force",
            "-o",
            name,
        ])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let left = names(folder.path());
        // A part of the raster and of its overview.
        assert!(
            left.len() == 2 && left.iter().all(|name| name.ends_with(".partial")),
            "{left:?}"
        );
    }
    run(&[
        "render",
        "texture/design.kdl",
        "--region",
        "0,0,9x9",
        "-q",
        "-o",
        name,
    ])
    .done();
    assert_eq!(names(folder.path()), ["out.raw"]);
}

#[test]
fn a_limit_of_the_size_of_files_is_an_error_that_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(
        &folder,
        "relief version=1\ncanvas width=640 height=480\nnoise seed=1",
    );
    for extension in ["raw", "png", "tiff", "pgm"] {
        let out = folder.path().join(format!("out.{extension}"));
        let mut command = Command::new("sh");
        command
            .args(["-c", "ulimit -f 100; exec \"$0\" render \"$1\" -o \"$2\""])
            .args([env!("CARGO_BIN_EXE_relief"), &design, out.to_str().unwrap()]);
        ended(command).failed(1, "out.");
        assert_eq!(names(folder.path()), ["design.kdl"], "{extension}");
    }
}

#[test]
fn an_output_for_a_format_that_writes_nothing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(&folder, SMALL);
    let out = folder.path().join("out.tiff");
    rendered(&design, &out, "null").failed(2, "--format null writes nothing");
    assert_eq!(names(folder.path()), ["design.kdl"]);
}

#[test]
fn a_format_that_cannot_hold_the_raster_is_told_before_its_memory() {
    let folder = tempfile::tempdir().unwrap();
    let text = |width: u64| format!("relief version=1\ncanvas width={width} height=1\nfill value=1");
    let design = written(&folder, &text(1 << 31));
    let ended = rendered(&design, &folder.path().join("out.png"), "png");
    ended.failed(1, "a png file has at most 2147483647 columns and rows");
    ended.failed(1, "write tiff, zarr, pgm or raw");
    let design = written(&folder, &text(1 << 32));
    let ended = rendered(&design, &folder.path().join("out.tiff"), "tiff");
    ended.failed(1, "write zarr, pgm or raw");
    assert!(!ended.err.contains("tiff,"), "{}", ended.err);
    // Before its room as well, which is told with what begins all the same.
    let out = folder.path().join("out.bmp");
    for (width, problem) in [
        (
            3_000_000_000_u64,
            "a bmp file has at most 2147483647 columns and rows",
        ),
        (900_000, "a bmp file has at most 4294967295 bytes"),
    ] {
        let text = format!("relief version=1\ncanvas width={width} height=3000000\nfill value=1");
        let ended = rendered(&written(&folder, &text), &out, "bmp");
        ended.failed(1, problem);
        assert!(!ended.err.contains("--force"), "{}", ended.err);
    }
    assert_eq!(names(folder.path()), ["design.kdl"]);
}

#[test]
fn a_scan_that_render_does_not_heed_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(
        &folder,
        "relief version=1\ncanvas width=8 height=8\nscan bits=1\nfill value=1",
    );
    let out = folder.path().join("out.raw");
    let told = run(&["render", &design, "-o", out.to_str().unwrap()]);
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(
        told.err.contains("`scan`") && told.err.contains("relief stream"),
        "{told:?}"
    );
    assert_eq!(rendered(&design, &out, "raw").done(), b"");
}

#[test]
fn a_device_that_is_not_there_is_told_once() {
    let ended = run(&["render", "logo/design.kdl", "-f", "null", "--device", "cuda"]);
    if ended.code == Some(0) {
        return;
    }
    assert_eq!(ended.err.matches("no cuda device").count(), 1, "{}", ended.err);
}

#[test]
fn counts_in_a_plan_are_whole_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(
        &folder,
        "relief version=1\ncanvas width=1099511627776 height=1099511627776\nfill value=1",
    );
    let text = String::from_utf8(run(&["plan", "--json", &design]).done()).unwrap();
    let count = text.split("\"count\": ").nth(1).unwrap();
    let digits: String = count.chars().take_while(|c| *c != ',').collect();
    assert!(digits.parse::<u128>().unwrap() > 1_000_000, "{digits}");
}

#[test]
fn passes_that_are_no_way_to_slice_are_told_with_all_that_are() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(&folder, SMALL);
    let to = format!("file:{}", folder.path().join("lines").display());
    for wrong in ["odd:3", "odd", ""] {
        let ended = run(&["stream", &design, &to, "--passes", wrong]);
        for form in ["one", "even:N", "curve:N,EXPONENT", "share:N", "listed:T,T"] {
            ended.failed(2, form);
        }
    }
    for right in ["listed:1,100", "1,100", "one", "even:2"] {
        let ended = run(&["stream", &design, &to, "--raw", "-q", "--passes", right]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        fs::remove_file(folder.path().join("lines")).unwrap();
    }
}

#[test]
fn a_page_of_the_manual_names_the_version() {
    for arguments in [&["man"][..], &["man", "render"], &["man", "stream"]] {
        let page = String::from_utf8(run(arguments).done()).unwrap();
        let title = page.lines().find(|line| line.starts_with(".TH")).unwrap();
        assert!(
            title.contains(concat!("\"relief ", env!("CARGO_PKG_VERSION"), "\"")),
            "{title}"
        );
    }
}
