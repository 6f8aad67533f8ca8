//! G-code by the binary: files, regions, lines to begin with, and what `plan` says of them.

use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::process::{names, run, written};

const PLATE: &str = "relief version=1
canvas width=60 height=20 pixel=\"0.1mm\"
scan direction=\"serpentine\" {
    overscan before=\"1mm\" after=\"1mm\"
    gcode feed=\"3000mm/min\" {
        zone from=0 to=5 feed=\"10mm/s\"
    }
}
ramp axis=\"x\" from=0 to=255
";

fn text(arguments: &[&str]) -> String {
    String::from_utf8(run(&[&["render", "-q"], arguments].concat()).done()).unwrap()
}

#[test]
fn a_job_may_begin_with_any_of_its_lines() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, PLATE);
    let out = TempDir::new().unwrap();
    let path = out.path().join("plate.gcode");
    let path = path.to_str().unwrap();
    let said = run(&["render", &design, "-o", path]).done();
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("of G-code, 20 lines"), "{said}");
    assert_eq!(names(out.path()), ["plate.gcode"]);
    let whole = std::fs::read_to_string(path).unwrap();
    assert_eq!(whole, text(&[&design, "-f", "gcode", "-o", "-"]));
    assert!(whole.starts_with("; Relief ") && whole.ends_with("M5\nM2\n"));
    assert_eq!(whole.matches("; L").count(), 20);
    assert!(whole.contains("F600\n") && whole.contains("F3000\n"));
    let rest = text(&[&design, "-f", "gcode", "-o", "-", "--from-line", "17"]);
    let moves = |text: &str| text[text.find("G0").unwrap()..].to_owned();
    assert!(whole.ends_with(&moves(&rest)));
    assert!(rest.contains("; lines 17 to 19 of 20") && rest.contains("M4S0"));
    assert_eq!(rest.matches("; L").count(), 3);
    run(&["render", &design, "-o", path, "--from-line", "20"]).failed(2, "of which the last is 19");
}

#[test]
fn a_region_lies_where_it_lies_on_the_canvas() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, PLATE);
    let whole = text(&[&design, "-f", "gcode", "-o", "-"]);
    let part = text(&[&design, "-f", "gcode", "-o", "-", "--region", "0,10,60x4"]);
    // Rows 10 to 13 have the places of lines 10 to 13; the first line of a job runs forwards.
    for row in 10..14 {
        let line = |text: &str, number: usize| {
            let end = text.find(&format!("; L{number}\n")).unwrap();
            let start = text[..end].rfind("G0").unwrap();
            text[start..end].to_owned()
        };
        assert_eq!(line(&part, row - 10), line(&whole, row), "{row}");
    }
}

