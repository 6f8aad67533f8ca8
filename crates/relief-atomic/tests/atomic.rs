//! Files appear whole or not at all, under the right name, with the right permissions, and leave nothing behind.

#![expect(clippy::unwrap_used, reason = "tests")]
#![cfg(unix)]

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use relief_atomic::{
    AtomicFile, Cleanup, Error, Identity, Opened, held, open, remove_leftovers, replace, room,
};
use tempfile::TempDir;

/// The names in a folder, hidden ones too.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn begun(path: &Path) -> AtomicFile {
    match open(path, &Cleanup::default()).unwrap() {
        Opened::Whole(file) => file,
        Opened::Stream(_) => panic!("{} is a file", path.display()),
    }
}

fn refusal(path: &Path) -> Error {
    open(path, &Cleanup::default()).unwrap_err()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn with_mode(path: &Path, mode: u32) {
    fs::write(path, "older").unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_file_that_is_replaced_hands_its_permissions_on() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file");
    for kept in [0o600, 0o640, 0o644, 0o666, 0o755, 0o200] {
        with_mode(&path, kept);
        replace(&path, b"newer").unwrap();
        assert_eq!(mode(&path), kept, "{kept:o}");
    }
}

#[test]
fn a_partial_never_has_more_permissions_than_the_file_it_replaces() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file");
    with_mode(&path, 0o600);
    let file = begun(&path);
    assert_eq!(file.file().metadata().unwrap().mode() & 0o7777, 0o600);
}

#[test]
fn permissions_that_change_meanwhile_are_those_of_the_new_file() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file");
    with_mode(&path, 0o644);
    let file = begun(&path);
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    file.complete().unwrap();
    assert_eq!(mode(&path), 0o600);
}

#[test]
fn a_new_file_has_the_permissions_of_any_new_file() {
    let folder = TempDir::new().unwrap();
    let (path, any) = (folder.path().join("file"), folder.path().join("any"));
    fs::write(&any, "").unwrap();
    replace(&path, b"new").unwrap();
    assert_eq!(mode(&path), mode(&any));
}

#[test]
fn a_file_that_is_replaced_keeps_its_owner_and_group() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "older").unwrap();
    // Whoever may not give files away has the file as it is.
    let _ = std::os::unix::fs::chown(&path, Some(4_321), Some(1_234));
    let before = fs::metadata(&path).unwrap();
    replace(&path, b"newer").unwrap();
    let after = fs::metadata(&path).unwrap();
    assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
    assert_ne!(after.ino(), before.ino());
}

#[test]
fn a_read_only_file_is_refused_and_stays() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file");
    with_mode(&path, 0o444);
    assert!(refusal(&path).to_string().contains("read-only"));
    assert!(
        replace(&path, b"newer")
            .unwrap_err()
            .to_string()
            .contains("read-only")
    );
    assert_eq!(fs::read(&path).unwrap(), b"older");
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn a_link_is_followed_however_many_lead_on() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("far")).unwrap();
    fs::write(at("far/file"), "older").unwrap();
    symlink("far/file", at("one")).unwrap();
    symlink("one", at("two")).unwrap();
    replace(&at("two"), b"newer").unwrap();
    assert_eq!(fs::read(at("far/file")).unwrap(), b"newer");
    assert_eq!(fs::read_link(at("two")).unwrap(), Path::new("one"));
    assert_eq!(fs::read_link(at("one")).unwrap(), Path::new("far/file"));
    assert_eq!(names(folder.path()), ["far", "one", "two"]);
    assert_eq!(names(&at("far")), ["file"]);
}

