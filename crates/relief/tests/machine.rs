//! `relief stream` and `relief receive` as processes: killed, cut off, damaged, refused, out of space. After every
//! fault the executed lines are those of the uninterrupted job, each once.
#![allow(clippy::unwrap_used, clippy::expect_used)]
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const RELIEF: &str = env!("CARGO_BIN_EXE_relief");

/// A folder with a design of 400 lines of 500 bytes.
struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let design = "relief version=1\ncanvas width=500 height=400\ncompose {\n    (base)noise seed=7\n    (max)image \"spot.pgm\" x=20 y=30\n}\n";
        fs::write(folder.path().join("design.kdl"), design).unwrap();
        let bench = Self { folder };
        bench.picture(200);
        bench
    }

    fn picture(&self, value: u8) {
        let pgm = [b"P5 40 40 255\n".as_slice(), &[value; 1600]].concat();
        fs::write(self.path("spot.pgm"), pgm).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(RELIEF);
        command.current_dir(self.folder.path()).args(arguments);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The raster without a machine.
    fn whole(&self) -> Vec<u8> {
        let output = self
            .command(&[
                "render",
                "design.kdl",
                "-o",
                "whole.raw",
                "--quiet",
                "--device",
                "cpu",
            ])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        fs::read(self.path("whole.raw")).unwrap()
    }

    fn receive(&self, listen: &str, more: &[&str]) -> Machine {
        self.receive_into("out.raw", listen, more)
    }

    fn receive_into(&self, output: &str, listen: &str, more: &[&str]) -> Machine {
        let mut arguments = vec!["receive", "--listen", listen, "-o", output];
        if !more.contains(&"--silence") {
            arguments.extend_from_slice(&["--silence", "2"]);
        }
        arguments.extend_from_slice(more);
        Machine::start(self.command(&arguments))
    }

    fn stream(&self, address: &str, more: &[&str]) -> Command {
        let mut arguments = vec!["stream"];
        if self.path("job.json").exists() {
            arguments.extend_from_slice(&["--resume", "job.json", "--to", address]);
        } else {
            arguments.extend_from_slice(&["design.kdl", address, "--manifest", "job.json"]);
        }
        arguments.extend_from_slice(&[
            "--quiet",
            "--device",
            "cpu",
            "--threads",
            "1",
            "--look-ahead",
            "200kB",
            "--patience",
            "10",
        ]);
        if !more.contains(&"--silence") {
            arguments.extend_from_slice(&["--silence", "2"]);
        }
        arguments.extend_from_slice(more);
        self.command(&arguments)
    }

    fn agrees(&self) {
        assert!(
            fs::read(self.path("out.raw")).unwrap() == self.whole(),
            "what was executed differs"
        );
        let output = self.command(&["verify", "job.json", "out.raw"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(text(&output).contains("400 of 400 lines agree"), "{output:?}");
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A receiver that listens.
struct Machine {
    child: Child,
    out: BufReader<ChildStdout>,
    address: String,
}

impl Machine {
    fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let address = line
            .trim()
            .strip_prefix("listening on ")
            .unwrap_or_else(|| panic!("{line:?}"))
            .to_owned();
        Self { child, out, address }
    }

    /// What it says at its end.
    fn end(mut self) -> String {
        let mut said = String::new();
        self.out.read_to_string(&mut said).unwrap();
        assert!(self.child.wait().unwrap().success(), "{said}");
        said
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until `done`, for at most half a minute.
fn until(mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(30), "it never happens");
        std::thread::yield_now();
    }
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Numbers that look drawn by lot and are the same in every run.
fn draw(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn a_sender_killed_fifty_times_loses_and_repeats_nothing() {
    let bench = Bench::new();
    let machine = bench.receive(
        "tcp://127.0.0.1:0",
        &["--line-rate", "400", "--buffer", "3kB", "--largest", "1kB"],
    );
    let (output, mut state) = (bench.path("out.raw"), 0x1234_5678);
    for _ in 0..50 {
        let mut sender = bench.stream(&machine.address, &[]).spawn().unwrap();
        // Somewhere from before its first line to a few lines on.
        let target = size(&output) + draw(&mut state) % 6 * 500;
        until(|| size(&output) >= target || sender.try_wait().unwrap().is_some());
        sender.kill().unwrap();
        sender.wait().unwrap();
    }
    let output = bench.stream(&machine.address, &[]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(machine.end().contains("executed 400 lines"));
    bench.agrees();
}

#[test]
fn a_machine_killed_fifty_times_loses_and_repeats_nothing() {
    let bench = Bench::new();
    let socket = format!("unix:{}", bench.path("machine").display());
    let options = ["--line-rate", "2000", "--buffer", "4kB", "--largest", "1kB"];
    let mut sender = None;
    let (output, mut state) = (bench.path("out.raw"), 0x8765_4321);
    for _ in 0..50 {
        let machine = bench.receive(&socket, &options);
        let sender = sender.get_or_insert_with(|| bench.stream(&socket, &[]).spawn().unwrap());
        let target = size(&output) + draw(&mut state) % 6 * 500;
        until(|| size(&output) >= target || sender.try_wait().unwrap().is_some());
        assert_eq!(sender.try_wait().unwrap(), None, "the sender has given up");
        drop(machine);
    }
    let machine = bench.receive(&socket, &options);
    assert!(sender.unwrap().wait().unwrap().success());
    machine.end();
    bench.agrees();
}

/// Passes bytes between a sender and a machine, and does something to what the sender says once so many have passed;
/// later connections are left alone.
fn between(machine: &str, harm: fn(&mut Vec<u8>, &TcpStream) -> bool, after: u64) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", listener.local_addr().unwrap());
    let machine = machine.trim_start_matches("tcp://").to_owned();
    std::thread::spawn(move || {
        let harmed = Arc::new(AtomicU64::new(0));
        for socket in listener.incoming().map_while(Result::ok) {
            let Ok(other) = TcpStream::connect(&machine) else {
                return;
            };
            let (mut back, mut to) = (other.try_clone().unwrap(), socket.try_clone().unwrap());
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut back, &mut to);
                let _ = to.shutdown(std::net::Shutdown::Both);
            });
            let harmed = harmed.clone();
            std::thread::spawn(move || forward(socket, other, harm, after, &harmed));
        }
    });
    address
}

fn forward(
    mut from: TcpStream,
    mut to: TcpStream,
    harm: fn(&mut Vec<u8>, &TcpStream) -> bool,
    after: u64,
    harmed: &AtomicU64,
) {
    let (mut passed, mut buffer) = (0, vec![0; 700]);
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let mut bytes = buffer[..count].to_vec();
        passed += count as u64;
        if passed > after && harmed.fetch_add(1, Ordering::SeqCst) == 0 && !harm(&mut bytes, &from) {
            return;
        }
        if to.write_all(&bytes).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}

fn survives(harm: fn(&mut Vec<u8>, &TcpStream) -> bool) {
    let bench = Bench::new();
    let machine = bench.receive("tcp://127.0.0.1:0", &["--buffer", "20kB", "--largest", "5kB"]);
    let address = between(&machine.address, harm, 60_000);
    let output = bench.stream(&address, &["--silence", "0.5"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output).contains("2 connections"), "{output:?}");
    machine.end();
    bench.agrees();
}

#[test]
fn a_flipped_bit_on_the_way_is_found_and_sent_again() {
    survives(|bytes, _| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 4;
        true
    });
}

#[test]
fn bytes_that_vanish_on_the_way_are_found_and_sent_again() {
    survives(|bytes, _| {
        bytes.remove(0);
        true
    });
}

#[test]
fn bytes_that_come_in_another_order_are_found_and_sent_again() {
    survives(|bytes, _| {
        let quarter = bytes.len() / 4;
        bytes.rotate_left(quarter);
        true
    });
}

#[test]
fn a_cut_connection_is_made_again() {
    survives(|_, socket| socket.shutdown(std::net::Shutdown::Both).is_ok());
}

#[test]
fn a_half_open_connection_is_noticed_by_both_sides() {
    // What the sender says goes nowhere from now on, and nothing is closed.
    survives(|_, socket| {
        std::mem::forget(socket.try_clone().unwrap());
        false
    });
}

#[test]
fn a_machine_that_stalls_for_longer_than_the_silence_keeps_its_connection() {
    let bench = Bench::new();
    let machine = bench.receive("tcp://127.0.0.1:0", &["--silence", "0.4", "--stall", "150:1.5"]);
    let output = bench
        .stream(&machine.address, &["--silence", "0.4"])
        .output()
        .unwrap();
    assert!(text(&output).contains("1 connections"), "{output:?}");
    machine.end();
    bench.agrees();
}

#[test]
fn a_picture_that_changed_between_two_runs_is_refused_with_both_digests() {
    let bench = Bench::new();
    let machine = bench.receive("tcp://127.0.0.1:0", &["--line-rate", "400"]);
    let mut sender = bench.stream(&machine.address, &[]).spawn().unwrap();
    until(|| size(&bench.path("out.raw")) > 5_000);
    sender.kill().unwrap();
    sender.wait().unwrap();
    let digest = |bench: &Bench| blake3::hash(&fs::read(bench.path("spot.pgm")).unwrap()).to_string();
    let before = digest(&bench);
    bench.picture(201);
    let output = bench.stream(&machine.address, &[]).output().unwrap();
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said.contains(&before) && said.contains(&digest(&bench)) && said.contains("spot.pgm"),
        "{said}"
    );
    bench.picture(200);
    assert!(
        bench
            .stream(&machine.address, &[])
            .output()
            .unwrap()
            .status
            .success()
    );
    machine.end();
    bench.agrees();
}

