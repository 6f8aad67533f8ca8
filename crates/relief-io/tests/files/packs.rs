//! Packed jobs that come from outside.

use std::io;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use relief_io::pack::{Job, Pack, pack};
use tempfile::TempDir;

#[path = "../../../../fuzz/pack_properties.rs"]
mod pack_properties;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn any_bytes_are_a_packed_job_or_refused(way in 0..3_u8, bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        pack_properties::packed(&[&[way], &bytes[..]].concat());
    }
}

/// An entry of an archive: its name, its kind and its bytes.
type Entry<'e> = (&'e str, tar::EntryType, &'e [u8]);

/// A list of a text and files.
fn list(text: &str, files: &[(&str, &[u8])]) -> String {
    let files: Vec<serde_json::Value> = files
        .iter()
        .map(|(path, bytes)| {
            serde_json::json!({ "path": path, "bytes": bytes.len(), "blake3": blake3::hash(bytes).to_string() })
        })
        .collect();
    serde_json::json!({
        "relief-pack": 1, "name": "a.kdl", "digest": "d", "parameters": [], "files": files,
        "text": { "bytes": text.len(), "blake3": blake3::hash(text.as_bytes()).to_string() },
    })
    .to_string()
}

fn written(folder: &TempDir, entries: &[Entry<'_>]) -> PathBuf {
    let path = folder.path().join("job.relief");
    let mut archive = tar::Builder::new(std::fs::File::create(&path).unwrap());
    for (name, kind, bytes) in entries {
        let mut header = tar::Header::new_ustar();
        // As written, whatever the crate would say of such a name.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(bytes.len() as u64);
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        header.set_cksum();
        archive.append(&header, *bytes).unwrap();
    }
    archive.finish().unwrap();
    path
}

#[test]
fn archives_that_are_no_packed_jobs_are_refused() {
    let folder = TempDir::new().unwrap();
    let file = tar::EntryType::Regular;
    let (text, picture) = ("relief version=1", &b"P5 1 1 255\n7"[..]);
    let good = list(text, &[("a.pgm", picture)]);
    let head = [
        ("relief.json", file, good.as_bytes()),
        ("design.kdl", file, text.as_bytes()),
    ];
    let with = |more: &[Entry<'_>]| Pack::open(&written(&folder, &[&head[..], more].concat()));
    assert!(with(&[("files/1.pgm", file, picture)]).is_ok());
    for (more, says) in [
        (vec![], "files/1.pgm is missing"),
        (vec![("files/1.pgm", file, &b"P5 1 1 255\n8"[..])], "other bytes"),
        (vec![("files/1.pgm", file, &picture[1..])], "other bytes"),
        (
            vec![("files/1.pgm", file, &[7; 4_000][..])],
            "has 4000 bytes, where at most 12",
        ),
        (
            vec![("../1.pgm", file, picture)],
            "../1.pgm stands where files/1.pgm should",
        ),
        (vec![("/etc/passwd", file, picture)], "stands where"),
        (
            vec![("files/1.pgm", tar::EntryType::Symlink, &[][..])],
            "stands where",
        ),
        (
            vec![("files/1.pgm", tar::EntryType::GNULongName, picture)],
            "stands where",
        ),
        (
            vec![("files/1.pgm", tar::EntryType::XHeader, picture)],
            "stands where",
        ),
        (
            vec![("files/1.pgm", file, picture), ("files/1.pgm", file, picture)],
            "does not name files/1.pgm",
        ),
        (
            vec![("files/1.pgm", file, picture), ("\u{1b}[2J", file, picture)],
            "does not name",
        ),
    ] {
        let why = with(&more).unwrap_err().to_string();
        assert!(why.contains(says) && !why.contains('\u{1b}'), "{says}: {why}");
    }
}

#[test]
fn a_packed_job_that_is_cut_short_anywhere_is_damaged() {
    let folder = TempDir::new().unwrap();
    let file = tar::EntryType::Regular;
    let (text, picture) = ("relief version=1", &b"P5 1 1 255\n7"[..]);
    let entries = [
        (
            "relief.json",
            file,
            list(text, &[("a.pgm", picture)]).into_bytes(),
        ),
        ("design.kdl", file, text.as_bytes().to_vec()),
        ("files/1.pgm", file, picture.to_vec()),
    ];
    let entries = entries
        .each_ref()
        .map(|(name, kind, bytes)| (*name, *kind, bytes.as_slice()));
    let path = written(&folder, &entries);
    let whole = std::fs::read(&path).unwrap();
    // Two blocks of zeros end the archive; nothing is missed without them.
    for length in (0..whole.len() - 1_024 - 500).step_by(61) {
        std::fs::write(&path, &whole[..length]).unwrap();
        let why = Pack::open(&path).map(|_| ()).unwrap_err().to_string();
        assert!(why.starts_with("the packed job is damaged: "), "{length}: {why}");
    }
}

#[test]
fn lists_that_are_none_are_refused() {
    let folder = TempDir::new().unwrap();
    let file = tar::EntryType::Regular;
    let text = "relief version=1";
    let change = |from: &str, to: &str| {
        let list = list(text, &[]);
        assert!(list.contains(from), "{list}");
        list.replace(from, to)
    };
    let long = format!("\"files\":[{}null]", "null,".repeat(70_000));
    for (list, says) in [
        (String::new(), "not JSON"),
        ("[1, 2]".to_owned(), "no version"),
        (change("\"relief-pack\":1", "\"relief-pack\":2"), "version 2"),
        (change("\"relief-pack\":1", "\"relief-pack\":1e99"), "no version"),
        (change("\"files\":[]", &long), "70001 files"),
        (change("\"files\":[]", "\"files\":[{}]"), "without a length"),
        (change("\"bytes\":16", "\"bytes\":-1"), "without a length"),
        (change("\"bytes\":16", "\"bytes\":1099511627776"), "longer than"),
        (change("\"digest\":\"d\"", "\"digest\":5"), "no \"digest\""),
        (list(text, &[("a", b"x"), ("a", b"x")]), "names a twice"),
    ] {
        let entries = [
            ("relief.json", file, list.as_bytes()),
            ("design.kdl", file, text.as_bytes()),
            ("files/1", file, b"x"),
            ("files/2", file, b"x"),
        ];
        let why = Pack::open(&written(&folder, &entries)).unwrap_err().to_string();
        assert!(why.contains(says), "{says}: {why}");
    }
}

/// Whatever is cut off or changed, it ends with an error or with the same job.
#[test]
fn every_cut_and_every_changed_header_is_found() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("job.relief");
    let mut bytes = Vec::new();
    let files = ["a.pgm".to_owned(), "b".to_owned()];
    pack(
        &mut bytes,
        &Job::new("a.kdl", "relief version=1", "d"),
        &files,
        &mut |path| Ok(Box::new(io::Cursor::new(path.repeat(300).into_bytes()))),
    )
    .unwrap();
    std::fs::write(&path, &bytes).unwrap();
    let whole = Pack::open(&path).unwrap();
    let open = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        Pack::open(&path)
    };
    // The end of the archive is two blocks of zeros, which are not looked at.
    for length in (0..bytes.len() - 1_024).step_by(97) {
        assert!(open(&bytes[..length]).is_err(), "{length}");
    }
    for at in (0..bytes.len() - 1_024).step_by(13) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x55;
        if let Ok(found) = open(&changed) {
            assert_eq!(found.job(), whole.job(), "{at}");
            assert!(found.paths().eq(whole.paths()));
        }
    }
}

#[test]
fn a_file_that_changes_while_it_is_packed_is_an_error() {
    let mut calls = 0;
    let packed = pack(
        &mut Vec::new(),
        &Job::new("a.kdl", "relief version=1", "d"),
        &["a".to_owned()],
        &mut |_| {
            calls += 1;
            Ok(Box::new(io::Cursor::new(vec![calls; 9])))
        },
    );
    assert!(
        packed
            .unwrap_err()
            .to_string()
            .contains("changed while it was packed")
    );
    assert!(!Pack::is_at(Path::new("/")) && !Pack::is_at(Path::new("/nowhere")));
}