#[test]
fn a_name_that_no_file_can_have_is_refused_before_anything_is_written() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("file"), "").unwrap();
    symlink("nowhere", at("dangling")).unwrap();
    symlink("circle", at("circle")).unwrap();
    for (name, reason) in [
        ("missing/file", "its folder does not exist"),
        ("file/file", "its folder is a file"),
        ("file/", "its folder is a file"),
        ("new/", "it is the name of a folder"),
        (".", "it is a folder"),
        ("..", "it is not the name of a file"),
        ("dangling", "it is a link that leads nowhere"),
        ("circle", "it cannot be looked at"),
        (&"n".repeat(300), "its name is too long"),
    ] {
        let refused = refusal(&at(name));
        assert_eq!(refused.to_string(), reason, "{name}");
        // The name of a temporary file tells nobody anything.
        let source = refused.into_parts().1.map(|source| source.to_string());
        assert!(source.is_none_or(|source| !source.contains("partial")), "{name}");
    }
    assert_eq!(names(folder.path()), ["circle", "dangling", "file"]);
}

#[test]
fn names_as_long_as_names_can_be_are_written() {
    let folder = TempDir::new().unwrap();
    for name in ["n".repeat(255), "ü".repeat(127), "🦀".repeat(63)] {
        replace(&folder.path().join(&name), b"new").unwrap();
        assert_eq!(fs::read(folder.path().join(&name)).unwrap(), b"new");
    }
}

#[test]
fn a_file_dropped_or_cancelled_leaves_nothing() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "older").unwrap();
    drop(begun(&path));
    assert_eq!(names(folder.path()), ["file"]);
    let cleanup = Cleanup::default();
    let Opened::Whole(file) = open(&path, &cleanup).unwrap() else {
        panic!("a file")
    };
    assert!(cleanup.temporary_path().unwrap().exists());
    cleanup.remove();
    assert_eq!(names(folder.path()), ["file"]);
    assert!(file.complete().unwrap_err().is_cancelled());
    assert!(open(&path, &cleanup).unwrap_err().is_cancelled());
    assert_eq!(names(folder.path()), ["file"]);
    assert_eq!(fs::read(&path).unwrap(), b"older");
}

/// What another process writes to, and which role it plays.
const PATH: &str = "RELIEF_ATOMIC_TEST_PATH";

#[test]
#[ignore = "runs in a process of its own, which others kill"]
fn writes_until_it_is_killed() {
    let Some(path) = std::env::var_os(PATH) else {
        return;
    };
    let file = begun(Path::new(&path));
    file.file().write_all(b"a part").unwrap();
    println!("\nbegun");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    file.complete().unwrap();
}

/// A process that has begun to write to `path`.
fn writer(path: &Path) -> std::process::Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writes_until_it_is_killed", "--ignored", "--nocapture"])
        .env(PATH, path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while line.trim_end() != "begun" {
        line.clear();
        assert!(
            std::io::BufRead::read_line(&mut out, &mut line).unwrap() > 0,
            "it has begun"
        );
    }
    child.stdout = Some(out.into_inner());
    child
}

