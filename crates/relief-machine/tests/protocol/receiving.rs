//! The receiver, by frames that a test writes and reads itself: end states, faults, limits.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver as Heard, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use relief_engine::{Cancel, Raster, Rect, SamplesMut};
use relief_machine::frame::{self, Header, Kind};
use relief_machine::message::{Accept, Activity, Code, Hello, Job, Message, Refusal, Status};
use relief_machine::{
    Acceptor, Address, Control, Error, Machine, OnLine, Pace, Received, Receiver, ReceiverOptions,
    SenderOptions, send,
};
use relief_raster::Depth;
use relief_scan::{Packing, Program, Scan, Tables, Windows};

/// 50 lines of 10 samples, of a byte each or in runs.
fn job(run_length: bool) -> Job {
    Job {
        id: [1; 32],
        token: [2; 16],
        from: 0,
        lines: 50,
        samples: 10,
        channels: 1,
        passes: 1,
        line_bytes: if run_length { 30 } else { 10 },
        pixel: 1_000_000,
        width: 10,
        height: 50,
        packing: Packing::default(),
        run_length,
        design: [3; 32],
        scan: [4; 32],
        material: [0; 32],
        machine: [0; 32],
    }
}

/// The bytes of lines, each of which says its number.
fn bytes(first: u64, count: u64) -> Vec<u8> {
    (first..first + count).flat_map(|line| [line as u8; 10]).collect()
}

fn bind(options: ReceiverOptions) -> Receiver {
    Receiver::bind(&"tcp://127.0.0.1:0".parse().unwrap(), options).unwrap()
}

/// Runs a receiver while a test talks to it; gives how it ended.
fn with<T>(receiver: &Receiver, test: impl FnOnce() -> T) -> (T, Result<Received, Error>) {
    /// Ends the receiver when the test fails, so that it fails instead of waiting.
    struct Stop<'a>(&'a Receiver);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                self.0.stop();
            }
        }
    }
    std::thread::scope(|scope| {
        let run = scope.spawn(|| receiver.run());
        let _stop = Stop(receiver);
        let told = test();
        (told, run.join().unwrap())
    })
}

/// Runs a receiver for as long as a test talks to it.
fn while_running(receiver: &Receiver, test: impl FnOnce()) {
    let (_, received) = with(receiver, || {
        test();
        receiver.stop();
    });
    assert!(matches!(received, Err(Error::Stopped { .. })), "{received:?}");
}

/// A sender by hand.
struct Wire(TcpStream);

impl Wire {
    fn new(receiver: &Receiver) -> Self {
        let address = receiver.address().to_string();
        let socket = TcpStream::connect(address.trim_start_matches("tcp://")).unwrap();
        // A test that waits for what never comes fails.
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Self(socket)
    }

    /// A connection on which the job is accepted.
    fn begin(receiver: &Receiver, job: &Job) -> (Self, Accept) {
        let mut wire = Self::new(receiver);
        wire.hello();
        wire.say(Kind::Job, 0, 0, &job.encode());
        let (kind, payload) = wire.hear().expect("an answer to JOB");
        assert_eq!(kind, Kind::Accept, "{:?}", Refusal::decode(&payload));
        (wire, Accept::decode(&payload).unwrap())
    }

    fn hello(&mut self) {
        let (version, nonce) = (1, [0; 32]);
        self.say(Kind::Hello, 0, 0, &Hello { version, nonce }.encode());
        assert_eq!(self.hear().unwrap().0, Kind::Welcome);
    }

    fn say(&mut self, kind: Kind, sequence: u64, count: u32, payload: &[u8]) {
        frame::write(
            &mut self.0,
            &Header::new(kind, sequence, count, payload),
            &[payload],
        )
        .unwrap();
    }

    fn tell(&mut self, kind: Kind) {
        self.say(kind, 0, 0, &[]);
    }

    fn lines(&mut self, first: u64, count: u64) {
        self.say(Kind::Lines, first, count as u32, &bytes(first, count));
    }

    /// The next frame; `None` at the end of the connection.
    fn hear(&mut self) -> Option<(Kind, Vec<u8>)> {
        let mut payload = Vec::new();
        let header = frame::read(&mut self.0, &mut payload).ok()??;
        Some((header.kind, payload))
    }

