//! Sender and receiver in one process, over real sockets.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use relief_engine::{Cancel, Raster, Rect, SamplesMut};
use relief_machine::frame::{self, Header, Kind};
use relief_machine::message::{Accept, Activity, Code, Hello, Job, Message, Refusal, Status, Welcome};
use relief_machine::{
    Address, Control, Cut, Error, Input, Machine, Manifest, Pace, Received, Receiver, ReceiverOptions,
    Record, Secret, SenderOptions, Sent, send,
};
use relief_raster::Depth;
use relief_scan::{Bits, Block, Halftone, Lines, Packing, PassAxes, Passes, Program, Scan, Tables, Windows};

/// A raster that is a function of its coordinates.
struct Mixed {
    width: u64,
    height: u64,
}

impl Windows for Mixed {
    fn raster(&self) -> Raster {
        Raster::new(self.width, self.height, Depth::Eight)
            .with_pixel(relief_raster::Length::picometres(1_000_000))
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
        parameters: Vec::new(),
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
        prepared: Vec::new(),
        taken: false,
        file_bytes: None,
        complete: false,
        cut: Cut::new(program.lines(), program.encoding().most()),
        bands: Vec::new(),
        open: Vec::new(),
    }
}

fn quick(address: &Address) -> SenderOptions {
    SenderOptions::new(address.clone()).with(|with| {
        with.look_ahead = 4 << 20;
        with.high_water = 1 << 20;
        with.idle_timeout = Duration::from_secs(2);
        with.record_every = Duration::from_millis(20);
    })
}

fn options(output: Option<std::path::PathBuf>, machine: Machine) -> ReceiverOptions {
    ReceiverOptions::default().with(|with| {
        with.output = output;
        with.machine = machine;
        with.idle_timeout = Duration::from_secs(2);
    })
}

