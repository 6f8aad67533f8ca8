//! What holds for any bytes where a record of a job is expected: manifests, journals, and files that are verified. Used by
//! the fuzz targets `manifest`, `journal` and `verify`, and by the test that replays their corpora.

use std::path::Path;
use std::sync::LazyLock;

use relief_engine::{Cancel, Raster, Rect, SamplesMut};
use relief_machine::frame::{self, Kind};
use relief_machine::message::Job;
use relief_machine::{
    Address, Control, Cut, Input, Manifest, Receiver, ReceiverOptions, Record, SenderOptions, send, verify,
};
use relief_raster::Depth;
use relief_scan::{Program, Scan, Tables, Windows};

const WIDTH: u64 = 7;
const HEIGHT: u64 = 40;

/// A raster that is a function of its coordinates.
struct Mixed;

impl Windows for Mixed {
    fn raster(&self) -> Raster {
        Raster::new(WIDTH, HEIGHT, Depth::Eight)
    }

    fn read(&self, window: Rect, out: SamplesMut<'_>, _: &Cancel) -> Result<(), relief_engine::Error> {
        if let SamplesMut::Eight(out) = out {
            for (index, out) in (0..).zip(out) {
                *out = sample(
                    window.x() as u64 + index % window.width(),
                    window.y() as u64 + index / window.width(),
                );
            }
        }
        Ok(())
    }
}

fn sample(x: u64, y: u64) -> u8 {
    ((x * 31) ^ (y * 17)) as u8
}

/// The lines of the job, one after the other.
static LINES: LazyLock<Vec<u8>> = LazyLock::new(|| {
    (0..WIDTH * HEIGHT)
        .map(|index| sample(index % WIDTH, index / WIDTH))
        .collect()
});

static PROGRAM: LazyLock<Program> = LazyLock::new(|| {
    Program::new(&Scan::default(), &Tables::default(), &Mixed.raster()).expect("a scan of the defaults")
});

fn job() -> Job {
    Job::new(&PROGRAM, [1; 32], [2; 32], [9; 16])
}

fn manifest_of(address: &Address) -> Manifest {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let job = job();
    Manifest {
        version: Manifest::VERSION,
        address: address.to_string(),
        pin: None,
        raw: true,
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
        scan: PROGRAM.scan().clone(),
        program: PROGRAM.digest().to_string(),
        lines: HEIGHT,
        line_bytes: WIDTH,
        prepared: Vec::new(),
        taken: false,
        executed: 0,
        file_bytes: None,
        complete: false,
        cut: Cut::new(HEIGHT, WIDTH),
        bands: Vec::new(),
        open: Vec::new(),
    }
}

/// A file for this process, overwritten by each input.
fn scratch(name: &str) -> std::path::PathBuf {
    static FOLDER: LazyLock<tempfile::TempDir> =
        LazyLock::new(|| tempfile::tempdir().expect("a folder for a test"));
    FOLDER.path().join(name)
}

/// A manifest is refused, or what is written of it reads the same.
pub(crate) fn manifest(bytes: &[u8]) {
    let path = scratch("job.json");
    std::fs::write(&path, bytes).expect("a file for a test");
    if let Ok(read) = Manifest::read(&path) {
        read.write(&path).expect("a file for a test");
        assert_eq!(Manifest::read(&path).ok().as_ref(), Some(&read));
        assert!(read.executed <= read.lines);
    }
}

/// The manifest of a job that went into a file to its end.
static COMPLETE: LazyLock<Manifest> = LazyLock::new(|| {
    let (output, path) = (scratch("whole.raw"), scratch("whole.json"));
    let address: Address = format!("file:{}", output.display()).parse().expect("an address");
    let mut record = Record::begin(&path, manifest_of(&address)).expect("a manifest");
    let options = SenderOptions::new(address).with(|with| with.raw = true);
    send(
        &PROGRAM,
        &Mixed,
        job(),
        &options,
        Some(&mut record),
        &Control::default(),
        &mut |_| (),
    )
    .expect("a job");
    drop(record);
    let manifest = Manifest::read(&path).expect("a manifest");
    assert!(manifest.complete);
    manifest
});

/// Nothing but the lines of the job, as they are or in frames, is said to agree with them.
pub(crate) fn verified(bytes: &[u8]) {
    let path = scratch("executed.raw");
    std::fs::write(&path, bytes).expect("a file for a test");
    let told = verify(&COMPLETE, &PROGRAM, &[path]);
    if told.is_ok_and(|told| told.compared == HEIGHT) {
        let framed = unframed(bytes);
        assert!(
            bytes == *LINES || framed.as_ref() == Some(&*LINES),
            "other lines were said to agree"
        );
    } else {
        assert!(bytes != *LINES, "the lines were said not to agree");
    }
}

