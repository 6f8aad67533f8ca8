//! The corpus of the fuzz targets through what they check.

use std::path::Path;

#[path = "../../../../fuzz/properties.rs"]
mod properties;

fn replay(target: &str, property: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        property(&std::fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count > 5, "only {count} files");
}

#[test]
fn texts_of_the_corpus_are_read_and_laid_out_anew() {
    replay("design_text", properties::design_text);
}

#[test]
fn designs_of_the_corpus_have_the_same_samples_in_every_way() {
    replay("whole_design", properties::whole_design);
}

#[test]
fn designs_made_of_any_bytes_have_the_same_samples_in_every_way() {
    // Bytes of a generator with a fixed beginning: the same designs in every run.
    let mut state = 1_u64;
    for _ in 0..200 {
        let bytes: Vec<u8> = (0..96)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            })
            .collect();
        properties::whole_design(&bytes);
    }
}
