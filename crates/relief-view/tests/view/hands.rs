//! What hands, light and a job change on the page, in a browser.

use std::fs;
use std::path::Path;

use relief_design::scan::Scan;
use relief_engine::Rect;
use relief_machine::{Cut, Input, Manifest};
use relief_scan::{Program, Tables, Windows};
use relief_view::ServerOptions;
use serde_json::{Value, json};

use crate::page::{Browser, WINDOW};
use crate::served::{Served, read};

/// A finger that goes from one place to another in five steps.
fn finger(id: &str, from: (i32, i32), to: (i32, i32)) -> Value {
    let place = |step: i32| {
        let along = |from: i32, to: i32| from + (to - from) * step / 5;
        json!({"type": "pointerMove", "duration": 0, "x": along(from.0, to.0), "y": along(from.1, to.1)})
    };
    let mut actions = vec![place(0), json!({"type": "pointerDown", "button": 0})];
    actions.extend((1..=5).map(place));
    actions.push(json!({"type": "pointerUp", "button": 0}));
    json!({"type": "pointer", "id": id, "parameters": {"pointerType": "touch"}, "actions": actions})
}

#[test]
fn one_finger_moves_the_raster_and_two_pinch_it() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let text = "relief version=1\ncanvas width=4000 height=3000\nnoise seed=5";
    let served = Served::texts(&[text], ServerOptions::default());
    served.key(0);
    let (left, top) = (WINDOW.0 as i32 / 2, WINDOW.1 as i32 / 2);
    browser.open(&format!("http://{}/#x=2000&y=1500&z=4&mode=gray", served.address));
    browser.exact();
    browser.perform(&[finger("one", (500, 300), (600, 360))]);
    // 100 screen pixels to the right and 60 down are 25 and 15 of the raster.
    let near = |name: &str, value: f64, by: f64| {
        format!("Math.abs(new URLSearchParams(location.hash.slice(1)).get('{name}') - {value}) < {by}")
    };
    browser.wait(&near("x", 1_975.0, 3.0));
    browser.wait(&near("y", 1_485.0, 3.0));
    let number = |name: &str| -> f64 {
        let value = browser.run(&format!(
            "return Number(new URLSearchParams(location.hash.slice(1)).get('{name}'))"
        ));
        value.as_f64().unwrap()
    };
    // Two fingers move apart about the middle: what is between them stays, twice as large.
    let (x, y) = (number("x"), number("y"));
    browser.perform(&[
        finger("one", (left - 100, top), (left - 200, top)),
        finger("two", (left + 100, top), (left + 200, top)),
    ]);
    browser.wait(&near("z", 8.0, 0.5));
    assert!((number("x") - x).abs() <= 6.0 && (number("y") - y).abs() <= 6.0);
    browser.exact();
    // What is seen then is the raster there. Rounding decides on the edge of a pixel, so the mouse points into the middle of one.
    let pixel = |name: &str| number(name).round();
    let shift = |name: &str| ((pixel(name) + 0.5 - number(name)) * 8.0).round() as i32;
    browser.mouse(&[(left + shift("x"), top + shift("y"))], false);
    let at = Rect::new(pixel("x") as i64, pixel("y") as i64, 1, 1).unwrap();
    let sample = read(&served.renderer(0), at)[0];
    browser.wait(&format!(
        "document.getElementById('value').textContent === 'sample {sample}'"
    ));
    browser.is_quiet();
}

#[test]
fn a_click_into_the_small_map_goes_there() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let text = "relief version=1\ncanvas width=40000 height=30000\nnoise seed=5";
    let served = Served::texts(&[text], ServerOptions::default());
    served.key(0);
    browser.open(&format!("http://{}/#x=20000&y=15000&z=1", served.address));
    browser.exact();
    let edges = browser.run(
        "const box = document.getElementById('map').getBoundingClientRect(); return [box.left, box.top, box.width, box.height]",
    );
    let edge = |at: usize| edges[at].as_f64().unwrap();
    let (x, y) = (
        (edge(0) + edge(2) / 4.0).round() as i32,
        (edge(1) + edge(3) * 0.75).round() as i32,
    );
    browser.mouse(&[(x, y)], true);
    browser.wait("!location.hash.includes('x=20000')");
    let place = browser.run(
        "const said = new URLSearchParams(location.hash.slice(1)); return ['x', 'y', 'z'].map((name) => Number(said.get(name)))",
    );
    let found = [0, 1, 2].map(|at| place[at].as_f64().unwrap());
    // A pixel of the map is some 220 of the raster.
    assert!(
        (found[0] - 10_000.0).abs() < 300.0 && (found[1] - 22_500.0).abs() < 300.0,
        "{found:?}"
    );
    assert!((found[2] - 1.0).abs() < 1e-9);
    browser.exact();
    browser.is_quiet();
}

