//! Bytes a second over loopback on this machine: a plain socket as the ceiling, plain lines, frames with checksums and
//! acknowledgements, all in turns; and the time to the first line of a job of 3.6 TB that is taken up in its middle.
//!
//! `cargo bench -p relief-machine --no-default-features` prints medians with p10–p90 in brackets; `-- --json` prints all
//! of them as JSON. `bench/performance/streaming` writes a dated record.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use relief_engine::{Cancel, Raster, Rect, SamplesMut};
use relief_machine::message::Job;
use relief_machine::{Address, Control, Error, Machine, Receiver, ReceiverOptions, SenderOptions, send};
use relief_raster::Depth;
use relief_scan::{Program, Scan, Tables, Windows};

/// Runs of each.
const ROUNDS: usize = 9;

/// A raster that costs nothing to compute.
struct Blank {
    width: u64,
    height: u64,
}

/// 2 GiB in lines of 64 KiB.
const LONG: Blank = Blank {
    width: 64 << 10,
    height: 32 << 10,
};

impl Windows for Blank {
    fn raster(&self) -> Raster {
        Raster {
            width: self.width,
            height: self.height,
            depth: Depth::Eight,
            pixel: None,
        }
    }

    fn read(&self, _: Rect, _: SamplesMut<'_>, _: &Cancel) -> Result<(), relief_engine::Error> {
        Ok(())
    }
}

/// Listens, and reads all that one connection brings.
fn swallow() -> (String, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let reader = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let (mut buffer, mut read) = (vec![0; 1 << 20], 0);
        while let Ok(count @ 1..) = socket.read(&mut buffer) {
            read += count as u64;
        }
        assert_eq!(read, LONG.width * LONG.height);
    });
    (address, reader)
}

/// What a socket takes from one buffer.
fn ceiling() -> f64 {
    let (address, reader) = swallow();
    let start = Instant::now();
    let mut socket = TcpStream::connect(address).unwrap();
    let block = vec![0; 1 << 20];
    (0..(LONG.width * LONG.height) >> 20).for_each(|_| socket.write_all(&block).unwrap());
    drop(socket);
    reader.join().unwrap();
    start.elapsed().as_secs_f64()
}

fn sent(address: Address, raw: bool) -> f64 {
    let program = Program::new(&Scan::default(), &Tables::default(), &LONG.raster()).unwrap();
    let job = Job::new(&program, [0; 32], [0; 32], [0; 16]);
    let options = SenderOptions {
        raw,
        ..SenderOptions::new(address)
    };
    let start = Instant::now();
    let sent = send(
        &program,
        &LONG,
        job,
        &options,
        None,
        &Control::default(),
        &mut |_| (),
    )
    .unwrap();
    assert_eq!(sent.executed, LONG.height);
    start.elapsed().as_secs_f64()
}

/// Lines as they are.
fn raw() -> f64 {
    let (address, reader) = swallow();
    let start = Instant::now();
    sent(format!("tcp://{address}").parse().unwrap(), true);
    reader.join().unwrap();
    start.elapsed().as_secs_f64()
}

fn acknowledged(address: &Address) -> f64 {
    let options = ReceiverOptions {
        machine: Machine {
            buffer: 32 << 20,
            ..Machine::default()
        },
        ..ReceiverOptions::default()
    };
    let receiver = Receiver::bind(address, options).unwrap();
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receiver.run().unwrap());
        let took = sent(receiver.address().clone(), false);
        assert_eq!(received.join().unwrap().executed, LONG.height);
        took
    })
}

/// Frames with checksums and acknowledgements, over TCP.
fn framed() -> f64 {
    acknowledged(&"tcp://127.0.0.1:0".parse().unwrap())
}

/// The same over a Unix socket.
fn unix() -> f64 {
    let folder = tempfile::tempdir().unwrap();
    acknowledged(&Address::Unix(folder.path().join("machine")))
}