#[test]
fn of_two_senders_with_one_manifest_or_one_machine_the_second_is_refused() {
    let bench = Bench::new();
    let machine = bench.receive("tcp://127.0.0.1:0", &["--line-rate", "400"]);
    let mut first = bench.stream(&machine.address, &[]).spawn().unwrap();
    until(|| size(&bench.path("out.raw")) > 5_000);
    let same = bench.stream(&machine.address, &[]).output().unwrap();
    assert!(
        text(&same).contains("another sender is working on this job"),
        "{same:?}"
    );
    let other = bench
        .command(&[
            "stream",
            "design.kdl",
            &machine.address,
            "--quiet",
            "--device",
            "cpu",
        ])
        .output()
        .unwrap();
    assert!(
        text(&other).contains("another sender drives the machine"),
        "{other:?}"
    );
    assert!(first.wait().unwrap().success());
    machine.end();
    bench.agrees();
}

#[test]
fn the_receiver_in_python_executes_the_same_bytes() {
    if Command::new("python3").arg("--version").output().is_err() {
        return;
    }
    let bench = Bench::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/machine/receiver.py");
    assert!(fs::read_to_string(script).unwrap().lines().count() < 150);
    let start = || {
        let mut command = Command::new("python3");
        command
            .current_dir(bench.folder.path())
            .args([script, "0", "out.raw"]);
        command.stdout(Stdio::piped());
        Machine::start(command)
    };
    let machine = start();
    let mut sender = bench.stream(&machine.address, &[]).spawn().unwrap();
    until(|| size(&bench.path("out.raw")) > 20_000);
    drop(machine);
    sender.kill().unwrap();
    sender.wait().unwrap();
    let machine = start();
    let output = bench.stream(&machine.address, &[]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(machine.end().contains("executed 400 lines"));
    bench.agrees();
}

/// A file system of 96 KiB, where this process may mount one.
struct Small(PathBuf);

impl Small {
    fn mount(path: PathBuf) -> Option<Self> {
        fs::create_dir(&path).ok()?;
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=96k", "tmpfs"])
            .arg(&path)
            .output()
            .ok()?;
        mounted.status.success().then_some(Self(path))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).output();
    }
}

