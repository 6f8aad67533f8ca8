//! What goes wrong, how it is said, and what is left.

use crate::process::{ended, names, relief, run, run_with, written};

const RIGHT: &str = "relief version=1\ncanvas width=640 height=480\nnoise seed=1";

#[test]
fn arguments_that_cannot_be_used_end_with_2() {
    for (arguments, says) in [
        (&["frobnicate"][..], "unrecognized subcommand"),
        (&["render", "logo/design.kdl"], "--output"),
        (
            &["render", "logo/design.kdl", "-f", "png"],
            "--output says where to write",
        ),
        (
            &["render", "logo/design.kdl", "-o", "a.jpeg"],
            "no format has this extension",
        ),
        (
            &["render", "logo/design.kdl", "-o", "-", "--digest"],
            "write to a file",
        ),
        (&["render", "logo/design.kdl", "-f", "jpeg", "-o", "-"], "jpeg"),
        (&["plan", "logo/design.kdl", "--region", "1,2,3"], "not a size"),
        (
            &["plan", "logo/design.kdl", "--region", "-1,0,2x2"],
            "does not lie in the canvas",
        ),
        (
            &["plan", "logo/design.kdl", "--region", "1999,0,2x2"],
            "2000×1200",
        ),
        (
            &["plan", "logo/design.kdl", "--memory", "1.5GB"],
            "unit of memory",
        ),
        (&["plan", "logo/design.kdl", "--tile", "0x4"], "at least 1"),
        (
            &["plan", "logo/design.kdl", "--threads", "0"],
            "1 to 1024 are possible",
        ),
        (&["plan", "logo/design.kdl", "--device", "abacus"], "abacus"),
        (&["explain", "E999"], "no code 'E999'"),
        (&["man", "frobnicate"], "no command 'frobnicate'"),
        (&["completions", "csh"], "csh"),
        (&["fmt"], "required"),
    ] {
        run(arguments).failed(2, says);
    }
}

#[test]
fn a_wrong_design_is_shown_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let text = "relief version=1\ncanvas width=64 height=48\ncompose {\n    (bse)fill value=1\n    (add)fill value=300\n}\n";
    let design = written(&folder, text);
    for command in [
        &["check", &design][..],
        &["plan", &design],
        &["digest", &design],
        &["render", &design, "-f", "null"],
    ] {
        let ended = run(command);
        ended.failed(3, "design.kdl:4:");
        ended.failed(3, "design.kdl:5:");
        assert!(
            ended.err.contains("base") && ended.err.contains("300"),
            "{}",
            ended.err
        );
        assert!(!ended.err.contains('\u{1b}'), "no colours where nobody looks");
        assert!(ended.out.is_empty());
    }
    run_with(&["check", "-"], "relief version=1").failed(3, "<stdin>");
}

#[test]
fn files_that_cannot_be_read_end_with_1() {
    let folder = tempfile::tempdir().unwrap();
    run(&["check", "nowhere.kdl"]).failed(1, "cannot read nowhere.kdl");
    run(&["check", "logo"]).failed(1, "cannot read logo");
    run(&["fmt", "nowhere.kdl"]).failed(1, "nowhere.kdl");
    let binary = folder.path().join("binary.kdl");
    std::fs::write(&binary, b"relief \xFF").unwrap();
    run(&["check", binary.to_str().unwrap()]).failed(1, "byte 7 is not UTF-8");
    let text = "relief version=1\ncanvas width=4 height=4\nimage \"lost.png\"";
    run(&["check", &written(&folder, text)]).failed(3, "lost.png");
}

#[test]
fn a_picture_that_breaks_off_fails_the_job_and_leaves_the_older_file() {
    let folder = tempfile::tempdir().unwrap();
    let whole = [&b"P5 9 9 255\n"[..], &[7; 81]].concat();
    std::fs::write(folder.path().join("torn.pgm"), &whole[..60]).unwrap();
    let design = written(
        &folder,
        "relief version=1\ncanvas width=9 height=9\nimage \"torn.pgm\"",
    );
    let out = folder.path().join("out.png");
    std::fs::write(&out, "before").unwrap();
    let ended = run(&["render", &design, "-o", out.to_str().unwrap()]);
    assert!(
        matches!(ended.code, Some(1 | 3)) && ended.err.contains("torn.pgm"),
        "{ended:?}"
    );
    assert_eq!(std::fs::read(&out).unwrap(), b"before");
    assert_eq!(names(folder.path()), ["design.kdl", "out.png", "torn.pgm"]);
}

#[test]
fn places_that_cannot_be_written_end_with_1() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(&folder, RIGHT);
    let path = folder.path().to_str().unwrap();
    run(&["render", &design, "-f", "raw", "-o", path]).failed(1, "it is a folder");
    run(&["render", &design, "-o", &format!("{path}/none/out.png")]).failed(1, "does not exist");
    assert_eq!(names(folder.path()), ["design.kdl"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_fails_the_job() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(&folder, RIGHT);
    run(&["render", &design, "-f", "raw", "-o", "/dev/full"]).failed(1, "/dev/full");
    for arguments in [
        &["render", &design, "-o", "-"][..],
        &["check", &design],
        &["plan", &design],
        &["digest", &design],
        &["schema"],
        &["nodes"],
        &["man"],
        &["completions", "bash"],
        &["fmt", "-"],
        &["explain"],
    ] {
        let mut command = relief(arguments);
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        command.stdout(full).stdin(std::fs::File::open(&design).unwrap());
        let ended = ended_with_its_output(command);
        ended.failed(1, "standard output");
    }
}

#[cfg(target_os = "linux")]
fn ended_with_its_output(mut command: std::process::Command) -> crate::process::Ended {
    let output = command
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap();
    crate::process::Ended {
        code: output.status.code(),
        out: output.stdout,
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[cfg(unix)]
#[test]
fn a_disk_that_is_full_leaves_the_older_file_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(&folder, RIGHT);
    for extension in ["raw", "png", "tiff", "pgm"] {
        let out = folder.path().join(format!("out.{extension}"));
        std::fs::write(&out, "before").unwrap();
        // Files of this process are at most 50 KiB long; the raster has 300.
        let mut command = std::process::Command::new("sh");
        command
            .args([
                "-c",
                "ulimit -f 100; trap '' XFSZ; exec \"$0\" render \"$1\" -o \"$2\"",
            ])
            .args([env!("CARGO_BIN_EXE_relief"), &design, out.to_str().unwrap()]);
        let ended = ended(command);
        ended.failed(1, "out.");
        assert_eq!(std::fs::read(&out).unwrap(), b"before");
    }
    assert_eq!(
        names(folder.path()),
        ["design.kdl", "out.pgm", "out.png", "out.raw", "out.tiff"]
    );
}
