//! Lengths in arguments, rounding in plans, warnings.

use serde_json::Value;

use crate::process::{run, run_with, written};

#[test]
fn a_region_may_be_in_millimetres() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(
        &folder,
        "relief version=1\ncanvas width=\"1in\" height=\"1in\" dpi=600\nramp axis=\"x\" from=0 to=255",
    );
    let raw = |region: &str| run(&["render", &design, "-f", "raw", "-o", "-", "--region", region]).done();
    assert_eq!(raw("0.5in,1mm,1/100inx2px"), raw("300,24,6x2"));
    for (region, says) in [
        ("1miles,0,1x1", "'miles' in '1miles' is not a unit"),
        ("1mm,0,0mmx1px", "leaves no pixel"),
        ("1mm,0", "is not a region"),
    ] {
        run(&["render", &design, "-f", "null", "--region", region]).failed(2, says);
    }
    let bare = written(&folder, "relief version=1\ncanvas width=9 height=9\nfill value=1");
    run(&["digest", &bare, "--region", "1mm,0,1pxx1px"]).failed(2, "does not say how large a pixel is");
}

#[test]
fn a_plan_tells_the_largest_rounding() {
    let text = "relief version=1\ncanvas width=\"1in\" height=\"1in\" dpi=600\ncompose {\n(base)fill value=1 width=\"5mm\"\n}";
    // 118.11 pixels.
    let said = run_with(&["plan", "-"], text);
    assert!(
        said.text().contains("rounding 0.11 px at most, at line 4"),
        "{}",
        said.text()
    );
    let json: Value = serde_json::from_slice(&run_with(&["plan", "-", "--json"], text).out).unwrap();
    assert_eq!(json["rounding"]["line"], 4);
    assert_eq!(
        json["raster"]["pixel_metres"],
        serde_json::json!([127, 3_000_000])
    );
    let exact = run_with(&["plan", "-"], &text.replace("5mm", "1/2in"));
    assert!(!exact.text().contains("rounding"), "{}", exact.text());
}

#[test]
fn warnings_are_told_and_may_be_denied() {
    let text = "relief version=1\ncanvas width=3 height=2 depth=16\nfill value=1";
    let ended = run_with(&["check", "-"], text);
    assert_eq!(ended.code, Some(0));
    assert!(
        ended.err.contains("W101") && ended.text().contains("16 bits"),
        "{ended:?}"
    );
    run_with(&["check", "-", "--deny", "warnings"], text).failed(3, "write bits=16");
    run_with(&["render", "-", "-f", "null", "--deny", "warnings", "-q"], text).failed(3, "W101");
    // A quiet job is quiet.
    assert_eq!(run_with(&["render", "-", "-f", "null", "-q"], text).err, "");
    let now = text.replace("depth", "bits");
    assert_eq!(run_with(&["check", "-", "--deny", "warnings"], &now).err, "");
}

#[test]
fn a_scan_that_is_not_used_is_a_warning_of_render() {
    let text = "relief version=1\ncanvas width=3 height=2\nscan bits=1\nramp axis=\"x\" from=0 to=9";
    let ended = run_with(&["render", "-", "-f", "null"], text);
    assert!(ended.code == Some(0) && ended.err.contains("W208"), "{ended:?}");
    run_with(&["render", "-", "-f", "null", "--deny", "warnings"], text).failed(3, "W208");
    run(&["explain", "w208"]).done();
}

#[test]
fn a_design_in_json_is_a_design() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(
        &folder,
        "relief version=1\nparameter \"v\" 7\ncanvas width=3 height=2 // small\ncompose { (add)noise seed=$v }",
    );
    let json = run(&["fmt", "--json", &design]).done();
    let path = folder.path().join("design.json");
    std::fs::write(&path, &json).unwrap();
    let path = path.to_str().unwrap();
    let set = ["--set", "v=9"];
    assert_eq!(
        run(&["digest", path, set[0], set[1]]).done(),
        run(&["digest", &design, set[0], set[1]]).done()
    );
    // What is wrong is told of the design as it is laid out.
    std::fs::write(
        path,
        String::from_utf8(json)
            .unwrap()
            .replace("\"compose\"", "\"compos\""),
    )
    .unwrap();
    run(&["check", path]).failed(3, "did you mean `compose`?");
    std::fs::write(path, "{}").unwrap();
    run(&["check", path]).failed(1, "a design in JSON is an array of nodes");
    run(&["fmt", path]).failed(2, "no layout of its own");
}

#[test]
fn a_word_of_the_language_is_shown_alone() {
    let said = String::from_utf8(run(&["nodes", "repeat"]).done()).unwrap();
    assert!(
        said.starts_with("### `repeat`") && said.contains("`count-x`") && said.contains("`anchor`"),
        "{said}"
    );
    assert!(!said.contains("### `lattice`"));
    run(&["nodes", "repaet"]).failed(2, "did you mean repeat?");
}
