//! How a job ends, and what its record says then: a sender against machines that say what they are told to say, over
//! real sockets.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use relief_engine::{Cancel, Raster, Rect, SamplesMut};
use relief_machine::frame::{self, Header, Kind};
use relief_machine::message::{Accept, Activity, Code, Job, Message, Refusal, Status, Welcome};
use relief_machine::{
    Address, Control, Cut, Error, Input, JobState, Manifest, Receiver, ReceiverOptions, Record,
    SenderOptions, Sent, send, verify,
};
use relief_raster::Depth;
use relief_scan::{Program, Scan, Tables, Windows};

const LINES: u64 = 50;
const LINE: u64 = 10;

/// A raster that is a function of its coordinates.
struct Mixed;

impl Windows for Mixed {
    fn raster(&self) -> Raster {
        Raster::new(LINE, LINES, Depth::Eight)
    }

    fn read(&self, window: Rect, out: SamplesMut<'_>, _: &Cancel) -> Result<(), relief_engine::Error> {
        if let SamplesMut::Eight(out) = out {
            for (index, out) in out.iter_mut().enumerate() {
                *out = sample(window, index as u64);
            }
        }
        Ok(())
    }
}

fn sample(window: Rect, index: u64) -> u8 {
    let (x, y) = (
        window.x() as u64 + index % window.width(),
        window.y() as u64 + index / window.width(),
    );
    (x.wrapping_mul(31) ^ y.wrapping_mul(17)) as u8
}

fn all() -> Vec<u8> {
    let whole = Rect::new(0, 0, LINE, LINES).unwrap();
    (0..LINE * LINES).map(|index| sample(whole, index)).collect()
}

fn program() -> Program {
    Program::new(&Scan::default(), &Tables::default(), &Mixed.raster()).unwrap()
}

fn job(program: &Program) -> Job {
    Job::new(program, [1; 32], [2; 32], [9; 16])
}

fn manifest(program: &Program, address: &Address) -> Manifest {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let job = job(program);
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
        images: Vec::new(),
        material: None,
        machine: None,
        region: None,
        scan: program.scan().clone(),
        program: program.digest().to_string(),
        lines: LINES,
        line_bytes: LINE,
        prepared: Vec::new(),
        taken: false,
        executed: 0,
        file_bytes: None,
        complete: false,
        cut: Cut::new(LINES, LINE),
        bands: Vec::new(),
        open: Vec::new(),
    }
}

/// A manifest of a job that its machine has taken, with so many lines executed.
fn taken(program: &Program, address: &Address, executed: u64) -> Manifest {
    Manifest {
        taken: true,
        executed,
        ..manifest(program, address)
    }
}

fn options(address: &Address) -> SenderOptions {
    SenderOptions::new(address.clone()).with(|with| {
        with.look_ahead = 1 << 20;
        with.high_water = 1;
        with.idle_timeout = Duration::from_millis(800);
        with.reconnect_timeout = Duration::ZERO;
        with.record_every = Duration::from_millis(5);
    })
}

fn run(options: &SenderOptions, record: Option<&mut Record>, control: &Control) -> Result<Sent, Error> {
    let program = program();
    send(
        &program,
        &Mixed,
        job(&program),
        options,
        record,
        control,
        &mut |_| (),
    )
}

const ACCEPT: Accept = Accept {
    executed: 0,
    next: 0,
    credit: 1 << 20,
    largest: 1 << 20,
    idle_timeout: 800,
};

/// The machine's end of a connection.
struct Machine(TcpStream);

impl Machine {
    fn say(&mut self, kind: Kind, payload: &[u8]) {
        frame::write(&mut self.0, &Header::new(kind, 0, 0, payload), &[payload]).unwrap();
    }

    fn tell(&mut self, executed: u64, received: u64, activity: Activity) {
        let status = Status {
            executed,
            received,
            credit: 1 << 20,
            buffered: 0,
            underruns: 0,
            activity,
        };
        self.say(Kind::Status, &status.encode());
    }

    /// The next frame of a kind; others are passed over. `None` where the sender has gone.
    fn wait(&mut self, kind: Kind) -> Option<Vec<u8>> {
        let mut payload = Vec::new();
        while let Ok(Some(header)) = frame::read(&mut self.0, &mut payload) {
            if header.kind == kind {
                return Some(payload);
            }
        }
        None
    }

    /// Until the sender closes the connection.
    fn gone(mut self) {
        let _ = std::io::copy(&mut self.0, &mut std::io::sink());
    }
}

