//! `why`, `stats` and `diff`.

use serde_json::Value;
use tempfile::TempDir;

use crate::process::{run, written};

const MARKS: &str = "relief version=1
canvas width=40 height=30 pixel=\"1mm\"
compose {
    (base)fill value=7
    (max)repeat step-x=10 step-y=10 {
        (pattern)disc diameter=4 value=200
    }
}
";

fn json(arguments: &[&str], code: i32) -> Value {
    let ended = run(arguments);
    assert_eq!(
        (ended.code, ended.err.as_str()),
        (Some(code), ""),
        "{arguments:?}"
    );
    serde_json::from_slice(&ended.out).unwrap()
}

/// A second design in a folder.
fn beside(folder: &TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn why_tells_the_nodes_of_a_sample_and_which_decides() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, MARKS);
    let text = run(&["why", &design, "22", "11"]).done();
    let text = String::from_utf8(text).unwrap();
    let expected = format!(
        "{design}: the sample at 22, 11 is 200 of 255
compose 3:1              at 22, 11: 200
  (base)fill 4:11         at 22, 11: 7; replaces 0 by 7
  (max)repeat 5:10        at 22, 11: 200; makes 200 of 7
    (pattern)disc 6:18    at 2, 1: 200
{design}:6:18: disc decides
"
    );
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&text), words(&expected), "{text}");
    // A place in millimetres, and as JSON.
    let told = json(&["why", &design, "25mm", "1.1cm", "--json"], 0);
    assert_eq!(
        (&told["x"], &told["y"], &told["value"]),
        (&25.into(), &11.into(), &7.into())
    );
    let decides = &told["nodes"][told["decides"].as_u64().unwrap() as usize];
    assert_eq!(
        (&decides["kind"], &decides["line"], &decides["role"]),
        (&"fill".into(), &4.into(), &"base".into())
    );
    assert_eq!(
        told["nodes"][2]["folded"],
        serde_json::json!({ "before": 7, "after": 7 })
    );
}

#[test]
fn why_refuses_places_that_are_none() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, MARKS);
    for (x, y) in [("40", "0"), ("-1", "0"), ("0", "30"), ("4", "9000000000mm")] {
        run(&["why", &design, x, y]).failed(2, "canvas of 40×30 pixels");
    }
    run(&["why", &design, "4furlong", "0"]).failed(2, "furlong");
    let bare = beside(
        &folder,
        "bare.kdl",
        "relief version=1\ncanvas width=4 height=4\nfill value=1\n",
    );
    run(&["why", &bare, "1mm", "0"]).failed(2, "does not say how large a pixel is");
}

#[test]
fn stats_are_exact_where_all_is_computed() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, MARKS);
    let samples = run(&["render", &design, "-o", "-"]).done();
    let told = json(&["stats", &design, "--json"], 0);
    let sum: u64 = samples.iter().map(|sample| u64::from(*sample)).sum();
    let white = samples.iter().filter(|sample| **sample == 200).count() as u64;
    assert_eq!((&told["exact"], &told["pixels"]), (&true.into(), &1200.into()));
    assert_eq!(
        (&told["sum"]["at_least"], &told["sum"]["at_most"]),
        (&sum.into(), &sum.into())
    );
    assert_eq!(told["histogram"]["at_least"][200], white);
    assert_eq!(told["histogram"]["at_most"][7], 1200 - white);
    // No sample is 0: each row is one run.
    let exactly = |figure: u64| serde_json::json!({ "at_least": figure, "at_most": figure });
    assert_eq!(
        (&told["runs"]["count"], &told["runs"]["longest"]),
        (&exactly(30), &exactly(40))
    );
    let part = json(&["stats", &design, "--json", "--region", "0,0,10mmx3px"], 0);
    assert_eq!(part["pixels"], 30);
    let text = String::from_utf8(run(&["stats", &design]).done()).unwrap();
    assert!(
        text.contains("all figures exact") && text.contains(&format!("sum       {sum}\n")),
        "{text}"
    );
}

