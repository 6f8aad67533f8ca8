//! What holds for any bytes in place of a picture. Used by the fuzz target and by the test that replays its corpus.

use std::fs;
use std::ops::ControlFlow;

use relief_design::{Conversion, Gray};
use relief_engine::source::ImageSource;
use relief_io::{Files, Limits};
use relief_raster::{Depth, Rect};

/// Any bytes are refused, or read as so many rows of so many samples as was said; in bounded memory, without a panic.
pub(crate) fn picture(bytes: &[u8]) {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}: a folder"));
    fs::write(folder.path().join("picture"), bytes).unwrap_or_else(|error| panic!("{error}: a file"));
    let files = Files::confined(folder.path()).with_limits(Limits::default().with(|with| {
        with.side = 1 << 12;
        with.pixels = 1 << 16;
        with.memory = 1 << 23;
    }));
    let plain = Conversion::default();
    let ranged = Conversion {
        gray: Gray::Black,
        range: Some((200.0, -3.5)),
    };
    for (conversion, depth) in [(plain, Depth::Eight), (ranged, Depth::Sixteen)] {
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