    /// All that is said up to the first status of which `wanted` is true.
    fn statuses_until(&mut self, wanted: impl Fn(&Status) -> bool) -> Vec<Status> {
        let mut all = Vec::new();
        loop {
            let (kind, payload) = self.hear().expect("a status");
            assert_eq!(kind, Kind::Status, "{:?}", Refusal::decode(&payload));
            let status = Status::decode(&payload).unwrap();
            all.push(status);
            if wanted(&status) {
                return all;
            }
        }
    }

    fn until(&mut self, wanted: impl Fn(&Status) -> bool) -> Status {
        *self.statuses_until(wanted).last().unwrap()
    }

    /// Why the receiver ends the connection.
    fn refusal(mut self) -> Refusal {
        loop {
            let (kind, payload) = self.hear().expect("a reason");
            if kind == Kind::Error {
                return Refusal::decode(&payload).unwrap();
            }
        }
    }

    /// Hears that all is executed, and closes.
    fn end(mut self) {
        self.until(|status| status.activity == Activity::Done);
    }
}

/// What drives a machine and stands still at line 3: tells that it has begun, and waits.
fn gated() -> (OnLine, Heard<()>, Sender<()>) {
    let ((begun, has_begun), (go, gone)) = (channel(), channel());
    let (begun, gone) = (Mutex::new(begun), Mutex::new(gone));
    let on_line: OnLine = Arc::new(move |line, _| {
        if line == 3 {
            begun.lock().unwrap().send(())?;
            gone.lock().unwrap().recv()?;
        }
        Ok(())
    });
    (on_line, has_begun, go)
}

#[test]
fn a_line_under_way_at_an_abort_is_executed_before_the_sender_is_told_of_the_abort() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out");
    let (on_line, begun, go) = gated();
    let receiver = bind(ReceiverOptions::default().with(|with| {
        with.on_line = Some(on_line);
        with.output = Some(output.clone());
    }));
    let (_, received) = with(&receiver, || {
        let (mut wire, _) = Wire::begin(&receiver, &job(false));
        wire.lines(0, 10);
        begun.recv().unwrap();
        wire.tell(Kind::Abort);
        // What was buffered is dropped, and the line under way is not: 4 are received.
        let dropped = wire.until(|status| status.received == 4);
        assert_eq!((dropped.executed, dropped.activity), (3, Activity::Running));
        go.send(()).unwrap();
        let aborted = wire.until(|status| status.activity == Activity::Aborted);
        assert_eq!((aborted.executed, aborted.received), (4, 4));
        assert_eq!(std::fs::read(&output).unwrap(), bytes(0, 4));
        drop(wire);
        let (mut wire, accept) = Wire::begin(&receiver, &job(false));
        assert_eq!((accept.executed, accept.next), (4, 4));
        wire.lines(4, 46);
        wire.end();
    });
    assert_eq!(received.unwrap().executed, 50);
    assert_eq!(std::fs::read(&output).unwrap(), bytes(0, 50));
}

#[test]
fn the_line_that_an_emulated_machine_takes_its_time_for_is_under_way() {
    let machine = Machine {
        pace: Pace::Lines(2.0),
        ..Machine::default()
    };
    let receiver = bind(ReceiverOptions::default().with(|with| with.machine = machine));
    while_running(&receiver, || {
        let (mut wire, _) = Wire::begin(&receiver, &job(false));
        wire.lines(0, 10);
        wire.until(|status| status.activity == Activity::Running);
        wire.tell(Kind::Abort);
        let told = wire.statuses_until(|status| status.activity == Activity::Aborted);
        let aborted = told.last().unwrap();
        assert_eq!(aborted.executed, aborted.received, "{told:?}");
        assert!((1..10).contains(&aborted.executed), "{told:?}");
    });
}