/// A machine of version `version` that takes one job as `accept` says and then does what it is told to.
fn with<T: Send>(
    version: u16,
    accept: Accept,
    machine: impl FnOnce(Machine) + Send,
    sender: impl FnOnce(&Address) -> T,
) -> T {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", listener.local_addr().unwrap());
    let address: Address = address.parse().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut connection = Machine(listener.accept().unwrap().0);
            // No others: who comes again is refused by the system.
            drop(listener);
            connection.wait(Kind::Hello).unwrap();
            let welcome = Welcome {
                version,
                secret: false,
                nonce: [0; 32],
                proof: [0; 32],
            };
            connection.say(Kind::Welcome, &welcome.encode());
            if version == 1 {
                connection.wait(Kind::Job).unwrap();
                connection.say(Kind::Accept, &accept.encode());
            }
            machine(connection);
        });
        sender(&address)
    })
}

/// Runs a recorded job against a machine; gives how it ended and the manifest on disk, where there is one.
fn recorded(
    accept: Accept,
    begun: fn(&Program, &Address) -> Manifest,
    machine: impl FnOnce(Machine, &Control, &Path) + Send,
) -> (Result<Sent, Error>, Option<Manifest>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("job.json");
    let control = Control::new(&Cancel::new());
    let (inner, there) = (control.clone(), path.clone());
    let outcome = with(
        1,
        accept,
        move |connection| machine(connection, &inner, &there),
        |address| {
            let manifest = begun(&program(), address);
            let resumed = manifest.taken;
            let mut record = if resumed {
                manifest.write(&path).unwrap();
                Record::resume(&path).unwrap()
            } else {
                Record::begin(&path, manifest).unwrap()
            };
            run(&options(address), Some(&mut record), &control)
        },
    );
    (outcome, path.exists().then(|| Manifest::read(&path).unwrap()))
}

#[test]
fn a_line_under_way_when_the_job_is_stopped_is_waited_for_as_long_as_the_machine_is_heard() {
    let (outcome, manifest) = recorded(ACCEPT, manifest, |mut machine, control, _| {
        machine.wait(Kind::End).unwrap();
        machine.tell(10, LINES, Activity::Running);
        control.abort();
        machine.wait(Kind::Abort).unwrap();
        // Line 10 is under way; one machine says so by its activity, another by its lines.
        for activity in [Activity::Running, Activity::Aborted]
            .into_iter()
            .cycle()
            .take(16)
        {
            machine.tell(10, 11, activity);
            // A quarter of the idle timeout later the sender still waits: all in all several times the idle timeout.
            machine.wait(Kind::Ping).unwrap();
        }
        machine.tell(11, 11, Activity::Aborted);
        machine.gone();
    });
    assert!(
        matches!(outcome, Err(Error::Stopped { executed: 11 })),
        "{outcome:?}"
    );
    let manifest = manifest.unwrap();
    assert_eq!((manifest.executed, manifest.complete), (11, false));
}

#[test]
fn a_job_whose_last_line_was_under_way_when_it_was_stopped_is_done() {
    let (outcome, manifest) = recorded(ACCEPT, manifest, |mut machine, control, _| {
        machine.wait(Kind::End).unwrap();
        machine.tell(LINES - 1, LINES, Activity::Running);
        control.abort();
        machine.wait(Kind::Abort).unwrap();
        machine.tell(LINES, LINES, Activity::Done);
        machine.gone();
    });
    assert_eq!(outcome.unwrap().executed, LINES);
    assert!(manifest.unwrap().complete);
}

#[test]
fn a_machine_that_is_not_heard_to_stop_is_not_said_to_have_stopped() {
    // One goes, one says nothing any more.
    for goes in [true, false] {
        let (outcome, manifest) = recorded(ACCEPT, manifest, move |mut machine, control, _| {
            machine.wait(Kind::End).unwrap();
            machine.tell(10, LINES, Activity::Running);
            control.abort();
            machine.wait(Kind::Abort).unwrap();
            if !goes {
                machine.gone();
            }
        });
        assert!(
            matches!(outcome, Err(Error::Unheard { executed: 10 })),
            "{outcome:?}"
        );
        let manifest = manifest.unwrap();
        assert_eq!((manifest.executed, manifest.complete), (10, false));
    }
}

#[test]
fn lines_that_are_all_executed_are_not_a_job_that_is_done() {
    let (outcome, manifest) = recorded(ACCEPT, manifest, |mut machine, _, _| {
        machine.wait(Kind::End).unwrap();
        // What it has executed is not stored when the power goes.
        machine.tell(LINES, LINES, Activity::Running);
    });
    assert!(matches!(outcome, Err(Error::Lost { .. })), "{outcome:?}");
    let manifest = manifest.unwrap();
    assert_eq!((manifest.executed, manifest.complete), (LINES, false));
    // It is asked again, and says so.
    let all = Accept {
        executed: LINES,
        next: LINES,
        ..ACCEPT
    };
    let all_taken = |program: &Program, address: &Address| taken(program, address, LINES);
    let (outcome, manifest) = recorded(all, all_taken, |mut machine, _, _| {
        machine.wait(Kind::End).unwrap();
        machine.tell(LINES, LINES, Activity::Done);
        machine.gone();
    });
    assert_eq!(outcome.unwrap().executed, LINES);
    assert!(manifest.unwrap().complete);
}

