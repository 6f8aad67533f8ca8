//! The raster as programs of others open it: zarr-python, ome-zarr and xarray, run by Python, and OpenSeadragon in a browser.
//!
//! `RELIEF_READERS` names a Python that has what `tests/clients.txt` lists, `RELIEF_OPENSEADRAGON` the folder of `openseadragon.min.js`;
//! without them these tests say that they were skipped. `RELIEF_REQUIRE_READERS=1` asks for the first.

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

#[test]
fn zarr_python_ome_zarr_and_xarray_read_a_raster_that_exists_nowhere() {
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
        return;
    }
    // A petabyte: a lattice that everything is known of, whatever the level.
    let text = "relief version=1\ncanvas width=40000000 height=30000000 bits=16 pixel=\"1um\"\n\
                repeat step-x=700 step-y=500 { (pattern)disc diameter=400 value=51234 }";
    let served = Served::texts(&[text], ServerOptions::default());
    served.key(0);
    let renderer = served.renderer(0);
    let (x, y) = (21_000_123, 17_000_456);
    let output = Command::new(&python)
        .arg(&script)
        .arg(format!("http://{}/zarr", served.address))
        .args([x.to_string(), y.to_string()])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let right = read(&renderer, Rect::new(x, y, 300, 200).unwrap());
    for client in ["zarr", "window", "ome_zarr", "xarray"] {
        let found: Vec<u16> = told[client]
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_u64().unwrap() as u16)
            .collect();
        assert!(found == right, "{client} reads other samples");
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
    let text = "relief version=1\ncanvas width=3000 height=2000\nfill value=173";
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
    assert_eq!(browser.picture().at(500, 300), [173; 3]);
}
