//! What is written to a terminal, and what is not.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::Command;

use nix::pty::openpty;

use crate::process::{relief, written};

/// What a process writes to a terminal that is its standard output, standard error, or both; and its exit code.
fn on_terminal(mut command: Command, out: bool, err: bool) -> (Option<i32>, String) {
    let terminal = openpty(None, None).unwrap();
    let slave = || terminal.slave.try_clone().unwrap();
    if out {
        command.stdout(slave());
    }
    if err {
        command.stderr(slave());
    }
    let mut child = command.spawn().unwrap();
    drop((command, terminal.slave));
    let reader = std::thread::spawn(move || all(terminal.master));
    let code = child.wait().unwrap().code();
    (code, reader.join().unwrap())
}

/// Everything that comes from a terminal until nobody has it open: it ends with an error then.
fn all(master: OwnedFd) -> String {
    let (mut file, mut bytes) = (File::from(master), Vec::new());
    let mut part = [0; 4_096];
    while let Ok(count @ 1..) = file.read(&mut part) {
        bytes.extend_from_slice(&part[..count]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn samples_are_not_written_to_a_terminal_unless_forced() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(
        &folder,
        "relief version=1\ncanvas width=40 height=1\nfill value=65",
    );
    for name in ["-", "/dev/stdout"] {
        let arguments = ["render", &design, "-f", "raw", "-o", name];
        let (code, said) = on_terminal(relief(&arguments), true, true);
        assert!(code == Some(2) && said.contains("--force"), "{code:?} {said}");
        assert!(!said.contains("AAAA"), "{said}");
        let mut command = relief(&arguments);
        command.arg("--force").arg("-q");
        assert_eq!(on_terminal(command, true, false), (Some(0), "A".repeat(40)));
    }
}

#[test]
fn a_page_on_a_terminal_comes_with_how_to_read_it() {
    let (code, said) = on_terminal(relief(&["man", "plan"]), true, true);
    assert_eq!(code, Some(0));
    assert!(
        said.contains(".TH") && said.contains("relief man plan | man -l -"),
        "{said}"
    );
}

#[test]
fn a_terminal_that_only_shows_text_gets_only_text() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = written(&folder, "relief version=1\ncanvas width=0 height=4\nfill value=1");
    let jobs = [
        (&["check", &wrong][..], 3),
        (
            &[
                "render",
                "texture/design.kdl",
                "-f",
                "null",
                "--region",
                "0,0,64x64",
            ],
            0,
        ),
        (&["render", "--frobnicate"], 2),
    ];
    for (arguments, expected) in jobs {
        // Some libraries draw wherever the variable CI is set, whatever the terminal.
        for (term, ci, draws) in [
            ("dumb", false, false),
            ("dumb", true, false),
            ("xterm", false, true),
        ] {
            let mut command = relief(arguments);
            command.env("TERM", term).env_remove("NO_COLOR");
            if ci {
                command.env("CI", "true");
            } else {
                command.env_remove("CI");
            }
            let (code, said) = on_terminal(command, false, true);
            assert_eq!(code, Some(expected), "{said}");
            assert_eq!(
                said.contains('\u{1b}'),
                draws,
                "{arguments:?} on {term}: {said:?}"
            );
        }
    }
}