#[test]
fn what_a_killed_process_left_goes_away_when_the_file_is_written_next() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file");
    for killed in [1, 2, 5] {
        for _ in 0..killed {
            let mut child = writer(&path);
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(!names(folder.path()).is_empty());
        begun(&path).complete().unwrap();
        assert_eq!(names(folder.path()), ["file"]);
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn what_a_live_process_writes_is_never_touched() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file");
    let mut child = writer(&path);
    for _ in 0..20 {
        remove_leftovers(&path);
        begun(&path).complete().unwrap();
    }
    assert_eq!(names(folder.path()).len(), 2);
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(fs::read(&path).unwrap(), b"a part");
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn only_partials_of_the_same_file_go_away() {
    let folder = TempDir::new().unwrap();
    let foreign = [
        ".file.abcdefghijkl.partia",
        ".file.abcdefghijk.partial",
        ".file.abcdefghijklm.partial",
        ".file.abcdefghijk-.partial",
        ".fil.abcdefghijkl.partial",
        ".files.abcdefghijkl.partial",
        "file.abcdefghijkl.partial",
        ".file.backup.partial",
    ];
    for name in foreign {
        fs::write(folder.path().join(name), "").unwrap();
    }
    // Neither opened nor removed: nobody writes to the FIFO, and the link leads elsewhere.
    let fifo = folder.path().join(".file.ffffffffffff.partial");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let link = folder.path().join(".file.llllllllllll.partial");
    symlink("file.abcdefghijkl.partial", &link).unwrap();
    fs::write(folder.path().join(".file.abcdefghijkl.partial"), "left").unwrap();
    remove_leftovers(&folder.path().join("file"));
    let left = names(folder.path());
    assert_eq!(left.len(), foreign.len() + 2, "{left:?}");
    assert!(!left.contains(&".file.abcdefghijkl.partial".to_owned()));
}

#[test]
fn many_writers_at_once_give_one_whole_file_and_nothing_else() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file");
    std::thread::scope(|scope| {
        for writer in 0..8_u8 {
            let path = &path;
            scope.spawn(move || {
                for _ in 0..25 {
                    let file = begun(path);
                    file.file().write_all(&[writer; 1_000]).unwrap();
                    file.complete().unwrap();
                }
            });
        }
    });
    let bytes = fs::read(&path).unwrap();
    assert_eq!(bytes.len(), 1_000);
    assert!(bytes.iter().all(|&byte| byte == bytes[0]));
    assert_eq!(names(folder.path()), ["file"]);
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_descriptor_is_open_at_goes_on_and_is_not_replaced() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log");
    for folder in ["/proc/self/fd", "/dev/fd"] {
        fs::write(&path, "KEEP").unwrap();
        let mut log = OpenOptions::new().append(true).open(&path).unwrap();
        let number = fs::metadata(&path).unwrap().ino();
        let name = Path::new(folder).join(log.as_raw_fd().to_string());
        replace(&name, b" and more").unwrap();
        log.write_all(b", and after").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"KEEP and more, and after");
        assert_eq!(fs::metadata(&path).unwrap().ino(), number);
    }
    assert_eq!(names(folder.path()), ["log"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_link_to_a_descriptor_is_one() {
    let folder = TempDir::new().unwrap();
    let (path, link) = (folder.path().join("log"), folder.path().join("link"));
    fs::write(&path, "KEEP").unwrap();
    let log = OpenOptions::new().append(true).open(&path).unwrap();
    symlink(format!("/dev/fd/{}", log.as_raw_fd()), &link).unwrap();
    replace(&link, b" and more").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"KEEP and more");
    assert!(link.is_symlink());
}

#[test]
fn a_device_and_a_fifo_take_the_bytes_and_stay() {
    use std::os::unix::fs::FileTypeExt;
    replace(Path::new("/dev/null"), b"bytes").unwrap();
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    let folder = TempDir::new().unwrap();
    let fifo = folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let reader = std::thread::spawn({
        let fifo = fifo.clone();
        move || fs::read(fifo).unwrap()
    });
    replace(&fifo, b"bytes").unwrap();
    assert_eq!(reader.join().unwrap(), b"bytes");
    assert_eq!(names(folder.path()), ["fifo"]);
}

#[test]
fn names_of_one_file_have_one_identity() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("file"), "same").unwrap();
    fs::write(at("other"), "same").unwrap();
    symlink("file", at("link")).unwrap();
    fs::hard_link(at("file"), at("hard")).unwrap();
    let of = |name: &str| Identity::of(&at(name)).unwrap();
    for name in ["link", "hard", "../file", "./file"] {
        let path = match name {
            "../file" => folder
                .path()
                .join("..")
                .join(folder.path().file_name().unwrap())
                .join("file"),
            name => at(name),
        };
        assert_eq!(Identity::of(&path).unwrap(), of("file"), "{name}");
    }
    assert_ne!(of("other"), of("file"));
    assert_eq!(
        Identity::of_open(&File::open(at("link")).unwrap()),
        Some(of("file"))
    );
    assert!(Identity::of(&at("missing")).is_err());
}

