//! What a job tells while it runs.

use serde_json::Value;

use crate::process::{ended, relief, run};

const LONG: [&str; 6] = [
    "render",
    "sheet/design.kdl",
    "--region",
    "0,0,100000x300",
    "-f",
    "null",
];

#[test]
fn progress_is_lines_of_json_up_to_the_whole() {
    let mut arguments = LONG.to_vec();
    arguments.push("--json-progress");
    let ended = run(&arguments);
    assert_eq!((ended.code, ended.out.len()), (Some(0), 0));
    let lines: Vec<Value> = ended
        .err
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(!lines.is_empty());
    let mut before = 0.0;
    for line in &lines {
        let number = |name: &str| line[name].as_f64().unwrap();
        assert!(line["done"].is_u64() && line["total"].is_u64(), "{line}");
        assert!(number("done") > before && number("total") == 3e7, "{line}");
        assert!(number("elapsed_seconds") >= 0.0 && number("pixels_per_second") >= 0.0);
        before = number("done");
    }
    assert_eq!(before, 3e7);
}

#[test]
fn computing_for_nobody_prints_its_rate() {
    let said = String::from_utf8(run(&LONG).done()).unwrap();
    assert!(
        said.starts_with("sheet/design.kdl: 100000 × 300 pixels, 8 bits, in ") && said.ends_with("px/s\n"),
        "{said}"
    );
}

#[test]
fn nothing_is_shown_where_nobody_looks() {
    for more in [&["--quiet"][..], &["-q"]] {
        let mut arguments = LONG.to_vec();
        arguments.extend(more);
        assert_eq!(run(&arguments).done(), b"");
    }
}

#[test]
fn progress_that_is_both_asked_for_and_forbidden_is_a_mistake() {
    let mut arguments = LONG.to_vec();
    arguments.extend(["--quiet", "--json-progress"]);
    run(&arguments).failed(2, "cannot be used with");
}

#[test]
fn what_the_libraries_trace_is_written_where_it_is_asked_for() {
    let mut command = relief(&["check", "logo/design.kdl"]);
    command.env("RELIEF_LOG", "trace");
    assert_eq!(ended(command).code, Some(0));
}

#[test]
fn a_trace_that_cannot_be_understood_is_told_and_spoils_nothing() {
    for (filter, told) in [
        ("relief_engine=loud", true),
        ("relief[span]=debug", true),
        ("relief_engine=warn", false),
        ("", false),
    ] {
        let mut command = relief(&["check", "logo/design.kdl"]);
        command.env("RELIEF_LOG", filter);
        let ended = ended(command);
        assert_eq!(ended.code, Some(0), "{filter}");
        assert_eq!(ended.err.contains("RELIEF_LOG"), told, "{filter}: {}", ended.err);
    }
}
