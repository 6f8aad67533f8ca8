//! What there is to compute on.

use pyo3::prelude::*;
use relief_engine::Inventory;
use serde_json::{Value, json};

/// The devices of this machine, and why others are not there, as JSON.
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> String {
    let Inventory { devices, missing, .. } = py.detach(relief_engine::devices);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let gpus: Vec<Value> = devices
        .iter()
        .map(|device| {
            json!({
                "id": device.id.to_string(),
                "name": device.name,
                "driver": device.driver,
                "software": device.software,
                "memory": device.memory,
            })
        })
        .collect();
    let missing: Vec<Value> = missing
        .iter()
        .map(|missing| json!({ "backend": missing.backend.to_string(), "reason": missing.reason }))
        .collect();
    json!({ "threads": threads, "gpus": gpus, "missing": missing }).to_string()
}
