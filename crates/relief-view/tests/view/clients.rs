//! The store as programs of others open it: zarr-python, ome-zarr and xarray, run by Python.
//!
//! `RELIEF_READERS` names a Python that has what `crates/relief/tests/readers.txt` lists; without it this test says that it was skipped,
//! unless `RELIEF_REQUIRE_READERS=1` asks for it.

#![expect(clippy::print_stderr, reason = "a test says that it was skipped")]

use std::path::Path;
use std::process::{Command, Stdio};

use relief_engine::Rect;
use relief_view::ServerOptions;
use serde_json::Value;

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
        assert!(!required, "{} has not the clients of readers.txt", python.display());
        eprintln!("skipped: {} has not the clients of readers.txt", python.display());
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
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let right = read(&renderer, Rect::new(x, y, 300, 200).unwrap());
    for client in ["zarr", "window", "ome_zarr", "xarray"] {
        let found: Vec<u16> = told[client].as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as u16).collect();
        assert!(found == right, "{client} reads other samples");
    }
    // The coarsest level: all of it, in one chunk.
    assert_eq!(told["shapes"].as_array().unwrap().len() as u64, told["levels"].as_u64().unwrap());
    assert_eq!(told["shapes"][0], serde_json::json!([30_000_000, 40_000_000]));
    assert!(told["coarsest"].as_array().unwrap().iter().all(|side| side.as_u64().unwrap() <= 256));
}
