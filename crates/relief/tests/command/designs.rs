//! `check` and `plan`: what is said of designs that are right.

use serde_json::Value;

use crate::process::{run, run_with, written};

fn plan(arguments: &[&str]) -> Value {
    let mut all = vec!["plan", "--json"];
    all.extend(arguments);
    serde_json::from_slice(&run(&all).done()).unwrap()
}

#[test]
fn check_says_what_a_design_makes() {
    let said = String::from_utf8(run(&["check", "sheet/design.kdl"]).done()).unwrap();
    for word in [
        "2000000 × 1800000 pixels",
        "1 µm",
        "2 m × 1.8 m",
        "8 bits",
        "nodes",
    ] {
        assert!(said.contains(word), "{word} is not in {said}");
    }
    let said = run_with(
        &["check", "-"],
        "relief version=1\ncanvas width=3 height=2 bits=16\nfill value=1",
    );
    assert_eq!(said.text(), "<stdin>: 3 × 2 pixels, 16 bits, 1 node\n");
}

#[test]
fn a_plan_keeps_to_the_memory_allowed_and_says_so() {
    for memory in ["16MiB", "64MiB", "1GiB"] {
        let plan = plan(&["sheet/design.kdl", "--memory", memory, "--threads", "2"]);
        let limit = match memory {
            "16MiB" => 16 << 20,
            "64MiB" => 64 << 20,
            _ => 1 << 30,
        };
        assert!(plan["peak_bytes"].as_u64().unwrap() <= limit, "{memory}");
        assert_eq!(plan["threads"], 2);
        assert_eq!(plan["raster"]["width"], 2_000_000);
        assert!(plan["nodes"].as_array().unwrap().len() > 5);
    }
    let part = plan(&["sheet/design.kdl", "--region", "5,6,70x80", "--tile", "33x7"]);
    assert_eq!(
        (&part["raster"]["x"], &part["raster"]["height"]),
        (&5.into(), &80.into())
    );
    assert_eq!(
        (&part["tile"]["width"], &part["tile"]["height"]),
        (&33.into(), &7.into())
    );
}

#[test]
fn a_plan_shows_its_tree() {
    let said = String::from_utf8(run(&["plan", "logo/design.kdl"]).done()).unwrap();
    for word in [
        "raster",
        "bands",
        "tiles",
        "memory",
        "compose",
        "lattice",
        "distance",
        "halo 80",
        "in memory",
    ] {
        assert!(said.contains(word), "{word} is not in {said}");
    }
}

#[test]
fn memory_that_does_not_do_is_refused_with_the_figure_that_does() {
    let ended = run(&["plan", "logo/design.kdl", "--memory", "10kB", "--threads", "1"]);
    ended.failed(4, "10000 bytes are allowed");
    let needed: u64 = ended
        .err
        .split_whitespace()
        .find_map(|word| word.parse().ok())
        .unwrap();
    plan(&[
        "logo/design.kdl",
        "--threads",
        "1",
        "--memory",
        &needed.to_string(),
    ]);
    run(&["render", "logo/design.kdl", "-f", "null", "--memory", "10kB"]).failed(4, "would do");
    run(&["digest", "logo/design.kdl", "--memory", "0"]).failed(4, "would do");
}

#[test]
fn a_design_without_pictures_needs_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let design = written(
        &folder,
        "relief version=1\ncanvas width=4 height=1\nramp axis=\"x\" from=0 to=3",
    );
    assert_eq!(run(&["render", &design, "-o", "-"]).done(), [0, 1, 2, 3]);
}

/// 600 samples lie in rows of 608 bytes; the band is all of the canvas.
#[test]
fn a_plan_for_a_gpu_names_what_the_host_computes_and_copies() {
    let folder = tempfile::tempdir().unwrap();
    let text = "relief version=1\ncanvas width=600 height=100\nformula \"0.5 * a\" { (source)noise seed=3 name=\"a\" }";
    let design = written(&folder, text);
    let gpu = ["plan", &design, "--device", "vulkan:0"];
    let ended = run(&gpu);
    if ended.err.contains("no vulkan") {
        assert!(std::env::var_os("RELIEF_REQUIRE_GPU").is_none(), "{ended:?}");
        return;
    }
    // Mesa may say something of its own on the standard error.
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let said = ended.text();
    for part in [
        "host     computes formula (line 3) and copies at most 59.4 KiB to a GPU for each band\n",
        "formula (line 3) 600 × 100; by the host, at most 59.4 KiB a band copied\n",
        "noise (line 3) 600 × 100; by the host\n",
    ] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    let told: Value = serde_json::from_str(run(&[&gpu[..], &["--json"]].concat()).text()).unwrap();
    let by_host = |node: usize| &told["nodes"][node]["by_host"]["copied_bytes_per_band"];
    assert_eq!((by_host(0), by_host(1)), (&0.into(), &(608 * 100).into()));

    let cpu = ["plan", &design, "--device", "cpu"];
    let said = String::from_utf8(run(&cpu).done()).unwrap();
    assert!(!said.contains("host"), "{said}");
    assert!(plan(&cpu[1..])["nodes"][1]["by_host"].is_null());
}
