//! The device under test.
#![allow(clippy::expect_used, clippy::print_stderr)]

use relief_kernels::device::{DeviceChoice, DeviceId, Gpu, devices, select};

/// The device that `RELIEF_TEST_DEVICE` names, else one of the backend that `RELIEF_REQUIRE_GPU` names, else the first
/// Vulkan adapter of any kind. Without one, says so and returns nothing, unless `RELIEF_REQUIRE_GPU` is set: then that
/// is a failure.
pub(crate) fn device() -> Option<Gpu> {
    let required = std::env::var("RELIEF_REQUIRE_GPU").ok();
    let asked = match (std::env::var("RELIEF_TEST_DEVICE"), required.as_deref()) {
        (Ok(device), _) => device,
        (Err(_), Some("cuda")) => "cuda".to_owned(),
        (Err(_), _) => "vulkan:0".to_owned(),
    };
    let choice: DeviceChoice = asked.parse().expect("RELIEF_TEST_DEVICE names a device");
    let found = select(&choice, &devices()).map_err(|e| e.to_string());
    let opened = found.and_then(|ids| match ids[0] {
        DeviceId::Cpu => Err("the choice means the CPU".to_owned()),
        id => Gpu::open(id).map_err(|e| e.to_string()),
    });
    match opened {
        Ok(gpu) => Some(gpu),
        Err(reason) => {
            assert!(required.is_none(), "RELIEF_REQUIRE_GPU is set, but {reason}");
            eprintln!("skipped: {reason}");
            None
        }
    }
}
