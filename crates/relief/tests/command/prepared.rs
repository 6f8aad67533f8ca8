//! What is known of whole sources, computed once and read by later jobs.

use crate::process::{run, written};

const DESIGN: &str = "relief version=1\nparameter \"seed\" 7\ncanvas width=300 height=200\n\
    equalise { (source)detrend { (source)gauss sigma=2 { (source)noise seed=$seed } } }\n";

#[test]
fn what_was_prepared_is_not_computed_again_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(&folder, DESIGN);
    let file = folder.path().join("plate.prepared");
    let prepared = file.to_str().unwrap();
    run(&["prepare", &design, "-o", prepared, "-q"]).done();
    let digest = run(&["digest", &design]).done();
    assert_eq!(run(&["digest", &design, "--prepared", prepared]).done(), digest);
    // That it is read at all: another table, of the same length, makes other samples.
    let text = std::fs::read_to_string(&file).unwrap();
    let begin = text.rfind("\"samples\": \"").unwrap() + 12;
    let end = begin + text[begin..].find('"').unwrap();
    let zeros = "0".repeat(end - begin);
    let other = format!("{}{zeros}{}", &text[..begin], &text[end..]);
    std::fs::write(&file, other).unwrap();
    assert_ne!(run(&["digest", &design, "--prepared", prepared]).done(), digest);
}

#[test]
fn what_was_prepared_for_another_job_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(&folder, DESIGN);
    let file = folder.path().join("plate.prepared");
    let prepared = file.to_str().unwrap();
    run(&["prepare", &design, "-o", prepared, "-q"]).done();
    run(&["digest", &design, "--prepared", prepared, "--set", "seed=8"])
        .failed(1, "for another design, other values");
    run(&["prepare", &design, "-o", &design]).failed(2, "is the design, which this job reads");
    run(&["digest", &design, "--prepared", &design]).failed(1, "not what 'relief prepare' writes");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen("\"samples\": \"0", "\"samples\": \"x", 1)).unwrap();
    run(&["digest", &design, "--prepared", prepared]).failed(1, "four hexadecimal digits");
    std::fs::write(&file, text.replacen("\"format\": 1", "\"format\": 2", 1)).unwrap();
    run(&["digest", &design, "--prepared", prepared]).failed(1, "its format is 2");
    run(&["digest", &design, "--prepared", "none"]).failed(1, "none");
}
