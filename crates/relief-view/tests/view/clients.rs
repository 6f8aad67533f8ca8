//! The raster as programs of others open it: zarr-python, ome-zarr and xarray, run by Python, and OpenSeadragon in a browser.
//!
//! `RELIEF_READERS` names a Python that has what `tests/clients.txt` lists, `RELIEF_OPENSEADRAGON` the folder of `openseadragon.min.js`;
//! without them these tests say that they were skipped. `RELIEF_REQUIRE_READERS=1` asks for the first.

#![expect(clippy::print_stderr, reason = "a test says that it was skipped")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use relief_engine::Rect;
use relief_view::ServerOptions;
use serde_json::Value;

use crate::page::Browser;
use crate::served::{Served, read};

/// What the clients tell of these arguments, where they are at hand.
fn told_by_clients(arguments: &[String]) -> Option<Value> {
    let python = std::env::var_os("RELIEF_READERS").unwrap_or_else(|| "python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients.py");
    let there = Command::new(&python)
        .arg(&script)
        .arg("--check")
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !there {
        let required = std::env::var_os("RELIEF_REQUIRE_READERS").is_some_and(|value| value == "1");
        assert!(
            !required,
            "{} has not the clients of clients.txt",
            python.display()
        );
        eprintln!("skipped: {} has not the clients of clients.txt", python.display());
        return None;
    }
    let output = Command::new(&python)
        .arg(&script)
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// The samples of an array of a reply.
fn samples(array: &Value) -> Vec<u16> {
    array
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_u64().unwrap() as u16)
        .collect()
}

/// A plate with edges, noise and an odd size.
const PLATE: &str = "relief version=1\ncanvas width=1501 height=907 bits=16\ncompose {\n    \
    (base)noise seed=11\n    (max)repeat step-x=170 step-y=130 { (pattern)disc diameter=90 value=65000 }\n    \
    (multiply)ramp axis=\"x\" from=20000 to=65535\n}";

/// Levels of a raster, one by one: the mean of the pixels of each block, halves up, computed here.
fn levels_of(samples: &[u16], width: usize, level: u32) -> (usize, Vec<u16>) {
    let (height, side) = (samples.len() / width, 1_usize << level);
    let (columns, rows) = (width.div_ceil(side), height.div_ceil(side));
    let mut sums = vec![(0_u64, 0_u64); columns * rows];
    for (place, sample) in samples.iter().enumerate() {
        let block = &mut sums[place / width / side * columns + place % width / side];
        *block = (block.0 + u64::from(*sample), block.1 + 1);
    }
    let mean = |(sum, count): (u64, u64)| ((2 * sum + count) / (2 * count)) as u16;
    (columns, sums.into_iter().map(mean).collect())
}

#[test]
fn every_sample_of_every_level_is_the_mean_of_its_block_to_all_clients() {
    let served = Served::texts(&[PLATE], ServerOptions::default());
    served.key(0);
    let Some(told) = told_by_clients(&["--levels".to_owned(), format!("http://{}/zarr", served.address)])
    else {
        return;
    };
    let (width, height) = (1_501, 907);
    let raster = read(&served.renderer(0), Rect::sized(width, height));
    let shapes = told["shapes"].as_array().unwrap();
    assert!(shapes.len() >= 3, "{shapes:?}");
    for (level, shape) in shapes.iter().enumerate() {
        let (columns, right) = levels_of(&raster, width as usize, level as u32);
        assert_eq!(*shape, serde_json::json!([right.len() / columns, columns]));
        for client in ["zarr", "ome_zarr", "xarray"] {
            assert!(
                samples(&told[client][level]) == right,
                "{client} reads other samples at level {level}"
            );
        }
    }
}

#[test]
fn zarr_python_ome_zarr_and_xarray_read_a_raster_that_exists_nowhere() {
    // A petabyte: a lattice that everything is known of, whatever the level.
    let text = "relief version=1\ncanvas width=40000000 height=30000000 bits=16 pixel=\"1um\"\n\
                repeat step-x=700 step-y=500 { (pattern)disc diameter=400 value=51234 }";
    let served = Served::texts(&[text], ServerOptions::default());
    served.key(0);
    let renderer = served.renderer(0);
    let (x, y) = (21_000_123, 17_000_456);
    let Some(told) = told_by_clients(&[
        format!("http://{}/zarr", served.address),
        x.to_string(),
        y.to_string(),
    ]) else {
        return;
    };
    let right = read(&renderer, Rect::new(x, y, 300, 200).unwrap());
    for client in ["zarr", "window", "ome_zarr", "xarray"] {
        assert!(samples(&told[client]) == right, "{client} reads other samples");
    }
    // The coarsest level: all of it, in one chunk.
    assert_eq!(
        told["shapes"].as_array().unwrap().len() as u64,
        told["levels"].as_u64().unwrap()
    );
    assert_eq!(told["shapes"][0], serde_json::json!([30_000_000, 40_000_000]));
    assert!(
        told["coarsest"]
            .as_array()
            .unwrap()
            .iter()
            .all(|side| side.as_u64().unwrap() <= 256)
    );
}

#[test]
fn openseadragon_shows_a_raster_of_another_origin() {
    let Some(folder) = std::env::var_os("RELIEF_OPENSEADRAGON").map(PathBuf::from) else {
        eprintln!("skipped: RELIEF_OPENSEADRAGON names no folder");
        return;
    };
    let library = fs::read_to_string(folder.join("openseadragon.min.js")).unwrap();
    let Some(browser) = Browser::start(false) else {
        return;
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    // 4 000 × 2 400 pixels in 1 000 × 600: a pixel of the screen is the mean of 4 × 4 of them. Edges of discs and a slope.
    let text = "relief version=1\ncanvas width=4000 height=2400\ncompose {\n    (base)ramp axis=\"x\" from=10 to=180\n    \
        (max)repeat step-x=530 step-y=410 { (pattern)disc diameter=290 value=240 }\n}";
    let served = Served::texts(&[text], ServerOptions::default().cors(&origin));
    served.key(0);
    let page = format!(
        "<!doctype html><body style=\"margin:0\"><div id=\"a\" style=\"width:1000px;height:600px\"></div><script src=\"/library.js\"></script>\
         <script>viewer = OpenSeadragon({{id: 'a', showNavigationControl: false, crossOriginPolicy: 'Anonymous', \
         tileSources: 'http://{}/dzi/image.dzi'}});</script>",
        served.address
    );
    // It serves as long as the test runs.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            let (media, body) = if line.contains("library") {
                ("text/javascript", &library)
            } else {
                ("text/html", &page)
            };
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: {media}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream
                .write_all(head.as_bytes())
                .and_then(|()| stream.write_all(body.as_bytes()));
        }
    });
    browser.open(&origin);
    browser.wait(
        "window.viewer && viewer.world.getItemCount() === 1 && viewer.world.getItemAt(0).getFullyLoaded()",
    );
    browser.frames();
    let raster = read(&served.renderer(0), Rect::sized(4_000, 2_400));
    let (columns, right) = levels_of(&raster, 4_000, 2);
    let picture = browser.picture();
    let off = |place: usize| {
        let [red, green, blue] = picture.at(place % columns, place / columns).map(u16::from);
        assert!(red == green && green == blue);
        red.abs_diff(right[place])
    };
    // A browser resamples where tiles meet.
    let different = (0..right.len()).filter(|place| off(*place) > 1).count();
    assert!(different * 100 < right.len(), "{different} of {}", right.len());
}
