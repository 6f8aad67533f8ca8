//! Which devices promise *forward progress*: that a cube (thread block, workgroup) which has begun goes on to
//! its end while others wait for it in a loop.
//!
//! Kernels that look back at the results of earlier cubes wait so. Where the promise does not hold they may
//! wait for ever, and that is no error but a device that hangs.
//!
//! | device | | source |
//! |---|---|---|
//! | CUDA | yes | *CUDA C++ Programming Guide*, execution model: a thread that has begun makes progress |
//! | Apple's GPUs | no | Smith, Levien and Owens, *Decoupled Fallback* (SPAA 2025): look-back hangs on the M1 and M3 |
//! | software Vulkan (llvmpipe) | no | Mesa ends every loop after 65 535 rounds, whatever it waits for |
//! | other hardware by Vulkan | no | the specification of Vulkan promises nothing |
//!
//! ```
//! use relief_kernels::device::devices;
//! use relief_numeric::progress::forward_progress;
//!
//! for report in &devices().devices {
//!     // Threads of software Vulkan may wait for ever.
//!     assert!(!(report.software && forward_progress(report)));
//! }
//! ```

use relief_kernels::device::{Backend, DeviceReport};
#[cfg(feature = "gpu")]
use relief_kernels::device::{DeviceError, Gpu};

/// Whether cubes of the device may wait for others that have begun: on CUDA alone.
#[must_use]
pub const fn forward_progress(report: &DeviceReport) -> bool {
    matches!(report.backend(), Some(Backend::Cuda)) && !report.software
}

/// Nothing where the device promises [`forward_progress`].
#[cfg(feature = "gpu")]
pub(crate) fn unless_promised(gpu: &Gpu) -> Result<(), DeviceError> {
    if forward_progress(gpu.report()) {
        return Ok(());
    }
    Err(gpu.unsupported(
        "a look-back: the device does not promise that a cube which has begun goes on while others wait for it; \
         another route does not wait",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use relief_kernels::device::DeviceId;

    fn report(id: DeviceId, name: &str, driver: &str, software: bool) -> DeviceReport {
        DeviceReport {
            id,
            name: name.to_owned(),
            driver: driver.to_owned(),
            software,
            memory: None,
            bandwidth: None,
            multiprocessors: None,
            plane: (32, 32),
            largest_buffer: 1 << 30,
            shared_memory: 32 << 10,
            cubes: 65_535,
            bindings: 8,
        }
    }

    /// Devices, and whether they promise it.
    fn devices() -> [(DeviceReport, bool); 6] {
        let vulkan = |name, driver, software| report(DeviceId::Vulkan(0), name, driver, software);
        [
            (report(DeviceId::Cuda(0), "NVIDIA H100", "CUDA 12.8", false), true),
            (vulkan("Apple M1", "MoltenVK 1.2.9", false), false),
            (vulkan("Apple M3 Max", "Honeykrisp", false), false),
            (vulkan("NVIDIA H100", "NVIDIA 570.86", false), false),
            (vulkan("a GPU of next year", "a driver", false), false),
            (vulkan("llvmpipe (LLVM 19.1, 256 bits)", "Mesa 25.0", true), false),
        ]
    }

    #[test]
    fn only_devices_whose_maker_promises_it_make_progress() {
        for (report, promised) in devices() {
            assert_eq!(forward_progress(&report), promised, "{}", report.name);
        }
    }

    #[cfg(feature = "gpu")]
    #[test]
    fn scans_and_selections_wait_only_on_devices_that_make_progress() {
        use crate::{scan, select};
        for (report, promised) in devices() {
            let waits = select::gpu::Route::fitting(&report) == select::gpu::Route::LookBack;
            assert_eq!(waits, promised, "{}", report.name);
            let waits = scan::gpu::Route::fitting(&report) == scan::gpu::Route::LookBack;
            assert_eq!(waits, promised, "{}", report.name);
        }
    }
}
