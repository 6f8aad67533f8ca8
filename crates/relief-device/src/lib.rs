//! The one door to a GPU: devices, their memory, launches, and how kernels are laid out on them.
//!
//! [`devices`] looks without starting anything: it never panics and loads no library that is not there. A [`Gpu`]
//! is one started device: buffers of packed words, kernels, reads that overlap. Everything that can go wrong on a
//! device is an [`DeviceError`]; no failed launch ever yields samples.

#[cfg(feature = "gpu")]
mod buffer;
#[cfg(feature = "gpu")]
mod checks;
mod choice;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "gpu")]
mod error;
#[cfg(feature = "gpu")]
mod gpu;
#[cfg(feature = "gpu")]
mod grid;
#[cfg(feature = "gpu")]
mod operand;
pub mod policy;
mod prepared;
#[cfg(feature = "gpu")]
mod reading;
mod report;
#[cfg(feature = "vulkan")]
mod staging;
#[cfg(feature = "vulkan")]
mod vulkan;

#[cfg(feature = "gpu")]
pub use buffer::Buffer;
pub use choice::{ChoiceError, DeviceChoice, DeviceId};
#[cfg(feature = "cuda")]
pub use cuda::Cuda;
#[cfg(feature = "gpu")]
pub use error::DeviceError;
#[cfg(feature = "gpu")]
pub use gpu::{Client, Gpu, Mark, persist_kernels};
#[cfg(feature = "gpu")]
pub use grid::{addresses, cover, cube_number, cubes, line};
#[cfg(feature = "gpu")]
pub use operand::Operand;
pub use prepared::{policy_file, select_prepared};
#[cfg(feature = "gpu")]
pub use reading::{HostSamples, Reading};
pub use report::{
    Backend, DeviceReport, Inventory, Missing, SelectionError, device, devices, devices_for, select,
};

/// A device of any kind, the software adapter included. Without one, nothing, unless `RELIEF_REQUIRE_GPU` is set: then that is
/// a failure.
#[cfg(all(test, feature = "gpu"))]
fn device_of_tests() -> Option<Gpu> {
    let any = devices().devices.iter().find_map(|d| Gpu::open(d.id).ok());
    let required = std::env::var_os("RELIEF_REQUIRE_GPU").is_some();
    assert!(
        any.is_some() || !required,
        "RELIEF_REQUIRE_GPU is set, but there is no device"
    );
    any
}

/// The page of the package, whose examples are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
