//! What is left behind when a raster cannot be written whole.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::process::Command;

use crate::raster::{Cut, Whole, names};
use relief_engine::sink::{Band, Raster, Samples, Sink};
use relief_io::{FileSink, Format, Target};
use relief_raster::{Depth, Rect};
use tempfile::TempDir;

fn rect(x: i64, y: i64, width: u64, height: u64) -> Rect {
    Rect::new(x, y, width, height).unwrap()
}

fn sink(path: impl AsRef<Path>, format: Format) -> FileSink {
    FileSink::new(Target::Path(path.as_ref().to_owned()), format)
}

#[test]
fn bands_that_are_not_the_next_ones_are_refused_and_no_file_appears() {
    let cases = [
        (vec![rect(0, 1, 6, 1)], "a gap at the start"),
        (vec![rect(0, 0, 6, 2), rect(0, 3, 6, 1)], "a gap"),
        (vec![rect(0, 0, 6, 2), rect(0, 1, 6, 1)], "an overlap"),
        (vec![rect(0, 0, 3, 1), rect(0, 1, 3, 1)], "a row left early"),
        (vec![rect(0, 0, 3, 2)], "parts of two rows"),
        (
            vec![rect(0, 0, 3, 1), rect(3, 0, 3, 2)],
            "parts of two rows, later",
        ),
        (vec![rect(0, 0, 6, 0)], "no pixel"),
        (vec![rect(0, 0, 6, 4), rect(0, 4, 6, 1)], "a row too many"),
    ];
    // One row more than the sink is told of.
    let whole = Whole::new(6, 5, Depth::Eight);
    for (bands, what) in cases {
        let folder = TempDir::new().unwrap();
        let mut sink = sink(folder.path().join("raster"), Format::Raw);
        sink.begin(&Raster::new(whole.raster.width, 4, whole.raster.depth))
            .unwrap();
        let (&last, before) = bands.split_last().unwrap();
        before
            .iter()
            .for_each(|&rect| whole.write(&mut sink, rect).unwrap());
        assert_eq!(
            whole.write(&mut sink, last).unwrap_err().kind(),
            io::ErrorKind::InvalidData,
            "{what}"
        );
        assert!(sink.finish().is_err(), "{what}");
        assert_eq!(names(folder.path()), [""; 0], "{what}");
    }
}

#[test]
fn samples_of_another_depth_or_number_are_refused() {
    let raster = Raster::new(4, 1, Depth::Sixteen);
    let rect = rect(0, 0, 4, 1);
    for samples in [
        Samples::Eight(&[0; 4]),
        Samples::Sixteen(&[0; 3]),
        Samples::Sixteen(&[0; 5]),
    ] {
        let mut sink = FileSink::new(Target::Writer(Box::new(io::sink())), Format::Raw);
        sink.begin(&raster).unwrap();
        assert_eq!(
            sink.write(&Band::new(rect, samples)).unwrap_err().kind(),
            io::ErrorKind::InvalidData
        );
    }
}

#[test]
fn an_unfinished_raster_leaves_no_file_and_an_older_one_as_it_was() {
    let whole = Whole::new(50, 50, Depth::Eight);
    for format in [Format::Raw, Format::Pgm, Format::Png, Format::Tiff, Format::Bmp] {
        for finish_early in [false, true] {
            let folder = TempDir::new().unwrap();
            let path = folder.path().join("raster");
            fs::write(&path, "older").unwrap();
            let mut sink = sink(&path, format);
            sink.begin(&whole.raster).unwrap();
            whole.write(&mut sink, rect(0, 0, 50, 20)).unwrap();
            assert_eq!(names(folder.path()).len(), 2);
            if finish_early {
                let error = sink.finish().unwrap_err();
                assert!(
                    error.to_string().contains("ended at pixel (0, 20) of 50 × 50"),
                    "{error}"
                );
            }
            drop(sink);
            assert_eq!(names(folder.path()), ["raster"], "{format}");
            assert_eq!(fs::read(&path).unwrap(), b"older");
        }
    }
}