#[test]
fn stats_of_a_raster_that_nothing_could_compute_are_exact_where_it_repeats_and_bounded_elsewhere() {
    let folder = TempDir::new().unwrap();
    let side = 1_u64 << 40;
    let canvas = format!("relief version=1\ncanvas width={side} height={side}\n");
    let design = written(
        &folder,
        &format!("{canvas}repeat step-x=64 step-y=64 {{ (pattern)fill value=9 width=32 height=32 }}"),
    );
    let ended = run(&["stats", &design, "--json"]).done();
    let text = String::from_utf8(ended).unwrap();
    let quarter = (1_u128 << 80) / 4;
    assert!(
        text.contains("\"exact\": true") && text.contains(&format!("\"at_least\": {}", 9 * quarter)),
        "{text:.600}"
    );
    let noise = beside(
        &folder,
        "noise.kdl",
        &format!("{canvas}compose {{ (base)noise seed=1; (max)fill value=3 }}"),
    );
    let told = json(&["stats", &noise, "--json", "--effort", "1000"], 0);
    assert_eq!(
        (
            &told["exact"],
            &told["least"]["at_least"],
            &told["clear"]["at_most"]
        ),
        (&false.into(), &3.into(), &0.into())
    );
    // No sample is 0, so that each row is one run, however little of it is computed.
    let exactly = |figure: u64| serde_json::json!({ "at_least": figure, "at_most": figure });
    assert_eq!(
        (&told["runs"]["count"], &told["runs"]["longest"]),
        (&exactly(side), &exactly(side))
    );
    run(&["stats", &noise, "--exact", "--effort", "1000"]).failed(2, "--cost allows 100000000000");
}

#[test]
fn runs_lie_within_what_is_said_of_them() {
    let folder = TempDir::new().unwrap();
    for (number, root) in [
        "compose { (base)noise seed=1; (subtract)fill value=200 }",
        "threshold level=128 { (source)noise seed=5 }",
        "threshold level=250 { (source)noise seed=5 }",
        "repeat step-x=8 step-y=3 { (pattern)fill value=9 width=5 height=2 }",
        "fill value=0",
        "fill value=1",
        "repeat step-x=64 step-y=64 { (pattern)fill value=9 width=1 height=1 }",
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!("relief version=1\ncanvas width=61 height=47\n{root}\n");
        let design = beside(&folder, &format!("{number}.kdl"), &text);
        let whole = json(&["stats", &design, "--json"], 0);
        let known = json(&["stats", &design, "--json", "--effort", "300"], 0);
        for figure in ["count", "longest"] {
            let of = |told: &Value, end: &str| told["runs"][figure][end].as_u64().unwrap();
            let exact = of(&whole, "at_least");
            assert_eq!(exact, of(&whole, "at_most"), "{root}");
            assert!(
                of(&known, "at_least") <= exact && exact <= of(&known, "at_most"),
                "{root}: {figure} {exact}, said {}",
                known["runs"]
            );
        }
    }
}

#[test]
fn runs_of_what_repeats_are_counted() {
    let folder = TempDir::new().unwrap();
    for (number, (bits, root)) in [
        (8, "repeat step-x=10 step-y=10 { (pattern)disc diameter=5 value=200 }"),
        (8, "lattice { u 9 2; v -3 7; (pattern)disc diameter=6 value=200 }"),
        (16, "lattice blend=\"max\" { u 5 0; v 2 11; (pattern)fill value=7 width=5 height=4 }"),
        (8, "threshold level=100 { (source)lattice blend=\"mean\" { u 13 4; v 5 -9; (pattern)disc diameter=11 value=255 } }"),
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!("relief version=1\ncanvas width=3001 height=1999 bits={bits}\n{root}\n");
        let design = beside(&folder, &format!("{number}.kdl"), &text);
        for region in ["0,0,3001x1999", "1,7,2999x1500", "5,3,1000x2"] {
            let whole = json(&["stats", &design, "--json", "--region", region], 0);
            let known = json(&["stats", &design, "--json", "--region", region, "--effort", "1999"], 0);
            assert_eq!(known["runs"]["count"], whole["runs"]["count"], "{root} {region}");
            if !region.ends_with("x2") {
                assert_eq!(known["runs"], whole["runs"], "{root} {region}");
            }
        }
    }
}