/// Sends a whole job that nobody watches, records or stops.
fn send_all(program: &Program, raster: &Mixed, token: u8, sender: &SenderOptions) -> Result<Sent, Error> {
    let control = Control::default();
    send(
        program,
        raster,
        job(program, token),
        sender,
        None,
        &control,
        &mut |_| (),
    )
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

/// Passes across each other have not as many lines each; the machine executes all of them.
#[test]
fn passes_across_each_other_are_executed() {
    let scan = Scan {
        passes: Passes::Even { count: 3 },
        pass_axes: PassAxes::Alternate,
        ..Scan::default()
    };
    let raster = Mixed {
        width: 300,
        height: 170,
    };
    let program = program(&scan, &raster);
    assert_eq!(program.lines(), 170 + 300 + 170);
    assert_eq!((program.passes(), program.equal_passes()), (3, 1));
    let (executed, ..) = stream(&scan, &raster, &local(), Machine::default());
    assert!(executed == all(&program, &raster));
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

/// A gate that lines pass once it is opened.
#[derive(Default)]
struct Gate(std::sync::Mutex<bool>, std::sync::Condvar);

impl Gate {
    fn open(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }

    fn pass(&self) {
        let mut open = self.0.lock().unwrap();
        while !*open {
            open = self.1.wait(open).unwrap();
        }
    }
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
    // Of the lines from 150 on, which wait until the job is aborted, the buffer holds 50.
    let machine = Machine {
        buffer: 50_000,
        ..Machine::default()
    };
    let gate = Arc::new(Gate::default());
    let inner = gate.clone();
    let options = options(Some(output.clone()), machine).with(|with| {
        with.on_line = Some(Arc::new(move |line, _| {
            if line >= 150 {
                inner.pass();
            }
            Ok(())
        }))
    });
    let receiver = Receiver::bind(&local(), options).unwrap();
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
                    gate.open();
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
    // Each line takes what the test gives it.
    let (give, given) = std::sync::mpsc::channel();
    let given = std::sync::Mutex::new(given);
    let (holding, moved) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (is_holding, has_moved) = (holding.clone(), moved.clone());
    let options = options(None, Machine::default()).with(|with| {
        with.on_line = Some(Arc::new(move |_, _| {
            has_moved.fetch_or(is_holding.load(Ordering::SeqCst), Ordering::SeqCst);
            given.lock().unwrap().recv().map_err(Into::into)
        }))
    });
    let receiver = Receiver::bind(&local(), options).unwrap();
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receiver.run().unwrap());
        let _stop = Stop(&receiver);
        let control = Control::default();
        (0..60).for_each(|_| give.send(()).unwrap());
        let (mut held, mut seen) = (None, 0);
        let mut observe = |progress: &relief_machine::Progress| match held {
            None if progress.executed < 60 => {}
            None if progress.activity != Activity::Paused => {
                control.pause(true);
                // The line under way is executed; the pause may come after it or after one more.
                give.send(()).unwrap();
            }
            None => {
                holding.store(true, Ordering::SeqCst);
                held = Some(progress.executed);
                (0..400).for_each(|_| give.send(()).unwrap());
            }
            Some(held) => {
                seen += 1;
                if seen < 5 {
                    assert_eq!(progress.executed, held);
                } else if seen == 5 {
                    holding.store(false, Ordering::SeqCst);
                    control.pause(false);
                }
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
        assert!(held.is_some_and(|held| held < 400), "{held:?}");
        assert!(!moved.load(Ordering::SeqCst), "a line began during the pause");
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
                let second = send_all(&program, &raster, 2, &sender);
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
    let with = |secret| options(None, Machine::default()).with(|with| with.secret = secret);
    let receiver = Receiver::bind(&local(), with(secret("correct horse battery"))).unwrap();
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receiver.run().unwrap());
        let _stop = Stop(&receiver);
        let try_with = |secret| {
            let options = quick(receiver.address()).with(|with| {
                with.secret = secret;
                with.reconnect_timeout = Duration::ZERO;
            });
            send_all(&program, &raster, 1, &options)
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
    let with = options(Some(output.clone()), Machine::default()).with(|with| with.tls = Some(own.clone()));
    let receiver = Receiver::bind(&local(), with).unwrap();
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receiver.run().unwrap());
        let _stop = Stop(&receiver);
        let try_with = |pin| {
            let options = quick(receiver.address()).with(|with| {
                with.pin = pin;
                with.reconnect_timeout = Duration::ZERO;
            });
            send_all(&program, &raster, 1, &options)
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
            Raster::new(2_000_000, 1_800_000, Depth::Eight)
                .with_pixel(relief_raster::Length::picometres(1_000_000))
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
        let sender = quick(receiver.address()).with(|with| with.look_ahead = 20 << 20);
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
    let raster = Mixed {
        width: 10,
        height: 50,
    };
    let program = program(&Scan::default(), &raster);
    let receiver = Receiver::bind(&local(), options(None, Machine::default())).unwrap();
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receiver.run().unwrap());
        let _stop = Stop(&receiver);
        let mut stranger = Stranger::new(&receiver);
        stranger.hello();
        stranger.say(Kind::Job, 0, 0, &job(&program, 9).encode());
        // Lines 5 to 9 before lines 0 to 4.
        stranger.say(Kind::Lines, 5, 5, &[0; 50]);
        stranger.say(Kind::Lines, 0, 5, &[0; 50]);
        assert_eq!(stranger.refusal(), Some(Code::Sequence));
        let sender = quick(receiver.address());
        let sent = send_all(&program, &raster, 9, &sender).unwrap();
        assert_eq!((sent.executed, received.join().unwrap().executed), (50, 50));
    });
}