#[test]
fn a_plan_tells_bytes_time_link_and_cost() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, PLATE);
    let whole = text(&[&design, "-f", "gcode", "-o", "-"]);
    let body = whole.len() - whole.find("G0").unwrap() - "M5\nM2\n".len();
    let plan = |options: &[&str]| {
        let json = run(&[&["plan", &design, "--json"], options].concat()).done();
        serde_json::from_slice::<serde_json::Value>(&json).unwrap()
    };
    let found = plan(&["--per-hour", "72"]);
    assert!(found["output"].is_null(), "{found}");
    let output = &plan(&["-o", "plate.gcode"])["output"];
    assert_eq!(
        (&output["format"], &output["parts"]),
        (&"gcode".into(), &false.into())
    );
    // How long it is decide the samples: `gcode` tells it.
    assert!(output["bytes"].is_null(), "{output}");
    run(&["plan", &design, "-o", "plate.gcode", "--level", "1"]).failed(2, "is for files of rasters");
    assert_eq!(found["gcode"]["bytes"], body);
    assert_eq!(found["gcode"]["lines"], found["gcode"]["computed_lines"]);
    // Eight millimetres a line: five at 10 mm/s, fifteen at 50 mm/s, and 0.1 mm between lines, at 50 mm/s.
    let seconds = found["machine_seconds"].as_f64().unwrap();
    let expected = 5.0 * 8.0 / 10.0 + 15.0 * 8.0 / 50.0 + 19.0 * 0.1 / 50.0;
    assert!((seconds - expected).abs() < 1e-6, "{seconds} {expected}");
    let cost = found["cost"].as_f64().unwrap();
    assert!((cost - 72.0 * expected / 3_600.0).abs() < 1e-9, "{cost}");
    // From rest to rest at 100 mm/s²: v / a more for each line and each step between them.
    let slow = plan(&["--acceleration", "100mm"])["machine_seconds"]
        .as_f64()
        .unwrap();
    let lines = 5.0 * (8.0 / 10.0 + 0.1) + 15.0 * 2.0 * (8.0_f64 / 100.0).sqrt();
    let steps = 19.0 * 2.0 * (0.1_f64 / 100.0).sqrt();
    assert!((slow - lines - steps).abs() < 1e-6, "{slow}");
    let said = String::from_utf8(run(&["plan", &design]).done()).unwrap();
    assert!(
        said.contains("all 20 lines computed") && said.contains("11520 carried"),
        "{said}"
    );
    run(&["plan", &design, "--speed", "10mm"]).failed(2, "leave it out");
    // A motion that is given tells the time of any other scan.
    let other = written(
        &folder,
        &PLATE
            .replace("gcode feed", "// gcode feed")
            .replace("        zone", "// zone")
            .replace("}\n}\nramp", "}\nramp"),
    );
    let time =
        String::from_utf8(run(&["plan", &other, "--speed", "8mm", "--per-hour", "3600"]).done()).unwrap();
    assert!(
        time.contains("time     20 s") && time.contains("cost     20.00"),
        "{time}"
    );
    run(&["plan", &other, "--per-hour", "1"]).failed(2, "give --speed");
}

#[test]
fn what_g_code_cannot_be_made_of_is_refused() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, PLATE);
    let bare = folder.path().join("bare.kdl");
    std::fs::write(&bare, "relief version=1\ncanvas width=6 height=2\nfill value=1\n").unwrap();
    let out = TempDir::new().unwrap();
    let path = out.path().join("a.nc");
    let path = path.to_str().unwrap();
    for (options, said) in [
        (
            &[&design[..], "--bits", "1"][..],
            "G-code takes all of the `scan`",
        ),
        (&[&design, "--passes", "even:3"], "G-code takes all of the `scan`"),
        (&[&design, "--level", "1"], "--level is for files of rasters"),
        (&[&design, "--preview", "10"], "--preview is for files of rasters"),
        (&[&design, "--levels"], "--levels is for files of rasters"),
        (&[&design, "--digest"], "leave it out"),
        (&[bare.to_str().unwrap()], "scan { gcode feed="),
    ] {
        let ended = run(&[&["render", "-o", path], options].concat());
        assert_eq!(ended.code, Some(2), "{options:?}: {}", ended.err);
        assert!(ended.err.contains(said), "{options:?}: {}", ended.err);
        assert_eq!(names(out.path()), [""; 0]);
    }
    let png = out.path().join("a.png");
    run(&["render", &design, "-o", png.to_str().unwrap(), "--from-line", "3"]).failed(2, "is for G-code");
    let two = written(
        &folder,
        &PLATE.replace("gcode feed", "swath lines=2\n    gcode feed"),
    );
    run(&["check", &two]).failed(2, "one beam");
}

