//! `relief fmt`.

use crate::process::{examples, names, run, run_with, written};

const CROOKED: &str = "/* head */ relief   version=1 // first\ncanvas width=4   height=4\n\n\n\ncompose {\n(base)fill value=1 // why\n/* between */\n      (add)disc diameter=3 value=2\n}";

#[test]
fn a_design_is_laid_out_anew_with_its_comments_and_its_meaning() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(&folder, CROOKED);
    let digest = run(&["digest", &design]).done();
    run(&["fmt", "--check", &design]).failed(1, "would change");
    assert_eq!(
        std::fs::read_to_string(&design).unwrap(),
        CROOKED,
        "--check writes nothing"
    );
    assert_eq!(run(&["fmt", &design]).done(), b"");
    let once = std::fs::read_to_string(&design).unwrap();
    for comment in ["head", "first", "why", "between"] {
        assert!(once.contains(comment), "{comment} is lost:\n{once}");
    }
    assert_ne!(once, CROOKED);
    run(&["fmt", &design]).done();
    assert_eq!(
        std::fs::read_to_string(&design).unwrap(),
        once,
        "a second time changes nothing"
    );
    assert_eq!(run(&["fmt", "--check", &design]).done(), b"");
    assert_eq!(run(&["digest", &design]).done(), digest);
    assert_eq!(names(folder.path()), ["design.kdl"]);
}

#[test]
fn the_standard_input_is_laid_out_to_the_standard_output() {
    let formatted = run_with(&["fmt", "-"], CROOKED);
    assert_eq!(formatted.code, Some(0));
    let again = run_with(&["fmt", "-"], formatted.text());
    assert_eq!(again.text(), formatted.text());
    let check = run_with(&["fmt", "--check", "-"], CROOKED);
    check.failed(1, "<stdin> would change");
    assert_eq!(run_with(&["fmt", "--check", "-"], formatted.text()).done(), b"");
}

#[test]
fn a_text_that_is_no_design_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(&folder, "relief version=1 {");
    run(&["fmt", &design]).failed(3, "design.kdl:1:");
    assert_eq!(std::fs::read_to_string(&design).unwrap(), "relief version=1 {");
}

#[test]
fn the_examples_are_laid_out_as_they_should_be() {
    for example in names(&examples()) {
        let path = format!("{example}/design.kdl");
        if examples().join(&path).exists() {
            assert_eq!(run(&["fmt", "--check", &path]).done(), b"", "{path}");
        }
    }
}