#[test]
fn a_machine_that_has_begun_a_new_job_is_refused_unless_it_is_to_be_gone_on_with() {
    for (executed, next) in [(7, 9), (0, 5)] {
        let accept = Accept {
            executed,
            next,
            ..ACCEPT
        };
        let (outcome, manifest) = recorded(accept, manifest, |machine, _, _| machine.gone());
        let error = outcome.unwrap_err();
        assert!(
            matches!(error, Error::Begun { executed: said, received, known: 0, lines: LINES }
                if (said, received) == (executed, next)),
            "{error:?}"
        );
        let text = error.to_string();
        assert!(text.contains("--continue") && text.contains("forget"), "{text}");
        // Nothing was begun here, so nothing is left that looks as if it had been.
        assert!(manifest.is_none());
        let finish = |mut machine: Machine| {
            machine.wait(Kind::End).unwrap();
            machine.tell(LINES, LINES, Activity::Done);
            machine.gone();
        };
        let sent = with(1, accept, finish, |address| {
            let options = options(address).with(|with| with.go_on = true);
            run(&options, None, &Control::default())
        });
        let sent = sent.unwrap();
        assert_eq!((sent.before, sent.executed), (executed, LINES));
    }
}

#[test]
fn a_job_that_by_its_manifest_a_machine_has_taken_goes_on_where_the_machine_is() {
    let accept = Accept {
        executed: 30,
        next: 40,
        ..ACCEPT
    };
    let ten = |program: &Program, address: &Address| taken(program, address, 10);
    let (outcome, _) = recorded(accept, ten, |mut machine, _, _| {
        machine.wait(Kind::End).unwrap();
        machine.tell(LINES, LINES, Activity::Done);
        machine.gone();
    });
    assert_eq!(outcome.unwrap().before, 30);
    // A manifest that no machine has taken is that of a new job, however often it is taken up.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("job.json");
    let outcome = with(1, accept, Machine::gone, |address| {
        manifest(&program(), address).write(&path).unwrap();
        let mut record = Record::resume(&path).unwrap();
        run(&options(address), Some(&mut record), &Control::default())
    });
    assert!(
        matches!(
            outcome,
            Err(Error::Begun {
                executed: 30,
                known: 0,
                ..
            })
        ),
        "{outcome:?}"
    );
}

#[test]
fn what_is_claimed_to_be_executed_is_written_only_when_a_machine_takes_the_job_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("job.json");
    let nobody: Address = {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        format!("tcp://{port}").parse().unwrap()
    };
    let before = taken(&program(), &nobody, 20);
    let claim = |address: &Address, claimed| {
        Manifest {
            address: address.to_string(),
            ..before.clone()
        }
        .write(&path)
        .unwrap();
        let mut record = Record::resume(&path).unwrap();
        record.claim(claimed)?;
        run(&options(address), Some(&mut record), &Control::default())
    };
    let stored = || {
        let manifest = Manifest::read(&path).unwrap();
        (manifest.executed, manifest.complete)
    };
    // Nobody is there, or a machine knows better.
    assert!(matches!(claim(&nobody, LINES), Err(Error::Connect { .. })));
    assert_eq!(stored(), (20, false));
    let accept = Accept {
        executed: 25,
        next: 25,
        ..ACCEPT
    };
    for claimed in [LINES, 26] {
        let outcome = with(1, accept, Machine::gone, |address| claim(address, claimed));
        let error = outcome.unwrap_err();
        assert!(matches!(error, Error::Behind { executed: 25, .. }), "{error:?}");
        assert!(error.to_string().contains("--executed 25"), "{error}");
        assert_eq!(stored(), (20, false));
    }
    assert!(matches!(claim(&nobody, LINES + 1), Err(Error::Manifest { .. })));
}

#[test]
fn a_machine_that_lost_what_it_had_recorded_is_believed_when_it_is_said_to_be_right() {
    let folder = tempfile::tempdir().unwrap();
    let (output, path) = (folder.path().join("executed"), folder.path().join("job.json"));
    let local = "tcp://127.0.0.1:0".parse().unwrap();
    let with_output = ReceiverOptions::default().with(|with| with.output = Some(output.clone()));
    let receiver = Receiver::bind(&local, with_output).unwrap();
    taken(&program(), receiver.address(), 40).write(&path).unwrap();
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receiver.run());
        let mut record = Record::resume(&path).unwrap();
        record.claim(0).unwrap();
        let sent = run(
            &options(receiver.address()),
            Some(&mut record),
            &Control::default(),
        );
        if sent.is_err() {
            receiver.stop();
        }
        let received = received.join().unwrap();
        assert_eq!(sent.unwrap().executed, LINES);
        assert_eq!(received.unwrap().executed, LINES);
    });
    assert_eq!(std::fs::read(&output).unwrap(), all());
    let manifest = Manifest::read(&path).unwrap();
    assert!(manifest.complete);
    let verified = verify(&manifest, &program(), &[output]).unwrap();
    assert_eq!(verified.compared, LINES);
}

