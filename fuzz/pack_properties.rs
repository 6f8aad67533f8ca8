//! What holds for any bytes in place of a packed job. Used by the fuzz target and by a test with random bytes.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use relief_io::pack::{Job, Pack, pack};

/// By the first byte: the rest is an archive as it is; or a list of files of its own before the entries of a right archive;
/// or the text and the file of a right archive, of which one byte is changed. Whatever it is, it is refused without a panic and in
/// bounded memory, or what its list names can be read; and no change of a right archive changes what is read of it.
pub(crate) fn packed(bytes: &[u8]) {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}: a folder"));
    let path = folder.path().join("job.relief");
    let Some((&way, rest)) = bytes.split_first() else {
        return;
    };
    match way % 3 {
        0 => {
            write(&path, rest);
            read_whole(&path);
        }
        1 => {
            let (list, content) = halves(rest);
            let mut archive = Vec::new();
            entry(&mut archive, "relief.json", list);
            entry(&mut archive, "design.kdl", content);
            entry(&mut archive, "files/1.png", content);
            archive.resize(archive.len() + 1_024, 0);
            write(&path, &archive);
            read_whole(&path);
        }
        _ => changed(&path, rest),
    }
}

/// The bytes up to the first 0, and those behind it.
fn halves(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    (&bytes[..end], bytes.get(end + 1..).unwrap_or_default())
}

/// A right archive in which one byte is another: the place by the first four bytes, the byte by the fifth.
fn changed(path: &Path, bytes: &[u8]) {
    let Some((change, content)) = bytes.split_at_checked(5) else {
        return;
    };
    let text = String::from_utf8_lossy(halves(content).0).into_owned();
    let held = halves(content).1;
    let mut archive = Vec::new();
    let job = Job::new("a.kdl", text.clone(), "digest");
    let mut open = |_: &str| Ok::<Box<dyn Read>, io::Error>(Box::new(io::Cursor::new(held.to_vec())));
    pack(&mut archive, &job, &["a.png".to_owned()], &mut open)
        .unwrap_or_else(|error| panic!("{error}: packing"));
    let place = u32::from_le_bytes([change[0], change[1], change[2], change[3]]) as usize % archive.len();
    let is_same = archive[place] == change[4];
    archive[place] = change[4];
    write(path, &archive);
    let opened = Pack::open(path);
    assert!(opened.is_ok() || !is_same, "a right archive is refused");
    let Ok(opened) = opened else { return };
    if is_same {
        assert_eq!(opened.job(), &job);
    }
    assert_eq!(opened.job().text, text, "another text");
    let read = Pack::read_within(&path.join("files/1.png"), u64::MAX);
    let read = read.map(|read| read.unwrap_or_else(|error| panic!("{error}: reading what was opened")));
    // A list with a changed path has another name for it.
    assert!(read.is_none_or(|read| read == held), "other bytes of a file");
}

/// Opens it, and reads all that it says it holds.
fn read_whole(path: &Path) {
    let Ok(opened) = Pack::open(path) else { return };
    let length = fs::metadata(path).map_or(0, |metadata| metadata.len());
    assert!(opened.job().text.len() as u64 <= length);
    for number in 1..=opened.paths().count() {
        let entry = path.join(format!("files/{number}.png"));
        if let Some(Ok(bytes)) = Pack::read_within(&entry, 1 << 20) {
            assert!(bytes.len() as u64 <= length);
        }
    }
}

/// An entry of a tar archive (POSIX.1-1988, ustar).
fn entry(archive: &mut Vec<u8>, name: &str, content: &[u8]) {
    let mut header = [0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..108].copy_from_slice(b"0000644\0");
    header[124..136].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
    header[148..156].copy_from_slice(b"        ");
    header[156] = b'0';
    header[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = header.iter().copied().map(u32::from).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    archive.extend_from_slice(&header);
    archive.extend_from_slice(content);
    archive.resize(archive.len().next_multiple_of(512), 0);
}

fn write(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap_or_else(|error| panic!("{error}: a file"));
}