#[test]
fn a_full_disk_stops_the_machine_and_the_job_goes_on_when_there_is_room() {
    let bench = Bench::new();
    let Some(disk) = Small::mount(bench.path("disk")) else {
        return;
    };
    let machine = bench.receive_into("disk/out.raw", "tcp://127.0.0.1:0", &[]);
    let stopped = bench.stream(&machine.address, &[]).output().unwrap();
    assert_eq!(stopped.status.code(), Some(1), "{stopped:?}");
    assert!(text(&stopped).contains("cannot be recorded"), "{stopped:?}");
    drop(machine);
    // Room is made: what was executed moves to a larger disk with its journal.
    for name in ["out.raw", "out.raw.journal"] {
        fs::copy(disk.0.join(name), bench.path(name)).unwrap();
    }
    let machine = bench.receive("tcp://127.0.0.1:0", &[]);
    let output = bench.stream(&machine.address, &[]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    machine.end();
    bench.agrees();
}

#[test]
fn a_manifest_that_cannot_be_written_stops_the_job_in_a_state_from_which_it_goes_on() {
    let bench = Bench::new();
    let Some(disk) = Small::mount(bench.path("disk")) else {
        return;
    };
    let machine = bench.receive("tcp://127.0.0.1:0", &["--line-rate", "200"]);
    let first = [
        "stream",
        "design.kdl",
        &machine.address,
        "--manifest",
        "disk/job.json",
        "--quiet",
        "--device",
        "cpu",
    ];
    let mut sender = bench.command(&first).spawn().unwrap();
    until(|| size(&bench.path("out.raw")) > 5_000);
    fs::write(disk.0.join("filler"), vec![0; 90 << 10]).unwrap_or_default();
    assert_eq!(sender.wait().unwrap().code(), Some(1));
    fs::remove_file(disk.0.join("filler")).unwrap();
    fs::copy(disk.0.join("job.json"), bench.path("job.json")).unwrap();
    let output = bench.stream(&machine.address, &[]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    machine.end();
    bench.agrees();
}
