//! Ctrl-C and its like: no file, no part of one, and the exit code 130.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::process::{names, relief};

/// The sheet, which takes hours, on its way to a file: after its first progress.
fn started(out: &Path) -> Child {
    let mut child = relief(&["render", "sheet/design.kdl", "--json-progress", "--force", "-o"])
        .arg(out)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert!(line.contains("\"done\""), "{line}");
    child
}

fn interrupted(signal: Signal) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("sheet.raw");
    for older in [None, Some("before")] {
        if let Some(older) = older {
            std::fs::write(&out, older).unwrap();
        }
        let mut child = started(&out);
        let while_running = names(folder.path());
        assert!(
            while_running.iter().any(|name| name.ends_with(".partial")),
            "{while_running:?}"
        );
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert_eq!(
            names(folder.path()).len(),
            usize::from(older.is_some()),
            "what is left"
        );
        assert_eq!(std::fs::read_to_string(&out).ok().as_deref(), older);
    }
}

#[test]
fn an_interrupt_leaves_no_file_and_spares_an_older_one() {
    interrupted(Signal::SIGINT);
}

#[test]
fn being_asked_to_end_leaves_no_file_and_spares_an_older_one() {
    interrupted(Signal::SIGTERM);
}

#[test]
fn an_interrupt_ends_a_job_whose_output_blocks() {
    // Nobody reads: the pipe fills, and the job waits for ever.
    let mut child = relief(&["render", "sheet/design.kdl", "--json-progress", "-o", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    // The first byte says that the handler of signals stands.
    std::io::Read::read_exact(&mut out, &mut [0]).unwrap();
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