#[test]
fn a_pause_is_told_once_no_line_is_under_way() {
    let (on_line, begun, go) = gated();
    let receiver = bind(ReceiverOptions::default().with(|with| with.on_line = Some(on_line)));
    let (_, received) = with(&receiver, || {
        let (mut wire, _) = Wire::begin(&receiver, &job(false));
        wire.lines(0, 10);
        begun.recv().unwrap();
        wire.tell(Kind::Pause);
        // The status that answers the frame after the pause knows of it.
        wire.lines(10, 1);
        let told = wire.until(|status| status.received == 11);
        assert_eq!((told.executed, told.activity), (3, Activity::Running));
        go.send(()).unwrap();
        let paused = wire.until(|status| status.activity == Activity::Paused);
        assert_eq!(paused.executed, 4);
        wire.tell(Kind::Continue);
        wire.lines(11, 39);
        wire.end();
    });
    assert_eq!(received.unwrap().executed, 50);
}

#[test]
fn a_line_that_cannot_be_executed_ends_the_job_and_is_named_to_both_sides() {
    let fails: [OnLine; 2] = [
        Arc::new(|line, _| {
            if line == 3 {
                Err("the laser is off".into())
            } else {
                Ok(())
            }
        }),
        Arc::new(|line, _| {
            assert!(line != 3, "the laser is off");
            Ok(())
        }),
    ];
    for on_line in fails {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out");
        let receiver = bind(ReceiverOptions::default().with(|with| {
            with.on_line = Some(on_line);
            with.output = Some(output.clone());
        }));
        let (refusal, received) = with(&receiver, || {
            let (mut wire, _) = Wire::begin(&receiver, &job(false));
            wire.lines(0, 10);
            wire.refusal()
        });
        assert_eq!(refusal.code, Code::Execution);
        assert!(!refusal.code.is_passing(), "the sender gives up");
        assert!(
            refusal.text.contains("line 3") && refusal.text.contains("the laser is off"),
            "{}",
            refusal.text
        );
        assert!(
            matches!(received, Err(Error::Execution { line: 3, .. })),
            "{received:?}"
        );
        drop(receiver);
        // It does not count as executed: the job goes on with it.
        assert_eq!(std::fs::read(&output).unwrap(), bytes(0, 3));
        let receiver = bind(ReceiverOptions::default().with(|with| with.output = Some(output.clone())));
        let (_, received) = with(&receiver, || {
            let (mut wire, accept) = Wire::begin(&receiver, &job(false));
            assert_eq!(accept.next, 3);
            wire.lines(3, 47);
            wire.end();
        });
        assert!(received.is_ok());
        assert_eq!(std::fs::read(&output).unwrap(), bytes(0, 50));
    }
}

#[test]
fn a_machine_begins_when_no_further_line_fits_its_buffer() {
    for (buffer, prefill) in [(105, 105), (105, 101), (109, 102), (10, 10)] {
        let machine = Machine {
            buffer,
            prefill,
            ..Machine::default()
        };
        let receiver = bind(ReceiverOptions::default().with(|with| with.machine = machine));
        while_running(&receiver, || {
            let (mut wire, accept) = Wire::begin(&receiver, &job(false));
            let fit = accept.credit / 10;
            wire.lines(0, fit);
            wire.until(|status| status.executed == fit);
        });
    }
    // A line of runs may have 34 bytes with its length; these have 7.
    let machine = Machine {
        buffer: 40,
        prefill: 40,
        ..Machine::default()
    };
    let receiver = bind(ReceiverOptions::default().with(|with| with.machine = machine));
    while_running(&receiver, || {
        let (mut wire, _) = Wire::begin(&receiver, &job(true));
        wire.say(Kind::Lines, 0, 1, &[3, 0, 0, 0, 10, 0, 7]);
        wire.until(|status| status.executed == 1);
    });
}

#[test]
fn a_machine_waits_for_its_prefill_while_lines_fit() {
    let machine = Machine {
        buffer: 105,
        prefill: 60,
        ..Machine::default()
    };
    let receiver = bind(ReceiverOptions::default().with(|with| with.machine = machine));
    while_running(&receiver, || {
        let (mut wire, _) = Wire::begin(&receiver, &job(false));
        wire.lines(0, 5);
        wire.until(|status| status.received == 5);
        wire.lines(5, 1);
        let told = wire.statuses_until(|status| status.executed == 6);
        assert!(
            told.iter().all(|status| [0, 6].contains(&status.executed)),
            "{told:?}"
        );
    });
}