#[test]
fn error_diffusion_is_taken_up_without_the_lines_before() {
    /// Counts the rows that are read.
    struct Counted(Mixed, AtomicU64);
    impl Windows for Counted {
        fn raster(&self) -> Raster {
            self.0.raster()
        }
        fn read(
            &self,
            window: Rect,
            out: SamplesMut<'_>,
            cancel: &Cancel,
        ) -> Result<(), relief_engine::Error> {
            self.1.fetch_add(window.height(), Ordering::Relaxed);
            self.0.read(window, out, cancel)
        }
    }
    let scan = Scan {
        halftone: Some(Halftone::FLOYD_STEINBERG),
        packing: Packing {
            bits: Bits::One,
            ..Packing::default()
        },
        ..Scan::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let (output, path) = (folder.path().join("executed"), folder.path().join("job.json"));
    let size = Mixed {
        width: 20_000,
        height: 3_000,
    };
    let raster = Counted(size, AtomicU64::new(0));
    let program = program(&scan, &raster.0);
    let machine = Machine {
        pace: Pace::Lines(1_500.0),
        buffer: 100_000,
        largest: 12_500,
        ..Machine::default()
    };
    let receiver = Receiver::bind(&local(), options(Some(output.clone()), machine)).unwrap();
    let job = job(&program, 1);
    let sender = quick(receiver.address()).with(|with| {
        with.look_ahead = 500_000;
        with.high_water = 25_000;
    });
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receiver.run().unwrap());
        let _stop = Stop(&receiver);
        let mut record = Record::begin(&path, manifest(&program, &job, receiver.address())).unwrap();
        let control = Control::new(&Cancel::new());
        let run = |record: &mut Record, control: &Control, until: u64| {
            send(
                &program,
                &raster,
                job,
                &sender,
                Some(record),
                control,
                &mut |progress| {
                    if progress.executed > until {
                        control.abort();
                    }
                },
            )
        };
        assert!(matches!(
            run(&mut record, &control, 2_400),
            Err(Error::Stopped { .. })
        ));
        drop(record);
        let mut record = Record::resume(&path).unwrap();
        let executed = record.manifest().executed;
        let before = raster.1.load(Ordering::Relaxed);
        run(&mut record, &Control::default(), u64::MAX).unwrap();
        let read = raster.1.load(Ordering::Relaxed) - before;
        // A quarter of the look-ahead and two groups of the manifest may be made again: 890 lines, not all before.
        assert!(
            read < 3_000 - executed + 1_000,
            "{read} lines were read after {executed}"
        );
        received.join().unwrap();
    });
    assert!(std::fs::read(output).unwrap() == all(&program, &raster.0));
}

/// A sender that says what it likes.
struct Stranger(TcpStream);

impl Stranger {
    fn new(receiver: &Receiver) -> Self {
        let address = receiver.address().to_string();
        Self(TcpStream::connect(address.trim_start_matches("tcp://")).unwrap())
    }

    fn say(&mut self, kind: Kind, sequence: u64, count: u32, payload: &[u8]) {
        let header = Header::new(kind, sequence, count, payload);
        frame::write(&mut self.0, &header, &[payload]).unwrap();
    }

    fn hello(&mut self) {
        let (version, nonce) = (1, [0; 32]);
        self.say(Kind::Hello, 0, 0, &Hello { version, nonce }.encode());
    }

    /// The code of the error that it is told, if it is told any before the connection ends.
    fn refusal(mut self) -> Option<Code> {
        let mut payload = Vec::new();
        while let Ok(Some(header)) = frame::read(&mut self.0, &mut payload) {
            if header.kind == Kind::Error {
                return Some(Refusal::decode(&payload).unwrap().code);
            }
        }
        None
    }
}

/// Runs a receiver while strangers do what they do, then a job to its end.
fn with_strangers(machine: Machine, strangers: impl FnOnce(&Receiver, &Program)) {
    let raster = Mixed {
        width: 10,
        height: 50,
    };
    let program = program(&Scan::default(), &raster);
    let with = options(None, machine).with(|with| with.idle_timeout = Duration::from_millis(300));
    let receiver = Receiver::bind(&local(), with).unwrap();
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receiver.run().unwrap());
        let _stop = Stop(&receiver);
        strangers(&receiver, &program);
        let sender = quick(receiver.address());
        send_all(&program, &raster, 9, &sender).unwrap();
        assert_eq!(received.join().unwrap().executed, 50);
    });
}

