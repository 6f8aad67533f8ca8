//! `--threads` is the number of threads that compute, whatever is made of what they compute.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by a panic")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Threads of a process beside those that compute: the first one, and those that wait for signals, draw the progress or
/// hand lines on.
const BESIDE: usize = 6;

/// The most threads that a command has at once. A pool of its own, as `rayon` starts one where none is named, would have
/// `foreign` threads.
fn most_threads(arguments: &[&str], foreign: usize) -> usize {
    let mut child = Command::new(env!("CARGO_BIN_EXE_relief"))
        .args(arguments)
        .env("RAYON_NUM_THREADS", foreign.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let tasks = format!("/proc/{}/task", child.id());
    let mut most = 0;
    loop {
        // Before the end is looked at: threads of a pool stay until then.
        let count = fs::read_dir(&tasks).map_or(0, Iterator::count);
        most = most.max(count);
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{arguments:?}");
            return most;
        }
        std::thread::yield_now();
    }
}

#[test]
fn commands_have_the_threads_that_were_asked_for_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let design = path("noise.kdl");
    let text = "relief version=1\ncanvas width=6000 height=6000\nnoise seed=1";
    fs::write(&design, text).unwrap();
    let (raw, lines) = (path("out.raw"), format!("file:{}", path("lines.rlf")));
    assert!(Path::new(&design).is_file());
    let foreign = 40;
    let commands: [&[&str]; 4] = [
        &["digest", &design],
        &["render", &design, "-o", &raw, "--digest"],
        &["stream", &design, &lines],
        &["stream", &design, &lines, "--raw", "--encoding", "runs"],
    ];
    for command in commands {
        for threads in [1, 2] {
            let count = threads.to_string();
            let mut arguments = command.to_vec();
            arguments.extend(["--threads", &count]);
            let most = most_threads(&arguments, foreign);
            // A pool for tiles, and as many that make bands.
            assert!(most <= 2 * threads + BESIDE, "{most} threads: {arguments:?}");
        }
    }
}