#[test]
fn machines_that_could_never_execute_are_refused() {
    let refused = |machine: Machine, option: &str| {
        let options = ReceiverOptions::default().with(|with| with.machine = machine);
        let bound = Receiver::bind(&"tcp://127.0.0.1:0".parse().unwrap(), options);
        let found = bound.unwrap_err();
        assert!(
            matches!(found, Error::Option { option: found, .. } if found == option),
            "{found}"
        );
    };
    let machine = Machine::default();
    let buffer = 100;
    refused(
        Machine {
            prefill: 101,
            buffer,
            ..machine.clone()
        },
        "prefill",
    );
    refused(
        Machine {
            buffer: 0,
            ..machine.clone()
        },
        "buffer",
    );
    let stall = Some((0, Duration::from_secs(1)));
    refused(
        Machine {
            stall,
            ..machine.clone()
        },
        "stall",
    );
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        for pace in [Pace::Bytes(rate), Pace::Lines(rate)] {
            refused(
                Machine {
                    pace,
                    ..machine.clone()
                },
                "rate",
            );
        }
    }
}

#[test]
fn credit_never_shrinks_however_large_the_buffer() {
    let machine = Machine {
        buffer: u64::MAX,
        pace: Pace::Lines(1_000.0),
        ..Machine::default()
    };
    let receiver = bind(ReceiverOptions::default().with(|with| with.machine = machine));
    let (_, received) = with(&receiver, || {
        let (mut wire, accept) = Wire::begin(&receiver, &job(false));
        let (mut credit, mut is_done) = (accept.credit, false);
        for line in 0..50 {
            wire.lines(line, 1);
            for status in wire.statuses_until(|status| status.executed > line) {
                assert!(status.credit >= credit, "{} after {credit}", status.credit);
                (credit, is_done) = (status.credit, status.activity == Activity::Done);
            }
        }
        if !is_done {
            wire.end();
        }
    });
    assert_eq!(received.unwrap().executed, 50);
}

#[test]
fn connections_that_say_nothing_do_not_keep_a_sender_out() {
    let receiver = bind(ReceiverOptions::default());
    let (_, received) = with(&receiver, || {
        // More than there are places, for as long as the sender works, and taken before it.
        let idle: Vec<Wire> = (0..40).map(|_| Wire::new(&receiver)).collect();
        let (mut wire, _) = Wire::begin(&receiver, &job(false));
        wire.lines(0, 5);
        wire.until(|status| status.executed == 5);
        // The one that drives keeps its place, and gets another when it comes back.
        let more: Vec<Wire> = (0..40).map(|_| Wire::new(&receiver)).collect();
        wire.lines(5, 5);
        wire.until(|status| status.executed == 10);
        let (mut wire, accept) = Wire::begin(&receiver, &job(false));
        assert_eq!(accept.next, 10);
        wire.lines(10, 40);
        wire.end();
        drop((idle, more));
    });
    assert_eq!(received.unwrap().executed, 50);
}

#[test]
fn clients_that_come_again_whenever_they_are_cut_do_not_keep_a_sender_out() {
    let receiver = bind(ReceiverOptions::default());
    let (_, received) = with(&receiver, || {
        let address = receiver.address().to_string();
        let address = address.trim_start_matches("tcp://");
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..40 {
                scope.spawn(|| {
                    while !is_done.load(Ordering::Relaxed) {
                        let mut socket = TcpStream::connect(address).unwrap();
                        // What waits to be taken is not cut at the end.
                        socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
                        let _ = std::io::copy(&mut socket, &mut std::io::sink());
                    }
                });
            }
            let raster = Flat { tall: 50 };
            let program = Program::new(&Scan::default(), &Tables::default(), &raster.raster()).unwrap();
            let sender = SenderOptions::new(receiver.address().clone());
            let sent = send_all(&program, &raster, &sender);
            is_done.store(true, Ordering::Relaxed);
            assert_eq!(sent.unwrap(), 50);
        });
    });
    assert_eq!(received.unwrap().executed, 50);
}