#[test]
fn a_complete_raster_replaces_an_older_file() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("raster");
    fs::write(&path, "older and longer than the raster").unwrap();
    let whole = Whole::new(5, 5, Depth::Eight);
    whole.stream(&mut sink(&path, Format::Raw), Cut::Rows(2)).unwrap();
    assert_eq!(fs::read(&path).unwrap().len(), 25);
}

#[test]
fn a_cleanup_on_another_thread_removes_the_partial_file_and_stops_it_from_appearing() {
    let folder = TempDir::new().unwrap();
    let whole = Whole::new(50, 50, Depth::Eight);
    let mut sink = sink(folder.path().join("raster"), Format::Raw);
    let cleanup = sink.cleanup();
    assert_eq!(cleanup.temporary_path(), None);
    sink.begin(&whole.raster).unwrap();
    assert!(cleanup.temporary_path().unwrap().exists());
    whole.write(&mut sink, whole.raster_rect()).unwrap();
    let handler = cleanup.clone();
    std::thread::spawn(move || handler.remove()).join().unwrap();
    assert_eq!(names(folder.path()), [""; 0]);
    assert_eq!(sink.finish().unwrap_err().kind(), io::ErrorKind::Interrupted);
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_cleanup_before_the_start_keeps_the_file_from_being_created() {
    let folder = TempDir::new().unwrap();
    let mut sink = sink(folder.path().join("raster"), Format::Raw);
    sink.cleanup().remove();
    let error = sink.begin(&Whole::new(2, 2, Depth::Eight).raster).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::Interrupted);
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_cleanup_after_the_end_leaves_the_complete_file() {
    let folder = TempDir::new().unwrap();
    let mut sink = sink(folder.path().join("raster"), Format::Raw);
    Whole::new(2, 2, Depth::Eight)
        .stream(&mut sink, Cut::Rows(1))
        .unwrap();
    sink.cleanup().remove();
    drop(sink);
    assert_eq!(names(folder.path()), ["raster"]);
}

#[test]
fn calls_out_of_turn_are_errors() {
    let whole = Whole::new(2, 2, Depth::Eight);
    let mut sink = FileSink::new(Target::Writer(Box::new(io::sink())), Format::Raw);
    assert!(whole.write(&mut sink, whole.raster_rect()).is_err());
    assert!(sink.finish().is_err());
    whole.stream(&mut sink, Cut::Rows(1)).unwrap();
    assert!(sink.begin(&whole.raster).is_err());
    assert!(sink.finish().is_err());
}

#[test]
fn a_place_where_no_file_can_be_is_refused_at_the_start() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    for (path, reason) in [
        ("missing/raster", "its folder does not exist"),
        ("file/raster", "its folder is a file"),
        (".", "it is a folder"),
        ("..", "it is not the name of a file"),
    ] {
        let path = folder.path().join(path);
        let error = sink(&path, Format::Raw)
            .begin(&Whole::new(2, 2, Depth::Eight).raster)
            .unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains(reason) && message.contains(&*path.to_string_lossy()),
            "{message}"
        );
    }
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn a_reader_that_goes_away_is_a_broken_pipe_in_every_format() {
    for format in [Format::Raw, Format::Pgm, Format::Png, Format::Tiff] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut sink = FileSink::new(Target::Writer(Box::new(writer)), format);
        let error = Whole::new(2_000, 500, Depth::Sixteen)
            .stream(&mut sink, Cut::Rows(50))
            .unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe, "{format}: {error}");
    }
}

