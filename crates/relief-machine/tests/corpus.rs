//! The corpus of the fuzz target `frame` through what it checks.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by a panic")]

use std::path::Path;

#[path = "../../../fuzz/wire_properties.rs"]
mod wire_properties;

#[test]
fn bytes_of_the_corpus_are_frames_parts_of_one_or_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/frame");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        wire_properties::frame(&std::fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count > 5, "only {count} files");
}
