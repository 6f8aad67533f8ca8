//! Packed jobs: a design with its files in one file, which every command reads.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::process::{names, run, run_with, written};

/// A design that names a picture, rows and a table, and has parameters.
const DESIGN: &str = "relief version=1\nparameter \"gray\" 40\nparameter \"side\" 30\n\
    canvas width=60 height=40\nscan bits=8 { machine \"tables/power.json\" }\n\
    compose {\n(add)image \"../photo.pgm\" x=3\n(max)fill value=$gray width=$side height=5\n\
    (add)array columns=2 rows=1 step-x=20 step-y=1 data=\"rows.csv\" { (add)disc diameter=$size value=9 y=20 }\n}\n";

/// The design in a folder of its own, with all that it names.
fn job() -> (TempDir, String) {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("job");
    std::fs::create_dir_all(folder.join("tables")).unwrap();
    std::fs::write(
        outer.path().join("photo.pgm"),
        [&b"P5 4 3 255\n"[..], &[7; 12]].concat(),
    )
    .unwrap();
    std::fs::write(folder.join("rows.csv"), "size\n5\n9\n").unwrap();
    let table = r#"{"name": "laser", "points": [[0, 0], [255, 200]]}"#;
    std::fs::write(folder.join("tables/power.json"), table).unwrap();
    let design = folder.join("plate.kdl");
    std::fs::write(&design, DESIGN).unwrap();
    (outer, design.to_str().unwrap().to_owned())
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

#[test]
fn a_packed_job_is_the_design_wherever_it_lies() {
    let (source, design) = job();
    let elsewhere = tempfile::tempdir().unwrap();
    let packed = path(elsewhere.path(), "job.relief");
    let again = path(elsewhere.path(), "again.relief");
    run(&["pack", &design, "-o", &packed]).done();
    run(&["pack", &design, "-o", &again]).done();
    let bytes = std::fs::read(&packed).unwrap();
    assert!(bytes == std::fs::read(&again).unwrap(), "the same bytes");
    let digest = run(&["digest", &design]).done();
    let wide = run(&["digest", &design, "--set", "side=50"]).done();
    assert_ne!(digest, wide);
    let lines = path(source.path(), "lines.raw");
    run(&["stream", &design, &format!("file:{lines}"), "--raw", "-q"]).done();
    let lines = std::fs::read(lines).unwrap();
    // Nothing that it was made of is needed any more.
    drop(source);
    assert_eq!(run(&["digest", &packed]).done(), digest);
    assert_eq!(run(&["digest", &packed, "--set", "side=50"]).done(), wide);
    assert!(run(&["check", &packed]).done().starts_with(b"plate.kdl in "));
    run(&["plan", &packed]).done();
    let found = path(elsewhere.path(), "found.raw");
    run(&["stream", &packed, &format!("file:{found}"), "--raw", "-q"]).done();
    assert!(std::fs::read(found).unwrap() == lines);
    // Packed again it is the same file, and with a value another job.
    run(&["pack", &packed, "-o", &again]).done();
    assert!(std::fs::read(&again).unwrap() == bytes);
    run(&["pack", &packed, "-o", &again, "--set", "side=50"]).done();
    assert_eq!(run(&["digest", &again]).done(), wide);
    assert_eq!(run(&["digest", &again, "--set", "side=30"]).done(), digest);
    run(&["digest", &packed, "--set", "sid=50"]).failed(3, "did you mean `side`?");
    run(&["pack", &packed, "-o", &packed]).failed(2, "is the design, which this job reads");
    run(&["fmt", &packed]).failed(2, "is a packed job");
    let json = run(&["fmt", "--json", &packed]).done();
    assert!(String::from_utf8(json).unwrap().contains("\"canvas\""));
}

/// The manifest of a job knows its packed job, and the table in it, from its own folder.
#[test]
fn a_packed_job_is_streamed_and_verified() {
    let (_source, design) = job();
    let folder = tempfile::tempdir().unwrap();
    let [packed, lines, manifest] =
        ["job.relief", "lines.job", "job.json"].map(|name| path(folder.path(), name));
    run(&["pack", &design, "-o", &packed, "--set", "gray=90"]).done();
    run(&[
        "stream",
        &packed,
        &format!("file:{lines}"),
        "--manifest",
        &manifest,
        "-q",
    ])
    .done();
    run(&["verify", &manifest, &lines]).done();
    run(&["verify", &manifest, &lines, "--set", "gray=90"]).done();
    run(&["verify", &manifest, &lines, "--set", "gray=91"]).failed(2, "the job was begun with gray=90");
    run(&["verify", &manifest, &lines, "--set", "side=1"]).failed(2, "without a value for it");
    // Another job under its name is not the one that was begun.
    std::fs::write(&design, DESIGN.replace("height=5", "height=6")).unwrap();
    run(&["pack", &design, "-o", &packed, "--set", "gray=90"]).done();
    run(&["verify", &manifest, &lines]).failed(1, "changed");
}

/// Any tar unpacks it.
#[test]
#[cfg(unix)]
fn a_packed_job_is_a_plain_archive() {
    let (source, design) = job();
    let folder = tempfile::tempdir().unwrap();
    let packed = path(source.path(), "job.relief");
    run(&["pack", &design, "-o", &packed, "--set", "gray=90"]).done();
    let unpacked = Command::new("tar")
        .args(["-xf", &packed, "-C", folder.path().to_str().unwrap()])
        .output()
        .unwrap();
    assert!(unpacked.status.success(), "{unpacked:?}");
    assert_eq!(names(folder.path()), ["design.kdl", "files", "relief.json"]);
    assert_eq!(names(&folder.path().join("files")), ["1.pgm", "2.csv", "3.json"]);
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert_eq!(read("design.kdl"), DESIGN.as_bytes());
    assert_eq!(read("files/2.csv"), b"size\n5\n9\n");
    assert_eq!(
        read("files/1.pgm"),
        std::fs::read(source.path().join("photo.pgm")).unwrap()
    );
    let list: serde_json::Value = serde_json::from_slice(&read("relief.json")).unwrap();
    assert_eq!(list["files"][0]["path"], "../photo.pgm");
    assert_eq!(
        list["files"][0]["blake3"],
        blake3::hash(&read("files/1.pgm")).to_string()
    );
    assert_eq!(
        list["parameters"],
        serde_json::json!([{ "name": "gray", "value": "90" }])
    );
}

#[test]
fn what_cannot_be_packed_leaves_nothing() {
    let (source, design) = job();
    let folder = tempfile::tempdir().unwrap();
    let packed = path(folder.path(), "job.relief");
    std::fs::remove_file(source.path().join("photo.pgm")).unwrap();
    run(&["pack", &design, "-o", &packed]).failed(3, "photo.pgm");
    assert!(names(folder.path()).is_empty());
    let wrong = written(&folder, "relief version=1\ncanvas width=1 height=1\nfil value=1");
    run(&["pack", &wrong, "-o", &packed]).failed(3, "did you mean `fill`?");
    assert_eq!(names(folder.path()), ["design.kdl"]);
}

/// A byte that is another one, and an end that comes too early, are found before anything is computed.
#[test]
fn a_damaged_job_is_refused() {
    let (_source, design) = job();
    let folder = tempfile::tempdir().unwrap();
    let packed = path(folder.path(), "job.relief");
    run(&["pack", &design, "-o", &packed]).done();
    let bytes = std::fs::read(&packed).unwrap();
    let text = bytes.windows(8).position(|window| window == b"canvas w").unwrap();
    let picture = bytes.windows(6).position(|window| window == b"P5 4 3").unwrap() + 13;
    for (at, says) in [
        (text, "design.kdl has other bytes than its list says"),
        (
            picture,
            "files/1.pgm (../photo.pgm) has other bytes than its list says",
        ),
    ] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        std::fs::write(&packed, damaged).unwrap();
        run(&["digest", &packed]).failed(1, says);
    }
    for length in [1_000, text, picture] {
        std::fs::write(&packed, &bytes[..length]).unwrap();
        run(&["check", &packed]).failed(1, "damaged");
    }
}

#[test]
fn rows_are_read_from_the_standard_input() {
    let (_source, design) = job();
    let folder = tempfile::tempdir().unwrap();
    let packed = path(folder.path(), "job.relief");
    run(&["pack", &design, "-o", &packed]).done();
    let out = path(folder.path(), "plate-{gray}.raw");
    for design in [&design, &packed] {
        let ended = run_with(
            &["render", design, "--each", "-", "-o", &out, "-q"],
            "gray,side\n7,3\n200,50\n",
        );
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
        for (gray, side) in [("7", "3"), ("200", "50")] {
            let set = [format!("gray={gray}"), format!("side={side}")];
            let arguments = [
                "render", design, "-f", "raw", "-o", "-", "-q", "--set", &set[0], "--set", &set[1],
            ];
            let one = run(&arguments).done();
            let file = folder.path().join(format!("plate-{gray}.raw"));
            assert!(std::fs::read(&file).unwrap() == one);
            std::fs::remove_file(file).unwrap();
        }
        let wrong = run_with(&["check", design, "--each", "-"], "gray\nx\n");
        wrong.failed(3, "row 1 of <stdin>");
    }
    run_with(&["check", "-", "--each", "-"], "gray\n1\n").failed(2, "give its file");
}