#[test]
fn diff_exits_as_diff_does() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, MARKS);
    // Other words, the same raster.
    let alike = beside(
        &folder,
        "alike.kdl",
        &MARKS.replace("(base)fill value=7", "(base)fill value=7 // the ground"),
    );
    assert_eq!(
        run(&["diff", &design, &alike]).text_of(0),
        "no pixel can differ: the designs compute the same\n"
    );
    let more = beside(
        &folder,
        "more.kdl",
        &MARKS.replace(
            "    (max)",
            "    (add)fill value=3 x=2 y=4 width=5 height=2\n    (max)",
        ),
    );
    let told = json(&["diff", &design, &more, "--json"], 1);
    assert_eq!(told["rectangles"].as_array().unwrap().len(), 1);
    let place = &told["rectangles"][0];
    assert_eq!(
        (&place["x"], &place["y"], &place["width"], &place["height"]),
        (&2.into(), &4.into(), &5.into(), &2.into())
    );
    assert_eq!(
        (&told["different"], &told["largest"], &told["same"]),
        (&10.into(), &3.into(), &false.into())
    );
    assert!(
        run(&["diff", &design, &more])
            .text_of(1)
            .contains("10 of 10 samples differ, by at most 3")
    );
    // They may differ in a place where they do not: found by computing it.
    let under = beside(
        &folder,
        "under.kdl",
        &MARKS.replace(
            "    (max)",
            "    (add)fill value=0 x=2 y=4 width=5 height=2\n    (max)",
        ),
    );
    assert_eq!(json(&["diff", &design, &under, "--json"], 0)["same"], true);
    // Of noise nothing is known without computing it.
    let noise = |name: &str, text: &str| beside(&folder, name, &text.replace("fill value=7", "noise seed=1"));
    let (ground, changed) = (
        noise("ground.kdl", MARKS),
        noise("changed.kdl", &std::fs::read_to_string(&under).unwrap()),
    );
    run(&["diff", &ground, &changed, "--cost", "0"]).failed(2, "give --cost more");
    run(&["diff", &design, "nowhere.kdl"]).failed(2, "nowhere.kdl");
    let wide = beside(&folder, "wide.kdl", &MARKS.replace("width=40", "width=41"));
    assert!(
        run(&["diff", &design, &wide])
            .text_of(1)
            .contains("40 × 30 and 41 × 30 pixels")
    );
    let deep = beside(
        &folder,
        "deep.kdl",
        &MARKS.replace("width=40", "bits=16 width=40"),
    );
    assert_eq!(
        json(&["diff", &design, &deep, "--json"], 1)["bits"],
        serde_json::json!([8, 16])
    );
}

#[test]
fn pictures_of_one_name_are_the_same_where_their_bytes_are() {
    let folder = TempDir::new().unwrap();
    let text = "relief version=1\ncanvas width=40 height=30\ncompose { (base)noise seed=1; (max)image \"p.pgm\" x=3 y=4 }\n";
    let place = |name: &str, sample: u8| {
        let inner = folder.path().join(name);
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(
            inner.join("p.pgm"),
            [b"P5 2 1 255\n", &[255, sample][..]].concat(),
        )
        .unwrap();
        std::fs::write(inner.join("design.kdl"), text).unwrap();
        inner.join("design.kdl").to_str().unwrap().to_owned()
    };
    let (first, alike, other) = (place("a", 254), place("b", 254), place("c", 255));
    assert_eq!(
        run(&["diff", &first, &alike]).text_of(0),
        "no pixel can differ: the designs compute the same\n"
    );
    let told = json(&["diff", &first, &other, "--json"], 1);
    assert_eq!(told["rectangles"][0]["width"], 2);
    assert_eq!((&told["different"], &told["within"]["x"]), (&1.into(), &4.into()));
}

