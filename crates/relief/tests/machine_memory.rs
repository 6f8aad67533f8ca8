//! The memory that a plan says with a look-ahead is the most that streaming takes.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test"
)]

use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::resource::{UsageWho, getrusage};
use relief_machine::{Machine, Pace, Receiver, ReceiverOptions};

/// What a process takes beside its plan: its code, the stacks of its threads, the allocator.
const BESIDE: u64 = 16 << 20;

const RELIEF: &str = env!("CARGO_BIN_EXE_relief");

/// Streams the design that the environment names to a machine in this process, and prints the peak of the sender, its
/// only child. By itself, as a test, it says nothing.
#[test]
fn streamed_alone() {
    let Ok(folder) = std::env::var("RELIEF_TEST_FOLDER") else {
        return;
    };
    let look_ahead = std::env::var("RELIEF_TEST_LOOK_AHEAD").unwrap();
    let options = ReceiverOptions::default().with(|with| {
        with.machine = Machine {
            // Slower than lines are made, so that the look-ahead is full.
            pace: Pace::Bytes(60e6),
            buffer: 2 << 20,
            ..Machine::default()
        }
    });
    let receiver = Receiver::bind(&"tcp://127.0.0.1:0".parse().unwrap(), options).unwrap();
    let address = receiver.address().to_string();
    let machine = std::thread::spawn(move || receiver.run().unwrap());
    let mut child = Command::new(RELIEF)
        .current_dir(folder)
        .args([
            "stream",
            "design.kdl",
            &address,
            "--manifest",
            "job.json",
            "--quiet",
            "--device",
            "cpu",
        ])
        .args(["--threads", "2", "--look-ahead", &look_ahead])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    assert!(child.wait().unwrap().success());
    machine.join().unwrap();
    let kibibytes = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss();
    println!("\npeak {}", u64::try_from(kibibytes).unwrap() * 1_024);
}

/// The most memory that streaming has held, measured as the only child of a process of its own.
fn peak(folder: &Path, look_ahead: &str) -> u64 {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "streamed_alone", "--nocapture"])
        .env("RELIEF_TEST_FOLDER", folder)
        .env("RELIEF_TEST_LOOK_AHEAD", look_ahead)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("peak "));
    line.unwrap_or_else(|| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)))
        .parse()
        .unwrap()
}

#[track_caller]
fn held(width: u64, height: u64, scan: &str, look_ahead: &str) {
    let folder = tempfile::tempdir().unwrap();
    let design = format!("relief version=1\ncanvas width={width} height={height}\n{scan}\nnoise seed=1\n");
    std::fs::write(folder.path().join("design.kdl"), design).unwrap();
    let plan = Command::new(RELIEF)
        .current_dir(folder.path())
        .args([
            "plan",
            "design.kdl",
            "--json",
            "--device",
            "cpu",
            "--threads",
            "2",
        ])
        .args(["--look-ahead", look_ahead])
        .output()
        .unwrap();
    assert!(plan.status.success(), "{}", String::from_utf8_lossy(&plan.stderr));
    let plan: serde_json::Value = serde_json::from_slice(&plan.stdout).unwrap();
    let planned = plan["peak_bytes"].as_u64().unwrap();
    let measured = peak(folder.path(), look_ahead);
    println!("{scan}: {measured} of {planned}");
    assert!(
        measured <= planned + BESIDE,
        "{measured} bytes were held, {planned} planned: {scan}"
    );
}

#[test]
fn rows_hold_no_more_than_planned() {
    held(10_000, 10_000, "scan", "60MB");
}

#[test]
fn columns_back_and_forth_hold_no_more_than_planned() {
    held(
        10_000,
        10_000,
        "scan axis=\"column\" rotate=180 direction=\"serpentine\"",
        "40MB",
    );
}

#[test]
fn runs_of_noise_hold_no_more_than_planned() {
    held(5_000, 5_000, "scan encoding=\"runs\"", "30MB");
}

#[test]
fn many_short_lines_hold_no_more_than_planned() {
    held(8, 1_000_000, "scan bits=1", "1MB");
}

#[test]
fn channels_and_overlaps_hold_no_more_than_planned() {
    held(
        50_000,
        1_000,
        "scan interleave=3 {\n swath lines=16 overlap=5\n}",
        "30MB",
    );
}

#[test]
fn error_diffusion_and_its_states_hold_no_more_than_planned() {
    held(
        400_000,
        200,
        "scan bits=1 {\n halftone \"floyd-steinberg\"\n}",
        "2MB",
    );
}