#[test]
fn what_faces_the_light_is_bright_and_the_light_moves() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    // Two slopes that meet in the middle: the left one faces left, the right one right.
    let text = "relief version=1\ncanvas width=400 height=300 bits=16\n\
                formula \"60000 * (1 - abs(x - 200) / 200)\"";
    let served = Served::texts(&[text], ServerOptions::default());
    served.key(0);
    let (left, right) = (
        (WINDOW.0 / 2 - 100, WINDOW.1 / 2),
        (WINDOW.0 / 2 + 100, WINDOW.1 / 2),
    );
    for query in ["", "?flat"] {
        let look = |azimuth: u32| {
            browser.open(&format!(
                "http://{}/{query}#x=200&y=150&z=2&mode=relief&azimuth={azimuth}&elevation=30",
                served.address
            ));
            browser.exact();
            let picture = browser.picture();
            [left, right].map(|(x, y)| picture.at(x, y).map(u32::from).iter().sum::<u32>())
        };
        // From the left, from above in the picture, from the right.
        let (west, north, east) = (look(270), look(0), look(90));
        assert!(west[0] > west[1] + 30, "{query}: {west:?}");
        assert!(north[0].abs_diff(north[1]) < 6, "{query}: {north:?}");
        assert!(east[1] > east[0] + 30, "{query}: {east:?}");
        assert!(west[0].abs_diff(east[1]) < 6 && west[1].abs_diff(east[0]) < 6);
    }
    // By the key, a step at a time, and by the slider of its height.
    browser.keys("l");
    browser.wait("location.hash.includes('azimuth=105')");
    browser.run(
        "const slider = document.getElementById('elevation'); slider.value = 80; slider.dispatchEvent(new Event('input'))",
    );
    browser.wait("location.hash.includes('elevation=80')");
    browser.is_quiet();
}

/// A manifest of a job of 300 lines, of which so many are executed.
fn manifest(program: &Program, executed: u64) -> Manifest {
    let (lines, line_bytes) = (300, 400);
    Manifest {
        version: Manifest::VERSION,
        address: "tcp:127.0.0.1:4000".to_owned(),
        pin: None,
        raw: false,
        job: "a".repeat(64),
        token: "b".repeat(32),
        design: Input {
            path: "design-0.kdl".to_owned(),
            digest: "c".repeat(64),
        },
        parameters: Vec::new(),
        images: Vec::new(),
        material: None,
        machine: None,
        region: None,
        scan: program.scan().clone(),
        program: program.digest().to_hex().to_string(),
        lines,
        line_bytes,
        prepared: Vec::new(),
        taken: true,
        executed,
        file_bytes: None,
        complete: executed == lines,
        cut: Cut::new(lines, line_bytes),
        bands: Vec::new(),
        open: Vec::new(),
    }
}

#[test]
fn a_job_grows_over_the_picture_while_its_lines_are_executed() {
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let text = "relief version=1\ncanvas width=400 height=300\nfill value=90";
    let path = folder.path().join("design-0.kdl");
    fs::write(&path, text).unwrap();
    let job = folder.path().join("job.json");
    let raster = Served::files(vec![path.clone()], ServerOptions::default(), None)
        .renderer(0)
        .raster();
    let program = Program::new(&Scan::default(), &Tables::default(), &raster).unwrap();
    let write = |path: &Path, executed| manifest(&program, executed).write(path).unwrap();
    write(&job, 0);
    let options = ServerOptions::default().job(
        &job,
        Program::new(&Scan::default(), &Tables::default(), &raster).unwrap(),
        (0, 0),
    );
    let served = Served::files(vec![path], options, None);
    served.key(0);
    browser.open(&format!("http://{}/#x=200&y=150&z=2&mode=gray", served.address));
    browser.exact();
    // Rows of the raster on the screen: two pixels each.
    let row = |y: usize| WINDOW.1 / 2 - 300 + 2 * y + 1;
    let told = |executed: u64| {
        browser.wait(&format!(
            "document.getElementById('job').textContent.includes('{executed} of 300 lines executed')"
        ));
        browser.frames();
        let picture = browser.picture();
        // Green over gray where lines are executed.
        let is_green = |y: usize| {
            let [red, green, blue] = picture.at(WINDOW.0 / 2 - 200, row(y));
            green > red + 8 && green > blue
        };
        [60, 140, 220].map(is_green)
    };
    assert_eq!(told(0), [false; 3]);
    write(&job, 100);
    assert_eq!(told(100), [true, false, false]);
    write(&job, 180);
    assert_eq!(told(180), [true, true, false]);
    write(&job, 300);
    assert_eq!(told(300), [true; 3]);
    assert!(browser.text("job").starts_with("job done: "));
    browser.is_quiet();
}
