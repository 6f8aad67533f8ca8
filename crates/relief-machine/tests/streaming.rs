//! Sender and receiver in one process, over real sockets.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::time::Duration;

use relief_engine::{Cancel, Raster, Rect, SamplesMut};
use relief_machine::message::Job;
use relief_machine::{
    Address, Control, Cut, Error, Input, Machine, Manifest, Pace, Received, Receiver, ReceiverOptions,
    Record, Secret, SenderOptions, Sent, send,
};
use relief_raster::Depth;
use relief_scan::{Block, Lines, Program, Scan, Tables, Windows};

/// A raster that is a function of its coordinates.
struct Mixed {
    width: u64,
    height: u64,
}

impl Windows for Mixed {
    fn raster(&self) -> Raster {
        Raster {
            width: self.width,
            height: self.height,
            depth: Depth::Eight,
            pixel: Some(1_000_000),
        }
    }

    fn read(&self, window: Rect, out: SamplesMut<'_>, _: &Cancel) -> Result<(), relief_engine::Error> {
        if let SamplesMut::Eight(out) = out {
            for (index, out) in out.iter_mut().enumerate() {
                let (x, y) = (
                    window.x() as u64 + index as u64 % window.width(),
                    window.y() as u64 + index as u64 / window.width(),
                );
                *out = (x.wrapping_mul(31) ^ y.wrapping_mul(17) ^ ((x * y) >> 7)) as u8;
            }
        }
        Ok(())
    }
}

fn program(scan: &Scan, raster: &Mixed) -> Program {
    Program::new(scan, &Tables::default(), &raster.raster()).unwrap()
}

fn all(program: &Program, raster: &Mixed) -> Vec<u8> {
    let mut lines = Lines::new(program, raster, 64 << 20).unwrap();
    let (mut block, mut bytes) = (Block::default(), Vec::new());
    for line in 0..program.lines() {
        lines.read(line, 1, &mut block, &Cancel::new()).unwrap();
        bytes.extend_from_slice(&block.bytes);
    }
    bytes
}

fn job(program: &Program, token: u8) -> Job {
    Job::new(program, [1; 32], [2; 32], [token; 16])
}

fn manifest(program: &Program, job: &Job, address: &Address) -> Manifest {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    Manifest {
        version: Manifest::VERSION,
        address: address.to_string(),
        pin: None,
        raw: false,
        job: hex(&job.id),
        token: hex(&job.token),
        design: Input {
            path: "design.kdl".to_owned(),
            digest: hex(&[1; 32]),
        },
        images: vec![Input {
            path: "cell.png".to_owned(),
            digest: hex(&[3; 32]),
        }],
        material: None,
        machine: None,
        region: None,
        scan: program.scan().clone(),
        program: program.digest().to_string(),
        lines: program.lines(),
        line_bytes: program.encoding().most(),
        executed: 0,
        file_bytes: None,
        complete: false,
        cut: Cut::new(program.lines(), program.encoding().most()),
        bands: Vec::new(),
        open: Vec::new(),
    }
}

fn quick(address: &Address) -> SenderOptions {
    SenderOptions {
        look_ahead: 4 << 20,
        high_water: 1 << 20,
        silence: Duration::from_secs(2),
        record_every: Duration::from_millis(20),
        ..SenderOptions::new(address.clone())
    }
}

fn options(output: Option<std::path::PathBuf>, machine: Machine) -> ReceiverOptions {
    ReceiverOptions {
        output,
        machine,
        silence: Duration::from_secs(2),
        ..ReceiverOptions::default()
    }
}

fn local() -> Address {
    "tcp://127.0.0.1:0".parse().unwrap()
}

/// Ends the receiver when the test fails, so that it fails instead of waiting.
struct Stop<'a>(&'a Receiver);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

/// Streams a job and gives what the machine executed.
fn stream(scan: &Scan, raster: &Mixed, address: &Address, machine: Machine) -> (Vec<u8>, Sent, Received) {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("executed");
    let receiver = Receiver::bind(address, options(Some(output.clone()), machine)).unwrap();
    let program = program(scan, raster);
    let job = job(&program, 1);
    let mut record = Record::begin(
        &folder.path().join("job.json"),
        manifest(&program, &job, receiver.address()),
    )
    .unwrap();
    let (sent, received) = std::thread::scope(|scope| {
        let received = scope.spawn(|| receiver.run().unwrap());
        let _stop = Stop(&receiver);
        let control = Control::default();
        let sent = send(
            &program,
            raster,
            job,
            &quick(receiver.address()),
            Some(&mut record),
            &control,
            &mut |_| (),
        )
        .unwrap();
        (sent, received.join().unwrap())
    });
    assert!(record.manifest().complete);
    (std::fs::read(output).unwrap(), sent, received)
}

