//! `relief receive` as a process: what it refuses before it listens, what it says at its end, and what is left where
//! it was killed or lost its last seconds.
#![allow(clippy::unwrap_used, clippy::expect_used)]
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

const RELIEF: &str = env!("CARGO_BIN_EXE_relief");

/// A folder with a design of 400 lines of 500 bytes.
struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let design = "relief version=1\ncanvas width=500 height=400\nnoise seed=7\n";
        fs::write(folder.path().join("design.kdl"), design).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.folder.path())
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn relief(&self, arguments: &[&str]) -> Command {
        self.command(RELIEF, arguments)
    }

    /// A receiver that listens.
    fn receive(&self, more: &[&str]) -> Machine {
        let arguments = [&["receive", "--listen", "tcp://127.0.0.1:0"], more].concat();
        Machine::start(self.relief(&arguments))
    }

    /// A receiver that is refused: how it ended.
    fn refused(&self, more: &[&str]) -> Output {
        let arguments = [&["receive", "--listen", "tcp://127.0.0.1:0"], more].concat();
        let output = self.relief(&arguments).output().unwrap();
        assert!(!output.status.success(), "{output:?}");
        assert!(!text(&output).contains("listening"), "{output:?}");
        output
    }

    /// Sends the job to an address.
    fn stream(&self, address: &str, more: &[&str]) -> Command {
        let arguments = [
            &["stream", "design.kdl", address, "--quiet", "--device", "cpu"],
            more,
        ]
        .concat();
        self.relief(&arguments)
    }

    fn resume(&self, address: &str) -> Output {
        let arguments = [
            "stream", "--resume", "job.json", "--to", address, "--quiet", "--device", "cpu",
        ];
        self.relief(&arguments).output().unwrap()
    }

    /// The raster without a machine.
    fn whole(&self) -> Vec<u8> {
        let arguments = [
            "render",
            "design.kdl",
            "-o",
            "whole.raw",
            "--quiet",
            "--device",
            "cpu",
        ];
        let output = self.relief(&arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        fs::read(self.path("whole.raw")).unwrap()
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[track_caller]
fn succeeds(output: &Output) {
    assert!(output.status.success(), "{output:?}");
}

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
        let Some(address) = line.trim().strip_prefix("listening on ") else {
            let mut said = String::new();
            child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            panic!("{line:?}, {said}");
        };
        let address = address.to_owned();
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

#[test]
fn an_output_that_could_not_be_kept_is_refused_before_anyone_is_waited_for() {
    let bench = Bench::new();
    fs::create_dir(bench.path("folder")).unwrap();
    let made = bench.command("mkfifo", &["fifo"]).output().unwrap();
    succeeds(&made);
    fs::write(bench.path("other"), "").unwrap();
    fs::write(bench.path("other.journal"), "dear diary").unwrap();
    fs::write(bench.path("precious"), "do not lose me").unwrap();
    for (output, says) in [
        ("folder", "is a folder"),
        ("fifo", "not a regular file"),
        ("missing/out", "No such file or directory"),
        ("other", "other.journal would be the journal"),
        ("precious", "no journal knows"),
    ] {
        let refused = bench.refused(&["-o", output]);
        assert!(text(&refused).contains(says), "{output}: {refused:?}");
    }
    assert_eq!(fs::read(bench.path("other.journal")).unwrap(), b"dear diary");
    assert_eq!(fs::read(bench.path("precious")).unwrap(), b"do not lose me");
    for left in ["folder.journal", "fifo.journal", "precious.journal"] {
        assert!(!bench.path(left).exists(), "{left}");
    }
}

#[test]
fn a_job_may_vanish_in_the_null_device() {
    let bench = Bench::new();
    let machine = bench.receive(&["-o", "/dev/null"]);
    succeeds(&bench.stream(&machine.address, &[]).output().unwrap());
    assert!(machine.end().contains("executed 400 lines"));
    assert!(!fs::exists("/dev/null.journal").unwrap());
}

#[test]
fn a_second_receiver_of_an_output_is_refused_while_the_first_lives() {
    let bench = Bench::new();
    let machine = bench.receive(&["-o", "out", "--line-rate", "400"]);
    let mut sender = bench.stream(&machine.address, &[]).spawn().unwrap();
    for output in ["out", "./out"] {
        let refused = bench.refused(&["-o", output]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let said = text(&refused);
        assert!(
            said.contains("another receiver writes to") && said.contains(output),
            "{said}"
        );
    }
    assert!(sender.wait().unwrap().success());
    machine.end();
    assert!(fs::read(bench.path("out")).unwrap() == bench.whole());
    // A receiver that has gone holds nothing, however it went.
    drop(bench.receive(&["-o", "out"]));
    drop(bench.receive(&["-o", "out"]));
}

#[test]
fn tls_without_a_certificate_is_refused() {
    let bench = Bench::new();
    let output = bench
        .relief(&["receive", "--listen", "tls://127.0.0.1:0"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = text(&output);
    assert!(!said.contains("listening"), "{said}");
    assert!(said.contains("--tls-certificate"), "{said}");
}

#[test]
fn a_record_that_lost_its_end_is_refused_with_what_to_do_and_nothing_is_cut() {
    let bench = Bench::new();
    let machine = bench.receive(&["-o", "out", "--line-rate", "400"]);
    let more = ["--manifest", "job.json", "--record-every", "0.01"];
    let mut sender = bench.stream(&machine.address, &more).spawn().unwrap();
    let size = |name: &str| fs::metadata(bench.path(name)).map_or(0, |metadata| metadata.len());
    until(|| size("out") > 10_000);
    // What a loss of power leaves: the journal as it was.
    let older = fs::read(bench.path("out.journal")).unwrap();
    let executed = || -> u64 {
        let manifest = fs::read_to_string(bench.path("job.json")).unwrap_or_default();
        let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap_or_default();
        manifest["executed"].as_u64().unwrap_or(0)
    };
    let then = size("out") / 500;
    until(|| executed() > then + 5);
    sender.kill().unwrap();
    sender.wait().unwrap();
    drop(machine);
    fs::write(bench.path("out.journal"), older).unwrap();
    let (before, from) = (fs::read(bench.path("out")).unwrap(), executed());
    let machine = bench.receive(&["-o", "out"]);
    let refused = bench.resume(&machine.address);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let said = text(&refused);
    let next = format!("go on with line {from}");
    assert!(
        said.contains(&format!("knows of {from}")) && said.contains("loss of power") && said.contains(&next),
        "{said}"
    );
    assert!(
        fs::read(bench.path("out")).unwrap() == before,
        "the output was cut"
    );
    // What it says to do.
    drop(machine);
    fs::rename(bench.path("out"), bench.path("first")).unwrap();
    fs::rename(bench.path("out.journal"), bench.path("first.journal")).unwrap();
    let machine = bench.receive(&["-o", "out"]);
    succeeds(&bench.resume(&machine.address));
    machine.end();
    let executed = [
        &before[..from as usize * 500],
        &fs::read(bench.path("out")).unwrap(),
    ]
    .concat();
    assert!(executed == bench.whole());
}

#[test]
fn a_journal_that_was_never_begun_is_begun() {
    let bench = Bench::new();
    // A process was killed, or power lost, before the head was written.
    fs::write(bench.path("out.journal"), [0; 112]).unwrap();
    let machine = bench.receive(&["-o", "out"]);
    succeeds(&bench.stream(&machine.address, &[]).output().unwrap());
    machine.end();
    assert!(fs::read(bench.path("out")).unwrap() == bench.whole());
}

#[test]
fn a_machine_begins_though_its_buffer_is_never_quite_full() {
    let bench = Bench::new();
    // Lines of 500 bytes fill it but for 200.
    let machine = bench.receive(&["-o", "out", "--buffer", "10200", "--prefill", "10200"]);
    succeeds(&bench.stream(&machine.address, &[]).output().unwrap());
    machine.end();
    assert!(fs::read(bench.path("out")).unwrap() == bench.whole());
    let refused = bench.refused(&["--buffer", "1MiB", "--prefill", "2MiB"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(text(&refused).contains("it would never begin"), "{refused:?}");
}

#[test]
fn the_largest_of_buffers_takes_a_job_and_a_machine_of_no_speed_is_refused() {
    let bench = Bench::new();
    let machine = bench.receive(&["-o", "out", "--buffer", "18446744073709551615", "--rate", "1MB"]);
    succeeds(
        &bench
            .stream(&machine.address, &["--look-ahead", "20kB"])
            .output()
            .unwrap(),
    );
    machine.end();
    assert!(fs::read(bench.path("out")).unwrap() == bench.whole());
    for rate in [["--rate", "0"], ["--line-rate", "0"], ["--line-rate", "nan"]] {
        let refused = bench.refused(&rate);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    }
}

#[test]
fn a_secret_is_any_bytes_of_a_small_regular_file() {
    let bench = Bench::new();
    let mut secret = [0xC3; 32];
    secret[7] = 0;
    fs::write(bench.path("secret"), secret).unwrap();
    // An editor ends a line.
    fs::write(bench.path("with-end"), [secret.as_slice(), b"\n"].concat()).unwrap();
    let machine = bench.receive(&["--secret", "secret"]);
    let output = bench.stream(&machine.address, &["--secret", "with-end"]);
    succeeds(&{ output }.output().unwrap());
    machine.end();
    fs::write(bench.path("large"), vec![1; (64 << 10) + 1]).unwrap();
    succeeds(&bench.command("mkfifo", &["fifo"]).output().unwrap());
    for (file, says) in [
        ("large", "more than 65536 bytes"),
        ("fifo", "not a regular file"),
        ("/dev/zero", "not a regular file"),
    ] {
        let refused = bench.refused(&["--secret", file]);
        assert!(text(&refused).contains(says), "{refused:?}");
        let stream = bench
            .stream("tcp://127.0.0.1:1", &["--secret", file])
            .output()
            .unwrap();
        assert!(text(&stream).contains(says), "{stream:?}");
    }
}

#[test]
fn files_of_tls_are_read_with_a_bound() {
    let bench = Bench::new();
    succeeds(&bench.command("mkfifo", &["fifo"]).output().unwrap());
    fs::write(bench.path("large"), vec![b'-'; (1 << 20) + 1]).unwrap();
    for file in ["/dev/zero", "fifo", "large"] {
        let refused = bench.refused(&["--tls-certificate", file, "--tls-key", file]);
        assert!(
            text(&refused).contains(&format!("cannot read {file}")),
            "{refused:?}"
        );
    }
}

/// The frame of HELLO with a nonce of zeros, and what is no JOB: 10 bytes with right checksums.
fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut head = b"RLF\x01".to_vec();
    head.extend_from_slice(&[kind, 0, 0, 0]);
    head.extend_from_slice(&[0; 8]);
    head.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    head.extend_from_slice(&[0; 4]);
    head.extend_from_slice(&checksum(payload).to_le_bytes());
    head.extend_from_slice(&checksum(&head).to_le_bytes());
    [head, payload.to_vec()].concat()
}

/// CRC-32C after `docs/protocol.md`, bit by bit.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0x82F6_3B78 * (crc & 1))
        })
    };
    !bytes.iter().fold(!0, step)
}

/// Jobs that make no sense are refused by ERROR 2, and the next one is executed.
fn outlives_jobs_that_make_no_sense(bench: &Bench, program: &str, script: &[&str]) {
    let arguments = [script, &["0", "out"]].concat();
    let machine = Machine::start(bench.command(program, &arguments));
    let address = machine.address.trim_start_matches("tcp://").to_owned();
    let hello = [&[1, 0, 0, 0], [0; 32].as_slice()].concat();
    for job in [&[0; 10][..], &[0; 63], &[]] {
        let mut socket = TcpStream::connect(&address).unwrap();
        socket.write_all(&frame(1, &hello)).unwrap();
        socket.write_all(&frame(4, job)).unwrap();
        let mut said = Vec::new();
        socket.read_to_end(&mut said).unwrap();
        // WELCOME of 68 bytes, then ERROR 2.
        let error = said.get(100..).expect("an error");
        assert_eq!((error[4], &error[32..34]), (13, &[2, 0][..]));
    }
    succeeds(&bench.stream(&machine.address, &[]).output().unwrap());
    assert!(machine.end().contains("executed 400 lines"));
    assert!(fs::read(bench.path("out")).unwrap() == bench.whole());
}

/// Whether a test must not pass for want of what it runs.
fn is_required() -> bool {
    std::env::var_os("RELIEF_REQUIRE_PRIVILEGED").is_some_and(|value| value == "1")
}

#[test]
fn the_receiver_in_python_outlives_a_job_that_makes_no_sense() {
    assert_eq!(checksum(b"123456789"), 0xE306_9283);
    assert_eq!(checksum(b""), 0);
    if Command::new("python3").arg("--version").output().is_err() {
        assert!(!is_required(), "python3 is not there");
        return;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/machine/receiver.py");
    outlives_jobs_that_make_no_sense(&Bench::new(), "python3", &[script]);
}

#[test]
fn the_receiver_in_c_outlives_frames_and_jobs_that_make_no_sense() {
    let bench = Bench::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/machine/receiver.c");
    let program = bench.path("receiver").to_str().unwrap().to_owned();
    let Ok(cc) = Command::new("cc")
        .args(["-std=c99", "-O1", "-o", &program, source])
        .output()
    else {
        assert!(!is_required(), "cc is not there");
        return;
    };
    succeeds(&cc);
    outlives_jobs_that_make_no_sense(&bench, &program, &[]);

    // A job of 400 lines of 500 samples of 8 bits, then frames that do not fit it: each ends its connection with an ERROR of this code.
    let machine = Machine::start(bench.command(&program, &["0", "other"]));
    let address = machine.address.trim_start_matches("tcp://").to_owned();
    let hello = [&[1, 0, 0, 0], [0; 32].as_slice()].concat();
    let mut job = [0_u8; 240];
    for (at, number) in [(56, 400_u32), (64, 500), (72, 1), (76, 1), (80, 500)] {
        job[at..at + 4].copy_from_slice(&number.to_le_bytes());
    }
    job[108] = 8;
    let lines = |sequence: u64, count: u32, bytes: usize| {
        let mut frame = frame(6, &vec![7; bytes]);
        frame[8..16].copy_from_slice(&sequence.to_le_bytes());
        frame[20..24].copy_from_slice(&count.to_le_bytes());
        let sum = checksum(&frame[..28]);
        frame[28..32].copy_from_slice(&sum.to_le_bytes());
        frame
    };
    let damaged = |at: usize| {
        let mut frame = lines(0, 1, 500);
        frame[at] ^= 1;
        frame
    };
    // The machine leaves most of it unread, and what it says must arrive all the same: not only by luck.
    let unread = std::iter::repeat_n((lines(0, 3, (1 << 20) + 1), 13), 100);
    let wrongs = [
        (lines(0, 1, 499), 2),
        (lines(0, 1, 501), 2),
        (lines(0, 0, 0), 2),
        (lines(0, u32::MAX, 500), 2),
        (lines(0, 401, 500), 2),
        (lines(1, 1, 500), 4),
        (lines(u64::MAX, 2, 1_000), 4),
        (damaged(9), 3),
        (damaged(40), 3),
        (damaged(0), 2),
        (frame(10, &[0; 4_097]), 2),
    ];
    for (wrong, code) in wrongs.into_iter().chain(unread) {
        let mut socket = TcpStream::connect(&address).unwrap();
        socket
            .write_all(&[frame(1, &hello), frame(4, &job)].concat())
            .unwrap();
        // What it does not read it answers by a reset, after the error.
        let _ = socket.write_all(&wrong);
        let mut said = Vec::new();
        let _ = socket.read_to_end(&mut said);
        // WELCOME of 100 bytes, ACCEPT of 64, STATUS of 72, then ERROR.
        let error = said.get(236..).expect("an error");
        assert_eq!((error[4], error[32]), (13, code), "{:?}", &wrong[..32]);
    }
    assert_eq!(fs::metadata(bench.path("other")).unwrap().len(), 0);
    // A line is executed. Another job, of as many lines as are, is refused and does not end the machine.
    let mut other = job;
    (other[0], other[56]) = (1, 1);
    other[57] = 0;
    for (job, more) in [(&job, lines(0, 1, 500)), (&other, Vec::new()), (&job, Vec::new())] {
        let mut socket = TcpStream::connect(&address).unwrap();
        socket
            .write_all(&[frame(1, &hello), frame(4, job), more].concat())
            .unwrap();
        socket.shutdown(std::net::Shutdown::Write).unwrap();
        let mut said = Vec::new();
        socket.read_to_end(&mut said).unwrap();
        assert_eq!(said[4], 2, "no WELCOME");
    }
    assert_eq!(fs::metadata(bench.path("other")).unwrap().len(), 500);
}
