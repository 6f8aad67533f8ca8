//! What holds for any bytes in place of a picture. Used by the fuzz target and by the test that replays its corpus.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use relief_design::{Conversion, Gray, Raw, RawSample};
use relief_engine::source::ImageSource;
use relief_io::{Files, Limits};
use relief_raster::{Depth, Rect};

/// Any bytes are refused, or read as so many rows of so many samples as was said; in bounded memory, without a panic.
#[allow(dead_code, reason = "each target has its property")]
pub(crate) fn picture(bytes: &[u8]) {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}: a folder"));
    fs::write(folder.path().join("picture"), bytes).unwrap_or_else(|error| panic!("{error}: a file"));
    let files = files(folder.path());
    read_all(&files);
}

/// Metadata and, after a byte of 0, a chunk are refused as an array of Zarr, or read as so many rows of so many samples as was said.
#[allow(dead_code, reason = "each target has its property")]
pub(crate) fn zarr(bytes: &[u8]) {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}: a folder"));
    let (metadata, chunk) = match bytes.iter().position(|&byte| byte == 0) {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &[][..]),
    };
    let store = folder.path().join("picture");
    fs::create_dir_all(store.join("c/0")).unwrap_or_else(|error| panic!("{error}: a folder"));
    for (name, bytes) in [("zarr.json", metadata), ("c/0/0", chunk)] {
        fs::write(store.join(name), bytes).unwrap_or_else(|error| panic!("{error}: a file"));
    }
    read_all(&files(folder.path()));
}

/// Files of which little may be held.
fn files(folder: &Path) -> Files {
    Files::confined(folder).with_limits(Limits::default().with(|with| {
        with.side = 1 << 12;
        with.pixels = 1 << 16;
        with.windowed_pixels = 1 << 16;
        with.memory = 1 << 23;
        with.cache = 1 << 20;
    }))
}

fn read_all(files: &Files) {
    let plain = Conversion::default();
    let ranged = Conversion {
        gray: Gray::Black,
        range: Some((200.0, -3.5)),
        index: [1].into(),
        ..Conversion::default()
    };
    let raw = Conversion {
        raw: Some(Raw {
            width: 5,
            height: 3,
            sample: RawSample::Int16,
            big_endian: false,
            offset: 1,
        }),
        range: Some((-100.0, 1e4)),
        ..Conversion::default()
    };
    let upright = Conversion {
        index: [].into(),
        ..ranged.clone()
    };
    for (conversion, depth) in [
        (plain, Depth::Eight),
        (ranged, Depth::Sixteen),
        (upright, Depth::Sixteen),
        (raw, Depth::Eight),
    ] {
        let Ok(picture) = files.open("picture", &conversion) else {
            continue;
        };
        let (width, height) = picture.size();
        let mut seen = vec![false; height as usize];
        let outcome = picture.read(Rect::sized(width, height), depth, &mut |number, row| {
            assert_eq!(row.len() as u64, width, "row {number} has another width");
            assert!(
                row.iter().all(|&sample| sample <= depth.max()),
                "a sample above the greatest"
            );
            let again = std::mem::replace(&mut seen[number as usize], true);
            assert!(!again, "row {number} came twice");
            ControlFlow::Continue(())
        });
        assert!(
            outcome.is_err() || seen.iter().all(|row| *row),
            "a row is missing"
        );
    }
}