#[test]
fn what_is_executed_is_every_line_once_in_order() {
    let raster = Mixed {
        width: 3_000,
        height: 2_000,
    };
    let (executed, sent, received) = stream(&Scan::default(), &raster, &local(), Machine::default());
    assert!(executed == all(&program(&Scan::default(), &raster), &raster));
    assert_eq!(
        (sent.executed, received.executed, sent.connections),
        (2_000, 2_000, 1)
    );
}

#[test]
fn runs_travel_over_a_unix_socket() {
    let folder = tempfile::tempdir().unwrap();
    let scan = Scan {
        run_length: true,
        ..Scan::default()
    };
    let raster = Mixed {
        width: 700,
        height: 900,
    };
    let address = Address::Unix(folder.path().join("machine"));
    let (executed, ..) = stream(&scan, &raster, &address, Machine::default());
    assert!(executed == all(&program(&scan, &raster), &raster));
}

#[test]
fn a_machine_with_a_small_buffer_that_drops_connections_loses_nothing() {
    let raster = Mixed {
        width: 1_000,
        height: 1_500,
    };
    let machine = Machine {
        buffer: 8_000,
        largest: 3_500,
        drop_after: Some(400),
        refuse: 2,
        ..Machine::default()
    };
    let (executed, sent, _) = stream(&Scan::default(), &raster, &local(), machine);
    assert!(executed == all(&program(&Scan::default(), &raster), &raster));
    assert_eq!(sent.connections, 4);
}

#[test]
fn a_paced_machine_with_stalls_and_jitter_executes_everything() {
    let raster = Mixed {
        width: 100,
        height: 400,
    };
    let machine = Machine {
        pace: Pace::Lines(4_000.0),
        jitter: Duration::from_micros(300),
        stall: Some((100, Duration::from_millis(40))),
        buffer: 2_000,
        prefill: 1_000,
        ..Machine::default()
    };
    let (executed, ..) = stream(&Scan::default(), &raster, &local(), machine);
    assert!(executed == all(&program(&Scan::default(), &raster), &raster));
}

#[test]
fn an_aborted_job_goes_on_from_the_first_line_not_executed() {
    let folder = tempfile::tempdir().unwrap();
    let (output, path) = (folder.path().join("executed"), folder.path().join("job.json"));
    let raster = Mixed {
        width: 1_000,
        height: 600,
    };
    let program = program(&Scan::default(), &raster);
    let machine = Machine {
        pace: Pace::Lines(2_000.0),
        buffer: 50_000,
        ..Machine::default()
    };
    let receiver = Receiver::bind(&local(), options(Some(output.clone()), machine)).unwrap();
    let job = job(&program, 1);
    let sender = quick(receiver.address());
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receiver.run().unwrap());
        let _stop = Stop(&receiver);
        let mut record = Record::begin(&path, manifest(&program, &job, receiver.address())).unwrap();
        let control = Control::new(&Cancel::new());
        let stopped = send(
            &program,
            &raster,
            job,
            &sender,
            Some(&mut record),
            &control,
            &mut |progress| {
                if progress.executed > 100 {
                    control.abort();
                }
            },
        );
        assert!(
            matches!(stopped, Err(Error::Stopped { executed }) if executed > 100),
            "{stopped:?}"
        );
        drop(record);
        let mut record = Record::resume(&path).unwrap();
        assert!(record.manifest().executed > 100 && record.manifest().executed < 600);
        send(
            &program,
            &raster,
            job,
            &sender,
            Some(&mut record),
            &Control::default(),
            &mut |_| (),
        )
        .unwrap();
        assert_eq!(received.join().unwrap().executed, 600);
    });
    assert!(std::fs::read(output).unwrap() == all(&program, &raster));
}

#[test]
fn a_pause_holds_the_machine_until_it_is_lifted() {
    let raster = Mixed {
        width: 1_000,
        height: 400,
    };
    let program = program(&Scan::default(), &raster);
    let machine = Machine {
        pace: Pace::Lines(2_000.0),
        ..Machine::default()
    };
    let receiver = Receiver::bind(&local(), options(None, machine)).unwrap();
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receiver.run().unwrap());
        let _stop = Stop(&receiver);
        let control = Control::default();
        let mut held = 0;
        let mut observe = |progress: &relief_machine::Progress| {
            if progress.executed > 50 && held == 0 {
                control.pause(true);
            }
            if progress.activity == relief_machine::message::Activity::Paused && held == 0 {
                held = progress.executed;
                control.pause(false);
            }
        };
        send(
            &program,
            &raster,
            job(&program, 1),
            &quick(receiver.address()),
            None,
            &control,
            &mut observe,
        )
        .unwrap();
        assert!(held > 50 && held < 400, "{held}");
        assert_eq!(received.join().unwrap().executed, 400);
    });
}

