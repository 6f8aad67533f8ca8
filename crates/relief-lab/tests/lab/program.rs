//! `relief-lab` by real processes: what is listed, measured, written and compared, and how that ends.

use std::path::Path;
use std::process::{Command, Output};

fn lab(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_relief-lab"));
    command.args(arguments).env_remove("RELIEF_REVISION");
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Measures copies of 2^12 words into a record.
fn record(folder: &Path, name: &str) -> String {
    let path = folder.join(name).display().to_string();
    let arguments = [
        "run",
        "copy",
        "--device",
        "cpu",
        "--threads",
        "1",
        "--quick",
        "--size",
        "2^12",
        "--json",
        &path,
    ];
    let output = lab(&arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    path
}

/// Whether there is a Vulkan device; where `RELIEF_REQUIRE_GPU` is set, there has to be one.
#[cfg(feature = "vulkan")]
fn has_vulkan() -> bool {
    use relief_kernels::device::{DeviceId, device};
    let found = device(DeviceId::Vulkan(0)).is_ok();
    assert!(
        found || std::env::var_os("RELIEF_REQUIRE_GPU").is_none(),
        "no device"
    );
    found
}

#[cfg(feature = "vulkan")]
#[test]
fn what_tuning_finds_is_written_for_the_device_and_is_what_runs_afterwards() {
    if !has_vulkan() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (policies, json) = (path("policies"), path("a.json"));
    let tune = |kernels: &str, more: &[&str]| {
        let arguments = [
            "tune", kernels, "--device", "vulkan:0", "--quick", "--size", "2^12",
        ];
        lab(&[&arguments[..], &["--policies", &policies], more].concat())
    };
    let dry = tune("map/gray", &["--dry-run"]);
    assert!(dry.status.success(), "{}", text(&dry.stderr));
    assert!(!Path::new(&policies).exists(), "a dry run writes nothing");
    let output = tune("map/gray", &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let told = text(&output.stdout);
    assert!(
        told.contains("vector items") && told.contains("map gray: units="),
        "{told}"
    );
    let written = std::fs::read_to_string(&policies).unwrap();
    let line = |text: &str| {
        text.lines()
            .find(|line| line.contains("\tmap gray\t"))
            .unwrap()
            .to_owned()
    };
    let (device, found) = line(&written)
        .split_once("\tmap gray\t")
        .map(|(d, f)| (d.to_owned(), f.to_owned()))
        .unwrap();
    assert!(device.starts_with("vulkan "), "{written}");
    assert!(told.contains(&format!("map gray: {found}, at most")), "{told}");

    // Another layout than that, which nobody would choose: if it is the one that runs, it was read.
    let other = "units=64 items=4 vector=4";
    std::fs::write(&policies, written.replace(&found, other)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_relief-lab"));
    command.env("RELIEF_POLICIES", &policies);
    command.args([
        "run", "map/gray", "--device", "vulkan:0", "--quick", "--size", "2^12",
    ]);
    let output = command.args(["--check", "--json", &json]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let record = std::fs::read_to_string(&json).unwrap();
    let rows = record
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let tunings: Vec<String> = rows
        .filter_map(|line| Some(line.pointer("/row/tuning")?.as_str()?.to_owned()))
        .collect();
    assert!(
        !tunings.is_empty() && tunings.iter().all(|tuning| tuning == other),
        "{tunings:?}"
    );

    // On software Vulkan copies are by something that has no layout.
    let none = tune("copy", &[]);
    let software = text(&none.stderr).contains("no kernel of copy has layouts to search");
    assert!(software || none.status.success(), "{}", text(&none.stderr));
}

#[cfg(feature = "vulkan")]
#[test]
fn what_is_too_large_for_a_device_is_not_checked_and_the_rest_is() {
    if !has_vulkan() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("a.json").display().to_string();
    let arguments = ["run", "copy", "--device", "vulkan:0", "--quick", "--size", "1000"];
    let output = lab(&[&arguments[..], &["--check", "--huge", "--json", &json]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let record = std::fs::read_to_string(&json).unwrap();
    let rows: Vec<serde_json::Value> = record
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let verdicts = |case: &str| -> Vec<String> {
        let case = serde_json::Value::from(format!("{case} u32"));
        let of = rows
            .iter()
            .filter(|line| line.pointer("/row/case") == Some(&case));
        of.map(|line| {
            line.pointer("/row/verdict/is")
                .unwrap()
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect()
    };
    let small = verdicts("1 000");
    assert!(
        small.len() > 10 && small.iter().all(|verdict| verdict == "right"),
        "{small:?}"
    );
    // More than 4 GiB: either the device has as much, or it says so; either way the rest is as it was.
    let huge = verdicts("1 073 741 901");
    let fine = |verdict: &String| verdict == "right" || verdict == "unsupported";
    assert!(huge.len() == small.len() && huge.iter().all(fine), "{huge:?}");
}

#[test]
fn every_family_and_its_variants_are_listed() {
    let output = lab(&["list"]);
    assert!(output.status.success());
    let all = text(&output.stdout);
    for part in [
        "copy: words",
        "map/gray:",
        "non-temporal: stores that bypass",
        "map/table-u16",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    let some = lab(&["list", "map/add"]);
    assert!(!text(&some.stdout).contains("copy:"), "{}", text(&some.stdout));
}

#[test]
fn a_run_prints_a_table_and_writes_json_csv_and_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (json, csv, html) = (path("a.json"), path("a.csv"), path("a.html"));
    let arguments = [
        "run",
        "map/add",
        "--device",
        "cpu",
        "--quick",
        "--size",
        "2^12",
        "--revision",
        "abc123",
    ];
    let outputs = ["--json", &json, "--csv", &csv, "--html", &html];
    let output = lab(&[&arguments[..], &outputs[..]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    assert!(
        table.contains("revision abc123") && table.contains("map/add, 2^12 f32; "),
        "{table}"
    );
    assert!(table.contains("production *"), "{table}");
    let lines = std::fs::read_to_string(&json).unwrap();
    assert!(
        lines
            .lines()
            .all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok())
    );
    assert!(
        std::fs::read_to_string(&csv)
            .unwrap()
            .contains(",map/add,2^12 f32,")
    );
    assert!(
        std::fs::read_to_string(&html)
            .unwrap()
            .starts_with("<!DOCTYPE html>")
    );
}

#[test]
fn planes_that_diverge_are_counted_for_a_picture_and_for_a_product() {
    for (arguments, parts) in [
        (
            &["1000x1", "--cube", "256x1"][..],
            &["1 of 32 planes diverge"][..],
        ),
        (&["62x76"], &["38 of 160 planes diverge, 23.8 %"]),
        (
            &["--product", "100"],
            &[
                "350 of 2744 ",
                "336 of 2352 ",
                "14 of 392 phases of planes diverge, 3.6 %",
            ],
        ),
    ] {
        let output = lab(&[&["divergence"], arguments].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let told = text(&output.stdout);
        assert!(parts.iter().all(|part| told.contains(part)), "{told}");
    }
    for wrong in [
        &["62x76", "--cube", "64x32"][..],
        &["9999999999x2"],
        &["8x8", "--lanes", "0"],
        &["--product", "100", "--cube", "16x8"],
        &[],
    ] {
        let output = lab(&[&["divergence"], wrong].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn a_run_that_is_ended_early_leaves_what_was_measured() {
    use std::io::{BufRead as _, BufReader};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_relief-lab"));
    command.args(["run", "copy", "map/add", "stencil", "--device", "cpu", "--quick"]);
    command.args(["--size", "4096", "--json"]).arg(&path);
    let mut run = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    // The table of a ladder comes after the record of those before it was written.
    let lines = BufReader::new(run.stdout.take().unwrap()).lines();
    let second = lines
        .map_while(Result::ok)
        .find(|line| line.starts_with("map/add, "));
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(second.is_some());
    let shown = lab(&["show", &path.display().to_string()]);
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    let table = text(&shown.stdout);
    assert!(
        table.contains("copy, 2^12 u32") && table.contains("threads production *"),
        "{table}"
    );
}

#[test]
fn a_check_times_nothing() {
    let output = lab(&[
        "run", "copy", "--device", "cpu", "--quick", "--size", "1000", "--check",
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    assert!(
        table.contains("memcpy") && table.contains("right") && !table.contains("GB/s"),
        "{table}"
    );
}

#[test]
fn a_photograph_that_cannot_be_read_fails_by_its_name() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_relief-lab"));
    command.env("RELIEF_LAB_PICTURE", "no-such-picture.pgm");
    command.args([
        "run",
        "histogram/u8",
        "--device",
        "cpu",
        "--quick",
        "--size",
        "1000",
    ]);
    let output = command.arg("--check").output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", text(&output.stderr));
    let (table, errors) = (text(&output.stdout), text(&output.stderr));
    let said = |text: &str| text.contains("no-such-picture.pgm (RELIEF_LAB_PICTURE)");
    assert!(said(table) || said(errors), "{table}\n{errors}");
}

#[test]
fn one_variant_is_measured_beside_the_first() {
    let arguments = [
        "run",
        "copy",
        "--device",
        "cpu",
        "--quick",
        "--size",
        "4096",
        "--variant",
        "non-temporal",
    ];
    let output = lab(&arguments);
    let table = text(&output.stdout);
    assert!(
        table.contains("  scalar") && table.contains("  non-temporal"),
        "{table}"
    );
    assert!(!table.contains("memcpy"), "{table}");
    let among_several = [&arguments[..], &["--variant", "memcpy"]].concat();
    let output = lab(&among_several);
    let table = text(&output.stdout);
    assert!(
        table.contains("  memcpy") && table.contains("  non-temporal"),
        "{table}"
    );
    assert!(!table.contains("  scalar"), "{table}");
}

#[test]
fn a_record_is_the_same_as_itself_and_worse_than_a_faster_one() {
    let folder = tempfile::tempdir().unwrap();
    let old = record(folder.path(), "old.json");
    // The same run, as if all of it had taken a tenth of the time.
    let mut faster = String::new();
    for line in std::fs::read_to_string(&old).unwrap().lines() {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        if let Some(summary) = line.pointer_mut("/row/summary") {
            for name in ["median", "p10", "p90"] {
                summary[name] = (summary[name].as_f64().unwrap() / 100.0).into();
            }
        }
        faster.push_str(&format!("{line}\n"));
    }
    let new = folder.path().join("new.json").display().to_string();
    std::fs::write(&new, faster).unwrap();

    let better = lab(&["compare", &old, &new]);
    assert!(better.status.success(), "{}", text(&better.stdout));
    assert!(
        text(&better.stdout).contains("6 FASTER"),
        "{}",
        text(&better.stdout)
    );
    let worse = lab(&["compare", &new, &old]);
    assert_eq!(worse.status.code(), Some(5), "{}", text(&worse.stdout));
    assert!(
        text(&worse.stderr).contains("6 rows are slower or broken"),
        "{}",
        text(&worse.stderr)
    );
    let same = lab(&["compare", &old, &old]);
    assert!(same.status.success(), "{}", text(&same.stdout));
}

#[test]
fn wrong_arguments_say_what_there_is() {
    for (arguments, code, part) in [
        (&["run", "copi", "--device", "cpu"][..], 2, "there are copy, map"),
        (
            &["run", "copy", "--device", "cpu", "--variant", "fast"],
            2,
            "memcpy",
        ),
        (&["run", "copy", "--device", "cpu", "--size", "2^99"], 2, "2^32"),
        (
            &["run", "copy", "--device", "cpu", "--threads", "0"],
            2,
            "at least 1",
        ),
        (&["tune", "copy", "--device", "cpu"], 2, "only kernels of devices"),
        (
            &["compare", "/nonexistent/a", "/nonexistent/b"],
            1,
            "cannot read /nonexistent/a",
        ),
    ] {
        let output = lab(arguments);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {}",
            text(&output.stderr)
        );
        assert!(
            text(&output.stderr).contains(part),
            "{arguments:?}: {}",
            text(&output.stderr)
        );
    }
}

#[test]
fn a_file_that_is_no_record_is_refused_by_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no.json");
    std::fs::write(&path, "{\"hello\": 1}\n").unwrap();
    let path = path.display().to_string();
    let output = lab(&["compare", &path, &path]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("not a record of the lab: line 1"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn other_programs_stand_beside_a_record_of_the_same_device() {
    let folder = tempfile::tempdir().unwrap();
    let path = record(folder.path(), "a.json");
    let lines = std::fs::read_to_string(&path).unwrap();
    let header: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    let device = &header["header"]["name"];
    let tool = format!(
        r#"{{"tool":{{"tool":"Other","version":"1","device":{device},"driver":"","date":"2026-11-21T08:00:00Z","command":""}}}}"#
    );
    let rival = r#"{"rival":{"ladder":"copy","case":"2^12 u32","name":"theirs","median":1,"p10":1,"p90":1,"samples":9,"right":"all"}}"#;
    let rivals = folder.path().join("rivals.json").display().to_string();
    std::fs::write(&rivals, format!("{tool}\n{rival}\n")).unwrap();
    let json = folder.path().join("b.json").display().to_string();
    let output = lab(&["show", &path, "--rivals", &rivals, "--json", &json]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(
        shown.contains("theirs †") && shown.contains("Other 1, 2026-11-21"),
        "{shown}"
    );
    assert!(shown.contains("× rivals"), "{shown}");
    // The joined record shows them by itself.
    let again = lab(&["show", &json]);
    assert_eq!(text(&again.stdout), shown);
}

#[test]
fn a_file_that_is_no_record_of_rivals_is_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rivals.json").display().to_string();
    std::fs::write(&path, "{\"tool\": 1}\n").unwrap();
    let output = lab(&["run", "copy", "--device", "cpu", "--rivals", &path]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(
        said.contains("rivals.json, line 1: expected") && said.contains("found {\"tool\": 1}"),
        "{said}"
    );
    assert!(output.stdout.is_empty());
}

#[test]
fn records_become_a_page_a_family() {
    let folder = tempfile::tempdir().unwrap();
    let path = record(folder.path(), "a.json");
    let pages = folder.path().join("pages");
    let output = lab(&["show", &path, "--markdown", &pages.display().to_string()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = std::fs::read_to_string(pages.join("copy.md")).unwrap();
    assert!(page.contains("| **`threads production`** |"), "{page}");
    assert!(!page.contains("no longer in the lab"), "{page}");
}

#[test]
fn a_record_without_times_makes_no_page() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("a.json").display().to_string();
    let whole = std::fs::read_to_string(record(folder.path(), "b.json")).unwrap();
    std::fs::write(&empty, whole.lines().next().unwrap()).unwrap();
    let pages = folder.path().join("pages");
    let output = lab(&["show", &empty, "--markdown", &pages.display().to_string()]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(
        text(&output.stderr).contains("no timed row"),
        "{}",
        text(&output.stderr)
    );
    assert!(!pages.exists());
}
