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
        if !more.contains(&"--idle-timeout") {
            arguments.extend_from_slice(&["--idle-timeout", "2"]);
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
            "--record-every",
            "0.005",
            "--quiet",
            "--device",
            "cpu",
            "--threads",
            "1",
            "--look-ahead",
            "200kB",
            "--reconnect-timeout",
            "10",
        ]);
        if !more.contains(&"--idle-timeout") {
            arguments.extend_from_slice(&["--idle-timeout", "2"]);
        }
        arguments.extend_from_slice(more);
        self.command(&arguments)
    }

    fn agrees(&self) {
        self.agree(&["out.raw"]);
    }

    /// Whether files, one after the other, hold every line once.
    fn agree(&self, files: &[&str]) {
        let executed: Vec<u8> = files
            .iter()
            .flat_map(|file| fs::read(self.path(file)).unwrap())
            .collect();
        assert!(executed == self.whole(), "what was executed differs");
        self.verify(files);
    }

    fn verify(&self, files: &[&str]) {
        let output = self
            .command(&[&["verify", "job.json"], files].concat())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(text(&output).contains("400 of 400 lines agree"), "{output:?}");
    }
}

/// Connections that a sender says it made.
fn connections(output: &Output) -> u32 {
    let said = text(output);
    let before = said.split(" connection").next().unwrap();
    let number = before.rsplit(' ').next().unwrap();
    number.parse().unwrap_or_else(|_| panic!("{said}"))
}

/// Whether tests must fail where they cannot do what they are for, such as mount a file system, instead of passing
/// without it.
fn is_required() -> bool {
    std::env::var_os("RELIEF_REQUIRE_PRIVILEGED").is_some_and(|value| value == "1")
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

#[test]
fn a_sender_says_that_nobody_answers_and_sends_when_somebody_does() {
    let bench = Bench::new();
    let socket = format!("unix:{}", bench.path("machine").display());
    let to = ["stream", "design.kdl", &socket, "--manifest", "job.json"];
    let options = ["--device", "cpu", "--reconnect-timeout", "60"];
    let mut sender = bench.command(&[&to[..], &options].concat()).spawn().unwrap();
    let mut said = BufReader::new(sender.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("no connection yet") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended without a word");
    }
    let machine = bench.receive(&socket, &[]);
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert!(sender.wait().unwrap().success(), "{rest}");
    assert!(!rest.contains("no connection yet"), "it is said once: {rest}");
    machine.end();
    bench.agrees();
}

/// Who speaks on a connection.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Sender,
    Machine,
}

/// Does something to bytes on their way; `false` where they go no further.
type Harm = fn(&mut Vec<u8>, &TcpStream) -> bool;

/// Passes bytes between a sender and a machine, and does something to what one side says once so many have passed;
/// later connections are left alone.
fn between(machine: &str, side: Side, harm: Harm, after: u64) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", listener.local_addr().unwrap());
    let machine = machine.trim_start_matches("tcp://").to_owned();
    std::thread::spawn(move || {
        let harmed = Arc::new(AtomicU64::new(0));
        for socket in listener.incoming().map_while(Result::ok) {
            let Ok(other) = TcpStream::connect(&machine) else {
                return;
            };
            let ways = [
                (
                    Side::Sender,
                    socket.try_clone().unwrap(),
                    other.try_clone().unwrap(),
                ),
                (Side::Machine, other, socket),
            ];
            for (speaker, from, to) in ways {
                let harmed = harmed.clone();
                let after = if speaker == side { after } else { u64::MAX };
                std::thread::spawn(move || forward(from, to, harm, after, &harmed));
            }
        }
    });
    address
}

