//! `relief lab` finds the program of the lab beside itself or on the PATH, and else says how to get it.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The shell that writes its input to a program. A file that this process has open to write may be handed on to a child of another test for a
/// moment, and until then the system refuses to run it.
fn written(path: &Path, input: Stdio) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "cat > \"$0\" && chmod +x \"$0\""])
        .arg(path)
        .stdin(input);
    shell
}

/// Runs a copy of `relief` that stands alone in `folder`.
fn lab(folder: &Path, path: &Path, arguments: &[&str]) -> Output {
    let program = folder.join("relief");
    if !program.exists() {
        let own = File::open(env!("CARGO_BIN_EXE_relief")).unwrap();
        assert!(written(&program, own.into()).status().unwrap().success());
    }
    let mut command = Command::new(program);
    command.arg("lab").args(arguments).env("PATH", path);
    command.output().unwrap()
}

/// A program that prints its arguments, one a line, and ends with 5.
fn put(path: &Path) {
    let mut shell = written(path, Stdio::piped()).spawn().unwrap();
    let script = b"#!/bin/sh\nprintf '%s\\n' \"$@\"\nexit 5\n";
    shell.stdin.take().unwrap().write_all(script).unwrap();
    assert!(shell.wait().unwrap().success());
}

#[test]
fn without_the_program_the_message_says_how_to_get_it() {
    let folder = tempfile::tempdir().unwrap();
    let output = lab(folder.path(), Path::new("/nonexistent"), &["list"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("cargo install --path crates/relief-lab"), "{said}");
}

#[test]
fn the_program_beside_relief_or_on_the_path_gets_the_arguments_and_gives_the_exit_code() {
    let (folder, path) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let arguments = ["run", "--quick", "--help", "two words"];
    put(&path.path().join("relief-lab"));
    let on_the_path = lab(folder.path(), path.path(), &arguments);
    put(&folder.path().join("relief-lab"));
    let beside = lab(folder.path(), Path::new("/nonexistent"), &arguments);
    for output in [on_the_path, beside] {
        assert_eq!(output.status.code(), Some(5), "{output:?}");
        assert_eq!(output.stdout, b"run\n--quick\n--help\ntwo words\n");
    }
}