#[test]
fn check_and_plan_tell_what_a_screen_and_an_offset_come_to() {
    let folder = TempDir::new().unwrap();
    let text = "relief version=1
canvas width=60 height=20 dpi=1200
scan direction=\"serpentine\" return-offset=1.75 {
    overscan after=2
    halftone \"screen\" frequency=\"150lpi\" angle=15
}
fill value=9
";
    let design = written(&folder, text);
    for command in ["check", "plan"] {
        let said = String::from_utf8(run(&[command, &design]).done()).unwrap();
        assert!(said.contains("where 150 lpi at 15° are asked"), "{said}");
        assert!(
            said.contains("moved by 2 pixels of the 1.75 that") && said.contains("by whole pixels"),
            "{said}"
        );
    }
    // So they do of nodes.
    let dithered = written(
        &folder,
        "relief version=1
canvas width=60 height=20 dpi=1200
dither \"screen\" frequency=\"150lpi\" angle=15 {
    (source)fill value=9
}
",
    );
    for command in [&["check"][..], &["plan"], &["plan", "--json"]] {
        let said = String::from_utf8(run(&[command, &[&*dithered]].concat()).done()).unwrap();
        assert!(
            said.contains("the dither of line 3: 1") && said.contains("where 150 lpi at 15° are asked"),
            "{said}"
        );
    }
    let gray = written(
        &folder,
        &text.replace("halftone \"screen\" frequency=\"150lpi\" angle=15", ""),
    );
    let said = String::from_utf8(run(&["check", &gray]).done()).unwrap();
    assert!(said.contains("by means of two samples"), "{said}");
}

/// A program of others draws the file: what it burns is the raster.
#[test]
fn gcode2image_draws_the_raster() {
    let python = std::env::var_os("RELIEF_READERS").unwrap_or_else(|| "python3".into());
    let there = Command::new(&python)
        .args(["-c", "import gcode2image"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !there {
        let required = std::env::var_os("RELIEF_REQUIRE_READERS").is_some_and(|value| value == "1");
        assert!(
            !required,
            "{} has not the readers of readers.txt",
            python.display()
        );
        eprintln!("skipped: {} has no gcode2image", python.display());
        return;
    }
    let folder = TempDir::new().unwrap();
    let text = "relief version=1
canvas width=60 height=50 pixel=\"0.1mm\"
scan {
    gcode feed=\"3000mm/min\"
}
compose {
    (base)ramp axis=\"x\" from=3 to=250
    (over)disc diameter=20 value=200 x=20 y=15
}
";
    let design = written(&folder, text);
    let (columns, rows) = (40, 30);
    let region = ["--region", "10,12,40x30"];
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (gcode, png) = (path("a.gcode"), path("a.png"));
    run(&[&["render", &design, "-q", "-o", &gcode], &region[..]].concat()).done();
    // Half a pixel is a whole number of its pixels.
    let program = "import sys, gcode2image; sys.argv[0] = 'gcode2image'; gcode2image.main()";
    let drawn = Command::new(&python)
        .args([
            "-c",
            program,
            "--resolution",
            "0.05",
            "--maxintensity",
            "1000",
            &gcode,
            &png,
        ])
        .output()
        .unwrap();
    assert!(drawn.status.success(), "{drawn:?}");
    let raster = run(&[
        &["render", &design, "--region", region[1]],
        &["-f", "raw", "-o", "-", "-q"][..],
    ]
    .concat())
    .done();
    let mut reader = png::Decoder::new(std::io::Cursor::new(std::fs::read(&png).unwrap()))
        .read_info()
        .unwrap();
    let mut found = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut found).unwrap();
    assert_eq!(info.color_type, png::ColorType::Grayscale);
    // From below, a row of its pixels for each line, with one between that is blank; black is full power.
    for row in 0..rows {
        for column in 0..columns {
            let power = (f64::from(raster[row * columns + column]) * 1_000.0 / 255.0 + 0.5).floor();
            let expected = ((1.0 - power / 1_000.0) * 255.0).round();
            let from_below = 2 * (rows - 1 - row);
            let pixel = found[from_below * info.line_size + 2 * column];
            assert!(
                (f64::from(pixel) - expected).abs() <= 1.0,
                "{column} {row}: {pixel} {expected}"
            );
        }
    }
}