#[test]
fn a_second_sender_is_refused_and_the_first_goes_on() {
    let raster = Mixed {
        width: 1_000,
        height: 500,
    };
    let program = program(&Scan::default(), &raster);
    let machine = Machine {
        pace: Pace::Lines(2_000.0),
        ..Machine::default()
    };
    let receiver = Receiver::bind(&local(), options(None, machine)).unwrap();
    let sender = quick(receiver.address());
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receiver.run().unwrap());
        let _stop = Stop(&receiver);
        let mut refused = None;
        let mut observe = |progress: &relief_machine::Progress| {
            if progress.executed > 10 && refused.is_none() {
                let second = send(
                    &program,
                    &raster,
                    job(&program, 2),
                    &sender,
                    None,
                    &Control::default(),
                    &mut |_| (),
                );
                refused = Some(second.unwrap_err().to_string());
            }
        };
        send(
            &program,
            &raster,
            job(&program, 1),
            &sender,
            None,
            &Control::default(),
            &mut observe,
        )
        .unwrap();
        assert!(refused.unwrap().contains("another sender"));
        assert_eq!(received.join().unwrap().executed, 500);
    });
}

#[test]
fn only_a_sender_with_the_secret_is_taken_and_only_a_machine_with_it_is_trusted() {
    let raster = Mixed {
        width: 100,
        height: 50,
    };
    let program = program(&Scan::default(), &raster);
    let secret = |text: &str| Some(Secret::new(text.as_bytes()).unwrap());
    let with = |secret| ReceiverOptions {
        secret,
        ..options(None, Machine::default())
    };
    let receiver = Receiver::bind(&local(), with(secret("correct horse battery"))).unwrap();
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receiver.run().unwrap());
        let _stop = Stop(&receiver);
        let try_with = |secret| {
            let options = SenderOptions {
                secret,
                patience: Duration::ZERO,
                ..quick(receiver.address())
            };
            send(
                &program,
                &raster,
                job(&program, 1),
                &options,
                None,
                &Control::default(),
                &mut |_| (),
            )
        };
        for wrong in [None, secret("incorrect horse battery")] {
            let error = try_with(wrong).unwrap_err().to_string();
            assert!(error.contains("secret"), "{error}");
        }
        try_with(secret("correct horse battery")).unwrap();
        received.join().unwrap();
    });
    assert!(Secret::new(b"short").is_err());
}

#[test]
fn tls_is_taken_from_the_pinned_certificate_alone() {
    let folder = tempfile::tempdir().unwrap();
    let acceptor = |name: &str| {
        let made = rcgen::generate_simple_self_signed(vec!["machine".to_owned()]).unwrap();
        let (certificate, key) = (
            folder.path().join(name),
            folder.path().join(format!("{name}.key")),
        );
        std::fs::write(&certificate, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        relief_machine::Acceptor::open(&certificate, &key).unwrap()
    };
    let (own, other) = (acceptor("own"), acceptor("other"));
    let raster = Mixed {
        width: 3_000,
        height: 3_000,
    };
    let program = program(&Scan::default(), &raster);
    let output = folder.path().join("executed");
    let with = ReceiverOptions {
        tls: Some(own.clone()),
        ..options(Some(output.clone()), Machine::default())
    };
    let receiver = Receiver::bind(&local(), with).unwrap();
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receiver.run().unwrap());
        let _stop = Stop(&receiver);
        let try_with = |pin| {
            let options = SenderOptions {
                pin,
                patience: Duration::ZERO,
                ..quick(receiver.address())
            };
            send(
                &program,
                &raster,
                job(&program, 1),
                &options,
                None,
                &Control::default(),
                &mut |_| (),
            )
        };
        assert!(matches!(try_with(None), Err(Error::Tls { .. })));
        assert!(matches!(try_with(Some(other.pin())), Err(Error::Connect { .. })));
        try_with(Some(own.pin())).unwrap();
        assert_eq!(received.join().unwrap().executed, 3_000);
    });
    assert!(std::fs::read(output).unwrap() == all(&program, &raster));
}

