//! Bytes off the wire: frames and messages survive the way there and back, and nothing else is taken for one.

use proptest::prelude::*;
use relief_machine::frame::{self, HEADER, Header, Kind};
use relief_machine::message::{self, Accept, Activity, Code, Hello, Job, Message, Refusal, Status, Welcome};
use relief_machine::{Manifest, SCHEMA};
use relief_scan::Packing;

fn any_job() -> Job {
    Job {
        id: [1; 32],
        token: [2; 16],
        from: 3,
        lines: 100,
        samples: 5,
        channels: 1,
        passes: 1,
        line_bytes: 5,
        pixel: 1_000_000,
        width: 5,
        height: 100,
        packing: Packing::default(),
        run_length: false,
        design: [3; 32],
        scan: [4; 32],
        material: [0; 32],
        machine: [5; 32],
    }
}

fn there_and_back<M: Message + PartialEq + std::fmt::Debug>(message: &M) {
    let bytes = message.encode();
    assert_eq!(M::decode(&bytes).as_ref(), Some(message));
    assert!(
        M::decode(&[bytes.as_slice(), &[0; 9]].concat()).is_some(),
        "room for later versions"
    );
}

#[test]
fn messages_read_back_as_they_were_written() {
    there_and_back(&Hello {
        version: 1,
        nonce: [7; 32],
    });
    there_and_back(&Welcome {
        version: 1,
        secret: true,
        nonce: [7; 32],
        proof: [8; 32],
    });
    there_and_back(&any_job());
    there_and_back(&Accept {
        executed: 1,
        next: 2,
        credit: 3,
        largest: 4,
        idle_timeout: 5,
    });
    there_and_back(&Status {
        executed: 1,
        received: 2,
        credit: 3,
        buffered: 4,
        underruns: 5,
        activity: Activity::Paused,
    });
    assert_eq!(any_job().encode().len(), 240);
    let long = Refusal {
        code: Code::Busy,
        text: "ü".repeat(5_000),
    };
    assert!(
        Refusal::decode(&long.encode())
            .is_some_and(|read| read.text.len() <= 1_024 && !read.text.contains('\u{FFFD}'))
    );
}

#[test]
fn the_checksum_is_the_one_of_the_description() {
    let header = Header::new(Kind::Lines, 0, 1, b"123456789");
    assert_eq!(header.checksum, 0xE306_9283);
}

#[test]
fn every_single_bit_that_flips_is_noticed() {
    let payload = b"some lines".as_slice();
    let header = Header::new(Kind::Lines, 9, 2, payload);
    let bytes = [header.encode().as_slice(), payload].concat();
    assert_eq!(frame::decode(&bytes), Ok(Some((header, payload, HEADER + 10))));
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(frame::decode(&damaged).is_err(), "bit {bit}");
    }
}

#[test]
fn a_frame_longer_than_its_kind_may_be_is_refused_before_it_is_read() {
    let mut bytes = Header::new(Kind::Lines, 0, 1, &[]).encode();
    for (kind, length) in [(6_u8, (1_u32 << 24) + 1), (4, 4_097), (6, u32::MAX)] {
        bytes[4] = kind;
        bytes[16..20].copy_from_slice(&length.to_le_bytes());
        let checksum = crc32c::crc32c(&bytes[..28]);
        bytes[28..].copy_from_slice(&checksum.to_le_bytes());
        assert!(matches!(
            frame::decode(&bytes),
            Err(frame::FrameError::Length { .. })
        ));
    }
}