/// A raster of zeros, 10 columns wide.
struct Flat {
    tall: u64,
}

impl Windows for Flat {
    fn raster(&self) -> Raster {
        Raster::new(10, self.tall, Depth::Eight)
    }

    fn read(&self, _: Rect, _: SamplesMut<'_>, _: &Cancel) -> Result<(), relief_engine::Error> {
        Ok(())
    }
}

/// Sends a whole job; the lines executed.
fn send_all(program: &Program, raster: &Flat, sender: &SenderOptions) -> Result<u64, Error> {
    let job = Job::new(program, [1; 32], [2; 32], [9; 16]);
    let control = Control::default();
    send(program, raster, job, sender, None, &control, &mut |_| ()).map(|sent| sent.executed)
}

#[test]
fn a_job_that_makes_no_sense_is_told_from_another_frame() {
    let receiver = bind(ReceiverOptions::default());
    while_running(&receiver, || {
        let mut wire = Wire::new(&receiver);
        wire.hello();
        wire.say(Kind::Job, 0, 0, &job(false).encode()[..63]);
        let refusal = wire.refusal();
        assert_eq!(refusal.code, Code::Malformed);
        assert!(
            refusal.text.contains("JOB came with 63 bytes"),
            "{}",
            refusal.text
        );
        let mut wire = Wire::new(&receiver);
        wire.hello();
        wire.tell(Kind::Ping);
        let refusal = wire.refusal();
        assert_eq!(refusal.text, "PING came where JOB was expected");
    });
}

#[test]
fn runs_that_do_not_sum_up_or_are_not_whole_are_refused() {
    let receiver = bind(ReceiverOptions::default());
    while_running(&receiver, || {
        let refused = |lines: &[&[u8]]| {
            let (mut wire, _) = Wire::begin(&receiver, &job(true));
            let table: Vec<u8> = lines
                .iter()
                .flat_map(|line| (line.len() as u32).to_le_bytes())
                .collect();
            let payload = [table, lines.concat()].concat();
            wire.say(Kind::Lines, 0, lines.len() as u32, &payload);
            let refusal = wire.refusal();
            assert_eq!(refusal.code, Code::Malformed);
            refusal.text
        };
        let good = [10, 0, 7];
        for (line, expected) in [
            (&[10, 0, 7, 1][..], "whole runs"),
            (&[9, 0, 7], "10 are expected"),
            (&[11, 0, 7], "10 are expected"),
            (&[10, 0, 7, 0, 0, 7], "at least 1"),
        ] {
            let text = refused(&[&good, line]);
            assert!(text.contains("line 1 of it") && text.contains(expected), "{text}");
        }
    });
}