#[test]
fn a_job_of_many_terabytes_is_taken_up_where_it_stood_without_computing_what_came_before() {
    /// Counts what is read.
    struct Sheet(std::sync::atomic::AtomicU64);
    impl Windows for Sheet {
        fn raster(&self) -> Raster {
            Raster {
                width: 2_000_000,
                height: 1_800_000,
                depth: Depth::Eight,
                pixel: Some(1_000_000),
            }
        }
        fn read(&self, window: Rect, _: SamplesMut<'_>, _: &Cancel) -> Result<(), relief_engine::Error> {
            self.0
                .fetch_add(window.height(), std::sync::atomic::Ordering::Relaxed);
            Ok(())
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("job.json");
    let sheet = Sheet(Default::default());
    let program = Program::new(&Scan::default(), &Tables::default(), &sheet.raster()).unwrap();
    let machine = Machine {
        pace: Pace::Lines(100.0),
        largest: 4 << 20,
        ..Machine::default()
    };
    let receiver = Receiver::bind(&local(), options(None, machine)).unwrap();
    let job = job(&program, 1);
    let executed = 1_500_000;
    let mut begun = manifest(&program, &job, receiver.address());
    begun.executed = executed;
    let bands = executed / begun.cut.band;
    let digest = "0a".repeat(32);
    let band = |index| relief_machine::Band {
        first: index * begun.cut.band,
        lines: begun.cut.band,
        digest: digest.clone(),
    };
    begun.bands = (0..bands).map(band).collect();
    begun.open = vec![digest.clone(); (executed - bands * begun.cut.band) as usize];
    begun.write(&path).unwrap();
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receiver.run());
        let mut record = Record::resume(&path).unwrap();
        let control = Control::default();
        let mut first = None;
        let sender = SenderOptions {
            look_ahead: 20 << 20,
            making: 24 << 20,
            ..quick(receiver.address())
        };
        let stopped = send(
            &program,
            &sheet,
            job,
            &sender,
            Some(&mut record),
            &control,
            &mut |progress| {
                if progress.executed > executed && first.is_none() {
                    first = Some(sheet.0.load(std::sync::atomic::Ordering::Relaxed));
                    control.abort();
                }
            },
        );
        receiver.stop();
        assert!(matches!(stopped, Err(Error::Stopped { .. })), "{stopped:?}");
        assert!(received.join().unwrap().is_err());
        // The look-ahead, and what the machine has room for: not a line from before.
        assert!(first.is_some_and(|lines| lines < 40), "{first:?}");
    });
}

#[test]
fn a_frame_out_of_order_ends_the_connection_and_executes_nothing_twice() {
    use relief_machine::frame::{self, Header, Kind};
    use relief_machine::message::{Accept, Code, Hello, Message, Refusal};

    let raster = Mixed {
        width: 10,
        height: 50,
    };
    let program = program(&Scan::default(), &raster);
    let receiver = Receiver::bind(&local(), options(None, Machine::default())).unwrap();
    let address = receiver.address().to_string();
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receiver.run().unwrap());
        let _stop = Stop(&receiver);
        let mut socket = std::net::TcpStream::connect(address.trim_start_matches("tcp://")).unwrap();
        let mut write = |kind, sequence, count, payload: &[u8]| {
            frame::write(
                &mut socket,
                &Header::new(kind, sequence, count, payload),
                &[payload],
            )
            .unwrap();
        };
        write(
            Kind::Hello,
            0,
            0,
            &Hello {
                version: 1,
                nonce: [0; 32],
            }
            .encode(),
        );
        write(Kind::Job, 0, 0, &job(&program, 9).encode());
        // Lines 5 to 9 before lines 0 to 4.
        write(Kind::Lines, 5, 5, &[0; 50]);
        write(Kind::Lines, 0, 5, &[0; 50]);
        let (mut payload, mut refusal) = (Vec::new(), None);
        while let Ok(Some(header)) = frame::read(&mut socket, &mut payload) {
            if header.kind == Kind::Accept {
                assert_eq!(Accept::decode(&payload).unwrap().next, 0);
            }
            if header.kind == Kind::Error {
                refusal = Refusal::decode(&payload);
                break;
            }
        }
        assert_eq!(refusal.unwrap().code, Code::Sequence);
        drop(socket);
        let sender = quick(receiver.address());
        let sent = send(
            &program,
            &raster,
            job(&program, 9),
            &sender,
            None,
            &Control::default(),
            &mut |_| (),
        )
        .unwrap();
        assert_eq!((sent.executed, received.join().unwrap().executed), (50, 50));
    });
}