#[test]
fn the_schema_describes_the_manifests_that_are_written() {
    let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let text = format!(
        r#"{{"version": 1, "address": "tcp://127.0.0.1:1", "job": "{0}", "token": "{1}",
        "design": {{"path": "a", "digest": "{0}"}}, "images": [], "parameters": [{{"name": "serial", "value": "7"}}], "scan": {{}}, "program": "{0}", "lines": 100,
        "line_bytes": 2000000, "executed": 20, "complete": false, "cut": {{"group": 1, "band": 16}},
        "bands": [{{"first": 0, "lines": 16, "digest": "{0}"}}], "open": ["{0}"]}}"#,
        "0a".repeat(32),
        "0b".repeat(16)
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("job.json");
    let try_with = |text: &str| {
        std::fs::write(&path, text).unwrap();
        Manifest::read(&path)
    };
    let manifest = try_with(&text).unwrap();
    manifest.write(&path).unwrap();
    let written: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert!(
        validator.is_valid(&written),
        "{:?}",
        validator
            .iter_errors(&written)
            .map(|error| error.to_string())
            .collect::<Vec<_>>()
    );
    for (from, to) in [
        ("\"executed\": 20", "\"executed\": 16"),
        ("\"executed\": 20", "\"executed\": 101"),
        ("\"first\": 0", "\"first\": 1"),
        ("\"group\": 1", "\"group\": 2"),
        ("\"version\": 1", "\"version\": 2"),
        ("\"complete\": false", "\"complete\": true"),
    ] {
        assert!(try_with(&text.replace(from, to)).is_err(), "{to}");
    }
}

proptest! {
    #[test]
    fn frames_read_back_as_they_were_written(
        sequence: u64,
        count: u32,
        payload in prop::collection::vec(any::<u8>(), 0..500),
        rest in prop::collection::vec(any::<u8>(), 0..50),
    ) {
        let header = Header::new(Kind::Lines, sequence, count, &payload);
        let mut bytes = Vec::new();
        frame::write(&mut bytes, &header, &[&payload[..payload.len() / 2], &payload[payload.len() / 2..]]).unwrap();
        let length = bytes.len();
        for cut in 0..length {
            prop_assert_eq!(frame::decode(&bytes[..cut]), Ok(None));
        }
        bytes.extend_from_slice(&rest);
        prop_assert_eq!(frame::decode(&bytes), Ok(Some((header, payload.as_slice(), length))));
        let mut read = Vec::new();
        prop_assert_eq!(frame::read(&mut bytes.as_slice(), &mut read).unwrap(), Some(header));
        prop_assert_eq!(read, payload);
    }

    #[test]
    fn no_bytes_are_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..300), count: u32, runs: bool) {
        let _ = frame::decode(&bytes);
        let _ = (Hello::decode(&bytes), Welcome::decode(&bytes), Accept::decode(&bytes), Status::decode(&bytes));
        let _ = (Job::decode(&bytes), Refusal::decode(&bytes));
        let job = Job { run_length: runs, ..any_job() };
        let checked = message::check_lines(&job, count, &bytes);
        prop_assert_eq!(checked.ok(), message::lines(&job, count, &bytes).map(|(lines, _)| lines));
        if let Some((lines, ends)) = message::lines(&job, count, &bytes) {
            prop_assert_eq!(ends.count(), u64::from(count));
            prop_assert_eq!(ends.end(u64::from(count) - 1), lines.len());
        }
    }

    #[test]
    fn runs_are_lines_exactly_where_they_can_be_decoded(
        lines in prop::collection::vec(prop::collection::vec((0_u16..4, any::<u8>()), 0..4), 1..4),
        extra in prop::collection::vec(any::<u8>(), 0..2),
    ) {
        let job = Job { run_length: true, line_bytes: 15, ..any_job() };
        let line = |runs: &Vec<(u16, u8)>| -> Vec<u8> {
            runs.iter().flat_map(|(count, value)| [*count as u8, (*count >> 8) as u8, *value]).collect()
        };
        let mut bytes: Vec<Vec<u8>> = lines.iter().map(line).collect();
        bytes[0].extend(extra);
        let expected = bytes.iter().all(|line| {
            !line.is_empty() && line.len() <= 15 && relief_scan::runs::decode(job.packing, line, 5).is_some()
        });
        let table = bytes.iter().flat_map(|line| (line.len() as u32).to_le_bytes());
        let payload: Vec<u8> = table.chain(bytes.concat()).collect();
        let found = message::check_lines(&job, lines.len() as u32, &payload);
        prop_assert_eq!(found.is_ok(), expected, "{:?}", found);
        if let Ok(found) = found {
            prop_assert_eq!(found, bytes.concat());
        }
    }
}