#[test]
fn a_partial_of_the_callers_own_is_begun_once_and_has_its_head_when_it_appears() {
    let folder = TempDir::new().unwrap();
    let (partial, file) = (folder.path().join("out.partial"), folder.path().join("out"));
    let head = vec![7; 100_000];
    // All of them begin it at a time: one does, and none sees it without its head.
    let new = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| {
                    let (mut opened, is_new) = relief_atomic::open_partial(&partial, &file, &head).unwrap();
                    let mut found = Vec::new();
                    opened.read_to_end(&mut found).unwrap();
                    // The one that began it stands at its end.
                    assert!(is_new || found == head);
                    is_new
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect::<Vec<_>>()
    });
    assert_eq!(new.iter().filter(|&&is_new| is_new).count(), 1);
    assert_eq!(names(folder.path()), ["out.partial"]);
    assert_eq!(fs::read(&partial).unwrap(), head);
    // A link or a folder is not written through.
    fs::remove_file(&partial).unwrap();
    symlink(folder.path().join("elsewhere"), &partial).unwrap();
    relief_atomic::open_partial(&partial, &file, &head).unwrap_err();
    assert_eq!(names(folder.path()), ["out.partial"]);
}

#[test]
fn a_folder_of_the_callers_own_is_begun_once_and_is_full_when_it_appears() {
    let folder = TempDir::new().unwrap();
    let partial = folder.path().join("out.partial");
    let begin = || {
        let mut fill = |folder: &Path| {
            fs::create_dir(folder.join("a"))?;
            fs::write(folder.join("a/b"), "full")
        };
        relief_atomic::open_partial_folder(&partial, &mut fill)
    };
    let new = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| {
                    let is_new = begin().unwrap();
                    assert_eq!(fs::read(partial.join("a/b")).unwrap(), b"full");
                    is_new
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect::<Vec<_>>()
    });
    assert_eq!(new.iter().filter(|&&is_new| is_new).count(), 1);
    assert_eq!(names(folder.path()), ["out.partial"]);
    // One that cannot be filled does not appear.
    let other = folder.path().join("other.partial");
    let mut fails = |_: &Path| Err(std::io::Error::other("the disk is full"));
    relief_atomic::open_partial_folder(&other, &mut fails).unwrap_err();
    fs::write(&other, "a file").unwrap();
    relief_atomic::open_partial_folder(&other, &mut fails).unwrap_err();
    assert_eq!(names(folder.path()), ["other.partial", "out.partial"]);
}

/// What `df` says of a folder: bytes that are free, and what of them is.
fn free(folder: &Path) -> u64 {
    let said = Command::new("df")
        .args(["-B1", "--output=avail"])
        .arg(folder)
        .output()
        .unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    said.lines().nth(1).unwrap().trim().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn room_is_that_of_the_next_folder_that_is_there() {
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    fs::write(path.join("file"), "a").unwrap();
    symlink(path, path.join("link")).unwrap();
    let here = room(path).unwrap();
    for name in ["file", "new", "new/er/", "link/new", "file/"] {
        let found = room(&path.join(name)).unwrap();
        assert_eq!(found.system, here.system, "{name}");
    }
    // Others write meanwhile; the last blocks are kept for an administrator, which `df` does not count.
    assert!(here.free >= free(path) / 2);
    // A link leads to where the file is.
    symlink("/proc/version", path.join("away")).unwrap();
    assert_ne!(
        room(&path.join("away")).map(|room| room.system),
        Some(here.system)
    );
    for stream in ["/dev/null", "/dev/stdout", "/proc/self/fd/1"] {
        assert_eq!(room(Path::new(stream)), None, "{stream}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_held_are_the_blocks_of_all_files_and_no_holes() {
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    let deep = path.join("a/b");
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("file"), vec![1; 300_000]).unwrap();
    fs::write(path.join("small"), "a").unwrap();
    let hole = File::create(path.join("hole")).unwrap();
    hole.set_len(1 << 40).unwrap();
    hole.sync_all().unwrap();
    symlink("/usr", path.join("link")).unwrap();
    let said = Command::new("du").args(["-s", "-B1"]).arg(path).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let said: u64 = said.split_whitespace().next().unwrap().parse().unwrap();
    assert_eq!(held(path), Some(said));
    assert!((300_000..10_000_000).contains(&said), "{said}");
    assert_eq!(held(&path.join("none")), Some(0));
}