#[test]
fn the_manifest_knows_that_a_machine_has_the_job_before_it_has_a_line() {
    let (outcome, manifest) = recorded(ACCEPT, manifest, |mut machine, _, path| {
        machine.wait(Kind::Lines).unwrap();
        assert!(Manifest::read(path).unwrap().taken);
        machine.wait(Kind::End).unwrap();
        machine.tell(LINES, LINES, Activity::Done);
        machine.gone();
    });
    outcome.unwrap();
    assert!(manifest.unwrap().complete);
}

#[test]
fn a_manifest_of_a_job_that_nobody_took_is_not_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("job.json");
    let nobody: Address = {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        format!("tcp://{port}").parse().unwrap()
    };
    for _ in 0..2 {
        let mut record = Record::begin(&path, manifest(&program(), &nobody)).unwrap();
        let outcome = run(&options(&nobody), Some(&mut record), &Control::default());
        assert!(matches!(outcome, Err(Error::Connect { .. })), "{outcome:?}");
        assert!(!path.exists());
    }
}

#[test]
fn a_machine_of_another_version_is_told_so_and_gets_no_job() {
    let said = std::sync::Mutex::new(None);
    let outcome = with(
        2,
        ACCEPT,
        |mut machine| {
            let refusal = machine.wait(Kind::Error).unwrap();
            *said.lock().unwrap() = Some(Refusal::decode(&refusal).unwrap().code);
            machine.gone();
        },
        |address| run(&options(address), None, &Control::default()),
    );
    assert!(
        matches!(outcome, Err(Error::Version { found: 2, .. })),
        "{outcome:?}"
    );
    assert_eq!(said.into_inner().unwrap(), Some(Code::Version));
}

#[test]
fn a_panic_of_whoever_watches_does_not_leave_the_others_waiting() {
    let nobody: Address = "tcp://127.0.0.1:1".parse().unwrap();
    let options = options(&nobody).with(|with| with.reconnect_timeout = Duration::from_secs(3_600));
    let program = program();
    let watched = std::panic::catch_unwind(|| {
        send(
            &program,
            &Mixed,
            job(&program),
            &options,
            None,
            &Control::default(),
            &mut |_| panic!("watching went wrong"),
        )
    });
    assert!(watched.is_err());
}

#[test]
fn a_job_that_is_stopped_before_a_machine_has_it_ends_at_once() {
    // It takes connections and never says a word.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address: Address = format!("tcp://{}", listener.local_addr().unwrap())
        .parse()
        .unwrap();
    let options = options(&address).with(|with| {
        with.idle_timeout = Duration::from_secs(3_600);
        with.reconnect_timeout = Duration::from_secs(3_600);
    });
    let control = Control::new(&Cancel::new());
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| run(&options, None, &control));
        let mut machine = Machine(listener.accept().unwrap().0);
        machine.wait(Kind::Hello).unwrap();
        control.abort();
        let outcome = sender.join().unwrap();
        assert!(
            matches!(outcome, Err(Error::Stopped { executed: 0 })),
            "{outcome:?}"
        );
    });
}

#[test]
fn progress_tells_where_a_job_stands() {
    let mut seen = Vec::new();
    let control = Control::new(&Cancel::new());
    let inner = control.clone();
    let machine = move |mut machine: Machine| {
        machine.wait(Kind::End).unwrap();
        machine.tell(10, LINES, Activity::Running);
        inner.abort();
        machine.wait(Kind::Abort).unwrap();
        machine.wait(Kind::Ping).unwrap();
        machine.tell(10, 10, Activity::Aborted);
        machine.gone();
    };
    let outcome = with(1, ACCEPT, machine, |address| {
        let program = program();
        let options = options(address);
        send(
            &program,
            &Mixed,
            job(&program),
            &options,
            None,
            &control,
            &mut |progress| {
                if seen.last() != Some(&progress.state) {
                    seen.push(progress.state);
                }
            },
        )
    });
    assert!(
        matches!(outcome, Err(Error::Stopped { executed: 10 })),
        "{outcome:?}"
    );
    let expected = [JobState::Waiting, JobState::Running, JobState::Stopping];
    assert!(expected.ends_with(&seen) && seen.len() >= 2, "{seen:?}");
}