#[test]
fn an_overview_is_left_beside_the_file_and_used_for_its_own_design_alone() {
    let folder = TempDir::new().unwrap();
    let small = "relief version=1\ncanvas width=600 height=500\ncompose { (base)noise seed=SEED; (max)fill value=3 }\n";
    let design = written(&folder, &small.replace("SEED", "1"));
    let raw = folder.path().join("out.raw");
    let out = raw.to_str().unwrap();
    assert_eq!(run(&["render", &design, "-q", "-o", out]).text_of(0), "");
    assert!(
        !folder.path().join("out.raw.overview").exists(),
        "a small raster leaves none"
    );
    assert_eq!(
        run(&["render", &design, "-q", "-o", out, "--overview"]).text_of(0),
        ""
    );
    let overview = folder.path().join("out.raw.overview");
    let overview = overview.to_str().unwrap();
    let told = json(&["stats", &design, "--json", "--overview", overview], 0);
    let samples = std::fs::read(&raw).unwrap();
    let sum: u64 = samples.iter().map(|sample| u64::from(*sample)).sum();
    assert_eq!(told["sum"]["at_least"], sum);
    let other = beside(&folder, "other.kdl", &small.replace("SEED", "2"));
    run(&["stats", &other, "--overview", overview]).failed(2, "is of another design");
    // One beside the design is found, and taken for its own design alone.
    let bounds = |design: &str| {
        let told = json(&["stats", design, "--json", "--effort", "0"], 0);
        (told["sum"]["at_least"].clone(), told["sum"]["at_most"].clone())
    };
    assert_eq!(bounds(&design), (sum.into(), sum.into()));
    let (least, most) = bounds(&other);
    assert!(least.as_u64() < most.as_u64(), "{least} to {most}");
    run(&["stats", &design, "--overview", out]).failed(1, "it is not an overview");
    // Where one was asked for and cannot be, that is said before anything is computed.
    run(&["render", &design, "-o", "-", "--overview"]).failed(2, "it lies beside a file");
    run(&["render", &design, "-o", out, "--overview", "--region", "0,0,9x9"]).failed(2, "of a whole raster");
    run(&["render", &design, "-o", out, "--overview", "--level", "2"]).failed(2, "of a whole raster");
    // Files in tiles leave the same.
    let expected = std::fs::read(overview).unwrap();
    for name in ["out.tif", "out.zarr"] {
        let path = folder.path().join(name);
        let path = path.to_str().unwrap();
        let options = ["--file-tile", "256x512", "--overview"];
        assert_eq!(
            run(&[&["render", &design, "-q", "-o", path], &options[..]].concat()).text_of(0),
            ""
        );
        assert!(
            std::fs::read(format!("{path}.overview")).unwrap() == expected,
            "{name}"
        );
        let shared = folder.path().join("shared.tif");
        run(&[
            "render",
            &design,
            "-o",
            shared.to_str().unwrap(),
            "--share",
            "--overview",
        ])
        .failed(2, "all tiles are computed in one run");
    }
    // Where tiles and blocks do not fit each other, the file is whole and it is said why there is none.
    let path = folder.path().join("narrow.tif");
    let ended = run(&[
        "render",
        &design,
        "-q",
        "-o",
        path.to_str().unwrap(),
        "--file-tile",
        "48x48",
        "--overview",
    ]);
    assert_eq!(ended.code, Some(0));
    assert!(ended.err.contains("no multiples of 256 pixels"), "{}", ended.err);
    assert!(path.exists() && !folder.path().join("narrow.tif.overview").exists());
}