#[test]
fn a_stranger_who_sends_byte_after_byte_does_not_hold_the_machine() {
    with_strangers(Machine::default(), |receiver, _| {
        // As many as there are places, each with a byte in time before every end of the idle timeout.
        let mut strangers: Vec<TcpStream> = (0..16).map(|_| Stranger::new(receiver).0).collect();
        let start = Instant::now();
        while !strangers.is_empty() {
            assert!(
                start.elapsed() < Duration::from_secs(20),
                "{} are still served",
                strangers.len()
            );
            strangers.retain_mut(|stranger| {
                stranger
                    .set_read_timeout(Some(Duration::from_millis(10)))
                    .unwrap();
                let gone =
                    matches!(stranger.read(&mut [0; 256]), Ok(0)) || stranger.write_all(&[0x52]).is_err();
                !gone
            });
        }
    });
}

#[test]
fn lines_before_a_job_are_refused_before_they_are_read() {
    with_strangers(Machine::default(), |receiver, _| {
        let mut stranger = Stranger::new(receiver);
        // Only the header: nobody waits for 16 MiB.
        let header = Header {
            kind: Kind::Lines,
            sequence: 0,
            length: 1 << 24,
            count: 1,
            checksum: 0,
        };
        stranger.0.write_all(&header.encode()).unwrap();
        assert_eq!(stranger.refusal(), Some(Code::Malformed));
    });
}

#[test]
fn frames_larger_than_agreed_and_jobs_that_contradict_themselves_are_refused() {
    let machine = Machine {
        largest: 100,
        ..Machine::default()
    };
    with_strangers(machine, |receiver, program| {
        let mut stranger = Stranger::new(receiver);
        stranger.hello();
        stranger.say(Kind::Job, 0, 0, &job(program, 9).encode());
        stranger.say(Kind::Lines, 0, 11, &[0; 110]);
        assert_eq!(stranger.refusal(), Some(Code::Credit));
        for wrong in [
            Job {
                line_bytes: 11,
                ..job(program, 9)
            },
            Job {
                channels: 3,
                ..job(program, 9)
            },
            Job {
                passes: 7,
                ..job(program, 9)
            },
            Job {
                samples: u64::MAX,
                ..job(program, 9)
            },
        ] {
            let mut stranger = Stranger::new(receiver);
            stranger.hello();
            stranger.say(Kind::Job, 0, 0, &wrong.encode());
            assert_eq!(stranger.refusal(), Some(Code::Malformed), "{wrong:?}");
        }
        let mut stranger = Stranger::new(receiver);
        stranger.hello();
        let width = 11;
        stranger.say(
            Kind::Job,
            0,
            0,
            &Job {
                width,
                ..job(program, 9)
            }
            .encode(),
        );
        assert_eq!(stranger.refusal(), Some(Code::OtherJob));
    });
}

/// A machine that answers as it is told: `answer` gets what is left to say after the greeting.
fn with_machine<T: Send>(
    accept: Accept,
    answer: impl FnOnce(TcpStream) + Send,
    sender: impl FnOnce(&Address) -> T,
) -> T {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address: Address = format!("tcp://{}", listener.local_addr().unwrap())
        .parse()
        .unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut payload = Vec::new();
            let say = |socket: &mut TcpStream, kind, payload: &[u8]| {
                frame::write(socket, &Header::new(kind, 0, 0, payload), &[payload]).unwrap();
            };
            frame::read(&mut socket, &mut payload).unwrap();
            let (version, secret, nonce, proof) = (1, false, [0; 32], [0; 32]);
            let welcome = Welcome {
                version,
                secret,
                nonce,
                proof,
            };
            say(&mut socket, Kind::Welcome, &welcome.encode());
            frame::read(&mut socket, &mut payload).unwrap();
            say(&mut socket, Kind::Accept, &accept.encode());
            answer(socket);
        });
        sender(&address)
    })
}

const ACCEPT: Accept = Accept {
    executed: 0,
    next: 0,
    credit: 1 << 20,
    largest: 1 << 20,
    idle_timeout: 1_000,
};