/// Waits until the receiver's last words lie in the socket, unread.
fn wait_for_done(wire: &Wire) {
    let mut bytes = vec![0; 1 << 16];
    loop {
        let count = wire.0.peek(&mut bytes).unwrap();
        let mut rest = &bytes[..count];
        while let Ok(Some((header, payload, length))) = frame::decode(rest) {
            let is_done = |status: Status| status.activity == Activity::Done;
            if header.kind == Kind::Status && Status::decode(payload).is_some_and(is_done) {
                return;
            }
            rest = &rest[length..];
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_sender_that_did_not_hear_the_end_may_come_back_for_it() {
    let receiver = bind(ReceiverOptions::default());
    let (_, received) = with(&receiver, || {
        let (mut wire, _) = Wire::begin(&receiver, &job(false));
        wire.lines(0, 50);
        wait_for_done(&wire);
        // What is unread is lost, and the connection with it.
        drop(wire);
        let (wire, accept) = Wire::begin(&receiver, &job(false));
        assert_eq!(accept.executed, 50);
        wire.end();
    });
    let received = received.unwrap();
    assert!(received.acknowledged && received.executed == 50, "{received:?}");
}

#[test]
fn a_receiver_says_so_where_its_sender_may_not_know_the_end() {
    let receiver =
        bind(ReceiverOptions::default().with(|with| with.idle_timeout = Duration::from_millis(300)));
    let (_, received) = with(&receiver, || {
        let (mut wire, _) = Wire::begin(&receiver, &job(false));
        wire.lines(0, 50);
        wait_for_done(&wire);
    });
    let received = received.unwrap();
    assert!(!received.acknowledged && received.executed == 50, "{received:?}");
}

fn certificate(folder: &Path) -> Acceptor {
    let made = rcgen::generate_simple_self_signed(vec!["machine".to_owned()]).unwrap();
    let (certificate, key) = (folder.join("certificate"), folder.join("key"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    Acceptor::open(&certificate, &key).unwrap()
}

#[test]
fn an_address_means_what_it_says_about_encryption() {
    let folder = tempfile::tempdir().unwrap();
    let tls = certificate(folder.path());
    let refused = |address: &str, tls: Option<Acceptor>| {
        let options = ReceiverOptions::default().with(|with| with.tls = tls);
        let bound = Receiver::bind(&address.parse().unwrap(), options);
        matches!(bound, Err(Error::Tls { .. }))
    };
    assert!(refused("tls://127.0.0.1:0", None), "in the clear");
    let socket = folder.path().join("socket");
    assert!(refused(&format!("unix:{}", socket.display()), Some(tls.clone())));
    assert!(!refused("tls://127.0.0.1:0", Some(tls.clone())));
    // A sender that pins a certificate speaks to nobody without one.
    let receiver = bind(ReceiverOptions::default());
    while_running(&receiver, || {
        let raster = Flat { tall: 50 };
        let program = Program::new(&Scan::default(), &Tables::default(), &raster.raster()).unwrap();
        let sender = SenderOptions::new(receiver.address().clone()).with(|with| with.pin = Some(tls.pin()));
        let sent = send_all(&program, &raster, &sender);
        assert!(matches!(sent, Err(Error::Tls { .. })), "{sent:?}");
    });
}

#[test]
fn a_handshake_of_tls_that_never_ends_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let pin = certificate(folder.path()).pin();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address: Address = format!("tls://{}", listener.local_addr().unwrap())
        .parse()
        .unwrap();
    std::thread::scope(|scope| {
        let dripping = scope.spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            // A record of TLS of 16 KiB, a byte whenever the idle timeout is about to end: it would take an hour.
            socket.write_all(&[0x16, 3, 3, 0x40, 0]).unwrap();
            (0..16_384).all(|_| {
                std::thread::sleep(Duration::from_millis(200));
                socket.write_all(&[0]).is_ok()
            })
        });
        let raster = Flat { tall: 50 };
        let program = Program::new(&Scan::default(), &Tables::default(), &raster.raster()).unwrap();
        let sender = SenderOptions::new(address).with(|with| {
            with.pin = Some(pin);
            with.idle_timeout = Duration::from_secs(1);
            with.reconnect_timeout = Duration::ZERO;
        });
        let sent = send_all(&program, &raster, &sender);
        assert!(matches!(sent, Err(Error::Connect { .. })), "{sent:?}");
        assert!(!dripping.join().unwrap(), "the whole record was waited for");
    });
}

#[test]
fn a_receiver_on_all_addresses_ends_with_its_job() {
    let options = ReceiverOptions::default();
    let receiver = Receiver::bind(&"tcp://0.0.0.0:0".parse().unwrap(), options).unwrap();
    let port = receiver.address().to_string();
    let port = port.rsplit_once(':').unwrap().1;
    let (_, received) = with(&receiver, || {
        let raster = Flat { tall: 50 };
        let program = Program::new(&Scan::default(), &Tables::default(), &raster.raster()).unwrap();
        let address = format!("tcp://127.0.0.1:{port}").parse().unwrap();
        send_all(&program, &raster, &SenderOptions::new(address)).unwrap();
    });
    assert_eq!(received.unwrap().executed, 50);
}

#[test]
fn a_sender_that_closes_as_soon_as_it_hears_the_end_has_heard_it() {
    // Often: the receiver notes what it said while the sender closes.
    for _ in 0..100 {
        let receiver = bind(ReceiverOptions::default());
        let (_, received) = with(&receiver, || {
            let (mut wire, _) = Wire::begin(&receiver, &job(false));
            wire.lines(0, 50);
            wire.end();
        });
        assert!(received.unwrap().acknowledged);
    }
}
