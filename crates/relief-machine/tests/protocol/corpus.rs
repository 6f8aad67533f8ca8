//! The corpora of the fuzz targets of this crate through what they check.

use std::path::Path;

#[path = "../../../../fuzz/record_properties.rs"]
mod record_properties;
#[path = "../../../../fuzz/wire_properties.rs"]
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

#[test]
fn manifests_journals_and_files_of_the_corpora_hold_what_their_targets_check() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    if std::env::var_os("RELIEF_BLESS").is_some() {
        for (target, name, bytes) in record_properties::seeds() {
            std::fs::create_dir_all(corpus.join(target)).unwrap();
            std::fs::write(corpus.join(target).join(name), bytes).unwrap();
        }
    }
    let replay = |name: &str, check: fn(&[u8])| {
        let count = record_properties::replay(&corpus.join(name), check);
        assert!(count > 1, "only {count} files of {name}");
    };
    replay("manifest", record_properties::manifest);
    replay("verify", record_properties::verified);
    replay("journal", record_properties::journal);
}
