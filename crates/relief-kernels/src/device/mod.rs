//! Devices: what there is to compute on, and what is missing where there is not.
//!
//! [`devices`] looks without starting anything: it never panics and loads no library that is not there. A [`Gpu`]
//! is one started device: buffers of packed words, kernels, reads that overlap. Everything that can go wrong on a
//! device is an [`DeviceError`]; no failed launch ever yields samples.

#[cfg(feature = "gpu")]
mod buffer;
mod choice;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "cuda")]
pub mod driver;
#[cfg(feature = "gpu")]
mod error;
#[cfg(feature = "gpu")]
mod gpu;
#[cfg(feature = "gpu")]
mod grid;
mod prepared;
#[cfg(feature = "gpu")]
mod operand;
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
pub use gpu::{Client, Gpu, Mark, on_client, persist_kernels};
#[cfg(feature = "gpu")]
pub(crate) use grid::cube_number;
#[cfg(feature = "gpu")]
pub use grid::{addresses, cubes};
pub use prepared::{policy_file, select_prepared};
#[cfg(feature = "gpu")]
pub use operand::Operand;
#[cfg(feature = "gpu")]
pub use reading::{HostSamples, Reading};
pub use report::{
    Backend, DeviceReport, Inventory, Missing, SelectionError, device, devices, devices_for, select,
};
