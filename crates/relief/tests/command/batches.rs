//! Values from outside: `--set`, `--each` and the rows of arrays.

use std::path::Path;

use tempfile::TempDir;

use crate::process::{names, relief, run, written};

const SERIAL: &str = "relief version=1\nparameter \"serial\" 1\nparameter \"axis\" \"x\"\n\
                      canvas width=6 height=2\nramp axis=$axis from=$serial to=\"${serial + 5}\"";

fn file(folder: &TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn beside(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).to_str().unwrap().to_owned()
}

#[test]
fn a_value_that_is_set_gives_the_raster_of_one_written_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(&folder, SERIAL);
    let by_hand = file(
        &folder,
        "by_hand.kdl",
        "relief version=1\ncanvas width=6 height=2\nramp axis=\"y\" from=7 to=12",
    );
    let set = ["digest", &design, "--set", "serial=7", "--set", "axis=y"];
    assert_eq!(run(&set).done(), run(&["digest", &by_hand]).done());
    assert_ne!(
        run(&["digest", &design]).done(),
        run(&["digest", &by_hand]).done()
    );
    run(&["digest", &design, "--set", "seriel=7"]).failed(3, "did you mean `serial`?");
    run(&["check", &design, "--set", "serial=x"]).failed(3, "`serial` is a number, 1 by default");
    run(&["check", &design, "--set", "serial"]).failed(2, "NAME=VALUE is expected");
}

#[test]
fn every_row_is_a_job_with_a_name_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(&folder, SERIAL);
    let rows = file(&folder, "rows.csv", "serial,axis\n7,x\n8,y\n9,x\n");
    let out = beside(&folder, "plate-{serial}.raw");
    run(&["render", &design, "--each", &rows, "-o", &out, "-q"]).done();
    for (serial, axis) in [("7", "x"), ("8", "y"), ("9", "x")] {
        let set = [format!("serial={serial}"), format!("axis={axis}")];
        let one = run(&[
            "render", &design, "-f", "raw", "-o", "-", "--set", &set[0], "--set", &set[1],
        ])
        .done();
        assert_eq!(
            std::fs::read(folder.path().join(format!("plate-{serial}.raw"))).unwrap(),
            one
        );
    }
    let checked = run(&["check", &design, "--each", &rows]).done();
    assert_eq!(String::from_utf8(checked).unwrap().lines().count(), 3);
    let plans = String::from_utf8(run(&["plan", &design, "--each", &rows]).done()).unwrap();
    assert!(
        plans.contains("row 2 of") && plans.contains("serial=8 axis=y"),
        "{plans}"
    );
    // Lines for a machine, of each row in a file of its own, with a manifest that knows the values.
    let lines = format!("file:{}", beside(&folder, "plate-{serial}.job"));
    let manifest = beside(&folder, "plate-{serial}.json");
    let ended = run(&[
        "stream",
        &design,
        &lines,
        "--each",
        &rows,
        "--manifest",
        &manifest,
        "-q",
    ]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for serial in ["7", "8", "9"] {
        let [manifest, lines] =
            ["json", "job"].map(|kind| beside(&folder, &format!("plate-{serial}.{kind}")));
        assert!(
            std::fs::read_to_string(&manifest)
                .unwrap()
                .contains(&format!("\"{serial}\""))
        );
        run(&["verify", &manifest, &lines]).done();
    }
}

#[test]
fn a_wrong_row_stops_all_jobs_before_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(&folder, SERIAL);
    let out = beside(&folder, "plate-{serial}.raw");
    let lines = format!("file:{}", beside(&folder, "plate-{serial}.job"));
    let before = names(folder.path());
    for (rows, code, says) in [
        ("serial\n7\n8\nx\n", 3, "row 3 of"),
        ("serial\n7\n300\n", 3, "300 is not a sample of 8 bits"),
        ("serial,axis\n7,x\n8\n", 2, "row 2 (line 3) has 1 cells"),
        ("serial\n7\n8\n7\n", 2, "rows 1 and 3 of"),
        ("serial,more\n7,1\n", 3, "gives a value to \"more\""),
        ("axis\nx\n", 2, "has no column serial"),
        ("serial\n", 2, "no row below its header"),
        ("", 2, "it is empty"),
    ] {
        let rows = file(&folder, "rows.csv", rows);
        run(&["render", &design, "--each", &rows, "-o", &out, "-q"]).failed(code, says);
        run(&["stream", &design, &lines, "--each", &rows, "-q"]).failed(code, says);
        std::fs::remove_file(rows).unwrap();
        assert_eq!(names(folder.path()), before, "{says}");
    }
    let rows = file(&folder, "rows.csv", "serial,axis\n7,../x\n");
    run(&[
        "render",
        &design,
        "--each",
        &rows,
        "-o",
        &beside(&folder, "{axis}.raw"),
    ])
    .failed(2, "not a part of a file's name");
    run(&["render", &design, "--each", &rows, "-o", "{"]).failed(2, "a brace stands alone");
    run(&["render", &design, "--each", &rows, "-o", "-"]).failed(3, "expected \"x\" or \"y\"");
    run(&["render", "-", "--each", &rows, "-f", "null"]).failed(2, "give its file");
    run(&["check", &design, "--each", "none.csv"]).failed(1, "cannot read");
}

#[test]
fn ten_million_rows_are_refused_without_being_held() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(&folder, SERIAL);
    let many = file(
        &folder,
        "many.csv",
        &format!("serial\n{}", "1\n".repeat(10_000_000)),
    );
    run(&["check", &design, "--each", &many]).failed(1, "16777216 are allowed");
    let rows = file(&folder, "rows.csv", &format!("serial\n{}", "1\n".repeat(70_000)));
    run(&["check", &design, "--each", &rows]).failed(2, "it has more than 65536 rows");
}

#[test]
fn the_rows_of_an_array_are_inputs_of_the_design() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(
        &folder,
        "relief version=1\ncanvas width=6 height=2\narray columns=3 rows=1 step-x=2 step-y=0 data=\"rows.csv\" {\n\
         (add)fill value=$gray width=2\n}",
    );
    run(&["check", &design]).failed(3, "the rows cannot be used: cannot read");
    let rows = file(&folder, "rows.csv", "gray\n1\n2\n");
    let raw = || run(&["render", &design, "-f", "raw", "-o", "-"]).done();
    assert_eq!(raw(), [1, 1, 2, 2, 0, 0, 1, 1, 2, 2, 0, 0]);
    run(&["render", &design, "-f", "raw", "-o", &rows]).failed(2, "is the file \"rows.csv\"");
    // A job is named by its rows as well: with others it is not taken up.
    let (lines, manifest) = (beside(&folder, "a.job"), beside(&folder, "a.json"));
    let address = format!("file:{lines}");
    run(&["stream", &design, &address, "--manifest", &manifest, "-q"]);
    run(&["verify", &manifest, &lines]).done();
    std::fs::write(&rows, "gray\n1\n3\n").unwrap();
    assert_ne!(run(&["verify", &manifest, &lines]).code, Some(0));
    // A design of others stays in its folder.
    let root = folder.path().join("inner");
    std::fs::create_dir(&root).unwrap();
    let mut command = relief(&["check", &design, "--confined"]);
    command.arg(Path::new(&root));
    let ended = crate::process::ended(command);
    ended.failed(3, "the rows cannot be used");
}
