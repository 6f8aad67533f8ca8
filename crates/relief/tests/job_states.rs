//! Every way in which a job of `relief stream` ends, with real processes, files and sockets: it says no more than is
//! true, and what it leaves can be gone on with.
#![allow(clippy::unwrap_used, clippy::expect_used)]
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use relief_machine::Manifest;
use relief_machine::frame::{self, Header, Kind};
use relief_machine::message::{Accept, Activity, Message, Status, Welcome};

const RELIEF: &str = env!("CARGO_BIN_EXE_relief");

/// A folder with a design.
struct Bench {
    folder: tempfile::TempDir,
    width: u64,
    lines: u64,
}

impl Bench {
    /// A design of so many lines of so many bytes.
    fn new(width: u64, lines: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let design = format!("relief version=1\ncanvas width={width} height={lines}\nnoise seed=7\n");
        fs::write(folder.path().join("design.kdl"), design).unwrap();
        Self { folder, width, lines }
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

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Streams with options that none of these tests is about.
    fn stream(&self, arguments: &[&str]) -> Command {
        let options = ["--device", "cpu", "--threads", "1", "--look-ahead", "4MB"];
        self.command(&[&["stream"], arguments, &options].concat())
    }

    fn whole(&self) -> Vec<u8> {
        let whole = [
            "render",
            "design.kdl",
            "-o",
            "whole.raw",
            "--quiet",
            "--device",
            "cpu",
        ];
        assert!(self.run(&whole).status.success());
        fs::read(self.path("whole.raw")).unwrap()
    }

    fn receive(&self, more: &[&str]) -> Machine {
        let arguments = ["receive", "--listen", "tcp://127.0.0.1:0", "-o", "out.raw"];
        Machine::start(self.command(&[&arguments, more].concat()))
    }

    fn manifest(&self) -> Manifest {
        Manifest::read(&self.path("job.json")).unwrap()
    }

    fn verify(&self, arguments: &[&str]) -> Output {
        self.run(&[&["verify", "job.json"], arguments].concat())
    }

    fn verified(&self, file: &str) {
        let output = self.verify(&[file]);
        let all = match self.lines {
            1 => "1 of 1 line agrees".to_owned(),
            lines => format!("{lines} of {lines} lines agree"),
        };
        assert!(
            output.status.success() && text(&output).contains(&all),
            "{output:?}"
        );
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
        let address = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        Self { child, out, address }
    }

    fn end(mut self) {
        let mut said = String::new();
        self.out.read_to_string(&mut said).unwrap();
        assert!(self.child.wait().unwrap().success(), "{said}");
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A sender whose progress is read: what it says shows where it is.
struct Sender {
    child: Child,
    said: BufReader<ChildStderr>,
}

impl Sender {
    fn start(mut command: Command) -> Self {
        let mut child = command.arg("--json-progress").spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        Self { child, said }
    }

    /// Waits until it says something.
    fn says(&mut self, text: &str) {
        let mut all = String::new();
        loop {
            let before = all.len();
            let count = self.said.read_line(&mut all).unwrap();
            assert!(count > 0, "it never says {text}: {all}");
            if all[before..].contains(text) {
                return;
            }
        }
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    /// Its exit code; half a minute is longer than anything here takes, and shorter than what it would wait for.
    fn code(mut self) -> Option<i32> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            if start.elapsed() > Duration::from_secs(30) {
                self.child.kill().unwrap();
                self.child.wait().unwrap();
                panic!("it does not end");
            }
            std::thread::yield_now();
        }
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

/// The kinds of the frames of a file.
fn kinds(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).unwrap();
    let (mut rest, mut kinds) = (bytes.as_slice(), Vec::new());
    while let Some((header, _, bytes)) = frame::decode(rest).unwrap() {
        kinds.push(header.kind as u8);
        rest = &rest[bytes..];
    }
    assert!(rest.is_empty());
    kinds
}

/// A job whose manifest is behind what its machine has executed: the sender is killed, and the machine executes what it
/// has.
fn behind() -> (Bench, Machine) {
    // A group has 209 lines, a band more than the job: the manifest has one group.
    let bench = Bench::new(5_000, 400);
    let machine = bench.receive(&["--line-rate", "800"]);
    let address = machine.address.clone();
    let mut sender = bench
        .stream(&[
            "design.kdl",
            &address,
            "--manifest",
            "job.json",
            "--record-every",
            "0.005",
        ])
        .spawn()
        .unwrap();
    until(|| bench.path("job.json").exists() && bench.manifest().executed >= 220);
    sender.kill().unwrap();
    sender.wait().unwrap();
    until(|| size(&bench.path("out.raw")) == 5_000 * 400);
    (bench, machine)
}

#[test]
fn a_damaged_file_beyond_the_last_band_of_its_manifest_is_found() {
    let (bench, machine) = behind();
    assert!(bench.manifest().executed < 400, "the manifest is not behind");
    let output = bench.path("out.raw");
    let sound = fs::read(&output).unwrap();
    // Nothing is wrong with what was compared, but not all was.
    let verified = bench.verify(&["out.raw"]);
    assert_eq!(verified.status.code(), Some(1), "{verified:?}");
    assert!(text(&verified).contains("209 of 400 lines agree"), "{verified:?}");
    assert!(bench.verify(&["out.raw", "--incomplete"]).status.success());
    for (at, found) in [(100, true), (209 * 5_000 - 1, true), (209 * 5_000, false)] {
        let mut damaged = sound.clone();
        damaged[at] ^= 1;
        fs::write(&output, damaged).unwrap();
        let verified = bench.verify(&["out.raw", "--incomplete"]);
        assert_eq!(
            verified.status.code(),
            Some(i32::from(found)),
            "{at}: {verified:?}"
        );
        assert_eq!(text(&verified).contains("differ"), found, "{at}: {verified:?}");
        // Without being told that a part will do, it is refused in any case.
        assert_eq!(bench.verify(&["out.raw"]).status.code(), Some(1));
    }
    fs::write(&output, sound).unwrap();
    // The machine is still there: asked again it says that all is executed, and the digests follow.
    let resumed = bench.stream(&["--resume", "job.json"]).output().unwrap();
    assert!(resumed.status.success(), "{resumed:?}");
    machine.end();
    bench.verified("out.raw");
}

#[test]
fn a_manifest_without_a_digest_verifies_nothing() {
    let bench = Bench::new(500, 400);
    let machine = bench.receive(&["--line-rate", "400"]);
    let address = machine.address.clone();
    let mut sender = bench
        .stream(&["design.kdl", &address, "--manifest", "job.json"])
        .spawn()
        .unwrap();
    until(|| size(&bench.path("out.raw")) > 5_000);
    sender.kill().unwrap();
    sender.wait().unwrap();
    drop(machine);
    for more in [&["out.raw"][..], &["out.raw", "--incomplete"]] {
        let verified = bench.verify(more);
        assert_eq!(verified.status.code(), Some(1), "{verified:?}");
    }
}

#[test]
fn a_file_whose_end_cannot_be_written_is_not_complete() {
    // JOB takes 272 bytes, LINES 32 and the line: 4 096, as many as may be written. END does not fit.
    let bench = Bench::new(3_792, 1);
    let limited = "ulimit -f 8; trap '' XFSZ; exec \"$0\" stream design.kdl file:job.rlf --manifest job.json --device cpu --quiet";
    let stopped = Command::new("sh")
        .current_dir(bench.folder.path())
        .args(["-c", limited, RELIEF])
        .output()
        .unwrap();
    assert_eq!(stopped.status.code(), Some(1), "{stopped:?}");
    assert!(text(&stopped).contains("cannot write job.rlf"), "{stopped:?}");
    let manifest = bench.manifest();
    assert_eq!((manifest.executed, manifest.complete), (1, false));
    assert!(!bench.path("job.rlf").exists());
    let resumed = bench.stream(&["--resume", "job.json"]).output().unwrap();
    assert!(resumed.status.success(), "{resumed:?}");
    assert_eq!(kinds(&bench.path("job.rlf")), [4, 6, 7]);
    assert!(bench.manifest().complete);
    bench.verified("job.rlf");
    // Without its END it is not what the manifest says it is.
    let whole = fs::read(bench.path("job.rlf")).unwrap();
    fs::write(bench.path("job.rlf"), &whole[..whole.len() - 32]).unwrap();
    let verified = bench.verify(&["job.rlf"]);
    assert_eq!(verified.status.code(), Some(1), "{verified:?}");
    assert!(text(&verified).contains("no END"), "{verified:?}");
}

#[test]
fn a_file_keeps_what_it_held_until_the_job_is_done() {
    let bench = Bench::new(5_000, 4_000);
    let precious = "nothing that a mistyped name may cost";
    for name in ["job.raw", "other.raw"] {
        fs::write(bench.path(name), precious).unwrap();
    }
    fs::set_permissions(bench.path("other.raw"), fs::Permissions::from_mode(0o640)).unwrap();
    let kept = |name: &str| fs::read(bench.path(name)).unwrap() == precious.as_bytes();
    let quick = ["--record-every", "0.001", "--look-ahead", "200kB"];
    let first = ["design.kdl", "file:job.raw", "--raw", "--manifest", "job.json"];
    let arguments = [&["stream"], &first[..], &quick[..], &["--device", "cpu"]].concat();
    let mut sender = bench.command(&arguments).spawn().unwrap();
    until(|| bench.path("job.json").exists() && bench.manifest().executed > 0);
    sender.kill().unwrap();
    sender.wait().unwrap();
    assert!(kept("job.raw") && !bench.manifest().complete);
    // Another job is not begun over one that can be gone on with.
    let other = ["design.kdl", "file:job.raw", "--raw", "--manifest", "other.json"];
    let refused = bench.stream(&other).output().unwrap();
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(text(&refused).contains("job.raw.partial"), "{refused:?}");
    assert!(!bench.path("other.json").exists());
    // Nor is what another name holds cut off when the job goes on there.
    let executed = bench.manifest().executed;
    let moved = bench
        .stream(&["--resume", "job.json", "--to", "file:other.raw"])
        .output()
        .unwrap();
    assert!(moved.status.success(), "{moved:?}");
    assert!(kept("job.raw"));
    let whole = bench.whole();
    let rest = fs::read(bench.path("other.raw")).unwrap();
    assert!(rest == whole[(executed * bench.width) as usize..]);
    let mode = fs::metadata(bench.path("other.raw")).unwrap().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert!(bench.manifest().complete && !bench.path("other.raw.partial").exists());
}

#[test]
fn a_file_without_a_manifest_that_is_not_finished_is_not_left() {
    let bench = Bench::new(5_000, 40_000);
    fs::write(bench.path("job.rlf"), "kept").unwrap();
    let mut sender = Sender::start(bench.stream(&["design.kdl", "file:job.rlf"]));
    sender.says("running");
    sender.signal(Signal::SIGINT);
    assert_eq!(sender.code(), Some(130));
    assert_eq!(fs::read(bench.path("job.rlf")).unwrap(), b"kept");
    let left: Vec<_> = fs::read_dir(bench.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("partial"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_file_that_got_its_name_before_its_manifest_knew_is_compared_and_then_complete() {
    for raw in [false, true] {
        let bench = Bench::new(500, 300);
        let mut job = vec!["design.kdl", "file:job.out", "--manifest", "job.json"];
        job.extend(raw.then_some("--raw"));
        assert!(bench.stream(&job).output().unwrap().status.success());
        let mut manifest = bench.manifest();
        manifest.complete = false;
        manifest.write(&bench.path("job.json")).unwrap();
        let sound = fs::read(bench.path("job.out")).unwrap();
        // Another file under that name is not taken for it.
        let mut damaged = sound.clone();
        damaged[300] ^= 1;
        fs::write(bench.path("job.out"), damaged).unwrap();
        let refused = bench.stream(&["--resume", "job.json"]).output().unwrap();
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        assert!(!bench.manifest().complete);
        fs::write(bench.path("job.out"), &sound).unwrap();
        let resumed = bench.stream(&["--resume", "job.json"]).output().unwrap();
        assert!(resumed.status.success(), "{resumed:?}");
        assert!(bench.manifest().complete);
        assert!(fs::read(bench.path("job.out")).unwrap() == sound);
    }
}

#[test]
fn a_manifest_may_be_a_link_and_is_for_everyone_whom_the_umask_allows() {
    let bench = Bench::new(500, 300);
    let masked =
        "umask 022; exec \"$0\" stream design.kdl file:job.rlf --manifest job.json --device cpu --quiet";
    let output = Command::new("sh")
        .current_dir(bench.folder.path())
        .args(["-c", masked, RELIEF])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let mode = |name: &str| fs::metadata(bench.path(name)).unwrap().mode() & 0o777;
    assert_eq!((mode("job.json"), mode("job.rlf")), (0o644, 0o644));
    // A link stays one, and what its user has set stays.
    fs::create_dir(bench.path("kept")).unwrap();
    fs::rename(bench.path("job.json"), bench.path("kept/real.json")).unwrap();
    std::os::unix::fs::symlink("kept/real.json", bench.path("job.json")).unwrap();
    fs::set_permissions(bench.path("kept/real.json"), fs::Permissions::from_mode(0o600)).unwrap();
    let manifest = bench.manifest();
    manifest.write(&bench.path("job.json")).unwrap();
    assert!(fs::symlink_metadata(bench.path("job.json")).unwrap().is_symlink());
    assert_eq!(mode("kept/real.json"), 0o600);
}

/// Waits in ways that would last for an hour.
const FOREVER: [&str; 4] = ["--idle-timeout", "3600", "--reconnect-timeout", "3600"];

/// Stops a sender by a signal, once it runs and `blocked` has seen that it waits.
fn ends(bench: &Bench, arguments: &[&str], signal: Signal, blocked: impl FnOnce(&mut Sender)) {
    let mut sender = Sender::start(bench.stream(&[arguments, &FOREVER[..]].concat()));
    blocked(&mut sender);
    sender.signal(signal);
    assert_eq!(sender.code(), Some(130));
}

#[test]
fn a_fifo_that_nobody_reads_does_not_hold_a_sender_that_is_to_end() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let bench = Bench::new(5_000, 4_000);
        let fifo = bench.path("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        ends(&bench, &["design.kdl", "file:fifo"], signal, |sender| {
            sender.says("filling");
        });
        // One that is open, and not read either.
        let reader = fs::OpenOptions::new().read(true).write(true).open(&fifo).unwrap();
        ends(&bench, &["design.kdl", "file:fifo"], signal, |sender| {
            sender.says("running");
        });
        drop(reader);
        // One that is read gets the job.
        // A process that another test begins has what is open here for a moment, and closing it looks like the end of an empty job.
        let reading = std::thread::spawn(move || {
            loop {
                let job = fs::read(&fifo).unwrap();
                if !job.is_empty() {
                    break job;
                }
            }
        });
        let output = bench
            .stream(&["design.kdl", "file:fifo", "--raw"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(reading.join().unwrap() == bench.whole());
    }
}

#[test]
fn a_fifo_has_no_manifest() {
    let bench = Bench::new(500, 40);
    nix::unistd::mkfifo(&bench.path("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let output = bench
        .stream(&["design.kdl", "file:fifo", "--manifest", "job.json"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output).contains("not a regular file"), "{output:?}");
    assert!(!bench.path("job.json").exists());
}

#[test]
fn a_socket_that_never_answers_does_not_hold_a_sender_that_is_to_end() {
    let bench = Bench::new(5_000, 4_000);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap();
    let pin = "00".repeat(32);
    for (scheme, more) in [
        ("tcp", &[][..]),
        ("tls", &["--pin", &pin][..]),
        ("tcp", &["--raw"][..]),
    ] {
        let address = format!("{scheme}://{port}");
        let arguments = [&["design.kdl", &address], more].concat();
        ends(&bench, &arguments, Signal::SIGINT, |_| {
            // It has said HELLO, the first of TLS, or as many lines as the system takes.
            let socket = listener.accept().unwrap().0;
            assert!(socket.peek(&mut [0]).unwrap() > 0);
            std::mem::forget(socket);
        });
    }
}

/// A machine that takes a job, says that it executes its first line, and does not stop: until it has seen an ABORT, and
/// for as long as the sender is there.
fn never_stops(listener: &TcpListener) -> TcpStream {
    let mut socket = listener.accept().unwrap().0;
    let mut payload = Vec::new();
    let say = |socket: &mut TcpStream, kind, payload: &[u8]| {
        frame::write(socket, &Header::new(kind, 0, 0, payload), &[payload]).unwrap();
    };
    frame::read(&mut socket, &mut payload).unwrap();
    let welcome = Welcome {
        version: 1,
        secret: false,
        nonce: [0; 32],
        proof: [0; 32],
    };
    say(&mut socket, Kind::Welcome, &welcome.encode());
    frame::read(&mut socket, &mut payload).unwrap();
    let accept = Accept {
        executed: 0,
        next: 0,
        credit: 100_000,
        largest: 1 << 20,
        idle_timeout: 3_600_000,
    };
    say(&mut socket, Kind::Accept, &accept.encode());
    while frame::read(&mut socket, &mut payload).unwrap().unwrap().kind != Kind::Lines {}
    let status = Status {
        executed: 0,
        received: 1,
        credit: 100_000,
        buffered: 5_000,
        underruns: 0,
        activity: Activity::Running,
    };
    say(&mut socket, Kind::Status, &status.encode());
    socket
}

#[test]
fn a_machine_that_is_heard_is_waited_for_until_a_second_signal() {
    let bench = Bench::new(5_000, 400);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", listener.local_addr().unwrap());
    let job = ["design.kdl", &address, "--manifest", "job.json"];
    ends(&bench, &job, Signal::SIGINT, |sender| {
        let mut socket = never_stops(&listener);
        sender.signal(Signal::SIGINT);
        sender.says("stopping");
        let mut payload = Vec::new();
        while frame::read(&mut socket, &mut payload).unwrap().unwrap().kind != Kind::Abort {}
        // It goes on saying that it executes, and is waited for.
        assert_eq!(sender.child.try_wait().unwrap(), None);
        std::mem::forget(socket);
    });
    let manifest = bench.manifest();
    assert!(manifest.taken && !manifest.complete);
    assert_eq!(manifest.executed, 0);
}

#[test]
fn a_new_job_is_not_begun_in_the_middle_of_what_a_machine_has_executed() {
    let bench = Bench::new(500, 400);
    let machine = bench.receive(&["--line-rate", "400", "--buffer", "20kB"]);
    let address = machine.address.clone();
    let mut first = bench.stream(&["design.kdl", &address]).spawn().unwrap();
    until(|| size(&bench.path("out.raw")) > 20_000);
    first.kill().unwrap();
    first.wait().unwrap();
    let fresh = ["design.kdl", &address, "--manifest", "job.json"];
    let refused = bench.stream(&fresh).output().unwrap();
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let said = text(&refused);
    assert!(
        said.contains("has begun this job") && said.contains("--continue") && said.contains("forget"),
        "{said}"
    );
    assert!(!bench.path("job.json").exists());
    let again = bench
        .stream(&[&fresh[..], &["--continue"]].concat())
        .output()
        .unwrap();
    assert!(again.status.success(), "{again:?}");
    machine.end();
    assert!(fs::read(bench.path("out.raw")).unwrap() == bench.whole());
    bench.verified("out.raw");
}

#[test]
fn a_mistyped_number_of_executed_lines_is_not_kept() {
    let bench = Bench::new(500, 400);
    let machine = bench.receive(&["--line-rate", "400", "--buffer", "20kB"]);
    let address = machine.address.clone();
    let mut first = bench
        .stream(&[
            "design.kdl",
            &address,
            "--manifest",
            "job.json",
            "--record-every",
            "0.005",
        ])
        .spawn()
        .unwrap();
    until(|| size(&bench.path("out.raw")) > 20_000);
    first.kill().unwrap();
    first.wait().unwrap();
    let before = bench.manifest();
    for mistyped in ["400", "399"] {
        let refused = bench
            .stream(&["--resume", "job.json", "--executed", mistyped])
            .output()
            .unwrap();
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        assert_eq!(bench.manifest(), before);
    }
    // Nobody answers at all.
    let nobody = bench
        .stream(&["--resume", "job.json", "--to", "tcp://127.0.0.1:1"])
        .args(["--executed", "400", "--reconnect-timeout", "0"])
        .output()
        .unwrap();
    assert_eq!(nobody.status.code(), Some(1), "{nobody:?}");
    assert_eq!(bench.manifest(), before);
    let resumed = bench.stream(&["--resume", "job.json"]).output().unwrap();
    assert!(resumed.status.success(), "{resumed:?}");
    assert!(text(&resumed).contains("executed 400 lines"), "{resumed:?}");
    machine.end();
    assert!(fs::read(bench.path("out.raw")).unwrap() == bench.whole());
    bench.verified("out.raw");
}

/// Passes what a sender says to a machine, and flips a bit in every so many bytes.
fn noisy(machine: &str, every: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", listener.local_addr().unwrap());
    let machine = machine.trim_start_matches("tcp://").to_owned();
    std::thread::spawn(move || {
        let mut passed = 0;
        for mut socket in listener.incoming().map_while(Result::ok) {
            let Ok(mut other) = TcpStream::connect(&machine) else {
                return;
            };
            let (mut back, mut answers) = (socket.try_clone().unwrap(), other.try_clone().unwrap());
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut answers, &mut back);
                let _ = back.shutdown(std::net::Shutdown::Both);
            });
            let mut buffer = vec![0; 4_096];
            while let Ok(count @ 1..) = socket.read(&mut buffer) {
                let next = passed / every * every + every;
                if passed + count > next {
                    buffer[next - passed] ^= 16;
                }
                passed += count;
                if other.write_all(&buffer[..count]).is_err() {
                    break;
                }
            }
            let _ = other.shutdown(std::net::Shutdown::Both);
        }
    });
    address
}

#[test]
fn a_line_that_damages_a_bit_in_every_30_kilobytes_lets_a_job_through() {
    let bench = Bench::new(500, 2_000);
    let machine = bench.receive(&["--idle-timeout", "2"]);
    let address = noisy(&machine.address, 30_000);
    let output = bench
        .stream(&[
            "design.kdl",
            &address,
            "--quiet",
            "--idle-timeout",
            "2",
            "--reconnect-timeout",
            "10",
        ])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    machine.end();
    assert!(fs::read(bench.path("out.raw")).unwrap() == bench.whole());
}

#[test]
fn a_manifest_names_the_picture_that_was_decoded_though_its_file_is_replaced_again_and_again() {
    let bench = Bench::new(64, 64);
    let design = "relief version=1\ncanvas width=64 height=64\nimage \"spot.pgm\"\n";
    fs::write(bench.path("design.kdl"), design).unwrap();
    let picture = |value: u8| [b"P5 64 64 255\n".as_slice(), &[value; 4_096]].concat();
    fs::write(bench.path("spot.pgm"), picture(10)).unwrap();
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for value in [200, 10].into_iter().cycle() {
                if over.load(std::sync::atomic::Ordering::Relaxed) {
                    return;
                }
                fs::write(bench.path("next.pgm"), picture(value)).unwrap();
                fs::rename(bench.path("next.pgm"), bench.path("spot.pgm")).unwrap();
            }
        });
        for _ in 0..30 {
            let output = bench
                .stream(&["design.kdl", "file:job.raw", "--raw", "--manifest", "job.json"])
                .output()
                .unwrap();
            if output.status.success() {
                let value = fs::read(bench.path("job.raw")).unwrap()[0];
                let named = &bench.manifest().images[0].digest;
                assert_eq!(*named, blake3::hash(&picture(value)).to_string());
            } else {
                assert!(text(&output).contains("changed"), "{output:?}");
            }
            let _ = fs::remove_file(bench.path("job.json"));
        }
        over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn what_is_said_of_a_file_is_true_of_a_file() {
    let bench = Bench::new(500, 300);
    let output = bench
        .stream(&["design.kdl", "file:job.raw", "--raw"])
        .output()
        .unwrap();
    assert_eq!(
        text(&output),
        "wrote 300 lines in 150000 bytes to file:job.raw\n",
        "{output:?}"
    );
}

#[test]
fn an_interleave_that_a_design_may_not_have_an_option_may_not_have() {
    let bench = Bench::new(500, 300);
    for wrong in ["0", "2147483649", "4294967295"] {
        let output = bench
            .stream(&["design.kdl", "file:job.raw", "--raw", "--interleave", wrong])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
    }
    fs::write(bench.path("scan.json"), "{\"interleave\": 2147483649}").unwrap();
    let output = bench
        .stream(&["design.kdl", "file:job.raw", "--raw", "--scan", "scan.json"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}