fn forward(mut from: TcpStream, mut to: TcpStream, harm: Harm, after: u64, harmed: &AtomicU64) {
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

fn survives(side: Side, harm: Harm) {
    // The machine says little: a status is 72 bytes.
    let after = if side == Side::Sender { 60_000 } else { 400 };
    let bench = Bench::new();
    let machine = bench.receive("tcp://127.0.0.1:0", &["--buffer", "20kB", "--largest", "5kB"]);
    let address = between(&machine.address, side, harm, after);
    let output = bench
        .stream(&address, &["--idle-timeout", "0.5"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    // One that was harmed, and one after it; more where the processor is too busy for the idle timeout.
    assert!(connections(&output) >= 2, "{output:?}");
    machine.end();
    bench.agrees();
}

#[test]
fn a_flipped_bit_on_the_way_is_found_and_sent_again() {
    survives(Side::Sender, |bytes, _| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 4;
        true
    });
}

#[test]
fn bytes_that_vanish_on_the_way_are_found_and_sent_again() {
    survives(Side::Sender, |bytes, _| {
        bytes.remove(0);
        true
    });
}

#[test]
fn bytes_that_come_in_another_order_are_found_and_sent_again() {
    survives(Side::Sender, |bytes, _| {
        let quarter = bytes.len() / 4;
        bytes.rotate_left(quarter);
        true
    });
}

#[test]
fn a_cut_connection_is_made_again() {
    survives(Side::Sender, |_, socket| {
        socket.shutdown(std::net::Shutdown::Both).is_ok()
    });
}

#[test]
fn a_half_open_connection_is_noticed_by_both_sides() {
    // What the sender says goes nowhere from now on, and nothing is closed.
    survives(Side::Sender, |_, socket| {
        std::mem::forget(socket.try_clone().unwrap());
        false
    });
}

#[test]
fn a_connection_on_which_the_machine_is_no_longer_heard_is_noticed_by_both_sides() {
    survives(Side::Machine, |_, socket| {
        std::mem::forget(socket.try_clone().unwrap());
        false
    });
}

#[test]
fn words_of_the_machine_that_are_damaged_are_found_and_asked_for_again() {
    survives(Side::Machine, |bytes, _| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        true
    });
}

#[test]
fn a_machine_that_stalls_for_longer_than_the_silence_keeps_its_connection() {
    let bench = Bench::new();
    // The stall is much longer than the idle timeout, and the idle timeout than a busy processor keeps a thread waiting.
    let machine = bench.receive("tcp://127.0.0.1:0", &["--idle-timeout", "2", "--stall", "150:5"]);
    let output = bench
        .stream(&machine.address, &["--idle-timeout", "2"])
        .output()
        .unwrap();
    assert_eq!(connections(&output), 1, "{output:?}");
    machine.end();
    bench.agrees();
}

#[test]
#[ignore = "takes a minute: cargo test -p relief --test machine -- --ignored"]
fn a_machine_that_stalls_for_a_minute_keeps_its_connection() {
    let bench = Bench::new();
    let machine = bench.receive(
        "tcp://127.0.0.1:0",
        &["--idle-timeout", "10", "--stall", "390:60"],
    );
    let output = bench
        .stream(&machine.address, &["--idle-timeout", "10"])
        .output()
        .unwrap();
    assert!(text(&output).contains("1 connection"), "{output:?}");
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

/// What follows from a whole source is computed once for a job. That the manifest is asked, and the source is not looked at again, shows in a
/// table that was changed there: from the line on with which the job goes on all samples are its.
#[test]
fn a_job_that_goes_on_takes_its_tables_from_the_manifest() {
    let bench = Bench::new();
    let design = "relief version=1\ncanvas width=500 height=400\nequalise { (source)gauss sigma=2 { (source)noise seed=7 } }\n";
    fs::write(bench.path("design.kdl"), design).unwrap();
    let whole = bench.whole();
    let machine = bench.receive(
        "tcp://127.0.0.1:0",
        &["--line-rate", "400", "--buffer", "3kB", "--largest", "1kB"],
    );
    let mut sender = bench.stream(&machine.address, &[]).spawn().unwrap();
    until(|| size(&bench.path("out.raw")) > 20_000);
    sender.kill().unwrap();
    sender.wait().unwrap();
    let manifest = fs::read_to_string(bench.path("job.json")).unwrap();
    let (before, rest) = manifest.split_once("\"samples\"").unwrap();
    let mut parts: Vec<&str> = rest.splitn(3, '"').collect();
    let table = "000b".repeat(256);
    assert_eq!(parts[1].len(), table.len(), "a table of 256 samples");
    parts[1] = &table;
    let changed = format!("{before}\"samples\"{}", parts.join("\""));
    fs::write(bench.path("job.json"), changed).unwrap();
    let output = bench.stream(&machine.address, &[]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(machine.end().contains("executed 400 lines"));
    let executed = fs::read(bench.path("out.raw")).unwrap();
    let goes_on = executed.chunks(500).position(|line| line == [11; 500]).unwrap();
    assert!((40..400).contains(&goes_on), "{goes_on}");
    let (first, second) = executed.split_at(goes_on * 500);
    assert!(first == &whole[..first.len()], "lines before the job was stopped");
    assert!(
        second.iter().all(|sample| *sample == 11),
        "lines of the changed table"
    );
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

/// A receiver that was written after the protocol is killed within a job, starts again and ends it.
fn is_killed_and_goes_on(bench: &Bench, program: &str, script: &[&str]) {
    let start = || {
        let mut command = Command::new(program);
        command.current_dir(bench.folder.path()).args(script);
        command.args(["0", "out.raw"]).stdout(Stdio::piped());
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

#[test]
fn the_receiver_in_python_executes_the_same_bytes() {
    if Command::new("python3").arg("--version").output().is_err() {
        assert!(!is_required(), "python3 is not there");
        return;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/machine/receiver.py");
    assert!(fs::read_to_string(script).unwrap().lines().count() < 170);
    is_killed_and_goes_on(&Bench::new(), "python3", &[script]);
}

/// The receiver in C, compiled without a warning; nothing where there is no compiler.
fn compiled(bench: &Bench) -> Option<String> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/machine/receiver.c");
    let program = bench.path("receiver").to_str().unwrap().to_owned();
    let strict = [
        "-std=c99",
        "-O1",
        "-Wall",
        "-Wextra",
        "-pedantic",
        "-Werror",
        "-o",
    ];
    let Ok(cc) = Command::new("cc").args(strict).args([&program, source]).output() else {
        assert!(!is_required(), "cc is not there");
        return None;
    };
    assert!(cc.status.success(), "{}", text(&cc));
    Some(program)
}

#[test]
fn the_receiver_in_c_executes_the_same_bytes() {
    let bench = Bench::new();
    if let Some(program) = compiled(&bench) {
        is_killed_and_goes_on(&bench, &program, &[]);
    }
}

#[test]
fn the_receiver_in_c_executes_runs_and_bits() {
    let bench = Bench::new();
    let Some(program) = compiled(&bench) else {
        return;
    };
    for (name, options) in [("runs", ["--encoding", "runs"]), ("bits", ["--bits", "1"])] {
        let output = format!("{name}.raw");
        let mut command = Command::new(&program);
        command.current_dir(bench.folder.path());
        command.args(["0", &output]).stdout(Stdio::piped());
        let machine = Machine::start(command);
        let send = |to: &str, more: &[&str]| {
            let arguments = ["stream", "design.kdl", to, "--quiet", "--device", "cpu"];
            let sent = bench
                .command(&[&arguments, more, &options].concat())
                .output()
                .unwrap();
            assert!(sent.status.success(), "{name}: {sent:?}");
        };
        send(&machine.address, &[]);
        assert!(machine.end().contains("executed 400 lines"));
        send("file:expected.raw", &["--raw"]);
        assert!(fs::read(bench.path(&output)).unwrap() == fs::read(bench.path("expected.raw")).unwrap());
    }
}

/// A file system of 96 KiB, where this process may mount one; `None` elsewhere, which is a failure where it is required.
struct Small(PathBuf);

impl Small {
    fn mount(path: PathBuf) -> Option<Self> {
        fs::create_dir(&path).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=96k", "tmpfs"])
            .arg(&path)
            .output();
        let is_mounted = mounted.as_ref().is_ok_and(|mounted| mounted.status.success());
        assert!(
            is_mounted || !is_required(),
            "no file system can be mounted: {mounted:?}"
        );
        is_mounted.then_some(Self(path))
    }

    /// Makes room.
    fn grow(&self) {
        let grown = Command::new("mount")
            .args(["-o", "remount,size=4m"])
            .arg(&self.0)
            .output()
            .unwrap();
        assert!(grown.status.success(), "{grown:?}");
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

/// The lines in a file of frames, read after `docs/protocol.md`, with the kinds of all frames.
fn unframed(bytes: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut lines, mut kinds, mut rest, mut next) = (Vec::new(), Vec::new(), bytes, 0);
    while let Some((head, tail)) = rest.split_first_chunk::<32>() {
        let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap()) as usize;
        assert_eq!(&head[..4], b"RLF\x01");
        let (payload, tail) = tail.split_at(word(16));
        kinds.push(head[4]);
        if head[4] == 6 {
            assert_eq!((word(8), word(20) * 500), (next, payload.len()));
            next += word(20);
            lines.extend_from_slice(payload);
        }
        rest = tail;
    }
    assert!(rest.is_empty());
    (lines, kinds)
}

#[test]
fn a_file_takes_a_job_as_frames_or_as_lines() {
    let bench = Bench::new();
    let run = |arguments: &[&str]| {
        let output = bench
            .command(&[&["stream"], arguments].concat())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    run(&[
        "design.kdl",
        "file:job.rlf",
        "--manifest",
        "job.json",
        "--device",
        "cpu",
    ]);
    let (lines, kinds) = unframed(&fs::read(bench.path("job.rlf")).unwrap());
    assert!(lines == bench.whole());
    assert_eq!((kinds[0], *kinds.last().unwrap()), (4, 7));
    bench.verify(&["job.rlf"]);
    run(&[
        "design.kdl",
        "file:job.raw",
        "--raw",
        "--manifest",
        "raw.json",
        "--device",
        "cpu",
    ]);
    assert!(fs::read(bench.path("job.raw")).unwrap() == bench.whole());
    bench.verify(&["job.raw"]);
    // Damage is found in both.
    for name in ["job.rlf", "job.raw"] {
        let mut bytes = fs::read(bench.path(name)).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(bench.path(name), bytes).unwrap();
        let output = bench.command(&["verify", "job.json", name]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
    }
}

#[test]
fn a_sender_of_frames_into_a_file_killed_again_and_again_loses_and_repeats_nothing() {
    a_sender_into_a_file_is_killed(false);
}

#[test]
fn a_sender_of_bare_lines_into_a_file_killed_again_and_again_loses_and_repeats_nothing() {
    a_sender_into_a_file_is_killed(true);
}

fn a_sender_into_a_file_is_killed(raw: bool) {
    let bench = Bench::new();
    let long = fs::read_to_string(bench.path("design.kdl"))
        .unwrap()
        .replace("height=400", "height=40000");
    fs::write(bench.path("design.kdl"), long).unwrap();
    let (mut state, mut killed) = (0x2468_ACE0, 0);
    let begin = || {
        let job = if bench.path("job.json").exists() {
            vec!["--resume", "job.json"]
        } else if raw {
            vec!["design.kdl", "file:out.raw", "--manifest", "job.json", "--raw"]
        } else {
            vec!["design.kdl", "file:out.raw", "--manifest", "job.json"]
        };
        let options = [
            "--device",
            "cpu",
            "--threads",
            "1",
            "--quiet",
            "--look-ahead",
            "20kB",
        ];
        let mut command = bench.command(&[&["stream"], job.as_slice(), &options].concat());
        command.args(["--record-every", "0.001"]).spawn().unwrap()
    };
    for _ in 0..25 {
        let mut sender = begin();
        let target = size(&bench.path("out.raw.partial")) + draw(&mut state) % 400_000;
        until(|| size(&bench.path("out.raw.partial")) >= target || sender.try_wait().unwrap().is_some());
        killed += u32::from(sender.try_wait().unwrap().is_none());
        sender.kill().unwrap();
        sender.wait().unwrap();
    }
    assert_eq!(killed, 25, "the job ended before");
    let output = begin().wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let written = fs::read(bench.path("out.raw")).unwrap();
    let lines = if raw { written } else { unframed(&written).0 };
    assert!(lines == bench.whole());
    let output = bench
        .command(&["verify", "job.json", "out.raw"])
        .output()
        .unwrap();
    assert!(text(&output).contains("40000 of 40000 lines agree"), "{output:?}");
}

#[test]
fn a_full_disk_stops_a_job_into_a_file_which_goes_on_when_there_is_room() {
    for raw in [false, true] {
        let bench = Bench::new();
        let Some(disk) = Small::mount(bench.path("disk")) else {
            return;
        };
        let options = [
            "--device",
            "cpu",
            "--quiet",
            "--look-ahead",
            "20kB",
            "--record-every",
            "0.001",
        ];
        let mut first = vec![
            "stream",
            "design.kdl",
            "file:disk/out.raw",
            "--manifest",
            "job.json",
            "--force",
        ];
        first.extend(raw.then_some("--raw"));
        let stopped = bench.command(&[&first, &options[..]].concat()).output().unwrap();
        assert_eq!(stopped.status.code(), Some(1), "{stopped:?}");
        assert!(
            text(&stopped).contains("cannot write disk/out.raw"),
            "{stopped:?}"
        );
        let resume = ["stream", "--resume", "job.json"];
        let again = bench.command(&[&resume, &options[..]].concat()).output().unwrap();
        assert_eq!(again.status.code(), Some(1), "{again:?}");
        disk.grow();
        let output = bench.command(&[&resume, &options[..]].concat()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let written = fs::read(bench.path("disk/out.raw")).unwrap();
        let lines = if raw { written } else { unframed(&written).0 };
        assert!(lines == bench.whole());
        bench.verify(&["disk/out.raw"]);
    }
}

#[test]
fn lines_as_they_are_go_to_whoever_listens_and_are_never_said_to_be_executed_by_a_manifest() {
    let bench = Bench::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", listener.local_addr().unwrap());
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let refused = bench.stream(&address, &["--raw"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let arguments = [
        "stream",
        "design.kdl",
        &address,
        "--raw",
        "--device",
        "cpu",
        "--quiet",
    ];
    let output = bench.command(&arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(reader.join().unwrap() == bench.whole());
}

#[test]
fn a_job_that_is_stopped_goes_on_at_a_second_machine() {
    let bench = Bench::new();
    let slow = ["--line-rate", "400", "--buffer", "20kB"];
    let first = bench.receive_into("one.raw", "tcp://127.0.0.1:0", &slow);
    let mut sender = bench.stream(&first.address, &[]).spawn().unwrap();
    until(|| size(&bench.path("one.raw")) > 20_000);
    // An orderly end: the machine says what it has executed.
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(sender.id() as i32),
        nix::sys::signal::Signal::SIGINT,
    )
    .unwrap();
    assert_eq!(sender.wait().unwrap().code(), Some(130));
    drop(first);
    let second = bench.receive_into("two.raw", "tcp://127.0.0.1:0", &slow);
    let output = bench.stream(&second.address, &[]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    second.end();
    assert!(size(&bench.path("one.raw")) > 20_000 && size(&bench.path("two.raw")) > 20_000);
    bench.agree(&["one.raw", "two.raw"]);
}

#[test]
fn after_a_crash_of_both_sides_the_first_machine_says_where_the_second_begins() {
    let bench = Bench::new();
    let slow = ["--line-rate", "400", "--buffer", "20kB"];
    let first = bench.receive_into("one.raw", "tcp://127.0.0.1:0", &slow);
    let mut sender = bench.stream(&first.address, &[]).spawn().unwrap();
    until(|| size(&bench.path("one.raw")) > 20_000);
    sender.kill().unwrap();
    sender.wait().unwrap();
    drop(first);
    let executed = (size(&bench.path("one.raw")) / 500).to_string();
    let second = bench.receive_into("two.raw", "tcp://127.0.0.1:0", &slow);
    let output = bench
        .stream(&second.address, &["--executed", &executed])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    second.end();
    bench.agree(&["one.raw", "two.raw"]);
}

#[test]
fn a_machine_that_has_executed_a_job_is_not_taken_to_execute_it_again() {
    let bench = Bench::new();
    let machine = bench.receive("tcp://127.0.0.1:0", &[]);
    assert!(
        bench
            .stream(&machine.address, &[])
            .output()
            .unwrap()
            .status
            .success()
    );
    machine.end();
    let machine = bench.receive("tcp://127.0.0.1:0", &[]);
    let again = [
        "stream",
        "design.kdl",
        &machine.address,
        "--device",
        "cpu",
        "--quiet",
    ];
    let output = bench.command(&again).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(
        text(&output).contains("has executed all 400 lines of this job before"),
        "{output:?}"
    );
}

#[test]
fn another_part_of_the_canvas_is_another_job() {
    let bench = Bench::new();
    let machine = bench.receive("tcp://127.0.0.1:0", &["--line-rate", "400"]);
    let part = |region| {
        bench.command(&[
            "stream",
            "design.kdl",
            &machine.address,
            "--region",
            region,
            "--device",
            "cpu",
            "--quiet",
        ])
    };
    let mut first = part("0,0,200x100").spawn().unwrap();
    until(|| size(&bench.path("out.raw")) > 2_000);
    first.kill().unwrap();
    first.wait().unwrap();
    let output = part("0,50,200x100").output().unwrap();
    assert!(text(&output).contains("has begun another job"), "{output:?}");
}

#[test]
fn the_scan_of_a_design_is_used_overridden_and_kept_in_the_manifest() {
    let bench = Bench::new();
    let plain = fs::read_to_string(bench.path("design.kdl")).unwrap();
    let scan = "scan rotate=90 {\n    machine \"laser.json\"\n}\n";
    fs::write(
        bench.path("laser.json"),
        r#"{"name": "laser", "points": [[0, 255], [255, 0]]}"#,
    )
    .unwrap();
    fs::write(
        bench.path("turned.kdl"),
        plain.replace("compose", &format!("{scan}compose")),
    )
    .unwrap();
    let stream = |design: &str, to: &str, more: &[&str]| {
        let arguments = [
            "stream",
            design,
            &format!("file:{to}"),
            "--raw",
            "--device",
            "cpu",
        ];
        let output = bench.command(&[&arguments, more].concat()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        fs::read(bench.path(to)).unwrap()
    };
    let whole = bench.whole();
    // Turned clockwise, the left column from the bottom up is the first line; the table inverts.
    let turned: Vec<u8> = (0..500)
        .flat_map(|x| (0..400).rev().map(move |y| (x, y)))
        .map(|(x, y): (usize, usize)| 255 - whole[y * 500 + x])
        .collect();
    assert!(stream("turned.kdl", "turned.raw", &["--manifest", "turned.json"]) == turned);
    assert!(stream("turned.kdl", "plain.raw", &["--rotate", "0", "--machine", "none"]) == whole);
    let manifest = fs::read_to_string(bench.path("turned.json")).unwrap();
    assert!(manifest.contains("\"rotate\": \"90\"") && manifest.contains("\"name\": \"laser\""));
    let verified = bench
        .command(&["verify", "turned.json", "turned.raw"])
        .output()
        .unwrap();
    assert!(verified.status.success(), "{verified:?}");
}

#[test]
fn a_manifest_is_taken_up_from_any_folder() {
    let bench = Bench::new();
    let machine = bench.receive("tcp://127.0.0.1:0", &["--line-rate", "400"]);
    let mut sender = bench.stream(&machine.address, &[]).spawn().unwrap();
    until(|| size(&bench.path("out.raw")) > 5_000);
    sender.kill().unwrap();
    sender.wait().unwrap();
    fs::create_dir(bench.path("elsewhere")).unwrap();
    let mut resume = bench.command(&["stream", "--resume", "../job.json", "--device", "cpu", "--quiet"]);
    let output = resume.current_dir(bench.path("elsewhere")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    machine.end();
    bench.agrees();
}

#[test]
fn a_job_slower_than_its_machine_is_warned_of_and_its_slow_node_is_named() {
    let bench = Bench::new();
    // Every line reads a wide halo for the distance, which so takes the time, with the mask that it reads.
    let design = "relief version=1\ncanvas width=3000 height=300 pixel=\"10um\"\ncompose {\n    (base)fill value=3\n    (max)distance radius=400 {\n        (mask)threshold level=255 {\n            (source)noise seed=2\n        }\n        profile \"d\" beyond=0\n    }\n}\n";
    fs::write(bench.path("design.kdl"), design).unwrap();
    let machine = bench.receive("tcp://127.0.0.1:0", &["--rate", "2GB"]);
    let output = bench
        .stream(&machine.address, &["--rate", "20GB", "--high-water", "1"])
        .output()
        .unwrap();
    let said = text(&output);
    assert!(output.status.success(), "{said}");
    let line = |text: &str| {
        said.lines()
            .find(|line| line.contains(text))
            .unwrap_or_else(|| panic!("{said}"))
    };
    let warning = line("the machine takes 20.0 GB/s and will run dry").to_owned();
    let underrun = line("lines were not made in time").to_owned();
    for line in [&warning, &underrun] {
        // The distance or what it reads of its mask: which of them depends on the processor.
        assert!(
            (5..=7).any(|node| line.contains(&format!("in line {node} takes"))),
            "{line}"
        );
    }
    machine.end();
}

#[test]
fn the_time_of_a_job_is_told_before_its_start_with_what_binds() {
    let bench = Bench::new();
    let told = |more: &[&str]| {
        let arguments = ["stream", "design.kdl", "file:out.raw", "--raw", "--device", "cpu"];
        let output = bench.command(&[&arguments, more].concat()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    // 400 lines of 500 positions, 10 s each, and 0.5 s between them: 4 199.5 s.
    let motion = [
        "--speed",
        "50",
        "--turn-around",
        "0.5",
        "--direction",
        "serpentine",
    ];
    let said = told(&motion);
    assert!(
        said.contains("the job takes 1 h 10 min: 1 h 10 min by the motion"),
        "{said}"
    );
    assert!(said.contains("the motion binds"), "{said}");
    // 200 000 bytes at 20 a second.
    let said = told(&[&motion[..], &["--rate", "20"]].concat());
    assert!(
        said.contains("the job takes 2 h 46 min") && said.contains("the rate of the machine binds"),
        "{said}"
    );
}