#[test]
fn a_machine_that_contradicts_itself_ends_the_job_and_nothing_hangs() {
    let raster = Mixed {
        width: 10,
        height: 50,
    };
    let program = program(&Scan::default(), &raster);
    let error_of = |accept: Accept, answer: fn(TcpStream)| {
        with_machine(accept, answer, |address| {
            let sender = quick(address);
            let sent = send_all(&program, &raster, 9, &sender);
            sent.unwrap_err()
        })
    };
    fn tell(mut socket: TcpStream, status: &Status) {
        let payload = status.encode();
        frame::write(
            &mut socket,
            &Header::new(Kind::Status, 0, 0, &payload),
            &[&payload],
        )
        .unwrap();
        // Until the sender has closed the connection.
        let _ = std::io::copy(&mut socket, &mut std::io::sink());
    }
    let beyond = error_of(Accept { next: 51, ..ACCEPT }, |_| ());
    assert!(matches!(beyond, Error::Contradiction { .. }), "{beyond}");
    let narrow = error_of(Accept { largest: 9, ..ACCEPT }, |_| ());
    assert!(matches!(narrow, Error::Line { limit: 9, .. }), "{narrow}");
    let before = error_of(
        Accept {
            executed: 50,
            next: 50,
            ..ACCEPT
        },
        |_| (),
    );
    assert!(matches!(before, Error::ExecutedBefore { lines: 50 }), "{before}");
    let aborted = error_of(ACCEPT, |socket| {
        tell(
            socket,
            &Status {
                executed: 0,
                received: 0,
                credit: 0,
                buffered: 0,
                underruns: 0,
                activity: Activity::Aborted,
            },
        );
    });
    assert!(
        matches!(
            aborted,
            Error::Refused {
                code: Code::Aborted,
                ..
            }
        ),
        "{aborted}"
    );
    let unsent = error_of(ACCEPT, |socket| {
        tell(
            socket,
            &Status {
                executed: 51,
                received: 51,
                credit: 0,
                buffered: 0,
                underruns: 0,
                activity: Activity::Running,
            },
        );
    });
    assert!(matches!(unsent, Error::Contradiction { .. }), "{unsent}");
}

#[test]
fn a_connection_that_brings_nothing_is_not_tried_forever() {
    let raster = Mixed {
        width: 10,
        height: 50,
    };
    let program = program(&Scan::default(), &raster);
    // Whoever connects is taken and cut at once, again and again.
    let machine = Machine {
        refuse: u32::MAX,
        ..Machine::default()
    };
    let receiver = Receiver::bind(&local(), options(None, machine)).unwrap();
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receiver.run());
        let sender =
            quick(receiver.address()).with(|with| with.reconnect_timeout = Duration::from_millis(300));
        let sent = send_all(&program, &raster, 9, &sender);
        receiver.stop();
        assert!(matches!(sent, Err(Error::Connect { .. })), "{sent:?}");
        assert!(received.join().unwrap().is_err());
    });
}

#[test]
fn what_is_no_socket_and_what_no_journal_knows_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("precious");
    std::fs::write(&file, b"do not lose me").unwrap();
    let bound = Receiver::bind(&Address::Unix(file.clone()), ReceiverOptions::default());
    assert!(bound.is_err());
    assert_eq!(std::fs::read(&file).unwrap(), b"do not lose me");
    let bound = Receiver::bind(&local(), options(Some(file.clone()), Machine::default()));
    assert!(bound.unwrap_err().to_string().contains("no journal knows"));
    assert_eq!(std::fs::read(&file).unwrap(), b"do not lose me");
}

#[test]
fn a_socket_that_a_killed_receiver_left_is_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("machine");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(Receiver::bind(&Address::Unix(path.clone()), ReceiverOptions::default()).is_ok());
    let held = std::os::unix::net::UnixListener::bind(&path).unwrap();
    assert!(Receiver::bind(&Address::Unix(path), ReceiverOptions::default()).is_err());
    drop(held);
}