/// Seconds until the first line of a job of 3.6 TB is executed that begins in its middle.
fn first_line() -> f64 {
    let sheet = Blank {
        width: 2_000_000,
        height: 1_800_000,
    };
    let middle = sheet.height / 2;
    let machine = Machine {
        largest: 4 << 20,
        ..Machine::default()
    };
    let options = ReceiverOptions {
        machine,
        ..ReceiverOptions::default()
    };
    let receiver = Receiver::bind(&"tcp://127.0.0.1:0".parse().unwrap(), options).unwrap();
    let program = Program::new(&Scan::default(), &Tables::default(), &sheet.raster()).unwrap();
    let job = Job::new(&program, [0; 32], [0; 32], [0; 16]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("job.json");
    manifest(&program, &job, middle).write(&path).unwrap();
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receiver.run());
        let control = Control::new(&Cancel::new());
        let mut took = None;
        let start = Instant::now();
        let mut record = relief_machine::Record::resume(&path).unwrap();
        let options = SenderOptions::new(receiver.address().clone());
        let stopped = send(
            &program,
            &sheet,
            job,
            &options,
            Some(&mut record),
            &control,
            &mut |progress| {
                if progress.executed > middle {
                    took.get_or_insert_with(|| start.elapsed().as_secs_f64());
                    control.abort();
                }
            },
        );
        assert!(matches!(stopped, Err(Error::Stopped { .. })), "{stopped:?}");
        receiver.stop();
        let _ = received.join();
        took.unwrap()
    })
}

/// The manifest of a job whose first lines are executed.
fn manifest(program: &Program, job: &Job, executed: u64) -> relief_machine::Manifest {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let (lines, line_bytes) = (program.lines(), program.encoding().most());
    let cut = relief_machine::Cut::new(lines, line_bytes);
    let digest = "0a".repeat(32);
    let band = |index| relief_machine::Band {
        first: index * cut.band,
        lines: cut.band,
        digest: digest.clone(),
    };
    let bands = executed / cut.band;
    relief_machine::Manifest {
        version: relief_machine::Manifest::VERSION,
        address: "tcp://127.0.0.1:1".to_owned(),
        pin: None,
        raw: false,
        job: hex(&job.id),
        token: hex(&job.token),
        design: relief_machine::Input {
            path: "design.kdl".to_owned(),
            digest: digest.clone(),
        },
        parameters: Vec::new(),
        images: Vec::new(),
        material: None,
        machine: None,
        region: None,
        scan: program.scan().clone(),
        program: program.digest().to_string(),
        lines,
        line_bytes,
        executed,
        prepared: Vec::new(),
        taken: false,
        file_bytes: None,
        complete: false,
        cut,
        bands: (0..bands).map(band).collect(),
        open: vec![digest.clone(); ((executed - bands * cut.band) / cut.group) as usize],
    }
}

/// A name, what is timed, and the bytes that it moves.
type Case = (&'static str, fn() -> f64, f64);

fn main() {
    let bytes = (LONG.width * LONG.height) as f64;
    let cases: [Case; 5] = [
        ("loopback, one buffer", ceiling, bytes),
        ("plain lines", raw, bytes),
        ("frames, checked and acknowledged", framed, bytes),
        ("frames over a Unix socket", unix, bytes),
        ("first line of a job of 3.6 TB taken up", first_line, 0.0),
    ];
    let mut seconds = vec![Vec::new(); cases.len()];
    for _ in 0..ROUNDS {
        for (index, (_, run, _)) in cases.iter().enumerate() {
            seconds[index].push(run());
        }
    }
    let json = std::env::args().any(|argument| argument == "--json");
    let mut all = serde_json::Map::new();
    for ((name, _, bytes), mut times) in cases.into_iter().zip(seconds) {
        times.sort_by(f64::total_cmp);
        let [slow, median, quick] = [ROUNDS - 1 - ROUNDS / 10, ROUNDS / 2, ROUNDS / 10].map(|at| times[at]);
        let rate = |seconds: f64| bytes / seconds / 1e9;
        if bytes > 0.0 {
            println!(
                "{name}: {:.2} GB/s ({:.2}–{:.2})",
                rate(median),
                rate(slow),
                rate(quick)
            );
        } else {
            println!(
                "{name}: {:.0} ms ({:.0}–{:.0})",
                median * 1e3,
                quick * 1e3,
                slow * 1e3
            );
        }
        all.insert(
            name.to_owned(),
            serde_json::json!({ "seconds": times, "bytes": bytes }),
        );
    }
    if json {
        println!("{}", serde_json::Value::Object(all));
    }
}
