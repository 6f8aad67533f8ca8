//! Replays the corpus of the fuzz target for tables.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by a panic")]

use std::path::Path;

#[path = "../../../fuzz/table_properties.rs"]
mod table_properties;

#[test]
fn every_table_of_the_corpus_is_read_or_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/tables");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        table_properties::table(&std::fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count > 0);
}