#[test]
fn a_raster_that_stops_early_is_not_ended_on_a_pipe() {
    let (mut reader, writer) = io::pipe().unwrap();
    let whole = Whole::new(20, 20, Depth::Eight);
    let mut sink = FileSink::new(Target::Writer(Box::new(writer)), Format::Png);
    sink.begin(&whole.raster).unwrap();
    whole.write(&mut sink, rect(0, 0, 20, 10)).unwrap();
    drop(sink);
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).unwrap();
    assert!(!bytes.windows(4).any(|name| name == b"IEND"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_an_error_that_names_it_and_the_bytes_written() {
    for format in [Format::Raw, Format::Pgm, Format::Png, Format::Tiff] {
        let whole = Whole::new(10, 10, Depth::Eight);
        let error = whole
            .stream(&mut sink("/dev/full", format), Cut::Rows(1))
            .unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{format}");
        assert_eq!(
            error.to_string(),
            "cannot write /dev/full: it failed after 0 bytes"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_fifo_takes_the_bytes_and_stays_a_fifo() {
    use std::os::unix::fs::FileTypeExt;
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let whole = Whole::new(300, 300, Depth::Eight);
    let reader = std::thread::spawn({
        let path = path.clone();
        move || fs::read(path).unwrap()
    });
    let mut sink = sink(&path, Format::Raw);
    whole.stream(&mut sink, Cut::Rows(7)).unwrap();
    drop(sink);
    let bytes: Vec<u8> = whole.samples.iter().map(|&v| v as u8).collect();
    assert!(reader.join().unwrap() == bytes);
    assert!(fs::metadata(&path).unwrap().file_type().is_fifo());
    assert_eq!(names(folder.path()), ["fifo"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_can_be_named_by_the_descriptor_it_is_open_at() {
    use std::os::fd::AsRawFd;
    let (mut reader, writer) = io::pipe().unwrap();
    let whole = Whole::new(30, 30, Depth::Eight);
    let mut sink = sink(format!("/dev/fd/{}", writer.as_raw_fd()), Format::Raw);
    whole.stream(&mut sink, Cut::Rows(7)).unwrap();
    drop((sink, writer));
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).unwrap();
    assert!(bytes.iter().map(|&v| u16::from(v)).eq(whole.samples));
}

#[cfg(unix)]
#[test]
fn a_link_stays_and_the_file_it_leads_to_is_replaced() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("far")).unwrap();
    fs::write(folder.path().join("far/raster"), "older").unwrap();
    std::os::unix::fs::symlink("far/raster", folder.path().join("link")).unwrap();
    std::os::unix::fs::symlink("nowhere", folder.path().join("dangling")).unwrap();
    let whole = Whole::new(3, 3, Depth::Eight);
    whole
        .stream(&mut sink(folder.path().join("link"), Format::Raw), Cut::Rows(1))
        .unwrap();
    assert!(
        fs::symlink_metadata(folder.path().join("link"))
            .unwrap()
            .is_symlink()
    );
    assert_eq!(fs::read(folder.path().join("far/raster")).unwrap().len(), 9);
    let error = sink(folder.path().join("dangling"), Format::Raw)
        .begin(&whole.raster)
        .unwrap_err();
    assert!(error.to_string().contains("leads nowhere"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_file_has_the_permissions_of_any_new_file() {
    use std::os::unix::fs::MetadataExt;
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("any"), "").unwrap();
    let path = folder.path().join("raster");
    Whole::new(3, 3, Depth::Eight)
        .stream(&mut sink(&path, Format::Raw), Cut::Rows(1))
        .unwrap();
    let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().mode();
    assert_eq!(mode("raster"), mode("any"));
}

/// Where [`a_file_that_cannot_grow_leaves_nothing_behind`] has its other process write.
const FOLDER: &str = "RELIEF_IO_TEST_FOLDER";

#[cfg(unix)]
#[test]
fn a_file_that_cannot_grow_leaves_nothing_behind() {
    let folder = TempDir::new().unwrap();
    // 16 blocks of at most 1 KiB; the signal that would end the process is ignored, so that writing fails instead.
    let script = "trap '' XFSZ; ulimit -f 16; exec \"$0\" --exact failures::writes_more_than_the_system_allows --ignored";
    let output = Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .env(FOLDER, folder.path())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
#[ignore = "runs in a process of its own, started by a_file_that_cannot_grow_leaves_nothing_behind"]
fn writes_more_than_the_system_allows() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    for format in [Format::Raw, Format::Pgm, Format::Tiff] {
        let mut sink = sink(Path::new(&folder).join("raster"), format);
        let error = Whole::new(1_000, 1_000, Depth::Eight)
            .stream(&mut sink, Cut::Rows(300))
            .unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge, "{format}");
        let message = error.to_string();
        assert!(
            message.contains("it failed after") && !message.contains("after 0 bytes"),
            "{message}"
        );
    }
}
