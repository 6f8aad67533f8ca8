//! The device under test.

use relief_engine::{DeviceChoice, DeviceId, Inventory, devices, select};

#[path = "../../../relief-kernels/tests/support/turn.rs"]
mod turn;

/// The device that the environment names, or nothing where there is none; the first that asks is told why.
pub(crate) fn device() -> Option<DeviceId> {
    let required = std::env::var("RELIEF_REQUIRE_GPU").ok();
    let asked = match (std::env::var("RELIEF_TEST_DEVICE"), required.as_deref()) {
        (Ok(device), _) => device,
        (Err(_), Some("cuda")) => "cuda".to_owned(),
        (Err(_), _) => "vulkan:0".to_owned(),
    };
    let inventory = devices();
    match find(&asked, &inventory) {
        Ok(id) => {
            if inventory
                .devices
                .iter()
                .any(|report| report.id == id && report.software)
            {
                turn::take();
            }
            Some(id)
        }
        Err(reason) => {
            assert!(required.is_none(), "RELIEF_REQUIRE_GPU is set, but {reason}");
            eprintln!("skipped: {reason}");
            None
        }
    }
}

fn find(asked: &str, inventory: &Inventory) -> Result<DeviceId, String> {
    let choice: DeviceChoice = asked
        .parse()
        .unwrap_or_else(|error| panic!("RELIEF_TEST_DEVICE: {error}"));
    match select(&choice, inventory).map_err(|error| error.to_string())?[..] {
        [DeviceId::Cpu] | [] => Err(format!("{asked} means the CPU")),
        [id, ..] => Ok(id),
    }
}
