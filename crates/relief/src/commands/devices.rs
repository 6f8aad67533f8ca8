//! `relief devices`: what there is to compute on.

use std::fmt::Write as _;
use std::io::{self, Write};

use relief_engine::{Inventory, devices};
use serde_json::{Value, json};

use crate::arguments::Devices;
use crate::failure::Failure;
use crate::quantity::{counted, show_bytes};

pub(crate) fn run(arguments: &Devices) -> Result<(), Failure> {
    let inventory = devices();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    if arguments.json {
        writeln!(io::stdout(), "{:#}", as_json(&inventory, threads))?;
    } else {
        io::stdout().write_all(as_text(&inventory, threads).as_bytes())?;
    }
    Ok(())
}

fn as_text(inventory: &Inventory, threads: usize) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(text, "{:<10} {}", "cpu", counted(threads as u64, "thread"));
    for device in &inventory.devices {
        let memory = device
            .memory
            .map_or("memory unknown".to_owned(), |bytes| show_bytes(u128::from(bytes)));
        let bandwidth = device.bandwidth.map_or(String::new(), |bytes| {
            format!(", {:.2} TB/s by its clock", bytes as f64 / 1e12)
        });
        let multiprocessors = device.multiprocessors.map_or(String::new(), |count| {
            format!("{}, ", counted(count, "multiprocessor"))
        });
        let software = if device.software {
            ", software Vulkan on the processor: used only if named by its number"
        } else {
            ""
        };
        let _ = writeln!(text, "{:<10} {}{software}", device.id.to_string(), device.name);
        let _ = writeln!(text, "{:<10} {}; {memory}{bandwidth}", "", device.driver);
        let (fewest, most) = device.plane;
        let warp = if fewest == most {
            most.to_string()
        } else {
            format!("{fewest} to {most}")
        };
        let _ = writeln!(
            text,
            "{:<10} {multiprocessors}warps of {warp} threads, {} of shared memory, buffers up to {}",
            "",
            show_bytes(u128::from(device.shared_memory)),
            show_bytes(u128::from(device.largest_buffer))
        );
    }
    for missing in &inventory.missing {
        let _ = writeln!(
            text,
            "{:<10} none: {}",
            missing.backend.to_string(),
            missing.reason
        );
    }
    text
}

fn as_json(inventory: &Inventory, threads: usize) -> Value {
    let gpus: Vec<Value> = inventory
        .devices
        .iter()
        .map(|device| {
            json!({
                "id": device.id.to_string(),
                "name": device.name,
                "driver": device.driver,
                "software": device.software,
                "memory": device.memory,
                "bandwidth": device.bandwidth,
                "multiprocessors": device.multiprocessors,
                "plane": [device.plane.0, device.plane.1],
                "largest_buffer": device.largest_buffer,
                "shared_memory": device.shared_memory,
                "cubes": device.cubes,
            })
        })
        .collect();
    let missing: Vec<Value> = inventory
        .missing
        .iter()
        .map(|missing| json!({ "backend": missing.backend.to_string(), "reason": missing.reason }))
        .collect();
    json!({ "cpu": { "threads": threads }, "gpus": gpus, "missing": missing })
}