#[test]
fn only_the_rows_that_can_differ_are_streamed() {
    let folder = TempDir::new().unwrap();
    let before = written(&folder, MARKS);
    let after = beside(
        &folder,
        "after.kdl",
        &MARKS.replace(
            "    (max)",
            "    (add)fill value=3 x=2 y=5 width=5 height=2\n    (max)",
        ),
    );
    let all = run(&["render", &after, "-o", "-"]).done();
    let lines = folder.path().join("lines");
    let address = format!("file:{}", lines.to_str().unwrap());
    let ended = run(&[
        "stream",
        &after,
        &address,
        "--raw",
        "-q",
        "--only-changed",
        &before,
    ]);
    assert!(
        ended
            .text_of(0)
            .starts_with("rows 4 to 7 can differ: sent as the region 0,4,40x4\n"),
        "{ended:?}"
    );
    assert!(std::fs::read(&lines).unwrap() == all[4 * 40..8 * 40]);
    // Changes far from each other are jobs of their own, and each file has a name of its own.
    let apart = beside(
        &folder,
        "apart.kdl",
        &MARKS.replace(
            "    (max)",
            "    (add)fill value=3 x=2 y=5 width=5 height=2\n    (add)fill value=5 x=1 y=20 width=3 height=1\n    (max)",
        ),
    );
    let all = run(&["render", &apart, "-o", "-"]).done();
    let one_name = [
        "stream",
        &apart,
        &address,
        "--raw",
        "-q",
        "--only-changed",
        &before,
    ];
    run(&one_name).failed(
        2,
        "write {row} where the number of the first row of each is to stand",
    );
    let template = format!("file:{}", folder.path().join("lines-{row}").to_str().unwrap());
    let ended = run(&[
        "stream",
        &apart,
        &template,
        "--raw",
        "-q",
        "--only-changed",
        &before,
    ]);
    for text in [
        "rows 4 to 7 can differ: sent as the region 0,4,40x4\n",
        "rows 20 to 21 can differ: sent as the region 0,20,40x2\n",
    ] {
        assert!(ended.text_of(0).contains(text), "{ended:?}");
    }
    assert!(std::fs::read(folder.path().join("lines-4")).unwrap() == all[4 * 40..8 * 40]);
    assert!(std::fs::read(folder.path().join("lines-20")).unwrap() == all[20 * 40..22 * 40]);
    // A stripe begins and ends where lines that alternate from the last row on, or swaths, do.
    let from_below = ["--start", "bottom-left", "--direction", "serpentine"];
    let all = run(&[&["stream", &after, &address, "--raw", "-q"], &from_below[..]].concat());
    assert_eq!(all.code, Some(0), "{all:?}");
    let whole = std::fs::read(&lines).unwrap();
    let part = run(&[
        &[
            "stream",
            &after,
            &address,
            "--raw",
            "-q",
            "--only-changed",
            &before,
        ],
        &from_below[..],
    ]
    .concat());
    assert!(part.text_of(0).starts_with("rows 4 to 7 can differ"), "{part:?}");
    // Of 30 rows the last 22 go before them.
    assert!(std::fs::read(&lines).unwrap() == whole[22 * 40..26 * 40]);
    let swaths = run(&[
        "stream",
        &after,
        &address,
        "--raw",
        "-q",
        "--only-changed",
        &before,
        "--swath",
        "3",
    ]);
    assert!(
        swaths.text_of(0).starts_with("rows 0 to 11 can differ"),
        "{swaths:?}"
    );
    for other in [
        &["--interleave", "2"][..],
        &["--axis", "column"],
        &["--stripe", "20"],
    ] {
        run(&[
            &["stream", &after, &address, "--raw", "--only-changed", &before],
            other,
        ]
        .concat())
        .failed(2, "send the whole job");
    }
    // Nothing is sent where one of them cannot be.
    let lost = format!("file:{}", folder.path().join("{row}/lines").to_str().unwrap());
    std::fs::create_dir(folder.path().join("4")).unwrap();
    run(&["stream", &apart, &lost, "--raw", "-q", "--only-changed", &before]).failed(1, "cannot write into");
    assert!(!folder.path().join("4/lines").exists());
    let same = run(&[
        "stream",
        &before,
        &address,
        "--raw",
        "-q",
        "--only-changed",
        &before,
    ]);
    assert!(same.text_of(0).ends_with("nothing is sent\n"), "{same:?}");
    // What lines of these rows alone cannot be.
    let halftone = ["--halftone", "floyd-steinberg"];
    run(&[
        &["stream", &after, &address, "--raw", "--only-changed", &before],
        &halftone[..],
    ]
    .concat())
    .failed(2, "begins anew");
    let wide = beside(&folder, "wide.kdl", &MARKS.replace("width=40", "width=41"));
    run(&["stream", &after, &address, "--raw", "--only-changed", &wide]).failed(2, "41 × 30");
    let scanned = beside(
        &folder,
        "scanned.kdl",
        &format!("{MARKS}scan mirror=\"horizontal\"\n"),
    );
    run(&["stream", &after, &address, "--raw", "--only-changed", &scanned]).failed(2, "all lines are others");
}