/// The payloads of LINES frames, one after the other: lines of this job have one length and nothing between them.
fn unframed(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let (mut payload, mut all) = (Vec::new(), Vec::new());
    while let Some(header) = frame::read(&mut bytes, &mut payload).ok()? {
        if header.kind == Kind::Lines {
            all.extend_from_slice(&payload);
        }
    }
    Some(all)
}

/// Whatever stands in a journal, the job beside it is refused and its output left as it is, or goes on and is right at its
/// end. `bytes` are the journal; the first says how many bytes of the output are there.
pub(crate) fn journal(bytes: &[u8]) {
    let (first, journal) = bytes.split_first().unwrap_or((&0, &[]));
    let there = &LINES[..usize::from(*first).min(LINES.len())];
    let (output, beside) = (scratch("out.raw"), scratch("out.raw.journal"));
    std::fs::write(&output, there).expect("a file for a test");
    std::fs::write(&beside, journal).expect("a file for a test");
    let options = ReceiverOptions::default().with(|with| with.output = Some(output.clone()));
    let listen = "tcp://127.0.0.1:0".parse().expect("an address");
    let unchanged = || {
        assert!(
            std::fs::read(&output).expect("the output") == there,
            "a refused output was changed"
        )
    };
    let Ok(receiver) = Receiver::bind(&listen, options) else {
        return unchanged();
    };
    let address = receiver.address().clone();
    let sent = std::thread::scope(|scope| {
        let machine = scope.spawn(|| receiver.run());
        let options = SenderOptions::new(address).with(|with| {
            with.reconnect_timeout = std::time::Duration::ZERO;
            with.go_on = true;
        });
        let sent = send(
            &PROGRAM,
            &Mixed,
            job(),
            &options,
            None,
            &Control::default(),
            &mut |_| (),
        );
        if sent.is_err() {
            receiver.stop();
        }
        let _ = machine.join();
        sent
    });
    match sent {
        Ok(_) => assert!(
            std::fs::read(&output).expect("the output") == *LINES,
            "other lines were executed"
        ),
        // A connection may be lost at any time; what was executed until then stays.
        Err(_) => {
            let left = std::fs::read(&output).expect("the output");
            assert!(
                LINES.starts_with(&left) && left.len() >= there.len(),
                "executed lines were lost"
            );
        }
    }
}

/// Inputs to begin with: what Relief itself writes, whole and cut.
#[allow(dead_code, reason = "the targets take their inputs from the fuzzer")]
pub(crate) fn seeds() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let whole = serde_json::to_vec_pretty(&*COMPLETE).expect("a manifest");
    let begun = serde_json::to_vec_pretty(&manifest_of(&"tcp://127.0.0.1:7117".parse().expect("an address")));
    journal(&[0]);
    let mut beside = vec![255];
    beside.extend(std::fs::read(scratch("out.raw.journal")).expect("a journal"));
    let (framed, lines) = (scratch("framed.rlf"), LINES.clone());
    let options = SenderOptions::new(format!("file:{}", framed.display()).parse().expect("an address"));
    send(
        &PROGRAM,
        &Mixed,
        job(),
        &options,
        None,
        &Control::default(),
        &mut |_| (),
    )
    .expect("a job");
    let framed = std::fs::read(framed).expect("frames");
    vec![
        ("manifest", "complete.json", whole.clone()),
        ("manifest", "begun.json", begun.expect("a manifest")),
        ("manifest", "cut.json", whole[..whole.len() / 2].to_vec()),
        ("verify", "frames-cut", framed[..framed.len() - 40].to_vec()),
        ("verify", "frames", framed),
        ("verify", "lines-cut", lines[..100].to_vec()),
        ("verify", "lines", lines),
        ("journal", "whole", beside.clone()),
        ("journal", "output-cut", [&[90], &beside[1..]].concat()),
        ("journal", "empty", Vec::new()),
        ("journal", "head-of-zeros", [&[0; 49], &beside[49..]].concat()),
    ]
}

/// Puts every file of a corpus through what its target checks; how many there were.
#[allow(dead_code, reason = "the targets take their inputs from the fuzzer")]
pub(crate) fn replay(corpus: &Path, check: fn(&[u8])) -> usize {
    let mut count = 0;
    for entry in std::fs::read_dir(corpus).expect("a corpus") {
        check(&std::fs::read(entry.expect("a file").path()).expect("a file"));
        count += 1;
    }
    count
}
